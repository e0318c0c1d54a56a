"""Models whose runs take minutes or whose answers take gigabytes, if a request asks for that; cheap otherwise."""
import os

import tiny_model
from grpc_client import messages, tensor

STEPS = 3000


def write_chain(directory, steps=STEPS):
    """n -> the sum of an n×n matrix, multiplied with itself so many times: for n = 1500 minutes, for n = 2 nothing."""
    b = tiny_model.Builder()
    number = ("type", 1)
    b.placeholder("n", 3, [])
    b.const("zero", 1, [], [0.0])
    b.const("axes", 3, [2], [0, 1])
    b.node("dims", "Pack", "n", "n", N=("i", 2), T=("type", 3), axis=("i", 0))
    b.node("m0", "Fill", "dims", "zero", T=number, index_type=("type", 3))
    for i in range(steps):
        b.node("m%d" % (i + 1), "MatMul", "m%d" % i, "m0", T=number, transpose_a=("b", False), transpose_b=("b", False))
    b.node("sum", "Sum", "m%d" % steps, "axes", T=number, Tidx=("type", 3), keep_dims=("b", False))
    for name in ("serving_default", "again"):
        b.signature(name, "predict", {"n": ("n:0", 3, [])}, {"sum": ("sum:0", 1, [])})
    os.makedirs(directory)
    with open(os.path.join(directory, "saved_model.pb"), "wb") as f:
        f.write(b.model.SerializeToString())


def write_fill(directory):
    """dims -> zeros of that shape."""
    b = tiny_model.Builder()
    b.placeholder("dims", 9, [-1])
    b.const("zero", 1, [], [0.0])
    b.node("zeros", "Fill", "dims", "zero", T=("type", 1), index_type=("type", 9))
    b.signature("serving_default", "predict", {"dims": ("dims:0", 9, [-1])}, {"zeros": ("zeros:0", 1, [-1, -1])})
    os.makedirs(directory)
    with open(os.path.join(directory, "saved_model.pb"), "wb") as f:
        f.write(b.model.SerializeToString())


def chain_request(n, signature=""):
    message = messages().PredictRequest(model_spec=messages().ModelSpec(name="default", signature_name=signature))
    message.inputs["n"].CopyFrom(tensor(3, [], [n]))
    return message

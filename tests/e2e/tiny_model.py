"""A SavedModel of a few nodes, written here, with a signature of every kind: y = x/2 + 2 and y2 = x/2 + 3.

    tiny_model.write(os.path.join(base, "1"))

serving_default    x -> y                                 predict
regress_x_to_y     inputs (Examples of a float x) -> outputs = y     regress;  regress_x_to_y2 likewise
classify_x         inputs -> scores = [y, y2]              classify
two                a: float, b: int32 = 7 -> a, b
types              one input and one output, as they are, of each dtype: in_float -> out_float, …
"""
import os

from grpc_client import module, tensor

DTYPES = {"float": 1, "double": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "int64": 9, "bool": 10, "uint32": 22,
          "uint64": 23, "half": 19}


def dims(shape, to):
    for size in shape:
        to.dim.add(size=size)


class Builder:
    def __init__(self):
        self.model = module("saved_model").SavedModel(saved_model_schema_version=1)
        self.meta = self.model.meta_graphs.add()
        self.meta.meta_info_def.tags.append("serve")
        self.meta.graph_def.versions.producer = 1000

    def node(self, name, op, *inputs, **attrs):
        node = self.meta.graph_def.node.add(name=name, op=op, input=inputs)
        for key, (kind, value) in attrs.items():
            if kind == "list":
                getattr(node.attr[key].list, value[0]).extend(value[1])
                node.attr[key].list.SetInParent()
            elif kind == "shape":
                dims(value, node.attr[key].shape)
                node.attr[key].shape.SetInParent()
            elif kind == "shapes":
                for shape in value:
                    dims(shape, node.attr[key].list.shape.add())
            elif kind == "tensor":
                node.attr[key].tensor.CopyFrom(value)
            else:
                setattr(node.attr[key], kind, value)

    def const(self, name, dtype, shape, values):
        self.node(name, "Const", dtype=("type", dtype), value=("tensor", tensor(dtype, shape, values)))

    def placeholder(self, name, dtype, shape):
        self.node(name, "Placeholder", dtype=("type", dtype), shape=("shape", shape))

    def signature(self, name, method, inputs, outputs, defaults=()):
        """inputs, outputs: {key: (tensor name, dtype, shape)}"""
        signature = self.meta.signature_def[name]
        signature.method_name = "tensorflow/serving/" + method
        for side, tensors in ((signature.inputs, inputs), (signature.outputs, outputs)):
            for key, (tensor_name, dtype, shape) in tensors.items():
                side[key].name, side[key].dtype = tensor_name, dtype
                dims(shape, side[key].tensor_shape)
        for key, value in defaults:
            signature.defaults[key].CopyFrom(value)


def build():
    b = Builder()
    number = ("type", 1)
    b.placeholder("x", 1, [-1, 1])
    b.placeholder("examples", 7, [-1])
    b.const("half", 1, [], [0.5])
    b.const("two_", 1, [], [2.0])
    b.const("three", 1, [], [3.0])
    b.const("names", 7, [0], [])
    b.const("key", 7, [], [b"x"])
    b.const("none", 1, [0], [])
    b.const("axis", 3, [], [1])
    b.node("parse", "ParseExample", "examples", "names", "key", "none", Nsparse=("i", 0), Ndense=("i", 1),
           sparse_types=("list", ("type", [])), Tdense=("list", ("type", [1])), dense_shapes=("shapes", [[1]]))
    for name, source in (("", "x"), ("e_", "parse")):
        b.node(name + "scaled", "Mul", source, "half", T=number)
        b.node(name + "y", "AddV2", name + "scaled", "two_", T=number)
        b.node(name + "y2", "AddV2", name + "scaled", "three", T=number)
    b.node("scores", "ConcatV2", "e_y", "e_y2", "axis", N=("i", 2), T=number, Tidx=("type", 3))
    b.signature("serving_default", "predict", {"x": ("x:0", 1, [-1, 1])}, {"y": ("y:0", 1, [-1, 1])})
    examples = {"inputs": ("examples:0", 7, [-1])}
    b.signature("regress_x_to_y", "regress", examples, {"outputs": ("e_y:0", 1, [-1, 1])})
    b.signature("regress_x_to_y2", "regress", examples, {"outputs": ("e_y2:0", 1, [-1, 1])})
    b.signature("classify_x", "classify", examples, {"scores": ("scores:0", 1, [-1, 2])})

    inputs, outputs = {}, {}
    for name, dtype in DTYPES.items():
        b.placeholder("in_" + name, dtype, [-1])
        b.node("out_" + name, "Identity", "in_" + name, T=("type", dtype))
        inputs["in_" + name] = ("in_%s:0" % name, dtype, [-1])
        outputs["out_" + name] = ("out_%s:0" % name, dtype, [-1])
    b.signature("types", "predict", inputs, outputs)
    pair = {"a": ("in_float:0", 1, [-1]), "b": ("in_int32:0", 3, [-1])}
    b.signature("two", "predict", pair, {"a": ("out_float:0", 1, [-1]), "b": ("out_int32:0", 3, [-1])},
                [("b", tensor(3, [1], [7]))])
    b.signature("pair", "predict", pair, {"a": ("out_float:0", 1, [-1]), "b": ("out_int32:0", 3, [-1])})
    return b.model


def save(model, directory):
    """Renamed last: a server that looks at the base path sees all of it or nothing."""
    os.makedirs(directory + ".making")
    with open(os.path.join(directory + ".making", "saved_model.pb"), "wb") as f:
        f.write(model.SerializeToString())
    os.rename(directory + ".making", directory)


def write(directory):
    save(build(), directory)

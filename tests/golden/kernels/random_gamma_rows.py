"""Rows of random numbers by rejection."""
from rows import Rows
from drawn import i32
from state_rows import StateRows, Variable

import numpy as np
import tensorflow as tf

NARROW = {np.float16: 1e-3}


def random_gamma():
    rows = Rows("random_gamma")
    for dtype in [np.float32, np.float64, np.float16]:
        for alphas in [np.array([0.1, 0.5, 1, 1.5, 20], dtype), np.array([[1], [0.7]], dtype), np.array(3, dtype)]:
            for seed in [(1, 2), (0, 0), (-5, 7)]:
                rows.add("StatelessRandomGammaV2", [i32(40, *alphas.shape), np.array(seed, np.int64), alphas], NARROW.get(dtype))
            key = np.array([123456789], np.uint64), np.array([5, 9], np.uint64)
            for algorithm in [1, 3]:
                rows.add("StatelessRandomGammaV3", [i32(3, 2, *alphas.shape), *key, np.int32(algorithm), alphas], NARROW.get(dtype))
    alphas = np.array([1, 2], np.float32)
    odd = np.array([np.nan, np.inf, 0, -1, -0.5], np.float32)
    rows.add("StatelessRandomGammaV2", [i32(4, 5), i32(1, 2), odd])
    for shape in [(0, 2), (3, 0, 2)]:
        rows.add("StatelessRandomGammaV2", [i32(*shape), i32(1, 2), alphas])
    for wrong in [(i32(2, 3), i32(1, 2), alphas), (i32(2), i32(1), alphas), (i32(2, 2), i32([1, 2]), alphas), (i32(-1, 2), i32(1, 2), alphas), (i32(2, 2), i32(1, 2), alphas[None, None, None])]:
        rows.add("StatelessRandomGammaV2", list(wrong), text=False)
    for i, dtype in enumerate([np.float32, np.float64, np.float16]):  # a seed for each row: the n-th run differs
        rows.add("RandomGamma", [i32(20), np.array([0.1, 0.5, 1, 1.5, 20], dtype)], NARROW.get(dtype), seed=100 + i, seed2=7)
        rows.add("RandomGamma", [np.array([3, 2]), np.array(2.5, dtype)], NARROW.get(dtype), seed=200 + i)
    for i, wrong in enumerate([(i32(0), alphas), (i32(2), alphas[:0]), (i32([2]), alphas), (i32(-1), alphas)]):
        rows.add("RandomGamma", list(wrong), text=False, seed=300 + i)
    poissons(rows)
    rows.write()


def poissons(rows):
    seed = 1000
    for dtype in [np.float32, np.float64, np.float16, np.int32, np.int64]:
        for kind in [np.float32, np.float64, np.float16, np.int32, np.int64]:
            rates = np.array([0.5, 3, 9.75, 10, 55.5, 300], np.float64).astype(kind)
            rows.add("StatelessRandomPoisson", [i32(20, 6), i32(3, 4), rates], dtype=dtype)
            rows.add("RandomPoissonV2", [i32(20), rates], dtype=dtype, seed=seed)
            seed += 1
        if dtype in (np.float32, np.float64, np.float16):
            rows.add("RandomPoisson", [np.array([20]), np.array([[0.5, 12], [100, 4]], dtype)], seed=seed, producer=24)
    odd = np.array([1e-9, 0, 10, 1e3, 1e10], np.float64)
    rows.add("StatelessRandomPoisson", [i32(3, 5), i32(1, 2), odd], dtype=np.float64)
    for wrong in [(i32(2, 3), i32(1, 2), odd), (i32(2, 5), i32(1), odd), (i32(-2, 5), i32(1, 2), odd)]:
        rows.add("StatelessRandomPoisson", list(wrong), dtype=np.float64, text=False)
    rows.add("StatelessRandomPoisson", [i32(0, 5), i32(1, 2), odd], dtype=np.float64)
    rows.add("RandomPoissonV2", [i32(0), odd], dtype=np.float64, seed=7)
    rows.add("RandomPoissonV2", [i32([2]), odd], dtype=np.float64, seed=8, text=False)


def random_binomial_and_truncated():
    rows = Rows("random_binomial_and_truncated")
    binomials(rows)
    truncated(rows)
    slopes(rows)
    rows.lines += generators().lines
    rows.write()


def generators():
    """The generator is a variable, which the op moves on."""
    rows = EagerStateRows("random_binomial_and_truncated")
    start = Variable(np.array([2**62, -7, 99], np.int64))
    for dtype in [np.float32, np.float64, np.float16]:
        for output in [tf.float32, tf.int64]:
            for shape in [i32(7, 2), i32(2), i32(0, 2)]:  # TensorFlow dies of a shape of int64
                rows.add("StatefulRandomBinomial", [start, np.int64(1), shape, np.array([9, 70], dtype), np.array(0.4, dtype)], dtype=output)
    for wrong in [(np.array([1]), i32(2)), (np.int64(1), i32(3))]:
        rows.add("StatefulRandomBinomial", [start, *wrong, np.array([9.0, 70]), np.array(0.4)], text=False)
    return rows


class EagerStateRows(StateRows):
    """Runs the op eagerly on copies: TensorFlow does not move a generator on whose memory is shared."""

    def run(self, op, definition, inputs, attrs):
        variables = [tf.Variable(np.array(v.value)) if isinstance(v, Variable) else v for v in inputs]
        arguments = {arg.name: v.handle if isinstance(v, tf.Variable) else v for arg, v in zip(definition.input_arg, variables)}
        return [getattr(tf.raw_ops, op)(**arguments, **attrs)] + [v.numpy() for v in variables if isinstance(v, tf.Variable)]


def binomials(rows):
    state = 0
    for dtype in [np.float32, np.float64, np.float16]:
        for output in [np.float32, np.float64, np.float16, np.int32, np.int64]:
            counts = np.array([0, 1, 5, 40, 200, 1000, 30, 100], dtype)
            chances = np.array([0.5, 0.3, 0.9, 0.1, 0.75, 0.02, 1, 0.5], dtype)
            rows.add("StatelessRandomBinomial", [i32(5, 8), np.array([3, 4 + state]), counts, chances], dtype=output)
            rows.add("StatelessRandomBinomial", [np.array([2, 3, 2]), i32(-3, state), np.array(60, dtype), np.array([[0.2], [0.6], [0.05]], dtype) * np.ones(2, dtype)], dtype=output)
            state += 1
    odd = np.array([-1, 10, 10, 10, 1e9, 1e15], np.float64), np.array([0.5, -0.5, 2, np.nan, 1e-9, 0.3], np.float64)
    rows.add("StatelessRandomBinomial", [i32(3, 6), i32(1, 2), *odd], dtype=np.float64)
    rows.add("StatelessRandomBinomial", [i32(3, 2), i32(1, 2), odd[0][4:], odd[1][4:]], dtype=np.int32)
    rows.add("StatelessRandomBinomial", [i32(0, 6), i32(1, 2), *odd])
    two = np.array([5.0, 7.0])
    for wrong in [(i32(3), i32(1, 2), two, two), (i32(2), i32(1), two, two), (i32([2]), i32(1, 2), two, two), (i32(-1, 2), i32(1, 2), two, two), (i32(2), i32(1, 2), two, odd[1])]:
        rows.add("StatelessRandomBinomial", list(wrong), text=False)


def truncated(rows):
    op, state = "StatelessParameterizedTruncatedNormal", 0
    cases = [(0, 1, -2, 2), (1, 3, 0, np.inf), (5, 0.5, -np.inf, 5.5), (0, 1, 3, 4), (0, 2, -9, -7), (0, 1, 4, np.inf), (2, 1, -np.inf, -1), (0, 1, -0.5, 0.5), (0, 1, 2, 2.01)]
    near = {np.float32: 1e-6, np.float64: 1e-14, np.float16: 2e-3}
    for dtype in [np.float32, np.float64, np.float16]:
        for case in cases:
            state += 1
            parameters = [np.array(v, dtype) for v in case]
            rows.add(op, [i32(9), np.array([state, 5]), *parameters], each=near[dtype])
            rows.add("ParameterizedTruncatedNormal", [i32(3, 5), *parameters], each=near[dtype], seed=state, seed2=3)
        columns = [np.array(v, dtype) for v in zip(*cases[:4])]
        rows.add(op, [i32(3, 4), i32(state, 1), *columns], each=near[dtype])
        rows.add("ParameterizedTruncatedNormal", [i32(4, 3), *columns], each=near[dtype], seed=100 + state)
        rows.add(op, [np.array([2, 2, 3]), i32(state, 2), np.array([[1], [-1]], dtype), np.array([1, 2, 3], dtype), np.array(-1, dtype), np.array([1.5, 2, np.inf], dtype)], each=near[dtype])
    one = np.float32(1)
    for shape in [i32(0), i32(0, 3), i32(3, 0)]:
        rows.add(op, [shape, i32(1, 2), one, one, -one, one])
        rows.add("ParameterizedTruncatedNormal", [shape, one, one, -one, one], seed=200 + len(shape) + int(shape[0]))
    lines = [np.ones(2, np.float32)] * 2
    for i, wrong in enumerate([(one, -one, -one, one), (one, one, one, -one), (one, one, -one * np.inf, one * np.inf), (one * np.nan, one, -one, one), (np.ones((2, 2), np.float32), one, -one, one)]):
        rows.add(op, [i32(3), i32(1, 2), *wrong], text=False)
        rows.add("ParameterizedTruncatedNormal", [i32(3), *wrong], text=False, seed=300 + i)
    rows.add(op, [i32(3), i32(1, 2), *lines, -one, one], text=False)
    rows.add(op, [i32(3, 2), i32(1), *lines, -one, one], text=False)
    rows.add("ParameterizedTruncatedNormal", [i32(3), *lines, -one, one], text=False, seed=400)
    rows.add("ParameterizedTruncatedNormal", [np.zeros(0, np.int32), one, one, -one, one], text=False, seed=401)


def slopes(rows):
    for dtype in [np.float32, np.float64]:
        a = np.array([0.1, 0.5, 1, 1.5, 3, 10, 40, 200], dtype)[:, None]
        x = np.array([0.01, 0.3, 1, 1.2, 2.5, 8, 45, 190], dtype)
        for op in ["IgammaGradA", "RandomGammaGrad"]:
            rows.add(op, [a, x], **(dict(tolerance=1e-5) if dtype == np.float32 or op == "IgammaGradA" else dict(each=1e-9)))
            rows.add(op, [x[:0], np.array(1, dtype)])
            rows.add(op, [np.array([0, -1, 1, 1, np.nan, 1, 2], dtype), np.array([1, 1, 0, -1, 1, np.nan, 2], dtype)])
        rows.add("IgammaGradA", [x, x[:3]], text=False)


FAMILIES = [random_gamma, random_binomial_and_truncated]

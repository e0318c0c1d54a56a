"""Rows of functions where they have no value of their own: at 0, at infinity, and of subnormal numbers, for make_rows.py."""
import numpy as np
import tensorflow as tf

from rows import Rows

TINY = {np.float32: (1e-40, 1.4e-45, 1.1e-38), np.float64: (1e-310, 5e-324, 2e-308)}


def edges():
    """TensorFlow counts subnormal numbers as 0. Where its vectors do so and its other loops do not, there is no row: an answer must not depend on
    the place of a number in its tensor."""
    rows = Rows("edges")
    for dtype in TINY:
        for op in ["Zeta", "Polygamma", "Igamma", "Igammac", "IgammaGradA", "RandomGammaGrad"]:
            for a in (0, -1, 1, 1.5, 2, 3, np.nan, np.inf):
                for b in (0, -0.0, -1, 1, 2, np.nan, np.inf):
                    rows.add(op, [dtype([a]), dtype([b])])
        subnormal = dtype([sign * x for x in TINY[dtype] for sign in (1, -1)])
        ops = ["Expint", "Digamma", "Erf", "Erfc", "Exp", "Rsqrt", "Reciprocal", "Sinh", "Sigmoid", "Spence", "BesselI1"]
        for op in ops + {np.float32: ["Lgamma"], np.float64: ["Log"]}[dtype]:
            rows.add(op, [subnormal])
        for op in ["Igamma", "Igammac", "IgammaGradA", "RandomGammaGrad", "RealDiv", "DivNoNan"]:
            for other in (0, 1.5, 2):
                for x in subnormal:
                    rows.add(op, [dtype([other]), dtype([x])])
                    rows.add(op, [dtype([x]), dtype([other])])
        for x in subnormal:
            rows.add("Betainc", [dtype([2]), dtype([2]), dtype([x])])
            rows.add("Betainc", [dtype([x]), dtype([2]), dtype([0.5])])
    rows.add("Tanh", [np.float32([sign * x for x in (7.90738964, 8, 8.5, 9, 20) for sign in (1, -1)])], each=0)  # 1, the truth is less
    rows.write()


def many_addends():
    """AddN of more than nine tensors: the last bits tell the order of additions."""
    rows, random = Rows("many_addends"), np.random.RandomState(3)
    for dtype in [np.float32, np.float64, np.float16, tf.bfloat16.as_numpy_dtype, np.complex64, np.int8]:
        for count in (8, 9, 10, 15, 16, 17, 18):
            rows.add("AddN", [[(random.uniform(-3, 3, 5) * random.choice([1, 40], 5)).astype(dtype) for _ in range(count)]],
                     each=None if dtype == np.int8 else 0)
    rows.add("AddN", [[np.zeros((0, 2), np.float32)] * 12])
    rows.write()


FAMILIES = [edges, many_addends]

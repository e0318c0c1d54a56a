"""Rows of assertions, of checks, and of ops that pass their inputs on."""
from rows import Rows
from drawn import COMPLEX, REALS, f32, floats, i32, i64

import numpy as np
import tensorflow as tf


def asserts():
    rows = Rows("asserts", seed=446)
    rows.add("Assert", [np.array(True), [np.array(b"no")]])
    rows.add("Assert", [np.array(False), [np.array(b"x is"), i32(1, 2, 3, 4), f32(0.5)]])
    for shape in [(5,), (2, 2), (2, 4), (2, 2, 2), (3, 1), (4, 1), (1, 3), (0, 2), (2, 0)]:
        for most in [3, 0, -1]:
            rows.add("Assert", [np.array(False), [np.arange(np.prod(shape)).reshape(shape).astype(np.float32) / 10]], summarize=most)
    for dtype in [np.float64, np.float16, tf.bfloat16.as_numpy_dtype, np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64, bool, np.complex64]:
        rows.add("Assert", [np.array(False), [np.array([0.1, 0.375, 77, 200]).astype(dtype)]], summarize=9)
    rows.add("Assert", [np.array(False), [f32(np.nan, np.inf, -np.inf, 1e-30, 1e20, 123456789)]], summarize=9)
    rows.add("CheckNumerics", [f32(1, 2)], message="bad")
    rows.add("CheckNumerics", [f32(1, np.nan)], message="bad")
    rows.add("CheckNumerics", [f32(np.inf, 1)], message="bad")
    rows.add("ApproximateEqual", [f32(1, 2), f32(1.000001, 2.1)])
    for op in ["Snapshot", "Identity", "StopGradient", "PreventGradient"]:
        rows.add(op, [f32(1, 2)])
    rows.add("IdentityN", [[f32(1, 2), i32(3)]])
    rows.add("EnsureShape", [f32(1, 2)], shape=[2])
    rows.add("EnsureShape", [f32(1, 2)], shape=[3], text=False)
    rows.add("ShapeN", [[floats(2, 3), floats(0)]])
    rows.write()


def to_bool_and_check_numerics():
    rows = Rows("to_bool_and_check_numerics")
    for value in [0, 2, 0.0, -0.0, 1.5, np.nan, "", "a", True, False, np.int8(3), np.uint64(3), np.complex64(0), np.float16(0), np.float64(0), np.int16(0), np.uint8(9), np.uint16(0), i64(0)[0], [""], [0], [[0, 0]]]:
        rows.add("ToBool", [tf.convert_to_tensor(value)])
    for dtype in REALS + COMPLEX:
        rows.add("ToBool", [np.zeros(2, dtype)])
        rows.add("ToBool", [np.zeros((0, 2), dtype)])
    for dtype in REALS[:4]:
        for values in [[1, 2], [np.nan, 1], [np.inf, 1], [1, -np.inf], [np.inf, -np.inf], [np.nan, np.inf], [np.nan, -np.inf], [np.nan, np.inf, -np.inf], []]:
            rows.add("CheckNumericsV2", [np.array(values, dtype)], message="bad")
    rows.write()


FAMILIES = [asserts, to_bool_and_check_numerics]

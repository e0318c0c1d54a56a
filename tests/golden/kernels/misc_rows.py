"""Rows of small ops: assertions, sets of elements, scattered slices, blocks, bands."""
from rows import Rows
from drawn import COMPLEX, REALS, f32, floats, i32, i64

import numpy as np
import tensorflow as tf


def asserts():
    """Assertions and checks; then other small ops, whose random numbers go on from here."""
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

    rows = Rows("unique_v1_and_list_diff")
    for x in [i32(4, 4, 1, 2, 1), np.array([b"b", b"a", b"b"]), f32(0.5, 0.5), np.zeros(0, np.int64)]:
        for out_idx in [np.int32, np.int64]:
            rows.add("Unique", [x], out_idx=out_idx)
    rows.add("Unique", [np.zeros((1, 1), np.int32)])
    odd = [np.nan, np.nan, 0.0, -0.0, 1, 0.0]
    for dtype in [tf.float32, tf.float64, tf.half, tf.bfloat16]:
        rows.add("Unique", [tf.cast(odd, dtype)])
        rows.add("ListDiff", [tf.cast(odd, dtype), tf.cast([-0.0, np.nan], dtype)])
    for x, y in [(i32(1, 2, 3, 4, 5, 6, 2), i32(1, 3, 5)), (np.array([b"b", b"a", b"", b"b"]), np.array([b"a", b"c"])), (i32(), i32(1)),
                 (i32(1, 1), i32()), (np.int64([5, 4]), np.int64([4, 5]))]:
        for out_idx in [np.int32, np.int64]:
            rows.add("ListDiff", [x, y], out_idx=out_idx)
    rows.add("ListDiff", [np.zeros((1, 1), np.int32), i32(1)])
    rows.add("ListDiff", [i32(1), np.int32(1)])
    rows.write()

    rows = Rows("scatter_nd_stitch_and_bincount")
    rows.add("ScatterNd", [np.array([[1], [3], [1]], np.int32), f32(1, 2, 3), i32(5)])
    rows.add("ScatterNd", [np.array([[0, 1], [1, 0]], np.int64), floats(2, 2), np.array([2, 2, 2], np.int64)])
    for dtype in [np.float16, tf.bfloat16.as_numpy_dtype, np.complex64, np.complex128]:
        rows.add("ScatterNd", [np.array([[1], [3], [1]], np.int32), np.array([1, -2, 0.5], dtype), i32(5)])
        rows.add("ScatterNd", [np.array([[2]], np.int32), np.array([[1, 2]], dtype), i32(3, 2)])
    for truths in [[True, False, True], [False, True, False]]:
        rows.add("ScatterNd", [np.array([[1], [3], [1]], np.int32), np.array(truths), i32(5)])
    rows.add("ScatterNd", [np.array([[5]], np.int32), f32(1), i32(5)], text=False)
    rows.add("ScatterNd", [np.array([[1]], np.int32), f32(1, 2), i32(5)], text=False)
    rows.add("DynamicStitch", [[i32(0, 2), i32(1)], [floats(2, 2), floats(1, 2)]])
    rows.add("DynamicStitch", [[np.int32(1), i32(0, 1)], [floats(2), floats(2, 2)]])
    rows.add("DynamicStitch", [[i32(0, 2), i32(1)], [floats(2, 2), floats(1, 3)]], text=False)
    rows.add("Bincount", [i32(1, 1, 5, 0), np.int32(3), np.zeros(0, np.float32)])
    rows.add("Bincount", [i32(1, 1, 2), np.int32(3), f32(0.5, 1, 2)])
    rows.add("Bincount", [i32(1, -1), np.int32(3), np.zeros(0, np.int32)])
    rows.write()

    rows = Rows("space_to_batch_and_reverse")
    rows.add("SpaceToBatchND", [floats(1, 4, 6, 2), i32(2, 3), np.array([[0, 0], [0, 0]], np.int32)])
    rows.add("SpaceToBatchND", [floats(2, 3, 4, 1), i32(2, 2), np.array([[1, 0], [1, 1]], np.int32)])
    rows.add("SpaceToBatchND", [floats(2, 3), i32(2), np.array([[0, 1]], np.int32)])
    rows.add("SpaceToBatchND", [floats(2, 3), i32(2), np.array([[0, 0]], np.int32)])
    rows.add("BatchToSpaceND", [floats(4, 2, 2, 1), i32(2, 2), np.array([[0, 0], [0, 0]], np.int32)])
    rows.add("BatchToSpaceND", [floats(8, 2, 3, 2), i32(2, 2), np.array([[1, 0], [0, 2]], np.int32)])
    rows.add("BatchToSpaceND", [floats(3, 2, 2, 1), i32(2, 2), np.array([[0, 0], [0, 0]], np.int32)])
    rows.add("ReverseSequence", [floats(2, 4, 2), i32(3, 1)], seq_dim=1, batch_dim=0)
    rows.add("ReverseSequence", [floats(4, 3), np.array([2, 0, 4], np.int64)], seq_dim=0, batch_dim=1)
    rows.add("ReverseSequence", [floats(2, 4), i32(5, 1)], seq_dim=1)
    rows.add("ReverseSequence", [floats(2, 4), i32(1)], seq_dim=1)
    rows.write()

    rows = Rows("band_part_and_norm")
    for lower, upper in [(1, 0), (-1, 0), (0, -1), (0, 0), (2, 1)]:
        rows.add("MatrixBandPart", [floats(2, 3, 4), np.int32(lower), np.int32(upper)])
    rows.add("MatrixBandPart", [floats(2, 3), np.int64(3), np.int64(0)])
    rows.add("EuclideanNorm", [floats(2, 3), i32(1)])
    rows.add("EuclideanNorm", [floats(2, 3), i32(0)], keep_dims=True)
    rows.add("BatchMatMulV3", [floats(2, 2, 3), floats(3, 2)], Tout=np.float32)
    rows.add("BiasAddV1", [floats(2, 3), floats(3)])
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

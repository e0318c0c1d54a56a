"""Rows of ops that make, join, slice and index arrays."""
from rows import Rows
from drawn import COMPLEX, FLOATS, INTEGERS, f32, floats, i32, integers

import numpy as np
import tensorflow as tf


def array():
    rows = Rows("array", seed=543)
    for value in [floats(2, 3), np.float32(1), np.zeros((0, 4), np.int32)]:
        for out_type in [np.int32, np.int64]:
            rows.add("Shape", [value], out_type=out_type)
            rows.add("Size", [value], out_type=out_type)
        rows.add("Rank", [value])
        rows.add("ZerosLike", [value])
        rows.add("OnesLike", [value])
    for dtype in FLOATS + INTEGERS + [np.bool_]:
        rows.add("OnesLike", [np.zeros(2, dtype)])
    for shape in [[3, 2], [-1], [6, 1], [2, -1], [1, 2, 3], [-1, -1], [4], [-2, 3], [5, -1]]:
        rows.add("Reshape", [floats(2, 3), np.array(shape, np.int32)])
    rows.add("Reshape", [floats(0, 3), np.array([-1, 3], np.int64)])
    rows.add("Reshape", [floats(0, 3), i32(-1, 0)])
    rows.add("Reshape", [floats(1), np.zeros(0, np.int32)])
    rows.add("Reshape", [floats(2), np.int32(2)])
    for axis in [0, 1, 2, -1, -3, 3, -4]:
        rows.add("ExpandDims", [floats(2, 3), np.int32(axis)])
    rows.add("ExpandDims", [floats(2), i32(0, 1)])
    for dims in [[], [0], [2], [0, 2], [-1], [1], [5]]:
        rows.add("Squeeze", [floats(1, 2, 1)], squeeze_dims=dims)
    for axis in [0, 1, 2, -1, -3, 3]:
        rows.add("Pack", [[floats(2, 2), floats(2, 2), floats(2, 2)]], axis=axis)
    rows.add("Pack", [[i32(1), i32(2)]])
    rows.add("Pack", [[np.array([b"a"]), np.array([b"b"])]])
    rows.add("Pack", [[floats(2), floats(3)]])
    for axis in [0, 1, -1, 2]:
        rows.add("Unpack", [floats(2, 2)], num=2, axis=axis)
    rows.add("Unpack", [floats(2, 3)], num=2, axis=1)
    for axis in [0, 1, -1, 2, -3]:
        rows.add("ConcatV2", [[floats(2, 2), floats(2, 2)], np.int32(axis)])
    rows.add("ConcatV2", [[floats(2, 1), floats(2, 3), floats(2, 0)], np.int64(1)])
    rows.add("ConcatV2", [[floats(2, 1), floats(3, 1)], np.int32(1)])
    rows.add("ConcatV2", [[floats(2, 1), floats(3)], np.int32(1)])
    rows.add("ConcatV2", [[np.array([b"a"]), np.array([b"b", b"c"])], np.int32(0)])
    rows.add("Concat", [np.int32(0), [i32(1), i32(2, 3)]])
    rows.add("ConcatOffset", [np.int32(1), [i32(2, 3), i32(2, 4), i32(2, 5)]])
    rows.add("Split", [np.int32(1), floats(2, 6)], num_split=3)
    rows.add("Split", [np.int32(-2), floats(4, 2)], num_split=2)
    rows.add("Split", [np.int32(1), floats(2, 5)], num_split=3)
    rows.add("Split", [np.int32(2), floats(2, 5)], num_split=1)
    rows.add("SplitV", [floats(2, 6), i32(1, 2, 3), np.int32(1)], num_split=3)
    rows.add("SplitV", [floats(2, 6), np.array([1, -1], np.int64), np.int32(1)], num_split=2)
    rows.add("SplitV", [floats(2, 6), i32(1, 2), np.int32(1)], num_split=2)
    rows.add("SplitV", [floats(2, 6), i32(-1, -1), np.int32(1)], num_split=2)
    for perm in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1], [2, 0, 1], [-1, 0, 1], [0, 0, 1], [0, 1], [0, 1, 3]]:
        rows.add("Transpose", [floats(2, 3, 4), np.array(perm, np.int32)])
    for dtype in [np.uint8, np.float16, np.float64, np.bool_]:
        rows.add("Transpose", [integers(2, 3, high=2, dtype=dtype), i32(1, 0)])
    rows.add("Transpose", [np.array([[b"a", b"b"], [b"c", b"d"]]), i32(1, 0)])
    rows.add("Fill", [i32(2, 3), np.float32(7)])
    rows.add("Fill", [i32(2), np.array(b"x")])
    rows.add("Fill", [np.zeros(0, np.int64), np.int64(7)])
    rows.add("Fill", [i32(-1), np.float32(7)])
    rows.add("Fill", [i32(0, 5), np.float32(7)])
    for multiples in [[2, 3], [1, 1], [0, 2], [-1, 2], [2]]:
        rows.add("Tile", [floats(2, 3), np.array(multiples, np.int32)])
    rows.add("Tile", [np.array([b"a", b"b"]), np.array([2], np.int64)])
    for a in [(0, 5, 1), (5, 0, -2), (0, 5, 2), (3, 3, 1), (0, 1, 0), (5, 0, 1), (0, 5, -1)]:
        rows.add("Range", [np.int32(v) for v in a])
        rows.add("Range", [np.float32(v) for v in a])
    rows.add("Range", [np.float32(0), np.float32(1), np.float32(0.3)])
    rows.add("Range", [np.int64(-3), np.int64(10), np.int64(4)])
    rows.add("LinSpace", [np.float32(0), np.float32(1), np.int32(5)])
    rows.add("LinSpace", [np.float64(2), np.float64(-1), np.int32(4)])
    for axis in [-1, 0, 1, 2]:
        rows.add("OneHot", [integers(2, 3, low=-1, high=4), np.int32(3), np.float32(5), np.float32(-1)], axis=axis)
    rows.add("OneHot", [np.array(1, np.int64), np.int32(3), np.int64(1), np.int64(0)])
    rows.add("OneHot", [np.array([1], np.uint8), np.int32(-1), np.int64(1), np.int64(0)])
    rows.add("OneHot", [np.array([1], np.uint8), np.int32(2), np.array(True), np.array(False)])
    rows.add("Pad", [floats(2, 3), np.array([[1, 0], [0, 2]], np.int32)])
    rows.add("Pad", [floats(2, 3), np.array([[0, 0], [0, 0]], np.int64)])
    rows.add("Pad", [floats(2, 3), np.array([[-1, 0], [0, 0]], np.int32)])
    rows.add("Pad", [floats(2, 3), np.array([[1, 0]], np.int32)])
    rows.add("Pad", [np.zeros((0, 2), np.float32), np.array([[1, 0], [0, 1]], np.int32)])
    rows.add("PadV2", [i32(1, 2), np.array([[1, 2]], np.int32), np.int32(9)])
    for mode in ["REFLECT", "SYMMETRIC"]:
        rows.add("MirrorPad", [floats(3, 4), np.array([[2, 1], [3, 2]], np.int32)], mode=mode)
        rows.add("MirrorPad", [floats(3), np.array([[3, 0]], np.int32)], mode=mode)
        rows.add("MirrorPad", [floats(2, 2, 2), np.array([[0, 0], [1, 1], [1, 0]], np.int32)], mode=mode)
    for axes in [[0], [1], [0, 1], [], [-1], [2], [0, 0]]:
        rows.add("ReverseV2", [floats(2, 3), np.array(axes, np.int32)])
    rows.add("BroadcastTo", [floats(3, 1), i32(2, 3, 4)])
    rows.add("BroadcastTo", [np.float32(2), i32(2, 2)])
    rows.add("BroadcastTo", [floats(3), i32(2)])
    rows.add("BroadcastTo", [np.array([b"a"]), i32(3)])
    rows.add("BroadcastArgs", [i32(2, 1), i32(3)])
    rows.add("BroadcastArgs", [i32(2), i32(3)])
    rows.add("BroadcastArgs", [i32(*[1, 2] * 8), np.array(6 * [3, 1], np.int32)])
    rows.add("BroadcastArgs", [np.array(13 * [2]), np.array([2, 3])])
    rows.add("BroadcastArgs", [np.array(14 * [1]), np.zeros(0, np.int64)])
    rows.add("BroadcastArgs", [i32(2, 1, 1).reshape(3, 1), i32(3)], text=False)
    for a, b in [([2, 3], [3]), ([2, 3], [2, 3]), ([2, 1], [1, 3]), ([1, 1], [1]), ([], [2]), ([1, 3], [1, 3]),
                 ([1, 3], [3]), ([4, 1, 3], [1, 3]), ([2], [3]), ([1], [1]), ([1, 2, 1], [2, 1])]:
        rows.add("BroadcastGradientArgs", [np.array(a, np.int32), np.array(b, np.int32)])
    for fmt, shape in [("NHWC", (1, 2, 3, 8)), ("NHWC", (2, 1, 2, 4))]:
        rows.add("DepthToSpace", [floats(*shape)], block_size=2, data_format=fmt)
    rows.add("DepthToSpace", [floats(1, 1, 2, 18)], block_size=3)
    rows.add("DepthToSpace", [floats(1, 1, 2, 6)], block_size=2)
    rows.add("SpaceToDepth", [floats(1, 4, 6, 2)], block_size=2)
    rows.add("SpaceToDepth", [floats(1, 3, 6, 2)], block_size=2)
    rows.add("InvertPermutation", [i32(2, 0, 1)])
    rows.add("InvertPermutation", [i32(2, 2, 1)])
    rows.add("InvertPermutation", [i32(3, 2, 1)])
    for axes in ([[0]], 0, np.zeros((0, 1))):
        rows.add("ReverseV2", [f32(1, 2, 3), np.array(axes, np.int32)])
    rows.add("ReverseV2", [np.float32(3), i32(0)])
    for axis, shapes in ((1, ([2, 3], [100, 4])), (0, ([2, 3], [2, -3])), (1, ([2, 3], [2, -3])), (-1, ([-2, 3], [-2, 4]))):
        rows.add("ConcatOffset", [np.int32(axis), [np.array(shape, np.int32) for shape in shapes]], text=False)
    for axes in (0, [7], [0, 0]):
        rows.add("ReverseV2", [np.zeros((0, 2), np.float32), np.array(axes, np.int32)])
    rows.write()


def array_slices():
    rows = Rows("array_slices", seed=643)
    cases = [
        ((3, 4, 5), [0], [2], [1], {}),
        ((3, 4, 5), [0, 1], [3, 4], [2, 2], {}),
        ((3, 4, 5), [-1, -1], [-4, -5], [-1, -2], {}),
        ((3, 4, 5), [1, 0], [0, 0], [1, 1], dict(end_mask=2, shrink_axis_mask=1)),
        ((3, 4, 5), [0, 0, 0], [0, 0, 0], [1, 1, -1], dict(begin_mask=7, end_mask=7)),
        ((3, 4, 5), [0, 1], [0, 2], [1, 1], dict(ellipsis_mask=1, shrink_axis_mask=2)),
        ((3, 4, 5), [0, 0, 1], [0, 0, 3], [1, 1, 1], dict(ellipsis_mask=1, new_axis_mask=2)),
        ((3, 4, 5), [0, 0], [0, 0], [1, 1], dict(new_axis_mask=1, shrink_axis_mask=2)),
        ((3, 4, 5), [1, 1, 1], [2, 2, 2], [1, 1, 1], dict(shrink_axis_mask=7)),
        ((3,), [-1], [0], [1], dict(shrink_axis_mask=1)),
        ((3,), [5], [9], [1], {}),
        ((3,), [-9], [9], [1], {}),
        ((3,), [2], [0], [1], {}),
        ((3,), [3], [4], [1], dict(shrink_axis_mask=1)),
        ((3,), [0], [3], [0], {}),
        ((3,), [0], [3], [2000000000], {}),
        ((3,), [2], [0], [-2000000000], {}),
        ((3,), [0, 0], [1, 1], [1, 1], {}),
        ((3,), [0], [1], [-1], dict(shrink_axis_mask=1)),
        ((3,), [1], [0], [1], dict(begin_mask=1, shrink_axis_mask=1)),
        ((0, 2), [0], [5], [1], {}),
        ((), [], [], [], {}),
        ((), [0], [0], [1], dict(new_axis_mask=1)),
        ((4, 4), [0, 0], [4, 4], [3, -1], dict(begin_mask=2, end_mask=2)),
        ((2, 3, 4, 5), [0, 1, 0], [0, 2, 3], [1, 1, 2], dict(begin_mask=1, end_mask=1, ellipsis_mask=1)),
        ((2, 3, 4), [0, 0, 1, 0], [0, 0, 2, 4], [1, 1, 1, 1], dict(ellipsis_mask=1, new_axis_mask=2)),
    ]
    for shape, begin, end, strides, masks in cases:
        spec = [np.array(v, np.int32) for v in (begin, end, strides)]
        rows.add("StridedSlice", [floats(*shape), *spec], **masks)
        spec = [np.array(v, np.int64) for v in (begin, end, strides)]
        try:
            part = tf.raw_ops.StridedSlice(input=np.zeros(shape, np.float32), begin=spec[0], end=spec[1], strides=spec[2], **masks)
        except tf.errors.OpError:
            continue
        rows.add("StridedSliceGrad", [np.array(shape, np.int64), *spec, floats(*part.shape)], **masks)
    rows.add("StridedSlice", [floats(3), i32(0), i32(1, 2), i32(1)])
    rows.add("StridedSlice", [np.array([b"a", b"b", b"c"]), i32(2), i32(0), i32(-1)])
    rows.add("StridedSlice", [integers(3, 4, dtype=np.uint8), i32(1, 1), i32(3, 4), i32(1, 2)])
    for begin, size in [([0, 1], [2, 2]), ([1, 0], [-1, -1]), ([2, 3], [0, 0]), ([0, 1], [2, 3]), ([-1, 0], [1, 1]),
                        ([0, 4], [1, 1]), ([0], [1]), ([0, 0], [-2, 1])]:
        rows.add("Slice", [floats(2, 3), np.array(begin, np.int32), np.array(size, np.int32)])
    rows.add("SelectV2", [np.array([True, False]), floats(3, 2), np.float32(0)])
    rows.add("SelectV2", [np.array([[True], [False]]), np.array([b"a", b"b"]), np.array(b"c")])
    rows.add("SelectV2", [np.array(True), floats(2), floats(3, 1)])
    rows.add("SelectV2", [np.array([True, False, True]), floats(2), floats(2)])
    for dtype in [np.uint8, np.float16, np.int64, np.bool_]:
        rows.add("SelectV2", [np.array([True, False]), integers(2, high=2, dtype=dtype), integers(2, high=2, dtype=dtype)])
    rows.add("Select", [np.array([True, False]), floats(2, 3), floats(2, 3)])
    rows.add("Select", [np.array(True), floats(2, 3), floats(2, 3)])
    rows.add("Select", [np.array([True, False]), floats(2), floats(2)])
    rows.add("Select", [np.array([True, False, True]), floats(2, 3), floats(2, 3)])
    rows.add("Select", [np.array([True, False]), floats(2, 3), floats(2)])
    rows.add("Where", [np.array([[True, False], [False, True]])])
    rows.add("Where", [f32(0, 1, np.nan, -0.0)])
    rows.add("Where", [i32(0, 3)])
    rows.add("Where", [np.array(True)])
    rows.add("Where", [np.zeros((0, 2), bool)])
    for axis in [0, 1, -1]:
        rows.add("GatherV2", [floats(3, 4), i32(2, 0, 2), np.int32(axis)])
    rows.add("GatherV2", [floats(3, 4), np.array([[0, 1], [2, 1]], np.int64), np.int32(0)])
    rows.add("GatherV2", [floats(3, 4), np.int32(1), np.int32(0)])
    rows.add("GatherV2", [np.array([b"a", b"b"]), i32(1), np.int64(0)])
    rows.add("GatherV2", [floats(3, 4), i32(3), np.int32(0)])
    rows.add("GatherV2", [floats(3, 4), np.array([[0, 1], [-1, 1]], np.int32), np.int32(0)])
    rows.add("GatherV2", [floats(3, 4), i32(0), np.int32(2)], text=False)
    rows.add("GatherV2", [floats(0, 4), np.zeros(0, np.int32), np.int32(0)])
    for dims, axis in [((2, 0), 0), ((0, 2), 1), ((0, 0), 1), ((0, 3), 0), ((3, 0), 1)]:  # no index is checked if the result is empty
        rows.add("GatherV2", [np.zeros(dims, np.float32), i32(-1, 2), np.int32(axis)])
    rows.add("Gather", [np.zeros((2, 0), np.float32), i32(5)])
    rows.add("GatherV2", [floats(2, 3, 4), np.array([[0, 2], [1, 1]], np.int32), np.int32(1)], batch_dims=1)
    rows.add("GatherV2", [floats(2, 3, 4), np.array([[0, 3], [1, 1]], np.int32), np.int32(2)], batch_dims=1)
    rows.add("GatherV2", [floats(2, 3), np.array([[0], [1], [1]], np.int32), np.int32(1)], batch_dims=1)
    rows.add("Gather", [floats(3, 2), i32(1, 2)])
    rows.add("Gather", [floats(3, 2), i32(1, 5)])
    rows.add("Gather", [np.float32(1), i32(0)])
    rows.add("GatherNd", [floats(3, 4), np.array([[0, 1], [2, 3]], np.int32)])
    rows.add("GatherNd", [floats(3, 4), np.array([[0], [2]], np.int64)])
    rows.add("GatherNd", [floats(3, 4), np.zeros((2, 0), np.int32)])
    for dims, indices in [((2, 0), [[1]]), ((0,), [[0]]), ((0, 2), np.zeros((3, 0))), ((0, 3), np.zeros((0, 1)))]:
        rows.add("GatherNd", [np.zeros(dims, np.float32), np.array(indices, np.int32)])
    rows.add("GatherNd", [floats(3, 4), np.array([[0, 4]], np.int32)])
    rows.add("GatherNd", [floats(3, 4), np.array([[0, 1, 2]], np.int32)])
    rows.write()


def tensor_scatter():
    rows = Rows("tensor_scatter", seed=1520)

    def numbers(*shape, dtype):
        value = integers(*shape, low=1, high=5).astype(dtype)
        return value + (1j * integers(*shape)).astype(dtype) if dtype in COMPLEX else value

    for name in ["Update", "Add", "Sub", "Max", "Min"]:
        op = "TensorScatter" + name
        for dtype in FLOATS + INTEGERS + (COMPLEX if name not in ("Max", "Min") else []):
            rows.add(op, [numbers(4, dtype=dtype), i32(1, 3, 1).reshape(3, 1), numbers(3, dtype=dtype)])
        rows.add(op, [floats(3, 2, 2), np.array([[2], [0]], np.int64), floats(2, 2, 2)])
        rows.add(op, [floats(3, 2, 2), i32(2, 1, 0, 0).reshape(2, 2), floats(2, 2)])
        rows.add(op, [floats(3, 2), i32(2, 1, 0, 0).reshape(1, 2, 2), floats(1, 2)])
        rows.add(op, [f32(1, np.nan, -np.inf, 4), i32(1, 2, 3).reshape(3, 1), f32(5, 1, np.inf)])
        rows.add(op, [np.zeros((0, 3), np.float32), np.zeros((0, 1), np.int32), np.zeros((0, 3), np.float32)])
        rows.add(op, [floats(3), np.zeros((0, 1), np.int32), np.zeros(0, np.float32)])
        rows.add(op, [floats(4), i32(4, 0).reshape(2, 1), floats(2)], bad_indices_policy="IGNORE")
        rows.add(op, [floats(4), i32(-1, 0).reshape(2, 1), floats(2)], bad_indices_policy="IGNORE")
        rows.add(op, [floats(4), i32(4, 0).reshape(2, 1), floats(2)], bad_indices_policy="ERROR")
        for indices, updates in [(i32(4)[None], floats(1)), (i32(-1)[None], floats(1)), (i32(1)[None], floats(2)), (i32(1, 2)[None], floats(1)),
                                 (np.int32(1), floats(1)), (np.zeros((1, 0), np.int32), floats(1, 4)), (i32(1)[None], np.float32(1))]:
            rows.add(op, [floats(4), indices, updates])
        rows.add(op, [np.float32(1), np.zeros((2, 0), np.int32), floats(2)])
        rows.add(op, [np.zeros((3, 0), np.float32), i32(7)[None], np.zeros((1, 0), np.float32)])
    rows.add("TensorScatterUpdate", [np.array([b"a", b"b"]), i32(1)[None], np.array([b"xyz"])])
    for policy in ["IGNORE", "ERROR"]:
        rows.add("GatherNd", [floats(2, 2), i32(0, 5, 1)[:, None]], bad_indices_policy=policy)
        rows.add("GatherNd", [np.array([b"a", b"b"]), i32(1, -1)[:, None]], bad_indices_policy=policy)
        rows.add("ScatterNd", [i32(0, 5, 0)[:, None], floats(3), i32(3)], bad_indices_policy=policy)
        rows.add("ScatterNd", [i32(0, 1, 2, 0)[None].reshape(2, 2), floats(2), i32(2, 2)], bad_indices_policy=policy)
    rows.add("TensorScatterUpdate", [np.array([True, False]), i32(1)[None], np.array([True])])
    for indices, updates, shape in [((2, 0), (2, 3), [3]), ((0,), (3,), [3]), ((1, 0), (1, 2, 2), [2, 2]), ((2, 0), (2,), []), ((0, 0), (0, 3), [3]), ((0, 0), (0, 2), [2])]:
        rows.add("ScatterNd", [np.zeros(indices, np.int32), np.ones(updates, np.float32), np.array(shape, np.int32)])  # an index of no numbers
    rows.write()


FAMILIES = [array, array_slices, tensor_scatter]

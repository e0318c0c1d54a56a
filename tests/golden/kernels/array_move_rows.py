"""Rows of ops that move, find and count elements."""
from rows import Rows
from drawn import COMPLEX, FLOATS, HALVES, INTEGERS, RANDOM, f32, floats, hundreds, i32

import numpy as np
import tensorflow as tf


def array_moves():
    rows = Rows("array_moves", seed=5)
    for dtype in FLOATS + INTEGERS + COMPLEX + [bool]:
        rows.add("Roll", [hundreds(2, 3, dtype=dtype), np.int32(1), np.int64(-1)])
        rows.add("Reverse", [hundreds(2, 3, dtype=dtype), np.array([True, False])])
        rows.add("ConjugateTranspose", [hundreds(2, 3, dtype=dtype), np.int32([1, 0])])
    rows.add("Roll", [texts(4), np.int32(-1), np.int32(0)])
    rows.add("Reverse", [texts(4), np.array([True])])
    rows.add("ConjugateTranspose", [texts(2, 2), np.int64([1, 0])])
    for dtype in COMPLEX:
        z = (hundreds(2, 3, 2) - 1j * hundreds(2, 3, 2)).astype(dtype)
        for perm in [[0, 1, 2], [2, 0, 1], [-1, 1, 0]]:
            rows.add("ConjugateTranspose", [z, np.int32(perm)])
    rows.add("ConjugateTranspose", [hundreds(2, 3), np.int32([0, 0])], text=False)
    x = hundreds(3, 4, 5)
    for by, axes in [([0], [0]), ([1], [0]), ([-1], [1]), ([7], [2]), ([1, 2], [0, 2]), ([1, -1, 2], [2, 1, 0]), ([1, 1], [1, 1]), ([2, -2], [0, -3]), ([], [])]:
        for index in [np.int32, np.int64]:
            rows.add("Roll", [x, np.array(by, index), np.array(axes, index)])
    rows.add("Roll", [x, np.int32(2**30), np.int32(1)])
    for shape in [(0,), (2, 0), (1,), (1, 1)]:
        rows.add("Roll", [hundreds(*shape), np.int32(3), np.int32(0)])
    for wrong in [(np.float32(1), np.int32(1), np.int32(0)), (x, np.int32(1), np.int32(3)), (x, np.int32(1), np.int32(-4)), (x, np.int32([1, 2]), np.int32([0])), (x, np.int32([[1]]), np.int32([0])),
                  (x, np.int32([1]), np.int32([[0]]))]:
        rows.add("Roll", list(wrong), text=False)
    for flags in [[False] * 3, [True, False, True], [True] * 3]:
        rows.add("Reverse", [x, np.array(flags)])
    rows.add("Reverse", [np.float32(1), np.zeros(0, bool)])
    rows.add("Reverse", [hundreds(2, 0), np.array([True, True])])
    for wrong in [[True], [[True, True, True]]]:
        rows.add("Reverse", [x, np.array(wrong)], text=False)
    rows.add("GuaranteeConst", [hundreds(2)])
    for stream in ["stderr", "stdout", "log(info)"]:
        rows.add("PrintV2", [np.array(b"printed to " + stream.encode())], output_stream=stream)
    rows.add("PrintV2", [np.array([b"a", b"b"])], text=False)
    rows.add("Print", [hundreds(2), [np.float32(1.5), np.int64([1, 2, 3, 4]), np.array([b"x"])]], message="printed: ")
    rows.add("Print", [hundreds(2), [np.float32(1.5)]], first_n=0)
    vectors(rows)
    layouts(rows)
    rows.write()


def texts(*shape):
    return np.array([b"a", b"b\0c", b"", b"dd"], object)[RANDOM.randint(0, 4, shape)]


def vectors(rows):
    for dtype in FLOATS + INTEGERS:
        rows.add("Cross", [hundreds(2, 3, high=9, dtype=dtype), hundreds(2, 3, high=9, dtype=dtype)])
    for dtype in FLOATS:
        rows.add("Cross", [RANDOM.uniform(-2, 2, (2, 2, 3)).astype(dtype), RANDOM.uniform(-2, 2, (2, 2, 3)).astype(dtype)], 1e-2 if dtype in HALVES else None)
    rows.add("Cross", [np.float32([np.inf, 1, 2]), np.float32([0, np.nan, 1])])
    rows.add("Cross", [hundreds(0, 3), hundreds(0, 3)])
    for a, b in [((3,), (2, 3)), ((2, 2), (2, 2)), ((), ())]:
        rows.add("Cross", [hundreds(*a), hundreds(*b)], text=False)
    for dtype in FLOATS + [np.int32, np.int64] + COMPLEX:
        rows.add("Diag", [hundreds(3, dtype=dtype)])
        rows.add("Diag", [hundreds(2, 2, dtype=dtype)])
        rows.add("DiagPart", [hundreds(3, 3, dtype=dtype)])
        rows.add("DiagPart", [hundreds(2, 3, 2, 3, dtype=dtype)])
    rows.add("Diag", [hundreds(0)])
    rows.add("DiagPart", [hundreds(0, 0)])
    rows.add("Diag", [np.float32(1)], text=False)
    for shape in [(), (3,), (2, 3), (2, 2, 2)]:
        rows.add("DiagPart", [hundreds(*shape)], text=False)
    for index in [np.int32, np.int64]:
        for places in [index(22), np.array([22, 0, 7, 59], index), np.zeros(0, index)]:
            rows.add("UnravelIndex", [places, np.array([3, 4, 5], index)], text=False)
        rows.add("UnravelIndex", [index(3), np.array([7], index)])
        for places, dims in [(60, [3, 4, 5]), (-1, [3, 4]), (1, [3, 0]), (0, [[3]]), ([[1]], [3]), (1, 3)]:
            rows.add("UnravelIndex", [np.array(places, index), np.array(dims, index)], text=False)


def layouts(rows):
    for index in [np.int32, np.int64]:
        for source, target in [("NHWC", "NCHW"), ("NCHW", "NHWC"), ("NHWC", "HWNC"), ("NDHWC", "NCDHW")]:
            rank = len(source)
            formats = dict(src_format=source, dst_format=target)
            rows.add("DataFormatDimMap", [np.arange(-rank, rank, dtype=index)], **formats)
            rows.add("DataFormatDimMap", [index(1)], **formats)
            rows.add("DataFormatVecPermute", [np.arange(rank, dtype=index) + 7], **formats)
            rows.add("DataFormatVecPermute", [np.arange(2 * rank, dtype=index).reshape(rank, 2)], **formats)
            rows.add("DataFormatVecPermute", [np.arange(rank - 2, dtype=index) + 7], **formats)
            rows.add("DataFormatVecPermute", [np.arange(2 * rank - 4, dtype=index).reshape(rank - 2, 2)], **formats)
    for wrong in [(3,), (4, 3), (), (1, 4, 2)]:
        rows.add("DataFormatVecPermute", [np.zeros(wrong, np.int32)], text=False)


def unique():
    rows = Rows("unique", seed=5)
    for dtype in FLOATS + INTEGERS + [bool]:
        for out in [tf.int32, tf.int64]:
            x = hundreds(7, high=3, dtype=dtype)
            rows.add("UniqueWithCounts", [x], out_idx=out)
            for op in ["UniqueV2", "UniqueWithCountsV2"]:
                rows.add(op, [x, np.zeros(0, np.int64)], out_idx=out)
                rows.add(op, [hundreds(4, 2, high=2, dtype=dtype), np.int32([0])], out_idx=out)
    odd = np.array([[np.nan, 0.0, -0.0, 1, np.inf], [np.nan, -0.0, 0.0, 1, np.inf]])
    for dtype in [np.float32, np.float64]:
        for axis in [0, 1, -1]:
            rows.add("UniqueWithCountsV2", [odd.astype(dtype), np.int64([axis])])
        rows.add("UniqueWithCounts", [odd[0].astype(dtype)])
    for axis in [0, 1, 2, -3]:
        rows.add("UniqueWithCountsV2", [hundreds(3, 3, 3, high=2), np.int32([axis])])
        rows.add("UniqueV2", [texts(2, 3, 3), np.int64([axis])])
    rows.add("UniqueWithCounts", [texts(9)])
    rows.add("UniqueWithCountsV2", [np.array([[b"ab", b"c"], [b"a", b"bc"], [b"ab", b"c"]], object), np.int32([0])])
    for op in ["UniqueV2", "UniqueWithCountsV2"]:
        for shape, axis in [((0,), []), ((0, 3), [0]), ((0, 3), [1]), ((3, 0), [0]), ((2, 2), []), ((), [0]), ((2, 2), [2]), ((2, 2), [-3]), ((2, 2), [0, 1]), ((2, 2), 0), ((2, 2), [[0]])]:
            rows.add(op, [hundreds(*shape), np.array(axis, np.int64)], text=False)
    rows.add("UniqueWithCounts", [hundreds(2, 2)], text=False)
    rows.write()

    rows = Rows("nth_element")
    for dtype in FLOATS + INTEGERS:
        x = RANDOM.permutation(12).reshape(2, 6).astype(dtype)
        for n in [0, 2, 5]:
            for reverse in [False, True]:
                rows.add("NthElement", [x, np.int32(n)], reverse=reverse)
    rows.add("NthElement", [hundreds(9, high=3), np.int32(4)])
    rows.add("NthElement", [np.float32([np.inf, -np.inf, 0, 5]), np.int32(3)])
    rows.add("NthElement", [hundreds(0, 3), np.int32(2)])
    for x, n in [(hundreds(3), 3), (hundreds(3), -1), (np.float32(1), 0), (hundreds(3), [1])]:
        rows.add("NthElement", [x, np.array(n, np.int32)])
    rows.write()

    rows = Rows("cumulative_logsumexp")
    special = np.float32([[-np.inf, -np.inf, 1, np.inf, 2], [0, 700, -700, 800, 1], [1e30, -1e30, 3, 3, 3]])
    for exclusive in [False, True]:
        for reverse in [False, True]:
            attrs = dict(exclusive=exclusive, reverse=reverse)
            for dtype in FLOATS:
                near = {np.float16: 2e-3, np.float32: 1e-6, np.float64: 1e-8}.get(dtype, 1.6e-2)
                rows.add("CumulativeLogsumexp", [RANDOM.uniform(-3, 3, (2, 5)).astype(dtype), np.int32(1)], near, **attrs)
                rows.add("CumulativeLogsumexp", [RANDOM.uniform(-3, 3, (2, 3, 2)).astype(dtype), np.int64(-2)], near, **attrs)
            rows.add("CumulativeLogsumexp", [special, np.int32(1)], **attrs)
            rows.add("CumulativeLogsumexp", [special.astype(np.float64), np.int32(-1)], **attrs)
            rows.add("CumulativeLogsumexp", [np.float32([1, np.nan, 2]), np.int32(0)], **attrs)
    rows.add("CumulativeLogsumexp", [hundreds(0, 2), np.int32(0)])
    for x, axis in [(hundreds(2), 1), (hundreds(2), -2), (hundreds(2), [0]), (np.float32(1), 0)]:
        rows.add("CumulativeLogsumexp", [x, np.array(axis, np.int32)], text=False)
    rows.write()


def parallel_concat():
    rows = Rows("parallel_concat")
    numbers = np.arange(12).reshape(3, 1, 4)
    for dtype in [np.float32, np.float64, np.float16, tf.bfloat16.as_numpy_dtype, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.complex64, np.complex128, np.bool_]:
        rows.add("ParallelConcat", [[np.array(row, dtype) for row in numbers]], shape=[3, 4])
    rows.add("ParallelConcat", [[np.array(["a"], object), np.array(["bc"], object)]], shape=[2])
    rows.add("ParallelConcat", [[np.ones([1, 2, 3], np.float32)]], shape=[1, 2, 3])
    rows.add("ParallelConcat", [[np.ones([1, 0], np.float32)] * 2], shape=[2, 0])
    rows.write()


def unique_v1_and_list_diff():
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


def scatter_nd_stitch_and_bincount():
    rows = Rows("scatter_nd_stitch_and_bincount", seed=5)
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


def space_to_batch_and_reverse():
    rows = Rows("space_to_batch_and_reverse", seed=5)
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


FAMILIES = [array_moves, unique, parallel_concat, unique_v1_and_list_diff, scatter_nd_stitch_and_bincount, space_to_batch_and_reverse]

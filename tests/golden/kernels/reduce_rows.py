"""Rows of reductions, of segments, and of ops that order or add up along an axis."""
from rows import Rows
from drawn import COMPLEX, FLOATS, INTEGERS, LOOSE, REALS, f32, floats, i32, integers

import numpy as np
import tensorflow as tf


def reduce():
    rows = Rows("reduce", seed=632)
    for op in ["Sum", "Mean", "Prod", "Max", "Min"]:
        for dtype in FLOATS + INTEGERS:
            rows.add(op, [integers(2, 3, 4, low=1, high=4, dtype=dtype), i32(1)], LOOSE.get(dtype))
        for axes in [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2], [], [-1], [-3, 2]]:
            for keep in [False, True]:
                rows.add(op, [floats(2, 3, 4), np.array(axes, np.int32)], keep_dims=keep)
        rows.add(op, [floats(3, 50), np.array(1, np.int64)])
        rows.add(op, [floats(50, 3), i32(0)])
        rows.add(op, [floats(2, 2, 2, 2, 2), i32(0, 2, 4)])
        rows.add(op, [floats(1, 3, 1), i32(0, 2)])
        rows.add(op, [np.zeros((0, 3), np.float32), i32(0)])
        rows.add(op, [np.zeros((2, 0), np.float32), i32(1)])
        rows.add(op, [np.zeros((0, 3), np.float32), i32(1)])
        rows.add(op, [np.float32(3), np.zeros(0, np.int32)])
        rows.add(op, [f32(1, 2), i32(1)])
        rows.add(op, [f32(1, 2), i32(0, 0)])
        rows.add(op, [f32(1, np.nan, 3), i32(0)])
        rows.add(op, [f32(1, np.inf, 3), i32(0)])
    for op in ["All", "Any"]:
        for axes in [[0], [1], [0, 1], []]:
            rows.add(op, [np.array([[True, False, True], [True, True, False]]), np.array(axes, np.int32)])
        rows.add(op, [np.zeros((0, 2), bool), i32(0)])
    for op in ["ArgMax", "ArgMin"]:
        for dtype in FLOATS + INTEGERS + [np.bool_]:
            rows.add(op, [integers(2, 5, high=3, dtype=dtype), np.array(1, np.int32)])
        for axis in [0, 1, 2, -1]:
            rows.add(op, [integers(2, 3, 4, high=3, dtype=np.float32), np.array(axis, np.int32)], output_type=np.int32)
        rows.add(op, [f32(1, 3, 3, 1), np.array(0, np.int64)])
        rows.add(op, [f32(np.nan, 1, 2), np.array(0, np.int32)])
        rows.add(op, [f32(1, np.nan, 2), np.array(0, np.int32)])
        rows.add(op, [f32(np.nan, np.nan), np.array(0, np.int32)])
        rows.add(op, [f32(1, 2), np.array(1, np.int32)])
        rows.add(op, [np.zeros((0, 3), np.float32), np.array(0, np.int32)])
        rows.add(op, [np.zeros((0, 3), np.float32), np.array(1, np.int32)])
    rows.write()


def topk_and_scans():
    rows = Rows("topk_and_scans", seed=540)
    for dtype in FLOATS + INTEGERS:
        rows.add("TopKV2", [integers(2, 7, high=5, dtype=dtype), np.int32(3)])
    rows.add("TopKV2", [floats(40), np.int32(40)])
    rows.add("TopKV2", [floats(3, 2, 9), np.int32(1)])
    rows.add("TopKV2", [floats(3, 5), np.int32(0)])
    rows.add("TopKV2", [floats(0, 5), np.int32(2)])
    rows.add("TopKV2", [floats(2, 3), np.int32(4)])
    rows.add("TopKV2", [floats(2, 3), np.int32(-1)])
    rows.add("TopKV2", [np.float32(1), np.int32(1)])
    rows.add("InTopKV2", [np.array([[0.1, 0.3, 0.3], [0.5, 0.2, 0.1]], np.float32), i32(2, 1), np.int32(1)])
    rows.add("InTopKV2", [np.array([[0.1, np.nan, 0.3], [0.5, 0.2, 0.1]], np.float32), i32(2, 7), np.int32(2)])
    for op in ["Cumsum", "Cumprod"]:
        for attrs in [dict(), dict(exclusive=True), dict(reverse=True), dict(exclusive=True, reverse=True)]:
            for axis in [0, 1, -1]:
                rows.add(op, [floats(2, 3, 2), np.int32(axis)], **attrs)
        rows.add(op, [integers(4, dtype=np.int64), np.int32(0)])
        rows.add(op, [floats(2), np.int32(1)])
        rows.add(op, [floats(0, 2), np.int32(0)])
    rows.add("L2Loss", [floats(5)])
    for dtype in [np.float16, tf.bfloat16.as_numpy_dtype]:
        rows.add("L2Loss", [np.array([1, -2, 0.5], dtype)])
        rows.add("L2Loss", [np.array([1, np.nan, 2], dtype)])
        rows.add("L2Loss", [np.zeros(0, dtype)])
    rows.add("ClipByValue", [floats(2, 3), np.float32(-0.5), np.float32(0.5)])
    rows.add("ClipByValue", [floats(3), floats(3, high=0), floats(3, low=0)])
    rows.add("ClipByValue", [floats(3), floats(2), np.float32(1)])
    rows.add("UnsortedSegmentSum", [floats(4, 2), i32(0, 2, 0, -1), np.int32(3)])
    rows.add("UnsortedSegmentSum", [floats(2, 2), np.array([[0, 1], [1, 1]], np.int32), np.int32(2)])
    rows.add("UnsortedSegmentSum", [floats(2), i32(0, 5), np.int32(3)])
    rows.add("Bucketize", [f32(-1, 0, 5, 10, 11)], boundaries=[0.0, 10.0])
    rows.add("Bucketize", [np.array([3, 4], np.int64)], boundaries=[4.0])
    for dtype in [np.int32, np.int64, np.float64]:  # an integer is compared as a float
        rows.add("Bucketize", [np.array([16777217, 16777218, 16777219], dtype)], boundaries=[16777216.0, 16777218.0, 16777220.0])
    rows.write()


def segments():
    rows = Rows("segments", seed=870)

    def numbers(*shape, dtype):
        value = integers(*shape, low=1, high=5).astype(dtype)
        return value + (1j * integers(*shape)).astype(dtype) if dtype in COMPLEX else value

    special = np.array([[1, 2], [np.nan, 4], [-np.inf, np.inf], [7, -8]], np.float32)
    for op in ["Sum", "Prod", "Max", "Min"]:
        for dtype in FLOATS + INTEGERS + (COMPLEX if op in ("Sum", "Prod") else []):
            rows.add("UnsortedSegment" + op, [numbers(4, 2, dtype=dtype), i32(1, 0, -1, 1), np.int32(3)], LOOSE.get(dtype))
        for ids in [np.array([0, 2, 0, -1], np.int64), np.array([0, 2, 0, 1], np.int16), i32(3, 3, 3, 3), i32(-1, -1, -1, -1)]:
            rows.add("UnsortedSegment" + op, [floats(4, 3, 2), ids, np.int64(4)])
        rows.add("UnsortedSegment" + op, [special, i32(0, 0, 2, -1), np.int32(4)])
        rows.add("UnsortedSegment" + op, [floats(2, 2, 2), i32(0, 1, 1, 2).reshape(2, 2), np.int32(3)])
        rows.add("UnsortedSegment" + op, [np.float32(3), np.int32(1), np.int32(2)])
        rows.add("UnsortedSegment" + op, [np.zeros((0, 2), np.float32), np.zeros(0, np.int32), np.int32(2)])
        rows.add("UnsortedSegment" + op, [np.zeros((2, 0), np.float32), i32(0, 1), np.int32(2)])
        rows.add("UnsortedSegment" + op, [floats(2, 2), i32(0, 1), np.int32(0)], text=False)
        rows.add("UnsortedSegment" + op, [floats(2, 2), i32(0, 4), np.int32(4)])
        rows.add("UnsortedSegment" + op, [floats(2, 2), i32(0, 4, 1), np.int32(4)], text=False)
        rows.add("UnsortedSegment" + op, [floats(2, 2), i32(0, 1), np.int32(-1)], text=False)
    for op in ["Sum", "Mean", "Prod", "Max", "Min"]:
        for dtype in FLOATS + INTEGERS + (COMPLEX if op in ("Sum", "Mean", "Prod") else []):
            rows.add("Segment" + op, [numbers(5, 2, dtype=dtype), i32(0, 0, 0, 2, 3)], LOOSE.get(dtype))
        rows.add("Segment" + op, [special, i32(0, 0, 1, 3)])
        for ids in [np.array([0, 1, 2, 3], np.int64), i32(2, 2, 2, 4), i32(0, 0, 0, 0)]:
            rows.add("Segment" + op, [floats(4, 3, 2), ids])
        rows.add("Segment" + op, [floats(4), i32(0, 0, 1, 1)])
        rows.add("Segment" + op, [np.zeros((0, 2), np.float32), np.zeros(0, np.int32)])
        rows.add("Segment" + op, [np.zeros((2, 0), np.float32), i32(0, 1)])
        for ids in [i32(0, 2, 0, 2), i32(-1, 0, 0, 2), i32(0, 1, 2), i32(0, 0, 1, -1), i32(0, 1, 2, 3).reshape(2, 2)]:
            rows.add("Segment" + op, [floats(4, 2), ids], text=False)
        rows.add("Segment" + op, [np.float32(1), np.zeros(0, np.int32)], text=False)
    for dtype in FLOATS + INTEGERS + COMPLEX + [np.bool_]:
        rows.add("DynamicPartition", [numbers(4, 2, dtype=dtype), i32(1, 0, 2, 1)], num_partitions=4)
        rows.add("ParallelDynamicStitch", [[i32(0, 3), i32(1)], [numbers(2, 2, dtype=dtype), numbers(1, 2, dtype=dtype)]])
    rows.add("DynamicPartition", [np.array([b"a", b"bc", b""]), i32(1, 1, 0)], num_partitions=2)
    rows.add("DynamicPartition", [floats(2, 2, 3), i32(0, 1, 1, 0).reshape(2, 2)], num_partitions=2)
    rows.add("DynamicPartition", [np.float32(1), np.int32(1)], num_partitions=3)
    rows.add("DynamicPartition", [np.zeros((0, 3), np.float32), np.zeros(0, np.int32)], num_partitions=2)
    rows.add("DynamicPartition", [np.zeros((2, 0), np.float32), i32(0, 1)], num_partitions=2)
    for partitions in [i32(0, 3), i32(0, -1), i32(0, 1, 2)]:
        rows.add("DynamicPartition", [floats(2, 2), partitions], num_partitions=3)
    rows.add("ParallelDynamicStitch", [[i32(0, 1), i32(1)], [floats(2, 2), floats(1, 2)]])
    rows.add("ParallelDynamicStitch", [[np.int32(1), i32(0)], [np.array(b"x"), np.array([b"yz"])]])
    rows.add("ParallelDynamicStitch", [[i32(0, -1)], [floats(2, 2)]])
    rows.add("ParallelDynamicStitch", [[i32(0, 1)], [floats(3, 2)]], text=False)
    rows.write()


def sparse_segment_grads():
    rows = Rows("sparse_segment_grads")
    for op in ["Sum", "Mean", "SqrtN"]:
        op = "SparseSegment%sGradV2" % op
        for dtype in REALS[:4]:
            gradient = np.array([[1, 2], [3, -4], [0.5, 8]]).astype(dtype)
            for kind in [np.int32, np.int64]:
                rows.add(op, [gradient, np.array([5, 2, 5, 0, 2], kind), np.array([0, 0, 1, 2, 2], kind), np.int32(6)], LOOSE.get(dtype))
            rows.add(op, [gradient[:, 0], np.int32([1, 1, 1]), np.int64([0, 1, 2]), np.int32(3)], LOOSE.get(dtype))
        gradient = np.float32([[1, 2], [3, 4]])
        rows.add(op, [gradient, np.int32([]), np.int32([]), np.int32(4)])
        rows.add(op, [gradient[:, :0], np.int32([1, 0]), np.int32([0, 1]), np.int32(4)])
        for indices, ids, size in [([0, 4], [0, 1], 4), ([0, -1], [0, 1], 4), ([0, 1], [0, 2], 4), ([0, 1], [-1, 0], 4), ([0, 1], [0], 4), ([[0, 1]], [0, 1], 4), ([0, 1], [[0, 1]], 4), ([0, 1], [0, 1], [4, 4])]:
            rows.add(op, [gradient, np.int32(indices), np.int32(ids), np.int32(size)], text=False)
    rows.write()


FAMILIES = [reduce, topk_and_scans, segments, sparse_segment_grads]

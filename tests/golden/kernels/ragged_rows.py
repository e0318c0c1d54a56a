"""Rows of ragged tensors."""
from rows import Rows
from drawn import f32, floats, i32

import numpy as np
import tensorflow as tf


def ragged():
    """Ragged tensors that are padded, and counted."""
    rows = Rows("ragged", seed=618)
    values = f32(1, 2, 3, 4, 5, 6)

    def pad(shape, values, default, kinds, *partitions, dtype=np.int64, text=False):
        rows.add("RaggedTensorToTensor", [np.array(shape, dtype), values, np.array(default, np.asarray(values).dtype), [np.array(p, dtype) for p in partitions]], text=text,
                 row_partition_types=kinds)
    for dtype in [np.int64, np.int32]:
        for shape in [-1, [-1, -1], [2, -1], [5, 2], [-1, 4], [0, 0], [-1, 0]]:
            pad(shape, values, 9, ["ROW_SPLITS"], [0, 1, 1, 4, 6], dtype=dtype)
            pad(shape, values, 9, ["FIRST_DIM_SIZE", "VALUE_ROWIDS"], 5, [0, 2, 2, 2, 3, 3], dtype=dtype)
        for shape in [-1, [-1, -1, -1], [2, 3, 2], [-1, 1, 1]]:
            pad(shape, values, 0, ["ROW_SPLITS", "ROW_SPLITS"], [0, 1, 3], [0, 1, 4, 6], dtype=dtype)
            pad(shape, values, 0, ["FIRST_DIM_SIZE", "VALUE_ROWIDS", "VALUE_ROWIDS"], 3, [0, 0, 2, 2], [0, 1, 1, 2, 3, 3], dtype=dtype)
            pad(shape, values, 0, ["FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS"], 3, [0, 0, 2, 2], [0, 1, 3, 4, 6], dtype=dtype)
    for kind in [np.int64, np.uint8, np.float64, np.bool_]:
        pad([-1, 3], values.astype(kind), 1, ["ROW_SPLITS"], [0, 1, 1, 4, 6])
    pad([-1, 3], np.array([b"a", b"bb", b"c"], object), b"", ["ROW_SPLITS"], [0, 1, 1, 3])
    matrix = floats(4, 2)
    pad([-1, -1, 2], matrix, 7, ["ROW_SPLITS"], [0, 1, 4])
    pad([-1, 2, -1], matrix, [7, 8], ["ROW_SPLITS"], [0, 1, 4])
    pad([-1, 2, -1], matrix, [7], ["ROW_SPLITS"], [0, 1, 4])
    pad([-1, 2, 3], matrix, 7, ["ROW_SPLITS"], [0, 1, 4])
    pad([-1, -1], values[:0], 7, ["ROW_SPLITS"], [0, 0, 0])
    pad([-1, -1], values[:0], 7, ["FIRST_DIM_SIZE", "VALUE_ROWIDS"], 2, [])
    for more in [values, np.arange(6), matrix[:, :1]]:  # than the partitions have places for, as with from_row_lengths(validate=False)
        pad(-1, more, 7, ["ROW_SPLITS"], [0, 2, 3])
        pad(-1, more, 7, ["FIRST_DIM_SIZE", "VALUE_ROWIDS"], 3, [0, 2, 2])
        pad(-1, more, 7, ["ROW_SPLITS", "ROW_SPLITS"], [0, 1, 2], [0, 2, 3])
    pad(-1, values, 7, ["ROW_SPLITS"], [0, 0])
    for wrong in [[7], [[7, 8]], [7, 8, 9]]:  # no value for [2], or for a scalar
        pad([-1, -1, -1], matrix, wrong, ["ROW_SPLITS"], [0, 1, 4])
        pad([-1, -1], values, wrong, ["ROW_SPLITS"], [0, 6])
    for wrong in [[-2, -1], [-1, -3]]:
        pad(wrong, values, 7, ["ROW_SPLITS"], [0, 6])
    for wrong in [[1, 6], [0, 4, 2, 6], []]:
        pad([-1, -1], values, 7, ["ROW_SPLITS"], wrong)
    pad([-1, -1, -1], values, 7, ["ROW_SPLITS"], [0, 6])
    pad([-1, -1], values, 7, ["VALUE_ROWIDS"], [0, 0, 0, 1, 1, 1])
    pad([-1, -1], values, 7, ["ROW_LENGTHS"], [6])
    pad([-1, -1], values, 7, ["FIRST_DIM_SIZE", "VALUE_ROWIDS"], 2, [0, 0, 0, 1, 1, 2])
    for index in [np.int32, np.int64]:
        for kind in [np.float32, np.float64, np.int32, np.int64]:
            for binary in [False, True]:
                rows.add("RaggedBincount", [np.array([0, 3, 3, 6]), np.array([1, 2, 1, 0, 7, 2], index), index(4), np.zeros(0, kind)], binary_output=binary)
            rows.add("RaggedBincount", [np.array([0, 3, 3, 6]), np.array([1, 2, 1, 0, 7, 2], index), index(4), np.array([1, 2, 3, 4, 5, 6], kind)])
    for splits, size in [([0, 3], 4), ([1, 6], 4), ([0, 6], -1), ([0, 7], 4)]:
        rows.add("RaggedBincount", [np.array(splits), np.array([1, 2, 1, 0, 7, 2]), np.int64(size), f32()], text=False)
    rows.add("RaggedBincount", [np.array([0, 2]), np.array([1, -2]), np.int64(3), f32()], text=False)
    ragged_ranges(rows)
    ragged_gathers(rows)
    rows.write()


def ragged_ranges(rows):
    for dtype in [np.int32, np.int64, np.float32, np.float64, tf.bfloat16.as_numpy_dtype]:
        for splits in [tf.int32, tf.int64]:
            rows.add("RaggedRange", [np.array([1, 5, 0, 3], dtype), np.array([6, 0, 0, 4], dtype), np.array([2, -2, 3, 9], dtype)], Tsplits=splits)
        rows.add("RaggedRange", [dtype(0), np.array([3, 0, -2], dtype), dtype(1)])
        rows.add("RaggedRange", [dtype(0), dtype(3), dtype(1)])
        rows.add("RaggedRange", [np.zeros(0, dtype), np.zeros(0, dtype), dtype(1)])
        rows.add("RaggedRange", [dtype(0), dtype(3), dtype(0)], text=False)
        rows.add("RaggedRange", [np.array([0, 1], dtype), np.array([0, 1, 2], dtype), dtype(1)], text=False)
        rows.add("RaggedRange", [np.array([[0, 1]], dtype), dtype(1), dtype(1)], text=False)
    for dtype in [np.float32, np.float64, tf.bfloat16.as_numpy_dtype]:
        rows.add("RaggedRange", [np.array([0, 1, 2], dtype), np.array([1, 0, 2.5], dtype), np.array([0.1, -0.3, 0.25], dtype)], each=1e-7)
    rows.add("RaggedRange", [np.int64(-2**63), np.int64(2**63 - 1), np.int64(2**62)])


def ragged_gathers(rows):
    outer, inner = np.array([0, 2, 2, 5]), np.array([0, 1, 3, 3, 4, 7])

    def gather(splits, values, indices):
        rows.add("RaggedGather", [[np.array(s) for s in splits], values, indices], OUTPUT_RAGGED_RANK=len(splits) + np.ndim(indices) - 1, text=False)
    for indices in [np.int32(2), np.int64(1), i32(2, 0, 0), np.int64([1]), np.int64([[2, 1, 0], [0, 0, 2]]), np.zeros(0, np.int32), np.zeros((2, 0), np.int32), i32(2, 1, 0, 0).reshape(2, 1, 2),
                    i32(3), i32(0, -1)]:
        gather([outer], np.arange(5, dtype=np.float32), indices)
        gather([outer, inner], np.arange(14, dtype=np.int64).reshape(7, 2), indices)
        gather([outer.astype(np.int32)], np.array([b"a", b"bb", b"", b"d", b"e"]), indices)
    for wrong in [[0, 2, 1, 5], [-1, 2, 2, 5], [0, 2, 2, 6], []]:
        gather([np.array(wrong, np.int64)], np.arange(5, dtype=np.float32), i32(0))


FAMILIES = [ragged]

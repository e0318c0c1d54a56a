"""Rows of XLA's slices."""
from rows import Rows
from drawn import COMPLEX, FLOATS, INTEGERS, hundreds

import numpy as np


def xla_slices():
    """Ops of XLA, which words its own errors."""
    rows = Rows("xla_slices", seed=5)
    x = hundreds(3, 4)
    for dtype in FLOATS + INTEGERS + COMPLEX + [bool]:
        rows.add("XlaDynamicSlice", [x.astype(dtype), np.int32([1, 1]), np.int32([2, 2])])
        rows.add("XlaDynamicUpdateSlice", [x.astype(dtype), hundreds(2, 3, dtype=dtype), np.int32([0, 1])])
    for index in [np.int32, np.int64]:
        for start in [[0, 0], [-1, 1], [2, 3], [5, -7], [2**31 - 1, -2**31]]:
            for size in [[2, 3], [3, 4], [1, 1], [0, 2]]:
                rows.add("XlaDynamicSlice", [x, index(start), index(size)])
                rows.add("XlaDynamicUpdateSlice", [x, hundreds(*size), index(start)])
    none = np.zeros(0, np.int32)
    rows.add("XlaDynamicSlice", [np.float32(3), none, none])
    rows.add("XlaDynamicUpdateSlice", [np.float32(3), np.float32(4), none])
    rows.add("XlaDynamicUpdateSlice", [hundreds(2, 0), hundreds(1, 0), np.int32([1, 1])])
    rows.add("XlaDynamicUpdateSlice", [hundreds(2, 3, 4, 5), hundreds(2, 1, 4, 3), np.int64([1, 1, 1, 1])])
    for start, size in [([0, 0], [4, 1]), ([0, 0], [-1, 1]), ([0], [1, 1]), ([0, 0], [1])]:
        rows.add("XlaDynamicSlice", [x, np.int32(start), np.int32(size)], text=False)
    for update, start in [((4, 1), [0, 0]), ((2,), [0, 0]), ((1, 1), [0]), ((1, 1), [[0, 0]])]:
        rows.add("XlaDynamicUpdateSlice", [x, hundreds(*update), np.int32(start)], text=False)
    rows.write()


FAMILIES = [xla_slices]

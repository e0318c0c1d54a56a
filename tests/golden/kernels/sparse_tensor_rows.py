"""Rows of sparse tensors made dense, reshaped, filled and multiplied, and of sparse segments."""
from rows import Rows
from drawn import COMPLEX, FLOATS, INTEGERS, LOOSE, REALS, bfloat16, f32, floats, i32, i64

import numpy as np


def sparse():
    rows = Rows("sparse", seed=654)

    def i64(value):
        return np.array(value, np.int64)

    two = [[0, 1], [1, 2]]
    for indices, before, after in [
            (two, [2, 3], [3, 2]), (two, [2, 3], [-1]), (two, [2, 3], [2, 3]), (two, [2, 3], [1, -1, 2]), (two, [2, 3], [6, 1, 1]),
            (two, [2, 3], [-1, -1]), (two, [2, 3], [4, 2]), (two, [2, 3], [4, -1]), (two, [2, 3], [-2, 3]), (two, [2, 3], [0, -1]),
            (two, [2, 3], []), (two, [-2, 3], [-6]), (two, [1 << 40, 1 << 40], [-1]), (two, [2, 3], [1 << 33, 1 << 33]),
            (two, [1 << 31, 1 << 31], [-1]), (two, [2, 3], [[3, 2]]), (two, [[2, 3]], [3, 2]), (two, [2, 3, 1], [3, 2]), ([0, 1], [2, 3], [3, 2]),
            ([[5, 7]], [2, 3], [3, 2]), ([[-1, 0]], [2, 3], [3, 2]), (two, [0, 3], [3, 0]), (two, [0, 3], [-1]),
            (np.zeros((0, 2)), [0, 3], [-1]), (np.zeros((0, 2)), [0, 3], [3, 0]), (np.zeros((0, 2)), [0, 3], [-1, 0]),
            (np.zeros((0, 2)), [2, 3], [3, 2]), (np.zeros((1, 0)), [], []), (np.zeros((1, 0)), [], [1, 1]), ([[0, 0]], [1, 1], [])]:
        rows.add("SparseReshape", [i64(indices), i64(before), i64(after)])
    one, text = np.float32(-1), np.array(b"none")
    three = [[2, 1], [0, 0], [2, 0]]
    for indices, values, shape, empty in [
            (two, f32(1, 2), [4, 3], one), (three, f32(1, 2, 3), [4, 3], one), ([[0, 1], [1, 0]], f32(1, 2), [2, 3], one),
            ([[1, 1], [0, 0]], f32(1, 2), [2, 3], one), (np.zeros((0, 2)), f32(), [3, 2], one), (np.zeros((0, 2)), f32(), [0, 2], one),
            ([[0, 1]], f32(1), [0, 2], one), ([[5, 1]], f32(1), [3, 2], one), (two, f32(1, 2), [1, 2], one), ([[-1, 1]], f32(1), [3, 2], one),
            ([[0, 9]], f32(1), [3, 2], one), ([[0, 1]], f32(1, 2), [3, 2], one), ([[0, 1]], f32(1), [3, 2], f32(-1)), ([0, 1], f32(1, 2), [3, 2], one),
            ([[0, 1]], np.float32([[1]]), [3, 2], one), ([[0, 1]], f32(1), [[3, 2]], one), ([[0, 1]], f32(1), [], one), ([[0], [2]], f32(1, 2), [3], one),
            ([[0, 1, 2]], f32(1), [3, 2], one), ([[0, 1]], f32(1), [-3, 2], one), ([[0, 1]], f32(1), [3, -2], one), (np.zeros((1, 0)), f32(1), [], one),
            (three, np.array([b"a", b"", b"longer than what lies in place"]), [4, 3], text), (three, i64([1, 2, 3]), [3, 3], np.int64(7)),
            (three, np.array([True, False, True]), [5, 3], np.array(True)), (three, np.float64([1, 2, 3]), [4, 3], np.float64(0.5))]:
        rows.add("SparseFillEmptyRows", [i64(indices), values, i64(shape), empty])
    zero, none = np.float32(0), np.zeros((0, 2))
    for indices, shape, values, empty in [
            (two, [4, 3], f32(5, 6), one), ([1, 3], [5], f32(5, 6), zero), (2, [4], np.float32(9), zero), ([1, 3], [5], np.float32(7), zero),
            ([[1, 0], [0, 1]], [2, 2], f32(5, 6), zero), ([[1, 0], [1, 0]], [2, 2], f32(5, 6), zero), ([[1, 2]], [2, 2], f32(5), zero),
            ([[-1, 0]], [2, 2], f32(5), zero), ([[0, 1]], [2, 2], f32(5, 6), zero), ([[0, 1]], [2], f32(5), zero), ([[[0]]], [2], f32(5), zero),
            ([0], [[2]], f32(5), zero), ([0], [2], np.float32([[5]]), zero), ([0], [2], f32(5), f32(1)), ([0], [-2], f32(5), zero),
            (none, [2, 2], f32(), one), ([], [3], f32(), one), (none, [0, 2], f32(), one), ([0], [], f32(5), zero), ([7], [5], f32(5), zero),
            ([1], [2], np.array([b"b"]), text), ([1, 2], [4], np.array([True, True]), np.array(False)), ([1], [3], i64([1 << 40]), np.int64(-1))]:
        for dtype in [np.int32, np.int64]:
            for validate in [True, False]:
                rows.add("SparseToDense", [np.array(indices, dtype), np.array(shape, dtype), values, empty], validate_indices=validate,
                         text=str(indices) != "[[1, 0], [0, 1]]")  # of several lines
    for indices, values, shape in [
            ([[1, 0], [0, 1], [0, 0]], f32(1, 2, 3), [2, 2]), ([[0, 0], [0, 0]], f32(1, 2), [2, 2]), (none, f32(), [2, 2]),
            ([[5, 0], [0, 1]], f32(1, 2), [2, 2]), ([[0, 1], [-1, 0]], f32(1, 2), [2, 2]), ([[1, 0]], f32(1, 2), [2, 2]), ([1], f32(1), [2]),
            ([[1]], np.float32([[1]]), [2]), ([[1]], f32(1), [[2]]), ([[1]], f32(1), [2, 2]), (np.zeros((2, 0)), f32(1, 2), []),
            (three, np.array([b"a", b"", b"c"]), [4, 3]), (three, i64([1, 2, 3]), [4, 3]), (three, np.array([True, False, True]), [4, 3])]:
        rows.add("SparseReorder", [i64(indices), values, i64(shape)])
    table = floats(4, 3)
    for data, indices, ids in [
            (table, [0, 1, 2], [0, 0, 2]), (table, [3, 3], [1, 1]), (table, [], []), (table, [0, 1], [1, 0]), (table, [0, 4], [0, 0]),
            (table, [0, -1], [0, 0]), (table, [0], [-1]), (table, [0, 1], [-1, 0]), (table, [0, 1, 2], [0, 2, 1]), (table, [0, 1], [0]),
            (table, [[0]], [0]), (table, [0], [[0]]), (table, 0, 0), (one, [0, 1], [0, 0]), (f32(7, 8), [0, 1], [0, 1]), (floats(3, 0), [0, 1], [0, 0]),
            (floats(0, 2), [0], [0]), (floats(2, 2, 2), [1, 0, 1], [0, 1, 1]), (floats(4, 3, dtype=np.float64), [0, 1, 2, 3], [0, 0, 0, 3])]:
        for dtype in [np.int32, np.int64]:
            for op in ["SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"]:
                rows.add(op, [data, np.array(indices, dtype), np.array(ids, dtype)])
                for count in [np.int32(4), np.int64(2)]:
                    rows.add(op + "WithNumSegments", [data, np.array(indices, dtype), np.array(ids, dtype), count], text=False)
    rows.add("SparseSegmentMean", [table, i64([0]), i64([2**63 - 1])], text=False)
    for dtype in INTEGERS + FLOATS:
        for op in ["SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"]:
            data = np.array([[100, 2], [100, 4]], dtype)
            rows.add(op, [data, i32(0, 1, 1), i32(0, 0, 1)], LOOSE.get(dtype))
            rows.add(op + "WithNumSegments", [data, i32(0, 1, 1), i32(0, 0, 2), np.int32(4)], LOOSE.get(dtype))
    for dtype in FLOATS:
        for op in ["SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"]:
            gradient = floats(3, 2, dtype=dtype)
            for indices, ids in [([0, 2, 2, 1], [0, 0, 1, 1]), ([3, 3, 0], [2, 2, 2]), ([], []), ([4], [0]), ([-1], [0]), ([0], [3]), ([0], [-1]), ([0, 1], [0])]:
                rows.add(op, [gradient, np.array(indices, np.int32), np.array(ids, np.int32), np.int32(4)], LOOSE.get(dtype), text=False, skip=() if ids else (0,))
            rows.add(op, [np.zeros((2, 0), dtype), i32(0, 1), i32(0, 1), np.int32(4)])
            rows.add(op, [gradient, np.array([0, 3, 0]), np.array([1, 1, 1]), np.int32(4)], LOOSE.get(dtype))
    rows.write()


def sparse_product():
    rows = Rows("sparse_product", seed=1518)

    def i64(value):
        return np.array(value, np.int64)

    b = floats(3, 2)
    for indices, values, shape, b in [
            ([[0, 1], [1, 2], [1, 0]], f32(1, 2, -3), [2, 3], b), ([[1, 2], [0, 1], [1, 2]], f32(1, 2, 4), [2, 3], b),
            ([[0, 1], [1, 2]], f32(1, 2), [2, 3], floats(3, 1)), ([[0, 1], [1, 2]], f32(1, 2), [2, 3], floats(3, 0)),
            (np.zeros((0, 2)), f32(), [2, 3], b), (np.zeros((0, 2)), f32(), [0, 3], b), (np.zeros((0, 2)), f32(), [2, 0], floats(0, 2)),
            ([[0, 1]], np.float64([3]), [2, 3], floats(3, 2, dtype=np.float64)), ([[0, 1], [1, 0]], f32(np.nan, np.inf), [2, 3], b),
            ([[0, 3]], f32(1), [2, 3], b), ([[0, -1]], f32(1), [2, 3], b), ([[2, 1]], f32(1), [2, 3], b), ([[-1, 1]], f32(1), [2, 3], b),
            ([[0, 1]], f32(1), [2, 4], b), ([[0, 1]], f32(1), [2, 3, 1], b), ([[0, 1]], f32(1), [[2, 3]], b), ([[0, 1]], f32(1, 2), [2, 3], b),
            ([0, 1], f32(1), [2, 3], b), ([[0, 1, 0]], f32(1), [2, 3], b), ([[0, 1]], f32([1]), [2, 3], b), ([[0, 1]], f32(1), [2, 3], floats(3))]:
        for dtype in [np.int32, np.int64]:
            rows.add("SparseTensorDenseMatMul", [np.array(indices, dtype), values, i64(shape), b])
    for adjoint_a, adjoint_b in [(True, False), (False, True), (True, True)]:
        b = floats(2 if adjoint_a else 3, 4)
        b = b.T.copy() if adjoint_b else b
        rows.add("SparseTensorDenseMatMul", [i64([[0, 1], [1, 2], [0, 1]]), f32(1, 2, 3), i64([2, 3]), b], adjoint_a=adjoint_a, adjoint_b=adjoint_b)
        rows.add("SparseTensorDenseMatMul", [i64([[0, 3]]), f32(1), i64([2, 3]), b], adjoint_a=adjoint_a, adjoint_b=adjoint_b)
        rows.add("SparseTensorDenseMatMul", [i64([[2, 1]]), f32(1), i64([2, 3]), b], adjoint_a=adjoint_a, adjoint_b=adjoint_b)
    for splits, values in [
            ([[0, 2, 2, 3]], f32(1, 2, 3)), ([[0]], f32()), ([[0, 0]], f32()), ([[0, 2, 2, 3]], i64([1, 2, 3])), ([[0, 1]], floats(1, 2, 2)),
            ([[0, 2, 3], [0, 0, 2, 3]], f32(1, 2, 3)), ([[0, 1, 3], [0, 2, 2, 4]], floats(4, 2)), ([[0, 1, 1]], np.array([b"text"])),
            ([[0, 0, 0]], floats(0, 2)), ([[1, 3]], f32(1, 2, 3)), ([[0, 2]], f32(1, 2, 3)), ([[0, 4]], f32(1, 2, 3)),
            ([[0, 2, 1, 3]], f32(1, 2, 3)), ([[]], f32()), ([[0, 1], [0, 1, 2]], f32(1, 2))]:
        for dtype in [np.int32, np.int64]:
            rows.add("RaggedTensorToSparse", [[np.array(s, dtype) for s in splits], values])
    rows.write()


def fill_empty_rows():
    rows = Rows("fill_empty_rows")
    for dtype in REALS + COMPLEX + [object, np.bool_]:
        values = np.array([b"a", b"", b"c", b"d"], object) if dtype is object else np.array([1, 2, 3, 4]).astype(dtype)
        default = np.array(b"none") if dtype is object else np.array(9).astype(dtype)
        for ids, count in [((0, 0, 2, 5), 7), ((3, 0, 3, 1), 4), ((0, 1, 2, 3), 4)]:
            rows.add("RaggedFillEmptyRows", [i64(*ids), values, np.int64(count), default])
        if dtype in REALS + COMPLEX:
            for op in ["RaggedFillEmptyRowsGrad", "SparseFillEmptyRowsGrad"]:
                for places in [(0, 3), (), (2, 2, 1), (3, 2, 1, 0)]:
                    rows.add(op, [i64(*places), values], LOOSE.get(dtype))
    values = np.float32([1, 2])
    for ids, of, count, default in [((0, 5), values, 4, 0), ((0, -1), values, 4, 0), ((), values[:0], 3, 0), ((), values[:0], 0, 0), ((0,), values[:0], 1, 0), ((0,), values[:1], 0, 0), (([0],), values[:1], 2, 0),
                                    ((0,), values[:1, None], 2, 0), ((0,), values[:1], -1, 0), ((0,), values[:1], [1], 0), ((0,), values[:1], 1, [0])]:
        rows.add("RaggedFillEmptyRows", [i64(*ids), of, np.array(count, np.int64), np.float32(default)])
    for op in ["RaggedFillEmptyRowsGrad", "SparseFillEmptyRowsGrad"]:
        for places, gradient in [((0, 3), [1, 2, 3]), ((0, -1), [1, 2]), ((), []), (([0],), [1]), ((0,), [[1]])]:
            rows.add(op, [i64(*places), np.float32(gradient)])
    rows.write()


def sparse_matmul():
    rows = Rows("sparse_matmul")
    random = np.random.RandomState(2)
    a, b = [np.round(random.uniform(-2, 2, shape), 2) for shape in [(3, 4), (4, 5)]]
    a[1] = 0
    for first in [np.float32, bfloat16]:
        for second in [np.float32, bfloat16]:
            for left in [False, True]:
                for right in [False, True]:
                    rows.add("SparseMatMul", [(a.T if left else a).astype(first), (b.T if right else b).astype(second)], transpose_a=left, transpose_b=right, a_is_sparse=left)
    nan = np.float32([[np.nan, 0], [np.inf, 1]])
    rows.add("SparseMatMul", [nan, np.float32([[1, 2], [3, 4]])])
    for x, y in [((2, 0), (0, 3)), ((0, 2), (2, 3)), ((2, 3), (2, 3)), ((2,), (2, 3)), ((2, 3), (3,)), ((1, 2, 3), (3, 2))]:
        rows.add("SparseMatMul", [np.ones(x, np.float32), np.ones(y, np.float32)])
    rows.write()


FAMILIES = [sparse, sparse_product, fill_empty_rows, sparse_matmul]

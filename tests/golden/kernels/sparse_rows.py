"""Rows of ops on sparse tensors, and of serialized ones."""
from drawn import bfloat16
from rows import Rows

import numpy as np
import tensorflow as tf


PAIRS = [[0, 0], [0, 1], [0, 3], [2, 0], [2, 2]]


def i64(value):
    return np.array(value, np.int64)


def sparse_sets():
    """Operations on the sets along the last dimension."""
    rows = Rows("sparse_sets")
    operations = ["a-b", "b-a", "intersection", "union", "Union"]
    kinds = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16]
    a, b = [[1, 2, 2, 9], [3, 3, 3, 3], [7, 8, 5, 1]], [[2, 5], [3, 3], [9, 0]]
    sparse = [i64(PAIRS), [9, 2, 2, 5, 1], i64([3, 4])]
    for dtype in kinds + [object]:
        def values(x):
            x = np.array(x)
            return np.vectorize(lambda n: b"v%d" % n, otypes=[object])(x) if dtype is object else x.astype(dtype)
        tensor = [sparse[0], values(sparse[1]), sparse[2]]
        for operation in operations:
            rows.add("DenseToDenseSetOperation", [values(a), values(b)], set_operation=operation)
            rows.add("DenseToSparseSetOperation", [values(a), *tensor], set_operation=operation)
            rows.add("SparseToSparseSetOperation", [i64([[0, 2], [1, 0], [2, 4]]), values([2, 4, 5]), i64([3, 7]), *tensor], set_operation=operation)
        rows.add("SetSize", tensor)
        rows.add("SetSize", [i64(PAIRS), values([1, 1, 2, 3, 3]), i64([4, 4])])
    nothing = [np.zeros((0, 2), np.int64), np.zeros(0, np.int32), i64([3, 0])]
    cube = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    deep = [i64([[0, 1, 0], [1, 0, 3], [1, 0, 4], [1, 2, 1]]), np.int32([5, 12, 13, 5]), i64([2, 3, 9])]
    for operation in operations[:4]:
        rows.add("DenseToDenseSetOperation", [cube, cube % 5], set_operation=operation)
        rows.add("DenseToDenseSetOperation", [np.zeros((2, 0), np.int32), np.int32([[1, 1], [2, 3]])], set_operation=operation)
        rows.add("DenseToDenseSetOperation", [np.zeros((2, 0), np.int32), np.zeros((2, 0), np.int32)], set_operation=operation)
        rows.add("DenseToDenseSetOperation", [np.zeros((0, 2), np.int32), np.zeros((0, 1), np.int32)], set_operation=operation)
        rows.add("DenseToSparseSetOperation", [cube, *deep], set_operation=operation)
        rows.add("DenseToSparseSetOperation", [np.int32([[1], [2], [3]]), *nothing], set_operation=operation)
        rows.add("DenseToSparseSetOperation", [np.zeros((2, 3, 0), np.int32), *deep], set_operation=operation)
        rows.add("SparseToSparseSetOperation", [*deep, *deep], set_operation=operation)
        rows.add("SparseToSparseSetOperation", [*nothing, sparse[0], np.int32(sparse[1]), sparse[2]], set_operation=operation)
        rows.add("SparseToSparseSetOperation", [*nothing, *nothing], set_operation=operation)
    rows.add("SetSize", nothing)
    rows.add("SetSize", deep)
    one = np.int32([[1, 2]])
    for wrong in [[np.int32([1]), np.int32([1])], [one, np.int32([[1], [2]])], [one, np.int32([[[1]]])], [np.int32(1), one]]:
        rows.add("DenseToDenseSetOperation", wrong, set_operation="union", text=False)
    rows.add("DenseToDenseSetOperation", [one, one], set_operation="xor", text=False)
    for indices, values, shape in [([[0, 0], [0, 0]], [1, 2], [1, 2]), ([[0, 1], [0, 0]], [1, 2], [1, 2]), ([[0, 2]], [1], [1, 2]), ([[-1, 0]], [1], [1, 2]), ([[1, 0]], [1], [1, 2]),
                                   ([[0, 0]], [1, 2], [1, 2]), ([[0, 0]], [1], [1, 2, 3]), ([[0, 0]], [1], [1, -2]), ([[0]], [1], [3]), ([0, 0], [1], [1, 2]), ([[0, 0]], [[1]], [1, 2]),
                                   ([[0, 0]], [1], [[1, 2]])]:
        rows.add("SetSize", [i64(indices), np.int32(values), i64(shape)], text=False)
        rows.add("DenseToSparseSetOperation", [one, i64(indices), np.int32(values), i64(shape)], set_operation="a-b", text=False)
    for indices in [[[0, 0], [0, 0]], [[0, 1], [0, 0]], [[1, 0], [0, 0]]]:
        rows.add("SetSize", [i64(indices), np.int32([1, 1]), i64([3, 2])], validate_indices=False)
    rows.write()


def sparse_counts():
    """How often each number occurs, as sparse counts and in bins."""
    rows = Rows("sparse_counts")
    weights_of = {np.int32: [1, 2, 3, 4, 5, 6], np.int64: [1, -2, 3, 4, 5, 6], np.float32: [0.5, 1, 1.5, 2, 3, 4], np.float64: [0.25, -1, 1.5, 2, 3, 4]}
    for kind in [np.int32, np.int64]:
        matrix, vector, splits = np.array([[1, 7, 1], [0, 2, 7]], kind), np.array([3, 0, 3, 3, 1, 0], kind), i64([0, 2, 2, 6])
        tensor = [i64([[0, 1], [0, 5], [2, 0], [2, 1], [2, 2], [2, 9]]), vector, i64([3, 10])]
        for output, weights in weights_of.items():
            for w in [np.zeros(0, output), np.array(weights, output)]:
                for binary in [False, True]:
                    shared = dict(binary_output=binary)
                    rows.add("DenseCountSparseOutput", [matrix, w.reshape(2, 3) if w.size else w], **shared)
                    rows.add("DenseCountSparseOutput", [vector, w], **shared)
                    rows.add("SparseCountSparseOutput", [*tensor, w], **shared)
                    rows.add("RaggedCountSparseOutput", [splits, vector, w], **shared)
                    rows.add("SparseBincount", [*tensor, kind(3), w], text=False, **shared)
                    rows.add("SparseBincount", [tensor[0][:, 1:], vector, i64([10]), kind(5), w], text=False, **shared)
        for least, most in [(-1, 3), (5, -1), (5, 3), (2, 9), (0, 0)]:
            shared = dict(binary_output=False, minlength=least, maxlength=most)
            nothing = np.zeros(0, np.float32)
            rows.add("DenseCountSparseOutput", [matrix, nothing], **shared)
            rows.add("SparseCountSparseOutput", [*tensor, nothing], **shared)
            rows.add("RaggedCountSparseOutput", [splits, vector, nothing], **shared)
            rows.add("DenseCountSparseOutput", [np.zeros((2, 0), kind), nothing], **shared)
            rows.add("DenseCountSparseOutput", [np.zeros(0, kind), nothing], **shared)
            rows.add("RaggedCountSparseOutput", [i64([0, 0]), np.zeros(0, kind), nothing], **shared)
            rows.add("SparseCountSparseOutput", [np.zeros((0, 2), np.int64), np.zeros(0, kind), i64([2, 5]), nothing], **shared)
    one = dict(binary_output=False, text=False)
    nothing = np.zeros(0, np.int32)
    for values, weights in [([-1, 2], nothing), ([[[1]]], nothing), (1, nothing), ([1, 2], np.int32([1])), (np.zeros((0, 2)), nothing)]:
        rows.add("DenseCountSparseOutput", [i64(values), weights], **one)
    rows.add("DenseCountSparseOutput", [i64([1, (1 << 63) - 1]), nothing], **one)
    for indices, values, shape in [([[0, 0]], [-1], [1, 1]), ([[1, 0]], [1], [1, 1]), ([[0, 0]], [1, 2], [1, 1]), ([[0]], [1], [1, 1]), ([0], [1], [1]), ([[0, -1]], [1], [1, 1]), ([[0, 0]], [1], [0, 1])]:
        rows.add("SparseCountSparseOutput", [i64(indices), i64(values), i64(shape), nothing], **one)
        rows.add("SparseBincount", [i64(indices), i64(values), i64(shape), np.int64(3), nothing], **one)
    rows.add("SparseBincount", [i64([[0]]), i64([-1]), i64([1]), np.int64(3), nothing], **one)
    for splits in [[0], [1, 2], [0, 1]]:
        rows.add("RaggedCountSparseOutput", [i64(splits), i64([1, 2]), nothing], **one)
    rows.write()


def sparse_serialized():
    """Sparse tensors in strings."""
    rows = Rows("sparse_serialized")
    index, shape = i64([[0, 0], [0, 2], [2, 1]]), i64([3, 4])
    nothing = np.zeros((0, 2), np.int64)
    write = tf.raw_ops.SerializeSparse
    for dtype in [np.float32, np.float64, np.float16, bfloat16, np.int8, np.int32, np.int64, np.uint16, np.complex64, np.bool_, object]:
        values = np.array([b"a", b"", b"c\0"], object) if dtype is object else np.array([1, 2, 0]).astype(dtype)
        tensor = tf.convert_to_tensor(values)
        rows.add("SerializeSparse", [index, values, shape])
        rows.add("SerializeManySparse", [index, values, shape])
        one = write(sparse_indices=index, sparse_values=values, sparse_shape=shape)
        many = tf.raw_ops.SerializeManySparse(sparse_indices=index, sparse_values=values, sparse_shape=shape)
        rows.add("DeserializeSparse", [one], dtype=tensor.dtype)
        rows.add("DeserializeManySparse", [many], dtype=tensor.dtype)
        rows.add("DeserializeSparse", [tf.stack([one, one])], dtype=tensor.dtype)
    values = np.float32([1, 2, 3])
    one, many = write(sparse_indices=index, sparse_values=values, sparse_shape=shape), tf.raw_ops.SerializeManySparse(sparse_indices=index, sparse_values=values, sparse_shape=shape)
    larger = write(sparse_indices=i64([[4, 0]]), sparse_values=values[:1], sparse_shape=i64([7, 2]))
    flat = write(sparse_indices=i64([[0], [1]]), sparse_values=values[:2], sparse_shape=i64([3]))
    empty = write(sparse_indices=nothing, sparse_values=values[:0], sparse_shape=i64([0, 4]))
    for serialized in [one, many, many[:2, None], tf.stack([one, larger]), tf.stack([one, flat]), tf.stack([empty, one]), empty, one[:2], many[:0], tf.constant(["x", "y", "z"]), tf.constant("x"), tf.constant(["", "", ""])]:
        rows.add("DeserializeSparse", [serialized], dtype=tf.float32)
        if serialized.shape.rank == 2:
            rows.add("DeserializeManySparse", [serialized], dtype=tf.float32)
            rows.add("DeserializeManySparse", [serialized], dtype=tf.int32)
    text = lambda x: tf.io.serialize_tensor(x)
    for parts in [(index[:, 0], values, shape), (index, values[:2], shape), (index, values, shape[:1]), (index, values[:, None], shape), (index, values, i64([[3, 4]])), (i64([[0, 0], [5, 0], [-2, 1]]), values, shape),
                  (index, np.int32([1, 2, 3]), shape)]:
        row = tf.stack([text(part) for part in parts])
        rows.add("DeserializeSparse", [row], dtype=tf.float32)
        rows.add("DeserializeManySparse", [row[None]], dtype=tf.float32)
        rows.add("DeserializeSparse", [tf.stack([row, row])], dtype=tf.float32)
    rows.add("DeserializeSparse", [tf.stack([text(part) for part in (index.astype(np.int32), values, shape)])], dtype=tf.float32)
    wrong = [(index[:, 0], values, shape), (index, values[:, None], shape), (index, values, i64([[3, 4]])), (index, values[:2], shape), (index, values, shape[:1]), (i64([[0], [1], [2]]), values, i64([3]))]
    for parts in wrong + [(nothing, values[:0], shape), (nothing, values[:0], i64([0, 4]))]:
        rows.add("SerializeSparse", list(parts))
        rows.add("SerializeManySparse", list(parts))
    for parts in [(i64([[0, 0], [5, 0], [2, 1]]), values, shape), (i64([[2, 0], [0, 0], [2, 1]]), values, shape), (i64([[0, 0], [-1, 0], [2, 1]]), values, shape), (i64([[0, 0], [0, 9], [2, 1]]), values, shape),
                  (i64([[0, 0], [0, 0], [2, 1]]), values, shape), (nothing, values[:0], i64([-1, 4])), (index, values, i64([3, -4]))]:
        rows.add("SerializeManySparse", list(parts), text=False)
    rows.write()


def sparse_math():
    """Arithmetic, reductions, parts and joins of sparse tensors."""
    rows = Rows("sparse_math")
    loose = {np.float16: 2e-3, bfloat16: 1.6e-2}
    reals = [np.float32, np.float64, np.float16, bfloat16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
    complexes = [np.complex64, np.complex128]
    other = [[0, 1], [0, 2], [1, 1], [2, 0], [2, 3]]
    for dtype in reals + complexes:
        a = [i64(PAIRS), np.array([1, 5, 3, 4, 7]).astype(dtype), i64([3, 4])]
        b = [i64(other), np.array([2, 6, 3, 1, 9]).astype(dtype), i64([3, 4])]
        real = {np.complex64: np.float32, np.complex128: np.float64}.get(dtype, dtype)
        tolerance = loose.get(dtype)
        if dtype in [np.float32, np.float64, np.int64, np.int32, np.int16, np.int8] + complexes:
            for threshold in [0, 6, 100]:
                rows.add("SparseAdd", a + b + [real(threshold)], tolerance)
        rows.add("SparseAddGrad", [np.arange(1, 9).astype(dtype), a[0], b[0], i64([[0, 0], [0, 1], [0, 2], [0, 3], [1, 1], [2, 0], [2, 2], [2, 3]])])
        rows.add("SparseAddGrad", [np.arange(1, 3).astype(dtype), a[0], b[0], i64([[0, 0], [2, 2]])])
        for index in [np.int32, np.int64]:
            rows.add("SparseTensorDenseAdd", [a[0].astype(index), a[1], a[2].astype(index), np.arange(12).reshape(3, 4).astype(dtype)], tolerance)
        if dtype not in complexes:
            rows.add("SparseSparseMaximum", a + b)
            rows.add("SparseSparseMinimum", a + b)
            for op in ["Add", "Mul", "Div"]:
                rows.add("SparseDenseCwise" + op, a + [np.arange(1, 13).reshape(3, 4).astype(dtype)], tolerance)
        for axes in [[0], [1], [0, 1], [-1], []]:
            for keep in [False, True]:
                for op in ["Sum"] + ["Max"] * (dtype not in complexes):
                    rows.add("SparseReduce" + op, a + [np.int32(axes)], tolerance, keep_dims=keep)
                    rows.add("SparseReduce%sSparse" % op, a + [np.int32(axes)], tolerance, keep_dims=keep)
    for dtype in [np.float32, np.float64, np.float16]:
        rows.add("SparseSoftmax", [i64(PAIRS), np.array([1, -5, 3, 4, 2.5], dtype), i64([3, 4])], loose.get(dtype))
        rows.add("SparseSoftmax", [i64([[0, 1, 0], [0, 1, 2], [1, 0, 0], [1, 1, 0]]), np.array([1, 100, 3, 4], dtype), i64([2, 2, 3])], loose.get(dtype))
        rows.add("SparseSoftmax", [np.zeros((0, 2), np.int64), np.zeros(0, dtype), i64([3, 4])])
    arithmetic_edges(rows)
    parts(rows)
    distances(rows)
    a = [i64([[0, 0], [2, 3]]), np.float32([1, 5]), i64([3, 4])]
    outside = [i64([[0, 0], [3, 1]]), np.float32([1, 5]), i64([3, 4])]
    rows.add("SparseSparseMaximum", a + outside, text=False)
    rows.add("SparseSparseMinimum", outside + a, text=False)
    for dense in (np.float32(-0.0), np.float32([1, 0, 2, 3]), np.int32([1, 2, 0, 3]), np.float64([np.nan, 1, 2, 3])):
        rows.add("SparseDenseCwiseDiv", [a[0], a[1].astype(dense.dtype), a[2], dense], text=False)
    rows.write()


def arithmetic_edges(rows):
    a = [i64(PAIRS), np.float32([1, 5, 3, 4, 7]), i64([3, 4])]
    none = [np.zeros((0, 2), np.int64), np.zeros(0, np.float32), i64([3, 4])]
    cube = [i64([[0, 1, 0], [0, 1, 2], [1, 0, 0], [1, 2, 1]]), np.float32([1, 2, 4, 8]), i64([2, 3, 4])]
    for x, y in [(a, none), (none, a), (none, none), (cube, cube)]:
        rows.add("SparseAdd", x + y + [np.float32(0)])
        rows.add("SparseSparseMaximum", x + y)
    negative = [a[0], np.float32([-1, -5, 0, 4, -7]), a[2]]
    rows.add("SparseSparseMaximum", negative + none)
    rows.add("SparseSparseMinimum", negative + a)
    rows.add("SparseAdd", a + negative + [np.float32(1e-3)])
    for dense in [np.float32(2), np.float32([2]), np.float32([1, 2, 3, 4]), np.float32([[1], [2], [4]]), np.float32([[3]])]:
        for op in ["Add", "Mul", "Div"]:
            rows.add("SparseDenseCwise" + op, a + [dense])
            rows.add("SparseDenseCwise" + op, none + [dense])
    for wrong in [np.float32([1, 2, 3]), np.zeros((3, 3), np.float32), np.zeros((1, 3, 4), np.float32), np.zeros((6, 4), np.float32)]:
        rows.add("SparseDenseCwiseMul", a + [wrong], text=False)
        rows.add("SparseTensorDenseAdd", a + [wrong], text=False)
    for x in [[a[0] + 1, a[1], a[2]], [a[0], a[1][:2], a[2]], [a[0], a[1], i64([3, 4, 5])], [a[0][0], a[1], a[2]], [a[0] - 1, a[1], a[2]]]:
        rows.add("SparseTensorDenseAdd", x + [np.zeros((3, 4), np.float32)], text=False)
    for x, y in [(a, cube), (a, [a[0], a[1], i64([3, 5])]), (a, [a[0], a[1][:2], a[2]]), ([a[0][0], a[1], a[2]], a)]:
        rows.add("SparseAdd", x + y + [np.float32(0)], text=False)
        rows.add("SparseSparseMinimum", x + y, text=False)
    rows.add("SparseAdd", a + a + [np.float32([0])], text=False)
    rows.add("SparseSoftmax", [i64([[0], [1]]), np.float32([1, 2]), i64([2])], text=False)
    for axes in [[0], [1], [2], [0, 2], [1, 0], [-3, -1], [0, 1, 2], [1, 1]]:
        rows.add("SparseReduceSum", cube + [np.int32(axes)])
        rows.add("SparseReduceMaxSparse", cube + [np.int32(axes)], keep_dims=True)
    rows.add("SparseReduceSum", [i64(PAIRS[::-1]), a[1], a[2], np.int32(1)])
    rows.add("SparseReduceMax", [i64(PAIRS), -a[1], a[2], np.int32(1)])
    for axes in [[2], [-3], [[0]]]:
        rows.add("SparseReduceSum", a + [np.int32(axes)], text=False)
    rows.add("SparseReduceSum", none + [np.int32(0)])
    rows.add("SparseReduceSumSparse", none + [np.int32(0)])


def parts(rows):
    for values in [np.float32([1, 5, 3, 4, 7]), np.array([b"a", b"", b"c", b"dd", b"e"], object), np.array([True, False, True, True, False]), np.complex64([1, 2j, 3, 4, 5])]:
        a, b = [i64(PAIRS), values, i64([3, 4])], [i64([[0, 1], [2, 0]]), values[:2], i64([3, 4])]
        for axis in [0, 1, -1, -2]:
            rows.add("SparseConcat", [[a[0], b[0], a[0]], [a[1], b[1], a[1]], [a[2], b[2], a[2]]], concat_dim=axis)
        for axis, count in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (1, 4), (-1, 3)]:
            rows.add("SparseSplit", [np.int64(axis), *a], num_split=count)
        for start, size in [([0, 0], [3, 4]), ([0, 1], [2, 2]), ([2, 0], [9, 9]), ([1, 0], [1, 4]), ([0, 0], [0, 0]), ([5, 5], [1, 1]), ([0, 0], [2**62, 2**62])]:
            rows.add("SparseSlice", [*a, i64(start), i64(size)])
    a = [i64(PAIRS), np.float32([1, 5, 3, 4, 7]), i64([3, 4])]
    rows.add("SparseConcat", [[a[0], i64([[0, 0]])], [a[1], np.float32([9])], [a[2], i64([3, 1])]], concat_dim=1)
    rows.add("SparseConcat", [[a[0][:0], a[0][:0]], [a[1][:0], a[1][:0]], [a[2], a[2]]], concat_dim=0)
    for x in [[a[0], a[1], i64([4, 4])], [i64([[0], [1]]), np.float32([1, 2]), i64([3])], [a[0], a[1][:2], a[2]]]:
        rows.add("SparseConcat", [[a[0], x[0]], [a[1], x[1]], [a[2], x[2]]], concat_dim=1, text=False)
    for axis in [2, -3]:
        rows.add("SparseConcat", [[a[0], a[0]], [a[1], a[1]], [a[2], a[2]]], concat_dim=axis, text=False)
        rows.add("SparseSplit", [np.int64(axis), *a], num_split=2, text=False)
    rows.add("SparseSplit", [np.int64(0), *a], num_split=4, text=False)
    for start, size in [([0], [1]), ([0, 0], [1]), ([[0, 0]], [[1, 1]])]:
        rows.add("SparseSlice", [*a, i64(start), i64(size)], text=False)
    for dtype in [np.float32, np.float64, np.int32, np.uint8, np.complex64]:
        rows.add("SparseSliceGrad", [np.array([2, 3]).astype(dtype), i64(PAIRS), i64([0, 1]), i64([[0, 0], [2, 1]])])
    rows.add("SparseSliceGrad", [np.zeros(0, np.float32), i64(PAIRS), i64([0, 1]), np.zeros((0, 2), np.int64)])
    rows.add("SparseSliceGrad", [np.float32([1]), i64(PAIRS), i64([0, 1]), i64([[0, 0], [2, 1]])], text=False)
    rows.add("SparseSliceGrad", [np.float32([1, 2]), i64(PAIRS), i64([0]), i64([[0, 0], [2, 1]])], text=False)


def distances(rows):
    a, b = i64([[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 1, 2]]), i64([[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]])
    for dtype in [np.float32, np.int64, np.uint8, np.complex128, bfloat16, object, np.bool_]:
        x, y = np.array([1, 0, 3, 1, 2, 3]), np.array([1, 3, 2, 3])
        if dtype is object:
            x, y = np.array([b"a", b"b", b"", b"a", b"c", b"d"], object), np.array([b"a", b"q", b"c", b"d"], object)
        else:
            x, y = x.astype(dtype), y.astype(dtype)
        for normalize in [False, True]:
            rows.add("EditDistance", [a, x, i64([2, 2, 3]), b, y, i64([2, 2, 2])], normalize=normalize)
    for normalize in [False, True]:
        rows.add("EditDistance", [a, np.arange(6), i64([2, 2, 3]), np.zeros((0, 3), np.int64), np.zeros(0, np.int64), i64([3, 1, 2])], normalize=normalize)
        rows.add("EditDistance", [np.zeros((0, 3), np.int64), np.zeros(0, np.int64), i64([3, 1, 2]), a, np.arange(6), i64([2, 2, 3])], normalize=normalize)
        rows.add("EditDistance", [i64([[0, i] for i in range(7)]), i64(list(b"sitting")), i64([1, 7]), i64([[0, i] for i in range(6)]), i64(list(b"kitten")), i64([1, 6])], normalize=normalize)
        rows.add("EditDistance", [i64([[0, 0]]), np.float32([np.nan]), i64([1, 1]), i64([[0, 0]]), np.float32([np.nan]), i64([1, 1])], normalize=normalize)
    for truth in [[i64([[0]]), i64([1]), i64([2])], [i64([[0, 0]]), i64([1]), i64([2, 2])], [b, i64([1]), i64([2, 2, 2])]]:
        rows.add("EditDistance", [a, np.arange(6), i64([2, 2, 3]), *truth], text=False)


def serialized_tensors():
    """Tensors in a string, and the classes of a CTC network's steps."""
    rows = Rows("serialized_tensors")
    tensors = [np.float32([[1, 2], [3, 4]]), np.float64(1.5), np.array([b"a", b"", b"c\0d"], object), np.array([True, False]), np.int8([1, -1]), np.zeros((0, 3), np.int64), np.zeros(0, np.float32),
               np.complex64([1 + 2j, 3]), np.float16([1, 0.5]), np.array([1, 3], bfloat16), np.uint64([2**64 - 1]), np.int32(7), np.float32(0), np.array(b"x"), np.zeros((2, 0), bytes), np.uint16([9, 8])]
    for tensor in tensors:
        tensor = tf.convert_to_tensor(tensor)
        rows.add("SerializeTensor", [tensor])
        rows.add("ParseTensor", [tf.io.serialize_tensor(tensor)], out_type=tensor.dtype)
        rows.add("ParseTensor", [tf.make_tensor_proto(tensor).SerializeToString()], out_type=tensor.dtype)
    for text in [b"", b"\x08", b"\x08\x01\x12\x02", tf.io.serialize_tensor(tf.constant(1)).numpy()]:
        rows.add("ParseTensor", [np.array(text)], out_type=tf.float32, text=False)
    rows.add("ParseTensor", [np.array([b""])], out_type=tf.float32, text=False)
    random = np.random.RandomState(3)
    for dtype in [np.float32, np.float64]:
        steps = np.round(random.uniform(-3, 3, (6, 3, 4)), 3).astype(dtype)
        steps[1] = steps[0]
        for blank in [-1, 0, 3, -4, 4, -5]:
            for merge in [False, True]:
                rows.add("CTCGreedyDecoder", [steps, np.int32([6, 0, 4])], merge_repeated=merge, blank_index=blank, text=False)
        rows.add("CTCGreedyDecoder", [np.ones((3, 1, 2), dtype), np.int32([3])])
        rows.add("CTCGreedyDecoder", [np.zeros((3, 0, 2), dtype), np.zeros(0, np.int32)])
    steps = np.zeros((2, 2, 3), np.float32)
    for lengths in [[1], [1, 3], [[1, 1]]]:
        rows.add("CTCGreedyDecoder", [steps, np.int32(lengths)], text=False)
    rows.add("CTCGreedyDecoder", [steps[0], np.int32([1, 1])], text=False)
    rows.add("CTCGreedyDecoder", [np.zeros((0, 2, 3), np.float32), np.int32([0, 0])], text=False)
    rows.write()


FAMILIES = [sparse_sets, sparse_counts, sparse_serialized, sparse_math, serialized_tensors]

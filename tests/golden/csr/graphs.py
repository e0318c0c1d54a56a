#!/usr/bin/env python3
"""Writes the GraphDefs that test_csr.c reads: sparse matrices in compressed rows, with TensorFlow's answers.

    python tests/golden/csr/graphs.py [case…]

Made with TensorFlow 2.21. ../answered_graphs.py says how a graph holds the answers. All sums are exact.
"""
import itertools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from answered_graphs import np, tf, v1, write  # noqa: E402
from tensorflow.python.ops.linalg.sparse import gen_sparse_csr_matrix_ops as csr  # noqa: E402

CASES = {}
TYPES = [tf.float32, tf.float64, tf.complex64, tf.complex128]
TWO = ([[0, 1], [1, 0], [1, 2]], [1, 2, 3], [2, 3])
TALL = ([[0, 0], [0, 1], [1, 1], [2, 0]], [4, 5, -1, 2], [3, 2])
SQUARE = ([[0, 1], [0, 2], [1, 1], [2, 0], [2, 2]], [1, 2, -3, 4, 5], [3, 3])
EMPTY = (np.zeros([0, 2]), [], [2, 3])
OF_NO_ROWS = (np.zeros([0, 2]), [], [0, 3])
BATCH = ([[0, 0, 1], [1, 1, 0], [1, 1, 1], [3, 0, 0]], [1, 2, 5, 3], [4, 2, 2])
BATCH_OF_ONE = ([[0, 0, 1], [0, 1, 0]], [7, 2], [1, 2, 2])
TWICE = ([[0, 1], [0, 1], [1, 0]], [1, 2, 3], [2, 3])
OUT_OF_ORDER = ([[1, 0], [0, 2], [0, 0]], [1, 2, 3], [2, 3])


def case(function):
    CASES[function.__name__] = function
    return function


def numbers(values, dtype):
    values = np.array(values, dtype.as_numpy_dtype)
    return values + 1j * values[::-1] if dtype.is_complex else values


def sparse(name, dtype, rank=2):
    """A matrix of fed parts, and how to feed it."""
    parts = [v1.placeholder(tf.int64, [None, rank], name + "_indices"), v1.placeholder(dtype, [None], name + "_values"), v1.placeholder(tf.int64, [rank], name + "_shape")]
    return csr.sparse_tensor_to_csr_sparse_matrix(*parts), lambda matrix: dict(zip(parts, (matrix[0], numbers(matrix[1], dtype), matrix[2])))


def parts(matrix, index, dtype):
    return dict(zip(["rows", "columns", "values"], csr.csr_sparse_matrix_components(matrix, index, type=dtype)))


for kind, rank in itertools.product(TYPES, [2, 3]):
    def conversions(kind=kind, rank=rank):
        matrix, feed = sparse("a", kind, rank)
        back = csr.csr_sparse_matrix_to_sparse_tensor(matrix, type=kind)
        fetches = {"dense": csr.csr_sparse_matrix_to_dense(matrix, type=kind), "count": csr.sparse_matrix_nnz(matrix), "indices": back.indices, "values": back.values, "shape": back.dense_shape}
        return fetches, [feed(m) for m in ([TWO, TALL, SQUARE, EMPTY, OF_NO_ROWS, TWICE, OUT_OF_ORDER] if rank == 2 else [BATCH, BATCH_OF_ONE])]
    CASES[f"conversions_{kind.name}_{rank}"] = conversions

    def transposes(kind=kind, rank=rank):
        matrix, feed = sparse("a", kind, rank)
        fetches = {}
        for conjugate in [False, True]:
            turned = csr.sparse_matrix_transpose(matrix, conjugate=conjugate, type=kind)
            fetches.update({name + str(conjugate): part for name, part in parts(turned, 0, kind).items()})
        return fetches, [feed(m) for m in ([TWO, TALL, SQUARE, EMPTY, TWICE, OUT_OF_ORDER] if rank == 2 else [BATCH])]
    CASES[f"transposes_{kind.name}_{rank}"] = transposes

    def from_dense(kind=kind, rank=rank):
        dense, indices = v1.placeholder(kind, [None] * rank, "dense"), v1.placeholder(tf.int64, [None, rank], "indices")
        matrix = csr.dense_to_csr_sparse_matrix(dense, indices)
        rows = numbers(np.arange(6).reshape(2, 3), kind)
        runs = [(rows, [[0, 1], [1, 2]]), (rows, np.zeros([0, 2])), (rows, [[0, 3]]), (rows, [[-1, 0]])] if rank == 2 else [(rows.reshape(1, 2, 3), [[0, 0, 1], [0, 1, 2]]), (rows.reshape(2, 1, 3), [[0, 0, 1], [1, 0, 2]])]
        return parts(matrix, 0, kind), [{dense: x, indices: i} for x, i in runs]
    CASES[f"from_dense_{kind.name}_{rank}"] = from_dense

    def dense_products(kind=kind, rank=rank):
        matrix, feed = sparse("a", kind, rank)
        b = v1.placeholder(kind, [None] * rank, "b")
        fetches = {}
        for a_side, b_side, turned, conjugated in itertools.product([None, "transpose_a", "adjoint_a"], [None, "transpose_b", "adjoint_b"], [False, True], [False, True]):
            if (turned or conjugated) and (a_side or b_side) and not (a_side == "adjoint_a" and b_side == "transpose_b"):
                continue
            how = {side: True for side in (a_side, b_side) if side}
            fetches[f"{a_side}_{b_side}_{turned}_{conjugated}"] = csr.sparse_matrix_mat_mul(matrix, b, transpose_output=turned, conjugate_output=conjugated, **how)
        square = numbers(np.arange(-4, 5).reshape(3, 3), kind)
        batch = numbers(np.arange(16).reshape(4, 2, 2), kind)
        return fetches, [{b: square, **feed(SQUARE)}] if rank == 2 else [{b: batch, **feed(BATCH)}, {b: batch[:1], **feed(BATCH_OF_ONE)}]
    CASES[f"dense_products_{kind.name}_{rank}"] = dense_products

    def sparse_products(kind=kind, rank=rank):
        (a, feed_a), (b, feed_b) = sparse("a", kind, rank), sparse("b", kind, rank)
        fetches = {}
        for a_side, b_side in itertools.product([None, "transpose_a", "adjoint_a"], [None, "transpose_b", "adjoint_b"]):
            how = {side: True for side in (a_side, b_side) if side}
            if len(fetches) < 15:
                product = csr.sparse_matrix_sparse_mat_mul(a, b, type=kind, **how)
                fetches.update({f"{a_side}_{b_side}_{name}": part for name, part in parts(product, 0, kind).items() if name != "rows" or not how})
        cancels = ([[0, 0], [0, 1], [1, 0]], [1, 1, 2], [2, 2]), ([[0, 0], [1, 0]], [1, -1], [2, 2])
        runs = [(SQUARE, SQUARE), cancels] if rank == 2 else [(BATCH, BATCH), (BATCH_OF_ONE, BATCH), (BATCH, BATCH_OF_ONE)]
        return fetches, [{**feed_a(x), **feed_b(y)} for x, y in runs]
    CASES[f"sparse_products_{kind.name}_{rank}"] = sparse_products


@case
def rectangles():
    (a, feed_a), (b, feed_b) = sparse("a", tf.float32), sparse("b", tf.float32)
    dense = v1.placeholder(tf.float32, [None, None], "dense")
    fetches = {"dense": csr.sparse_matrix_mat_mul(a, dense), **parts(csr.sparse_matrix_sparse_mat_mul(a, b, type=tf.float32), 0, tf.float32)}
    x = np.arange(12).reshape(3, 4) - 5
    runs = [(TWO, TALL, x), (TALL, TWO, x[:2]), (EMPTY, TALL, x[:, :0]), (TWICE, TALL, x), (OUT_OF_ORDER, TALL, x), (TWO, TWO, x), (TWO, TALL, x[:2])]
    return fetches, [{**feed_a(m), **feed_b(n), dense: y} for m, n, y in runs]


@case
def batches_of_other_sizes():
    (a, feed_a), (b, feed_b) = sparse("a", tf.float32, 3), sparse("b", tf.float32, 3)
    three = (np.zeros([0, 3]), [], [3, 2, 2])
    return parts(csr.sparse_matrix_sparse_mat_mul(a, b, type=tf.float32), 0, tf.float32), [{**feed_a(BATCH), **feed_b(three)}]


@case
def matrices_of_a_batch():
    matrix, feed = sparse("a", tf.float32, 3)
    index = v1.placeholder(tf.int32, [], "index")
    return parts(matrix, index, tf.float32), [{index: i, **feed(BATCH)} for i in [0, 1, 2, 3, 4, -1]]


@case
def other_types():
    matrix, feed = sparse("a", tf.float32)
    return parts(matrix, 0, tf.float64), [feed(TWO)]


@case
def transpose_of_another_type():
    matrix, feed = sparse("a", tf.float32)
    return parts(csr.sparse_matrix_transpose(matrix, type=tf.float64), 0, tf.float64), [feed(TWO)]


@case
def product_of_another_type():
    (a, feed_a), (b, feed_b) = sparse("a", tf.float32), sparse("b", tf.float64)
    return parts(csr.sparse_matrix_sparse_mat_mul(a, b, type=tf.float32), 0, tf.float32), [{**feed_a(SQUARE), **feed_b(SQUARE)}]


@case
def dense_product_of_another_type():
    matrix, feed = sparse("a", tf.float32)
    b = v1.placeholder(tf.float64, [None, None], "b")
    return {"y": csr.sparse_matrix_mat_mul(matrix, b)}, [{b: np.eye(3), **feed(TWO)}]


for name, build in CASES.items():
    if name in sys.argv[1:] or len(sys.argv) == 1:
        write(HERE / (name + ".pb"), build)

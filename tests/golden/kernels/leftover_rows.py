"""Rows of matrices with few diagonals, of ops under their old names, and of patches and boxes, for make_rows.py."""
import numpy as np
import tensorflow as tf

from image_rows import ALL_REAL, floats, i32
from rows import Rows

TYPES = [np.float32, np.float64, np.complex64, np.complex128]


def matrix(*shape, dtype=np.float32):
    x = floats(*shape, low=-1, dtype=np.float64)
    return (x + 1j * floats(*shape, low=-1) if dtype in (np.complex64, np.complex128) else x).astype(dtype)


def leftovers():
    rows = Rows("leftovers")
    factors(rows)
    diagonals(rows)
    old_names(rows)
    contrast(rows)
    patches(rows)
    boxes(rows)
    rows_side_by_side(rows)
    rows.write()


def rows_side_by_side(rows):
    numbers = np.arange(12).reshape(3, 1, 4)
    for dtype in [np.float32, np.float64, np.float16, tf.bfloat16.as_numpy_dtype, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.complex64, np.complex128, np.bool_]:
        rows.add("ParallelConcat", [[np.array(row, dtype) for row in numbers]], shape=[3, 4])
    rows.add("ParallelConcat", [[np.array(["a"], object), np.array(["bc"], object)]], shape=[2])
    rows.add("ParallelConcat", [[np.ones([1, 2, 3], np.float32)]], shape=[1, 2, 3])
    rows.add("ParallelConcat", [[np.ones([1, 0], np.float32)] * 2], shape=[2, 0])


def factors(rows):
    for dtype in TYPES + [np.float16]:
        for shape in [(3, 3), (2, 4, 4), (2, 2, 1, 1)]:
            for index in [tf.int32, tf.int64]:
                rows.add("Lu", [matrix(*shape, dtype=dtype)], output_idx_type=index)
    for wrong in [np.zeros((2, 2), np.float32), np.ones((2, 2), np.float32), floats(2, 3), floats(3)]:
        rows.add("Lu", [wrong], text=wrong.ndim > 1)
    for shape in [(0, 3, 3), (2, 0, 0)]:
        rows.add("Lu", [np.zeros(shape, np.float32)])
    rows.add("Lu", [np.array([[np.nan, 1], [1, 2]], np.float32)], text=False)
    for dtype in [np.float32, np.float64, np.float16]:
        for shape in [(1, 1), (3, 3), (2, 4, 4)]:
            lower = np.tril(floats(*shape, low=-1, dtype=dtype)) + 2 * np.eye(shape[-1], dtype=dtype)
            rows.add("CholeskyGrad", [lower.astype(dtype), np.tril(floats(*shape, low=-1)).astype(dtype)])
    rows.add("CholeskyGrad", [np.tril(floats(3, 3)) + 2 * np.eye(3, dtype=np.float32), floats(3, 3)])
    for wrong in [(floats(2, 3), floats(2, 3)), (floats(3, 3), floats(2, 2)), (floats(3), floats(3)), (floats(3, 3), floats(2, 3, 3))]:
        rows.add("CholeskyGrad", list(wrong), text=False)
    rows.add("CholeskyGrad", [np.zeros((0, 2, 2), np.float32)] * 2)


def diagonals(rows):
    for dtype in TYPES:
        for n, columns, stack in [(4, 2, ()), (3, 1, (2,)), (1, 3, (2, 2)), (2, 2, ()), (5, 0, ()), (0, 2, ())]:
            lines = [matrix(*stack, 1, n, dtype=dtype) for _ in range(3)]
            rows.add("TridiagonalMatMul", lines + [matrix(*stack, n, columns, dtype=dtype)])
            system = matrix(*stack, 3, n, dtype=dtype)
            for pivoting in [True, False]:
                rows.add("TridiagonalSolve", [system, matrix(*stack, n, columns, dtype=dtype)], 1e-4, partial_pivoting=pivoting)
    for wrong in [(floats(3), floats(3, 1)), (floats(2, 3), floats(3, 1)), (floats(3, 3), floats(2, 1)), (floats(2, 3, 3), floats(3, 1)), (floats(2, 3, 3), floats(1, 3, 1))]:
        rows.add("TridiagonalSolve", list(wrong))
    singular = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 1]], np.float32)
    pivoted = np.array([[2, 1, 0], [0, 3, 1], [0, 4, 1]], np.float32)
    for system in [singular, pivoted, np.zeros((3, 3), np.float32), np.zeros((3, 1), np.float32)]:
        for pivoting in [True, False]:
            rows.add("TridiagonalSolve", [system, np.ones((system.shape[1], 2), np.float32)], partial_pivoting=pivoting)
    rows.add("TridiagonalSolve", [pivoted, floats(3, 1)], partial_pivoting=False, perturb_singular=True)
    line = floats(1, 3)
    for wrong in [(line, line, line, floats(2, 2)), (line, line, floats(1, 2), floats(3, 2)), (floats(2, 3), line, line, floats(3, 2)), (floats(3), line, line, floats(3, 2)),
                  (line, line, line, floats(2, 3, 2)), (floats(2, 1, 3), line, line, floats(3, 2))]:
        rows.add("TridiagonalMatMul", list(wrong), text=False)


def old_names(rows):
    for dtype in [np.float32, np.float64]:
        a = (matrix(2, 3, 3, dtype=dtype) + 3 * np.eye(3)).astype(dtype)
        positive = np.matmul(a, a.transpose(0, 2, 1))
        old = dict(producer=12)
        rows.add("BatchCholesky", [positive], **old)
        rows.add("BatchCholeskyGrad", [np.tril(a), np.tril(matrix(2, 3, 3, dtype=dtype))], **old)
        rows.add("BatchMatrixDeterminant", [a], **old)
        rows.add("BatchSelfAdjointEigV2", [positive], compute_v=False, **old)
        rows.add("BatchSvd", [a], compute_uv=False, **old)
        for adjoint in [False, True]:
            rows.add("BatchMatrixInverse", [a], adjoint=adjoint, **old)
            rows.add("BatchMatrixSolve", [a, matrix(2, 3, 2, dtype=dtype)], adjoint=adjoint, **old)
            rows.add("BatchMatrixTriangularSolve", [a, matrix(2, 3, 2, dtype=dtype)], adjoint=adjoint, lower=not adjoint, **old)
    for dtype in [np.float32, np.int32, np.bool_]:
        rows.add("BatchMatrixBandPart", [floats(2, 3, 4, high=9).astype(dtype), np.int64(1), np.int64(-1)], **old)


def contrast(rows):
    old = dict(producer=1)
    for dtype in [np.uint8, np.int8, np.int16, np.int32, np.int64, np.float32, np.float64]:
        for factor in [0.0, 0.5, 2.0, -1.5]:
            rows.add("AdjustContrast", [floats(2, 3, 4, 3, high=100).astype(dtype), np.float32(factor), np.float32(10), np.float32(80)], **old)
    image = floats(3, 4, 2, high=100)
    special = image.copy()
    special[0, 0] = np.nan, np.inf
    rows.add("AdjustContrast", [special, np.float32(2), np.float32(0), np.float32(50)], **old)
    rows.add("AdjustContrast", [image[:, :0], np.float32(2), np.float32(0), np.float32(50)], **old)
    for wrong in [(image[0], np.float32(1), np.float32(1), np.float32(1)), (image, floats(1), np.float32(1), np.float32(1)), (image, np.float32(1), floats(1), np.float32(1)),
                  (image, np.float32(1), np.float32(1), floats(2))]:
        rows.add("AdjustContrast", list(wrong), text=False, **old)


def patches(rows):
    for dtype in ALL_REAL + [np.uint32, np.uint64]:
        for padding in ["SAME", "VALID"]:
            for size, stride in [((2, 1, 2), (1, 2, 1)), ((1, 2, 3), (2, 2, 2)), ((2, 2, 2), (3, 1, 3))]:
                rows.add("ExtractVolumePatches", [floats(2, 3, 3, 3, 2, high=99).astype(dtype)], ksizes=[1, *size, 1], strides=[1, *stride, 1], padding=padding)
    x, attrs = floats(1, 3, 3, 3, 1), dict(ksizes=[1, 2, 2, 2, 1], strides=[1, 1, 1, 1, 1], padding="VALID")
    for wrong in [dict(ksizes=[2, 2, 2, 2, 1]), dict(ksizes=[1, 9, 2, 2, 1]), dict(strides=[1, 1, 1, 1, 2])]:
        rows.add("ExtractVolumePatches", [x], text=False, **{**attrs, **wrong})
    rows.add("ExtractVolumePatches", [x[0]], text=False, **attrs)
    rows.add("ExtractVolumePatches", [x[:0]], **attrs)


def boxes(rows):
    drawn = np.array([[[0.1, 0.2, 0.7, 0.9], [0, 0, 1, 1], [-0.5, 0.3, 0.4, 1.5], [0.6, 0.6, 0.2, 0.2], [1.2, 0, 2, 1], [0.5, 0.5, 0.5, 0.5]]], np.float32).repeat(2, 0)
    drawn[1] = drawn[1, ::-1]
    for depth in [1, 3, 4]:
        for dtype in [np.float32, np.float16]:
            image = floats(2, 6, 7, depth, dtype=dtype)
            rows.add("DrawBoundingBoxes", [image, drawn])
            rows.add("DrawBoundingBoxes", [image, np.tile(drawn, (1, 2, 1)) * np.float32(0.9)])
            rows.add("DrawBoundingBoxesV2", [image, drawn, floats(4, depth + 1)])
            rows.add("DrawBoundingBoxesV2", [image, drawn, np.zeros((0, depth), np.float32)])
    image = floats(2, 6, 7, 3)
    rows.add("DrawBoundingBoxes", [image, drawn[:, :0]])
    rows.add("DrawBoundingBoxes", [image[:0], drawn[:0]])
    for wrong in [(image[0], drawn), (image, drawn[0]), (image, drawn[:1]), (floats(2, 6, 7, 2), drawn), (image, drawn[..., :3])]:
        rows.add("DrawBoundingBoxes", list(wrong))
    for wrong in [floats(3), floats(2, 2)]:
        rows.add("DrawBoundingBoxesV2", [image, drawn, wrong], text=False)


FAMILIES = [leftovers]

"""Rows of functions of matrices, of least squares, of banded systems, and of old names of such ops, for make_rows.py."""
import numpy as np
import tensorflow as tf

from image_rows import ALL_REAL, floats
from leftover_rows import TYPES, matrix
from rows import Rows

NEAR = {np.float32: 1e-4, np.complex64: 1e-4}


def roots():
    rows = Rows("roots")
    functions(rows)
    least_squares(rows)
    bands(rows)
    old_names(rows)
    rows.write()


def functions(rows):
    for dtype in TYPES:
        for shape in [(1, 1), (3, 3), (2, 5, 5), (2, 1, 2, 2)]:
            x = matrix(*shape, dtype=dtype)
            positive = (np.matmul(x, np.conj(np.swapaxes(x, -1, -2))) + 0.5 * np.eye(shape[-1])).astype(dtype)
            turned = (positive + 0.3 * np.triu(matrix(*shape, dtype=dtype), 1)).astype(dtype)
            for op in ["MatrixSquareRoot", "MatrixLogarithm", "MatrixExponential"]:
                old = dict(producer=26) if op == "MatrixExponential" else {}
                for value in [positive, turned]:
                    rows.add(op, [value], NEAR.get(dtype), **old)
            rows.add("MatrixExponential", [(3 * x).astype(dtype)], NEAR.get(dtype), producer=26)
            if dtype in (np.complex64, np.complex128):
                rows.add("MatrixSquareRoot", [x], NEAR.get(dtype))
                rows.add("MatrixLogarithm", [x], NEAR.get(dtype))
        for op in ["MatrixSquareRoot", "MatrixLogarithm"]:
            rows.add(op, [np.array([[4, 1], [0, 9]], dtype)], NEAR.get(dtype))
            rows.add(op, [np.eye(4, dtype=dtype)], NEAR.get(dtype))
            rows.add(op, [(1e6 * np.eye(3) + np.triu(np.ones((3, 3)))).astype(dtype)], 1e-3)
            rows.add(op, [np.array([[0, -1], [1, 0]], dtype)], NEAR.get(dtype))
    rows.add("MatrixSquareRoot", [-np.eye(2, dtype=np.float32)])
    for op in ["MatrixSquareRoot", "MatrixLogarithm"]:
        dtype = np.complex64
        for shape in [(0, 2, 2), (2, 0, 0)]:
            rows.add(op, [np.zeros(shape, dtype)])
        for wrong in [(2, 3), (3,)]:
            rows.add(op, [np.zeros(wrong, dtype)], text=False)


def least_squares(rows):
    for dtype in TYPES:
        for stack, m, n, columns in [((), 4, 2, 3), ((2,), 3, 3, 1), ((), 2, 4, 2), ((2, 2), 5, 1, 1)]:
            a, b = matrix(*stack, m, n, dtype=dtype), matrix(*stack, m, columns, dtype=dtype)
            for fast in [True, False]:
                for l2 in [0.0, 0.5]:
                    rows.add("MatrixSolveLs", [a, b, np.float64(l2)], 1e-3 if dtype in NEAR else 1e-7, fast=fast)
            if dtype in (np.float32, np.float64):
                rows.add("BatchMatrixSolveLs", [a, b, np.float64(0.1)], 1e-3 if dtype in NEAR else 1e-7, producer=12)
    deficient = np.array([[1, 2, 3], [2, 4, 6], [1, 0, 1], [0, 0, 0]], np.float64)
    for a in [deficient, np.zeros((4, 3))]:
        for fast in [True, False]:
            rows.add("MatrixSolveLs", [a, np.ones((4, 2)), np.float64(0)], fast=fast)
    one = np.float64(0)
    for a, b in [((0, 3, 2), (0, 3, 1)), ((3, 0), (3, 2)), ((3, 2), (3, 0))]:
        rows.add("MatrixSolveLs", [np.zeros(a), np.zeros(b), one])
    for wrong in [(floats(3, 2), floats(2, 1), one), (floats(3), floats(3, 1), one), (floats(2, 3, 2), floats(3, 1), one), (floats(3, 2), floats(3, 1), np.zeros(1)),
                  (floats(3, 2), floats(3, 1), np.float64(-1))]:
        rows.add("MatrixSolveLs", list(wrong), text=False)


def bands(rows):
    for dtype in TYPES:
        for a, b in [((1, 3), (3, 2)), ((2, 4), (4, 1)), ((3, 5), (5, 3)), ((2, 2, 3), (2, 3, 2)), ((2, 1, 2, 3), (3, 3, 1)), ((4, 4), (2, 4, 1))]:
            for lower in [True, False]:
                for adjoint in [False, True]:
                    system = matrix(*a, dtype=dtype)
                    system[..., 0 if lower else -1, :] += 3
                    rows.add("BandedTriangularSolve", [system, matrix(*b, dtype=dtype)], NEAR.get(dtype), lower=lower, adjoint=adjoint)
    for wrong in [(floats(4, 3), floats(3, 1)), (floats(2, 3), floats(2, 1)), (floats(3), floats(3, 1)), (floats(2, 3), floats(3)), (floats(2, 2, 3), floats(3, 3, 1)), (floats(0, 3), floats(3, 1))]:
        rows.add("BandedTriangularSolve", list(wrong), text=False)
    rows.add("BandedTriangularSolve", [floats(2, 3), floats(3, 0)], text=False)
    rows.add("BandedTriangularSolve", [floats(0, 2, 3), floats(0, 3, 2)], text=False)
    rows.add("BandedTriangularSolve", [floats(4, 3) + 1, floats(3, 2)], lower=False)


def old_names(rows):
    old = dict(producer=10)
    for dtype in [np.float32, np.float64]:
        for shape in [(1, 1), (3, 3), (2, 4, 4)]:
            for op in ["SelfAdjointEig", "BatchSelfAdjointEig"]:
                x = floats(*shape, low=-1, dtype=dtype)
                values = np.sort(np.abs(x))
                rows.add(op, [values * np.eye(shape[-1], dtype=dtype)], **old)
    for dtype in ALL_REAL + [np.bool_, np.complex64]:
        rows.add("BatchMatrixDiag", [floats(2, 3, high=9).astype(dtype)], producer=13)
        rows.add("BatchMatrixDiagPart", [floats(2, 3, 4, high=9).astype(dtype)], producer=13)
        rows.add("BatchMatrixSetDiag", [floats(2, 3, 4, high=9).astype(dtype), floats(2, 3, high=9).astype(dtype)], producer=13)
    rows.add("BatchMatrixDiag", [np.float32(1)], text=False, producer=13)
    rows.add("BatchMatrixSetDiag", [floats(2, 3), floats(3)], text=False, producer=13)


def elders():
    """Ops of which today's models have later versions."""
    rows = Rows("elders")
    for dtype in [np.float32, np.float64, np.float16]:
        near = 4e-3 if dtype == np.float16 else None
        x, m, v, b, g = (floats(*shape, low=0.1, dtype=dtype) for shape in [(2, 3, 2, 4)] + [(4,)] * 4)
        for scale in [True, False]:
            old = dict(variance_epsilon=0.001, scale_after_normalization=scale, producer=8)
            rows.add("BatchNormWithGlobalNormalization", [x, m, v, b, g], near, **old)
            rows.add("BatchNormWithGlobalNormalizationGrad", [x, m, v, g, floats(2, 3, 2, 4, low=-1, dtype=dtype)], near, **old)
            rows.add("BatchNormWithGlobalNormalization", [x[:0], m, v, b, g], near, **old)
    for wrong in [(x[0], m, v, b, g), (x, m[None], v, b, g)]:
        rows.add("BatchNormWithGlobalNormalization", list(wrong), text=False, variance_epsilon=0.001, scale_after_normalization=True, producer=8)
    for dtype in ALL_REAL:
        for paddings in [[[0, 0], [0, 0]], [[1, 1], [2, 0]]]:
            for index in [np.int32, np.int64]:
                rows.add("SpaceToBatch", [floats(1, 4, 6, 2, high=99).astype(dtype), np.array(paddings, index)], block_size=2)
                rows.add("BatchToSpace", [floats(8, 2, 3, 2, high=99).astype(dtype), np.array(paddings, index)], block_size=2)
    for op in ["SpaceToBatch", "BatchToSpace"]:
        for wrong in [(floats(4, 4, 4), np.zeros((2, 2), np.int32)), (floats(4, 5, 4, 1), np.array([[0, 2], [-1, 1]])), (floats(4, 4, 4, 1), np.zeros((3, 2), np.int32)), (floats(3, 3, 3, 1), np.zeros((2, 2), np.int32))]:
            rows.add(op, list(wrong), text=False, block_size=2)
    for training in [True, False]:
        for layout in ["NHWC", "NCHW"] if training else ["NHWC"]:
            c = 3 if layout == "NCHW" else 4
            x, dy = floats(2, 3, 5, 4, low=-1), floats(2, 3, 5, 4, low=-1)
            for op in ["FusedBatchNormGrad", "FusedBatchNormGradV2"]:
                rows.add(op, [dy, x, floats(c), floats(c), floats(c, low=0.5)], 1e-4, skip=(3, 4), is_training=training, data_format=layout)
    rows.write()


FAMILIES = [roots, elders]

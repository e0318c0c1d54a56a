"""Rows of diagonals, factors, solutions and functions of matrices."""
from rows import Rows
from drawn import ALL_REAL, COMPLEX, FLOATS, INTEGERS, complexes, floats, i32, integers, unit_floats

import numpy as np
import tensorflow as tf

TYPES = [np.float32, np.float64, np.complex64, np.complex128]
NEAR = {np.float32: 1e-4, np.complex64: 1e-4}


def matrices():
    """Diagonals of matrices, factors and solutions."""
    rows = Rows("matrices", seed=856)
    # Without V2 and V3 there is no k.
    for dtype in FLOATS + INTEGERS + COMPLEX + [bool]:
        rows.add("MatrixDiag", [integers(2, 3, high=2, dtype=dtype)])
        rows.add("MatrixDiagPart", [integers(3, 2, high=2, dtype=dtype)])
        rows.add("MatrixSetDiag", [integers(2, 3, high=2, dtype=dtype), integers(2, high=2, dtype=dtype)])
    aligns = ["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"]
    for k in [0, 1, -1, [-1, 1], [0, 2], [-2, -1], [-2, 3], [1, 1]]:
        low, high = np.min(k), np.max(k)
        k = np.array(k, np.int32)
        x = integers(2, 3, 4, high=100)
        longest = min(3 + min(high, 0), 4 - max(low, 0))
        diagonals = integers(*((2, longest) if low == high else (2, high - low + 1, longest)), high=100)
        pad = np.int32(-7)
        rows.add("MatrixDiagPartV2", [x, k, pad])
        rows.add("MatrixSetDiagV2", [x, diagonals, k])
        rows.add("MatrixDiagV2", [diagonals, k, np.int32(3), np.int32(4), pad])
        rows.add("MatrixDiagV2", [diagonals, k, np.int32(-1), np.int32(-1), pad])
        for align in aligns:
            rows.add("MatrixDiagPartV3", [x, k, pad], align=align)
            rows.add("MatrixSetDiagV3", [x, diagonals, k], align=align)
            rows.add("MatrixDiagV3", [diagonals, k, np.int32(3), np.int32(-1), pad], align=align)
    one, none, pad = np.int32(1), np.int32(-1), np.float32(0)
    for k in [[0, 1, 2], [[0]], [1, 0], 5, -5]:
        rows.add("MatrixDiagPartV3", [floats(3, 4), np.array(k, np.int32), pad], text=False)
        rows.add("MatrixSetDiagV3", [floats(3, 4), floats(3), np.array(k, np.int32)], text=False)
    for size in [(one, none), (none, one), (np.int32(5), np.int32(6))]:
        rows.add("MatrixDiagV3", [floats(3), np.int32(0), *size, pad], text=False)
    rows.add("MatrixDiagV3", [floats(2, 3), i32(0, 2), none, none, pad], text=False)
    for shape in [(0, 3, 3), (2, 0, 3), (2, 3, 0)]:
        rows.add("MatrixDiagPart", [floats(*shape)])
        rows.add("MatrixDiagPartV3", [floats(*shape), np.int32(0), pad])
    rows.add("MatrixDiag", [floats(2, 0)])
    rows.add("MatrixDiag", [floats()], text=False)
    rows.add("MatrixDiagPart", [floats(3)], text=False)
    for dtype in [np.float32, np.float64] + COMPLEX:
        draw = (lambda *shape: complexes(*shape, dtype=dtype)) if dtype in COMPLEX else (lambda *shape: floats(*shape, dtype=dtype))
        near = 1e-4 if dtype in (np.float32, np.complex64) else 1e-7
        for n in [1, 2, 5]:
            a = draw(2, n, n)
            a += 2 * np.eye(n, dtype=dtype)
            positive = a @ np.conj(np.swapaxes(a, 1, 2)) + np.eye(n, dtype=dtype)
            rows.add("Cholesky", [positive], near)
            rows.add("MatrixDeterminant", [a], near)
            rows.add("LogMatrixDeterminant", [a], near)
            for adjoint in [False, True]:
                rows.add("MatrixInverse", [a], near, adjoint=adjoint)
                rows.add("MatrixSolve", [a, draw(2, n, 3)], near, adjoint=adjoint)
                for lower in [False, True]:
                    rows.add("MatrixTriangularSolve", [a, draw(2, n, 2)], near, adjoint=adjoint, lower=lower)
        for shape in [(3, 2), (2, 3), (2, 3, 3), (4, 1), (1, 4), (0, 3), (3, 0), (0, 2, 2)]:
            if dtype not in COMPLEX:
                rows.add("Qr", [draw(*shape)], near)
                rows.add("Qr", [draw(*shape)], near, full_matrices=True)
        if dtype not in COMPLEX:  # uninitialised
            rows.add("Cholesky", [-np.eye(1, dtype=dtype)])
            for place in [(0, 0), (1, 1), (1, 0), (2, 1)]:
                spoilt = 4 * np.eye(3, dtype=dtype) + 1
                spoilt[place] = np.nan
                rows.add("Cholesky", [spoilt])
        rows.add("LogMatrixDeterminant", [np.zeros((2, 2), dtype)])
        rows.add("MatrixDeterminant", [np.ones((2, 2), dtype)])
        rows.add("MatrixTriangularSolve", [np.ones((2, 1, 3, 3), dtype), draw(4, 3, 1)], near)
        for op in ["Cholesky", "MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant"]:
            for shape in [(2, 3), (3,), (2, 0, 0), (0, 2, 2), (0, 0)]:
                rows.add(op, [draw(*shape)])
        rows.add("MatrixInverse", [np.zeros((2, 2), dtype)])
        rows.add("MatrixInverse", [np.full((2, 2), np.nan, dtype)])
        rows.add("MatrixSolve", [np.zeros((2, 2), dtype), draw(2, 1)])
        for a, b in [((2, 2), (3, 1)), ((1, 2, 2), (2, 1)), ((2, 3, 3), (1, 3, 1)), ((0, 0), (0, 3)), ((2, 2), (2, 0)), ((2, 2), (2,))]:
            rows.add("MatrixSolve", [draw(*a), draw(*b)])
            if a != (2, 3, 3):
                rows.add("MatrixTriangularSolve", [draw(*a), draw(*b)])
        rows.add("MatrixTriangularSolve", [draw(2, 3), draw(2, 1)])
        rows.add("MatrixTriangularSolve", [draw(2, 3, 3), draw(4, 3, 1)])
    rows.write()


def matrix_factors():
    rows = Rows("matrix_factors", seed=3)
    factors(rows)
    rows.write()

    rows = Rows("matrix_tridiagonal")
    diagonals(rows)
    rows.write()

    rows = Rows("matrix_batch_v1")
    batch_names(rows)
    rows.write()


def factors(rows):
    for dtype in TYPES + [np.float16]:
        for shape in [(3, 3), (2, 4, 4), (2, 2, 1, 1)]:
            for index in [tf.int32, tf.int64]:
                rows.add("Lu", [matrix(*shape, dtype=dtype)], output_idx_type=index)
    for wrong in [np.zeros((2, 2), np.float32), np.ones((2, 2), np.float32), unit_floats(2, 3), unit_floats(3)]:
        rows.add("Lu", [wrong], text=wrong.ndim > 1)
    for shape in [(0, 3, 3), (2, 0, 0)]:
        rows.add("Lu", [np.zeros(shape, np.float32)])
    rows.add("Lu", [np.array([[np.nan, 1], [1, 2]], np.float32)], text=False)
    for dtype in [np.float32, np.float64, np.float16]:
        for shape in [(1, 1), (3, 3), (2, 4, 4)]:
            lower = np.tril(unit_floats(*shape, low=-1, dtype=dtype)) + 2 * np.eye(shape[-1], dtype=dtype)
            rows.add("CholeskyGrad", [lower.astype(dtype), np.tril(unit_floats(*shape, low=-1)).astype(dtype)])
    rows.add("CholeskyGrad", [np.tril(unit_floats(3, 3)) + 2 * np.eye(3, dtype=np.float32), unit_floats(3, 3)])
    for wrong in [(unit_floats(2, 3), unit_floats(2, 3)), (unit_floats(3, 3), unit_floats(2, 2)), (unit_floats(3), unit_floats(3)), (unit_floats(3, 3), unit_floats(2, 3, 3))]:
        rows.add("CholeskyGrad", list(wrong), text=False)
    rows.add("CholeskyGrad", [np.zeros((0, 2, 2), np.float32)] * 2)


def matrix(*shape, dtype=np.float32):
    x = unit_floats(*shape, low=-1, dtype=np.float64)
    return (x + 1j * unit_floats(*shape, low=-1) if dtype in (np.complex64, np.complex128) else x).astype(dtype)


def diagonals(rows):
    for dtype in TYPES:
        for n, columns, stack in [(4, 2, ()), (3, 1, (2,)), (1, 3, (2, 2)), (2, 2, ()), (5, 0, ()), (0, 2, ())]:
            lines = [matrix(*stack, 1, n, dtype=dtype) for _ in range(3)]
            rows.add("TridiagonalMatMul", lines + [matrix(*stack, n, columns, dtype=dtype)])
            system = matrix(*stack, 3, n, dtype=dtype)
            for pivoting in [True, False]:
                rows.add("TridiagonalSolve", [system, matrix(*stack, n, columns, dtype=dtype)], 1e-4, partial_pivoting=pivoting)
    for wrong in [(unit_floats(3), unit_floats(3, 1)), (unit_floats(2, 3), unit_floats(3, 1)), (unit_floats(3, 3), unit_floats(2, 1)), (unit_floats(2, 3, 3), unit_floats(3, 1)), (unit_floats(2, 3, 3), unit_floats(1, 3, 1))]:
        rows.add("TridiagonalSolve", list(wrong))
    singular = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 1]], np.float32)
    pivoted = np.array([[2, 1, 0], [0, 3, 1], [0, 4, 1]], np.float32)
    for system in [singular, pivoted, np.zeros((3, 3), np.float32), np.zeros((3, 1), np.float32)]:
        for pivoting in [True, False]:
            rows.add("TridiagonalSolve", [system, np.ones((system.shape[1], 2), np.float32)], partial_pivoting=pivoting)
    rows.add("TridiagonalSolve", [pivoted, unit_floats(3, 1)], partial_pivoting=False, perturb_singular=True)
    line = unit_floats(1, 3)
    for wrong in [(line, line, line, unit_floats(2, 2)), (line, line, unit_floats(1, 2), unit_floats(3, 2)), (unit_floats(2, 3), line, line, unit_floats(3, 2)), (unit_floats(3), line, line, unit_floats(3, 2)),
                  (line, line, line, unit_floats(2, 3, 2)), (unit_floats(2, 1, 3), line, line, unit_floats(3, 2))]:
        rows.add("TridiagonalMatMul", list(wrong), text=False)


def batch_names(rows):
    for dtype in [np.float32, np.float64]:
        a = (matrix(2, 3, 3, dtype=dtype) + 3 * np.eye(3)).astype(dtype)
        positive = np.matmul(a, a.transpose(0, 2, 1))
        old = dict(producer=12)
        rows.add("BatchCholesky", [positive], **old)
        rows.add("BatchCholeskyGrad", [np.tril(a), np.tril(matrix(2, 3, 3, dtype=dtype))], **old)
        rows.add("BatchMatrixDeterminant", [a], **old)
        rows.add("BatchSelfAdjointEigV2", [positive], compute_v=False, skip=(1,), **old)
        rows.add("BatchSvd", [a], compute_uv=False, skip=(1, 2), **old)
        for adjoint in [False, True]:
            rows.add("BatchMatrixInverse", [a], adjoint=adjoint, **old)
            rows.add("BatchMatrixSolve", [a, matrix(2, 3, 2, dtype=dtype)], adjoint=adjoint, **old)
            rows.add("BatchMatrixTriangularSolve", [a, matrix(2, 3, 2, dtype=dtype)], adjoint=adjoint, lower=not adjoint, **old)
    for dtype in [np.float32, np.int32, np.bool_]:
        rows.add("BatchMatrixBandPart", [unit_floats(2, 3, 4, high=9).astype(dtype), np.int64(1), np.int64(-1)], **old)


def matrix_functions():
    rows = Rows("matrix_functions", seed=3)
    functions(rows)
    rows.write()

    rows = Rows("matrix_least_squares")
    least_squares(rows)
    rows.write()

    rows = Rows("matrix_banded")
    bands(rows)
    rows.write()

    rows = Rows("matrix_diagonal_v1")
    batch_diagonals(rows)
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
    for wrong in [(unit_floats(3, 2), unit_floats(2, 1), one), (unit_floats(3), unit_floats(3, 1), one), (unit_floats(2, 3, 2), unit_floats(3, 1), one), (unit_floats(3, 2), unit_floats(3, 1), np.zeros(1)),
                  (unit_floats(3, 2), unit_floats(3, 1), np.float64(-1))]:
        rows.add("MatrixSolveLs", list(wrong), text=False)


def bands(rows):
    for dtype in TYPES:
        for a, b in [((1, 3), (3, 2)), ((2, 4), (4, 1)), ((3, 5), (5, 3)), ((2, 2, 3), (2, 3, 2)), ((2, 1, 2, 3), (3, 3, 1)), ((4, 4), (2, 4, 1))]:
            for lower in [True, False]:
                for adjoint in [False, True]:
                    system = matrix(*a, dtype=dtype)
                    system[..., 0 if lower else -1, :] += 3
                    rows.add("BandedTriangularSolve", [system, matrix(*b, dtype=dtype)], NEAR.get(dtype), lower=lower, adjoint=adjoint)
    for wrong in [(unit_floats(4, 3), unit_floats(3, 1)), (unit_floats(2, 3), unit_floats(2, 1)), (unit_floats(3), unit_floats(3, 1)), (unit_floats(2, 3), unit_floats(3)), (unit_floats(2, 2, 3), unit_floats(3, 3, 1)), (unit_floats(0, 3), unit_floats(3, 1))]:
        rows.add("BandedTriangularSolve", list(wrong), text=False)
    rows.add("BandedTriangularSolve", [unit_floats(2, 3), unit_floats(3, 0)], text=False)
    rows.add("BandedTriangularSolve", [unit_floats(0, 2, 3), unit_floats(0, 3, 2)], text=False)
    rows.add("BandedTriangularSolve", [unit_floats(4, 3) + 1, unit_floats(3, 2)], lower=False)


def batch_diagonals(rows):
    old = dict(producer=10)
    for dtype in [np.float32, np.float64]:
        for shape in [(1, 1), (3, 3), (2, 4, 4)]:
            for op in ["SelfAdjointEig", "BatchSelfAdjointEig"]:
                x = unit_floats(*shape, low=-1, dtype=dtype)
                values = np.sort(np.abs(x))
                rows.add(op, [values * np.eye(shape[-1], dtype=dtype)], **old)
    for dtype in ALL_REAL + [np.bool_, np.complex64]:
        rows.add("BatchMatrixDiag", [unit_floats(2, 3, high=9).astype(dtype)], producer=13)
        rows.add("BatchMatrixDiagPart", [unit_floats(2, 3, 4, high=9).astype(dtype)], producer=13)
        rows.add("BatchMatrixSetDiag", [unit_floats(2, 3, 4, high=9).astype(dtype), unit_floats(2, 3, high=9).astype(dtype)], producer=13)
    rows.add("BatchMatrixDiag", [np.float32(1)], text=False, producer=13)
    rows.add("BatchMatrixSetDiag", [unit_floats(2, 3), unit_floats(3)], text=False, producer=13)


def band_part_and_norm():
    rows = Rows("band_part_and_norm", seed=5)
    for lower, upper in [(1, 0), (-1, 0), (0, -1), (0, 0), (2, 1)]:
        rows.add("MatrixBandPart", [floats(2, 3, 4), np.int32(lower), np.int32(upper)])
    rows.add("MatrixBandPart", [floats(2, 3), np.int64(3), np.int64(0)])
    rows.add("EuclideanNorm", [floats(2, 3), i32(1)])
    rows.add("EuclideanNorm", [floats(2, 3), i32(0)], keep_dims=True)
    rows.add("BatchMatMulV3", [floats(2, 2, 3), floats(3, 2)], Tout=np.float32)
    rows.add("BiasAddV1", [floats(2, 3), floats(3)])
    rows.write()


FAMILIES = [matrices, matrix_factors, matrix_functions, band_part_and_norm]

#!/usr/bin/env python3
"""Writes the *.rows beside it, which tests/unit/runtime/test_kernels.c runs: make_rows.py [family…]"""
import sys

from rows import FLOAT8, Rows  # first: it says how TensorFlow is to start
import audio_rows
import gamma_rows
import parts_rows
import pooling_rows
import neighbor_rows
import roots_rows
import image_grad_rows
import image_math_rows
import image_rows
import odds_rows
import proto_rows
import type_rows
import ctc_rows
import edge_rows
import uniform_conv_rows
import cross_rows
import sequence_rows
import moved_rows
import spectrum_rows
import leftover_rows
import quantized_rows
import state_rows
import recurrent_rows
import window_rows
import xla_rows
import candidate_rows
import webp_rows
import tf_text_rows
import tf_text_score_rows

import numpy as np
import tensorflow as tf

from sparse_rows import counts, serialized, sets, sparse_math
from string_rows import encodings, joins

FLOATS = [np.float32, np.float64, np.float16, tf.bfloat16.as_numpy_dtype]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
LOOSE = {np.float16: 2e-3, tf.bfloat16.as_numpy_dtype: 1.6e-2}
RANDOM = np.random.RandomState(1)


def floats(*shape, low=-2.0, high=2.0, dtype=np.float32):
    return np.round(RANDOM.uniform(low, high, shape), 3).astype(dtype)


def integers(*shape, low=0, high=10, dtype=np.int32):
    return RANDOM.randint(low, high, shape).astype(dtype)


def i32(*values):
    return np.array(values, np.int32)


def f32(*values):
    return np.array(values, np.float32)


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 1e30, -1.0, 0.5]


def binary():
    rows = Rows("binary")
    for op in ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "Div", "FloorDiv", "FloorMod", "Pow",
               "Add", "Mod", "TruncateMod"]:
        for dtype in FLOATS:
            if op in ("Mod", "TruncateMod") and dtype not in (np.float32, np.float64):
                continue
            x, y = floats(2, 3, dtype=dtype, low=0.1), floats(3, dtype=dtype, low=0.5)
            rows.add(op, [x, y], LOOSE.get(dtype))
        for dtype in INTEGERS:
            if op == "Mod" and dtype not in (np.int32, np.int64):
                continue
            if op == "Pow" and dtype not in (np.int32, np.int64, np.int8, np.int16):
                continue
            if op == "SquaredDifference" and dtype not in (np.int32, np.int64):
                continue
            if op == "TruncateMod" and dtype not in (np.int32, np.int64):
                continue
            x, y = integers(2, 3, dtype=dtype), integers(2, 1, low=1, high=6, dtype=dtype)
            rows.add(op, [x, y])
            if np.issubdtype(dtype, np.signedinteger) and op != "Pow":
                rows.add(op, [np.array([7, -7, 7, -7, -128], dtype), np.array([3, 3, -3, -3, -1], dtype)])
    for op in ["AddV2", "Mul", "Sub", "RealDiv", "Maximum", "Minimum", "DivNoNan", "MulNoNan", "SquaredDifference"]:
        rows.add(op, [f32(*SPECIAL), f32(*SPECIAL[::-1])])
        rows.add(op, [f32(*SPECIAL), f32(0.0)])
        rows.add(op, [f32(*SPECIAL)[:, None], f32(*SPECIAL[:3])])
    shapes = [((), ()), ((1,), ()), ((), (2, 2)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)),
              ((2, 1, 3), (4, 1)), ((2, 3, 4), (3, 1)), ((0, 3), (3,)), ((0,), (1,)), ((2, 1, 2, 1), (1, 3, 1, 2)),
              ((5, 1, 4), (5, 3, 4)), ((1, 1), (3, 2)), ((2, 2, 1, 1, 2), (2, 3, 1, 2))]
    for a, b in shapes:
        rows.add("Sub", [floats(*a), floats(*b)])
        rows.add("AddV2", [integers(*a), integers(*b)])
    for a, b in [((2,), (3,)), ((2, 3), (2,)), ((2, 3, 4), (3, 2, 4))]:
        rows.add("AddV2", [floats(*a), floats(*b)])
        rows.add("Mul", [integers(*a), integers(*b)])
    for op in ["FloorDiv", "FloorMod", "Div"]:
        rows.add(op, [i32(1, 2), i32(1, 0)])
        rows.add(op, [np.zeros((0, 2), np.int32), i32(1, 0)])
    rows.add("Pow", [i32(2, 3), i32(1, -1)])
    rows.add("Pow", [f32(2, -2, -8, 0), f32(-1, 3, 0.5, 0)])
    rows.add("Atan2", [f32(1, -1, 0, 2), f32(1, -1, -1, 0)])
    rows.add("Xdivy", [f32(0, 1, 2), f32(0, 2, 0)])
    rows.add("Xlogy", [f32(0, 1, 2), f32(0, 2, 0.5)])
    rows.add("Add", [np.array([b"a", b"bc\0d"]), np.array(b"x")])
    rows.add("AddN", [[f32(1, 2), f32(3, 4), f32(5, 6)]])
    rows.add("AddN", [[i32(1, 2)]])
    rows.add("BitwiseAnd", [i32(12, 10), i32(10, -1)])
    rows.add("BitwiseOr", [i32(12, 10), i32(10, -1)])
    rows.add("TruncateDiv", [i32(7, -7, 7), i32(2, 2, -2)])
    rows.add("BitwiseXor", [i32(12, 10), i32(10, -1)])
    rows.write()


def random():
    """Each seed stands in one row only: TensorFlow keeps the stream of a node with the same attributes."""
    rows = Rows("random")
    key, counter = np.array([0x123456789abcdef], np.uint64), np.array([2**64 - 3, 5], np.uint64)
    seed = np.array([-3, 123456789012345])
    exact = dict(each=0)
    near = {np.float32: 1e-6, np.float64: 1e-14, np.float16: 1e-3, tf.bfloat16.as_numpy_dtype: 1e-2}
    for op in ["GetKeyCounter", "GetKeyCounterAlg"]:
        rows.add("StatelessRandom" + op, [seed])
        rows.add("StatelessRandom" + op, [i32(1, 2, 3)])
    rows.add("StatelessRandomGetAlg", [])
    rows.add("StatelessRandomUniformV2", [i32(5), key, counter, np.int32(3)], **exact)  # what Keras' layers ask for
    for number, dtype in enumerate(FLOATS):
        for kind in ["RandomUniform", "RandomNormal", "TruncatedNormal"]:
            how = exact if kind == "RandomUniform" else dict(each=near[dtype])
            name = kind if kind != "RandomNormal" else "RandomStandardNormal"
            rows.add("Stateless" + kind, [i32(3, 23), seed], dtype=dtype, **how)
            rows.add("Stateless" + kind + "V2", [i32(67), key, counter, np.int32(1)], dtype=dtype, **how)
            rows.add(name, [i32(9)], dtype=dtype, seed=number + 1, seed2=2**40 + 7, **how)
            rows.add(name, [i32(0, 9)], dtype=dtype, seed=number + 1, seed2=3)
    for dtype in [np.int32, np.int64]:
        lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
        for number, (low, high) in enumerate([(-5, 100), (lowest, highest), (highest - 1, highest)]):
            low, high = np.array(low, dtype), np.array(high, dtype)
            rows.add("StatelessRandomUniformInt", [i32(7), seed, low, high])
            rows.add("StatelessRandomUniformIntV2", [i32(67), key, counter, np.int32(1), low, high])
            rows.add("RandomUniformInt", [i32(7), low, high], seed=number + 1, seed2=9)
        same = np.array(4, dtype)
        rows.add("StatelessRandomUniformInt", [i32(7), seed, same, same])
        rows.add("StatelessRandomUniformInt", [i32(0), seed, same, same])
    for dtype in [np.int32, np.int64, np.uint32, np.uint64]:
        rows.add("StatelessRandomUniformFullInt", [i32(2, 4), seed], dtype=dtype)
        rows.add("StatelessRandomUniformFullIntV2", [i32(67), key, counter, np.int32(1)], dtype=dtype)
    for shape, k, c, algorithm in [(i32(2), [1, 2], [1, 2], 1), (i32(2), [1], [1, 2], 2),
                                   (i32(2), [1], [1, 2], [1]), (i32(-2), [1], [1, 2], 1), (np.int32(2), [1], [1, 2], 1)]:
        rows.add("StatelessRandomUniformV2", [shape, np.array(k, np.uint64), np.array(c, np.uint64),
                                              np.array(algorithm, np.int32)], text=False)
    for number, dtype in enumerate(FLOATS):
        logits = np.array([[0.5, 1, -3, 2], [np.inf, -np.inf, np.nan, 1], [-1, -1, 3, 3]], dtype)
        for out in [np.int32, np.int64]:
            rows.add("StatelessMultinomial", [logits, np.int32(9), seed], output_dtype=out)
            rows.add("Multinomial", [logits, np.int32(9)], seed=number + 1, seed2=4, output_dtype=out)
    rows.add("StatelessMultinomial", [f32(np.nan, np.inf, -np.inf)[None], np.int32(3), seed])
    rows.add("StatelessMultinomial", [np.zeros((2, 3)), np.int32(0), seed])
    rows.add("StatelessMultinomial", [np.zeros((0, 3)), np.int32(2), seed])
    rows.add("StatelessMultinomial", [np.zeros((2, 0)), np.int32(2), seed])
    rows.add("StatelessMultinomial", [np.zeros(2), np.int32(2), seed])
    rows.add("StatelessMultinomial", [np.zeros((1, 2)), np.int32(-1), seed])
    for number, value in enumerate([np.arange(100), integers(5, 3, dtype=np.int8), np.array([b"a", b"b", b"c"]),
                                    np.float32(1), floats(1, 4), floats(0, 4), floats(4, 0)]):
        rows.add("RandomShuffle", [value], seed=number + 1)
        rows.add("StatelessShuffle", [value, key, counter, np.int32(1)])
    rows.write()


COMPLEX = [np.complex64, np.complex128]


def complexes(*shape, dtype=np.complex64):
    return (floats(*shape) + 1j * floats(*shape)).astype(dtype)


def numbers():
    """Complex numbers."""
    rows = Rows("numbers")
    special = np.array([complex(a, b) for a in (0.0, -1.5, np.inf, np.nan) for b in (0.0, 2.0, -np.inf, np.nan)])
    for dtype, real in [(np.complex64, np.float32), (np.complex128, np.float64)]:
        near = 1e-5 if dtype == np.complex64 else 1e-7
        rows.add("Complex", [floats(2, 3, dtype=real), floats(3, dtype=real)], Tout=dtype)
        rows.add("Complex", [real(1), floats(0, 2, dtype=real)], Tout=dtype)
        for op in ["Real", "Imag", "Angle", "ComplexAbs"]:
            for x in [complexes(2, 3, dtype=dtype), special.astype(dtype), np.zeros((0, 2), dtype)]:
                rows.add(op, [x], near, Tout=real)
        rows.add("Conj", [complexes(2, 3, dtype=dtype)])
        rows.add("Conj", [dtype(1 + 2j)])
        for op in ["Neg", "Square", "Reciprocal", "Inv", "Sqrt", "Rsqrt", "Exp", "Expm1", "Log", "Log1p", "Sign", "Sigmoid",
                   "Sin", "Cos", "Tan", "Sinh", "Cosh", "Tanh", "Asin", "Acos", "Atan", "Asinh", "Acosh", "Atanh"]:
            rows.add(op, [complexes(5, dtype=dtype)], near)
            rows.add(op, [np.array([1, -0.25, 0.5j], dtype)], near)
        for op in ["Add", "AddV2", "Sub", "Mul", "Div", "RealDiv", "MulNoNan", "DivNoNan", "SquaredDifference", "Pow",
                   "Xdivy", "Xlogy", "Xlog1py"]:
            rows.add(op, [complexes(2, 3, dtype=dtype), complexes(3, dtype=dtype)], near)
            rows.add(op, [np.array([0, 1, 1j], dtype), np.array([[1], [2 - 1j]], dtype)], near)
        for op in ["MulNoNan", "DivNoNan", "Xlogy", "Xlog1py"]:
            rows.add(op, [np.array([0, 1], dtype), np.array([0, 0], dtype)])
        rows.add("AddN", [[complexes(2, dtype=dtype), complexes(2, dtype=dtype), complexes(2, dtype=dtype)]])
        for op in ["Sum", "Mean", "Prod", "EuclideanNorm"]:
            for axes in [[0], [1], [0, 1], []]:
                rows.add(op, [complexes(3, 20, dtype=dtype), np.array(axes, np.int32)], near)
            rows.add(op, [np.zeros((0, 2), dtype), i32(0)])
        for ta in [False, True]:
            for tb in [False, True]:
                a, b = complexes(*((4, 2) if ta else (2, 4)), dtype=dtype), complexes(*((3, 4) if tb else (4, 3)), dtype=dtype)
                rows.add("MatMul", [a, b], transpose_a=ta, transpose_b=tb)
                for op in ["BatchMatMul", "BatchMatMulV2"]:
                    rows.add(op, [np.stack([a, 2 * a]), np.stack([b, 1j * b])], adj_x=ta, adj_y=tb)
        rows.add("MatMul", [np.zeros((2, 0), dtype), np.zeros((0, 3), dtype)])
        rows.add("BatchMatMulV3", [complexes(2, 2, 3, dtype=dtype), complexes(3, 2, dtype=dtype)], Tout=dtype)
        rows.add("OnesLike", [complexes(2, dtype=dtype)])
    rows.write()


def spectra():
    """Fourier transforms."""
    rows = Rows("spectra")
    for dtype, real in [(np.complex64, np.float32), (np.complex128, np.float64)]:
        near = 1e-5 if dtype == np.complex64 else 1e-7
        for n in [1, 2, 3, 4, 5, 8, 12, 31, 37, 60]:
            for op in ["FFT", "IFFT"]:
                rows.add(op, [complexes(2, n, dtype=dtype) if n < 10 else complexes(n, dtype=dtype)], near)
            rows.add("RFFT", [floats(2, n, dtype=real), i32(n)], near, Tcomplex=dtype)
            rows.add("IRFFT", [complexes(2, n // 2 + 1, dtype=dtype), i32(n)], near, Treal=real)
        for op in ["FFT2D", "IFFT2D", "FFT3D", "IFFT3D"]:
            for shape in [(3, 4, 5), (2, 1, 6, 7), (0, 3, 2, 2), (2, 3, 0, 2)]:
                rows.add(op, [complexes(*shape, dtype=dtype)], near)
        for shape, lengths in [((2, 4, 6), (4, 6)), ((5, 7), (5, 7)), ((5, 7), (3, 4)), ((2, 3, 2), (1, 1))]:
            rows.add("RFFT2D", [floats(*shape, dtype=real), i32(*lengths)], near, Tcomplex=dtype)
            rows.add("IRFFT2D", [complexes(*shape, dtype=dtype), i32(lengths[0], min(lengths[1], 2 * shape[-1] - 1))], near,
                     Treal=real)
        rows.add("RFFT3D", [floats(2, 3, 4, 5, dtype=real), i32(3, 4, 5)], near, Tcomplex=dtype)
        rows.add("IRFFT3D", [complexes(2, 3, 4, 3, dtype=dtype), i32(3, 4, 5)], near, Treal=real)
        rows.add("IRFFT3D", [complexes(2, 3, 4, 3, dtype=dtype), i32(2, 3, 4)], near, Treal=real)
    for dtype, real, other, other_real in [(np.complex64, np.float32, np.complex128, np.float64), (np.complex128, np.float64, np.complex64, np.float32)]:
        rows.add("RFFT", [np.zeros(4, real), i32(4)], Tcomplex=other)
        rows.add("IRFFT2D", [np.zeros((2, 3), dtype), i32(2, 4)], Treal=other_real)
    for op in ["FFT", "FFT2D", "FFT3D"]:
        rows.add(op, [complexes(3)[0]])
    rows.add("FFT2D", [complexes(3)])
    for shape, lengths in [((2, 5), [8]), ((2, 5), [3]), ((2, 5), [-1]), ((2, 5), [1, 2]), ((2, 5), 3), ((), [3]), ((0, 5), [4]),
                           ((2, 0), [3])]:
        skip = (0,) if shape == (2, 0) else ()  # uninitialised
        rows.add("RFFT", [floats(*shape), np.array(lengths, np.int32)], skip=skip)
        rows.add("IRFFT", [complexes(*shape), np.array(lengths, np.int32)], skip=skip)
    # Lengths of 0. TensorFlow aborts on one in the last dimension if there is anything to transform.
    for shape, lengths in [((0, 4), [0, 4]), ((3, 0), [3, 0]), ((2, 5), [0, 4])]:
        rows.add("RFFT2D", [np.ones(shape, np.float32), i32(*lengths)])
    rows.add("RFFT", [np.ones((0, 5), np.float32), i32(0)])
    rows.add("IRFFT", [np.ones((2, 0), np.complex64), i32(0)])
    rows.add("IRFFT2D", [np.ones((4, 0), np.complex64), i32(4, 0)])
    rows.write()


def matrices():
    """Diagonals of matrices, factors and solutions."""
    rows = Rows("matrices")
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


def functions():
    """Special functions, and the bits of integers."""
    rows = Rows("functions")
    anywhere = np.array([-30, -5.5, -1.5, -0.3, 0, 1e-4, 0.25, 0.9, 1, 2.5, 7, 33, 120, np.nan])
    positive = np.array([0, 1e-4, 0.25, 0.9, 1, 1.6, 2.5, 7, 33, 45, np.nan])
    unit = np.array([0, 1e-30, 1e-4, 0.2, 0.25, 0.5, 0.7, 0.999, 1, -0.5, 1.5, np.nan])
    inputs = {"Lgamma": anywhere, "Digamma": anywhere[anywhere != 0], "Erfinv": np.concatenate([unit[unit != 1e-30], -unit[2:]]), "Ndtri": unit,
              "Dawsn": anywhere, "FresnelCos": anywhere, "FresnelSin": anywhere, "Expint": positive, "Spence": positive}
    far = np.array([150, 1000, 60000, np.inf, -np.inf])
    half = ["Lgamma", "Digamma"]
    for family in ["I0", "I0e", "I1", "I1e", "J0", "J1", "K0", "K0e", "K1", "K1e", "Y0", "Y1"]:
        half.append("Bessel" + family)
        near = anywhere[np.abs(anywhere) < 50] if family[0] in "IJ" else positive[positive > 0]
        signed = np.concatenate([[-2], far[3:] if family[0] in "JY" else far]) # TensorFlow's J and Y of large floats are inaccurate
        inputs["Bessel" + family] = np.concatenate([near, signed])
    inputs["Expint"] = np.append(positive, np.inf)
    inputs["Spence"] = np.append(positive, np.inf)
    for op, x in inputs.items():
        for dtype in [np.float32, np.float64] + [np.float16] * (op in half):
            for part in [x, x[:0]]:
                rows.add(op, [part.astype(dtype)], each={np.float32: 2e-4, np.float64: 1e-7, np.float16: 2e-2}[dtype])
    a = np.array([0.1, 0.5, 1, 3, 20, 200])
    for dtype in [np.float32, np.float64]:
        near = 2e-4 if dtype == np.float32 else 1e-7
        for op in ["Igamma", "Igammac"]:
            rows.add(op, [a.astype(dtype), np.array([[0.05], [1], [4], [150]], dtype)], near)
            rows.add(op, [np.array([0, -1, 1, np.nan, 2, 2], dtype), np.array([1, 1, -1, 1, 0, np.inf], dtype)])
            ends = np.array([np.nan, -np.inf, -1, 0, 2, np.inf], dtype)
            rows.add(op, [ends[:, None], ends])
        rows.add("Zeta", [np.array([1.5, 2, 3, 10, 30], dtype), np.array([[0.1], [1], [2.5], [40]], dtype)], near)
        rows.add("Zeta", [np.array([1, 0.5, 2, np.nan], dtype), dtype(1)])
        rows.add("Polygamma", [np.array([0, 1, 2, 5], dtype), np.array([[0.3], [1], [2.5], [40]], dtype)], each=near)
        rows.add("Polygamma", [np.array([0.5, -1], dtype), dtype(1)])
        rows.add("Betainc", [a.astype(dtype), a[::-1].astype(dtype), np.array([0, 0.01, 0.3, 0.6, 0.9, 1], dtype)], near)
        rows.add("Betainc", [a.astype(dtype), dtype(2), dtype(0.4)], near)
        rows.add("Betainc", [np.array([0, -1, 1, 1, np.nan], dtype), dtype(2), np.array([0.5, 0.5, -1, 2, 0.5], dtype)])
        rows.add("NextAfter", [np.array([0, 1, 1, -1, np.nan, np.inf], dtype), np.array([1, 2, 1, -2, 1, 0], dtype)], each=0)
        rows.add("Xlog1py", [np.array([0, 1, 2, 0], dtype), np.array([-1, -1, 1e-7, np.nan], dtype)])
    rows.add("Betainc", [f32(1, 2), f32(1, 2, 3), np.float32(0.5)], text=False)
    for dtype in INTEGERS:
        bits = np.iinfo(dtype).bits
        x = np.array([0, 1, 5, 100, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        counts = np.array([0, 1, bits - 1, bits, 100], dtype)
        for op in ["LeftShift", "RightShift"]:
            rows.add(op, [x[:, None], counts])
            if np.issubdtype(dtype, np.signedinteger):
                rows.add(op, [x, dtype(-3)])
        rows.add("Invert", [x])
        rows.add("PopulationCount", [x])
    for x, to in [(f32(1, -2), np.int32), (f32(1, -2), np.uint8), (integers(3, 4, dtype=np.uint8), np.float32), (floats(2), np.float16),
                  (integers(3, 2, dtype=np.int32), np.int64), (integers(3, dtype=np.int32), np.int64), (np.int32(7), np.int64),
                  (complexes(2), np.float32), (complexes(2), np.int64), (np.zeros((0, 4), np.uint8), np.int32), (np.float64(1), np.int64)]:
        rows.add("Bitcast", [x], type=to, text=False)
    rows.write()


def rounding():
    """Numbers rounded to what few bits hold, and places in sorted rows."""
    rows = Rows("rounding")
    for dtype in [np.float32, np.float64]:
        x = floats(3, 4, dtype=dtype)
        low, high = dtype(-1.3), dtype(0.9)
        for bits in [2, 4, 8, 16]:
            for signed in [False, True]:
                for narrow in [False, True]:
                    options = dict(signed_input=signed, narrow_range=narrow)
                    for given in [False, True]:
                        rows.add("QuantizeAndDequantizeV3", [x, low, high, np.int32(bits)], range_given=given, **options)
                        for mode in ["HALF_TO_EVEN", "HALF_UP"]:
                            rows.add("QuantizeAndDequantizeV2", [x, low, high], num_bits=bits, range_given=given,
                                     round_mode=mode, **options)
        lows, highs = np.array([-1, -0.5, -2, 0], dtype), np.array([1, 2, 0, 0.7], dtype)
        for axis in [0, 1]:  # TensorFlow takes no range for an axis
            rows.add("QuantizeAndDequantizeV2", [x, lows, highs], axis=axis)
            rows.add("QuantizeAndDequantizeV4", [x, lows, highs], axis=axis)
        for given in [False, True]:
            rows.add("QuantizeAndDequantizeV4", [x, low, high], range_given=given)
        rows.add("QuantizeAndDequantizeV2", [x, high, low], range_given=True, text=False)
        rows.add("QuantizeAndDequantizeV2", [x, low, high], num_bits=0, text=False)
        rows.add("QuantizeAndDequantizeV2", [x, low, high], num_bits=70, text=False)
        rows.add("QuantizeAndDequantizeV2", [x, lows, high], range_given=True, text=False)
        rows.add("QuantizeAndDequantizeV2", [np.zeros((2, 2), dtype), low, high])
    for dtype in FLOATS + INTEGERS:
        sorted_rows = np.array([[1, 3, 3, 7], [0, 0, 2, 9]], dtype)
        for out in [np.int32, np.int64]:
            for op in ["LowerBound", "UpperBound"]:
                rows.add(op, [sorted_rows, np.array([[0, 3, 8], [0, 1, 9]], dtype)], out_type=out)
    for op in ["LowerBound", "UpperBound"]:
        rows.add(op, [floats(2, 0), floats(2, 3)])
        rows.add(op, [floats(2, 3), floats(2, 0)])
        rows.add(op, [floats(3), floats(3)], text=False)
        rows.add(op, [floats(2, 3), floats(3)], text=False)
        rows.add(op, [floats(2, 3), floats(3, 3)])
    for dtype in [np.int32, np.int64, np.float32, np.float64]:
        for out in [np.int32, np.int64]:
            rows.add("HistogramFixedWidth", [np.array([[1, 2, 3], [-1, 99, 5]], dtype), np.array([0, 5], dtype), np.int32(3)], dtype=out)
        rows.add("HistogramFixedWidth", [np.zeros(0, dtype), np.array([0, 5], dtype), np.int32(2)])
    for ends, bins in [([0, 5], 0), ([5, 5], 3), ([5, 3], 3), ([0, 5, 7], 3), ([[0, 5]], 3), ([0, 5], [3]), ([0, np.nan], 3), ([1, np.inf], 3)]:
        rows.add("HistogramFixedWidth", [f32(1, 2), f32(*ends), np.array(bins, np.int32)])
    rows.add("HistogramFixedWidth", [f32(1.2, np.inf, -np.inf, 0.3, 0.1), f32(0.1, 0.7), np.int32(6)])
    for index in [np.int32, np.int64]:
        rows.add("InTopK", [f32(0.1, 0.4, 0.3, 0.4, 0.2, 0.1, 0.9, np.inf, 0).reshape(3, 3), np.array([1, 2, 0], index)], k=1)
    rows.write()


def compare():
    rows = Rows("compare")
    for op in ["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"]:
        for dtype in FLOATS + INTEGERS:
            rows.add(op, [integers(2, 3, high=3, dtype=dtype), integers(3, high=3, dtype=dtype)])
        rows.add(op, [f32(*SPECIAL), f32(*SPECIAL[::-1])])
        rows.add(op, [f32(*SPECIAL), f32(np.nan)])
        rows.add(op, [f32(1, 2), f32(1, 2, 3)])
    for op in ["Equal", "NotEqual"]:
        rows.add(op, [np.array([b"a", b"b\0", b""]), np.array(b"b\0")])
        rows.add(op, [np.array([True, False]), np.array([[True], [False]])])
        rows.add(op, [f32(1, 2), f32(1, 2, 3)], incompatible_shape_error=False)
    for op in ["LogicalAnd", "LogicalOr"]:
        rows.add(op, [np.array([True, False]), np.array([[True], [False]])])
    rows.add("LogicalNot", [np.array([True, False])])
    rows.write()


def unary():
    rows = Rows("unary")
    anywhere = f32(-3, -1.5, -0.5, -0.0, 0, 0.001, 0.5, 1.5, 2.5, 3)
    inside = f32(-0.9, -0.3, 0, 0.2, 0.7)
    positive = f32(0.1, 0.5, 1, 2.5, 100)
    for op in ["Neg", "Abs", "Sign", "Square", "Exp", "Expm1", "Floor", "Ceil", "Round", "Rint", "Sin", "Cos", "Tan", "Atan",
               "Sinh", "Cosh", "Tanh", "Asinh", "Erf", "Erfc", "Sigmoid", "Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign"]:
        for dtype in FLOATS:
            rows.add(op, [anywhere.astype(dtype)], LOOSE.get(dtype))
        rows.add(op, [f32(*SPECIAL)] if op not in ("Sin", "Cos", "Tan") else [f32(np.nan, np.inf, 0)])
    for op in ["Sqrt", "Rsqrt", "Log", "Log1p", "Reciprocal", "Inv"]:
        for dtype in FLOATS:
            rows.add(op, [positive.astype(dtype)], LOOSE.get(dtype))
        rows.add(op, [f32(-1, 0, np.nan, np.inf)])
    for op in ["Asin", "Acos", "Atanh"]:
        rows.add(op, [inside])
    rows.add("Acosh", [f32(1, 1.5, 20)])
    for op in ["Neg", "Abs", "Sign", "Square"]:
        for dtype in [np.int8, np.int16, np.int32, np.int64]:
            rows.add(op, [np.array([-128, -1, 0, 1, 127], dtype)])
    for op in ["Floor", "Ceil", "Round"]:
        rows.add(op, [f32(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1e20)])
    for dtype in INTEGERS:
        rows.add("Relu", [np.array([0, 1, 5, 100], dtype)])
    for alpha in [0.2, 0.01, 0.0, 2.0]:
        for dtype in FLOATS:
            rows.add("LeakyRelu", [anywhere.astype(dtype)], LOOSE.get(dtype), alpha=alpha)
    rows.add("LeakyRelu", [f32(*SPECIAL)])
    for op in ["IsNan", "IsInf", "IsFinite"]:
        for dtype in FLOATS:
            rows.add(op, [np.array(SPECIAL[:5], dtype)])
    for op in ["ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad", "LeakyReluGrad"]:
        rows.add(op, [f32(1, 2, -3, 4, 5, 6), f32(-1, 0, 0.5, 2, 6, 7)])
    for op in ["SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"]:
        rows.add(op, [f32(0.1, 0.5, 0.9, 0.3), f32(1, -2, 3, 4)])
    rows.add("Tanh", [floats(40, low=-10, high=10)])
    rows.add("Sigmoid", [floats(40, low=-30, high=30)])
    rows.add("Exp", [floats(40, low=-80, high=80)], 1e-6)
    rows.add("Exp", [f32(-200, -104, 88.7, 89, 200)])
    rows.write()


def cast():
    rows = Rows("cast")
    types = FLOATS + INTEGERS + [np.bool_]
    for source in types:
        values = np.array([0, 1, 2, 100], np.float64).astype(source)
        for target in types:
            if source != target:
                rows.add("Cast", [values], DstT=target)
    for target in INTEGERS + [np.bool_]:
        for source in [np.float32, np.float64]:
            rows.add("Cast", [np.array([-1.9, -0.5, 0.5, 1.9, 127.5], source)], DstT=target)
    for target in [np.int32, np.int64]:
        for source in [np.float32, np.float64]:
            rows.add("Cast", [np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 1e20], source)], DstT=target)
    numbers = [np.complex64, np.complex128]
    for source in types + numbers:
        for target in (types + numbers if source in numbers else numbers):
            values = np.array([0, 1, 2.75, 100], np.float64).astype(source)
            rows.add("Cast", [values + values[1] * 1j * np.array([0, 1, -2, 0], source) if source in numbers else values], DstT=target)
    rows.add("Cast", [np.array([1j, 0, np.nan], np.complex64)], DstT=tf.bool)
    rows.add("Cast", [np.array([np.nan, np.inf, 3e9 + 1j], np.complex64)], DstT=tf.int32)
    rows.add("Cast", [np.array([-1, 300, 70000], np.int64)], DstT=np.int8)
    rows.add("Cast", [np.array([-1, 300, 70000], np.int64)], DstT=np.uint8)
    rows.add("Cast", [np.array([-1, 300, 70000], np.int64)], DstT=np.uint32)
    rows.add("Cast", [f32(1.00390625, 1.01171875, -3.3)], DstT=tf.bfloat16)
    rows.add("Cast", [f32(1e6, 1e-8, 65504, np.nan)], DstT=np.float16)
    rows.add("Cast", [f32(1, 2)], DstT=np.float32)
    special = [1.5 - 2j, -3.9, 300.7 + 5j, complex(np.inf, 0), complex(-1, np.nan)]
    for source in COMPLEX:
        for target in types + COMPLEX:
            rows.add("Cast", [np.array(special if target in FLOATS + COMPLEX + [np.bool_] else special[:3], source)], DstT=target)
        rows.add("Cast", [np.arange(1100).astype(np.float16)], DstT=source)  # more than one block
    for quantized in [tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32]:
        for other in [np.float32, np.int32, np.uint8]:
            rows.add("Cast", [np.array([0, 1, 100], other)], DstT=quantized)
            rows.add("Cast", [tf.cast(np.array([0, 1, 100], np.int32), quantized)], DstT=other)
    for float8 in FLOAT8:
        float8_casts(rows, float8)
    rows.write()


def float8_casts(rows, float8):
    every = np.arange(256).astype(np.uint8).view(float8.as_numpy_dtype)
    for other in [np.float32, np.float16, tf.bfloat16, np.float64] + [other for other in FLOAT8 if other != float8]:
        rows.add("Cast", [every], DstT=other)
    sizes = every[:0x7e if float8 == FLOAT8[0] else 0x7c].astype(np.float32)
    between = np.sort(np.concatenate([(sizes[:-1] + sizes[1:]) / 2 * scale for scale in (1, 0.999, 1.001)]))
    numbers = np.concatenate([between, -between, [0, 463, 464, 465, 480, 1e9, -500, np.inf, -np.inf, np.nan, 1e-9, 57344, 61439, 61440, -61441, 65504]])
    for other in [np.float32, np.float16, tf.bfloat16]:
        rows.add("Cast", [tf.cast(numbers, other)], DstT=float8)
    near = (sizes[:-1] + sizes[1:]).astype(np.float64) / 2 * [[1 - 2e-8], [1], [1 + 2e-8]]  # no float is so near to a tie
    rows.add("Cast", [np.array([float("%.9g" % number) for number in [*near.ravel(), *numbers]])], DstT=float8)
    for dtype in [np.int64, np.int8, np.bool_, np.complex64, np.complex128]:
        rows.add("Cast", [np.array([1, 0], dtype)], DstT=float8, text=False)


def reduce():
    rows = Rows("reduce")
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


def matmul():
    rows = Rows("matmul")
    narrow = [np.int8, np.uint8, tf.bfloat16.as_numpy_dtype]
    for a in narrow:
        for b in narrow:
            if (a, b) != (narrow[2], narrow[2]):
                out = np.int32 if narrow[2] not in (a, b) else narrow[2]
                rows.add("BatchMatMulV3", [np.array([[1, 2, 100], [120, 127, 90]], a), np.array([[[3], [4], [127]]], b)], LOOSE.get(out), Tout=tf.as_dtype(out))
                rows.add("BatchMatMulV3", [np.array([[1, 2], [120, 127]], a), np.array([[3, 4], [99, 1]], b)], LOOSE.get(out), Tout=tf.as_dtype(out), adj_x=True, adj_y=True)
    for dtype in FLOATS + [np.int32, np.int64]:
        for ta in [False, True]:
            for tb in [False, True]:
                a = integers(3, 2, low=-3, high=4, dtype=dtype) if ta else integers(2, 3, low=-3, high=4, dtype=dtype)
                b = integers(4, 3, low=-3, high=4, dtype=dtype) if tb else integers(3, 4, low=-3, high=4, dtype=dtype)
                rows.add("MatMul", [a, b], LOOSE.get(dtype), transpose_a=ta, transpose_b=tb)
    rows.add("MatMul", [floats(1, 17), floats(17, 9)])
    rows.add("MatMul", [floats(1, 17), floats(9, 17)], transpose_b=True)
    rows.add("MatMul", [floats(17, 1), floats(17, 9)], transpose_a=True)
    rows.add("MatMul", [floats(0, 3), floats(3, 2)])
    rows.add("MatMul", [floats(2, 0), floats(0, 3)])
    rows.add("MatMul", [floats(1, 3), floats(4, 2)])
    rows.add("MatMul", [floats(3), floats(3, 2)])
    rows.add("MatMul", [floats(2, 3), floats(1, 3, 2)])
    rows.add("MatMul", [floats(3), floats(3)])
    rows.add("MatMul", [f32(np.nan, 0)[None], f32(0, 1)[:, None]])
    for op in ["BatchMatMulV2", "BatchMatMul"]:
        rows.add(op, [floats(2, 2, 3), floats(2, 3, 2)])
        rows.add(op, [floats(2, 3), floats(3, 2)])
        rows.add(op, [floats(2, 3, 2), floats(2, 4, 3)], adj_x=True, adj_y=True)
    rows.add("BatchMatMulV2", [floats(3, 1, 2, 3), floats(2, 3, 2)])
    rows.add("BatchMatMulV2", [floats(2, 3), floats(2, 3, 2)])
    rows.add("BatchMatMulV2", [floats(2, 2, 3), floats(3, 3, 2)])
    rows.add("BatchMatMulV2", [floats(2, 2, 3), floats(2, 4, 2)])
    rows.add("BatchMatMulV2", [floats(0, 2, 3), floats(3, 2)])
    for dtype in FLOATS + INTEGERS:
        if dtype in (np.uint32, np.uint64):
            continue
        rows.add("BiasAdd", [integers(2, 2, 3, dtype=dtype), integers(3, dtype=dtype)])
    rows.add("BiasAdd", [floats(2, 3, 2), floats(3)], data_format="NCHW")
    rows.add("BiasAdd", [floats(2, 3), floats(2)])
    rows.add("BiasAdd", [floats(3), floats(3)])
    rows.add("BiasAdd", [floats(2, 3), floats(3, 1)])
    rows.add("BiasAdd", [floats(0, 3), floats(3)])
    rows.add("BiasAddGrad", [floats(2, 2, 3)])
    rows.add("BiasAddGrad", [floats(2, 3, 4)], data_format="NCHW")
    for op in ["Softmax", "LogSoftmax"]:
        for dtype in FLOATS:
            rows.add(op, [floats(2, 5, dtype=dtype)], LOOSE.get(dtype))
        rows.add(op, [floats(3, 40, low=-20, high=20)])
        rows.add(op, [f32(1000, 1000, -1000)])
        rows.add(op, [f32(1, np.nan, 2)])
        rows.add(op, [f32(1, -np.inf, 2)])
        rows.add(op, [floats(2, 2, 2)])
        rows.add(op, [floats(0, 4)])
    rows.add("SoftmaxCrossEntropyWithLogits", [floats(3, 4), np.eye(4, dtype=np.float32)[:3]])
    rows.add("SoftmaxCrossEntropyWithLogits", [floats(2, 20), np.full((2, 20), 0.05, np.float32)])
    rows.add("SparseSoftmaxCrossEntropyWithLogits", [floats(3, 4), i32(0, 3, 1)])
    rows.add("SparseSoftmaxCrossEntropyWithLogits", [floats(2, 4), np.array([1, 2], np.int64)])
    rows.add("SparseSoftmaxCrossEntropyWithLogits", [floats(2, 4), i32(0)])
    rows.add("SparseSoftmaxCrossEntropyWithLogits", [np.zeros((3, 4), np.float32), i32(0, 4, 1)])
    rows.write()


def array():
    rows = Rows("array")
    for value in [floats(2, 3), np.float32(1), np.zeros((0, 4), np.int32)]:
        for out_type in [np.int32, np.int64]:
            rows.add("Shape", [value], out_type=out_type)
            rows.add("Size", [value], out_type=out_type)
        rows.add("Rank", [value])
        rows.add("ZerosLike", [value])
        rows.add("OnesLike", [value])
    for dtype in FLOATS + INTEGERS + [np.bool_]:
        rows.add("OnesLike", [np.zeros(2, dtype)])
    for shape in [[3, 2], [-1], [6, 1], [2, -1], [1, 2, 3], [-1, -1], [4], [-2, 3], [5, -1]]:
        rows.add("Reshape", [floats(2, 3), np.array(shape, np.int32)])
    rows.add("Reshape", [floats(0, 3), np.array([-1, 3], np.int64)])
    rows.add("Reshape", [floats(0, 3), i32(-1, 0)])
    rows.add("Reshape", [floats(1), np.zeros(0, np.int32)])
    rows.add("Reshape", [floats(2), np.int32(2)])
    for axis in [0, 1, 2, -1, -3, 3, -4]:
        rows.add("ExpandDims", [floats(2, 3), np.int32(axis)])
    rows.add("ExpandDims", [floats(2), i32(0, 1)])
    for dims in [[], [0], [2], [0, 2], [-1], [1], [5]]:
        rows.add("Squeeze", [floats(1, 2, 1)], squeeze_dims=dims)
    for axis in [0, 1, 2, -1, -3, 3]:
        rows.add("Pack", [[floats(2, 2), floats(2, 2), floats(2, 2)]], axis=axis)
    rows.add("Pack", [[i32(1), i32(2)]])
    rows.add("Pack", [[np.array([b"a"]), np.array([b"b"])]])
    rows.add("Pack", [[floats(2), floats(3)]])
    for axis in [0, 1, -1, 2]:
        rows.add("Unpack", [floats(2, 2)], num=2, axis=axis)
    rows.add("Unpack", [floats(2, 3)], num=2, axis=1)
    for axis in [0, 1, -1, 2, -3]:
        rows.add("ConcatV2", [[floats(2, 2), floats(2, 2)], np.int32(axis)])
    rows.add("ConcatV2", [[floats(2, 1), floats(2, 3), floats(2, 0)], np.int64(1)])
    rows.add("ConcatV2", [[floats(2, 1), floats(3, 1)], np.int32(1)])
    rows.add("ConcatV2", [[floats(2, 1), floats(3)], np.int32(1)])
    rows.add("ConcatV2", [[np.array([b"a"]), np.array([b"b", b"c"])], np.int32(0)])
    rows.add("Concat", [np.int32(0), [i32(1), i32(2, 3)]])
    rows.add("ConcatOffset", [np.int32(1), [i32(2, 3), i32(2, 4), i32(2, 5)]])
    rows.add("Split", [np.int32(1), floats(2, 6)], num_split=3)
    rows.add("Split", [np.int32(-2), floats(4, 2)], num_split=2)
    rows.add("Split", [np.int32(1), floats(2, 5)], num_split=3)
    rows.add("Split", [np.int32(2), floats(2, 5)], num_split=1)
    rows.add("SplitV", [floats(2, 6), i32(1, 2, 3), np.int32(1)], num_split=3)
    rows.add("SplitV", [floats(2, 6), np.array([1, -1], np.int64), np.int32(1)], num_split=2)
    rows.add("SplitV", [floats(2, 6), i32(1, 2), np.int32(1)], num_split=2)
    rows.add("SplitV", [floats(2, 6), i32(-1, -1), np.int32(1)], num_split=2)
    for perm in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1], [2, 0, 1], [-1, 0, 1], [0, 0, 1], [0, 1], [0, 1, 3]]:
        rows.add("Transpose", [floats(2, 3, 4), np.array(perm, np.int32)])
    for dtype in [np.uint8, np.float16, np.float64, np.bool_]:
        rows.add("Transpose", [integers(2, 3, high=2, dtype=dtype), i32(1, 0)])
    rows.add("Transpose", [np.array([[b"a", b"b"], [b"c", b"d"]]), i32(1, 0)])
    rows.add("Fill", [i32(2, 3), np.float32(7)])
    rows.add("Fill", [i32(2), np.array(b"x")])
    rows.add("Fill", [np.zeros(0, np.int64), np.int64(7)])
    rows.add("Fill", [i32(-1), np.float32(7)])
    rows.add("Fill", [i32(0, 5), np.float32(7)])
    for multiples in [[2, 3], [1, 1], [0, 2], [-1, 2], [2]]:
        rows.add("Tile", [floats(2, 3), np.array(multiples, np.int32)])
    rows.add("Tile", [np.array([b"a", b"b"]), np.array([2], np.int64)])
    for a in [(0, 5, 1), (5, 0, -2), (0, 5, 2), (3, 3, 1), (0, 1, 0), (5, 0, 1), (0, 5, -1)]:
        rows.add("Range", [np.int32(v) for v in a])
        rows.add("Range", [np.float32(v) for v in a])
    rows.add("Range", [np.float32(0), np.float32(1), np.float32(0.3)])
    rows.add("Range", [np.int64(-3), np.int64(10), np.int64(4)])
    rows.add("LinSpace", [np.float32(0), np.float32(1), np.int32(5)])
    rows.add("LinSpace", [np.float64(2), np.float64(-1), np.int32(4)])
    for axis in [-1, 0, 1, 2]:
        rows.add("OneHot", [integers(2, 3, low=-1, high=4), np.int32(3), np.float32(5), np.float32(-1)], axis=axis)
    rows.add("OneHot", [np.array(1, np.int64), np.int32(3), np.int64(1), np.int64(0)])
    rows.add("OneHot", [np.array([1], np.uint8), np.int32(-1), np.int64(1), np.int64(0)])
    rows.add("OneHot", [np.array([1], np.uint8), np.int32(2), np.array(True), np.array(False)])
    rows.add("Pad", [floats(2, 3), np.array([[1, 0], [0, 2]], np.int32)])
    rows.add("Pad", [floats(2, 3), np.array([[0, 0], [0, 0]], np.int64)])
    rows.add("Pad", [floats(2, 3), np.array([[-1, 0], [0, 0]], np.int32)])
    rows.add("Pad", [floats(2, 3), np.array([[1, 0]], np.int32)])
    rows.add("Pad", [np.zeros((0, 2), np.float32), np.array([[1, 0], [0, 1]], np.int32)])
    rows.add("PadV2", [i32(1, 2), np.array([[1, 2]], np.int32), np.int32(9)])
    for mode in ["REFLECT", "SYMMETRIC"]:
        rows.add("MirrorPad", [floats(3, 4), np.array([[2, 1], [3, 2]], np.int32)], mode=mode)
        rows.add("MirrorPad", [floats(3), np.array([[3, 0]], np.int32)], mode=mode)
        rows.add("MirrorPad", [floats(2, 2, 2), np.array([[0, 0], [1, 1], [1, 0]], np.int32)], mode=mode)
    for axes in [[0], [1], [0, 1], [], [-1], [2], [0, 0]]:
        rows.add("ReverseV2", [floats(2, 3), np.array(axes, np.int32)])
    rows.add("BroadcastTo", [floats(3, 1), i32(2, 3, 4)])
    rows.add("BroadcastTo", [np.float32(2), i32(2, 2)])
    rows.add("BroadcastTo", [floats(3), i32(2)])
    rows.add("BroadcastTo", [np.array([b"a"]), i32(3)])
    rows.add("BroadcastArgs", [i32(2, 1), i32(3)])
    rows.add("BroadcastArgs", [i32(2), i32(3)])
    rows.add("BroadcastArgs", [i32(*[1, 2] * 8), np.array(6 * [3, 1], np.int32)])
    rows.add("BroadcastArgs", [np.array(13 * [2]), np.array([2, 3])])
    rows.add("BroadcastArgs", [np.array(14 * [1]), np.zeros(0, np.int64)])
    rows.add("BroadcastArgs", [i32(2, 1, 1).reshape(3, 1), i32(3)], text=False)
    for a, b in [([2, 3], [3]), ([2, 3], [2, 3]), ([2, 1], [1, 3]), ([1, 1], [1]), ([], [2]), ([1, 3], [1, 3]),
                 ([1, 3], [3]), ([4, 1, 3], [1, 3]), ([2], [3]), ([1], [1]), ([1, 2, 1], [2, 1])]:
        rows.add("BroadcastGradientArgs", [np.array(a, np.int32), np.array(b, np.int32)])
    for fmt, shape in [("NHWC", (1, 2, 3, 8)), ("NHWC", (2, 1, 2, 4))]:
        rows.add("DepthToSpace", [floats(*shape)], block_size=2, data_format=fmt)
    rows.add("DepthToSpace", [floats(1, 1, 2, 18)], block_size=3)
    rows.add("DepthToSpace", [floats(1, 1, 2, 6)], block_size=2)
    rows.add("SpaceToDepth", [floats(1, 4, 6, 2)], block_size=2)
    rows.add("SpaceToDepth", [floats(1, 3, 6, 2)], block_size=2)
    rows.add("InvertPermutation", [i32(2, 0, 1)])
    rows.add("InvertPermutation", [i32(2, 2, 1)])
    rows.add("InvertPermutation", [i32(3, 2, 1)])
    rows.write()


def slices():
    rows = Rows("slices")
    cases = [
        ((3, 4, 5), [0], [2], [1], {}),
        ((3, 4, 5), [0, 1], [3, 4], [2, 2], {}),
        ((3, 4, 5), [-1, -1], [-4, -5], [-1, -2], {}),
        ((3, 4, 5), [1, 0], [0, 0], [1, 1], dict(end_mask=2, shrink_axis_mask=1)),
        ((3, 4, 5), [0, 0, 0], [0, 0, 0], [1, 1, -1], dict(begin_mask=7, end_mask=7)),
        ((3, 4, 5), [0, 1], [0, 2], [1, 1], dict(ellipsis_mask=1, shrink_axis_mask=2)),
        ((3, 4, 5), [0, 0, 1], [0, 0, 3], [1, 1, 1], dict(ellipsis_mask=1, new_axis_mask=2)),
        ((3, 4, 5), [0, 0], [0, 0], [1, 1], dict(new_axis_mask=1, shrink_axis_mask=2)),
        ((3, 4, 5), [1, 1, 1], [2, 2, 2], [1, 1, 1], dict(shrink_axis_mask=7)),
        ((3,), [-1], [0], [1], dict(shrink_axis_mask=1)),
        ((3,), [5], [9], [1], {}),
        ((3,), [-9], [9], [1], {}),
        ((3,), [2], [0], [1], {}),
        ((3,), [3], [4], [1], dict(shrink_axis_mask=1)),
        ((3,), [0], [3], [0], {}),
        ((3,), [0], [3], [2000000000], {}),
        ((3,), [2], [0], [-2000000000], {}),
        ((3,), [0, 0], [1, 1], [1, 1], {}),
        ((3,), [0], [1], [-1], dict(shrink_axis_mask=1)),
        ((3,), [1], [0], [1], dict(begin_mask=1, shrink_axis_mask=1)),
        ((0, 2), [0], [5], [1], {}),
        ((), [], [], [], {}),
        ((), [0], [0], [1], dict(new_axis_mask=1)),
        ((4, 4), [0, 0], [4, 4], [3, -1], dict(begin_mask=2, end_mask=2)),
        ((2, 3, 4, 5), [0, 1, 0], [0, 2, 3], [1, 1, 2], dict(begin_mask=1, end_mask=1, ellipsis_mask=1)),
        ((2, 3, 4), [0, 0, 1, 0], [0, 0, 2, 4], [1, 1, 1, 1], dict(ellipsis_mask=1, new_axis_mask=2)),
    ]
    for shape, begin, end, strides, masks in cases:
        spec = [np.array(v, np.int32) for v in (begin, end, strides)]
        rows.add("StridedSlice", [floats(*shape), *spec], **masks)
        spec = [np.array(v, np.int64) for v in (begin, end, strides)]
        try:
            part = tf.raw_ops.StridedSlice(input=np.zeros(shape, np.float32), begin=spec[0], end=spec[1], strides=spec[2], **masks)
        except tf.errors.OpError:
            continue
        rows.add("StridedSliceGrad", [np.array(shape, np.int64), *spec, floats(*part.shape)], **masks)
    rows.add("StridedSlice", [floats(3), i32(0), i32(1, 2), i32(1)])
    rows.add("StridedSlice", [np.array([b"a", b"b", b"c"]), i32(2), i32(0), i32(-1)])
    rows.add("StridedSlice", [integers(3, 4, dtype=np.uint8), i32(1, 1), i32(3, 4), i32(1, 2)])
    for begin, size in [([0, 1], [2, 2]), ([1, 0], [-1, -1]), ([2, 3], [0, 0]), ([0, 1], [2, 3]), ([-1, 0], [1, 1]),
                        ([0, 4], [1, 1]), ([0], [1]), ([0, 0], [-2, 1])]:
        rows.add("Slice", [floats(2, 3), np.array(begin, np.int32), np.array(size, np.int32)])
    rows.add("SelectV2", [np.array([True, False]), floats(3, 2), np.float32(0)])
    rows.add("SelectV2", [np.array([[True], [False]]), np.array([b"a", b"b"]), np.array(b"c")])
    rows.add("SelectV2", [np.array(True), floats(2), floats(3, 1)])
    rows.add("SelectV2", [np.array([True, False, True]), floats(2), floats(2)])
    for dtype in [np.uint8, np.float16, np.int64, np.bool_]:
        rows.add("SelectV2", [np.array([True, False]), integers(2, high=2, dtype=dtype), integers(2, high=2, dtype=dtype)])
    rows.add("Select", [np.array([True, False]), floats(2, 3), floats(2, 3)])
    rows.add("Select", [np.array(True), floats(2, 3), floats(2, 3)])
    rows.add("Select", [np.array([True, False]), floats(2), floats(2)])
    rows.add("Select", [np.array([True, False, True]), floats(2, 3), floats(2, 3)])
    rows.add("Select", [np.array([True, False]), floats(2, 3), floats(2)])
    rows.add("Where", [np.array([[True, False], [False, True]])])
    rows.add("Where", [f32(0, 1, np.nan, -0.0)])
    rows.add("Where", [i32(0, 3)])
    rows.add("Where", [np.array(True)])
    rows.add("Where", [np.zeros((0, 2), bool)])
    for axis in [0, 1, -1]:
        rows.add("GatherV2", [floats(3, 4), i32(2, 0, 2), np.int32(axis)])
    rows.add("GatherV2", [floats(3, 4), np.array([[0, 1], [2, 1]], np.int64), np.int32(0)])
    rows.add("GatherV2", [floats(3, 4), np.int32(1), np.int32(0)])
    rows.add("GatherV2", [np.array([b"a", b"b"]), i32(1), np.int64(0)])
    rows.add("GatherV2", [floats(3, 4), i32(3), np.int32(0)])
    rows.add("GatherV2", [floats(3, 4), np.array([[0, 1], [-1, 1]], np.int32), np.int32(0)])
    rows.add("GatherV2", [floats(3, 4), i32(0), np.int32(2)], text=False)
    rows.add("GatherV2", [floats(0, 4), np.zeros(0, np.int32), np.int32(0)])
    for dims, axis in [((2, 0), 0), ((0, 2), 1), ((0, 0), 1), ((0, 3), 0), ((3, 0), 1)]:  # no index is checked if the result is empty
        rows.add("GatherV2", [np.zeros(dims, np.float32), i32(-1, 2), np.int32(axis)])
    rows.add("Gather", [np.zeros((2, 0), np.float32), i32(5)])
    rows.add("GatherV2", [floats(2, 3, 4), np.array([[0, 2], [1, 1]], np.int32), np.int32(1)], batch_dims=1)
    rows.add("GatherV2", [floats(2, 3, 4), np.array([[0, 3], [1, 1]], np.int32), np.int32(2)], batch_dims=1)
    rows.add("GatherV2", [floats(2, 3), np.array([[0], [1], [1]], np.int32), np.int32(1)], batch_dims=1)
    rows.add("Gather", [floats(3, 2), i32(1, 2)])
    rows.add("Gather", [floats(3, 2), i32(1, 5)])
    rows.add("Gather", [np.float32(1), i32(0)])
    rows.add("GatherNd", [floats(3, 4), np.array([[0, 1], [2, 3]], np.int32)])
    rows.add("GatherNd", [floats(3, 4), np.array([[0], [2]], np.int64)])
    rows.add("GatherNd", [floats(3, 4), np.zeros((2, 0), np.int32)])
    for dims, indices in [((2, 0), [[1]]), ((0,), [[0]]), ((0, 2), np.zeros((3, 0))), ((0, 3), np.zeros((0, 1)))]:
        rows.add("GatherNd", [np.zeros(dims, np.float32), np.array(indices, np.int32)])
    rows.add("GatherNd", [floats(3, 4), np.array([[0, 4]], np.int32)])
    rows.add("GatherNd", [floats(3, 4), np.array([[0, 1, 2]], np.int32)])
    rows.write()


def conv():
    rows = Rows("conv")
    for padding in ["SAME", "VALID"]:
        for size, kernel, stride, dilation in [((5, 6), (3, 3), (1, 1), (1, 1)), ((5, 6), (3, 2), (2, 2), (1, 1)),
                                               ((6, 5), (1, 1), (1, 1), (1, 1)), ((6, 5), (1, 1), (2, 2), (1, 1)),
                                               ((7, 7), (3, 3), (1, 1), (2, 2)), ((4, 4), (4, 4), (3, 1), (1, 1)),
                                               ((5, 5), (2, 2), (3, 3), (1, 1))]:
            x, f = floats(2, *size, 2), floats(*kernel, 2, 3)
            attrs = dict(strides=[1, *stride, 1], padding=padding, dilations=[1, *dilation, 1])
            rows.add("Conv2D", [x, f], **attrs)
            if dilation == (1, 1):
                y = tf.raw_ops.Conv2D(input=x, filter=f, **attrs)
                dy = floats(*y.shape)
                rows.add("Conv2DBackpropInput", [i32(*x.shape), f, dy], **attrs)
                rows.add("Conv2DBackpropFilter", [x, i32(*f.shape), dy], **attrs)
            if stride[0] == stride[1] and dilation == (1, 1):
                d = floats(*kernel, 2, 2)
                rows.add("DepthwiseConv2dNative", [x, d], **attrs)
                rows.add("DepthwiseConv2dNative", [x, d[..., :1]], **attrs)
                if dilation == (1, 1):
                    y = tf.raw_ops.DepthwiseConv2dNative(input=x, filter=d, **attrs)
                    dy = floats(*y.shape)
                    rows.add("DepthwiseConv2dNativeBackpropInput", [i32(*x.shape), d, dy], **attrs)
                    rows.add("DepthwiseConv2dNativeBackpropFilter", [x, i32(*d.shape), dy], **attrs)
    for strides, padding in [([1, 1, 1, 1], "SAME"), ([1, 2, 2, 1], "VALID")]:
        attrs = dict(strides=strides, padding=padding)
        x, d = (np.arange(n, dtype=np.float64).reshape(dims) % 7 - 3 for n, dims in ((50, (1, 5, 5, 2)), (24, (3, 2, 2, 2))))
        y = tf.raw_ops.DepthwiseConv2dNative(input=x, filter=d, **attrs)
        rows.add("DepthwiseConv2dNative", [x, d], **attrs)
        rows.add("DepthwiseConv2dNativeBackpropInput", [i32(*x.shape), d, y.numpy() / 2], **attrs)
        rows.add("DepthwiseConv2dNativeBackpropFilter", [x, i32(*d.shape), y.numpy() / 2], **attrs)
    rows.add("Conv2D", [floats(1, 4, 4, 4), floats(2, 2, 2, 6)], strides=[1, 1, 1, 1], padding="VALID")
    rows.add("Conv2D", [floats(1, 4, 4, 2), floats(3, 3, 2, 2)], strides=[1, 1, 1, 1], padding="EXPLICIT",
             explicit_paddings=[0, 0, 2, 1, 0, 1, 0, 0])
    rows.add("Conv2D", [floats(0, 4, 4, 2), floats(3, 3, 2, 2)], strides=[1, 1, 1, 1], padding="SAME")
    rows.add("Conv2D", [floats(1, 1, 10, 1), floats(1, 3, 1, 4)], strides=[1, 1, 2, 1], padding="VALID")
    rows.add("Conv2D", [floats(1, 2, 2, 1), floats(3, 3, 1, 1)], strides=[1, 1, 1, 1], padding="VALID")
    rows.add("Conv2D", [floats(1, 4, 4, 3), floats(3, 3, 2, 1)], strides=[1, 1, 1, 1], padding="VALID")
    rows.add("Conv2D", [floats(4, 4, 3), floats(3, 3, 3, 1)], strides=[1, 1, 1, 1], padding="VALID")
    rows.add("Conv2D", [floats(1, 4, 4, 3), floats(3, 3, 3)], strides=[1, 1, 1, 1], padding="VALID")
    for dtype in [np.float16, np.float64, tf.bfloat16.as_numpy_dtype]:
        rows.add("Conv2D", [floats(1, 4, 4, 2, dtype=dtype), floats(3, 3, 2, 2, dtype=dtype)], LOOSE.get(dtype),
                 strides=[1, 1, 1, 1], padding="SAME")
    rows.write()


def pool():
    rows = Rows("pool")
    for padding in ["SAME", "VALID"]:
        for size, kernel, stride in [((4, 6), (2, 2), (2, 2)), ((5, 5), (3, 3), (2, 2)), ((5, 5), (2, 2), (1, 1)),
                                     ((5, 4), (3, 2), (2, 3)), ((3, 3), (3, 3), (1, 1)), ((5, 5), (1, 1), (2, 2))]:
            x = integers(2, *size, 3, high=5, dtype=np.float32)
            attrs = dict(ksize=[1, *kernel, 1], strides=[1, *stride, 1], padding=padding)
            rows.add("MaxPool", [x], **attrs)
            rows.add("AvgPool", [x], **attrs)
            y = tf.raw_ops.MaxPool(input=x, **attrs)
            dy = floats(*y.shape)
            rows.add("MaxPoolGrad", [x, y.numpy(), dy], **attrs)
            rows.add("AvgPoolGrad", [i32(*x.shape), dy], **attrs)
    attrs = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    for op, first in [("MaxPool", "input"), ("AvgPool", "value")]:
        rows.add(op, [floats(1, 1, 1, 1)], **attrs)
        rows.add(op, [floats(4, 4, 1)], **attrs)
        rows.add(op, [floats(0, 4, 4, 1)], **attrs)
        for dtype in [np.float16, np.float64]:
            rows.add(op, [floats(1, 4, 4, 2, dtype=dtype)], LOOSE.get(dtype), **attrs)
    rows.add("MaxPool", [f32(1, np.nan, 3, -np.inf).reshape(1, 2, 2, 1)], **attrs)
    rows.write()


def volumes():
    rows = Rows("volumes")
    sizes = [((4, 5, 6), (2, 3, 2), (1, 1, 1), (1, 1, 1)), ((5, 4, 6), (3, 2, 1), (2, 1, 3), (1, 1, 1)), ((3, 4, 2), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
             ((5, 6, 5), (2, 2, 2), (1, 1, 1), (2, 3, 1)), ((4, 4, 4), (2, 3, 3), (3, 2, 1), (1, 1, 1))]
    bfloat16 = tf.bfloat16.as_numpy_dtype
    for padding in ["SAME", "VALID"]:
        for size, kernel, stride, dilation in sizes:
            # TensorFlow's plain kernels take no dilations, and misplace a kernel that is smaller than its stride
            by_xla = max(dilation) > 1 or min(k - s for k, s in zip(kernel, stride)) < 0
            x, f = floats(2, *size, 2), floats(*kernel, 2, 3)
            attrs = dict(strides=[1, *stride, 1], padding=padding, dilations=[1, *dilation, 1])
            rows.add("Conv3D", [x, f], by_xla=by_xla, **attrs)
            dy = floats(*tf.nn.convolution(x, f, stride, padding, dilations=dilation).shape)
            rows.add("Conv3DBackpropInputV2", [i32(*x.shape), f, dy], by_xla=by_xla, **attrs)
            rows.add("Conv3DBackpropFilterV2", [x, i32(*f.shape), dy], by_xla=by_xla, **attrs)
        for dtype in [np.float16, np.float64, bfloat16]:
            x, f = floats(1, 3, 4, 3, 2, dtype=dtype), floats(2, 2, 2, 2, 2, dtype=dtype)
            attrs = dict(strides=[1, 1, 2, 1, 1], padding=padding)
            rows.add("Conv3D", [x, f], LOOSE.get(dtype), **attrs)
            if dtype != np.float64:
                dy = floats(*tf.raw_ops.Conv3D(input=x, filter=f, **attrs).shape, dtype=dtype)
                rows.add("Conv3DBackpropInputV2", [np.array(x.shape, np.int64), f, dy], LOOSE[dtype], **attrs)
                rows.add("Conv3DBackpropFilterV2", [x, i32(*f.shape), dy], LOOSE[dtype], **attrs)
        for size, kernel, stride in [((4, 6, 2), (2, 2, 2), (2, 2, 2)), ((5, 3, 5), (3, 1, 2), (2, 1, 3)), ((3, 3, 3), (3, 3, 3), (1, 1, 1)), ((4, 3, 5), (1, 2, 3), (1, 1, 1))]:
            x = integers(2, *size, 3, high=5, dtype=np.float32)  # with ties: each gets the gradient
            attrs = dict(ksize=[1, *kernel, 1], strides=[1, *stride, 1], padding=padding)
            y = tf.raw_ops.MaxPool3D(input=x, **attrs)
            dy = floats(*y.shape)
            rows.add("MaxPool3D", [x], **attrs)
            rows.add("AvgPool3D", [x], **attrs)
            rows.add("MaxPool3DGrad", [x, y.numpy(), dy], **attrs)
            rows.add("AvgPool3DGrad", [i32(*x.shape), dy], **attrs)
    rows.add("Conv3D", [floats(0, 4, 4, 4, 2), floats(3, 3, 3, 2, 2)], strides=[1] * 5, padding="SAME")
    for x, f in [((1, 2, 2, 2, 1), (3, 3, 3, 1, 1)), ((1, 4, 4, 4, 3), (3, 3, 3, 2, 1)), ((4, 4, 3), (3, 3, 3, 3, 1)), ((1, 4, 4, 4, 3), (3, 3, 3)),
                 ((1, 4, 4, 4, 3), (0, 3, 3, 3, 2))]:
        rows.add("Conv3D", [floats(*x), floats(*f)], strides=[1] * 5, padding="VALID")
    attrs = dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID")
    for op in ["MaxPool3D", "AvgPool3D"]:
        for shape in [(1, 1, 1, 1, 1), (4, 4, 1), (0, 4, 4, 4, 1)]:
            rows.add(op, [floats(*shape)], **attrs)
        rows.add(op, [floats(1, 4, 4, 2, 2, dtype=bfloat16)], LOOSE[bfloat16], **attrs)
    rows.add("MaxPool3D", [f32(1, np.nan, 3, -np.inf, 0, 0, -1, 2).reshape(1, 2, 2, 2, 1)], **attrs)
    rows.add("MaxPool3DGrad", [f32(1, np.nan, 3, -np.inf, 0, 0, -1, 3).reshape(1, 2, 2, 2, 1), f32(3).reshape(1, 1, 1, 1, 1), f32(0.5).reshape(1, 1, 1, 1, 1)], **attrs)
    for padding, size, kernel, stride in [("SAME", (5, 3, 5), (3, 1, 2), (2, 1, 3)), ("VALID", (4, 6, 2), (2, 2, 2), (2, 2, 2)), ("SAME", (3, 3, 3), (3, 3, 3), (1, 1, 1))]:
        x = integers(2, *size, 3, high=5, dtype=np.float32)
        some = dict(ksize=[1, *kernel, 1], strides=[1, *stride, 1], padding=padding)
        rows.add("MaxPool3DGradGrad", [x, tf.raw_ops.MaxPool3D(input=x, **some).numpy(), floats(*x.shape)], **some)
    x, ddx = f32(1, 5, np.nan, 5, 0, -0.0, 5, -np.inf).reshape(1, 2, 2, 2, 1), f32(*range(8)).reshape(1, 2, 2, 2, 1)
    for y in [5, 2, 0, np.nan, -np.inf]:  # ties; no element equals it
        rows.add("MaxPool3DGradGrad", [x, f32(y).reshape(1, 1, 1, 1, 1), ddx], **attrs)
    rows.add("MaxPool3DGradGrad", [a.astype(bfloat16) for a in [x, f32(5).reshape(1, 1, 1, 1, 1), ddx]], **attrs)
    for shapes in [[(0, 2, 2, 2, 1), (0, 1, 1, 1, 1), (0, 2, 2, 2, 1)], [(1, 2, 2, 2, 1), (1, 2, 1, 1, 1), (1, 2, 2, 2, 1)],
                   [(1, 2, 2, 2, 1), (1, 1, 1, 1, 1), (1, 2, 1, 2, 1)]]:
        rows.add("MaxPool3DGradGrad", [floats(*shape) for shape in shapes], **attrs)
    rows.write()


def norm():
    rows = Rows("norm")
    for shape, fmt in [((2, 2, 3, 4), "NHWC"), ((1, 1, 1, 2), "NHWC"), ((3, 2, 2, 1), "NHWC")]:
        c = shape[3]
        vectors = [floats(c), floats(c), floats(c), floats(c, low=0.1)]
        for op in ["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"]:
            rows.add(op, [floats(*shape), *vectors], skip=(3, 4, 5), is_training=False, epsilon=0.001, data_format=fmt)
        empty = np.zeros(0, np.float32)
        rows.add("FusedBatchNormV3", [floats(*shape), vectors[0], vectors[1], empty, empty], skip=(5,), is_training=True, epsilon=0.001)
        rows.add("FusedBatchNormV3", [floats(*shape), *vectors], skip=(5,), is_training=True, epsilon=0.01, exponential_avg_factor=0.5)
        for training in [False, True]:
            rows.add("FusedBatchNormGradV3", [floats(*shape), floats(*shape), vectors[0], vectors[2], vectors[3], empty],
                     epsilon=0.001, is_training=training)
    rows.add("FusedBatchNormV3", [floats(2, 2, 2, 3, dtype=np.float16), floats(3), floats(3), floats(3), floats(3, low=0.1)],
             2e-3, skip=(3, 4, 5), is_training=False)
    rows.add("FusedBatchNormV3", [floats(0, 2, 2, 3), floats(3), floats(3), floats(3), floats(3, low=0.1)], skip=(3, 4, 5), is_training=False)
    rows.add("FusedBatchNormV3", [floats(2, 2, 3), floats(3), floats(3), floats(3), floats(3)], is_training=False)
    rows.add("FusedBatchNormV3", [floats(1, 2, 2, 3), floats(2), floats(3), floats(3), floats(3)], is_training=False, text=False)
    for op in ["ResizeBilinear", "ResizeNearestNeighbor"]:
        for attrs in [dict(), dict(align_corners=True), dict(half_pixel_centers=True)]:
            for size in [(2, 3), (6, 8), (5, 7), (1, 1), (3, 4), (7, 2)]:
                rows.add(op, [floats(1, 3, 4, 2), i32(*size)], **attrs)
            rows.add(op, [integers(1, 2, 2, 1, high=200, dtype=np.uint8), i32(3, 3)], **attrs)
        rows.add(op, [floats(2, 2, 2, 1, dtype=np.float16), i32(3, 3)])
        rows.add(op, [floats(2, 2, 2, 1), i32(0, 3)])
        rows.add(op, [floats(2, 2, 2, 1), i32(3)])
        rows.add(op, [floats(2, 2, 1), i32(3, 3)])
        rows.add(op, [floats(0, 2, 2, 1), i32(3, 3)])
        rows.add(op, [floats(1, 0, 2, 1), i32(3, 3)], text=False)
    rows.write()


def order():
    rows = Rows("order")
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


def example():
    rows = Rows("example")
    feature, ints, texts, real = tf.train.Feature, tf.train.Int64List, tf.train.BytesList, tf.train.FloatList

    def serialized(**features):
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    a = serialized(x=feature(float_list=real(value=[1, 2])), n=feature(int64_list=ints(value=[3])),
                   s=feature(bytes_list=texts(value=[b"hi", b"\0%"])))
    b = serialized(x=feature(float_list=real(value=[4, 5])), s=feature(bytes_list=texts(value=[])))
    c = serialized(n=feature(int64_list=ints(value=[7, 8, 9])))
    none, no_names = np.zeros(0, np.float32), np.zeros(0, np.bytes_)
    dense = dict(dense_shapes=[[2], []])
    for batch, names in [([a, b], []), ([a, c], []), ([c, a], [b"first", b"second"]), ([], [])]:
        batch, names = np.array(batch, object), np.array(names, object)
        batch, names = [tf.constant(v.tolist(), tf.string, shape=[len(v)]) for v in (batch, names)]
        for defaults in [[none, np.zeros(0, np.int64)], [f32(8, 9), np.int64(5)]]:
            rows.add("ParseExample", [batch, names, [b"s", b"other"], [b"x", b"n"], defaults], sparse_types=[tf.string, tf.int64], **dense)
            rows.add("ParseExampleV2", [batch, names, np.array([b"other"]), np.array([b"x", b"n"]), np.array([b"s"]), defaults],
                     num_sparse=1, sparse_types=[tf.float32], ragged_value_types=[tf.string], ragged_split_types=[tf.int32], **dense)
    for one in [a, c]:
        rows.add("ParseSingleExample", [one, [f32(8, 9), np.int64(5)]], num_sparse=1, sparse_keys=["s"], dense_keys=["x", "n"],
                 sparse_types=[tf.string], **dense)
    keys = tf.zeros([0], tf.string)
    for default, shape in [(np.zeros(0, np.int64), [2]), (none, [3]), (f32(0), [-1]), (f32(0), [-1, 2]), (none, [-1])]:
        rows.add("ParseExampleV2", [tf.constant([a, b]), keys, keys, np.array([b"x"]), keys, [default]], num_sparse=0,
                 dense_shapes=[shape], sparse_types=[], ragged_value_types=[], ragged_split_types=[])
    rows.write()


def sparse():
    rows = Rows("sparse")

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
    rows = Rows("sparse_product")

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


def quant():
    rows = Rows("quant")
    x = f32(-7, -6, -1.5, -0.51, -0.02, -0.0, 0, 0.011, 0.25, 0.5, 1, 2.5, 3.999, 6, 7.3, 1e30, -1e30, np.inf, -np.inf)
    for bits, narrow in [(8, False), (8, True), (2, False), (3, True), (16, False)]:
        attrs = dict(num_bits=bits, narrow_range=narrow)
        rows.add("FakeQuantWithMinMaxArgs", [x], **attrs)
        rows.add("FakeQuantWithMinMaxArgs", [x], min=-0.3, max=5.1, **attrs)
        for low, high in [(-6, 6), (-1, 3), (0, 0), (0.5, 4), (-4, -0.5), (0, 1), (-0.001, 0.1)]:
            rows.add("FakeQuantWithMinMaxVars", [x, np.float32(low), np.float32(high)], **attrs)
        rows.add("FakeQuantWithMinMaxVarsPerChannel", [floats(4, 3), f32(-1, 0, 0), f32(1, 0.5, 0)], **attrs)
    rows.add("FakeQuantWithMinMaxVars", [floats(2, 3, 4), np.float32(-1.3), np.float32(1.7)])
    rows.add("FakeQuantWithMinMaxVars", [floats(0, 3), np.float32(-1), np.float32(1)])
    rows.add("FakeQuantWithMinMaxVars", [floats(2), f32(-1), np.float32(1)])
    rows.add("FakeQuantWithMinMaxVars", [floats(2), np.float32(-1), f32(1, 2)])
    rows.add("FakeQuantWithMinMaxVarsPerChannel", [floats(2, 3), f32(-1, 0), f32(1, 0.5, 0)])
    rows.add("FakeQuantWithMinMaxVarsPerChannel", [floats(2, 3), f32(-1, 0, 0), f32(1, 0.5)])
    rows.add("FakeQuantWithMinMaxVarsPerChannel", [floats(0, 2), f32(-1, 0), f32(1, 0.5)])
    rows.write()


def text():
    rows = Rows("text")
    rows.add("StringJoin", [[np.array([b"a", b"b"]), np.array(b"x"), np.array([b"", b"c\0"])]], separator="-")
    rows.add("StringJoin", [[np.array([b"a", b"b"]), np.array([b"a"])]])
    rows.add("ShardedFilename", [np.array(b"ckpt"), np.int32(3), np.int32(12)])
    rows.add("ShardedFilespec", [np.array(b"ckpt"), np.int32(12)])
    for op in ["StringLower", "StringUpper"]:
        rows.add(op, [np.array([b"aBc 1!Z", "\u00c4\u00e4".encode(), b""])])
    rows.add("StringLower", [np.array([b"ABC"])], encoding="utf-8")
    rows.add("StringStrip", [np.array([b"  a b\t\n", b"", b"   ", b"x"])])
    for one in [b"", b"YQ", b"YQ==", b"YWI", b"YWI=", b"YWJj", b"YWJjZGVm", b"YR==", b"-_8=", b"-_8", b"YQ=", b"Y", b"YWJjZ", b"+/8=", b"a b=",
                b"YQ==YQ==", b"====", b"=", b"Y===", b"YWJ\n", b"+WJjZ", b"YWJj+", b"\xc3\xa4YQ"]:
        rows.add("DecodeBase64", [np.array(one)])
    rows.add("DecodeBase64", [np.array([[b"YQ", b"YWJjZA=="]])])
    for pad in [False, True]:
        rows.add("EncodeBase64", [np.array([b"", b"a", b"ab", b"abc", b"abcd", b"\xff\xfe\xfd", b"\xfb\xff"])], pad=pad)
    for unit in ["BYTE", "UTF8_CHAR"]:
        rows.add("StringLength", [np.array([b"abc", "\u00c4\u20ac".encode(), b""])], unit=unit)
    for out_type in [np.float32, np.float64, np.int32, np.int64]:
        rows.add("StringToNumber", [np.array([b"12", b"-3", b" 7 "])], out_type=out_type)
        rows.add("StringToNumber", [np.array([b"x1"])], out_type=out_type)
    rows.add("StringToNumber", [np.array([b"1e-3", b"2.5"])], out_type=np.float32)
    rows.add("StringToNumber", [np.array([b"9223372036854775807", b"-9223372036854775808"])], out_type=np.int64)
    rows.add("StringToNumber", [np.array([b"9223372036854775808"])], out_type=np.int64)
    rows.add("StringToNumber", [np.array([b"-99999999999999999999"])], out_type=np.int64)
    for value in [i32(1, -20), np.array([1, 2], np.int64), np.array([True, False]), f32(1.5, -0.25), np.float64(3)]:
        rows.add("AsString", [value])
    rows.add("AsString", [f32(1.5, 1234567)], precision=2)
    rows.add("AsString", [f32(1.5, 1234567)], scientific=True)
    rows.add("AsString", [f32(1.5, 1234567)], shortest=True)
    rows.add("AsString", [i32(1, -20)], width=5, fill="0")
    for fill in "+-#":
        rows.add("AsString", [f32(1.5, -20)], width=12, fill=fill)
    for fill in "*%n":  # they would be another directive of printf's
        rows.add("AsString", [i32(1, -20)], width=5, fill=fill)
    rows.write()


def hashes():
    """Buckets of texts of every size that the hash treats on its own; crossed features; counts by row."""
    rows = Rows("hashes")
    texts = np.array([bytes((7 * i + n) % 256 for i in range(n)) for n in [*range(0, 36), 47, 48, 63, 64, 65, 127, 128, 129, 191, 192, 193, 1000]], object)
    words = np.array([b"", b"a", "\u00e9t\u00e9".encode(), b"\0", b"abc\0d", b"-1", b"  x ", "\u6771\u4eac".encode()], object)
    for buckets in [1, 2, 10, 3060, 2**31, 2**62, 2**63 - 1]:
        rows.add("StringToHashBucketFast", [texts], num_buckets=buckets)
        rows.add("StringToHashBucketStrong", [texts], num_buckets=buckets, key=[2**40 + 1, -3])
    rows.add("StringToHashBucketFast", [words.reshape(2, 2, 2)], num_buckets=1000)
    rows.add("StringToHashBucketFast", [np.array(b"x", object)], num_buckets=1000)
    rows.add("StringToHashBucketFast", [np.zeros((0, 3), object)], num_buckets=1000)
    rows.add("StringToHashBucketStrong", [words], num_buckets=1000, key=[0, 0])
    rows.add("StringToHashBucketStrong", [words], num_buckets=1000, key=[133, 137])
    for key in [[], [1], [1, 2, 3]]:
        rows.add("StringToHashBucketStrong", [words], num_buckets=9, key=key, text=False)
    cross(rows)
    for dtype in [np.int32, np.int64]:
        for data in [[[1, 1, 5, 0], [2, 2, 2, 3]], [1, 1, 5, 0], np.zeros((2, 0)), np.zeros((0, 3)), np.zeros(0), [[1, -1]], 2, [[[1]]]]:
            for weights in [np.float32, np.float64, np.int32, np.int64]:
                for binary in [False, True]:
                    data = np.array(data, dtype)
                    rows.add("DenseBincount", [data, dtype(4), np.zeros(0, weights)], binary_output=binary, text=data.ndim < 3)
        for size in [0, -1, [3], 2]:
            rows.add("DenseBincount", [np.array([[1, 2], [0, 1]], dtype), np.array(size, dtype), np.float32([[0.5, 1], [2, 4]])], binary_output=False, text=False)
        rows.add("DenseBincount", [np.array([1, 2, 1], dtype), dtype(3), np.float32([0.5, 1, -2])], binary_output=False)
        rows.add("DenseBincount", [np.array([1, 2, 1], dtype), dtype(3), np.float32([0.5, 1])], binary_output=False, text=False)
        rows.add("DenseBincount", [np.array([1, 2, 1], dtype), dtype(3), np.float32([0.5, 1, 2])], binary_output=True)
    rows.write()


def cross(rows):
    a, b, numbers = np.array([[b"a"], [b""], ["\u00e9".encode()]], object), np.array([[b"x"], [b"y"], [b"x"]], object), np.array([[1], [-2], [2**62]], np.int64)
    wide = np.array([[b"p", b"q"], [b"r", b"s"], [b"t", b"u"]], object)
    indices, shape = np.array([[0, 0], [0, 1], [2, 0]], np.int64), np.array([3, 2], np.int64)
    texts, values = np.array([b"m", b"n", b"o"], object), np.array([5, 6, -7], np.int64)
    none = np.zeros((0, 2), np.int64)
    for sparse, dense in [([], [a, b]), ([], [a, numbers]), ([], [wide, numbers, b]), ([], [a]), ([(indices, texts, shape)], [wide]), ([(indices, values, shape)], [a, numbers]),
                          ([(indices, texts, shape), (indices, values, shape)], []), ([(none, texts[:0], shape)], [a]), ([], [a[:0], b[:0]]), ([], [wide[:, :0], a]),
                          ([], [a, b[:2]]), ([], [a[:, 0]]), ([], [])]:
        inputs = [[s[0] for s in sparse], [s[1] for s in sparse], [s[2] for s in sparse], dense]
        types = [tf.as_dtype(tf.convert_to_tensor(v).dtype) for v in inputs[1]], [tf.as_dtype(tf.convert_to_tensor(v).dtype) for v in dense]
        internal = tf.int64 if tf.int64 in types[0] + types[1] else tf.string
        for hashed in [True, False]:
            for buckets in [0, 10, 2**40] if hashed else [0]:
                rows.add("SparseCross", inputs, N=len(sparse), hashed_output=hashed, num_buckets=buckets, hash_key=0xDECAFCAFFE, sparse_types=types[0],
                         dense_types=types[1], out_type=tf.int64 if hashed else tf.string, internal_type=internal, text=False)


def rest():
    rows = Rows("rest")
    rows.add("Assert", [np.array(True), [np.array(b"no")]])
    rows.add("Assert", [np.array(False), [np.array(b"x is"), i32(1, 2, 3, 4), f32(0.5)]])
    for shape in [(5,), (2, 2), (2, 4), (2, 2, 2), (3, 1), (4, 1), (1, 3), (0, 2), (2, 0)]:
        for most in [3, 0, -1]:
            rows.add("Assert", [np.array(False), [np.arange(np.prod(shape)).reshape(shape).astype(np.float32) / 10]], summarize=most)
    for dtype in [np.float64, np.float16, tf.bfloat16.as_numpy_dtype, np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64, bool, np.complex64]:
        rows.add("Assert", [np.array(False), [np.array([0.1, 0.375, 77, 200]).astype(dtype)]], summarize=9)
    rows.add("Assert", [np.array(False), [f32(np.nan, np.inf, -np.inf, 1e-30, 1e20, 123456789)]], summarize=9)
    rows.add("CheckNumerics", [f32(1, 2)], message="bad")
    rows.add("CheckNumerics", [f32(1, np.nan)], message="bad")
    rows.add("CheckNumerics", [f32(np.inf, 1)], message="bad")
    rows.add("ApproximateEqual", [f32(1, 2), f32(1.000001, 2.1)])
    for op in ["Snapshot", "Identity", "StopGradient", "PreventGradient"]:
        rows.add(op, [f32(1, 2)])
    rows.add("IdentityN", [[f32(1, 2), i32(3)]])
    rows.add("EnsureShape", [f32(1, 2)], shape=[2])
    rows.add("EnsureShape", [f32(1, 2)], shape=[3], text=False)
    rows.add("ShapeN", [[floats(2, 3), floats(0)]])
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
    for lower, upper in [(1, 0), (-1, 0), (0, -1), (0, 0), (2, 1)]:
        rows.add("MatrixBandPart", [floats(2, 3, 4), np.int32(lower), np.int32(upper)])
    rows.add("MatrixBandPart", [floats(2, 3), np.int64(3), np.int64(0)])
    rows.add("EuclideanNorm", [floats(2, 3), i32(1)])
    rows.add("EuclideanNorm", [floats(2, 3), i32(0)], keep_dims=True)
    rows.add("BatchMatMulV3", [floats(2, 2, 3), floats(3, 2)], Tout=np.float32)
    rows.add("BiasAddV1", [floats(2, 3), floats(3)])
    rows.write()


def edges(dtype):
    """Numbers at the borders of a type."""
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return np.array([info.min, info.min + 1, info.max // 2, info.max - 1, info.max, 0, 1, 3, 100], dtype)
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 1e30, -1e30, -1.0, 1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 5.5, 6.0, 6.5,
                     -6.5, 20.0, -20.0, 88.5, -88.5, 100.0, -104.5, 1e-3, 127.5, 255.9, 1e10, -1e10], np.float64).astype(dtype)


def signed(values, dtype):
    """Without -0, whose sign TensorFlow's kernels for half and bfloat16 treat in other ways."""
    return values if dtype in (np.float32, np.float64) else values[~((values == 0) & np.signbit(values))]


def pairs(values):
    x, y = np.meshgrid(values, values)
    return [x.reshape(-1), y.reshape(-1)]


EXACT = {np.float32: 2e-6, np.float64: 1e-9, np.float16: 2e-3, tf.bfloat16.as_numpy_dtype: 1.6e-2}


def value_denormal(rows):
    """Below the smallest normal number all count as 0, except where an op only hands them on."""
    for op in ["Neg", "Sign", "Square", "Exp", "Floor", "Ceil", "Round", "Tanh", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Rsqrt", "Log",
               "Reciprocal"]:
        rows.add(op, [f32(1e-40, -1e-40, 1.2e-38, -1.2e-38)], each=2e-6)
    rows.add("Exp", [f32(-87, -88.5, -100)], each=2e-6)
    rows.add("Softmax", [f32(100, 0, -100)], each=2e-6)
    for op in ["AddV2", "Sub", "Mul", "RealDiv", "DivNoNan", "SquaredDifference", "Equal", "Less", "GreaterEqual"]:
        rows.add(op, pairs(f32(1e-40, -1e-40, 0, 1e-20, 1)), each=2e-6)
    rows.add("Mul", [np.float64(1e-200), np.float64(1e-120)], each=0)
    for op in ["Sum", "Mean", "Prod"]:
        rows.add(op, [f32(1e-40, 1e-40), i32(0)], each=0)
    for target in FLOATS + INTEGERS + [np.bool_]:
        rows.add("Cast", [f32(1e-40, -1e-40, 1.2e-38)], each=0, DstT=target)


def value_unary(rows):
    for op in ["Neg", "Abs", "Sign", "Square", "Exp", "Expm1", "Floor", "Ceil", "Round", "Rint", "Atan", "Sinh", "Cosh", "Tanh",
               "Asinh", "Acosh", "Asin", "Acos", "Atanh", "Erf", "Erfc", "Sigmoid", "Relu", "Relu6", "Elu", "Selu", "Softplus",
               "Softsign", "LeakyRelu", "Sqrt", "Rsqrt", "Log", "Log1p", "Reciprocal", "Inv", "IsNan", "IsInf", "IsFinite"]:
        for dtype in FLOATS:
            if (op, dtype) != ("Erf", np.float64):  # of infinity it is NaN in TensorFlow 2.21, and 1 elsewhere
                rows.add(op, [signed(edges(dtype), dtype) if "Relu" in op else edges(dtype)], each=EXACT[dtype])
    for op in ["Sin", "Cos", "Tan"]:
        rows.add(op, [f32(np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30)], each=1e-6)
    for op in ["Neg", "Abs", "Sign", "Square", "Relu", "Relu6", "Floor", "Ceil", "Round"]:
        for dtype in INTEGERS:
            if op != "Round":  # gives 0 for int32 and int64 in TensorFlow 2.21, and what came in elsewhere
                rows.add(op, [edges(dtype)])
    for dtype in FLOATS:
        for alpha in [0.0, 1.0, 3.0, -0.5]:
            rows.add("LeakyRelu", [edges(dtype)], each=EXACT[dtype], alpha=alpha)
        for op in ["ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad", "LeakyReluGrad", "SigmoidGrad",
                   "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad"]:
            values = edges(dtype)[[0, 1, 2, 8, 9, 10] if op == "RsqrtGrad" else slice(9)]
            if op != "LeakyReluGrad" or dtype == np.float32:
                rows.add(op, pairs(values), each=EXACT[dtype])


def value_binary(rows):
    for op in ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "Div", "RealDiv", "FloorDiv", "FloorMod", "Mod",
               "TruncateMod", "TruncateDiv", "Pow", "DivNoNan", "MulNoNan", "Atan2", "Xdivy", "Xlogy", "Equal", "Less", "LessEqual", "Greater",
               "GreaterEqual", "NotEqual"]:
        for dtype in FLOATS:
            values = edges(dtype)[:14]
            rows.add(op, pairs(signed(values, dtype) if op in ("Maximum", "Minimum") else values), each=EXACT[dtype])
    for op in ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "Div", "FloorDiv", "FloorMod", "Mod", "TruncateMod",
               "TruncateDiv", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Less", "GreaterEqual"]:
        for dtype in INTEGERS:
            x, y = pairs(edges(dtype))
            if op in ["Div", "FloorDiv", "FloorMod", "Mod", "TruncateMod", "TruncateDiv"]:
                x, y = x[y != 0], y[y != 0]
                if np.iinfo(dtype).min < 0:  # the lowest number by -1: TensorFlow itself dies of it
                    negative = np.array([-1, -2, -3, -7, 7, 5], dtype)
                    rows.add(op, [negative, np.array([-1, -1, -1, 2, -2, -5], dtype)])
                rows.add(op, [np.ones(2, dtype), np.zeros(2, dtype)])
                rows.add(op, [np.ones(0, dtype), np.zeros(0, dtype)])
                rows.add(op, [np.ones(0, dtype), dtype(0)])
            rows.add(op, [x, y])
    for dtype in INTEGERS:
        low = np.iinfo(dtype).min
        rows.add("Pow", [np.array([0, 0, 1, 2, 2, 3, 3, 10, low], dtype), np.array([0, 5, 100, 7, 64, 5, 41, 20, 3], dtype)])
        if low < 0:
            rows.add("Pow", [np.array([1, -1, 2, 0], dtype), dtype(-1)])
            rows.add("Pow", [np.zeros(0, dtype), dtype(-1)])
        rows.add("AddN", [[edges(dtype), edges(dtype), edges(dtype)]])
        rows.add("BiasAdd", [np.stack([edges(dtype), edges(dtype)[::-1]]), edges(dtype)])
        rows.add("ClipByValue", [edges(dtype), dtype(2), dtype(90)])
        rows.add("ClipByValue", [edges(dtype), dtype(90), dtype(2)])
    for dtype in [np.float32, np.float64]:
        rows.add("ClipByValue", [edges(dtype), dtype(-1), dtype(6)], each=0)
        rows.add("ClipByValue", [edges(dtype), dtype(6), dtype(-1)], each=0)
        rows.add("ClipByValue", [edges(dtype), dtype(np.nan), dtype(1)], each=0)
        rows.add("ClipByValue", [edges(dtype), dtype(-1), dtype(np.nan)], each=0)


def value_cast(rows):
    types = FLOATS + INTEGERS + [np.bool_]
    inside = np.array([np.nan, np.inf, -np.inf, -0.0, 0.5, -0.5, 1e-30, 1e-46, 127.9, -128.9, 255.9, 1e30, 1e300, -1e300, 65519, 65520, 1e-8,
                       5.9e-8, 3e-8, 2.9802322387695312e-08, 1.00390625, 1.01171875, 16777217, 8388609.5, 3.4028236e38, 3.38953139e38, 3.3961775e38])
    outside = np.array([128, 255, 256, -129, 32768, -32769, 65535, 65536, 70000, 2147483647, 2147483648, -2147483648, -2147483649, 4294967295,
                        4294967296, -4294967297, 3e9, -3e9, 1e10, 9.3e18, -9.3e18, 1.8e19, 1.9e19, 1e20, -1, -1.5, -300.7])
    for source in FLOATS:
        for target in types:
            if target in FLOATS + [np.bool_] and source != target:
                rows.add("Cast", [np.array([*inside, *outside]).astype(source)], each=0, DstT=target)
            if target in INTEGERS:  # one by one: TensorFlow's vectors differ from its single numbers in what does not fit
                for value in [np.nan, np.inf, -np.inf, 0.9, 127.9, -128.9, 1e30, -1e30, *outside]:
                    rows.add("Cast", [np.array([value]).astype(source)], each=0, DstT=target)
    for source in INTEGERS:
        for target in types:
            if source != target:
                rows.add("Cast", [edges(source)], each=0, DstT=target)
    for source in [np.float32, np.float64]:
        for target in [np.float32, tf.bfloat16, np.float16, np.int32]:
            if source != target:
                rows.add("Cast", [inside.astype(source)], each=0, DstT=target, Truncate=True)


def value_reduce(rows):
    for op in ["Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"]:
        for dtype in INTEGERS:
            high, low = np.iinfo(dtype).max, np.iinfo(dtype).min
            if op == "EuclideanNorm":
                continue
            for count in [2, 3, 8, 17, 70]:
                for value in [high, low, min(192, high)]:
                    rows.add(op, [np.full(count, value, dtype), i32(0)])
            rows.add(op, [np.full(700, 100, dtype), i32(0)])
            rows.add(op, [integers(40, 3, low=0, high=100, dtype=dtype), i32(0)])
            rows.add(op, [integers(3, 40, low=0, high=100, dtype=dtype), i32(1)])
            rows.add(op, [integers(3, 4, 5, low=0, high=100, dtype=dtype), i32(0, 2)])
            rows.add(op, [integers(3, 4, 5, low=0, high=100, dtype=dtype), i32(1)])
            rows.add(op, [edges(dtype), i32(0)])
            rows.add(op, [edges(dtype), np.zeros(0, np.int32)])
            rows.add(op, [dtype(high), np.zeros(0, np.int32)])
            rows.add(op, [np.zeros((0,), dtype), i32(0)])
            rows.add(op, [np.zeros((2, 0), dtype), i32(1)])
            rows.add(op, [np.zeros((0, 2), dtype), i32(1)])
            if low < 0:
                for values in [[-1, -2], [-1, -1, -1], [-7, 2, 1], [-1, 0, 0], [-5, 4], [-100] * 9, [5, -1, -1]]:
                    rows.add(op, [np.array(values, dtype), i32(0)])
                    rows.add(op, [np.array([values, values], dtype), i32(1)])
                    rows.add(op, [np.array([values, values], dtype).T, i32(0)])
        for dtype in [np.float32, np.float64] if op == "EuclideanNorm" else FLOATS:
            for values in [[1, np.nan, 3], [np.nan, 1], [1, np.inf], [np.inf, -np.inf], [-np.inf, 1], [np.nan, np.inf], [np.nan] * 2,
                           [-0.0], [-3], [1e30, 1e30], [1e-30, 1e-30], [1, 2, np.nan] * 9, [np.nan] + [1] * 20,
                           [1] * 20 + [np.nan], [-np.inf] * 10]:
                rows.add(op, [np.array(values).astype(dtype), i32(0)], each=4 * EXACT[dtype])
                rows.add(op, [np.array([values, values]).astype(dtype), i32(1)], each=4 * EXACT[dtype])
                rows.add(op, [np.array([values, values, values]).T.astype(dtype), i32(0)], each=4 * EXACT[dtype])
            for shape, axis in [((0,), 0), ((2, 0), 1), ((0, 2), 1)]:
                rows.add(op, [np.zeros(shape, dtype), i32(axis)], each=0)
    for op in ["ArgMax", "ArgMin"]:
        for dtype in INTEGERS:
            rows.add(op, [edges(dtype), np.int32(0)])
            rows.add(op, [edges(dtype)[::-1], np.int32(0)])
            rows.add(op, [np.full(9, np.iinfo(dtype).max, dtype), np.int32(0)])
            rows.add(op, [np.full(9, np.iinfo(dtype).min, dtype), np.int32(0)])
        for dtype in FLOATS:
            for values in [[np.nan, 1, 2], [1, np.nan, 2], [2, 1, np.nan], [np.nan] * 3, [np.nan, np.inf, 1], [-np.inf] * 2, [np.inf] * 2,
                           [-np.inf, np.nan], [np.nan, -np.inf], [np.inf, np.nan], [np.nan, np.inf], [0.0, -0.0], [-0.0, 0.0],
                           [1, 2, np.nan, 5, 5, 3] * 3, [-np.inf, -np.inf, -1],
                           [np.inf, np.inf, 1]]:
                rows.add(op, [np.array(values).astype(dtype), np.int32(0)])
                rows.add(op, [np.array([values, values]).T.astype(dtype), np.int32(0)])
    for op in ["All", "Any"]:
        rows.add(op, [np.array([True] * 20 + [False]), i32(0)])
        rows.add(op, [np.zeros((2, 0), bool), i32(1)])


def value_scan(rows):
    for op in ["Cumsum", "Cumprod"]:
        for dtype in [np.float32, np.float64] + INTEGERS:
            for attrs in [dict(), dict(exclusive=True), dict(reverse=True), dict(exclusive=True, reverse=True)]:
                rows.add(op, [edges(dtype)[:9], np.int32(0)], each=4 * EXACT.get(dtype, 0), **attrs)
                rows.add(op, [np.full((2, 5), 100, dtype), np.int32(1)], each=4 * EXACT.get(dtype, 0), **attrs)
                rows.add(op, [np.zeros((2, 0), dtype), np.int32(1)], **attrs)
                rows.add(op, [np.full((40,), 1.1, dtype), np.int32(0)], each=8 * EXACT.get(dtype, 0), **attrs)
    for dtype in [np.float32, np.float64] + INTEGERS:
        data = np.full((4, 2), 100, dtype)
        for ids in [i32(0, 0, 0, 1), i32(0, -1, 2, 2)]:
            rows.add("UnsortedSegmentSum", [data, ids, np.int32(4)], each=EXACT.get(dtype, 0))
        rows.add("SparseSegmentSum", [data, i32(0, 1, 2, 3), i32(0, 0, 0, 2)], each=EXACT.get(dtype, 0))
        rows.add("SparseSegmentMean", [data, i32(0, 1, 2, 3), i32(0, 0, 0, 2)], each=EXACT.get(dtype, 0))
        rows.add("UnsortedSegmentSum", [edges(dtype)[:9], i32(0, 0, 1, 1, 2, 2, 3, 3, 4), np.int32(6)], each=EXACT.get(dtype, 0))
        rows.add("ScatterNd", [i32(0, 0, 1, 1, 2)[:, None], edges(dtype)[:5], i32(4)], each=EXACT.get(dtype, 0))
        rows.add("L2Loss", [edges(dtype)[3:9]], each=EXACT.get(dtype, 0))
        rows.add("L2Loss", [np.full(300, 100.3, dtype)], each=EXACT.get(dtype, 0))
    for weights in [np.int32, np.int64, np.float32, np.float64]:
        rows.add("Bincount", [i32(1, 1, 1, 0), np.int32(2), np.array([np.iinfo(weights).max] * 4, weights)
                              if np.issubdtype(weights, np.integer) else np.array([1, np.nan, np.inf, -np.inf], weights)])
    rows.add("Bucketize", [f32(*edges(np.float32))], boundaries=[-1.0, 0.0, 1.0, 100.0])
    rows.add("Bucketize", [edges(np.float64)], boundaries=[-1.0, 0.0, 1.0, 100.0])
    rows.add("Bucketize", [f32(0.1, 0.2, 0.3)], boundaries=[0.1, 0.2, 0.3])
    rows.add("Bucketize", [np.array([0.1, 0.2, 0.3], np.float64)], boundaries=[0.1, 0.2, 0.3])
    for dtype in [np.int32, np.int64]:
        rows.add("Bucketize", [edges(dtype)], boundaries=[-1.0, 0.0, 1.5, 3.0])
    rows.add("Bucketize", [np.array([16777216, 16777217, 16777218], np.int32)], boundaries=[16777216.0, 16777218.0])
    rows.add("Bucketize", [np.array([2**53, 2**53 + 1, 2**62, 2**62 + 1, 2**62 - 1], np.int64)], boundaries=[2.0**53, 2.0**62])


def value_order(rows):
    for dtype in FLOATS:
        for values in [[3, 2, 1, np.nan], [np.nan] * 4, [0.0, -0.0, 0.0, -0.0], [np.inf, 1, -np.inf, 1]]:  # elsewhere the place of NaN is chance
            for count in [1, 2, 3, 4]:
                rows.add("TopKV2", [np.array(values).astype(dtype), np.int32(count)], each=0)
        rows.add("TopKV2", [edges(dtype), np.int32(1)], each=0)
    for dtype in INTEGERS:
        for count in [1, 4, 9]:
            rows.add("TopKV2", [edges(dtype), np.int32(count)])
    for values in [[1, 2, 3, 4], [1, np.nan, 3, 4], [np.nan] * 4, [np.inf, 1, 2, np.inf], [-np.inf, 1, 2, 3], [2, 2, 2, 2]]:
        for target in [0, 1, 3, 4, -1]:
            for count in [0, 1, 2, 4, 9]:
                rows.add("InTopKV2", [f32(*values)[None], i32(target), np.int32(count)])


def value_softmax(rows):
    for op in ["Softmax", "LogSoftmax"]:
        for dtype in FLOATS:
            for values in [[1, np.inf, 2], [np.inf, np.inf, 1], [np.inf], [np.inf, -np.inf], [-np.inf, -np.inf, -np.inf], [-np.inf], [np.nan],
                           [1, np.nan, 2], [np.nan, np.inf, -np.inf], [-np.inf, 1, 2], [1e30, -1e30, 0], [1e30, 1e30], [-1e30, -1e30], [88, -88, 0],
                           [100, 0, -100], [0.0, -0.0], [3e4, -3e4], [1] * 15 + [np.inf], [1] * 15 + [-np.inf], [np.nan] + [1] * 15, [-np.inf] * 20,
                           [np.inf] + [1] * 20, [1] * 20 + [np.nan], [-104, 0], [-87, 0], [-90, 0]]:
                rows.add(op, [np.array([values, [0.5] * len(values)]).astype(dtype)], each=10 * EXACT[dtype])
    with_inf = f32(1, np.inf, 2), f32(1, -np.inf, 2), f32(np.nan, 1, 2), f32(-np.inf, -np.inf, -np.inf), f32(1e30, 0, -1e30)
    for row in with_inf:
        for label in [[1, 0, 0], [0, 1, 0], [0.2, 0.3, 0.5], [0, 0, 0], [np.nan, 0, 0]]:
            rows.add("SoftmaxCrossEntropyWithLogits", [row[None], f32(*label)[None]], each=1e-5)
        for label in [0, 1, 2]:
            rows.add("SparseSoftmaxCrossEntropyWithLogits", [row[None], i32(label)], each=1e-5)


def value_pool(rows):
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 5.0, 1e30]
    for dtype in FLOATS:
        for index in range(0, 16, 3):
            image = np.arange(16.0)
            for value in special[:3]:
                image[index] = value
                rows.add("MaxPool", [image.reshape(1, 4, 4, 1).astype(dtype)], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID", each=0)
                if index in (0, 6):
                    rows.add("MaxPool", [image.reshape(1, 4, 4, 1).astype(dtype)], ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="SAME", each=0)
                    rows.add("AvgPool", [image.reshape(1, 4, 4, 1).astype(dtype)], ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="SAME",
                             each=2 * EXACT[dtype])
        for value in special:
            rows.add("MaxPool", [np.full((1, 3, 3, 10), value).astype(dtype)], ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME", each=0)
        deep = np.tile(np.array(special), 4 * 4 * 2)[: 4 * 4 * 17].reshape(1, 4, 4, 17).astype(dtype)
        for size in [2, 3, 4]:
            for op in ["MaxPool", "AvgPool"]:
                rows.add(op, [deep], ksize=[1, size, size, 1], strides=[1, 1, 1, 1], padding="SAME", each=2 * EXACT[dtype])
    gradient = f32(1, 2, 3, 4).reshape(1, 2, 2, 1)
    for index in range(4):
        image = np.arange(16, dtype=np.float32)
        image[index] = np.nan
        image = image.reshape(1, 4, 4, 1)
        pooled = tf.raw_ops.MaxPool(input=image, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
        rows.add("MaxPoolGrad", [image, pooled, gradient], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID", each=0)


def value_norm(rows):
    """The squares, and their sum, are of the element type: integers wrap, half overflows."""
    for dtype in INTEGERS:
        high, low = np.iinfo(dtype).max, np.iinfo(dtype).min
        for values in [[3, 4], [5], [12], [11, 9], [100, 100, 100], [high] * 3, [low, 1], [high // 2] * 2, [], [181, 181], [46341],
                       [3037000500], [65535, 65535], [0, 1, 2] * 20]:
            values = [value for value in values if value <= high]
            x = np.array(values, dtype)
            rows.add("EuclideanNorm", [x, i32(0)])
            rows.add("EuclideanNorm", [np.stack([x, x]), i32(1)])
            rows.add("EuclideanNorm", [np.stack([x] * 9).T, i32(0)])
    for dtype in FLOATS[2:]:
        for values in [[300, 1], [300, 300], [0.1] * 700, [3e-4, 4e-4], [1.3, 2.7, 0.33], [-2, 1.5], [np.nan, 1], [1, -np.inf], [-0.0], []]:
            x = np.array(values).astype(dtype)
            rows.add("EuclideanNorm", [x, i32(0)], each=EXACT[dtype])
            rows.add("EuclideanNorm", [np.stack([x, x]), i32(1)], each=EXACT[dtype])
            if len(values) < 100:  # TensorFlow adds up columns in the element type, with its error
                rows.add("EuclideanNorm", [np.stack([x] * 9).T, i32(0)], each=EXACT[dtype])


def value_zeros(rows):
    """Which of 0 and -0 is the greater or smaller one."""
    for dtype in FLOATS:
        for signs in ["-0", "0-", "-0-", "0-0", "-----0", "0----", "0000-", "--------0", "00000000-", "0-" * 8 + "0", "-0" * 8 + "-",
                      "0" * 19 + "-" * 14]:
            x = np.array([-0.0 if sign == "-" else 0.0 for sign in signs], dtype)
            for op in ["Max", "Min"]:
                rows.add(op, [x, i32(0)], each=0)
                rows.add(op, [np.stack([x, x]), i32(1)], each=0)
                rows.add(op, [np.stack([x, x, x]).T, i32(0)], each=0)
                if dtype in FLOATS[:2]:  # in vectors of half and bfloat16, the first zero wins
                    rows.add(op, [np.stack([x] * 20).T, i32(0)], each=0)
            for op in ["ArgMax", "ArgMin"]:
                rows.add(op, [x, np.int32(0)])
            rows.add("TopKV2", [x, np.int32(2)], each=0)
            rows.add("ClipByValue", [x, dtype(0), dtype(6)], each=0)
            rows.add("ClipByValue", [x, dtype(-6), dtype(-0.0)], each=0)
        for order in [[-0.0, 0.0], [0.0, -0.0]]:
            image = np.array(order * 8).astype(dtype).reshape(1, 4, 4, 1)
            rows.add("MaxPool", [image], each=0, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")


def value_array(rows):
    for indices in [i32(-1, 0, 2, 3, 1000, -2147483648, 2147483647), np.array([-1, 3, 2**40, -2**63], np.int64), np.array([0, 255], np.uint8),
                    np.array([-128, 127, 1], np.int8)]:
        rows.add("OneHot", [indices, np.int32(3), np.float32(np.nan), np.float32(-0.0)], each=0)
        rows.add("OneHot", [indices, np.int32(0), np.float32(1), np.float32(0)])
    for dtype in [np.float32, np.float64, np.int32, np.int64]:
        for a in [(0, 1, 0.1), (0, 1, 0.3), (1, 0, -0.1), (0, 10, 3.3), (-1, 1, 0.7), (0, 1, 1), (0.1, 0.7, 0.2), (0, 0.9, 0.1), (3, 3, 0.5),
                  (10, 0, -3), (0, -1, 1), (0, 1, np.inf), (0, 1, np.nan), (np.nan, 1, 1), (0, np.inf, 1)]:
            if dtype in (np.int32, np.int64) and not all(np.isfinite(a)):
                continue
            rows.add("Range", [np.array(v).astype(dtype) for v in a], each=EXACT.get(dtype, 0), text=False)
    rows.add("Range", [np.int32(2147483640), np.int32(2147483647), np.int32(3)])
    rows.add("Range", [np.int32(-2147483648), np.int32(2147483647), np.int32(2147483647)])
    rows.add("Range", [np.int64(-2**63), np.int64(2**63 - 1), np.int64(2**62)])
    rows.add("Range", [np.int64(2**63 - 3), np.int64(2**63 - 1), np.int64(1)])
    for a in [(0, 1, 3), (0, 1, 7), (1, 0, 6), (-1e30, 1e30, 5), (0, np.inf, 3), (np.nan, 1, 3), (5, 5, 4), (0, 1, 1), (0.1, 0.7, 11)]:
        for dtype in [np.float32, np.float64]:
            rows.add("LinSpace", [dtype(a[0]), dtype(a[1]), np.int32(a[2])], each=EXACT[dtype])
    rows.add("LinSpace", [np.float32(0), np.float32(1), np.int32(0)])
    for dtype in [np.int8, np.uint8, np.int32]:
        rows.add("ResizeBilinear", [integers(1, 2, 2, 1, high=127, dtype=dtype), i32(3, 3)], each=1e-6)
    for op in ["ResizeBilinear", "ResizeNearestNeighbor"]:
        for value in [np.nan, np.inf, -np.inf]:
            for attrs in [dict(), dict(align_corners=True), dict(half_pixel_centers=True)]:
                rows.add(op, [f32(1, value, 3, 4).reshape(1, 2, 2, 1), i32(3, 5)], each=2e-6, **attrs)
    for value in [np.nan, np.inf, -np.inf, 1e30, -0.0]:
        image = np.arange(1, 33, dtype=np.float32).reshape(1, 4, 4, 2)
        image[0, 1, 2, 0] = value
        for padding in ["SAME", "VALID"]:
            rows.add("Conv2D", [image, floats(3, 3, 2, 3)], each=1e-4, strides=[1, 1, 1, 1], padding=padding)
            rows.add("DepthwiseConv2dNative", [image, floats(3, 3, 2, 1)], each=1e-4, strides=[1, 1, 1, 1], padding=padding)
        for scale, variance in [(1, 1), (0, 1), (1, 0), (np.inf, 1), (1, np.inf), (1, np.nan), (1, -1)]:
            rows.add("FusedBatchNormV3", [image, f32(scale, 1), f32(0, 1), f32(2, 3), f32(variance, 1)], each=1e-5, is_training=False, skip=(1, 2, 3, 4, 5))
        for bits in [8, 2]:
            rows.add("FakeQuantWithMinMaxArgs", [image], num_bits=bits, each=2e-6)
            rows.add("FakeQuantWithMinMaxVars", [image, np.float32(-1), np.float32(9.1)], num_bits=bits, each=2e-6)
            rows.add("FakeQuantWithMinMaxVars", [image, np.float32(1), np.float32(value)], num_bits=bits, each=2e-6)
            rows.add("FakeQuantWithMinMaxVarsPerChannel", [image, f32(-1, -1), f32(9.1, 2)], num_bits=bits, each=2e-6)
    rows.add("Where", [f32(*SPECIAL)])
    rows.add("ApproximateEqual", [*pairs(f32(*SPECIAL))], tolerance=None)
    rows.add("CheckNumerics", [f32(np.nan, np.inf)], message="m")
    rows.add("CheckNumerics", [f32(-np.inf)], message="m")
    for dtype in [np.int32, np.int64]:
        for mat in [np.full((2, 2), np.iinfo(dtype).max, dtype), np.full((2, 2), np.iinfo(dtype).min, dtype)]:
            rows.add("MatMul", [mat, mat])
    for row in [[np.nan, 0], [np.inf, 0], [np.inf, -np.inf], [1e30, 1e30]]:
        rows.add("MatMul", [f32(*row)[None], f32(0, 1)[:, None]], each=1e-6)
        rows.add("MatMul", [np.tile(f32(*row), (3, 16)), np.tile(f32(0, 1)[:, None], (16, 34))], each=1e-5)
        rows.add("BatchMatMulV2", [np.tile(f32(*row), (2, 2, 8)), np.tile(f32(0, 1)[:, None], (8, 34))], each=1e-5)


def value_text(rows):
    texts = ["abc XYZ", "\u00e4\u00f6\u00fc \u00c4\u00d6\u00dc", "stra\u00dfe STRASSE \u1e9e", "\u0130stanbul \u0131I i", "\u01c4\u01c5\u01c6 \u01f1\u01f2\u01f3",
             "\u039f\u0394\u039f\u03a3 \u03a3 \u03a3\u03a3 \u0391\u03a3. \u03a3\u0391 \u0391\u03a3\u0391", "\u03bf\u03b4\u03cc\u03c2", "\ufb01 \ufb03 \u0149 \u01f0 \u0390 \u1f50 \u1fb3 \u1fbc",
             "\u0410\u0411\u0432\u0433", "\U00010400\U00010428", "\u4e2d\u6587", "e\u0301E\u0301", "\u212a\u212b\u2126", "\u0345\u0399\u1f80", "\u10d0\u1c90\u10a0\u2d00",
             "\u13a0\uab70", "\u0391\u0345\u03a3", "\u0391\u00b7\u03a3", "'\u03a3", "a\0b\u00c9", "", "\ufeffA\u00c4", "\u1e9b\u0307", "\u03f4\u03f5", "I\u0307\u00cc \u0128",
             "\ua64a\u1c88", "\U0001e900\U0001e922", "\u0587"]
    broken = [b"\xff", b"A\xffB", b"\xc3", b"\xc3A", b"\xe2\x82", b"\xe2\x82Z", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xed\xa0\x81\xed\xb0\x80", b"\xc0\x80", b"\xc1\xbf",
              b"\xe0\x80\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\x80\x80", b"\xf0\x80\x80\x80", b"a\xe2\x28\xa1z", b"\xfe\xfe", b"\xef\xbf\xbe\xef\xbf\xbf",
              b"\xf0\x9f\x98\xc3\x84", b"\xc3\xc3\x84", b"\xce\xa3\xff"]
    new = {0x2c2f, 0x2c5f, 0xa7c0, 0xa7c1, *range(0xa7d0, 0xa7da), *range(0x10570, 0x105bd)}  # of Unicode 14: not in TensorFlow's ICU
    cased = [chr(c) for c in range(0x80, 0x1ea00) if not 0xd800 <= c < 0xe000 and c not in new and (chr(c).upper(), chr(c).lower()) != (chr(c), chr(c))]
    everything = [" ".join(cased[i : i + 256]) for i in range(0, len(cased), 256)]
    for op in ["StringLower", "StringUpper"]:
        for encoding in ["", "utf-8"]:
            rows.add(op, [np.array([t.encode() for t in texts] + broken, object)], encoding=encoding)
        for text in everything:
            rows.add(op, [np.array([text.encode()], object)], encoding="utf-8")
        rows.add(op, [np.array([b"a"])], encoding="latin-1")
    for unit in ["BYTE", "UTF8_CHAR"]:
        rows.add("StringLength", [np.array(broken + [t.encode() for t in texts], object)], unit=unit)
    for out_type in [np.float32, np.float64, np.int32, np.int64]:
        for one in [b"nan", b"NaN", b"inf", b"-inf", b"Infinity", b"+inf", b"1e400", b"-1e400", b"1e-400", b"0x10", b"0x1p3", b"1e39", b"1e-46", b"+5", b"--5", b"5.",
                    b".5", b"", b" ", b"1 2", b"1\0", b"2147483648", b"-2147483649", b"9223372036854775808", b"-9223372036854775809", b"1_000", b"1,000", b"1e5",
                    b"1.5", b"-0", b"0010", b"\t7\n", b"\xc2\xa07", b"1f", b"1d", b"infinit", b"nan(1)", b"1e", b"1e+", b"3.4028236e38", b"16777217"]:
            rows.add("StringToNumber", [np.array([one])], out_type=out_type, each=0)
    for dtype in FLOATS:
        for attrs in [dict(), dict(precision=2), dict(scientific=True), dict(shortest=True), dict(precision=0), dict(width=12, fill="0"), dict(width=8, fill="+"),
                      dict(shortest=True, precision=4), dict(scientific=True, precision=1, width=14, fill="-")]:
            rows.add("AsString", [edges(dtype)], **attrs)
    for dtype in INTEGERS:
        for attrs in [dict(), dict(width=6), dict(width=6, fill="0"), dict(width=6, fill="-"), dict(precision=2), dict(scientific=True)]:
            rows.add("AsString", [edges(dtype)], **attrs)
    rows.add("AsString", [np.array([True, False])], width=7)
    for text in [b"\xc2\xa0a\xc2\xa0", b"\0a\0", b"\x1f a \x0b", b"\xe3\x80\x80a"]:
        rows.add("StringStrip", [np.array([text], object)])


def value_rest(rows):
    """Other kernels that compute with numbers."""
    special = f32(np.nan, np.inf, -np.inf, -0.0, 1, 1e30)
    rows.add("SparseSegmentMean", [np.stack([special, special[::-1]]), i32(0, 1), i32(0, 0)], each=2e-6)
    rows.add("SparseSegmentSum", [np.stack([special, special[::-1]]), i32(0, 1), i32(0, 0)], each=2e-6)
    for dtype in FLOATS:
        values = np.array([np.nan, np.inf, -np.inf, 0.0, 1, 100], np.float64).astype(dtype)
        rows.add("MatMul", [values[None], values[:, None]], each=EXACT[dtype])
        rows.add("MatMul", [values[3:, None], values[None, 3:]], each=EXACT[dtype])
        rows.add("BiasAdd", [np.stack([values, values[::-1]]), values], each=EXACT[dtype])
        rows.add("AddN", [[values, values[::-1], values]], each=EXACT[dtype])
        rows.add("MatrixBandPart", [np.tile(values[:3], (3, 1)), np.int32(0), np.int32(1)], each=0)
        rows.add("BatchMatMulV2", [np.tile(values, (2, 2, 1)), np.tile(values[:, None], (2, 1, 2))], each=EXACT[dtype])
        rows.add("SelectV2", [np.array([True, False] * 3), values, values[::-1]], each=0)
        rows.add("ZerosLike", [values], each=0)
        rows.add("Unique", [values], each=0)
    image = f32(np.nan, 1, 2, np.inf, -np.inf, 3, 1e30, -1e30).reshape(1, 2, 2, 2)
    for padding in ["SAME", "VALID"]:
        rows.add("Conv2D", [image, floats(1, 1, 2, 3)], each=1e-5, strides=[1, 1, 1, 1], padding=padding)
    rows.add("Conv2DBackpropInput", [i32(1, 3, 3, 3), floats(2, 2, 3, 2), image], each=1e-4, strides=[1, 1, 1, 1], padding="VALID")
    rows.add("DepthwiseConv2dNative", [image, floats(2, 2, 2, 2)], each=1e-5, strides=[1, 1, 1, 1], padding="VALID")
    rows.add("ResizeBilinear", [image, i32(2, 2)], each=0, half_pixel_centers=True)
    for op in ["SpaceToDepth", "DepthToSpace"]:
        rows.add(op, [np.tile(special[:4], 4).reshape(1, 2, 2, 4)], block_size=2, each=0)
    rows.add("FusedBatchNormV3", [np.tile(special, 4).reshape(1, 2, 2, 6), np.ones(6, np.float32), np.zeros(6, np.float32), np.zeros(0, np.float32),
                                  np.zeros(0, np.float32)], each=1e-4, is_training=True, skip=(1, 2, 3, 4, 5))
    for dtype in INTEGERS:
        high = np.iinfo(dtype).max
        rows.add("ResizeBilinear", [np.array([0, high, high, 1], dtype).reshape(1, 2, 2, 1), i32(3, 3)], each=1e-6)
        rows.add("ResizeNearestNeighbor", [np.array([0, high, high, 1], dtype).reshape(1, 2, 2, 1), i32(3, 3)])
        rows.add("DynamicStitch", [[i32(0, 1), i32(1, 2)], [np.array([1, high], dtype), np.array([high, 2], dtype)]])
        rows.add("Cumsum", [np.full((2, 3, 2), high, dtype), np.int32(1)], reverse=True, exclusive=True)
        rows.add("TopKV2", [np.array([[0, high, high, 1], [high, 0, 1, high]], dtype), np.int32(3)])
        rows.add("Unique", [np.array([high, 0, high, 1], dtype)])
        rows.add("BitwiseXor", [np.array([high, 0], dtype), np.array([high, high], dtype)])
        rows.add("Cast", [np.array([high, high // 2 + 1], dtype)], each=0, DstT=np.float32)
        rows.add("Cast", [np.array([high, high // 2 + 1], dtype)], each=0, DstT=np.float64)
        rows.add("AsString", [np.array([high, np.iinfo(dtype).min], dtype)])


def values():
    """Numbers at and past the borders: overflow, NaN, infinity, -0, ties, empty axes, text that is not ASCII."""
    rows = Rows("values")
    for part in [value_denormal, value_reduce, value_scan, value_cast, value_unary, value_binary, value_order, value_softmax, value_pool, value_array, value_text, value_rest,
                 value_norm, value_zeros]:
        part(rows)
    rows.write()


def half():
    """Types that TensorFlow rounds to after each operation: the values are exact."""
    rows = Rows("half")
    for dtype in FLOATS[2:]:
        for op in ["Cumsum", "Cumprod"]:
            for attrs in [dict(), dict(exclusive=True), dict(reverse=True), dict(exclusive=True, reverse=True)]:
                rows.add(op, [edges(dtype)[:9], np.int32(0)], each=0, **attrs)
                rows.add(op, [np.full((40,), 1.1, dtype), np.int32(0)], each=0, **attrs)
                rows.add(op, [floats(3, 4, 2, dtype=dtype), np.int32(1)], each=0, **attrs)
                rows.add(op, [np.zeros((2, 0), dtype), np.int32(1)], **attrs)
        for low, high in [(-1, 1), (1, -1), (np.nan, 1), (-1, np.nan), (-np.inf, np.inf), (0.0, -0.0)]:
            rows.add("ClipByValue", [edges(dtype), dtype(low), dtype(high)], each=0)
        rows.add("ClipByValue", [floats(700, dtype=dtype), floats(700, high=0, dtype=dtype), floats(700, low=0, dtype=dtype)], each=0)
        rows.add("UnsortedSegmentSum", [floats(300, dtype=dtype), integers(300, low=-1, high=5), np.int32(6)], each=0)
        rows.add("UnsortedSegmentSum", [floats(4, 3, dtype=dtype), i32(0, -1, 2, 2), np.int32(4)], each=0)
        rows.add("UnsortedSegmentSum", [edges(dtype)[:9], i32(0, 0, 1, 1, 2, 2, 3, 3, 4), np.int32(6)], each=0)
        for a in [(0, 1, 0.1), (0, 1, 0.3), (1, 0, -0.1), (0, 10, 3.3), (-1, 1, 0.7), (0, 1, 1), (0.1, 0.7, 0.2), (3, 3, 0.5), (10, 0, -3),
                  (0, -1, 1), (0, 30, 0.3), (5, -5, -0.7), (0, 600, 1), (1000, 3000, 7), (0, 1, np.inf)]:
            rows.add("Range", [dtype(v) for v in a], each=0, text=False)
    for dtype in FLOATS[2:]:
        for op in ["SquaredDifference", "FloorDiv"]:
            rows.add(op, [floats(100, low=-9, high=9, dtype=dtype), floats(100, low=-0.1, high=1, dtype=dtype)], each=0)
        for op in ["Xlogy", "Xlog1py"]:
            rows.add(op, [floats(100, low=-9, high=9, dtype=dtype), floats(100, low=0.01, high=9, dtype=dtype)], each=0)
        for op in ["Sigmoid", "Softsign", "Softplus", "Elu", "Selu"]:
            rows.add(op, [floats(100, low=-9, high=9, dtype=dtype)], each=0)
            rows.add(op, [np.array([0, np.nan, np.inf, -np.inf, -90, 90, 2.84375, 2.859375, -2.84375, -2.859375, 7.0, 7.03125], dtype)], each=0)
        rows.add("LeakyRelu", [floats(100, low=-9, high=9, dtype=dtype)], each=0, alpha=0.3)
        rows.add("LeakyReluGrad", [floats(100, low=-3, high=3, dtype=dtype), floats(100, low=-3, high=3, dtype=dtype)], each=0, alpha=0.3)
        for op in ["SigmoidGrad", "TanhGrad", "SoftplusGrad", "SoftsignGrad", "EluGrad", "SeluGrad", "ReciprocalGrad", "InvGrad", "SqrtGrad", "RsqrtGrad"]:
            rows.add(op, [floats(96, low=-3, high=3, dtype=dtype), floats(96, low=-3, high=3, dtype=dtype)], each=0)  # whole packets
        rows.add("RsqrtGrad", pairs(np.array([0, -0.0, 1, -1.5, 2e-3, -3e-5, 6e-8, 300], dtype)), each=0)
        rows.add("Xlogy", pairs(np.array([0, 1, -3, 1e-40, 1e-3, 2, np.inf, np.nan], dtype)), each=0)
        for op in ["Softmax", "LogSoftmax"]:  # sums of parts of a packet, of packets, of four, and of halves of a row
            for shape in [(3, 7), (2, 40), (1, 200), (1, 1100 if dtype == FLOATS[3] else 1700)]:
                rows.add(op, [floats(*shape, low=-5, high=5, dtype=dtype)], each=0)
    rows.write()


# Of one operand or two, with the shapes: transposes, diagonals, sums, products, broadcast ellipses.
EQUATIONS = [
    ("ij->ji", (2, 3)), ("ij->ij", (2, 3)), ("ij->i", (2, 3)), ("ij->j", (2, 3)), ("ij->", (2, 3)), ("->", ()), ("i->", (3,)),
    ("ii->i", (3, 3)), ("ii->", (3, 3)), ("iij->ji", (2, 2, 3)), ("i->ii", (3,)), ("ij->iijj", (2, 3)), ("iji->jj", (2, 3, 2)),
    ("...ij->...ji", (2, 1, 3)), ("...->...", (2, 3)), ("i...->...", (2, 3)), ("...a->a...", (2, 3, 4)), ("...ii->...i", (2, 3, 3)),
    ("i...i->...", (3, 2, 3)), ("...i->...ii", (2, 2)), ("...i->i", (3,)), ("i->i...", (3,)), ("a1->1a", (2, 3)), ("Aa->aA", (2, 3)),
    ("abcd->dbca", (2, 3, 1, 4)),
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk->ki", (2, 3), (3, 4)), ("ji,jk->ik", (3, 2), (3, 4)), ("ij,kj->ik", (2, 3), (4, 3)),
    ("ji,kj->ik", (3, 2), (4, 3)), ("i,i->", (3,), (3,)), ("i,j->ij", (3,), (2,)), ("i,j->ji", (3,), (2,)), ("i,i->i", (3,), (3,)),
    (",->", (), ()), ("i,->i", (3,), ()), (",ij->ji", (), (2, 3)), ("ij,ij->", (2, 3), (2, 3)), ("ij,ij->ij", (2, 3), (2, 3)),
    ("i,i->ii", (3,), (3,)), ("i,j->iij", (3,), (2,)), ("ij,jk->iik", (2, 3), (3, 2)), ("ij,j->i", (2, 3), (3,)), ("i,ij->j", (2,), (2, 3)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("bi,bi->b", (2, 5), (2, 5)), ("bij,bj->bi", (2, 2, 3), (2, 3)), ("bi,bj->ijb", (2, 3), (2, 4)),
    ("abc,cde->abde", (2, 3, 4), (4, 2, 3)), ("abcd,cde->abe", (2, 3, 2, 4), (2, 4, 5)),
    ("aecd,abcd->acbe", (2, 3, 2, 4), (2, 5, 2, 4)), ("acbe,aecd->abcd", (2, 2, 5, 3), (2, 3, 2, 4)),
    ("abc,cd->abd", (2, 3, 4), (4, 5)), ("ab,bc->ac", (2, 3), (3, 4)), ("btd,dhk->bthk", (2, 3, 4), (4, 2, 2)),
    ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)), ("bhqk,bkhd->bqhd", (2, 2, 3, 5), (2, 5, 2, 4)),
    ("ijk,il->l", (2, 3, 4), (2, 5)), ("ij,kl->jl", (2, 3), (4, 5)), ("iij,jkk->ik", (2, 2, 3), (3, 4, 4)), ("ij,jk->", (2, 3), (3, 4)),
    ("ijx,jk->ik", (2, 3, 4), (3, 2)), ("ij,jky->ik", (2, 3), (3, 2, 4)), ("abi,bja->jbi", (2, 3, 4), (3, 5, 2)),
    ("...ij,...jk->...ik", (3, 2, 4), (3, 4, 2)), ("...ij,...jk->...ik", (3, 1, 2, 4), (2, 4, 2)), ("...ij,jk->...ik", (2, 3, 4), (4, 5)),
    ("...,...->...", (2, 1, 3), (4, 1)), ("...,...->...", (), (2,)), ("...x,xy->...y", (2, 3, 4), (4, 2)), ("ab...,bc->ac...", (2, 3, 2), (3, 4)),
    ("ab...,...cb->...ac", (2, 3, 4, 1), (5, 6, 3)), ("...i,...i->...", (2, 3), (1, 3)), ("i...,j...->ij...", (2, 1, 3), (3, 2, 1)),
    ("ij...,jk->ik...", (2, 3, 4, 2), (3, 2)), ("...b,b->...", (2, 1, 3), (3,)), ("x...y,y->x...", (2, 3, 4), (4,)),
    ("abcdefgh,hgfe->abcd", (2, 1, 2, 1, 2, 1, 2, 2), (2, 2, 1, 2)),
    ("ij,jk->ik", (0, 3), (3, 2)), ("ij,jk->ik", (2, 0), (0, 2)), ("ij->i", (2, 0)), ("ij->j", (2, 0)), ("i->ii", (0,)), ("i,j->ij", (0,), (3,)),
    ("bij,bjk->bik", (0, 2, 3), (0, 3, 2)), ("ij,jk->ik", (1, 3), (3, 1)), ("ij,jk->ik", (1, 1), (1, 1)), ("...i,...i->...", (0, 3), (1, 3)),
    ("ij,jk->ik", (5, 70), (70, 65)), ("bij,bkj->bik", (3, 17, 33), (3, 18, 33)), ("ij,jk->ik", (1, 64), (64, 48)),
]
# What TensorFlow refuses.
WRONG_EQUATIONS = [
    ("ij,jk", (2, 3), (3, 2)), ("i->j->i", (2,)), ("", ()), ("ij,jk->ik", (2, 3), (4, 2)), ("ij->ij", (2,)), ("ij->ij", (2, 3, 4)),
    ("ii->i", (2, 3)), ("ij,j->i", (2, 1), (3,)), ("...i->i", (2, 3)), ("i...->", (3, 2)), ("...->", (2,)),
    ("i..j->ij", (2, 3)), ("...i,...i->...", (2, 3), (3, 3)), ("ij,jk->ik", (2, 3)), ("i->i", (2,), (2,)), ("a,b,c->abc", (2,), (2,), (2,)),
    ("...ij->...ij", (2,)), ("...,...->...", (0,), (3,)),
]


def einsum():
    rows = Rows("einsum")
    for equation, *shapes in EQUATIONS:
        rows.add("Einsum", [[floats(*shape) for shape in shapes]], equation=equation)
    some = EQUATIONS[::5] + [e for e in EQUATIONS if e[0] in ("aecd,abcd->acbe", "acbe,aecd->abcd", "ij,jk->ik", "i->ii", "ii->", "i,j->ij")]
    for dtype in FLOATS[1:] + [np.int32, np.int64, np.complex64, np.complex128]:
        for equation, *shapes in some:
            inputs = [integers(*shape, low=-3, high=4).astype(dtype) for shape in shapes]
            if np.issubdtype(dtype, np.complexfloating):
                inputs = [value + (1j * integers(*value.shape, low=-3, high=4)).astype(dtype) for value in inputs]
            rows.add("Einsum", [inputs], LOOSE.get(dtype), equation=equation)
    for dtype in [np.int8, np.uint32, np.bool_]:
        rows.add("Einsum", [[np.ones((2, 2), dtype)]], equation="ij->ji")
    rows.add("Einsum", [[i32(2 ** 30, 2 ** 30), i32(2, 3)]], equation="i,i->")
    rows.add("Einsum", [[np.array([2 ** 62, 1], np.int64), np.array([2, 3], np.int64)]], equation="i,j->ij")
    for special in [np.nan, np.inf, -np.inf]:
        rows.add("Einsum", [[f32(special, 0, 1)[None], f32(0, 1, 2)[:, None]]], equation="ij,jk->ik")
        rows.add("Einsum", [[f32(special, 0, 1), f32(2, 1)]], equation="i,j->ij")
        rows.add("Einsum", [[f32(special, 0, 1)]], equation="i->ii")
        rows.add("Einsum", [[f32(special, 0, 1)]], equation="i->")
    for equation, *shapes in WRONG_EQUATIONS:
        rows.add("Einsum", [[floats(*shape) for shape in shapes]], text=False, equation=equation)
    rows.write()


COMPLEX = [np.complex64, np.complex128]


def segments():
    rows = Rows("segments")

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


def tensor_scatter():
    rows = Rows("tensor_scatter")

    def numbers(*shape, dtype):
        value = integers(*shape, low=1, high=5).astype(dtype)
        return value + (1j * integers(*shape)).astype(dtype) if dtype in COMPLEX else value

    for name in ["Update", "Add", "Sub", "Max", "Min"]:
        op = "TensorScatter" + name
        for dtype in FLOATS + INTEGERS + (COMPLEX if name not in ("Max", "Min") else []):
            rows.add(op, [numbers(4, dtype=dtype), i32(1, 3, 1).reshape(3, 1), numbers(3, dtype=dtype)])
        rows.add(op, [floats(3, 2, 2), np.array([[2], [0]], np.int64), floats(2, 2, 2)])
        rows.add(op, [floats(3, 2, 2), i32(2, 1, 0, 0).reshape(2, 2), floats(2, 2)])
        rows.add(op, [floats(3, 2), i32(2, 1, 0, 0).reshape(1, 2, 2), floats(1, 2)])
        rows.add(op, [f32(1, np.nan, -np.inf, 4), i32(1, 2, 3).reshape(3, 1), f32(5, 1, np.inf)])
        rows.add(op, [np.zeros((0, 3), np.float32), np.zeros((0, 1), np.int32), np.zeros((0, 3), np.float32)])
        rows.add(op, [floats(3), np.zeros((0, 1), np.int32), np.zeros(0, np.float32)])
        rows.add(op, [floats(4), i32(4, 0).reshape(2, 1), floats(2)], bad_indices_policy="IGNORE")
        rows.add(op, [floats(4), i32(-1, 0).reshape(2, 1), floats(2)], bad_indices_policy="IGNORE")
        rows.add(op, [floats(4), i32(4, 0).reshape(2, 1), floats(2)], bad_indices_policy="ERROR")
        for indices, updates in [(i32(4)[None], floats(1)), (i32(-1)[None], floats(1)), (i32(1)[None], floats(2)), (i32(1, 2)[None], floats(1)),
                                 (np.int32(1), floats(1)), (np.zeros((1, 0), np.int32), floats(1, 4)), (i32(1)[None], np.float32(1))]:
            rows.add(op, [floats(4), indices, updates])
        rows.add(op, [np.float32(1), np.zeros((2, 0), np.int32), floats(2)])
        rows.add(op, [np.zeros((3, 0), np.float32), i32(7)[None], np.zeros((1, 0), np.float32)])
    rows.add("TensorScatterUpdate", [np.array([b"a", b"b"]), i32(1)[None], np.array([b"xyz"])])
    for policy in ["IGNORE", "ERROR"]:
        rows.add("GatherNd", [floats(2, 2), i32(0, 5, 1)[:, None]], bad_indices_policy=policy)
        rows.add("GatherNd", [np.array([b"a", b"b"]), i32(1, -1)[:, None]], bad_indices_policy=policy)
        rows.add("ScatterNd", [i32(0, 5, 0)[:, None], floats(3), i32(3)], bad_indices_policy=policy)
        rows.add("ScatterNd", [i32(0, 1, 2, 0)[None].reshape(2, 2), floats(2), i32(2, 2)], bad_indices_policy=policy)
    rows.add("TensorScatterUpdate", [np.array([True, False]), i32(1)[None], np.array([True])])
    for indices, updates, shape in [((2, 0), (2, 3), [3]), ((0,), (3,), [3]), ((1, 0), (1, 2, 2), [2, 2]), ((2, 0), (2,), []), ((0, 0), (0, 3), [3]), ((0, 0), (0, 2), [2])]:
        rows.add("ScatterNd", [np.zeros(indices, np.int32), np.ones(updates, np.float32), np.array(shape, np.int32)])  # an index of no numbers
    rows.write()


def words():
    """Texts that are divided, joined, matched and padded; characters and their numbers."""
    rows = Rows("words")
    texts = np.array([b"The cat, sat. on THE mat!", b"", b"aaa", "\u00fcn\u00ef c\u00f6d\u00e9".encode(), b"a\xffb\xc3", b"x\0y"], object)
    for pattern, rewrite in [("[!\"#$%&()\\*\\+,-\\./:;<=>?@\\[\\\\\\]^_`{|}~\\']", ""), ("a", "b"), ("", "-"), ("a*", "-"), ("(\\w+) (\\w+)", "\\2 \\1"), ("\\p{L}", "L"),
                             ("(?i)the", "<\\0>"), ("[.?!,]", " \\0 "), ("a", "\\1"), ("a", "x\\qy"), ("a", "\\\\"), ("^", "^"), ("$", "$"), ("\\pN|(c)", "[\\1]"), ("(a)|(z)", "<\\2>"),
                             (".", "."), ("\\C", "c"), ("\\b", "|"), ("x.y", "nul"), ("\u00fc", "ue"), ("a", "b\\")]:
        for everywhere in [True, False]:
            rows.add("StaticRegexReplace", [texts], pattern=pattern, rewrite=rewrite, replace_global=everywhere)
        rows.add("RegexReplace", [texts, np.array(pattern.encode()), np.array(rewrite.encode())])
        rows.add("StaticRegexFullMatch", [texts], pattern=pattern)
        rows.add("RegexFullMatch", [texts.reshape(2, 3), np.array(pattern.encode())])
    rows.add("StaticRegexReplace", [np.zeros([0, 2], object).astype(bytes)], pattern="a", rewrite="b")
    for op, more in [("RegexReplace", [np.array(b"b")]), ("RegexFullMatch", [])]:
        rows.add(op, [texts, np.array(b"(")] + more, text=False)
        rows.add(op, [texts, np.array([b"a", b"b"])] + more, text=False)
    rows.add("RegexReplace", [texts, np.array(b"a"), np.array([b"a", b"b"])], text=False)
    sentences = np.array([b"  one two\t\nthree ", b"", b"   ", b"a,,b,", b",", b"one", b"\x0b\x0c\x1f x", b"a b c d"], object)
    for separator in [b"", b",", b", ", b"on", b" ", b",,", b"\0"]:
        for most in [-1, 0, 1, 2, 3]:
            rows.add("StringSplitV2", [sentences, np.array(separator)], maxsplit=most)
    rows.add("StringSplitV2", [np.array([], bytes), np.array(b"")])
    rows.add("StringSplitV2", [sentences.reshape(2, 4), np.array(b"")], text=False)
    rows.add("StringSplitV2", [sentences, np.array([b"a", b"b"])], text=False)
    data = np.array([b"a", b"bb", b"", b"d", b"e"], object)
    for splits in [[0, 2, 2, 5], [0, 5], [0, 1, 2, 3, 4, 5], [0, 4], [1, 5], [0, 3, 2, 5], [0, 6]]:
        for widths, pad, short in [([2], 0, False), ([1, 2], 0, False), ([2, 3], 0, False), ([3], -1, False), ([1, 3], 1, False), ([4], 0, True), ([], 0, True), ([], 2, True), ([], -1, True),
                                   ([2], 5, False), ([0], 0, False)]:
            for dtype in [np.int64, np.int32]:
                rows.add("StringNGrams", [data, np.array(splits, dtype)], separator=" ", ngram_widths=widths, left_pad="<", right_pad=">", pad_width=pad, preserve_short_sequences=short)
    rows.add("StringNGrams", [np.array([], bytes), np.array([0, 0, 0])], separator="|", ngram_widths=[2], left_pad="", right_pad="", pad_width=-1, preserve_short_sequences=False)
    for tsplits in [tf.int64, tf.int32]:
        for errors in ["replace", "strict", "ignore"]:
            for text in [texts.reshape(2, 3), texts[:4], np.array(b"a\x01\tb"), np.array([b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\xf0\x9f\x98\x80", b"\xe2\x82a\x80"], object)]:
                for op in ["UnicodeDecode"] + ["UnicodeDecodeWithOffsets"] * (tsplits == tf.int64):  # TensorFlow crashes with int32
                    rows.add(op, [text], input_encoding="UTF-8", errors=errors, Tsplits=tsplits)
            rows.add("UnicodeDecode", [np.array(b"a\x01\tb")], input_encoding="UTF-8", errors=errors, Tsplits=tsplits, replace_control_characters=True, replacement_char=63)
    for errors in ["replace", "strict", "ignore"]:
        for splits in [[0, 2, 2, 8], [0, 8], [0, 4, 3, 8], [1, 8], [0, 7], []]:
            for dtype in [np.int64, np.int32]:
                rows.add("UnicodeEncode", [i32(97, 0xfc, 0x20ac, 0x1f600, 0x10ffff, 0xd800, -1, 0xfdd0), np.array(splits, dtype)], errors=errors, output_encoding="UTF-8", text=splits != [])
        rows.add("UnicodeEncode", [i32(97, 0xfc, 0x20ac, 0x1f600), np.array([0, 1, 4])], errors=errors, output_encoding="UTF-8")
    rows.write()


def ragged():
    """Ragged tensors that are padded, and counted."""
    rows = Rows("ragged")
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


FAMILIES = [binary, compare, unary, cast, reduce, matmul, array, slices, conv, pool, volumes, norm, order, example, sparse, sparse_product, quant, text, hashes, rest, values, half, einsum, segments, tensor_scatter, words, ragged, random, numbers, spectra, matrices, functions, rounding] + image_rows.FAMILIES + image_math_rows.FAMILIES + image_grad_rows.FAMILIES + window_rows.FAMILIES + candidate_rows.FAMILIES + webp_rows.FAMILIES + recurrent_rows.FAMILIES + audio_rows.FAMILIES + moved_rows.FAMILIES + quantized_rows.FAMILIES + spectrum_rows.FAMILIES + sequence_rows.FAMILIES + cross_rows.FAMILIES + ctc_rows.FAMILIES + odds_rows.FAMILIES + proto_rows.FAMILIES + parts_rows.FAMILIES + [joins, sets, counts, sparse_math, serialized]
FAMILIES += [encodings] + state_rows.FAMILIES + type_rows.FAMILIES
FAMILIES += leftover_rows.FAMILIES + gamma_rows.FAMILIES + pooling_rows.FAMILIES + neighbor_rows.FAMILIES + roots_rows.FAMILIES + edge_rows.FAMILIES + uniform_conv_rows.FAMILIES
FAMILIES += tf_text_rows.FAMILIES + tf_text_score_rows.FAMILIES + xla_rows.FAMILIES

if __name__ == "__main__":
    wanted = sys.argv[1:]
    for family in FAMILIES:
        if not wanted or family.__name__ in wanted:
            RANDOM.seed(sum(map(ord, family.__name__)))
            image_rows.RANDOM.seed(3)
            moved_rows.RANDOM.seed(5)
            xla_rows.RANDOM.seed(5)
            family()

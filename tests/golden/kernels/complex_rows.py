"""Rows of complex numbers and of Fourier transforms."""
from rows import Rows
from drawn import complexes, floats, i32

import numpy as np


def complex_numbers():
    """Complex complex."""
    rows = Rows("complex_numbers", seed=764)
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


def fft():
    """Fourier transforms."""
    rows = Rows("fft", seed=754)
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


def complex_special():
    """Infinities, NaN and zeros. TensorFlow computes whole vectors of 32 bytes by one arithmetic, and the elements that are left by C's."""
    rows = Rows("complex_special", seed=765)
    parts = (0.0, -1.0, np.inf, np.nan)
    values = [complex(a, b) for a in parts for b in parts]
    pairs = [(x, y) for x in values for y in values][:255]
    for dtype in (np.complex64, np.complex128):
        for op in ["Square", "Reciprocal", "Sqrt", "Rsqrt", "Expm1", "Log1p", "Sigmoid"]:
            rows.add(op, [np.array(values[:15], dtype)], each=1e-5)
            rows.add(op, [np.array(values[5:6], dtype)], each=1e-5)
            rows.add(op, [np.array([0, 1.5 - 2j, -3e-3 + 4j, -2 - 1e-3j, 5 + 1j, -0.25, 2j], dtype)], 1e-6)
        for op in ["Mul", "Div", "RealDiv", "MulNoNan", "DivNoNan", "SquaredDifference", "Xdivy", "Xlogy", "Xlog1py", "Pow"]:
            sign = {"each": 1e-5} if op != "DivNoNan" else {}  # of zeros
            rows.add(op, [np.array([x for x, _ in pairs], dtype), np.array([y for _, y in pairs], dtype)], **sign)
            rows.add(op, [np.array(values[3:8], dtype)[:, None], np.array(values[8:11], dtype)], **sign)
            rows.add(op, [np.array(values[8:15], dtype), np.array(values[5], dtype)], **sign)
            rows.add(op, [np.array(values[4], dtype), np.array(values[8], dtype)], **sign)
    rows.write()


FAMILIES = [complex_numbers, fft, complex_special]

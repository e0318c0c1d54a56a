"""Rows of ops of XLA. XLA words its own errors."""
import numpy as np
import tensorflow as tf

from drawn import COMPLEX, FLOATS, HALVES, INTEGERS, RANDOM
from rows import Rows

NONE = {"precision_config": b""}


def draw(*shape, dtype=np.float32):
    return RANDOM.randint(-4, 5, shape).astype(dtype)


def numbers(**fields):
    """A message of dimensions and lists of them: f1=[0, 1], f4=2."""
    message = b""
    for name, value in fields.items():
        field = int(name[1:])
        if isinstance(value, list):
            message += bytes([field << 3 | 2, len(value)] + value)
        else:
            message += bytes([field << 3, value])
    return message


def dot(left, right, left_batch=(), right_batch=()):
    return numbers(f1=list(left), f2=list(right), f3=list(left_batch), f4=list(right_batch))


def xla_dot():
    rows = Rows("xla_dot", seed=5)
    plain = dot([1], [0])
    for dtype in FLOATS + INTEGERS + COMPLEX:
        a, b = draw(2, 3, dtype=dtype), draw(3, 4, dtype=dtype)
        rows.add("XlaDot", [a, b], dimension_numbers=plain, **NONE)
        rows.add("XlaDotV2", [a, b], dimension_numbers=plain, preferred_element_type=dtype, **NONE)
    for dtype, wider in [(np.int8, np.int32), (np.uint8, np.int32), (np.int16, np.int64)] + [(half, np.float32) for half in HALVES]:
        rows.add("XlaDotV2", [draw(2, 3, dtype=dtype), draw(3, 4, dtype=dtype)], dimension_numbers=plain, preferred_element_type=wider, **NONE)
    for float_ in FLOATS:  # quantized weights
        for integer in [np.int8, np.uint8, np.int16, np.int32]:
            for kind in [np.float32, np.float64] if float_ != np.float64 else [np.float64]:
                a, b = draw(2, 3, dtype=float_), np.abs(draw(3, 4)).astype(integer)
                rows.add("XlaDotV2", [a, b], dimension_numbers=plain, preferred_element_type=kind, **NONE)
                rows.add("XlaDotV2", [b, a], dimension_numbers=dot([0], [1]), preferred_element_type=kind, **NONE)
    for left, right, message in [
            ((2, 3), (4, 3), dot([1], [1])), ((3, 2), (3, 4), dot([0], [0])), ((3,), (3,), dot([0], [0])), ((2,), (3,), dot([], [])),
            ((2, 3, 4), (2, 4, 5), dot([2], [1], [0], [0])), ((3, 2, 4), (4, 5, 2), dot([2], [0], [1], [2])),
            ((2, 3, 4), (4, 3, 5), dot([2, 1], [0, 1])), ((2, 3, 4, 5), (3, 5, 2, 6), dot([3], [1], [0, 1], [2, 0])),
            ((), (), dot([], [])), ((2, 0), (0, 3), dot([1], [0])), ((0, 2), (2, 3), dot([1], [0])),
            ((2, 3), (4, 3), dot([1], [0])), ((2, 3), (3, 4), dot([2], [0])), ((2, 3), (3, 4), dot([1], [])), ((2, 3), (3, 4), dot([1], [0], [1], [0]))]:
        rows.add("XlaDotV2", [draw(*left), draw(*right)], text=False, dimension_numbers=message, preferred_element_type=np.float32, **NONE)
    rows.add("XlaEinsum", [draw(2, 3), draw(3, 4)], equation="ab,bc->ac")
    rows.add("XlaEinsum", [draw(2, 3, 4, dtype=np.complex64), draw(2, 4, 5, dtype=np.complex64)], equation="abc,acd->abd")
    rows.write()


def xla_conv():
    rows = Rows("xla_conv", seed=5)
    nhwc = numbers(f3=2, f4=3, f6=[0, 1], f7=0, f8=3, f9=0, f10=3, f11=[1, 2], f12=[1, 2])
    nchw = numbers(f3=1, f4=0, f6=[2, 3], f7=0, f8=1, f9=0, f10=1, f11=[2, 3], f12=[2, 3])
    mixed = numbers(f3=0, f4=3, f6=[2, 1], f7=3, f8=0, f9=1, f10=0, f11=[1, 2], f12=[3, 2])
    line = numbers(f3=1, f4=2, f6=[0], f7=0, f8=2, f9=0, f10=2, f11=[1], f12=[1])

    def add(image, filter, message, steps=(1, 1), padding=((0, 0), (0, 0)), spread=(1, 1), dilations=(1, 1), groups=1, index=np.int32, kind=None, **attrs):
        inputs = [image, filter, index(steps), index(padding).reshape(-1, 2), index(spread), index(dilations), index(groups)]
        rows.add("XlaConvV2", inputs, text=False, dimension_numbers=message, preferred_element_type=kind or image.dtype, **NONE, **attrs)
    for dtype in FLOATS + INTEGERS:
        x, f = draw(1, 4, 5, 2, dtype=dtype), draw(2, 2, 2, 3, dtype=dtype)
        add(x, f, nhwc)
        rows.add("XlaConv", [x, f, np.int32([1, 1]), np.int32([[0, 0], [0, 0]]), np.int32([1, 1]), np.int32([1, 1]), np.int32(1)],
                 dimension_numbers=nhwc, **NONE)
    add(draw(1, 4, 5, 2, dtype=np.int8), draw(2, 2, 2, 3, dtype=np.int8), nhwc, kind=np.int32)
    add(draw(1, 4, 5, 2), draw(2, 2, 2, 3, dtype=np.int8), nhwc, kind=np.float32)
    x, f = draw(2, 5, 6, 4), draw(3, 2, 4, 6)
    for steps in [(1, 1), (2, 3)]:
        for padding in [((0, 0), (0, 0)), ((1, 2), (0, 1)), ((-1, 0), (2, -2))]:
            for spread in [(1, 1), (2, 3)]:
                for dilations in [(1, 1), (2, 1)]:
                    add(x, f, nhwc, steps, padding, spread, dilations)
    add(x, draw(3, 2, 2, 6), nhwc, groups=2)
    add(x, draw(3, 2, 1, 8), nhwc, groups=4, padding=((1, 1), (1, 0)))
    add(x, draw(3, 2, 4, 6), nhwc, index=np.int64)
    add(x, draw(3, 2, 4, 6), nhwc, batch_group_count=2)
    add(draw(2, 4, 5, 6), draw(3, 4, 2, 2), nchw, padding=((1, 0), (0, 1)))
    add(draw(2, 4, 5, 6), draw(4, 2, 2, 2), nchw, groups=2)
    add(draw(4, 5, 6, 2), draw(4, 2, 3, 3), mixed)
    add(draw(2, 7, 3), draw(3, 3, 4), line, [2], [[1, 1]], [1], [2])
    for image, filter in [((0, 5, 6, 4), (3, 2, 4, 6)), ((2, 2, 6, 4), (3, 2, 4, 6)), ((2, 5, 6, 0), (3, 2, 0, 6)), ((2, 5, 6, 4), (3, 2, 4, 0))]:
        add(draw(*image), draw(*filter), nhwc)
    # TensorFlow crashes at shapes that do not fit, and at complex numbers.
    rows.write()


def xla_moves():
    rows = Rows("xla_moves", seed=5)
    x = draw(3, 4)
    for dtype in FLOATS + INTEGERS + COMPLEX + [bool]:
        rows.add("XlaPad", [x.astype(dtype), draw(dtype=dtype), np.int32([1, -1]), np.int32([0, 2]), np.int32([1, 0])])
        rows.add("XlaGather", [x.astype(dtype), np.int32([[2], [0]]), np.int32([1, 4])], dimension_numbers=numbers(f1=[1], f2=[0], f3=[0], f4=1),
                 indices_are_sorted=False)
    for low, high, between in [([0, 0], [0, 0], [0, 0]), ([2, 1], [0, 1], [0, 2]), ([-1, -3], [0, 0], [2, 1]), ([-5, 0], [3, 0], [1, 0]),
                               ([-3, 0], [0, 0], [0, 0]), ([0, 9], [0, -9], [0, 0]), ([-2, 0], [-2, 0], [0, 0]), ([0], [0], [0]), ([0, 0], [0, 0], [-1, 0])]:
        rows.add("XlaPad", [x, np.float32(7), np.int64(low), np.int64(high), np.int64(between)], text=False)
    none = np.zeros(0, np.int32)
    rows.add("XlaPad", [np.float32(3), np.float32(7), none, none, none])
    rows.add("XlaPad", [draw(0, 2), np.float32(7), np.int32([1, 0]), np.int32([1, 0]), np.int32([3, 0])])
    cube = draw(3, 4, 5)
    for operand, indices, sizes, message in [
            (cube, [[0, 1], [2, 3]], [1, 2, 5], numbers(f1=[1, 2], f2=[0], f3=[0, 1], f4=1)),
            (cube, [[0, 1], [9, -9]], [1, 2, 5], numbers(f1=[0, 2], f2=[0], f3=[0, 1], f4=1)),
            (cube, [[0, 2], [1, 3]], [2, 1, 3], numbers(f1=[0, 1], f2=[1], f3=[1, 2], f4=0)),
            (cube, [1, 0, 2, 2], [1, 4, 5], numbers(f1=[0, 2], f2=[0], f3=[0], f4=1)),
            (cube, [[[1], [0]], [[2], [1]]], [3, 4, 1], numbers(f1=[1, 2], f2=[2], f3=[2], f4=2)),
            (cube, [1, 3], [1, 1, 2], numbers(f1=[0], f2=[0, 1], f3=[0, 1], f4=0)),
            (cube, [[1, 3], [0, 0], [2, 1]], [1, 1, 5], numbers(f1=[2], f2=[1], f3=[1], f4=2, f5=[0], f6=[0])),
            (cube, [], [3, 4, 5], numbers(f1=[0, 1, 2], f2=[], f3=[], f4=0)),
            (cube, [[0]], [4, 4, 5], numbers(f1=[1, 2, 3], f2=[], f3=[0], f4=1)),
            (cube, [[0]], [1, 4, 5], numbers(f1=[1], f2=[0], f3=[0], f4=1)),
            (cube, [[0]], [1, 4, 5], numbers(f1=[1, 2], f2=[0], f3=[3], f4=1)),
            (draw(3, 0), [[0]], [1, 0], numbers(f1=[1], f2=[0], f3=[0], f4=1))]:
        for index in [np.int32, np.int64]:
            rows.add("XlaGather", [operand, index(indices), index(sizes)], text=False, dimension_numbers=message, indices_are_sorted=False)
    rows.add("XlaOptimizationBarrier", [[draw(2), draw(3, dtype=np.int32)]], T=[np.float32, np.int32])
    rows.write()


SPECIAL = np.float32([3, np.nan, 5, 0, -0.0, 1, np.inf, -np.inf, -2, 1e-45, -1e-45, -0.0])


def xla_sort():
    rows = Rows("xla_sort", seed=5)
    for dtype in FLOATS + INTEGERS:
        x = draw(3, 5, dtype=dtype)
        rows.add("XlaSort", [x])
        # The greatest and the least number, and different values for each: XLA leaves the order of equal keys open.
        keys = np.unique(draw(9, dtype=dtype))[::-1].copy()
        rows.add("XlaKeyValueSort", [keys, np.arange(keys.size, dtype=np.int64)])
        if dtype in INTEGERS:
            limits = np.iinfo(dtype)
            rows.add("XlaSort", [dtype([limits.max, 0, limits.min, limits.max - 1, 1])])
        else:
            rows.add("XlaSort", [SPECIAL.astype(dtype).reshape(2, 6)], each=0)
            rows.add("XlaKeyValueSort", [SPECIAL[:8].astype(dtype), np.arange(8, dtype=np.int32)])
    rows.add("XlaSort", [np.array([True, False, True])])
    for dtype in FLOATS + INTEGERS + COMPLEX + [bool]:
        rows.add("XlaKeyValueSort", [np.int32([[4, 1, 3], [-1, -3, -2]]), draw(2, 3, dtype=dtype)])
    for shape in [(0,), (2, 0), (0, 2), (1,), (2, 3, 4), (40,)]:
        rows.add("XlaSort", [draw(*shape)])
    for shape in [(0, 2), (2, 0), (2, 2, 3)]:
        keys = RANDOM.permutation(int(np.prod(shape))).reshape(shape).astype(np.int32)
        rows.add("XlaKeyValueSort", [keys, draw(*shape)])
    rows.add("XlaSort", [np.float32(1)], text=False)
    rows.add("XlaKeyValueSort", [np.float32(1), np.int32(2)])
    rows.add("XlaKeyValueSort", [np.float32([1, 2]), np.int32([1, 2, 3])], text=False)
    rows.write()


def xla_numbers():
    rows = Rows("xla_numbers", seed=5)
    x = np.float32([1.1, 1e30, -1e-30, np.nan, np.inf, -np.inf, 65519, 65520, 6e-8, 1e-5, -0.0, 0, 3.14159, 1.5, 2.5, 3.5, 1e-44, -6.1e-5, 3e38, 448, 464, 480])
    for dtype in FLOATS:
        for exponent_bits, mantissa_bits in [(5, 10), (8, 7), (5, 2), (4, 3), (5, 0), (2, 1), (1, 4), (8, 23), (11, 52), (11, 3), (3, 52), (40, 60), (6, 9)]:
            rows.add("XlaReducePrecision", [x.astype(dtype)], each=0, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)
    for shape in [(), (0,), (2, 0), (2, 3)]:
        rows.add("XlaReducePrecision", [draw(*shape)], exponent_bits=3, mantissa_bits=1)
    for exponent_bits, mantissa_bits in [(0, 3), (-1, 3), (3, -1)]:
        rows.add("XlaReducePrecision", [x], text=False, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)
    for dtype in FLOATS + INTEGERS + COMPLEX + [bool]:
        rows.add("XlaSharding", [draw(2, 3, dtype=dtype)])
        rows.add("XlaSpmdShardToFullShape", [draw(2, dtype=dtype)], manual_sharding="", full_shape=[2])
    rows.add("XlaSpmdShardToFullShape", [draw(0, 3)], manual_sharding="", full_shape=[0, 3])
    rows.add("XlaSharding", [draw(0, 3)], sharding="")
    rows.add("XlaSharding", [draw(2, 2)], sharding=b"\x08\x03\x1a\x02\x02\x01\x22\x02\x00\x01")  # halves, on two devices
    rows.write()


def xla_bits():
    rows = Rows("xla_bits")
    most = 2**64 - 1
    for algorithm in [1, 2, 3]:
        for dtype in [np.uint8, np.uint32, np.uint64]:
            for shape in [(), (1,), (2,), (7,), (2, 3), (3, 4, 5), (3, 5), (4, 3), (1, 1, 1), (0,), (0, 3), (3, 0), (40,)]:
                rows.add("XlaRngBitGenerator", [np.int32(algorithm), np.uint64([7, 2**40 + 3]), np.int32(shape)], dtype=dtype)
        for state in [(1, most), (most, most), (2**63 + 5, 0)]:
            rows.add("XlaRngBitGenerator", [np.int32(algorithm), np.uint64(state), np.int64([9])], dtype=np.uint32)
        for state in [(7,), (), ((1, 2),)]:
            rows.add("XlaRngBitGenerator", [np.int32(algorithm), np.uint64(state), np.int64([9])], dtype=np.uint32, text=False)
    for state in [(1, most, 3), (1, most, most), (2**63 + 5, most - 1, 2**40)]:
        rows.add("XlaRngBitGenerator", [np.int32(1), np.uint64(state), np.int64([19])], dtype=np.uint64)
    rows.add("XlaRngBitGenerator", [np.int32(1), np.uint64([1, 2]), np.int64(9)], dtype=np.uint32, text=False)
    rows.add("XlaRngBitGenerator", [np.int32(1), np.uint64([1, 2]), np.int64([-1])], dtype=np.uint32, text=False)
    rows.write()


def xla_matrices():
    """tests/unit/runtime/test_spectrum.c multiplies the vectors, whose signs are not determined."""
    rows = Rows("xla_matrices", seed=5)
    for dtype, near in [(np.float32, 1e-5), (np.float64, 1e-5)]:  # an epsilon of 1e-6 leaves that much in doubles, too
        for shape in [(1, 1), (3, 3), (2, 4), (4, 2), (2, 3, 3), (2, 2, 5, 2), (0, 3, 3), (0, 2, 3)]:
            x = np.round(RANDOM.uniform(-2, 2, shape), 3).astype(dtype)
            rows.add("XlaSvd", [x], near, max_iter=100, epsilon=1e-6, precision_config="", skip=(1, 2) if x.size else ())
            for lower in [True, False]:
                if shape[-1] == shape[-2]:
                    rows.add("XlaSelfAdjointEig", [x], near, lower=lower, max_iter=100, epsilon=1e-6, skip=(1,) if x.size else ())
        rows.add("XlaSelfAdjointEig", [np.zeros((2, 0, 0), dtype)], lower=True, max_iter=15, epsilon=1e-6)
        rows.add("XlaSvd", [np.diag([3, 0, -1]).astype(dtype)], near, max_iter=100, epsilon=1e-6, precision_config="", skip=(1, 2))
        rows.add("XlaSelfAdjointEig", [np.diag([3, 0, -1]).astype(dtype)], near, lower=True, max_iter=100, epsilon=1e-6, skip=(1,))
    for shape in [(3,), (), (2, 3)]:
        rows.add("XlaSelfAdjointEig", [draw(*shape)], text=False, lower=True, max_iter=100, epsilon=1e-6)
    # TensorFlow crashes at XlaSvd of a vector.
    rows.write()


def xla_parts():
    rows = Rows("xla_parts", seed=5)
    for dtype in FLOATS + INTEGERS + COMPLEX:
        rows.add("XlaBroadcastHelper", [draw(2, 2, dtype=dtype), draw(2, dtype=dtype), np.int32([1])])
    for dtype in [tf.qint8, tf.quint8, tf.qint32]:
        rows.add("XlaBroadcastHelper", [tf.cast(draw(2, 2), dtype), tf.cast(draw(2), dtype), np.int32([0])])
    for left, right, places in [
            ((2, 3, 2), (2, 2), [0, 2]), ((2, 2), (2, 3, 2), [0, 2]), ((2, 3, 2), (2, 2), [2, 0]), ((2, 3), (2, 3), [0, 1]), ((2, 3), (2, 3), [1, 0]),
            ((2, 3), (2, 3), []), ((2, 3), (4, 5), []), ((2, 3), (), []), ((), (2, 3), []), ((), (), []), ((2, 3), (), [0]), ((2, 3), (3,), []),
            ((2, 3), (3,), [0, 1]), ((2, 3), (3,), [2]), ((2, 3), (3,), [-1]), ((2, 3), (3,), [0]), ((2, 3), (1,), [0]), ((2, 3, 4), (2, 2), [0, 0]),
            ((0, 3), (3,), [1]), ((2, 0), (0,), [1]), ((2, 3), (3,), [[1]]), ((2, 2), (2,), 1), ((3,), (2, 3, 4, 3), [3])]:
        rows.add("XlaBroadcastHelper", [draw(*left), draw(*right), np.int64(places)], text=False)
    every = np.arange(256, dtype=np.uint8).view(">u4").astype(np.uint32)
    for low, high in [(-1.0, 1.0), (0.0, 255.0), (0.1, 0.7), (1.0, -1.0), (2.0, 2.0), (-5.0, 5.123), (-128.0, 127.0), (0.0, 1.0), (-3e38, 3e38),
                      (float("nan"), 1.0), (float("-inf"), 1.0), (-1e-3, 2e-5), (100.0, 103.0)]:
        rows.add("XlaDequantize", [every], each=0, min_range=low, max_range=high, mode="MIN_COMBINED", transpose_output=False)
    for shape in [(0,), (4,), (0, 2), (2, 0), (1, 4), (4, 1), (2, 3, 1), (2, 1, 2), (1, 2, 2, 2)]:
        x = RANDOM.randint(0, 2**32, shape, dtype=np.uint32)
        for transpose in [False, True]:
            rows.add("XlaDequantize", [x], each=0, min_range=-1.0, max_range=1.0, mode="MIN_COMBINED", transpose_output=transpose)
    for mode in ["MIN_FIRST", "SCALED", ""]:
        rows.add("XlaDequantize", [every], text=False, min_range=-1.0, max_range=1.0, mode=mode, transpose_output=False)
    # TensorFlow crashes at XlaDequantize of a scalar.
    rows.write()


FAMILIES = [xla_dot, xla_conv, xla_moves, xla_sort, xla_numbers, xla_bits, xla_matrices, xla_parts]

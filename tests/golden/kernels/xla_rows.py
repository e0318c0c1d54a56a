"""Rows of ops of XLA, for make_rows.py. XLA words its own errors."""
import numpy as np

from moved_rows import COMPLEX, FLOATS, HALVES, INTEGERS
from rows import Rows

RANDOM = np.random.RandomState(1)
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
    rows = Rows("xla_dot")
    plain = dot([1], [0])
    for dtype in FLOATS + INTEGERS + COMPLEX:
        a, b = draw(2, 3, dtype=dtype), draw(3, 4, dtype=dtype)
        rows.add("XlaDot", [a, b], dimension_numbers=plain, **NONE)
        rows.add("XlaDotV2", [a, b], dimension_numbers=plain, preferred_element_type=dtype, **NONE)
    for dtype, wider in [(np.int8, np.int32), (np.uint8, np.int32), (np.int16, np.int64)] + [(half, np.float32) for half in HALVES]:
        rows.add("XlaDotV2", [draw(2, 3, dtype=dtype), draw(3, 4, dtype=dtype)], dimension_numbers=plain, preferred_element_type=wider, **NONE)
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
    rows = Rows("xla_conv")
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
    rows = Rows("xla_moves")
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


FAMILIES = [xla_dot, xla_conv, xla_moves]

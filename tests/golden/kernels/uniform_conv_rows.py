"""Rows of UniformQuantizedConvolution, UniformQuantizedConvolutionHybrid and Conv."""
import numpy as np
import tensorflow as tf

from quantized_rows import of
from rows import Rows

RANDOM = np.random.RandomState(11)
BYTES = dict(rhs_quantization_min_val=-128, rhs_quantization_max_val=127)
BOTH = dict(BYTES, lhs_quantization_min_val=-128, lhs_quantization_max_val=127, output_quantization_min_val=-2000, output_quantization_max_val=30000)
f32, i32 = np.float32, np.int32


def bytes_of(shape):
    return tf.reshape(of(tf.qint8, *RANDOM.randint(-128, 128, int(np.prod(shape)))), shape)


def varint(value):
    return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])


def dimensions(x, kernel, out, packed=True):
    """The message of dimension numbers; each argument is a text such as NHWC or HWIO, whose spatial letters are in the order of the attributes."""
    message = b""
    for first, layout, (one, two) in (1, x, "NC"), (4, kernel, "IO"), (7, out, "NC"):
        spatial = [i for _, i in sorted((letter, i) for i, letter in enumerate(layout) if letter not in (one, two))]
        for number, letter in (first, one), (first + 1, two):
            message += bytes([number << 3]) + varint(layout.index(letter))
        head = bytes([first + 2 << 3])
        message += bytes([first + 2 << 3 | 2, len(spatial), *spatial]) if packed else b"".join(head + bytes([i]) for i in spatial)
    return message


def add(rows, x, filters, per_channel=(False, True), axes=(0, 1), **attrs):
    """Both ops, with one scale and with one for each feature of the output."""
    y, floats = bytes_of(filters), f32(RANDOM.randn(*x))
    image, count = bytes_of(x), filters[axes[0]] if axes[0] < len(filters) else 1
    for many in per_channel:
        n, axis = ((count,), axes[0]) if many else ((), -1)
        scale = [f32(0.5 + RANDOM.rand(*n)), i32(RANDOM.randint(-20, 20, n))]
        for out_axis in ([axes[1], -1] if many else [-1]):
            to = (count,) if out_axis >= 0 else ()
            rows.add("UniformQuantizedConvolution", [image, y, f32(0.3), i32(4), *scale, f32(2 + RANDOM.rand(*to)), i32(RANDOM.randint(-20, 20, to))], text=False, Tout=tf.qint32,
                     rhs_quantization_axis=axis, output_quantization_axis=out_axis, **BOTH, **attrs)
        rows.add("UniformQuantizedConvolutionHybrid", [floats, y, *scale], text=False, Tout=tf.float32, rhs_quantization_axis=axis, **BYTES, **attrs)


def uniform_conv():
    rows = Rows("uniform_conv")
    for padding in [dict(padding="VALID"), dict(padding="SAME"), dict(padding="EXPLICIT", explicit_padding=[1, 2, 0, 3])]:
        for more in [{}, dict(window_strides=[2, 1]), dict(lhs_dilation=[2, 3]), dict(rhs_dilation=[1, 2], window_strides=[3, 2])]:
            add(rows, (2, 3, 5, 6), (4, 3, 2, 3), **padding, **more)
    add(rows, (2, 6, 5, 4), (4, 3, 2, 2), padding="SAME", feature_group_count=2, window_strides=[1, 2])
    add(rows, (2, 4, 5, 4), (8, 1, 3, 3), padding="SAME", feature_group_count=4, window_strides=[2, 2])
    add(rows, (4, 3, 5, 4), (6, 3, 2, 2), padding="VALID", batch_group_count=2)
    add(rows, (2, 3, 7), (4, 3, 3), padding="SAME", window_strides=[2])
    add(rows, (2, 3, 3, 4, 5), (2, 3, 2, 2, 3), padding="SAME", window_strides=[1, 2, 1])
    for packed in (True, False):
        add(rows, (2, 5, 6, 3), (2, 3, 3, 4), axes=(3, 3), padding="SAME", dimension_numbers=dimensions("NHWC", "HWIO", "NHWC", packed))
    add(rows, (5, 6, 3, 2), (4, 3, 2, 3), axes=(0, 2), padding="VALID", window_strides=[1, 2], dimension_numbers=dimensions("HWCN", "OWHI", "WNCH"))
    add(rows, (0, 3, 5, 6), (4, 3, 2, 3), padding="SAME", lhs_dilation=[1, 1])
    add(rows, (2, 3, 0, 6), (4, 3, 2, 3), padding="EXPLICIT", explicit_padding=[1, 2, 0, 0])
    add(rows, (2, 3, 5, 6), (0, 3, 2, 3), padding="SAME", lhs_dilation=[1, 1])
    add(rows, (2, 3, 5, 6), (4, 3, 6, 3), padding="VALID", lhs_dilation=[1, 1])
    wrong = [dict(x=(2, 3, 5)), dict(x=(2, 3), filters=(4, 3)), dict(filters=(4, 2, 2, 3)), dict(padding="OTHER"), dict(explicit_padding=[0, 0, 0, 0]), dict(padding="EXPLICIT"),
             dict(padding="EXPLICIT", explicit_padding=[0, 0, 0, -1]), dict(window_strides=[1]), dict(window_strides=[0, 1]), dict(lhs_dilation=[1, 0]), dict(rhs_dilation=[1, 1, 1]),
             dict(feature_group_count=2), dict(feature_group_count=0), dict(batch_group_count=3), dict(batch_group_count=0), dict(filters=(4, 3, 8, 3)),
             dict(dimension_numbers=b"\xff"), dict(dimension_numbers=dimensions("NHWC", "HWIO", "NHWC")[:-1]), dict(dimension_numbers=b"\x1a\x01\x02"), dict(axes=(1, 1), per_channel=(True,)), dict(axes=(0, 0), per_channel=(True,))]
    for each in wrong:
        attrs = dict(dict(x=(2, 3, 5, 6), filters=(4, 3, 2, 3), padding="VALID", per_channel=(False,)), **each)
        add(rows, attrs.pop("x"), attrs.pop("filters"), **attrs)
    image, y = bytes_of((1, 2, 3, 3)), bytes_of((2, 2, 2, 2))
    for scales in [(-1, 1, 1), (1, 0, 1), (1, 1, np.nan), (1e-30, 1e-30, 1e30), (1e30, 1e30, 1e-30)]:
        x_scale, y_scale, out_scale = f32(scales)
        rows.add("UniformQuantizedConvolution", [image, y, x_scale, i32(4), y_scale, i32(-3), out_scale, i32(5)], text=False, Tout=tf.qint32, padding="SAME", **BOTH)
    for zero, other in [(300, 0), (-2**31, 2**31 - 1), (0, -129)]:  # beyond a byte
        rows.add("UniformQuantizedConvolution", [image, y, f32(0.01), i32(zero), f32(0.1), i32(other), f32(1), i32(0)], text=False, Tout=tf.qint32, padding="SAME", **BOTH)
    near = f32([[0.96665746, -0.0931657851, -1.01324356, -0.266933739]])  # two steps and a half from 0, but for the rounding of the scale
    rows.add("UniformQuantizedDotHybrid", [near, tf.reshape(of(tf.qint8, *np.eye(4).reshape(-1)), (4, 4)), f32(1), i32(0)], Tout=tf.float32, **BYTES)
    for floats in [np.zeros((1, 2, 3, 3)), np.full((1, 2, 3, 3), 7), RANDOM.rand(1, 2, 3, 3), -RANDOM.rand(1, 2, 3, 3)]:
        rows.add("UniformQuantizedConvolutionHybrid", [f32(floats), y, f32(0.1), i32(3)], text=False, Tout=tf.float32, padding="SAME", **BYTES)
    rows.write()


FAMILIES = [uniform_conv]

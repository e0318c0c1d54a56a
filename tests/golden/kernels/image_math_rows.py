"""Rows of ops that compute with the pixels of images."""
import numpy as np
import tensorflow as tf

from drawn import ALL_REAL, HALVES, LOOSE, i32, unit_floats
from rows import Rows


def image_math():
    rows = Rows("image_math", seed=3)
    image = unit_floats(1, 4, 5, 3, high=255)
    for op in ["ResizeBicubic", "ResizeArea"]:
        modes = [{}, dict(align_corners=True)] + [dict(half_pixel_centers=True)] * (op == "ResizeBicubic")
        for attrs in modes:
            for size in [(4, 5), (7, 3), (2, 9), (1, 1), (3, 3)]:
                rows.add(op, [image, i32(*size)], **attrs)
                rows.add(op, [image[:, :1], i32(*size)], **attrs)
            for dtype in ALL_REAL:
                rows.add(op, [unit_floats(2, 3, 3, 1, high=100, dtype=dtype), i32(4, 2)], **attrs)
        rows.add(op, [np.full((1, 2, 2, 1), 5, np.float32), i32(5, 5)])
        for wrong in [(image[0], i32(2, 2)), (image, i32(2)), (image, i32(2, 0)), (image[:, :0], i32(2, 2))]:
            rows.add(op, list(wrong))
        rows.add(op, [image[:0], i32(2, 2)])
        rows.add(op, [image[..., :0], i32(2, 2)])
    rows.add("ResizeBicubic", [image, i32(2, 2)], align_corners=True, half_pixel_centers=True)

    odd = np.array([[np.nan, 0.5, 1], [1, 1, 1], [0, 0, 0], [0.5, 0.5, 0.2], [-0.5, 0.3, 0.1], [2, 3, 1], [0.1, 0.9, 0.9]], np.float32)
    for dtype in [np.float32, np.float64] + HALVES:
        rows.add("RGBToHSV", [unit_floats(2, 5, 3, dtype=dtype)], LOOSE.get(dtype))
        rows.add("HSVToRGB", [unit_floats(2, 5, 3, dtype=dtype)], LOOSE.get(dtype))
    for op in ["RGBToHSV", "HSVToRGB"]:
        rows.add(op, [odd[1:]])
        rows.add(op, [odd[1]])
        rows.add(op, [odd[:0]])
        for wrong in [odd[:, :2], np.float32(1)]:
            rows.add(op, [wrong])
    pixels = unit_floats(2, 3, 4, 3)
    for by in [0.0, 0.3, -0.7, 1.5, 5.0]:
        for op in ["AdjustHue", "AdjustSaturation", "AdjustContrastv2"]:
            rows.add(op, [pixels, np.float32(by)])
            rows.add(op, [odd[None, 1:], np.float32(by)])
    rows.add("AdjustContrastv2", [unit_floats(2, 3, 4, 5), np.float32(0.6)])
    rows.add("AdjustContrastv2", [unit_floats(2, 2, 3, 4, 1, high=255), np.float32(2)])
    for op in ["AdjustHue", "AdjustSaturation", "AdjustContrastv2"]:
        rows.add(op, [pixels.astype(np.float16), np.float32(0.5)])
        for wrong in [(pixels[0, 0], np.float32(1)), (pixels, np.zeros(1, np.float32)), (pixels[..., :2], np.float32(1))]:
            rows.add(op, list(wrong))
        rows.add(op, [pixels[:0], np.float32(1)])

    image = unit_floats(2, 4, 5, 2, high=50)
    turn = np.array([[0.8, -0.6, 1.0, 0.6, 0.8, -0.5, 0, 0], [1.2, 0.1, -3.0, -0.1, 0.9, 2.25, 0.02, -0.01]], np.float32)
    far = np.array([[1, 0, -30.5, 0, 1, 41.25, 0, 0]], np.float32)
    for interpolation in ["NEAREST", "BILINEAR"]:
        for fill in ["REFLECT", "WRAP", "CONSTANT", "NEAREST"]:
            attrs = dict(interpolation=interpolation, fill_mode=fill)
            rows.add("ImageProjectiveTransformV2", [image, turn, i32(4, 5)], **attrs)
            rows.add("ImageProjectiveTransformV3", [image, turn[:1], i32(3, 7), np.float32(-1.5)], **attrs)
            rows.add("ImageProjectiveTransformV3", [image, far, i32(4, 5), np.float32(3)], **attrs)
            rows.add("ImageProjectiveTransformV3", [image[:, :1, :1], turn, i32(2, 3), np.float32(3)], **attrs)
            rows.add("ImageProjectiveTransformV3", [image, np.array([[1, 0, 0, 0, 1, 0, -0.5, 0]], np.float32), i32(2, 4), np.float32(7)], **attrs)
        for dtype in [np.uint8, np.int32, np.int64, np.float64] + HALVES:
            rows.add("ImageProjectiveTransformV3", [image.astype(dtype), turn, i32(3, 3), np.float32(9.75)], LOOSE.get(dtype), interpolation=interpolation)
    attrs = dict(interpolation="NEAREST")
    for wrong in [(image[0], turn, i32(3, 3)), (image, turn[0], i32(3, 3)), (image, turn[:, :7], i32(3, 3)), (image, turn, i32(3)), (image, turn, i32(3, 0)),
                  (image, np.concatenate([turn, far]), i32(3, 3))]:
        rows.add("ImageProjectiveTransformV2", list(wrong), **attrs)
    rows.add("ImageProjectiveTransformV3", [image, turn, i32(3, 3), np.zeros(1, np.float32)], **attrs)
    rows.add("ImageProjectiveTransformV2", [image[:0], turn[:0], i32(3, 3)], **attrs)

    for padding in ["SAME", "VALID"]:
        for size, stride, rate in [((2, 3), (1, 1), (1, 1)), ((3, 3), (2, 1), (1, 2)), ((1, 2), (2, 3), (2, 1))]:
            attrs = dict(ksizes=[1, *size, 1], strides=[1, *stride, 1], rates=[1, *rate, 1], padding=padding)
            rows.add("ExtractImagePatches", [image], **attrs)
        for dtype in ALL_REAL + [np.uint32, np.uint64, np.complex64, np.complex128, np.bool_]:
            rows.add("ExtractImagePatches", [(image[:1, :3, :3, :1] > 20).astype(dtype)], ksizes=[1, 2, 2, 1], strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding=padding)
    for wrong in [dict(ksizes=[1, 9, 2, 1]), dict(ksizes=[2, 2, 2, 1]), dict(strides=[1, 0, 1, 1]), dict(strides=[1, 1, 1, 2]), dict(rates=[1, 1, 1, 2]), dict(rates=[1, 0, 1, 1])]:
        rows.add("ExtractImagePatches", [image], text=False, **{**dict(ksizes=[1, 2, 2, 1], strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="VALID"), **wrong})
    rows.add("ExtractImagePatches", [image[0]], text=False, ksizes=[1, 2, 2, 1], strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="VALID")
    for rows_read in [0, 1, 2]:  # a window that is up to a stride too high is none; a higher one is an error
        rows.add("ExtractImagePatches", [image[:1, :rows_read]], ksizes=[1, 4, 2, 1], strides=[1, 3, 1, 1], rates=[1, 1, 1, 1], padding="VALID")
        rows.add("ExtractImagePatches", [image[:1, :rows_read]], ksizes=[1, 4, 2, 1], strides=[1, 2, 1, 1], rates=[1, 1, 1, 1], padding="VALID")
    rows.add("ExtractImagePatches", [image[:0]], ksizes=[1, 2, 2, 1], strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="VALID")

    channels = unit_floats(2, 2, 2, 9, low=-3, high=3)
    for attrs in [{}, dict(depth_radius=2, bias=2.0, alpha=0.3, beta=0.75), dict(depth_radius=1, beta=1.0), dict(depth_radius=20, beta=0.5, alpha=0.01), dict(depth_radius=0)]:
        for dtype in [np.float32] + HALVES:
            rows.add("LRN", [channels.astype(dtype)], LOOSE.get(dtype), **attrs)
    rows.add("LRN", [channels[0]], text=False)
    for radius in [-1, (1 << 31) - 1, 1 << 31]:
        rows.add("LRN", [channels], depth_radius=radius)
    rows.add("LRN", [channels[:0]])

    data = np.array([bytes(range(1, 33)), bytes(range(65, 97))], object)
    for dtype in [np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.complex64, np.complex128, np.bool_] + HALVES:
        for little in [True, False]:
            out = tf.as_dtype(dtype)
            if dtype == np.bool_:
                rows.add("DecodeRaw", [np.array([b"\x01\x00\x01", b"\x00\x00\x01"], object)], out_type=out, little_endian=little)
                continue
            if not out.is_floating and not out.is_complex:  # random bytes are odd numbers of other types
                rows.add("DecodeRaw", [data], out_type=out, little_endian=little)
                rows.add("DecodePaddedRaw", [data, np.int32(40)], out_type=out, little_endian=little)
            else:
                numbers = np.array([1.5, -2, 0.25, 1e3], dtype)
                size = out.size // 2 if out.is_complex else out.size
                swapped = b"".join(numbers.tobytes()[i:i + size][::-1] for i in range(0, len(numbers.tobytes()), size))
                rows.add("DecodeRaw", [np.array([numbers.tobytes() if little else swapped], object)], out_type=out, little_endian=little)
    rows.add("DecodeRaw", [np.array(b"abcd", object)], out_type=tf.uint8)
    rows.add("DecodeRaw", [np.array([b"abcd", b"ab"], object)], out_type=tf.uint8)
    rows.add("DecodeRaw", [np.array([b"abc"], object)], out_type=tf.int16)
    rows.add("DecodeRaw", [np.array([b"", b""], object)], out_type=tf.int16)
    rows.add("DecodeRaw", [np.zeros(0, object).astype(bytes)], out_type=tf.int16)
    for length in [3, 4, 0, -4, 400]:
        rows.add("DecodePaddedRaw", [data[:1], np.int32(length)], out_type=tf.int32, text=False)
    rows.add("DecodePaddedRaw", [np.array([b"", b"a", b"abcdefghij"], object), np.int32(4)], out_type=tf.int16)
    rows.add("DecodePaddedRaw", [data, i32(4, 4)], out_type=tf.int32, text=False)
    rows.write()


FAMILIES = [image_math]

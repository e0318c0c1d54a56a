"""Rows of ops that decode WebP files, which libwebp writes."""
import ctypes
import struct

from rows import Rows

import numpy as np
import tensorflow as tf

RANDOM = np.random.RandomState(11)


def encode(pixels, lossless):
    library = ctypes.CDLL("libwebp.so.7")
    height, width, channels = pixels.shape
    function = getattr(library, "WebPEncode" + ("Lossless" if lossless else "") + ("RGB" if channels == 3 else "RGBA"))
    function.restype = ctypes.c_size_t
    out = ctypes.c_void_p()
    quality = [] if lossless else [ctypes.c_float(70)]
    size = function(np.ascontiguousarray(pixels).ctypes.data_as(ctypes.c_void_p), width, height, width * channels, *quality, ctypes.byref(out))
    return ctypes.string_at(out, size)


def chunk(name, data):
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def riff(body):
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def u24(*values):
    return b"".join(struct.pack("<I", value)[:3] for value in values)


def extended(flags, width, height, body):
    return riff(chunk(b"VP8X", bytes([flags, 0, 0, 0]) + u24(width - 1, height - 1)) + body)


def frame(file, x, y, width, height, flags):
    """flags: 1 clears the part after the frame, 2 replaces what is there instead of laying the frame over it."""
    return chunk(b"ANMF", u24(x // 2, y // 2, width - 1, height - 1, 100) + bytes([flags]) + file[12:])


def webp():
    rows = Rows("webp")
    colour = (np.add.outer(np.arange(11) * 17, np.arange(14) * 6)[..., None] + RANDOM.randint(0, 25, (11, 14, 3))).clip(0, 255).astype(np.uint8)
    alpha = np.concatenate([colour, RANDOM.randint(0, 256, (11, 14, 1)).astype(np.uint8)], -1)
    files = [encode(pixels, lossless) for pixels in [colour, alpha] for lossless in [False, True]]
    files.append(extended(0x10, 14, 11, files[3][12:]))
    large, small = files[3], encode(alpha[:4, :6], True)
    animation = chunk(b"ANIM", b"\x10\x20\x30\xff\0\0") + frame(large, 0, 0, 14, 11, 0) + frame(small, 4, 6, 6, 4, 0) + frame(small, 8, 2, 6, 4, 1) + frame(small, 0, 0, 6, 4, 3)
    animated = [extended(0x12, 14, 11, animation), extended(0x12, 14, 11, chunk(b"ANIM", b"\0" * 6) + frame(small, 4, 6, 6, 4, 0))]
    for file in files + animated:
        for channels in [0, 1, 2, 3, 4]:
            rows.add("DecodeWebP", [np.array(file, object)], channels=channels)
        for expand in [True, False]:
            rows.add("DecodeImage", [np.array(file, object)], expand_animations=expand)
        for dtype in [tf.uint16, tf.float32]:
            rows.add("DecodeImage", [np.array(file, object)], dtype=dtype)
        for op in ["DecodePng", "DecodeJpeg", "DecodeBmp"]:
            rows.add(op, [np.array(file, object)])
        rows.add("DecodeGif", [np.array(file, object)])
        rows.add("DecodeAndCropJpeg", [np.array(file, object), np.array([0, 0, 1, 1], np.int32)])
    still = extended(0x02, 14, 11, chunk(b"ANIM", b"\0" * 6) + frame(files[1], 0, 0, 14, 11, 0))
    rows.add("DecodeWebP", [np.array(still, object)], channels=3)
    for file in [files[0][:-20], files[1][:60], files[0][:25], files[0][:16], b"", b"RIFF\x10\0\0\0WEBPVP8 junkjunkjunk", animated[0][:-30], animated[0][:90]]:
        rows.add("DecodeWebP", [np.array(file, object)])
    rows.add("DecodeWebP", [np.array([files[0]], object)])
    rows.add("DecodeWebP", [tf.io.encode_png(colour)])
    rows.add("DecodeWebP", [tf.io.encode_jpeg(colour)], channels=1)
    rows.write()


FAMILIES = [webp]

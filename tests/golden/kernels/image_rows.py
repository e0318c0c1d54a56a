"""Rows of ops on images."""
import struct

import numpy as np
import tensorflow as tf

from drawn import ALL_REAL, RANDOM, i32, unit_floats
from rows import Rows


def boxes_of(count, dtype=np.float32):
    corners = np.round(RANDOM.uniform(0, 0.6, (count, 2)), 2)
    return np.concatenate([corners, corners + np.round(RANDOM.uniform(0.1, 0.5, (count, 2)), 2)], 1).astype(dtype)


def image_detection():
    rows = Rows("image_detection", seed=3)
    boxes, scores = boxes_of(12), unit_floats(12)
    scores[3:7] = 0.5  # ties
    threshold = np.float32
    for size in [0, 1, 5, 40]:
        for overlap in [0.0, 0.3, 1.0]:
            rows.add("NonMaxSuppression", [boxes, scores, np.int32(size)], iou_threshold=overlap)
            rows.add("NonMaxSuppressionV2", [boxes, scores, np.int32(size), threshold(overlap)])
            rows.add("NonMaxSuppressionV3", [boxes, scores, np.int32(size), threshold(overlap), threshold(0.4)])
            for pads in [False, True] if size != 40 else [overlap > 0.5]:
                rows.add("NonMaxSuppressionV4", [boxes, scores, np.int32(size), threshold(overlap), threshold(0.4)], pad_to_max_output_size=pads)
                rows.add("NonMaxSuppressionV5", [boxes, scores, np.int32(size), threshold(overlap), threshold(0.2), threshold(0.5)], pad_to_max_output_size=pads)
    rows.add("NonMaxSuppressionV5", [boxes, scores, np.int32(9), threshold(0.5), threshold(0.0), threshold(0.0)])
    halves, half_scores = boxes_of(12, np.float16), unit_floats(12, dtype=np.float16)
    for kind in [np.float16, np.float32]:
        rows.add("NonMaxSuppressionV2", [halves, half_scores, np.int32(6), kind(0.4)])
        rows.add("NonMaxSuppressionV3", [halves, half_scores, np.int32(6), kind(0.4), kind(0.3)])
        rows.add("NonMaxSuppressionV4", [boxes, scores, np.int32(6), np.float16(0.4), np.float16(0.3)])
    rows.add("NonMaxSuppressionV5", [halves, half_scores, np.int32(9), np.float16(0.4), np.float16(0.1), np.float16(0.4)])
    turned = boxes[:, [2, 1, 0, 3]]  # the corners in another order
    odd = np.array([np.nan, np.inf, -np.inf, 0.5, -0.0, -1], np.float32)
    rows.add("NonMaxSuppressionV3", [turned, scores, np.int32(8), threshold(0.3), threshold(-1)])
    rows.add("NonMaxSuppressionV2", [boxes[:6], odd, np.int32(8), threshold(0.9)])
    rows.add("NonMaxSuppressionV2", [np.zeros((3, 4), np.float32), unit_floats(3), np.int32(8), threshold(0)])
    rows.add("NonMaxSuppressionV2", [np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.int32(8), threshold(0)])
    for wrong in [(boxes[0], scores), (boxes[:, :3], scores), (boxes, scores[:3]), (boxes, scores[None])]:
        rows.add("NonMaxSuppressionV3", [*wrong, np.int32(8), threshold(0.3), threshold(0)], text=False)
    for size, overlap, least in [(-1, 0.3, 0), (8, 1.5, 0), (8, -0.5, 0), (i32(8), 0.3, 0), (8, [0.3], 0), (8, 0.3, [0])]:
        rows.add("NonMaxSuppressionV3", [boxes, scores, np.int32(size), threshold(overlap), threshold(least)], text=False)
    rows.add("NonMaxSuppressionV5", [boxes, scores, np.int32(8), threshold(0.3), threshold(0), threshold(-1)])
    overlaps = unit_floats(10, 10)
    for size in [3, 20]:
        rows.add("NonMaxSuppressionWithOverlaps", [overlaps, unit_floats(10), np.int32(size), threshold(0.6), threshold(0.2)])
    rows.add("NonMaxSuppressionWithOverlaps", [overlaps[:4], unit_floats(10), np.int32(3), threshold(0.6), threshold(0.2)], text=False)

    def combined(boxes, scores, per_class, total, overlap=0.4, least=0.2, **attrs):
        rows.add("CombinedNonMaxSuppression", [boxes, scores, np.int32(per_class), np.int32(total), threshold(overlap), threshold(least)], text=False, **attrs)
    scores = unit_floats(2, 12, 3)
    scores[0, 2:9, 1] = 0.7  # ties: what the heap brings to the top
    for boxes in [np.stack([boxes_of(12), boxes_of(12)])[:, :, None], boxes_of(72).reshape(2, 12, 3, 4) * 2]:
        for per_class, total in [(2, 4), (3, 40), (20, 9)]:
            combined(boxes, scores, per_class, total, pad_per_class=True)
            combined(boxes, scores, per_class, total, pad_per_class=False, clip_boxes=False)
    combined(boxes, scores, 5, 5, least=2)
    combined(np.zeros((2, 0, 1, 4), np.float32), np.zeros((2, 0, 3), np.float32), 5, 5)
    combined(np.zeros((0, 2, 1, 4), np.float32), np.zeros((0, 2, 3), np.float32), 5, 5)
    for wrong in [(boxes[0], scores), (boxes, scores[0]), (boxes[:, :, :2], scores), (boxes[..., :3], scores), (boxes, scores[:, :3]), (boxes, scores[:1])]:
        combined(*wrong, 5, 5)
    for wrong in [(0, 5, 0.4), (5, 0, 0.4), (5, 5, 1.1)]:
        combined(boxes, scores, *wrong)

    image, boxes = unit_floats(2, 5, 4, 2, high=100), np.array([[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.6], [1, 1, 0, 0], [-0.2, 0.5, 0.6, 1.3]], np.float32)
    for method in ["bilinear", "nearest"]:
        for height, width in [(3, 4), (1, 1), (1, 3)]:
            rows.add("CropAndResize", [image, boxes, i32(0, 1, 1, 0), i32(height, width)], method=method, extrapolation_value=-7.5)
        for dtype in ALL_REAL:
            rows.add("CropAndResize", [image[:1].astype(dtype), boxes[1:3], i32(0, 0), i32(2, 2)], method=method)
    rows.add("CropAndResize", [image, np.zeros((0, 4), np.float32), i32(), i32(2, 2)])
    for wrong in [(image[0], boxes, i32(0, 1, 1, 0), i32(2, 2)), (image, boxes[:, :3], i32(0, 1, 1, 0), i32(2, 2)), (image, boxes, i32(0, 1), i32(2, 2)),
                  (image, boxes, i32(0, 2, 1, 0), i32(2, 2)), (image, boxes, i32(0, 1, 1, 0), i32(2, 0)), (image, boxes, i32(0, 1, 1, 0), i32(2)),
                  (image, boxes * np.float32(np.nan), i32(0, 1, 1, 0), i32(2, 2)), (image[:, :0], boxes, i32(0, 1, 1, 0), i32(2, 2))]:
        rows.add("CropAndResize", list(wrong), text=False)
    rows.write()


def bitmap(pixels, top_down=False, padding=0):
    """A BMP file of pixels [height, width, channels], blue first."""
    height, width, channels = pixels.shape
    body = b"".join(row.tobytes() + bytes(-len(row.tobytes()) % 4) for row in (pixels if top_down else pixels[::-1]))
    header = struct.pack("<2sIIIIiiHHIIiiII", b"BM", 54 + len(body), 0, 54, 40, width, -height if top_down else height, 1, 8 * channels, 0, len(body), 0, 0, 0, 0)
    return header + body + bytes(padding)


def lzw(indices, bits, clear_every=1 << 30):
    """The compressed data of a GIF frame, in sub-blocks."""
    clear, end = 1 << bits, (1 << bits) + 1
    out, filled, written = 0, 0, []

    def put(code, size):
        nonlocal out, filled
        out |= code << filled
        filled += size
    table, size, prefix = {(i,): i for i in range(clear)}, bits + 1, ()
    put(clear, size)
    for n, index in enumerate(indices):
        if prefix + (index,) in table:
            prefix += (index,)
            continue
        put(table[prefix], size)
        if len(table) + 2 < 4096:
            table[prefix + (index,)] = len(table) + 2
            if len(table) + 1 == 1 << size and size < 12:
                size += 1
        if n % clear_every == clear_every - 1:
            put(clear, size)
            table, size = {(i,): i for i in range(clear)}, bits + 1
        prefix = (index,)
    put(table[prefix], size)
    if len(table) + 2 == 1 << size and size < 12:
        size += 1
    put(end, size)
    data = out.to_bytes((filled + 7) // 8, "little")
    return bytes([bits]) + b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255] for i in range(0, len(data), 255)) + b"\0"


def gif(frames, size, colours, shared=True):
    """frames: (left, top, indices [height, width], transparent or None, interlaced)."""
    bits = max(2, (len(colours) - 1).bit_length())
    table = np.zeros((1 << bits, 3), np.uint8)
    table[:len(colours)] = colours
    flags = 0x80 | (bits - 1)
    out = b"GIF89a" + struct.pack("<HHBBB", size[1], size[0], flags if shared else 0, 0, 0) + (table.tobytes() if shared else b"")
    out += b"\x21\xfe\x03abc\0"
    for left, top, indices, transparent, interlaced in frames:
        if transparent is not None:
            out += b"\x21\xf9\x04" + struct.pack("<BHB", 1, 10, transparent) + b"\0"
        height, width = indices.shape
        out += b"\x2c" + struct.pack("<HHHHB", left, top, width, height, (0 if shared else flags) | (0x40 if interlaced else 0)) + (b"" if shared else table.tobytes())
        order = [y for start, step in [(0, 8), (4, 8), (2, 4), (1, 2)] for y in range(start, height, step)] if interlaced else range(height)
        out += lzw([int(v) for y in order for v in indices[y]], bits, 50 if interlaced else 1 << 30)
    return out + b"\x3b"


def image_files():
    rows = Rows("image_files", seed=3)
    y, x = np.mgrid[0:9, 0:10]
    colour = np.stack([x * 19 % 256, y * 28 % 256, (x + y) * 12 % 256], -1).astype(np.uint8)
    grey, alpha = colour[..., :1], np.concatenate([colour, (255 - x * 15)[..., None].astype(np.uint8)], -1)
    grey_alpha = alpha[:5, :6, 2:]
    deep = colour[:5, :6].astype(np.uint16) * 257 + 100

    def scalar(data):
        return np.array(data, object)
    jpegs = {name: tf.io.encode_jpeg(pixels, **attrs).numpy() for name, pixels, attrs in [
        ("colour", colour, dict(quality=90)), ("progressive", colour, dict(quality=60, progressive=True)), ("grey", grey, {}), ("full", colour, dict(chroma_downsampling=False))]}
    for file in jpegs.values():
        for channels in [0, 1, 3, 4] if file == jpegs["colour"] else [0, 1]:
            rows.add("DecodeJpeg", [scalar(file)], channels=channels)
        rows.add("ExtractJpegShape", [scalar(file)])
    colour_file = jpegs["colour"]
    for attrs in [dict(ratio=2), dict(ratio=4), dict(ratio=8), dict(fancy_upscaling=False), dict(dct_method="INTEGER_ACCURATE"), dict(dct_method="INTEGER_FAST"),
                  dict(ratio=3), dict(dct_method="FLOAT"), dict(channels=2)]:
        rows.add("DecodeJpeg", [scalar(colour_file)], **attrs)
    for part in [len(colour_file) // 2, len(colour_file) - 2]:  # TensorFlow does not come back from a header that is cut short
        for recover in [False, True]:
            rows.add("DecodeJpeg", [scalar(colour_file[:part])], try_recover_truncated=recover)
    damaged = bytearray(colour_file)
    damaged[-60:-50] = b"\xff\xd0" * 5
    rows.add("DecodeJpeg", [scalar(bytes(damaged))])
    for window in [(0, 0, 9, 10), (2, 3, 4, 5), (7, 5, 2, 5), (0, 0, 10, 10), (-1, 0, 3, 3), (0, 0, 0, 3)]:
        for file in [colour_file] + [jpegs["progressive"], jpegs["grey"]] * (window == (2, 3, 4, 5)):
            rows.add("DecodeAndCropJpeg", [scalar(file), i32(*window)])
    rows.add("DecodeAndCropJpeg", [scalar(colour_file), i32(2, 3, 4)], text=False)
    rows.add("ExtractJpegShape", [scalar(colour_file)], output_type=tf.int64)

    pngs = {"colour": colour[:5, :6], "grey": grey[:5, :6], "alpha": alpha[:5, :6], "grey_alpha": grey_alpha, "deep": deep}
    pngs = {name: tf.io.encode_png(pixels).numpy() for name, pixels in pngs.items()}
    for file in pngs.values():
        for channels in [0, 1, 3, 4]:
            for dtype in [tf.uint8, tf.uint16]:
                rows.add("DecodePng", [scalar(file)], channels=channels, dtype=dtype)
    for part in [len(pngs["colour"]) // 2, 40, 12]:
        rows.add("DecodePng", [scalar(pngs["colour"][:part])], text=False)

    shades = np.stack([np.arange(20) * 12, 255 - np.arange(20) * 9, np.arange(20) * 5], -1)
    picture = (x * 3 + y * 5) % 20
    small = picture[:4, :5]
    gifs = [gif([(0, 0, picture, None, False)], (9, 10), shades), gif([(0, 0, picture, 3, True)], (9, 10), shades, shared=False),
            gif([(0, 0, small, None, False), (1, 2, small[:2, :3], None, False), (3, 1, small[:3], 7, True)], (4, 5), shades),
            gif([(2, 1, small, None, False)], (9, 9), shades), gif([(0, 0, small % 6, None, False)], (4, 5), shades[:6])]
    for file in gifs:
        rows.add("DecodeGif", [scalar(file)])
        for expand in [True, False]:
            rows.add("DecodeImage", [scalar(file)], expand_animations=expand, text=False)
    rows.add("DecodePng", [scalar(gifs[0])])
    rows.add("DecodeJpeg", [scalar(gifs[2])], text=False)
    rows.add("DecodeGif", [scalar(gifs[0][:60])], text=False)
    rows.add("DecodeImage", [scalar(gifs[2])], dtype=tf.float32, channels=3)
    rows.add("DecodeImage", [scalar(gifs[2])], channels=4)
    noise = RANDOM.randint(0, 16, (48, 50))
    rows.add("DecodeGif", [scalar(gif([(0, 0, noise, None, False)], (48, 50), shades[:16] // 30))])  # codes of up to 11 bits

    for pixels in [alpha[:3, :5, :3], alpha[:3, :5], grey[:3, :5]]:
        for file in [bitmap(pixels), bitmap(pixels, True), bitmap(pixels, padding=4)]:
            for channels in [0, 1, 3, 4]:
                rows.add("DecodeBmp", [scalar(file)], channels=channels)
    rows.add("DecodeBmp", [scalar(bitmap(grey)[:20])])
    rows.add("DecodeBmp", [scalar(bitmap(grey)[:80])])
    for dtype in [tf.uint8, tf.uint16, tf.float32]:
        for file in [colour_file, pngs["alpha"], pngs["deep"], gifs[0], bitmap(alpha[:3, :5])]:
            rows.add("DecodeImage", [scalar(file)], dtype=dtype, channels=3)
    for op in ["DecodeGif", "DecodeBmp", "DecodePng", "DecodeJpeg"]:
        for file in [colour_file, pngs["grey"], gifs[4], bitmap(grey[:2, :2]), b"", b"abc"]:
            rows.add(op, [scalar(file)], text=False)
    for file in [pngs["grey"], gifs[4], bitmap(grey[:2, :2])]:
        rows.add("DecodeAndCropJpeg", [scalar(file), i32(0, 0, 1, 1)])
    rows.add("DecodeImage", [np.array([colour_file], object)], text=False)

    for attrs in [{}, dict(quality=30), dict(quality=0), dict(quality=100), dict(progressive=True), dict(optimize_size=True), dict(chroma_downsampling=False),
                  dict(density_unit="cm", x_density=7, y_density=1000), dict(xmp_metadata="<x/>"), dict(format="rgb"), dict(format="grayscale"), dict(quality=101)]:
        rows.add("EncodeJpeg", [colour], **attrs)
    for attrs in [dict(quality=1 << 32), dict(x_density=1 << 32), dict(y_density=-1 << 32)]:
        rows.add("EncodeJpeg", [colour], text=False, **attrs)
    rows.add("EncodeJpeg", [grey])
    rows.add("EncodeJpeg", [grey], format="grayscale")
    for wrong in [alpha, grey_alpha, colour[0], colour[:0]]:
        rows.add("EncodeJpeg", [wrong], text=False)
    for quality in [0, 50, 101]:
        rows.add("EncodeJpegVariableQuality", [colour, np.int32(quality)], text=False)
    for pixels in [colour, grey, alpha, grey_alpha, deep, colour[0], colour[:0], np.zeros((2, 2, 5), np.uint8)]:
        rows.add("EncodePng", [pixels], text=False)
    for compression in [0, 1, 9, 10]:
        rows.add("EncodePng", [colour], compression=compression)
    rows.write()


FAMILIES = [image_detection, image_files]

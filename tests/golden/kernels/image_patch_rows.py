"""Rows of contrast as it was first, of patches of volumes, and of boxes drawn in images."""
from rows import Rows
from drawn import ALL_REAL, unit_floats

import numpy as np


def image_contrast_v1():
    rows = Rows("image_contrast_v1", seed=3)
    old = dict(producer=1)
    for dtype in [np.uint8, np.int8, np.int16, np.int32, np.int64, np.float32, np.float64]:
        for factor in [0.0, 0.5, 2.0, -1.5]:
            rows.add("AdjustContrast", [unit_floats(2, 3, 4, 3, high=100).astype(dtype), np.float32(factor), np.float32(10), np.float32(80)], **old)
    image = unit_floats(3, 4, 2, high=100)
    special = image.copy()
    special[0, 0] = np.nan, np.inf
    rows.add("AdjustContrast", [special, np.float32(2), np.float32(0), np.float32(50)], **old)
    rows.add("AdjustContrast", [image[:, :0], np.float32(2), np.float32(0), np.float32(50)], **old)
    for wrong in [(image[0], np.float32(1), np.float32(1), np.float32(1)), (image, unit_floats(1), np.float32(1), np.float32(1)), (image, np.float32(1), unit_floats(1), np.float32(1)),
                  (image, np.float32(1), np.float32(1), unit_floats(2))]:
        rows.add("AdjustContrast", list(wrong), text=False, **old)
    rows.write()


def volume_patches():
    rows = Rows("volume_patches", seed=3)
    for dtype in ALL_REAL + [np.uint32, np.uint64]:
        for padding in ["SAME", "VALID"]:
            for size, stride in [((2, 1, 2), (1, 2, 1)), ((1, 2, 3), (2, 2, 2)), ((2, 2, 2), (3, 1, 3))]:
                rows.add("ExtractVolumePatches", [unit_floats(2, 3, 3, 3, 2, high=99).astype(dtype)], ksizes=[1, *size, 1], strides=[1, *stride, 1], padding=padding)
    x, attrs = unit_floats(1, 3, 3, 3, 1), dict(ksizes=[1, 2, 2, 2, 1], strides=[1, 1, 1, 1, 1], padding="VALID")
    for wrong in [dict(ksizes=[2, 2, 2, 2, 1]), dict(ksizes=[1, 9, 2, 2, 1]), dict(strides=[1, 1, 1, 1, 2])]:
        rows.add("ExtractVolumePatches", [x], text=False, **{**attrs, **wrong})
    rows.add("ExtractVolumePatches", [x[0]], text=False, **attrs)
    rows.add("ExtractVolumePatches", [x[:0]], **attrs)
    rows.write()


def image_boxes():
    rows = Rows("image_boxes", seed=3)
    drawn = np.array([[[0.1, 0.2, 0.7, 0.9], [0, 0, 1, 1], [-0.5, 0.3, 0.4, 1.5], [0.6, 0.6, 0.2, 0.2], [1.2, 0, 2, 1], [0.5, 0.5, 0.5, 0.5]]], np.float32).repeat(2, 0)
    drawn[1] = drawn[1, ::-1]
    for depth in [1, 3, 4]:
        for dtype in [np.float32, np.float16]:
            image = unit_floats(2, 6, 7, depth, dtype=dtype)
            rows.add("DrawBoundingBoxes", [image, drawn])
            rows.add("DrawBoundingBoxes", [image, np.tile(drawn, (1, 2, 1)) * np.float32(0.9)])
            rows.add("DrawBoundingBoxesV2", [image, drawn, unit_floats(4, depth + 1)])
            rows.add("DrawBoundingBoxesV2", [image, drawn, np.zeros((0, depth), np.float32)])
    image = unit_floats(2, 6, 7, 3)
    rows.add("DrawBoundingBoxes", [image, drawn[:, :0]])
    rows.add("DrawBoundingBoxes", [image[:0], drawn[:0]])
    for wrong in [(image[0], drawn), (image, drawn[0]), (image, drawn[:1]), (unit_floats(2, 6, 7, 2), drawn), (image, drawn[..., :3])]:
        rows.add("DrawBoundingBoxes", list(wrong))
    for wrong in [unit_floats(3), unit_floats(2, 2)]:
        rows.add("DrawBoundingBoxesV2", [image, drawn, wrong], text=False)
    rows.write()


FAMILIES = [image_contrast_v1, volume_patches, image_boxes]

"""Rows of ops that take parts of images."""
from rows import Rows
from drawn import RANDOM

import numpy as np


def image_glimpses():
    rows = Rows("image_glimpses", seed=1)
    f32 = np.float32
    image = f32(np.round(RANDOM.randn(3, 5, 6, 2), 2))
    for op in ["ExtractGlimpse", "ExtractGlimpseV2"]:
        for normalized in [True, False]:
            for centered in [True, False]:
                attrs = dict(normalized=normalized, centered=centered)
                for size in [(2, 3), (5, 6), (1, 1), (7, 4), (9, 9)]:
                    for offsets in [[[0, 0], [0.5, -0.5], [-1, 1]], [[1, 2], [-3, 0.3], [4.6, 5]], [[0.99, 0.2], [-9, 9], [1e9, -1e9]], [[0.1, 0.4], [0.3, 0.2], [0.25, 0.75]]]:
                        rows.add(op, [image, np.int32(size), f32(offsets)], uniform_noise=False, noise="zero", **attrs)
        inside = dict(normalized=False, centered=False)
        for noise in [dict(uniform_noise=True), dict(uniform_noise=False, noise="gaussian"), dict(uniform_noise=False, noise="")]:
            rows.add(op, [image, np.int32([2, 3]), f32([[2, 2], [2, 3], [3, 3]])], **noise, **inside)
            rows.add(op, [np.ones((1, 2, 2, 3), f32), np.int32([4, 4]), f32([[-1, -1]])], **noise, **inside)  # noise of a range of one number
        for noise in [dict(uniform_noise=True, noise="zero"), dict(uniform_noise=False, noise="pink")]:
            rows.add(op, [image, np.int32([2, 3]), np.zeros((3, 2), f32)], text=False, **noise)
        for x, size, offsets in [(image[0], [2, 3], np.zeros((3, 2))), (image, [2], np.zeros((3, 2))), (image, [2, 3], np.zeros((2, 2))), (image, [2, 3], np.zeros((3, 3))), (image, [2, 3], np.zeros(6)), (image, [0, 3], np.zeros((3, 2))),
                                 (image[:0], [2, 3], np.zeros((0, 2))), (image, [-1, 3], np.zeros((3, 2)))]:
            rows.add(op, [x, np.int32(size), f32(offsets)], text=False)
    rows.write()


def image_random_crops():
    rows = Rows("image_random_crops")
    f32 = np.float32
    boxes = f32([[[0.1, 0.2, 0.7, 0.9], [0, 0, 0.3, 0.3]]])
    seeds = iter(range(1, 10000))
    cases = [dict(), dict(aspect_ratio_range=[0.5, 2.0], area_range=[0.2, 0.9]), dict(aspect_ratio_range=[1.0, 1.0], area_range=[0.01, 0.02]), dict(max_attempts=1), dict(area_range=[1.0, 1.0], aspect_ratio_range=[3.0, 4.0]), dict(area_range=[0.9, 0.5])]
    for size in [(48, 64, 3), (7, 5, 1), (1, 1, 3), (120, 120, 3)]:
        for dtype in [np.int32, np.int64, np.int16, np.uint8, np.int8]:
            for attrs in cases if dtype == np.int32 else cases[:1]:
                for covered in [0.1, 0.5, 1.0, 0.0]:
                    number = next(seeds)
                    if covered:
                        rows.add("SampleDistortedBoundingBox", [dtype(size), boxes], seed=number, seed2=7, min_object_covered=covered, **attrs)
                    rows.add("SampleDistortedBoundingBoxV2", [dtype(size), boxes, f32(covered)], seed=number, seed2=8, **attrs)
                    rows.add("StatelessSampleDistortedBoundingBox", [dtype(size), boxes, f32(covered), np.int64([number, -5])], **attrs)
    size = np.int32([48, 64, 3])
    for use in [True, False]:
        rows.add("SampleDistortedBoundingBoxV2", [size, boxes[:, :0], f32(0.1)], text=False, seed=next(seeds), use_image_if_no_bounding_boxes=use)
    for image, of, covered, attrs in [(size[:2], boxes, 0.1, {}), (size, boxes[0], 0.1, {}), (size, boxes[:, :, :3], 0.1, {}), (size, 2 * boxes, 0.1, {}), (size, boxes, -0.1, {}), (size[None], boxes, 0.1, {}), (np.int32([-1, 5, 3]), boxes, 0.1, {}),
                                      (size, boxes, 0.1, dict(aspect_ratio_range=[1.0])), (size, boxes, 0.1, dict(area_range=[0.0, 1.0])), (size, boxes, 0.1, dict(area_range=[0.5, 1.5])), (size, boxes, 0.1, dict(max_attempts=0)), (size, boxes, [0.1], {})]:
        rows.add("SampleDistortedBoundingBoxV2", [image, of, f32(covered)], text=False, seed=next(seeds), **attrs)
        rows.add("StatelessSampleDistortedBoundingBox", [image, of, f32(covered), np.int32([1, 2])], text=False, **attrs)
    for dtype in [np.uint8, np.int8, np.int16, np.int32, np.int64, np.float32, np.float64]:
        for target in [(2, 3), (6, 7), (6, 2), (0, 3), (1, 1)]:
            rows.add("RandomCrop", [np.arange(84).reshape(6, 7, 2).astype(dtype), np.int64(target)], producer=7, seed=next(seeds), seed2=3)
    for image, target in [((6, 7), (2, 3)), ((6, 7, 2), (7, 3)), ((6, 7, 2), (2, 8)), ((6, 7, 2), (2,)), ((6, 7, 2), ((2, 3),))]:  # a negative size ends TensorFlow
        rows.add("RandomCrop", [np.zeros(image, np.float32), np.int64(target)], text=False, producer=7, seed=3, seed2=3)
    rows.write()


FAMILIES = [image_glimpses, image_random_crops]

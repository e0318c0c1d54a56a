"""Rows of batch normalization, and of resized images."""
from rows import Rows
from drawn import floats, i32, integers

import numpy as np


def norm():
    rows = Rows("norm", seed=444)
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
    rows.write()

    rows = Rows("image_resize")
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


FAMILIES = [norm]

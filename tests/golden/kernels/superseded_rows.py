"""Rows of ops of which today's models have later versions."""
from rows import Rows
from drawn import ALL_REAL, unit_floats

import numpy as np


def superseded():
    """Ops of which today's models have later versions."""
    rows = Rows("superseded", seed=3)
    for dtype in [np.float32, np.float64, np.float16]:
        near = 4e-3 if dtype == np.float16 else None
        x, m, v, b, g = (unit_floats(*shape, low=0.1, dtype=dtype) for shape in [(2, 3, 2, 4)] + [(4,)] * 4)
        for scale in [True, False]:
            old = dict(variance_epsilon=0.001, scale_after_normalization=scale, producer=8)
            rows.add("BatchNormWithGlobalNormalization", [x, m, v, b, g], near, **old)
            rows.add("BatchNormWithGlobalNormalizationGrad", [x, m, v, g, unit_floats(2, 3, 2, 4, low=-1, dtype=dtype)], near, **old)
            rows.add("BatchNormWithGlobalNormalization", [x[:0], m, v, b, g], near, **old)
    for wrong in [(x[0], m, v, b, g), (x, m[None], v, b, g)]:
        rows.add("BatchNormWithGlobalNormalization", list(wrong), text=False, variance_epsilon=0.001, scale_after_normalization=True, producer=8)
    for dtype in ALL_REAL:
        for paddings in [[[0, 0], [0, 0]], [[1, 1], [2, 0]]]:
            for index in [np.int32, np.int64]:
                rows.add("SpaceToBatch", [unit_floats(1, 4, 6, 2, high=99).astype(dtype), np.array(paddings, index)], block_size=2)
                rows.add("BatchToSpace", [unit_floats(8, 2, 3, 2, high=99).astype(dtype), np.array(paddings, index)], block_size=2)
    for op in ["SpaceToBatch", "BatchToSpace"]:
        for wrong in [(unit_floats(4, 4, 4), np.zeros((2, 2), np.int32)), (unit_floats(4, 5, 4, 1), np.array([[0, 2], [-1, 1]])), (unit_floats(4, 4, 4, 1), np.zeros((3, 2), np.int32)), (unit_floats(3, 3, 3, 1), np.zeros((2, 2), np.int32))]:
            rows.add(op, list(wrong), text=False, block_size=2)
    for training in [True, False]:
        for layout in ["NHWC", "NCHW"] if training else ["NHWC"]:
            c = 3 if layout == "NCHW" else 4
            x, dy = unit_floats(2, 3, 5, 4, low=-1), unit_floats(2, 3, 5, 4, low=-1)
            for op in ["FusedBatchNormGrad", "FusedBatchNormGradV2"]:
                rows.add(op, [dy, x, unit_floats(c), unit_floats(c), unit_floats(c, low=0.5)], 1e-4, skip=(3, 4), is_training=training, data_format=layout)
    rows.write()


FAMILIES = [superseded]

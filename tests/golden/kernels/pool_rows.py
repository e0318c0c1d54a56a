"""Rows of pooling."""
from rows import Rows
from drawn import LOOSE, f32, floats, i32, integers

import numpy as np
import tensorflow as tf


def pool():
    rows = Rows("pool", seed=442)
    for padding in ["SAME", "VALID"]:
        for size, kernel, stride in [((4, 6), (2, 2), (2, 2)), ((5, 5), (3, 3), (2, 2)), ((5, 5), (2, 2), (1, 1)),
                                     ((5, 4), (3, 2), (2, 3)), ((3, 3), (3, 3), (1, 1)), ((5, 5), (1, 1), (2, 2))]:
            x = integers(2, *size, 3, high=5, dtype=np.float32)
            attrs = dict(ksize=[1, *kernel, 1], strides=[1, *stride, 1], padding=padding)
            rows.add("MaxPool", [x], **attrs)
            rows.add("AvgPool", [x], **attrs)
            y = tf.raw_ops.MaxPool(input=x, **attrs)
            dy = floats(*y.shape)
            rows.add("MaxPoolGrad", [x, y.numpy(), dy], **attrs)
            rows.add("AvgPoolGrad", [i32(*x.shape), dy], **attrs)
    attrs = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    for op, first in [("MaxPool", "input"), ("AvgPool", "value")]:
        rows.add(op, [floats(1, 1, 1, 1)], **attrs)
        rows.add(op, [floats(4, 4, 1)], **attrs)
        rows.add(op, [floats(0, 4, 4, 1)], **attrs)
        for dtype in [np.float16, np.float64]:
            rows.add(op, [floats(1, 4, 4, 2, dtype=dtype)], LOOSE.get(dtype), **attrs)
    rows.add("MaxPool", [f32(1, np.nan, 3, -np.inf).reshape(1, 2, 2, 1)], **attrs)
    rows.write()


FAMILIES = [pool]

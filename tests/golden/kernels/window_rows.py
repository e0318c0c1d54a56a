"""Rows of pooling by the greatest element, and of dilation."""
import numpy as np
import tensorflow as tf

from drawn import ALL_REAL, LOOSE, i32, unit_floats
from rows import Rows

REAL = ALL_REAL + [np.uint32, np.uint64]


def pool_max_and_dilation():
    rows = Rows("pool_max_and_dilation", seed=3)
    greatest(rows)
    dilations(rows)
    rows.write()


def greatest(rows):
    special = unit_floats(1, 4, 4, 2, low=-2, high=2)
    special[0, 0, 0], special[0, 1, 2], special[0, 3, 3], special[0, 2:, :2] = np.nan, np.inf, np.nan, -np.inf
    cases = [("VALID", (2, 2), (2, 2)), ("SAME", (3, 2), (2, 1)), ("VALID", (3, 3), (1, 1)), ("SAME", (2, 2), (3, 3))]
    for padding, size, stride in cases:
        attrs = dict(ksize=[1, *size, 1], strides=[1, *stride, 1], padding=padding)
        lists = [i32(*attrs["ksize"]), i32(*attrs["strides"])]
        for dtype in REAL:
            x = unit_floats(2, 5, 4, 3, low=0, high=9).round().astype(dtype)  # with ties
            rows.add("MaxPool", [x], **attrs)
            rows.add("MaxPoolV2", [x, *lists], padding=padding)
            for batch in [False, True]:
                rows.add("MaxPoolWithArgmax", [x], **attrs, include_batch_in_index=batch)
            y, places = tf.raw_ops.MaxPoolWithArgmax(input=unit_floats(2, 5, 4, 3), **attrs, include_batch_in_index=True)
            dy = unit_floats(*y.shape, low=0, high=9).round().astype(dtype)
            y = tf.cast(tf.nn.max_pool2d(tf.cast(x, tf.float32), size, stride, padding), dtype)
            rows.add("MaxPoolGrad", [x, y, dy], LOOSE.get(dtype), **attrs)
            rows.add("MaxPoolGradV2", [x, y, dy, *lists], LOOSE.get(dtype), padding=padding)
            rows.add("MaxPoolGradWithArgmax", [x, dy, places], LOOSE.get(dtype), **attrs, include_batch_in_index=True)
            places = tf.raw_ops.MaxPoolWithArgmax(input=unit_floats(2, 5, 4, 3), **attrs)[1]
            rows.add("MaxPoolGradWithArgmax", [x, dy, places], LOOSE.get(dtype), **attrs)
        rows.add("MaxPoolWithArgmax", [special], **attrs)
        rows.add("MaxPoolV2", [special, *lists], padding=padding)
        rows.add("MaxPoolWithArgmax", [special[:0]], **attrs)
        rows.add("MaxPoolV2", [special[:0], *lists], padding=padding)
        rows.add("MaxPoolWithArgmax", [special], Targmax=tf.int32, **attrs)
    x = unit_floats(2, 4, 4, 3)
    plain = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    for wrong in [dict(ksize=[2, 2, 2, 1]), dict(strides=[2, 1, 1, 1]), dict(ksize=[1, 9, 2, 1]), dict(ksize=[1, 0, 2, 1]), dict(strides=[1, 0, 1, 1]), dict(ksize=[1, 2, 2])]:
        rows.add("MaxPoolWithArgmax", [x], text=False, **{**plain, **wrong})
    rows.add("MaxPoolWithArgmax", [x[0]], text=False, **plain)
    for lists in [(i32(2, 2, 2, 1), i32(1, 1, 1, 1)), (i32(1, 9, 2, 1), i32(1, 1, 1, 1)), (i32(1, 2, 2), i32(1, 1, 1, 1)), (i32(1, 2, 2, 1), i32(1, 1, 1)), (i32(1, 2, 2, 1), i32(2, 1, 1, 1)),
                  (i32(1, 0, 2, 1), i32(1, 1, 1, 1)), (i32(1, 2, 2, 1), i32(1, -1, 1, 1))]:
        rows.add("MaxPoolV2", [x, *lists], padding="VALID", text=False)
    for padding in ["SAME", "VALID"]:
        rows.add("MaxPoolV2", [x[0], i32(1, 2, 2, 1), i32(1, 1, 1, 1)], padding=padding, text=False)
    dy, places = unit_floats(2, 2, 2, 3), np.zeros((2, 2, 2, 3), np.int64)
    for wrong in [(x, dy[:1], places), (x, dy, places[:1]), (x[0], dy, places)]:
        rows.add("MaxPoolGradWithArgmax", list(wrong), text=False, **plain)
    for wrong in [(x, dy, dy[:1]), (x[0], dy, dy), (x, dy, dy[..., :1])]:
        rows.add("MaxPoolGrad", list(wrong), text=False, **plain)
        rows.add("MaxPoolGradV2", [*wrong, i32(1, 2, 2, 1), i32(1, 2, 2, 1)], text=False, padding="VALID")


def dilations(rows):
    special = unit_floats(1, 4, 4, 2, low=-2, high=2)
    special[0, 0, 0], special[0, 1, 2], special[0, 2:, :2] = np.nan, np.inf, -np.inf
    for padding, stride, rate in [("VALID", (1, 1), (1, 1)), ("SAME", (2, 1), (1, 2)), ("SAME", (1, 3), (2, 2)), ("SAME", (3, 3), (1, 1))]:
        attrs = dict(strides=[1, *stride, 1], rates=[1, *rate, 1], padding=padding)
        for dtype in REAL:
            x, filters = unit_floats(2, 5, 4, 2, high=20).round().astype(dtype), unit_floats(3, 2, 2, high=5).round().astype(dtype)
            y = tf.raw_ops.Dilation2D(input=x, filter=filters, **attrs)
            dy = unit_floats(*y.shape, high=9).round().astype(dtype)
            rows.add("Dilation2D", [x, filters], LOOSE.get(dtype), **attrs)
            rows.add("Dilation2DBackpropInput", [x, filters, dy], LOOSE.get(dtype), **attrs)
            rows.add("Dilation2DBackpropFilter", [x, filters, dy], LOOSE.get(dtype), **attrs)
        filters = unit_floats(2, 2, 2, low=-1)
        y = tf.raw_ops.Dilation2D(input=special, filter=filters, **attrs)
        rows.add("Dilation2D", [special, filters], **attrs)
        rows.add("Dilation2DBackpropInput", [special, filters, unit_floats(*y.shape)], **attrs)
        rows.add("Dilation2DBackpropFilter", [special, filters, unit_floats(*y.shape)], **attrs)
        rows.add("Dilation2D", [special[:0], filters], **attrs)
    x, filters, dy = unit_floats(2, 5, 4, 2), unit_floats(2, 2, 2), unit_floats(2, 4, 3, 2)
    attrs = dict(strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="VALID")
    for wrong in [(x[0], filters), (x, filters[0]), (x, filters[..., :1]), (x, unit_floats(6, 2, 2))]:
        rows.add("Dilation2D", list(wrong), text=False, **attrs)
        rows.add("Dilation2DBackpropInput", [*wrong, dy], text=False, **attrs)
        rows.add("Dilation2DBackpropFilter", [*wrong, dy], text=False, **attrs)
    for op in ["Dilation2DBackpropInput", "Dilation2DBackpropFilter"]:
        for wrong in [dy[:1], dy[..., :1], dy[:, :1]]:
            rows.add(op, [x, filters, wrong], text=False, **attrs)
    for wrong in [dict(strides=[2, 1, 1, 1]), dict(rates=[1, 1, 1, 2]), dict(strides=[1, 1, 1])]:
        rows.add("Dilation2D", [x, filters], text=False, **{**attrs, **wrong})


FAMILIES = [pool_max_and_dilation]

"""Rows of fractional pooling, of the greatest values of a row, and of isotonic regression."""
import numpy as np
import tensorflow as tf

from drawn import unit_floats
from rows import Rows

POOLED = [np.float32, np.float64, np.int32, np.int64]


def fractional_pool():
    rows = Rows("fractional_pool", seed=3)
    pools(rows)
    mean_gradients(rows)
    max_gradients(rows)
    rows.write()

    rows = Rows("approx_topk")
    approximate(rows)
    rows.write()

    rows = Rows("isotonic_regression")
    isotonic(rows)
    rows.write()


def pools(rows):
    """Each seed stands in one row only: TensorFlow keeps the windows of a node with the same attributes."""
    seed = 0
    for op in ["FractionalAvgPool", "FractionalMaxPool"]:
        for dtype in POOLED:
            for pseudo in [False, True]:
                for shape, ratio in [((2, 7, 11, 3), (1, 1.44, 1.73, 1)), ((1, 13, 5, 1), (1, 2.6, 1, 1))]:
                    for overlapping in [False, True]:
                        seed += 1
                        rows.add(op, [unit_floats(*shape, low=-9, high=9).astype(dtype)], pooling_ratio=ratio, pseudo_random=pseudo, overlapping=overlapping,
                                 deterministic=True, seed=seed, seed2=7)
        x = unit_floats(1, 6, 6, 1)
        special = x.copy()
        special[0, :, 2, 0] = np.nan, np.inf, -np.inf, np.nan, 0, -0.0
        rows.add(op, [special], pooling_ratio=(1, 2, 2, 1), deterministic=True, seed=500)
        rows.add(op, [unit_floats(1, 64, 50, 2)], pooling_ratio=(1, 1.2, 1.1, 1), deterministic=True, seed=2**40 + 1, seed2=-5)
        for i, ratio in enumerate([(2, 1.5, 1.5, 1), (1, 1.5, 1.5, 2), (1, 0.5, 1, 1), (1, 7, 1, 1), (1, -1, 2, 1), (1, 1, 1, 1, 1), (1, float("nan"), 1, 1), (1, float("inf"), 1, 1)]):
            rows.add(op, [x], pooling_ratio=ratio, deterministic=True, seed=600 + i)
        for i, wrong in enumerate([x[0], x[:0], x[:, :0], x[..., :0]]):
            rows.add(op, [wrong], pooling_ratio=(1, 1.5, 1.5, 1), deterministic=True, seed=700 + i)
        rows.add(op, [x], pooling_ratio=(1, 1.5, 1.5, 1), seed=1)


def mean_gradients(rows):
    borders = np.array([0, 2, 5, 7]), np.array([0, 1, 2, 4])
    for dtype in POOLED:
        for overlapping in [False, True]:
            rows.add("FractionalAvgPoolGrad", [np.array([2, 7, 4, 3]), unit_floats(2, 3, 3, 3, low=-50, high=50).astype(dtype), *borders], overlapping=overlapping)
    size, dy = np.array([1, 7, 4, 1]), unit_floats(1, 3, 3, 1)
    rows.add("FractionalAvgPoolGrad", [size, dy, np.array([0, 2, 9, 12]), borders[1]])
    rows.add("FractionalAvgPoolGrad", [size, dy, np.array([0, 2, 5, 7, 7]), borders[1]])
    for wrong in [(size[:3], dy, *borders), (size, dy[0], *borders), (-size, dy, *borders), (size, dy, borders[0][:3], borders[1]), (size, dy, borders[0], borders[1] - 1),
                  (size, dy, borders[0], borders[1][:2])]:
        rows.add("FractionalAvgPoolGrad", list(wrong), text=False)


def max_gradients(rows):
    for i, dtype in enumerate(POOLED):
        for j, overlapping in enumerate([False, True]):
            for x in [unit_floats(2, 7, 5, 3, low=-50, high=50).astype(dtype), np.zeros((1, 7, 5, 1), dtype)]:
                y = tf.raw_ops.FractionalMaxPool(value=x, pooling_ratio=(1, 1.7, 1.4, 1), overlapping=overlapping, deterministic=True, seed=800 + 2 * i + j)
                dy = unit_floats(*y.output.shape, low=-9, high=9).astype(dtype)
                rows.add("FractionalMaxPoolGrad", [x, y.output, dy, y.row_pooling_sequence, y.col_pooling_sequence], overlapping=overlapping)
    x, y = unit_floats(1, 4, 4, 1), unit_floats(1, 2, 2, 1)
    borders = np.array([0, 2, 4])
    for wrong in [(x, y, y, borders, borders), (x[0], y, y, borders, borders), (x, y, y, borders[None], borders), (x, y, y[:, :1], borders, borders),
                  (x, y, y, borders[:2], borders)]:
        rows.add("FractionalMaxPoolGrad", list(wrong), text=False)


def approximate(rows):
    for dtype in [np.float32, np.float16, tf.bfloat16.as_numpy_dtype]:
        for shape in [(9,), (2, 9), (2, 3, 5)]:
            for aggregate in [True, False]:
                rows.add("ApproxTopK", [unit_floats(*shape).astype(dtype)], k=3, aggregate_to_topk=aggregate)
    ties = np.array([[1, 3, 3, 2, 3], [-0.0, 0.0, -np.inf, np.inf, 0.0]], np.float32)
    for k in [0, 2, 5, 6]:
        rows.add("ApproxTopK", [ties], k=k, recall_target=0.5)
    rows.add("ApproxTopK", [ties[:0]], k=2)
    rows.add("ApproxTopK", [np.float32(1)], k=1, text=False)


def isotonic(rows):
    for dtype, output in [(np.float32, tf.float32), (np.float64, tf.float64), (np.float16, tf.float16), (tf.bfloat16.as_numpy_dtype, tf.bfloat16),
                          (np.int8, tf.float32), (np.int16, tf.float32), (np.int32, tf.float64), (np.int64, tf.float64)]:
        for shape in [(), (7,), (3, 40), (2, 2, 5)]:
            rows.add("IsotonicRegression", [unit_floats(*shape, low=-100, high=100).astype(dtype)], output_dtype=output)
    for x in [[[3, 1, np.nan, 5], [np.inf, -np.inf, 1, 2]], [[1, 1, 2, 2], [4, 3, 2, 1]], [[1, 2, 3, 4], [0, -0.0, 0, 0]]]:
        rows.add("IsotonicRegression", [np.array(x, np.float32)])
    for shape in [(0, 3), (3, 0), (0,)]:
        rows.add("IsotonicRegression", [np.zeros(shape, np.float32)])


FAMILIES = [fractional_pool]

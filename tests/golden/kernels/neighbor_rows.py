"""Rows of the second gradient of pooling and of nearest neighbors."""
import numpy as np
import tensorflow as tf

from drawn import ALL_REAL, i32, unit_floats
from rows import Rows

F = np.float32


def max_pool_grad_grad():
    rows = Rows("max_pool_grad_grad", seed=3)
    pooled(rows)
    rows.write()

    rows = Rows("nearest_neighbors")
    nearest(rows)
    rows.write()


def pooled(rows):
    for dtype in ALL_REAL:
        for padding in ["VALID", "SAME"]:
            for ksize, strides in [((1, 2, 2, 1), (1, 2, 2, 1)), ((1, 3, 2, 1), (1, 1, 2, 1))]:
                x = np.random.RandomState(3).permutation(2 * 5 * 4 * 2).reshape(2, 5, 4, 2).astype(dtype)
                y = tf.nn.max_pool(x.astype(np.float32), ksize, strides, padding).numpy().astype(dtype)
                rows.add("MaxPoolGradGrad", [x, y, (np.arange(x.size) % 50).reshape(x.shape).astype(dtype)], ksize=ksize, strides=strides, padding=padding)
    x, y = unit_floats(1, 4, 4, 1), np.zeros((1, 2, 2, 1), F)
    rows.add("MaxPoolGradGradV2", [x, tf.nn.max_pool(x, 2, 2, "VALID"), unit_floats(1, 4, 4, 1), i32(1, 2, 2, 1), i32(1, 2, 2, 1)], padding="VALID")
    rows.add("MaxPoolGradGradV2", [x, tf.nn.max_pool(x, 3, 1, "SAME"), unit_floats(1, 4, 4, 1), i32(1, 3, 3, 1), i32(1, 1, 1, 1)], padding="SAME")
    same = dict(ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="VALID")
    for wrong in [(x, y, unit_floats(1, 2, 2, 1)), (x, unit_floats(1, 4, 4, 1), unit_floats(1, 4, 4, 1)), (x[0], y, unit_floats(1, 4, 4, 1))]:
        rows.add("MaxPoolGradGrad", list(wrong), text=False, **same)


def nearest(rows):
    points = np.random.RandomState(4).randint(-5, 6, (6, 3)).astype(F)
    centers = np.random.RandomState(5).randint(-5, 6, (9, 3)).astype(F)
    for k in [1, 2, 5, 9, 20]:
        rows.add("NearestNeighbors", [points, centers, np.int64(k)])
    rows.add("NearestNeighbors", [points, np.repeat(centers[:2], 3, 0), np.int64(4)])  # ties
    rows.add("NearestNeighbors", [points[:0], centers, np.int64(2)])
    rows.add("NearestNeighbors", [points, centers[:, :2], np.int64(2)], text=False)
    rows.add("NearestNeighbors", [points, centers, np.int64(0)], text=False)  # TensorFlow dies of -1
    rows.add("NearestNeighbors", [points[0], centers, np.int64(2)], text=False)


FAMILIES = [max_pool_grad_grad]

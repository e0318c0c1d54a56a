"""Rows at the edge of what an op takes: found by changes of other rows that TensorFlow answers."""
from rows import Rows
from drawn import f32, i32

import numpy as np
import tensorflow as tf

bfloat16 = tf.bfloat16.as_numpy_dtype


def edges():
    """Batches of images, matrices with NaN, rates that are no rate, places that are none."""
    rows = Rows("edges", seed=901)
    pixels = (np.arange(4 * 3 * 2 * 3) * 37 % 251).astype(np.uint8)
    for shape in [(4, 3, 2, 3), (2, 2, 3, 2, 3), (1, 12, 2, 3), (4, 0, 2, 3), (0, 3, 2, 3)]:
        rows.add("EncodePng", [pixels[:int(np.prod(shape))].reshape(shape)], text=0 not in shape)
    rows.add("EncodePng", [pixels.astype(np.uint16).reshape(2, 4, 9, 1)])
    rows.add("EncodePng", [pixels.reshape(8, 9)])
    rows.add("EncodePng", [np.zeros((2, 2, 2, 5), np.uint8)])
    for dtype in [np.float32, np.float64, np.complex64]:
        for x in [[[2, 1], [1, np.nan]], [[2, np.nan], [1, 3]], [[np.nan, 1], [1, 2]]]:
            rows.add("MatrixInverse", [np.array(x, dtype)])
            rows.add("MatrixSolve", [np.array(x, dtype), np.ones((2, 1), dtype)])
    system = np.array([[1, 2, 0], [4, 5, 6], [0, 1, 3]], np.float32)
    rows.add("TridiagonalSolve", [system, np.ones((3, 2), np.float32)], perturb_singular=True)
    rates = np.array([np.inf, -np.inf, -1, -0.0, 3], np.float64)
    for seed, dtype in enumerate([np.float32, np.float64, np.float16, np.int32, np.int64]):
        rows.add("StatelessRandomPoisson", [i32(3, 5), i32(1, 2), rates], dtype=dtype)
        rows.add("RandomPoissonV2", [i32(3), rates], dtype=dtype, seed=9000 + seed)
    for shape in [(), (1,), (2, 1), (0,), (2,)]:
        words = np.full(shape, b"word", object)
        rows.add("Substr", [words, np.zeros(0, np.int32), np.zeros(0, np.int32)], text=False)
    rows.add("Bincount", [i32([1, 1, 0]), np.int32(2), f32(0.5, 1, 2)])
    rows.add("Bincount", [i32(1, 1, 0), np.int32(2), f32([0.5], [1], [2])])
    rows.add("Bincount", [i32(1, 1, 0), np.int32(2), f32(0.5, 1)])
    for dtype in [np.float32, np.float64, np.float16, bfloat16, np.int32, np.uint8]:
        for n, k in [(7, 3), (40, 6), (200, 31), (9, 8), (12, 12), (12, 1), (2, 1), (30, 2)]:
            x = np.array([[(i * 37 + 11) % (n if row else 5) for i in range(n)] for row in range(2)])
            rows.add("TopKV2", [x.astype(dtype), np.int32(k)], each=0, sorted=False)
    rows.write()


FAMILIES = [edges]

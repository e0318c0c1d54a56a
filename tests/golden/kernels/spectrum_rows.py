"""Rows of singular values and eigenvalues. The vectors have no certain sign: tests/unit/runtime/test_spectrum.c multiplies them."""
import numpy as np
import tensorflow as tf

from rows import Rows

RANDOM = np.random.RandomState(11)
TYPES = [np.float32, np.float64, np.complex64, np.complex128]


def draw(dtype, *shape):
    x = RANDOM.uniform(-2, 2, shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * RANDOM.uniform(-2, 2, shape)
    return np.round(x, 3).astype(dtype)


def spectrum():
    rows = Rows("spectrum")
    for dtype in TYPES:
        near = 1e-5 if dtype in (np.float32, np.complex64) else 1e-8
        wide = {np.float32: tf.complex64, np.complex64: tf.complex64}.get(dtype, tf.complex128)
        for shape in [(1, 1), (3, 3), (2, 4), (4, 2), (2, 3, 3), (2, 2, 5, 2), (0, 3), (3, 0), (0, 2, 2), (2, 0, 0)]:
            rows.add("Svd", [draw(dtype, *shape)], near, compute_uv=False, skip=(1, 2))
            for full in [False, True]:
                rows.add("Svd", [draw(dtype, *shape)], near, full_matrices=full, skip=(1, 2) if 0 not in shape else ())
            if shape[-1] == shape[-2]:
                rows.add("SelfAdjointEigV2", [draw(dtype, *shape)], near, compute_v=False, skip=(1,))
                rows.add("SelfAdjointEigV2", [draw(dtype, *shape)], near, skip=(1,) if 0 not in shape else ())
        for vectors in [False, True]:
            rows.add("Eig", [draw(dtype, 2, 1, 1)], near, Tout=wide, compute_v=vectors, skip=() if vectors else (1,))
            rows.add("Eig", [draw(dtype, 0, 0)], near, Tout=wide, compute_v=vectors, skip=() if vectors else (1,))
            rows.add("Eig", [draw(dtype, 0, 2, 2)], near, Tout=wide, compute_v=vectors, skip=() if vectors else (1,))
        rows.add("Svd", [np.diag([3, 0, 0]).astype(dtype)], near, compute_uv=False, skip=(1, 2))
        rows.add("SelfAdjointEigV2", [np.diag([3, 0, -1]).astype(dtype)], near, compute_v=False, skip=(1,))
        rows.add("Eig", [np.full((2, 2), np.nan, dtype)], Tout=wide, text=False)
        for shape in [(), (3,)]:
            rows.add("Svd", [draw(dtype, *shape)], text=False)
        for shape in [(3,), (2, 3)]:
            rows.add("SelfAdjointEigV2", [draw(dtype, *shape)], text=False)
            rows.add("Eig", [draw(dtype, *shape)], Tout=wide, text=False)
    rows.write()


FAMILIES = [spectrum]

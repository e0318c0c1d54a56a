"""Types, and random numbers for the rows. Rows(seed=…) sets the seed, so that a file does not depend on the others."""
import numpy as np
import tensorflow as tf

bfloat16 = tf.bfloat16.as_numpy_dtype
HALVES = [np.float16, bfloat16]
FLOATS = [np.float32, np.float64] + HALVES
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
REALS = FLOATS + INTEGERS
COMPLEX = [np.complex64, np.complex128]
ALL_REAL = FLOATS + INTEGERS[:6]
LOOSE = {np.float16: 2e-3, bfloat16: 1.6e-2}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 1e30, -1.0, 0.5]
RANDOM = np.random.RandomState()


def floats(*shape, low=-2.0, high=2.0, dtype=np.float32):
    return np.round(RANDOM.uniform(low, high, shape), 3).astype(dtype)


def unit_floats(*shape, low=0.0, high=1.0, dtype=np.float32):
    return floats(*shape, low=low, high=high, dtype=dtype)


def integers(*shape, low=0, high=10, dtype=np.int32):
    return RANDOM.randint(low, high, shape).astype(dtype)


def hundreds(*shape, high=100, dtype=np.float32):
    return integers(*shape, high=high, dtype=dtype)


def complexes(*shape, dtype=np.complex64):
    return (floats(*shape) + 1j * floats(*shape)).astype(dtype)


def i32(*values):
    return np.array(values, np.int32)


def i64(*values):
    return np.array(values, np.int64)


def f32(*values):
    return np.array(values, np.float32)

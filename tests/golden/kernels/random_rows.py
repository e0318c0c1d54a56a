"""Rows of random numbers."""
from rows import Rows
from drawn import FLOATS, f32, floats, i32, integers

import numpy as np
import tensorflow as tf


def random():
    """Each seed stands in one row only: TensorFlow keeps the stream of a node with the same attributes."""
    rows = Rows("random", seed=641)
    key, counter = np.array([0x123456789abcdef], np.uint64), np.array([2**64 - 3, 5], np.uint64)
    seed = np.array([-3, 123456789012345])
    exact = dict(each=0)
    near = {np.float32: 1e-6, np.float64: 1e-14, np.float16: 1e-3, tf.bfloat16.as_numpy_dtype: 1e-2}
    for op in ["GetKeyCounter", "GetKeyCounterAlg"]:
        rows.add("StatelessRandom" + op, [seed])
        rows.add("StatelessRandom" + op, [i32(1, 2, 3)])
    rows.add("StatelessRandomGetAlg", [])
    rows.add("StatelessRandomUniformV2", [i32(5), key, counter, np.int32(3)], **exact)  # what Keras' layers ask for
    for number, dtype in enumerate(FLOATS):
        for kind in ["RandomUniform", "RandomNormal", "TruncatedNormal"]:
            how = exact if kind == "RandomUniform" else dict(each=near[dtype])
            name = kind if kind != "RandomNormal" else "RandomStandardNormal"
            rows.add("Stateless" + kind, [i32(3, 23), seed], dtype=dtype, **how)
            rows.add("Stateless" + kind + "V2", [i32(67), key, counter, np.int32(1)], dtype=dtype, **how)
            rows.add(name, [i32(9)], dtype=dtype, seed=number + 1, seed2=2**40 + 7, **how)
            rows.add(name, [i32(0, 9)], dtype=dtype, seed=number + 1, seed2=3)
    for dtype in [np.int32, np.int64]:
        lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
        for number, (low, high) in enumerate([(-5, 100), (lowest, highest), (highest - 1, highest)]):
            low, high = np.array(low, dtype), np.array(high, dtype)
            rows.add("StatelessRandomUniformInt", [i32(7), seed, low, high])
            rows.add("StatelessRandomUniformIntV2", [i32(67), key, counter, np.int32(1), low, high])
            rows.add("RandomUniformInt", [i32(7), low, high], seed=number + 1, seed2=9)
        same = np.array(4, dtype)
        rows.add("StatelessRandomUniformInt", [i32(7), seed, same, same])
        rows.add("StatelessRandomUniformInt", [i32(0), seed, same, same])
    for dtype in [np.int32, np.int64, np.uint32, np.uint64]:
        rows.add("StatelessRandomUniformFullInt", [i32(2, 4), seed], dtype=dtype)
        rows.add("StatelessRandomUniformFullIntV2", [i32(67), key, counter, np.int32(1)], dtype=dtype)
    for shape, k, c, algorithm in [(i32(2), [1, 2], [1, 2], 1), (i32(2), [1], [1, 2], 2),
                                   (i32(2), [1], [1, 2], [1]), (i32(-2), [1], [1, 2], 1), (np.int32(2), [1], [1, 2], 1)]:
        rows.add("StatelessRandomUniformV2", [shape, np.array(k, np.uint64), np.array(c, np.uint64),
                                              np.array(algorithm, np.int32)], text=False)
    for number, dtype in enumerate(FLOATS):
        logits = np.array([[0.5, 1, -3, 2], [np.inf, -np.inf, np.nan, 1], [-1, -1, 3, 3]], dtype)
        for out in [np.int32, np.int64]:
            rows.add("StatelessMultinomial", [logits, np.int32(9), seed], output_dtype=out)
            rows.add("Multinomial", [logits, np.int32(9)], seed=number + 1, seed2=4, output_dtype=out)
    rows.add("StatelessMultinomial", [f32(np.nan, np.inf, -np.inf)[None], np.int32(3), seed])
    rows.add("StatelessMultinomial", [np.zeros((2, 3)), np.int32(0), seed])
    rows.add("StatelessMultinomial", [np.zeros((0, 3)), np.int32(2), seed])
    rows.add("StatelessMultinomial", [np.zeros((2, 0)), np.int32(2), seed])
    rows.add("StatelessMultinomial", [np.zeros(2), np.int32(2), seed])
    rows.add("StatelessMultinomial", [np.zeros((1, 2)), np.int32(-1), seed])
    for number, value in enumerate([np.arange(100), integers(5, 3, dtype=np.int8), np.array([b"a", b"b", b"c"]),
                                    np.float32(1), floats(1, 4), floats(0, 4), floats(4, 0)]):
        rows.add("RandomShuffle", [value], seed=number + 1)
        rows.add("StatelessShuffle", [value, key, counter, np.int32(1)])
    rows.write()


def random_index_shuffle():
    rows = Rows("random_index_shuffle")
    for dtype in [np.int32, np.uint32, np.int64, np.uint64]:
        for most in [0, 1, 9, 255, 65535, 65536, 100000, 2**31 - 1] + ([2**40 + 3, 2**62] if np.dtype(dtype).itemsize == 8 else []):
            for rounds in [4, 8]:
                index = np.array([0, 1, most // 2, most], dtype)
                rows.add("RandomIndexShuffle", [index, np.int32([1, -2, 3]), np.array(most, dtype)], rounds=rounds)
                rows.add("RandomIndexShuffle", [np.array(most // 3, dtype), np.uint64([2**40 + 1, 5, 77]), np.array(most, dtype)], rounds=rounds)
    i32 = np.int32
    rows.add("RandomIndexShuffle", [i32(3), i32([[1, 2, 3], [4, 5, 6]]), i32([10, 20])])
    rows.add("RandomIndexShuffle", [i32([3, 4]), i32([[1, 2, 3], [4, 5, 6]]), i32(10)])
    for index, seed, most in [([1, 2], [1, 2, 3], [5, 6, 7]), ([1, 2], [1, 2], 5), ([[1, 2]], [1, 2, 3], 5), ([1, 2, 3], [[1, 2, 3]], 5)]:
        rows.add("RandomIndexShuffle", [i32(index), i32(seed), i32(most)], text=False)
    rows.write()


def sobol():
    rows = Rows("sobol")
    for dtype in [np.float32, np.float64]:
        for dim, count, skip in [(1, 5, 0), (2, 1, 0), (3, 8, 0), (7, 20, 1000), (1111, 3, 5), (40, 4, 2**24 + 5), (9, 2, 2**30 - 4), (9, 2, 2**30 - 3),
                                 (9, 2, 2**30 - 2), (9, 2, 2**31 - 4), (1111, 1, 2**29 - 1), (1111, 1, 2**30 - 3)]:
            rows.add("SobolSample", [np.int32(dim), np.int32(count), np.int32(skip)], dtype=dtype, each=0)
    for dim, count, skip in [(0, 1, 0), (-1, 1, 0), (2, 0, 0), (2, -1, 0), (2, 1, -1), (2, 2, 2**31 - 3), (2, 1, 2**31 - 1), (21201, 1, 0)]:
        rows.add("SobolSample", [np.int32(dim), np.int32(count), np.int32(skip)])
    for dim, count, skip in [([1], 1, 0), (1, [], 0), (1, 1, [[2]])]:
        rows.add("SobolSample", [np.int32(dim), np.int32(count), np.int32(skip)], text=False)
    rows.write()


FAMILIES = [random, random_index_shuffle, sobol]

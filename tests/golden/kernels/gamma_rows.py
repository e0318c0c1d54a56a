"""Rows of random numbers by rejection, for make_rows.py."""
import numpy as np
import tensorflow as tf

from image_rows import i32
from rows import Rows

NARROW = {np.float16: 1e-3}


def gammas():
    rows = Rows("gammas")
    for dtype in [np.float32, np.float64, np.float16]:
        for alphas in [np.array([0.1, 0.5, 1, 1.5, 20], dtype), np.array([[1], [0.7]], dtype), np.array(3, dtype)]:
            for seed in [(1, 2), (0, 0), (-5, 7)]:
                rows.add("StatelessRandomGammaV2", [i32(40, *alphas.shape), np.array(seed, np.int64), alphas], NARROW.get(dtype))
            key = np.array([123456789], np.uint64), np.array([5, 9], np.uint64)
            for algorithm in [1, 3]:
                rows.add("StatelessRandomGammaV3", [i32(3, 2, *alphas.shape), *key, np.int32(algorithm), alphas], NARROW.get(dtype))
    alphas = np.array([1, 2], np.float32)
    odd = np.array([np.nan, np.inf, 0, -1, -0.5], np.float32)
    rows.add("StatelessRandomGammaV2", [i32(4, 5), i32(1, 2), odd])
    for shape in [(0, 2), (3, 0, 2)]:
        rows.add("StatelessRandomGammaV2", [i32(*shape), i32(1, 2), alphas])
    for wrong in [(i32(2, 3), i32(1, 2), alphas), (i32(2), i32(1), alphas), (i32(2, 2), i32([1, 2]), alphas), (i32(-1, 2), i32(1, 2), alphas), (i32(2, 2), i32(1, 2), alphas[None, None, None])]:
        rows.add("StatelessRandomGammaV2", list(wrong), text=False)
    for i, dtype in enumerate([np.float32, np.float64, np.float16]):  # a seed for each row: the n-th run differs
        rows.add("RandomGamma", [i32(20), np.array([0.1, 0.5, 1, 1.5, 20], dtype)], NARROW.get(dtype), seed=100 + i, seed2=7)
        rows.add("RandomGamma", [np.array([3, 2]), np.array(2.5, dtype)], NARROW.get(dtype), seed=200 + i)
    for i, wrong in enumerate([(i32(0), alphas), (i32(2), alphas[:0]), (i32([2]), alphas), (i32(-1), alphas)]):
        rows.add("RandomGamma", list(wrong), text=False, seed=300 + i)
    poissons(rows)
    rows.write()


def poissons(rows):
    seed = 1000
    for dtype in [np.float32, np.float64, np.float16, np.int32, np.int64]:
        for kind in [np.float32, np.float64, np.float16, np.int32, np.int64]:
            rates = np.array([0.5, 3, 9.75, 10, 55.5, 300], np.float64).astype(kind)
            rows.add("StatelessRandomPoisson", [i32(20, 6), i32(3, 4), rates], dtype=dtype)
            rows.add("RandomPoissonV2", [i32(20), rates], dtype=dtype, seed=seed)
            seed += 1
        if dtype in (np.float32, np.float64, np.float16):
            rows.add("RandomPoisson", [np.array([20]), np.array([[0.5, 12], [100, 4]], dtype)], seed=seed, producer=24)
    odd = np.array([1e-9, 0, 10, 1e3, 1e10], np.float64)
    rows.add("StatelessRandomPoisson", [i32(3, 5), i32(1, 2), odd], dtype=np.float64)
    for wrong in [(i32(2, 3), i32(1, 2), odd), (i32(2, 5), i32(1), odd), (i32(-2, 5), i32(1, 2), odd)]:
        rows.add("StatelessRandomPoisson", list(wrong), dtype=np.float64, text=False)
    rows.add("StatelessRandomPoisson", [i32(0, 5), i32(1, 2), odd], dtype=np.float64)
    rows.add("RandomPoissonV2", [i32(0), odd], dtype=np.float64, seed=7)
    rows.add("RandomPoissonV2", [i32([2]), odd], dtype=np.float64, seed=8, text=False)


FAMILIES = [gammas]

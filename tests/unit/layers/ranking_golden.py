"""Writes ranking_golden.h: how many rows FactorizedTopK counts as right, by scores and by ids.

    python tests/unit/layers/ranking_golden.py > tests/unit/layers/ranking_golden.h            TensorFlow 2.21, then clang-format

As tensorflow_recommenders.metrics.FactorizedTopK counts, written with TensorFlow's ops. The numbers are small and whole, so that
scores have no rounding and many are equal; test_ranking.c makes the same ones."""
import numpy as np
import tensorflow as tf

ROWS, WIDTH, KS = 40, 3, (1, 5, 10, 50, 100, 2000)


def whole(count, width, a, b):
    """Element i of all rows is (a i i) mod b, about 0."""
    return ((np.arange(count * width, dtype=np.int64) ** 2 * a % b) - b // 2).astype(np.float32).reshape(count, width)


def choose_own(queries, candidates):
    """Of the first rows the best candidate, then worse ones."""
    order = np.argsort(-(queries @ candidates.T), axis=1, kind="stable")
    return np.array([order[row, min(row * row // 4, len(candidates) - 1)] for row in range(ROWS)])


def by_scores(queries, own, candidates):
    right = tf.reduce_sum(queries * own, axis=1, keepdims=True)
    top, _ = tf.math.top_k(tf.matmul(queries, candidates, transpose_b=True), min(max(KS), len(candidates)))
    targets = tf.zeros(ROWS, tf.int32)
    return [int(np.sum(tf.math.in_top_k(targets, tf.concat([right, top], axis=1), k))) for k in KS]


def by_ids(queries, own_ids, candidates, ids):
    _, places = tf.math.top_k(tf.matmul(queries, candidates, transpose_b=True), min(max(KS), len(candidates)))
    found = tf.gather(ids, places) == own_ids[:, None]
    return [int(np.sum(tf.reduce_any(found[:, :k], axis=1))) for k in KS]


def numbers(values):
    return "{ " + ", ".join(str(x) for x in values) + " }"


print("/* Made by ranking_golden.py. */")
print("#define GOLDEN_ROWS %d" % ROWS)
print("#define GOLDEN_KS \"[%s]\"" % ", ".join(str(k) for k in KS))
print("static const struct golden goldens[] = {")
for count in (7, 4096, 4097, 9001):  # a block has 4096 candidates
    queries, candidates = whole(ROWS, WIDTH, 7919, 31), whole(count, WIDTH, 104729, 997)
    own = choose_own(queries, candidates)
    ids = np.arange(count, dtype=np.int64) % (count // 2 + 1)  # most of them are those of two candidates
    print("    { \"%d candidates\", %d, %s, %s, %s }," % (count, count, numbers(own), numbers(by_scores(queries, candidates[own], candidates)),
                                                           numbers(by_ids(queries, ids[own], candidates, ids))))
print("};")

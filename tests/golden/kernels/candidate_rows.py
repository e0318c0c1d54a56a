"""Rows of ops that draw classes for a sampled softmax. TensorFlow keeps the stream of a node with the same attributes: each
seed stands in one row only."""
import itertools

from drawn import i64
from rows import Rows

import numpy as np

SEEDS = itertools.count(1)


def draw(rows, kind, classes, num_sampled, unique, **attrs):
    rows.add(kind + "CandidateSampler", [classes], each=1e-6, num_true=attrs.pop("num_true", classes.shape[-1]), num_sampled=num_sampled, unique=unique, seed=next(SEEDS), seed2=2**35 + 3, **attrs)


def candidates():
    rows = Rows("candidates")
    few, more = i64([0, 1], [2, 4], [3, 3]), np.arange(12).reshape(4, 3).astype(np.int64)
    for unique in [False, True]:
        for kind in ["Uniform", "LogUniform", "LearnedUnigram", "ThreadUnsafeUnigram"]:
            for classes, num_sampled, range_max in [(few, 5, 5), (few, 3, 7), (more, 40, 64), (more, 30, 1000), (more, 3, 12345), (few[:0], 2, 5), (more[:1, :1], 1, 1)]:
                draw(rows, kind, classes, num_sampled, unique, range_max=range_max)
        for range_max in [2**31 - 2, 2**31, 2**40 + 1, 2**62, 2**63 - 1]:
            draw(rows, "Uniform", more, 9, unique, range_max=range_max)
            draw(rows, "LogUniform", more, 9, unique, range_max=range_max)
        for num_sampled, weights in [(3, [1, 2, 3, 4, 5]), (5, [5, 0.5, 0.25, 100, 1]), (4, [0, 1, 1, 2, 0, 3]), (20, list(range(1, 31))), (2, [1e30, 1e29]), (1, [3])]:
            for distortion in [1, 0.75, 0, -1]:
                if 0 not in weights or distortion > 0:
                    draw(rows, "FixedUnigram", few % len(weights), num_sampled, unique, range_max=len(weights), unigrams=weights, distortion=distortion)
        draw(rows, "FixedUnigram", few, 3, unique, range_max=8, unigrams=[1, 2, 3, 4, 5], num_reserved_ids=3)
        for shard in range(3):
            draw(rows, "FixedUnigram", few % 2, 2, unique, range_max=[3, 3, 2][shard], unigrams=[1, 2, 3, 4, 5, 6, 7], num_reserved_ids=1, num_shards=3, shard=shard)
        for classes in [few, few[:0]]:
            draw(rows, "All", classes, 5, unique)
    for classes in [i64([-3, 7], [100, 5]), i64([2, 6], [2, 2])]:
        for kind in ["Uniform", "LogUniform", "LearnedUnigram", "ThreadUnsafeUnigram"]:
            draw(rows, kind, classes, 4, True, range_max=6)
            draw(rows, kind, classes, 7, True, range_max=6)
        draw(rows, "FixedUnigram", classes, 4, False, range_max=6, unigrams=[1, 2, 4, 5, 6, 7])
        draw(rows, "All", classes, 6, False)
    for kind, attrs in [("Uniform", {}), ("LogUniform", {}), ("LearnedUnigram", {}), ("FixedUnigram", dict(unigrams=[1, 2, 3, 4])), ("All", None)]:
        attrs = {} if attrs is None else dict(range_max=4, **attrs)
        draw(rows, kind, few[0], 3, True, num_true=2, **attrs)
        draw(rows, kind, few, 3, True, num_true=3, **attrs)
        if attrs:
            draw(rows, kind, few, 5, True, **attrs)
    for wrong in [dict(), dict(unigrams=[1, 2, 3]), dict(unigrams=[1, 2, 3, 4, 5, 6]), dict(unigrams=[1, 2, 3, 4, 5], num_reserved_ids=1), dict(vocab_file="x", unigrams=[1]), dict(unigrams=[1, 2, 3, 4, 5], num_shards=2, shard=2)]:
        draw(rows, "FixedUnigram", few, 3, False, range_max=5, **wrong)
    for classes, drawn in [(few, i64(4, 9, 3, 0)), (few, i64(3, 3, 1)), (few, i64()), (few[:0], i64(1)), (few, i64(7, 8)), (i64([-1], [2**40]), i64(2**40, -1, -1))]:
        rows.add("ComputeAccidentalHits", [classes, drawn], num_true=classes.shape[1])
    rows.add("ComputeAccidentalHits", [few[0], i64(1)], num_true=2)
    rows.add("ComputeAccidentalHits", [few, i64(1)], num_true=3)
    rows.add("ComputeAccidentalHits", [few, few], num_true=2)
    rows.write()


FAMILIES = [candidates]

"""Rows of the ops that combine the features of a row."""
from drawn import i64
from rows import Rows

import numpy as np
import tensorflow as tf


def strings(*values):
    return tf.constant(list(values), tf.string, shape=[len(values)])


INDICES, SHAPE = i64([0, 0], [0, 1], [2, 0]), i64(3, 2)
TEXTS, NUMBERS = strings("m", "", b"o\0"), i64(5, -6, 2**40 + 7)
DENSE, WIDE, DENSE_NUMBERS = tf.constant([["a"], [""], ["\u00e9"]]), tf.constant([["p", "q"], ["r", "s"], ["t", "u"]]), i64([1], [-2], [2**62])


def sparse_inputs(sparse, dense):
    return [[s[0] for s in sparse], [s[1] for s in sparse], [s[2] for s in sparse], dense]


def types(tensors):
    return [tf.convert_to_tensor(tensor).dtype for tensor in tensors]


def is_hashed_as_it_stands(dense):
    """TensorFlow takes an integer of a dense input for an address when the hash is strong."""
    return any(tf.convert_to_tensor(d).dtype == tf.int64 for d in dense)


def sparse_crosses(rows):
    text, number, none = (INDICES, TEXTS, SHAPE), (INDICES, NUMBERS, SHAPE), (np.zeros((0, 2), np.int64), strings(), SHAPE)
    wrong = [(INDICES[:, 0], TEXTS, SHAPE), (INDICES[:, :1], TEXTS, SHAPE), (INDICES, TEXTS[:2], SHAPE), (INDICES, tf.reshape(TEXTS, [3, 1]), SHAPE), (INDICES, TEXTS, i64(3)), (INDICES, TEXTS, i64([3, 2])),
             (INDICES, TEXTS, i64(4, 2))]
    cases = [([text], []), ([number], []), ([], [DENSE]), ([], [DENSE_NUMBERS]), ([text, number], []), ([number, text], [WIDE]), ([], [WIDE, DENSE_NUMBERS, DENSE]), ([none], [WIDE]), ([text], [WIDE[:, :0]]),
             ([], [DENSE[:0], WIDE[:0]]), ([], []), ([text], [DENSE[:2]]), ([], [DENSE, WIDE[:2]]), ([], [DENSE[:, 0]]), ([text], [tf.reshape(WIDE, [3, 2, 1])])] + [([text, w], []) for w in wrong]
    for sparse, dense in cases:
        inputs = sparse_inputs(sparse, dense)
        for separator in ["_X_", "", b"\0-"]:
            rows.add("SparseCrossV2", inputs + [tf.constant(separator)], N=len(sparse), sparse_types=types(inputs[1]), dense_types=types(dense))
        for buckets, strong, salt in [(0, False, (1, 2)), (10, False, (1, 2)), (-1, False, (0, 0)), (0, True, (137, 173)), (2**40, True, (-1, 2**62))]:
            if not (strong and is_hashed_as_it_stands(dense)):
                rows.add("SparseCrossHashed", inputs + [np.int64(buckets), np.bool_(strong), i64(*salt)], N=len(sparse), sparse_types=types(inputs[1]), dense_types=types(dense))
    inputs = sparse_inputs([text], [])
    rows.add("SparseCrossV2", inputs + [strings("a")], N=1, sparse_types=[tf.string], dense_types=[], text=False)
    for salt in [i64(), i64(1), i64(1, 2, 3)]:
        rows.add("SparseCrossHashed", inputs + [np.int64(3), np.bool_(True), salt], N=1, sparse_types=[tf.string], dense_types=[])
    rows.add("SparseCrossHashed", inputs + [np.int64(3), np.bool_(True), i64([1, 2])], N=1, sparse_types=[tf.string], dense_types=[])


def ragged_crosses(rows):
    def add(order, ragged=(), sparse=(), dense=(), kinds=[(False, 0), (True, 0), (True, 7)], splits=tf.int64, **more):
        for hashed, buckets in kinds:
            rows.add("RaggedCross", [[r[0] for r in ragged], [r[1] for r in ragged], [s[0] for s in sparse], [s[1] for s in sparse], [s[2] for s in sparse], list(dense)],
                     **{**dict(Nsparse=len(sparse), input_order=order, hashed_output=hashed, num_buckets=buckets, hash_key=0xDECAFCAFFE, out_values_type=tf.int64 if hashed else tf.string,
                               out_row_splits_type=splits, ragged_values_types=types(r[0] for r in ragged), ragged_splits_types=types(r[1] for r in ragged),
                               sparse_values_types=types(s[1] for s in sparse), dense_types=types(dense)), **more})
    text, number = (strings("a", "", "c", b"d\0"), i64(0, 2, 2, 4)), (i64(1, -2, 2**50), i64(0, 1, 2, 3))
    small = (i64(7, 8, 9), np.array([0, 2, 2, 3], np.int32))
    sparse_text, sparse_number = (INDICES, TEXTS, SHAPE), (INDICES, NUMBERS, SHAPE)
    add("R", [text])
    add("R", [small], splits=tf.int32)
    add("RR", [text, number])
    add("RRR", [number, text, number])
    add("S", sparse=[sparse_text])
    add("SS", sparse=[sparse_number, sparse_text])
    add("D", dense=[WIDE])
    add("DD", dense=[DENSE_NUMBERS, WIDE], splits=tf.int32)
    for order in ["RSD", "DSR", "SDR"]:
        add(order, [text], [sparse_number], [WIDE])
    add("RSDR", [text, number], [sparse_number], [DENSE])
    add("")
    add("R", [(strings(), i64(0))])
    add("R", [(strings(), i64(0, 0, 0))])
    add("D", dense=[WIDE[:0]])
    add("D", dense=[WIDE[:, :0]])
    add("S", sparse=[(i64([0, 0], [5, 0], [0, 1]), NUMBERS, SHAPE)])
    once = dict(kinds=[(False, 0)])
    for splits in [(0, 3), (1, 4), (0, 3, 1, 4), (), (0,), (0, 5)]:
        add("R", [(text[0], i64(*splits))], **once)
    add("R", [(tf.reshape(text[0], [2, 2]), i64(0, 2))], **once)
    add("R", [(text[0], i64([0, 4]))], **once)
    add("D", dense=[DENSE[:, 0]], **once)
    add("S", sparse=[(INDICES, TEXTS, i64(3))], **once)
    add("S", sparse=[(INDICES[:, 0], TEXTS, SHAPE)], **once)
    add("S", sparse=[(INDICES, tf.reshape(TEXTS, [3, 1]), SHAPE)], **once)
    for order in ["X", "D", "RR", "", "S"]:
        add(order, [text], **once)
    for ragged, sparse, dense in [([text, (text[0], i64(0, 4))], (), ()), ([text], (), [DENSE[:2]]), ([text], [(INDICES, TEXTS, i64(2, 2))], ()), ((), [sparse_text], [DENSE[:2]])]:
        add("R" * len(ragged) + "S" * len(sparse) + "D" * len(dense), ragged, sparse, dense, **once)


def feature_crosses():
    rows = Rows("feature_crosses")
    sparse_crosses(rows)
    ragged_crosses(rows)
    rows.write()


FAMILIES = [feature_crosses]

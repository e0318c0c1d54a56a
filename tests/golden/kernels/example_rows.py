"""Rows of ops that parse tf.Examples."""
from rows import Rows
from drawn import f32

import numpy as np
import tensorflow as tf


def example():
    rows = Rows("example", seed=748)
    feature, ints, texts, real = tf.train.Feature, tf.train.Int64List, tf.train.BytesList, tf.train.FloatList

    def serialized(**features):
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString(deterministic=True)

    a = serialized(x=feature(float_list=real(value=[1, 2])), n=feature(int64_list=ints(value=[3])),
                   s=feature(bytes_list=texts(value=[b"hi", b"\0%"])))
    b = serialized(x=feature(float_list=real(value=[4, 5])), s=feature(bytes_list=texts(value=[])))
    c = serialized(n=feature(int64_list=ints(value=[7, 8, 9])))
    none, no_names = np.zeros(0, np.float32), np.zeros(0, np.bytes_)
    dense = dict(dense_shapes=[[2], []])
    for batch, names in [([a, b], []), ([a, c], []), ([c, a], [b"first", b"second"]), ([], [])]:
        batch, names = np.array(batch, object), np.array(names, object)
        batch, names = [tf.constant(v.tolist(), tf.string, shape=[len(v)]) for v in (batch, names)]
        for defaults in [[none, np.zeros(0, np.int64)], [f32(8, 9), np.int64(5)]]:
            rows.add("ParseExample", [batch, names, [b"s", b"other"], [b"x", b"n"], defaults], sparse_types=[tf.string, tf.int64], **dense)
            rows.add("ParseExampleV2", [batch, names, np.array([b"other"]), np.array([b"x", b"n"]), np.array([b"s"]), defaults],
                     num_sparse=1, sparse_types=[tf.float32], ragged_value_types=[tf.string], ragged_split_types=[tf.int32], **dense)
    for one in [a, c]:
        rows.add("ParseSingleExample", [one, [f32(8, 9), np.int64(5)]], num_sparse=1, sparse_keys=["s"], dense_keys=["x", "n"],
                 sparse_types=[tf.string], **dense)
    keys = tf.zeros([0], tf.string)
    for default, shape in [(np.zeros(0, np.int64), [2]), (none, [3]), (f32(0), [-1]), (f32(0), [-1, 2]), (none, [-1])]:
        rows.add("ParseExampleV2", [tf.constant([a, b]), keys, keys, np.array([b"x"]), keys, [default]], num_sparse=0,
                 dense_shapes=[shape], sparse_types=[], ragged_value_types=[], ragged_split_types=[])
    rows.add("ParseSingleExample", [tf.constant([a]), [f32(8, 9), np.int64(5)]], num_sparse=0, sparse_keys=[], dense_keys=["x", "n"], sparse_types=[], **dense)
    rows.write()


FAMILIES = [example]

"""Makes the checkpoints beside it with real TensorFlow (2.21): python make_bundles.py, in this directory.

types    all types that a CPU can make, each "t/<type>" of shape [3] = 0, 1, 2 and "e/<type>" of shape [0, 2]; strings
slices   "emb" float [6, 4] = 0 … 23 in pieces: rows [0, 2), rows [2, 6) columns [0, 1), rows [2, 6) columns [1, 4);
         "words" string [4] = w0 … w3 in two pieces; "hole" float [4], of which only [0, 2) is there; "plain" float scalar 7
shards   two shards: "a" float [2] = 1, 2 and "b" int64 [2] = 3, 4, merged as parameter servers' checkpoints are
variant  "list", a tensor list of 1.0 and 2.0
v1       format V1 in two files: "a" float [2] = 0.5, 2; "s" string [2]; "emb" int32 [4, 2] = 0 … 7, two rows in each file
v1_types format V1 in one file, all of its types: "t/<type>" of shape [3] = 0, 1, 2 (-1 first where there is a sign) and
         "e/<type>" of shape [0, 2]; strings; "s/scalar" float 7
many     not kept, but the checksum of its index: 20 000 float scalars "tensor/%05d" = their number, many.crc32c
"""
import glob
import os

import numpy as np
import tensorflow as tf

TYPES = ("float32 float64 int32 uint8 int16 int8 complex64 int64 bool qint8 quint8 qint32 bfloat16 qint16 quint16 uint16 "
         "complex128 float16 uint32 uint64 float8_e5m2 float8_e4m3fn int4 uint4").split()
save = tf.raw_ops.SaveV2


def tensor(name, shape_from):
    dtype = tf.dtypes.as_dtype(name)
    if dtype.is_quantized:
        plain = tf.dtypes.as_dtype(name[1:] if name.startswith("q") else name)
        return tf.bitcast(tf.cast(shape_from, plain), dtype)
    return tf.cast(tf.cast(shape_from, tf.float32) if name.startswith("float8") else shape_from, dtype)


names, values = [], []
for name in TYPES:
    try:
        three, none = tensor(name, [0, 1, 2]), tensor(name, tf.zeros([0, 2], tf.int32))
    except Exception as e:
        print("left out:", name, str(e).splitlines()[0])
        continue
    names += ["t/" + name, "e/" + name]
    values += [three, none]
names += ["t/string", "e/string", "s/scalar"]
values += [tf.constant([b"ab", b"", b"x\0yz"]), tf.zeros([0], tf.string), tf.constant(b"alone")]
order = sorted(range(len(names)), key=lambda i: names[i])
save(prefix="types", tensor_names=[names[i] for i in order], shape_and_slices=[""] * len(names), tensors=[values[i] for i in order])

emb = tf.reshape(tf.range(24, dtype=tf.float32), [6, 4])
words = tf.constant([b"w0", b"w1", b"w2", b"w3"])
save(prefix="slices",
     tensor_names=["emb", "emb", "emb", "words", "words", "hole", "plain"],
     shape_and_slices=["6 4 0,2:-", "6 4 2,4:0,1", "6 4 2,4:1,3", "4 0,1", "4 1,3", "4 0,2", ""],
     tensors=[emb[:2], emb[2:, :1], emb[2:, 1:], words[:1], words[1:], tf.zeros([2]), tf.constant(7.0)])

save(prefix="part0", tensor_names=["a"], shape_and_slices=[""], tensors=[tf.constant([1.0, 2.0])])
save(prefix="part1", tensor_names=["b"], shape_and_slices=[""], tensors=[tf.constant([3, 4], tf.int64)])
tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=["part0", "part1"], destination_prefix="shards", delete_old_dirs=False)

items = tf.raw_ops.TensorListFromTensor(tensor=tf.constant([1.0, 2.0]), element_shape=tf.constant([], tf.int32))
save(prefix="variant", tensor_names=["list"], shape_and_slices=[""], tensors=[items])

v1 = tf.reshape(tf.range(8), [4, 2])
tf.raw_ops.SaveSlices(filename="v1-00000-of-00002", tensor_names=["a", "emb"], shapes_and_slices=["", "4 2 0,2:-"],
                      data=[tf.constant([0.5, 2.0]), v1[:2]])
tf.raw_ops.SaveSlices(filename="v1-00001-of-00002", tensor_names=["s", "emb"], shapes_and_slices=["", "4 2 2,2:-"],
                      data=[tf.constant([b"x", b"a\0b"]), v1[2:]])

V1_TYPES = "float32 float64 int32 uint8 int16 int8 complex64 int64 bool uint16 complex128 float16".split()
names, values = ["s/scalar", "t/string", "e/string"], [tf.constant(7.0), tf.constant([b"ab", b"", b"x\0yz"]), tf.zeros([0], tf.string)]
for name in V1_TYPES:
    first = 0 if name.startswith("u") or name == "bool" else -1
    names += ["t/" + name, "e/" + name]
    values += [tf.cast([first, 1, 2], name), tf.cast(tf.zeros([0, 2]), name)]
tf.raw_ops.SaveSlices(filename="v1_types", tensor_names=names, shapes_and_slices=[""] * len(names), data=values)

count = 20000
save(prefix="many", tensor_names=["tensor/%05d" % i for i in range(count)], shape_and_slices=[""] * count,
     tensors=[tf.constant(float(i)) for i in range(count)])
table = []
for b in range(256):
    for _ in range(8):
        b = b >> 1 ^ (0x82F63B78 if b & 1 else 0)
    table.append(b)
crc = 0xFFFFFFFF
for byte in open("many.index", "rb").read():
    crc = crc >> 8 ^ table[(crc ^ byte) & 255]
with open("many.crc32c", "w") as f:
    f.write("%08x %d\n" % (crc ^ 0xFFFFFFFF, os.path.getsize("many.index")))
for f in glob.glob("many.index") + glob.glob("many.data*") + glob.glob("part*"):
    os.remove(f)

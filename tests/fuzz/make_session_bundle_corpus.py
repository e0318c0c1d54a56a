"""Writes tests/fuzz/corpus/session_bundle: small export.meta files of TensorFlow's saver, with the collections of its old exporter.

    python3 tests/fuzz/make_session_bundle_corpus.py
"""
import os
import shutil
import sys
import tempfile

import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tensorflow"))
import legacy_exporter  # noqa: E402

OUT = os.path.join(HERE, "corpus", "session_bundle")
v1 = tf.compat.v1


def write(name, signatures, restore_slice=False, **more):
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 2], "x")
        w = v1.get_variable("w", [2, 2], use_resource=False)
        y = tf.add(tf.matmul(x, w), 1.0, "y")
        session.run(v1.global_variables_initializer())
        saver = v1.train.Saver([w], sharded=True, write_version=v1.train.SaverDef.V1)
        if restore_slice:
            pattern = session.graph.get_tensor_by_name(saver.saver_def.filename_tensor_name)
            old = tf.raw_ops.RestoreSlice(file_pattern=pattern, tensor_name="w", shape_and_slice="", dt=tf.float32)
            v1.group(v1.assign(w, old), name="old_restore")
        directory = os.path.join(tempfile.mkdtemp(), "1")
        if more.pop("assets", False):
            more["assets"] = {"list.txt": (tf.constant("list.txt", name="asset"), "a")}
        if more.pop("init_op", False):
            more["init_op"] = tf.no_op("init")
        legacy_exporter.export(directory, session, saver, **signatures(x, y), **more)
        meta = v1.MetaGraphDef.FromString(open(os.path.join(directory, "export.meta"), "rb").read())
        meta.meta_info_def.ClearField("stripped_op_list")
        with open(os.path.join(OUT, name), "wb") as file:
            file.write(meta.SerializeToString(deterministic=True))
        shutil.rmtree(os.path.dirname(directory))


def named(x, y):
    return {"inputs": legacy_exporter.generic({"images": x}), "outputs": legacy_exporter.generic({"scores": y})}


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    write("classify", lambda x, y: {"default": legacy_exporter.classification(x, scores=y), "named": named(x, y)}, init_op=True)
    write("regress", lambda x, y: {"default": legacy_exporter.regression(x, y)}, assets=True)
    write("named", lambda x, y: {"named": named(x, y)}, clear_devices=True)
    write("restore_slice", lambda x, y: {"named": named(x, y)}, restore_slice=True)

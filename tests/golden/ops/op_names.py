#!/usr/bin/env python3
"""Writes core/graph/registered.def: the names of all ops that TensorFlow, TensorFlow Text and Decision Forests register, sorted by their bytes.

    python tests/golden/ops/op_names.py > core/graph/registered.def

Made with TensorFlow and TensorFlow Text 2.21, and ydf-tf 2.21.0.post1, which has the ops of Decision Forests.
"""
import os
import textwrap

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from tensorflow.core.framework import op_def_pb2  # noqa: E402
import tensorflow_text  # noqa: E402, F401
import ydf_tf  # noqa: E402, F401
from tensorflow.python.client import pywrap_tf_session  # noqa: E402

ops = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
print("/* Written by tests/golden/ops/op_names.py: the ops of TensorFlow's registry, TensorFlow Text's and Decision Forests', sorted. */")
print(textwrap.fill(" ".join('"%s",' % op.name for op in sorted(ops.op, key=lambda op: op.name.encode())), 99))

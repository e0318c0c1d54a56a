#!/usr/bin/env python3
"""Writes kernel_types.txt: for each op with a kernel for the CPU in TensorFlow's pip package, and each of its type attributes, the types.

    python tests/golden/ops/kernel_types.py > tests/golden/ops/kernel_types.txt

Made with TensorFlow 2.21. A line is `op attribute type…`, sorted. A type stands there if some kernel takes it and the op's definition
allows it. Attributes that take any type are left out, and so are types that numpy and Slipway do not have, such as int4.
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from tensorflow.core.framework import kernel_def_pb2, op_def_pb2, types_pb2  # noqa: E402
from tensorflow.python.client import pywrap_tf_session  # noqa: E402

TYPES = ["float", "double", "int32", "uint8", "int16", "int8", "string", "complex64", "int64", "bool", "qint8", "quint8", "qint32", "bfloat16",
         "qint16", "quint16", "uint16", "complex128", "half", "resource", "variant", "uint32", "uint64"]


def names(values):
    return {types_pb2.DataType.Name(value)[len("DT_"):].lower() for value in values.list.type}


library = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
registry = kernel_def_pb2.KernelList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllRegisteredKernels()))
kernels = {}
for kernel in registry.kernel:
    if kernel.device_type == "CPU" and not kernel.label:
        kernels.setdefault(kernel.op, []).append({limit.name: names(limit.allowed_values) for limit in kernel.constraint})

print("# Written by tests/golden/ops/kernel_types.py")
for op in sorted(library.op, key=lambda op: op.name):
    for attr in op.attr:
        if attr.type not in ("type", "list(type)") or op.name not in kernels:
            continue
        allowed = names(attr.allowed_values) & set(TYPES) or set(TYPES)
        taken = set().union(*(kernel.get(attr.name, allowed) for kernel in kernels[op.name])) & allowed
        if taken != set(TYPES):
            print(op.name, attr.name, *sorted(taken))

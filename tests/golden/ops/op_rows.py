#!/usr/bin/env python3
"""Writes ops.txt: for each op of core/graph/ops.def what TensorFlow's registry says, in the notation of op.h.

    python tests/golden/ops/op_rows.py > tests/golden/ops/ops.txt

Made with TensorFlow and TensorFlow Text 2.21, and ydf-tf 2.21.0.post1, which has the ops of Decision Forests. Ops that are not in the registry of Python (their names begin with _) are left out.
"""
import os
import pathlib
import re

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow  # noqa: E402, F401
import tensorflow_text  # noqa: E402, F401
import ydf_tf  # noqa: E402, F401
from tensorflow.core.framework import types_pb2  # noqa: E402
from tensorflow.python.framework import op_def_registry  # noqa: E402

OPS_DEF = pathlib.Path(__file__).resolve().parents[3] / "core/graph/ops.def"


def type_name(number):
    return types_pb2.DataType.Name(number)[len("DT_"):].lower()


def argument(arg):
    if arg.type_list_attr:
        text = "list " + arg.type_list_attr
    else:
        text = arg.type_attr or type_name(arg.type)
        if arg.number_attr:
            text = arg.number_attr + "*" + text
    return f"{arg.name}:{text}{'&' if arg.is_ref else ''}"


def shape(value):
    return "unknown" if value.unknown_rank else "[" + ",".join(str(d.size) for d in value.dim) + "]"


# How one value of each kind is written, and in which field of AttrValue and of its list it stands.
WRITERS = {
    "int": ("i", str),
    "float": ("f", "{:g}".format),
    "bool": ("b", lambda value: "true" if value else "false"),
    "string": ("s", lambda value: "'" + value.decode() + "'"),
    "type": ("type", type_name),
    "shape": ("shape", shape),
}


# Names for sets of types, as ops.def has them (op_type_sets of core/graph/op_parse.c): the largest first.
TYPE_SETS = {
    "number": "float double int32 uint8 int16 int8 complex64 int64 qint8 quint8 qint32 bfloat16 qint16 quint16 uint16 complex128 half "
              "uint32 uint64",
    "real": "float double int32 uint8 int16 int8 int64 bfloat16 uint16 half uint32 uint64",
    "floating": "float double bfloat16 half",
    "complex": "complex64 complex128",
    "index": "int32 int64",
}


def type_set(numbers):
    """The types, by the names of sets first and then in the order of their numbers."""
    types = {number: type_name(number) for number in numbers}
    words = []
    for word, names in TYPE_SETS.items():
        if set(names.split()) <= set(types.values()):
            words.append(word)
            types = {number: name for number, name in types.items() if name not in names.split()}
    return words + [types[number] for number in sorted(types)]


def allowed(attr):
    """What the definition allows: `{index}` of types, `{SAME,VALID}` of strings, `>=2` of an int or of the length of a list."""
    text = ""
    if attr.allowed_values.list.type:
        text += "{" + ",".join(type_set(attr.allowed_values.list.type)) + "}"
    if attr.allowed_values.list.s:
        text += "{" + ",".join(value.decode() for value in attr.allowed_values.list.s) + "}"
    if attr.has_minimum and (attr.type == "int" or attr.minimum > 0):
        text += f">={attr.minimum}"
    return text


def attribute(attr):
    text = f"{attr.name}:{attr.type}{allowed(attr)}"
    if not attr.HasField("default_value"):
        return text
    if attr.type.startswith("list("):
        field, write = WRITERS[attr.type[len("list("):-1]]
        return text + "=[" + ",".join(write(value) for value in getattr(attr.default_value.list, field)) + "]"
    field, write = WRITERS[attr.type]
    return text + "=" + write(getattr(attr.default_value, field))


for name in re.findall(r"^OP\(([\w>]+)", OPS_DEF.read_text(), re.M):
    op = op_def_registry.get(name)
    if op is None or name.startswith("_"):
        continue
    cells = [name, "stateful" if op.is_stateful else "-"]
    cells += [", ".join(map(argument, op.input_arg)), ", ".join(map(argument, op.output_arg))]
    cells += [", ".join(map(attribute, op.attr)).replace("\t", "\\t").replace("\n", "\\n")]
    print(" | ".join(cells))

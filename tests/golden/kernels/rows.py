"""Rows of kernel tests: one line per call of an op, with what TensorFlow gives for it.

A line is   op TAB attributes TAB inputs TAB outputs
attributes  name=kind:value, separated by spaces; kinds i f b s t (type) sh (shape), lists li lf ls lt lh (shapes: 2.3;4)
tensors     separated by " ; ": dtype[dims] values; strings in quotes with %XX escapes; complex numbers as real,imaginary
            @dtype[dims] values is a variable of that value; the variables' values after the op follow the op's outputs
outputs     tensors, "-" for one that TensorFlow leaves uninitialised, or !code text where TensorFlow refuses
A tolerance other than the usual one stands in the attributes as ~=value, relative to the greatest magnitude, or as
~each=value, relative to each element: then zeros must have the same sign, too.
"""
import os
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # the plain kernels: oneDNN's differ in corner cases, and crash in some
import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.lite.experimental.microfrontend.ops import gen_audio_microfrontend_op
from tensorflow.python.framework import op_def_registry
from tensorflow.python.ops import gen_decode_proto_ops, gen_encode_proto_ops

import drawn

CODES = {
    "InvalidArgumentError": 3, "NotFoundError": 5, "FailedPreconditionError": 9, "OutOfRangeError": 11,
    "UnimplementedError": 12, "InternalError": 13, "ResourceExhaustedError": 8, "DataLossError": 15,
}
# Where the Python name of an argument is not that of the op's definition.
RENAMED = {"reduction_indices": "axis", "dim": "axis", "split_dim": "axis", "squeeze_dims": "axis"}
RENAMED_IN = {"DynamicStitch": {}, "ReduceJoin": {}, "SobolSample": {}, "SparseSplit": {}, "Select": {"t": "x", "e": "y"}, "Where": {"input": "condition"}}
NAMES = {"float32": "float", "float64": "double", "float16": "half", "string": "string"}


HIDDEN_OPS = {  # that tf.raw_ops lacks
    "XlaDynamicSlice": gen_xla_ops.xla_dynamic_slice, "XlaDynamicUpdateSlice": gen_xla_ops.xla_dynamic_update_slice,
    "XlaConv": gen_xla_ops.xla_conv, "XlaConvV2": gen_xla_ops.xla_conv_v2, "XlaDot": gen_xla_ops.xla_dot, "XlaDotV2": gen_xla_ops.xla_dot_v2,
    "XlaEinsum": gen_xla_ops.xla_einsum, "XlaGather": gen_xla_ops.xla_gather, "XlaPad": gen_xla_ops.xla_pad,
    "XlaOptimizationBarrier": gen_xla_ops.xla_optimization_barrier,
    "XlaSort": gen_xla_ops.xla_sort, "XlaKeyValueSort": gen_xla_ops.xla_key_value_sort, "XlaReducePrecision": gen_xla_ops.xla_reduce_precision,
    "XlaRngBitGenerator": gen_xla_ops.xla_rng_bit_generator, "XlaSharding": gen_xla_ops.xla_sharding,
    "XlaSpmdShardToFullShape": gen_xla_ops.xla_spmd_shard_to_full_shape,
    "XlaSvd": gen_xla_ops.xla_svd, "XlaSelfAdjointEig": gen_xla_ops.xla_self_adjoint_eig,
    "XlaBroadcastHelper": gen_xla_ops.xla_broadcast_helper, "XlaDequantize": gen_xla_ops.xla_dequantize,
    "AudioMicrofrontend": gen_audio_microfrontend_op.audio_microfrontend,
    "DecodeProtoV2": gen_decode_proto_ops.decode_proto_v2, "EncodeProto": gen_encode_proto_ops.encode_proto,
}


def dtype_name(dtype):
    return NAMES.get(dtype.name, dtype.name)


def escape(data):
    return '"' + "".join(chr(b) if 33 <= b < 127 and b not in b'%";' else "%%%02X" % b for b in data) + '"'


def number(value, dtype, digits):
    if dtype == tf.bool:
        return "1" if value else "0"
    if dtype.is_floating:
        return {"nan": "nan", "inf": "inf", "-inf": "-inf"}.get(str(float(value)), "%.*g" % (digits, float(value)))
    if dtype.is_complex:
        return "%.*g,%.*g" % (digits, value.real, digits, value.imag)
    return str(int(value))


FLOAT8 = tf.dtypes.experimental.float8_e4m3fn, tf.dtypes.experimental.float8_e5m2
QUANTIZED = {tf.quint8: tf.uint8, tf.qint8: tf.int8, tf.qint32: tf.int32, tf.quint16: tf.uint16, tf.qint16: tf.int16}


def tensor_text(tensor, exact=False):
    tensor = tf.convert_to_tensor(tensor)
    if tensor.dtype in QUANTIZED:  # numpy does not know them
        return tensor_text(tf.bitcast(tensor, QUANTIZED[tensor.dtype])).replace(QUANTIZED[tensor.dtype].name, tensor.dtype.name, 1)
    if tensor.dtype in FLOAT8:  # as its bits
        return tensor_text(tensor.numpy().view(np.uint8)).replace("uint8", tensor.dtype.name, 1)
    digits = 17 if exact and tensor.dtype == tf.float64 else 9
    flat = np.asarray(tensor.numpy(), object if tensor.dtype == tf.string else None).reshape(-1)  # bytes_ would lose NULs at the end
    if tensor.dtype == tf.string:
        values = [escape(v if isinstance(v, bytes) else v.encode()) for v in flat]
    else:
        values = [number(v, tensor.dtype, digits) for v in flat]
    shape = ",".join(str(d) for d in tensor.shape)
    return "%s[%s] %s" % (dtype_name(tensor.dtype), shape, " ".join(values))


def attr_text(name, kind, value):
    if kind == "type":
        return "%s=t:%s" % (name, dtype_name(tf.as_dtype(value)))
    if kind == "shape":
        return "%s=sh:%s" % (name, ",".join(str(d) for d in value))
    if kind == "list(type)":
        return "%s=lt:%s" % (name, ",".join(dtype_name(tf.as_dtype(v)) for v in value))
    if kind.startswith("list("):
        separator = ";" if kind == "list(shape)" else ","
        element = (lambda v: ".".join(str(d) for d in v)) if kind == "list(shape)" else str
        letter = "h" if kind == "list(shape)" else kind[5]
        return "%s=l%s:%s" % (name, letter, separator.join(element(v) for v in value))
    if kind == "bool":
        return "%s=b:%d" % (name, value)
    if kind == "string":
        return "%s=s:%s" % (name, escape(value if isinstance(value, bytes) else value.encode())[1:-1])
    return "%s=%s:%s" % (name, kind[0], value)


def clean(message):
    message = re.sub(r"^\{\{function_node [^}]*\}\} ?(\{\{node [^}]*\}\} ?)?", "", message)
    message = re.sub(r" \[Op:[\w>]+\].*$", "", message, flags=re.S)
    message = re.sub(r"goo\.gle/debug.*", "", message, flags=re.S)  # prints of messages differ from process to process
    return message.replace("\n", " ").strip()


def compiled(function):
    """XLA computes what a kernel refuses."""
    return tf.function(lambda **arguments: function(**arguments), jit_compile=True)


def in_old_graph(op, inputs, attrs, producer):
    """TensorFlow runs an op that it removed only in a graph of a producer before that."""
    graph_def = tf.compat.v1.GraphDef()
    graph_def.versions.producer = producer
    definition = op_def_registry.get(op)
    node = graph_def.node.add(name="y", op=op)
    for i, (value, arg) in enumerate(zip(inputs, definition.input_arg)):
        holder = graph_def.node.add(name="x%d" % i, op="Placeholder")
        holder.attr["dtype"].type = value.dtype.as_datatype_enum
        node.input.append(holder.name)
        if arg.type_attr:
            node.attr[arg.type_attr].type = value.dtype.as_datatype_enum
    for attr in definition.attr:
        if attr.name in attrs:
            field = {"int": "i", "float": "f", "bool": "b", "string": "s"}.get(attr.type)
            value = attrs[attr.name]
            if field is not None:
                setattr(node.attr[attr.name], field, value.encode() if field == "s" else value)
            else:
                node.attr[attr.name].list.i.extend(value)
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        tf.import_graph_def(graph_def, name="")
        y = graph.get_operation_by_name("y")
        return session.run(y.outputs, {"x%d:0" % i: value.numpy() for i, value in enumerate(inputs)})


class Rows:
    """Collects the lines of one file."""

    def __init__(self, name, seed=None):
        """Without a seed, the random numbers go on from those of the file before."""
        self.name, self.lines = name, []
        if seed is not None:
            drawn.RANDOM.seed(seed)

    def add(self, op, inputs, tolerance=None, text=True, skip=(), each=None, by_xla=False, producer=None, run=None, **attrs):
        definition = op_def_registry.get(op)
        kinds = {attr.name: attr.type for attr in definition.attr}
        inputs = [[tf.convert_to_tensor(v) for v in value] if isinstance(value, list)
                  else tf.convert_to_tensor(value) for value in inputs]
        arguments = {arg.name: value for arg, value in zip(definition.input_arg, inputs)}
        lists = {arg.type_list_attr for arg in definition.input_arg} | {arg.number_attr for arg in definition.input_arg}
        words = [attr_text(name, kinds[name], value) for name, value in attrs.items()]
        if tolerance is not None:
            words.append("~=%g" % tolerance)
        if each is not None:
            words.append("~each=%g" % each)
        renamed = RENAMED_IN.get(op, RENAMED)
        arguments = {renamed.get(name, name): value for name, value in {**arguments, **attrs}.items()
                     if name not in lists}
        try:
            function = HIDDEN_OPS.get(op) or getattr(tf.raw_ops, op)
            if by_xla:
                function = compiled(function)
            if run is not None:
                function = run(function)
            result = function(**arguments) if producer is None else in_old_graph(op, inputs, attrs, producer)
            flat = [] if result is None else tf.nest.flatten(result)
            outputs = " ; ".join("-" if i in skip else tensor_text(v, each is not None) for i, v in enumerate(flat))
        except tf.errors.OpError as error:
            if "not in the list of allowed values" in error.message or "Could not find device" in error.message or "No OpKernel was registered" in error.message:
                return  # TensorFlow has no kernel for this type
            outputs = "!%d %s" % (CODES[type(error).__name__], clean(error.message) if text else "")
        except UnicodeDecodeError:  # the error's text quotes bytes of the input, as errors of parsers do
            outputs = "!3 "
        tensors = " ; ".join(tensor_text(v, each is not None) for v in tf.nest.flatten(inputs))
        self.lines.append("\t".join([op, " ".join(words), tensors, outputs]))

    def write(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), self.name + ".rows")
        with open(path, "w") as out:
            out.write("# TensorFlow %s, make_rows.py\n" % tf.__version__)
            out.write("\n".join(self.lines) + "\n")
        print("%-14s %d rows" % (self.name, len(self.lines)), file=sys.stderr)

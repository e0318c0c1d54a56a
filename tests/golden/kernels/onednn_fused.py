#!/usr/bin/env python3
"""Writes onednn_fused.rows, of ops on bytes that TensorFlow's oneDNN computes: onednn_fused.py

TensorFlow rewrites these ops when it runs a graph, if it uses oneDNN, and a filter must be constant; eagerly none of them runs. On a
CPU without VNNI, oneDNN adds two products in 16 bits, and halves the weights if the image is signed. So the weights here lie in [-63,
63], and for signed images they are even.
"""
import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

from rows import Rows  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from quantized_rows import scalars  # noqa: E402

RANDOM = np.random.RandomState(8)
STEPS = {"strides": [1, 1, 1, 1], "padding": "SAME"}


def in_graph(function):
    """Runs an op on constants in a graph."""
    def run(**arguments):
        plain = {name: as_plain(value) for name, value in arguments.items()}
        with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
            outputs = tf.nest.flatten(function(**{name: made() for name, made in plain.items()}))
            types = [y.dtype for y in outputs]
            values = session.run(outputs)
        return [tf.bitcast(tf.constant(y), dtype) if dtype.is_quantized else tf.constant(y) for y, dtype in zip(values, types)]
    return run


def as_plain(value):
    """Makes a constant of the current graph."""
    if not tf.is_tensor(value):
        return lambda: value
    dtype = value.dtype
    if not dtype.is_quantized:
        return lambda array=value.numpy(): tf.constant(array)
    array = tf.bitcast(value, {tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint32: tf.int32}[dtype]).numpy()
    return lambda: tf.bitcast(tf.constant(array), dtype)


def image(dtype, *shape):
    if dtype == tf.quint8:
        return tf.bitcast(tf.constant(RANDOM.randint(0, 256, shape).astype(np.uint8)), dtype)
    return tf.bitcast(tf.constant(RANDOM.randint(-127, 128, shape).astype(np.int8)), dtype)


def weights(*shape):
    return tf.bitcast(tf.constant((RANDOM.randint(-31, 32, shape) * 2).astype(np.int8)), tf.qint8)


def bias(kind, count):
    if kind == tf.float32:
        return tf.constant(RANDOM.uniform(-1, 1, count).astype(np.float32))
    return tf.bitcast(tf.constant(RANDOM.randint(-3000, 3000, count).astype(np.int32)), kind)


def channels(count):
    return [np.linspace(-1, 0, count).astype(np.float32), np.linspace(0.1, 0.7, count).astype(np.float32)]


def convolutions(rows, name, depthwise, has_bias, results, signed):
    """`results`: their types, each with or without an asked range."""
    for dtype in [tf.quint8] + [tf.qint8] * signed:
        for out in results:
            asked = scalars(-2, 9) if out != tf.qint32 else []
            kinds = [tf.float32, tf.qint32] if has_bias and asked else [tf.float32]
            filters = [weights(3, 2, 4, 1), weights(2, 2, 4, 2)] if depthwise else [weights(3, 2, 4, 5), weights(1, 1, 4, 3)]
            for kernel in filters:
                count = kernel.shape[2] * kernel.shape[3] if depthwise else kernel.shape[3]
                for kind in kinds:
                    for ends in [scalars(-0.5, 0.9), channels(count)]:
                        if depthwise and len(np.shape(ends[0])) and kernel.shape[3] > 1:
                            continue
                        values = [image(dtype, 2, 5, 4, 4), kernel] + [bias(kind, count)] * has_bias + [*scalars(-0.3, 1.7), *ends, *asked]
                        try:
                            rows.add(name, values, run=in_graph, out_type=out, **STEPS)
                        except ValueError:  # TensorFlow's shape function wants one range for all channels
                            assert len(np.shape(ends[0]))
            # of no images, oneDNN makes as many channels as they have
            values = [image(dtype, 0, 5, 4, 4), filters[0] if depthwise else weights(3, 3, 4, 4)] + [bias(tf.float32, 4)] * has_bias + [*scalars(-0.3, 1.7), *scalars(-0.5, 0.9), *asked]
            rows.add(name, values, run=in_graph, out_type=out, **STEPS)
            for attrs in [{"strides": [1, 2, 2, 1], "padding": "VALID"}, {**STEPS, "dilations": [1, 2, 2, 1]}, {**STEPS, "padding_list": [0, 0, 1, 2, 0, 1, 0, 0]}]:
                count = 4 if depthwise else 5
                if "padding_list" in attrs and name in ("QuantizedConv2D", "QuantizedConv2DPerChannel", "QuantizedDepthwiseConv2D", "QuantizedDepthwiseConv2DWithBias"):
                    continue
                values = [image(dtype, 1, 6, 5, 4), filters[0]] + [bias(tf.float32, count)] * has_bias + [*scalars(0, 3), *scalars(-1, 0.5), *asked]
                rows.add(name, values, run=in_graph, out_type=out, **attrs)


def products(rows):
    names = {"": tf.qint32, "AndRelu": tf.qint32, "AndRequantize": tf.quint8, "AndReluAndRequantize": tf.quint8, "AndDequantize": tf.float32}
    for name, out in names.items():
        asked = scalars(-1, 4) if out != tf.qint32 else []
        for mode, ends in [("SCALED", scalars(0, 2)), ("SCALED", scalars(-1, 2)), ("MIN_FIRST", scalars(0, 3)), ("MIN_FIRST", scalars(-0.5, 2))]:
            for kind in [tf.float32] if name == "AndRelu" else [tf.float32, tf.qint32]:
                for rows_count, depth, count in [(3, 16, 5), (1, 3, 1), (0, 3, 2)]:
                    values = [image(tf.quint8, rows_count, depth), weights(depth, count), bias(kind, count), *ends, *scalars(-0.7, 0.9), *asked]
                    rows.add("QuantizedMatMulWithBias" + name, values, run=in_graph, Toutput=out, input_quant_mode=mode)


def onednn_fused():
    rows = Rows("onednn_fused")
    for name, depthwise, has_bias, out, signed in [
            ("QuantizedConv2D", 0, 0, tf.qint32, 0), ("QuantizedConv2DPerChannel", 0, 0, tf.qint32, 0), ("QuantizedConv2DAndRelu", 0, 0, tf.qint32, 0),
            ("QuantizedConv2DAndRequantize", 0, 0, tf.qint8, 0), ("QuantizedConv2DAndReluAndRequantize", 0, 0, tf.quint8, 0),
            ("QuantizedConv2DWithBias", 0, 1, tf.qint32, 1), ("QuantizedConv2DWithBiasAndRelu", 0, 1, tf.qint32, 1),
            ("QuantizedConv2DWithBiasAndRequantize", 0, 1, tf.qint8, 1), ("QuantizedConv2DWithBiasAndReluAndRequantize", 0, 1, tf.quint8, 1),
            ("QuantizedDepthwiseConv2D", 1, 0, tf.qint32, 0), ("QuantizedDepthwiseConv2DWithBias", 1, 1, tf.qint32, 0),
            ("QuantizedDepthwiseConv2DWithBiasAndRelu", 1, 1, tf.qint32, 0), ("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", 1, 1, tf.quint8, 0)]:
        convolutions(rows, name, depthwise, has_bias, [out], signed)
    products(rows)
    rows.write()


if __name__ == "__main__":
    onednn_fused()

"""Rows of the rarer types of ops that others test with floats: half, complex, integers, strings."""
import numpy as np
import tensorflow as tf

from drawn import COMPLEX, HALVES, INTEGERS, bfloat16, unit_floats
from rows import Rows

NEAR = {np.float16: 4e-3, bfloat16: 3e-2, np.complex64: 1e-5, np.float32: 1e-5}


def numbers(*shape, low=-3, high=9, dtype=np.float32):
    """Whole numbers for integer types, complex ones for complex types."""
    if dtype in COMPLEX:
        return (unit_floats(*shape, low=low, high=high) + 1j * unit_floats(*shape, low=low, high=high)).astype(dtype)
    if np.issubdtype(dtype, np.unsignedinteger):
        low = 0
    return unit_floats(*shape, low=low, high=high).astype(dtype)


def gradients(rows):
    for dtype in INTEGERS:
        for op in ["ReluGrad", "Relu6Grad"]:
            rows.add(op, [numbers(3, 5, dtype=dtype), numbers(3, 5, dtype=dtype)])
            rows.add(op, [numbers(0, 5, dtype=dtype), numbers(0, 5, dtype=dtype)])
    for dtype in [np.float64] + HALVES:
        for alpha in [0.2, 0.0, 3.0]:
            rows.add("LeakyReluGrad", [numbers(3, 5, dtype=dtype), np.array([[0, -0.0, np.nan, np.inf, -np.inf]] * 3, dtype)], NEAR.get(dtype), alpha=alpha)
            rows.add("LeakyReluGrad", [numbers(7, dtype=dtype), numbers(7, dtype=dtype)], NEAR.get(dtype), alpha=alpha)
    for dtype in COMPLEX:
        for op in ["SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"]:
            rows.add(op, [numbers(4, 3, low=-1, high=1, dtype=dtype), numbers(4, 3, dtype=dtype)], NEAR.get(dtype))
            rows.add(op, [np.array([0, 2j, 1], dtype), np.array([0, 0, 1 - 1j], dtype)], NEAR.get(dtype))
            rows.add(op, [numbers(0, 3, dtype=dtype), numbers(0, 3, dtype=dtype)])
    for dtype in HALVES + COMPLEX + [np.float64] + INTEGERS:
        for shape, layout in [((4, 3), "NHWC"), ((2, 3, 2, 4), "NHWC"), ((2, 4, 3, 2), "NCHW"), ((5, 3), "NCHW"), ((0, 3), "NHWC"), ((2, 2, 1, 1, 3), "NHWC")]:
            rows.add("BiasAddGrad", [numbers(*shape, dtype=dtype)], NEAR.get(dtype), data_format=layout)
    for dtype in COMPLEX:
        for op, layouts in [("BiasAdd", ["NHWC", "NCHW"]), ("BiasAddV1", [None])]:
            for layout in layouts:
                bias = 4 if layout != "NCHW" else 3
                rows.add(op, [numbers(2, 3, 2, 4, dtype=dtype), numbers(bias, dtype=dtype)], **({} if layout is None else {"data_format": layout}))


def losses(rows):
    for dtype in [np.float32, np.float64] + HALVES:
        near = NEAR.get(dtype)
        for logits, labels in [((3, 5), (3, 5)), ((3, 5), (1, 5)), ((1, 5), (3, 1)), ((5,), (3, 5)), ((3, 1), (5,)), ((1, 1), (2, 3)), ((0, 4), (0, 4)), ((0, 4), (1, 4)), ((), (2, 3)), ((3, 0), (3, 0)), ((1, 3), ())]:
            rows.add("SoftmaxCrossEntropyWithLogits", [unit_floats(*logits, low=-4, high=4).astype(dtype), unit_floats(*labels, low=0, high=1).astype(dtype)], near)
        for logits, labels in [((4,), (4,)), ((), ()), ((2, 1, 3), (1, 2, 3)), ((2, 3), (3, 2))]:
            rows.add("SoftmaxCrossEntropyWithLogits", [unit_floats(*logits).astype(dtype), unit_floats(*labels).astype(dtype)], text=False)
        wide = np.array([[60, -60, 0], [0, 0, 0]], dtype)
        rows.add("SoftmaxCrossEntropyWithLogits", [wide, np.array([[0, 1, 0], [0.5, 0.5, 0]], dtype)], near)
        for kind in [np.int32, np.int64]:
            rows.add("SparseSoftmaxCrossEntropyWithLogits", [unit_floats(3, 5, low=-4, high=4).astype(dtype), np.array([4, 0, 2], kind)], near)
            rows.add("SparseSoftmaxCrossEntropyWithLogits", [wide, np.array([1, 2], kind)], near)
            rows.add("SparseSoftmaxCrossEntropyWithLogits", [unit_floats(0, 5).astype(dtype), np.zeros(0, kind)])


def pools(rows):
    for dtype in [np.float64] + HALVES:
        for padding in ["SAME", "VALID"]:
            for k, s, out in [(2, 2, 2), (3, 1, 4 if padding == "SAME" else 2)]:
                if padding == "VALID" and k == 2:
                    out = 2
                rows.add("AvgPoolGrad", [np.array([2, 4, 4, 3], np.int32), unit_floats(2, out, out, 3, low=-2, high=2).astype(dtype)], NEAR.get(dtype), ksize=[1, k, k, 1], strides=[1, s, s, 1], padding=padding)
    for padding in ["SAME", "VALID"]:
        window = dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding=padding)
        grad = unit_floats(1, 2, 2, 2, 2, low=-2, high=2).astype(bfloat16)
        rows.add("AvgPool3DGrad", [np.array([1, 4, 4, 4, 2], np.int32), grad], NEAR[bfloat16], **window)
        x = unit_floats(1, 4, 4, 4, 2, low=-2, high=2).astype(bfloat16)
        rows.add("MaxPool3DGrad", [x, tf.raw_ops.MaxPool3D(input=x, **window), grad], NEAR[bfloat16], **window)


def norms(rows):
    for dtype in HALVES:
        for op in ["FusedBatchNormGradV2", "FusedBatchNormGradV3"]:
            for training in [True, False]:
                x, dy = unit_floats(2, 3, 5, 4, low=-1).astype(dtype), unit_floats(2, 3, 5, 4, low=-1).astype(dtype)
                inputs = [dy, x, unit_floats(4), unit_floats(4), unit_floats(4, low=0.5)] + ([unit_floats(4)] if op[-1] == "3" else [])
                rows.add(op, inputs, 3e-2, skip=(3, 4), is_training=training)


def moved(rows):
    for dtype in COMPLEX:
        for exclusive in [True, False]:
            for reverse in [True, False]:
                for op in ["Cumsum", "Cumprod"]:
                    for axis in [0, -1]:
                        rows.add(op, [numbers(3, 4, low=-1, high=2, dtype=dtype), np.int32(axis)], NEAR.get(dtype), exclusive=exclusive, reverse=reverse)
        for low, high in [((), ()), ((2, 3), (2, 3)), ((), (2, 3))]:
            rows.add("ClipByValue", [numbers(2, 3, dtype=dtype), numbers(*low, low=-2, high=1, dtype=dtype), numbers(*high, low=1, high=4, dtype=dtype)])
        rows.add("ClipByValue", [np.array([complex(np.nan, 1), complex(1, np.nan), complex(np.inf, -np.inf)], dtype), dtype(-1 - 1j), dtype(2 + 2j)])
        rows.add("Where", [np.array([[0, 1, 1j], [-0.0, complex(0, -0.0), complex(np.nan, 0)]], dtype)])
        rows.add("Where", [np.zeros((0, 3), dtype)])
    texts = np.array([b"a", b"bc", b"", b"d"], object)
    rows.add("ScatterNd", [np.array([[0], [2], [0], [0]], np.int32), tf.constant(texts), np.array([4], np.int32)])
    rows.add("ScatterNd", [np.array([[1], [1]], np.int64), tf.constant(texts.reshape(2, 2)), np.array([3, 2], np.int64)])
    rows.add("ScatterNd", [np.zeros((0, 1), np.int32), tf.zeros([0, 2], tf.string), np.array([3, 2], np.int32)])
    for value in [tf.constant(["a", "b"]), tf.constant([True, True]), tf.constant([1j, 2], tf.complex64), tf.constant([1j, 2], tf.complex128),
                  tf.bitcast(tf.constant([1, -2], tf.int8), tf.qint8), tf.bitcast(tf.constant([1, 2], tf.uint8), tf.quint8), tf.bitcast(tf.constant([1, -2]), tf.qint32)]:
        rows.add("StridedSliceGrad", [np.array([5], np.int32), np.array([1], np.int32), np.array([5], np.int32), np.array([2], np.int32), value])
    for kind, stored in [(tf.qint8, tf.int8), (tf.quint8, tf.uint8), (tf.qint16, tf.int16), (tf.quint16, tf.uint16), (tf.qint32, tf.int32)]:
        x = tf.bitcast(tf.constant([[1, 2, 3], [4, 5, 6]], stored), kind)
        y = tf.bitcast(tf.constant([1, 5, 3], stored), kind)
        for op in ["Equal", "NotEqual"]:
            rows.add(op, [x, y])
    for dtype in [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, bfloat16, np.float64]:
        highest_bit = np.array([1 << (8 * np.dtype(dtype).itemsize - 1)], f"uint{8 * np.dtype(dtype).itemsize}").view(dtype)  # -0 of a float is zero
        rows.add("Where", [np.concatenate([np.array([0, 1], dtype), highest_bit]).reshape(3, 1)])


def texts(rows):
    words = [b"4294967295", b"4294967296", b"-1", b"+1", b" 7 ", b"18446744073709551615", b"18446744073709551616", b"0x10", b"1e3", b"", b" ", b"- 1", b"-0", b"12x", b"000000000000000000000000000000000000000000000000000000000000000000000000000009"]
    for word in words:
        for kind in [tf.uint32, tf.uint64]:
            rows.add("StringToNumber", [np.array(word, object)], out_type=kind)
    rows.add("StringToNumber", [tf.zeros([0, 2], tf.string)], out_type=tf.uint32)
    x = np.array([1 + 2.5j, complex(np.nan, -np.inf), -1e30 + 1e-30j])
    for dtype in COMPLEX:
        for how in [{}, dict(precision=2), dict(precision=2, width=9, fill="0"), dict(scientific=True), dict(shortest=True), dict(width=12, fill="-")]:
            rows.add("AsString", [x.astype(dtype)], **how)


def products(rows):
    for dtype in [np.float16]:
        for shape in [(1, 1), (2, 2), (2, 3, 3)]:
            x = (unit_floats(*shape, low=-1, high=1) + 2 * np.eye(shape[-1])).astype(dtype)
            for adjoint in [True, False]:
                rows.add("MatrixInverse", [x], 6e-3, adjoint=adjoint)
        rows.add("MatrixInverse", [np.zeros((2, 2), dtype)], text=False)
        rows.add("MatrixInverse", [np.zeros((0, 2, 2), dtype)])
        for shape in [(3, 3), (4, 2), (2, 4), (2, 3, 2)]:
            for full in [True, False]:
                rows.add("Qr", [(unit_floats(*shape, low=-1, high=1) + 2 * np.eye(*shape[-2:])).astype(dtype)], 1e-2, full_matrices=full)
        rows.add("Qr", [np.zeros((3, 0), dtype)], full_matrices=True)
    for shape, other in [((2, 3), (3, 4)), ((2, 2, 3), (3, 1)), ((2, 1, 2, 0), (3, 0, 2))]:
        x, y = (np.round(unit_floats(*s, low=-300, high=300)).astype(np.int16) for s in (shape, other))
        rows.add("BatchMatMulV2", [x, y])
        rows.add("BatchMatMulV3", [x, y], Tout=tf.int16)
        rows.add("BatchMatMulV2", [np.swapaxes(x, -1, -2), np.swapaxes(y, -1, -2)], adj_x=True, adj_y=True)
    for padding in ["SAME", "VALID"]:
        for stride in [1, 2]:
            image, kernel = (np.round(unit_floats(*s, low=-2e5, high=2e5)).astype(np.int32) for s in [(2, 5, 4, 3), (3, 2, 3, 2)])
            window = dict(strides=[1, stride, stride, 1], padding=padding)
            rows.add("Conv2D", [image, kernel], **window)
            dy = tf.raw_ops.Conv2D(input=image, filter=kernel, **window)
            rows.add("Conv2DBackpropInput", [np.array(image.shape, np.int32), kernel, dy], **window)
    indices, shape = np.array([[0, 1], [2, 0], [2, 2], [1, 1], [2, 0]]), np.array([3, 4])
    for dtype in HALVES + COMPLEX + [np.int32]:
        for adjoint_a in [True, False]:
            for adjoint_b in [True, False]:
                for width in [1, 3]:
                    b = numbers(3 if adjoint_a else 4, width, dtype=dtype)
                    for kind in [np.int32, np.int64]:
                        rows.add("SparseTensorDenseMatMul", [indices.astype(kind), numbers(5, dtype=dtype), shape, b.T if adjoint_b else b], NEAR.get(dtype), adjoint_a=adjoint_a, adjoint_b=adjoint_b)
    rows.add("SparseTensorDenseMatMul", [indices, np.full(5, 2**30, np.int32), shape, np.full((4, 2), 5, np.int32)])


def rare_types():
    rows = Rows("rare_types", seed=3)
    for family in [gradients, losses, pools, norms, moved, texts, products]:
        family(rows)
    rows.write()


FAMILIES = [rare_types]

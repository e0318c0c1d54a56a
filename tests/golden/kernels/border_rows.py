"""Rows of numbers at and past the borders of their types, and of half types."""
from rows import Rows
from drawn import FLOATS, INTEGERS, SPECIAL, f32, floats, i32, integers

import numpy as np
import tensorflow as tf

EXACT = {np.float32: 2e-6, np.float64: 1e-9, np.float16: 2e-3, tf.bfloat16.as_numpy_dtype: 1.6e-2}


def borders():
    """Numbers at and past the borders: overflow, NaN, infinity, -0, ties, empty axes, text that is not ASCII."""
    seed = 656  # of the first; the others go on from there
    for part in [border_denormal, border_reduce, border_scan, border_cast, border_unary, border_binary, border_order, border_softmax,
                 border_pool, border_array, border_text, border_special_floats, border_largest_integers, border_norm, border_zeros]:
        rows = Rows(part.__name__, seed)
        part(rows)
        rows.write()
        seed = None


def border_denormal(rows):
    """Below the smallest normal number all count as 0, except where an op only hands them on."""
    for op in ["Neg", "Sign", "Square", "Exp", "Floor", "Ceil", "Round", "Tanh", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Rsqrt", "Log",
               "Reciprocal"]:
        rows.add(op, [f32(1e-40, -1e-40, 1.2e-38, -1.2e-38)], each=2e-6)
    rows.add("Exp", [f32(-87, -88.5, -100)], each=2e-6)
    rows.add("Softmax", [f32(100, 0, -100)], each=2e-6)
    for op in ["AddV2", "Sub", "Mul", "RealDiv", "DivNoNan", "SquaredDifference", "Equal", "Less", "GreaterEqual"]:
        rows.add(op, pairs(f32(1e-40, -1e-40, 0, 1e-20, 1)), each=2e-6)
    rows.add("Mul", [np.float64(1e-200), np.float64(1e-120)], each=0)
    for op in ["Sum", "Mean", "Prod"]:
        rows.add(op, [f32(1e-40, 1e-40), i32(0)], each=0)
    for target in FLOATS + INTEGERS + [np.bool_]:
        rows.add("Cast", [f32(1e-40, -1e-40, 1.2e-38)], each=0, DstT=target)


def pairs(values):
    x, y = np.meshgrid(values, values)
    return [x.reshape(-1), y.reshape(-1)]


def border_unary(rows):
    for op in ["Neg", "Abs", "Sign", "Square", "Exp", "Expm1", "Floor", "Ceil", "Round", "Rint", "Atan", "Sinh", "Cosh", "Tanh",
               "Asinh", "Acosh", "Asin", "Acos", "Atanh", "Erf", "Erfc", "Sigmoid", "Relu", "Relu6", "Elu", "Selu", "Softplus",
               "Softsign", "LeakyRelu", "Sqrt", "Rsqrt", "Log", "Log1p", "Reciprocal", "Inv", "IsNan", "IsInf", "IsFinite"]:
        for dtype in FLOATS:
            if (op, dtype) != ("Erf", np.float64):  # of infinity it is NaN in TensorFlow 2.21, and 1 elsewhere
                rows.add(op, [signed(edges(dtype), dtype) if "Relu" in op else edges(dtype)], each=EXACT[dtype])
    for op in ["Sin", "Cos", "Tan"]:
        rows.add(op, [f32(np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30)], each=1e-6)
    for op in ["Neg", "Abs", "Sign", "Square", "Relu", "Relu6", "Floor", "Ceil", "Round"]:
        for dtype in INTEGERS:
            if op != "Round":  # gives 0 for int32 and int64 in TensorFlow 2.21, and what came in elsewhere
                rows.add(op, [edges(dtype)])
    for dtype in FLOATS:
        for alpha in [0.0, 1.0, 3.0, -0.5]:
            rows.add("LeakyRelu", [edges(dtype)], each=EXACT[dtype], alpha=alpha)
        for op in ["ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad", "LeakyReluGrad", "SigmoidGrad",
                   "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad"]:
            values = edges(dtype)[[0, 1, 2, 8, 9, 10] if op == "RsqrtGrad" else slice(9)]
            if op != "LeakyReluGrad" or dtype == np.float32:
                rows.add(op, pairs(values), each=EXACT[dtype])


def edges(dtype):
    """Numbers at the borders of a type."""
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return np.array([info.min, info.min + 1, info.max // 2, info.max - 1, info.max, 0, 1, 3, 100], dtype)
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 1e30, -1e30, -1.0, 1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 5.5, 6.0, 6.5,
                     -6.5, 20.0, -20.0, 88.5, -88.5, 100.0, -104.5, 1e-3, 127.5, 255.9, 1e10, -1e10], np.float64).astype(dtype)


def signed(values, dtype):
    """Without -0, whose sign TensorFlow's kernels for half and bfloat16 treat in other ways."""
    return values if dtype in (np.float32, np.float64) else values[~((values == 0) & np.signbit(values))]


def border_binary(rows):
    for op in ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "Div", "RealDiv", "FloorDiv", "FloorMod", "Mod",
               "TruncateMod", "TruncateDiv", "Pow", "DivNoNan", "MulNoNan", "Atan2", "Xdivy", "Xlogy", "Equal", "Less", "LessEqual", "Greater",
               "GreaterEqual", "NotEqual"]:
        for dtype in FLOATS:
            values = edges(dtype)[:14]
            rows.add(op, pairs(signed(values, dtype) if op in ("Maximum", "Minimum") else values), each=EXACT[dtype])
    for op in ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "Div", "FloorDiv", "FloorMod", "Mod", "TruncateMod",
               "TruncateDiv", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Less", "GreaterEqual"]:
        for dtype in INTEGERS:
            x, y = pairs(edges(dtype))
            if op in ["Div", "FloorDiv", "FloorMod", "Mod", "TruncateMod", "TruncateDiv"]:
                x, y = x[y != 0], y[y != 0]
                if np.iinfo(dtype).min < 0:  # the lowest number by -1: TensorFlow itself dies of it
                    negative = np.array([-1, -2, -3, -7, 7, 5], dtype)
                    rows.add(op, [negative, np.array([-1, -1, -1, 2, -2, -5], dtype)])
                rows.add(op, [np.ones(2, dtype), np.zeros(2, dtype)])
                rows.add(op, [np.ones(0, dtype), np.zeros(0, dtype)])
                rows.add(op, [np.ones(0, dtype), dtype(0)])
            rows.add(op, [x, y])
    for dtype in INTEGERS:
        low = np.iinfo(dtype).min
        rows.add("Pow", [np.array([0, 0, 1, 2, 2, 3, 3, 10, low], dtype), np.array([0, 5, 100, 7, 64, 5, 41, 20, 3], dtype)])
        if low < 0:
            rows.add("Pow", [np.array([1, -1, 2, 0], dtype), dtype(-1)])
            rows.add("Pow", [np.zeros(0, dtype), dtype(-1)])
        rows.add("AddN", [[edges(dtype), edges(dtype), edges(dtype)]])
        rows.add("BiasAdd", [np.stack([edges(dtype), edges(dtype)[::-1]]), edges(dtype)])
        rows.add("ClipByValue", [edges(dtype), dtype(2), dtype(90)])
        rows.add("ClipByValue", [edges(dtype), dtype(90), dtype(2)])
    for dtype in [np.float32, np.float64]:
        rows.add("ClipByValue", [edges(dtype), dtype(-1), dtype(6)], each=0)
        rows.add("ClipByValue", [edges(dtype), dtype(6), dtype(-1)], each=0)
        rows.add("ClipByValue", [edges(dtype), dtype(np.nan), dtype(1)], each=0)
        rows.add("ClipByValue", [edges(dtype), dtype(-1), dtype(np.nan)], each=0)


def border_cast(rows):
    types = FLOATS + INTEGERS + [np.bool_]
    inside = np.array([np.nan, np.inf, -np.inf, -0.0, 0.5, -0.5, 1e-30, 1e-46, 127.9, -128.9, 255.9, 1e30, 1e300, -1e300, 65519, 65520, 1e-8,
                       5.9e-8, 3e-8, 2.9802322387695312e-08, 1.00390625, 1.01171875, 16777217, 8388609.5, 3.4028236e38, 3.38953139e38, 3.3961775e38])
    outside = np.array([128, 255, 256, -129, 32768, -32769, 65535, 65536, 70000, 2147483647, 2147483648, -2147483648, -2147483649, 4294967295,
                        4294967296, -4294967297, 3e9, -3e9, 1e10, 9.3e18, -9.3e18, 1.8e19, 1.9e19, 1e20, -1, -1.5, -300.7])
    for source in FLOATS:
        for target in types:
            if target in FLOATS + [np.bool_] and source != target:
                rows.add("Cast", [np.array([*inside, *outside]).astype(source)], each=0, DstT=target)
            if target in INTEGERS:  # one by one: TensorFlow's vectors differ from its single numbers in what does not fit
                for value in [np.nan, np.inf, -np.inf, 0.9, 127.9, -128.9, 1e30, -1e30, *outside]:
                    rows.add("Cast", [np.array([value]).astype(source)], each=0, DstT=target)
    for source in INTEGERS:
        for target in types:
            if source != target:
                rows.add("Cast", [edges(source)], each=0, DstT=target)
    for source in [np.float32, np.float64]:
        for target in [np.float32, tf.bfloat16, np.float16, np.int32]:
            if source != target:
                rows.add("Cast", [inside.astype(source)], each=0, DstT=target, Truncate=True)


def border_reduce(rows):
    for op in ["Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"]:
        for dtype in INTEGERS:
            high, low = np.iinfo(dtype).max, np.iinfo(dtype).min
            if op == "EuclideanNorm":
                continue
            for count in [2, 3, 8, 17, 70]:
                for value in [high, low, min(192, high)]:
                    rows.add(op, [np.full(count, value, dtype), i32(0)])
            rows.add(op, [np.full(700, 100, dtype), i32(0)])
            rows.add(op, [integers(40, 3, low=0, high=100, dtype=dtype), i32(0)])
            rows.add(op, [integers(3, 40, low=0, high=100, dtype=dtype), i32(1)])
            rows.add(op, [integers(3, 4, 5, low=0, high=100, dtype=dtype), i32(0, 2)])
            rows.add(op, [integers(3, 4, 5, low=0, high=100, dtype=dtype), i32(1)])
            rows.add(op, [edges(dtype), i32(0)])
            rows.add(op, [edges(dtype), np.zeros(0, np.int32)])
            rows.add(op, [dtype(high), np.zeros(0, np.int32)])
            rows.add(op, [np.zeros((0,), dtype), i32(0)])
            rows.add(op, [np.zeros((2, 0), dtype), i32(1)])
            rows.add(op, [np.zeros((0, 2), dtype), i32(1)])
            if low < 0:
                for values in [[-1, -2], [-1, -1, -1], [-7, 2, 1], [-1, 0, 0], [-5, 4], [-100] * 9, [5, -1, -1]]:
                    rows.add(op, [np.array(values, dtype), i32(0)])
                    rows.add(op, [np.array([values, values], dtype), i32(1)])
                    rows.add(op, [np.array([values, values], dtype).T, i32(0)])
        for dtype in [np.float32, np.float64] if op == "EuclideanNorm" else FLOATS:
            for values in [[1, np.nan, 3], [np.nan, 1], [1, np.inf], [np.inf, -np.inf], [-np.inf, 1], [np.nan, np.inf], [np.nan] * 2,
                           [-0.0], [-3], [1e30, 1e30], [1e-30, 1e-30], [1, 2, np.nan] * 9, [np.nan] + [1] * 20,
                           [1] * 20 + [np.nan], [-np.inf] * 10]:
                rows.add(op, [np.array(values).astype(dtype), i32(0)], each=4 * EXACT[dtype])
                rows.add(op, [np.array([values, values]).astype(dtype), i32(1)], each=4 * EXACT[dtype])
                rows.add(op, [np.array([values, values, values]).T.astype(dtype), i32(0)], each=4 * EXACT[dtype])
            for shape, axis in [((0,), 0), ((2, 0), 1), ((0, 2), 1)]:
                rows.add(op, [np.zeros(shape, dtype), i32(axis)], each=0)
    for op in ["ArgMax", "ArgMin"]:
        for dtype in INTEGERS:
            rows.add(op, [edges(dtype), np.int32(0)])
            rows.add(op, [edges(dtype)[::-1], np.int32(0)])
            rows.add(op, [np.full(9, np.iinfo(dtype).max, dtype), np.int32(0)])
            rows.add(op, [np.full(9, np.iinfo(dtype).min, dtype), np.int32(0)])
        for dtype in FLOATS:
            for values in [[np.nan, 1, 2], [1, np.nan, 2], [2, 1, np.nan], [np.nan] * 3, [np.nan, np.inf, 1], [-np.inf] * 2, [np.inf] * 2,
                           [-np.inf, np.nan], [np.nan, -np.inf], [np.inf, np.nan], [np.nan, np.inf], [0.0, -0.0], [-0.0, 0.0],
                           [1, 2, np.nan, 5, 5, 3] * 3, [-np.inf, -np.inf, -1],
                           [np.inf, np.inf, 1]]:
                rows.add(op, [np.array(values).astype(dtype), np.int32(0)])
                rows.add(op, [np.array([values, values]).T.astype(dtype), np.int32(0)])
    for op in ["All", "Any"]:
        rows.add(op, [np.array([True] * 20 + [False]), i32(0)])
        rows.add(op, [np.zeros((2, 0), bool), i32(1)])


def border_scan(rows):
    for op in ["Cumsum", "Cumprod"]:
        for dtype in [np.float32, np.float64] + INTEGERS:
            for attrs in [dict(), dict(exclusive=True), dict(reverse=True), dict(exclusive=True, reverse=True)]:
                rows.add(op, [edges(dtype)[:9], np.int32(0)], each=4 * EXACT.get(dtype, 0), **attrs)
                rows.add(op, [np.full((2, 5), 100, dtype), np.int32(1)], each=4 * EXACT.get(dtype, 0), **attrs)
                rows.add(op, [np.zeros((2, 0), dtype), np.int32(1)], **attrs)
                rows.add(op, [np.full((40,), 1.1, dtype), np.int32(0)], each=8 * EXACT.get(dtype, 0), **attrs)
    for dtype in [np.float32, np.float64] + INTEGERS:
        data = np.full((4, 2), 100, dtype)
        for ids in [i32(0, 0, 0, 1), i32(0, -1, 2, 2)]:
            rows.add("UnsortedSegmentSum", [data, ids, np.int32(4)], each=EXACT.get(dtype, 0))
        rows.add("SparseSegmentSum", [data, i32(0, 1, 2, 3), i32(0, 0, 0, 2)], each=EXACT.get(dtype, 0))
        rows.add("SparseSegmentMean", [data, i32(0, 1, 2, 3), i32(0, 0, 0, 2)], each=EXACT.get(dtype, 0))
        rows.add("UnsortedSegmentSum", [edges(dtype)[:9], i32(0, 0, 1, 1, 2, 2, 3, 3, 4), np.int32(6)], each=EXACT.get(dtype, 0))
        rows.add("ScatterNd", [i32(0, 0, 1, 1, 2)[:, None], edges(dtype)[:5], i32(4)], each=EXACT.get(dtype, 0))
        rows.add("L2Loss", [edges(dtype)[3:9]], each=EXACT.get(dtype, 0))
        rows.add("L2Loss", [np.full(300, 100.3, dtype)], each=EXACT.get(dtype, 0))
    for weights in [np.int32, np.int64, np.float32, np.float64]:
        rows.add("Bincount", [i32(1, 1, 1, 0), np.int32(2), np.array([np.iinfo(weights).max] * 4, weights)
                              if np.issubdtype(weights, np.integer) else np.array([1, np.nan, np.inf, -np.inf], weights)])
    rows.add("Bucketize", [f32(*edges(np.float32))], boundaries=[-1.0, 0.0, 1.0, 100.0])
    rows.add("Bucketize", [edges(np.float64)], boundaries=[-1.0, 0.0, 1.0, 100.0])
    rows.add("Bucketize", [f32(0.1, 0.2, 0.3)], boundaries=[0.1, 0.2, 0.3])
    rows.add("Bucketize", [np.array([0.1, 0.2, 0.3], np.float64)], boundaries=[0.1, 0.2, 0.3])
    for dtype in [np.int32, np.int64]:
        rows.add("Bucketize", [edges(dtype)], boundaries=[-1.0, 0.0, 1.5, 3.0])
    rows.add("Bucketize", [np.array([16777216, 16777217, 16777218], np.int32)], boundaries=[16777216.0, 16777218.0])
    rows.add("Bucketize", [np.array([2**53, 2**53 + 1, 2**62, 2**62 + 1, 2**62 - 1], np.int64)], boundaries=[2.0**53, 2.0**62])


def border_order(rows):
    for dtype in FLOATS:
        for values in [[3, 2, 1, np.nan], [np.nan] * 4, [0.0, -0.0, 0.0, -0.0], [np.inf, 1, -np.inf, 1]]:  # elsewhere the place of NaN is chance
            for count in [1, 2, 3, 4]:
                rows.add("TopKV2", [np.array(values).astype(dtype), np.int32(count)], each=0)
        rows.add("TopKV2", [edges(dtype), np.int32(1)], each=0)
    for dtype in INTEGERS:
        for count in [1, 4, 9]:
            rows.add("TopKV2", [edges(dtype), np.int32(count)])
    for values in [[1, 2, 3, 4], [1, np.nan, 3, 4], [np.nan] * 4, [np.inf, 1, 2, np.inf], [-np.inf, 1, 2, 3], [2, 2, 2, 2]]:
        for target in [0, 1, 3, 4, -1]:
            for count in [0, 1, 2, 4, 9]:
                rows.add("InTopKV2", [f32(*values)[None], i32(target), np.int32(count)])


def border_softmax(rows):
    for op in ["Softmax", "LogSoftmax"]:
        for dtype in FLOATS:
            for values in [[1, np.inf, 2], [np.inf, np.inf, 1], [np.inf], [np.inf, -np.inf], [-np.inf, -np.inf, -np.inf], [-np.inf], [np.nan],
                           [1, np.nan, 2], [np.nan, np.inf, -np.inf], [-np.inf, 1, 2], [1e30, -1e30, 0], [1e30, 1e30], [-1e30, -1e30], [88, -88, 0],
                           [100, 0, -100], [0.0, -0.0], [3e4, -3e4], [1] * 15 + [np.inf], [1] * 15 + [-np.inf], [np.nan] + [1] * 15, [-np.inf] * 20,
                           [np.inf] + [1] * 20, [1] * 20 + [np.nan], [-104, 0], [-87, 0], [-90, 0]]:
                rows.add(op, [np.array([values, [0.5] * len(values)]).astype(dtype)], each=10 * EXACT[dtype])
    with_inf = f32(1, np.inf, 2), f32(1, -np.inf, 2), f32(np.nan, 1, 2), f32(-np.inf, -np.inf, -np.inf), f32(1e30, 0, -1e30)
    for row in with_inf:
        for label in [[1, 0, 0], [0, 1, 0], [0.2, 0.3, 0.5], [0, 0, 0], [np.nan, 0, 0]]:
            rows.add("SoftmaxCrossEntropyWithLogits", [row[None], f32(*label)[None]], each=1e-5)
        for label in [0, 1, 2]:
            rows.add("SparseSoftmaxCrossEntropyWithLogits", [row[None], i32(label)], each=1e-5)


def border_pool(rows):
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 5.0, 1e30]
    for dtype in FLOATS:
        for index in range(0, 16, 3):
            image = np.arange(16.0)
            for value in special[:3]:
                image[index] = value
                rows.add("MaxPool", [image.reshape(1, 4, 4, 1).astype(dtype)], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID", each=0)
                if index in (0, 6):
                    rows.add("MaxPool", [image.reshape(1, 4, 4, 1).astype(dtype)], ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="SAME", each=0)
                    rows.add("AvgPool", [image.reshape(1, 4, 4, 1).astype(dtype)], ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding="SAME",
                             each=2 * EXACT[dtype])
        for value in special:
            rows.add("MaxPool", [np.full((1, 3, 3, 10), value).astype(dtype)], ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME", each=0)
        deep = np.tile(np.array(special), 4 * 4 * 2)[: 4 * 4 * 17].reshape(1, 4, 4, 17).astype(dtype)
        for size in [2, 3, 4]:
            for op in ["MaxPool", "AvgPool"]:
                rows.add(op, [deep], ksize=[1, size, size, 1], strides=[1, 1, 1, 1], padding="SAME", each=2 * EXACT[dtype])
    gradient = f32(1, 2, 3, 4).reshape(1, 2, 2, 1)
    for index in range(4):
        image = np.arange(16, dtype=np.float32)
        image[index] = np.nan
        image = image.reshape(1, 4, 4, 1)
        pooled = tf.raw_ops.MaxPool(input=image, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
        rows.add("MaxPoolGrad", [image, pooled, gradient], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID", each=0)


def border_norm(rows):
    """The squares, and their sum, are of the element type: integers wrap, half overflows."""
    for dtype in INTEGERS:
        high, low = np.iinfo(dtype).max, np.iinfo(dtype).min
        for values in [[3, 4], [5], [12], [11, 9], [100, 100, 100], [high] * 3, [low, 1], [high // 2] * 2, [], [181, 181], [46341],
                       [3037000500], [65535, 65535], [0, 1, 2] * 20]:
            values = [value for value in values if value <= high]
            x = np.array(values, dtype)
            rows.add("EuclideanNorm", [x, i32(0)])
            rows.add("EuclideanNorm", [np.stack([x, x]), i32(1)])
            rows.add("EuclideanNorm", [np.stack([x] * 9).T, i32(0)])
    for dtype in FLOATS[2:]:
        for values in [[300, 1], [300, 300], [0.1] * 700, [3e-4, 4e-4], [1.3, 2.7, 0.33], [-2, 1.5], [np.nan, 1], [1, -np.inf], [-0.0], []]:
            x = np.array(values).astype(dtype)
            rows.add("EuclideanNorm", [x, i32(0)], each=EXACT[dtype])
            rows.add("EuclideanNorm", [np.stack([x, x]), i32(1)], each=EXACT[dtype])
            if len(values) < 100:  # TensorFlow adds up columns in the element type, with its error
                rows.add("EuclideanNorm", [np.stack([x] * 9).T, i32(0)], each=EXACT[dtype])


def border_zeros(rows):
    """Which of 0 and -0 is the greater or smaller one."""
    for dtype in FLOATS:
        for signs in ["-0", "0-", "-0-", "0-0", "-----0", "0----", "0000-", "--------0", "00000000-", "0-" * 8 + "0", "-0" * 8 + "-",
                      "0" * 19 + "-" * 14]:
            x = np.array([-0.0 if sign == "-" else 0.0 for sign in signs], dtype)
            for op in ["Max", "Min"]:
                rows.add(op, [x, i32(0)], each=0)
                rows.add(op, [np.stack([x, x]), i32(1)], each=0)
                rows.add(op, [np.stack([x, x, x]).T, i32(0)], each=0)
                if dtype in FLOATS[:2]:  # in vectors of half and bfloat16, the first zero wins
                    rows.add(op, [np.stack([x] * 20).T, i32(0)], each=0)
            for op in ["ArgMax", "ArgMin"]:
                rows.add(op, [x, np.int32(0)])
            rows.add("TopKV2", [x, np.int32(2)], each=0)
            rows.add("ClipByValue", [x, dtype(0), dtype(6)], each=0)
            rows.add("ClipByValue", [x, dtype(-6), dtype(-0.0)], each=0)
        for order in [[-0.0, 0.0], [0.0, -0.0]]:
            image = np.array(order * 8).astype(dtype).reshape(1, 4, 4, 1)
            rows.add("MaxPool", [image], each=0, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")


def border_array(rows):
    for indices in [i32(-1, 0, 2, 3, 1000, -2147483648, 2147483647), np.array([-1, 3, 2**40, -2**63], np.int64), np.array([0, 255], np.uint8),
                    np.array([-128, 127, 1], np.int8)]:
        rows.add("OneHot", [indices, np.int32(3), np.float32(np.nan), np.float32(-0.0)], each=0)
        rows.add("OneHot", [indices, np.int32(0), np.float32(1), np.float32(0)])
    for dtype in [np.float32, np.float64, np.int32, np.int64]:
        for a in [(0, 1, 0.1), (0, 1, 0.3), (1, 0, -0.1), (0, 10, 3.3), (-1, 1, 0.7), (0, 1, 1), (0.1, 0.7, 0.2), (0, 0.9, 0.1), (3, 3, 0.5),
                  (10, 0, -3), (0, -1, 1), (0, 1, np.inf), (0, 1, np.nan), (np.nan, 1, 1), (0, np.inf, 1)]:
            if dtype in (np.int32, np.int64) and not all(np.isfinite(a)):
                continue
            rows.add("Range", [np.array(v).astype(dtype) for v in a], each=EXACT.get(dtype, 0), text=False)
    rows.add("Range", [np.int32(2147483640), np.int32(2147483647), np.int32(3)])
    rows.add("Range", [np.int32(-2147483648), np.int32(2147483647), np.int32(2147483647)])
    rows.add("Range", [np.int64(-2**63), np.int64(2**63 - 1), np.int64(2**62)])
    rows.add("Range", [np.int64(2**63 - 3), np.int64(2**63 - 1), np.int64(1)])
    for a in [(0, 1, 3), (0, 1, 7), (1, 0, 6), (-1e30, 1e30, 5), (0, np.inf, 3), (np.nan, 1, 3), (5, 5, 4), (0, 1, 1), (0.1, 0.7, 11)]:
        for dtype in [np.float32, np.float64]:
            rows.add("LinSpace", [dtype(a[0]), dtype(a[1]), np.int32(a[2])], each=EXACT[dtype])
    rows.add("LinSpace", [np.float32(0), np.float32(1), np.int32(0)])
    for dtype in [np.int8, np.uint8, np.int32]:
        rows.add("ResizeBilinear", [integers(1, 2, 2, 1, high=127, dtype=dtype), i32(3, 3)], each=1e-6)
    for op in ["ResizeBilinear", "ResizeNearestNeighbor"]:
        for value in [np.nan, np.inf, -np.inf]:
            for attrs in [dict(), dict(align_corners=True), dict(half_pixel_centers=True)]:
                rows.add(op, [f32(1, value, 3, 4).reshape(1, 2, 2, 1), i32(3, 5)], each=2e-6, **attrs)
    for value in [np.nan, np.inf, -np.inf, 1e30, -0.0]:
        image = np.arange(1, 33, dtype=np.float32).reshape(1, 4, 4, 2)
        image[0, 1, 2, 0] = value
        for padding in ["SAME", "VALID"]:
            rows.add("Conv2D", [image, floats(3, 3, 2, 3)], each=1e-4, strides=[1, 1, 1, 1], padding=padding)
            rows.add("DepthwiseConv2dNative", [image, floats(3, 3, 2, 1)], each=1e-4, strides=[1, 1, 1, 1], padding=padding)
        for scale, variance in [(1, 1), (0, 1), (1, 0), (np.inf, 1), (1, np.inf), (1, np.nan), (1, -1)]:
            rows.add("FusedBatchNormV3", [image, f32(scale, 1), f32(0, 1), f32(2, 3), f32(variance, 1)], each=1e-5, is_training=False, skip=(1, 2, 3, 4, 5))
        for bits in [8, 2]:
            rows.add("FakeQuantWithMinMaxArgs", [image], num_bits=bits, each=2e-6)
            rows.add("FakeQuantWithMinMaxVars", [image, np.float32(-1), np.float32(9.1)], num_bits=bits, each=2e-6)
            rows.add("FakeQuantWithMinMaxVars", [image, np.float32(1), np.float32(value)], num_bits=bits, each=2e-6)
            rows.add("FakeQuantWithMinMaxVarsPerChannel", [image, f32(-1, -1), f32(9.1, 2)], num_bits=bits, each=2e-6)
    rows.add("Where", [f32(*SPECIAL)])
    rows.add("ApproximateEqual", [*pairs(f32(*SPECIAL))], tolerance=None)
    rows.add("CheckNumerics", [f32(np.nan, np.inf)], message="m")
    rows.add("CheckNumerics", [f32(-np.inf)], message="m")
    for dtype in [np.int32, np.int64]:
        for mat in [np.full((2, 2), np.iinfo(dtype).max, dtype), np.full((2, 2), np.iinfo(dtype).min, dtype)]:
            rows.add("MatMul", [mat, mat])
    for row in [[np.nan, 0], [np.inf, 0], [np.inf, -np.inf], [1e30, 1e30]]:
        rows.add("MatMul", [f32(*row)[None], f32(0, 1)[:, None]], each=1e-6)
        rows.add("MatMul", [np.tile(f32(*row), (3, 16)), np.tile(f32(0, 1)[:, None], (16, 34))], each=1e-5)
        rows.add("BatchMatMulV2", [np.tile(f32(*row), (2, 2, 8)), np.tile(f32(0, 1)[:, None], (8, 34))], each=1e-5)


def border_text(rows):
    texts = ["abc XYZ", "\u00e4\u00f6\u00fc \u00c4\u00d6\u00dc", "stra\u00dfe STRASSE \u1e9e", "\u0130stanbul \u0131I i", "\u01c4\u01c5\u01c6 \u01f1\u01f2\u01f3",
             "\u039f\u0394\u039f\u03a3 \u03a3 \u03a3\u03a3 \u0391\u03a3. \u03a3\u0391 \u0391\u03a3\u0391", "\u03bf\u03b4\u03cc\u03c2", "\ufb01 \ufb03 \u0149 \u01f0 \u0390 \u1f50 \u1fb3 \u1fbc",
             "\u0410\u0411\u0432\u0433", "\U00010400\U00010428", "\u4e2d\u6587", "e\u0301E\u0301", "\u212a\u212b\u2126", "\u0345\u0399\u1f80", "\u10d0\u1c90\u10a0\u2d00",
             "\u13a0\uab70", "\u0391\u0345\u03a3", "\u0391\u00b7\u03a3", "'\u03a3", "a\0b\u00c9", "", "\ufeffA\u00c4", "\u1e9b\u0307", "\u03f4\u03f5", "I\u0307\u00cc \u0128",
             "\ua64a\u1c88", "\U0001e900\U0001e922", "\u0587"]
    broken = [b"\xff", b"A\xffB", b"\xc3", b"\xc3A", b"\xe2\x82", b"\xe2\x82Z", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xed\xa0\x81\xed\xb0\x80", b"\xc0\x80", b"\xc1\xbf",
              b"\xe0\x80\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\x80\x80", b"\xf0\x80\x80\x80", b"a\xe2\x28\xa1z", b"\xfe\xfe", b"\xef\xbf\xbe\xef\xbf\xbf",
              b"\xf0\x9f\x98\xc3\x84", b"\xc3\xc3\x84", b"\xce\xa3\xff"]
    new = {0x2c2f, 0x2c5f, 0xa7c0, 0xa7c1, *range(0xa7d0, 0xa7da), *range(0x10570, 0x105bd)}  # of Unicode 14: not in TensorFlow's ICU
    cased = [chr(c) for c in range(0x80, 0x1ea00) if not 0xd800 <= c < 0xe000 and c not in new and (chr(c).upper(), chr(c).lower()) != (chr(c), chr(c))]
    everything = [" ".join(cased[i : i + 256]) for i in range(0, len(cased), 256)]
    for op in ["StringLower", "StringUpper"]:
        for encoding in ["", "utf-8"]:
            rows.add(op, [np.array([t.encode() for t in texts] + broken, object)], encoding=encoding)
        for text in everything:
            rows.add(op, [np.array([text.encode()], object)], encoding="utf-8")
        rows.add(op, [np.array([b"a"])], encoding="latin-1")
    for unit in ["BYTE", "UTF8_CHAR"]:
        rows.add("StringLength", [np.array(broken + [t.encode() for t in texts], object)], unit=unit)
    for out_type in [np.float32, np.float64, np.int32, np.int64]:
        for one in [b"nan", b"NaN", b"inf", b"-inf", b"Infinity", b"+inf", b"1e400", b"-1e400", b"1e-400", b"0x10", b"0x1p3", b"1e39", b"1e-46", b"+5", b"--5", b"5.",
                    b".5", b"", b" ", b"1 2", b"1\0", b"2147483648", b"-2147483649", b"9223372036854775808", b"-9223372036854775809", b"1_000", b"1,000", b"1e5",
                    b"1.5", b"-0", b"0010", b"\t7\n", b"\xc2\xa07", b"1f", b"1d", b"infinit", b"nan(1)", b"1e", b"1e+", b"3.4028236e38", b"16777217"]:
            rows.add("StringToNumber", [np.array([one])], out_type=out_type, each=0)
    for dtype in FLOATS:
        for attrs in [dict(), dict(precision=2), dict(scientific=True), dict(shortest=True), dict(precision=0), dict(width=12, fill="0"), dict(width=8, fill="+"),
                      dict(shortest=True, precision=4), dict(scientific=True, precision=1, width=14, fill="-")]:
            rows.add("AsString", [edges(dtype)], **attrs)
    for dtype in INTEGERS:
        for attrs in [dict(), dict(width=6), dict(width=6, fill="0"), dict(width=6, fill="-"), dict(precision=2), dict(scientific=True)]:
            rows.add("AsString", [edges(dtype)], **attrs)
    rows.add("AsString", [np.array([True, False])], width=7)
    for text in [b"\xc2\xa0a\xc2\xa0", b"\0a\0", b"\x1f a \x0b", b"\xe3\x80\x80a"]:
        rows.add("StringStrip", [np.array([text], object)])


def border_special_floats(rows):
    """NaN, infinities and large numbers in products, images, and ops that only move elements."""
    special = f32(np.nan, np.inf, -np.inf, -0.0, 1, 1e30)
    rows.add("SparseSegmentMean", [np.stack([special, special[::-1]]), i32(0, 1), i32(0, 0)], each=2e-6)
    rows.add("SparseSegmentSum", [np.stack([special, special[::-1]]), i32(0, 1), i32(0, 0)], each=2e-6)
    for dtype in FLOATS:
        values = np.array([np.nan, np.inf, -np.inf, 0.0, 1, 100], np.float64).astype(dtype)
        rows.add("MatMul", [values[None], values[:, None]], each=EXACT[dtype])
        rows.add("MatMul", [values[3:, None], values[None, 3:]], each=EXACT[dtype])
        rows.add("BiasAdd", [np.stack([values, values[::-1]]), values], each=EXACT[dtype])
        rows.add("AddN", [[values, values[::-1], values]], each=EXACT[dtype])
        rows.add("MatrixBandPart", [np.tile(values[:3], (3, 1)), np.int32(0), np.int32(1)], each=0)
        rows.add("BatchMatMulV2", [np.tile(values, (2, 2, 1)), np.tile(values[:, None], (2, 1, 2))], each=EXACT[dtype])
        rows.add("SelectV2", [np.array([True, False] * 3), values, values[::-1]], each=0)
        rows.add("ZerosLike", [values], each=0)
        rows.add("Unique", [values], each=0)
    image = f32(np.nan, 1, 2, np.inf, -np.inf, 3, 1e30, -1e30).reshape(1, 2, 2, 2)
    for padding in ["SAME", "VALID"]:
        rows.add("Conv2D", [image, floats(1, 1, 2, 3)], each=1e-5, strides=[1, 1, 1, 1], padding=padding)
    rows.add("Conv2DBackpropInput", [i32(1, 3, 3, 3), floats(2, 2, 3, 2), image], each=1e-4, strides=[1, 1, 1, 1], padding="VALID")
    rows.add("DepthwiseConv2dNative", [image, floats(2, 2, 2, 2)], each=1e-5, strides=[1, 1, 1, 1], padding="VALID")
    rows.add("ResizeBilinear", [image, i32(2, 2)], each=0, half_pixel_centers=True)
    for op in ["SpaceToDepth", "DepthToSpace"]:
        rows.add(op, [np.tile(special[:4], 4).reshape(1, 2, 2, 4)], block_size=2, each=0)
    rows.add("FusedBatchNormV3", [np.tile(special, 4).reshape(1, 2, 2, 6), np.ones(6, np.float32), np.zeros(6, np.float32), np.zeros(0, np.float32),
                                  np.zeros(0, np.float32)], each=1e-4, is_training=True, skip=(1, 2, 3, 4, 5))


def border_largest_integers(rows):
    for dtype in INTEGERS:
        high = np.iinfo(dtype).max
        rows.add("ResizeBilinear", [np.array([0, high, high, 1], dtype).reshape(1, 2, 2, 1), i32(3, 3)], each=1e-6)
        rows.add("ResizeNearestNeighbor", [np.array([0, high, high, 1], dtype).reshape(1, 2, 2, 1), i32(3, 3)])
        rows.add("DynamicStitch", [[i32(0, 1), i32(1, 2)], [np.array([1, high], dtype), np.array([high, 2], dtype)]])
        rows.add("Cumsum", [np.full((2, 3, 2), high, dtype), np.int32(1)], reverse=True, exclusive=True)
        rows.add("TopKV2", [np.array([[0, high, high, 1], [high, 0, 1, high]], dtype), np.int32(3)])
        rows.add("Unique", [np.array([high, 0, high, 1], dtype)])
        rows.add("BitwiseXor", [np.array([high, 0], dtype), np.array([high, high], dtype)])
        rows.add("Cast", [np.array([high, high // 2 + 1], dtype)], each=0, DstT=np.float32)
        rows.add("Cast", [np.array([high, high // 2 + 1], dtype)], each=0, DstT=np.float64)
        rows.add("AsString", [np.array([high, np.iinfo(dtype).min], dtype)])


def half():
    """Types that TensorFlow rounds to after each operation: the values are exact."""
    rows = Rows("half", seed=411)
    for dtype in FLOATS[2:]:
        for op in ["Cumsum", "Cumprod"]:
            for attrs in [dict(), dict(exclusive=True), dict(reverse=True), dict(exclusive=True, reverse=True)]:
                rows.add(op, [edges(dtype)[:9], np.int32(0)], each=0, **attrs)
                rows.add(op, [np.full((40,), 1.1, dtype), np.int32(0)], each=0, **attrs)
                rows.add(op, [floats(3, 4, 2, dtype=dtype), np.int32(1)], each=0, **attrs)
                rows.add(op, [np.zeros((2, 0), dtype), np.int32(1)], **attrs)
        for low, high in [(-1, 1), (1, -1), (np.nan, 1), (-1, np.nan), (-np.inf, np.inf), (0.0, -0.0)]:
            rows.add("ClipByValue", [edges(dtype), dtype(low), dtype(high)], each=0)
        rows.add("ClipByValue", [floats(700, dtype=dtype), floats(700, high=0, dtype=dtype), floats(700, low=0, dtype=dtype)], each=0)
        rows.add("UnsortedSegmentSum", [floats(300, dtype=dtype), integers(300, low=-1, high=5), np.int32(6)], each=0)
        rows.add("UnsortedSegmentSum", [floats(4, 3, dtype=dtype), i32(0, -1, 2, 2), np.int32(4)], each=0)
        rows.add("UnsortedSegmentSum", [edges(dtype)[:9], i32(0, 0, 1, 1, 2, 2, 3, 3, 4), np.int32(6)], each=0)
        for a in [(0, 1, 0.1), (0, 1, 0.3), (1, 0, -0.1), (0, 10, 3.3), (-1, 1, 0.7), (0, 1, 1), (0.1, 0.7, 0.2), (3, 3, 0.5), (10, 0, -3),
                  (0, -1, 1), (0, 30, 0.3), (5, -5, -0.7), (0, 600, 1), (1000, 3000, 7), (0, 1, np.inf)]:
            rows.add("Range", [dtype(v) for v in a], each=0, text=False)
    for dtype in FLOATS[2:]:
        for op in ["SquaredDifference", "FloorDiv"]:
            rows.add(op, [floats(100, low=-9, high=9, dtype=dtype), floats(100, low=-0.1, high=1, dtype=dtype)], each=0)
        for op in ["Xlogy", "Xlog1py"]:
            rows.add(op, [floats(100, low=-9, high=9, dtype=dtype), floats(100, low=0.01, high=9, dtype=dtype)], each=0)
        for op in ["Sigmoid", "Softsign", "Softplus", "Elu", "Selu"]:
            rows.add(op, [floats(100, low=-9, high=9, dtype=dtype)], each=0)
            rows.add(op, [np.array([0, np.nan, np.inf, -np.inf, -90, 90, 2.84375, 2.859375, -2.84375, -2.859375, 7.0, 7.03125], dtype)], each=0)
        rows.add("LeakyRelu", [floats(100, low=-9, high=9, dtype=dtype)], each=0, alpha=0.3)
        rows.add("LeakyReluGrad", [floats(100, low=-3, high=3, dtype=dtype), floats(100, low=-3, high=3, dtype=dtype)], each=0, alpha=0.3)
        for op in ["SigmoidGrad", "TanhGrad", "SoftplusGrad", "SoftsignGrad", "EluGrad", "SeluGrad", "ReciprocalGrad", "InvGrad", "SqrtGrad", "RsqrtGrad"]:
            rows.add(op, [floats(96, low=-3, high=3, dtype=dtype), floats(96, low=-3, high=3, dtype=dtype)], each=0)  # whole packets
        rows.add("RsqrtGrad", pairs(np.array([0, -0.0, 1, -1.5, 2e-3, -3e-5, 6e-8, 300], dtype)), each=0)
        rows.add("Xlogy", pairs(np.array([0, 1, -3, 1e-40, 1e-3, 2, np.inf, np.nan], dtype)), each=0)
        for op in ["Softmax", "LogSoftmax"]:  # sums of parts of a packet, of packets, of four, and of halves of a row
            for shape in [(3, 7), (2, 40), (1, 200), (1, 1100 if dtype == FLOATS[3] else 1700)]:
                rows.add(op, [floats(*shape, low=-5, high=5, dtype=dtype)], each=0)
    rows.write()


def scalars():
    """Vectors of one element where TensorFlow wants a scalar; it takes them for SplitV, ConcatV2 and MatrixDiagPartV3."""
    rows = Rows("scalars")
    x, ids, one = floats(4, 2), i32(0, 1, 1, 0), np.int32(1)
    for op, attrs, inputs, places in [
            ("UnsortedSegmentSum", {}, [x, ids, np.int32(3)], [2]), ("UnsortedSegmentMax", {}, [x, ids, np.int32(3)], [2]),
            ("UnsortedSegmentJoin", {}, [np.array([b"a", b"b"], object), i32(0, 1), np.int32(3)], [2]),
            ("SparseSegmentMeanWithNumSegments", {}, [x, i32(0, 2, 3), i32(0, 0, 1), np.int32(4)], [3]),
            ("SparseSegmentSumGrad", {}, [x, i32(0, 2, 3, 1), i32(0, 0, 1, 1), np.int32(4)], [3]),
            ("SparseSegmentSqrtNGradV2", {}, [x, i32(0, 2, 3, 1), i32(0, 0, 1, 1), np.int32(4)], [3]),
            ("LinSpace", {}, [np.float32(0), np.float32(1), np.int32(5)], [0, 1, 2]),
            ("OneHot", {}, [ids, np.int32(3), np.float32(5), np.float32(-1)], [1, 2, 3]),
            ("MatrixBandPart", {}, [floats(3, 4), one, one], [1, 2]),
            ("MatrixDiagV2", {}, [floats(2, 3), np.int32(0), np.int32(3), np.int32(4), np.float32(9)], [1, 2, 3, 4]),
            ("MatrixDiagPartV3", {}, [floats(3, 4), np.int32(0), np.float32(9)], [1, 2]),
            ("Split", {"num_split": 2}, [np.int32(0), x], [0]), ("SplitV", {"num_split": 2}, [x, i32(1, 3), np.int32(0)], [2]),
            ("ConcatV2", {}, [[x, x], one], [1]), ("GatherV2", {}, [x, ids, np.int32(0)], [2]),
            ("InTopKV2", {}, [floats(2, 4), i32(0, 3), np.int32(2)], [2]),
            ("Bincount", {}, [ids, np.int32(3), floats(0)], [1]),
            ("SparseBincount", {}, [np.int64([[0], [2]]), i32(1, 2), np.int64([3]), np.int32(4), i32()], [3]),
            ("RaggedBincount", {}, [np.int64([0, 1, 2]), i32(1, 2), np.int32(4), i32()], [2]),
            ("RandomUniformInt", {}, [i32(4), one, np.int32(9)], [1, 2]),
            ("StatelessRandomUniformInt", {}, [i32(4), i32(3, 4), one, np.int32(9)], [2, 3]),
            ("PadV2", {}, [i32(1, 2), i32(1, 2).reshape(1, 2), np.int32(9)], [2]),
            ("SparseSplit", {"num_split": 2}, [np.int64(0), np.int64([[0, 1], [2, 0]]), floats(2), np.int64([3, 4])], [0]),
            ("Mfcc", {}, [floats(1, 2, 129, low=0), np.int32(16000)], [1]),
            ("ShardedFilename", {}, [np.array(b"ckpt", object), np.int32(3), np.int32(12)], [0, 1, 2]),
            ("ShardedFilespec", {}, [np.array(b"ckpt", object), np.int32(12)], [0, 1])]:
        for place in places:
            rows.add(op, [a[None] if i == place else a for i, a in enumerate(inputs)], text=False, **attrs)
    rows.write()


FAMILIES = [borders, half, scalars]

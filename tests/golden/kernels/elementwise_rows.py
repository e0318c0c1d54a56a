"""Rows of ops that compute each element alone."""
from rows import FLOAT8, Rows
from drawn import COMPLEX, FLOATS, INTEGERS, LOOSE, SPECIAL, complexes, f32, floats, i32, integers

import numpy as np
import tensorflow as tf

TINY = {np.float32: (1e-40, 1.4e-45, 1.1e-38), np.float64: (1e-310, 5e-324, 2e-308)}


def binary():
    rows = Rows("binary", seed=645)
    for op in ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "Div", "FloorDiv", "FloorMod", "Pow",
               "Add", "Mod", "TruncateMod"]:
        for dtype in FLOATS:
            if op in ("Mod", "TruncateMod") and dtype not in (np.float32, np.float64):
                continue
            x, y = floats(2, 3, dtype=dtype, low=0.1), floats(3, dtype=dtype, low=0.5)
            rows.add(op, [x, y], LOOSE.get(dtype))
        for dtype in INTEGERS:
            if op == "Mod" and dtype not in (np.int32, np.int64):
                continue
            if op == "Pow" and dtype not in (np.int32, np.int64, np.int8, np.int16):
                continue
            if op == "SquaredDifference" and dtype not in (np.int32, np.int64):
                continue
            if op == "TruncateMod" and dtype not in (np.int32, np.int64):
                continue
            x, y = integers(2, 3, dtype=dtype), integers(2, 1, low=1, high=6, dtype=dtype)
            rows.add(op, [x, y])
            if np.issubdtype(dtype, np.signedinteger) and op != "Pow":
                rows.add(op, [np.array([7, -7, 7, -7, -128], dtype), np.array([3, 3, -3, -3, -1], dtype)])
    for op in ["AddV2", "Mul", "Sub", "RealDiv", "Maximum", "Minimum", "DivNoNan", "MulNoNan", "SquaredDifference"]:
        rows.add(op, [f32(*SPECIAL), f32(*SPECIAL[::-1])])
        rows.add(op, [f32(*SPECIAL), f32(0.0)])
        rows.add(op, [f32(*SPECIAL)[:, None], f32(*SPECIAL[:3])])
    shapes = [((), ()), ((1,), ()), ((), (2, 2)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1), (1, 3)),
              ((2, 1, 3), (4, 1)), ((2, 3, 4), (3, 1)), ((0, 3), (3,)), ((0,), (1,)), ((2, 1, 2, 1), (1, 3, 1, 2)),
              ((5, 1, 4), (5, 3, 4)), ((1, 1), (3, 2)), ((2, 2, 1, 1, 2), (2, 3, 1, 2))]
    for a, b in shapes:
        rows.add("Sub", [floats(*a), floats(*b)])
        rows.add("AddV2", [integers(*a), integers(*b)])
    for a, b in [((2,), (3,)), ((2, 3), (2,)), ((2, 3, 4), (3, 2, 4))]:
        rows.add("AddV2", [floats(*a), floats(*b)])
        rows.add("Mul", [integers(*a), integers(*b)])
    for op in ["FloorDiv", "FloorMod", "Div"]:
        rows.add(op, [i32(1, 2), i32(1, 0)])
        rows.add(op, [np.zeros((0, 2), np.int32), i32(1, 0)])
    rows.add("Pow", [i32(2, 3), i32(1, -1)])
    rows.add("Pow", [f32(2, -2, -8, 0), f32(-1, 3, 0.5, 0)])
    rows.add("Atan2", [f32(1, -1, 0, 2), f32(1, -1, -1, 0)])
    rows.add("Xdivy", [f32(0, 1, 2), f32(0, 2, 0)])
    rows.add("Xlogy", [f32(0, 1, 2), f32(0, 2, 0.5)])
    rows.add("Add", [np.array([b"a", b"bc\0d"]), np.array(b"x")])
    rows.add("AddN", [[f32(1, 2), f32(3, 4), f32(5, 6)]])
    rows.add("AddN", [[i32(1, 2)]])
    rows.add("BitwiseAnd", [i32(12, 10), i32(10, -1)])
    rows.add("BitwiseOr", [i32(12, 10), i32(10, -1)])
    rows.add("TruncateDiv", [i32(7, -7, 7), i32(2, 2, -2)])
    rows.add("BitwiseXor", [i32(12, 10), i32(10, -1)])
    rows.write()


def compare():
    rows = Rows("compare", seed=743)
    for op in ["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"]:
        for dtype in FLOATS + INTEGERS:
            rows.add(op, [integers(2, 3, high=3, dtype=dtype), integers(3, high=3, dtype=dtype)])
        rows.add(op, [f32(*SPECIAL), f32(*SPECIAL[::-1])])
        rows.add(op, [f32(*SPECIAL), f32(np.nan)])
        rows.add(op, [f32(1, 2), f32(1, 2, 3)])
    for op in ["Equal", "NotEqual"]:
        rows.add(op, [np.array([b"a", b"b\0", b""]), np.array(b"b\0")])
        rows.add(op, [np.array([True, False]), np.array([[True], [False]])])
        rows.add(op, [f32(1, 2), f32(1, 2, 3)], incompatible_shape_error=False)
    for op in ["LogicalAnd", "LogicalOr"]:
        rows.add(op, [np.array([True, False]), np.array([[True], [False]])])
    rows.add("LogicalNot", [np.array([True, False])])
    rows.write()


def unary():
    rows = Rows("unary", seed=559)
    anywhere = f32(-3, -1.5, -0.5, -0.0, 0, 0.001, 0.5, 1.5, 2.5, 3)
    inside = f32(-0.9, -0.3, 0, 0.2, 0.7)
    positive = f32(0.1, 0.5, 1, 2.5, 100)
    for op in ["Neg", "Abs", "Sign", "Square", "Exp", "Expm1", "Floor", "Ceil", "Round", "Rint", "Sin", "Cos", "Tan", "Atan",
               "Sinh", "Cosh", "Tanh", "Asinh", "Erf", "Erfc", "Sigmoid", "Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign"]:
        for dtype in FLOATS:
            rows.add(op, [anywhere.astype(dtype)], LOOSE.get(dtype))
        rows.add(op, [f32(*SPECIAL)] if op not in ("Sin", "Cos", "Tan") else [f32(np.nan, np.inf, 0)])
    for op in ["Sqrt", "Rsqrt", "Log", "Log1p", "Reciprocal", "Inv"]:
        for dtype in FLOATS:
            rows.add(op, [positive.astype(dtype)], LOOSE.get(dtype))
        rows.add(op, [f32(-1, 0, np.nan, np.inf)])
    for op in ["Asin", "Acos", "Atanh"]:
        rows.add(op, [inside])
    rows.add("Acosh", [f32(1, 1.5, 20)])
    for op in ["Neg", "Abs", "Sign", "Square"]:
        for dtype in [np.int8, np.int16, np.int32, np.int64]:
            rows.add(op, [np.array([-128, -1, 0, 1, 127], dtype)])
    for op in ["Floor", "Ceil", "Round"]:
        rows.add(op, [f32(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1e20)])
    for dtype in INTEGERS:
        rows.add("Relu", [np.array([0, 1, 5, 100], dtype)])
    for alpha in [0.2, 0.01, 0.0, 2.0]:
        for dtype in FLOATS:
            rows.add("LeakyRelu", [anywhere.astype(dtype)], LOOSE.get(dtype), alpha=alpha)
    rows.add("LeakyRelu", [f32(*SPECIAL)])
    for op in ["IsNan", "IsInf", "IsFinite"]:
        for dtype in FLOATS:
            rows.add(op, [np.array(SPECIAL[:5], dtype)])
    for op in ["ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad", "LeakyReluGrad"]:
        rows.add(op, [f32(1, 2, -3, 4, 5, 6), f32(-1, 0, 0.5, 2, 6, 7)])
    for op in ["SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"]:
        rows.add(op, [f32(0.1, 0.5, 0.9, 0.3), f32(1, -2, 3, 4)])
    rows.add("Tanh", [floats(40, low=-10, high=10)])
    rows.add("Sigmoid", [floats(40, low=-30, high=30)])
    rows.add("Exp", [floats(40, low=-80, high=80)], 1e-6)
    rows.add("Exp", [f32(-200, -104, 88.7, 89, 200)])
    rows.write()


def cast():
    rows = Rows("cast", seed=427)
    types = FLOATS + INTEGERS + [np.bool_]
    for source in types:
        values = np.array([0, 1, 2, 100], np.float64).astype(source)
        for target in types:
            if source != target:
                rows.add("Cast", [values], DstT=target)
    for target in INTEGERS + [np.bool_]:
        for source in [np.float32, np.float64]:
            rows.add("Cast", [np.array([-1.9, -0.5, 0.5, 1.9, 127.5], source)], DstT=target)
    for target in [np.int32, np.int64]:
        for source in [np.float32, np.float64]:
            rows.add("Cast", [np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 1e20], source)], DstT=target)
    numbers = [np.complex64, np.complex128]
    for source in types + numbers:
        for target in (types + numbers if source in numbers else numbers):
            values = np.array([0, 1, 2.75, 100], np.float64).astype(source)
            rows.add("Cast", [values + values[1] * 1j * np.array([0, 1, -2, 0], source) if source in numbers else values], DstT=target)
    rows.add("Cast", [np.array([1j, 0, np.nan], np.complex64)], DstT=tf.bool)
    rows.add("Cast", [np.array([np.nan, np.inf, 3e9 + 1j], np.complex64)], DstT=tf.int32)
    rows.add("Cast", [np.array([-1, 300, 70000], np.int64)], DstT=np.int8)
    rows.add("Cast", [np.array([-1, 300, 70000], np.int64)], DstT=np.uint8)
    rows.add("Cast", [np.array([-1, 300, 70000], np.int64)], DstT=np.uint32)
    rows.add("Cast", [f32(1.00390625, 1.01171875, -3.3)], DstT=tf.bfloat16)
    rows.add("Cast", [f32(1e6, 1e-8, 65504, np.nan)], DstT=np.float16)
    rows.add("Cast", [f32(1, 2)], DstT=np.float32)
    special = [1.5 - 2j, -3.9, 300.7 + 5j, complex(np.inf, 0), complex(-1, np.nan)]
    for source in COMPLEX:
        for target in types + COMPLEX:
            rows.add("Cast", [np.array(special if target in FLOATS + COMPLEX + [np.bool_] else special[:3], source)], DstT=target)
        rows.add("Cast", [np.arange(1100).astype(np.float16)], DstT=source)  # more than one block
    for quantized in [tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32]:
        for other in [np.float32, np.int32, np.uint8]:
            rows.add("Cast", [np.array([0, 1, 100], other)], DstT=quantized)
            rows.add("Cast", [tf.cast(np.array([0, 1, 100], np.int32), quantized)], DstT=other)
    for float8 in FLOAT8:
        float8_casts(rows, float8)
    rows.write()


def float8_casts(rows, float8):
    every = np.arange(256).astype(np.uint8).view(float8.as_numpy_dtype)
    for other in [np.float32, np.float16, tf.bfloat16, np.float64] + [other for other in FLOAT8 if other != float8]:
        rows.add("Cast", [every], DstT=other)
    sizes = every[:0x7e if float8 == FLOAT8[0] else 0x7c].astype(np.float32)
    between = np.sort(np.concatenate([(sizes[:-1] + sizes[1:]) / 2 * scale for scale in (1, 0.999, 1.001)]))
    numbers = np.concatenate([between, -between, [0, 463, 464, 465, 480, 1e9, -500, np.inf, -np.inf, np.nan, 1e-9, 57344, 61439, 61440, -61441, 65504]])
    for other in [np.float32, np.float16, tf.bfloat16]:
        rows.add("Cast", [tf.cast(numbers, other)], DstT=float8)
    near = (sizes[:-1] + sizes[1:]).astype(np.float64) / 2 * [[1 - 2e-8], [1], [1 + 2e-8]]  # no float is so near to a tie
    rows.add("Cast", [np.array([float("%.9g" % number) for number in [*near.ravel(), *numbers]])], DstT=float8)
    for dtype in [np.int64, np.int8, np.bool_, np.complex64, np.complex128]:
        rows.add("Cast", [np.array([1, 0], dtype)], DstT=float8, text=False)


def special_functions():
    """Special special_functions, and the bits of integers."""
    rows = Rows("special_functions", seed=985)
    anywhere = np.array([-30, -5.5, -1.5, -0.3, 0, 1e-4, 0.25, 0.9, 1, 2.5, 7, 33, 120, np.nan])
    positive = np.array([0, 1e-4, 0.25, 0.9, 1, 1.6, 2.5, 7, 33, 45, np.nan])
    unit = np.array([0, 1e-30, 1e-4, 0.2, 0.25, 0.5, 0.7, 0.999, 1, -0.5, 1.5, np.nan])
    inputs = {"Lgamma": anywhere, "Digamma": anywhere[anywhere != 0], "Erfinv": np.concatenate([unit[unit != 1e-30], -unit[2:]]), "Ndtri": unit,
              "Dawsn": anywhere, "FresnelCos": anywhere, "FresnelSin": anywhere, "Expint": positive, "Spence": positive}
    far = np.array([150, 1000, 60000, np.inf, -np.inf])
    half = ["Lgamma", "Digamma"]
    for family in ["I0", "I0e", "I1", "I1e", "J0", "J1", "K0", "K0e", "K1", "K1e", "Y0", "Y1"]:
        half.append("Bessel" + family)
        near = anywhere[np.abs(anywhere) < 50] if family[0] in "IJ" else positive[positive > 0]
        signed = np.concatenate([[-2], far[3:] if family[0] in "JY" else far]) # TensorFlow's J and Y of large floats are inaccurate
        inputs["Bessel" + family] = np.concatenate([near, signed])
    inputs["Expint"] = np.append(positive, np.inf)
    inputs["Spence"] = np.append(positive, np.inf)
    for op, x in inputs.items():
        for dtype in [np.float32, np.float64] + [np.float16] * (op in half):
            for part in [x, x[:0]]:
                rows.add(op, [part.astype(dtype)], each={np.float32: 2e-4, np.float64: 1e-7, np.float16: 2e-2}[dtype])
    a = np.array([0.1, 0.5, 1, 3, 20, 200])
    for dtype in [np.float32, np.float64]:
        near = 2e-4 if dtype == np.float32 else 1e-7
        for op in ["Igamma", "Igammac"]:
            rows.add(op, [a.astype(dtype), np.array([[0.05], [1], [4], [150]], dtype)], near)
            rows.add(op, [np.array([0, -1, 1, np.nan, 2, 2], dtype), np.array([1, 1, -1, 1, 0, np.inf], dtype)])
            ends = np.array([np.nan, -np.inf, -1, 0, 2, np.inf], dtype)
            rows.add(op, [ends[:, None], ends])
        rows.add("Zeta", [np.array([1.5, 2, 3, 10, 30], dtype), np.array([[0.1], [1], [2.5], [40]], dtype)], near)
        rows.add("Zeta", [np.array([1, 0.5, 2, np.nan], dtype), dtype(1)])
        rows.add("Polygamma", [np.array([0, 1, 2, 5], dtype), np.array([[0.3], [1], [2.5], [40]], dtype)], each=near)
        rows.add("Polygamma", [np.array([0.5, -1], dtype), dtype(1)])
        rows.add("Betainc", [a.astype(dtype), a[::-1].astype(dtype), np.array([0, 0.01, 0.3, 0.6, 0.9, 1], dtype)], near)
        rows.add("Betainc", [a.astype(dtype), dtype(2), dtype(0.4)], near)
        rows.add("Betainc", [np.array([0, -1, 1, 1, np.nan], dtype), dtype(2), np.array([0.5, 0.5, -1, 2, 0.5], dtype)])
        rows.add("NextAfter", [np.array([0, 1, 1, -1, np.nan, np.inf], dtype), np.array([1, 2, 1, -2, 1, 0], dtype)], each=0)
        rows.add("Xlog1py", [np.array([0, 1, 2, 0], dtype), np.array([-1, -1, 1e-7, np.nan], dtype)])
    rows.add("Betainc", [f32(1, 2), f32(1, 2, 3), np.float32(0.5)], text=False)
    for dtype in INTEGERS:
        bits = np.iinfo(dtype).bits
        x = np.array([0, 1, 5, 100, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        counts = np.array([0, 1, bits - 1, bits, 100], dtype)
        for op in ["LeftShift", "RightShift"]:
            rows.add(op, [x[:, None], counts])
            if np.issubdtype(dtype, np.signedinteger):
                rows.add(op, [x, dtype(-3)])
        rows.add("Invert", [x])
        rows.add("PopulationCount", [x])
    for x, to in [(f32(1, -2), np.int32), (f32(1, -2), np.uint8), (integers(3, 4, dtype=np.uint8), np.float32), (floats(2), np.float16),
                  (integers(3, 2, dtype=np.int32), np.int64), (integers(3, dtype=np.int32), np.int64), (np.int32(7), np.int64),
                  (complexes(2), np.float32), (complexes(2), np.int64), (np.zeros((0, 4), np.uint8), np.int32), (np.float64(1), np.int64)]:
        rows.add("Bitcast", [x], type=to, text=False)
    rows.write()


def special_function_limits():
    """TensorFlow counts subnormal numbers as 0. Where its vectors do so and its other loops do not, there is no row: an answer must not depend on
    the place of a number in its tensor."""
    rows = Rows("special_function_limits")
    for dtype in TINY:
        for op in ["Zeta", "Polygamma", "Igamma", "Igammac", "IgammaGradA", "RandomGammaGrad"]:
            for a in (0, -1, 1, 1.5, 2, 3, np.nan, np.inf):
                for b in (0, -0.0, -1, 1, 2, np.nan, np.inf):
                    rows.add(op, [dtype([a]), dtype([b])])
        subnormal = dtype([sign * x for x in TINY[dtype] for sign in (1, -1)])
        ops = ["Expint", "Digamma", "Erf", "Erfc", "Exp", "Rsqrt", "Reciprocal", "Sinh", "Sigmoid", "Spence", "BesselI1"]
        for op in ops + {np.float32: ["Lgamma"], np.float64: ["Log"]}[dtype]:
            rows.add(op, [subnormal])
        for op in ["Igamma", "Igammac", "IgammaGradA", "RandomGammaGrad", "RealDiv", "DivNoNan"]:
            for other in (0, 1.5, 2):
                for x in subnormal:
                    rows.add(op, [dtype([other]), dtype([x])])
                    rows.add(op, [dtype([x]), dtype([other])])
        for x in subnormal:
            rows.add("Betainc", [dtype([2]), dtype([2]), dtype([x])])
            rows.add("Betainc", [dtype([x]), dtype([2]), dtype([0.5])])
    rows.add("Tanh", [np.float32([sign * x for x in (7.90738964, 8, 8.5, 9, 20) for sign in (1, -1)])], each=0)  # 1, the truth is less
    rows.write()


def add_n():
    """AddN of more than nine tensors: the last bits tell the order of additions."""
    rows, random = Rows("add_n"), np.random.RandomState(3)
    for dtype in [np.float32, np.float64, np.float16, tf.bfloat16.as_numpy_dtype, np.complex64, np.int8]:
        for count in (8, 9, 10, 15, 16, 17, 18):
            rows.add("AddN", [[(random.uniform(-3, 3, 5) * random.choice([1, 40], 5)).astype(dtype) for _ in range(count)]],
                     each=None if dtype == np.int8 else 0)
    rows.add("AddN", [[np.zeros((0, 2), np.float32)] * 12])
    rows.write()


FAMILIES = [binary, compare, unary, cast, special_functions, special_function_limits, add_n]

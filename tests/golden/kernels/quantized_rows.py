"""Rows of ops on quantized integers."""
import numpy as np
import tensorflow as tf

from rows import Rows

RANDOM = np.random.RandomState(1)
PLAIN = {tf.quint8: tf.uint8, tf.qint8: tf.int8, tf.qint32: tf.int32, tf.quint16: tf.uint16, tf.qint16: tf.int16}


def of(dtype, *values):
    """A tensor of a quantized type."""
    return tf.bitcast(tf.constant(np.array(values, PLAIN[dtype].as_numpy_dtype)), dtype)


def quantize():
    rows = Rows("quantize")
    f32 = np.float32
    x = f32([-30, -3, -1.5, -0.2, 0, -0.0, 0.3, 0.5, 1, 2.5, 7, 100])
    modes = ["MIN_COMBINED", "MIN_FIRST", "SCALED"]
    for dtype in PLAIN:
        low, high = PLAIN[dtype].min, PLAIN[dtype].max
        # TensorFlow casts an int32 that rounds to 2^31 to another number in vectors than elsewhere
        numbers = of(dtype, low, low + 1, high // 2, *((high - 200, high - 129) if dtype == tf.qint32 else (high - 1, high)))
        for mode in modes:
            for least, most in [(-1, 2), (0, 5), (-4, -1), (3, 8), (0, 0), (-1000, 1000), (-2.5, 0)]:
                rows.add("QuantizeV2", [x, f32(least), f32(most)], T=dtype, mode=mode)
                rows.add("Dequantize", [numbers, f32(least), f32(most)], mode=mode)
                rows.add("Dequantize", [numbers, f32(least), f32(most)], 4e-3, mode=mode, dtype=tf.bfloat16)
            rows.add("QuantizeV2", [x.reshape(2, 3, 2), f32(-1), f32(1)], T=dtype, mode=mode)
            rows.add("QuantizeV2", [x[:0], f32(-1), f32(1)], T=dtype, mode=mode)
            rows.add("QuantizeV2", [x, f32(1), f32(1)], T=dtype, mode=mode, ensure_minimum_range=0.5)
        for narrow in [False, True]:
            for rounding in ["HALF_TO_EVEN", "HALF_AWAY_FROM_ZERO"]:
                rows.add("QuantizeV2", [x, f32(-2), f32(1)], T=dtype, mode="SCALED", narrow_range=narrow, round_mode=rounding)
            rows.add("Dequantize", [numbers, f32(-2), f32(1)], mode="SCALED", narrow_range=narrow)
        for axis in [0, 1, 2]:
            size = (2, 3, 2)[axis]
            low, high = f32([-1, -2, 0][:size]), f32([1, 5, 2][:size])
            for mode in modes:
                rows.add("QuantizeV2", [x.reshape(2, 3, 2), low, high], T=dtype, mode=mode, axis=axis, text=False)
                rows.add("Dequantize", [tf.reshape(of(dtype, *range(12)), [2, 3, 2]), low, high], mode=mode, axis=axis, text=False)
        for mode, rounding in [(mode, "HALF_AWAY_FROM_ZERO") for mode in modes] + [("SCALED", "HALF_TO_EVEN")]:
            # alone: TensorFlow's vectors make another number of NaN
            rows.add("QuantizeV2", [f32([np.nan]), f32(-2), f32(3)], T=dtype, mode=mode, round_mode=rounding)
            rows.add("QuantizeV2", [f32([np.nan, np.inf, -np.inf, 1]), f32(-2), f32(3)], T=dtype, mode=mode, round_mode=rounding)
            if mode != "MIN_FIRST":
                rows.add("QuantizeV2", [f32([[np.nan, 1], [2, np.nan]]), f32([-2, -1]), f32([3, 3])], T=dtype, mode=mode, round_mode=rounding, axis=1)
    for inputs, axis in [((f32([1]), f32(-1), f32(1)), 1), ((f32([1, 2]), f32([-1]), f32([1])), 0), ((f32([1]), f32(2), f32(1)), -1), ((f32([1, 2]), f32([-1, 2]), f32([1, 2])), -1)]:
        rows.add("QuantizeV2", list(inputs), T=tf.quint8, axis=axis, text=False)
    rows.add("QuantizeV2", [x, f32(-1), f32(1)], T=tf.quint8, round_mode="HALF_TO_EVEN", text=False)
    wide = of(tf.qint32, -2**31, -123456789, -65536, -1, 0, 1, 255, 65536, 123456789, 2**31 - 1)
    for least, most in [(-1, 1), (0, 100), (-1000, 2000), (-256, 0)]:
        rows.add("RequantizationRange", [wide, f32(least), f32(most)])
        rows.add("RequantizationRange", [wide[4:6], f32(least), f32(most)])
        rows.add("QuantizeDownAndShrinkRange", [wide, f32(least), f32(most)], out_type=tf.quint8)
        rows.add("QuantizeDownAndShrinkRange", [tf.reshape(wide[2:8], [2, 3]), f32(least), f32(most)], out_type=tf.quint8)
        for low, high in [(-1, 1), (0, 0.5), (-300, 701)]:
            for dtype in [tf.quint8, tf.qint8]:
                rows.add("Requantize", [wide, f32(least), f32(most), f32(low), f32(high)], out_type=dtype)
    for low, high in [(1, 2), (0, -1)]:
        rows.add("Requantize", [wide, f32(-1), f32(1), f32(low), f32(high)], out_type=tf.quint8, text=False)
    for dtype in [tf.quint8, tf.qint8]:
        rows.add("Requantize", [wide, f32(-1), f32(1), f32(0), f32(0)], out_type=dtype)
    rows.add("Requantize", [wide[:0], f32(-1), f32(1), f32(0), f32(1)], out_type=tf.qint8)
    rows.write()


RANGES = [(0, 6), (-1, 1), (-3, 0.5), (0.25, 2), (-2, -1), (0, 0)]


def random_of(dtype, *shape):
    info = np.iinfo(PLAIN[dtype].as_numpy_dtype)
    return tf.bitcast(tf.constant(RANDOM.randint(info.min, info.max, shape, PLAIN[dtype].as_numpy_dtype)), dtype)


def scalars(*values):
    return [np.float32(v) for v in values]


def products(rows):
    for x in RANGES:
        for y in [(-1, 2), (0, 0.5), (1, 1)]:
            rows.add("QuantizedMatMul", [random_of(tf.quint8, 3, 5), random_of(tf.quint8, 5, 4), *scalars(*x, *y)])
            rows.add("QuantizedConv2D", [random_of(tf.quint8, 2, 5, 4, 3), random_of(tf.quint8, 2, 3, 3, 4), *scalars(*x, *y)], strides=[1, 1, 1, 1], padding="VALID")
    for a, b in [((5, 3), (5, 4)), ((5, 3), (4, 5)), ((3, 5), (4, 5)), ((3, 5), (5, 4)), ((0, 5), (5, 2)), ((1, 1), (1, 1)), ((3,), (3, 1)), ((3, 300), (300, 17))]:
        for attrs in [dict(transpose_a=len(a) == 2 and a[0] == 5, transpose_b=b[-1] == 5)] + [{}] * (a[0] == 5):
            rows.add("QuantizedMatMul", [random_of(tf.quint8, *a), random_of(tf.quint8, *b), *scalars(-1, 1, 0, 3)], text=False, **attrs)
    rows.add("QuantizedMatMul", [random_of(tf.quint8, 2, 2), random_of(tf.quint8, 2, 2), np.float32([-1, 1]), *scalars(1, 0, 3)], text=False)
    for stride in [1, 2, 3, 4]:
        for padding in ["SAME", "VALID"]:
            for image, kernel in [((1, 7, 6, 2), (3, 3, 2, 3)), ((2, 3, 3, 1), (1, 1, 1, 2)), ((1, 4, 5, 3), (2, 4, 3, 1)), ((1, 3, 3, 1), (5, 5, 1, 1))]:
                if padding == "VALID" and kernel[0] > image[1]:
                    continue  # TensorFlow fails a check of its own and ends
                rows.add("QuantizedConv2D", [random_of(tf.quint8, *image), random_of(tf.quint8, *kernel), *scalars(-1, 2, -0.5, 1)], strides=[1, stride, stride, 1], padding=padding)
    image, kernel = random_of(tf.quint8, 1, 4, 4, 2), random_of(tf.quint8, 2, 2, 2, 2)
    for attrs in [dict(strides=[1, 1, 2, 1]), dict(strides=[1, 2, 2, 2]), dict(strides=[1, 1, 1, 1], dilations=[1, 2, 2, 1])]:
        rows.add("QuantizedConv2D", [image, kernel, *scalars(-1, 2, -0.5, 1)], text=False, padding="SAME", **attrs)
    rows.add("QuantizedConv2D", [image, random_of(tf.quint8, 2, 2, 3, 2), *scalars(-1, 2, -0.5, 1)], text=False, strides=[1, 1, 1, 1], padding="SAME")


def sums(rows):
    for op in ["QuantizedAdd", "QuantizedMul"]:
        for x in RANGES:
            for y in [(-1, 2), (0, 0.5), (1, 1)]:
                rows.add(op, [random_of(tf.quint8, 9), random_of(tf.quint8, 9), *scalars(*x, *y)])
        for x, y in [((3, 4), (4,)), ((4,), (3, 4)), ((3, 4), (3, 4)), ((2, 3, 4), ()), ((), (5,)), ((2, 3, 4), (4,)), ((2, 3, 4), (3, 4)), ((1, 1), (2, 3)), ((2, 3, 1, 4), (1, 3, 1, 4)), ((0,), (0,)), ((1,), (0,)), ((2, 1, 3), (1, 4, 1)), ((2,), (3,)),
                     ((3, 17), (17,)), ((40,), ()), ((300,), (300,))]:
            rows.add(op, [random_of(tf.quint8, *x), random_of(tf.quint8, *y), *scalars(-1, 2, -0.5, 1)], text=False)
    for dtype in [tf.quint8, tf.qint8]:
        for x in RANGES:
            for y in [(-1, 2), (0, 0.5), (1, 1)]:
                rows.add("QuantizedBiasAdd", [random_of(dtype, 2, 7), random_of(dtype, 7), *scalars(*x, *y)], out_type=tf.qint32)
        rows.add("QuantizedBiasAdd", [random_of(dtype, 2, 3, 2, 5), random_of(dtype, 5), *scalars(-1, 1, -2, 2)], out_type=tf.qint32)
        for shape, count in [((3,), (3,)), ((2, 3), (2,)), ((2, 3), (3, 1))]:
            rows.add("QuantizedBiasAdd", [random_of(dtype, *shape), random_of(dtype, *count), *scalars(-1, 1, -2, 2)], out_type=tf.qint32, text=False)


def layers(rows):
    for dtype in [tf.quint8, tf.qint32]:
        for low, high in RANGES + [(-10, 10), (7, 9)]:
            for op in ["QuantizedRelu", "QuantizedRelu6"]:
                rows.add(op, [random_of(dtype, 3, 4), *scalars(low, high)], out_type=dtype)
    for dtype in [tf.quint8, tf.qint8]:
        for op in ["QuantizedAvgPool", "QuantizedMaxPool"]:
            for shape in [(1, 4, 5, 2), (2, 3, 3, 1), (0, 4, 4, 1)]:
                for size, stride in [(2, 1), (3, 2), (1, 3)]:
                    for padding in ["SAME", "VALID"]:
                        rows.add(op, [random_of(dtype, *shape), *scalars(-1, 2)], ksize=[1, size, size, 1], strides=[1, stride, stride, 1], padding=padding)
            rows.add(op, [random_of(dtype, 2, 2, 2), *scalars(-1, 2)], ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME", text=False)
            rows.add(op, [random_of(dtype, 1, 2, 2, 2), *scalars(-1, 2)], ksize=[1, 2, 2, 2], strides=[1, 1, 1, 1], padding="SAME", text=False)
    for low, high in RANGES[:5]:
        for shape in [(1, 4, 5, 2), (2, 3, 3, 3), (1, 1, 1, 1)]:
            # Sums of floats in another order: an integer may round the other way.
            rows.add("QuantizedInstanceNorm", [random_of(tf.quint8, *shape), *scalars(low, high)], 5e-3)
            rows.add("QuantizedInstanceNorm", [random_of(tf.quint8, *shape), *scalars(low, high)], 5e-3, output_range_given=True, given_y_min=-1.5, given_y_max=2.0, variance_epsilon=1e-3)
    rows.add("QuantizedInstanceNorm", [random_of(tf.quint8, 1, 2, 2, 1), *scalars(-1, 1)], text=False, output_range_given=True, given_y_min=1.0, given_y_max=1.0)
    for low, high in RANGES:
        for scales in [False, True]:
            channels = [v for least, most in [(-1, 1), (0, 3), (-2, 1), (0, 2)] for v in [random_of(tf.quint8, 3), *scalars(least, most)]]
            rows.add("QuantizedBatchNormWithGlobalNormalization", [random_of(tf.quint8, 1, 2, 2, 3), *scalars(low, high), *channels], out_type=tf.qint32, variance_epsilon=1e-3, scale_after_normalization=scales)


def moves(rows):
    for dtype in [tf.quint8, tf.qint32]:
        for x in RANGES:
            for y in [(-1, 1), (0, 6)]:
                rows.add("QuantizedConcat", [np.int32(1), [random_of(dtype, 2, 3), random_of(dtype, 2, 2)], scalars(x[0], y[0]), scalars(x[1], y[1])])
        for axis in [0, -1, -3, 3]:
            rows.add("QuantizedConcat", [np.int32(axis), [random_of(dtype, 2, 1, 3)] * 3, scalars(-1, -2, 0), scalars(1, 2, 3)], text=False)
        rows.add("QuantizedConcat", [np.int32(0), [random_of(dtype, 2, 3), random_of(dtype, 2, 2)], scalars(-1, -1), scalars(1, 1)], text=False)
        rows.add("QuantizedConcat", [np.int32(0), [random_of(dtype, 0, 3), random_of(dtype, 2, 3)], scalars(-1, -1), scalars(1, 1)])
        for shape in [[6], [2, -1], [3, 2, 1], [5], [-1, -1]]:
            rows.add("QuantizedReshape", [random_of(dtype, 2, 3), np.int32(shape), *scalars(-1, 2)], text=False)
            rows.add("QuantizedReshape", [random_of(dtype, 2, 3), np.int64(shape), *scalars(-1, 2)], text=False)
    for image in [random_of(tf.quint8, 2, 3, 4, 2), random_of(tf.qint32, 1, 3, 4, 3), random_of(tf.quint8, 1, 5, 5, 1), random_of(tf.quint8, 1, 2, 3, 3),
                  tf.constant(RANDOM.randn(1, 3, 4, 2), tf.float32)]:
        for size in [(6, 5), (2, 9), (1, 1), (3, 4), (0, 3)]:
            for attrs in [{}, dict(align_corners=True), dict(half_pixel_centers=True), dict(align_corners=True, half_pixel_centers=True)]:
                rows.add("QuantizedResizeBilinear", [image, np.int32(size), *scalars(-1, 2)], text=False, **attrs)
    rows.add("QuantizedResizeBilinear", [random_of(tf.quint8, 2, 3, 4), np.int32([2, 2]), *scalars(-1, 2)], text=False)


def channels(rows):
    # The absolute value of what becomes -2^31 is no int32: TensorFlow then leaves out the channel
    wide = of(tf.qint32, -2**31 + 200, -123456789, -65536, -1, 0, 1, 255, 65536, 123456789, 2**31 - 200, -7, 9999999)
    for x in [tf.reshape(wide, [1, 2, 2, 3]), tf.reshape(wide[4:10], [2, 1, 1, 3])]:
        for clip in [0.5, 1e6]:
            rows.add("RequantizationRangePerChannel", [x, np.float32([-1, -2, 0]), np.float32([1, 1, 5])], clip_value_max=clip)
        for dtype in [tf.quint8, tf.qint8]:
            for low, high in [(-1, 1), (0, 0.5), (-300, 701), (-0.01, 0.002)]:
                rows.add("RequantizePerChannel", [x, np.float32([-1, -2, 0]), np.float32([1, 1, 5]), *scalars(low, high)], out_type=dtype, text=False)
    rows.add("RequantizationRangePerChannel", [tf.reshape(wide, [1, 2, 2, 3]), np.float32([-1, -2]), np.float32([1, 1])], clip_value_max=1.0, text=False)
    rows.add("RequantizationRangePerChannel", [tf.reshape(wide[:0], [0, 2, 2, 3]), np.float32([-1, -2, 0]), np.float32([1, 1, 0])], clip_value_max=1.0, text=False)
    rows.add("RequantizePerChannel", [tf.reshape(wide, [1, 2, 2, 3]), np.float32([-1, -2]), np.float32([1, 1, 1]), *scalars(-1, 1)], text=False)


def quantized_ops():
    rows = Rows("quantized_ops")
    RANDOM.seed(7)
    for each in [products, sums, layers, moves, channels]:
        each(rows)
    rows.write()


def uniform_quantized():
    rows = Rows("uniform_quantized")
    RANDOM.seed(8)
    f32, i32 = np.float32, np.int32
    x = f32([-30, -3, -1.5, -0.2, 0, -0.0, 0.3, 0.5, 1, 2.5, 7, 1e10]).reshape(2, 3, 2)
    limits = {tf.qint8: (-128, 127), tf.quint8: (0, 255), tf.qint32: (-2**31, 2**31 - 1)}

    def scale_of(*values):
        return f32(values[0] if len(values) == 1 else values)
    for dtype, (least, most) in limits.items():
        own = dict(quantization_min_val=least, quantization_max_val=most)
        for scale, zero, axis in [(scale_of(0.25), i32(3), -1), (scale_of(0.1), i32(-20), -1), (f32([1, 0.5]), i32([0, 3]), 0), (f32([1, 0.5, 0.03]), i32([0, 3, -7]), 1), (f32([3, 0.5]), i32([0, 3]), 2),
                                  (f32([3, 0.5]), i32([0, 3]), 1), (f32([1]), i32([0]), -1), (f32(0), i32(0), -1), (f32(-1), i32(0), -1), (f32([1, 2]), i32([1]), 0), (f32(1), i32(0), 3), (f32(1), i32(0), -2)]:
            rows.add("UniformQuantize", [x, scale, zero], text=False, Tout=dtype, quantization_axis=axis, **own)
            rows.add("UniformQuantize", [x, scale, zero], text=False, Tout=dtype, quantization_axis=axis, quantization_min_val=-3, quantization_max_val=5)
            rows.add("UniformDequantize", [random_of(dtype, 2, 3, 2), scale, zero], text=False, Tout=tf.float32, quantization_axis=axis, **own)
        rows.add("UniformQuantize", [x[:0], f32(1), i32(0)], Tout=dtype, **own)
    ends = dict(input_quantization_min_val=-128, input_quantization_max_val=127, output_quantization_min_val=-100, output_quantization_max_val=120)
    for dtype in [tf.qint8, tf.qint32]:
        for (a, za), (b, zb), axes in [((0.25, 3), (0.5, -2), (-1, -1)), ((1e-9, 3), (1, 0), (-1, -1)), (([1, 0.5, 0.03], [0, 3, -7]), (0.7, 1), (1, -1)), ((0.7, 1), ([1, 0.5, 0.03], [0, 3, -7]), (-1, 1)),
                                       (([1, 0.5, 3], [0, 3, -7]), ([2, 0.5, 0.3], [1, 3, -7]), (1, 1)), (([1, 0.5, 3], [0, 3, -7]), ([2, 0.5], [1, 3]), (1, 0)), ((1, 0), (-1, 0), (-1, -1)), ((1e20, 0), (1e-20, 0), (-1, -1))]:
            rows.add("UniformRequantize", [random_of(dtype, 2, 3, 2), f32(a), i32(za), f32(b), i32(zb)], text=False, Tout=tf.qint8, input_quantization_axis=axes[0], output_quantization_axis=axes[1], **ends)
    small = lambda *shape: tf.bitcast(tf.constant(RANDOM.randint(-1000, 1000, shape, i32)), tf.qint32)
    for dims, more, (a, za), (b, zb), (c, zc), axes in [
            ((2, 3), (2, 3), (0.25, 3), (0.5, -2), (0.3, 5), (-1, -1, -1)), ((2, 3), (3,), (0.25, 3), (0.5, -2), (0.3, 5), (-1, -1, -1)), ((), (3,), (0.25, 3), (0.5, -2), (0.3, 5), (-1, -1, -1)),
            ((2, 1), (1, 3), (0.25, 3), (0.5, -2), (0.3, 5), (-1, -1, -1)), ((2, 3), (2,), (0.25, 3), (0.5, -2), (0.3, 5), (-1, -1, -1)), ((0, 3), (3,), (0.25, 3), (0.5, -2), (0.3, 5), (-1, -1, -1)),
            ((2, 3), (3,), ([1, 2, 3], [0, 1, 2]), ([1, 2, 3], [0, 1, 2]), ([0.3, 4, 1], [3, -2, 0]), (1, 0, 1)), ((2, 3), (2, 3), ([1, 2], [0, 1]), ([1, 2, 3], [0, 1, 2]), ([0.3, 4], [3, -2]), (0, 1, 0))]:
        rows.add("UniformQuantizedAdd", [small(*dims), small(*more), f32(a), i32(za), f32(b), i32(zb), f32(c), i32(zc)], text=False, lhs_quantization_axis=axes[0], rhs_quantization_axis=axes[1], output_quantization_axis=axes[2],
                 lhs_quantization_min_val=-2**31, lhs_quantization_max_val=2**31 - 1, rhs_quantization_min_val=-2**31, rhs_quantization_max_val=2**31 - 1, output_quantization_min_val=-500, output_quantization_max_val=800)
    for low, high, scale, zero, axis in [(-100, 300, 1, 0, -1), ([-100, 0, 100], [-50, 50, 150], [1, 2, 3], [0, 0, 0], 1), ([-100], [100], 1, 0, -1), (100, -100, 1, 0, -1), (-100, 100, -1, 0, -1)]:
        low, high = (tf.bitcast(tf.constant(i32(v)), tf.qint32) for v in (low, high))
        rows.add("UniformQuantizedClipByValue", [small(4, 3), low, high, f32(scale), i32(zero)], text=False, quantization_axis=axis, quantization_min_val=-2**31, quantization_max_val=2**31 - 1)
    for dims, more in [((2, 3), (3, 4)), ((1, 1), (1, 1)), ((5, 40), (40, 7)), ((0, 3), (3, 2)), ((2, 3), (2, 4)), ((3,), (3, 4))]:
        for axis, out_axis in [(-1, -1), (1, -1), (1, 1), (-1, 1), (0, -1)]:
            count = () if axis == -1 else (more[1],)
            many = () if out_axis == -1 else (more[1],)
            y = [random_of(tf.qint8, *more), f32(0.5 + RANDOM.rand(*count)), i32(RANDOM.randint(-20, 20, count))]
            rows.add("UniformQuantizedDot", [random_of(tf.qint8, *dims), y[0], f32(0.3), i32(4), y[1], y[2], f32(0.2 + RANDOM.rand(*many)), i32(RANDOM.randint(-20, 20, many))], text=False, Tout=tf.qint32, rhs_quantization_axis=axis, output_quantization_axis=out_axis,
                     lhs_quantization_min_val=-128, lhs_quantization_max_val=127, rhs_quantization_min_val=-128, rhs_quantization_max_val=127, output_quantization_min_val=-2000, output_quantization_max_val=30000)
            if out_axis == -1:
                for lhs in [f32(RANDOM.randn(*dims)), f32(RANDOM.rand(*dims)), np.zeros(dims, f32)]:
                    rows.add("UniformQuantizedDotHybrid", [lhs, *y], text=False, Tout=tf.float32, rhs_quantization_axis=axis, rhs_quantization_min_val=-128, rhs_quantization_max_val=127)
    rows.write()


def fake_quant_grads():
    rows = Rows("fake_quant_grads")
    RANDOM.seed(9)
    f32 = np.float32
    x = f32([-7, -6, -1.5, -0.51, -0.02, -0.0, 0, 0.011, 0.25, 0.5, 1, 2.5, 3.999, 6, 7.3, 1e30, -1e30, np.inf, -np.inf, np.nan])
    dy = f32(np.round(8 * RANDOM.randn(20)) / 8)  # sums are exact in any order
    for bits, narrow in [(8, False), (8, True), (2, False), (16, False)]:
        attrs = dict(num_bits=bits, narrow_range=narrow)
        rows.add("FakeQuantWithMinMaxArgsGradient", [dy, x], **attrs)
        rows.add("FakeQuantWithMinMaxArgsGradient", [dy, x], min=-0.3, max=5.1, **attrs)
        for low, high in [(-6, 6), (-1, 3), (0, 0), (0.5, 4), (-4, -0.5), (-0.001, 0.1)]:
            rows.add("FakeQuantWithMinMaxVarsGradient", [dy, x, f32(low), f32(high)], **attrs)
        rows.add("FakeQuantWithMinMaxVarsPerChannelGradient", [dy.reshape(5, 4), x.reshape(5, 4), f32([-1, 0, 0, -3]), f32([1, 0.5, 0, 3])], **attrs)
    for shape in [(2, 3, 4), (0, 3), (4,)]:
        y, z = f32(RANDOM.randn(*shape)), f32(RANDOM.randn(*shape))
        rows.add("FakeQuantWithMinMaxVarsGradient", [y, z, f32(-0.5), f32(1)], text=False)
        ends = f32(-RANDOM.rand(shape[-1])), f32(RANDOM.rand(shape[-1]))
        rows.add("FakeQuantWithMinMaxVarsPerChannelGradient", [y, z, *ends], text=False)
    for op, ends in [("FakeQuantWithMinMaxVarsGradient", (f32([-1]), f32(1))), ("FakeQuantWithMinMaxVarsPerChannelGradient", (f32([-1]), f32([1]))), ("FakeQuantWithMinMaxVarsPerChannelGradient", (f32(-1), f32(1)))]:
        rows.add(op, [dy[:6].reshape(2, 3), x[:6].reshape(2, 3), *ends], text=False)
        rows.add(op, [dy[:5], x[:6], *ends], text=False)
    rows.add("FakeQuantWithMinMaxArgsGradient", [dy[:5], x[:6]], text=False)
    for dtype in [np.float32, np.float64]:
        for low, high, axis in [(-1, 3, -1), (0, 0, -1), ([-1, -2], [1, 0], 0), ([-1, -2, 0], [1, 0, 3], 1), ([-1], [1], 1), ([-1], [1], -1), (-1, 1, 2), (2, -2, -1)]:
            rows.add("QuantizeAndDequantizeV4Grad", [RANDOM.randn(2, 3).astype(dtype), 2 * RANDOM.randn(2, 3).astype(dtype), dtype(low), dtype(high)] if np.ndim(low) == 0 else
                     [RANDOM.randn(2, 3).astype(dtype), 2 * RANDOM.randn(2, 3).astype(dtype), np.array(low, dtype), np.array(high, dtype)], text=False, axis=axis)
        rows.add("QuantizeAndDequantizeV4Grad", [np.zeros((0, 3), dtype), np.zeros((0, 3), dtype), dtype(-1), dtype(1)])
        rows.add("QuantizeAndDequantizeV4Grad", [np.zeros(3, dtype), np.zeros(2, dtype), dtype(-1), dtype(1)], text=False)
    rows.write()


FAMILIES = [quantize, quantized_ops, uniform_quantized, fake_quant_grads]

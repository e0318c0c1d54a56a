"""Rows of ops on quantized integers, for make_rows.py."""
import numpy as np
import tensorflow as tf

from rows import Rows

RANDOM = np.random.RandomState(1)
PLAIN = {tf.quint8: tf.uint8, tf.qint8: tf.int8, tf.qint32: tf.int32, tf.quint16: tf.uint16, tf.qint16: tf.int16}


def of(dtype, *values):
    """A tensor of a quantized type."""
    return tf.bitcast(tf.constant(np.array(values, PLAIN[dtype].as_numpy_dtype)), dtype)


def quantized():
    rows = Rows("quantized")
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
    rows.add("Requantize", [wide[:0], f32(-1), f32(1), f32(0), f32(1)], out_type=tf.qint8)
    rows.write()


FAMILIES = [quantized]

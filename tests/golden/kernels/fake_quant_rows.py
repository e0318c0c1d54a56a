"""Rows of numbers rounded to what few bits hold."""
from rows import Rows
from drawn import FLOATS, INTEGERS, f32, floats

import numpy as np


def fake_quant():
    rows = Rows("fake_quant", seed=553)
    x = f32(-7, -6, -1.5, -0.51, -0.02, -0.0, 0, 0.011, 0.25, 0.5, 1, 2.5, 3.999, 6, 7.3, 1e30, -1e30, np.inf, -np.inf)
    for bits, narrow in [(8, False), (8, True), (2, False), (3, True), (16, False)]:
        attrs = dict(num_bits=bits, narrow_range=narrow)
        rows.add("FakeQuantWithMinMaxArgs", [x], **attrs)
        rows.add("FakeQuantWithMinMaxArgs", [x], min=-0.3, max=5.1, **attrs)
        for low, high in [(-6, 6), (-1, 3), (0, 0), (0.5, 4), (-4, -0.5), (0, 1), (-0.001, 0.1)]:
            rows.add("FakeQuantWithMinMaxVars", [x, np.float32(low), np.float32(high)], **attrs)
        rows.add("FakeQuantWithMinMaxVarsPerChannel", [floats(4, 3), f32(-1, 0, 0), f32(1, 0.5, 0)], **attrs)
    rows.add("FakeQuantWithMinMaxVars", [floats(2, 3, 4), np.float32(-1.3), np.float32(1.7)])
    rows.add("FakeQuantWithMinMaxVars", [floats(0, 3), np.float32(-1), np.float32(1)])
    rows.add("FakeQuantWithMinMaxVars", [floats(2), f32(-1), np.float32(1)])
    rows.add("FakeQuantWithMinMaxVars", [floats(2), np.float32(-1), f32(1, 2)])
    rows.add("FakeQuantWithMinMaxVarsPerChannel", [floats(2, 3), f32(-1, 0), f32(1, 0.5, 0)])
    rows.add("FakeQuantWithMinMaxVarsPerChannel", [floats(2, 3), f32(-1, 0, 0), f32(1, 0.5)])
    rows.add("FakeQuantWithMinMaxVarsPerChannel", [floats(0, 2), f32(-1, 0), f32(1, 0.5)])
    rows.write()


def quantize_and_dequantize():
    rows = Rows("quantize_and_dequantize", seed=870)
    for dtype in [np.float32, np.float64]:
        x = floats(3, 4, dtype=dtype)
        low, high = dtype(-1.3), dtype(0.9)
        for bits in [2, 4, 8, 16]:
            for signed in [False, True]:
                for narrow in [False, True]:
                    options = dict(signed_input=signed, narrow_range=narrow)
                    for given in [False, True]:
                        rows.add("QuantizeAndDequantizeV3", [x, low, high, np.int32(bits)], range_given=given, **options)
                        for mode in ["HALF_TO_EVEN", "HALF_UP"]:
                            rows.add("QuantizeAndDequantizeV2", [x, low, high], num_bits=bits, range_given=given,
                                     round_mode=mode, **options)
        lows, highs = np.array([-1, -0.5, -2, 0], dtype), np.array([1, 2, 0, 0.7], dtype)
        for axis in [0, 1]:  # TensorFlow takes no range for an axis
            rows.add("QuantizeAndDequantizeV2", [x, lows, highs], axis=axis)
            rows.add("QuantizeAndDequantizeV4", [x, lows, highs], axis=axis)
        for given in [False, True]:
            rows.add("QuantizeAndDequantizeV4", [x, low, high], range_given=given)
        rows.add("QuantizeAndDequantizeV2", [x, high, low], range_given=True, text=False)
        rows.add("QuantizeAndDequantizeV2", [x, low, high], num_bits=0, text=False)
        rows.add("QuantizeAndDequantizeV2", [x, low, high], num_bits=70, text=False)
        rows.add("QuantizeAndDequantizeV2", [x, lows, high], range_given=True, text=False)
        rows.add("QuantizeAndDequantizeV2", [np.zeros((2, 2), dtype), low, high])
    rows.write()

    rows = Rows("bounds_and_histograms")
    for dtype in FLOATS + INTEGERS:
        sorted_rows = np.array([[1, 3, 3, 7], [0, 0, 2, 9]], dtype)
        for out in [np.int32, np.int64]:
            for op in ["LowerBound", "UpperBound"]:
                rows.add(op, [sorted_rows, np.array([[0, 3, 8], [0, 1, 9]], dtype)], out_type=out)
    for op in ["LowerBound", "UpperBound"]:
        rows.add(op, [floats(2, 0), floats(2, 3)])
        rows.add(op, [floats(2, 3), floats(2, 0)])
        rows.add(op, [floats(3), floats(3)], text=False)
        rows.add(op, [floats(2, 3), floats(3)], text=False)
        rows.add(op, [floats(2, 3), floats(3, 3)])
    for dtype in [np.int32, np.int64, np.float32, np.float64]:
        for out in [np.int32, np.int64]:
            rows.add("HistogramFixedWidth", [np.array([[1, 2, 3], [-1, 99, 5]], dtype), np.array([0, 5], dtype), np.int32(3)], dtype=out)
        rows.add("HistogramFixedWidth", [np.zeros(0, dtype), np.array([0, 5], dtype), np.int32(2)])
    for ends, bins in [([0, 5], 0), ([5, 5], 3), ([5, 3], 3), ([0, 5, 7], 3), ([[0, 5]], 3), ([0, 5], [3]), ([0, np.nan], 3), ([1, np.inf], 3)]:
        rows.add("HistogramFixedWidth", [f32(1, 2), f32(*ends), np.array(bins, np.int32)])
    rows.add("HistogramFixedWidth", [f32(1.2, np.inf, -np.inf, 0.3, 0.1), f32(0.1, 0.7), np.int32(6)])
    for index in [np.int32, np.int64]:
        rows.add("InTopK", [f32(0.1, 0.4, 0.3, 0.4, 0.2, 0.1, 0.9, np.inf, 0).reshape(3, 3), np.array([1, 2, 0], index)], k=1)
    rows.write()


def quantize_and_dequantize_v1():
    rows = Rows("quantize_and_dequantize_v1")
    x = np.array([-30, -3, -1.5, -0.2, 0, -0.0, 0.3, 0.5, 1, 2.5, 7, 100])
    for dtype in [np.float32, np.float64]:
        for signed in [True, False]:
            for bits in [2, 8, 16]:
                for low, high in [(None, None), (-1.0, 2.0), (0.0, 5.0), (-4.0, -1.0), (0.0, 0.0), (2.0, 1.0)]:
                    attrs = dict(range_given=False) if low is None else dict(range_given=True, input_min=low, input_max=high)
                    rows.add("QuantizeAndDequantize", [x.astype(dtype)], text=False, producer=21, signed_input=signed, num_bits=bits, **attrs)
        rows.add("QuantizeAndDequantize", [x.astype(dtype).reshape(2, 3, 2)], producer=21)
        rows.add("QuantizeAndDequantize", [x[:0].astype(dtype)], producer=21, range_given=True, input_min=-1.0, input_max=1.0)
    rows.write()


FAMILIES = [fake_quant, quantize_and_dequantize, quantize_and_dequantize_v1]

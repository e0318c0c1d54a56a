"""Writes core/runtime/kernels/plain/script_ranges.def: the script of each code point, as TensorFlow's UnicodeScript gives it.

    python tests/golden/kernels/script_ranges.py > core/runtime/kernels/plain/script_ranges.def
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

scripts = tf.raw_ops.UnicodeScript(input=np.arange(0x110000, dtype=np.int32)).numpy()
print("/* Written by tests/golden/kernels/script_ranges.py with TensorFlow %s. SCRIPT(first code point, number of the script) */" % tf.__version__)
for first in range(0x110000):
    if first == 0 or scripts[first] != scripts[first - 1]:
        print("SCRIPT(0x%04x, %d)" % (first, scripts[first]))

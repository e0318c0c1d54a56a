"""Writes adafactor_golden.h: 20 updates of a matrix, a vector and two matrices side by side by Keras' Adafactor.

    python tests/unit/trainer/adafactor_golden.py > tests/unit/trainer/adafactor_golden.h            Keras 3.15
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

SHAPES, UPDATES = [(7, 3), (5,), (2, 2, 3)], 20
CASES = [{}, {"learning_rate": 0.3, "beta_2_decay": -0.5, "epsilon_2": 0.1, "clip_threshold": 0.5, "weight_decay": 0.1}]


def first(shape):
    return np.float32([(i % 5) * 0.3 - 0.4 for i in range(int(np.prod(shape)))]).reshape(shape)


def gradient(update, shape):
    return np.float32([(i * 7 + update * 3) % 11 * 0.1 - 0.5 for i in range(int(np.prod(shape)))]).reshape(shape)


print("/* Written by adafactor_golden.py with Keras %s. */" % keras.__version__)
print("#define UPDATES %d\nstatic const float golden_values[][38] = {" % UPDATES)
for case in CASES:
    variables = [keras.Variable(first(s)) for s in SHAPES]
    optimizer = keras.optimizers.Adafactor(**case)
    optimizer.build(variables)
    for t in range(UPDATES):
        optimizer.apply([keras.ops.convert_to_tensor(gradient(t, s)) for s in SHAPES])
    print("    { %s }," % ", ".join("%.9gf" % x if "." in "%.9g" % x else "%.9g" % x for v in variables for x in np.asarray(v).ravel()))
print("};")

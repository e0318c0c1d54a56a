"""Writes muon_golden.h: 20 updates of matrices of both orientations, a table of embeddings and a vector by Keras' Muon, in float64: its steps
multiply the rounding of small singular values by up to 500.

    python tests/unit/trainer/muon_golden.py > tests/unit/trainer/muon_golden.h            Keras 3.15
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

keras.config.set_floatx("float64")
VARIABLES, UPDATES = [("tall", (7, 3)), ("wide", (2, 5)), ("embeddings", (3, 2)), ("bias", (5,))], 20


class Decay(keras.optimizers.schedules.LearningRateSchedule):
    """ExponentialDecay(0.1, 5, 0.5), which computes in float32."""

    def __call__(self, step):
        return 0.1 * 0.5 ** (keras.ops.cast(step, "float64") / 5)


CASES = [
    {"weight_decay": 0.0, "adam_weight_decay": 0.0},
    {"learning_rate": 0.05, "momentum": 0.8, "nesterov": False, "ns_steps": 3, "rms_rate": None, "muon_a": 3.0, "muon_b": -4.0, "muon_c": 1.75,
     "weight_decay": 0.1, "adam_weight_decay": 0.2, "adam_lr_ratio": 0.5, "adam_beta_1": 0.8, "adam_beta_2": 0.9, "epsilon": 1e-3,
     "exclude_embeddings": False},
    {"learning_rate": Decay(), "adam_lr_ratio": 2.0},
]


def first(shape):
    return np.float64([(i % 5) * 0.3 - 0.4 for i in range(int(np.prod(shape)))]).reshape(shape)


def gradient(update, shape):
    return np.float64([np.float32(((i * i * 5 + update * 3 + i) % 11) * np.float32(0.1) - np.float32(0.5)) for i in range(int(np.prod(shape)))]).reshape(shape)


print("/* Written by muon_golden.py with Keras %s. */" % keras.__version__)
print("#define UPDATES %d\nstatic const float golden_values[][42] = {" % UPDATES)
for case in CASES:
    variables = [keras.Variable(first(s), name=n) for n, s in VARIABLES]
    optimizer = keras.optimizers.Muon(**case)
    optimizer.build(variables)
    for t in range(UPDATES):
        optimizer.apply([keras.ops.convert_to_tensor(gradient(t, s)) for _, s in VARIABLES])
    print("    { %s }," % ", ".join("%.9gf" % x if "." in "%.9g" % x else "%.9g" % x for v in variables for x in np.asarray(v).ravel()))
print("};")

"""Writes optimizer_keras_golden.h: 20 updates by the optimizers of Keras 3 that differ
from TensorFlow's. First values and gradients are those of optimizer_golden.py.

On TensorFlow, Keras 3.15's ScheduleFreeAdamW means the old value of a slot and gets the slot, which it has changed by then, so that its beta_1 has
no effect. Here a slot's value is read at once, as on Keras' other backends: then it computes its own formulas."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

W = [0.5, -0.25, 1.5, 0.0, -2.0, 0.125, 0.75]
G = [[0.1 * (i + 1) * (-1) ** (i + t) + 0.05 * t for i in range(7)] for t in range(20)]
o = keras.optimizers
KERAS = {"epsilon": 1e-7, "initial_rms": 0}  # options.c sets these for Keras' RMSprop
ROWS = [
    ("rmsprop", 0.01, KERAS, lambda: o.RMSprop(0.01)),
    ("rmsprop", 0.01, dict(KERAS, momentum=0.5), lambda: o.RMSprop(0.01, momentum=0.5)),
    ("rmsprop", 0.01, dict(KERAS, rho=0.8, momentum=0.5, centered=1), lambda: o.RMSprop(0.01, rho=0.8, momentum=0.5, centered=True, epsilon=1e-7)),
    ("rmsprop", 0.01, dict(KERAS, epsilon=0.1), lambda: o.RMSprop(0.01, epsilon=0.1)),
    ("adagrad", 0.1, {"epsilon": 1e-7}, lambda: o.Adagrad(0.1)),
    ("adagrad", 0.1, {"initial_accumulator_value": 0, "epsilon": 0.1}, lambda: o.Adagrad(0.1, initial_accumulator_value=0.0, epsilon=0.1)),
    ("adam", 0.01, {"epsilon": 1e-7}, lambda: o.Adam(0.01)),
    ("adamw", 0.01, {"epsilon": 1e-7, "weight_decay": 0.5}, lambda: o.AdamW(0.01, weight_decay=0.5)),
    ("amsgrad", 0.01, {"epsilon": 1e-7}, lambda: o.Adam(0.01, amsgrad=True)),
    ("amsgrad", 0.01, {"beta_2": 0.5, "epsilon": 1e-7, "weight_decay": 0.5}, lambda: o.AdamW(0.01, beta_2=0.5, weight_decay=0.5, amsgrad=True)),
    ("adadelta", 0.5, {"epsilon": 1e-7}, lambda: o.Adadelta(0.5)),
    ("adamax", 0.01, {"epsilon": 1e-7}, lambda: o.Adamax(0.01)),
    ("adamax", 0.01, {"beta_1": 0.8, "beta_2": 0.5, "epsilon": 0.1, "weight_decay": 0.5},
     lambda: o.Adamax(0.01, beta_1=0.8, beta_2=0.5, epsilon=0.1, weight_decay=0.5)),
    ("nadam", 0.01, {"epsilon": 1e-7}, lambda: o.Nadam(0.01)),
    ("nadam", 0.01, {"beta_1": 0.8, "beta_2": 0.9, "epsilon": 0.1, "weight_decay": 0.5},
     lambda: o.Nadam(0.01, beta_1=0.8, beta_2=0.9, epsilon=0.1, weight_decay=0.5)),
    ("lion", 0.01, {}, lambda: o.Lion(0.01)),
    ("lion", 0.01, {"beta_1": 0.5, "beta_2": 0.6, "weight_decay": 0.5}, lambda: o.Lion(0.01, beta_1=0.5, beta_2=0.6, weight_decay=0.5)),
    ("ftrl", 0.1, {"beta": 0.5, "l2_shrinkage_regularization_strength": 0.1, "l1_regularization_strength": 0.01},
     lambda: o.Ftrl(0.1, beta=0.5, l2_shrinkage_regularization_strength=0.1, l1_regularization_strength=0.01)),
    ("momentum", 0.1, {"rate_in_momentum": 1}, lambda: o.SGD(0.1, momentum=0.9)),
    ("momentum", 0.1, {"rate_in_momentum": 1, "nesterov": 1}, lambda: o.SGD(0.1, momentum=0.9, nesterov=True)),
    ("sgd", 0.1, {"weight_decay": 0.5}, lambda: o.SGD(0.1, weight_decay=0.5)),
    ("momentum", 0.1, {"weight_decay": 0.5}, lambda: o.SGD(0.1, momentum=0.9, weight_decay=0.5)),
    ("momentum", 0.1, {"nesterov": 1, "weight_decay": 0.5}, lambda: o.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=0.5)),
    ("momentum", 0.1, {"rate_in_momentum": 1, "weight_decay": 0.5}, lambda: o.SGD(0.1, momentum=0.9, weight_decay=0.5)),
    ("momentum", 0.1, {"rate_in_momentum": 1, "nesterov": 1, "weight_decay": 0.5}, lambda: o.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=0.5)),
    ("rmsprop", 0.01, dict(KERAS, momentum=0.5, weight_decay=0.5), lambda: o.RMSprop(0.01, momentum=0.5, weight_decay=0.5)),
    ("rmsprop", 0.01, dict(KERAS, centered=1, weight_decay=0.5), lambda: o.RMSprop(0.01, centered=True, weight_decay=0.5)),
    ("adagrad", 0.1, {"epsilon": 1e-7, "weight_decay": 0.5}, lambda: o.Adagrad(0.1, weight_decay=0.5)),
    ("adadelta", 0.5, {"epsilon": 1e-7, "weight_decay": 0.5}, lambda: o.Adadelta(0.5, weight_decay=0.5)),
    ("ftrl", 0.1, {"l2_shrinkage_regularization_strength": 0.1, "weight_decay": 0.5},
     lambda: o.Ftrl(0.1, l2_shrinkage_regularization_strength=0.1, weight_decay=0.5)),
    ("lamb", 0.01, {"epsilon": 1e-7}, lambda: o.Lamb(0.01)),
    ("lamb", 0.1, {"beta_1": 0.5, "beta_2": 0.6, "epsilon": 0.1, "weight_decay": 0.5},
     lambda: o.Lamb(0.1, beta_1=0.5, beta_2=0.6, epsilon=0.1, weight_decay=0.5)),
    ("schedulefreeadamw", 0.01, {}, lambda: o.ScheduleFreeAdamW(0.01)),
    ("schedulefreeadamw", 0.1, {"beta_1": 0.5, "beta_2": 0.6, "epsilon": 0.1, "warmup_steps": 8, "weight_decay": 0.5},
     lambda: o.ScheduleFreeAdamW(0.1, beta_1=0.5, beta_2=0.6, epsilon=0.1, warmup_steps=8, weight_decay=0.5)),
    ("sgd+ema", 0.1, {"ema_overwrite_frequency": 2}, lambda: o.SGD(0.1, use_ema=True, ema_overwrite_frequency=2)),
    ("adam+ema", 0.1, {"epsilon": 1e-7, "ema_momentum": 0.5, "ema_overwrite_frequency": 3},
     lambda: o.Adam(0.1, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=3)),
    ("rmsprop+ema", 0.01, dict(KERAS, rho=0.8, centered=1, ema_overwrite_frequency=1),
     lambda: o.RMSprop(0.01, rho=0.8, centered=True, use_ema=True, ema_overwrite_frequency=1)),
]


def read_at_once(optimizer):
    """The slots give tensors as their values, and are assigned without these."""
    for slot in optimizer._momentums:
        slot.__class__ = type("Slot", (type(slot),), {"value": property(lambda self: keras.ops.copy(self._value))})
    optimizer.assign = lambda variable, value: variable.assign(value)
    optimizer.assign_add = lambda variable, value: variable.assign(variable + value)
    optimizer.assign_sub = lambda variable, value: variable.assign(variable - value)


def floats(values):
    texts = ["%.9g" % v for v in np.asarray(values).ravel()]
    return ", ".join(t + ("f" if "." in t or "e" in t else ".0f") for t in texts)


with open(os.path.join(os.path.dirname(__file__), "optimizer_keras_golden.h"), "w") as out:
    out.write("/* Made by optimizer_keras_golden.py with Keras %s. */\n" % keras.__version__)
    out.write("static const struct golden keras_goldens[] = {\n")
    for name, rate, settings, make in ROWS:
        w, optimizer, rows = keras.Variable(np.float32(W)), make(), []
        optimizer.build([w])
        if name == "schedulefreeadamw":
            read_at_once(optimizer)
        for gradient in G:
            optimizer.apply([keras.ops.convert_to_tensor(np.float32(gradient))])
            rows.append(keras.ops.convert_to_numpy(w))
        out.write("    { \"%s\", %rf, { %s },\n      {\n" % (name, rate, ", ".join('{ "%s", %rf }' % (k, float(v)) for k, v in settings.items()) or "{ 0 }"))
        for row in rows:
            out.write("          { %s },\n" % floats(row))
        out.write("      } },\n")
    out.write("};\n")

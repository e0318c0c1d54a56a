"""Writes schedule_golden.h: the learning rates of Keras' schedules at some steps. Run with the Python of TensorFlow 2.21, Keras 3:

    python3 tests/unit/trainer/schedule_golden.py > tests/unit/trainer/schedule_golden.h
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras  # noqa: E402
import numpy as np  # noqa: E402

STEPS = [0, 1, 2, 5, 9, 10, 11, 19, 20, 21, 25, 29, 30, 31, 40, 69, 70, 71, 100, 150, 151, 1000, 123456, 20000000]
ROWS = [
    ("ExponentialDecay", dict(initial_learning_rate=0.1, decay_steps=10, decay_rate=0.96)),
    ("ExponentialDecay", dict(initial_learning_rate=0.1, decay_steps=10, decay_rate=0.5, staircase=True)),
    ("InverseTimeDecay", dict(initial_learning_rate=0.1, decay_steps=10, decay_rate=0.5)),
    ("InverseTimeDecay", dict(initial_learning_rate=0.1, decay_steps=7, decay_rate=0.5, staircase=True)),
    ("PolynomialDecay", dict(initial_learning_rate=0.1, decay_steps=30)),
    ("PolynomialDecay", dict(initial_learning_rate=0.1, decay_steps=30, end_learning_rate=0.01, power=0.5)),
    ("PolynomialDecay", dict(initial_learning_rate=0.1, decay_steps=30, end_learning_rate=0.01, power=2.0, cycle=True)),
    ("CosineDecay", dict(initial_learning_rate=0.1, decay_steps=30)),
    ("CosineDecay", dict(initial_learning_rate=0.1, decay_steps=30, alpha=0.2)),
    ("CosineDecay", dict(initial_learning_rate=0.01, decay_steps=30, alpha=0.1, warmup_target=0.2, warmup_steps=20)),
    ("CosineDecay", dict(initial_learning_rate=0.01, decay_steps=30, warmup_target=0.2, warmup_steps=0)),
    ("CosineDecayRestarts", dict(initial_learning_rate=0.1, first_decay_steps=10)),
    ("CosineDecayRestarts", dict(initial_learning_rate=0.1, first_decay_steps=10, t_mul=1.0, m_mul=0.5, alpha=0.1)),
    ("CosineDecayRestarts", dict(initial_learning_rate=0.1, first_decay_steps=10, t_mul=3.0, m_mul=0.8)),
    ("PiecewiseConstantDecay", dict(boundaries=[10, 30], values=[0.1, 0.05, 0.001])),
    ("PiecewiseConstantDecay", dict(boundaries=[20], values=[0.1, 0.2])),
]


def number(x):
    return "%.8g" % float(x)


print("/* Written by schedule_golden.py with Keras %s. */" % keras.__version__)
print("static const uint64_t golden_steps[] = { %s };" % ", ".join(map(str, STEPS)))
print("\nstatic const struct golden_schedule {\n    const char *name;\n    struct {\n        const char *name;\n        double numbers[4];\n"
      "        int count;\n    } parameters[6];\n    double rates[%d];\n} golden_schedules[] = {" % len(STEPS))
for name, parameters in ROWS:
    schedule = getattr(keras.optimizers.schedules, name)(**parameters)
    rates = [number(schedule(np.int64(step))) for step in STEPS]
    lists = {k: v if isinstance(v, list) else [v] for k, v in parameters.items()}
    print('    { "%s",\n      { %s, },\n      { %s } },' % (
        name, ", ".join('{ "%s", { %s }, %d }' % (k, ", ".join(number(x) for x in v), len(v)) for k, v in lists.items()), ", ".join(rates)))
print("};")

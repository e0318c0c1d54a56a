"""Writes optimizer_golden.h: 20 updates by each of TensorFlow's own optimizers, with the same
first values and gradients for all."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()
W = [0.5, -0.25, 1.5, 0.0, -2.0, 0.125, 0.75]
G = [[0.1 * (i + 1) * (-1) ** (i + t) + 0.05 * t for i in range(7)] for t in range(20)]
t = v1.train
ROWS = [
    ("sgd", 0.1, {}, lambda: t.GradientDescentOptimizer(0.1)),
    ("momentum", 0.1, {"momentum": 0.9}, lambda: t.MomentumOptimizer(0.1, 0.9)),
    ("momentum", 0.1, {"momentum": 0.8, "nesterov": 1}, lambda: t.MomentumOptimizer(0.1, 0.8, use_nesterov=True)),
    ("adagrad", 0.1, {}, lambda: t.AdagradOptimizer(0.1)),
    ("adagrad_da", 0.1, {"l1_regularization_strength": 0.02, "l2_regularization_strength": 0.1},
     lambda: t.AdagradDAOptimizer(0.1, v1.train.get_or_create_global_step(), l1_regularization_strength=0.02,
                                  l2_regularization_strength=0.1)),
    ("adadelta", 0.5, {}, lambda: t.AdadeltaOptimizer(0.5)),
    ("rmsprop", 0.01, {"momentum": 0.5}, lambda: t.RMSPropOptimizer(0.01, momentum=0.5)),
    ("rmsprop", 0.01, {"centered": 1}, lambda: t.RMSPropOptimizer(0.01, centered=True)),
    ("adam", 0.01, {}, lambda: t.AdamOptimizer(0.01)),
    ("ftrl", 0.1, {"l1_regularization_strength": 0.05, "l2_regularization_strength": 0.1},
     lambda: t.FtrlOptimizer(0.1, l1_regularization_strength=0.05, l2_regularization_strength=0.1)),
    ("ftrl", 0.1, {"learning_rate_power": -0.3, "l2_shrinkage_regularization_strength": 0.01},
     lambda: t.FtrlOptimizer(0.1, learning_rate_power=-0.3, l2_shrinkage_regularization_strength=0.01)),
    ("proximal_gradient_descent", 0.1, {"l1_regularization_strength": 0.1, "l2_regularization_strength": 0.2},
     lambda: t.ProximalGradientDescentOptimizer(0.1, 0.1, 0.2)),
    ("proximal_adagrad", 0.1, {"l1_regularization_strength": 0.1, "l2_regularization_strength": 0.2},
     lambda: t.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.1, l2_regularization_strength=0.2)),
]


def floats(values):
    texts = ["%.9g" % v for v in np.asarray(values).ravel()]
    return ", ".join(t + ("f" if "." in t or "e" in t else ".0f") for t in texts)


with open(os.path.join(os.path.dirname(__file__), "optimizer_golden.h"), "w") as out:
    out.write("/* Made by optimizer_golden.py with TensorFlow %s. */\n" % tf.__version__)
    out.write("#define GOLDEN_STEPS 20\n#define GOLDEN_COUNT 7\n\n")
    out.write("static const float golden_start[GOLDEN_COUNT] = { %s };\n\n" % floats(np.float32(W)))
    out.write("static const float golden_gradients[GOLDEN_STEPS][GOLDEN_COUNT] = {\n")
    for g in G:
        out.write("    { %s },\n" % floats(np.float32(g)))
    out.write("};\n\nstatic const struct golden {\n    const char *name;\n    float rate;\n    struct optimizer_setting settings[5];\n")
    out.write("    float expected[GOLDEN_STEPS][GOLDEN_COUNT];\n} goldens[] = {\n")
    for name, rate, settings, make in ROWS:
        with tf.Graph().as_default(), v1.Session() as session:
            step = v1.train.get_or_create_global_step()
            w = v1.get_variable("w", initializer=np.float32(W), use_resource=True)
            g = v1.placeholder(tf.float32, [7])
            op = make().apply_gradients([(g, w)], global_step=step)
            session.run(v1.global_variables_initializer())
            rows = []
            for gradient in G:
                session.run(op, {g: gradient})
                rows.append(session.run(w))
        out.write("    { \"%s\", %rf, { %s },\n      {\n" % (
            name, rate, ", ".join('{ "%s", %rf }' % (k, float(v)) for k, v in settings.items()) or "{ 0 }"))
        for row in rows:
            out.write("          { %s },\n" % floats(row))
        out.write("      } },\n")
    out.write("};\n")

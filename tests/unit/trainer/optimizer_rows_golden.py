"""Writes optimizer_rows_golden.h: five updates of some rows of a matrix by each of TensorFlow's own
optimizers, with indexed gradients (IndexedSlices)."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()
ROWS_COUNT, ROW, STEPS = 6, 3, 5
W = [[round(0.5 - 0.25 * i + 0.375 * j, 3) for j in range(ROW)] for i in range(ROWS_COUNT)]
TOUCHED = [[0, 2, 3], [1], [2, 3, 4, 5], [0, 5], [2]]  # row 1 once, row 4 late
G = [[[0.1 * (i + 1) * (-1) ** (i + j + t) + 0.05 * t for j in range(ROW)] for i in rows] for t, rows in enumerate(TOUCHED)]
t = v1.train


class LazyAdam:
    """TensorFlow 2.21 has no LazyAdamOptimizer. This is tf.contrib.opt's update, written with TensorFlow's ops."""

    def __init__(self, rate, beta1=0.9, beta2=0.999, epsilon=1e-8):
        self.rate, self.beta1, self.beta2, self.epsilon = rate, beta1, beta2, epsilon

    def apply_gradients(self, pairs, global_step):
        (g, w), = pairs
        m = v1.get_variable("m", initializer=tf.zeros_like(w.initial_value), use_resource=True)
        v = v1.get_variable("v", initializer=tf.zeros_like(w.initial_value), use_resource=True)
        powers = [v1.get_variable(n, initializer=np.float32(b), use_resource=True) for n, b in (("p1", self.beta1), ("p2", self.beta2))]
        alpha = self.rate * tf.sqrt(1 - powers[1]) / (1 - powers[0])
        new_m = self.beta1 * tf.gather(m, g.indices) + (1 - self.beta1) * g.values
        new_v = self.beta2 * tf.gather(v, g.indices) + (1 - self.beta2) * tf.square(g.values)
        step = alpha * new_m / (tf.sqrt(new_v) + self.epsilon)
        with tf.control_dependencies([step]):
            updates = [m.scatter_update(tf.IndexedSlices(new_m, g.indices)), v.scatter_update(tf.IndexedSlices(new_v, g.indices)),
                       w.scatter_sub(tf.IndexedSlices(step, g.indices))]
        with tf.control_dependencies(updates):
            return tf.group(powers[0].assign(powers[0] * self.beta1), powers[1].assign(powers[1] * self.beta2))


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
    ("lazy_adam", 0.01, {}, lambda: LazyAdam(0.01)),
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
    return ", ".join(f"{float(v)!r}f" for v in np.asarray(values).ravel())


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "optimizer_rows_golden.h"), "w") as out:
    out.write("/* Made by optimizer_rows_golden.py with TensorFlow %s. */\n" % tf.__version__)
    out.write("#define GOLDEN_STEPS %d\n#define GOLDEN_ROWS  %d\n#define GOLDEN_ROW   %d\n" % (STEPS, ROWS_COUNT, ROW))
    out.write("#define GOLDEN_COUNT (GOLDEN_ROWS * GOLDEN_ROW)\n\n")
    out.write("static const float golden_start[GOLDEN_COUNT] = { %s };\n\n" % floats(np.float32(W)))
    out.write("static const struct golden_gradient {\n    size_t count;\n    uint32_t rows[GOLDEN_ROWS];\n    float g[GOLDEN_COUNT];\n")
    out.write("} golden_gradients[GOLDEN_STEPS] = {\n")
    for rows, g in zip(TOUCHED, G):
        out.write("    { %d, { %s }, { %s } },\n" % (len(rows), ", ".join(map(str, rows)), floats(np.float32(g))))
    out.write("};\n\nstatic const struct golden {\n    const char *name;\n    float rate;\n    struct optimizer_setting settings[5];\n")
    out.write("    float expected[GOLDEN_STEPS][GOLDEN_COUNT];\n} goldens[] = {\n")
    for name, rate, settings, make in ROWS:
        with tf.Graph().as_default(), v1.Session() as session:
            step = v1.train.get_or_create_global_step()
            w = v1.get_variable("w", initializer=np.float32(W), use_resource=True)
            g, ids = v1.placeholder(tf.float32, [None, ROW]), v1.placeholder(tf.int64, [None])
            op = make().apply_gradients([(tf.IndexedSlices(g, ids, tf.constant([ROWS_COUNT, ROW], tf.int64)), w)], global_step=step)
            session.run(v1.global_variables_initializer())
            results = []
            for rows, gradient in zip(TOUCHED, G):
                session.run(op, {g: gradient, ids: rows})
                results.append(session.run(w))
        out.write("    { \"%s\", %rf, { %s },\n      {\n" % (
            name, rate, ", ".join('{ "%s", %rf }' % (k, float(v)) for k, v in settings.items()) or "{ 0 }"))
        for row in results:
            out.write("          { %s },\n" % floats(row))
        out.write("      } },\n")
    out.write("};\n")

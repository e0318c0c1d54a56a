"""A model of TensorFlow 1 to train further: a loop of Switch and Merge reads steps from a TensorArray and writes states to another one.

    python tests/golden/finetune/arrays.py      (TensorFlow 2.21) writes

    arrays/              the export before the training
    arrays.csv           the rows, as models.py writes them
    arrays_want.json     the answers to the first rows after TensorFlow 1's gradient descent
"""
import json
import os
import shutil

import models
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_v2_behavior()
v1.disable_control_flow_v2()
HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, WIDTH, UNITS = 4, 3, 5
RANDOM = np.random.default_rng(11)


def variable(name, *shape):
    return v1.Variable(RANDOM.normal(size=shape).astype(np.float32).round(2) / 2, name=name, use_resource=True)


def network(x):
    w, u, b, v = variable("w", WIDTH, UNITS), variable("u", UNITS, UNITS), variable("b", UNITS), variable("v", UNITS, 1)
    steps = tf.TensorArray(tf.float32, STEPS, name="steps").unstack(tf.transpose(x, [1, 0, 2]))
    states = tf.TensorArray(tf.float32, STEPS, name="states")

    def step(i, state, states):
        state = tf.tanh(tf.matmul(steps.read(i), w) + tf.matmul(state, u) + b)
        return i + 1, state, states.write(i, state)
    _, _, states = v1.while_loop(lambda i, *_: i < STEPS, step, (0, tf.zeros([tf.shape(x)[0], UNITS]), states))
    return tf.matmul(tf.reduce_sum(states.stack(), 0), v)


def main():
    rows = RANDOM.normal(size=(models.STEPS * models.BATCH, STEPS, WIDTH)).astype(np.float32).round(2)
    labels = RANDOM.integers(0, 2, len(rows))
    models.write_csv(os.path.join(HERE, "arrays.csv"), rows, labels)
    x, label = v1.placeholder(tf.float32, [None, STEPS, WIDTH], "x"), v1.placeholder(tf.float32, [None, 1], "label")
    y = network(x)
    path = os.path.join(HERE, "arrays")
    shutil.rmtree(path, ignore_errors=True)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, path, {"x": x}, {"y": y})
        train = v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(tf.square(y - label)))
        for i in range(0, len(rows), models.BATCH):
            part = slice(i, i + models.BATCH)
            session.run(train, {x: rows[part], label: labels[part].reshape(-1, 1)})
        answers = session.run(y, {x: rows[:models.ROWS]}).tolist()
    with open(os.path.join(HERE, "arrays_want.json"), "w", encoding="utf-8") as file:
        json.dump({"sgd": answers}, file, indent=1)


main()

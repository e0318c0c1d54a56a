"""Writes a file per model that is trained with sample weights, in the form of models.py, with a line `weights SHAPE VALUES` after the
labels.

    python tests/golden/layers/weights.py tests/golden/layers            Keras 3.15
"""
import os
import sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras

L = keras.layers
random = np.random.RandomState(11)
directory = sys.argv[1]
STEPS, RATE, BATCH = 20, 0.0078125, 6


def numbers(array):
    array = np.asarray(array)
    return "[" + ",".join(map(str, array.shape)) + "] " + " ".join("%.9g" % v for v in array.ravel())


def name_of(variable):
    return "/".join(variable.path.split("/")[-2:])


def case(name, loss, labels, activation="linear"):
    model = keras.Sequential([L.Input((4,)), L.Dense(5, activation="tanh", name="hidden", kernel_regularizer="l2"),
                              L.Dense(3, activation=activation, name="answer")], name=name)
    model.compile(optimizer=keras.optimizers.SGD(RATE, momentum=0.5, nesterov=True), loss=loss)
    for variable in model.weights:
        variable.assign(random.uniform(-0.7, 0.7, variable.shape).astype(np.float32))
    x = random.uniform(-1, 1, (BATCH, 4)).astype(np.float32)
    weights = np.array([1, 0, 2.5, 0.25, 1, 7], np.float32)
    y = model(x, training=False)
    with tf.GradientTape() as tape:
        value = model.compute_loss(x, labels, model(x, training=True), weights)
    gradients = tape.gradient(value, model.trainable_weights)
    lines = ["json " + model.to_json(), "input " + numbers(x), "labels " + numbers(labels), "weights " + numbers(weights),
             "output " + numbers(y), "loss %.9g" % float(value)]
    for variable, gradient in zip(model.weights, gradients):
        lines += ["variable %s %s" % (name_of(variable), numbers(variable)), "grad %s %s" % (name_of(variable), numbers(gradient))]
    for _ in range(STEPS):
        model.reset_metrics()
        lines.append("step %.9g" % model.train_on_batch(x, labels, sample_weight=weights))
    for variable in model.weights:
        lines.append("trained %s %s" % (name_of(variable), numbers(variable)))
    with open("%s/keras3_weights_%s.txt" % (directory, name), "w") as file:
        file.write("\n".join(lines) + "\n")


case("classes", "sparse_categorical_crossentropy", random.randint(0, 3, BATCH), "softmax")
case("values", "mse", random.uniform(-1, 1, (BATCH, 3)).astype(np.float32))

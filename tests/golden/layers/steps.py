"""Writes a file per model that has a class, or numbers, for each step of a sequence or pixel of an image, in the form of models.py, with
lines `weights SHAPE VALUES` and `metric NAME VALUE`.

    python tests/golden/layers/steps.py tests/golden/layers            Keras 3.15
"""
import os
import sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras
from keras import losses as K, metrics as M

L = keras.layers
random = np.random.RandomState(17)
directory = sys.argv[1]
STEPS, RATE, BATCH = 20, 0.0078125, 4


def numbers(array):
    array = np.asarray(array)
    return "[" + ",".join(map(str, array.shape)) + "] " + " ".join("%.9g" % v for v in array.ravel())


def name_of(variable):
    return "/".join(variable.path.split("/")[-2:])


def case(name, layers, loss, metrics=(), weighted=(), one_hot=False, weights=None, values=None, ignored=None, outputs=4, activation="softmax",
         given=None):
    """`one_hot`: Keras gets one-hot labels of the class numbers; `weights`: of rows, or of steps; `values`: labels that are no classes."""
    model = keras.Sequential([*layers(), L.Dense(outputs, activation=activation, name="answer")], name=name)
    model.compile(optimizer=keras.optimizers.SGD(RATE, momentum=0.5, nesterov=True), loss=loss, metrics=list(metrics), weighted_metrics=list(weighted))
    for variable in model.weights:
        variable.assign(random.uniform(-0.7, 0.7, variable.shape).astype(np.float32))
    x = random.uniform(-1, 1, (BATCH,) + model.input_shape[1:]).astype(np.float32) if given is None else given
    y = model(x, training=False)
    shown = labels = random.randint(0, outputs, y.shape[:-1]) if values is None else values(y.shape)
    if ignored is not None:
        labels.reshape(-1)[::3] = ignored
    if one_hot:
        labels = np.eye(outputs, dtype=np.float32)[labels]
    lines = ["json " + model.to_json(), "input " + numbers(x), "labels " + numbers(shown)]
    if weights is not None:
        # Keras broadcasts weights of rows along the last dimension, unless they have all dimensions.
        weights = weights.reshape(weights.shape + (1,) * (len(y.shape) - 1 - len(weights.shape)))
        lines.append("weights " + numbers(weights))
    with tf.GradientTape() as tape:
        value = model.compute_loss(x, labels, model(x, training=True), weights)
    gradients = tape.gradient(value, model.trainable_weights)
    lines += ["output " + numbers(y), "loss %.9g" % float(value)]
    model.reset_metrics()
    logs = model.test_on_batch(x, labels, sample_weight=weights, return_dict=True)
    lines += ["metric %s %.9g" % (key, number) for key, number in logs.items() if key != "loss"]
    for variable, gradient in zip(model.weights, gradients):
        lines += ["variable %s %s" % (name_of(variable), numbers(variable)), "grad %s %s" % (name_of(variable), numbers(tf.convert_to_tensor(gradient)))]
    for _ in range(STEPS):
        model.reset_metrics()
        lines.append("step %.9g" % model.train_on_batch(x, labels, sample_weight=weights, return_dict=True)["loss"])
    for variable in model.weights:
        lines.append("trained %s %s" % (name_of(variable), numbers(variable)))
    with open("%s/keras3_steps_%s.txt" % (directory, name), "w") as file:
        file.write("\n".join(lines) + "\n")


def steps():
    return [L.Input((5, 3)), L.Dense(6, activation="tanh", name="hidden")]


def pixels():
    return [L.Input((4, 3, 2)), L.Conv2D(5, 2, padding="same", activation="tanh", name="hidden")]


def masked():
    return [L.Input((5, 3)), L.Masking(name="mask"), L.Dense(6, activation="tanh", name="hidden")]


def like(shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def zero_or_one(shape):
    return random.randint(0, 2, shape).astype(np.float32)


rows = np.array([1, 0, 2.5, 0.25], np.float32)
of_steps = random.choice([0, 0.5, 1, 3], (BATCH, 5)).astype(np.float32)
of_pixels = random.choice([0, 1, 2, 3], (BATCH, 4, 3)).astype(np.float32)
lengths = random.uniform(-1, 1, (BATCH, 5, 3)).astype(np.float32)
lengths[1, 2:], lengths[2, :1], lengths[3, 4:] = 0, 0, 0
sparse = "sparse_categorical_crossentropy"


def tops():
    return [M.SparseTopKCategoricalAccuracy(2, name="top_2"), "sparse_categorical_accuracy", "sparse_categorical_crossentropy"]



case("tags", steps, sparse, ["accuracy", *tops()])
case("tags_logits", steps, K.SparseCategoricalCrossentropy(from_logits=True), ["accuracy"], activation="linear")
case("tags_probabilities", steps, sparse, ["accuracy"], activation="sigmoid")
case("tags_sum", steps, K.SparseCategoricalCrossentropy(reduction="sum"))
case("tags_ignored", steps, K.SparseCategoricalCrossentropy(ignore_class=-1), ignored=-1)
case("tags_one_hot", steps, "categorical_crossentropy", ["accuracy", "categorical_accuracy", M.TopKCategoricalAccuracy(2, name="top_2")], one_hot=True)
case("tags_smoothed", steps, K.CategoricalCrossentropy(label_smoothing=0.1), one_hot=True)
case("tags_focal", steps, K.CategoricalFocalCrossentropy(), one_hot=True)
case("tags_hinge", steps, "categorical_hinge", activation="linear", one_hot=True)
case("tags_generalized", steps, K.CategoricalGeneralizedCrossEntropy(q=0.7))
case("tags_of_rows", steps, sparse, ["accuracy"], ["accuracy", M.SparseTopKCategoricalAccuracy(2, name="top_2")], weights=rows)
case("tags_of_steps", steps, sparse, ["accuracy"], ["accuracy", M.SparseTopKCategoricalAccuracy(2, name="top_2")], weights=of_steps)
case("tags_masked", masked, sparse, ["accuracy", *tops()], given=lengths)
case("tags_masked_of_steps", masked, sparse, [], ["accuracy"], given=lengths, weights=of_steps)
case("pixels", pixels, sparse, ["accuracy", M.MeanIoU(4, sparse_y_pred=False, name="mean_iou"), *tops()])
case("pixels_one_hot", pixels, "categorical_crossentropy", ["accuracy", M.OneHotMeanIoU(4, name="one_hot_mean_iou")], one_hot=True)
case("pixels_of_rows", pixels, sparse, [], ["accuracy"], weights=rows)
case("pixels_of_pixels", pixels, sparse, [], ["accuracy", M.MeanIoU(4, sparse_y_pred=False, name="mean_iou")], weights=of_pixels)
case("pixels_binary", pixels, "binary_crossentropy", ["accuracy", "auc"], outputs=1, activation="sigmoid", values=zero_or_one)
case("pixels_binary_weighted", pixels, "binary_crossentropy", [], ["binary_accuracy"], outputs=1, activation="sigmoid", values=zero_or_one, weights=of_pixels)
case("numbers_of_steps", steps, "mse", ["mae"], ["mse"], activation="linear", values=like, weights=of_steps)
case("numbers_masked_of_steps", masked, "mse", [], ["mae"], activation="linear", values=like, weights=of_steps, given=lengths)
case("cosine_of_steps", steps, K.CosineSimilarity(), activation="linear", values=like, weights=of_steps)

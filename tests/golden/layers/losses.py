"""Writes a file per loss, in the form of models.py: a small model, the loss of a batch, its gradients, and 20 steps of training.

    python tests/golden/layers/losses.py tests/golden/layers            Keras 3.15
"""
import os
import sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
import keras
from keras import losses as K

L = keras.layers
random = np.random.RandomState(7)
directory = sys.argv[1]
STEPS, RATE = 20, 0.0078125


def numbers(array):
    array = np.asarray(array)
    return "[" + ",".join(map(str, array.shape)) + "] " + " ".join("%.9g" % v for v in array.ravel())


def name_of(variable):
    return "/".join(variable.path.split("/")[-2:])


def case(name, loss, labels, activation="linear", units=3, shown=None, hidden=(), after=(), printed=()):
    """labels: a function from the shape of the output to what Keras takes; shown: from these to what is written;
    printed: a part of the text that is replaced, for options that Keras does not print."""
    model = keras.Sequential([L.Input((4,)), *hidden, L.Dense(units, activation=activation, name="answer"), *after], name=name)
    model.compile(optimizer=keras.optimizers.SGD(RATE, momentum=0.5, nesterov=True), loss=loss)
    for variable in model.weights:
        variable.assign(random.uniform(-0.7, 0.7, variable.shape).astype(np.float32))
    x = random.uniform(-1, 1, (6, 4)).astype(np.float32)
    y = model(x, training=False)
    z = labels(y.shape)
    function = K.get(loss)

    def step():
        with tf.GradientTape() as tape:
            values = function(z, model(x, training=True))
            value = tf.reduce_mean(values)
        return value, tape.gradient(value, model.trainable_weights)

    value, gradients = step()
    text = model.to_json()
    if printed:
        assert printed[0] in text
        text = text.replace(*printed)
    lines = ["json " + text, "input " + numbers(x), "labels " + numbers(shown(z) if shown else z), "output " + numbers(y),
             "loss %.9g" % float(value)]
    for variable, gradient in zip(model.weights, gradients):
        lines += ["variable %s %s" % (name_of(variable), numbers(variable)), "grad %s %s" % (name_of(variable), numbers(gradient))]
    for _ in range(STEPS):
        lines.append("step %.9g" % model.train_on_batch(x, z))
    for variable in model.weights:
        lines.append("trained %s %s" % (name_of(variable), numbers(variable)))
    with open("%s/keras3_loss_%s.txt" % (directory, name), "w") as file:
        file.write("\n".join(lines) + "\n")


def zero_or_one(shape):
    return random.randint(0, 2, shape).astype(np.float32)


def one_hot(shape):
    return np.eye(shape[-1], dtype=np.float32)[random.randint(0, shape[-1], shape[:-1])]


def classes(one_hots):
    return np.argmax(one_hots, -1)


def numbers_like(shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def positive(shape):
    return random.uniform(0.1, 2, shape).astype(np.float32)


def shares(shape):
    values = random.uniform(0.1, 1, shape).astype(np.float32)
    return values / values.sum(-1, keepdims=True)


def signs(shape):
    return random.choice([-1, 1], shape).astype(np.float32)


def from_classes(name, loss, activation="softmax", **options):
    case(name, loss, one_hot, activation, shown=classes, **options)


case("binary", "binary_crossentropy", zero_or_one, "sigmoid", 1)
case("binary_outputs", "BinaryCrossentropy", zero_or_one, "sigmoid", 3)
case("binary_logits", K.BinaryCrossentropy(from_logits=True), zero_or_one, units=1)
case("binary_smoothed", K.BinaryCrossentropy(label_smoothing=0.2), zero_or_one, "sigmoid")
case("binary_sum", K.BinaryCrossentropy(reduction="sum"), zero_or_one, "sigmoid")
case("binary_probabilities", "bce", zero_or_one, "hard_sigmoid")
from_classes("categorical", "categorical_crossentropy")
from_classes("categorical_smoothed", K.CategoricalCrossentropy(label_smoothing=0.1))
from_classes("categorical_logits", K.CategoricalCrossentropy(from_logits=True), "linear")
from_classes("categorical_probabilities", K.CategoricalCrossentropy(label_smoothing=0.1), "softplus")
from_classes("sparse_sum", K.CategoricalCrossentropy(reduction="sum"))
case("sparse_categorical", "sparse_categorical_crossentropy", lambda shape: random.randint(0, shape[-1], shape[:-1]), "softmax")
case("sparse_categorical_probabilities", "sparse_categorical_crossentropy", lambda shape: random.randint(0, shape[-1], shape[:-1]), "sigmoid")
case("binary_focal", "binary_focal_crossentropy", zero_or_one, "sigmoid", 1)
case("binary_focal_logits", K.BinaryFocalCrossentropy(apply_class_balancing=True, alpha=0.3, gamma=1.5, from_logits=True, label_smoothing=0.1),
     zero_or_one)
from_classes("categorical_focal", "CategoricalFocalCrossentropy")
from_classes("categorical_focal_logits", K.CategoricalFocalCrossentropy(alpha=0.5, gamma=3.0, from_logits=True, label_smoothing=0.1), "linear")
from_classes("categorical_hinge", "categorical_hinge", "linear")
case("hinge", "hinge", signs)
case("hinge_of_zero_or_one", K.Hinge(), zero_or_one)
case("squared_hinge", "SquaredHinge", signs)
case("mean_squared_error_sum", K.MeanSquaredError(reduction="sum"), numbers_like)
case("mean_squared_error_of_rows", "mse", numbers_like, hidden=[L.Reshape((2, 2))])
case("mean_squared_error_of_rows_sum", K.MeanSquaredError(reduction="sum"), numbers_like, hidden=[L.Reshape((2, 2))])
case("mean_absolute_error", "mae", numbers_like)
case("mean_absolute_percentage_error", "MAPE", numbers_like)
case("mean_squared_logarithmic_error", "msle", positive, "softplus")
case("huber", K.Huber(delta=0.5), numbers_like, printed=('"name": "huber_loss", ', '"name": "huber_loss", "delta": 0.5, '))
case("log_cosh", "LogCosh", numbers_like)
case("poisson", "poisson", positive, "softplus")
case("kl_divergence", "kl_divergence", shares, "softmax")
case("cosine_similarity", K.CosineSimilarity(reduction="sum"), numbers_like)
case("dice", K.Dice(), zero_or_one, "sigmoid")
case("tversky", K.Tversky(alpha=0.3, beta=0.6), zero_or_one, "sigmoid")
case("categorical_generalized", K.CategoricalGeneralizedCrossEntropy(q=0.7), lambda shape: random.randint(0, shape[-1], shape[:-1]), "softmax")


def classes_or(ignored):
    """Class numbers, of which some are the ignored one."""
    def labels(shape):
        numbers = random.randint(0, shape[-1], shape[:-1])
        numbers[[1, 4]] = ignored
        return numbers
    return labels


def lists(shape):
    """Lists of 2 classes, 1, 0, …, the last ones with a repetition; zeros behind them."""
    return np.array([[1, 2, 0], [3, 0, 0], [0, 0, 0], [2, 2, 0], [1, 3, 1], [3, 3, 2]], np.int32)


case("sparse_ignored", K.SparseCategoricalCrossentropy(ignore_class=-1), classes_or(-1), "softmax")
case("sparse_ignored_logits", K.SparseCategoricalCrossentropy(ignore_class=255, from_logits=True), classes_or(255))
case("sparse_ignored_probabilities", K.SparseCategoricalCrossentropy(ignore_class=1), classes_or(1), "sigmoid")
case("circle", K.Circle(), lambda shape: np.array([7, -2, 7, -2, 7, 5], np.int32), after=[L.UnitNormalization()])
case("circle_of_all", K.Circle(gamma=16.0, margin=0.25, remove_diagonal=False), lambda shape: np.array([0, 1, 0, 1, 0, 2], np.int32),
     after=[L.UnitNormalization()])
case("ctc", K.CTC(), lists, units=4, hidden=[L.Dense(24, activation="tanh"), L.Reshape((6, 4))])
case("dice_of_rows", K.Dice(axis=1), zero_or_one, "sigmoid")
case("tversky_of_rows", K.Tversky(alpha=0.3, beta=0.6, axis=(-1, 1)), zero_or_one, "sigmoid", units=6, after=[L.Reshape((2, 3))])
# A share of each class as the label: any distribution, as by mixup or of another model.
case("categorical_shares", "categorical_crossentropy", shares, "softmax")
case("categorical_shares_logits", K.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1), shares)
case("categorical_shares_probabilities", "categorical_crossentropy", shares, "softplus")
case("categorical_shares_of_steps", "categorical_crossentropy", shares, "softmax", hidden=[L.Reshape((2, 2))])
case("categorical_shares_focal", K.CategoricalFocalCrossentropy(gamma=1.5), shares, "softmax")
case("categorical_shares_hinge", "categorical_hinge", shares)
case("a_function", keras.losses.mean_absolute_error, numbers_like)  # which Keras prints by its name

"""Writes a model that Keras printed and what Keras computes with it to a file; for the scripts beside it."""
import os
import sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

legacy = bool(os.environ.get("TF_USE_LEGACY_KERAS"))
if legacy:
    import tf_keras as keras
else:
    import keras
L = keras.layers
random = np.random.RandomState(3)
directory = sys.argv[1]


def numbers(array):
    array = np.asarray(array)
    return "[" + ",".join(map(str, array.shape)) + "] " + " ".join("%.9g" % v for v in array.ravel())


def name_of(model, variable):
    for layer in model.layers:  # what is inside a model inside the model, or inside one in a TimeDistributed
        inner, name = layer, layer.name
        while isinstance(inner, L.TimeDistributed):
            inner = inner.layer
            name += "" if legacy else "/" + inner.name
        if isinstance(inner, keras.Model) and any(v is variable for v in inner.weights):
            return name + "/" + name_of(inner, variable)
    if legacy:
        return variable.name.split(":")[0]
    parts = variable.path.split("/")
    return "/".join(parts[1:] if parts[0] == model.name else parts)


STEPS, RATE = 20, 0.0078125


def train(model, x, labels, lines):
    for _ in range(STEPS):
        lines.append("step %.9g" % model.train_on_batch(x, labels))
    for variable in model.weights:
        lines.append("trained %s %s" % (name_of(model, variable), numbers(variable)))


def branches(name, model):
    """A model with several outputs."""
    for variable in model.weights:
        variable.assign(random.uniform(-0.7, 0.7, variable.shape).astype(np.float32))
    x = [random.uniform(-1, 1, (3,) + tuple(i.shape[1:])).astype(np.float32) for i in model.inputs]
    lines = ["json " + model.to_json()] + ["input " + numbers(i) for i in x]
    lines += ["output " + numbers(y) for y in model(x if len(x) > 1 else x[0], training=False)]
    lines += ["variable %s %s" % (name_of(model, v), numbers(v)) for v in model.weights]
    write(name, lines)


def write(name, lines):
    with open("%s/keras%d_%s.txt" % (directory, 2 if legacy else 3, name), "w") as file:
        file.write("\n".join(lines) + "\n")


def case(name, model, loss="mse", gradients=True, batch=3, trained=False, masked=False, inputs=None):
    """`masked`: the output may have a mask, by which Keras' own loss goes. `inputs`: in place of random ones."""
    if legacy:
        model._name = name
    model.compile(optimizer=keras.optimizers.SGD(RATE if trained else 0.125, momentum=0.5, nesterov=True), loss=loss)
    for variable in model.weights:
        low = 0.3 if "variance" in variable.name else -0.7
        variable.assign(random.uniform(low, 0.7, variable.shape).astype(np.float32))
    x = inputs or [random.uniform(-1, 1, (batch,) + tuple(i.shape[1:])).astype(np.float32) for i in model.inputs]
    shown = ["input " + numbers(i) for i in x]
    x = x if len(x) > 1 else x[0]
    y = model(x, training=False)
    crossed = "crossentropy" in str(loss) or "Crossentropy" in type(loss).__name__
    labels = random.randint(0, y.shape[-1], batch) if crossed else random.uniform(-1, 1, y.shape).astype(np.float32)
    function = keras.losses.get(loss)
    with tf.GradientTape() as tape:
        y = model(x, training=False)
        if masked:
            options = {} if legacy else {"training": False}
            value = model.compute_loss(x=x, y=tf.constant(labels), y_pred=y, **options)
        else:
            value = function(labels, y)
            value = tf.reduce_mean(value) if value.shape.rank else value
            for term in model.losses:
                value = value + term
    lines = ["json " + model.to_json()] + shown + ["labels " + numbers(labels), "output " + numbers(y)]
    lines.append("loss %.9g" % float(value))
    got = tape.gradient(value, model.trainable_weights)
    by_name = {name_of(model, v): g for v, g in zip(model.trainable_weights, got)}
    for variable in model.weights:
        lines.append("variable %s %s" % (name_of(model, variable), numbers(variable)))
        if gradients and name_of(model, variable) in by_name:
            lines.append("grad %s %s" % (name_of(model, variable), numbers(tf.convert_to_tensor(by_name[name_of(model, variable)]))))
    if trained:
        train(model, x, labels, lines)
    write(name, lines)


def sequential(*layers):
    model = keras.Sequential(list(layers))
    return model

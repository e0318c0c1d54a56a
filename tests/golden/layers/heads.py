"""Writes a file per model with several outputs that are trained, in the form of models.py, with `labels` for each output that has a loss,
`weights` of the examples if they have any, and `metric NAME VALUE` for everything that evaluate() reports but the loss.

    python tests/golden/layers/heads.py tests/golden/layers            Keras 3.15
"""
from cases import RATE, STEPS, L, keras, name_of, np, numbers, tf, write

ROWS = 6
random = np.random.RandomState(11)


def case(name, model, labels, weights=None, inputs=None, sums=(), **compiled):
    """sums: losses that Keras' evaluate() gives as sums of a batch; ours are means of all rows."""
    model.compile(optimizer=keras.optimizers.SGD(RATE, momentum=0.5, nesterov=True), **compiled)
    for variable in model.weights:
        variable.assign(random.uniform(-0.7, 0.7, variable.shape).astype(np.float32))
    x = random.uniform(-1, 1, (ROWS,) + tuple(model.inputs[0].shape[1:])).astype(np.float32) if inputs is None else inputs
    ys = model(x, training=False)
    ys = ys if isinstance(ys, (list, tuple)) else [ys]
    given = labels if len(ys) > 1 else labels[0]
    weight = None if weights is None else tf.constant(weights)

    # What train_on_batch computes, with its gradients.
    model.train_on_batch(x, given, sample_weight=weights)
    model.optimizer.iterations.assign(0)
    for variable in model.optimizer.variables:
        if "momentum" in variable.path:
            variable.assign(tf.zeros_like(variable))
    for variable in model.weights:
        variable.assign(random.uniform(-0.7, 0.7, variable.shape).astype(np.float32))
    ys = model(x, training=False)
    ys = ys if isinstance(ys, (list, tuple)) else [ys]
    with tf.GradientTape() as tape:
        value = model.compute_loss(x, given, model(x, training=True), weight, training=True)
    lines = ["json " + model.to_json(), "input " + numbers(x)]
    without = [loss is None for loss in compiled["loss"]] if isinstance(compiled["loss"], list) else [False] * len(labels)
    lines += ["labels " + numbers(z) for z, none in zip(labels, without) if not none]
    lines += ["weights " + numbers(weights)] if weights is not None else []
    lines += ["output " + numbers(y) for y in ys]
    lines.append("loss %.9g" % float(value))
    for metric, number in model.evaluate(x, given, batch_size=ROWS, sample_weight=weights, verbose=0, return_dict=True).items():
        if metric != "loss":
            lines.append("metric %s %.9g" % (metric, number / ROWS if metric in sums else number))
    for variable, gradient in zip(model.trainable_weights, tape.gradient(value, model.trainable_weights)):
        lines.append("variable %s %s" % (name_of(model, variable), numbers(variable)))
        if gradient is not None:
            lines.append("grad %s %s" % (name_of(model, variable), numbers(gradient)))
    for _ in range(STEPS):
        losses = model.train_on_batch(x, given, sample_weight=weights, return_dict=True)
        model.reset_metrics()
        lines.append("step %.9g" % losses["loss"])
    for variable in model.weights:
        lines.append("trained %s %s" % (name_of(model, variable), numbers(variable)))
    write(name, lines)


def model():
    x = keras.Input((4,), name="features")
    shared = L.Dense(5, activation="tanh", kernel_regularizer="l2", name="shared")(x)
    return keras.Model(x, [L.Dense(3, name="numbers")(shared), L.Dense(4, activation="softmax", name="kind")(shared),
                           L.Dense(1, activation="sigmoid", name="chance")(shared)])


def targets():
    return [random.uniform(-1, 1, (ROWS, 3)).astype(np.float32), random.randint(0, 4, ROWS), random.randint(0, 2, (ROWS, 1)).astype(np.float32)]


weights = np.array([1, 0.5, 2, 0, 3, 1], np.float32)
losses = ["mse", "sparse_categorical_crossentropy", "binary_crossentropy"]
names = ["numbers", "kind", "chance"]
case("heads_lists", model(), targets(), loss=losses, loss_weights=[1, 0.5, 2], metrics=[["mae"], ["accuracy"], None])
case("heads_named", model(), targets(), weights, loss=dict(zip(names, losses)), loss_weights={"numbers": 1.5, "kind": 0.25, "chance": 1},
     metrics={"kind": "accuracy", "chance": ["AUC"]}, weighted_metrics={"numbers": ["mae", "RootMeanSquaredError"], "kind": ["accuracy"],
                                                                        "chance": ["Precision", keras.metrics.AUC(name="roc")]})
z = targets()
case("heads_partly", model(), z, weights, loss=["huber", None, "mae"], metrics=[["mse"], None, None])
case("weights_metrics", keras.Sequential([L.Input((4,)), L.Dense(2, activation="sigmoid", name="chances")]),
     [random.randint(0, 2, (ROWS, 2)).astype(np.float32)], weights, loss="binary_crossentropy", metrics=["mae"],
     weighted_metrics=["binary_accuracy", "mse", "AUC", "Precision", "Recall", keras.metrics.AUC(curve="PR", name="pr")])

# A mask of the outputs: the losses and the metrics that are means go by it; others do not.
steps = random.uniform(-1, 1, (ROWS, 5, 2)).astype(np.float32)
for row, length in enumerate((5, 3, 1, 4, 2, 5)):
    steps[row, length:] = 0


def masked():
    x = keras.Input((5, 2), name="steps")
    kept = L.GRU(4, return_sequences=True, name="gru")(L.Masking(name="mask")(x))
    return keras.Model(x, [L.Dense(3, name="numbers")(kept), L.Dense(1, activation="sigmoid", name="chance")(kept)])


def of_steps():
    return [random.uniform(-1, 1, (ROWS, 5, 3)).astype(np.float32), random.randint(0, 2, (ROWS, 5, 1)).astype(np.float32)]


case("heads_masked", masked(), of_steps(), inputs=steps, loss=["mse", "binary_crossentropy"], loss_weights=[1, 0.5], metrics=[
    ["mae", "cosine_similarity", keras.metrics.RootMeanSquaredError(name="rmse")], ["accuracy", keras.metrics.AUC(name="auc")]])

case("heads_reductions", model(), targets(), weights, loss=[
    keras.losses.MeanSquaredError(reduction="sum"), "sparse_categorical_crossentropy", keras.losses.BinaryCrossentropy(reduction="sum")],
    loss_weights=[0.25, 1, 0.5], sums=("numbers_loss", "chance_loss"))

# Sums over the steps of a row, with a mask.
case("heads_sums", masked(), of_steps(), inputs=steps, loss=[
    keras.losses.MeanSquaredError(reduction="sum"), keras.losses.BinaryCrossentropy(reduction="sum")], loss_weights=[0.25, 0.5],
    sums=("numbers_loss", "chance_loss"))

"""Writes a file per model whose training changes variables by more than gradients: moving averages, constraints, spectral norms. The lines are those of
models.py. Of a model named `moments`, the loss is that of an evaluation, and there are no gradients, for it is another one in training.

    python tests/golden/layers/updates.py tests/golden/layers                                  Keras 3.15
    TF_USE_LEGACY_KERAS=1 python tests/golden/layers/updates.py tests/golden/layers            Keras 2, by the package tf_keras 2.21
"""
from cases import RATE, L, keras, legacy, name_of, np, numbers, sequential, tf, train, write

C = keras.constraints
random = np.random.RandomState(5)


def case(name, model, batch=6, moments=True, x=None):
    model.compile(optimizer=keras.optimizers.SGD(RATE, momentum=0.5, nesterov=True), loss="mse")
    for variable in model.weights:
        low = 0.3 if "variance" in variable.name else -0.7
        variable.assign(random.uniform(low, 0.7, variable.shape).astype(np.float32))
    if x is None:
        x = random.uniform(-1, 1, (batch,) + tuple(model.inputs[0].shape[1:])).astype(np.float32)
    y = model(x, training=False)
    labels = random.uniform(-1, 1, y.shape).astype(np.float32)
    with tf.GradientTape() as tape:
        value = tf.reduce_mean(tf.square(model(x, training=False) - labels))
        for term in model.losses:
            value = value + term
    grads = dict(zip([name_of(model, v) for v in model.trainable_weights], tape.gradient(value, model.trainable_weights)))
    lines = ["json " + model.to_json(), "input " + numbers(x), "labels " + numbers(labels), "output " + numbers(y),
             "loss %.9g" % float(value)]
    for variable in model.weights:
        lines.append("variable %s %s" % (name_of(model, variable), numbers(variable)))
        if not moments and name_of(model, variable) in grads:
            lines.append("grad %s %s" % (name_of(model, variable), numbers(grads[name_of(model, variable)])))
    train(model, x, labels, lines)
    write(name, lines)


case("moments", sequential(L.Input((4,)), L.Dense(5), L.BatchNormalization(), L.ReLU(), L.Dense(3), L.BatchNormalization(
    momentum=0.75, epsilon=0.01, center=False, gamma_regularizer="l2"), L.Dense(2)))
case("moments_images", sequential(L.Input((5, 4, 3)), L.Conv2D(4, 2, use_bias=False), L.BatchNormalization(momentum=0.9, scale=False),
                                  L.Flatten(), L.Dense(2)))
case("moments_axis", sequential(L.Input((4, 3)), L.BatchNormalization(axis=1), L.Conv1D(3, 2), L.BatchNormalization(axis=-1, momentum=0.5),
                                L.Flatten(), L.Dense(2)))
case("constraints", sequential(
    L.Input((4,)), L.Dense(5, activation="tanh", kernel_constraint=C.MaxNorm(0.6), bias_constraint=C.NonNeg()),
    L.Dense(4, kernel_constraint=C.UnitNorm(axis=1), activation="tanh"),
    L.Dense(2, kernel_constraint=C.MinMaxNorm(0.5, 0.8, rate=0.75, axis=0))), moments=False)
case("constraints_images", sequential(
    L.Input((5, 4, 3)), L.Conv2D(4, 2, kernel_constraint=C.MaxNorm(0.8, axis=[0, 1, 2])), L.DepthwiseConv2D(
        2, depthwise_constraint=C.NonNeg()), L.Flatten(), L.Dense(2)), moments=False)
if not legacy:  # with a frozen layer, and one whose penalty is of the divided kernel
    frozen = L.SpectralNormalization(L.Dense(4, activation="tanh", name="still"), name="frozen")
    frozen.trainable = False
    case("moments_spectral", sequential(
        L.Input((6, 3)), L.SpectralNormalization(L.Conv1D(4, 2, activation="tanh", kernel_regularizer="l2", name="conv"), name="first"),
        L.Flatten(), frozen, L.SpectralNormalization(
            L.Dense(5, kernel_constraint=C.MaxNorm(0.6), name="inner"), power_iterations=3, name="second"), L.Dense(2)))
    case("moments_spectral_ids", sequential(
        L.Input((3,)), L.SpectralNormalization(L.Embedding(7, 4, name="table"), name="ids"), L.Flatten(), L.Dense(2)))
x = L.Input((4,), name="x")  # a layer that is called three times moves its averages three times in a step
norm, base = L.BatchNormalization(momentum=0.8, name="norm"), L.Dense(3, name="base")
case("moments_shared", keras.Model(x, L.Dense(2, name="last")(L.Concatenate(name="all")([
    norm(base(x)), norm(L.Dense(3, activation="tanh", name="other")(x)), norm(L.Dense(3, name="third")(x))])), name="shared"))
if not legacy:  # the moments of the steps that count
    draw, lengths = np.random.RandomState(7), [5, 3, 4, 1, 2, 5]
    sequence = draw.uniform(-1, 1, (6, 5, 3)).astype(np.float32) * (np.arange(5) < np.reshape(lengths, (6, 1)))[:, :, None].astype(np.float32)
    case("moments_masked", sequential(L.Input((5, 3)), L.Masking(name="masks"), L.Dense(4, name="dense"), L.BatchNormalization(momentum=0.8, name="norm"),
                                      L.LSTM(2, name="lstm")), x=sequence)

if legacy:  # Keras 2 makes the steps rows of one batch. (Inside a model in a TimeDistributed, it moves the averages twice in a step.)
    frame = keras.Sequential([L.Input((5, 4, 2)), L.Conv2D(3, 2, activation="tanh", name="conv"), L.GlobalAveragePooling2D()], name="frame")
    case("moments_distributed", sequential(
        L.Input((3, 5, 4, 2)), L.TimeDistributed(frame, name="frames"), L.TimeDistributed(L.BatchNormalization(momentum=0.7), name="each"), L.LSTM(3), L.Dense(2)))

# Keras runs the calls of shared layers by their depth in the graph, which is not the order of the file: two branches through a model and a chain (simsiam), and
# a layer that is called at three depths.
x = L.Input((4,), name="x")
inside = L.Input((3,), name="inside")
encoder = keras.Model(inside, L.BatchNormalization(momentum=0.6, name="norm")(L.Dense(3, name="wide")(inside)), name="encoder")
head = keras.Sequential([L.Input((3,)), L.Dense(3, name="narrow"), L.BatchNormalization(momentum=0.5, name="scaled"), L.Dense(2, name="end")], name="head")
case("moments_branches", keras.Model(x, L.Concatenate(name="both")([
    head(encoder(L.Dense(3, activation="tanh", name="left")(x))), head(encoder(L.Dense(3, name="right")(x)))]), name="branches"))
norm = L.BatchNormalization(momentum=0.7, name="norm")
deep = norm(L.Dense(4, name="second")(norm(L.Dense(4, activation="tanh", name="first")(x))))
case("moments_depths", keras.Model(x, L.Dense(2, name="last")(L.Concatenate(name="all")([norm(x), L.Dense(3, name="third")(deep)])), name="depths"))

if not legacy:  # a layer that is called three times, each of which divides the kernel that the one before has divided
    x = L.Input((4,), name="x")
    normed = L.SpectralNormalization(L.Dense(4, activation="tanh", kernel_regularizer="l2", name="inner"), power_iterations=2, name="normed")
    frozen = L.SpectralNormalization(L.Dense(3, name="still"), name="frozen")
    frozen.trainable = False
    deep = normed(normed(x))
    case("moments_spectral_shared", keras.Model(x, L.Dense(2, name="last")(L.Concatenate(name="all")([frozen(deep), frozen(x), normed(L.Dense(
        4, name="other")(x))])), name="shared"))

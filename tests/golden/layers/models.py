"""Writes a file per model: the text Keras prints of it, and what Keras computes with it.

    python tests/golden/layers/models.py tests/golden/layers                                  Keras 3.15
    TF_USE_LEGACY_KERAS=1 python tests/golden/layers/models.py tests/golden/layers            Keras 2, by the package tf_keras 2.21

Lines: `json TEXT`; `input SHAPE VALUES` for each input; `labels SHAPE VALUES`; `variable NAME SHAPE VALUES`, `grad NAME SHAPE VALUES` for
each variable in the order of the layers; `output SHAPE VALUES` for each output, `loss VALUE` when not training. If the model was
trained: `step LOSS` for each of 20 steps with all rows, and `trained NAME SHAPE VALUES` with the values that each variable has then. A
model with several outputs has neither labels, losses nor gradients.
"""
from cases import *

cross = "sparse_categorical_crossentropy"
activations = ["linear", "relu", "sigmoid", "tanh", "softplus", "softsign", "elu", "selu", "gelu", "exponential", "hard_sigmoid", "swish"]
if not legacy:
    activations += ["relu6", "silu", "mish", "leaky_relu", "log_softmax", "hard_silu", "log_sigmoid"]
for activation in activations:
    case("activation_" + activation, sequential(L.Input((3,)), L.Dense(4, activation=activation), L.Dense(2)))

case("images", sequential(
    L.Input((9, 8, 2)), L.Conv2D(3, (3, 2), padding="same", strides=2, activation="relu"), L.ZeroPadding2D(((1, 0), (2, 1))),
    L.MaxPooling2D(2, strides=1, padding="same"), L.Conv2D(2, 2, dilation_rate=2, use_bias=False), L.AveragePooling2D((2, 1), padding="same"),
    L.Flatten(), L.Dense(3, activation="softmax")), cross)
case("global_max", sequential(L.Input((4, 4, 3)), L.GlobalMaxPooling2D(), L.Dense(2, activation="softmax")), cross)
case("global_average", sequential(L.Input((4, 4, 3)), L.GlobalAveragePooling2D(keepdims=True), L.Flatten(), L.Dense(2)))
case("arranged", sequential(
    L.Input((12,)), L.Rescaling(0.5, offset=-0.25), L.Reshape((3, 4) if legacy else (-1, 4)), L.Dense(5), L.LeakyReLU(), L.Flatten(),
    L.Dense(6, use_bias=False), L.ReLU(max_value=1.0, negative_slope=0.125, threshold=0.25), L.Dense(3), L.ReLU(6), L.Dense(2),
    L.Activation("tanh")))
case("softmax_layer", sequential(L.Input((5,)), L.Dense(4, name="logits"), L.Softmax()), cross)
case("penalties", sequential(
    L.Input((4,)), L.Dense(3, kernel_regularizer=keras.regularizers.L2(0.1), bias_regularizer=keras.regularizers.L1(0.05), activation="relu"),
    L.Dense(2, kernel_regularizer=keras.regularizers.L1L2(0.02, 0.03))))
frozen = L.Dense(3, activation="relu", kernel_regularizer="l2")
frozen.trainable = False
case("frozen", sequential(L.Input((4,)), frozen, L.Dense(2)))
case("dropped", sequential(L.Input((6,)), L.Dense(5, activation="relu"), L.Dropout(0.4), L.Dense(3, activation="softmax")), cross,
     gradients=False)
if not legacy:  # Keras 2 does not print the loss
    case("logits", sequential(L.Input((4,)), L.Dense(3)), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
inputs = keras.Input((4,), name="features")
hidden = L.Dense(3, activation="relu", name="hidden")(inputs)
case("functional", keras.Model(inputs, L.Dense(2, activation="softmax", name="answer")(hidden)), cross)

# ---- branches, layers used twice, several inputs and outputs ----
a, b = keras.Input((3,), name="a"), keras.Input((4,), name="b")
shared = L.Dense(4, activation="tanh", name="shared", kernel_regularizer="l2")
left = shared(L.Dense(4, name="widen")(a))
right = shared(b)
joined = L.Concatenate(name="joined")([L.Add(name="sum")([left, right, b]), L.Multiply(name="product")([left, right]), a])
case("shared", keras.Model([a, b], L.Dense(3, activation="softmax", name="answer")(joined), name="sharing"), cross, trained=True)

p, q = keras.Input((2, 3), name="p"), keras.Input((3,), name="q")
P, Q = L.Dense(3, name="dense_p")(p), L.Dense(3, name="dense_q")(q)
merged = [layer([P, Q]) for layer in (L.Subtract(name="less"), L.Average(name="middle"), L.Maximum(name="most"), L.Minimum(name="least"))]
joined = L.Concatenate(axis=1, name="joined")(merged + [p])
case("merged", keras.Model([p, q], L.Dense(2, name="answer")(L.Flatten(name="flat")(joined)), name="merged"), trained=True)

u, v = keras.Input((4, 3), name="u"), keras.Input((3, 5), name="v")
U, V = L.Dense(3, name="dense_u")(u), L.Dense(5, name="dense_v")(v)
products = [L.Dot(axes=(2, 1), name="product")([U, V]), L.Dot(axes=(-1, 1), normalize=True, name="cosine")([U, V])]
rows = L.Dot(axes=1, name="rows")([L.Flatten(name="flat_u")(U), L.Flatten(name="flat_u2")(u)])
joined = L.Concatenate(name="joined")([L.Flatten(name="flat")(L.Add(name="sum")(products)), rows])
case("dotted", keras.Model([u, v], L.Dense(1, name="answer")(joined), name="dotted"), trained=True)

trunk = L.Dense(4, activation="relu", name="trunk")(a)
head = L.Dense(2, name="head")
branches("several_outputs", keras.Model([a, b], [L.Dense(3, activation="softmax", name="kind")(trunk), head(trunk), head(b)], name="several"))

# ---- images and sequences ----
case("depthwise", sequential(
    L.Input((7, 6, 2)), L.DepthwiseConv2D((3, 2), padding="same", strides=2, depth_multiplier=2, activation="relu", depthwise_regularizer="l2"),
    L.DepthwiseConv2D(2, use_bias=False), L.Flatten(), L.Dense(2)), trained=True)
case("separable", sequential(
    L.Input((7, 6, 2)), L.SeparableConv2D(3, (3, 2), padding="same", depth_multiplier=2, activation="tanh", pointwise_regularizer="l2"),
    L.SeparableConv2D(2, 2, strides=2, use_bias=False), L.Flatten(), L.Dense(2)), trained=True)
case("transposed", sequential(
    L.Input((3, 4, 2)), L.Conv2DTranspose(3, (3, 2), strides=2, activation="tanh"),
    L.Conv2DTranspose(2, 3, padding="same", strides=(2, 1), activation="tanh"),
    L.Conv2DTranspose(1, 3, padding="same", strides=2, output_padding=1, use_bias=False), L.MaxPooling2D(4), L.Flatten(), L.Dense(2)), trained=True)
case("sequence", sequential(
    L.Input((12, 2)), L.ZeroPadding1D((1, 2)), L.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="tanh", bias_regularizer="l1"),
    L.Cropping1D((2, 1)), L.MaxPooling1D(2, strides=1, padding="same"), L.Conv1D(3, 2, strides=2, padding="same"), L.AveragePooling1D(2),
    L.UpSampling1D(3), L.GlobalMaxPooling1D(), L.Dense(2)), trained=True)
case("sequence_average", sequential(
    L.Input((9, 2)), L.SeparableConv1D(4, 3, padding="same", activation="elu"), L.DepthwiseConv1D(2, strides=2, depth_multiplier=2),
    L.Conv1DTranspose(3, 3, strides=2), L.GlobalAveragePooling1D(keepdims=True), L.Flatten(), L.Dense(3, activation="softmax")), cross, trained=True)
case("cropped", sequential(
    L.Input((6, 5, 2)), L.Cropping2D(((1, 0), (1, 2))), L.UpSampling2D((2, 3)), L.Conv2D(2, 3, activation="relu", activity_regularizer="l2"),
    L.Permute((3, 1, 2)), L.Flatten(), L.Dense(2)), trained=True)
case("repeated", sequential(
    L.Input((4,)), L.Dense(3, activation="tanh"), L.RepeatVector(4), L.ActivityRegularization(l1=0.01, l2=0.02), L.Dense(2), L.Permute((2, 1)),
    L.Dense(1), L.Flatten()), trained=True)

# ---- normalizations and activations with variables ----
case("layer_norm", sequential(
    L.Input((4, 3)), L.Dense(5), L.LayerNormalization(gamma_regularizer="l2"), L.Activation("tanh"), L.LayerNormalization(axis=[1, 2], scale=False),
    L.Activation("tanh"), L.LayerNormalization(axis=1, epsilon=0.01), L.Activation("tanh"), L.LayerNormalization(center=False), L.Flatten(), L.Dense(2)), trained=True)
case("group_norm", sequential(
    L.Input((4, 5, 2)), L.Conv2D(6, 2, use_bias=False), L.GroupNormalization(3), L.Activation("tanh"), L.GroupNormalization(-1, center=False),
    L.Activation("tanh"), L.GroupNormalization(2, axis=2, scale=False), L.Flatten(), L.Dense(2)), trained=True)
case("unit_norm", sequential(
    L.Input((4, 3)), L.Dense(5), L.UnitNormalization(), L.Dense(4), L.UnitNormalization(axis=[1, 2]), L.Flatten(), L.Dense(3, activation="softmax")), cross,
    trained=True)
case("prelu", sequential(
    L.Input((4, 3)), L.Dense(5), L.PReLU(alpha_regularizer="l2"), L.Dense(4), L.PReLU(shared_axes=[1]), L.Dense(3), L.ELU(0.5), L.Dense(3), L.ELU(),
    L.Flatten(), L.Dense(2)), trained=True)
if legacy:
    case("thresholded", sequential(L.Input((6,)), L.Dense(8), L.ThresholdedReLU(0.25), L.Dense(2)), trained=True)

case("dropped_otherwise", sequential(
    L.Input((5, 3)), L.SpatialDropout1D(0.5), L.GaussianNoise(0.5), L.GaussianDropout(0.25), L.AlphaDropout(0.25), L.Reshape((5, 3, 1)),
    L.SpatialDropout2D(0.25), L.Flatten(), L.Dense(2)), gradients=False)
times = [L.TimeDistributed(L.Dense(3, activation="tanh", name="each"), name="times"), L.TimeDistributed(L.Dropout(0.0), name="none"),
         L.TimeDistributed(L.TimeDistributed(L.Dense(2, kernel_regularizer="l2")), name="twice")]
case("distributed", sequential(
    L.Input((4, 5, 2)), times[0], L.TimeDistributed(L.Conv1D(2, 2, name="conv"), name="convolved"), times[1], times[2], L.Flatten(), L.Dense(2)), trained=True)

E = L.EinsumDense if not legacy else None
if not legacy:
    case("einsum", sequential(
        L.Input((4, 3)), E("abc,cd->abd", output_shape=(4, 5), bias_axes="d", activation="tanh"),
        E("...x,xyz->...yz", output_shape=(2, 3), bias_axes="z", kernel_regularizer="l2"), E("abcd,dbe->ace", output_shape=(2, 4), bias_axes="ce"),
        E("ab...,bc->ac...", output_shape=4), L.Flatten(), L.Dense(2)), trained=True)
    case("rms_norm", sequential(
        L.Input((4, 3)), L.Dense(5), L.RMSNormalization(), L.Activation("tanh"), L.RMSNormalization(axis=[1, 2], epsilon=0.01), L.Flatten(), L.Dense(2)),
        trained=True)
frozen = [L.BatchNormalization(), L.BatchNormalization(axis=1, center=False), L.BatchNormalization(scale=False, epsilon=0.01)]
for layer in frozen:
    layer.trainable = False
case("batch_norm_frozen", sequential(
    L.Input((4, 5, 2)), L.Conv2D(3, 2), frozen[0], L.ReLU(), frozen[1], L.Flatten(), L.Dense(3), frozen[2], L.Dense(2)), trained=True)
case("dropped_batch_norm", sequential(L.Input((6,)), L.Dense(3), L.BatchNormalization(), L.Dense(2)), gradients=False)
if not legacy:  # stochastic depth drops whole rows
    case("dropped_rows", sequential(
        L.Input((4, 3)), L.Dense(3, activation="tanh"), L.Dropout(0.4, noise_shape=(None, 1, 3)), L.Dropout(0.3, noise_shape=(None, 1, 1)), L.Flatten(),
        L.Dense(2)))

"""Models whose images have their channels first, whose arguments are lists, that attend along other axes, or that
keras.applications has, in the form of models.py.

    python tests/golden/layers/formats.py tests/golden/layers            Keras 3.15

Keras on a CPU computes no convolution with the channels first. What is written of it is computed with the channels last, between two
Permutes, of the same variables.
"""
import cases
from cases import L, case, keras, sequential
from keras.src.applications.convnext import LayerScale, StochasticDepth
from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

FIRST = {"data_format": "channels_first"}


def convolutions(*layers):
    """A model of layers with the channels first, computed by its twin."""
    twin, outer = [], layers[0].shape
    for layer in layers[1:]:
        rank = len(outer) - 1
        last, first = tuple(range(2, rank + 1)) + (1,), (rank,) + tuple(range(1, rank))
        config = dict(layer.get_config(), data_format="channels_last")
        twin += [L.Permute(last), type(layer).from_config(config), L.Permute(first)]
        outer = layer.compute_output_shape(outer)
    end = [L.Flatten(name="flat"), L.Dense(2, name="answer")]
    shown = sequential(L.Input(layers[0].shape[1:]), *layers[1:], *end)
    model = keras.Sequential([layers[0], *twin, *end], name=shown.name)
    model.to_json = lambda: (shown.compile(model.optimizer, loss=model.loss), shown.to_json())[1]
    return model


case("channels_first", sequential(
    L.Input((3, 9, 8)), L.PReLU(shared_axes=[2, 3]), L.ZeroPadding2D(((1, 0), (0, 2)), **FIRST), L.MaxPooling2D(2, **FIRST), L.UpSampling2D(
        (2, 1), **FIRST), L.Cropping2D(((0, 1), (1, 0)), **FIRST), L.AveragePooling2D(2, strides=1, padding="same", **FIRST), L.Resizing(
            6, 7, **FIRST), L.CenterCrop(4, 5, **FIRST), L.Flatten(**FIRST), L.Dense(2)), trained=True)
case("channels_first_sequence", sequential(
    L.Input((3, 12)), L.PReLU(shared_axes=[2]), L.MaxPooling1D(2, strides=1, **FIRST), L.AveragePooling1D(2, **FIRST), L.ZeroPadding1D(
        (1, 0), **FIRST), L.GlobalAveragePooling1D(keepdims=True, **FIRST), L.Dense(4, activation="tanh"), L.GlobalMaxPooling1D(
            **FIRST), L.Dense(2)), trained=True)
case("channels_first_volume", sequential(
    L.Input((2, 4, 5, 6)), L.PReLU(shared_axes=[2, 3, 4]), L.AveragePooling3D(2, strides=1, **FIRST), L.ZeroPadding3D(1, **FIRST), L.Cropping3D(
        ((1, 0), (0, 1), (1, 1)), **FIRST), L.UpSampling3D((1, 2, 1), **FIRST), L.MaxPooling3D(2, **FIRST), L.Flatten(
            **FIRST), L.Dense(2)), trained=True)
case("channels_first_images", convolutions(
    L.Input((2, 7, 6)), L.Conv2D(3, (3, 2), padding="same", strides=2, activation="tanh", name="conv", **FIRST), L.Conv2DTranspose(
        2, 3, strides=2, name="back", **FIRST), L.SeparableConv2D(3, 2, depth_multiplier=2, name="apart", **FIRST), L.DepthwiseConv2D(
            2, activation="tanh", name="each", **FIRST)), trained=True)

case("list_arguments", sequential(
    L.Input((5, 4, 3)), L.Rescaling([0.5, 2.0, -1.0], offset=[0.25, 0.0, -0.5]), L.Conv2D(3, 2, activation="tanh"), L.Rescaling([1.5]), L.Softmax(
        axis=[1, 2]), L.Rescaling(4.0, offset=[-0.125]), L.Conv2D(2, 2), L.Softmax(axis=[-1]), L.Flatten(), L.Dense(2)), trained=True)
case("enlarged_otherwise", sequential(
    L.Input((3, 4, 2)), L.Conv2D(3, 2, activation="tanh"), L.UpSampling2D((2, 3), interpolation="bicubic"), L.Conv2D(
        2, 2, activation="tanh"), L.UpSampling2D(2, interpolation="lanczos3"), L.UpSampling2D((1, 2), interpolation="lanczos5"), L.Conv2D(
            2, 3, strides=3, activation="tanh"), L.GlobalAveragePooling2D(), L.Dense(2)), trained=True)

q, v = keras.Input((2, 3, 4), name="q"), keras.Input((5, 3, 4), name="v")
rows = L.MultiHeadAttention(2, 3, value_dim=2, attention_axes=(1,), name="rows")(q, v)  # the numbers of rows differ
columns = L.MultiHeadAttention(2, 2, attention_axes=(2,), output_shape=3, name="columns")(rows, q)
case("attention_axes", keras.Model([q, v], L.Dense(2, name="answer")(L.Flatten(name="flat")(
    L.MultiHeadAttention(1, 2, use_bias=False, name="pixels")(columns, v))), name="axes"), trained=True)


def name_of(model, variable, plain=cases.name_of):
    """Keras gives the variable of a LayerScale a number in place of a name."""
    name = plain(model, variable)
    return "scale/gamma" if name.startswith("scale/") else name


cases.name_of = name_of
case("layer_scale", sequential(
    L.Input((4, 3, 2)), L.Conv2D(3, 2, activation="tanh"), LayerScale(0.5, 3, name="scale"), L.Flatten(), L.Dense(2)), trained=True)
x = keras.Input((4, 3, 2), name="x")
y = L.Conv2D(3, 1, activation="tanh", name="first")(x)
y = CustomScaleLayer(0.25, name="both")([y, L.Conv2D(3, 3, padding="same", name="second")(y)])
case("custom_scale", keras.Model(x, L.Dense(2, name="answer")(L.Flatten(name="flat")(L.Activation("tanh", name="tanh")(y))), name="scaled"),
     trained=True)

# Any layer may have a penalty of its output, also one without such an argument.
case("penalised_outputs", sequential(
    L.Input((4, 3)), L.Dense(5), L.LeakyReLU(activity_regularizer="l2"), L.Dense(4), L.LayerNormalization(activity_regularizer=keras.regularizers.L1(0.02)), StochasticDepth(
        0.0, name="depth"), L.Flatten(activity_regularizer=keras.regularizers.L1L2(0.01, 0.03)), L.Dense(2)), trained=True)

"""Models whose inputs have open dimensions, in the form of models.py.

    python tests/golden/layers/open_dimensions.py tests/golden/layers            Keras 3.15
"""
from cases import L, case, keras, np, random, sequential


def opened(name, shape, *sizes, layers):
    """The open dimensions have these sizes."""
    left = iter(sizes)
    x = random.uniform(-1, 1, (3, *[next(left) if n is None else n for n in shape])).astype(np.float32)
    case("open_" + name, sequential(L.Input(shape), *layers), trained=True, inputs=[x])


# ---- transposed convolutions: a U-Net, and each form of the size ----
x = keras.Input((None, None, 2), name="x")
down = L.Conv2D(3, 3, padding="same", activation="tanh", name="down")(x)
deep = L.Conv2D(4, 3, padding="same", activation="tanh", name="deep")(L.MaxPooling2D(2)(down))
up = L.Concatenate(name="skip")([down, L.Conv2DTranspose(3, 2, strides=2, padding="same", name="up")(deep)])
case("open_u_net", keras.Model(x, L.Conv2D(2, 1, name="classes")(up), name="u_net"), trained=True,
     inputs=[random.uniform(-1, 1, (3, 6, 8, 2)).astype(np.float32)])
opened("transposed", (None, None, 2), 3, 4, layers=[
    L.Conv2DTranspose(3, (3, 2), strides=2, activation="tanh"), L.Conv2DTranspose(2, 3, padding="same", strides=(2, 1), activation="tanh"),
    L.Conv2DTranspose(2, (1, 2), strides=(3, 1)), L.Conv2DTranspose(2, 2, activation="tanh"),
    L.Conv2DTranspose(1, 3, padding="same", strides=2, output_padding=1, use_bias=False), L.GlobalMaxPooling2D(), L.Dense(2)])
opened("transposed_steps", (None, 2), 5, layers=[
    L.Conv1DTranspose(3, 3, strides=2, activation="tanh"), L.Conv1DTranspose(2, 2, padding="same", strides=3, activation="tanh"),
    L.Conv1DTranspose(2, 3, strides=2, output_padding=1), L.GlobalAveragePooling1D(), L.Dense(2)])
opened("transposed_volumes", (None, 3, None, 2), 2, 3, layers=[
    L.Conv3DTranspose(3, (3, 2, 2), strides=2, activation="tanh"), L.Conv3DTranspose(2, 3, padding="same", strides=(2, 1, 1)),
    L.GlobalMaxPooling3D(), L.Dense(2)])

# ---- layers around layers: sequences of images of any length and size, Flatten ----
opened("distributed", (None, None, None, 2), 2, 5, 4, layers=[
    L.TimeDistributed(L.Conv2D(3, 2, activation="tanh", name="conv"), name="images"),
    L.TimeDistributed(L.TimeDistributed(L.Conv1D(2, 1, name="each"), name="rows"), name="twice"),
    L.TimeDistributed(L.GlobalMaxPooling2D(), name="pool"), L.LSTM(2), L.Dense(2)])
opened("distributed_rows", (3, None, 2), 4, layers=[
    L.TimeDistributed(L.Dense(2, activation="tanh", name="dense"), name="all"), L.TimeDistributed(L.Flatten(), name="flat"), L.Reshape((-1, 2)),
    L.GlobalMaxPooling1D(), L.Dense(2)])
opened("conv_lstm", (None, 4, 3, 2), 3, layers=[
    L.ConvLSTM2D(2, 2, return_sequences=True, name="first"), L.ConvLSTM2D(3, (2, 1), padding="same", go_backwards=True, name="second"),
    L.GlobalAveragePooling2D(), L.Dense(2)])
opened("conv_lstm_1d", (None, 4, 2), 3, layers=[
    L.ConvLSTM1D(2, 2, return_sequences=True, name="first"), L.TimeDistributed(L.GlobalMaxPooling1D(), name="pool"), L.GlobalMaxPooling1D(), L.Dense(2)])

# ---- sounds ----
opened("sound", (None,), 37, layers=[
    L.MelSpectrogram(fft_length=16, sequence_stride=6, sequence_length=12, sampling_rate=800, num_mel_bins=5, top_db=25.0), L.Permute((2, 1)),
    L.Rescaling(0.05), L.LSTM(3), L.Dense(2)])
opened("sound_odd", (None,), 27, layers=[
    L.MelSpectrogram(fft_length=9, sequence_stride=9, window="hamming", sampling_rate=8000, num_mel_bins=3, power_to_db=False), L.Permute((2, 1)),
    L.GlobalAveragePooling1D(), L.Dense(2)])
opened("sound_stft", (None, 2), 14, layers=[
    L.STFTSpectrogram("log", frame_length=5, frame_step=2, window=None, scaling=None), L.GlobalAveragePooling1D(), L.Dense(2)])
opened("sound_expanded", (None, 2), 14, layers=[
    L.STFTSpectrogram("real", frame_length=4, frame_step=2, padding="same", window=None, scaling=None, expand_dims=True), L.GlobalAveragePooling2D(), L.Dense(2)])

# ---- operations: equal parts of an open axis, and a stack of an open and a known one ----
x, y = keras.Input((None, 2), name="x"), keras.Input((3, 2), name="y")
left, right = keras.ops.split(L.Dense(2, activation="tanh", name="dense")(x), 2, axis=1)
both = keras.ops.stack([left * right, y], axis=1)
case("open_parts", keras.Model([x, y], L.Dense(2, name="answer")(L.GlobalAveragePooling2D(name="pool")(both)), name="parts"), trained=True,
     inputs=[random.uniform(-1, 1, (3, n, 2)).astype(np.float32) for n in (6, 3)])

# ---- images that grow smoothly, of open and of known size ----
for name, sides in ("open_enlarged", (None, None)), ("enlarged", (4, 3)):
    case(name, sequential(
        L.Input((*sides, 2)), L.Conv2D(3, 2, activation="tanh", name="conv"), L.UpSampling2D((2, 3), interpolation="bilinear"),
        L.Conv2D(2, 2, activation="tanh", name="last"), L.GlobalMaxPooling2D(), L.Dense(2, name="answer")), trained=True,
        inputs=[random.uniform(-1, 1, (3, 4, 3, 2)).astype(np.float32)])

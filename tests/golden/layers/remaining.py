"""Writes a file per model of layers that no other script here trains, so that each is compared over 20 steps. The files are as those of
models.py. Layers that draw random numbers do so with a rate of 0, or in a range of one number.

    python tests/golden/layers/remaining.py tests/golden/layers            Keras 3.15, and SciPy for the windows of STFTSpectrogram
"""
import updates  # writes its own files again, the same ones
from cases import L, case, keras, np, sequential

random = np.random.RandomState(11)


def both_pools(x):
    return L.Concatenate()([L.GlobalMaxPooling2D()(x), L.GlobalAveragePooling2D()(x)])


x = L.Input((6, 5, 2))
y = L.Conv2D(3, 2, activation="tanh")(L.ZeroPadding2D(((1, 0), (0, 2)))(x))
y = L.Conv2D(2, 2, padding="same")(L.AveragePooling2D(2)(y))
case("pooled_images", keras.Model(x, L.Dense(2)(both_pools(L.LeakyReLU(0.2)(L.Identity()(y))))), trained=True)

case("quiet_images", sequential(L.Input((4, 5, 3)), L.SpatialDropout2D(0.0), L.Conv2D(3, 2), L.GaussianNoise(0.0), L.Flatten(), L.Dense(
    4, activation="tanh"), L.GaussianDropout(0.0), L.Dense(2)), trained=True)
case("quiet_sequence", sequential(L.Input((5, 3)), L.Conv1D(3, 2), L.SpatialDropout1D(0.0), L.Conv1D(2, 2, activation="selu"), L.AlphaDropout(0.0),
                                  L.Dropout(0.0), L.Flatten(), L.Dense(2)), trained=True)
case("quiet_volume", sequential(L.Input((3, 3, 2, 2)), L.Conv3D(2, 2), L.SpatialDropout3D(0.0), L.Flatten(), L.Dense(2)), trained=True)

case("sized_images", sequential(L.Input((6, 7, 2)), L.Resizing(5, 4), L.CenterCrop(4, 3), L.Conv2D(2, 2), L.Flatten(), L.Dense(2)), trained=True)

# ---- preprocessing ----
number, whole = L.Input((3,)), L.Input((2,), dtype="int64")
known = L.Normalization(mean=[0.1, -0.2, 0.3], variance=[0.5, 1.5, 2.0])(number)
boxes = L.CategoryEncoding(4, "multi_hot")(L.Discretization([-0.5, 0.0, 0.5])(number))
hashed = L.Hashing(5, output_mode="count")(whole)
case("prepared", keras.Model([number, whole], L.Dense(2)(L.Dense(4, activation="tanh")(L.Concatenate()([known, boxes, hashed])))), trained=True,
     inputs=[random.uniform(-1, 1, (4, 3)).astype(np.float32), random.randint(-9, 9, (4, 2))])

# ---- images that change in training: in one way ----
updates.case("moments_moved", sequential(
    L.Input((5, 6, 3)), L.RandomTranslation((0.3, 0.3), (-0.25, -0.25)), L.RandomZoom((0.3, 0.3), (-0.2, -0.2)), L.RandomRotation((0.1, 0.1)), L.RandomShear(
        (0.0, 0.0), (0.0, 0.0)), L.Conv2D(2, 2), L.Flatten(), L.Dense(2)))
updates.case("moments_coloured", sequential(
    L.Input((5, 6, 3)), L.Rescaling(127.5, 127.5), L.RandomBrightness((0.1, 0.1)), L.RandomContrast((-0.4, 0.4)), L.RandomSaturation(
        (0.45, 0.45)), L.RandomHue((1.0, 1.0)), L.RandomColorJitter(brightness_factor=(-0.05, -0.05), contrast_factor=(-0.6, 0.6)),
    L.RandomColorDegeneration((0.3, 0.3)), L.RandomInvert((1.0, 1.0)), L.RandomPosterization((5, 5)), L.RandomSharpness((0.7, 0.7)),
    L.RandomGaussianBlur((1.0, 1.0), sigma=(0.6, 0.6)), L.RandomErasing((0.0, 0.0)), L.RandomGrayscale(0.0), L.Rescaling(1 / 255), L.Conv2D(2, 2), L.Flatten(),
    L.Dense(2)))
updates.case("moments_stretched", sequential(
    L.Input((5, 6, 3)), L.AutoContrast(value_range=(-1, 1)), L.Solarization(addition_factor=(0, 0), threshold_factor=(0, 0), value_range=(-1, 1)),
    L.Conv2D(2, 2), L.Flatten(), L.Dense(2)))
# ---- operations ----
x = L.Input((3,))
a, b = L.Dense(3)(x), L.Dense(3)(x)
ops = keras.ops
case("op_remaining", keras.Model(x, L.Dense(2)(L.Concatenate()([
    keras.src.ops.numpy.Abs()(a), ops.divide(a, ops.exp(b)), ops.cast(ops.equal(ops.floor(a), ops.floor(b)), "float32"), ops.ones_like(a) - b,
    ops.convert_to_tensor(a)]))), trained=True)

# ---- a table that is used in both directions ----
for name, options in (("reversible", {}), ("reversible_capped", {"tie_weights": False, "logit_soft_cap": 0.5, "mask_zero": True})):
    ids = L.Input((4,), dtype="int64")
    table = L.ReversibleEmbedding(6, 3, **options)
    hidden = L.Dense(3, activation="tanh")(table(ids))
    case(name, keras.Model(ids, table(hidden, reverse=True)), trained=True, masked=bool(options), inputs=[random.randint(0, 6, (3, 4))])

# ---- sounds ----
case("sound", sequential(L.Input((50,)), L.MelSpectrogram(fft_length=16, sequence_stride=6, sequence_length=12, sampling_rate=800, num_mel_bins=5, top_db=25.0),
                         L.Rescaling(0.02), L.Flatten(), L.Dense(2)), trained=True)
case("sound_powers", sequential(L.Input((41,)), L.MelSpectrogram(fft_length=9, sequence_stride=9, window="hamming", sampling_rate=8000, num_mel_bins=3,
                                                                 min_freq=100.0, max_freq=3000.0, power_to_db=False, mag_exp=1.5), L.Flatten(), L.Dense(2)),
     trained=True)
for mode, options in (("log", {}), ("psd", {"expand_dims": True, "window": "hamming"}), ("stft", {"padding": "same", "frame_step": 3}), ("angle", {"scaling": None})):
    case("sound_" + mode, sequential(L.Input((14, 2)), L.STFTSpectrogram(mode, frame_length=5, **options), L.Flatten(), L.Dense(2)), trained=True)
case("sound_parts", sequential(L.Input((12, 1)), L.STFTSpectrogram("real", frame_length=4, frame_step=2, fft_length=6), L.STFTSpectrogram(
    "imag", frame_length=3), L.STFTSpectrogram("magnitude", frame_length=2, window=None), L.Flatten(), L.Dense(2)), trained=True)

# ---- images that change in training, once more ----
updates.case("moments_perspective", sequential(
    L.Input((5, 6, 3)), L.RandomPerspective((1.0, 1.0), scale=0.0), L.Conv2D(2, 2), L.Flatten(), L.Dense(2)))

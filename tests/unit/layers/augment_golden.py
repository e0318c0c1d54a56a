"""Writes augment_golden.h: Keras' layers that change images at random, with ranges of one number, and what they make of two images.

    python tests/unit/layers/augment_golden.py > tests/unit/layers/augment_golden.h            Keras 3.15
"""
import json
import os
import sys
import types
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
from keras.src.backend.tensorflow import image as keras_image
from keras.src.layers.preprocessing.image_preprocessing import aug_mix

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "base"))
import random_reference

L = keras.layers
SHAPE = (2, 5, 6, 3)
random = np.random.RandomState(7)
images = random.uniform(0, 255, SHAPE).astype(np.float32)
cases = [
    ("translation", L.RandomTranslation((0.3, 0.3), (-0.25, -0.25))),
    ("translation with a border", L.RandomTranslation((-0.4, -0.4), (0.2, 0.2), fill_mode="constant", fill_value=9.0)),
    ("translation to the nearest", L.RandomTranslation((0.3, 0.3), (0.3, 0.3), fill_mode="nearest", interpolation="nearest")),
    ("zoom", L.RandomZoom((0.3, 0.3), (-0.2, -0.2), fill_mode="wrap")),
    ("zoom of both sides", L.RandomZoom((-0.25, -0.25), fill_mode="constant")),
    ("rotation", L.RandomRotation((0.1, 0.1), fill_mode="constant")),
    ("rotation of the whole image", L.RandomRotation((-0.3, -0.3))),
    ("brightness", L.RandomBrightness((0.3, 0.3))),
    ("brightness in another range", L.RandomBrightness((-0.5, -0.5), value_range=(50, 150))),
    ("contrast", L.RandomContrast((-0.5, 0.5))),
    ("automatic contrast", L.AutoContrast()),
    ("automatic contrast in another range", L.AutoContrast(value_range=(-20, 280))),
    ("hue by half a circle", L.RandomHue((1.0, 1.0))),  # in either direction
    ("saturation", L.RandomSaturation((0.3, 0.3))),
    ("more saturation", L.RandomSaturation((0.6, 0.6))),
    ("jitter", L.RandomColorJitter(brightness_factor=(0.1, 0.1), contrast_factor=(-0.4, 0.4), saturation_factor=(0.45, 0.45), hue_factor=(1.0, 1.0))),
    ("grey", L.RandomGrayscale(1.0)),
    ("never grey", L.RandomGrayscale(0.0)),
    ("less colour", L.RandomColorDegeneration((0.7, 0.7))),
    ("inverted", L.RandomInvert((1.0, 1.0))),
    ("inverted in another range", L.RandomInvert((1.0, 1.0), value_range=(0, 300))),
    ("posterized", L.RandomPosterization((3, 3))),
    ("posterized in another range", L.RandomPosterization((2, 2), value_range=(-10, 260))),
    ("solarized", L.Solarization(addition_factor=(0, 0), threshold_factor=(0, 0), value_range=(0, 240))),
    ("sharpened", L.RandomSharpness((0.9, 0.9))),
    ("smoothed", L.RandomSharpness((0.2, 0.2))),
    ("blurred", L.RandomGaussianBlur((1.0, 1.0), kernel_size=5, sigma=(0.8, 0.8))),
    ("erased", L.RandomErasing((1.0, 1.0), scale=(1.0, 1.0), fill_value=7.0)),
    ("erased with a colour", L.RandomErasing((1.0, 1.0), scale=(1.0, 1.0), fill_value=(7.0, 300.0, 9.0))),
    ("never erased", L.RandomErasing((0.0, 0.0))),
    ("shear", L.RandomShear((0.3, 0.3), (0.2, 0.2), fill_mode="constant")),
    ("shear of rows", L.RandomShear((0.4, 0.4))),
    ("perspective", L.RandomPerspective((1.0, 1.0), scale=0.6)),
    ("perspective of the nearest", L.RandomPerspective((1.0, 1.0), interpolation="nearest", fill_value=9.0)),
    ("perspective of some images", L.RandomPerspective((0.5, 0.5))),
    ("equalized", L.Equalization()),
    ("equalized in another range", L.Equalization((-30, 300), bins=16)),
    ("limited equalization", L.ContrastLimitedAdaptiveHistogramEqualization(tile_grid_size=(2, 3))),
    ("limited equalization of mirrored tiles", L.ContrastLimitedAdaptiveHistogramEqualization((-100, 500), 40.0, (2, 2))),
    ("limited equalization of single pixels", L.ContrastLimitedAdaptiveHistogramEqualization()),
    ("two of all operations", L.RandAugment(factor=(0.2, 0.6), seed=1)),
    ("one of all operations", L.RandAugment(value_range=(0, 300), num_ops=1, factor=0.4, interpolation="nearest", seed=2)),
    # The four seeds draw each operation at least once.
    ("shear, sharpness, contrast", L.RandAugment(num_ops=3, factor=(0.1, 0.7), seed=10)),
    ("translation, equalization, posterization", L.RandAugment(num_ops=3, factor=(0.3, 0.6), seed=11)),
    ("contrast, rotation, brightness", L.RandAugment(value_range=(-100, 400), num_ops=3, factor=0.3, seed=12)),
    ("solarization, contrast, degeneration", L.RandAugment(num_ops=3, factor=0.5, seed=18)),
    ("mixed chains", L.AugMix(seed=1)),
    ("mixed chains of basic operations", L.AugMix((-50, 300), num_chains=2, chain_depth=5, factor=(0.1, 0.3), alpha=0.4, all_ops=False, interpolation="nearest", seed=2)),
    ("mixed images", L.MixUp(0.7, seed=10)),
    ("images mixed by another seed", L.MixUp(seed=3)),
    ("a part of another image", L.CutMix((0.9, 0.9))),
    ("a part by another seed", L.CutMix(1.0, seed=12)),
    ("boxes", L.MaxNumBoundingBoxes(3)),
    ("elastic", L.RandomElasticTransform((1.0, 1.0), (1.0, 1.0))),
    ("elastic with a border", L.RandomElasticTransform((1.0, 1.0), 1.0, fill_mode="constant", fill_value=9.0, seed=3)),
    ("elastic around the sides", L.RandomElasticTransform(1.0, (0.5, 1.0), fill_mode="wrap", value_range=(0, 200), seed=4)),
    ("elastic of the nearest", L.RandomElasticTransform((1.0, 1.0), (0.8, 0.8), "nearest", "nearest")),
    ("equalization without a limit", L.ContrastLimitedAdaptiveHistogramEqualization(clip_limit=0.0, tile_grid_size=(2, 1))),
]


def sheared(layer):
    """What Keras makes of the images with the directions that the test's seed draws: 1, the step, is multiplied, and 1 the first layer."""
    factor = 0x9E3779B97F4A7C15 - 2**64
    draws = tf.random.stateless_uniform((2, 1), seed=[factor, factor + 1]).numpy()
    sign = np.where(draws > 0.5, -1, 1).astype(np.float32)
    return layer.transform_images(images, {"shear_factor": np.array([[layer.x_factor[0], layer.y_factor[0]]], np.float32) * sign})



FACTOR = 0x9E3779B97F4A7C15 - 2**64


class Draws:
    """In place of Keras' random functions: what the test's seed draws in step 1, one number after the other."""

    def __init__(self, own):
        self.own, self.number = own, 0

    def seed(self):
        self.number += 1
        return [FACTOR + self.own, FACTOR + self.number]

    def uniform(self, shape, minval=0.0, maxval=1.0, seed=None, dtype=None):
        return tf.random.stateless_uniform(shape, self.seed()) * (maxval - minval) + minval

    def randint(self, shape, minval, maxval, seed=None, dtype="int32"):
        return tf.cast(tf.floor(self.uniform(shape, minval, maxval)), dtype)

    def gamma(self, shape, alpha, seed=None):
        return tf.random.stateless_gamma(shape, self.seed(), alpha)

    def beta(self, shape, alpha, beta, seed=None):
        draws = self.gamma((2,), alpha)
        return draws[0] / (draws[0] + draws[1])


class Backend:
    """Keras' functions with other random ones."""

    def __init__(self, backend, draws):
        self.others, self.random = backend, draws

    def __getattr__(self, name):
        return getattr(self.others, name)


def combined(layer):
    """What Keras makes of the images with the test's draws, and with operations of AugMix's chains that core/base/random.c draws."""
    draws, values = Draws(layer.seed), random_reference.numbers(layer.seed, 0, 1000)
    names = [name for name in L.RandAugment._AUGMENT_LAYERS if hasattr(layer, name)]
    aug_mix.py_random = types.SimpleNamespace(choice=lambda _: (names + [None])[next(values) % (len(names) + 1)])
    for part in [layer] + [getattr(layer, name) for name in names]:
        part.backend = Backend(part.backend, draws)
    return layer(images, training=True)


class MixDraws(Draws):
    def beta(self, shape, alpha, beta, seed=None, dtype=None):
        one, other = self.gamma(shape, alpha), self.gamma(shape, beta)
        return one / (one + other)

    def shuffle(self, x, axis=0, seed=None):
        return tf.gather(x, tf.argsort(-self.uniform(tf.shape(x)), stable=True))


def mixed(layer):
    """What Keras makes of the images with the test's draws, with an order of the images that follows from uniform ones."""
    layer.backend = Backend(layer.backend, MixDraws(layer.seed or 0))
    layer._get_seed_generator = lambda backend=None: 1
    return layer(images, training=True)


def elastic(layer):
    """What Keras makes of the images with the test's draws. Of images of this size, noise is smoothed by a window of one pixel."""
    draws = MixDraws(layer.seed or 0)
    layer.backend = Backend(layer.backend, draws)
    layer._get_seed_generator = lambda backend=None: 1
    keras_image.draw_seed = lambda seed: draws.seed()
    return layer(images, training=True)


def draw(number):
    """What the first layer draws as its draw of this number, from 1 on, in step 1."""
    factor = 0x9E3779B97F4A7C15 - 2**64
    return tf.random.stateless_uniform((2,), seed=[factor, factor + number]).numpy()


def turned(layer):
    """What Keras makes of the images with the test's draws: a share, a threshold, and the corners that Keras' formula moves."""
    corners = np.array([[0, 0], [5, 0], [0, 4], [5, 4]], np.float32)
    moved = np.zeros((2, 4, 2), np.float32)
    for number, place in enumerate([(1, 0), (2, 1), (3, 0), (3, 1)]):
        moved[(slice(None), *place)] = (draw(3 + number) - 0.5) * layer.scale
    start = np.repeat(corners[None], 2, axis=0)
    return layer.transform_images(images, {"apply_perspective": draw(2) < layer.factor[0], "start_points": start, "end_points": start + start * moved})


def numbers(array):
    flat = ["%.9gf" % v if "." in "%.9g" % v else "%.9g" % v for v in array.ravel()]
    lines = [", ".join(flat[i:i + 6]) for i in range(0, len(flat), 6)]
    return ",\n      ".join(lines)


print("/* Written by augment_golden.py with Keras %s. */" % keras.__version__)
print("#define IMAGES 2\n#define PIXELS 90 /* of an image: 5 x 6 with 3 channels */")
print("static const float images[IMAGES * PIXELS] = {\n      " + numbers(images) + "\n};")
print("static const struct augmentation {\n    const char *label, *layer;\n    float out[IMAGES * PIXELS];\n} augmentations[] = {")
for label, layer in cases:
    known = {L.RandomShear: sheared, L.RandomPerspective: turned, L.RandAugment: combined, L.AugMix: combined, L.MixUp: mixed, L.CutMix: mixed,
             L.RandomElasticTransform: elastic}.get(type(layer))
    config = {k: v for k, v in layer.get_config().items() if k not in ("name", "trainable", "dtype", "seed")}
    if known in (combined, mixed, elastic):
        config["seed"] = layer.seed
    text = json.dumps({"class_name": type(layer).__name__, "config": config})
    out = np.asarray(known(layer) if known else layer(images, training=True))
    print("    { %s,\n      %s,\n      { %s } }," % (json.dumps(label), json.dumps(text), numbers(out)))
print("};")
# Large enough for a window of seven pixels; every 7th pixel of the result.
SIDE = 44
pixels = (np.arange(SIDE)[:, None] * 37 + np.arange(SIDE) * 91) % 256
images = np.stack([pixels, 255 - pixels]).astype(np.float32)[..., None]
layer = L.RandomElasticTransform((1.0, 1.0), (0.6, 0.6))
out = np.asarray(elastic(layer)).ravel()[::7]
config = {k: v for k, v in layer.get_config().items() if k not in ("name", "trainable", "dtype", "seed")}
print("#define LARGE_SIDE %d\n#define LARGE_STEP 7\n#define LARGE_LAYER \\\n    %s" % (
    SIDE, json.dumps(json.dumps({"class_name": "RandomElasticTransform", "config": config}))))
print("static const float large_out[] = {\n      " + numbers(out) + "\n};")

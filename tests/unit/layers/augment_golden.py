"""Writes augment_golden.h: Keras' layers that change images at random, with ranges of one number, and what they make of two images.

    python tests/unit/layers/augment_golden.py > tests/unit/layers/augment_golden.h            Keras 3.15
"""
import json
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

L = keras.layers
SHAPE = (2, 5, 6, 2)
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
]


def numbers(array):
    flat = ["%.9gf" % v if "." in "%.9g" % v else "%.9g" % v for v in array.ravel()]
    lines = [", ".join(flat[i:i + 6]) for i in range(0, len(flat), 6)]
    return ",\n      ".join(lines)


print("/* Written by augment_golden.py with Keras %s. */" % keras.__version__)
print("#define IMAGES 2\n#define PIXELS 60 /* of an image: 5 x 6 with 2 channels */")
print("static const float images[IMAGES * PIXELS] = {\n      " + numbers(images) + "\n};")
print("static const struct augmentation {\n    const char *label, *layer;\n    float out[IMAGES * PIXELS];\n} augmentations[] = {")
for label, layer in cases:
    config = {k: v for k, v in layer.get_config().items() if k not in ("name", "trainable", "dtype", "seed")}
    text = json.dumps({"class_name": type(layer).__name__, "config": config})
    out = np.asarray(layer(images, training=True))
    print("    { %s,\n      %s,\n      { %s } }," % (json.dumps(label), json.dumps(text), numbers(out)))
print("};")

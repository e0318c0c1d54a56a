"""Models and data for tests that do not care how well a model is trained: a small data set in MNIST's files, a large model, and a
server of a model of digits, with a request that it answers."""
import os
import random
import struct
import tempfile

from harness import Server, TestCase, train

ASK = "/v1/models/default:predict"

# Wide enough (about 19 MB) that writing it takes a while.
WIDE = {"class_name": "Sequential", "config": {"name": "wide", "layers": [
    {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 784], "dtype": "float32", "name": "x"}},
    {"class_name": "Dense", "config": {"name": "hidden", "units": 2000, "activation": "relu"}},
    {"class_name": "Dense", "config": {"name": "hidden_2", "units": 1600, "activation": "relu"}},
    {"class_name": "Dense", "config": {"name": "scores", "units": 10, "activation": "softmax"}}]}}


def write_digits(directory, train=600, test=100, seed=1):
    """IDX files of images whose bright block of rows tells their label. Gives the directory."""
    os.makedirs(directory, exist_ok=True)
    draw = random.Random(seed)
    for name, count in (("train", train), ("t10k", test)):
        labels = bytes(draw.randrange(10) for _ in range(count))
        images = bytearray()
        for label in labels:
            image = bytearray(draw.randbytes(784))
            for i, noise in enumerate(image):
                image[i] = 255 - noise // 8 if i // 56 == label else noise // 8
            images += image
        with open(os.path.join(directory, name + "-labels-idx1-ubyte"), "wb") as f:
            f.write(struct.pack(">II", 2049, count) + labels)
        with open(os.path.join(directory, name + "-images-idx3-ubyte"), "wb") as f:
            f.write(struct.pack(">IIII", 2051, count, 28, 28) + images)
    return directory


def row(value=0.5):
    """A predict request for one image."""
    return {"signature_name": "predict_images", "instances": [[value] * 784]}


class DigitsServer(TestCase):
    """One server for all tests of the class, of a model that was trained for five steps: self.server, and its base path, self.base."""

    FLAGS = []

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.base = os.path.join(cls.work.name, "model")
        train(os.path.join(cls.base, "1"), "--training_iteration=5", "--work_dir=" + cls.work.name)
        cls.server = Server(cls.base, *cls.FLAGS)

    @classmethod
    def tearDownClass(cls):
        status = cls.server.stop()
        cls.work.cleanup()
        assert status == 0, cls.server.output()

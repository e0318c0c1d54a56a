#!/usr/bin/env python3
"""Records answers for the shared models that need the ops of TensorFlow Decision Forests, into cases/.

    python tests/models/record_forest_cases.py MODELS        (shared/models)

TensorFlow alone refuses these models, and the shared cases say so; TensorFlow Serving links the ops, and answers.
Made with TensorFlow 2.21, ydf 0.16.1, and ydf-tf 2.21.0.post1, which has the ops.
"""
import json
import pathlib
import sys

import numpy as np
import tensorflow as tf
import ydf_tf  # noqa: it registers the ops
from yggdrasil_decision_forests.dataset import data_spec_pb2

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ["decision-forests-test-data-saved-model-adult-rf"]
BATCHES = [1, 40, 0]
UNKNOWN_WORDS = ["", "never seen"]  # missing, and out of the vocabulary
rng = np.random.default_rng(1)


def value(column, dtype):
    """Of one feature, or of none: a number around those that the forest saw, or a word."""
    if dtype == tf.string:
        words = sorted(word for word in column.categorical.items if word != "<OOD>")
        return str(rng.choice(words + UNKNOWN_WORDS))
    numbers = column.numerical
    return int(rng.integers(int(numbers.min_value) - 1, int(numbers.max_value) + 2))


def tensor(dtype, shape, data):
    return {"dtype": dtype.name, "shape": list(shape), "data": data}


def cases(path):
    spec = data_spec_pb2.DataSpecification.FromString((path / "assets" / "data_spec.pb").read_bytes())
    columns = {column.name: column for column in spec.columns}
    signature = tf.saved_model.load(str(path)).signatures["serving_default"]
    features = signature.structured_input_signature[1]
    for rows in BATCHES:
        inputs = {name: [value(columns[name], feature.dtype) for _ in range(rows)] for name, feature in sorted(features.items())}
        answers = signature(**{name: tf.constant(data, features[name].dtype) for name, data in inputs.items()})
        yield {"signature": "serving_default", "row": rows > 0,
               "inputs": {name: tensor(features[name].dtype, [rows], data) for name, data in inputs.items()},
               "outputs": {name: tensor(t.dtype, t.shape, t.numpy().ravel().tolist()) for name, t in answers.items()},
               "oracle": {"tensorflow": tf.__version__}}


for name in NAMES:
    recorded = {"model": name, "cases": list(cases(pathlib.Path(sys.argv[1]) / name / "1"))}
    (HERE / "cases" / (name + ".json")).write_text(json.dumps(recorded, separators=(",", ":")) + "\n", encoding="utf-8")

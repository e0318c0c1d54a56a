#!/usr/bin/env python3
"""Writes exports/NAME/1, SavedModels that ydf exports of some forests of forests.py, and exports/NAME/answers.json: rows, and TensorFlow's answers.

    python tests/golden/forests/exports.py [case…]

Made with the versions that forests.py names.
"""
import json
import shutil
import sys

import forests
from forests import HERE, np, tf, ydf

CASES = ["forest_distributions", "forest_oblique", "forest_regression", "boosted_classes", "boosted_ranking", "boosted_sets"]
ROWS = 11
rng = np.random.default_rng(1)
VALUES = {"x": [.3, -1.25, 2, np.nan], "y": [1.5, -2.75, .0625, np.nan], "colour": ["red", "green", "dark blue", "", "none of these"],
          "truth": [True, False]}


def inputs_of(signature):
    """By name; sets come as the values of all rows and columns, and their row splits."""
    inputs = {name: rng.choice(VALUES[name], ROWS).tolist() for name in signature if name in VALUES}
    parts = sorted(set(signature) - set(inputs), key=lambda name: signature[name].dtype.name)
    if parts:
        splits, values = parts
        sizes = rng.integers(0, 4, ROWS)
        inputs[splits] = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        inputs[values] = rng.choice([*"abcdez", ""], int(sizes.sum())).tolist()
    return inputs


def export(case):
    learner, label, columns, arguments = forests.CASES[case]
    data = {name: forests.DATA[name] for name in ("x", "y", "colour", "truth")} | columns | {"label": label}
    data.pop("more", None)
    arguments = dict(arguments)
    if "tags" in columns:
        arguments |= {"features": [("tags", ydf.Semantic.CATEGORICAL_SET), "x"], "include_all_columns": False}
    model = learner(label="label", num_trees=3, max_depth=4, **arguments).train(data)
    path = HERE / "exports" / case
    shutil.rmtree(path, ignore_errors=True)
    model.to_tensorflow_saved_model(str(path / "1"), mode="tf")
    function = tf.saved_model.load(str(path / "1")).signatures["serving_default"]
    signature = function.structured_input_signature[1]
    inputs = inputs_of(signature)
    outputs = function(**{name: tf.constant(values, signature[name].dtype) for name, values in inputs.items()})
    (output, values), = outputs.items()
    types = {name: spec.dtype.as_datatype_enum for name, spec in signature.items()}
    text = json.dumps({"types": types, "inputs": inputs, "output": output, "values": values.numpy().astype(float).tolist()})
    (path / "answers.json").write_text(text + "\n")


if __name__ == "__main__":
    ydf.verbose(0)
    for name in sys.argv[1:] or CASES:
        export(name)

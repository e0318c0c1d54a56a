#!/usr/bin/env python3
"""Writes small decision forests, and the GraphDefs that test_forests.c reads: the ops that load and run them, with TensorFlow's answers.

    python tests/golden/forests/forests.py [case…]        (in the top folder: the graphs name the models' paths)

Made with TensorFlow 2.21, ydf 0.16.1, which trains the forests, and ydf-tf 2.21.0.post1, which has the ops of TensorFlow Decision Forests.
../answered_graphs.py says how a graph holds the answers.
"""
import os
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from answered_graphs import np, tf, write  # noqa: E402
import ydf  # noqa: E402
from ydf_tf import op  # noqa: E402
from yggdrasil_decision_forests.model.gradient_boosted_trees import gradient_boosted_trees_pb2  # noqa: E402

ROWS = 200
FED_ROWS = 12
WORDS = 40
rng = np.random.default_rng(1)
x = rng.normal(size=ROWS).astype(np.float32)
y = rng.uniform(-3, 3, size=ROWS).astype(np.float32)
colour = rng.choice(["red", "green", "dark blue"], size=ROWS)
word = rng.integers(0, WORDS, size=ROWS)
truth = rng.random(ROWS) < .4
tags = [list(rng.choice(list("abcde"), size=rng.integers(0, 4), replace=False)) for _ in range(ROWS)]
score = x + y / 2 + 1.5 * (colour == "red") + truth + np.array(["a" in tag for tag in tags]) + (word % 3 == 0)
DATA = {"x": np.where(rng.random(ROWS) < .1, np.nan, x), "y": y, "colour": colour, "truth": truth}
WORDY = {"word": np.array([f"w{i}" for i in word])}
TWO = np.where(score > 1.5, "yes", "no")
THREE = np.where(score > 2.5, "high", np.where(score > .5, "middle", "low"))
NUMBER = (10 * score).astype(np.float32)
COUNT = rng.poisson(np.exp(np.clip(score, -2, 2) / 2)).astype(np.float32)
RANK = np.clip(score.astype(int), 0, 4).astype(np.float32)
TAGGED = np.where([("a" in tag) != ("b" in other) for tag, other in zip(tags, tags[::-1])], "yes", "no")
ABSENT = np.where(np.isnan(DATA["x"]) | (y > 2), "yes", "no")
TREATED = rng.choice(["control", "treated"], size=ROWS)
FOREST, BOOSTED = ydf.RandomForestLearner, ydf.GradientBoostedTreesLearner

SETS = ({"tags": tags, "more": tags[::-1]},
        {"features": [("tags", ydf.Semantic.CATEGORICAL_SET), ("more", ydf.Semantic.CATEGORICAL_SET)], "include_all_columns": True, "min_vocab_frequency": 1})
# Learner, label, further columns, further arguments.
CASES = {
    "forest_votes": (FOREST, TWO, WORDY, {}),
    "forest_distributions": (FOREST, THREE, {}, {"winner_take_all": False}),
    "forest_integer_classes": (FOREST, (score > 1).astype(int) + (score > 2), {}, {}),
    "forest_regression": (FOREST, NUMBER, {}, {"task": ydf.Task.REGRESSION}),
    "forest_oblique": (FOREST, TWO, {}, {"split_axis": "SPARSE_OBLIQUE"}),
    "forest_oblique_local": (FOREST, TWO, {}, {"split_axis": "SPARSE_OBLIQUE", "missing_value_policy": "LOCAL_IMPUTATION"}),
    "forest_local": (FOREST, TWO, {}, {"missing_value_policy": "LOCAL_IMPUTATION"}),
    "forest_uplift": (FOREST, TWO, {"treated": TREATED}, {"task": ydf.Task.CATEGORICAL_UPLIFT, "uplift_treatment": "treated", "features": ["x", "y"]}),
    "forest_numerical_uplift": (FOREST, NUMBER, {"treated": TREATED}, {"task": ydf.Task.NUMERICAL_UPLIFT, "uplift_treatment": "treated", "features": ["x", "y"]}),
    "forest_compressed": (FOREST, THREE, {}, {}),
    "boosted_binary": (BOOSTED, TWO, WORDY, {}),
    "boosted_focal": (BOOSTED, TWO, {}, {"loss": "BINARY_FOCAL_LOSS"}),
    "boosted_logit": (BOOSTED, TWO, {}, {"apply_link_function": False}),
    "boosted_classes": (BOOSTED, THREE, {}, {}),
    "boosted_logits": (BOOSTED, THREE, {}, {"apply_link_function": False}),
    "boosted_regression": (BOOSTED, NUMBER, {}, {"task": ydf.Task.REGRESSION}),
    "boosted_poisson": (BOOSTED, COUNT, {}, {"task": ydf.Task.REGRESSION, "loss": "POISSON"}),
    "boosted_absolute_error": (BOOSTED, NUMBER, {}, {"task": ydf.Task.REGRESSION, "loss": "MEAN_AVERAGE_ERROR"}),
    "boosted_ranking": (BOOSTED, RANK, {"group": np.array([b"g%d" % i for i in rng.integers(0, 20, size=ROWS)])},
                        {"task": ydf.Task.RANKING, "ranking_group": "group"}),
    "boosted_discretized": (BOOSTED, TWO, {}, {"discretize_numerical_columns": True, "num_discretized_numerical_bins": 10}),
    "boosted_missing": (BOOSTED, ABSENT, {}, {"allow_na_conditions": True}),
    "boosted_random_local": (BOOSTED, TWO, {}, {"missing_value_policy": "RANDOM_LOCAL_IMPUTATION", "allow_na_conditions": True}),
    "boosted_oblique": (BOOSTED, TWO, {}, {"split_axis": "SPARSE_OBLIQUE"}),
    "boosted_sets": (BOOSTED, TAGGED, *SETS),
    "forest_sets": (FOREST, TAGGED, *SETS),
}
PREFIXED = {"forest_compressed": "a_prefix_", "boosted_classes": "another_"}
LEAVES = {"forest_votes", "forest_sets", "boosted_classes"}


def train(name):
    learner, label, columns, arguments = CASES[name]
    model = learner(label="label", num_trees=3, max_depth=4, **arguments).train(DATA | columns | {"label": label})
    if name == "forest_compressed":
        model.set_node_format(ydf.NodeFormat.BLOB_SEQUENCE_GZIP)
    path = HERE / name
    shutil.rmtree(path, ignore_errors=True)
    model.save(str(path), ydf.ModelIOOptions(file_prefix=PREFIXED.get(name, "")), pure_serving=True)
    if name == "boosted_classes":  # these are zeros after training
        file = path / "another_gradient_boosted_trees_header.pb"
        header = gradient_boosted_trees_pb2.Header.FromString(file.read_bytes())
        header.initial_predictions[:] = [.5, -.25, 0]
        file.write_bytes(header.SerializeToString(deterministic=True))
    return model


def inputs_of(model):
    """How many columns each input has, by the rules of the op."""
    counts = {"numbers": 0, "truths": 0, "categories": 0, "sets": 0}
    kinds = {"NUMERICAL": "numbers", "DISCRETIZED_NUMERICAL": "numbers", "BOOLEAN": "truths", "CATEGORICAL": "categories", "CATEGORICAL_SET": "sets"}
    for feature in model.input_features():
        counts[kinds[feature.semantic.name]] += 1
    return counts


def sets(counts, rows):
    """The values of a ragged tensor [rows, columns, any number], and its two row splits."""
    lists = []
    for _ in range(rows * counts["sets"]):
        lists.append([-1] if rng.random() < .15 else list(rng.integers(0, 9, size=rng.integers(0, 4))))
    splits = np.concatenate([[0], np.cumsum([len(values) for values in lists])]).astype(np.int64)
    outer = counts["sets"] * np.arange(rows + 1)
    return sum(lists, []), splits, outer if counts["sets"] else [0]


def graph_of(name, model):
    counts = inputs_of(model)
    outputs = 1
    if model.task() == ydf.Task.CLASSIFICATION and name != "boosted_logit":
        outputs = len(model.label_classes())

    def function():
        placeholders = [tf.compat.v1.placeholder(dtype, shape, label) for label, dtype, shape in (
            ("numbers", tf.float32, [None, None]), ("truths", tf.float32, [None, None]), ("categories", tf.int32, [None, None]),
            ("values", tf.int32, [None]), ("splits", tf.int64, [None]), ("outer_splits", tf.int64, [None]))]
        handle = op.SimpleMLCreateModelResource(shared_name=name)
        path = tf.constant(f"tests/golden/forests/{name}")
        load = op.SimpleMLLoadModelFromPathWithHandle(model_handle=handle, path=path, file_prefix=PREFIXED.get(name, ""),
                                                      output_types=["LEAVES"] if name in LEAVES else [])
        with tf.control_dependencies([load]):
            answer = op.SimpleMLInferenceOpWithHandle(
                numerical_features=placeholders[0], boolean_features=placeholders[1], categorical_int_features=placeholders[2],
                categorical_set_int_features_values=placeholders[3], categorical_set_int_features_row_splits_dim_1=placeholders[4],
                categorical_set_int_features_row_splits_dim_2=placeholders[5], model_handle=handle, dense_output_dim=outputs)
            fetches = {"predictions": answer.dense_predictions, "names": answer.dense_col_representation}
            if name in LEAVES:
                fetches["leaves"] = op.SimpleMLInferenceLeafIndexOpWithHandle(
                    numerical_features=placeholders[0], boolean_features=placeholders[1], categorical_int_features=placeholders[2],
                    categorical_set_int_features_values=placeholders[3], categorical_set_int_features_row_splits_dim_1=placeholders[4],
                    categorical_set_int_features_row_splits_dim_2=placeholders[5], model_handle=handle)
        runs = [dict(zip(placeholders, [*matrices(counts, rows), *sets(counts, rows)])) for rows in (FED_ROWS, 1)]
        runs.append(runs[1] | {placeholders[0]: np.zeros((1, counts["numbers"] + 1))})
        return fetches, runs
    return function


def matrices(counts, rows):
    """Values of all kinds: missing, unknown, beyond the largest."""
    numbers = rng.normal(scale=2, size=(rows, counts["numbers"]))
    numbers[rng.random(numbers.shape) < .25] = np.nan
    truths = rng.choice([0, 1, .3, -1, np.nan], size=(rows, counts["truths"]))
    categories = rng.choice([-2, -1, 0, 1, 2, 3, 4, WORDS - 1, 1000], size=(rows, counts["categories"]))
    # A kind that no feature has is an empty matrix.
    return [matrix if matrix.shape[1] > 0 else np.zeros((0, 0)) for matrix in (numbers, truths, categories)]


if __name__ == "__main__":
    os.chdir(HERE.parents[2])
    ydf.verbose(0)
    for case in sys.argv[1:] or CASES:
        rng = np.random.default_rng(len(case))
        write(HERE / f"{case}.pb", graph_of(case, train(case)))

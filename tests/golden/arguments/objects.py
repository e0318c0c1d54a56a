"""Writes objects.txt for tests/unit/layers/test_object_arguments.c. Lines, by tabs: kind, class, argument, an object of the class, and the same
with another value of the argument, as Keras prints them: for each argument of each loss, metric, initializer, regularizer and constraint; and
optimizers.txt, the same of optimizers for tests/unit/trainer/test_optimizer_arguments.c.

    python tests/golden/arguments/objects.py > tests/golden/arguments/objects.txt            Keras 3.15, and SciPy for the windows of STFT
    python tests/golden/arguments/objects.py optimizers > tests/golden/arguments/optimizers.txt
"""
import inspect
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras

KINDS = {"losses": "loss", "metrics": "metric", "initializers": "initializer", "regularizers": "regularizer", "constraints": "constraint"}
if sys.argv[1:] == ["optimizers"]:
    KINDS = {"optimizers": "optimizer"}
BASES = {"Optimizer", "OptimizerMap", "MultiOptimizer", "LossScaleOptimizer", "Loss", "Metric", "Mean", "Sum", "MeanMetricWrapper", "Initializer", "Regularizer", "Constraint"}
OF_ALL = {"self", "args", "kwargs", "name", "dtype"}
# What has no default, or one that is not implemented.
NEEDED = {"num_classes": 3, "target_class_ids": [0], "sensitivity": 0.5, "specificity": 0.5, "recall": 0.5, "precision": 0.5, "scale": 1.0, "sparse_y_pred": False}
# Without these, the argument has no effect in Keras either, or its default is not implemented.
BESIDE = {("BinaryFocalCrossentropy", "alpha"): {"apply_class_balancing": True}, ("F1Score", "average"): {"average": "micro"},
          ("F1Score", "threshold"): {"average": "micro"}, ("FBetaScore", "average"): {"average": "micro"}, ("FBetaScore", "beta"): {"average": "micro"},
          ("FBetaScore", "threshold"): {"average": "micro"}, ("SGD", "nesterov"): {"momentum": 0.5}}
BESIDE_ANYWHERE = {"ema_momentum": {"use_ema": True}, "ema_overwrite_frequency": {"use_ema": True}}
# Other values than the default.
OTHERS = {
    "from_logits": [True], "label_smoothing": [0.25], "axis": [1, 0], "reduction": ["sum", "none", "mean_with_sample_weight"],
    "apply_class_balancing": [True], "alpha": [0.4], "gamma": [3.0], "q": [0.3], "margin": [0.1], "remove_diagonal": [False], "delta": [0.5],
    "beta": [0.3], "ignore_class": [1], "num_thresholds": [50], "curve": ["PR"], "summation_method": ["minoring", "majoring"],
    "thresholds": [0.25, [0.3, 0.7]], "multi_label": [True], "num_labels": [3], "label_weights": [[1.0, 2.0, 3.0]], "threshold": [0.25],
    "average": ["macro", "weighted", None], "num_classes": [4], "sparse_y_true": [False], "sparse_y_pred": [True], "top_k": [2], "class_id": [1],
    "target_class_ids": [[1]], "sensitivity": [0.25], "specificity": [0.25], "recall": [0.25], "precision": [0.25],
    "class_aggregation": [None, "variance_weighted_average"], "num_regressors": [1], "k": [2], "from_sorted_ids": [True], "value": [0.25], "seed": [7],
    "gain": [0.5], "mean": [0.25], "stddev": [0.5], "minval": [-0.5], "maxval": [0.5], "scale": [0.5], "mode": ["fan_out", "fan_avg", "columns"],
    "distribution": ["uniform", "untruncated_normal"], "side": ["imag"], "window": ["hamming", None], "scaling": ["spectrum", None], "periodic": [True],
    "input_axes": [[0]], "output_axes": [[1]], "l1": [0.25], "l2": [0.25], "factor": [0.25], "max_value": [0.5], "min_value": [0.25], "rate": [0.5],
    "learning_rate": [0.25], "rho": [0.5], "epsilon": [0.125], "weight_decay": [0.25], "clipnorm": [0.5], "clipvalue": [0.5], "global_clipnorm": [0.5],
    "use_ema": [True], "ema_momentum": [0.5], "ema_overwrite_frequency": [3], "loss_scale_factor": [8.0], "gradient_accumulation_steps": [2],
    "beta_2_decay": [-0.5], "epsilon_1": [0.125], "epsilon_2": [8.0], "clip_threshold": [0.25], "relative_step": [False],
    "initial_accumulator_value": [0.5], "beta_1": [0.5], "beta_2": [0.5], "amsgrad": [True], "learning_rate_power": [-0.25],
    "l1_regularization_strength": [0.125], "l2_regularization_strength": [0.125], "l2_shrinkage_regularization_strength": [0.125], "warmup_steps": [5],
    "adam_beta_1": [0.5], "adam_beta_2": [0.5], "adam_weight_decay": [0.25], "exclude_layers": [["dense"]], "exclude_embeddings": [False],
    "muon_a": [3.0], "muon_b": [-4.0], "muon_c": [1.5], "adam_lr_ratio": [0.5], "momentum": [0.5], "ns_steps": [2], "nesterov": [True, False],
    "rms_rate": [0.5, None], "centered": [True],
}


def show(thing):
    return json.dumps(keras.saving.serialize_keras_object(thing))


for module, kind in KINDS.items():
    for name in sorted(dir(getattr(keras, module))):
        make = getattr(getattr(keras, module), name)
        if not inspect.isclass(make) or make.__name__ != name or name in BASES:
            continue
        known = inspect.signature(make.__init__).parameters
        arguments = [a for a in known if a not in OF_ALL]
        named = {"name": "named"} if "name" in known else {}
        for argument in arguments:
            needed = named | {a: NEEDED[a] for a in arguments if a in NEEDED} | BESIDE.get((name, argument), BESIDE_ANYWHERE.get(argument, {}))
            for value in OTHERS[argument]:
                try:
                    other = make(**dict(needed, **{argument: value}))
                except (ValueError, TypeError):  # another class takes this value
                    continue
                plain = make(**needed)
                if show(plain) != show(other):  # some arguments are in no description
                    print(kind, name, argument, show(plain), show(other), sep="\t")

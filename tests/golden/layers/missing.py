"""Prints the table in docs/layers.md of what Keras lists and pstrain does not read.

    python tests/golden/layers/missing.py            Keras 3.15

Names are those of Keras' modules; another name of the same object counts once. Base classes, functions that read or print configurations,
and wrappers of other libraries are left out.
"""
import glob
import inspect
import os
import re

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
NOT_MEANT = {"deserialize", "serialize", "get", "Layer", "Wrapper", "InputSpec", "Loss", "Metric", "Optimizer", "OptimizerMap", "Initializer", "Constraint",
             "Regularizer", "FlaxLayer", "JaxLayer", "TorchModuleWrapper", "TFSMLayer", "Lambda", "Mean", "Sum", "MeanMetricWrapper", "Input"}
# The files whose tables hold the names, and names that code reads without a table.
SOURCES = {
    "layers": (["core/layers/layer*.c", "core/layers/classes/*.c", "core/layers/call.c"], {"Functional", "Sequential", "Pipeline"}),
    "activations": (["core/layers/activation.c"], {"threshold"}),
    "losses": (["core/layers/losses/formulas.c"], set()),
    "metrics": (["core/layers/metrics/*.c", "core/layers/losses/loss.c", "core/layers/losses/formulas.c"], {"Accuracy"}),
    "optimizers": (["trainer/optimizers/table.c"], {"LossScaleOptimizer", "MultiOptimizer"}),
    "initializers": (["core/layers/initializer_read.c", "core/layers/initializer.c"], set()),
    "constraints": (["core/layers/constraint_read.c"], set()),
    "regularizers": (["core/layers/regularizer.c"], set()),
}

# Names that are known to be refused.
REFUSED = {os.path.join(ROOT, "core/layers/classes/not_implemented.c")}


def plain(name):
    return re.sub("[^a-z0-9]", "", name.lower())


def read(module):
    patterns, others = SOURCES[module]
    names = set(others)
    for pattern in patterns:
        for path in set(glob.glob(os.path.join(ROOT, pattern))) - REFUSED:
            with open(path, encoding="utf-8") as file:
                names.update(re.findall(r'"([A-Za-z_0-9]+)"', file.read()))
    return {plain(name) for name in names}


def main():
    print("| of Keras %s | read | not read |\n| --- | --- | --- |" % keras.__version__)
    for module in SOURCES:
        found, have = {}, read(module)
        for name in dir(getattr(keras, module)):
            thing = getattr(getattr(keras, module), name)
            if not name.startswith("_") and not inspect.ismodule(thing) and name not in NOT_MEANT:
                found.setdefault(id(thing), set()).add(name)
        classes = [names for names in found.values() if module == "activations" or any(name[0].isupper() for name in names)]
        missing = [min(names, key=len) for names in classes if not any(plain(name) in have for name in names)]
        print("| %s | %d | %s |" % (module, len(classes) - len(missing), ", ".join(sorted(missing)) or "none"))


main()

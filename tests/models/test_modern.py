"""What people export today: the models that the shared make_modern.py builds with TensorFlow and Keras, with the real modelserver.

The script also records TensorFlow's answers; check.py compares modelserver's with them, as in test_models.py. Models and answers are
made once and kept in the cache directory, under a name that changes with the script and with TensorFlow's version. Making all takes
150 s of processor time and 340 MB; a model that is there is not made again. uncovered_modern.txt is the list of what is not served yet.

    python3 tests/models/test_modern.py --write      rewrites uncovered_modern.txt; review its diff
    python3 tests/models/test_modern.py --show NAME  prints what is wrong with one model
"""
import fcntl
import hashlib
import os
import subprocess
import unittest

from collection import Collection, require_check, run_by_hand
from harness import SOURCE, main, shared

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "slipway")
UNCOVERED = os.path.join(SOURCE, "tests", "models", "uncovered_modern.txt")
# TensorFlow's own answers vary by 4e-5 with the order in which oneDNN adds, or with and without oneDNN (efficientnet-b0: 2.4e-4 of
# the number); 50 layers pass such differences on.
TOLERANCES = {"efficientnet-b0": 1e-3, "resnet-50": 1e-3}
# Without importing TensorFlow, which takes seconds. Its package has several names.
PRINT_VERSIONS = ("from importlib.metadata import distributions as d; "
                  "print(sorted((p.name, p.version) for p in d() if p.name.startswith(('tensorflow', 'keras'))))")
MAKERS = 2  # processes that make models at the same time


def python_with_tensorflow():
    python = os.environ.get("SLIPWAY_TENSORFLOW_PYTHON")
    if not python:
        raise unittest.SkipTest("SLIPWAY_TENSORFLOW_PYTHON names no interpreter with TensorFlow (scripts/test makes one)")
    return python


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def directory_for(python, script):
    """The directory of the models that this script makes with this TensorFlow."""
    versions = output_of(python, "-c", PRINT_VERSIONS)
    with open(script, "rb") as f:
        stamp = hashlib.sha256(f.read() + versions.encode()).hexdigest()[:12]
    return os.path.join(CACHE, "modern-models-" + stamp)


def make_missing(python, script, directory):
    """Makes the models that are not there. A model's cases are written last, so that they tell that it is whole."""
    listed = [line.split()[0] for line in output_of(python, script, "--list").splitlines() if line.strip()]
    missing = [name for name in listed if not os.path.exists(os.path.join(directory, "cases", name + ".json"))]
    print("making %d models in %s" % (len(missing), directory), flush=True)
    logs, makers = [], []
    for i in range(MAKERS):
        mine = missing[i::MAKERS]
        if mine:
            log = open(os.path.join(directory, "make-%d.log" % i), "w+", encoding="utf-8")
            logs.append(log)
            makers.append(subprocess.Popen([python, script, directory, *("--only=" + name for name in mine)], stdout=log, stderr=subprocess.STDOUT))
    failed = [maker.wait() != 0 for maker in makers]
    text = ""
    for log in logs:
        log.seek(0)
        text += "".join(line for line in log if line.startswith("FAILED")) or ""
        log.close()
    if any(failed):
        raise AssertionError("%s failed; its output is in %s/make-*.log\n%s" % (script, directory, text))


def modern():
    """The collection, made where it is missing. Only one process at a time makes models."""
    python, script = python_with_tensorflow(), shared("models", "make_modern.py")
    directory = directory_for(python, script)
    whole = os.path.join(directory, "complete")
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(whole):
            make_missing(python, script, directory)
            open(whole, "w", encoding="utf-8").close()
    return Collection(directory, os.path.join(directory, "cases"), UNCOVERED, TOLERANCES)


class ModernModels(unittest.TestCase):
    def test_serves_every_model_that_is_covered(self):
        require_check()
        wrong = modern().wrong()
        self.assertFalse(wrong, "\n" + "\n".join(wrong))


if __name__ == "__main__":
    run_by_hand(modern, main)

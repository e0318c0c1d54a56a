"""TensorFlow as a test's oracle: np, tf, and comparisons with its answers. Import this first in a test that needs TensorFlow: the
test continues under the interpreter that scripts/test made for it (SLIPWAY_TENSORFLOW_PYTHON). If there is none, it skips the whole
file and says so."""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

wanted = os.environ.get("SLIPWAY_TENSORFLOW_PYTHON")
if not wanted:
    print("SKIPPED %s: SLIPWAY_TENSORFLOW_PYTHON names no interpreter with TensorFlow (scripts/test makes one)" % sys.argv[0])
    sys.exit(77)
if os.path.abspath(sys.executable) != os.path.abspath(wanted):
    os.execv(wanted, [wanted] + sys.argv)

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

tf.get_logger().setLevel("ERROR")


def distance(got, want):
    """The largest difference, as a share of the output's magnitude."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    # In JSON all tensors without elements and with a leading dimension of 0 look the same.
    assert got.shape == want.shape or got.size == want.size == 0, "shape %s, TensorFlow says %s" % (got.shape, want.shape)
    if want.size == 0:
        return 0.0
    return float(np.max(np.abs(got - want), initial=0) / max(np.max(np.abs(want), initial=0), 1e-30))


def assert_agrees(test, got, want, tolerance=1e-5, what=""):
    """Floats within `tolerance` of the output's magnitude (1e-5, or 1e-4 after long chains of ops); everything else exactly."""
    want = np.asarray(want)
    if want.dtype.kind == "f":
        test.assertLessEqual(distance(got, want), tolerance, what)
    elif want.dtype.kind in "OS":
        as_text = np.vectorize(lambda x: x.decode() if isinstance(x, bytes) else x, otypes=[object])
        test.assertEqual(as_text(np.asarray(got, object)).tolist(), as_text(want.astype(object)).tolist(), what)
    else:
        test.assertEqual(np.asarray(got).tolist(), want.tolist(), what)


def as_json(value):
    """A tensor as the REST API takes it: bytes as base64 objects."""
    if isinstance(value, bytes):
        import base64
        return {"b64": base64.b64encode(value).decode()}
    if isinstance(value, (list, tuple)):
        return [as_json(x) for x in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return as_json(value.tolist())
    return value


def ask(server, signature, inputs, outputs, name="default"):
    """Asks modelserver in column form; {output: value}, with `outputs` the names there should be."""
    answer = server.post("/v1/models/%s:predict" % name,
                         {"signature_name": signature, "inputs": {k: as_json(v) for k, v in inputs.items()}})
    if answer.status != 200:
        raise AssertionError("%s: %r" % (signature, answer))
    got = answer.json["outputs"]
    return got if len(outputs) > 1 else {outputs[0]: got}

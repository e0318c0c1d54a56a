"""pstrain exports a real SavedModel: TensorFlow loads it in three ways and gives modelserver's answers."""
import tensorflow_here  # noqa: first, it may go on under another interpreter
import os
import subprocess
import sys

import numpy as np
import tensorflow as tf

from digits import write_digits
from harness import Server, TestCase, clean_environment, main, train
from tensorflow_here import ask, assert_agrees

CLI = os.path.join(os.path.dirname(sys.executable), "saved_model_cli")


def examples(rows):
    """Serialized tf.Example protos with the feature `x`."""
    feature = lambda row: {"x": tf.train.Feature(float_list=tf.train.FloatList(value=row))}  # noqa: E731
    return [tf.train.Example(features=tf.train.Features(feature=feature(row))).SerializeToString() for row in rows]


def by_tf2(directory, signature, inputs):
    """tf.saved_model.load and a call of the signature."""
    function = tf.saved_model.load(directory).signatures[signature]
    return {k: v.numpy() for k, v in function(**{k: tf.constant(v) for k, v in inputs.items()}).items()}


def by_session(directory, signature, inputs):
    """tf.compat.v1.saved_model.load in a session: the restore op and the init op run, then the signature's tensors are fetched."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], directory)
        definition = meta.signature_def[signature]
        feed = {definition.inputs[k].name: v for k, v in inputs.items()}
        return session.run({k: t.name for k, t in definition.outputs.items()}, feed)


def by_cli(directory, signature, inputs, scratch):
    """saved_model_cli run, as a user types it."""
    os.makedirs(scratch, exist_ok=True)
    feeds = []
    for name, value in inputs.items():
        np.save(os.path.join(scratch, name + ".npy"), value)
        feeds.append("%s=%s" % (name, os.path.join(scratch, name + ".npy")))
    done = subprocess.run([CLI, "run", "--dir", directory, "--tag_set", "serve", "--signature_def", signature, "--inputs", ";".join(feeds),
                           "--outdir", scratch, "--overwrite"], capture_output=True, text=True, env=clean_environment(), timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return {f[:-4]: np.load(os.path.join(scratch, f), allow_pickle=True) for f in os.listdir(scratch)
            if f.endswith(".npy") and f[:-4] not in inputs}


class Exports(TestCase):
    def export(self, model, *flags):
        base = self.path("model")
        train(os.path.join(base, "1"), "--model=%s" % model, "--work_dir=%s" % self.path("work"), *flags)
        return base, os.path.join(base, "1")

    def check(self, model, *flags, signatures):
        """signatures: {name: (method, inputs)}"""
        base, directory = self.export(model, *flags)
        stored = tf.saved_model.load(directory).signatures
        self.assertLessEqual(set(signatures), set(stored))
        shown = subprocess.run([CLI, "show", "--dir", directory, "--all"], capture_output=True, text=True, env=clean_environment(), timeout=300)
        self.assertEqual(shown.returncode, 0, shown.stderr[-3000:])
        with Server(base) as server:
            for name, (method, inputs) in signatures.items():
                self.assertIn("signature_def['%s']" % name, shown.stdout)
                self.assertIn("tensorflow/serving/" + method, shown.stdout)
                ways = {"tf.saved_model.load": by_tf2(directory, name, inputs), "session": by_session(directory, name, inputs)}
                if all(v.dtype != object for v in inputs.values()):  # the tool reads .npy files of objects only with its unsafe flag
                    ways["saved_model_cli"] = by_cli(directory, name, inputs, self.path("cli-" + name))
                outputs = sorted(ways["session"])
                ours = ask(server, name, inputs, outputs)
                self.assertEqual(sorted(ours), outputs)
                for way, theirs in ways.items():
                    self.assertEqual(sorted(theirs), outputs, way)
                    for output in outputs:
                        assert_agrees(self, ours[output], theirs[output], what="%s %s.%s by %s" % (model, name, output, way))

    def check_classifier(self, model, *flags):
        data = write_digits(self.path("data"), train=400, test=100)
        images = np.random.default_rng(1).random((5, 784), np.float32)
        self.check(model, "--train_dir=%s" % data, *flags, signatures={
            "predict_images": ("predict", {"images": images}),
            "serving_default": ("classify", {"inputs": np.array(examples(images), object)})})

    def test_softmax(self):
        self.check_classifier("softmax", "--training_iteration=50")

    def test_mlp(self):
        self.check_classifier("mlp", "--training_iteration=20")

    def test_convnet(self):
        self.check_classifier("convnet", "--training_iteration=5")

    def test_linear(self):
        _, directory = base, directory = self.export("linear")
        signatures = {}
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            stored = tf.compat.v1.saved_model.load(session, ["serve"], directory).signature_def
            for name, definition in stored.items():
                if not definition.outputs or name.startswith("__"):
                    continue
                (key, info), = definition.inputs.items()
                x = np.array([[0.25], [0.75], [0.5]], np.float32)
                signatures[name] = (definition.method_name.rsplit("/", 1)[1],
                                    {key: np.array(examples(x), object) if info.dtype == tf.string.as_datatype_enum else x})
        self.assertEqual({method for method, _ in signatures.values()}, {"regress", "predict"})
        del base
        import shutil
        shutil.rmtree(self.path("model"))
        self.check("linear", signatures=signatures)


if __name__ == "__main__":
    main()

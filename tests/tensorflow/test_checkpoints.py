"""Checkpoints go both ways. TensorFlow reads what pstrain saves, slots included, and trains on to the same values. pstrain continues
from what TensorFlow's Saver wrote: whole, in slices, and without slots."""
import tensorflow_oracle  # noqa: first, it may go on under another interpreter
import json
import os

import numpy as np
import tensorflow as tf

from digits import write_digits
from harness import TestCase, main, run

v1 = tf.compat.v1

# The slots that each optimizer keeps beside a variable, and its scalars.
OPTIMIZERS = {
    "adam": (["Adam", "Adam_1"], ["beta1_power", "beta2_power"], lambda: v1.train.AdamOptimizer(0.01)),
    "adagrad": (["Adagrad"], [], lambda: v1.train.AdagradOptimizer(0.01)),
    "momentum": (["Momentum"], [], lambda: v1.train.MomentumOptimizer(0.01, 0.9)),
    "rmsprop": (["RMSProp", "RMSProp_1"], [], lambda: v1.train.RMSPropOptimizer(0.01)),
    "ftrl": (["Ftrl", "Ftrl_1"], [], lambda: v1.train.FtrlOptimizer(0.01)),
    "adadelta": (["Adadelta", "Adadelta_1"], [], lambda: v1.train.AdadeltaOptimizer(0.01)),
    "adagrad_da": (["AdagradDA", "AdagradDA_1"], [], lambda: v1.train.AdagradDAOptimizer(0.01, v1.train.get_global_step())),
    "proximal_adagrad": (["ProximalAdagrad"], [], lambda: v1.train.ProximalAdagradOptimizer(0.01)),
    "sgd": ([], [], lambda: v1.train.GradientDescentOptimizer(0.01)),
}

SMALL = {"class_name": "Sequential", "config": {"name": "small", "layers": [
    {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 784], "dtype": "float32", "name": "x"}},
    {"class_name": "Dense", "config": {"name": "hidden", "units": 400, "activation": "relu"}},
    {"class_name": "Dense", "config": {"name": "scores", "units": 10, "activation": "softmax"}}]}}
SHAPES = {"hidden/kernel": (784, 400), "hidden/bias": (400,), "scores/kernel": (400, 10), "scores/bias": (10,)}


def values_of(prefix):
    reader = tf.train.load_checkpoint(prefix)
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


class Checkpoints(TestCase):
    def setUp(self):
        super().setUp()
        self.data = write_digits(self.path("data"), train=300, test=50)
        with open(self.path("small.json"), "w", encoding="utf-8") as f:
            json.dump(SMALL, f)
        self.directory = self.path("ckpt")
        self.exports = 0

    def pstrain(self, stop, optimizer="adam", *flags):
        self.exports += 1
        return run("pstrain", "--model=%s" % self.path("small.json"), "--train_dir=%s" % self.data, "--optimizer=%s" % optimizer,
                   "--learning_rate=0.01", "--batch_size=20", "--sync", "--stop_at_step=%d" % stop,
                   "--checkpoint_dir=%s" % self.directory, "--export_dir=%s" % self.path("model", str(self.exports)), *flags)

    def trained(self, *arguments):
        done = self.pstrain(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def graph(self, optimizer, partitions=None):
        """The same variables in TensorFlow, and a training step on a loss of its own."""
        with v1.variable_scope("", partitioner=partitions and v1.fixed_size_partitioner(partitions)):
            variables = [v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer() if len(shape) > 1 else
                                         v1.zeros_initializer()) for name, shape in SHAPES.items()]
        step = v1.train.get_or_create_global_step()
        loss = tf.add_n([tf.reduce_sum(tf.square(tf.convert_to_tensor(v) - 0.1)) for v in variables])
        return step, OPTIMIZERS[optimizer][2]().minimize(loss, global_step=step)

    def test_tensorflow_reads_every_optimizer_s_slots_and_trains_on(self):
        for optimizer, (slots, scalars, _) in OPTIMIZERS.items():
            with self.subTest(optimizer):
                self.directory = self.path("ckpt-" + optimizer)
                self.trained(7, optimizer)
                self.assertEqual(tf.train.latest_checkpoint(self.directory), os.path.join(self.directory, "model.ckpt-7"))
                values = values_of(self.directory)
                wanted = {name: shape for name, shape in SHAPES.items()}
                wanted.update({"%s/%s" % (name, slot): shape for name, shape in SHAPES.items() for slot in slots})
                wanted.update({name: () for name in scalars + ["global_step"]})
                place = {"input_position", "input_readers"}  # in the rows, of which TensorFlow's checkpoints know nothing
                self.assertEqual({k: v.shape for k, v in values.items() if k not in place}, wanted)
                self.assertEqual((values["global_step"].dtype, int(values["global_step"])), (np.int64, 7))
                if optimizer == "adam":  # already the powers for the next update
                    np.testing.assert_allclose(values["beta1_power"], 0.9 ** 8, rtol=1e-5)
                    np.testing.assert_allclose(values["beta2_power"], 0.999 ** 8, rtol=1e-5)
                with tf.Graph().as_default(), v1.Session() as session:
                    step, train = self.graph(optimizer)
                    v1.train.Saver().restore(session, tf.train.latest_checkpoint(self.directory))
                    session.run(train)
                    self.assertEqual(session.run(step), 8)

    def test_pstrain_goes_on_from_tensorflow_s_checkpoint(self):
        for optimizer, (slots, _, _) in OPTIMIZERS.items():
            with self.subTest(optimizer):
                self.directory = self.path("tf-" + optimizer)
                os.makedirs(self.directory)
                with tf.Graph().as_default(), v1.Session() as session:
                    step, train = self.graph(optimizer)
                    session.run(v1.global_variables_initializer())
                    for _ in range(5):
                        session.run(train)
                    v1.train.Saver().save(session, os.path.join(self.directory, "model.ckpt"), global_step=step)
                theirs = values_of(self.directory)
                out = self.trained(5, optimizer)  # trains nothing: it exports the values that it read
                self.assertIn("Restored %s/model.ckpt-5, step 5" % self.directory, out)
                self.assertNotIn("start with their initial values", out)
                for ps in (1, 3):
                    self.trained(6, optimizer, "--ps=%d" % ps)
                ours = values_of(self.directory)
                self.assertEqual(int(ours["global_step"]), 6)
                if slots:
                    name = "hidden/kernel/" + slots[0]
                    self.assertFalse(np.array_equal(ours[name], theirs[name]))
                exported = tf.train.load_checkpoint(self.path("model", str(self.exports - 2), "variables", "variables"))
                for name in SHAPES:
                    np.testing.assert_array_equal(exported.get_tensor(name), theirs[name])

    def test_partitioned_variables_are_put_together(self):
        os.makedirs(self.directory)
        with tf.Graph().as_default(), v1.Session() as session:
            step, train = self.graph("adam", partitions=3)
            session.run(v1.global_variables_initializer())
            session.run(train)
            v1.train.Saver(sharded=True).save(session, os.path.join(self.directory, "model.ckpt"), global_step=step)
        theirs = values_of(self.directory)
        out = self.trained(1, "adam")
        self.assertIn("Restored", out)
        exported = tf.train.load_checkpoint(self.path("model", str(self.exports), "variables", "variables"))
        for name in SHAPES:
            np.testing.assert_array_equal(exported.get_tensor(name), theirs[name])

    def test_slots_that_are_not_there_begin_anew_and_it_says_so(self):
        os.makedirs(self.directory)
        with tf.Graph().as_default(), v1.Session() as session:
            step, train = self.graph("adam")
            session.run(v1.global_variables_initializer())
            session.run(train)
            trainable = v1.train.Saver(v1.trainable_variables() + [step])
            trainable.save(session, os.path.join(self.directory, "model.ckpt"), global_step=step)
        out = self.trained(3, "adam")
        self.assertIn("has no 'hidden/kernel/Adam' (8 such slots of adam are missing): they start with their initial values", out)
        np.testing.assert_allclose(values_of(self.directory)["beta1_power"], 0.9 ** 3, rtol=1e-5)

    def test_what_does_not_fit_is_refused_with_its_name(self):
        for what, names, wanted in (
                ("shape", {**SHAPES, "scores/bias": (11,)}, "'scores/bias' has shape [11] there, the model has [10]"),
                ("missing", {k: v for k, v in SHAPES.items() if k != "hidden/bias"}, "it has no variable 'hidden/bias' (float [400])")):
            with self.subTest(what):
                self.directory = self.path("bad-" + what)
                os.makedirs(self.directory)
                with tf.Graph().as_default(), v1.Session() as session:
                    for name, shape in names.items():
                        v1.get_variable(name, shape)
                    session.run(v1.global_variables_initializer())
                    v1.train.Saver().save(session, os.path.join(self.directory, "model.ckpt"), global_step=4)
                done = self.pstrain(9)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("model.ckpt-4", done.stderr)
                self.assertIn(wanted, done.stderr)


if __name__ == "__main__":
    main()

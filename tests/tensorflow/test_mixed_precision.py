"""A job changes the variables of a model of the policy mixed_float16 as Keras' fit does, with its LossScaleOptimizer. tests/unit/layers/test_keras.c
compares the layers of this policy and of mixed_bfloat16."""
import json
import os

from tensorflow_oracle import distance, np, tf

from harness import TestCase, main, run

keras, L = tf.keras, tf.keras.layers
STEPS, ROWS = 20, 16
# The unit of the last place: what the variables moved by is rounded in each step, and the errors of the steps differ.
UNIT = 2.0**-11


class MixedPrecision(TestCase):

    def model(self, policy, optimizer):
        keras.backend.clear_session()
        keras.config.set_dtype_policy(policy)
        model = keras.Sequential([L.Input((8, 8, 3), name="x"), L.Conv2D(8, 3, activation="relu", name="conv"), L.BatchNormalization(name="norm"),
                                  L.GlobalAveragePooling2D(name="pool"), L.Dense(8, activation="tanh", name="hidden"), L.Dense(4, name="scores"),
                                  L.Activation("softmax", dtype="float32", name="shares")])
        keras.config.set_dtype_policy("float32")
        model.compile(optimizer, loss="sparse_categorical_crossentropy")
        draw = np.random.RandomState(1)
        self.start = {}
        for v in model.weights:
            v.assign(draw.uniform(0.5 if "variance" in v.path or "gamma" in v.path else -0.5, 1, v.shape))
            self.start["/".join(v.path.split("/")[-2:])] = np.asarray(v)
        return model

    def setUp(self):
        super().setUp()
        draw = np.random.RandomState(2)
        self.x, self.y = draw.uniform(-1, 1, (ROWS, 8, 8, 3)).astype(np.float32), draw.randint(0, 4, ROWS)
        self.jobs = 0

    def by_keras(self, model):
        for _ in range(STEPS):
            model.train_on_batch(self.x, self.y)
        return {"/".join(v.path.split("/")[-2:]): np.asarray(v) for v in model.weights}

    def by_pstrain(self, description, *flags):
        """The variables, and the directory of the export."""
        self.jobs += 1
        rows, first, base = self.path("rows.npz"), self.path("first"), self.path("job%d" % self.jobs)
        np.savez(rows, x=self.x, label=self.y)
        tf.raw_ops.SaveV2(prefix=first, tensor_names=list(self.start), shape_and_slices=[""] * len(self.start), tensors=list(self.start.values()))
        tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=[first], destination_prefix=first + "_all", delete_old_dirs=False)
        with open(self.path("model.json"), "w", encoding="utf-8") as f:
            f.write(description)
        done = run("pstrain", "--model=" + self.path("model.json"), "--train_files=" + rows, "--label_column=label", "--workers=1", "--ps=2",
                   "--batch_size=%d" % ROWS, "--shuffle_buffer=0", "--epochs=1000", "--stop_at_step=%d" % STEPS, "--init_from=" + first + "_all",
                   "--export_dir=" + os.path.join(base, "1"), "--checkpoint_dir=" + base + ".ckpt", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.reader = tf.train.load_checkpoint(base + ".ckpt")
        return {name: self.reader.get_tensor(name) for name in self.start}, base

    def assert_moved_alike(self, got, want, tolerance):
        for name, first in self.start.items():
            self.assertLessEqual(distance(got[name] - first, want[name] - first), tolerance, name)

    def test_a_loss_that_overflows(self):
        """Gradients beyond 65504 skip steps until the scale has fallen."""
        make = lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=2.0**24, dynamic_growth_steps=5)  # noqa: E731
        model = self.model("mixed_float16", make())
        description = model.to_json()
        want = self.by_keras(model)
        made = int(model.optimizer.inner_optimizer.iterations)
        self.assertTrue(5 < made < STEPS - 2, made)
        got, _ = self.by_pstrain(description)
        self.assertEqual(self.reader.get_tensor("dynamic_scale"), float(model.optimizer.dynamic_scale))
        self.assertEqual(STEPS - self.reader.get_tensor("skipped_steps"), made)
        self.assert_moved_alike(got, want, 8 * UNIT)
        # The same by flags, around the description's optimizer.
        plain = json.loads(description)
        plain["compile_config"]["optimizer"] = plain["compile_config"]["optimizer"]["config"]["inner_optimizer"]
        again, _ = self.by_pstrain(json.dumps(plain), "--initial_scale=16777216", "--dynamic_growth_steps=5")
        for name in self.start:
            self.assertEqual(again[name].tolist(), got[name].tolist(), name)

    def test_a_constant_factor(self):
        got, _ = self.by_pstrain(self.model("mixed_float16", keras.optimizers.SGD(0.1)).to_json(), "--loss_scale_factor=1024")
        self.assertFalse(self.reader.has_tensor("dynamic_scale"))
        want = self.by_keras(self.model("mixed_float16", keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=1024.0)))
        self.assert_moved_alike(got, want, 8 * UNIT)


if __name__ == "__main__":
    main()

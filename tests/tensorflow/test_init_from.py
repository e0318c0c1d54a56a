"""--init_from takes values from what Keras and TensorFlow wrote."""
import json
import os

from tensorflow_here import np, tf

from harness import TestCase, main, run

keras = tf.keras


class InitFrom(TestCase):
    def model(self, units=3):
        return keras.Sequential([keras.Input((784,), name="x"), keras.layers.Dense(units, activation="relu", name="base"),
                                 keras.layers.Dense(10, activation="softmax", name="scores")])

    def start_of(self, *flags):
        """The variables before the first step."""
        description = json.loads(self.model().to_json())
        with open(self.path("model.json"), "w", encoding="utf-8") as f:
            json.dump(description, f)
        done = run("pstrain", "--model=" + self.path("model.json"), "--noexport", "--stop_at_step=1", "--max_to_keep=0", "--batch_size=1", "--workers=1",
                   "--checkpoint_dir=" + self.path("ckpt"), *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        reader = tf.train.load_checkpoint(self.path("ckpt", "model.ckpt-0"))
        return {name: reader.get_tensor(name) for name in ("base/kernel", "base/bias", "scores/kernel", "scores/bias")}, done.stdout

    def test_a_savedmodel_of_keras(self):
        model = self.model()
        model.export(self.path("saved"))
        reader = tf.train.load_checkpoint(self.path("saved", "variables", "variables"))
        keys = sorted(k for k in reader.get_variable_to_shape_map() if k.endswith("VARIABLE_VALUE"))
        want = {"base/kernel": model.layers[0].kernel, "base/bias": model.layers[0].bias, "scores/kernel": model.layers[1].kernel,
                "scores/bias": model.layers[1].bias}
        entries = []
        for name, value in want.items():
            key, = [k for k in keys if k.startswith("variables/") and np.array_equal(reader.get_tensor(k), value)
                    and reader.get_tensor(k).shape == tuple(value.shape)][:1]
            entries.append("%s=%s" % (key, name))
        got, text = self.start_of("--init_from=" + self.path("saved"), "--init_map=" + ",".join(entries))
        for name, value in want.items():
            self.assertTrue(np.array_equal(got[name], np.asarray(value)), name)
        self.assertIn("First values: 4 of 4 variables from ", text)
        # Keras names the variables of a Sequential model after the model too.
        self.assertEqual([v.path for v in model.variables][:2], ["sequential/base/kernel", "sequential/base/bias"])
        again, _ = self.start_of("--init_from=" + self.path("saved"))
        for name, value in want.items():
            self.assertTrue(np.array_equal(again[name], np.asarray(value)), name)

    def test_a_checkpoint_of_tensorflow_by_its_variables_names(self):
        kernel, bias = tf.Variable(tf.ones((784, 3)), name="old/kernel"), tf.Variable([1.0, 2.0, 3.0], name="old/bias")
        tf.train.Checkpoint(first=kernel, second=bias).write(self.path("tf2"))
        got, text = self.start_of("--init_from=" + self.path("tf2"), "--init_map=old/*=base/*", "--init_partial")
        self.assertTrue(np.array_equal(got["base/kernel"], kernel.numpy()) and np.array_equal(got["base/bias"], bias.numpy()))
        self.assertIn("\n    anew:  scores/kernel\n    anew:  scores/bias\n", text)

    def test_an_export_of_pstrain(self):
        got, _ = self.start_of()
        os.rename(self.path("ckpt"), self.path("first"))
        again, _ = self.start_of("--init_from=" + self.path("first"), "--seed=9")
        reader = tf.train.load_checkpoint(self.path("first"))
        for name in got:
            self.assertTrue(np.array_equal(again[name], reader.get_tensor(name)), name)


if __name__ == "__main__":
    main()

"""--init_from takes values from what Keras and TensorFlow wrote."""
import json
import os

from tensorflow_oracle import np, tf

from harness import TestCase, main, run

keras = tf.keras


class InitFrom(TestCase):
    def model(self, units=3):
        return keras.Sequential([keras.Input((784,), name="x"), keras.layers.Dense(units, activation="relu", name="base"),
                                 keras.layers.Dense(10, activation="softmax", name="scores")])

    def start_of(self, *flags, model=None, checkpoints="ckpt", names=("base/kernel", "base/bias", "scores/kernel", "scores/bias")):
        """The variables before the first step."""
        description = json.loads((model or self.model()).to_json())
        with open(self.path("model.json"), "w", encoding="utf-8") as f:
            json.dump(description, f)
        done = run("pstrain", "--model=" + self.path("model.json"), "--noexport", "--stop_at_step=1", "--max_to_keep=0", "--batch_size=1", "--workers=1",
                   "--checkpoint_dir=" + self.path(checkpoints), *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        reader = tf.train.load_checkpoint(self.path(checkpoints, "model.ckpt-0"))
        return {name: reader.get_tensor(name) for name in names}, done.stdout

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
        self.assertEqual([v.path for v in model.variables][:2], [model.name + "/base/kernel", model.name + "/base/bias"])
        again, _ = self.start_of("--init_from=" + self.path("saved"), model=model, checkpoints="again")
        for name, value in want.items():
            self.assertTrue(np.array_equal(again[name], np.asarray(value)), name)

    def test_a_model_inside_the_model(self):
        """Keras does not name its variables after it. Of two models with such variables, the export does not tell which is which."""
        layers, x, inputs = keras.layers, keras.Input((784,), name="x"), [keras.Input((784,)) for _ in range(2)]
        one = keras.Model(inputs[0], layers.Dense(3, name="base")(inputs[0]), name="one")
        other = keras.Model(inputs[1], layers.Dense(3, name="base")(inputs[1]), name="other")
        model = keras.Model(x, layers.Dense(10, activation="softmax", name="scores")(one(x)))
        model.export(self.path("inner"), verbose=False)
        got, text = self.start_of("--init_from=" + self.path("inner"), model=model, names=("one/base/kernel", "one/base/bias", "scores/kernel"))
        self.assertIn("First values: 4 of 4 variables from ", text)
        for variable in model.weights:
            name = variable.path if variable.path.startswith("scores") else "one/" + variable.path
            self.assertTrue(name not in got or np.array_equal(got[name], np.asarray(variable)), name)
        both = keras.Model(x, layers.Dense(10, activation="softmax", name="scores")(layers.Add()([one(x), other(x)])))
        both.export(self.path("both"), verbose=False)
        _, text = self.start_of("--init_from=" + self.path("both"), "--init_partial", model=both, checkpoints="again", names=())
        self.assertIn("\n    anew:  one/base/kernel", text)
        self.assertIn("\n    anew:  other/base/kernel", text)

    def test_a_name_that_two_variables_have(self):
        """A layer of the model, and one of the model inside it. Neither takes the values of the other."""
        layers, x, inner = keras.layers, keras.Input((784,), name="x"), keras.Input((784,))
        tower = keras.Model(inner, layers.Dense(784, name="same")(inner), name="tower")
        model = keras.Model(x, layers.Dense(10, activation="softmax", name="scores")(layers.Dense(784, name="same")(tower(x))))
        model.export(self.path("same"), verbose=False)
        _, text = self.start_of("--init_from=" + self.path("same"), "--init_partial", model=model, names=())
        self.assertIn("\n    anew:  tower/same/kernel", text)
        self.assertIn("\n    anew:  same/kernel", text)
        done = run("pstrain", "--model=" + self.path("model.json"), "--noexport", "--stop_at_step=1", "--init_from=" + self.path("same"),
                   "--init_map==tower/*")
        self.assertIn("several values there have the name 'same/kernel', such as 'variables/0/.ATTRIBUTES/VARIABLE_VALUE' and "
                      "'variables/2/.ATTRIBUTES/VARIABLE_VALUE'; --init_map takes one by this key for the variable 'same/kernel'", done.stderr)
        got, _ = self.start_of("--init_from=" + self.path("same"), "--init_partial", "--init_map=variables/2/.ATTRIBUTES/VARIABLE_VALUE=same/kernel",
                               model=model, checkpoints="again", names=("same/kernel",))
        self.assertTrue(np.array_equal(got["same/kernel"], np.asarray(model.get_layer("same").kernel)))

    def test_names_of_scopes_and_none(self):
        """Keras names the variables of a layer after the scopes around its call, as in NASNet, and a variable without a name "variable", as in ConvNeXt."""
        from keras.src.applications.convnext import LayerScale
        x = keras.Input((784,), name="x")
        with keras.name_scope("stem"), keras.name_scope("left"):
            y = LayerScale(0.5, 3, name="scale")(keras.layers.Dense(3, name="base")(x))
        model = keras.Model(x, keras.layers.Dense(10, activation="softmax", name="scores")(y))
        paths = {v.path for v in model.weights}
        self.assertTrue("stem/left/base/kernel" in paths and any(p.startswith("stem/left/scale/variable") for p in paths), paths)
        want = {v.path.replace("stem/left/", ""): v for v in model.weights if "scale" not in v.path}
        want["scale/gamma"] = model.get_layer("scale").gamma
        for variable in want.values():
            variable.assign(np.random.uniform(-1, 1, variable.shape))
        model.export(self.path("scoped"), verbose=False)
        got, text = self.start_of("--init_from=" + self.path("scoped"), model=model, names=tuple(want))
        self.assertIn("First values: 5 of 5 variables from ", text)
        for name, value in want.items():
            self.assertTrue(np.array_equal(got[name], np.asarray(value)), name)

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

"""A job of one worker changes the variables as Keras' fit does: optimizers, learning rate schedules and clipping,
from a compiled description or from flags.

Every batch is the whole data set, so the order of the rows does not matter, and the variables begin at zero."""
import json
import os

from tensorflow_oracle import assert_agrees, np, tf

from digits import write_digits
from harness import TestCase, main, run

keras, schedules = tf.keras, tf.keras.optimizers.schedules
STEPS = 20
# Sums of floats in another order: 20 steps of 1e-6 each. Optimizers that divide by the gradient's size get an epsilon that keeps
# them from dividing one rounding error by another.
TOLERANCE = 2e-5


def read_rows(directory):
    """The training rows that pstrain uses: the first twelfth is for validation."""
    with open(os.path.join(directory, "train-images-idx3-ubyte"), "rb") as f:
        images = np.frombuffer(f.read()[16:], np.uint8).reshape(-1, 784).astype(np.float32) / 255
    with open(os.path.join(directory, "train-labels-idx1-ubyte"), "rb") as f:
        labels = np.frombuffer(f.read()[8:], np.uint8)
    held = len(labels) // 12
    return images[held:], labels[held:]


class KerasTraining(TestCase):

    def setUp(self):
        super().setUp()
        self.data = write_digits(self.path("data"), train=240, test=10)
        self.rows, self.labels = read_rows(self.data)
        self.jobs = 0

    def model(self, optimizer):
        model = keras.Sequential([keras.Input((784,), name="x"),
                                  keras.layers.Dense(10, activation="softmax", kernel_initializer="zeros", name="scores")])
        model.compile(optimizer, loss="sparse_categorical_crossentropy")
        return model

    def by_keras(self, optimizer):
        model = self.model(optimizer)
        for _ in range(STEPS):
            model.train_on_batch(self.rows, self.labels)
        return [np.asarray(x) for x in model.get_weights()]

    def by_pstrain(self, description, *flags, steps=STEPS, workers=1, ps=3, exported=False, batches=1):
        """The variables of the last checkpoint, or of the export. A step takes this many batches of each worker."""
        self.jobs += 1
        model, checkpoints = self.path("model%d.json" % self.jobs), self.path("ckpt%d" % self.jobs)
        with open(model, "w", encoding="utf-8") as f:
            f.write(description)
        for stop in steps if isinstance(steps, tuple) else (steps,):
            export = self.path("export%d-%d" % (self.jobs, stop), "1")
            done = run("pstrain", "--model=" + model, "--train_dir=" + self.data, "--export_dir=" + export, "--workers=%d" % workers, "--ps=%d" % ps,
                       "--batch_size=%d" % (len(self.labels) // workers // batches), "--stop_at_step=%d" % stop, "--checkpoint_dir=" + checkpoints, *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
        reader = tf.train.load_checkpoint(os.path.join(export, "variables", "variables") if exported else checkpoints)
        return [reader.get_tensor("scores/kernel"), reader.get_tensor("scores/bias")]

    def assert_same(self, got, want, what):
        for ours, theirs in zip(got, want, strict=True):
            assert_agrees(self, ours, theirs, TOLERANCE, what)

    def test_schedules_of_a_description(self):
        for schedule, optimizer in (
                (schedules.ExponentialDecay(0.5, 5, 0.5, staircase=True), keras.optimizers.SGD),
                (schedules.PiecewiseConstantDecay([3, 9], [0.5, 0.2, 0.05]), lambda s: keras.optimizers.SGD(s, momentum=0.9)),
                (schedules.PolynomialDecay(0.5, 15, power=2.0), lambda s: keras.optimizers.SGD(s, momentum=0.9, nesterov=True)),
                (schedules.InverseTimeDecay(0.5, 3, 0.5), lambda s: keras.optimizers.Adagrad(s)),
                (schedules.CosineDecay(0.01, 10, alpha=0.1, warmup_target=0.1, warmup_steps=5), lambda s: keras.optimizers.Adam(s, epsilon=1e-3)),
                (schedules.CosineDecayRestarts(0.05, 4), lambda s: keras.optimizers.RMSprop(s, epsilon=1e-3))):
            with self.subTest(type(schedule).__name__):
                want = self.by_keras(optimizer(schedule))
                description = self.model(optimizer(schedule)).to_json()
                self.assert_same(self.by_pstrain(description), want, type(schedule).__name__)
                # A job that is interrupted, and one whose step has two workers' halves.
                self.assert_same(self.by_pstrain(description, steps=(7, STEPS)), want, "resumed")
                self.assert_same(self.by_pstrain(description, "--sync", workers=2), want, "synchronous")

    def test_optimizers_of_a_description(self):
        # Lion takes the sign of a gradient, and with it that of a rounding error: the unit test compares it.
        for optimizer in (lambda: keras.optimizers.Nadam(0.01, epsilon=1e-3), lambda: keras.optimizers.Adamax(0.01, epsilon=1e-3, weight_decay=0.1),
                          lambda: keras.optimizers.AdamW(0.01, epsilon=1e-3, weight_decay=0.1, amsgrad=True),
                          lambda: keras.optimizers.Ftrl(0.5, beta=0.1, l2_shrinkage_regularization_strength=0.01),
                          lambda: keras.optimizers.Muon(0.01, epsilon=1e-3, weight_decay=None, ns_steps=1, rms_rate=None)):
            with self.subTest(optimizer().name):
                want, description = self.by_keras(optimizer()), self.model(optimizer()).to_json()
                self.assert_same(self.by_pstrain(description), want, "at once")
                self.assert_same(self.by_pstrain(description, steps=(7, STEPS)), want, "resumed")

    def test_clipping_of_a_description(self):
        for clip in ({"clipvalue": 0.004}, {"clipnorm": 0.05}, {"global_clipnorm": 0.05}):
            with self.subTest(clip):
                optimizer = lambda: keras.optimizers.SGD(0.5, **clip)  # noqa: E731
                want = self.by_keras(optimizer())
                with self.assertRaises(AssertionError):  # it makes a difference
                    self.assert_same(self.by_keras(keras.optimizers.SGD(0.5)), want, "unclipped")
                self.assert_same(self.by_pstrain(self.model(optimizer()).to_json()), want, "description")
                (name, limit), = clip.items()
                self.assert_same(self.by_pstrain(self.model(keras.optimizers.SGD(0.5)).to_json(), "--%s=%g" % (name, limit)), want, "flag")

    def test_averages_of_the_variables(self):
        for name, make in (("sgd", lambda **more: keras.optimizers.SGD(0.2, momentum=0.5, **more)),
                           ("adam", lambda **more: keras.optimizers.Adam(0.01, epsilon=1e-3, **more))):
            for more in ({"ema_momentum": 0.8}, {"ema_momentum": 0.8, "ema_overwrite_frequency": 3}):
                with self.subTest(name, **more):
                    model = self.model(make(use_ema=True, **more))
                    description = model.to_json()
                    for _ in range(STEPS):
                        model.train_on_batch(self.rows, self.labels)
                    last = [np.asarray(x) for x in model.get_weights()]
                    model.optimizer.finalize_variable_values(model.trainable_variables)
                    want = [np.asarray(x) for x in model.get_weights()]
                    with self.assertRaises(AssertionError):  # it makes a difference
                        self.assert_same(self.by_keras(make()), want, "without averages")
                    self.assert_same(self.by_pstrain(description), last, "checkpoint")
                    self.assert_same(self.by_pstrain(description, exported=True), want, "export")
                    self.assert_same(self.by_pstrain(description, steps=(7, STEPS), exported=True), want, "resumed")
                    self.assert_same(self.by_pstrain(description, "--sync", workers=2, exported=True), want, "synchronous")
                    flags = ["--use_ema"] + ["--%s=%s" % option for option in more.items()]
                    self.assert_same(self.by_pstrain(self.model(make()).to_json(), *flags, exported=True), want, "flags")

    def test_lamb_has_the_same_bits_for_any_number_of_ps(self):
        for more in ({}, {"weight_decay": 0.1}):
            with self.subTest(**more):
                make = lambda: keras.optimizers.Lamb(0.05, epsilon=1e-2, **more)  # noqa: E731
                want, description = self.by_keras(make()), self.model(make()).to_json()
                first = self.by_pstrain(description, "--sync", ps=1)
                self.assert_same(first, want, "one ps")
                for ps in (2, 5):
                    for ours, other in zip(self.by_pstrain(description, "--sync", ps=ps), first, strict=True):
                        self.assertTrue(np.array_equal(ours, other), ps)
                self.assert_same(self.by_pstrain(description, steps=(7, STEPS)), want, "resumed")
                self.assert_same(self.by_pstrain(description, "--sync", workers=2), want, "synchronous")

    def test_gradient_accumulation(self):
        # Each update takes the two halves of the rows, in whatever order.
        half = len(self.labels) // 2
        rate = schedules.ExponentialDecay(0.5, 5, 0.5)
        make = lambda **more: keras.optimizers.SGD(rate, clipnorm=0.05, **more)  # noqa: E731
        model = self.model(make(gradient_accumulation_steps=2))
        description = model.to_json()
        for _ in range(STEPS // 2):
            model.train_on_batch(self.rows[:half], self.labels[:half])
            model.train_on_batch(self.rows[half:], self.labels[half:])
        want = [np.asarray(x) for x in model.get_weights()]
        self.assert_same(self.by_pstrain(description, steps=STEPS // 2, batches=2), want, "description")
        self.assert_same(self.by_pstrain(description, steps=(3, STEPS // 2), batches=2), want, "resumed")
        self.assert_same(self.by_pstrain(self.model(make()).to_json(), "--gradient_accumulation_steps=2", steps=STEPS // 2, batches=2), want, "flag")

    def test_averages_with_gradient_accumulation(self):
        batch = len(self.labels) // 4
        model = self.model(keras.optimizers.SGD(0.2, momentum=0.5, use_ema=True, ema_momentum=0.8, gradient_accumulation_steps=4))
        description = model.to_json()
        for _ in range(STEPS // 2):
            for at in range(0, 4 * batch, batch):
                model.train_on_batch(self.rows[at:at + batch], self.labels[at:at + batch])
        model.optimizer.finalize_variable_values(model.trainable_variables)
        want = [np.asarray(x) for x in model.get_weights()]
        self.assert_same(self.by_pstrain(description, steps=STEPS // 2, batches=4, exported=True), want, "at once")
        self.assert_same(self.by_pstrain(description, steps=(3, STEPS // 2), batches=4, exported=True), want, "resumed")

    def test_spectral_normalization(self):
        """The first values are those of the first step's checkpoint, so that Keras has the same vectors."""
        normed = keras.layers.SpectralNormalization
        model = keras.Sequential([
            keras.Input((784,), name="x"), normed(keras.layers.Dense(24, activation="tanh", kernel_regularizer="l2", name="inner"), name="hidden"),
            normed(keras.layers.Dense(10, activation="softmax", name="inner2"), power_iterations=2, name="scores")])
        model.compile(keras.optimizers.Adam(0.01, epsilon=1e-3, weight_decay=0.1), loss="sparse_categorical_crossentropy")
        with open(self.path("normed.json"), "w", encoding="utf-8") as f:
            f.write(model.to_json())

        def train(to, ps, workers, *flags):
            directory = self.path("normed-%d-%d" % (ps, workers))
            done = run("pstrain", "--model=" + self.path("normed.json"), "--train_dir=" + self.data, "--export_dir=" + self.path("normed", "%d-%d-%d" % (ps, workers, to)),
                       "--workers=%d" % workers, "--ps=%d" % ps, "--batch_size=%d" % (len(self.labels) // workers), "--stop_at_step=%d" % to,
                       "--checkpoint_dir=" + directory, *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            reader = tf.train.load_checkpoint(directory)
            return reader, {v.path: reader.get_tensor("/".join(v.path.split("/")[1:])) for v in model.variables}

        first, values = train(1, 3, 1)
        names = {v.path: "/".join(v.path.split("/")[1:]) for v in model.trainable_variables}
        for variable in model.variables:
            variable.assign(values[variable.path])
        model.optimizer.build(model.trainable_variables)
        model.optimizer.iterations.assign(1)
        for index, variable in enumerate(model.trainable_variables):
            model.optimizer._momentums[index].assign(first.get_tensor(names[variable.path] + "/Adam"))
            model.optimizer._velocities[index].assign(first.get_tensor(names[variable.path] + "/Adam_1"))
        for _ in range(STEPS):
            model.train_on_batch(self.rows, self.labels)
        want = [np.asarray(v) for v in model.variables]
        got = train(1 + STEPS, 3, 1)[1]
        self.assert_same(list(got.values()), want, "resumed")
        self.assert_same(list(train(1 + STEPS, 1, 1)[1].values()), want, "one ps")
        self.assert_same(list(train(1 + STEPS, 2, 2, "--sync")[1].values()), want, "synchronous")
        served = tf.saved_model.load(self.path("normed", "3-1-21")).signatures["predict_images"]
        outputs = served(tf.constant(self.rows[:5]))["scores"]
        assert_agrees(self, outputs.numpy(), model.predict(self.rows[:5], verbose=0), TOLERANCE, "export")

    def test_accumulation_moves_averages_with_each_batch(self):
        """Both halves of the rows are the same, so that their order does not matter."""
        half = len(self.labels) // 2
        rows, labels = np.concatenate([self.rows[:half]] * 2), np.concatenate([self.labels[:half]] * 2)
        model = keras.Sequential([keras.Input((784,), name="x"), keras.layers.BatchNormalization(momentum=0.7, name="norm"),
                                  keras.layers.Dense(10, activation="softmax", kernel_initializer="zeros", name="scores")])
        model.compile(keras.optimizers.SGD(0.1, gradient_accumulation_steps=2), loss="sparse_categorical_crossentropy")
        with open(self.path("norm.json"), "w", encoding="utf-8") as f:
            f.write(model.to_json())
        np.savez(self.path("rows.npz"), x=rows, label=labels)
        done = run("pstrain", "--model=" + self.path("norm.json"), "--train_files=" + self.path("rows.npz"), "--noexport", "--workers=1", "--ps=2",
                   "--batch_size=%d" % half, "--shuffle_buffer=0", "--stop_at_step=5", "--checkpoint_dir=" + self.path("norm"))
        self.assertEqual(done.returncode, 0, done.stderr)
        for _ in range(10):
            model.train_on_batch(rows[:half], labels[:half])
        reader = tf.train.load_checkpoint(self.path("norm"))
        for variable in model.variables:
            if variable.path.startswith(("norm/", "scores/")):
                assert_agrees(self, reader.get_tensor(variable.path), np.asarray(variable), TOLERANCE, variable.path)

    def test_loss_scale(self):
        for factor in (1024.0, 3.0):
            make = lambda **more: keras.optimizers.SGD(0.5, clipnorm=0.05, **more)  # noqa: E731
            model = self.model(make(loss_scale_factor=factor))
            description = model.to_json()
            for _ in range(STEPS):
                model.train_on_batch(self.rows, self.labels)
            want = [np.asarray(x) for x in model.get_weights()]
            self.assert_same(self.by_pstrain(description), want, factor)
            self.assert_same(self.by_pstrain(self.model(make()).to_json(), "--loss_scale_factor=%g" % factor), want, factor)

    def test_a_loss_scale_of_two_workers(self):
        """The weight of a class makes gradients overflow until the scale has fallen, and again when it has grown."""
        weights = {0: 1e10, **{c: 1.0 for c in range(1, 10)}}
        make = lambda: keras.optimizers.LossScaleOptimizer(  # noqa: E731
            keras.optimizers.SGD(schedules.InverseTimeDecay(1e-9, 3, 0.5), momentum=0.9), initial_scale=2.0**104, dynamic_growth_steps=4)
        model = self.model(make())
        for _ in range(STEPS):
            model.train_on_batch(self.rows, self.labels, class_weight=weights)
        want, made = [np.asarray(x) for x in model.get_weights()], int(model.optimizer.iterations)
        self.assertTrue(5 < made < 15, made)
        for ps in (1, 3):
            for flags in (("--sync",), (), ("--sync", "--backup_workers=1")):
                got = self.by_pstrain(self.model(make()).to_json(), "--class_weight=" + ",".join("%d:%r" % pair for pair in weights.items()), *flags,
                                      workers=2, ps=ps, steps=(7, STEPS), exported=True)
                self.assertTrue(all(np.isfinite(x).all() for x in got), flags)
                if flags == ("--sync",):  # otherwise each step has one half of the rows
                    self.assert_same(got, want, "%d ps" % ps)

    def test_a_mean_by_weights(self):
        """With class weights, and without any."""
        weights = {c: 0.5 + c for c in range(10)}
        by_weights = keras.losses.SparseCategoricalCrossentropy(reduction="mean_with_sample_weight")
        for flags, more in (((), {}), (("--class_weight=" + ",".join("%d:%g" % pair for pair in weights.items()),), {"class_weight": weights})):
            model = self.model("sgd")
            model.compile(keras.optimizers.SGD(0.5), loss=by_weights)
            for _ in range(STEPS):
                model.train_on_batch(self.rows, self.labels, **more)
            want = [np.asarray(x) for x in model.get_weights()]
            self.assert_same(self.by_pstrain(model.to_json(), *flags), want, flags)
            plain = self.model(keras.optimizers.SGD(0.5)).to_json()
            self.assert_same(self.by_pstrain(plain, "--loss_reduction=mean_with_sample_weight", *flags), want, flags)
        with self.assertRaises(AssertionError):  # it makes a difference
            self.assert_same(self.by_pstrain(plain, *flags), want, "mean")

    def assert_columns_train(self, name, model, inputs, labels, weights):
        """pstrain trains and evaluates on the columns of a file as Keras does on batches of all rows."""
        shaped = [("x", inputs), ("label", labels), ("w", weights)]
        with open(self.path("rows.csv"), "w", encoding="utf-8") as f:
            f.write("x,label,w\n" + "".join(",".join(" ".join(map(str, np.atleast_1d(v[i]))) for _, v in shaped) + "\n" for i in range(len(labels))))
        with open(self.path("schema.json"), "w", encoding="utf-8") as f:
            json.dump({"columns": [{"name": n, "dtype": "int64" if v.dtype.kind == "i" else "float32", "separator": " ", "shape": list(v.shape[1:])}
                                   if v.ndim > 1 else {"name": n} for n, v in shaped]}, f)
        model.compile(keras.optimizers.SGD(0.5), loss=model.loss)
        with open(self.path(name + ".json"), "w", encoding="utf-8") as f:
            f.write(model.to_json())
        for _ in range(STEPS):
            model.train_on_batch(inputs, labels, sample_weight=weights)
        done = run("pstrain", "--model=" + self.path(name + ".json"), "--train_files=" + self.path("rows.csv"), "--schema=" + self.path("schema.json"),
                   "--validation_files=" + self.path("rows.csv"), "--weight_column=w", "--workers=1", "--batch_size=%d" % len(labels),
                   "--stop_at_step=%d" % STEPS, "--export_dir=" + self.path(name, "1"), "--metrics_file=" + self.path(name + ".metrics"))
        self.assertEqual(done.returncode, 0, done.stderr)
        reader = tf.train.load_checkpoint(self.path(name, "1", "variables", "variables"))
        self.assert_same([reader.get_tensor("/".join(v.path.split("/")[-2:])) for v in model.variables], [np.asarray(v) for v in model.variables], name)
        with open(self.path(name + ".metrics"), encoding="utf-8") as f:
            loss, = (line["loss"] for line in map(json.loads, f) if line["kind"] == "evaluation")
        want = model.evaluate(inputs, labels, sample_weight=weights, batch_size=len(labels), verbose=0)
        self.assertLess(abs(loss - want), 1e-5 * abs(want))

    def test_a_mean_by_weights_of_steps_and_outputs(self):
        draw = np.random.RandomState(3)
        ids, tags = draw.randint(0, 6, size=(40, 5)), draw.randint(3, size=(40, 5))
        model = keras.Sequential([keras.Input((5,), dtype="int64", name="x"), keras.layers.Embedding(6, 4, "ones", mask_zero=True, name="table"),
                                  keras.layers.Dense(3, activation="softmax", kernel_initializer="zeros", name="scores")])
        model.compile(loss=keras.losses.SparseCategoricalCrossentropy(reduction="mean_with_sample_weight"))
        self.assert_columns_train("masked", model, ids, tags, draw.choice([0.0, 0.5, 2.0], (40, 5)).astype(np.float32))
        model = keras.Sequential([keras.Input((2,), name="x"), keras.layers.Dense(3, kernel_regularizer="l2", kernel_initializer="zeros", name="numbers")])
        model.compile(loss=keras.losses.MeanSquaredError(reduction="mean_with_sample_weight"))
        numbers = draw.normal(size=(40, 5)).astype(np.float32)
        self.assert_columns_train("outputs", model, numbers[:, :2], numbers[:, 2:], draw.choice([0.0, 0.5, 2.0], 40).astype(np.float32))

    def test_a_schedule_of_a_flag(self):
        want = self.by_keras(keras.optimizers.SGD(schedules.CosineDecay(0.5, STEPS)))
        description = json.loads(self.model("sgd").to_json())
        del description["compile_config"]
        flags = ["--optimizer=sgd", "--learning_rate=0.5", "--learning_rate_schedule=CosineDecay(decay_steps=%d)" % STEPS]
        self.assert_same(self.by_pstrain(json.dumps(description), *flags), want, "flag")


class Phased(TestCase):
    """A job that is continued in phases, each of which has other rows."""

    ROWS, PHASE, FIRST = 60, 5, "uniform"

    def model(self, optimizer):
        ids = keras.Input((3,), dtype="int64", name="x")
        y = keras.layers.Dense(1, name="out")(keras.layers.Flatten(name="flat")(keras.layers.Embedding(self.ROWS, 4, self.FIRST, name="table")(ids)))
        model = keras.Model(ids, y, name="table_model")
        model.compile(optimizer, loss="mse")
        return model

    def setUp(self):
        super().setUp()
        draw = np.random.RandomState(3)
        self.batches = [(low + draw.permutation(24).reshape(8, 3), draw.uniform(-1, 1, (8, 1)).astype(np.float32)) for low in (0, 12, 28)]
        self.start = [draw.uniform(-1, 1, shape).astype(np.float32) for shape in ((self.ROWS, 4), (12, 1), (1,))]
        for i, (x, y) in enumerate(self.batches):
            np.savez(self.path("batch%d.npz" % i), x=x, label=y)

    NAMES = ["table/embeddings", "out/kernel", "out/bias"]

    def by_keras(self, optimizer):
        model = self.model(optimizer)
        model.set_weights(self.start)
        for x, y in self.batches * 2:
            for _ in range(self.PHASE):
                model.train_on_batch(x, y)
        return [np.asarray(w) for w in model.get_weights()]

    def by_pstrain(self, label, *flags, ps=2):
        """The variables of the last checkpoint, whose reader is left in self.reader."""
        directory = self.path(label)
        os.makedirs(directory)
        prefix = os.path.join(directory, "model.ckpt-0")
        tf.raw_ops.SaveV2(prefix=prefix, tensor_names=self.NAMES + ["global_step"], shape_and_slices=[""] * (len(self.NAMES) + 1),
                          tensors=[tf.constant(w) for w in self.start] + [tf.constant(0, tf.int64)])
        tf.compat.v1.train.update_checkpoint_state(directory, prefix)
        self.said = ""
        for phase in range(6):
            done = run("pstrain", "--train_files=" + self.path("batch%d.npz" % (phase % 3)), "--noexport", "--workers=1", "--ps=%d" % ps, "--batch_size=8",
                       "--stop_at_step=%d" % ((phase + 1) * self.PHASE), "--checkpoint_dir=" + directory, *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.said += done.stdout + done.stderr
        self.reader = tf.train.load_checkpoint(directory)
        return [self.reader.get_tensor(name) for name in self.NAMES]

    def describe(self, optimizer):
        with open(self.path("table.json"), "w", encoding="utf-8") as f:
            f.write(self.model(optimizer).to_json())
        return "--model=" + self.path("table.json")


class Tables(Phased):
    """Embedding: each phase of a job has other ids, so that rows without a gradient have slots. No batch has an id twice: Keras 3 squares
    the gradient of each occurrence, where TensorFlow 1, Keras 2 and pstrain square their sum."""

    def test_optimizers_of_a_description_move_the_rows_that_keras_moves(self):
        o = keras.optimizers
        for i, make in enumerate((
                lambda: o.SGD(0.1), lambda: o.SGD(0.02, momentum=0.9), lambda: o.SGD(0.02, momentum=0.9, nesterov=True), lambda: o.Adagrad(0.1),
                lambda: o.Adam(0.01, epsilon=1e-3), lambda: o.AdamW(0.01, epsilon=1e-3, weight_decay=0.1), lambda: o.RMSprop(0.01, epsilon=1e-3),
                lambda: o.SGD(0.1, weight_decay=0.1),
                lambda: o.RMSprop(0.01, epsilon=1e-3, momentum=0.5, centered=True), lambda: o.Adadelta(0.5, epsilon=1e-3),
                lambda: o.Adamax(0.01, epsilon=1e-3), lambda: o.Nadam(0.01, epsilon=1e-3),
                lambda: o.Ftrl(0.1, beta=0.1, l2_shrinkage_regularization_strength=0.01))):
            with self.subTest(make().name):
                want = self.by_keras(make())
                for ours, theirs in zip(self.by_pstrain("job%d" % i, self.describe(make())), want, strict=True):
                    assert_agrees(self, ours, theirs, TOLERANCE, make().name)

    def test_gradients_of_an_id_that_occurs_twice_are_summed_first(self):
        """As Keras computes with dense gradients, and TensorFlow 1 and Keras 2 with all."""
        o = keras.optimizers
        draw = np.random.RandomState(8)
        self.batches = [(low + draw.randint(0, 6, (8, 3)), y) for low, (_, y) in zip((0, 3, 28), self.batches, strict=True)]
        for i, (x, y) in enumerate(self.batches):
            np.savez(self.path("batch%d.npz" % i), x=x, label=y)
        for i, make in enumerate((lambda: o.SGD(0.02, momentum=0.9), lambda: o.Adagrad(0.1), lambda: o.Adam(0.01), lambda: o.RMSprop(0.01),
                                  lambda: o.Nadam(0.01), lambda: o.Adadelta(0.5))):
            with self.subTest(make().name):
                model = self.model(make())
                apply = model.optimizer.apply
                model.optimizer.apply = lambda gradients, variables: apply([tf.convert_to_tensor(g) for g in gradients], variables)  # noqa: B023
                model.set_weights(self.start)
                for x, y in self.batches * 2:
                    for _ in range(self.PHASE):
                        model.train_on_batch(x, y)
                for ours, theirs in zip(self.by_pstrain("twice%d" % i, self.describe(make())), model.get_weights(), strict=True):
                    assert_agrees(self, ours, theirs, TOLERANCE, make().name)

    def test_ftrl_leaves_rows_alone_that_stay_as_they_are(self):
        """As long as they began as 0, the rate is constant, and nothing shrinks them."""
        self.FIRST = "zeros"
        self.start[0][:] = 0
        for i, (settings, spared) in enumerate((({}, True), ({"l1_regularization_strength": 0.01, "l2_regularization_strength": 0.1}, True),
                                                ({"l2_shrinkage_regularization_strength": 0.01}, False))):
            optimizer = keras.optimizers.Ftrl(0.1, beta=0.1, **settings)
            with self.subTest(settings):
                for ours, theirs in zip(self.by_pstrain("rests%d" % i, self.describe(optimizer)), self.by_keras(optimizer), strict=True):
                    assert_agrees(self, ours, theirs, TOLERANCE, str(settings))
                self.assertEqual("Each step updates all rows" not in self.said, spared, self.said)

    def test_lazy_rows_keep_the_slots_of_other_rows(self):
        model = self.describe(keras.optimizers.SGD(0.02, momentum=0.9))
        lazy, all_rows = self.by_pstrain("lazy", model, "--lazy_rows"), self.by_pstrain("all", model)
        self.assertGreater(np.abs(lazy[0] - all_rows[0]).max(), 0.01)
        np.testing.assert_array_equal(lazy[0][52:], self.start[0][52:])  # no batch has these

    def test_different_optimizers_for_different_variables(self):
        """As Keras with an optimizer for each; the job continues from a checkpoint five times."""
        o = keras.optimizers
        others = "table/*=adagrad(learning_rate=0.2); */bias = ftrl(learning_rate=0.1, l1_regularization_strength=0.01,beta=0.1)"
        self.check_different("each", others, [o.Adagrad(0.2, epsilon=0), o.Ftrl(0.1, l1_regularization_strength=0.01, beta=0.1)], {
            "table/embeddings/Adagrad", "out/bias/Ftrl", "out/bias/Ftrl_1"})

    def test_different_optimizers_with_scalars_and_norms(self):
        o = keras.optimizers
        others = "table/*=adam(learning_rate=0.02, epsilon=1e-2, beta_1=0.8); */bias=lamb(learning_rate=0.05, epsilon=1e-3, beta_2=0.9)"
        self.check_different("scalars", others, [o.Adam(0.02, epsilon=1e-2, beta_1=0.8), o.Lamb(0.05, epsilon=1e-3, beta_2=0.9)], {
            "table/embeddings/Adam", "table/embeddings/Adam_1", "out/bias/LAMB", "out/bias/LAMB_1", "beta1_power_1", "beta2_power_1", "beta1_power_2",
            "beta2_power_2"})

    def test_a_multi_optimizer_of_a_description(self):
        """As in Keras, the momentum of the table's rows goes on in steps without a gradient of theirs."""
        o = keras.optimizers

        def make():
            return o.MultiOptimizer(o.OptimizerMap(o.Adam(0.01, epsilon=1e-3), {
                ".*table/(embeddings|kernel)": o.SGD(0.02, momentum=0.9), ".*out/bias": o.Ftrl(0.1, beta=0.1)}))
        description = self.describe(make())
        for ours, theirs in zip(self.by_pstrain("map", description, ps=3), self.by_keras(make()), strict=True):
            assert_agrees(self, ours, theirs, TOLERANCE, "MultiOptimizer")
        names = set(tf.train.load_checkpoint(self.path("map")).get_variable_to_shape_map())
        self.assertLessEqual({"table/embeddings/Momentum", "out/kernel/Adam", "out/bias/Ftrl"}, names)

    def check_different(self, label, others, optimizers, keys):
        """Keras' optimizers of the table and the bias, beside the job's Adam, and the keys that they have in a checkpoint."""
        make = lambda: keras.optimizers.Adam(0.01, epsilon=1e-3)  # noqa: E731
        model, each = self.model(make()), [optimizers[0], make(), optimizers[1]]
        model.set_weights(self.start)
        for x, y in self.batches * 2:
            for _ in range(self.PHASE):
                with tf.GradientTape() as tape:
                    loss = keras.losses.MeanSquaredError()(y, model(x))
                for optimizer, variable, gradient in zip(each, model.trainable_variables, tape.gradient(loss, model.trainable_variables), strict=True):
                    optimizer.apply([gradient], [variable])
        for ours, theirs in zip(self.by_pstrain(label, self.describe(make()), "--optimizer_for=" + others, ps=3), model.get_weights(), strict=True):
            assert_agrees(self, ours, theirs, TOLERANCE, label)
        names = set(tf.train.load_checkpoint(self.path(label)).get_variable_to_shape_map())
        self.assertEqual(names - {"input_position", "input_readers"}, {*self.NAMES, "global_step", "beta1_power", "beta2_power", "out/kernel/Adam", "out/kernel/Adam_1", *keys})

    def test_lazy_forms_move_the_rows_of_a_batch_as_keras_does(self):
        """Keras, whose steps have the same rows each time, moves the others by the decay alone."""
        o, own = keras.optimizers, 24
        self.batches = self.batches[:1] * 3
        for i in range(3):
            np.savez(self.path("batch%d.npz" % i), x=self.batches[0][0], label=self.batches[0][1])
        for i, make in enumerate((lambda: o.Adam(0.01, epsilon=1e-3), lambda: o.AdamW(0.01, epsilon=1e-3, weight_decay=0.1),
                                  lambda: o.Adamax(0.01, epsilon=1e-3), lambda: o.Nadam(0.01, epsilon=1e-3), lambda: o.Lion(0.001, weight_decay=0.1))):
            with self.subTest(make().name):
                got, want = self.by_pstrain("lazily%d" % i, self.describe(make()), "--lazy_rows"), self.by_keras(make())
                assert_agrees(self, got[0][:own], want[0][:own], TOLERANCE, make().name)
                assert_agrees(self, got[1], want[1], TOLERANCE, make().name)
                np.testing.assert_array_equal(got[0][own:], self.start[0][own:])
                self.assertNotIn("Each step updates all rows", self.said)

    def test_steps_of_several_batches_have_the_rows_of_all(self):
        """Each step takes the three batches' rows together, which no batch has alone; the order of the batches does not matter."""
        keys = range(3)
        x, y = (np.concatenate([self.batches[i][part] for i in keys]) for part in (0, 1))
        np.savez(self.path("all.npz"), x=x, label=y)
        for i, make in enumerate((lambda **more: keras.optimizers.SGD(0.1, clipnorm=0.05, **more),
                                  lambda **more: keras.optimizers.Adam(0.01, epsilon=1e-3, **more))):
            with self.subTest(make().name):
                model = self.model(make())
                model.set_weights(self.start)
                for _ in range(6 * self.PHASE):
                    with tf.GradientTape() as tape:  # the mean over the batches, each id once a batch as Keras sees it
                        loss = tf.add_n([keras.losses.MeanSquaredError()(self.batches[i][1], model(self.batches[i][0])) for i in keys]) / 3
                    gradients = tape.gradient(loss, model.trainable_variables)
                    model.optimizer.apply([tf.convert_to_tensor(g) for g in gradients], model.trainable_variables)
                for part in keys:
                    np.savez(self.path("batch%d.npz" % part), x=x, label=y)
                got = self.by_pstrain("accumulated%d" % i, self.describe(make(gradient_accumulation_steps=3)))
                for ours, theirs in zip(got, model.get_weights(), strict=True):
                    assert_agrees(self, ours, theirs, TOLERANCE, make().name)


class LossScale(Phased):
    """Keras' LossScaleOptimizer. The labels of a phase are so large that the gradients of the scaled loss overflow until the scale has
    fallen, or for the whole phase. The scale grows in the other phases. Each phase goes on from the checkpoint of the one before."""

    NAMES = ["table/embeddings", "norm/gamma", "norm/beta", "norm/moving_mean", "norm/moving_variance", "out/kernel", "out/bias"]
    SCALE, GROWTH = 2.0**100, 3

    def model(self, optimizer):
        ids = keras.Input((3,), dtype="int64", name="x")
        y = keras.layers.Flatten(name="flat")(keras.layers.Embedding(self.ROWS, 4, name="table")(ids))
        y = keras.layers.Dense(1, name="out")(keras.layers.BatchNormalization(name="norm", momentum=0.8)(y))
        model = keras.Model(ids, y, name="scaled_model")
        model.compile(optimizer, loss="mse")
        return model

    def setUp(self):
        super().setUp()
        draw = np.random.RandomState(4)
        start = [draw.uniform(-1, 1, shape).astype(np.float32) for shape in ((self.ROWS, 4), (12,), (12,), (12,), (12, 1), (1,))]
        self.start = start[:4] + [np.ones(12, np.float32)] + start[4:]

    def make_large(self, label):
        x, y = self.batches[1]
        y[0] = label
        np.savez(self.path("batch1.npz"), x=x, label=y)

    def scaled(self, inner):
        return keras.optimizers.LossScaleOptimizer(inner, initial_scale=self.SCALE, dynamic_growth_steps=self.GROWTH)

    def by_keras(self, optimizer):
        self.optimizer = optimizer
        return super().by_keras(optimizer)

    def assert_same_state(self, label):
        optimizer, read = self.optimizer, self.reader.get_tensor
        self.assertEqual(read("dynamic_scale"), float(optimizer.dynamic_scale), label)
        self.assertEqual(read("step_counter"), int(optimizer.step_counter), label)
        iterations = int(optimizer.inner_optimizer.iterations)
        self.assertEqual(6 * self.PHASE - read("skipped_steps"), iterations, label)
        return iterations

    def test_optimizers_inside_it(self):
        o = keras.optimizers
        for label, skips_all in ((1e10, False), (1e15, True)):
            self.make_large(label)
            for i, make in enumerate((
                    lambda: o.SGD(schedules.InverseTimeDecay(0.05, 2, 0.5), momentum=0.9, clipnorm=0.5),
                    lambda: o.Adam(0.01, epsilon=1e-3, global_clipnorm=0.5, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=3),
                    lambda: o.AdamW(0.01, epsilon=1e-3, weight_decay=0.1, clipvalue=0.1), lambda: o.Nadam(0.01, epsilon=1e-3, clipnorm=0.5))):
                name = "%s %g" % (make().name, label)
                with self.subTest(name):
                    want = self.by_keras(self.scaled(make()))
                    for ps in (1, 3):
                        got = self.by_pstrain("scaled%g_%d_%d" % (label, i, ps), self.describe(self.scaled(make())), ps=ps)
                        for ours, theirs, of in zip(got, want, self.NAMES, strict=True):
                            assert_agrees(self, ours, theirs, TOLERANCE, name + " " + of)
                        made = self.assert_same_state(name)
                        self.assertTrue(made == 20 if skips_all else 20 < made < 30, made)
                        self.assertIn("is skipped, and the scale halved", self.said)

    def test_steps_of_several_batches(self):
        """The scale grows by batches, as in Keras."""
        self.GROWTH = 7
        make = lambda: self.scaled(keras.optimizers.SGD(0.05, clipnorm=0.5, gradient_accumulation_steps=2))  # noqa: E731
        got = self.by_pstrain("several", self.describe(make()))
        self.PHASE *= 2
        want = self.by_keras(make())
        for ours, theirs, of in zip(got, want, self.NAMES, strict=True):
            assert_agrees(self, ours, theirs, TOLERANCE, of)
        self.assertEqual(self.reader.get_tensor("dynamic_scale"), float(self.optimizer.dynamic_scale))
        self.assertEqual(self.reader.get_tensor("step_counter"), int(self.optimizer.step_counter))

    def test_flags(self):
        """They say the same as the description, and a constant factor replaces it."""
        self.make_large(1e10)
        inner = lambda: keras.optimizers.SGD(0.05, clipnorm=0.5)  # noqa: E731
        want = self.by_keras(self.scaled(inner()))
        got = self.by_pstrain("flags", self.describe(inner()), "--initial_scale=%r" % self.SCALE, "--dynamic_growth_steps=%d" % self.GROWTH)
        self.assert_same_state("flags")
        want_constant = self.by_keras(inner())
        constant = self.by_pstrain("constant", self.describe(self.scaled(inner())), "--loss_scale_factor=8")
        for ours, theirs in zip(got + constant, want + want_constant, strict=True):
            assert_agrees(self, ours, theirs, TOLERANCE, "flags")
        self.assertFalse(self.reader.has_tensor("dynamic_scale"))


class BuiltInTables(TestCase):
    """The built-in models with tables, from TFRecords, against the same descriptions in Keras."""

    def check(self, name, inputs):
        """inputs: {name: values}"""
        with open(os.path.join(os.environ["SLIPWAY_SOURCE"], "models", name + ".json"), encoding="utf-8") as f:
            text = f.read()
        model, draw = keras.models.model_from_json(text), np.random.RandomState(4)
        model.compile(keras.optimizers.Adagrad(0.05), loss="binary_crossentropy")
        model.set_weights([draw.uniform(-0.3, 0.3, w.shape).astype(np.float32) for w in model.get_weights()])
        names, start = [w.path for w in model.weights], model.get_weights()
        rows = len(next(iter(inputs.values())))
        labels = draw.randint(0, 2, (rows, 1)).astype(np.float32)
        with tf.io.TFRecordWriter(self.path("rows.tfrecord")) as writer:
            for i in range(rows):
                feature = {k: tf.train.Feature(int64_list=tf.train.Int64List(value=v[i])) if v.dtype == np.int64 else
                           tf.train.Feature(float_list=tf.train.FloatList(value=v[i])) for k, v in {**inputs, "label": labels}.items()}
                writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
        directory = self.path("ckpt")
        os.makedirs(directory)
        prefix = os.path.join(directory, "model.ckpt-0")
        tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names + ["global_step"], shape_and_slices=[""] * (len(names) + 1),
                          tensors=[tf.constant(w) for w in start] + [tf.constant(0, tf.int64)])
        tf.compat.v1.train.update_checkpoint_state(directory, prefix)
        done = run("pstrain", "--model=" + name, "--train_files=" + self.path("rows.tfrecord"), "--test_files=" + self.path("rows.tfrecord"), "--noexport",
                   "--workers=1", "--ps=3", "--batch_size=%d" % rows, "--stop_at_step=%d" % STEPS, "--learning_rate=0.05", "--checkpoint_dir=" + directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        for _ in range(STEPS):
            model.train_on_batch(inputs, labels)
        reader = tf.train.load_checkpoint(directory)
        for key, theirs in zip(names, model.get_weights(), strict=True):
            assert_agrees(self, reader.get_tensor(key), np.asarray(theirs), TOLERANCE, key)

    def test_two_tower(self):
        draw = np.random.RandomState(5)  # no id twice: see Tables
        self.check("two_tower", {k: draw.permutation(100000)[:40].reshape(40, 1).astype(np.int64) for k in ("user", "item")})

    def test_wide_deep(self):
        draw = np.random.RandomState(6)
        self.check("wide_deep", {"ids": draw.permutation(100000)[:30 * 26].reshape(30, 26).astype(np.int64),
                                 "numbers": draw.uniform(-1, 1, (30, 13)).astype(np.float32)})


if __name__ == "__main__":
    main()

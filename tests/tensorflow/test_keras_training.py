"""A job of one worker changes the variables as Keras' fit does: optimizers, learning rate schedules and clipping,
from a compiled description or from flags.

Every batch is the whole data set, so the order of the rows does not matter, and the variables begin at zero."""
import json
import os

from tensorflow_here import assert_agrees, np, tf

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

    def by_pstrain(self, description, *flags, steps=STEPS, workers=1):
        self.jobs += 1
        model, checkpoints = self.path("model%d.json" % self.jobs), self.path("ckpt%d" % self.jobs)
        with open(model, "w", encoding="utf-8") as f:
            f.write(description)
        for stop in steps if isinstance(steps, tuple) else (steps,):
            done = run("pstrain", "--model=" + model, "--train_dir=" + self.data, "--noexport", "--workers=%d" % workers, "--ps=3",
                       "--batch_size=%d" % (len(self.labels) // workers), "--stop_at_step=%d" % stop, "--checkpoint_dir=" + checkpoints, *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
        reader = tf.train.load_checkpoint(checkpoints)
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
                          lambda: keras.optimizers.Ftrl(0.5, beta=0.1, l2_shrinkage_regularization_strength=0.01)):
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

    def test_a_schedule_of_a_flag(self):
        want = self.by_keras(keras.optimizers.SGD(schedules.CosineDecay(0.5, STEPS)))
        description = json.loads(self.model("sgd").to_json())
        del description["compile_config"]
        flags = ["--optimizer=sgd", "--learning_rate=0.5", "--learning_rate_schedule=CosineDecay(decay_steps=%d)" % STEPS]
        self.assert_same(self.by_pstrain(json.dumps(description), *flags), want, "flag")


if __name__ == "__main__":
    main()

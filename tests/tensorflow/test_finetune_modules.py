"""pstrain --from_savedmodel trains functions of TensorFlow whose gradients need more than layers do: outputs that are derivatives, ragged
and sparse tensors, branches and lists."""
import csv
import json

from tensorflow_oracle import assert_agrees, np, tf

from harness import TestCase, main, run

ROWS, BATCH, EPOCHS, RATE = 16, 8, 3, 0.05


class Module(tf.Module):
    """Variables v[0], v[1], … of the given shapes, and the serving function."""

    def __init__(self, compute, specs, *shapes):
        super().__init__()
        draw = np.random.RandomState(1)
        self.v = [tf.Variable(draw.uniform(-0.5, 0.5, shape).astype(np.float32), name="v%d" % i) for i, shape in enumerate(shapes)]
        self.compute = tf.function(lambda *inputs: {"y": compute(self.v, *inputs)}, input_signature=specs)


def derivative(v, x):
    """A value, its slopes and their squares, through ops of which each has a curve or a step."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        h = tf.nn.softplus(tf.sigmoid(tf.nn.bias_add(tf.tanh(tf.nn.bias_add(x @ v[0], v[1])) @ v[2], v[3])))
        h = tf.nn.leaky_relu(tf.nn.selu(h - 0.9) + tf.sqrt(h) + tf.math.rsqrt(h + 1) - 1)
        u = (tf.nn.elu(h) + tf.nn.relu(1 / (h + 4))) @ v[4]
    slopes = tape.gradient(u, x)
    return u + slopes[:, :1] + tf.reduce_sum(slopes[:, 1:] ** 2, 1, keepdims=True)


def ragged(v, ids, splits):
    """Embeddings of lists that become a dense tensor."""
    rows = tf.RaggedTensor.from_row_splits(tf.gather(v[0] * 1.5, ids), splits, validate=False).to_tensor()
    places = tf.cast(tf.range(1, 1 + tf.shape(rows)[1]), tf.float32)
    return tf.reduce_sum(tf.tanh(rows) * places[None, :, None], 1) @ v[1]


def branches(v, x):
    """A branch of three, and columns that are gathered from a TensorArray."""
    h = x @ v[0]
    index = tf.math.floormod(tf.shape(x)[0], 3)
    h = tf.switch_case(index, [lambda: tf.tanh(h), lambda: h * h, lambda: tf.sigmoid(h) + tf.reduce_sum(v[1])])
    columns = tf.TensorArray(tf.float32, 4, element_shape=[None]).unstack(tf.transpose(h))
    some = tf.transpose(columns.gather([2, 0, 1]))
    return tf.math.reduce_euclidean_norm(some, 1, keepdims=True) + h @ v[1]


def sparse(v, x):
    """Attention to neighbours: weights of edges, which a softmax makes."""
    edges = tf.constant([[0, 0], [2, 0], [0, 2], [1, 1], [2, 3], [3, 3]], tf.int64)
    weights = tf.sparse.softmax(tf.sparse.reorder(tf.SparseTensor(edges, v[2], [4, 4])))
    h = tf.transpose(tf.sparse.sparse_dense_matmul(weights, tf.tanh(x @ v[0]), adjoint_b=True))
    return h @ v[1] + tf.reduce_sum(tf.sparse.reduce_sum(weights * v[0][0], 1) * h, 1, keepdims=True)


def sparse_to_dense(v, x):
    """A matrix of chosen weights, whose rank the ops before must tell."""
    edges = tf.constant([[8], [0], [2], [5], [15], [11]], tf.int64)
    weights = tf.sparse.reshape(tf.sparse.reorder(tf.SparseTensor(edges, v[2], [16])), [4, -1])
    return tf.tanh(x @ v[0]) @ tf.sparse.to_dense(weights) @ v[1]


class Finetune(TestCase):
    def write(self, columns, rows, labels):
        with open(self.path("rows.csv"), "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*columns, "label"])
            writer.writerows([*row, repr(float(label))] for row, label in zip(rows, labels))

    def assert_tunes(self, module, batch, labels, *flags):
        """The export answers as the module does after plain gradient descent."""
        tf.saved_model.save(module, self.path("start"), module.compute)
        done = run("pstrain", "--from_savedmodel=" + self.path("start"), "--train_files=" + self.path("rows.csv"), "--loss=mse", "--optimizer=sgd",
                   "--learning_rate=%g" % RATE, "--shuffle_buffer=0", "--workers=1", "--batch_size=%d" % BATCH, "--epochs=%d" % EPOCHS,
                   "--export_dir=" + self.path("out"), *flags)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        before = module.compute(*batch(0))["y"].numpy()
        for first in list(range(0, ROWS, BATCH)) * EPOCHS:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((module.compute(*batch(first))["y"][:, 0] - labels[first:first + BATCH]) ** 2)
            for variable, gradient in zip(module.v, tape.gradient(loss, module.v)):
                variable.assign_sub(RATE * tf.convert_to_tensor(gradient))
        want, inputs = module.compute(*batch(0))["y"].numpy(), dict(zip(("x", "x_1"), batch(0)))
        got = tf.saved_model.load(self.path("out")).signatures["serving_default"](**inputs)["y"].numpy()
        self.assertGreater(np.abs(want - before).max(), 1e-3)
        assert_agrees(self, got, want, 1e-5, "answers")

    def assert_tunes_numbers(self, compute, *shapes):
        draw = np.random.RandomState(2)
        x, labels = draw.uniform(-1, 1, (ROWS, 3)).astype(np.float32), draw.uniform(-1, 1, ROWS).astype(np.float32)
        self.write("abc", [[repr(float(value)) for value in row] for row in x], labels)
        module = Module(compute, [tf.TensorSpec([None, 3], tf.float32, "x")], *shapes)
        self.assert_tunes(module, lambda first: [tf.constant(x[first:first + BATCH])], labels)

    def test_derivatives(self):
        self.assert_tunes_numbers(derivative, (3, 8), (8,), (8, 5), (5,), (5, 1))

    def test_branches_and_lists(self):
        self.assert_tunes_numbers(branches, (3, 4), (4, 1))

    def test_sparse_softmax(self):
        self.assert_tunes_numbers(sparse, (3, 4), (4, 1), (6,))

    def test_sparse_to_dense(self):
        self.assert_tunes_numbers(sparse_to_dense, (3, 4), (4, 1), (6,))

    def test_ragged_to_dense(self):
        draw = np.random.RandomState(3)
        rows = [[int(i) for i in draw.randint(0, 12, count)] for count in (1, 3, 0, 2) * (ROWS // 4)]
        labels = draw.uniform(-1, 1, ROWS).astype(np.float32)
        self.write(["x"], [["|".join(map(str, row))] for row in rows], labels)
        with open(self.path("schema.json"), "w", encoding="utf-8") as file:
            json.dump({"columns": [{"name": "label"}, {"name": "x", "kind": "ragged", "dtype": "int64", "separator": "|"}]}, file)

        def batch(first):
            some = rows[first:first + BATCH]
            return [tf.constant(sum(some, []), tf.int64), tf.constant(np.cumsum([0] + [len(row) for row in some]), tf.int64)]
        specs = [tf.TensorSpec([None], tf.int64, name) for name in ("x", "x_1")]
        self.assert_tunes(Module(ragged, specs, (12, 4), (4, 1)), batch, labels, "--schema=" + self.path("schema.json"))


if __name__ == "__main__":
    main()

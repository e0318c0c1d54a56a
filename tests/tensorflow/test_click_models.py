"""The built-in models of clicks end on the log loss that TensorFlow gives the same model from the same first values, on a sample of
Criteo's display ads."""
import csv
import json
import os
import re

from tensorflow_oracle import np, tf

from harness import SOURCE, TestCase, main, run, shared

keras = tf.keras
STEPS = 40  # further on, the training amplifies roundings: 1e-7 at the start has become 1e-3 after 60
NUMBERS, CATEGORIES = ["I%d" % i for i in range(1, 14)], ["C%d" % i for i in range(1, 27)]
INPUTS = {"ids": ["C*"], "numbers": ["I*"]}


def read_examples(path):
    """The columns of a TFRecord of tf.Examples: {"ids", "numbers"}, labels."""
    rows = [tf.train.Example.FromString(r.numpy()).features.feature for r in tf.data.TFRecordDataset(path)]
    return ({"ids": np.int64([[row[c].int64_list.value[0] for c in CATEGORIES] for row in rows]),
             "numbers": np.float32([[row[i].float_list.value[0] for i in NUMBERS] for row in rows])},
            np.float32([row["label"].float_list.value for row in rows]))


def read_lists(path):
    """The columns of a libffm file: {"index", "value"}, labels."""
    with open(path, encoding="utf-8") as f:
        rows = [line.split() for line in f]
    data = {name: np.zeros((len(rows), max(map(len, rows)) - 1), dtype) for name, dtype in (("index", np.int64), ("value", np.float32))}
    for i, row in enumerate(rows):
        for k, pair in enumerate(row[1:]):
            _, data["index"][i, k], data["value"][i, k] = pair.split(":")
    return data, np.float32([[float(row[0])] for row in rows])


def description(name):
    with open(os.path.join(SOURCE, "models", name + ".json"), encoding="utf-8") as f:
        return f.read()


def log_loss(model, inputs, labels):
    return float(tf.reduce_mean(keras.losses.binary_crossentropy(labels, model(inputs))))


def train(model, inputs, labels):
    """Steps with all rows. Duplicate ids are summed before an update, as TensorFlow 1 and pstrain do; Keras 3 sums their squares."""
    optimizer = keras.optimizers.Adagrad(0.05)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.binary_crossentropy(labels, model(inputs)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip([tf.convert_to_tensor(g) for g in gradients], model.trainable_variables))

    optimizer.build(model.trainable_variables)
    for _ in range(STEPS):
        step()


class ClickModels(TestCase):
    def schema(self, columns):
        with open(self.path("schema.json"), "w", encoding="utf-8") as f:
            json.dump({"columns": columns, "inputs": INPUTS}, f)
        return "--schema=" + self.path("schema.json")

    def compare(self, name, flags, rows, tests):
        """Trains both from the values of pstrain's first checkpoint."""
        checkpoints = self.path("ckpt-" + name)
        done = run("pstrain", "--model=" + name, *flags, "--batch_size=%d" % len(rows[1]), "--stop_at_step=%d" % STEPS, "--workers=1", "--ps=2",
                   "--checkpoint_dir=" + checkpoints, "--max_to_keep=0", "--noexport")
        self.assertEqual(done.returncode, 0, done.stderr)
        first = tf.train.load_checkpoint(os.path.join(checkpoints, "model.ckpt-0"))
        model = keras.models.model_from_json(description(name))
        for variable in model.weights:
            variable.assign(first.get_tensor("/".join(variable.path.split("/")[-2:])))
        before = log_loss(model, *rows)
        train(model, *rows)
        self.assertLess(log_loss(model, *rows), before - 0.05, "the model must have learned something")
        got = float(re.findall(r"Test: loss ([0-9.]+)", done.stdout + done.stderr)[-1])
        self.assertAlmostEqual(got, log_loss(model, *tests), delta=1e-3, msg=name)

    def test_lists_of_columns(self):
        """Of a libffm file. Keras' rows are padded as those of pstrain."""
        rows, tests = (shared("data", "criteo-sample", "libffm_small_%s.txt" % part) for part in ("train", "test"))
        with open(self.path("lists.json"), "w", encoding="utf-8") as f:
            json.dump({"columns": [{"name": "label"}, {"name": "index", "kind": "ragged", "dtype": "int64"}, {"name": "value", "kind": "ragged"}]}, f)
        flags = ["--data_format=libffm", "--schema=" + self.path("lists.json"), "--train_files=" + rows, "--test_files=" + tests]
        for name in ("sparse_fm", "sparse_wide_deep", "sparse_deepfm", "sparse_dcn_v2"):
            with self.subTest(name):
                self.compare(name, flags, read_lists(rows), read_lists(tests))

    def test_examples(self):
        columns = [{"name": "label"}] + [{"name": i} for i in NUMBERS] + [{"name": c, "dtype": "int64"} for c in CATEGORIES]
        files = [shared("data", "criteo-sample", "criteo_sample.%s.tfrecords" % part) for part in ("tr", "te")]
        flags = [self.schema(columns), "--train_files=" + files[0], "--test_files=" + files[1]]
        for name in ("wide_deep", "fm", "deepfm", "dcn_v2"):
            with self.subTest(name):
                self.compare(name, flags, read_examples(files[0]), read_examples(files[1]))

    def test_csv_with_missing_values_and_hashed_categories(self):
        path = shared("data", "criteo-sample", "criteo_sample.txt")
        with open(path, encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
        numbers = np.array([[float(row[i] or 0) for i in NUMBERS] for row in rows])
        mean, stddev = numbers.mean(0), numbers.std(0) + 1
        columns = [{"name": "label"}]
        columns += [{"name": n, "default": 0, "mean": float(m), "stddev": float(s)} for n, m, s in zip(NUMBERS, mean, stddev)]
        columns += [{"name": c, "dtype": "string", "hash_buckets": 100000} for c in CATEGORIES]
        ids = tf.strings.to_hash_bucket_fast([[row[c] for c in CATEGORIES] for row in rows], 100000).numpy()
        data = {"ids": ids, "numbers": ((numbers - mean) / stddev).astype(np.float32)}, np.float32([[float(row["label"])] for row in rows])
        flags = [self.schema(columns), "--data_format=csv", "--train_files=" + path, "--test_files=" + path]
        self.compare("fm", flags, data, data)


if __name__ == "__main__":
    main()

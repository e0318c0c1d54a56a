"""pstrain trains on files of records: CSV, libsvm, TFRecord and npz, and on real data where it is there."""
import gzip
import json
import random
import re
import struct

from harness import Server, TestCase, main, run, shared


def logistic(width, binary=False):
    """A description of logistic regression: `width` numbers, two classes, or the probability of one."""
    layers = [{"module": "keras.layers", "class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, width], "dtype": "float32"}},
              {"module": "keras.layers", "class_name": "Dense", "config": {
                  "name": "dense", "units": 1 if binary else 2, "activation": "sigmoid" if binary else "softmax",
                  "kernel_initializer": {"module": "keras.initializers", "class_name": "Zeros", "config": {}}}}]
    sgd = {"module": "keras.optimizers", "class_name": "SGD", "config": {"learning_rate": 0.3}}
    return {"module": "keras", "class_name": "Sequential", "config": {"name": "logistic", "layers": layers},
            "compile_config": {"optimizer": sgd, "loss": "binary_crossentropy" if binary else "sparse_categorical_crossentropy", "metrics": ["accuracy"]}}


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def record(data):
    size = struct.pack("<Q", len(data))
    return size + struct.pack("<I", crc32c(size)) + data + struct.pack("<I", crc32c(data))


def message(field, data):
    assert len(data) < 128
    return bytes([field << 3 | 2, len(data)]) + data


def example(**features):
    """An Example of one float per feature."""
    entries = b""
    for name, value in features.items():
        floats = message(2, message(1, struct.pack("<f", value)))
        entries += message(1, message(1, name.encode()) + message(2, floats))
    return message(1, entries)


class FilesTestCase(TestCase):
    def write(self, name, text):
        with open(self.path(name), "wb" if isinstance(text, bytes) else "w") as file:
            file.write(text)
        return self.path(name)

    def model(self, width, binary=False):
        return self.write("logistic.json", json.dumps(logistic(width, binary)))

    def train(self, *flags, code=0):
        done = run("pstrain", "--log_level=info", "--sync", *flags)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr


class TrainFiles(FilesTestCase):
    def line(self, count=2000, seed=1):
        """Points of y = 2x + 10 and noise, as in the users' report."""
        numbers = random.Random(seed)
        xs = [numbers.uniform(-1, 1) for _ in range(count)]
        return [(x, 2 * x + 10 + numbers.gauss(0, .1)) for x in xs]

    def assert_is_the_line(self, directory):
        """Does the export, served, answer 2x + 10?"""
        with Server(directory) as server:
            got = server.post("/v1/models/default:predict", {"signature_name": "predict", "instances": [[0], [1], [-1]]})
            self.assertEqual(got.status, 200, got)
            for answer, want in zip(got.json["predictions"], (10, 12, 8)):
                self.assertAlmostEqual(answer[0], want, delta=.05)  # the noise of 2000 points, .1 / sqrt(2000), many times

    def test_a_csv_file(self):
        points = self.line()
        path = self.write("line.csv", "x,y\r\n" + "".join('%.6f,"%.6f"\r\n' % point for point in points))
        shown = self.train("--model=linear", "--train_files=" + path, "--test_files=" + path, "--label_column=y",
                           "--export_dir=" + self.path("line/1"))
        self.assertIn("Training linear on 1 file: '%s'" % path, shown)
        self.assertRegex(shown, r"Test: mean squared error 0\.0(09|10)")  # the variance of the noise
        self.assert_is_the_line(self.path("line"))

    def test_two_inputs_of_a_functional_model(self):
        """y = 2a - 3b + 1: each input takes the column of its name, and the printed question names both."""
        numbers = random.Random(2)
        points = [(numbers.uniform(-1, 1), numbers.uniform(-1, 1)) for _ in range(2000)]
        path = self.write("plane.csv", "b,a,y\n" + "".join("%.6f,%.6f,%.6f\n" % (b, a, 2 * a - 3 * b + 1) for a, b in points))
        inputs = [{"class_name": "InputLayer", "name": name, "config": {"name": name, "batch_shape": [None, 1]}, "inbound_nodes": []}
                  for name in "ab"]
        factors = [{"class_name": "Dense", "name": "of_" + name, "config": {"name": "of_" + name, "units": 1},
                    "inbound_nodes": [[[name, 0, 0, {}]]]} for name in "ab"]
        total = {"class_name": "Add", "name": "sum", "config": {"name": "sum"}, "inbound_nodes": [[["of_a", 0, 0, {}], ["of_b", 0, 0, {}]]]}
        model = self.write("plane.json", json.dumps({"class_name": "Functional", "config": {
            "name": "plane", "layers": inputs + factors + [total], "input_layers": [["a", 0, 0], ["b", 0, 0]], "output_layers": [["sum", 0, 0]]}}))
        shown = self.train("--model=" + model, "--train_files=" + path, "--label_column=y", "--optimizer=sgd", "--learning_rate=0.1",
                           "--epochs=20", "--export_dir=" + self.path("plane/1"))
        body = {"signature_name": "predict", "inputs": {"a": [[0.5]], "b": [[0.5]]}}
        self.assertIn(json.dumps(body, separators=(",", ":")), shown.replace("\\", ""))
        with Server(self.path("plane")) as server:
            got = server.post("/v1/models/default:predict", body)
            self.assertEqual(got.status, 200, got)
            self.assertAlmostEqual(got.json["outputs"][0][0], 0.5, delta=.001)  # 20 epochs without noise

    def test_many_files_without_a_header(self):
        points = self.line()
        for i in range(5):
            self.write("part-%d.tsv" % i, "".join("%.6f\t%.6f\n" % point for point in points[i::5]))
        self.train("--model=linear", "--train_files=" + self.path("part-*.tsv"), "--column_names=y,x", "--feature_columns=y",
                   "--label_column=x", "--epochs=50", "--workers=3", "--export_dir=" + self.path("line/1"))
        self.assert_is_the_line(self.path("line"))

    def test_a_tfrecord_file_with_gzip(self):
        records = b"".join(record(example(x=x, y=y)) for x, y in self.line(500))
        path = self.write("line.tfrecord.gz", gzip.compress(records))
        self.train("--model=linear", "--train_files=" + path, "--label_column=y", "--export_dir=" + self.path("line/1"))
        self.assert_is_the_line(self.path("line"))

    def test_normalisation_and_defaults(self):
        """x is 100 times as large and moved; a missing one is 0 after the normalisation."""
        points = self.line()
        path = self.write("line.csv", "x,y\n" + "".join("%.6f,%.6f\n" % (x * 100 + 5, y) for x, y in points) + ",10\n")
        schema = self.write("schema.json", json.dumps({"columns": [
            {"name": "x", "mean": 5, "stddev": 100, "default": 5}, {"name": "y"}]}))
        self.train("--model=linear", "--train_files=" + path, "--label_column=y", "--schema=" + schema,
                   "--export_dir=" + self.path("line/1"))
        self.assert_is_the_line(self.path("line"))

    def test_a_libsvm_file_with_labels_of_minus_one(self):
        numbers = random.Random(2)
        rows = []
        for _ in range(600):
            label, words = numbers.random() < .5, sorted(numbers.sample(range(1, 21), 5))
            rows.append("%s %s \n" % ("+1" if label else "-1", " ".join("%d:1" % word for word in words + [21 + label])))
        path = self.write("words", "".join(rows))
        for binary in (False, True):
            with self.subTest(binary=binary):
                shown = self.train("--model=" + self.model(22, binary), "--train_files=" + path, "--test_files=" + path,
                                   "--epochs=10", "--noexport")
                self.assertIn("accuracy 1.0000", shown)

    def test_a_resumed_job_ends_like_one_that_was_not_interrupted(self):
        path = self.write("line.csv", "x,y\n" + "".join("%.6f,%.6f\n" % point for point in self.line(1000)))
        flags = ["--model=linear", "--train_files=" + path, "--label_column=y", "--shuffle_buffer=150"]
        self.train(*flags, "--stop_at_step=60", "--export_dir=" + self.path("whole/1"))
        for step in ("23", "60"):
            self.train(*flags, "--stop_at_step=" + step, "--checkpoint_dir=" + self.path("ckpt"), "--export_dir=" + self.path("parts-%s/1" % step))
        with open(self.path("whole/1/variables/variables.data-00000-of-00001"), "rb") as whole, \
                open(self.path("parts-60/1/variables/variables.data-00000-of-00001"), "rb") as parts:
            self.assertEqual(whole.read(), parts.read())

    def test_bad_records_are_named_and_end_the_job_over_the_limit(self):
        good = "".join("%.6f,%.6f\n" % point for point in self.line(300))
        path = self.write("line.csv", "x,y\n" + good + "abc,1\n" + good + "1\n")
        flags = ["--model=linear", "--train_files=" + path, "--label_column=y", "--noexport", "--workers=1"]
        shown = self.train(*flags, "--max_bad_records=2")
        self.assertIn("bad record passed: '%s' line 302: column 'x': 'abc' is not a number" % path, shown)
        self.assertIn("line 603: 1 fields, wanted 2", shown)
        shown = self.train(*flags, "--max_bad_records=1", code=1)
        self.assertIn("that is bad record 2, --max_bad_records=1", shown)
        path = self.write("bad.csv", "x,y\n1,2\n\"a,3\n")  # which only the second of two workers meets
        shown = self.train("--model=linear", "--train_files=" + path, "--label_column=y", "--noexport", "--nosync", "--stop_at_step=3000", code=1)
        self.assertIn("line 3: no closing quote; that is bad record 1, --max_bad_records=0", shown)

    def test_what_cannot_be_trained_on_is_refused_by_name(self):
        path = self.write("line.csv", "x,y,s\n1,2,a\n")
        schema = self.write("schema.json", '{"columns": [{"name": "x", "vocabulary": 3}]}')
        for flags, wanted in ((["--train_files=" + path], "no column 'label'"),
                              (["--train_files=" + path, "--label_column=y"], "column 's' holds text"),
                              (["--train_files=" + path, "--label_column=y", "--feature_columns=z"], "no column 'z'"),
                              (["--train_files=" + self.path("none-*")], "--train_files: no file matches"),
                              (["--train_files=" + path, "--data_format=xml"], "--data_format=xml is none of npz, tfrecord"),
                              (["--train_files=" + path, "--schema=" + schema], "unknown key 'vocabulary'"),
                              (["--train_files=" + path, "--train_dir=x"], "--train_files and --train_dir"),
                              (["--max_bad_records=1"], "--max_bad_records without --train_files")):
            with self.subTest(flags):
                self.assertIn(wanted, self.train("--model=linear", "--noexport", *flags, code=2))

    def test_pstrain_schema_prints_a_schema_that_trains(self):
        path = self.write("line.csv", "x,y\n" + "".join("%.6f,%.6f\n" % point for point in self.line(300)))
        done = run("pstrain", "schema", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([c["name"] for c in json.loads(done.stdout)["columns"]], ["x", "y"])
        self.train("--model=linear", "--train_files=" + path, "--label_column=y", "--noexport",
                   "--schema=" + self.write("schema.json", done.stdout))
        done = run("pstrain", "schema", path, self.write("other.csv", "x,z\n1,2\n"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("other.csv' has another schema than", done.stderr)
        self.assertEqual(run("pstrain", "schema").returncode, 2)


class RealData(FilesTestCase):
    """The published accuracies of linear models."""

    def accuracy(self, *flags):
        return float(re.search(r"Test: .*accuracy ([\d.]+)", self.train(*flags)).group(1))

    def test_a9a(self):
        for binary in (False, True):
            with self.subTest(binary=binary):
                accuracy = self.accuracy("--model=" + self.model(123, binary), "--train_files=" + shared("data", "a9a", "a9a"),
                                         "--test_files=" + shared("data", "a9a", "a9a.t"), "--epochs=20", "--noexport")
                self.assertGreaterEqual(accuracy, .849)

    def test_mushroom(self):
        accuracy = self.accuracy("--model=" + self.model(126), "--train_files=" + shared("data", "mushroom", "agaricus_train.txt"),
                                 "--test_files=" + shared("data", "mushroom", "agaricus_test.txt"), "--epochs=100", "--noexport")
        self.assertEqual(accuracy, 1)


if __name__ == "__main__":
    main()

"""pstrain --from_savedmodel trains what Keras exported (tests/golden/finetune) as Keras' fit does, and modelserver serves it."""
import csv
import json
import os
import random
import shutil

import pictures
import preprocessed
import records
from harness import SOURCE, Server, TestCase, main, run

GOLDEN = os.path.join(SOURCE, "tests", "golden", "finetune")
BATCH, ROWS = 8, 5  # as models.py
INPUTS = {"dense": "x", "convnet": "inputs", "embedding": "ids", "recurrent": "ids"}
STEPS, WIDTH = 4, 3  # as arrays.py


def golden(name):
    return os.path.join(GOLDEN, name)


def first_rows(name):
    """The rows that models.py asked about, in the shape of the model's input."""
    with open(golden(name + ".csv"), encoding="utf-8") as file:
        rows = [[float(x) for x in row[:-1]] for row in list(csv.reader(file))[1:ROWS + 1]]
    if name == "convnet":
        return [[[[row[6 * i + k]] for k in range(6)] for i in range(6)] for row in rows]
    if name == "arrays":
        return [[row[WIDTH * i:WIDTH * (i + 1)] for i in range(STEPS)] for row in rows]
    return [[int(x) for x in row] for row in rows] if INPUTS.get(name) == "ids" else rows


def files(directory):
    return {os.path.relpath(os.path.join(path, name), directory) for path, _, names in os.walk(directory) for name in names}


def content(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


class Finetune(TestCase):
    def tune(self, name, *flags, code=0):
        done = run("pstrain", "--from_savedmodel=" + golden(name), "--train_files=" + golden("%s.csv" % name), "--shuffle_buffer=0",
                   "--batch_size=%d" % BATCH, "--log_level=info", *flags)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def assert_answers(self, base, name, optimizer):
        """Does modelserver answer with the export what Keras answered after its fit?"""
        with open(golden(name + "_want.json"), encoding="utf-8") as file:
            want = json.load(file)[optimizer]
        with Server(base) as server:
            got = server.post("/v1/models/default:predict", {"inputs": {INPUTS.get(name, "x"): first_rows(name)}})
            self.assertEqual(got.status, 200, got)
            size = max(abs(x) for row in want for x in row)
            for ours, theirs in zip(got.json["outputs"], want, strict=True):
                for a, b in zip(ours, theirs, strict=True):
                    self.assertLessEqual(abs(a - b), 1e-5 * size, name + " " + optimizer)

    def test_answers_as_after_fit(self):
        for name in INPUTS:
            for optimizer in ("sgd", "adam"):
                with self.subTest(name + " " + optimizer):
                    base = self.path("%s_%s" % (name, optimizer))
                    flags = ["--freeze=*norm/*"] if name == "convnet" else []
                    shown = self.tune(name, "--compile_config=" + golden("%s_%s.json" % (name, optimizer)), "--workers=1", "--epochs=1",
                                      "--export_dir=" + base + "/1", *flags)
                    self.assertIn("of %d variables are trained" % {"dense": 4, "convnet": 8, "embedding": 3, "recurrent": 6}[name], shown)
                    self.assert_answers(base, name, optimizer)
                    # Only the values and the recipe are new.
                    self.assertEqual(files(base + "/1") - files(golden(name)), {"assets.extra/compile_config.json"})
                    self.assertEqual(files(golden(name)) - files(base + "/1"), set())
                    self.assertEqual(content(base, "1", "saved_model.pb"), content(golden(name), "saved_model.pb"))

    def test_answers_as_after_tensorflow_1s_training(self):
        base = self.path("arrays")
        self.tune("arrays", "--loss=mse", "--optimizer=sgd", "--learning_rate=0.1", "--workers=1", "--epochs=1", "--export_dir=" + base + "/1")
        self.assert_answers(base, "arrays", "sgd")

    def test_the_same_bits_for_any_number_of_ps(self):
        values = set()
        for ps in (1, 2, 5):
            out = self.path("ps%d" % ps)
            self.tune("embedding", "--loss=binary_crossentropy", "--metrics=accuracy,auc", "--learning_rate=0.1", "--sync", "--workers=2",
                      "--ps=%d" % ps, "--training_iteration=10", "--export_dir=" + out, "--test_files=" + golden("embedding.csv"))
            values.add(content(out, "variables", "variables.data-00000-of-00001"))
        self.assertEqual(len(values), 1)

    def test_continues_from_a_checkpoint_and_from_its_own_export(self):
        common = ["--compile_config=" + golden("dense_sgd.json"), "--workers=1"]
        self.tune("dense", *common, "--training_iteration=20", "--export_dir=" + self.path("once"))
        for stop in (7, 20):
            self.tune("dense", *common, "--stop_at_step=%d" % stop, "--checkpoint_dir=" + self.path("ckpt"),
                      "--export_dir=" + self.path("twice%d" % stop))
        self.assertEqual(content(self.path("once"), "variables", "variables.data-00000-of-00001"),
                         content(self.path("twice20"), "variables", "variables.data-00000-of-00001"))
        done = run("pstrain", "--from_savedmodel=" + self.path("once"), "--train_files=" + golden("dense.csv"), "--training_iteration=1",
                   "--export_dir=" + self.path("again"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_export_of_pstrain(self):
        """A flat graph in the style of TensorFlow 1, whose variables a collection lists."""
        done = run("pstrain", "--model=linear", "--training_iteration=1", "--export_dir=" + self.path("line"))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.path("line.csv")
        with open(rows, "w", encoding="utf-8") as file:
            file.write("x,label\n" + "".join("%d,%d\n" % (x, 3 * x + 1) for x in (-1, 0, 1, 2)))
        done = run("pstrain", "--from_savedmodel=" + self.path("line"), "--signature=predict", "--train_files=" + rows, "--loss=mse", "--batch_size=4",
                   "--learning_rate=0.2", "--training_iteration=300", "--workers=1", "--export_dir=" + self.path("line2"), "--test_files=" + rows)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"mean squared error (0\.0000|[0-9.]+e-)")

    def test_without_a_signature_the_one_that_takes_tensors(self):
        """The serving_default of a classifier parses serialized tf.Examples; rows of a CSV file train the other one."""
        rows = self.write("rows.csv", "x,label\n" + "".join("%d,%d\n" % (x, x > 0) for x in range(-20, 20)))
        layers = [{"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 1], "dtype": "float32"}},
                  {"class_name": "Dense", "config": {"name": "scores", "units": 2, "activation": "softmax"}}]
        model = self.write("model.json", json.dumps({"class_name": "Sequential", "config": {"name": "m", "layers": layers}}))
        flags = ["--train_files=" + rows, "--test_files=" + rows, "--batch_size=20", "--workers=1", "--training_iteration=50", "--learning_rate=0.1"]
        done = run("pstrain", "--model=" + model, *flags, "--export_dir=" + self.path("start"))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("pstrain", "--from_savedmodel=" + self.path("start"), *flags, "--metrics=accuracy", "--export_dir=" + self.path("further"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"Test: loss 0\.[0-9]+, accuracy (0\.9|1\.)")

    def test_an_export_that_normalises(self):
        """It takes raw values, so that training it further with the same schema normalises them once."""
        rows = self.write("line.csv", "x,label\n" + "".join("%d,%g\n" % (x, x / 50) for x in range(900, 1100)))
        schema = self.write("schema.json", '{"columns": [{"name": "x", "mean": 1000, "stddev": 50}, {"name": "label"}]}')
        flags = ["--train_files=" + rows, "--schema=" + schema, "--batch_size=50", "--workers=1", "--test_files=" + rows]
        done = run("pstrain", "--model=linear", "--training_iteration=300", "--learning_rate=0.1", *flags, "--export_dir=" + self.path("line"))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run("pstrain", "--from_savedmodel=" + self.path("line"), "--signature=predict", "--loss=mse", *flags,
                   "--learning_rate=1e-6", "--training_iteration=1", "--export_dir=" + self.path("line2"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"mean squared error (0\.00|[0-9.]+e-)")

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def test_rows_of_any_length(self):
        """An input [rows, any number] takes lists, which are padded with zeros to the longest of their batch."""
        with open(golden("recurrent.csv"), encoding="utf-8") as file:
            rows = [row.strip().split(",") for row in list(file)[1:]]
        lists = [(row[:6] if i % BATCH == 0 else row[:i % 6], row[6]) for i, row in enumerate(rows)]
        files_of = {
            "lists": self.write("lists.csv", "ids,label\n" + "".join("|".join(ids) + "," + label + "\n" for ids, label in lists)),
            "zeros": self.write("zeros.csv", "a,b,c,d,e,f,label\n" + "".join(
                ",".join(ids + ["0"] * (6 - len(ids)) + [label]) + "\n" for ids, label in lists))}
        schema = self.write("schema.json", json.dumps({"columns": [{"name": "ids", "kind": "ragged", "dtype": "int64", "separator": "|"},
                                                                   {"name": "label"}]}))
        values = set()
        for name, path in files_of.items():
            done = run("pstrain", "--from_savedmodel=" + golden("recurrent"), "--train_files=" + path, "--loss=binary_crossentropy", "--workers=1",
                       "--batch_size=%d" % BATCH, "--epochs=2", "--shuffle_buffer=0", "--export_dir=" + self.path(name),
                       *(["--schema=" + schema] if name == "lists" else []))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            values.add(content(self.path(name), "variables", "variables.data-00000-of-00001"))
        self.assertEqual(len(values), 1)

    def lists(self, name, hashed):
        """Rows of ids that decide the label, a schema, and a model of a bag of embeddings."""
        numbers, column = random.Random(1), {"name": name, "kind": "ragged", "dtype": "string" if hashed else "int64", "separator": "|"}
        with open(self.path(name + ".csv"), "w", encoding="utf-8") as file:
            file.write("label,%s\n" % name)
            for _ in range(300):
                ids = [numbers.randrange(40) for _ in range(numbers.randrange(1, 6))]
                file.write("%d,%s\n" % (2 * sum(i % 2 for i in ids) > len(ids), "|".join(map(str, ids))))
        with open(self.path(name + ".json"), "w", encoding="utf-8") as file:
            json.dump({"columns": [{"name": "label"}, dict(column, hash_buckets=40) if hashed else column]}, file)
        layers = [("InputLayer", {"name": name, "batch_shape": [None, None], "dtype": "int64", "ragged": True}),
                  ("EmbeddingBag", {"name": "table", "input_dim": 40, "output_dim": 4, "combiner": "sqrtn"}),
                  ("Dense", {"name": "out", "units": 1, "activation": "sigmoid"})]
        model = {"class_name": "Sequential", "config": {"name": "bag", "layers": [{"class_name": c, "config": config} for c, config in layers]},
                 "compile_config": {"loss": "binary_crossentropy"}}
        with open(self.path(name + "_model.json"), "w", encoding="utf-8") as file:
            json.dump(model, file)
        return ["--train_files=" + self.path(name + ".csv"), "--test_files=" + self.path(name + ".csv"), "--schema=" + self.path(name + ".json"),
                "--optimizer=adagrad", "--learning_rate=0.3", "--workers=1", "--batch_size=30"]

    def test_lists_of_ids(self):
        """An export with a ragged input, of ids or of texts that the graph hashes, is trained as its description is."""
        for name, hashed in (("ids", False), ("tags", True)):
            with self.subTest(name):
                flags, base, want, got = self.lists(name, hashed), self.path(name, "1"), self.path(name + "_want", "1"), self.path(name + "_got", "1")
                described = ["--model=" + self.path(name + "_model.json"), *flags]
                for more in (["--training_iteration=5", "--export_dir=" + base],
                             ["--training_iteration=60", "--init_from=" + base, "--export_dir=" + want]):
                    done = run("pstrain", *described, *more)
                    self.assertEqual(done.returncode, 0, done.stderr)
                done = run("pstrain", "--from_savedmodel=" + base, "--signature=predict", "--loss=binary_crossentropy", *flags, "--training_iteration=60",
                           "--export_dir=" + got)
                self.assertEqual(done.returncode, 0, done.stderr)
                tuned, trained, before = (content(directory, "variables", "variables.data-00000-of-00001") for directory in (got, want, base))
                self.assertEqual(tuned, trained)
                self.assertNotEqual(tuned, before)

    def test_a_sparse_input(self):
        """An export with a sparse input of floats is trained as its description is."""
        numbers = random.Random(2)
        rows = self.write("rows.svm", "".join("%d %s\n" % (i % 3 == 0, " ".join("%d:%g" % (k + 1, numbers.gauss(i % 3 == 0, 1)) for k in sorted(
            numbers.sample(range(30), numbers.randrange(6))))) for i in range(300)))
        layers = [("InputLayer", {"name": "x", "batch_shape": [None, 30], "dtype": "float32", "sparse": True}),
                  ("Dense", {"name": "out", "units": 1, "activation": "sigmoid"})]
        model = self.write("model.json", json.dumps({
            "class_name": "Sequential", "compile_config": {"loss": "binary_crossentropy"},
            "config": {"name": "sparse", "layers": [{"class_name": c, "config": config} for c, config in layers]}}))
        flags = ["--train_files=" + rows, "--test_files=" + rows, "--optimizer=adagrad", "--learning_rate=0.3", "--workers=1", "--batch_size=30"]
        base, want, got = self.path("base"), self.path("want"), self.path("got")
        for more in (["--training_iteration=5", "--export_dir=" + base], ["--training_iteration=60", "--init_from=" + base, "--export_dir=" + want]):
            done = run("pstrain", "--model=" + model, *flags, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
        tune = ["--from_savedmodel=" + base, "--signature=predict", "--loss=binary_crossentropy", *flags, "--training_iteration=60"]
        for more in (["--sparse_width=30"], []):  # the kernel tells it
            done = run("pstrain", *tune, "--export_dir=" + got, *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            tuned, trained, before = (content(directory, "variables", "variables.data-00000-of-00001") for directory in (got, want, base))
            self.assertEqual(tuned, trained)
            self.assertNotEqual(tuned, before)
            shutil.rmtree(got)
        self.assertIn("--sparse_width: signature 'serving_default' has no sparse input of floats", self.tune("dense", "--sparse_width=3", "--noexport", code=2))

    def test_images_of_any_size(self):
        """All have the size of the first one; the export still takes another size."""
        for folder, value in (("bright", 200), ("dark", 40)):
            os.makedirs(self.path("photos/" + folder))
            for i in range(8):
                with open(self.path("photos/%s/%d.png" % (folder, i)), "wb") as file:
                    file.write(pictures.png(5 + i % 2, 6, lambda: value))
        done = run("pstrain", "--from_savedmodel=" + golden("anysize"), "--train_files=" + self.path("photos"), "--test_files=" + self.path("photos"),
                   "--loss={\"class_name\": \"SparseCategoricalCrossentropy\", \"config\": {\"from_logits\": true}}", "--metrics=accuracy",
                   "--learning_rate=0.5", "--batch_size=8", "--training_iteration=200", "--workers=1", "--export_dir=" + self.path("photo", "1"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("accuracy 1.0000", done.stdout + done.stderr)
        with Server(self.path("photo")) as server:
            for value, right in ((200, 0), (40, 1)):
                got = server.post("/v1/models/default:predict", {"instances": [[[[value]] * 9] * 4]})
                self.assertEqual(got.status, 200, got)
                scores = got.json["predictions"][0]
                self.assertGreater(scores[right], scores[1 - right])
        done = run("pstrain", "--from_savedmodel=" + golden("anysize"), "--train_files=" + golden("dense.csv"), "--loss=mse", "--noexport")
        self.assertEqual(done.returncode, 2)
        self.assertIn("is float [?,?,?,1], and the 4 values per row that the columns have do not tell its open dimensions", done.stderr)

    def test_texts(self):
        """An export that looks its texts up is trained as the description of the same model is."""
        model, rows = preprocessed.write(self.dir)
        common = ["--train_files=" + rows, "--workers=1", "--batch_size=20", "--shuffle_buffer=0", "--epochs=1", "--learning_rate=0.5"]
        body = {"signature_name": "predict", "inputs": {"color": [["red"], ["東京"], ["?"]], "size": [[40], [50], [70]], "shop": [[3], [7], [8]]}}
        answers = []
        for name, flags in (("start", ["--model=" + model]),
                            ("described", ["--model=" + model, "--init_from=" + self.path("start", "1")]),
                            ("tuned", ["--from_savedmodel=" + self.path("start", "1"), "--signature=predict", "--loss=binary_crossentropy"])):
            done = run("pstrain", *common, *flags, "--export_dir=" + self.path(name, "1"))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with Server(self.path(name)) as server:
                got = server.post("/v1/models/default:predict", body)
                self.assertEqual(got.status, 200, got)
                answers.append([row[0] for row in got.json["outputs"]])
        start, described, tuned = answers
        for a, b, c in zip(start, described, tuned, strict=True):
            self.assertAlmostEqual(b, c, delta=1e-5)
            self.assertGreater(abs(b - a), 1e-3)

    def test_serialized_examples(self):
        """A signature that parses tf.Examples takes the records of TFRecord files whole."""
        done = run("pstrain", "--model=linear", "--training_iteration=1", "--export_dir=" + self.path("line"))
        self.assertEqual(done.returncode, 0, done.stderr)
        path = self.path("line.tfrecord")
        with open(path, "wb") as file:
            for x in (-1, 0, 1, 2):
                file.write(records.record(records.example(x=records.floats([x]), label=records.floats([3 * x + 1]))))
        flags = ["--from_savedmodel=" + self.path("line"), "--signature=serving_default", "--loss=mse", "--batch_size=4", "--learning_rate=0.2",
                 "--training_iteration=300", "--workers=1"]
        done = run("pstrain", *flags, "--train_files=" + path, "--test_files=" + path, "--export_dir=" + self.path("line2"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"mean squared error (0\.0000|[0-9.]+e-)")
        rows = self.write("line.csv", "x,label\n0,1\n")
        done = run("pstrain", *flags, "--train_files=" + rows, "--noexport")
        self.assertEqual(done.returncode, 2)
        self.assertIn("takes serialized tf.Examples, which only TFRecord files hold", done.stderr)

    def test_what_is_wrong_is_named(self):
        for flags, text in (
                (["--signature=none"], "no signature 'none'; there are: 'serve', 'serving_default'"),
                (["--output=none"], "signature 'serving_default': no output 'none'; there are: 'output_0'"),
                (["--freeze=conv*"], "the pattern 'conv*' freezes nothing; the variables are "),
                (["--freeze=*"], "nothing is left to train"),
                (["--loss=none"], "pstrain: --loss: 'none' is not a loss; known: "), (["--metrics=none"], "pstrain: --metrics: "),
                (["--loss={"], "pstrain: --loss: line 1, column 1: "),
                (["--loss=mse", "--compile_config=" + golden("dense_sgd.json")], "--compile_config and --loss: give one of them"),
                (["--model=mlp"], "--model and --from_savedmodel: give one of them"),
                (["--export_format=session_bundle"], "has the format of the original"),
                (["--feature_columns=x0"], "takes 4 numbers per row, but the columns of the data have 1")):
            with self.subTest(flags):
                self.assertIn(text, self.tune("dense", *flags, "--noexport", code=2))
        done = run("pstrain", "--from_savedmodel=" + self.path("absent"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(self.path("absent"), done.stderr)
        shutil.copytree(golden("dense"), self.path("bare"), ignore=shutil.ignore_patterns("variables"))
        done = run("pstrain", "--from_savedmodel=" + self.path("bare"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no '%s': the model has no variables" % self.path("bare", "variables", "variables.index"), done.stderr)
        done = run("pstrain", "--freeze=x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--freeze needs --from_savedmodel", done.stderr)

    def test_an_id_that_is_no_integer(self):
        rows = self.path("rows.csv")
        with open(rows, "w", encoding="utf-8") as file:
            file.write("a,b,c,d,e,f,label\n" + "1,2,3,4,5,6,1\n" * 8 + "1,2,3,4,5,6.5,0\n")
        done = run("pstrain", "--from_savedmodel=" + golden("embedding"), "--train_files=" + rows, "--loss=binary_crossentropy", "--workers=1",
                   "--noexport", "--training_iteration=5")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("line 10: column 'f': 6.5 is no integer of type int32, as the model takes", done.stdout + done.stderr)


if __name__ == "__main__":
    main()

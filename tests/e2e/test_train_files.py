"""pstrain trains on files of records: CSV, libsvm, TFRecord and npz, and on real data where it is there."""
import gzip
import json
import math
import os
import random
import re
import resource
import shlex
import statistics
import struct
import zipfile

import pictures
from digits import write_digits
from harness import SANITIZED, Server, TestCase, main, run, shared
from records import example, floats, record


def logistic(width, binary=False):
    """A description of logistic regression: `width` numbers, two classes, or the probability of one."""
    layers = [{"module": "keras.layers", "class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, width], "dtype": "float32"}},
              {"module": "keras.layers", "class_name": "Dense", "config": {
                  "name": "dense", "units": 1 if binary else 2, "activation": "sigmoid" if binary else "softmax",
                  "kernel_initializer": {"module": "keras.initializers", "class_name": "Zeros", "config": {}}}}]
    sgd = {"module": "keras.optimizers", "class_name": "SGD", "config": {"learning_rate": 0.3}}
    return {"module": "keras", "class_name": "Sequential", "config": {"name": "logistic", "layers": layers},
            "compile_config": {"optimizer": sgd, "loss": "binary_crossentropy" if binary else "sparse_categorical_crossentropy", "metrics": ["accuracy"]}}


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

    def test_the_columns_decide_the_width_of_a_built_in_model(self):
        numbers = random.Random(3)
        rows = [(numbers.uniform(-1, 1), numbers.uniform(-1, 1)) for _ in range(500)]
        path = self.write("rows.csv", "a,b,y\n" + "".join("%.6f,%.6f,%d\n" % (a, b, a > b) for a, b in rows))
        flags = ["--train_files=" + path, "--test_files=" + path, "--label_column=y", "--epochs=30", "--learning_rate=0.1"]
        for model in ("logistic", "softmax", "mlp"):
            shown = self.train("--model=" + model, *flags, "--export_dir=" + self.path(model + "/1"))
            self.assertGreater(float(re.search(r"accuracy ([0-9.]+)", shown).group(1)), .9, model)
        self.assertRegex(self.train("--model=logistic", *flags, "--noexport", "--metrics=auc,precision"), r"Test: loss [\d.]+, auc [\d.]+, precision [\d.]+")
        self.assertRegex(self.train("--model=logistic", *flags, "--noexport", "--loss=hinge"), r"Test: hinge [\d.]+, accuracy")
        with Server(self.path("logistic")) as server:
            asked = server.post("/v1/models/default:predict", {"signature_name": "predict", "instances": [[.9, -.9], [-.9, .9]]}).json
            self.assertEqual([answer[0] > .5 for answer in asked["predictions"]], [True, False])

    def test_the_index_that_pandas_writes(self):
        """A column without a name is no feature, whether the rows have weights or not."""
        for weights, flags in (("", []), (",w", ["--weight_column=w"])):
            rows = "".join("%d,%f,%f%s\n" % (i, *point, weights.replace("w", "1")) for i, point in enumerate(self.line(50)))
            path = self.write("frame%d.csv" % len(flags), ",x,y" + weights + "\n" + rows)
            self.train("--model=linear", "--train_files=" + path, "--label_column=y", "--noexport", "--stop_at_step=3", *flags)

    def test_a_csv_file_with_gzip(self):
        """The plain file gives the same bits, and a file that is cut short is named."""
        text = "x,y\n" + "".join("%.6f,%.6f\n" % point for point in self.line())
        data = {}
        for name, content in (("line.csv", text), ("line.csv.gz", gzip.compress(text.encode()))):
            path, out = self.write(name, content), self.path(name + "_out")
            self.train("--model=linear", "--train_files=" + path, "--label_column=y", "--training_iteration=50", "--export_dir=" + out)
            with open(out + "/variables/variables.data-00000-of-00001", "rb") as file:
                data[name] = file.read()
        self.assertEqual(data["line.csv"], data["line.csv.gz"])
        path = self.write("cut.csv.gz", gzip.compress(text.encode())[:-4])
        shown = self.train("--model=linear", "--train_files=" + path, "--label_column=y", "--epochs=1", "--noexport", code=2)
        self.assertIn("'%s': the gzip file is cut short" % path, shown)

    def test_folders_of_images(self):
        """Dark and bright PNG files of several sizes: the folders are the classes, with the folders in them, and a damaged file is a bad
        record."""
        numbers = random.Random(4)

        def png(value, width, height):
            return pictures.png(width, height, lambda: max(0, min(255, value + numbers.randrange(-20, 21))))

        for folder, value in (("bright", 200), ("dark", 40)):
            os.makedirs(self.path("photos/%s/more/old" % folder))
            for i in range(20):
                self.write("photos/%s/%s%d.png" % (folder, "more/old/" * (i % 2), i), png(value, 3 + i % 5, 4 + i % 3))
        os.symlink(self.path("photos"), self.path("photos/dark/loop"))
        bad = self.write("photos/dark/bad.png", png(40, 4, 4)[:60])
        os.makedirs(self.path("photos/.ipynb_checkpoints"))  # hidden folders and files are no data
        self.write("photos/.ipynb_checkpoints/1.png", png(40, 4, 4))
        self.write("photos/bright/._1.png", "Mac OS X")
        layers = [{"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 4, 4, 1], "dtype": "float32"}},
                  {"class_name": "Rescaling", "config": {"name": "scaled", "scale": 1 / 128, "offset": -1.0}},
                  {"class_name": "Flatten", "config": {"name": "flat"}},
                  {"class_name": "Dense", "config": {"name": "scores", "units": 2, "activation": "softmax"}}]
        model = self.write("images.json", json.dumps({"class_name": "Sequential", "config": {"name": "images", "layers": layers}}))
        flags = ["--model=" + model, "--train_files=" + self.path("photos"), "--test_files=%s,%s" % (self.path("photos/*/1*.png"), self.path("photos/*/more/old/1*.png")), "--batch_size=8",
                 "--learning_rate=0.1", "--training_iteration=40", "--noexport"]
        shown = self.train(*flags, "--max_bad_records=1")
        self.assertIn("41 files: ", shown)
        self.assertIn("Test: loss 0.", shown)
        self.assertIn("accuracy 1.0000", shown)
        self.assertIn("bad record skipped: '%s' image 0: PNG: " % bad, shown)
        self.assertIn("--max_bad_records=0", self.train(*flags, code=1))
        self.assertIn("has no folders with JPEG, PNG or text files; of files of records, give the names or a pattern, such as '%s/*.csv'" %
                      self.path("photos/dark/more/old"),
                      self.train("--model=" + model, "--train_files=" + self.path("photos/dark/more/old"), "--noexport", code=2))

    def test_folders_of_text_lines(self):
        """Each line is a text whose class is the folder; a comma does not make it a CSV file in a directory of folders, or with
        --data_format=text."""
        for folder, words in (("ham", ["see you", "thanks, bye", ""]), ("spam", ["buy now", "free, free"])):
            os.makedirs(self.path("mails/" + folder))
            for i in range(3):
                self.write("mails/%s/%d.txt" % (folder, i), "".join(word + "\n" for word in (words[i:] + words[:i]) * 10))
        layers = [{"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 1], "dtype": "string"}},
                  {"class_name": "TextVectorization", "config": {"name": "words", "output_mode": "multi_hot", "ngrams": 2}},
                  {"class_name": "Dense", "config": {"name": "scores", "units": 2, "activation": "softmax"}}]
        model = self.write("mails.json", json.dumps({"class_name": "Sequential", "config": {"name": "mails", "layers": layers}}))
        for i, files in enumerate((["--train_files=" + self.path("mails")],
                                   ["--train_files=" + self.path("mails/*/*.txt"), "--data_format=text"])):
            shown = self.train("--model=" + model, *files, "--test_files=" + self.path("mails/*/1.txt"), "--learning_rate=1",
                               "--epochs=100", "--export_dir=" + self.path("mail/%d" % (i + 1)))
            self.assertIn("6 files: ", shown)
            self.assertIn("accuracy 1.0000", shown)
        with Server(self.path("mail")) as server:
            got = server.post("/v1/models/default:predict", {"signature_name": "predict_images", "instances": [["Free, NOW!"], ["thanks"], [""]]})
            self.assertEqual([round(scores[1]) for scores in got.json["predictions"]], [1, 0, 0], got)

    def test_blanks_behind_commas(self):
        """Names lose them, with a warning that shows them; numbers are numbers, and texts keep theirs."""
        path = self.write("blanks.csv", "x, n, y, s\n" + "".join("%.6f, %d, %.6f, a\n" % (x, i, y) for i, (x, y) in enumerate(self.line(300))))
        shown = self.train("--model=linear", "--train_files=" + path, "--label_column=y", "--feature_columns=x, n", "--learning_rate=1e-6",
                           "--export_dir=" + self.path("line/1"))
        self.assertIn("'%s': the column ' n' is taken without the blanks around its name, and so is any other; texts keep theirs\n" % path, shown)
        done = run("pstrain", "predict", self.path("line/1"), "--predict_files=" + path, "--feature_columns=x, n", "--id_column=s", "--label_column=y")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('{"s": " a", "y": [', done.stdout)
        done = run("pstrain", "schema", path)
        self.assertEqual([c["name"] for c in json.loads(done.stdout)["columns"]], ["x", "n", "y", "s"])
        self.assertIn("the column ' n' is taken without", done.stderr)

    def test_lines_before_the_header(self):
        """Training, test and prediction pass them, with a header behind them or names by --column_names."""
        points = list(self.line(300))
        rows = "".join("%.6f,%.6f\n" % point for point in points)
        counted = self.write("counted.csv", "300,1,line\nx,y\n" + rows)
        flags = ["--model=linear", "--train_files=" + counted, "--label_column=y", "--workers=1"]
        self.assertIn("'%s' has '300', '1', 'line'; --column_names names the columns of files without a header, and --skip_lines passes lines "
                      "before one" % counted, self.train(*flags, "--noexport", code=2))
        results = []
        for i, more in enumerate((["--skip_lines=1"], ["--skip_lines=2", "--column_names=x, y"])):
            shown = self.train(*flags, "--test_files=" + counted, "--epochs=20", "--export_dir=" + self.path("lines/%d" % (i + 1)), *more)
            self.assertIn("Trained 60 steps", shown)
            done = run("pstrain", "predict", self.path("lines/%d" % (i + 1)), "--predict_files=" + counted, "--label_column=y", *more)
            self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 300), done.stderr)
            results.append((re.search("Test: .*", shown).group(), done.stdout, run("pstrain", "schema", counted, *more).stdout))
        self.assertEqual(results[0], results[1])
        self.assertEqual([c["name"] for c in json.loads(results[0][2])["columns"]], ["x", "y"])
        few = self.write("few.csv", "2,1,line\n1,2,0\n3,4,1\n")
        self.assertIn("column 'y' holds text ('line' is not a number; --skip_lines=1 passes a header)",
                      self.train("--model=logistic", "--train_files=" + few, "--label_column=y", "--column_names=a,b,y", "--noexport", code=2))
        headed = self.write("headed.csv", "x,y\n" + rows)
        self.assertIn("'%s' line 1: column 'x': 'x' is not a number; --skip_lines=1 passes a header" % headed,
                      self.train("--model=linear", "--train_files=" + headed, "--label_column=y", "--column_names=x,y", "--noexport", code=1))
        self.assertIn("--skip_lines is for csv and tsv files; this file is libsvm",
                      self.train("--train_files=" + self.write("rows.svm", "1 1:2\n"), "--skip_lines=1", "--noexport", code=2))

    def test_fields_with_several_values(self):
        """y = 2a + 3b - c, of one field "a;b;c"; a field with two values is a bad record."""
        numbers = random.Random(3)
        rows = [[numbers.uniform(-1, 1) for _ in range(3)] for _ in range(1000)]
        path = self.write("lists.csv", "v,y\n" + "".join(
            "%.6f;%.6f;%.6f,%.6f\n" % (a, b, c, 2 * a + 3 * b - c) for a, b, c in rows) + "1;2,0\n")
        schema = self.write("schema.json", json.dumps({"columns": [{"name": "v", "shape": [3], "separator": ";"}, {"name": "y"}]}))
        layers = [{"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 3]}},
                  {"class_name": "Dense", "config": {"name": "sum", "units": 1}}]
        model = self.write("sum.json", json.dumps({"class_name": "Sequential", "config": {"name": "sum", "layers": layers}}))
        flags = ["--model=" + model, "--train_files=" + path, "--schema=" + schema, "--label_column=y", "--optimizer=sgd",
                 "--learning_rate=0.1", "--max_bad_records=1"]
        shown = self.train(*flags, "--epochs=60", "--export_dir=" + self.path("sum/1"))
        self.assertIn("bad record skipped: '%s' line 1002: column 'v': 2 values, expected 3" % path, shown)
        with Server(self.path("sum")) as server:
            got = server.post("/v1/models/default:predict", {"signature_name": "predict", "instances": [[1, 1, 1]]})
            self.assertAlmostEqual(got.json["predictions"][0][0], 4, delta=.001)  # 60 epochs without noise

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

    def test_inputs_of_several_columns(self):
        """The schema names the columns of each input. An empty category has the bucket of the empty text, an empty number its default."""
        rows = ["label," + ",".join("C%d" % i for i in range(26)) + "," + ",".join("I%d" % i for i in range(13))]
        for n in range(400):
            rows.append(",".join([str(n % 2)] + ["" if i == 3 else "%x" % (n % 7 + i) for i in range(25)] + ["yes" if n % 2 else "no"] +
                                 ["" if i == n % 13 else ".5" for i in range(13)]))
        path = self.write("ads.csv", "\n".join(rows) + "\n")
        columns = [{"name": "label"}] + [{"name": "I%d" % i, "default": 0} for i in range(13)] + \
            [{"name": "C%d" % i, "dtype": "string", "hash_buckets": 1000} for i in range(26)]
        flags = ["--model=wide_deep", "--train_files=" + path, "--test_files=" + path, "--batch_size=50", "--epochs=20", "--noexport"]
        schema = {"columns": columns, "inputs": {"ids": ["C*"], "numbers": ["I1", "I?", "I1?"]}}
        done = run("pstrain", "--schema=" + self.write("twice.json", json.dumps(schema)), *flags)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("input 'numbers': column 'I1' twice", done.stderr)
        schema["inputs"]["numbers"] = ["I?", "I1?"]
        shown = self.train("--schema=" + self.write("ads.json", json.dumps(schema)), *flags)
        self.assertIn("auc 1.0000", shown)  # the last category tells the label
        schema["inputs"]["words"] = ["C1"]
        done = run("pstrain", "--schema=" + self.write("more.json", json.dumps(schema)), *flags)
        self.assertIn("--schema: the model has no input 'words'", done.stderr)

    def test_several_outputs_with_weights(self):
        """Rows of weight 0 are wrong; class weights multiply the weights of the rows."""
        numbers = random.Random(3)
        lines = []
        for i in range(600):
            a, b = numbers.uniform(-1, 1), numbers.uniform(-1, 1)
            lines.append("%.6f,%.6f,%.6f,%d,1" % (a, b, a - 2 * b, 1 if a > b else 0))
            lines.append("%.6f,%.6f,1000,%d,0" % (a, b, 0 if a > b else 1))
        path = self.write("rows.csv", "a,b,line,side,weight\n" + "\n".join(lines) + "\n")
        layers = [{"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_shape": [None, 2]}, "inbound_nodes": []},
                  {"class_name": "Dense", "name": "line", "config": {"name": "line", "units": 1}, "inbound_nodes": [[["x", 0, 0, {}]]]},
                  {"class_name": "Dense", "name": "side", "config": {"name": "side", "units": 2, "activation": "softmax"},
                   "inbound_nodes": [[["x", 0, 0, {}]]]}]
        compiled = {"loss": {"line": "mse", "side": "sparse_categorical_crossentropy"}, "loss_weights": [1, 0.5],
                    "metrics": [None, ["accuracy"]], "weighted_metrics": {"line": ["mae"], "side": "accuracy"}}
        model = self.write("heads.json", json.dumps({"class_name": "Functional", "config": {
            "name": "heads", "layers": layers, "input_layers": [["x", 0, 0]], "output_layers": [["line", 0, 0], ["side", 0, 0]]},
            "compile_config": compiled}))
        shown = self.train("--model=" + model, "--train_files=" + path, "--test_files=" + path, "--weight_column=weight", "--optimizer=sgd",
                           "--learning_rate=0.3", "--epochs=40", "--export_dir=" + self.path("heads/1"))
        names = re.search(r"Test: (.*)", shown).group(1)
        value = {name: float(number) for name, number in (pair.rsplit(" ", 1) for pair in names.split(", "))}
        self.assertEqual(list(value), ["loss", "line_loss", "side_loss", "side_accuracy", "line_mae", "side_weighted_accuracy"])
        self.assertLess(value["line_mae"], .01)
        self.assertAlmostEqual(value["loss"], value["line_loss"] + value["side_loss"] / 2, delta=2e-4)  # as it is printed
        self.assertGreater(value["side_weighted_accuracy"], .9)
        self.assertAlmostEqual(value["side_accuracy"], .5, delta=.001)  # one of each pair of rows is wrong
        with Server(self.path("heads")) as server:
            got = server.post("/v1/models/default:predict", {"instances": [[0.5, 0.25]]})
            self.assertAlmostEqual(got.json["predictions"][0]["line"][0], 0, delta=.02)
        for flags, text in ((["--class_weight=1:2", "--feature_columns=a,b"], "no column 'labels'"), (["--weight_column=w"], "no column 'w'"),
                            (["--label_column=a"], "--label_column: the labels of the model's 2 outputs are the columns of their names")):
            self.assertIn(text, self.train("--model=" + model, "--train_files=" + path, *flags, code=2))

    def test_flags_of_columns_that_nothing_is_made_of(self):
        """Two towers have two inputs, which are columns of their names, and no labels."""
        path = self.write("pairs.csv", "user,item\n" + "".join("%d,%d\n" % (i, i % 3) for i in range(9)))
        for flag, text in (("--label_column=item", "the model is trained without labels"),
                           ("--feature_columns=user", "the model's inputs are made of the columns of their names")):
            shown = self.train("--model=retrieval", "--train_files=" + path, flag, "--noexport", code=2)
            self.assertIn("%s: %s" % (flag.split("=")[0], text), shown)

    def test_labels_with_a_column_for_each_class(self):
        numbers = random.Random(5)
        rows = [(a, a > 0) for a in (numbers.uniform(-1, 1) for _ in range(500))]
        text = "a,no,yes\n" + "".join("%.6f,%d,%d\n" % (a, not yes, yes) for a, yes in rows)
        path = self.write("rows.csv", text)
        shown = self.train("--model=" + self.model(1), "--train_files=" + path, "--test_files=" + path, "--label_column=no,yes", "--epochs=20",
                           "--noexport")
        self.assertGreater(float(re.search(r"accuracy ([0-9.]+)", shown).group(1)), .97)
        bad = self.write("bad.csv", text + "0.5,1,1\n")
        self.assertIn("the columns from 'no' on are not a class", self.train(
            "--model=" + self.model(1), "--train_files=" + bad, "--label_column=no,yes", "--noexport", code=1))

    def test_labels_with_a_share_of_each_class(self):
        """Labels as mixup makes them. Plain gradient descent, all rows in each step, is computed here beside pstrain."""
        numbers = random.Random(11)
        xs = [[1, numbers.uniform(-1, 1), numbers.uniform(-1, 1)] for _ in range(40)]
        shares = [[numbers.uniform(0, 1) for _ in range(3)] for _ in xs]
        shares = [[value / sum(row) for value in row] for row in shares]
        weights = [[0.0] * 3 for _ in range(3)]

        def outputs(x):
            powers = [math.exp(sum(a * w[c] for a, w in zip(x, weights))) for c in range(3)]
            return [power / sum(powers) for power in powers]
        for _ in range(20):
            errors = [[p - z for p, z in zip(outputs(x), row)] for x, row in zip(xs, shares)]
            weights = [[w - 0.5 * sum(x[i] * e[c] for x, e in zip(xs, errors)) / 40 for c, w in enumerate(row)] for i, row in enumerate(weights)]
        loss = -sum(z * math.log(p) for x, row in zip(xs, shares) for p, z in zip(outputs(x), row)) / 40
        right = sum(max(range(3), key=outputs(x).__getitem__) == max(range(3), key=row.__getitem__) for x, row in zip(xs, shares)) / 40

        model = logistic(2)
        model["config"]["layers"][1]["config"]["units"] = 3
        model["compile_config"].update(loss="categorical_crossentropy", metrics=["categorical_accuracy"])
        model = self.write("shares.json", json.dumps(model))
        text = "".join("%.9g,%.9g,%.9g,%.9g,%.9g\n" % (*x[1:], *row) for x, row in zip(xs, shares))
        with zipfile.ZipFile(self.path("rows.npz"), "w") as file:
            for name, rows in (("x", [x[1:] for x in xs]), ("y", shares)):
                header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (40, %d), }\n" % len(rows[0])
                file.writestr(name + ".npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header +
                              b"".join(struct.pack("<%df" % len(row), *row) for row in rows))
        records = b"".join(record(example(x=floats(x[1:]), y=floats(row))) for x, row in zip(xs, shares))
        for path, label in ((self.write("rows.csv", "a,b,no,maybe,yes\n" + text), "no,maybe,yes"), (self.path("rows.npz"), "y"),
                            (self.write("rows.tfrecord", records), "y")):
            flags = ["--model=" + model, "--train_files=" + path, "--test_files=" + path, "--label_column=" + label, "--optimizer=sgd",
                     "--learning_rate=0.5", "--batch_size=40", "--training_iteration=20", "--noexport"]
            shown = self.train(*flags)
            got = re.search(r"Test: .*?([\d.]+), categorical_accuracy ([\d.]+)", shown)
            self.assertAlmostEqual(float(got.group(1)), loss, delta=1e-4, msg=path)
            self.assertAlmostEqual(float(got.group(2)), right, delta=1e-3, msg=path)
            self.train(*flags, "--class_weight=0:1,2:3", "--workers=2")
        self.assertIn("metric 'sparse_categorical_crossentropy' does not fit: it needs class numbers",
                      self.train(*flags, "--metrics=sparse_categorical_crossentropy", code=2))

    def test_one_step_and_one_row_are_singular(self):
        path = self.write("a.csv", "x,y\n" + "".join("%.6f,%.6f\n" % point for point in self.line(50)))
        for batch, announced, trained in ((50, "1 step of 50 rows,", "Trained 1 step in "), (1, "50 steps of 1 row,", "Trained 50 steps in ")):
            shown = self.train("--model=linear", "--label_column=y", "--epochs=1", "--workers=1", "--noexport", "--batch_size=%d" % batch,
                               "--train_files=" + path)
            self.assertIn(announced, shown)
            self.assertIn(trained, shown)

    def test_files_that_two_patterns_match_and_names_with_brackets(self):
        for name in ("a[1].csv", "a2.csv"):
            self.write(name, "x,y\n" + "".join("%.6f,%.6f\n" % point for point in self.line(50)))
        flags = ["--model=linear", "--label_column=y", "--epochs=1", "--batch_size=10", "--workers=1", "--noexport"]
        shown = self.train(*flags, "--train_files=%s,%s" % (self.path("a2.csv"), self.path("a*.csv")))
        self.assertIn("'%s' is named twice: its rows count once" % self.path("a2.csv"), shown)
        self.assertIn("10 steps of 10 rows", shown)
        os.symlink(self.dir, self.path("link"))
        for other in (self.path(".", "a2.csv"), os.path.relpath(self.path("a2.csv")), self.path("link", "a2.csv")):
            shown = self.train(*flags, "--train_files=%s,%s" % (other, self.path("a2.csv")))
            self.assertRegex(shown, "'.*a2.csv' is the file '.*a2.csv', which is named as well: its rows count once")
            self.assertIn("5 steps of 10 rows", shown)
        self.assertIn("5 steps of 10 rows", self.train(*flags, "--train_files=" + self.path("a[1].csv")))
        os.rename(self.path("a[1].csv"), self.path("a,1.csv"))
        self.assertIn("5 steps of 10 rows", self.train(*flags, "--train_files=" + self.path("a,1.csv")))
        self.assertIn("5 steps of 10 rows", self.train(*flags, "--train_files=file://" + self.path("a,1.csv")))
        with zipfile.ZipFile(self.path("b.csv.zip"), "w") as file:
            file.writestr("b.csv", "x,y\n1,2\n")
        self.assertIn("a ZIP archive without arrays", self.train(*flags, "--train_files=" + self.path("b.csv.zip"), code=2))
        self.assertIn("s3://", self.train(*flags, "--train_files=s3://bucket/a.csv", code=2))

    def test_as_many_columns_as_a_file_may_have(self):
        count = 99999
        names, values = ",".join("c%d" % i for i in range(count)), ",".join(["1"] * count)
        path = self.write("wide.csv", "%s,y\n" % names + "%s,2\n" % values * 5)
        begun = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        self.train("--model=linear", "--train_files=" + path, "--label_column=y", "--training_iteration=2", "--batch_size=2", "--noexport")
        # A search among all names for each name takes minutes of the processor.
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun, 300 if SANITIZED else 60)

    def test_a_fraction_after_a_thousand_whole_numbers(self):
        rows = ["%d,%d" % (i % 7, 2 * (i % 7) + 10) for i in range(1100)] + ["0.5,11"] * 10
        path = self.write("late.csv", "x,y\n" + "\n".join(rows) + "\n")
        flags = ["--model=linear", "--train_files=" + path, "--label_column=y", "--noexport", "--epochs=1"]
        self.train(*flags)
        schema = self.write("late.json", run("pstrain", "schema", path).stdout)
        self.assertIn("column 'x': '0.5' is not an integer: fractions need \"dtype\": \"float32\" in --schema",
                      self.train(*flags, "--schema=" + schema, code=1))

    def test_idx_files(self):
        data = write_digits(self.path("digits"), train=300, test=100)
        for name in ("images-idx3-ubyte", "labels-idx1-ubyte"):
            with open(os.path.join(data, "t10k-" + name), "rb") as file:
                self.write("digits/other-%s.gz" % name, gzip.compress(file.read()))
        schema = self.write("schema.json", json.dumps({"columns": [{"name": "image", "shape": [28, 28], "stddev": 255, "mean": 0},
                                                                   {"name": "label", "dtype": "int64"}]}))
        shown = self.train("--model=softmax", "--train_files=%s/train-images-*,%s/other-images-*" % (data, data), "--epochs=5",
                           "--test_files=%s/t10k-images-idx3-ubyte" % data, "--schema=" + schema, "--batch_size=20", "--workers=2", "--noexport")
        self.assertIn("50 steps of 20 rows", shown)
        self.assertGreater(float(re.search(r"accuracy ([\d.]+)", shown).group(1)), .9)
        shown = self.train("--model=softmax", "--train_files=%s/train-*" % data, "--noexport", code=2)
        self.assertIn("train-labels-idx1-ubyte': a file of one number per row, as of labels: name only files of images", shown)

    def test_many_files_without_a_header(self):
        points = self.line()
        for i in range(5):
            self.write("part-%d.tsv" % i, "".join("%.6f\t%.6f\n" % point for point in points[i::5]))
        self.train("--model=linear", "--train_files=" + self.path("part-*.tsv"), "--column_names=y,x", "--feature_columns=y",
                   "--label_column=x", "--epochs=50", "--workers=3", "--export_dir=" + self.path("line/1"))
        self.assert_is_the_line(self.path("line"))

    def test_a_tfrecord_file_with_gzip(self):
        records = b"".join(record(example(x=floats([x]), y=floats([y]))) for x, y in self.line(500))
        path = self.write("line.tfrecord.gz", gzip.compress(records))
        self.train("--model=linear", "--train_files=" + path, "--label_column=y", "--export_dir=" + self.path("line/1"))
        self.assert_is_the_line(self.path("line"))

    def test_a_huber_loss_whose_delta_keras_did_not_print(self):
        path = self.write("line.csv", "x,y\n" + "".join("%.6f,%.6f\n" % point for point in self.line(100)))
        for config, said in ({}, True), ({"delta": 2.0}, False):
            model = logistic(1, binary=True)
            model["compile_config"].update(loss={"class_name": "Huber", "config": config}, metrics=None)
            shown = self.train("--model=" + self.write("huber.json", json.dumps(model)), "--train_files=" + path, "--label_column=y", "--noexport")
            self.assertEqual("Loss huber: delta is 1" in shown, said, shown)

    def test_the_first_files_have_no_rows(self):
        """Programs that write their rows to many files, by a key, leave some empty."""
        records = b"".join(record(example(x=floats([x]), y=floats([y]))) for x, y in self.line(500))
        self.write("part-0.tfrecord", b"")
        self.write("part-1.tfrecord.gz", gzip.compress(b""))
        self.write("part-2.tfrecord", records)
        self.train("--model=linear", "--train_files=" + self.path("part-*"), "--label_column=y", "--export_dir=" + self.path("line/1"))
        self.assert_is_the_line(self.path("line"))

    def test_parts_of_a_table_without_a_byte(self):
        """Not even a header: 0 bytes, or compressed."""
        half = len(self.line()) // 2
        for suffix, schema in ((".csv", []), ("", []), ("", ["--schema=" + self.write("s.json", '{"columns": [{"name": "x"}, {"name": "y"}]}')])):
            with self.subTest(suffix + "".join(schema)):
                directory = "parts%s%d" % (suffix, len(schema))
                os.makedirs(self.path(directory))
                for n, rows in enumerate(([], self.line()[:half], [], self.line()[half:])):
                    text = "".join("%s,%s\n" % row for row in rows)
                    self.write("%s/part-%d%s" % (directory, n, suffix), "x,y\n" + text if rows else "")
                self.write("%s/part-9%s" % (directory, suffix + ".gz" if suffix else ""), gzip.compress(b""))
                self.train("--model=linear", "--train_files=" + self.path(directory, "part-*"), "--label_column=y", *schema,
                           "--export_dir=" + self.path(directory, "line/1"))
                self.assert_is_the_line(self.path(directory, "line"))

    def test_columns_without_names_at_the_end(self):
        """As spreadsheets write them."""
        path = self.write("sheet.csv", "\n\nx,y,,\n" + "".join("%s,%s,,\n" % row for row in self.line()))
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
        with Server(self.path("line")) as server:  # the request carries raw values
            got = server.post("/v1/models/default:predict", {"signature_name": "predict", "instances": [[5], [105], [-95]]})
            self.assertEqual(got.status, 200, got)
            for answer, want in zip(got.json["predictions"], (10, 12, 8)):
                self.assertAlmostEqual(answer[0], want, delta=.05)  # as in assert_is_the_line
            got = server.post("/v1/models/default:regress", {"examples": [{"x": 5.0}, {"x": 105.0}]})
            self.assertAlmostEqual(got.json["results"][1], 12, delta=.05)

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
        self.assertIn("No step is left: the last one is step 50", self.train(*flags, "--stop_at_step=50", "--checkpoint_dir=" + self.path("ckpt"), "--noexport"))

    def test_the_request_that_is_printed_has_a_class(self):
        path = self.write("rows.csv", "job,age,y\n" + "".join("%s,%d,%d\n" % (("night nurse", "clerk")[i % 2], i % 50, i % 2) for i in range(100)))
        schema = self.write("schema.json", json.dumps({"columns": [{"name": "job", "dtype": "string", "classes": ["night nurse", "clerk"]},
                                                                   {"name": "age"}, {"name": "y"}]}))
        shown = self.train("--model=logistic", "--train_files=" + path, "--schema=" + schema, "--label_column=y", "--export_dir=" + self.path("jobs/1"))
        words = shlex.split(next(line for line in shown.splitlines() if line.startswith("Ask it:")))
        self.assertEqual(json.loads(words[4])["inputs"]["job"], [["night nurse"]])
        with Server(self.path("jobs")) as server:
            self.assertEqual(server.post("/v1/models/default:predict", json.loads(words[4])).status, 200)

    def test_a_text_for_fields_without_a_value(self):
        rows = "".join("%s,%.6f\n" % ("NA" if i % 4 == 0 else "%.6f" % x, 10 if i % 4 == 0 else y) for i, (x, y) in enumerate(self.line()))
        path = self.write("line.csv", "x,y\n" + rows)
        flags = ["--model=linear", "--train_files=" + path, "--label_column=y", "--export_dir=" + self.path("line/1")]
        self.assertIn("column 'x' holds text ('NA' is not a number)", self.train(*flags, code=2))
        self.assertIn("line 2: column 'x': no value: give the column a \"default\"", self.train(*flags, "--na_value=NA", code=1))
        schema = json.loads(run("pstrain", "schema", "--na_value=NA", path).stdout)
        self.assertEqual([column["dtype"] for column in schema["columns"]], ["float32", "float32"])
        schema["columns"][0]["default"] = 0
        self.train(*flags, "--na_value=NA", "--schema=" + self.write("schema.json", json.dumps(schema)))
        self.assert_is_the_line(self.path("line"))

    def test_bad_records_are_named_and_end_the_job_over_the_limit(self):
        good = "".join("%.6f,%.6f\n" % point for point in self.line(300))
        path = self.write("line.csv", "x,y\n" + good + "abc,1\n" + good + "1\n")
        flags = ["--model=linear", "--train_files=" + path, "--label_column=y", "--noexport", "--workers=1"]
        shown = self.train(*flags, "--max_bad_records=2")
        self.assertIn("bad record skipped: '%s' line 302: column 'x': 'abc' is not a number" % path, shown)
        self.assertIn("line 603: 1 fields, wanted 2", shown)
        shown = self.train(*flags, "--max_bad_records=1", code=1)
        self.assertIn("that is bad record 2, --max_bad_records=1", shown)
        path = self.write("bad.csv", "x,y\n1,2\n\"a,3\n")  # which only the second of two workers meets
        shown = self.train("--model=linear", "--train_files=" + path, "--label_column=y", "--noexport", "--nosync", "--stop_at_step=3000", code=1)
        self.assertIn("line 3: no closing quote; that is bad record 1, --max_bad_records=0", shown)

    def test_a_loss_that_is_no_number(self):
        """The row that spoils the loss is named; if there is none, the learning rate is too large."""
        lines = ["%.6f,%.6f" % point for point in self.line(300)]
        flags = ["--model=linear", "--label_column=y", "--noexport", "--workers=1", "--batch_size=10"]
        path = self.write("line.csv", "\n".join(["x,y", *lines]) + "\n")
        shown = self.train(*flags, "--train_files=" + path, "--learning_rate=1e9", "--optimizer=sgd", code=1)
        self.assertRegex(shown, "the loss is (inf|nan) at step [0-9]+: try a smaller --learning_rate")
        for number, (line, column) in (("nan", ("0.5,nan", "y")), ("inf", ("-inf,0.5", "x"))):
            rows = lines[:120] + [line] + lines[120:]
            paths = [self.write("a.csv", "\n".join(["x,y", *rows[:100]]) + "\n"), self.write("b.csv", "\n".join(["x,y", *rows[100:]]) + "\n")]
            for more in ((), ("--gradient_accumulation_steps=3", "--nosync"), ("--prefetch_batches=0", "--clipnorm=1")):
                shown = self.train(*flags, "--train_files=" + ",".join(paths), "--optimizer=sgd", "--learning_rate=1e-3", *more, code=1)
                self.assertRegex(shown, "the loss is (nan|inf): row [0-9]+ of the batch's 10 has -?%s in the model's '%s': '%s' line 22: column '%s'" % (
                    number, "labels" if column == "y" else "x", paths[1], column))
        # The logarithm of a sigmoid has a NaN with a sign.
        model = self.write("sigmoid.json", json.dumps({"class_name": "Sequential", "config": {"name": "m", "layers": [
            {"class_name": "InputLayer", "config": {"batch_shape": [None, 1], "name": "x"}},
            {"class_name": "Dense", "config": {"name": "d", "units": 1, "activation": "sigmoid"}}]}, "compile_config": {"loss": "binary_crossentropy"}}))
        path = self.write("signed.csv", "x,y\n" + "0.5,1\n" * 9 + "nan,0\n")
        shown = self.train("--model=" + model, *flags[1:], "--train_files=" + path, code=1)
        self.assertRegex(shown, "the loss is nan: row [0-9]+ of the batch's 10 has nan in the model's 'x': '%s' line 11: column 'x'" % path)

    def test_what_cannot_be_trained_on_is_refused_by_name(self):
        path = self.write("line.csv", "x,y,s\n1,2,a\n")
        schema = self.write("schema.json", '{"columns": [{"name": "x", "vocabulary": 3}]}')
        empty, numbers = self.write("empty.csv", "x,y\n"), self.write("numbers.csv", "x,y\n1,2\n")
        headless, archive = self.write("headless.csv", "1,2\n3,4\n"), self.write("model.keras", b"PK\3\4")
        large, hexadecimal = self.write("large.csv", "x,y\n1,2\n1e400,3\n"), self.write("hexadecimal.csv", "x,y\n1,2\n0x10,3\n")
        examples = self.write("one.tfrecord", record(example(x=floats([1]))))
        for flags, wanted in ((["--train_files=" + path], "--label_column: no column 'label'"),
                              (["--train_files=" + examples], "'%s' has 'x'\n" % examples),
                              (["--train_files=" + path, "--label_column=y"], "--feature_columns: column 's' holds text"),
                              (["--train_files=" + path, "--label_column=y", "--weight_column=w"], "--weight_column: no column 'w'"),
                              (["--train_files=" + headless], "; --column_names names the columns of files without a header"),
                              (["--model=" + archive], "expected the JSON that to_json() of a Keras model prints"),
                              (["--train_files=" + path, "--label_column=y", "--feature_columns=z"], "no column 'z'"),
                              (["--train_files=" + self.path("none-*")], "--train_files: no file matches"),
                              (["--model=logistic"], "without --train_files or --train_dir, these are data that pstrain draws itself"),
                              (["--train_files=" + path, "--data_format=xml"], "--data_format=xml is none of npz, image, tfrecord"),
                              (["--train_files=" + path, "--schema=" + schema], "unknown key 'vocabulary'"),
                              (["--train_files=" + path, "--train_dir=x"], "--train_files and --train_dir"),
                              (["--max_bad_records=1"], "--max_bad_records needs --train_files"),
                              (["--train_files=" + large, "--label_column=y"], "column 'x' holds text ('1e400' is out of the range of a float)"),
                              (["--train_files=" + hexadecimal, "--label_column=y"], "column 'x' holds text ('0x10' is hexadecimal"),
                              (["--train_files=" + empty, "--label_column=y"], "--train_files: '%s': no rows" % empty),
                              (["--train_files=" + empty, "--label_column=y", "--epochs=1"], "--train_files: '%s': no rows" % empty),
                              (["--train_files=" + numbers, "--label_column=y", "--test_files=" + empty], "--test_files: '%s': no rows" % empty)):
            with self.subTest(flags):
                self.assertIn(wanted, self.train("--model=linear", "--noexport", *flags, code=2))

    def test_pstrain_schema_hashes_texts(self):
        """A table of texts and numbers trains without an edited schema: all texts but the label get buckets."""
        rows = [(random.Random(i).choice(["red", "green", "blue"]), i % 7, "a%d" % (i % 2)) for i in range(300)]
        path = self.write("shop.csv", "color,n,kind,sold\n" + "".join(
            "%s,%d,%s,%s\n" % (*row, "yes" if (row[0] == "red") != (row[2] == "a1") else "no") for row in rows))
        flags = ["--model=logistic", "--train_files=" + path, "--label_column=sold", "--noexport"]
        plain = self.write("plain.json", run("pstrain", "schema", path, "--label_column=sold").stdout)
        self.assertIn("give it \"hash_buckets\" or \"classes\" in --schema (`pstrain schema --hash_buckets` does)",
                      self.train(*flags, "--schema=" + plain, code=2))
        done = run("pstrain", "schema", path, "--label_column=sold", "--hash_buckets=50")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        columns = {c["name"]: c for c in json.loads(done.stdout)["columns"]}
        self.assertEqual({name: c.get("hash_buckets") for name, c in columns.items()}, {"color": 50, "n": None, "kind": 50, "sold": None})
        self.assertEqual(columns["sold"]["classes"], ["no", "yes"])
        schema = self.write("schema.json", done.stdout)
        self.train(*flags, "--schema=" + schema)
        # The columns decide the width of a sparse input, too.
        self.train("--model=sparse_logistic", "--train_files=" + path, "--label_column=sold", "--schema=" + schema, "--export_dir=" + self.path("m/1"))
        done = run("savedmodel", "show", self.path("m/1"))
        self.assertRegex(done.stdout, r"dense/kernel +float +\[101,1\]")
        done = run("pstrain", "schema", path, "--hash_buckets=50")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--hash_buckets needs --label_column", done.stderr)

    def test_fields_with_other_separators(self):
        """Guessed of the first line, or given by the schema; quoted fields may hold any of them."""
        points = list(self.line(300))
        for separator in (";", "\t", "|", ":"):
            path = self.write("line.csv", separator.join(["x", "y", "note"]) + "\n" + "".join(
                separator.join(["%.6f" % x, "%.6f" % y, '"a%s,b"' % separator]) + "\n" for x, y in points))
            flags = ["--model=linear", "--train_files=" + path, "--label_column=y", "--feature_columns=x", "--noexport", "--workers=1"]
            if separator == ":":
                self.assertIn("no column 'y'", self.train(*flags, code=2))
                schema = json.dumps({"columns": [{"name": "x"}, {"name": "y"}], "separator": separator})
            else:
                self.assertIn("Trained 1000 steps", self.train(*flags))
                schema = run("pstrain", "schema", path).stdout
                self.assertEqual(json.loads(schema)["separator"], separator)
                self.assertEqual([c["dtype"] for c in json.loads(schema)["columns"]], ["float32", "float32", "string"])
            self.train(*flags, "--schema=" + self.write("schema.json", schema))
            wrong = json.dumps({"columns": [{"name": "x"}, {"name": "y"}], "separator": ","})
            self.assertIn("no column 'y' among x%sy%snote" % (separator, separator),
                          self.train(*flags, "--schema=" + self.write("schema.json", wrong), code=2))
        rows = self.write("rows.csv", "".join("%.6f;%.6f\n" % point for point in points))
        self.train("--model=linear", "--train_files=" + rows, "--label_column=y", "--column_names=x,y", "--noexport", "--workers=1")
        path = self.write("rows.svm", "1 1:2\n0 2:1\n")
        schema = self.write("schema.json", '{"columns": [{"name": "label"}, {"name": "features", "kind": "sparse", "index": "index", "value": "value", '
                            '"first_index": 1}], "separator": ";"}')
        self.assertIn("the schema has a 'separator' of fields, which is for csv and tsv files; this file is libsvm",
                      self.train("--model=linear", "--train_files=" + path, "--schema=" + schema, "--noexport", code=2))

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
        gaps = self.write("gaps.csv", "x,y,name\n1,,a\n2,,\n3,4,\n")
        self.assertEqual(run("pstrain", "schema", gaps).stderr,
                         "'%s': 2 of the first 3 rows have no 'y': bad records, unless the column gets a \"default\", as from --normalize\n" % gaps)
        codes = self.write("zips.csv", "zip,tags\n" + "02136,1|2\n" * 30 + "02136-1522,3|4\n")
        self.assertEqual(run("pstrain", "schema", codes).stderr,
                         "'%s': column 'zip': '02136-1522' is not a number: a bad record, unless the column gets the dtype \"string\" or "
                         "this is the --na_value\n" % codes)
        self.assertEqual(run("pstrain", "schema").returncode, 2)
        mail = self.write("mail.csv", "x,y\n" + "".join("%d,%s\n" % (i % 5 - 2, "spam" if i % 5 > 2 else "ham") for i in range(100)))
        flags = ["--model=logistic", "--train_files=" + mail, "--label_column=y", "--noexport"]
        self.assertIn("--label_column: column 'y' holds text ('ham' is not a number), and the model's 'labels' takes numbers of classes",
                      self.train(*flags, code=2))
        done = run("pstrain", "schema", "--label_column=y", mail)
        self.assertEqual(json.loads(done.stdout)["columns"][1]["classes"], ["ham", "spam"])
        self.train(*flags, "--schema=" + self.write("schema.json", done.stdout))
        self.assertIn("'%s' has no column 'z'" % mail, run("pstrain", "schema", "--label_column=z", mail).stderr)
        done = run("pstrain", "schema", "--normalize", mail)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--normalize needs --label_column", done.stderr)
        prices = [(i % 7, 1000 + 50 * (i % 11)) for i in range(500)]  # without normalizing, SGD diverges
        path = self.write("prices.csv", "a,b,c,y\n" + "".join("%d,%d,20141021,%d\n" % (a, b, 30000 * a + 20 * b) for a, b in prices))
        done = run("pstrain", "schema", "--normalize", "--label_column=y", path)
        columns = {column["name"]: column for column in json.loads(done.stdout)["columns"]}
        self.assertAlmostEqual(columns["b"]["mean"], statistics.mean(b for _, b in prices), delta=1e-5)
        self.assertAlmostEqual(columns["b"]["stddev"], statistics.pstdev(b for _, b in prices), delta=1e-5)
        self.assertEqual((columns["c"]["mean"], columns["c"]["stddev"]), (20141021, 1))  # it is constant
        self.assertNotIn("mean", columns["y"])
        flags = ["--model=linear", "--train_files=" + path, "--label_column=y", "--epochs=200", "--noexport"]
        self.assertIn("the loss is", self.train(*flags, code=1))
        self.train(*flags, "--schema=" + self.write("schema.json", done.stdout))
        weighted = self.write("weighted.csv", "x,w,y\n" + "".join("%d,3,%d\n" % (i % 5, 2 * (i % 5)) for i in range(100)))
        flags = ["--model=linear", "--train_files=" + weighted, "--label_column=y", "--weight_column=w", "--noexport"]
        done = run("pstrain", "schema", "--normalize", "--label_column=y", weighted)
        self.assertIn("--weight_column: the schema subtracts the 'mean' 3 from the weights 'w'; `pstrain schema --weight_column` leaves",
                      self.train(*flags, "--schema=" + self.write("schema.json", done.stdout), code=2))
        done = run("pstrain", "schema", "--normalize", "--label_column=y", "--weight_column=w", weighted)
        self.assertEqual(["mean" in column for column in json.loads(done.stdout)["columns"]], [True, False, False])
        self.train(*flags, "--schema=" + self.write("schema.json", done.stdout))
        done = run("pstrain", "schema", "--batch_size=10", path)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("unknown argument: --batch_size", done.stderr)


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

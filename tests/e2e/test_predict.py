"""pstrain predict: the rows of files through an export, compared with savedmodel run, and with the same rows in other formats."""
import csv
import fcntl
import gzip
import io
import json
import os
import struct
import subprocess
import zipfile

import records
import tiny_model
from harness import SOURCE, TestCase, clean_environment, main, program, run, train

SCHEMA = '{"columns": [{"name": "id", "dtype": "string"}, {"name": "x"}, {"name": "label"}]}'


def npy(values):
    """A float32 vector as numpy.save writes it."""
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(values), *values)


class Predict(TestCase):
    def setUp(self):
        super().setUp()
        self.model = self.path("model", "1")
        train(self.model, "--model=linear", "--training_iteration=20")

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8", newline="") as f:
            f.write(text)
        return self.path(name)

    def predict(self, *flags, model=None, **options):
        return run("pstrain", "predict", model or self.model, *flags, **options)

    def lines(self, *flags, **options):
        done = self.predict(*flags, **options)
        self.assertEqual(done.returncode, 0, done)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def expected(self, xs):
        """What savedmodel run answers for these x."""
        done = run("savedmodel", "run", self.model, "--signature=predict", "--input=x=%s" % json.dumps([[x] for x in xs]))
        self.assertEqual(done.returncode, 0, done)
        return [row[0] for row in json.loads(done.stdout.split("\n", 1)[1])]

    def test_rows_come_in_order_whatever_the_batch(self):
        xs = [i / 8 for i in range(-500, 1733)]
        file = self.write("x.csv", "x\n" + "".join("%r\n" % x for x in xs))
        expected = [{"y": [y]} for y in self.expected(xs)]
        for batch in (1, 100, 1024, 5000):
            with self.subTest(batch):
                self.assertEqual(self.lines("--predict_files=" + file, "--batch_size=%d" % batch), expected)

    def test_all_formats_give_the_same(self):
        xs = [0.5, -2.0, 1e6, 0.0]
        text = "x\n" + "".join("%r\n" % x for x in xs)
        with gzip.open(self.path("x.csv.gz"), "wt") as f:
            f.write(text)
        self.write("x.tsv", text)
        self.write("x.svm", "".join("1 1:%r\n" % x for x in xs))
        with open(self.path("x.tfrecord"), "wb") as f:
            f.write(b"".join(records.record(records.example(x=records.floats([x]))) for x in xs))
        with zipfile.ZipFile(self.path("x.npz"), "w") as f:
            f.writestr("x.npy", npy(xs))
        expected = [{"y": [y]} for y in self.expected(xs)]
        for name in ("x.csv.gz", "x.tsv", "x.svm", "x.tfrecord", "x.npz"):
            with self.subTest(name):
                self.assertEqual(self.lines("--predict_files=" + self.path(name)), expected)

    def test_a_signature_that_parses_examples(self):
        xs = [0.5, -2.0, 1e6, 0.0]
        with open(self.path("x.tfrecord"), "wb") as f:
            f.write(b"".join(records.record(records.example(x=records.floats([x]))) for x in xs))
        rows = self.lines("--predict_files=" + self.path("x.tfrecord"), "--signature=serving_default")
        self.assertEqual([row["outputs"] for row in rows], [[y] for y in self.expected(xs)])

    def test_a_ragged_input(self):
        description = {"class_name": "Sequential", "config": {"name": "bag", "layers": [
            {"class_name": "InputLayer", "config": {"batch_shape": [None, None], "dtype": "int64", "ragged": True, "name": "ids"}},
            {"class_name": "EmbeddingBag", "config": {"input_dim": 10, "output_dim": 1, "combiner": "sum", "name": "bag"}}]},
            "compile_config": {"optimizer": "sgd", "loss": "mse"}}
        lists = self.write("lists.csv", "ids,label\n1|2|3,1\n4,0\n,0\n4|4,1\n")
        schema = self.write("schema.json", '{"columns": [{"name": "ids", "kind": "ragged", "dtype": "int64", "separator": "|"}, {"name": "label"}]}')
        model = self.path("ragged", "1")
        train(model, "--model=" + self.write("bag.json", json.dumps(description)), "--train_files=" + lists, "--schema=" + schema,
              "--training_iteration=5")
        done = run("savedmodel", "run", model, "--signature=predict", "--input=x=[1,2,3,4,4,4]", "--input=x_1=[0,3,4,4,6]")
        rows = self.lines("--predict_files=" + lists, "--schema=" + schema, "--batch_size=3", model=model)
        self.assertEqual([row["y"] for row in rows], json.loads(done.stdout.split("\n", 1)[1]))

    def test_an_integer_beyond_int32_is_refused(self):
        """An Example carries int64s; the Cast to the model's int32 took other bits for one that does not fit."""
        description = {"class_name": "Sequential", "config": {"name": "ids", "layers": [
            {"class_name": "InputLayer", "config": {"batch_shape": [None, 1], "dtype": "int32", "name": "id"}},
            {"class_name": "Embedding", "config": {"input_dim": 10, "output_dim": 1, "name": "table"}},
            {"class_name": "Flatten", "config": {"name": "flat"}}]}, "compile_config": {"optimizer": "sgd", "loss": "mse"}}
        model = self.path("ids", "1")
        train(model, "--model=" + self.write("ids.json", json.dumps(description)), "--train_files=" + self.write("ids.csv", "id,label\n1,1\n2,0\n"),
              "--schema=" + self.write("schema.json", '{"columns": [{"name": "id", "dtype": "int64"}, {"name": "label"}]}'), "--training_iteration=5")
        for number, code in ((1, 0), (2 ** 32 + 1, 1)):
            with open(self.path("x.tfrecord"), "wb") as f:
                f.write(records.record(records.example(x=records.integers([number]))))
            done = self.predict("--predict_files=" + self.path("x.tfrecord"), "--signature=serving_default", model=model)
            self.assertEqual(done.returncode, code, done)
        self.assertIn("has an integer that is beyond the int32 of the model", done.stderr)

    def test_an_evaluation(self):
        file = self.write("xy.csv", "x,label,w\n0,1,1\n1,0,3\n2,5,0\n")
        ys = self.expected([0, 1, 2])
        errors = [(y - label) ** 2 for y, label in zip(ys, (1, 0, 5))]
        flags = ("--predict_files=" + file, "--evaluate", "--loss=mse", "--metrics=mae")
        got, = self.lines(*flags, "--feature_columns=x", "--batch_size=2")
        self.assertEqual(list(got), ["rows", "loss", "mae"])
        self.assertAlmostEqual(got["loss"], sum(errors) / 3, 4)
        self.assertAlmostEqual(got["mae"], sum(e ** 0.5 for e in errors) / 3, 4)
        weighted, = self.lines(*flags, "--weight_column=w", "--output=" + self.path("out"))
        self.assertAlmostEqual(weighted["loss"], (errors[0] + 3 * errors[1]) / 3, 4)
        with open(self.path("out"), encoding="utf-8") as rows:
            self.assertEqual([json.loads(line) for line in rows], [{"y": [y]} for y in ys])
        for wrong, text in ((("--metrics=mae",), "--metrics needs --evaluate"),
                            (("--evaluate", "--loss=none"), "pstrain: --loss: 'none' is not a loss; known: "),
                            (("--evaluate", "--loss=mse", "--label_column=z"), "no column 'z'")):
            with self.subTest(wrong):
                done = self.predict("--predict_files=" + file, "--feature_columns=x", *wrong)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn(text, done.stderr)

    def test_an_evaluation_as_the_export_was_trained(self):
        """assets.extra/compile_config.json has the losses by the outputs' names, also of a list."""
        file = self.write("xy.csv", "x,b,a\n" + "".join("%d,%d,%d\n" % (i, i % 2, 3 * i) for i in range(6)))
        ends = [{"class_name": "Dense", "name": n, "config": {"name": n, "units": 1, **more}, "inbound_nodes": [[["x", 0, 0, {}]]]}
                for n, more in (("b", {"activation": "sigmoid"}), ("a", {}))]
        description = {"class_name": "Functional", "config": {"name": "two", "layers": [
            {"class_name": "InputLayer", "name": "x", "config": {"name": "x", "batch_shape": [None, 1]}, "inbound_nodes": []}, *ends],
            "input_layers": [["x", 0, 0]], "output_layers": [["b", 0, 0], ["a", 0, 0]]},
            "compile_config": {"optimizer": "sgd", "loss": ["binary_crossentropy", "mse"], "loss_weights": [1, 0.5], "metrics": [["auc"], ["mae"]]}}
        flags = ["--schema=" + self.write("schema.json", '{"columns": [{"name": "x"}, {"name": "a"}, {"name": "b"}]}')]
        said = train(self.path("two", "1"), "--model=" + self.write("two.json", json.dumps(description)), "--train_files=" + file,
                     "--test_files=" + file, "--training_iteration=5", "--learning_rate=0.001", *flags).stdout
        with open(self.path("two", "1", "assets.extra", "compile_config.json"), encoding="utf-8") as f:
            self.assertEqual(json.load(f), {"loss": {"b": "binary_crossentropy", "a": "mse"}, "loss_weights": {"b": 1, "a": 0.5},
                                            "metrics": {"b": ["auc"], "a": ["mae"]}})
        got, = self.lines("--predict_files=" + file, "--evaluate", *flags, model=self.path("two", "1"))
        self.assertIn("Test: loss %.4f" % got["loss"], said)
        self.assertEqual(len(got), 6, got)
        got, = self.lines("--predict_files=" + file, "--evaluate", "--metrics=[null, [\"mse\"]]", *flags, model=self.path("two", "1"))
        self.assertEqual(len(got), 5, got)
        done = self.predict("--predict_files=" + file, "--evaluate", "--metrics=mea", *flags, model=self.path("two", "1"))
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("--metrics: ", done.stderr)
        self.assertNotIn("compile_config", done.stderr)
        # trained further: another loss
        xy = self.write("x.csv", "x,label\n0,1\n1,2\n")
        for loss, shown in (("mae", '{"loss": "mae"}\n'), ("", '{"loss": {"y": "mean_squared_error"}}\n')):
            to = self.path("further" + loss, "1")
            train(to, "--from_savedmodel=" + self.model, "--train_files=" + xy, "--training_iteration=1", *(["--loss=" + loss] if loss else []))
            with open(os.path.join(to, "assets.extra", "compile_config.json"), encoding="utf-8") as f:
                self.assertEqual(f.read(), shown)
            self.lines("--predict_files=" + xy, "--evaluate", model=to)
        with open(os.path.join(to, "assets.extra", "compile_config.json"), "w", encoding="utf-8") as f:
            f.write('{"loss": "nonsense"}')
        done = self.predict("--predict_files=" + xy, "--evaluate", model=to)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("assets.extra/compile_config.json': compile_config: loss: 'nonsense' is not a loss", done.stderr)

    def test_an_evaluation_without_a_loss_names_those_that_fit(self):
        file = self.write("xy.csv", "x,label\n0,1\n")
        crossentropy = "sparse_categorical_crossentropy"
        for name, widths, text in (
                ("one", [1], "binary_crossentropy if output 'y0' [?,1] has probabilities, or mse if it has other numbers"),
                ("classes", [3], crossentropy + " if output 'y0' [?,3] has probabilities, or mse if"),
                ("both", [3, 1], '{"y0": "%s", "y1": "mse"}' % crossentropy)):
            with self.subTest(name):
                b = tiny_model.Builder()
                b.placeholder("x", 1, (-1, 1))
                outputs = {}
                for i, width in enumerate(widths):
                    b.const("w%d" % i, 1, (1, width), [1.0] * width)
                    b.node("y%d" % i, "MatMul", "x", "w%d" % i, T=("type", 1))
                    outputs["y%d" % i] = ("y%d:0" % i, 1, (-1, width))
                b.signature("serving_default", "predict", {"x": ("x:0", 1, (-1, 1))}, outputs)
                tiny_model.save(b.model, self.path(name, "1"))
                done = self.predict("--predict_files=" + file, "--evaluate", model=self.path(name, "1"))
                self.assertEqual((done.returncode, done.stdout), (2, ""), done)
                self.assertIn("--evaluate needs --loss", done.stderr)
                self.assertIn(text, done.stderr)

    def test_an_evaluation_that_is_no_number(self):
        huge = self.write("huge.csv", "x,label\n0,3e38\n")
        got, = self.lines("--predict_files=" + huge, "--evaluate", "--loss=mse")
        self.assertEqual(got, {"rows": 1, "loss": float("inf")})
        done = self.predict("--predict_files=" + self.write("none.csv", "x,label\n"), "--evaluate", "--loss=mse")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn("--evaluate: --predict_files has no rows to evaluate", done.stderr)

    def test_an_evaluation_wants_an_output_for_each_row(self):
        """The mean of the rows would be broadcast over the labels."""
        b = tiny_model.Builder()
        b.placeholder("x", 1, (-1, 1))
        b.const("axis", 3, (), [0])
        b.node("y", "Mean", "x", "axis", T=("type", 1), Tidx=("type", 3), keep_dims=("b", True))
        b.signature("serving_default", "predict", {"x": ("x:0", 1, (-1, 1))}, {"y": ("y:0", 1, (-1, 1))})
        tiny_model.save(b.model, self.path("mean", "1"))
        done = self.predict("--predict_files=" + self.write("xy.csv", "x,label\n0,1\n1,0\n"), "--evaluate", "--loss=mse", model=self.path("mean", "1"))
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn("output 'y' has shape [1,1] for 2 rows", done.stderr)

    def test_files_in_the_order_of_their_names(self):
        for i in (3, 1, 2):
            self.write("part-%d.csv" % i, "id,x\n%d,%d\n" % (i, i))
        rows = self.lines("--predict_files=" + self.path("part-*.csv"), "--id_column=id")
        self.assertEqual([row["id"] for row in rows], ["1", "2", "3"])

    def test_a_first_part_without_a_byte(self):
        for i, text in enumerate(("", "id,x\n1,0.5\n", "")):
            self.write("part-%d.csv" % i, text)
        schema = self.write("schema.json", '{"columns": [{"name": "id"}, {"name": "x"}]}')
        for flags in ((), ("--schema=" + schema,)):
            rows = self.lines("--predict_files=" + self.path("part-*.csv"), "--id_column=id", *flags)
            self.assertEqual([row["id"] for row in rows], ["1"])
        parts = [self.path("part-%d.csv" % i) for i in range(3)]
        printed = [run("pstrain", "schema", *files) for files in (parts, parts[1:2])]
        self.assertEqual([done.returncode for done in printed], [0, 0], printed)
        self.assertEqual(printed[0].stdout, printed[1].stdout)

    def test_ids_stay_as_they_are_written(self):
        """Neither the leading zeros nor the digits beyond a float's get lost; labels are no features."""
        ids = ["007", "16777217", "a,\"b\"", "é"]
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(["label", "id", "x"])
        writer.writerows([1, id, 0.5] for id in ids)
        file = self.write("x.csv", text.getvalue())
        y = self.expected([0.5])[0]
        self.assertEqual(self.lines("--predict_files=" + file, "--id_column=id"), [{"id": id, "y": [y]} for id in ids])
        done = self.predict("--predict_files=" + file, "--id_column=id", "--output_format=csv")
        self.assertEqual(list(csv.reader(io.StringIO(done.stdout))), [["id", "y"]] + [[id, "%.9g" % y] for id in ids])
        with open(self.path("n.tfrecord"), "wb") as f:
            f.write(records.record(records.example(x=records.floats([0.5]), n=records.integers([9007199254740993]))))
        self.assertEqual(self.lines("--predict_files=" + self.path("n.tfrecord"), "--id_column=n"), [{"n": 9007199254740993, "y": [y]}])

    def test_an_id_that_is_taken_as_numbers_is_an_error(self):
        file = self.write("x.csv", "x,label\n1,2\n")
        for flags, taker in ((("--evaluate", "--loss=mse", "--id_column=label"), "labels"), (("--feature_columns=x", "--id_column=x"), "x")):
            with self.subTest(taker):
                done = self.predict("--predict_files=" + file, *flags)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn("pstrain: %s: the model's '%s' takes this column as numbers, but an id is text" % (flags[-1], taker), done.stderr)

    def test_two_numbers_that_look_like_a_ragged_input(self):
        """The input K of rank 1 beside an int64 K_1 is a list and its row splits only if the files have no column K_1."""
        b = tiny_model.Builder()
        b.placeholder("k", 1, (-1,))
        b.placeholder("k_1", 9, (-1,))
        b.node("float", "Cast", "k_1", SrcT=("type", 9), DstT=("type", 1))
        b.node("y", "AddV2", "k", "float", T=("type", 1))
        b.signature("serving_default", "predict", {"k": ("k:0", 1, (-1,)), "k_1": ("k_1:0", 9, (-1,))}, {"y": ("y:0", 1, (-1,))})
        tiny_model.save(b.model, self.path("pair", "1"))
        file = self.write("pairs.csv", "k,k_1\n0.5,7\n1.5,-2\n")
        self.assertEqual(self.lines("--predict_files=" + file, model=self.path("pair", "1")), [{"y": 7.5}, {"y": -0.5}])

    def test_ids_need_not_stand_in_the_schema(self):
        file = self.write("x.csv", "id,x,kind\n007,0.5,a|b\n")
        schema = self.write("schema.json", '{"columns": [{"name": "x"}]}')
        y = self.expected([0.5])
        flags = ("--predict_files=" + file, "--schema=" + schema)
        self.assertEqual(self.lines(*flags, "--id_column=id"), [{"id": "007", "y": y}])
        schema = self.write("schema.json", '{"columns": [{"name": "id", "dtype": "string", "classes": ["007"]}, {"name": "x"}, '
                            '{"name": "kind", "dtype": "string", "separator": "|"}]}')
        for name, id in (("id", "007"), ("kind", "a|b")):
            self.assertEqual(self.lines(*flags, "--id_column=" + name, "--feature_columns=x"), [{name: id, "y": y}])

    def test_bad_records_are_named_and_have_no_line(self):
        file = self.write("x.csv", "id,x\na,1\nb,?\nc,2\nd\n")
        schema = self.write("schema.json", SCHEMA)
        flags = ("--predict_files=" + file, "--schema=" + schema, "--id_column=id")
        done = self.predict(*flags, "--max_bad_records=2", "--output=" + self.path("out"))
        self.assertEqual((done.returncode, done.stdout), (0, ""), done)
        self.assertIn("bad record skipped: '%s' line 3: column 'x': '?' is not a number" % file, done.stderr)
        self.assertIn("pstrain: 2 rows by signature 'predict'; 2 bad records skipped\n", done.stderr)
        with open(self.path("out"), encoding="utf-8") as f:
            self.assertEqual([json.loads(line)["id"] for line in f], ["a", "c"])
        done = self.predict(*flags[:2], "--feature_columns=x", "--max_bad_records=2")
        self.assertIn("; 2 bad records skipped (--id_column tells which rows the lines are of)\n", done.stderr)
        os.remove(self.path("out"))
        done = self.predict(*flags, "--max_bad_records=1", "--output=" + self.path("out"))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("line 5", done.stderr)
        self.assertEqual([n for n in os.listdir(self.dir) if n.startswith("out")], [], "no half output")

    def test_a_sparse_model(self):
        svm = self.write("x.svm", "".join("%d %d:1 %d:0.5\n" % (i % 2, i % 7 + 1, i % 5 + 20) for i in range(200)))
        model = self.path("sparse", "1")
        train(model, "--model=sparse_logistic", "--train_files=" + svm, "--training_iteration=30")
        rows = self.lines("--predict_files=" + svm, model=model)
        self.assertEqual(len(rows), 200)
        self.assertEqual(self.lines("--predict_files=" + svm, "--sparse_width=1048576", model=model), rows)
        inputs = ("--input=x=[[0,0],[0,19],[1,1],[1,20]]", "--input=x_1=[1,0.5,1,0.5]", "--input=x_2=[2,1048576]")
        done = run("savedmodel", "run", model, "--signature=predict", *inputs)
        self.assertEqual([row["y"] for row in rows[:2]], json.loads(done.stdout.split("\n", 1)[1]))

    def test_a_schema_that_normalises(self):
        """The export of such a schema takes raw values; a model of another program takes normalised ones."""
        rows = self.write("line.csv", "x,label\n" + "".join("%d,%d\n" % (x, x) for x in range(-100, 100)))
        schema = self.write("schema.json", '{"columns": [{"name": "x", "mean": 50, "stddev": 100}, {"name": "label"}]}')
        model = self.path("scaled", "1")
        train(model, "--model=linear", "--train_files=" + rows, "--schema=" + schema, "--training_iteration=20")
        flags = ("--predict_files=" + rows, "--schema=" + schema)
        done = run("savedmodel", "run", model, "--signature=predict", "--input=x=[[-100],[-99]]")
        self.assertEqual([row["y"] for row in self.lines(*flags, model=model)[:2]], json.loads(done.stdout.split("\n", 1)[1]))
        self.assertEqual([row["y"][0] for row in self.lines(*flags)[:2]], self.expected([-1.5, -1.49]))

    def test_lists_are_padded_to_the_longest_of_their_batch(self):
        model = os.path.join(SOURCE, "tests", "golden", "finetune", "recurrent")
        lists = self.write("lists.csv", "ids,label\n1|2|3,1\n4,0\n,0\n")
        schema = self.write("schema.json", '{"columns": [{"name": "ids", "kind": "ragged", "dtype": "int64", "separator": "|"}, {"name": "label"}]}')
        done = run("savedmodel", "run", model, "--input=ids=[[1,2,3],[4,0,0],[0,0,0]]")
        self.assertEqual([row["output_0"] for row in self.lines("--predict_files=" + lists, "--schema=" + schema, model=model)],
                         json.loads(done.stdout.split("\n", 1)[1]))
        done = self.predict("--predict_files=" + self.write("big.csv", "ids\n7|2147483648\n"), "--schema=" + schema, model=model)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("2147483648 is no integer of type int32, as the model's 'ids' takes", done.stderr)

    def test_many_outputs_and_columns(self):
        model = self.path("softmax", "1")
        train(model, "--model=softmax", "--training_iteration=2")
        text = ",".join("p%d" % i for i in range(784)) + "\n" + ",".join(["0.5"] * 784) + "\n"
        file = self.write("x.csv", text)
        row, = self.lines("--predict_files=" + file, model=model)
        self.assertEqual(len(row["scores"]), 10)
        done = self.predict("--predict_files=" + file, "--output_format=csv", model=model)
        head, values = done.stdout.splitlines()
        self.assertEqual(head, ",".join("scores_%d" % i for i in range(10)))
        self.assertEqual([float(v) for v in values.split(",")], row["scores"])

    def test_wrong_command_lines(self):
        file = self.write("x.csv", "a,b\n1,2\n")
        junk = self.write("junk.tfrecord", "this is no record at all")
        cases = (((self.model,), "--predict_files is missing"), (("--predict_files=" + file,), "one directory of a SavedModel is needed, 0 given"),
                 ((self.path("none"), "--predict_files=" + file), "does not appear to contain a SavedModel"),
                 ((self.model, "--predict_files=" + self.path("no-*.csv")), "--predict_files: no file matches"),
                 ((self.model, "--predict_files=" + file), "--feature_columns, --label_column, --id_column: the model's 'x' takes 1 number per row, but the columns of the data have 2"),
                 ((self.model, "--predict_files=" + file, "--feature_columns=a", "--id_column=c"), "--id_column: there is no column 'c'"),
                 ((self.model, "--predict_files=" + file, "--feature_columns=a", "--sparse_width=3"), "--sparse_width: signature 'predict' has no sparse input"),
                 ((self.model, "--predict_files=" + junk), "pstrain: --predict_files: '%s': corrupted record at 0" % junk),
                 ((self.model, "--predict_files=" + file, "--signature=x"), "the model has no 'x'; there are: predict, serving_default"),
                 ((self.model, "--predict_files=" + file, "--signature=serving_default"),
                  "'inputs' takes serialized tf.Examples, which only TFRecord files hold"),
                 ((self.model, "--predict_files=" + file, "--feature_columns=a", "--output=/no/such/dir/x"), "--output=/no/such/dir/x: No such file"))
        for words, text in cases:
            with self.subTest(text):
                done = run("pstrain", "predict", *words, cwd=self.dir)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done)
                self.assertIn(text, done.stderr)

    def test_two_programs_do_not_write_one_output(self):
        rows, out = "--predict_files=" + self.write("x.csv", "x\n2\n"), self.path("out")
        with open(out + ".part", "w", encoding="utf-8") as part:
            fcntl.flock(part, fcntl.LOCK_EX)  # as the other program does
            part.write("half a line")
            part.flush()
            done = self.predict(rows, "--output=" + out)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("--output=%s: another program is writing it" % out, done.stderr)
            self.assertEqual(os.stat(part.name).st_size, len("half a line"))
        self.assertEqual(self.lines(rows, "--output=" + out), [])  # the other one is gone, and left its half
        with open(out, encoding="utf-8") as lines:
            self.assertEqual([json.loads(line)["y"][0] for line in lines], self.expected([2]))
        self.assertFalse(os.path.exists(out + ".part"))

    def test_an_output_that_cannot_be_written_is_an_error(self):
        file = self.write("x.csv", "x\n" + "1\n" * 10)
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([program("pstrain"), "predict", self.model, "--predict_files=" + file], stdout=full, stderr=subprocess.PIPE,
                                  env=clean_environment(), text=True)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("write to the standard output: No space left on device", done.stderr)


if __name__ == "__main__":
    main()

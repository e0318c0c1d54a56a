"""Models on sparse and ragged inputs: from files of records to answers of the server."""
import json
import math
import os
import random
import re

from harness import Server, TestCase, main, run, train
from records import example, floats, integers, record

COLUMNS = 1000
SPARSE = {"name": "x", "batch_shape": [None, COLUMNS], "dtype": "float32", "sparse": True}
RAGGED = {"name": "x", "batch_shape": [None, None], "dtype": "int64", "ragged": True}


def sequential(name, config, *layers):
    """A classifier of two classes by one probability."""
    answer = {"class_name": "Dense", "config": {"name": "answer", "units": 1, "activation": "sigmoid"}}
    return {"class_name": "Sequential",
            "config": {"name": name, "layers": [{"class_name": "InputLayer", "config": config}, *layers, answer]},
            "compile_config": {"optimizer": {"class_name": "Ftrl", "config": {"learning_rate": 0.5}}, "loss": "binary_crossentropy"}}


LINEAR = sequential("linear", SPARSE)
BAG = sequential("bag", RAGGED, {"class_name": "EmbeddingBag", "config": {"name": "bag", "input_dim": COLUMNS, "output_dim": 4,
                                                                           "combiner": "sqrtn"}})


def rows(count, seed=1):
    """Label and ids: of ids below 20, odd ones speak for the label and even ones against it. Some rows are empty."""
    numbers = random.Random(seed)
    for _ in range(count):
        ids = [numbers.randrange(20 if numbers.random() < 0.5 else COLUMNS) for _ in range(numbers.randrange(12))]
        yield int(sum(i % 2 * 2 - 1 for i in ids if i < 20) > 0), ids


class Sparse(TestCase):
    def write(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def model(self, description):
        return "--model=" + self.write(description["config"]["name"] + ".json", json.dumps(description))

    def libsvm(self, name="rows.libsvm", count=3000, seed=1, more=""):
        text = "".join("%d %s\n" % (label, " ".join("%d:1" % (i + 1) for i in ids)) for label, ids in rows(count, seed))
        return self.write(name, text + more)

    def tfrecords(self, name="rows.tfrecord", count=3000):
        return self.write(name, b"".join(record(example(label=floats([label]), ids=integers(ids), values=floats([1] * len(ids))))
                                         for label, ids in rows(count)))

    def trained(self, *flags, directory="model/1"):
        return train(self.path(directory), "--epochs=10", *flags).stdout

    def check_accuracy(self, said):
        self.assertRegex(said, r"Test: loss \S+, accuracy (0\.9\d+|1\.0+)\b")

    def ask(self, verb, body):
        with Server(self.path("model")) as server:
            answer = server.post("/v1/models/default:" + verb, body)
            self.assertEqual(answer.status, 200, answer)
            return answer.json

    def test_a_linear_model_of_a_libsvm_file(self):
        said = self.trained(self.model(LINEAR), "--train_files=" + self.libsvm(), "--test_files=" + self.libsvm("test.libsvm", 500, 2))
        self.check_accuracy(said)
        examples = [{"ids": [1, 3, 5], "values": [1.0, 1.0, 1.0]}, {"ids": [], "values": []}, {"ids": [2, 2], "values": [1.0, 1.0]}]
        by_examples = self.ask("regress", {"examples": examples})["results"]
        parts = {"x": [[0, 1], [0, 3], [0, 5], [2, 2], [2, 2]], "x_1": [1.0] * 5, "x_2": [3, COLUMNS]}
        by_parts = self.ask("predict", {"signature_name": "predict", "inputs": parts})["outputs"]
        for one, other in zip(by_examples, by_parts):
            self.assertAlmostEqual(one, other[0], places=6)
        self.assertGreater(by_examples[0], 0.9)
        self.assertLess(by_examples[2], 0.1)

    def test_files_of_other_programs(self):
        """XGBoost's weights of rows: those of weight 0 are wrong. Indices and values as two lists. Vowpal Wabbit's text."""
        tests = self.libsvm("test.libsvm", 500, 2)
        weighted = self.write("weighted", "".join("%d:%g %s\n" % (label if weight else 1 - label, weight, " ".join("%d:1" % (i + 1) for i in ids))
                                                  for k, (label, ids) in enumerate(rows(4000)) for weight in (k % 2,)))
        flags = [self.model(LINEAR), "--train_files=" + weighted, "--test_files=" + tests]
        self.check_accuracy(self.trained(*flags, "--weight_column=weight"))
        done = run("pstrain", "--noexport", *flags)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("if this is the row's weight, as in XGBoost's files, give --weight_column=weight", done.stderr)
        self.check_accuracy(self.trained("--model=sparse_fm", "--train_files=" + self.libsvm(), "--test_files=" + tests, directory="model/2"))
        vw = self.write("rows.txt", "".join("%d |f %s\n" % (label * 2 - 1, " ".join("id%d:1" % i for i in ids)) for label, ids in rows(3000)))
        said = self.trained("--model=sparse_logistic", "--train_files=" + vw, "--test_files=" + vw, directory="model/3")
        self.check_accuracy(said)

    def test_the_printed_question_is_answered(self):
        said = self.trained(self.model(LINEAR), "--train_files=" + self.libsvm())
        body = '{"signature_name":"predict","inputs":{"x":[[0,0]],"x_1":[0.5],"x_2":[1,%d]}}' % COLUMNS
        self.assertIn(body, said.replace("\\", ""))
        self.assertEqual(len(self.ask("predict", json.loads(body))["outputs"]), 1)

    def test_a_dense_model_has_the_zeros_written_out(self):
        dense = sequential("dense", {"name": "x", "batch_shape": [None, COLUMNS], "dtype": "float32"})
        path = self.libsvm()
        said = self.trained(self.model(dense), "--train_files=" + path, "--test_files=" + path)
        self.check_accuracy(said)
        self.check_accuracy(self.trained(self.model(LINEAR), "--train_files=" + path, "--test_files=" + path, directory="model/2"))

    def test_ids_and_values_of_a_tfrecord_file(self):
        path = self.tfrecords()
        self.check_accuracy(self.trained(self.model(LINEAR), "--train_files=" + path, "--test_files=" + path))
        shown = json.loads(run("pstrain", "schema", path).stdout)
        self.assertIn({"name": "features", "kind": "sparse", "index": "ids", "value": "values", "first_index": 0}, shown["columns"])

    def test_a_text_in_place_of_missing_ones(self):
        """Hashed, as a class and as an input: the same bits as of files that have the text."""
        numbers = random.Random(9)
        rows = [[numbers.choice(["red", "", "blue"]), numbers.choice(["s", "", "l"]), str(numbers.randrange(2))] for _ in range(200)]
        columns = [{"name": "color", "dtype": "string", "hash_buckets": 50, "default": "grey"},
                   {"name": "size", "dtype": "string", "classes": ["s", "m", "l"], "default": "m"}, {"name": "label"}]
        schema = self.write("schema.json", json.dumps({"columns": columns}))
        model = self.write("m.json", json.dumps({"class_name": "Sequential", "config": {"name": "m", "layers": [
            {"class_name": "InputLayer", "config": {"batch_shape": [None, 51], "name": "x"}},
            {"class_name": "Dense", "config": {"name": "d", "units": 1, "activation": "sigmoid"}}]}, "compile_config": {"loss": "binary_crossentropy"}}))
        answers = []
        for name, filled in (("missing", False), ("filled", True)):
            lines = [[row[0] or ("grey" if filled else ""), row[1] or ("m" if filled else ""), row[2]] for row in rows]
            path = self.write(name + ".csv", "\n".join(map(",".join, [["color", "size", "label"], *lines])) + "\n")
            done = run("pstrain", "--model=" + model, "--train_files=" + path, "--schema=" + schema, "--epochs=3", "--batch_size=20", "--workers=1",
                       "--learning_rate=0.5", "--export_dir=" + self.path(name))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            answers.append(run("pstrain", "predict", self.path(name), "--predict_files=" + path, "--schema=" + schema).stdout)
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(len(answers[0].splitlines()), 200)
        os.rename(self.path("missing"), self.path("1"))
        os.makedirs(self.path("model"), exist_ok=True)
        os.rename(self.path("1"), self.path("model", "1"))
        ask = [{"color": [color], "size": [size]} for color, size in (("", ""), ("grey", "m"), ("red", "m"))]
        got = self.ask("predict", {"signature_name": "predict", "instances": ask})["predictions"]
        self.assertEqual(got[0], got[1])
        self.assertNotEqual(got[0], got[2])

    def test_logarithms_of_criteo_numbers(self):
        """The export takes the logarithms itself: the schema of the training fits its raw columns."""
        numbers = random.Random(8)
        lines = []
        for _ in range(300):
            values = [numbers.choice(["", "-2", str(int(10 ** numbers.uniform(0, 6)))]) for _ in range(13)]
            label = int(math.log1p(max(0.0, float(values[0] or 0))) > 6)
            lines.append("\t".join([str(label), *values, *("%08x" % numbers.randrange(20) for _ in range(26))]))
        path = self.write("day.criteo", "\n".join(lines) + "\n")
        columns = [{"name": "label"}] + [{"name": "I%d" % i, "default": 0, "log": True, "mean": 3, "stddev": 2} for i in range(1, 14)]
        columns += [{"name": "C%d" % i, "dtype": "string", "hash_buckets": 1000} for i in range(1, 27)]
        schema = self.write("schema.json", json.dumps({"columns": columns, "inputs": {"ids": ["C*"], "numbers": ["I*"]}}))
        files = ["--train_files=" + path, "--test_files=" + path, "--schema=" + schema]
        done = run("pstrain", "--model=wide_deep", *files, "--epochs=20", "--batch_size=20", "--workers=1", "--export_dir=" + self.path("out"))
        shown = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, shown)
        loss, auc = map(float, re.search("Test: loss ([0-9.]+), auc ([0-9.]+)", shown).groups())
        self.assertGreater(auc, 0.95)
        flags = ["predict", self.path("out"), "--predict_files=" + path]
        done = run("pstrain", *flags, "--schema=" + schema, "--evaluate", "--loss=binary_crossentropy", "--metrics=auc")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertAlmostEqual(json.loads(done.stdout)["loss"], loss, places=4)
        with_schema = run("pstrain", *flags, "--schema=" + schema)
        self.assertEqual(len(with_schema.stdout.splitlines()), 300, with_schema.stderr)
        for row in columns[1:14]:
            del row["log"], row["mean"], row["stddev"]  # the export does not need them
        done = run("pstrain", *flags, "--schema=" + self.write("raw.json", json.dumps({"columns": columns})))
        self.assertEqual(done.stdout, with_schema.stdout, done.stderr)

    def test_hashed_categories_of_criteo_files(self):
        """C1 decides the label; a bucket may be empty, a category missing."""
        numbers, lines = random.Random(4), []
        for _ in range(2000):
            categories = ["%08x" % numbers.randrange(40) if numbers.random() < 0.9 else "" for _ in range(26)]
            label = categories[0] != "" and int(categories[0], 16) % 3 == 0
            lines.append("\t".join(["%d" % label] + ["%d" % numbers.randrange(5) if numbers.random() < 0.8 else "" for _ in range(13)] + categories))
        path = self.write("day.criteo", "\n".join(lines) + "\n")
        columns = [{"name": "label"}, *({"name": "I%d" % i, "default": 0} for i in range(1, 14)),
                   *({"name": "C%d" % i, "dtype": "string", "hash_buckets": 500} for i in range(1, 27))]
        schema = self.write("schema.json", json.dumps({"columns": columns}))
        model = sequential("hashed", dict(SPARSE, batch_shape=[None, 13 + 26 * 500]))
        self.check_accuracy(self.trained(self.model(model), "--train_files=" + path, "--test_files=" + path, "--schema=" + schema))

    def test_a_bag_of_ragged_ids(self):
        path = self.tfrecords()
        schema = self.write("schema.json", json.dumps({"columns": [{"name": "label"}, {"name": "ids", "kind": "ragged", "dtype": "int64"}]}))
        said = self.trained(self.model(BAG), "--train_files=" + path, "--test_files=" + path, "--schema=" + schema)
        self.check_accuracy(said)
        got = self.ask("regress", {"examples": [{"x": [1, 3, 5]}, {"x": [2, 4]}]})["results"]
        self.assertGreater(got[0], 0.5)
        self.assertLess(got[1], 0.5)
        parts = self.ask("predict", {"signature_name": "predict", "inputs": {"x": [1, 3, 5, 2, 4], "x_1": [0, 3, 5]}})["outputs"]
        self.assertAlmostEqual(parts[0][0], got[0], places=6)

    def test_an_index_out_of_range_is_a_bad_record(self):
        path = self.libsvm(more="1 %d:1\n" % (COLUMNS + 1))
        done = run("pstrain", "--noexport", self.model(LINEAR), "--train_files=" + path, "--epochs=1")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("line 3001: column 'features': the index %d, expected 1 to %d" % (COLUMNS + 1, COLUMNS), done.stderr + done.stdout)
        done = run("pstrain", "--noexport", self.model(LINEAR), "--train_files=" + path, "--epochs=1", "--max_bad_records=1")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_built_in_model_of_any_width(self):
        path = self.libsvm()
        done = run("pstrain", "--noexport", "--model=logistic", "--train_files=" + path, "--epochs=1")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("expected 1 to 123, by the width of the model's 'x'; give the column its \"width\" in --schema, or choose a model with a "
                      "sparse input, such as --model=sparse_logistic", done.stderr)
        schema = json.loads(run("pstrain", "schema", path).stdout)
        schema["columns"][1]["width"] = COLUMNS
        wide = self.write("wide.json", json.dumps(schema))
        for flags in (("--model=logistic", "--schema=" + wide), ("--model=sparse_logistic",)):
            self.assertIn("accuracy", self.trained(*flags, "--train_files=" + path, "--test_files=" + path, directory=flags[0][8:] + "/1"))

    def test_an_id_beyond_the_table_ends_the_job(self):
        path = self.write("far.tfrecord", record(example(label=floats([1]), ids=integers([3, COLUMNS]))) * 200)
        schema = self.write("schema.json", json.dumps({"columns": [{"name": "label"}, {"name": "ids", "kind": "ragged", "dtype": "int64"}]}))
        done = run("pstrain", "--noexport", self.model(BAG), "--train_files=" + path, "--schema=" + schema, "--epochs=1")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr + done.stdout, r"'bag/embeddings'.*%d" % COLUMNS)

    def test_same_bits_for_any_number_of_ps(self):
        path, seen = self.tfrecords(count=600), set()
        for model in (LINEAR, BAG):
            extra = [] if model is LINEAR else ["--schema=" + self.write("schema.json", json.dumps(
                {"columns": [{"name": "label"}, {"name": "ids", "kind": "ragged", "dtype": "int64"}]}))]
            for ps in (1, 2, 5):
                directory = self.path("%s-%d" % (model["config"]["name"], ps))
                train(directory, self.model(model), "--train_files=" + path, *extra, "--sync", "--ps=%d" % ps, "--workers=2",
                      "--training_iteration=20", "--batch_size=50")
                with open(os.path.join(directory, "variables", "variables.data-00000-of-00001"), "rb") as f:
                    seen.add((model["config"]["name"], f.read()))
        self.assertEqual(len(seen), 2)


if __name__ == "__main__":
    main()

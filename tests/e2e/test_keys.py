"""Models with hash tables (DynamicEmbedding): from files of texts, integers and lists to answers of the server; the same result as with a
table of a fixed vocabulary; checkpoints, an evaluator, and the loss of a ps."""
import json
import os
import random
import re

from cluster import Job
from harness import Server, TestCase, head, main, run, single, train
from records import example, floats, integers, record

WORDS = 40


def call(name):
    return {"class_name": "__keras_tensor__", "config": {"keras_history": [name, 0, 0]}}


def layer(kind, name, *inputs, **config):
    """Of a Functional model; several inputs are a list."""
    given = [[call(i) for i in inputs] if len(inputs) > 1 else call(inputs[0])] if inputs else []
    return {"class_name": kind, "name": name, "config": dict(config, name=name), "inbound_nodes": [{"args": given, "kwargs": {}}] if inputs else []}


def functional(inputs, layers, optimizer="Adagrad"):
    return {"class_name": "Functional",
            "config": {"name": "keys", "layers": inputs + layers, "input_layers": [[i["name"], 0, 0] for i in inputs],
                       "output_layers": [[layers[-1]["name"], 0, 0]]},
            "compile_config": {"optimizer": {"class_name": optimizer, "config": {"learning_rate": 0.5}}, "loss": "binary_crossentropy"}}


def click_model(dtype, table, optimizer="Adagrad"):
    """Of two ids; `table` is the class of their table, and its arguments."""
    inputs = [layer("InputLayer", name, batch_shape=[None, 1], dtype=dtype) for name in ("user", "item")]
    kind, config = table
    return functional(inputs, [layer("Concatenate", "ids", "user", "item", axis=-1), layer(kind, "table", "ids", output_dim=4, **config),
                               layer("Flatten", "flat", "table"), layer("Dense", "click", "flat", units=1, activation="sigmoid")], optimizer)


def list_model(config, **table):
    """Of a list of ids: `config` of the input."""
    return functional([layer("InputLayer", "x", **config)], [layer("DynamicEmbedding", "table", "x", output_dim=4, **table),
                                                             layer("Dense", "click", "table", units=1, activation="sigmoid")])


DYNAMIC = ("DynamicEmbedding", {})


def clicks(count, seed=1):
    """Odd users click at odd items, and even ones at even ones."""
    numbers = random.Random(seed)
    for _ in range(count):
        user, item = numbers.randrange(WORDS), numbers.randrange(WORDS)
        yield int(user % 2 == item % 2 == 1), user, item


def data_of(directory):
    with open(os.path.join(directory, "variables", "variables.data-00000-of-00001"), "rb") as f:
        return f.read()


class Keys(TestCase):
    def write(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def model(self, description, name="model.json"):
        return "--model=" + self.write(name, json.dumps(description))

    def csv(self, name="clicks.csv", count=2000, seed=1, form="%d", key=lambda i: i):
        rows = ("%d,%s,%s\n" % (label, form % key(user), form % key(item)) for label, user, item in clicks(count, seed))
        return self.write(name, "label,user,item\n" + "".join(rows))

    def schema(self, dtype):
        columns = [{"name": "label"}, {"name": "user", "dtype": dtype}, {"name": "item", "dtype": dtype}]
        return "--schema=" + self.write(dtype + ".json", json.dumps({"columns": columns}))

    def texts(self, description=None):
        """Flags of a job with texts."""
        return [self.model(description or click_model("string", DYNAMIC)), "--train_files=" + self.csv(form="word %d"),
                "--test_files=" + self.csv("test.csv", 300, 2, "word %d"), self.schema("string")]

    def numbers(self, table, key=lambda i: i, **more):
        """The same with integers."""
        return [self.model(click_model("int64", table, **more)), "--train_files=" + self.csv(key=key), self.schema("int64")]

    def predict(self, directory, user, item):
        inputs = ["--input=%s=%s" % (name, json.dumps([[v] for v in values])) for name, values in (("user", user), ("item", item))]
        done = run("savedmodel", "run", directory, "--signature=predict", *inputs)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def shown(self, directory, variable):
        """The shape of a variable of an export."""
        return re.search(r"^  %s +\S+ +\[([\d,]*)\]" % variable, run("savedmodel", "show", directory).stdout, re.M).group(1)

    def test_texts_are_trained_exported_and_served(self):
        said = train(self.path("model/1"), "--epochs=20", *self.texts()).stdout
        self.assertRegex(said, r"Test: loss \S+, accuracy (0\.9\d+|1\.0+)\b")
        self.assertEqual(self.shown(self.path("model/1"), "table/embeddings/keys"), str(WORDS))
        self.assertEqual(self.shown(self.path("model/1"), "table/embeddings/values"), "%d,4" % (WORDS + 1))
        body = {"signature_name": "predict", "inputs": {"user": [["word 1"], ["word 2"], ["nobody"]], "item": [["word 3"], ["word 3"], ["none"]]}}
        with Server(self.path("model")) as server:
            (yes,), (no,), (unknown,) = server.post("/v1/models/default:predict", body).json["outputs"]
            examples = {"examples": [{"user": ["word 1"], "item": ["word 3"]}, {"user": "word 2", "item": "word 3"}]}
            parsed = server.post("/v1/models/default:regress", examples).json["results"]
        self.assertGreater(yes, 0.8)
        self.assertLess(no, 0.2)
        self.assertEqual(parsed, [yes, no])
        printed = re.findall(r"\[([\d.e-]+)\]", self.predict(self.path("model/1"), ["word 1", "word 2", "nobody"], ["word 3", "word 3", "none"]))
        self.assertEqual([single(float(p)) for p in printed], [single(y) for y in (yes, no, unknown)])

    def test_the_click_model(self):
        columns = [{"name": "label"}, *({"name": name, "dtype": "string"} for name in ("user", "item")), *({"name": "n%d" % i} for i in range(8))]
        schema = self.write("schema.json", json.dumps({"columns": columns, "inputs": {"numbers": ["n*"]}}))
        rows = ("%d,user %d,item %d%s\n" % (label, user, item, ",.5" * 8) for label, user, item in clicks(3000))
        path = self.write("rows.csv", ",".join(c["name"] for c in columns) + "\n" + "".join(rows))
        said = train(self.path("model"), "--model=click", "--train_files=" + path, "--test_files=" + path, "--schema=" + schema, "--epochs=40").stdout
        self.assertRegex(said, r"Test: loss \S+, auc (0\.9\d+|1\.0+)\b")
        self.assertEqual(self.shown(self.path("model"), "item_table/embeddings/values"), "%d,16" % (WORDS + 1))

    def test_an_export_is_trained_further(self):
        flags = self.texts()
        train(self.path("first"), *flags, "--training_iteration=60")
        said = train(self.path("second"), "--from_savedmodel=" + self.path("first"), "--signature=predict", "--loss=binary_crossentropy", *flags[1:],
                     "--optimizer=adagrad", "--learning_rate=0.5", "--epochs=20").stdout
        self.assertRegex(said, r"Test: loss \S+, accuracy (0\.9\d+|1\.0+)\b")
        self.assertEqual(self.shown(self.path("second"), "table/embeddings/values"), "%d,4" % (WORDS + 1))

    def test_the_result_is_that_of_a_table_with_a_vocabulary(self):
        """The first values of a key are those of the row with its number; unknown ids have no rows there."""
        asked = (list(range(WORDS)), list(range(WORDS))[::-1])
        for optimizer in ("Adagrad", "SGD", "Ftrl", "AdamW", "Nadam", "Adamax", "Lion"):
            answers = set()
            for kind, config in (DYNAMIC, ("Embedding", {"input_dim": WORDS})):
                directory = self.path(optimizer, kind)
                flags = ["--lazy_rows"] if optimizer != "Adagrad" else []
                train(directory, *self.numbers((kind, config), optimizer=optimizer), "--sync", "--workers=2", "--training_iteration=60", *flags)
                answers.add(self.predict(directory, *asked))
            self.assertEqual(len(answers), 1, optimizer)

    def test_same_bits_for_any_number_of_ps(self):
        rules = ("DynamicEmbedding", {"min_count": 2, "probability": 0.8, "ttl_steps": 6, "bytes_max": 1 << 21})
        flags = self.numbers(rules, key=lambda i: (i - 20) << 58) + ["--sync", "--workers=2", "--batch_size=7", "--training_iteration=50"]
        seen = set()
        for ps in (1, 2, 5):
            train(self.path(str(ps)), *flags, "--ps=%d" % ps)
            seen.add(data_of(self.path(str(ps))))
        self.assertEqual(len(seen), 1)
        self.assertIn(int(self.shown(self.path("1"), "table/embeddings/keys")), range(3, WORDS - 3), "not all keys have a row")

    def test_a_job_continues_from_a_checkpoint_with_the_same_bits(self):
        rules = ("DynamicEmbedding", {"min_count": 3, "ttl_steps": 9})
        flags = self.numbers(rules) + ["--sync", "--workers=2", "--batch_size=7"]
        train(self.path("1"), *flags, "--stop_at_step=60")
        for stop, ps in ((25, 2), (40, 3)):
            done = run("pstrain", *flags, "--checkpoint_dir=" + self.path("ckpt"), "--noexport", "--ps=%d" % ps, "--stop_at_step=%d" % stop)
            self.assertEqual(done.returncode, 0, done.stderr)
        train(self.path("2"), *flags, "--checkpoint_dir=" + self.path("ckpt"), "--ps=5", "--stop_at_step=60")
        self.assertTrue(data_of(self.path("1")) == data_of(self.path("2")))

    def test_a_killed_ps_comes_back(self):
        flags = self.numbers(DYNAMIC) + ["--sync", "--batch_size=20", "--test_files=" + self.csv("test.csv", 300, 2)]
        checkpoints = "--checkpoint_dir=" + self.path("ckpt")
        train(self.path("whole"), *flags, "--stop_at_step=120", "--ps=2", "--workers=2")
        done = run("pstrain", *flags, checkpoints, "--noexport", "--stop_at_step=60", "--workers=2")
        self.assertEqual(done.returncode, 0, done.stderr)
        job = Job(self, ps=2, workers=2, flags=flags + ["--stop_at_step=120"])
        evaluator = job.start("evaluator", 0, "--eval_start_delay_secs=0", "--eval_throttle_secs=0.1")
        for index in range(2):
            job.start("ps", index)
        chief = job.start("worker", 0, "--export_dir=" + self.path("model/1"), checkpoints)
        evaluator.wait_for("Test at step 60")  # the chief has restored all rows, and waits for the other worker
        job.kill("ps 1")
        job.tasks["ps 1"].process.wait()
        job.start("ps", 1)
        chief.wait_for("Training continues from step 60")
        job.start("worker", 1)
        self.assertEqual(set(job.wait().values()), {0}, job.logs()[-8000:])
        self.assertTrue(data_of(self.path("whole")) == data_of(self.path("model/1")))
        said = re.search(r"^%sTest: (loss \S+, accuracy .*)$" % head("worker 0"), job.log("worker 0"), re.M).group(1)
        self.assertEqual(re.findall(r"^%sTest at step \d+: (.*)$" % head("evaluator"), evaluator.text(), re.M)[-1], said)

    def test_the_best_values_are_tested_and_exported(self):
        flags = self.texts() + ["--checkpoint_dir=" + self.path("ckpt"), "--restore_best_weights", "--evaluate_steps=10", "--monitor_mode=max",
                                "--stop_at_step=40", "--workers=1"]
        said = train(self.path("model/1"), *flags).stdout
        best = re.search(r"Going back to the best values, of step (\d+)", said).group(1)
        then = re.search(r"Test at step %s: (loss .*)" % best, said).group(1)
        first = re.search(r"Test at step (\d+)", said).group(1)  # 10, or a little later: training goes on until the snapshot is taken
        self.assertEqual(best, first, "larger losses were asked for")
        self.assertEqual(re.search(r"Test: (loss .*)", said).group(1), then)

    def test_lists_are_combined(self):
        """A libsvm file's columns and values, and lists of a TFRecord file."""
        rows = list(clicks(1500))
        text = "".join("%d %s\n" % (label, " ".join("%d:1" % (i + 1) for i in sorted({user, WORDS + item}))) for label, user, item in rows)
        svm = list_model({"batch_shape": [None, 2 * WORDS], "dtype": "float32", "sparse": True}, combiner="sum")
        said = train(self.path("svm"), self.model(svm), "--train_files=" + self.write("rows.libsvm", text), "--epochs=20").stdout
        self.assertEqual(self.shown(self.path("svm"), "table/embeddings/keys"), str(2 * WORDS), said)
        records = b"".join(record(example(label=floats([label]), ids=integers([user, 1 << 62 | item]))) for label, user, item in rows)
        schema = self.write("schema.json", json.dumps({"columns": [{"name": "label"}, {"name": "ids", "kind": "ragged", "dtype": "int64"}]}))
        ragged = list_model({"batch_shape": [None, None], "dtype": "int64", "ragged": True}, combiner="mean")
        path = self.write("rows.tfrecord", records)
        said = train(self.path("ragged/1"), self.model(ragged), "--train_files=" + path, "--test_files=" + path, "--schema=" + schema, "--epochs=20").stdout
        self.assertRegex(said, r"Test: loss \S+, accuracy (0\.[89]\d+|1\.0+)\b")
        self.assertEqual(self.shown(self.path("ragged/1"), "table/embeddings/keys"), str(2 * WORDS))
        with Server(self.path("ragged")) as server:
            parts = {"x": [1, 1 << 62 | 3, 2, 1 << 62 | 2, 12345], "x_1": [0, 2, 4, 5]}
            answer = server.post("/v1/models/default:predict", {"signature_name": "predict", "inputs": parts}).json["outputs"]
        self.assertGreater(answer[0][0], answer[1][0])
        self.assertEqual(len(answer), 3)

    def test_an_optimizer_that_moves_all_rows_is_refused_before_training(self):
        for optimizer, words in (("Adam", "take lazy_adam"), ("Ftrl", "take --lazy_rows")):
            flags = self.numbers(DYNAMIC, optimizer=optimizer)
            done = run("pstrain", *flags, "--noexport", "--training_iteration=3")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("'table/embeddings'", done.stderr)
            self.assertIn(words, done.stderr)

    def test_a_table_may_have_another_optimizer_than_the_job(self):
        """Adam could not train it. A synchronous job has the same bits for any number of ps tasks, and after a restart."""
        flags = self.numbers(DYNAMIC, optimizer="Adam") + ["--optimizer_for=table/*=lazy_adam(learning_rate=0.5)", "--sync", "--workers=2"]
        for ps in (1, 2, 5):
            train(self.path(str(ps)), *flags, "--ps=%d" % ps, "--training_iteration=40")
        done = run("pstrain", *flags, "--noexport", "--ps=3", "--checkpoint_dir=" + self.path("ckpt"), "--stop_at_step=17")
        self.assertEqual(done.returncode, 0, done.stderr)
        train(self.path("again"), *flags, "--ps=2", "--checkpoint_dir=" + self.path("ckpt"), "--stop_at_step=40")
        self.assertEqual(len({data_of(self.path(name)) for name in ("1", "2", "5", "again")}), 1)
        for text, words in (("table/*", "is not of the form"), ("tabel/*=sgd", "no variable is called 'tabel/*'; there are: "),
                            ("*=adam+ema", "'adam+ema' for some variables"), ("*=sgd(momentum=1)", "optimizer 'sgd' has no setting 'momentum'; it has: learning_rate"),
                            ("*=ftrl(beta=1", "is not of the form"), ("*=ftrl(beta=1) x", "is not of the form"), ("*=ftrl(beta=1,beta=2)", "given twice"),
                            ("*=sgd(learning_rate=1, learning_rate=2)", "given twice"), ("*=sgd(learning_rate=1e39)", "is not of the form")):
            done = run("pstrain", *self.numbers(DYNAMIC), "--noexport", "--optimizer_for=" + text)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--optimizer_for: ", done.stderr)
            self.assertIn(words, done.stderr)

    def test_the_chief_evaluates_the_rows_of_a_snapshot_while_it_trains(self):
        """It finds what it finds with --save_best, and the training does not depend on it."""
        for name, table in (("keys", DYNAMIC), ("rows", ("Embedding", {"input_dim": WORDS}))):
            with self.subTest(name):
                self.check_evaluations(name, self.numbers(table))

    def check_evaluations(self, kind, flags):
        flags += ["--test_files=" + self.csv("test.csv", 300, 2), "--sync", "--workers=2", "--ps=3", "--training_iteration=40"]
        plain = train(self.path(kind, "plain/1"), *flags).stdout
        here = train(self.path(kind, "here/1"), *flags, "--evaluate_steps=10").stdout
        best = train(self.path(kind, "best/1"), *flags, "--evaluate_steps=10", "--save_best", "--checkpoint_dir=" + self.path(kind, "ckpt")).stdout
        found = [re.findall(r"Test at step (\d+): (.*)", text) for text in (plain, here, best)]
        self.assertEqual([int(step) for step, _ in found[1]], [10, 20, 30, 40])
        self.assertEqual((found[0], found[1]), ([], found[2]))
        self.assertEqual(found[1][-1][1], re.search(r"Test: (.*)", here).group(1))
        self.assertEqual(len({data_of(self.path(kind, name, "1")) for name in ("plain", "here", "best")}), 1)


if __name__ == "__main__":
    main()

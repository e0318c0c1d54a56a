"""Exports whose requests carry the raw columns of a schema: REST, Examples and pstrain predict answer the same. (tests/tensorflow has TensorFlow's
answers.)"""
import json
import math

import raw_columns
from harness import Server, TestCase, main, run


class RawRequests(TestCase):
    def train(self, kind):
        flags = raw_columns.write(self.dir, kind)
        done = run("pstrain", "--export_dir=" + self.path(kind, "1"), *flags)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return [flag for flag in flags if flag.startswith(("--schema", "--label"))]

    def predict(self, kind, *flags):
        done = run("pstrain", "predict", self.path(kind, "1"), "--predict_files=" + self.path("rows.csv"), *flags)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_classes_have_their_names(self):
        schema = self.train("classes")
        made = list(raw_columns.rows())
        with Server(self.path("classes")) as server:
            got = server.post("/v1/models/default:predict", {"signature_name": "predict", "inputs": raw_columns.request(made)})
            self.assertEqual(got.status, 200, got)
            want = [row["scores"] for row in self.predict("classes", *schema)]
            for row, scores in zip(got.json["outputs"], want, strict=True):
                self.assertAlmostEqual(row[0], scores[0], 6)
            examples = [{key: value for key, value in row.items() if key != "y"} for row in made[:20]]
            classified = server.post("/v1/models/default:classify", {"examples": examples})
            self.assertEqual(classified.status, 200, classified)
            for pairs, scores in zip(classified.json["results"], want):
                by_name = dict(pairs)
                self.assertEqual(sorted(by_name), ["bad", "good"])
                for name, score in zip(("bad", "good"), scores):
                    self.assertAlmostEqual(by_name[name], score, 6)

    def test_an_evaluation_of_the_export_is_that_of_training(self):
        """The graph prepares a request's columns as the training data were."""
        for kind in ("dense", "sparse", "classes"):
            with self.subTest(kind):
                flags = raw_columns.write(self.dir, kind)
                done = run("pstrain", *flags, "--export_dir=" + self.path(kind, "1"), "--test_files=" + self.path("rows.csv"),
                           "--metrics_file=" + self.path(kind + ".jsonl"))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                with open(self.path(kind + ".jsonl"), encoding="utf-8") as file:
                    want = [json.loads(line) for line in file][-1]
                loss = "sparse_categorical_crossentropy" if kind == "classes" else "binary_crossentropy"
                got, = self.predict(kind, *[f for f in flags if f.startswith(("--schema", "--label"))], "--evaluate", "--loss=" + loss, "--metrics=accuracy")
                self.assertEqual(got["rows"], 400)
                self.assertAlmostEqual(got["loss"], want["loss"], 5)
                self.assertAlmostEqual(got["accuracy"], want["accuracy"], 5)

    def test_a_hashed_integer_that_is_missing(self):
        """It has no bucket in training. An Example without the feature says the same, and a request the number that stands for it."""
        flags = raw_columns.write(self.dir, "dense")
        row = next(raw_columns.rows())
        values = ["|".join(v) if isinstance(v, list) else str(v) for v in (row | {"shop": "", "y": "good"}).values()]
        with open(self.path("bare.csv"), "w", encoding="utf-8") as file:
            file.write(",".join(row) + "\n" + ",".join(values) + "\n")
        done = run("pstrain", *flags, "--export_dir=" + self.path("dense", "1"), "--test_files=" + self.path("bare.csv"),
                   "--metrics_file=" + self.path("metrics.jsonl"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.path("metrics.jsonl"), encoding="utf-8") as file:
            want = math.exp(-[json.loads(line) for line in file][-1]["loss"])
        example = {key: value for key, value in row.items() if key not in ("y", "shop")}
        missing = raw_columns.request([row | {"shop": -2 ** 63}])
        with Server(self.path("dense")) as server:
            got = server.post("/v1/models/default:regress", {"examples": [example]})
            self.assertEqual(got.status, 200, got)
            self.assertAlmostEqual(got.json["results"][0], want, 5)
            got = server.post("/v1/models/default:predict", {"signature_name": "predict", "inputs": missing})
            self.assertEqual(got.status, 200, got)
            self.assertAlmostEqual(got.json["outputs"][0][0], want, 5)

    def test_values_that_are_missing_or_no_class(self):
        schema = self.train("dense")
        row = next(row for row in raw_columns.rows() if row["color"] == "" and row["tags"] == [])
        full = {key: value for key, value in row.items() if key != "y"} | {"size": 48.0, "age": 45.0}
        bare = {key: full[key] for key in ("shop", "kind of", "level")}  # the defaults stand for the others
        with Server(self.path("dense")) as server:
            got = server.post("/v1/models/default:regress", {"examples": [full, bare]})
            self.assertEqual(got.status, 200, got)
            self.assertEqual(got.json["results"][0], got.json["results"][1])
            named = server.post("/v1/models/default:classify", {"signature_name": "classification", "examples": [full]})
            self.assertEqual([name for name, _ in named.json["results"][0]], ["bad", "good"])
            wrong = raw_columns.request([row | {"kind of": "maybe"}])
            got = server.post("/v1/models/default:predict", {"signature_name": "predict", "inputs": wrong})
            self.assertEqual(got.status, 400, got)
            self.assertIn("column kind of: a value is not among its classes:", got.json["error"])
        self.assertEqual(len(self.predict("dense", *schema)), 400)


if __name__ == "__main__":
    main()

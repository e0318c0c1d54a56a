"""FactorizedTopK: an evaluation ranks each row's own candidate among those of --candidate_files. The exported towers say what is right."""
import json
import os
import random

from cluster import Job
from harness import SOURCE, Server, TestCase, main, run

KS = (1, 5, 10, 50, 100)
USERS, ITEMS = 60, 700
OFTEN = ["--eval_start_delay_secs=0", "--eval_throttle_secs=0.1"]


class Candidates(TestCase):
    def setUp(self):
        super().setUp()
        numbers = random.Random(2)
        self.pairs = [(user, (user * 11 + numbers.choice((0, 0, 1, 5, 300))) % ITEMS) for user in range(USERS) for _ in range(20)]
        self.items = numbers.sample(range(ITEMS), ITEMS)
        rows = "".join("%d,%d\n" % pair for pair in self.pairs)
        self.train_files, self.test_files = self.write("train.csv", "user,item\n" + rows), self.write("test.csv", "user,item\n" + "".join("%d,%d\n" % pair for pair in self.pairs[:630]))
        self.tested = self.pairs[:630]
        self.write("items_1.csv", "title,item\n" + "".join("t%d,%d\n" % (i, i) for i in self.items[:200]))
        self.write("items_2.csv", "title,item\n" + "".join("t%d,%d\n" % (i, i) for i in self.items[200:]))
        self.candidate_files = self.path("items_*.csv")

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def model(self, by_id, metrics=("FactorizedTopK",)):
        with open(os.path.join(SOURCE, "models", "retrieval.json"), encoding="utf-8") as f:
            model = json.load(f)
        loss = model["compile_config"]["loss"]["user_vector"]["config"]
        loss["remove_accidental_hits"] = False
        if not by_id:
            del loss["candidate_ids"]
        model["compile_config"]["metrics"] = {"user_vector": list(metrics)}
        return self.write("model.json", json.dumps(model))

    def flags(self, by_id=False, **more):
        return ["--model=" + self.model(by_id, **more), "--train_files=" + self.train_files, "--test_files=" + self.test_files, "--batch_size=50",
                "--sync", "--seed=4"]

    def vectors(self, server, name, key, values):
        """Of the exported tower, of each value."""
        got = server.post("/v1/models/default:predict", {"signature_name": name, "instances": [{key: [v]} for v in values]})
        self.assertEqual(got.status, 200, got)
        return dict(zip(values, got.json["predictions"]))

    def wanted(self, export, by_id):
        """The least and the most that the shares of the rows may be: scores that rounding makes equal may come before or after."""
        with Server(export) as server:
            users, items = self.vectors(server, "user_vector", "user", list(range(USERS))), self.vectors(server, "item_vector", "item", self.items)
        ranks = {}
        for user, item in sorted(set(self.tested)):
            scores = {i: sum(a * b for a, b in zip(users[user], items[i])) for i in self.items}
            rounding = 1e-5 * sum(abs(a * b) for a, b in zip(users[user], items[item]))
            own = scores.pop(item)
            ranks[user, item] = [sum(score > own + share * rounding for score in scores.values()) for share in ((-.1, .1) if by_id else (.9, 1.1))]
        ranks = [ranks[pair] for pair in self.tested]
        return {"user_vector_factorized_top_k/top_%d_categorical_accuracy" % k: [sum(x < k for x in side) / len(ranks) for side in zip(*ranks)] for k in KS}

    def assert_tells(self, path, export, by_id, count=1):
        """The last line of a metrics file has the values of the export."""
        with open(path, encoding="utf-8") as f:
            lines = [line for line in map(json.loads, f) if line["kind"] == "evaluation"]
        self.assertGreaterEqual(len(lines), count)
        wanted = self.wanted(export, by_id)
        self.assertGreater(wanted["user_vector_factorized_top_k/top_100_categorical_accuracy"][0], .5)
        self.assertLess(wanted["user_vector_factorized_top_k/top_1_categorical_accuracy"][1], .5)
        for name, (least, most) in wanted.items():
            self.assertLess(most - least, .01)
            self.assertGreaterEqual(lines[-1][name], least - 1e-6)
            self.assertLessEqual(lines[-1][name], most + 1e-6)
            self.assertIn(name, lines[0])

    def test_a_job_in_one_process(self):
        for by_id in (False, True):
            directory, metrics = self.path("model_%d" % by_id), self.path("metrics_%d" % by_id)
            done = run("pstrain", *self.flags(by_id), "--candidate_files=" + self.candidate_files, "--training_iteration=120", "--workers=2", "--ps=2",
                       "--evaluate_steps=40", "--metrics_file=" + metrics, "--log_dir=" + self.path("logs_%d" % by_id),
                       "--export_dir=" + os.path.join(directory, "1"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("user_vector_factorized_top_k/top_50_categorical_accuracy 0.", done.stdout)
            self.assert_tells(metrics, directory, by_id, count=3)

    def test_a_cluster_with_an_evaluator(self):
        job = Job(self, ps=2, workers=2, flags=self.flags(True) + ["--candidate_files=" + self.candidate_files, "--training_iteration=120"])
        evaluator = job.start("evaluator", 0, *OFTEN, "--metrics_file=" + self.path("of_evaluator"))
        job.start("ps", 0)
        job.start("ps", 1)
        evaluator.wait_for("waiting for the chief (never heard from) to make the variables")
        job.start("worker", 0, "--export_dir=" + self.path("model", "1"), "--metrics_file=" + self.path("of_chief"))
        job.start("worker", 1)
        codes = job.wait()
        self.assertEqual(set(codes.values()), {0}, job.logs()[-8000:])
        self.assert_tells(self.path("of_chief"), self.path("model"), True)
        self.assert_tells(self.path("of_evaluator"), self.path("model"), True)

    def test_columns_of_a_schema(self):
        schema = self.write("schema.json", json.dumps({"columns": [{"name": "user", "dtype": "int64"}, {"name": "item", "dtype": "int64"}],
                                                       "inputs": {"user": ["user"], "item": ["item"]}}))
        done = run("pstrain", *self.flags(), "--candidate_files=" + self.candidate_files, "--training_iteration=120", "--schema=" + schema,
                   "--metrics_file=" + self.path("metrics"), "--export_dir=" + self.path("model", "1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_tells(self.path("metrics"), self.path("model"), False)

    def test_says_what_is_wrong(self):
        other = self.write("other.csv", "user,title\n1,a\n")
        empty = self.write("empty.csv", "item\n")
        given, short = "--candidate_files=" + self.candidate_files, ["--noexport", "--training_iteration=3"]
        for code, words, flags in (
                (2, "--candidate_files is missing: the metric 'user_vector_factorized_top_k/top_1_categorical_accuracy' ranks among all candidates", []),
                (2, "--candidate_files: no file matches '%s'" % self.path("none"), ["--candidate_files=" + self.path("none")]),
                (2, "column 'item'", ["--candidate_files=" + other]),
                (2, "--candidate_files: '%s'" % empty, ["--candidate_files=" + empty]),
                (2, "leave out --train_metrics", [given, "--train_metrics", "--metrics_file=" + self.path("m")])):
            done = run("pstrain", *self.flags(), *short, *flags)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(words, done.stderr)
        done = run("pstrain", *self.flags(metrics=()), *short, given)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--candidate_files: no metric of the model ranks the candidates", done.stderr)

    def test_the_memory_of_the_candidates_is_limited(self):
        done = run("pstrain", *self.flags(), "--candidate_files=" + self.candidate_files, "--training_iteration=3", "--noexport",
                   "--memory_budget_bytes=50000")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("--candidate_files: the vectors of 500 candidates may take", done.stderr)


if __name__ == "__main__":
    main()

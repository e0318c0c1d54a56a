"""Early stopping and the best checkpoint, in one process and across tasks."""
import json
import os
import re

from cluster import Job
from digits import write_digits
from harness import TestCase, main, program, run
from harness import train as train_once

LINEAR = ["--model=linear", "--learning_rate=0.01", "--seed=3"]
SYNC = LINEAR + ["--sync", "--workers=2", "--training_iteration=1000", "--evaluate_steps=10", "--early_stopping_patience=3",
                 "--early_stopping_min_delta=0.05"]


def train(*args):
    return train_once(*args).stdout


class EarlyStopping(TestCase):
    def found(self, text, what="Test"):
        """Step and loss of each evaluation while training."""
        return [(int(m.group(1)), float(m.group(2))) for m in re.finditer(what + r" at step (\d+): mean squared error ([\d.e+-]+)", text)]

    def bits(self, directory):
        with open(os.path.join(directory, "variables", "variables.data-00000-of-00001"), "rb") as f:
            return f.read()

    def test_stops_at_the_same_step_with_the_same_bits_for_any_number_of_ps(self):
        want = None
        for ps in (1, 2, 5):
            directory = self.path("ps%d" % ps, "1")
            text = train(directory, *SYNC, "--ps=%d" % ps)
            losses = self.found(text)
            best = min(losses, key=lambda x: x[1])
            self.assertRegex(text, r"loss has not improved in 3 evaluations: the best was [\d.e-]+, at step \d+")
            last = losses[-1][0] + 1  # the step that the other worker had begun
            self.assertIn("Training stops early, at step %d of 1000" % last, text)
            self.assertLess(last, 1000, best)
            want = want or self.bits(directory)
            self.assertEqual(self.bits(directory), want)

    def test_exports_the_best_values_and_a_second_start_finds_nothing_to_do(self):
        # The rate is too large: the first steps make it worse than the first evaluation finds it.
        data = write_digits(self.path("data"), train=300, test=100)
        flags = ["--train_dir=" + data, "--model=softmax", "--sync", "--seed=3", "--optimizer=adam", "--learning_rate=0.3", "--workers=2",
                 "--training_iteration=60", "--evaluate_steps=10", "--monitor=val_accuracy", "--restore_best_weights",
                 "--checkpoint_dir=" + self.path("ckpt"), "--metrics_file=" + self.path("metrics"), "--early_stopping_patience=2"]
        directory = self.path("model", "1")
        text = train(directory, *flags)
        with open(self.path("metrics"), encoding="utf-8") as f:
            lines = [x for x in map(json.loads, f) if x["kind"] == "evaluation"]
        name = lines[0]["name"]
        during = [x for x in lines if x["name"] == name][:-1]
        best = max(during, key=lambda x: (x["accuracy"], -x["step"]))
        self.assertIn("Going back to the best values, of step %d" % best["step"], text)
        final = [x for x in lines if x["name"] == name][-1]
        self.assertEqual((final["accuracy"], final["loss"]), (best["accuracy"], best["loss"]))
        self.assertTrue(os.path.exists(self.path("ckpt", "best", "model.ckpt-%d.index" % best["step"])))
        with open(self.path("ckpt", "early_stopping.json"), encoding="utf-8") as f:
            state = json.load(f)
        self.assertEqual((state["monitor"], state["best_step"]), ("accuracy", best["step"]))
        again = train(self.path("other", "1"), *flags)
        self.assertIn("Going back to the best values, of step %d" % best["step"], again)
        self.assertEqual(self.bits(self.path("other", "1")), self.bits(directory))

    def test_an_interrupted_job_decides_as_one_that_was_not(self):
        whole = train(self.path("whole", "1"), *SYNC, "--checkpoint_dir=" + self.path("a"))
        last = int(re.search(r"stops early, at step (\d+)", whole).group(1))
        flags = [*SYNC, "--checkpoint_dir=" + self.path("b")]
        train(self.path("part", "1"), *flags, "--stop_at_step=%d" % (last - 15))
        rest = train(self.path("rest", "1"), *flags)
        self.assertIn("stops early, at step %d of" % last, rest)
        self.assertEqual(self.bits(self.path("rest", "1")), self.bits(self.path("whole", "1")))

    def test_an_evaluator_ends_the_training_of_all_tasks(self):
        export = self.path("model", "1")
        job = Job(self, ps=2, workers=2, flags=LINEAR + ["--training_iteration=100000000", "--early_stopping_patience=2",
                                                          "--early_stopping_min_delta=1e9", "--early_stopping_task=evaluator"])
        job.start("evaluator", 0, "--eval_start_delay_secs=0", "--eval_throttle_secs=0.1")
        job.start_all(export)
        codes = job.wait()
        self.assertEqual(set(codes.values()), {0}, "%s\n%s" % (codes, job.logs()[-8000:]))
        text = job.log("evaluator 0")
        self.assertIn("loss has not improved in 2 evaluations", text)
        # More, if the workers take longer to stop than the evaluator for the next one.
        self.assertGreaterEqual(len(self.found(text)), 4, "three decide, and one is of the final values:\n" + text)
        self.assertRegex(job.log("worker 0"), r"Training stops early, at step \d+ of 100000000")
        self.assertTrue(os.path.exists(os.path.join(export, "saved_model.pb")))

    def test_refuses_what_has_no_effect(self):
        for flags, words in (
            (["--restore_best_weights"], "--restore_best_weights needs --checkpoint_dir"),
            (["--early_stopping_min_delta=1"], "--early_stopping_min_delta needs --early_stopping_patience"),
            (["--early_stopping_patience=1", "--early_stopping_task=evaluator"], "a job in one process has none"),
            (["--evaluate_steps=1", "--monitor=val_auc"], "--monitor=val_auc: an evaluation of the model has loss"),
        ):
            done = run(program("pstrain"), "--noexport", *LINEAR, *flags)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    main()

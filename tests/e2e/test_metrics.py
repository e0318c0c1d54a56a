"""--metrics_file and --log_dir: what they hold after a training, a restart, and a signal."""
import glob
import json
import re
import signal
import subprocess
from random import Random

from cluster import Job
from digits import write_digits
from harness import DEADLINE_S, TestCase, main, program, run, start


class Metrics(TestCase):
    def setUp(self):
        super().setUp()
        self.data = write_digits(self.path("data"), train=500, test=50)
        self.file, self.logs = self.path("metrics.jsonl"), self.path("logs")
        self.flags = ["--train_dir=" + self.data, "--noexport", "--metrics_file=" + self.file, "--log_dir=" + self.logs]

    def lines(self):
        with open(self.file, encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def test_a_training_and_its_evaluations(self):
        done = run("pstrain", *self.flags, "--training_iteration=250", "--workers=1", "--learning_rate=0.1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = self.lines()
        self.assertEqual([(x["kind"], x["step"]) for x in lines],
                         [("train", 1), ("train", 100), ("train", 200), ("train", 250), ("evaluation", 250), ("evaluation", 250)])
        self.assertEqual(set(lines[0]), {"kind", "time", "step", "loss", "learning_rate"})
        self.assertEqual(set(lines[1]) - set(lines[0]), {"steps_per_second", "examples_per_second"})
        self.assertEqual({x["learning_rate"] for x in lines[:4]}, {0.1})
        for line, name in zip(lines[4:], ("validation", "test"), strict=True):
            self.assertEqual(line["name"], name)
            shown = re.search(name.capitalize() + r": loss (\S+), accuracy (\S+)", done.stdout)
            for text, key in zip(shown.groups(), ("loss", "accuracy"), strict=True):
                self.assertAlmostEqual(float(text), line[key], places=4)
        self.assertEqual(sorted(x["time"] for x in lines), [x["time"] for x in lines])
        self.assertEqual(len(glob.glob(self.logs + "/events.out.tfevents.*")), 1)
        for under in ("eval", "eval_validation"):
            self.assertEqual(len(glob.glob(self.logs + "/" + under + "/events.out.tfevents.*")), 1)

    def test_a_restart_appends(self):
        for stop in (100, 200):
            done = run("pstrain", *self.flags, "--stop_at_step=%d" % stop, "--workers=1", "--checkpoint_dir=" + self.path("ckpt"))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([x["step"] for x in self.lines() if x["kind"] == "train"], [1, 100, 101, 200])
        self.assertEqual(len(glob.glob(self.logs + "/events.out.tfevents.*")), 2)

    def test_a_signal_leaves_whole_lines(self):
        child = start([program("pstrain"), *self.flags, "--training_iteration=100000000", "--save_summary_steps=1",
                       "--workers=1"],
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.kill)
        for line in child.stdout:
            if " step " in line:
                break
        child.send_signal(signal.SIGTERM)
        _, errors = child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, 128 + signal.SIGTERM, errors)
        steps = [x["step"] for x in self.lines()]
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertIn("stopped by SIGTERM at step %d;" % steps[-1], errors)

    def test_only_the_chief_of_a_cluster_writes(self):
        job = Job(self, ps=1, workers=2, flags=self.flags + ["--training_iteration=300"])
        job.start_together()
        self.assertEqual(set(job.wait().values()), {0}, job.logs())
        steps = [x["step"] for x in self.lines() if x["kind"] == "train"]
        self.assertEqual(steps, sorted(set(steps)))
        self.assertGreaterEqual(steps[-1], 300)
        self.assertEqual(len(glob.glob(self.logs + "/events.out.tfevents.*")), 1)

    def test_the_metrics_of_all_workers(self):
        """With a rate that changes nothing, the rows of an epoch have the same metrics in training as in an evaluation, however many workers
        share them."""
        random = Random(3)
        with open(self.path("rows.csv"), "w", encoding="utf-8") as f:
            f.write("a,b,label\n")
            for _ in range(600):
                a, b = random.gauss(0, 1), random.gauss(0, 1)
                f.write("%g,%g,%d\n" % (a, b, a + random.gauss(0, 1) > 0))
        layers = [("InputLayer", {"name": "x", "batch_shape": [None, 2]}),
                  ("Dense", {"name": "d", "units": 1, "activation": "sigmoid", "kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.01}}})]
        metrics = ["binary_accuracy", {"class_name": "AUC", "config": {"num_thresholds": 50}}]
        with open(self.path("model.json"), "w", encoding="utf-8") as f:
            json.dump({"class_name": "Sequential", "keras_version": "3.15.0", "compile_config": {"loss": "binary_crossentropy", "metrics": metrics},
                       "config": {"name": "m", "layers": [{"class_name": c, "config": config} for c, config in layers]}}, f)
        for flags in (["--workers=1"], ["--workers=3", "--gradient_accumulation_steps=2"], ["--workers=3", "--sync"]):
            with self.subTest(flags):
                self.file = self.path("metrics-%s" % "-".join(flags))
                done = run("pstrain", "--model=" + self.path("model.json"), "--train_files=" + self.path("rows.csv"), "--noexport",
                           "--validation_files=" + self.path("rows.csv"), "--epochs=2", "--batch_size=10", "--learning_rate=1e-30",
                           "--metrics_file=" + self.file, "--log_dir=" + self.logs, "--train_metrics", "--save_summary_steps=1000", *flags)
                self.assertEqual(done.returncode, 0, done.stderr)
                lines = {line.pop("kind"): line for line in self.lines()}
                all_rows, evaluation = lines["train_metrics"], lines["evaluation"]
                self.assertEqual((all_rows["step"], all_rows["rows"]), (evaluation["step"], 1200))
                for name in ("loss", "binary_accuracy", "AUC"):
                    # The loss's sum begins with floats of ten rows here, and of 500 there.
                    self.assertAlmostEqual(all_rows[name], evaluation[name], delta=1e-6 * evaluation[name])
        self.assertEqual(len(glob.glob(self.logs + "/train/events.out.tfevents.*")), 3)

    def test_what_cannot_be_written_is_named_before_training(self):
        for flag, words in (("--metrics_file=/dev/full", "--metrics_file: '/dev/full' is not a regular file"),
                            ("--metrics_file=" + self.path("no", "m"), "--metrics_file: open"),
                            ("--log_dir=" + self.data + "/train-images-idx3-ubyte/d", "--log_dir: "),
                            ("--log_dir=gs://bucket/logs", "--log_dir: "),
                            ("--histogram_steps=5", "--histogram_steps needs --log_dir"),
                            ("--train_metrics", "--train_metrics needs --log_dir or --metrics_file"),
                            ("--save_summary_steps=5", "--save_summary_steps needs --log_dir or --metrics_file")):
            with self.subTest(flag):
                done = run("pstrain", "--train_dir=" + self.data, "--noexport", flag)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    main()

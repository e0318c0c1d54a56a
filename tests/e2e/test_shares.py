"""Every row of every epoch counts once, whichever tasks come and go. The model counts: each row has an id of its own, and each step adds 1 to
the weights of its ids (the gradient of the absolute error is -1 everywhere, and the rate is 1)."""
import collections
import json
import os
import struct
import time

from cluster import Job
from harness import DEADLINE_S, SANITIZED, TestCase, main, run

ROWS, BATCH = 10000 if SANITIZED else 20000, 2
EPOCHS = 2 if SANITIZED else 3
STEPS = EPOCHS * ROWS // BATCH


class Shares(TestCase):
    def setUp(self):
        super().setUp()
        layers = [("InputLayer", {"name": "x", "batch_shape": [None, 1], "dtype": "int64"}),
                  ("Embedding", {"name": "ids", "input_dim": ROWS, "output_dim": 1, "embeddings_initializer": {"class_name": "Zeros", "config": {}}}),
                  ("Flatten", {"name": "flat"})]
        with open(self.path("count.json"), "w", encoding="utf-8") as f:
            json.dump({"class_name": "Sequential", "keras_version": "3.15.0", "compile_config": {"loss": "mean_absolute_error"},
                       "config": {"name": "count", "layers": [{"class_name": c, "config": config} for c, config in layers]}}, f)
        for part in range(3):
            with open(self.path("ids-%d.csv" % part), "w", encoding="utf-8") as f:
                f.write("id,label\n" + "".join("%d,1e9\n" % i for i in range(ROWS * part // 3, ROWS * (part + 1) // 3)))

    def model_flags(self):
        return ["--model=" + self.path("count.json"), "--train_files=" + self.path("ids-*.csv"), "--batch_size=%d" % BATCH, "--loss_reduction=sum",
                "--optimizer=sgd", "--learning_rate=1", "--shuffle_buffer=3000", "--seed=3"]

    def begin(self, ps, workers, *flags):
        self.rows_per_step = BATCH * (workers if "--sync" in flags else 1)
        self.job = Job(self, ps=ps, workers=workers, flags=[*self.model_flags(), "--train_metrics", *flags])
        self.chief = ["--export_dir=" + self.path("model", "1"), "--metrics_file=" + self.path("steps.jsonl"), "--save_summary_steps=20"]

    def start(self, job, index):
        self.job.start(job, index, *(self.chief if (job, index) == ("worker", 0) else []))

    def wait_for_step(self, step):
        """The chief has made a step of the job from `step` on."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            if os.path.exists(self.path("steps.jsonl")):
                with open(self.path("steps.jsonl"), encoding="utf-8") as f:
                    whole = [line for line in f if line.endswith("\n")]
                if whole and json.loads(whole[-1])["step"] >= step:
                    return
            time.sleep(0.005)
        self.fail("no step %d:\n%s" % (step, self.job.logs()[-8000:]))

    def check_metrics(self, begin=0):
        """The rows of all steps from `begin` on are in the lines of the metrics over all workers, each once."""
        with open(self.path("steps.jsonl"), encoding="utf-8") as f:
            lines = [line for line in map(json.loads, f) if line["kind"] == "train_metrics"]
        rows = 0
        for line in lines:
            rows += line["rows"]
            self.assertEqual(rows, (line["step"] - begin) * self.rows_per_step, line)
        self.assertEqual(rows, EPOCHS * ROWS)

    def check(self, **codes):
        ended = self.job.wait()
        self.assertEqual({name: code for name, code in ended.items() if code != 0}, codes, self.job.logs()[-8000:])
        self.check_rows()

    def check_rows(self):
        with open(os.path.join(self.path("model", "1"), "variables", "variables.data-00000-of-00001"), "rb") as f:
            counts = struct.unpack("<%df" % ROWS, f.read(4 * ROWS))
        self.assertEqual(dict(collections.Counter(counts)), {float(EPOCHS): ROWS})

    def test_workers_that_are_killed_started_again_and_added(self):
        # One ps: a push that is applied on one ps and not on another would count on that one only.
        self.begin(1, 4, "--epochs=%d" % EPOCHS, "--finish_timeout=10")
        for task in (("ps", 0), ("worker", 1), ("worker", 2), ("worker", 0)):
            self.start(*task)
        self.wait_for_step(STEPS // 16)
        self.job.kill("worker 1")
        self.start("worker", 1)
        self.start("worker", 3)
        self.wait_for_step(STEPS // 8)
        self.job.kill("worker 2")
        self.wait_for_step(STEPS // 4)
        self.job.kill("worker 0")
        self.start("worker", 0)
        self.check(**{"worker 2": -9})

    def test_a_job_that_goes_back_to_a_checkpoint(self):
        self.begin(1, 2, "--epochs=%d" % EPOCHS)
        self.chief += ["--checkpoint_dir=" + self.path("ckpt"), "--save_checkpoint_steps=%d" % (STEPS // 20)]
        for task in (("ps", 0), ("worker", 1), ("worker", 0)):
            self.start(*task)
        for part, victims in ((16, [("ps", 0)]), (8, [("ps", 0), ("worker", 0)]), (4, [("worker", 0), ("worker", 1), ("ps", 0)])):
            self.wait_for_step(STEPS // part)
            for job, index in victims:
                self.job.kill("%s %d" % (job, index))
            for job, index in victims:
                self.start(job, index)
        self.check()

    def test_a_synchronous_job_that_goes_on_with_another_number_of_workers(self):
        for workers, length in ((2, "--stop_at_step=700"), (3, "--stop_at_step=1001"), (4, "--stop_at_step=1400"), (1, "--epochs=%d" % EPOCHS)):
            done = run("pstrain", "--sync", "--ps=2", "--workers=%d" % workers, length, "--checkpoint_dir=" + self.path("ckpt"), *self.model_flags(),
                       *(["--export_dir=" + self.path("model", "1")] if workers == 1 else ["--noexport"]))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.check_rows()

    def test_a_synchronous_job(self):
        self.begin(2, 2, "--epochs=%d" % EPOCHS, "--sync")
        for task in (("ps", 0), ("ps", 1), ("worker", 1), ("worker", 0)):
            self.start(*task)
        self.wait_for_step(STEPS // 8)
        self.job.kill("worker 1")
        self.start("worker", 1)
        self.check()
        self.check_metrics()


if __name__ == "__main__":
    main()

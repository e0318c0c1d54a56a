"""An asynchronous sparse job whose tasks are killed at random, one after the other, and started again as the operator of a cluster does it.
It makes all its steps, and the model is as good as that of a job that nothing happened to.

    SLIPWAY_KILLS=100[:SEED] python3 tests/e2e/test_kills.py     so many kills

tests/e2e/test_chaos.py has synchronous jobs, where the bits show that each row counted once.
"""
import json
import os
import random
import re
import signal
import time

from cluster import Job
from harness import DEADLINE_S, SANITIZED, TestCase, main, train

KILLS, SEED = ([int(n) for n in os.environ.get("SLIPWAY_KILLS", "").split(":")] + [1])[:2] if "SLIPWAY_KILLS" in os.environ else (2 if SANITIZED else 8, 1)
# Ftrl updates all columns in each step: so many that the job is not over before a slow disk has a checkpoint for each kill.
COLUMNS = 100_000 if SANITIZED else 500_000
FREQUENT, ROWS, EVERY = 200, 4000, 100
STEPS = 2 * EVERY * (KILLS + 2)
TASKS = [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]
CHIEF = ("worker", 0)
MODEL = {"class_name": "Sequential", "config": {"name": "linear", "layers": [
    {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, COLUMNS], "dtype": "float32", "sparse": True}},
    {"class_name": "Dense", "config": {"name": "answer", "units": 1, "activation": "sigmoid"}}]},
    "compile_config": {"optimizer": {"class_name": "Ftrl", "config": {"learning_rate": 0.1}}, "loss": "binary_crossentropy",
                       "metrics": ["AUC"]}}


def libsvm(count, seed):
    """Rows whose frequent ids decide the label, though not always: odd ones speak for it and even ones against it."""
    numbers = random.Random(seed)
    for _ in range(count):
        ids = sorted({numbers.randrange(FREQUENT if numbers.random() < 0.6 else COLUMNS) for _ in range(15)})
        score = sum(i % 2 * 2 - 1 for i in ids if i < FREQUENT) + numbers.gauss(0, 1)
        yield "%d %s\n" % (score > 0, " ".join("%d:1" % (i + 1) for i in ids))


class Kills(TestCase):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        return self.path(name)

    def flags(self):
        return ["--model=" + self.write("model.json", json.dumps(MODEL)), "--batch_size=50", "--stop_at_step=%d" % STEPS,
                "--train_files=" + self.write("train.libsvm", "".join(libsvm(ROWS, 1))),
                "--test_files=" + self.write("test.libsvm", "".join(libsvm(ROWS, 2)))]

    def loss_and_auc(self, said):
        return tuple(float(value) for value in re.search(r"Test: loss (\S+), AUC (\S+)", said).groups())

    def start(self, job, index):
        more = ["--checkpoint_dir=" + self.path("ckpt"), "--save_checkpoint_steps=%d" % EVERY, "--export_dir=" + self.path("model", "1")]
        self.job.start(job, index, *(more if (job, index) == CHIEF else []))

    def process(self, who):
        return self.job.tasks["%s %d" % who].process

    def last_checkpoint(self):
        directory = self.path("ckpt")
        names = os.listdir(directory) if os.path.isdir(directory) else []
        return max((int(m.group(1)) for m in (re.fullmatch(r"model\.ckpt-(\d+)\.index", n) for n in names) if m), default=-1)

    def is_over(self):
        return any(self.process(who).poll() == 0 for who in TASKS)

    def keep_alive(self):
        """Starts the tasks again that ended without the job's outcome. An exit code below 128 would be a failure of the job."""
        self.assertLess(time.monotonic(), self.deadline, self.job.logs()[-8000:])
        for who in TASKS:
            code = self.process(who).poll()
            if code is None or code == 0:
                continue
            self.assertFalse(0 < code < 128, "%s %d: exit %d\n%s" % (*who, code, self.job.logs()[-8000:]))
            self.start(*who)

    def wait_until(self, event):
        while not event() and not self.is_over():
            self.keep_alive()
            time.sleep(0.005)

    def kill_one_after_the_other(self, draw):
        """Each when the job has got further since the last one: the number of those that it met. None when the job is about to end: a
        task that is started again after that would wait for a job that is over."""
        for done in range(KILLS):
            reached = self.last_checkpoint()
            self.wait_until(lambda reached=reached: self.last_checkpoint() > reached)
            if self.last_checkpoint() > STEPS - 2 * EVERY:
                return done
            end = time.monotonic() + 0.1 * draw.random()
            while time.monotonic() < end:
                time.sleep(0.001)
            self.process(draw.choice(TASKS)).send_signal(signal.SIGKILL)
        return KILLS

    def test_a_sparse_job_is_as_good_after_many_kills(self):
        flags = self.flags()
        quiet_loss, quiet_auc = self.loss_and_auc(train(self.path("quiet", "1"), *flags, "--ps=2", "--workers=2").stdout)
        self.job, self.deadline = Job(self, ps=2, workers=2, flags=flags), time.monotonic() + DEADLINE_S * max(1, KILLS / 10)
        for who in TASKS:
            self.start(*who)
        met = self.kill_one_after_the_other(random.Random(SEED))
        self.assertGreater(met, KILLS / 4, self.job.logs()[-8000:])
        self.wait_until(lambda: False)
        while any(self.process(who).poll() != 0 for who in TASKS):
            self.keep_alive()
            time.sleep(0.005)
        loss, auc = self.loss_and_auc(self.job.log("worker 0"))
        print("%d kills: loss %.4f, AUC %.4f; without kills %.4f, %.4f" % (met, loss, auc, quiet_loss, quiet_auc))
        self.assertGreaterEqual(self.last_checkpoint(), STEPS)
        self.assertAlmostEqual(auc, quiet_auc, delta=0.01)
        self.assertAlmostEqual(loss, quiet_loss, delta=0.005)  # noise: 0.0005; values that begin anew after a kill: 0.02


if __name__ == "__main__":
    main()

"""Pairs of faults in synchronous jobs of real processes: two tasks are killed at once, or the second while the job recovers from the first
or exports. Each is started again, as the operator of a cluster does it. Every job ends well, with the bits of one that nothing happened to.

    SLIPWAY_CHAOS=FIRST[:COUNT] python3 tests/e2e/test_chaos.py     these seeds: one that failed, or a hundred more

tests/unit/trainer/test_chaos.c does the same in one process, by the thousand.
"""
import os
import random
import signal
import time

from cluster import Job
from digits import write_digits
from harness import DEADLINE_S, SANITIZED, TestCase, main, train
from table_model import write_table_model

FIRST, COUNT = ([int(n) for n in os.environ.get("SLIPWAY_CHAOS", "").split(":")] + [1])[:2] if "SLIPWAY_CHAOS" in os.environ else (1, 2 if SANITIZED else 12)
STEPS = 1000 if SANITIZED else 3000
FLAGS = ["--optimizer=momentum", "--batch_size=4", "--sync", "--seed=5", "--stop_at_step=%d" % STEPS]
EVERY = STEPS // 20  # steps between two checkpoints
PS, WORKERS = 2, 2
TASKS = [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]
CHIEF = ("worker", 0)


def values(directory):
    with open(os.path.join(directory, "variables", "variables.data-00000-of-00001"), "rb") as f:
        return f.read()


class Chaos(TestCase):
    def begin(self, seed):
        self.draw, self.seed = random.Random(seed), seed
        self.job = Job(self, ps=PS, workers=WORKERS, flags=FLAGS + ["--train_dir=" + self.data, "--model=" + self.model(seed)])
        self.directory, self.export = self.path("ckpt"), self.path("model", "1")
        self.more = ["--checkpoint_dir=" + self.directory, "--save_checkpoint_steps=%d" % EVERY, "--export_dir=" + self.export]
        self.history, self.killed, self.end = [], set(), time.monotonic() + DEADLINE_S
        for job, index in TASKS:
            self.start(job, index)

    def model(self, seed):
        """Every third job has a table that is read by rows."""
        return self.table if seed % 3 == 0 else "softmax"

    def start(self, job, index):
        self.job.start(job, index, *(self.more if (job, index) == CHIEF else []))

    def note(self, text):
        self.history.append(text)

    def task(self, job, index):
        return self.job.tasks["%s %d" % (job, index)]

    # ---- moments of the job, drawn from the seed ----

    def checkpoints(self):
        names = os.listdir(self.directory) if os.path.isdir(self.directory) else []
        return [int(n[len("model.ckpt-"):-len(".index")]) for n in names if n.startswith("model.ckpt-") and n.endswith(".index") and n[11:-6].isdigit()]

    def exporting(self):
        return os.path.isdir(self.path("model")) and bool(os.listdir(self.path("model")))

    def wait_until(self, what, event):
        """Waits for the event, or for the end of the job: the fault may come too late."""
        self.note("until " + what)
        while not event() and not self.is_over():
            self.keep_alive()
            time.sleep(0.002)

    def wait_for_moment(self):
        kind = self.draw.choice(["step"] * 4 + ["start", "export"])
        if kind == "step":
            step = self.draw.randrange(STEPS)
            self.wait_until("step %d" % step, lambda: max(self.checkpoints(), default=-1) >= step - EVERY)
        elif kind == "export":
            self.wait_until("the export", self.exporting)
        self.pause(0.1)

    def pause(self, seconds):
        end = time.monotonic() + seconds * self.draw.random()
        while time.monotonic() < end:
            time.sleep(0.001)

    # ---- faults ----

    def is_known(self):
        """The outcome: a ps that has left knows it from the chief, which may have been killed as it told it."""
        return any(self.task(*who).process.poll() == 0 for who in (CHIEF, ("ps", 0), ("ps", 1)))

    def is_over(self):
        """The outcome is known, and every task that was never killed has ended with 0."""
        return self.is_known() and all(self.task(*who).process.poll() == 0 for who in TASKS if who not in self.killed)

    def keep_alive(self):
        """Restarts a task whose exit code asks for it."""
        if time.monotonic() > self.end:
            self.fail("seed %d: the job has not ended in %d s\n%s" % (self.seed, DEADLINE_S, self.story()))
        for who in TASKS:
            code = self.task(*who).process.poll()
            if code is None or code == 0 or self.is_known():
                continue
            if 0 < code < 128:
                self.fail("seed %d: %s %d: exit %d\n%s" % (self.seed, *who, code, self.story()))
            self.note("start %s %d after exit %d" % (*who, code))
            self.start(*who)

    def kill(self, who):
        process = self.task(*who).process
        if process.poll() is None:
            self.note("kill %s %d" % who)
            self.killed.add(who)
            process.send_signal(signal.SIGKILL)

    def story(self):
        return "%s\n%s" % ("; ".join(self.history), self.job.logs()[-12000:])

    def run_seed(self, seed):
        self.begin(seed)
        first, second = self.draw.sample(TASKS, 2)
        self.wait_for_moment()
        self.kill(first)
        how = self.draw.choice(["at once", "at once", "soon", "in the recovery"])
        if how == "soon":
            self.pause(0.3)
        elif how == "in the recovery":
            self.keep_alive()
            self.pause(0.3)
        self.kill(second)
        self.pause(0.5)
        self.wait_until("the end", self.is_over)
        self.assertEqual(values(self.export), self.expected[self.model(seed)], "seed %d: other weights\n%s" % (seed, self.story()))
        self.job.stop()

    def test_each_pair_of_faults_leaves_the_same_bits(self):
        self.data = write_digits(self.path("data"), train=500, test=50)
        self.table, self.expected = write_table_model(self.path("table.json")), {}
        for model in ("softmax", self.table):
            quiet = self.path("quiet-" + os.path.basename(model), "1")
            train(quiet, *FLAGS, "--model=" + model, "--train_dir=" + self.data, "--ps=1", "--workers=%d" % WORKERS)
            self.expected[model] = values(quiet)
        for seed in range(FIRST, FIRST + COUNT):
            with self.subTest(seed=seed):
                quiet = self.dir
                self.dir = os.path.join(quiet, "seed-%d" % seed)
                os.makedirs(self.dir)
                try:
                    self.run_seed(seed)
                finally:
                    self.dir = quiet


if __name__ == "__main__":
    main()

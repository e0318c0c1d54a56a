"""Killed tasks in a job of processes: what each other task logs, and how the job still ends well."""
import os
import re
import signal
import time

from cluster import Job
from harness import DEADLINE_S, SANITIZED, TestCase, main

# Steps enough to last for longer than this test may stand still before it kills a task, on a model whose steps cost nothing.
STEPS = 10000 if SANITIZED else 25000
LONG = ["--model=linear", "--optimizer=adagrad", "--learning_rate=0.01", "--seed=3", "--stop_at_step=%d" % STEPS, "--recovery_timeout=60"]


def steps_in(directory):
    found = [re.fullmatch(r"model\.ckpt-(\d+)\.index", name) for name in os.listdir(directory)]
    return sorted(int(m.group(1)) for m in found if m)


class Faults(TestCase):
    def begin(self, ps=2, workers=2, chief=False, checkpoints=True, flags=LONG):
        job = Job(self, ps=ps, workers=workers, chief=chief, flags=flags)
        self.directory = self.path("ckpt")
        self.export = self.path("model", "1")
        self.more = ["--export_dir=" + self.export]
        if checkpoints:
            self.more += ["--checkpoint_dir=" + self.directory, "--save_checkpoint_secs=0.1"]
        job.start_together(*self.more)
        for name in job.tasks:
            if not name.startswith("ps"):
                job.tasks[name].wait_for("trains from step")
        return job

    def wait_for_checkpoint(self, after=-1):
        end = time.monotonic() + DEADLINE_S
        while not os.path.isdir(self.directory) or not [s for s in steps_in(self.directory) if s > after]:
            self.assertLess(time.monotonic(), end, "no checkpoint after step %d" % after)
            time.sleep(0.01)
        return steps_in(self.directory)[-1]

    def killed(self, job, name):
        task = job.tasks[name]
        job.kill(name)
        self.assertEqual(task.process.wait(DEADLINE_S), -signal.SIGKILL)
        task.stop()
        return task.text()

    def assert_done(self, job):
        codes = job.wait()
        self.assertEqual(set(codes.values()), {0}, "%s\n%s" % (codes, job.logs()[-12000:]))
        self.assertTrue(os.path.exists(os.path.join(self.export, "saved_model.pb")))

    def once(self, text, words):
        self.assertEqual(text.count(words), 1, "%r\n%s" % (words, text))

    def test_a_killed_ps_takes_all_tasks_back_to_the_last_checkpoint(self):
        for lost in (0, 1):
            with self.subTest(ps=lost):
                self.tearDown()
                self.setUp()
                job = self.begin()
                self.wait_for_checkpoint(after=500)
                self.killed(job, "ps %d" % lost)
                job.tasks["worker 1"].wait_for("waiting for ps %d at %s: " % (lost, job.hosts["ps"][lost]))
                job.start("ps", lost)
                self.assert_done(job)
                chief = job.log("worker 0")
                self.once(chief, "Training pauses at step ")
                self.once(chief, "Restored %s/model.ckpt-" % self.directory)
                self.once(chief, "Training continues from step ")
                self.once(job.log("worker 1"), "worker 1: pauses at step ")
                self.once(job.log("worker 1"), "worker 1: continues from step ")
                restored = int(re.search(r"Restored \S+, step (\d+)", chief).group(1))
                self.assertGreater(restored, 0)

    def test_a_stopped_ps_of_a_synchronous_job_is_as_good_as_killed(self):
        job = self.begin(flags=LONG + ["--sync", "--linger_timeout=60"])
        self.wait_for_checkpoint(after=500)
        job.kill("ps 1", signal.SIGTERM)
        self.assertEqual(job.tasks["ps 1"].wait(), 143)
        job.start("ps", 1)
        self.assert_done(job)
        self.once(job.log("worker 0"), "Restored %s/model.ckpt-" % self.directory)
        self.once(job.log("worker 1"), "worker 1: continues from step ")

    def test_a_stopped_worker_of_a_synchronous_job_may_come_back(self):
        job = self.begin(flags=LONG + ["--sync", "--linger_timeout=60"])
        self.wait_for_checkpoint(after=500)
        job.kill("worker 1", signal.SIGTERM)
        self.assertEqual(job.tasks["worker 1"].wait(), 143)
        job.tasks["ps 0"].wait_for("worker 1 has left: stopped at step ")
        job.tasks["worker 0"].wait_for("waiting for worker 1 (has left) to push for step ")
        job.start("worker", 1)
        self.assert_done(job)

    def test_without_a_checkpoint_no_task_pretends_that_nothing_happened(self):
        job = self.begin(checkpoints=False)
        self.killed(job, "ps 1")
        job.start("ps", 1)
        codes = job.wait()
        for name in ("worker 0", "worker 1", "ps 0", "ps 1"):
            self.assertEqual(codes[name], 1, "it has failed for good\n" + job.logs()[-8000:])
            self.assertIn("give --checkpoint_dir", job.log(name))
        self.assertFalse(os.path.exists(self.export))

    def test_a_ps_that_does_not_come_back_ends_the_job(self):
        job = self.begin(flags=LONG + ["--recovery_timeout=3"])
        self.wait_for_checkpoint(after=100)
        self.killed(job, "ps 1")
        gone = job.tasks.pop("ps 1")
        self.addCleanup(gone.stop)
        codes = job.wait()
        for name, code in codes.items():
            self.assertGreaterEqual(code, 128, "%s\n%s" % (name, job.logs()[-8000:]))
        self.assertIn("ps 1 at " + job.hosts["ps"][1], job.log("worker 1"))

    def test_a_ps_may_stay_away_for_longer_than_the_tasks_may_be_silent(self):
        job = self.begin(flags=LONG + ["--linger_timeout=5"])
        self.wait_for_checkpoint(after=100)
        self.killed(job, "ps 1")
        time.sleep(8)
        job.start("ps", 1)
        self.assert_done(job)
        self.once(job.log("worker 1"), "worker 1: continues from step ")

    def test_a_killed_chief_goes_on_from_its_own_disk_and_the_others_wait(self):
        job = self.begin(workers=3)
        self.wait_for_checkpoint(after=500)
        self.killed(job, "worker 0")
        time.sleep(0.5)
        for name in ("worker 1", "worker 2", "ps 0", "ps 1"):
            self.assertIsNone(job.tasks[name].process.poll(), job.log(name))
        chief = job.start("worker", 0, *self.more)
        self.assert_done(job)
        self.once(chief.text(), "Restored %s/model.ckpt-" % self.directory)
        for name in ("worker 1", "worker 2"):
            self.once(job.log(name), "%s: pauses at step " % name)
            self.once(job.log(name), "%s: continues from step " % name)

    def test_a_killed_worker_costs_its_speed_only_and_may_come_back(self):
        job = self.begin(workers=3, checkpoints=True)
        step = self.wait_for_checkpoint(after=300)
        self.killed(job, "worker 2")
        self.wait_for_checkpoint(after=step + 1000)  # the others go on, and are saved
        self.assertNotIn("pauses", job.logs())
        job.start("worker", 2)
        self.assert_done(job)
        self.assertNotIn("pauses", job.logs())

    def test_a_task_that_stands_still_for_a_while_goes_on_by_itself(self):
        job = self.begin(workers=3)
        step = self.wait_for_checkpoint(after=300)
        for name in ("ps 1", "worker 2"):  # without the ps no step is made, and without the worker the job may come to its end
            job.kill(name, signal.SIGSTOP)
            time.sleep(2)
            job.kill(name, signal.SIGCONT)
        self.assert_done(job)
        self.assertNotIn("pauses", job.logs())
        self.assertGreaterEqual(steps_in(self.directory)[-1], max(step, STEPS))

    def test_a_ps_that_stood_still_does_not_take_it_for_silence_of_the_others(self):
        job = self.begin(ps=1, flags=LONG + ["--linger_timeout=10"])
        self.wait_for_checkpoint(after=300)
        job.kill("ps 0", signal.SIGSTOP)
        time.sleep(12)
        job.kill("ps 0", signal.SIGCONT)
        self.assert_done(job)
        self.assertNotIn("heard from for", job.log("ps 0"))


if __name__ == "__main__":
    main()

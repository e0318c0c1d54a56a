"""The chief's disk while a job of several processes runs: a directory is removed, a limit on file sizes, a chief that comes back on
another disk."""
import os
import re
import shutil
import signal
import subprocess
import time

from cluster import Job, Task
from digits import write_digits
from harness import DEADLINE_S, TestCase, clean_environment, main, program


class Disks(TestCase):
    def setUp(self):
        super().setUp()
        self.data = write_digits(self.path("data"), train=300, test=50)
        self.checkpoints, self.export = self.path("disk", "checkpoints"), self.path("models", "1")

    def job(self, *flags):
        return Job(self, ps=2, workers=2, flags=["--train_dir=%s" % self.data, "--batch_size=20", "--optimizer=adam", *flags])

    def chief_flags(self):
        return ["--checkpoint_dir=%s" % self.checkpoints, "--export_dir=%s" % self.export]

    def start(self, job, *chief_flags):
        for index in (0, 1):
            job.start("ps", index)
        job.start("worker", 1)
        return job.start("worker", 0, *self.chief_flags(), *chief_flags)

    def limited(self, kb, *flags):
        """Trains in one process that may write files of so many KB."""
        return subprocess.run(["bash", "-c", 'ulimit -f %d; exec "$0" "$@"' % kb, program("pstrain"), "--train_dir=%s" % self.data, *flags],
                              capture_output=True, text=True, timeout=DEADLINE_S)

    def wait_until(self, condition, what):
        end = time.monotonic() + DEADLINE_S
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.005)

    def latest(self):
        try:
            with open(os.path.join(self.checkpoints, "checkpoint"), encoding="utf-8") as f:
                return f.readline()
        except FileNotFoundError:
            return ""

    def test_a_checkpoint_directory_that_is_removed_is_made_again(self):
        job = self.job("--stop_at_step=1000000", "--save_checkpoint_steps=20")
        self.start(job)
        self.wait_until(self.latest, "no first checkpoint")
        os.rename(self.path("disk"), self.path("removed"))  # at once, unlike rmtree
        self.wait_until(self.latest, "no checkpoint in a new directory")
        # The new directory is locked like the old one.
        other = subprocess.run([program("pstrain"), "--train_dir=%s" % self.data, "--checkpoint_dir=%s" % self.checkpoints],
                               capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(other.returncode, 2, other.stdout + other.stderr)
        self.assertIn("another process writes checkpoints to '%s'" % self.checkpoints, other.stderr)
        # A ps that is lost gets its values from there.
        job.kill("ps 1")
        job.tasks["ps 1"].process.wait()
        job.start("ps", 1)
        job.tasks["worker 0"].wait_for("Restored %s" % self.checkpoints)
        job.tasks["worker 0"].wait_for("Training continues")

    def test_a_limit_on_file_sizes_is_found_before_training(self):
        # The values take 31 KB, and the slots of Adam twice as much.
        for limit, takes, path in ((60, 92, self.checkpoints), (20, 31, self.export)):
            done = self.limited(limit, "--optimizer=adam", "--stop_at_step=5", *self.chief_flags())
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn("'%s' takes a file of %d KB, and this process may write files of %d KB (ulimit -f)" % (path, takes, limit),
                          done.stderr)

    def test_a_file_that_reaches_the_limit_costs_only_itself(self):
        metrics = self.path("metrics")
        done = self.limited(40, "--stop_at_step=1000", "--save_summary_steps=1", "--metrics_file=%s" % metrics, "--export_dir=%s" % self.export)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("--metrics_file: write '%s': File too large: nothing more is written there" % metrics, done.stderr)
        self.assertEqual(os.path.getsize(metrics), 40 * 1024)
        self.assertTrue(os.path.exists(self.export))

    def take(self):
        """Puts a file into the directory of the export."""
        os.makedirs(self.export)
        with open(os.path.join(self.export, "taken"), "w", encoding="utf-8"):
            pass

    def test_an_export_that_fails_is_tried_again_without_a_checkpoint(self):
        """The values would be lost. A file in the directory stands for a disk that is full for a while."""
        for local in (True, False):
            with self.subTest(local):
                shutil.rmtree(self.path("models"), ignore_errors=True)
                job = self.job("--stop_at_step=20000")
                if local:
                    task = Task("local", [program("pstrain"), *job.flags, "--export_dir=%s" % self.export], self.dir, clean_environment())
                    self.addCleanup(task.stop)
                else:
                    job.start_together("--export_dir=%s" % self.export)
                    task = job.tasks["worker 0"]
                task.wait_for("Training ")
                self.take()
                task.wait_for("is not empty")
                self.assertRegex(task.text(), "The trained values are in no checkpoint: trying again every 3 s, for 300 s")
                shutil.rmtree(self.export)
                self.assertEqual(task.wait(), 0, task.text())
                self.assertIn("Exported to %s" % self.export, task.text())
                self.assertTrue(os.path.exists(os.path.join(self.export, "saved_model.pb")))

    def test_a_signal_ends_the_tries_and_the_job_as_a_stopped_chief_does(self):
        job = self.job("--stop_at_step=20000")
        job.start_together("--export_dir=%s" % self.export)
        job.tasks["worker 0"].wait_for("Training ")
        self.take()
        job.tasks["worker 0"].wait_for("trying again every 3 s")
        job.kill("worker 0", signal.SIGTERM)
        self.assertEqual(job.wait(), {"ps 0": 138, "ps 1": 138, "worker 0": 143, "worker 1": 138}, job.logs()[-6000:])
        self.assertIn("the job ended: worker 0 was stopped at step 20000", job.log("worker 1"))
        self.assertIn("stopped by SIGTERM at step 20000; nothing was exported", job.log("worker 0"))

    def test_an_export_that_fails_for_good(self):
        job = self.job("--stop_at_step=20000", "--export_retry_secs=1")
        task = Task("local", [program("pstrain"), *job.flags, "--export_dir=%s" % self.export], self.dir, clean_environment())
        self.addCleanup(task.stop)
        task.wait_for("Training ")
        self.take()
        self.assertEqual(task.wait(), 1, task.text())
        self.assertIn("pstrain: export to '%s': " % self.export, task.text())

    def test_a_chief_on_an_empty_disk_goes_on_with_the_values_of_the_ps_tasks(self):
        job = self.job("--stop_at_step=1000000", "--save_checkpoint_steps=20", "--sync")
        self.start(job)
        self.wait_until(lambda: "model.ckpt-0" not in self.latest() and self.latest(), "no later checkpoint")
        job.kill("worker 0")
        job.tasks["worker 0"].process.wait()
        shutil.rmtree(self.path("disk"))
        chief = job.start("worker", 0, *self.chief_flags(), "--stop_at_step=1")  # the workers do not know of this last step
        chief.wait_for("Training ends at step 1000000, as it was begun, and not at 1\n")
        began = int(re.search("The ps tasks hold the variables of step ([0-9]+): continuing with them", chief.text()).group(1))
        self.assertGreaterEqual(began, 20)
        self.wait_until(lambda: int((self.latest() or "-0\"").rpartition("-")[2].rstrip('"\n')) > began, "the job does not go on")


if __name__ == "__main__":
    main()

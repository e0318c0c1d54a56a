"""Exports beside an existing one: the next version, or the same export by a task that was killed after it."""
import os

from cluster import Job
from digits import write_digits
from harness import TestCase, main, run

LINEAR = ["--model=linear", "--training_iteration=20", "--sync"]


def identity(directory):
    """Another one for each export, even of the same bytes."""
    return os.stat(os.path.join(directory, "saved_model.pb")).st_ino


class Versions(TestCase):
    def pstrain(self, *flags, code=0):
        done = run("pstrain", *LINEAR, *flags, cwd=self.dir)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_a_plain_second_run_exports_the_next_version(self):
        for version in ("1", "2"):
            self.assertIn("Exported to ./model/%s\n" % version, self.pstrain().stdout)
        os.rename(self.path("model", "2"), self.path("model", "00000007"))
        self.assertIn("Exported to ./model/8\n", self.pstrain().stdout)
        self.assertEqual(sorted(os.listdir(self.path("model"))), ["00000007", "1", "8"])

    def test_a_directory_of_versions_gets_the_next_one(self):
        self.pstrain("--export_dir=m/1")
        self.assertIn("Exported to m/2\n", self.pstrain("--export_dir=m").stdout)
        self.assertIn("Exported to m/3\n", self.pstrain("m").stdout)
        self.assertIn("is not empty", self.pstrain("--export_dir=m/3", code=2).stderr)
        self.assertIn("is not empty", self.pstrain("m", "--model_version=3", code=2).stderr)

    def test_noexport_exports_nothing(self):
        done = self.pstrain("--noexport")
        self.assertIn("Test: ", done.stdout)
        self.assertNotIn("Exported", done.stdout)
        self.assertEqual(os.listdir(self.dir), [])
        self.assertIn("--noexport and 'm/1'", self.pstrain("--noexport", "--export_dir=m/1", code=2).stderr)


    def test_an_export_says_who_wrote_it(self):
        self.pstrain()
        with open(self.path("model", "1", "saved_model.pb"), "rb") as f:
            version = run("pstrain", "--version").stdout.split()[1]
            self.assertIn(b"slipway " + version.encode(), f.read())

    def test_without_test_files_nothing_is_tested(self):
        data = write_digits(self.path("data"), train=200, test=50)
        for name in os.listdir(data):
            if name.startswith("t10k-images"):
                os.remove(os.path.join(data, name))
        flags = ["--model=softmax", "--train_dir=" + data, "--batch_size=10"]
        self.assertIn("has neither t10k-images-idx3-ubyte nor", self.pstrain(*flags, code=2).stderr)
        for name in os.listdir(data):
            if name.startswith("t10k"):
                os.remove(os.path.join(data, name))
        done = self.pstrain(*flags)
        self.assertIn("200 + 0 images", done.stdout)
        self.assertIn("Validation: loss", done.stdout)
        self.assertNotIn("Test:", done.stdout)
        self.assertIn("Exported to", done.stdout)


class Finished(TestCase):
    """A chief that was killed when its export was complete is started again with the same flags."""

    def setUp(self):
        super().setUp()
        self.flags = ["--train_dir=" + write_digits(self.path("data"), train=200, test=50), "--batch_size=10"]
        self.export = self.path("m", "1")
        self.chief = ["--export_dir=" + self.export, "--checkpoint_dir=" + self.path("ckpt"), "--stop_at_step=30"]

    def test_of_a_job_in_one_process(self):
        for flags in (self.chief, ["--work_dir=" + self.path("m")] + self.chief[1:]):
            for _ in range(2):
                done = run("pstrain", *self.flags, *flags)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("Exported to %s\n" % self.export, done.stdout)
                self.assertEqual(os.listdir(self.path("m")), ["1"])
        with open(os.path.join(self.export, "note"), "w", encoding="utf-8") as f:
            f.write("not the same any more")
        done = run("pstrain", *self.flags, *self.chief)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not empty", done.stderr)
        self.assertRegex(done.stderr, "; the trained values are in .*/model.ckpt-30: started again, the same job exports them")
        done = run("pstrain", *self.flags, *self.chief, "--stop_at_step=40")
        self.assertEqual(done.returncode, 2, "who has steps to make is refused before they are made")

    def start(self, job):
        job.start_together(*self.chief)
        self.assertEqual(set(job.wait().values()), {0}, job.logs()[-8000:])
        return identity(self.export)

    def test_of_a_cluster(self):
        before = self.start(Job(self, ps=2, workers=2, flags=self.flags + ["--sync"]))
        job = Job(self, ps=2, workers=2, flags=self.flags + ["--sync"])
        self.assertEqual(self.start(job), before)
        self.assertIn("Restored", job.log("worker 0"))

    def test_when_the_ps_tasks_have_gone(self):
        job = Job(self, ps=1, workers=1, flags=self.flags)
        before = self.start(job)
        for export in ("--export_dir=" + self.export, "--export_dir=" + self.path("m")):  # the directory, or the one with versions
            chief = job.start("worker", 0, export, *self.chief[1:], "--start_timeout=10000")
            self.assertEqual(chief.wait(), 0, chief.text())
            self.assertIn("an earlier run has finished the job", chief.text())
            self.assertEqual(identity(self.export), before)
            self.assertEqual(os.listdir(self.path("m")), ["1"])
        chief = job.start("worker", 0, "--noexport", *self.chief[1:], "--start_timeout=10000")
        self.assertEqual(chief.wait(), 0, chief.text())
        # A job with steps left is refused at once; one without the export waits in vain.
        self.assertEqual(job.start("worker", 0, *self.chief, "--stop_at_step=40", "--start_timeout=2").wait(), 2)
        os.rename(self.export, self.path("m", "away"))
        self.assertEqual(job.start("worker", 0, *self.chief, "--start_timeout=2").wait(), 138)

    def test_when_the_ps_tasks_do_not_know_that_it_is_finished(self):
        before = self.start(Job(self, ps=2, workers=1, flags=self.flags))
        job = Job(self, ps=2, workers=1, flags=self.flags)
        self.assertEqual(self.start(job), before)
        self.assertIn("an earlier run has finished the job", job.log("worker 0"))
        self.assertIn("the job is finished at step 30", job.log("ps 1"))

    def test_when_nothing_can_tell_whose_export_it_is(self):
        job = Job(self, ps=1, workers=1, flags=self.flags)
        self.start(job)
        chief = job.start("worker", 0, self.chief[0], self.chief[2], "--start_timeout=2")
        self.assertEqual(chief.wait(), 1, chief.text())
        self.assertIn("'%s' already holds an export. If it is this job's, nothing is left to do" % self.export, chief.text())


if __name__ == "__main__":
    main()

"""Unwritable targets and mistyped flags: one clear line, the right exit status, nothing left behind or damaged."""
import json
import os
import shlex
import subprocess
import time

from digits import WIDE, write_digits
from harness import DEADLINE_S, ROOT, TestCase, main, mount_tmpfs, program, run, start

class ExportErrors(TestCase):
    def setUp(self):
        super().setUp()
        self.data = write_digits(self.path("data"), train=200, test=50)

    def pstrain(self, *flags, cwd=None):
        return run("pstrain", "--train_dir=%s" % self.data, "--training_iteration=2", "--work_dir=%s" % self.path("work"), *flags, cwd=cwd)

    def assert_refused(self, done, *words, status=2):
        """One line on stderr that names the thing, and no work done before it."""
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertNotIn("loss", done.stdout)

    def test_unknown_flag(self):
        self.assert_refused(self.pstrain("--exprot_dir=x"), "exprot_dir")

    def test_impossible_values(self):
        for flag, word in (("--batch_size=0", "batch_size"), ("--batch_size=many", "many"), ("--learning_rate=fast", "fast"),
                           ("--optimizer=magic", "magic"), ("--workers=0", "workers"), ("--model=no_such_model", "no_such_model"),
                           ("--training_iteration=-5", "training_iteration"),
                           ("--save_checkpoint_steps=5", "--save_checkpoint_steps needs --checkpoint_dir"),
                           ("--max_to_keep=3", "--max_to_keep needs --checkpoint_dir"),
                           ("--tls_cert=a --tls_key=a --tls_ca=a", "--tls_cert needs --ps_hosts"), ("--model_version=0.5", "0.5")):
            with self.subTest(flag):
                self.assert_refused(self.pstrain("--export_dir=%s" % self.path("m", "1"), *flag.split()), word)
                self.assertFalse(os.path.exists(self.path("m", "1")))

    def test_train_dir_without_data(self):
        os.makedirs(self.path("empty"))
        done = run("pstrain", "--train_dir=%s" % self.path("empty"), "--export_dir=%s" % self.path("m", "1"))
        self.assert_refused(done, self.path("empty"))

    def test_train_dir_that_the_model_cannot_take(self):
        self.assert_refused(self.pstrain("--model=linear", "--export_dir=%s" % self.path("m", "1")), "takes 1 number per row, but the column of the data is float [?,784]")

    def test_export_directory_that_is_not_empty(self):
        os.makedirs(self.path("m", "1"))
        with open(self.path("m", "1", "mine"), "w", encoding="utf-8") as f:
            f.write("precious")
        self.assert_refused(self.pstrain("--export_dir=%s" % self.path("m", "1")), self.path("m", "1"))
        self.assertEqual(os.listdir(self.path("m", "1")), ["mine"])
        self.assertEqual(os.listdir(self.path("m")), ["1"])

    def test_export_directory_that_is_empty_is_taken(self):
        os.makedirs(self.path("m", "1"))
        done = self.pstrain("--export_dir=%s" % self.path("m", "1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("saved_model.pb", os.listdir(self.path("m", "1")))

    def test_empty_directories_of_a_failed_export_are_taken(self):
        os.makedirs(self.path("m", "1", "variables", "x"))
        done = self.pstrain("--export_dir=%s" % self.path("m", "1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.path("m", "1"))), ["assets.extra", "saved_model.pb", "variables"])
        self.assertNotIn("x", os.listdir(self.path("m", "1", "variables")))

    def test_parent_that_is_a_file(self):
        with open(self.path("m"), "w", encoding="utf-8") as f:
            f.write("x")
        self.assert_refused(self.pstrain("--export_dir=%s" % self.path("m", "1")), self.path("m"))

    def test_target_that_is_a_file(self):
        open(self.path("file"), "w").close()
        self.assert_refused(self.pstrain("--export_dir=%s" % self.path("file")), self.path("file"), "is a file")

    def test_other_file_systems_are_refused(self):
        for flag in ("--export_dir=gs://bucket/m/1", "--checkpoint_dir=hdfs://host/c", "--work_dir=s3://bucket/m", "s3://bucket/m"):
            path = flag.split("=")[-1]
            self.assert_refused(self.pstrain(flag, cwd=self.dir), "File system scheme '%s' not implemented" % path.split(":")[0])
            done = run("modelserver", "--model_base_path=" + path)
            self.assertEqual(done.returncode, 255, done)
            self.assertIn("Failed to start server. Error: UNIMPLEMENTED: --model_base_path: File system scheme", done.stdout)
        self.assertFalse([name for name in os.listdir(self.dir) if ":" in name])

    def test_a_file_without_a_suffix_is_a_description_too(self):
        with open(self.path("description"), "w") as f:
            f.write("no JSON")
        self.assert_refused(self.pstrain("--model=description", cwd=self.dir), "--model=description: model description: line 1")

    def test_what_is_to_be_pasted_is_quoted(self):
        done = self.pstrain("--export_dir=%s" % self.path("my $model's", "1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        line = [line for line in done.stdout.splitlines() if line.startswith("Serve it:")][0]
        self.assertIn("--model_base_path=" + self.path("my $model's"), shlex.split(line))

    def test_read_only_directory(self):
        directory = self.path("readonly")
        if ROOT:  # root ignores permissions and needs a file system that refuses
            mount_tmpfs(self, directory, "ro,size=1m")
        else:
            os.makedirs(directory)
            os.chmod(directory, 0o555)
            self.addCleanup(os.chmod, directory, 0o755)
        started = time.monotonic()
        self.assert_refused(self.pstrain("--export_dir=%s" % os.path.join(directory, "1")), directory)
        self.assertLess(time.monotonic() - started, 60)
        self.assertEqual(os.listdir(directory), [])

    def wide(self):
        with open(self.path("wide.json"), "w", encoding="utf-8") as f:
            json.dump(WIDE, f)
        return "--model=%s" % self.path("wide.json")

    def test_a_disk_that_is_too_small_is_refused_before_training(self):
        directory = self.path("small")
        mount_tmpfs(self, directory, "size=2m")
        export, kept = os.path.join(directory, "1"), os.path.join(directory, "ckpt")
        self.assert_refused(self.pstrain(self.wide(), "--export_dir=%s" % export), "the export: '%s' takes " % export, "KB left")
        self.assertEqual(os.listdir(directory), [])
        self.assert_refused(self.pstrain(self.wide(), "--checkpoint_dir=%s" % kept), "a checkpoint: '%s' takes " % kept)

    def test_a_disk_that_fills_up_meanwhile(self):
        directory = self.path("small")
        mount_tmpfs(self, directory, "size=24m")
        command = [program("pstrain"), self.wide(), "--train_dir=%s" % self.data, "--training_iteration=100", "--export_retry_secs=0",
                   "--export_dir=%s" % os.path.join(directory, "1")]
        child = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.kill)
        self.assertIn("Training", child.stdout.readline())  # it has looked at the disk
        with open(os.path.join(directory, "filler"), "wb") as f:
            f.write(b"x" * (22 << 20))
        _, error = child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, 1, error)
        self.assertIn("No space left on device", error)
        self.assertIn(directory, error)
        self.assertEqual(os.listdir(directory), ["filler"], "something is left behind")

    def test_default_and_positional_directories(self):
        done = self.pstrain(self.path("m"), "--model_version=3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(self.path("m")), ["3"])
        os.makedirs(self.path("here"))
        done = run("pstrain", "--train_dir=%s" % self.data, "--training_iteration=2", "--work_dir=%s" % self.path("here", "w"),
                   "--model_version=5", cwd=self.path("here"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("saved_model.pb", os.listdir(self.path("here", "w", "5")))


if __name__ == "__main__":
    main()

"""--cluster_token_file: tasks without the shared secret are refused with a clear text, and the secret is in no log."""
import os

from cluster import Job
from harness import TestCase, main, program, run

SECRET, OTHER = "correct-horse-battery-staple", "correct-horse-battery-stapl3"
FLAGS = ["--model=linear", "--learning_rate=0.01", "--seed=3", "--training_iteration=200"]


class ClusterToken(TestCase):
    def token(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return "--cluster_token_file=" + path

    def test_tasks_with_the_token_train_and_others_are_refused(self):
        good, bad = self.token("good", SECRET + "\n"), self.token("bad", OTHER + "\n")
        export = self.path("model", "1")
        job = Job(self, ps=2, workers=2, flags=FLAGS + ["--sync"])
        for ps in range(2):
            job.start("ps", ps, good)
        stranger = job.start("worker", 1, bad)
        stranger.wait_for("the caller has another token than this server")
        self.assertEqual(stranger.wait(), 1, "starting it again cannot help: " + stranger.text())
        doctor = run(program("pstrain"), "doctor", *job.map_flags())
        self.assertIn("the caller has no token, and this server wants one", doctor.stdout)
        self.assertNotEqual(doctor.returncode, 0)
        job.start("worker", 0, "--export_dir=" + export, good)
        job.start("worker", 1, good)
        codes = job.wait()
        self.assertEqual(set(codes.values()), {0}, "%s\n%s" % (codes, job.logs()[-8000:]))
        self.assertTrue(os.path.exists(os.path.join(export, "saved_model.pb")))
        for secret in (SECRET, OTHER):
            self.assertNotIn(secret, job.logs() + stranger.text() + doctor.stdout + doctor.stderr)

    def test_refuses_a_file_that_holds_no_token(self):
        for text in ("", "short\n", "two words of a token here\n", "a-line-of-a-token\nand-another-line\n"):
            done = run(program("pstrain"), "--noexport", self.token("token", text), "--ps_hosts=localhost:1", "--worker_hosts=localhost:2",
                       "--job_name=worker", "--task_index=0")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("must hold one line of at least 16 characters", done.stderr)
        done = run(program("pstrain"), "--noexport", self.token("token", SECRET))
        self.assertIn("--cluster_token_file needs --ps_hosts", done.stderr)


if __name__ == "__main__":
    main()

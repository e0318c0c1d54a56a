"""A job with an evaluator: what it prints, how it ends, and that its death does not disturb the job."""
import json
import os
import re
import signal
import subprocess
import time

from cluster import Job
from digits import write_digits
from harness import DEADLINE_S, TestCase, clean_environment, free_ports, head, main, program

# Steps enough to last for seconds, on a model whose steps cost nothing.
LINEAR = ["--model=linear", "--learning_rate=0.01", "--seed=3", "--training_iteration=30000", "--recovery_timeout=60"]
ENDLESS = LINEAR + ["--training_iteration=100000000"]
OFTEN = ["--eval_start_delay_secs=0", "--eval_throttle_secs=0.1"]


class Evaluator(TestCase):
    def job(self, ps=2, workers=2, flags=LINEAR):
        self.export = self.path("model", "1")
        return Job(self, ps=ps, workers=workers, flags=flags)

    def assert_done(self, job):
        codes = job.wait()
        self.assertEqual(set(codes.values()), {0}, "%s\n%s" % (codes, job.logs()[-8000:]))

    def evaluations(self, text, form=r"mean squared error (\S+)"):
        """Step and value of each line, in order."""
        return [(int(m.group(1)), m.group(2)) for m in re.finditer(r"^%sTest at step (\d+): %s$" % (head("evaluator"), form), text, re.M)]

    def in_order(self, text, *words):
        at = 0
        for word in words:
            self.assertIn(word, text[at:], text)
            at = text.index(word, at)

    def test_tells_how_good_the_values_are_while_the_job_runs_and_at_its_end(self):
        job = self.job(flags=LINEAR + ["--training_iteration=5000", "--sync"])
        evaluator = job.start("evaluator", 0, *OFTEN, "--metrics_file=" + self.path("metrics"), "--log_dir=" + self.path("logs"))
        evaluator.wait_for("waiting for ps 0 at %s: connection refused" % job.hosts["ps"][0])
        job.start("ps", 0)
        job.start("ps", 1)
        evaluator.wait_for("waiting for the chief (never heard from) to make the variables")
        job.start("worker", 0, "--export_dir=" + self.export)
        evaluator.wait_for("Test at step 0: ")
        job.start("worker", 1)  # without it no step is made
        self.assert_done(job)
        text = evaluator.text()
        self.in_order(text, "all 2 ps tasks answer", "looks on, the job is at step ", "Test at step ", "the job is finished")
        found = self.evaluations(text)
        self.assertGreaterEqual(len(found), 2, text)
        steps = [step for step, _ in found]
        self.assertEqual(steps, sorted(set(steps)), text)
        final = int(re.search(r"the job is finished at step (\d+)", job.log("ps 0")).group(1))
        said = re.search(r"^%sTest: mean squared error (\S+)$" % head("worker 0"), job.log("worker 0"), re.M).group(1)
        self.assertEqual(found[-1], (final, said), "the last line is of the values that were exported")
        with open(self.path("metrics"), encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        self.assertEqual([(x["kind"], x["name"], x["step"]) for x in lines], [("evaluation", "test", step) for step in steps])
        self.assertEqual(os.listdir(self.path("logs")), ["eval"])
        self.assertNotIn("evaluator", job.log("ps 0") + job.log("ps 1") + job.log("worker 0") + job.log("worker 1"))

    def test_a_short_job_is_evaluated_once(self):
        data = write_digits(self.path("data"))
        job = self.job(ps=1, flags=["--train_dir=" + data, "--training_iteration=300"])
        evaluator = job.start("evaluator", 0)
        job.start("ps", 0)
        evaluator.wait_for("waiting for the chief (never heard from) to make the variables")  # otherwise the job may end before it joins
        job.start("worker", 0, "--export_dir=" + self.export)
        job.start("worker", 1)
        self.assert_done(job)
        found = self.evaluations(job.log("evaluator 0"), r"loss \S+, accuracy (\S+)")
        self.assertEqual(len(found), 1, job.log("evaluator 0"))
        self.assertIn("accuracy %s\n" % found[0][1], re.search(r"^%sTest: .*\n" % head("worker 0"), job.log("worker 0"), re.M).group(0))

    def test_it_may_come_late_and_die(self):
        job = self.job(flags=LINEAR + ["--sync", "--training_iteration=10000"])
        job.start_all(self.export)
        job.tasks["worker 1"].wait_for("trains from step")
        for _ in range(3):
            job.kill("worker 1", signal.SIGSTOP)  # the job does not end before the evaluator has begun
            evaluator = job.start("evaluator", 0, *OFTEN)
            evaluator.wait_for("looks on, the job is at step ")
            job.kill("worker 1", signal.SIGCONT)
            evaluator.wait_for("Test at step ")
            job.kill("evaluator 0")
            self.assertEqual(evaluator.process.wait(), -signal.SIGKILL)
        del job.tasks["evaluator 0"]
        evaluator.stop()
        self.assert_done(job)
        self.assertNotIn("pauses", job.logs())
        self.assertNotIn("Training continues", job.logs())

    def test_it_may_hang(self):
        job = self.job(flags=LINEAR + ["--training_iteration=15000"])
        evaluator = job.start("evaluator", 0, *OFTEN, "--recovery_timeout=2")
        job.start_together("--export_dir=" + self.export)
        evaluator.wait_for("Test at step ")
        job.kill("evaluator 0", signal.SIGSTOP)
        del job.tasks["evaluator 0"]
        self.addCleanup(evaluator.stop)
        self.assert_done(job)
        evaluator.process.send_signal(signal.SIGCONT)
        self.assertEqual(evaluator.wait(), 138, "it does not know how the job ended\n" + evaluator.text())
        self.assertIn("gave up waiting for ps ", evaluator.text())

    def test_when_the_job_is_long_over_it_says_so_as_every_other_task(self):
        job = self.job(ps=1, workers=1)
        evaluator = job.start("evaluator", 0, "--start_timeout=4")
        self.assertEqual(evaluator.wait(), 138, evaluator.text())
        self.in_order(evaluator.text(), "waiting for ps 0 at %s: connection refused" % job.hosts["ps"][0], "gave up waiting for ps 0 at ")

    def test_a_stopped_job_and_a_failed_one(self):
        for code, signal_number, words in ((138, signal.SIGTERM, "was stopped at step"), (1, None, "not empty")):
            with self.subTest(code=code):
                self.tearDown()
                self.setUp()
                job = self.job(flags=ENDLESS if signal_number else LINEAR + ["--sync", "--training_iteration=300", "--export_retry_secs=0"])
                evaluator = job.start("evaluator", 0, *OFTEN)
                job.start_all(self.export, order=[("ps", 0), ("ps", 1), ("worker", 0)])
                evaluator.wait_for("Test at step ")
                if not signal_number:
                    subprocess.run(["mkdir", "-p", self.export + "/mine"], check=True)
                    with open(self.export + "/mine/file", "w"):
                        pass
                job.start("worker", 1)  # without it no step of a synchronous job is made
                if signal_number:
                    job.tasks["worker 1"].wait_for("trains from step")
                    job.kill("worker 0", signal_number)
                codes = job.wait()
                self.assertEqual(codes["evaluator 0"], code, job.logs()[-8000:])
                self.assertIn("E evaluator: the job ended: ", evaluator.text())
                self.assertIn(words, evaluator.text())

    def test_sigterm_ends_it_alone(self):
        job = self.job(flags=ENDLESS)
        job.start_all(self.export)
        evaluator = job.start("evaluator", 0, "--eval_start_delay_secs=0")
        evaluator.wait_for("Test at step ")
        job.kill("evaluator 0", signal.SIGTERM)
        self.assertEqual(evaluator.wait(), 143)
        for name in ("ps 0", "ps 1", "worker 0", "worker 1"):
            self.assertIsNone(job.tasks[name].process.poll(), job.log(name))

    def test_it_goes_on_when_a_ps_was_lost(self):
        job = self.job(flags=ENDLESS)
        job.start_together("--export_dir=" + self.export, "--checkpoint_dir=" + self.path("ckpt"), "--save_checkpoint_secs=0.2")
        evaluator = job.start("evaluator", 0, *OFTEN)  # it need not wait for a ps before one is killed
        evaluator.wait_for("Test at step ")
        job.kill("ps 1")
        evaluator.wait_for("waiting for ps 1 at %s: connection refused" % job.hosts["ps"][1])
        job.start("ps", 1)
        evaluator.wait_for("ps 1 at %s answers; it was restarted" % job.hosts["ps"][1])
        count, end = len(self.evaluations(evaluator.text())), time.monotonic() + DEADLINE_S
        while len(self.evaluations(evaluator.text())) < count + 2:
            self.assertIsNone(evaluator.process.poll(), evaluator.text())
            self.assertLess(time.monotonic(), end, evaluator.text())
            time.sleep(0.05)

    def test_another_model_is_refused_and_costs_nothing(self):
        job = self.job(flags=ENDLESS)
        job.start_all(self.export)
        job.tasks["worker 1"].wait_for("trains from step")
        evaluator = job.start("evaluator", 0, "--model=softmax", "--train_dir=" + write_digits(self.path("data")))
        self.assertEqual(evaluator.wait(), 1, evaluator.text())
        self.assertIn("evaluator has another model or placement than the chief", evaluator.text())
        self.assertIsNone(job.tasks["worker 0"].process.poll(), job.logs())

    def test_tf_config_and_doctor(self):
        for listed in (None, [], "here"):
            with self.subTest(evaluator=listed):
                self.tearDown()
                self.setUp()
                job = self.job(ps=1, workers=1, flags=ENDLESS)
                cluster = {kind: hosts for kind, hosts in job.hosts.items() if hosts}
                if listed is not None:
                    cluster["evaluator"] = ["127.0.0.1:%d" % free_ports(1)[0]] if listed else []

                def environment(kind):
                    return clean_environment(TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": kind, "index": "0"},
                                                                   "environment": "cloud"}))
                for kind in ("ps", "worker"):
                    job.start(kind, 0, "--export_dir=" + self.export, cluster=[], env=environment(kind))
                evaluator = job.start("evaluator", 0, *OFTEN, cluster=[], env=environment("evaluator"))
                evaluator.wait_for("Test at step ")
                done = subprocess.run([program("pstrain"), "doctor"], capture_output=True, text=True, timeout=DEADLINE_S, env=environment("evaluator"))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("%d of %d tasks are fine" % ((3, 3) if listed else (2, 2)), done.stdout)
                self.assertEqual("evaluator at " in done.stdout, bool(listed))
                job.stop()


if __name__ == "__main__":
    main()

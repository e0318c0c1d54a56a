"""A job over several hosts when tasks are killed and networks are cut: how it ends, and what each task logs."""
import time

from harness import DEADLINE_S, SANITIZED, TestCase, main
from hosts import Hosts
from job import Job

# Slow enough to be disturbed. The steps are small, so that it converges with any number of workers.
LINEAR = ["--model=linear", "--seed=7", "--learning_rate=0.01"]
CHIEF = ["--export_dir=model/1", "--checkpoint_dir=ckpt", "--save_checkpoint_secs=0.5"]
EXPORTED = "model/1/saved_model.pb"
FASTER = 4 if SANITIZED == "thread" else 1  # than under ThreadSanitizer is a step everywhere else


class Faults(TestCase):
    def begin(self, hosts, *flags, ps=1, steps=60000):
        """ps tasks on the first hosts, the chief and one worker on the two after them."""
        job = Job(ps=hosts[:ps], worker=hosts[ps:ps + 2], flags=[*LINEAR, "--training_iteration=%d" % (steps // FASTER), *flags])
        job.start_together(*CHIEF)
        for i in range(2):
            job.task("worker", i).wait_for("trains from step")
        return job

    def wait_for_checkpoint(self, host, count):
        """Waits until this many checkpoints have begun since the start."""
        end = time.monotonic() + DEADLINE_S
        while sum(f.endswith(".index") for f in host.files()) < count:
            self.assertLess(time.monotonic(), end, host.files())
            time.sleep(0.02)

    def assert_said(self, task, *words):
        for text in words:
            self.assertIn(text, task.output(), task.label)


class Workers(Faults):
    def test_a_killed_worker_costs_its_speed_only(self):
        with Hosts(3) as (a, b, c):
            job = self.begin((a, b, c), "--finish_timeout=8", steps=30000)
            job.task("worker", 1).kill()
            job.end(0, without=[("worker", 1)])
            self.assertIn(EXPORTED, b.files())
            self.assert_said(job.task("worker", 0), "waiting for worker 1", "no longer waiting for worker 1 (last heard from ")

    def test_a_killed_worker_may_come_back(self):
        with Hosts(3) as (a, b, c):
            job = self.begin((a, b, c))
            job.task("worker", 1).kill()
            again = job.start("worker", 1)
            job.end(0)
            self.assertRegex(again.output(), "trains from step [1-9]|the job is finished")

    def test_a_worker_that_is_cut_off_costs_its_speed_only(self):
        with Hosts(3) as (a, b, c):
            job = self.begin((a, b, c), "--finish_timeout=2", "--recovery_timeout=4", steps=40000)
            c.drop(a)
            job.end(0, without=[("worker", 1)])
            self.assertIn(EXPORTED, b.files())
            cut = job.task("worker", 1)
            self.assertGreaterEqual(cut.wait(), 128, cut.output())
            self.assert_said(cut, "waiting for ps 0 at " + job.addresses["ps"][0], "gave up waiting for ps 0")


class Cuts(Faults):
    def check_heals(self, break_it, heal_it, seconds):
        with Hosts(3) as (a, b, c):
            job = self.begin((a, b, c), "--sync", steps=60000)  # longer than it takes to cut the link
            break_it(a, b, c)
            cut = job.task("worker", 0).wait_for("waiting for ps 0")
            time.sleep(seconds)
            for task in job.tasks.values():
                self.assertIsNone(task.poll(), task.output())
            heal_it(a, b, c)
            job.end(0)
            self.assertIn(EXPORTED, b.files())
            self.assert_said(cut, "ps 0 at %s answers" % job.addresses["ps"][0])
            self.assertEqual(a.files() + c.files(), [])

    def test_a_cut_between_the_chief_and_the_ps_of_30_s_heals(self):
        self.check_heals(lambda a, b, c: b.drop(a), lambda a, b, c: b.heal(a), 30)

    def test_a_link_that_goes_down_and_comes_back(self):
        self.check_heals(lambda a, b, c: a.link_down(), lambda a, b, c: a.link_up(), 5)


class Ps(Faults):
    def test_a_killed_ps_comes_back_empty_and_all_go_back_to_the_last_checkpoint(self):
        with Hosts(4) as hosts:
            job = self.begin(hosts, ps=2)
            chief = hosts[2]
            self.wait_for_checkpoint(chief, 2)
            job.task("ps", 1).kill()
            for i in range(2):
                job.task("worker", i).wait_for("waiting for ps 1 at " + job.addresses["ps"][1])
            job.start("ps", 1)
            job.end(0)
            self.assertIn(EXPORTED, chief.files())
            self.assert_said(job.task("worker", 0), "Training pauses at step ", "Restored ckpt/model.ckpt-", "Training continues from step ")
            self.assert_said(job.task("worker", 1), "pauses at step ", "waits for the chief to continue", "continues from step ")
            for i in (0, 1, 3):
                self.assertEqual(hosts[i].files(), [], hosts[i].name)

    def test_a_ps_that_does_not_come_back_ends_all(self):
        with Hosts(4) as hosts:
            job = self.begin(hosts, "--recovery_timeout=3", ps=2, steps=100000000)
            job.task("ps", 1).kill()
            for name in (("ps", 0), ("worker", 0), ("worker", 1)):
                self.assertGreaterEqual(job.tasks[name].wait(), 128, job.tasks[name].output())
            self.assert_said(job.task("worker", 1), "waiting for ps 1 at " + job.addresses["ps"][1])
            self.assertNotIn(EXPORTED, hosts[2].files())


class Chief(Faults):
    def test_a_killed_chief_goes_on_from_its_own_disk(self):
        with Hosts(3) as (a, b, c):
            job = self.begin((a, b, c))
            self.wait_for_checkpoint(b, 2)
            job.task("worker", 0).kill()
            time.sleep(1)
            self.assertIsNone(job.task("ps", 0).poll(), job.task("ps", 0).output())
            again = job.start("worker", 0, *CHIEF)
            job.end(0)
            self.assert_said(again, "Restored ckpt/model.ckpt-")
            self.assert_said(job.task("worker", 1), "pauses at step ", "continues from step ")
            self.assertIn(EXPORTED, b.files())
            self.assertEqual(a.files() + c.files(), [])

    def test_a_chief_that_does_not_come_back_ends_all(self):
        with Hosts(3) as (a, b, c):
            job = self.begin((a, b, c), "--linger_timeout=4", steps=100000000)
            job.task("worker", 0).kill()
            for name in (("ps", 0), ("worker", 1)):
                task = job.tasks[name]
                self.assertGreaterEqual(task.wait(), 128, task.output())
                self.assert_said(task, "worker 0 has not been heard from for 4 s")


if __name__ == "__main__":
    main()

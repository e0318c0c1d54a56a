"""The report "Stuck at CreateSession still waiting": TF_CONFIG, 1 ps and 20 workers.

All train, in whatever order they start. A task that never starts is not missed, and workers need no path to each other. A task that comes
back after the others have finished is told so. An error of an address names the address and the cause."""
import time

from harness import TestCase, main
from hosts import Hosts
from job import Job

WORKERS = 20
# 20 gradients of about the same values count 20-fold: a step is small.
LINEAR = ["--model=linear", "--seed=7", "--learning_rate=0.004"]
EXPORT = "--export_dir=model/1"


class Twenty(TestCase):
    def job(self, hosts, *flags):
        others = hosts[1:] or hosts
        return Job(ps=[hosts[0]], worker=[others[i % len(others)] for i in range(WORKERS)], flags=[*LINEAR, *flags])

    def assert_trained(self, job, without=()):
        for name, task in job.tasks.items():
            if name[0] == "worker" and name not in without:
                self.assertIn("trains from step", task.output(), task.label)
        self.assertIn("model/1/saved_model.pb", job.hosts["worker"][0].files())

    def test_21_processes_in_random_order_over_20_s(self):
        """Synchronous: each step needs a gradient of every worker."""
        with Hosts(5) as hosts:
            job = self.job(hosts, "--sync", "--training_iteration=200")
            began = time.monotonic()
            for i, (kind, index) in enumerate(job.shuffled(11)):
                time.sleep(max(0, began + i - time.monotonic()))
                job.start(kind, index, *([EXPORT] if (kind, index) == job.chief() else []), tf_config=True)
            job.end(0)
            self.assert_trained(job)
            self.assertIn("the job is finished at step 200", job.task("ps").output())

    def test_workers_12_and_17_never_start(self):
        with Hosts(5) as hosts:
            job = self.job(hosts, "--training_iteration=20000")
            missing = [("worker", 12), ("worker", 17)]
            # The chief starts last, so that all others are there for the first step.
            order = [n for n in job.shuffled(5, without=missing) if n != job.chief()] + [job.chief()]
            for name in order[:-1]:
                job.start(*name, tf_config=True)
            for name, task in job.tasks.items():
                if name[0] == "worker":
                    task.wait_for("waiting for the chief")
            job.start(*job.chief(), EXPORT, tf_config=True)
            job.end(0)
            self.assertEqual(len(job.tasks), 19)
            self.assert_trained(job)

    def test_the_path_between_workers_is_blocked(self):
        with Hosts(5) as hosts:
            for i, one in enumerate(hosts[1:], 1):
                one.drop(*hosts[i + 1:])
            job = self.job(hosts, "--sync", "--training_iteration=200")
            job.start_all(EXPORT, order=job.shuffled(3), tf_config=True)
            job.end(0)
            self.assert_trained(job)
            for task in job.tasks.values():
                self.assertNotIn("timed out", task.output())

    def test_a_worker_restarted_after_its_peers_finished_is_told(self):
        with Hosts(3) as hosts:
            a, b, c = hosts
            job = Job(ps=[a], worker=[b, c, c], flags=[*LINEAR, "--training_iteration=50000", "--finish_timeout=3"])
            job.start_all(EXPORT, tf_config=True)
            victim = job.task("worker", 2).wait_for("trains from step")
            victim.kill()
            job.task("worker", 1).end(0)
            again = job.start("worker", 2, tf_config=True)
            again.end(0)
            self.assertIn("the job is finished", again.output())
            job.end(0)


class Causes(TestCase):
    """A worker on b that waits for the ps on a: its log."""

    def worker_says(self, hosts, *words, addresses=None, status=138):
        a, b = hosts[:2]
        job = Job(ps=[a], worker=[b], flags=[*LINEAR, "--training_iteration=100", "--start_timeout=9"])
        addresses = addresses and {**job.addresses, **addresses(job.addresses)}
        worker = job.start("worker", 0, EXPORT, addresses=addresses, tf_config=True)
        output = worker.end(status)
        for word in words:
            self.assertIn(word, output)
        self.assertEqual(b.files(), [])
        return output

    def test_a_wrong_port(self):
        with Hosts(2) as hosts:
            hosts[0].start("pstrain", "--ps_hosts=hosta:22000", "--worker_hosts=hostb:22040", "--job_name=ps",
                           "--task_index=0").wait_for("serves at")
            self.worker_says(hosts, "waiting for ps 0 at hosta:22009", hosts[0].address, "onnection refused",
                             "gave up waiting for ps 0", addresses=lambda _: {"ps": ["hosta:22009"]})

    def test_a_name_that_nobody_has(self):
        with Hosts(2) as hosts:
            self.worker_says(hosts, "waiting for ps 0 at hostq:22000", "gave up waiting for ps 0 at hostq:22000",
                             addresses=lambda _: {"ps": ["hostq:22000"]})

    def test_an_address_that_nobody_has(self):
        with Hosts(2) as hosts:
            output = self.worker_says(hosts, "waiting for ps 0 at 10.77.0.77:22000", "gave up waiting for ps 0",
                                      addresses=lambda _: {"ps": ["10.77.0.77:22000"]})
            self.assertRegex(output, "(?i)no route to host")

    def test_a_host_that_drops_packets(self):
        with Hosts(2) as hosts:
            hosts[0].start("pstrain", "--ps_hosts=hosta:22000", "--worker_hosts=hostb:22040", "--job_name=ps",
                           "--task_index=0").wait_for("serves at")
            hosts[0].drop(hosts[1])
            output = self.worker_says(hosts, "waiting for ps 0 at hosta:22000", hosts[0].address, "gave up waiting for ps 0")
            self.assertRegex(output, "(?i)timed out|no answer|in 5 s")
            self.assertNotIn("refused", output)

    def test_a_host_whose_link_is_down(self):
        with Hosts(2) as hosts:
            hosts[0].link_down()
            output = self.worker_says(hosts, "waiting for ps 0 at hosta:22000", hosts[0].address, "gave up waiting for ps 0")
            self.assertRegex(output, "(?i)no route to host|timed out|no answer|in 5 s")

    def test_a_reordered_host_list(self):
        with Hosts(3) as (a, b, c):
            job = Job(ps=[a, b], worker=[c], flags=[*LINEAR, "--training_iteration=100"])
            for i in range(2):
                job.start("ps", i, tf_config=True).wait_for("serves at")
            swapped = {**job.addresses, "ps": job.addresses["ps"][::-1]}
            output = job.start("worker", 0, EXPORT, addresses=swapped, tf_config=True).end(1)
            for words in ("in another order than ps", ",".join(swapped["ps"]), ",".join(job.addresses["ps"])):
                self.assertIn(words, output)


if __name__ == "__main__":
    main()

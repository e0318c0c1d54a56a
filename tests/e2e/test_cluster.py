"""Jobs whose tasks are processes: the order of starts, what each waits for and logs, and how all of them end."""
import itertools
import json
import os
import signal
import socket
import subprocess
import threading

from cluster import Job
from digits import write_digits
from harness import DEADLINE_S, TestCase, clean_environment, free_ports, main, program, start, train

LINEAR = ["--model=linear", "--training_iteration=300", "--seed=3"]


def exported(directory):
    with open(os.path.join(directory, "variables", "variables.data-00000-of-00001"), "rb") as f:
        return f.read()


class Cluster(TestCase):
    def job(self, **more):
        more.setdefault("flags", LINEAR)
        return Job(self, **more)

    def run_job(self, job, label, **more):
        directory = self.path(label, "1")
        job.start_all(directory, **more)
        codes = job.wait()
        self.assertEqual(set(codes.values()), {0}, "%s\n%s" % (codes, job.logs()[-8000:]))
        self.assertTrue(exported(directory))
        self.assertEqual(os.listdir(self.path(label)), ["1"])
        chief = job.log("chief" if job.hosts["chief"] else "worker 0")
        self.assertLess(chief.index("Exported to"), chief.index("the job is finished"))
        return exported(directory)


class Start(Cluster):
    def test_the_order_of_starting_does_not_matter(self):
        for i, order in enumerate(itertools.permutations([("ps", 0), ("worker", 0), ("worker", 1)])):
            with self.subTest(order=order):
                job = self.job(ps=1, workers=2)
                self.run_job(job, "m%d" % i, order=order, pause=0.15)
                for name in ("worker 0", "worker 1"):
                    self.assertIn("%s: all 1 ps tasks answer" % name, job.log(name))
                self.assertIn("ps 0: the job is finished at step", job.log("ps 0"))

    def test_one_two_and_five_ps(self):
        for ps in (1, 2, 5):
            with self.subTest(ps=ps):
                self.run_job(self.job(ps=ps, workers=3), "m%d" % ps)

    def test_a_chief_of_its_own(self):
        job = self.job(ps=2, workers=2, chief=True)
        self.run_job(job, "m")
        self.assertIn("chief: trains from step", job.log("chief"))
        self.assertNotIn("Exported", job.log("worker 0"))

    def test_synchronous_training_gives_the_bits_of_one_process(self):
        train(self.path("one", "1"), *LINEAR, "--sync", "--ps=2", "--workers=3")
        want = exported(self.path("one", "1"))
        for ps in (1, 3):
            got = self.run_job(self.job(ps=ps, workers=3, flags=LINEAR + ["--sync"]), "m%d" % ps)
            self.assertEqual(got, want, "%d ps tasks" % ps)
        other = self.run_job(self.job(ps=1, workers=3, flags=LINEAR + ["--sync", "--seed=4"]), "other")
        self.assertNotEqual(other, want, "another seed gives other weights, or the comparison proves nothing")

    def test_tf_config(self):
        job = self.job(ps=2, workers=2, chief=True)
        cluster = {k: v for k, v in job.hosts.items()}
        cluster["evaluator"] = ["nowhere.invalid:1"]
        directory = self.path("m", "1")
        for kind, index in job.names():
            config = {"cluster": cluster, "task": {"type": kind, "index": str(index)}, "environment": "cloud"}
            more = ["--export_dir=" + directory] if kind == "chief" else []
            job.start(kind, index, *more, cluster=[], env=clean_environment(TF_CONFIG=json.dumps(config)))
        self.assertEqual(set(job.wait().values()), {0}, job.logs()[-8000:])
        self.assertTrue(exported(directory))

    def test_a_tf_config_without_a_task(self):
        job = self.job(ps=1, workers=2)
        config = {"cluster": {kind: job.hosts[kind] for kind in ("ps", "worker")}}
        alone = job.start("worker", 0, "--noexport", cluster=[], env=clean_environment(TF_CONFIG=json.dumps(config)))
        self.assertEqual(alone.wait(), 0, alone.text())
        self.assertIn("TF_CONFIG has a 'cluster', but no 'task': this process trains alone", alone.text())

    def test_unix_sockets_on_one_host(self):
        job = self.job(ps=2, workers=2)
        for kind in job.hosts:
            job.hosts[kind] = ["unix:" + self.path("%s%d" % (kind, i)) for i in range(len(job.hosts[kind]))]
        self.run_job(job, "m")
        self.assertNotIn("plaintext", job.logs())

    def test_ipv6_addresses(self):
        try:
            with socket.socket(socket.AF_INET6) as s:
                s.bind(("::1", 0))
        except OSError as error:
            self.skipTest("no IPv6 here: %s" % error)
        job = self.job(ps=1, workers=2, host="[::1]")
        self.run_job(job, "m")

    def test_a_sparse_cluster(self):
        job = self.job(ps=2, workers=2)
        directory = self.path("m", "1")
        # The chief last: the ps tasks, which know of no worker, do not stay for one that comes when the job is over.
        for kind, index in (("ps", 0), ("ps", 1), ("worker", 1), ("worker", 0)):
            address = job.hosts[kind][index]
            known = {"ps": [address], "worker": {}} if kind == "ps" else {"ps": job.hosts["ps"], "worker": {str(index): address}}
            config = {"sparseCluster": known, "task": {"type": kind, "index": str(index)}}
            more = ["--export_dir=" + directory] if (kind, index) == ("worker", 0) else []
            task = job.start(kind, index, *more, cluster=[], env=clean_environment(TF_CONFIG=json.dumps(config)))
            if not more:
                task.wait_for("waiting for the chief")
        self.assertEqual(set(job.wait().values()), {0}, job.logs()[-8000:])
        self.assertTrue(exported(directory))


class Lists(Cluster):
    """Listed tasks that never start, and tasks that start but are not listed."""

    def test_a_worker_that_never_starts_is_waited_for_so_long_and_named(self):
        job = self.job(ps=1, workers=2, flags=LINEAR + ["--sync"])
        job.start("worker", 0, "--export_dir=" + self.path("m", "1")).wait_for("waiting for ps 0")
        job.start("ps", 0, "--start_timeout=5")
        self.assertEqual(set(job.wait().values()), {138}, job.logs())
        words = "worker 1 at %s has not come within 5 s, and --sync needs all workers" % job.hosts["worker"][1]
        for name in ("ps 0", "worker 0"):
            self.assertIn(words, job.log(name))

    def test_a_worker_of_a_longer_list_is_refused_and_the_job_goes_on(self):
        job = self.job(ps=1, workers=2, flags=LINEAR + ["--sync"])
        job.start("ps", 0)
        job.start("worker", 0, "--export_dir=" + self.path("m", "1")).wait_for("waiting for worker 1 at " + job.hosts["worker"][1])
        longer = dict(job.hosts, worker=job.hosts["worker"] + ["127.0.0.1:%d" % free_ports(1)[0]])
        intruder = job.start("worker", 2, hosts=longer)
        self.assertEqual(intruder.wait(), 1, intruder.text())
        self.assertIn("worker 2 is none of the 2 tasks that train by the lists of ps 0", intruder.text())
        job.start("worker", 1)
        codes = job.wait()
        self.assertEqual((codes["ps 0"], codes["worker 0"], codes["worker 1"]), (0, 0, 0), job.logs()[-8000:])


class Large(Cluster):
    """Limits on what a ps can be made to hold."""

    def model(self, units):
        with open(self.path("large.json"), "w", encoding="utf-8") as f:
            json.dump({"class_name": "Sequential", "config": {"name": "m", "layers": [
                {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 1], "dtype": "float32", "name": "x"}},
                {"class_name": "Dense", "config": {"name": "hidden", "units": units}},
                {"class_name": "Dense", "config": {"name": "dense", "units": 1}}]}}, f)
        return "--model=" + self.path("large.json")

    def test_variables_beyond_the_budget_of_a_ps_end_the_job_with_both_numbers(self):
        job = self.job(ps=1, workers=1, flags=[self.model(1000000)])
        job.start("ps", 0, "--memory_budget_bytes=20000000")
        task = job.start("worker", 0, "--export_dir=" + self.path("m", "1"))
        self.assertEqual(set(job.wait().values()), {1}, job.logs())
        self.assertIn("ps 0 would need 36 MB for its share of the model with sgd, and may have 20 MB", task.text())


class Waits(Cluster):
    """A waiting worker names the task, its address and the reason, and its wait ends."""

    def waits(self, words, code=138, ps="127.0.0.1:1", hosts=None, flags=()):
        job = self.job(ps=1, workers=1)
        job.hosts["ps"] = [ps]
        task = job.start("worker", 0, "--export_dir=" + self.path("m", "1"), "--start_timeout=2", *flags, hosts=hosts)
        task.wait_for("waiting for ps 0 at " + ps)
        self.assertEqual(task.wait(), code, task.text())
        for text in words:
            self.assertIn(text, task.text())
        self.assertFalse(os.path.exists(self.path("m", "1")))
        return task.text()

    def test_for_one_whom_nobody_knows(self):
        text = self.waits(["nowhere.invalid"], ps="nowhere.invalid:2222")
        self.assertRegex(text, r"gave up waiting for ps 0 at nowhere\.invalid:2222 after \d+ s")

    def test_for_one_who_does_not_listen(self):
        address = "localhost:%d" % free_ports(1)[0]
        for _ in range(5):
            text = self.waits(["onnection refused", "127.0.0.1:", "gave up waiting for ps 0"], ps=address)
            said = text.count("waiting for ps 0 at %s: " % address)
            if said > 0:  # otherwise it would block at its start until its timeout
                break
        self.assertEqual(said, 1, "the reason is said once, then every 10 s\n" + text)

    def test_for_one_who_is_silent(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            job = self.job(ps=1, workers=1)
            job.hosts["ps"] = ["127.0.0.1:%d" % s.getsockname()[1]]
            task = job.start("worker", 0, "--export_dir=" + self.path("m", "1"), "--start_timeout=8")
            self.assertEqual(task.wait(), 138)
            self.assertIn("waiting for ps 0 at " + job.hosts["ps"][0], task.text())
            self.assertNotIn("refused", task.text())

    def test_for_one_who_speaks_something_else(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            kept = []

            def answer():
                try:
                    while True:
                        c, _ = s.accept()
                        c.recv(65536)
                        c.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
                        kept.append(c)
                except OSError:
                    for c in kept:
                        c.close()

            thread = threading.Thread(target=answer, daemon=True)
            thread.start()
            self.waits(["gave up waiting for ps 0"], ps="127.0.0.1:%d" % s.getsockname()[1])
            s.shutdown(socket.SHUT_RDWR)

    def test_a_ps_of_another_job(self):
        job = self.job(ps=1, workers=1)
        job.start("ps", 0, "--cluster_id=theirs").wait_for("serves at")
        task = job.start("worker", 0, "--cluster_id=mine", "--start_timeout=2", "--export_dir=" + self.path("m", "1"))
        self.assertEqual(task.wait(), 138, task.text())
        self.assertIn("ps 0 belongs to cluster 'theirs', worker 0 to 'mine'", task.text())

    def test_another_order_of_the_ps_tasks(self):
        job = self.job(ps=2, workers=1)
        job.start("ps", 0)
        job.start("ps", 1)
        swapped = dict(job.hosts, ps=job.hosts["ps"][::-1])
        task = job.start("worker", 0, "--export_dir=" + self.path("m", "1"), hosts=swapped)
        self.assertEqual(task.wait(), 1, task.text())
        self.assertIn("in another order than ps", task.text())
        self.assertIn(",".join(job.hosts["ps"]), task.text())
        self.assertIn(",".join(swapped["ps"]), task.text())

    def test_another_model_than_the_chief(self):
        job = self.job(ps=1, workers=2, flags=["--training_iteration=100000000"])
        job.start("ps", 0)
        chief = job.start("worker", 0, "--model=linear", "--export_dir=" + self.path("m", "1"))
        chief.wait_for("trains from step")
        task = job.start("worker", 1, "--model=softmax")
        self.assertEqual(task.wait(), 1, task.text())
        self.assertIn("worker 1 has another model or placement than the chief", task.text())

    def test_what_all_that_train_must_be_given_alike(self):
        activation = {"class_name": "Sequential", "config": {"name": "m", "layers": [
            {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 1], "dtype": "float32", "name": "x"}},
            {"class_name": "Dense", "config": {"name": "dense", "units": 1, "activation": "tanh"}}]}}
        for name in ("tanh", "relu"):
            activation["config"]["layers"][1]["config"]["activation"] = name
            with open(self.path(name + ".json"), "w", encoding="utf-8") as f:
                json.dump(activation, f)
        model = ["--model=" + self.path("tanh.json")]
        job = self.job(ps=1, workers=2, flags=["--training_iteration=100000000"])
        job.start("ps", 0)
        job.start("worker", 0, *model, "--export_dir=" + self.path("m", "1")).wait_for("trains from step")
        for flags, words in ((model + ["--sync"], "worker 1 was given sync=true, the chief sync=false"),
                             (model + ["--batch_size=50"], "worker 1 was given batch_size=50, the chief batch_size=100"),
                             (model + ["--seed=9"], "worker 1 was given seed=9, the chief seed=1"),
                             (model + ["--loss_reduction=sum"], "worker 1 was given loss_reduction=sum, the chief loss_reduction=mean"),
                             (model + ["--class_weight=0:2"], "worker 1 was given class_weight=0:2, the chief class_weight=none"),
                             (["--model=" + self.path("relu.json")], "worker 1 has another model or placement than the chief")):
            task = job.start("worker", 1, *flags)
            self.assertEqual(task.wait(), 1, task.text())
            self.assertIn(words, task.text())
        task = job.start("evaluator", 0, *model, "--batch_size=7", "--eval_start_delay_secs=0")
        task.wait_for("Test at step")

    def test_a_worker_without_sync_in_a_synchronous_job(self):
        job = self.job(ps=1, workers=2, flags=["--model=linear", "--training_iteration=100000000"])
        job.start("ps", 0)
        job.start("worker", 0, "--sync", "--noexport").wait_for("trains from step")
        task = job.start("worker", 1)
        self.assertEqual(task.wait(), 1, task.text())
        self.assertIn("worker 1 was given sync=false, the chief sync=true", task.text())
        job.tasks["ps 0"].wait_for("worker 1 is refused: worker 1 was given sync=false, the chief sync=true: it must be the same")
        job.tasks["worker 0"].wait_for("waiting for worker 1 at %s (was refused) to push for step 1" % job.hosts["worker"][1])

    def test_other_training_files_than_the_chief(self):
        job = self.job(ps=1, workers=2, flags=["--model=softmax", "--training_iteration=100000000"])
        job.start("ps", 0)
        job.start("worker", 0, "--noexport", "--train_dir=" + write_digits(self.path("a"), seed=1)).wait_for("trains from step")
        other = write_digits(self.path("b"), seed=1)
        with open(os.path.join(other, "train-images-idx3-ubyte"), "r+b") as f:
            f.seek(-1, os.SEEK_END)
            last = f.read(1)[0]
            f.seek(-1, os.SEEK_END)
            f.write(bytes([last ^ 1]))
        task = job.start("worker", 1, "--train_dir=" + other)
        self.assertEqual(task.wait(), 1, task.text())
        self.assertRegex(task.text(), "worker 1 was given training_data_crc32c=[0-9a-f]{8}, the chief training_data_crc32c=[0-9a-f]{8}: it must be the same")
        task = job.start("worker", 1, "--train_dir=" + write_digits(self.path("c"), train=480))
        self.assertEqual(task.wait(), 1, task.text())
        self.assertIn("worker 1 was given training_rows=440, the chief training_rows=550", task.text())

    def test_the_chief_says_where_the_job_stops(self):
        job = self.job(ps=1, workers=2, flags=["--model=linear"])
        job.start("ps", 0)
        job.start("worker", 1, "--stop_at_step=100000000").wait_for("waiting for the chief")
        job.start("worker", 0, "--stop_at_step=2000", "--export_dir=" + self.path("m", "1"))
        self.assertEqual(set(job.wait().values()), {0}, job.logs()[-6000:])
        self.assertIn("stops at step 2000, as the chief says, and not at 100000000", job.log("worker 1"))
        self.assertRegex(job.log("ps 0"), r"the job is finished at step 200[01]\n")

    def test_a_worker_says_that_it_waits_for_the_chief(self):
        job = self.job(ps=1, workers=2)
        job.start("ps", 0).wait_for("serves at")
        task = job.start("worker", 1, "--start_timeout=6")
        task.wait_for("waiting for the chief (never heard from) to make the variables")
        job.tasks["ps 0"].wait_for("waiting for the chief (never heard from) to make the variables")
        self.assertGreaterEqual(task.wait(), 128, task.text())
        job.tasks["ps 0"].wait_for("worker 1 has left: worker 1 waits for the variables: waited 6 s for the chief to create the variables")

    def test_a_worker_that_gives_up_tells_the_ps_tasks_that_are_there(self):
        job = self.job(ps=2, workers=2)
        job.start("ps", 0).wait_for("serves at")
        task = job.start("worker", 1, "--start_timeout=2")
        self.assertGreaterEqual(task.wait(), 128, task.text())
        job.tasks["ps 0"].wait_for("worker 1 has left: gave up waiting for ps 1 at " + job.hosts["ps"][1])
        task = job.start("worker", 1)
        task.wait_for("waiting for ps 1 at ")
        job.tasks["ps 0"].wait_for("worker 1 is here, restarted")
        job.kill("worker 1", signal.SIGTERM)
        self.assertEqual(task.wait(), 143, task.text())
        job.tasks["ps 0"].wait_for("worker 1 has left: stopped")

    def test_a_chief_that_cannot_start_ends_the_job(self):
        wrong = self.path("wrong.json")
        with open(wrong, "w", encoding="utf-8") as f:
            f.write('{"modle": "mlp"}')
        for flag, why in (("--model=nope", "--model=nope is neither one of"), ("--modle=mlp", "unknown argument: --modle"),
                          ("--hyperparameters=" + wrong, "--hyperparameters=%s: 'modle' is no flag that can be given there" % wrong),
                          ("--train_dir=" + self.path("nowhere"), "--train_dir: ")):
            with self.subTest(flag):
                job = self.job(ps=2, workers=2)
                for name in (("ps", 0), ("ps", 1), ("worker", 1)):
                    job.start(*name)
                job.tasks["worker 1"].wait_for("waiting for the chief")
                chief = job.start("worker", 0, flag)
                self.assertEqual(chief.wait(), 2, chief.text())
                self.assertIn("pstrain: " + why, chief.text())
                self.assertEqual(job.wait(30), {"ps 0": 1, "ps 1": 1, "worker 0": 2, "worker 1": 1}, job.logs()[-6000:])
                self.assertIn("the job ended: worker 0 cannot start: " + why, job.log("worker 1"))
                self.assertRegex(job.log("ps 1"), "the job has failed: (the job ended: )?worker 0 cannot start: " + why)

    def test_a_job_that_has_begun_waits_for_another_chief(self):
        job = self.job(ps=1, workers=2, flags=["--model=linear", "--stop_at_step=1000000000"])
        job.start_together("--export_dir=" + self.path("m", "1"))
        job.tasks["worker 1"].wait_for("trains from step")
        job.kill("worker 0")
        job.tasks["worker 0"].process.wait()
        job.tasks["ps 0"].wait_for("worker 0 has not been heard from for")
        chief = job.start("worker", 0, "--optimizer=none")
        self.assertEqual(chief.wait(), 2, chief.text())
        job.tasks["ps 0"].wait_for("worker 0 has left: worker 0 cannot start: --optimizer=none")
        job.kill("worker 1")
        job.tasks["ps 0"].wait_for("worker 1 has not been heard from for")
        self.assertEqual(job.start("worker", 1, "--optimizer=none").wait(), 2)
        job.tasks["ps 0"].wait_for("worker 1 has left: worker 1 cannot start: --optimizer=none")
        job.start("worker", 1)
        job.start("worker", 0, "--export_dir=" + self.path("m", "1"))
        job.tasks["worker 0"].wait_for("The ps tasks hold the variables of step")
        job.tasks["worker 1"].wait_for("trains from step")

    def test_a_ps_that_nobody_comes_to_gives_up(self):
        job = self.job(ps=1, workers=1)
        task = job.start("ps", 0, "--start_timeout=1")
        self.assertEqual(task.wait(), 138, task.text())
        self.assertIn("nobody came within 1 s", task.text())

    def test_a_port_that_is_taken(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            job = self.job(ps=1, workers=1)
            job.hosts["ps"] = ["127.0.0.1:%d" % s.getsockname()[1]]
            task = job.start("ps", 0)
            self.assertEqual(task.wait(), 138, "who has the port may go away")
            self.assertIn("cannot listen at " + job.hosts["ps"][0], task.text())


class Refused(Cluster):
    def test_before_anything_is_done(self):
        hosts = ["--ps_hosts=127.0.0.1:1,127.0.0.1:2", "--worker_hosts=127.0.0.1:3"]
        for flags, words in (
                (hosts + ["--job_name=worker", "--task_index=1"], "worker 1, but the cluster has 1 worker task (0 to 0)"),
                (hosts + ["--job_name=ps", "--task_index=2"], "ps 2, but the cluster has 2 ps tasks (0 to 1)"),
                (hosts + ["--job_name=worker"], "--task_index is missing"),
                (hosts + ["--job_name=worker", "--task_index=0", "--ps=3"], "--ps applies to a job in one process"),
                (hosts + ["--job_name=ps", "--task_index=0", "--tls_cert=x.pem"], "--tls_key is missing"),
                (hosts + ["--job_name=ps", "--task_index=0"] + ["--tls_%s=/no/such.pem" % f for f in ("cert", "key", "ca")],
                 "TLS: open '/no/such.pem'"),
                (["--ps_hosts=127.0.0.1:1,", "--worker_hosts=127.0.0.1:3", "--job_name=ps", "--task_index=0"],
                 "--ps_hosts, task 1: an address is empty"),
                (hosts + ["--job_name=evaluator", "--task_index=1"], "evaluator 1: a job has one"),
                (["--job_name=ps"], "--job_name needs --ps_hosts"),
                (["doctor"], "no cluster is given"),
                (["doctor", *hosts, "x"], "'x' is not a flag")):
            with self.subTest(flags=flags):
                done = subprocess.run([program("pstrain"), *flags], capture_output=True, text=True, timeout=DEADLINE_S, env=clean_environment())
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)

    def test_a_target_that_cannot_be_written(self):
        job = self.job(ps=1, workers=1)
        with open(self.path("file"), "w"):
            pass
        task = job.start("worker", 0, "--export_dir=" + self.path("file", "1"))
        self.assertEqual(task.wait(), 2, task.text())
        self.assertIn(self.path("file"), task.text())


class Outcome(Cluster):
    ENDLESS = ["--model=linear", "--training_iteration=100000000"]

    def begin(self, ps=1, workers=2, flags=()):
        job = self.job(ps=ps, workers=workers, flags=self.ENDLESS + list(flags))
        job.start_all(self.path("m", "1"))
        for i in range(workers):
            job.tasks["worker %d" % i].wait_for("trains from step")
        return job

    def test_a_late_worker_is_told_that_the_job_is_finished(self):
        job = self.job(ps=2, workers=2)
        for task in ("ps", 0), ("ps", 1):
            job.start(*task)
        self.assertEqual(job.start("worker", 0, "--export_dir=" + self.path("m", "1")).wait(), 0)
        late = job.start("worker", 1)
        self.assertEqual(late.wait(), 0, late.text())
        self.assertIn("the job is finished", late.text())
        self.assertEqual(set(job.wait().values()), {0}, job.logs())

    def test_a_failed_export_is_everybodys(self):
        job = self.job(ps=2, workers=2, flags=LINEAR + ["--sync", "--export_retry_secs=0"])  # no step is made without worker 1
        job.start_all(self.path("m", "1"), order=[("ps", 0), ("ps", 1), ("worker", 0)])
        job.tasks["worker 0"].wait_for("trains from step")
        os.makedirs(self.path("m", "1"), exist_ok=True)
        with open(self.path("m", "1", "in_the_way"), "w"):
            pass
        job.start("worker", 1)
        codes = job.wait()
        self.assertEqual(set(codes.values()), {1}, "%s %s" % (codes, job.logs()[-6000:]))
        for name in ("ps 0", "ps 1", "worker 1"):
            self.assertIn("not empty", job.log(name))
        self.assertEqual(os.listdir(self.path("m")), ["1"])

    def test_a_killed_chief_that_does_not_come_back(self):
        job = self.begin(ps=2, flags=["--linger_timeout=4"])
        job.kill("worker 0")
        codes = job.wait()
        for name in ("ps 0", "ps 1", "worker 1"):
            self.assertEqual(codes[name], 138, "%s %s" % (codes, job.log(name)))
            self.assertIn("worker 0 has not been heard from for 4 s", job.log(name))
        self.assertFalse(os.path.exists(self.path("m", "1")))

    def test_a_killed_ps_that_does_not_come_back(self):
        job = self.begin(ps=2, flags=["--recovery_timeout=2"])
        job.kill("ps 1")
        codes = job.wait()
        for name in ("ps 0", "worker 0", "worker 1"):
            self.assertGreaterEqual(codes[name], 128, "%s %s" % (codes, job.log(name)))
        self.assertIn("waiting for ps 1 at " + job.hosts["ps"][1], job.log("worker 1"))
        self.assertIn("gave up waiting for ps 1", job.log("worker 1"))

    def test_a_killed_worker_costs_its_speed_only(self):
        job = self.job(ps=1, workers=3, flags=["--model=linear", "--training_iteration=30000", "--linger_timeout=30", "--finish_timeout=8"])
        job.start_together("--export_dir=" + self.path("m", "1"))
        job.tasks["worker 2"].wait_for("trains from step")
        job.kill("worker 2")
        codes = job.wait()
        self.assertEqual(codes, {"ps 0": 0, "worker 0": 0, "worker 1": 0, "worker 2": -9}, job.logs()[-6000:])
        self.assertRegex(job.log("worker 0"), r"--finish_timeout \(8 s\) has passed: no longer waiting for worker 2 \(last heard from \d+ s ago\) to finish")
        self.assertIn("waiting for worker 2", job.log("worker 0"))

    def test_sigterm_of_the_chief_ends_the_job(self):
        job = self.begin(ps=2)
        job.kill("worker 0", signal.SIGTERM)
        codes = job.wait()
        self.assertEqual(codes.pop("worker 0"), 143, job.log("worker 0"))
        self.assertEqual(set(codes.values()), {138}, "%s %s" % (codes, job.logs()[-6000:]))
        self.assertIn("the job has failed: worker 0 was stopped at step", job.log("ps 0"))

    def test_sigterm_of_a_ps(self):
        job = self.begin(ps=2, flags=["--recovery_timeout=2"])
        job.kill("ps 0", signal.SIGTERM)
        codes = job.wait()
        self.assertEqual(codes.pop("ps 0"), 143)
        self.assertTrue(all(code >= 128 for code in codes.values()), "%s %s" % (codes, job.logs()[-6000:]))
        self.assertRegex(job.log("ps 1"), "the job has failed: worker 0 was stopped at step [0-9]+: gave up waiting for ps 0")

    def test_a_ps_tells_who_comes_and_who_leaves(self):
        job = self.begin(ps=1, workers=3)
        for i in range(3):
            job.tasks["ps 0"].wait_for("worker %d is here" % i)
        job.kill("worker 1", signal.SIGTERM)
        job.tasks["ps 0"].wait_for("worker 1 has left: stopped at step")
        job.kill("worker 2")
        job.tasks["ps 0"].wait_for("worker 2 has not been heard from for ")
        job.start("worker", 2)
        job.tasks["ps 0"].wait_for("worker 2 is here, restarted")
        job.kill("worker 0", signal.SIGTERM)
        self.assertEqual(job.tasks["ps 0"].wait(), 138)

    def test_on_a_terminal_a_line_of_the_log_does_not_begin_behind_the_bar(self):
        job = self.job(ps=1, workers=1, flags=self.ENDLESS)
        job.start("ps", 0).wait_for("serves at")  # so that nothing waits before it is killed
        master, slave = os.openpty()
        chief = start([program("pstrain"), *job.map_flags(), "--job_name=worker", "--task_index=0", *job.flags,
                       "--export_dir=" + self.path("m", "1")], stdout=slave, stderr=slave)
        os.close(slave)
        self.addCleanup(chief.kill)
        seen = b""
        for words, then in ((b"ETA", lambda: job.kill("ps 0")), (b"waiting for ps 0", lambda: chief.send_signal(signal.SIGINT)),
                            (b"stopped by SIGINT at step", lambda: None)):
            while words not in seen:
                seen += os.read(master, 65536)
            then()
        os.close(master)
        self.assertEqual(chief.wait(DEADLINE_S), 130)
        for words in (b"waiting for ps 0", b"stopped by SIGINT"):
            line = [line for line in seen.split(b"\n") if words in line][0]
            self.assertNotIn(b"ETA", line)

    def test_a_finished_ps_may_be_stopped(self):
        job = self.job(ps=1, workers=2)
        job.start("ps", 0)
        job.start("worker", 0, "--export_dir=" + self.path("m", "1"))
        job.tasks["ps 0"].wait_for("the job is finished at step")  # and worker 1, who never came, may come
        job.kill("ps 0", signal.SIGTERM)
        self.assertEqual(set(job.wait().values()), {0}, job.logs())
        self.assertEqual(job.log("ps 0").count("the job is finished"), 1)


class Doctor(Cluster):
    def doctor(self, job, *flags, hosts=None):
        return subprocess.run([program("pstrain"), "doctor", *job.map_flags(hosts), *flags], capture_output=True, text=True,
                              timeout=DEADLINE_S, env=clean_environment())

    def test_all_are_fine(self):
        job = self.job(ps=2, workers=2, flags=["--model=linear", "--training_iteration=100000000"])
        job.start_all(self.path("m", "1"))
        for i in range(2):
            job.tasks["worker %d" % i].wait_for("trains from step")
        done = self.doctor(job)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name, i in (("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)):
            self.assertRegex(done.stdout, r"%s %d at %s: fine, \d+\.\d\d ms\n" % (name, i, job.hosts[name][i]))
        self.assertIn("4 of 4 tasks are fine", done.stdout)

    def test_looks_at_a_part_of_the_map(self):
        job = self.job(ps=1, workers=1)
        job.start("ps", 0).wait_for("serves at")
        done = self.doctor(job, hosts=dict(job.hosts, worker=[]))
        self.assertIn("1 of 1 tasks are fine", done.stdout + done.stderr)

    def test_says_what_is_wrong_with_each(self):
        job = self.job(ps=2, workers=4)
        for i in range(2):
            job.start("ps", i)
            job.tasks["ps %d" % i].wait_for("serves at")
        other = self.job(ps=1, workers=1)
        other.start("ps", 0, "--cluster_id=theirs").wait_for("serves at")
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            seen = dict(job.hosts)
            seen["worker"] = ["nowhere.invalid:1", job.hosts["worker"][1], "127.0.0.1:%d" % silent.getsockname()[1], other.hosts["ps"][0]]
            done = self.doctor(job, hosts=seen)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            lines = done.stdout.splitlines()
            self.assertRegex(lines[0], "^ps 0 at .*: fine, ")
            self.assertRegex(lines[1], "^ps 1 at .*: fine, ")
            self.assertRegex(lines[2], "^worker 0 at nowhere.invalid:1: unresolved: ")
            self.assertRegex(lines[3], "^worker 1 at .*: refused: ")
            self.assertRegex(lines[4], "^worker 2 at .*: silent: ")
            self.assertRegex(lines[5], "^worker 3 at .*: another job: ps 0 of the cluster 'theirs', not of 'default'")
            self.assertEqual(lines[6], "2 of 6 tasks are fine")
            self.assertNotIn("SETTINGS", lines[4])
        swapped = dict(job.hosts, ps=job.hosts["ps"][::-1])
        self.assertRegex(self.doctor(job, hosts=swapped).stdout, "ps 0 at .*: another job: ps 1 of the one with the ps tasks")


if __name__ == "__main__":
    main()

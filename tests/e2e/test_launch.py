"""pstrain launch, by a stand-in for ssh and on localhost; and tasks that Slurm or MPI has started, by their variables."""
import os
import re
import signal
import subprocess
import time

from cluster import Job
from harness import DEADLINE_S, SANITIZER, TestCase, clean_environment, free_ports_in_turn, main, program, run, start

# As sshd: a session of its own, with a shell that is given one text. It notes the host, and its process for the test.
STAND_IN = """#!/bin/sh
echo "$1" >> %s/hosts
shift
exec setsid --wait sh -c "$*"
"""
FLAGS = ("--model=linear", "--training_iteration=200")
FOREVER = ("--model=linear", "--training_iteration=100000000")


class Launch(TestCase):
    def setUp(self):
        super().setUp()
        self.ssh = self.path("ssh.sh")
        with open(self.ssh, "w", encoding="utf-8") as f:
            f.write(STAND_IN % self.dir)
        os.chmod(self.ssh, 0o755)
        self.port = free_ports_in_turn(8, ("127.0.0.1", "127.0.0.2"))
        self.addCleanup(self.kill_left_over)

    def left_over(self):
        """The processes of pstrain that have this test's directory in their command lines."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    words = f.read().split(b"\0")
                with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as f:
                    zombie = f.read().rsplit(")", 1)[1].split()[0] == "Z"
            except OSError:
                continue
            if not zombie and words[0].endswith(b"pstrain") and any(self.dir.encode() in w for w in words):
                found.append((int(pid), words))
        return found

    def kill_left_over(self):
        for pid, _ in self.left_over():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def wait_for_none_left(self):
        end = time.monotonic() + DEADLINE_S
        while left := self.left_over():
            self.assertLess(time.monotonic(), end, left)
            time.sleep(0.02)

    def command(self, *flags, hosts="127.0.0.1,127.0.0.2", tasks=FLAGS, ssh=None):
        # The work directory is in every command line: by it the test finds what is left over. On a busy machine, a task may need long to stop.
        return ["launch", "--hosts=" + hosts, "--ssh=" + (ssh or self.ssh), "--first_port=%d" % self.port, "--directory=" + self.dir,
                "--stop_timeout=%d" % DEADLINE_S, *flags, "--", "--work_dir=" + self.path("work"), *tasks]

    def launch(self, *flags, **options):
        return run("pstrain", *self.command(*flags, **options), cwd=self.dir)

    def start_forever(self, *flags, env=None, **options):
        """A job that runs until it is stopped: gives its launcher when the chief trains."""
        log = open(self.path("log"), "wb")
        self.addCleanup(log.close)
        # Not by harness.start: the tests kill the launcher, and what it started must end by itself.
        launcher = subprocess.Popen([program("pstrain"), *self.command(*flags, tasks=FOREVER, **options)], stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=log, env=env or clean_environment(), cwd=self.dir)
        self.addCleanup(launcher.wait)
        self.addCleanup(launcher.kill)
        self.wait_for(r"worker 0: trains from step")
        return launcher

    def text(self):
        with open(self.path("log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait_for(self, pattern):
        end = time.monotonic() + DEADLINE_S
        while not re.search(pattern, self.text()):
            self.assertLess(time.monotonic(), end, self.text()[-3000:])
            time.sleep(0.02)

    def task(self, name):
        """The process of a task itself, not its supervisor. It may start later than the chief trains."""
        job, index = name.split()
        wanted = {b"--job_name=" + job.encode(), b"--task_index=" + index.encode()}
        end = time.monotonic() + DEADLINE_S
        while not (pids := [pid for pid, words in self.left_over() if wanted <= set(words) and words[1] != b"supervise"]):
            self.assertLess(time.monotonic(), end, self.text()[-3000:])
            time.sleep(0.02)
        self.assertEqual(len(pids), 1, pids)
        return pids[0]

    def test_a_job_by_ssh(self):
        done = self.launch("--num_ps=2", "--num_workers=2", hosts="127.0.0.1,me@127.0.0.2")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("[ps 0] on 127.0.0.1\n[ps 1] on me@127.0.0.2\n[worker 0] on 127.0.0.1\n", done.stdout)
        self.assertRegex(done.stdout, r"\[worker 0\] .*Exported to %s/work/1\n" % self.dir)
        for name in ("ps 0", "ps 1", "worker 1"):
            self.assertRegex(done.stderr, r"\[%s\] .*the job is finished" % name)
        for line in (done.stdout + done.stderr).splitlines():
            self.assertRegex(line, r"^\[(ps|worker) [01]\] ")
        with open(self.path("hosts"), encoding="utf-8") as f:
            self.assertEqual(sorted(f.read().split()), ["127.0.0.1"] * 2 + ["me@127.0.0.2"] * 2)
        self.wait_for_none_left()

    def test_localhost_needs_no_ssh(self):
        done = self.launch(hosts="localhost", ssh="/no/such/ssh")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("[ps 0] on localhost\n[worker 0] on localhost\n", done.stdout)
        self.assertTrue(os.path.exists(self.path("work", "1", "saved_model.pb")))

    def test_words_reach_the_task_as_they_are(self):
        """Through the stand-in's shell: quotes, spaces, dollars, stars, newlines."""
        nasty = "a 'b' \"c\" $HOME `id` * \\ ;&|<> \n é!"
        probe = self.path("probe.sh")
        with open(probe, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nif [ \"$1\" = supervise ]; then exec %s \"$@\"; fi\n" % program("pstrain"))
            f.write("for w in \"$NASTY\" \"$PLAIN\" \"$@\"; do printf '%s\\0' \"$w\"; done > got-$$\npwd >> got-$$\n")
        os.chmod(probe, 0o755)
        env = clean_environment(PLAIN="from here")
        done = run("pstrain", *self.command("--program=" + probe, "--env", "NASTY=" + nasty, "--env=PLAIN", tasks=(nasty, "", "-x")), cwd="/", env=env)
        self.assertEqual(done.returncode, 0, done)
        found = [n for n in os.listdir(self.dir) if n.startswith("got-")]
        self.assertEqual(len(found), 2)
        for name in found:
            with open(self.path(name), encoding="utf-8") as f:
                words = f.read().split("\0")
            self.assertEqual(words[:2], [nasty, "from here"])
            self.assertEqual(words[3:6], [nasty, "", "-x"])
            self.assertEqual(words[-1], os.path.realpath(self.dir) + "\n")

    def test_dry_run_prints_commands_that_a_shell_runs(self):
        done = self.launch("--dry_run", "--env=A=b c", tasks=("--x=it's",))
        self.assertEqual(done.returncode, 0, done)
        self.assertFalse(os.path.exists(self.path("hosts")))
        names = [line.split("] ", 1)[0][1:] for line in done.stdout.splitlines()]
        self.assertEqual(names, ["ps 0", "worker 0"])
        command = done.stdout.splitlines()[0].split("] ", 1)[1].replace("exec ", "printf %s\\\\n ", 1)
        words = run("/bin/sh", "-c", command).stdout.splitlines()
        self.assertEqual(words[1], "supervise")
        self.assertIn("--env=A=b c", words)
        self.assertIn("--x=it's", words)
        self.assertIn("--ps_hosts=127.0.0.1:%d" % self.port, words)

    def test_a_failing_task_stops_the_others(self):
        launcher = self.start_forever("--num_workers=2")
        os.kill(self.task("worker 1"), signal.SIGKILL)
        self.assertEqual(launcher.wait(DEADLINE_S), 128 + signal.SIGKILL, self.text())
        self.assertIn("pstrain: worker 1 on 127.0.0.1 has ended with 137; the other tasks are stopped\n", self.text())
        self.assertRegex(self.text(), r"\[worker 0\] .*stopped by SIGTERM")
        self.wait_for_none_left()

    def test_flags_that_a_task_refuses_are_the_jobs_exit_status(self):
        done = self.launch(tasks=("--modle=x",))
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("unknown argument: --modle", done.stderr)
        done = self.launch("--modle=x")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("; flags of the tasks come after --", done.stderr)

    def test_a_task_that_ignores_sigterm_is_killed(self):
        launcher = self.start_forever("--stop_timeout=1")
        os.kill(self.task("ps 0"), signal.SIGSTOP)
        launcher.terminate()
        self.assertEqual(launcher.wait(DEADLINE_S), 128 + signal.SIGTERM, self.text())
        self.wait_for_none_left()

    def test_signals_reach_all_tasks(self):
        for number, name in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
            with self.subTest(name):
                launcher = self.start_forever()
                launcher.send_signal(number)
                self.assertEqual(launcher.wait(DEADLINE_S), 128 + number, self.text())
                self.assertRegex(self.text(), r"\[worker 0\] .*stopped by " + name)
                self.wait_for_none_left()

    def test_nothing_is_left_of_a_launcher_that_was_killed(self):
        for hosts in ("127.0.0.1,127.0.0.2", "localhost"):
            with self.subTest(hosts):
                launcher = self.start_forever("--stop_timeout=1", hosts=hosts)
                os.kill(self.task("ps 0"), signal.SIGSTOP)  # nor of a task that does not react
                launcher.kill()
                launcher.wait()
                self.wait_for_none_left()

    def test_nothing_is_left_of_a_supervisor_that_was_killed(self):
        launcher = self.start_forever()
        for pid, words in self.left_over():
            if words[1] == b"supervise" and b"--job_name=worker" in words:
                os.kill(pid, signal.SIGKILL)
        self.assertNotEqual(launcher.wait(DEADLINE_S), 0)
        self.wait_for_none_left()

    def test_what_cannot_be_started_is_named(self):
        cases = ((dict(ssh="/no/such/ssh"), 1, "ps 0 on 127.0.0.1: start '/no/such/ssh': No such file or directory"),
                 (dict(hosts="a,localhost"), 2, "other hosts cannot reach a task by the name localhost"),
                 (dict(hosts="-oProxyCommand=x"), 2, "--hosts: '-oProxyCommand=x' is not a host"),
                 (dict(hosts="n[1-"), 2, "--hosts: 'n[1-'"),
                 (dict(tasks=("--task_index=1",)), 2, "--task_index after --: the launcher sets it"))
        for options, code, words in cases:
            with self.subTest(words):
                done = self.launch(**options)
                self.assertEqual(done.returncode, code, done)
                self.assertIn(words, done.stderr)
        done = self.launch("--env=NOT_SET_HERE")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("--env=NOT_SET_HERE: not set here", done.stderr)
        done = run("pstrain", "launch", "--hosts=localhost", "--directory=/no/such", "--first_port=%d" % self.port, "--", *FLAGS)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("--directory=/no/such: No such file or directory", done.stderr)


class Started(TestCase):
    """Tasks with the variables that Slurm or MPI sets."""

    def run_ranks(self, variables, count, *flags):
        """Starts ranks 1 and up, then rank 0, a ps, without which nobody goes on; gives {rank: text}."""
        port = free_ports_in_turn(count, ("127.0.0.1",))
        tasks = []
        for rank in range(count):
            env = clean_environment(**{k: v % {"rank": rank, "count": count} for k, v in variables.items()})
            log = open(self.path("log %d" % rank), "wb")
            self.addCleanup(log.close)
            tasks.append(start([program("pstrain"), "--first_port=%d" % port, *FLAGS, "--export_dir=" + self.path("model"), *flags], env=env,
                               stdout=log, stderr=log))
        texts = {}
        for rank, task in enumerate(tasks):
            code = task.wait(DEADLINE_S)
            with open(self.path("log %d" % rank), encoding="utf-8", errors="replace") as f:
                texts[rank] = f.read()
            self.assertIsNone(SANITIZER.search(texts[rank].encode()), texts[rank][-6000:])
            self.assertEqual(code, 0, texts[rank])
        return texts

    def test_a_step_of_slurm(self):
        texts = self.run_ranks({"SLURM_PROCID": "%(rank)d", "SLURM_LOCALID": "%(rank)d", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "%(count)d",
                                "SLURM_STEP_NODELIST": "localhost", "SLURM_STEP_TASKS_PER_NODE": "%(count)d"}, 4, "--num_ps=2")
        for rank, name in enumerate(("ps 0", "ps 1", "worker 0", "worker 1")):
            self.assertIn("I %s: the tasks are those of Slurm, rank %d of 4\n" % (name, rank), texts[rank])
        self.assertIn("2 ps and 2 workers", texts[2])
        self.assertTrue(os.path.exists(self.path("model", "saved_model.pb")))

    def test_ranks_of_mpi(self):
        texts = self.run_ranks({"OMPI_COMM_WORLD_RANK": "%(rank)d", "OMPI_COMM_WORLD_SIZE": "%(count)d", "OMPI_COMM_WORLD_LOCAL_RANK": "%(rank)d",
                                "OMPI_COMM_WORLD_LOCAL_SIZE": "%(count)d"}, 3)
        self.assertIn("I ps 0: the tasks are those of Open MPI, rank 0 of 3\n", texts[0])
        self.assertIn("1 ps and 2 workers", texts[1])

    def test_ranks_that_are_no_job(self):
        env = clean_environment(PMI_RANK="0", PMI_SIZE="2")
        done = run("pstrain", *FLAGS, "--noexport", env=env)
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("give --hosts", done.stderr)
        done = run("pstrain", *FLAGS, "--noexport", "--num_ps=0", env=env)
        self.assertEqual(done.returncode, 0, done)

    def test_flags_win(self):
        job = Job(self, ps=1, workers=1, flags=FLAGS)
        env = clean_environment(PMI_RANK="0", PMI_SIZE="2", TF_CONFIG='{"cluster":{"ps":["a:1"],"worker":["b:1"]},"task":{"type":"ps","index":0}}')
        for name, index in job.names():
            job.start(name, index, "--noexport", env=env)
        self.assertEqual(set(job.wait().values()), {0}, job.logs())
        self.assertIn("the tasks are those of --ps_hosts; TF_CONFIG is ignored\n", job.log("ps 0"))


if __name__ == "__main__":
    main()

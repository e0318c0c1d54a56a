"""A training job as real processes on this host, for tests.

    job = Job(self, ps=2, workers=2, flags=["--model=linear", "--training_iteration=200"])
    job.start("ps", 0); job.start("worker", 0, "--export_dir=" + path); …
    job.wait()              every task's exit code: {"ps 0": 0, …}
    job.log("worker 0")     what it has printed
"""
import os
import random
import signal
import subprocess
import time

from harness import DEADLINE_S, SANITIZER, clean_environment, free_ports, program, start


class Task:
    def __init__(self, name, command, directory, env):
        self.name = name
        self.path = os.path.join(directory, name.replace(" ", "_") + ".%d.log" % random.randrange(10**9))
        self.file = open(self.path, "wb")
        self.process = start(command, stdout=self.file, stderr=self.file, env=env, cwd=directory)

    def text(self):
        with open(self.path, "rb") as f:
            return f.read().decode("utf-8", "replace")

    def wait_for(self, words, timeout=DEADLINE_S):
        """Waits until the task has printed `words`."""
        end = time.monotonic() + timeout
        while words not in self.text():
            if self.process.poll() is not None and words not in self.text():
                raise AssertionError("%s exited %d and never said %r:\n%s" % (self.name, self.process.returncode, words, self.text()[-4000:]))
            if time.monotonic() > end:
                raise AssertionError("%s has not said %r in %d s:\n%s" % (self.name, words, timeout, self.text()[-4000:]))
            time.sleep(0.01)

    def wait(self, timeout=DEADLINE_S):
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError("%s has not ended in %d s:\n%s" % (self.name, timeout, self.text()[-4000:]))
        if SANITIZER.search(self.text().encode()):
            raise AssertionError(self.text()[-6000:])
        return code

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.file.close()


class Job:
    def __init__(self, test, ps=1, workers=2, chief=False, flags=(), host="127.0.0.1"):
        ports = ["%s:%d" % (host, p) for p in free_ports(ps + workers + chief)]
        self.hosts = {"ps": ports[:ps], "worker": ports[ps:ps + workers], "chief": ports[ps + workers:]}
        self.test, self.flags, self.tasks = test, list(flags), {}
        test.addCleanup(self.stop)

    def map_flags(self, hosts=None):
        hosts = hosts or self.hosts
        return ["--%s_hosts=%s" % (job, ",".join(hosts[job])) for job in ("ps", "worker", "chief") if hosts[job]]

    def names(self):
        return [(job, i) for job in ("ps", "chief", "worker") for i in range(len(self.hosts[job]))]

    def start(self, job, index, *flags, hosts=None, env=None, cluster=None):
        """cluster: the flags that say which task it is, in place of those of the map ([]: none)."""
        name = job if job == "chief" else "%s %d" % (job, index)
        who = self.map_flags(hosts) + ["--job_name=" + job, "--task_index=%d" % index] if cluster is None else cluster
        command = [program("pstrain"), *who, *self.flags, *[str(f) for f in flags]]
        if name in self.tasks:
            self.tasks[name].stop()
        self.tasks[name] = Task(name, command, self.test.dir, env or clean_environment())
        return self.tasks[name]

    def is_chief(self, job, index):
        return job == "chief" or (job == "worker" and index == 0 and not self.hosts["chief"])

    def start_all(self, export_dir, order=None, pause=0):
        for job, index in order or self.names():
            more = ["--export_dir=%s" % export_dir] if self.is_chief(job, index) else []
            self.start(job, index, *more)
            time.sleep(pause)

    def start_together(self, *chief_flags):
        """Starts all tasks. The chief comes last, when all others wait for it: a short job cannot end before they join."""
        chief = next(name for name in self.names() if self.is_chief(*name))
        for name in self.names():
            if name != chief:
                self.start(*name)
        for task in self.tasks.values():
            task.wait_for("waiting for the chief")
        self.start(*chief, *chief_flags)

    def wait(self, timeout=DEADLINE_S):
        """Waits for all tasks; the exit code of each. A failure shows what every task printed: the cause is often another task's."""
        try:
            return {name: task.wait(timeout) for name, task in self.tasks.items()}
        except AssertionError as failure:
            codes = {name: task.process.poll() for name, task in self.tasks.items()}
            raise AssertionError("%s\nexit codes so far: %s\n%s" % (failure, codes, self.logs()[-12000:])) from None

    def log(self, name):
        return self.tasks[name].text()

    def logs(self):
        return "".join("---- %s\n%s" % (name, task.text()) for name, task in self.tasks.items())

    def kill(self, name, sig=signal.SIGKILL):
        self.tasks[name].process.send_signal(sig)

    def stop(self):
        for task in self.tasks.values():
            task.stop()

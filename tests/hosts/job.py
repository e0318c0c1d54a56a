"""A training job whose tasks run on the hosts of hosts.py.

    with Hosts(3) as (a, b, c):
        job = Job(ps=[a], worker=[b, c], flags=["--model=linear", "--training_iteration=300"])
        job.start_all("--export_dir=model/1")     the flags for the chief alone
        job.end(0)                                every task's exit status
"""
import json
import random

from harness import clean_environment

PORT = 22000


class Job:
    def __init__(self, ps, worker, chief=(), flags=()):
        self.hosts = {"ps": list(ps), "worker": list(worker), "chief": list(chief)}
        self.addresses = {job: ["%s:%d" % (host.name, PORT + 40 * n + i) for i, host in enumerate(self.hosts[job])]
                          for n, job in enumerate(self.hosts)}
        self.flags, self.tasks = list(flags), {}

    def names(self):
        return [(job, i) for job in ("ps", "chief", "worker") for i in range(len(self.hosts[job]))]

    def chief(self):
        return ("chief", 0) if self.hosts["chief"] else ("worker", 0)

    def map_flags(self, addresses=None):
        addresses = addresses or self.addresses
        return ["--%s_hosts=%s" % (job, ",".join(addresses[job])) for job in ("ps", "worker", "chief") if addresses[job]]

    def tf_config(self, job, index, addresses=None):
        cluster = {j: a for j, a in (addresses or self.addresses).items() if a}
        return json.dumps({"cluster": cluster, "task": {"type": job, "index": str(index)}, "environment": "cloud"})

    def start(self, job, index, *more, addresses=None, tf_config=False):
        """Starts or restarts one task. addresses: its view of the map, if that differs."""
        label = job if job == "chief" else "%s %d" % (job, index)
        environment, who = clean_environment(), []
        if tf_config:
            environment["TF_CONFIG"] = self.tf_config(job, index, addresses)
        else:
            who = self.map_flags(addresses) + ["--job_name=" + job, "--task_index=%d" % index]
        self.tasks[job, index] = self.hosts[job][index].start("pstrain", *who, *self.flags, *more, label=label, environment=environment)
        return self.tasks[job, index]

    def start_all(self, *chief_flags, order=None, tf_config=False):
        for job, index in order or self.names():
            self.start(job, index, *(chief_flags if (job, index) == self.chief() else ()), tf_config=tf_config)

    def start_together(self, *chief_flags):
        """Starts all tasks. The chief comes last, when all others wait for it: a short job cannot end before they join."""
        self.start_all(order=[name for name in self.names() if name != self.chief()])
        for task in self.tasks.values():
            task.wait_for("waiting for the chief")
        self.start(*self.chief(), *chief_flags)

    def shuffled(self, seed, without=()):
        order = [n for n in self.names() if n not in without]
        random.Random(seed).shuffle(order)
        return order

    def task(self, job, index=0):
        return self.tasks[job, index]

    def end(self, status, without=()):
        """Waits until all tasks end, and checks their exit status."""
        try:
            for name, task in self.tasks.items():
                if name not in without:
                    task.end(status)
        except AssertionError as failure:
            raise AssertionError("%s\n\nThe others:\n%s" % (failure, self.logs())) from None

    def logs(self):
        return "".join("---- %s\n%s" % (task.label, task.output()[-2500:]) for task in self.tasks.values())

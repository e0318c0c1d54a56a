"""Starts programs for the rows of bench/run, pinned to cores and in a cleaned environment, and reads what they cost."""
import contextlib
import http.client
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
os.environ["SLIPWAY_BIN"] = os.path.join(ROOT, "build", "release", "bin")
from cluster import Job, free_ports  # noqa: E402
from harness import clean_environment, free_port, program  # noqa: E402

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, LOAD_CORE = CORES[0], CORES[-1]
PREDICT = "/v1/models/default:predict"

# Limits a peer to one thread. Our own programs use no more threads than the cores that they are pinned to.
ONE_THREAD = {k: "1" for k in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")}


def environment(**more):
    return clean_environment(**dict(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1",
                                  XLA_FLAGS="--xla_cpu_multi_thread_eigen=false", **more))


def out(*command, core=None, check=True, cwd=None, **more):
    """The output of a command, pinned to a core if one is named."""
    command = [str(c) for c in command]
    done = subprocess.run((["taskset", "-c", str(core)] if core is not None else []) + command, capture_output=True, text=True,
                          env=environment(**more), cwd=cwd)
    if check and done.returncode != 0:
        raise RuntimeError("%s: exit %d: %s" % (" ".join(command)[:120], done.returncode, (done.stdout + done.stderr)[-1500:]))
    return done.stdout


def bench_program(name):
    path = os.path.join(ROOT, "build", "release", "bench", name)
    return path if os.path.exists(path) else program(name)


def executor_run(version, signature, rows, repeat):
    """µs a run of so many rows, the median of many, on the server's core."""
    text = out(bench_program("executor_bench"), version, signature, rows, repeat, core=SERVER_CORE)
    return float(re.search(r"^executor_run ([\d.]+)", text, re.M).group(1))


@contextlib.contextmanager
def listening(name, *arguments, core, port=None):
    """A program of bench/ that serves on a port (its first argument, unless it is named), pinned to one core."""
    process = subprocess.Popen(["taskset", "-c", str(core), bench_program(name), *map(str, arguments)], stdout=subprocess.DEVNULL,
                               env=environment())
    try:
        wait_port(port or arguments[0])
        yield process
    finally:
        process.kill()
        process.wait()


def peer(*arguments):
    return out(sys.executable, os.path.join(ROOT, "bench", "peers.py"), *arguments, core=SERVER_CORE, **ONE_THREAD)


def rate_of_training(text):
    """The rows/s of the summary that pstrain prints at its end."""
    number, unit = re.findall(r"([\d.,]+) ?([kM]?) ?rows/s", text)[-1]
    return float(number.replace(",", "")) * {"": 1, "k": 1e3, "M": 1e6}[unit]


class Here:
    """Stands in for the test that Job expects: a directory, and a list of cleanups."""

    def __init__(self, directory):
        self.dir, self.cleanups = directory, []
        os.makedirs(directory, exist_ok=True)

    def addCleanup(self, function):
        self.cleanups.append(function)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for function in self.cleanups:
            function()
        shutil.rmtree(self.dir, ignore_errors=True)


def started_cluster(directory, workers):
    """(seconds from the last start until all workers train, MB of PSS of all processes)"""
    with Here(directory) as here:
        job = Job(here, ps=1, workers=workers, flags=["--model=linear", "--learning_rate=0.001", "--training_iteration=1000000000"])
        order = job.names()
        random.shuffle(order)
        job.start_all(os.path.join(directory, "m", "1"), order=order)
        began = time.monotonic()
        waiting = [task for name, task in job.tasks.items() if name != "ps 0"]
        while waiting:
            time.sleep(0.005)
            waiting = [task for task in waiting if "trains from step" not in task.text()]
        return time.monotonic() - began, sum(pss_mb(task.process.pid) for task in job.tasks.values())


def trained_cluster(directory, model, data, steps):
    return cluster_rate(directory, ["--model=" + model, "--optimizer=sgd", "--train_dir=" + data, "--training_iteration=%d" % steps])


def cluster_rate(directory, flags):
    """The rows/s of a job of 1 ps and 2 workers."""
    with Here(directory) as here:
        job = Job(here, ps=1, workers=2, flags=flags)
        job.start_all(os.path.join(directory, "m", "1"))
        if any(job.wait().values()):
            raise RuntimeError(job.logs()[-2000:])
        return rate_of_training(job.log("worker 0"))


def tensorflow_cluster(directory, model, data, seconds):
    """The steps/s of the same job in TensorFlow."""
    ports = ["127.0.0.1:%d" % p for p in free_ports(3)]
    command = [sys.executable, os.path.join(ROOT, "bench", "tf_cluster.py"), model, data, ports[0], ",".join(ports[1:])]
    others = [subprocess.Popen([*command, *task, str(seconds)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
              for task in (("ps", "0"), ("worker", "1"))]
    try:
        return float(re.search(r"([\d.]+) steps/s", out(*command, "worker", "0", seconds)).group(1))
    finally:
        for process in others:
            process.kill()
            process.wait()


def pss_mb(pid):
    with open("/proc/%d/smaps_rollup" % pid, encoding="utf-8") as f:
        return int(re.search(r"Pss:\s+(\d+)", f.read()).group(1)) / 1e3


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle_seconds(cores):
    """That these cores have idled."""
    with open("/proc/stat", encoding="utf-8") as f:
        fields = {line.split()[0]: line.split() for line in f if line.startswith("cpu")}
    return sum(int(fields["cpu%d" % core][4]) + int(fields["cpu%d" % core][5]) for core in cores) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) / 1e3


def wait_port(port):
    for _ in range(2000):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.005)
    raise RuntimeError("nothing listens on port %d" % port)


def first_answer(base, body):
    """(ms from the start of modelserver to its first answer, RSS in MB after 100 more)"""
    with open(body, "rb") as f:
        data = f.read()
    port = free_port()
    begun = time.monotonic()
    process = subprocess.Popen([program("modelserver"), "--model_base_path=" + base, "--rest_api_port=%d" % port, "--port=0"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    try:
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port)
                connection.request("POST", PREDICT, data)
                if connection.getresponse().read() and time.monotonic() - begun < 60:
                    break
            except OSError:
                if process.poll() is not None:
                    raise RuntimeError("modelserver exited %d" % process.returncode)
                time.sleep(0.0005)
        milliseconds = (time.monotonic() - begun) * 1e3
        for _ in range(100):
            connection.request("POST", PREDICT, data)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise RuntimeError("HTTP %d" % answer.status)
        return milliseconds, rss_mb(process.pid)
    finally:
        process.terminate()
        process.wait()


def timed_export(base, version, *flags):
    """(seconds from the first sign of an export in `base` to the version's last rename, MB that memory grew meanwhile).
    Training is over when the export begins, so what grows is the export's."""
    process = subprocess.Popen([program("pstrain"), "--export_dir=" + os.path.join(base, str(version)), *flags],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment())
    last, begun, ended, before, peak = 0.0, None, None, 0.0, 0.0
    while process.poll() is None:
        try:
            last = rss_mb(process.pid)
        except (AttributeError, OSError):
            break
        names = os.listdir(base)
        if not names:
            begun = None  # before training, pstrain only checked that it can write here
        elif begun is None:
            begun, before = time.monotonic(), last
        if begun and ended is None:
            peak = max(peak, last)
            if str(version) in names:
                ended = time.monotonic()
        time.sleep(0.001)
    if process.wait() != 0:
        raise RuntimeError("pstrain: %s" % process.stderr.read()[-1500:])
    return (ended or time.monotonic()) - begun, peak - before

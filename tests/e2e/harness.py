"""Shared by tests with real processes: the programs' paths, a server, a trainer, work directories, loud skips.

    from harness import Server, TestCase, main, train

    class Answers(TestCase):
        def test_answers_a_row(self):
            with Server(self.path("half")) as server:
                self.assertEqual(server.post("/v1/models/default:predict", {"instances": [1.0]}).status, 200)

    if __name__ == "__main__":
        main()

CTest runs each test_*.py with these variables (tests/CMakeLists.txt):
  SLIPWAY_BIN     the directory of pstrain, modelserver, savedmodel
  SLIPWAY_SOURCE  the project's root
  SLIPWAY_SHARED  models and data that are not part of the project (default: ../shared); without them, a test that needs them skips
By hand: python3 tests/e2e/test_x.py takes build/dev/bin. Exit status 77 means that every test of the file was skipped.
Nothing but the standard library is used. If a process prints a sanitizer's report, the test that ran it fails.
A killed test ends its processes as well: start long-lived processes with start(), from the main thread.
"""
import atexit
import contextlib
import glob
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SOURCE = os.environ.get("SLIPWAY_SOURCE") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BIN = os.environ.get("SLIPWAY_BIN") or os.path.join(SOURCE, "build", "dev", "bin")
SHARED = os.environ.get("SLIPWAY_SHARED") or os.path.join(SOURCE, "..", "shared")
# Generous on purpose: tests assert order, texts and results, never speed.
SANITIZED = os.environ.get("SLIPWAY_SANITIZE", "")  # "address,undefined", "thread"
DEADLINE_S = float(os.environ.get("SLIPWAY_TEST_DEADLINE", "300"))
SANITIZER = re.compile(rb"(ERROR|SUMMARY): (Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer|runtime error:")
SKIP_STATUS = 77
# The kernel kills the process with the thread that started it. By a program, and not in the child before it runs: that takes a
# fork of this process, which waits for ever where grpcio's threads hold a lock.
DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL", "--"]


def program(name):
    path = os.path.join(BIN, name)
    if not os.access(path, os.X_OK):
        raise RuntimeError("%s is not built: cmake --build --preset dev" % path)
    return path


def shared(*parts):
    """A path under the shared models and data; skips the test if there are none."""
    path = os.path.abspath(os.path.join(SHARED, *parts))
    if not os.path.exists(path):
        raise unittest.SkipTest("%s is absent (SLIPWAY_SHARED names where the shared models and data are)" % path)
    return path


LOW, HIGH = 20000, 30000  # below the kernel's range of ephemeral ports
CLAIMS = contextlib.ExitStack()
atexit.register(CLAIMS.close)


def claim_port(port, hosts=("127.0.0.1",)):
    """True if nobody has the port right now, and no other test is given it as long as this one runs: a name of the kernel's, which
    leaves no file behind, says that it is taken."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind("\0slipway-test-port-%d" % port)
        for host in hosts:
            with socket.socket() as s:
                s.bind((host, port))
    except OSError:
        claim.close()
        return False
    CLAIMS.enter_context(claim)
    return True


def single(number):
    """As a float32 holds it: the programs print one in more than one way."""
    return struct.unpack("f", struct.pack("f", number))[0]


def free_ports(count):
    """Ports that nobody else has."""
    ports = []
    while len(ports) < count:
        port = random.randrange(LOW, HIGH)
        if claim_port(port):
            ports.append(port)
    return ports


def free_ports_in_turn(count, hosts):
    """The first of so many ports that follow each other, and that nobody else has on these hosts."""
    while True:
        first = random.randrange(LOW, HIGH - count)
        if all(claim_port(port, hosts) for port in range(first, first + count)):
            return first


def free_port():
    return free_ports(1)[0]


def clean_environment(**more):
    """The caller's environment without variables that change the programs' behaviour or numbers."""
    environment = {k: v for k, v in os.environ.items()
                   if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "TF_CONFIG", "OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
                   and not k.startswith(("SLURM_", "OMPI_", "PMI_"))}
    environment.update(more)
    return environment


def read_log(log):
    """Everything in a file so far. Does not seek: the writer shares the file position, and would overwrite the beginning."""
    return os.pread(log.fileno(), os.fstat(log.fileno()).st_size, 0).decode("utf-8", "replace")


def start(command, env=None, **options):
    """A process that nobody waits for yet; the kernel kills it when this test ends, however it ends."""
    return subprocess.Popen(DIE_WITH_PARENT + [str(x) for x in command], stdin=subprocess.DEVNULL, env=env or clean_environment(), **options)


def run(*command, timeout=DEADLINE_S, env=None, cwd=None, input=None):
    """Runs a command to its end; gives a CompletedProcess with text output. command[0] without a slash is one of our programs."""
    command = [str(x) for x in command]
    if "/" not in command[0]:
        command[0] = program(command[0])
    done = subprocess.run(DIE_WITH_PARENT + command, capture_output=True, timeout=timeout, env=env or clean_environment(), cwd=cwd, input=input)
    if SANITIZER.search(done.stderr):
        raise AssertionError("%s: %s" % (" ".join(command)[:200], done.stderr.decode("utf-8", "replace")[-6000:]))
    done.stdout, done.stderr = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    return done


def head(task=""):
    """The pattern of what a line of pstrain begins with: the time, and the task's name where there are several."""
    return r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} I " + (task + ": " if task else "")


def train(export_dir, *flags, **options):
    """Trains and exports with pstrain; gives its CompletedProcess, having checked that it succeeded."""
    done = run("pstrain", "--export_dir=%s" % export_dir, *flags, **options)
    if done.returncode != 0:
        raise AssertionError("pstrain: exit %d: %s%s" % (done.returncode, done.stdout[-2000:], done.stderr[-4000:]))
    return done


class Answer:
    def __init__(self, status, body, headers):
        self.status, self.body, self.headers = status, body, headers

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "HTTP %d %r" % (self.status, self.body[:500])


class Server:
    """A modelserver of its own, on a free port, ready when the constructor returns. Use it with `with`: leaving the block sends
    SIGTERM and fails unless the server exits 0. grpc: True for a free port, self.grpc_port, for gRPC too; "same" for the one of
    REST; otherwise gRPC is off. starter: a program that becomes modelserver with these flags."""

    def __init__(self, base_path, *flags, name=None, wait=True, env=None, grpc=False, starter=None):
        for attempt in range(5):  # another process may take the port before the server binds it
            self.port = free_port()
            self.grpc_port = self.port if grpc == "same" else free_port() if grpc else 0
            self.log = tempfile.TemporaryFile()
            command = [starter or program("modelserver"), "--rest_api_port=%d" % self.port, "--port=%d" % self.grpc_port]
            command += ["--model_base_path=%s" % base_path] if base_path else []
            command += ["--model_name=%s" % name] if name else []
            self.process = start(command + list(flags), env=env, stdout=self.log, stderr=self.log)
            if not wait or self.wait_ready(attempt):
                return
            self.log.close()
        raise AssertionError("no free port for modelserver")

    def __del__(self):  # not earlier: tests read what a server printed after its end
        self.log.close()

    @property
    def pid(self):
        return self.process.pid

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.port

    def cpu_seconds(self):
        """That it has used so far."""
        with open("/proc/%d/stat" % self.pid, encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def loop_helpers(self):
        """The number of threads that help with large ops (core/base/parallel.h). Those that load models come and go; these stay."""
        count = 0
        for path in glob.glob("/proc/%d/task/*/comm" % self.pid):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(path, encoding="ascii") as f:  # or the thread has ended
                count += f.read() == "loop helper\n"
        return count

    def output(self):
        """What the server has printed so far, on both streams."""
        return read_log(self.log)

    def wait_for_output(self, text):
        """Waits until a whole line contains `text`; returns everything printed so far."""
        end = time.monotonic() + DEADLINE_S
        while text not in self.output().rpartition("\n")[0]:
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError("modelserver did not print %r: %s" % (text, self.output()[-4000:]))
            time.sleep(0.005)
        return self.output()

    def wait_ready(self, attempt=99):
        line = "Exporting HTTP/REST API at:localhost:%d ..." % self.port
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            text = self.output()
            if line in text:
                return True
            if self.process.poll() is not None:
                if attempt < 4 and "in use" in text:
                    return False
                raise AssertionError("modelserver exited %d: %s" % (self.process.returncode, text[-4000:]))
            time.sleep(0.005)
        self.process.kill()
        raise AssertionError("modelserver was not ready in %d s: %s" % (DEADLINE_S, self.output()[-4000:]))

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)

    def request(self, method, path, body=None, headers=None, connection=None):
        """body: bytes as they are, anything else as JSON. A connection that is given is kept open."""
        if body is not None and not isinstance(body, (bytes, bytearray)):
            body = json.dumps(body).encode()
        use = connection or self.connect()
        try:
            use.request(method, path, body, headers or {})
            answer = use.getresponse()
            return Answer(answer.status, answer.read(), dict(answer.getheaders()))
        finally:
            if not connection:
                use.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, body, **more):
        return self.request("POST", path, body, **more)

    def raw(self, data, timeout=DEADLINE_S):
        """Sends bytes on a connection of its own and gives all that comes back until the server closes or the time is over."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            s.sendall(data)
            back = b""
            try:
                while chunk := s.recv(65536):
                    back += chunk
            except (TimeoutError, ConnectionResetError):
                pass
            return back

    def wait_for_state(self, version, state, name="default", timeout=DEADLINE_S):
        """Waits until a version is in a state, such as "AVAILABLE" or "END"."""
        end = time.monotonic() + timeout
        answer = None
        while time.monotonic() < end:
            answer = self.get("/v1/models/%s" % name)
            for row in answer.json.get("model_version_status", []):
                if row["version"] == str(version) and row["state"] == state:
                    return
            time.sleep(0.02)
        raise AssertionError("version %s was not %s in %d s: %r" % (version, state, timeout, answer))

    def stop(self, sig=signal.SIGTERM):
        """Sends the signal, waits for the end, gives the exit status; a sanitizer's report fails."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            status = self.process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("modelserver did not end in %d s after signal %d: %s" % (DEADLINE_S, sig, self.output()[-4000:]))
        text = self.output()
        if SANITIZER.search(text.encode()):
            raise AssertionError(text[-6000:])
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            sys.stderr.write("modelserver printed:\n%s\n" % self.output()[-4000:])
            self.process.kill()
            self.process.wait()
        elif (status := self.stop()) != 0:
            raise AssertionError("modelserver exited %d: %s" % (status, self.output()[-4000:]))


class Load:
    """Threads that repeat a request and keep every wrong answer.

        with Load(server, "/v1/models/default:predict", body, good=lambda answer: answer.status == 200) as load: …
        load.count, load.wrong
    """

    def __init__(self, server, path, body, good, threads=4):
        self.server, self.path, self.body, self.good = server, path, body, good
        self.count, self.wrong, self.answers = 0, [], []
        self.stopping, self.lock = threading.Event(), threading.Lock()
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(threads)]

    def work(self):
        connection = self.server.connect()
        while not self.stopping.is_set():
            try:
                answer = self.server.post(self.path, self.body, connection=connection)
                wrong = None if self.good(answer) else answer
            except Exception as e:  # every failure counts
                answer = wrong = e
                connection.close()
                connection = self.server.connect()
            with self.lock:
                self.count += 1
                if wrong is not None:
                    self.wrong.append(wrong)
        connection.close()

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for t in self.threads:
            t.join(DEADLINE_S)


ROOT = os.geteuid() == 0


def mount_tmpfs(test, directory, options):
    """A small file system for this test; skips the test if mounting is not allowed."""
    os.makedirs(directory, exist_ok=True)
    if not ROOT:
        raise unittest.SkipTest("needs root to mount a small tmpfs")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", directory], capture_output=True, text=True)
    if done.returncode != 0:
        raise unittest.SkipTest("cannot mount a tmpfs here: %s" % done.stderr.strip())
    test.addCleanup(subprocess.run, ["umount", "-l", directory])


class TestCase(unittest.TestCase):
    """A work directory for each test, removed after it: self.dir, self.path("a", "b")."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="slipway-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)


def main():
    """Runs the file's tests, says each skip on a line of its own, and exits 0, 1, or 77 when nothing was run."""
    unittest.installHandler()
    result = unittest.main(exit=False, verbosity=2).result
    for test, reason in result.skipped:
        print("SKIPPED %s: %s" % (test.id().replace("__main__.", ""), reason), flush=True)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIP_STATUS if result.testsRun and result.testsRun == len(result.skipped) else 0 if result.testsRun else 1)

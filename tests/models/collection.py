"""A collection of SavedModels with recorded answers, and what modelserver makes of it.

check.py, beside the shared models, sends the recorded requests over REST (also in row format) and over gRPC, and compares.
A list of uncovered models names those that modelserver does not serve yet: NAME, then the missing ops, of which the model's failure
has to mention one."""
import concurrent.futures
import contextlib
import functools
import importlib.util
import io
import json
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
import unittest
from unittest import mock

from grpc_client import stand_in
from harness import DEADLINE_S, SANITIZER, Server, shared

QUICK_REFUSAL = ("--max_num_load_retries=0",)
CHECK_LIMIT_S = 600


def over_grpc(server):
    """Returns check.py's extra arguments for gRPC, or nothing without the package."""
    try:
        path = stand_in()
    except unittest.SkipTest:
        return []
    if path not in sys.path:
        sys.path.insert(0, path)
    return ["--grpc", "127.0.0.1:%d" % server.grpc_port]


@functools.lru_cache(None)
def check_module():
    spec = importlib.util.spec_from_file_location("check", shared("models", "check.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TookTooLong(BaseException):
    """No Exception: check.py takes each of those for a wrong answer, and goes on."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raises TookTooLong in the block, which runs in the main thread."""
    def give_up(*_):
        raise TookTooLong("not done in %g s" % seconds)
    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check(*arguments, limit_s=CHECK_LIMIT_S):
    """Runs check.py in this process: a start of its own takes 0.5 s for imports alone. Returns its exit status and what it printed."""
    shown = io.StringIO()
    with mock.patch.object(sys, "argv", ["check.py", *arguments]), contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        try:
            with time_limit(limit_s):
                status = check_module().main()
        except SystemExit as end:
            status = end.code
        except TookTooLong as end:
            status = "check.py: %s" % end
            print(status)
    return status, shown.getvalue()


def ask_each_signature(server, name):
    """Yields each signature's answer to a request with inputs of the right types."""
    definitions = server.get("/v1/models/%s/metadata" % name).json["metadata"]["signature_def"]["signature_def"]
    for signature, definition in definitions.items():
        inputs = {key: [""] if info["dtype"] == "DT_STRING" else [[1.0]] for key, info in definition["inputs"].items()}
        yield server.post("/v1/models/%s:predict" % name, {"signature_name": signature, "inputs": inputs})


class Collection:
    """models/NAME/1 is a SavedModel, cases/NAME.json its requests and answers. tolerances: {NAME: relative tolerance}, where check.py's
    own is too strict. own_cases: a directory whose NAME.json replaces the one in cases."""

    def __init__(self, models, cases, uncovered_list, tolerances=None, own_cases=None):
        self.models, self.cases, self.uncovered_list, self.tolerances = models, cases, uncovered_list, tolerances or {}
        self.own_cases = own_cases

    def names(self):
        return sorted(f[:-5] for f in os.listdir(self.cases) if f.endswith(".json"))

    def uncovered(self):
        """{model: words}; the model's failure has to contain one of the words."""
        with open(self.uncovered_list, encoding="utf-8") as f:
            rows = [line.split(None, 1) for line in f if line.strip() and not line.startswith("#")]
        return {name: rest.strip() for name, rest in rows}

    def cases_of(self, name):
        """The directory of the model's case file."""
        own = self.own_cases and os.path.exists(os.path.join(self.own_cases, name + ".json"))
        return self.own_cases if own else self.cases

    def case_file(self, name):
        with open(os.path.join(self.cases_of(name), name + ".json"), encoding="utf-8") as f:
            return json.load(f)

    def refused(self, name, lacking):
        """Returns None if modelserver refuses the model, otherwise a description of what it did.

        Refusing each signature for lack of one of these ops also counts. If a graph has an op that
        TensorFlow does not know, TensorFlow refuses the whole graph; modelserver refuses only the
        signatures that need the op."""
        server = Server(os.path.join(self.models, name), *QUICK_REFUSAL, name=name, wait=False)
        end = time.monotonic() + DEADLINE_S
        while server.process.poll() is None and "Exporting HTTP/REST" not in server.output():
            if time.monotonic() > end:
                server.process.kill()
                return "neither served nor refused in %d s" % DEADLINE_S
            time.sleep(0.01)
        if server.process.poll() is None:
            with server:
                answers = list(ask_each_signature(server, name))
            return None if all(a.status == 501 and any(op in a.json["error"] for op in lacking) for a in answers) else "answers: %r" % answers
        status = server.process.returncode
        text = server.output()
        if SANITIZER.search(text.encode()) or status < 0:
            return text[-3000:]
        return None if status > 0 else "refused, but exit status 0"

    def compare(self, name, cases):
        """Serves the model and runs check.py with the cases of a directory. Returns None, or what differs."""
        with Server(os.path.join(self.models, name), *QUICK_REFUSAL, name=name, grpc=True) as server:
            status, shown = check("--rest", server.url, "--cases", cases, "--only", name, "--rows", *over_grpc(server))
        nothing_to_send = re.search(r"^0 passed, 0 failed$", shown, re.M)
        return shown if status != 0 and not nothing_to_send else None

    def compare_loosely(self, name, tolerance):
        contents = self.case_file(name)
        for case in contents["cases"]:
            case["rtol"] = tolerance
        with tempfile.TemporaryDirectory(prefix="slipway-") as directory:
            with open(os.path.join(directory, name + ".json"), "w", encoding="utf-8") as f:
                json.dump(contents, f)
            return self.compare(name, directory)

    def problem(self, name):
        """Returns None if modelserver treats the model as TensorFlow does, otherwise what is wrong."""
        contents = self.case_file(name)
        load = contents.get("load", {"ok": True})
        if not load["ok"] and not load.get("with_soft_placement"):
            return self.refused(name, load.get("ops_lacking", []))
        if contents["cases"] and all(case.get("oracle", {}).get("kernel_missing") for case in contents["cases"]):
            # TensorFlow loads it and fails each request. Such a version must not replace one that works.
            return self.refused(name, [])
        try:
            if name in self.tolerances:
                return self.compare_loosely(name, self.tolerances[name])
            return self.compare(name, self.cases_of(name))
        except Exception as e:  # the exception holds the server's own message
            return str(e)

    def problems(self, models):
        with contextlib.suppress(unittest.SkipTest):
            stand_in()  # here, so that the processes below share it
        # Processes, because check() redirects all that its process prints.
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
            return dict(zip(models, pool.map(self.problem, models)))

    def wrong(self):
        """Compares every model with TensorFlow and with the list. Returns one text for each surprise."""
        expected, found = self.uncovered(), self.problems(self.names())
        wrong = ["%s is on the list but no model" % n for n in expected if n not in found]
        for name, text in found.items():
            if text is None and name in expected:
                wrong.append("%s passes: take it off %s" % (name, os.path.basename(self.uncovered_list)))
            elif text is not None and name not in expected:
                wrong.append("%s fails:\n%s" % (name, text.strip()[:1500]))
            elif text is not None and not any(word in text for word in expected[name].split()):
                wrong.append("%s should fail for want of '%s', but says:\n%s" % (name, expected[name], text.strip()[:1500]))
        print("%d models covered, %d not yet" % (sum(t is None for t in found.values()), sum(t is not None for t in found.values())))
        return wrong

    def write(self):
        """Makes the list of uncovered models anew, below its comments."""
        found = {n: t for n, t in self.problems(self.names()).items() if t is not None}
        with open(self.uncovered_list, encoding="utf-8") as f:
            comments = [line for line in f if line.startswith("#")]
        with open(self.uncovered_list, "w", encoding="utf-8") as f:
            f.writelines(comments)
            for name, text in found.items():
                f.write("%s  %s\n" % (name, reason(text)))
        print("%d of %d not covered" % (len(found), len(self.names())))


def reason(text):
    """The reason for the list: the op that the error names, or else the error's last line."""
    if op := re.search(r"\bop '?(\w+)'?", text):
        return op.group(1)
    line = next((line for line in reversed(text.strip().splitlines()) if not line.endswith(" failed")), text)
    return line.strip()[:120]


def require_check():
    """Skips the test if check.py cannot run here."""
    shared("models", "check.py")
    try:
        import numpy, requests  # noqa: check.py needs them
    except ImportError as e:
        raise unittest.SkipTest("check.py needs numpy and requests: %s" % e)


def run_by_hand(collection, main):
    """--write, --show NAME, or the tests."""
    if sys.argv[1:] == ["--write"]:
        collection().write()
    elif sys.argv[1:2] == ["--show"]:
        print(collection().problem(sys.argv[2]) or "passes")
    else:
        main()

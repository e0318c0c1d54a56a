"""Every model of the shared collection, with the real modelserver.

If TensorFlow loads a model, modelserver has to serve it, and check.py compares its answers over REST
(also in row format) and over gRPC. If TensorFlow refuses a model, modelserver has to refuse it.

uncovered.txt lists the models that are not covered yet. Each line names the missing ops; the model's
failure has to mention one of them. The test fails if a listed model passes or fails for another
reason, or if an unlisted model fails.

    python3 tests/models/test_models.py --write      rewrites uncovered.txt; review its diff
    python3 tests/models/test_models.py --show NAME  prints what is wrong with one model
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from grpc_here import stand_in
from harness import DEADLINE_S, SANITIZER, SOURCE, Server, main, shared

LIST = os.path.join(SOURCE, "tests", "models", "uncovered.txt")
QUICK_REFUSAL = ("--max_num_load_retries=0",)


def names():
    return sorted(f[:-5] for f in os.listdir(shared("models", "cases")) if f.endswith(".json"))


def uncovered():
    """{model: words}; the model's failure has to contain one of the words."""
    with open(LIST, encoding="utf-8") as f:
        rows = [line.split(None, 1) for line in f if line.strip() and not line.startswith("#")]
    return {name: rest.strip() for name, rest in rows}


def refused(name, lacking):
    """Returns None if modelserver refuses the model, otherwise a description of what it did.

    Refusing each signature for lack of one of these ops also counts. If a graph has an op that
    TensorFlow does not know, TensorFlow refuses the whole graph; modelserver refuses only the
    signatures that need the op."""
    server = Server(shared("models", name), *QUICK_REFUSAL, name=name, wait=False)
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


def ask_each_signature(server, name):
    """Yields each signature's answer to a request with inputs of the right types."""
    definitions = server.get("/v1/models/%s/metadata" % name).json["metadata"]["signature_def"]["signature_def"]
    for signature, definition in definitions.items():
        inputs = {key: [""] if info["dtype"] == "DT_STRING" else [[1.0]] for key, info in definition["inputs"].items()}
        yield server.post("/v1/models/%s:predict" % name, {"signature_name": signature, "inputs": inputs})


def over_grpc(server):
    """Returns check.py's extra arguments and environment for gRPC, or nothing without the package."""
    try:
        path = stand_in()
    except unittest.SkipTest:
        return [], None
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([path, os.environ.get("PYTHONPATH", "")]))
    return ["--grpc", "127.0.0.1:%d" % server.grpc_port], environment


def problem(name):
    """Returns None if modelserver treats the model as TensorFlow does, otherwise what is wrong."""
    with open(shared("models", "cases", name + ".json"), encoding="utf-8") as f:
        case_file = json.load(f)
    load = case_file["load"]
    if not load["ok"] and not load.get("with_soft_placement"):
        return refused(name, load.get("ops_lacking", []))
    if case_file["cases"] and all(case.get("oracle", {}).get("kernel_missing") for case in case_file["cases"]):
        # TensorFlow loads it and fails each request. Such a version must not replace one that works.
        return refused(name, [])
    try:
        with Server(shared("models", name), *QUICK_REFUSAL, name=name, grpc=True) as server:
            more, environment = over_grpc(server)
            checked = subprocess.run([sys.executable, shared("models", "check.py"), "--rest", server.url, "--cases",
                                      shared("models", "cases"), "--only", name, "--rows", *more], capture_output=True, text=True,
                                     timeout=600, env=environment)
            nothing_to_send = re.search(r"^0 passed, 0 failed$", checked.stdout, re.M)
            if checked.returncode != 0 and not nothing_to_send:
                return checked.stdout + checked.stderr
    except Exception as e:  # the exception holds the server's own message
        return str(e)
    return None


def problems(models):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(models, pool.map(problem, models)))


class Models(unittest.TestCase):
    def test_serves_every_model_that_is_covered(self):
        shared("models", "check.py")
        try:
            import numpy, requests  # noqa: check.py needs them
        except ImportError as e:
            self.skipTest("check.py needs numpy and requests: %s" % e)
        expected, found = uncovered(), problems(names())
        wrong = ["%s is on the list but no model" % n for n in expected if n not in found]
        for name, text in found.items():
            if text is None and name in expected:
                wrong.append("%s passes: take it off tests/models/uncovered.txt" % name)
            elif text is not None and name not in expected:
                wrong.append("%s fails:\n%s" % (name, text.strip()[:1500]))
            elif text is not None and not any(word in text for word in expected[name].split()):
                wrong.append("%s should fail for want of '%s', but says:\n%s" % (name, expected[name], text.strip()[:1500]))
        print("%d models covered, %d not yet" % (sum(t is None for t in found.values()), sum(t is not None for t in found.values())))
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_a_wrong_answer_would_be_seen(self):
        """check.py has to fail on a copy of a case file whose expected outputs are off by one."""
        name = "linear-model"
        with open(shared("models", "cases", name + ".json"), encoding="utf-8") as f:
            cases = json.load(f)
        for case in cases["cases"]:
            for tensor in case.get("outputs", {}).values():
                tensor["data"] = [x + 1 for x in tensor["data"]]
        directory = tempfile.mkdtemp(prefix="slipway-")
        self.addCleanup(shutil.rmtree, directory)
        with open(os.path.join(directory, name + ".json"), "w", encoding="utf-8") as f:
            json.dump(cases, f)
        with Server(shared("models", name), name=name) as server:
            checked = subprocess.run([sys.executable, shared("models", "check.py"), "--rest", server.url, "--cases", directory],
                                     capture_output=True, text=True, timeout=600)
        if "No module named" in checked.stderr:
            self.skipTest(checked.stderr.splitlines()[-1])
        self.assertEqual(checked.returncode, 1, checked.stdout + checked.stderr)
        self.assertIn("expected", checked.stdout)


def reason(name, text):
    """The reason for uncovered.txt: the op that the error names, or else the error's last line."""
    if op := re.search(r"\bop '?(\w+)'?", text):
        return op.group(1)
    line = next((line for line in reversed(text.strip().splitlines()) if not line.endswith(" failed")), text)
    return line.strip()[:120]


def write():
    found = {n: t for n, t in problems(names()).items() if t is not None}
    with open(LIST, "w", encoding="utf-8") as f:
        f.write("# Models of the shared collection that are not covered yet: NAME, then the missing ops, of which its failure names one.\n"
                "# tests/models/test_models.py checks both ways; with --write it makes this file anew.\n")
        for name, text in found.items():
            f.write("%s  %s\n" % (name, reason(name, text)))
    print("%d of %d not covered" % (len(found), len(names())))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    elif sys.argv[1:2] == ["--show"]:
        print(problem(sys.argv[2]) or "passes")
    else:
        main()

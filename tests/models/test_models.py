"""Every model of the shared collection, with the real modelserver.

If TensorFlow loads a model, modelserver has to serve it, and check.py compares its answers over REST
(also in row format) and over gRPC. If TensorFlow refuses a model, modelserver has to refuse it. A file in cases/
replaces the shared one: TensorFlow alone refuses such a model, TensorFlow Serving with its further ops answers.

uncovered.txt lists the models that are not covered yet. Each line names the missing ops; the model's
failure has to mention one of them. The test fails if a listed model passes or fails for another
reason, or if an unlisted model fails.

    python3 tests/models/test_models.py --write      rewrites uncovered.txt; review its diff
    python3 tests/models/test_models.py --show NAME  prints what is wrong with one model
"""
import json
import os
import shutil
import socket
import tempfile
import unittest

from collection import Collection, check, require_check, run_by_hand
from harness import SOURCE, Server, main, shared


def published():
    here = os.path.join(SOURCE, "tests", "models")
    return Collection(shared("models"), shared("models", "cases"), os.path.join(here, "uncovered.txt"), own_cases=os.path.join(here, "cases"))


class Models(unittest.TestCase):
    def test_serves_every_model_that_is_covered(self):
        require_check()
        wrong = published().wrong()
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_a_wrong_answer_would_be_seen(self):
        """check.py has to fail on a copy of a case file whose expected outputs are off by one."""
        require_check()
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
            status, shown = check("--rest", server.url, "--cases", directory)
        self.assertEqual(status, 1, shown)
        self.assertIn("expected", shown)

    def test_a_server_that_does_not_answer_ends_the_check(self):
        require_check()
        with socket.socket() as silent:  # it listens, and accepts nobody
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            url = "http://127.0.0.1:%d" % silent.getsockname()[1]
            status, shown = check("--rest", url, "--cases", shared("models", "cases"), "--only", "linear-model", limit_s=0.5)
        self.assertEqual((status, shown.rpartition("check.py: ")[2]), ("check.py: not done in 0.5 s", "not done in 0.5 s\n"))


if __name__ == "__main__":
    run_by_hand(published, main)

"""The whole path with the real programs: train, export, serve, ask, swap in a version under load, end under load."""
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest

import numpy

from digits import ASK, row, write_digits
from harness import DEADLINE_S, Load, Server, TestCase, main, run, train


class WholePath(TestCase):
    def setUp(self):
        super().setUp()
        self.data = write_digits(self.path("data"), train=600, test=100)
        self.base = self.path("model")

    def train(self, version, *flags):
        return train(os.path.join(self.base, str(version)), "--train_dir=%s" % self.data, "--training_iteration=30",
                     "--work_dir=%s" % self.path("work"), *flags)

    def test_trains_exports_serves_and_answers(self):
        said = self.train(1).stdout
        self.assertIn("modelserver", said)
        self.assertIn("curl", said)
        self.assertEqual(os.listdir(self.base), ["1"])
        with Server(self.base) as server:
            server.wait_for_output("curl ")
            status = server.get("/v1/models/default").json["model_version_status"]
            self.assertEqual([(s["version"], s["state"]) for s in status], [("1", "AVAILABLE")])
            answer = server.post(ASK, row())
            self.assertEqual(answer.status, 200, answer)
            (scores,) = answer.json["predictions"]
            self.assertEqual(len(scores), 10)
            self.assertAlmostEqual(sum(scores), 1, places=4)
            answer = server.post("/v1/models/default:classify", {"examples": [{"x": [0.5] * 784}]})
            self.assertEqual(answer.status, 200, answer)
            (labelled,) = answer.json["results"]
            by_label = {label: score for label, score in labelled}
            self.assertEqual(set(by_label), {str(i) for i in range(10)})
            self.assertEqual([s for _, s in labelled], sorted(by_label.values(), reverse=True))
            for i, score in enumerate(scores):
                self.assertAlmostEqual(by_label[str(i)], score, places=6)
            signatures = server.get("/v1/models/default/metadata").json["metadata"]["signature_def"]["signature_def"]
            self.assertLessEqual({"serving_default", "predict_images"}, set(signatures))

    def paste(self, text, server):
        """Runs the one curl line in a program's output, sent to `server`, and checks that it answers numbers."""
        lines = [line for line in text.splitlines() if "curl " in line]
        self.assertEqual(len(lines), 1, text)
        command = re.search(r"(echo .*)?curl .*", lines[0]).group(0).replace("localhost:8501", "localhost:%d" % server.port)
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=DEADLINE_S, env=dict(os.environ, no_proxy="*"))
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertNotIn("error", answer, command)
        self.assertTrue(answer.keys() & {"predictions", "outputs", "results"}, done.stdout)

    @unittest.skipUnless(shutil.which("curl"), "curl is not installed")
    def test_the_curl_lines_that_are_printed_work_as_pasted(self):
        image = self.path("image.json")
        with open(image, "w", encoding="utf-8") as f:
            layer = lambda kind, **config: {"class_name": kind, "config": config}  # noqa: E731
            json.dump({"class_name": "Sequential", "config": {"name": "image", "layers": [
                layer("InputLayer", batch_input_shape=[None, 28, 28, 1], dtype="float32", name="x"),
                layer("Flatten", name="flat"), layer("Dense", name="scores", units=10, activation="softmax")]}}, f)
        for model in ("softmax", image, "linear"):
            with self.subTest(model=os.path.basename(model)):
                base = self.path("pasted-" + os.path.basename(model))
                data = [] if model == "linear" else ["--train_dir=%s" % self.data]
                said = train(os.path.join(base, "1"), "--model=" + model, "--training_iteration=3", "--work_dir=%s" % self.path("work"), *data)
                with Server(base) as server:
                    self.paste(server.wait_for_output("curl "), server)
                    self.paste(said.stdout, server)

    def test_linear_exports_regress_and_predict(self):
        train(os.path.join(self.base, "1"), "--model=linear", "--work_dir=%s" % self.path("work"))
        with Server(self.base) as server:
            answer = server.post("/v1/models/default:regress", {"examples": [{"x": 0.25}, {"x": 0.75}]})
            if answer.status == 400:
                answer = server.post("/v1/models/default:regress",
                                     {"signature_name": "regress", "examples": [{"x": 0.25}, {"x": 0.75}]})
            self.assertEqual(answer.status, 200, answer)
            for got, want in zip(answer.json["results"], (0.325, 0.375)):  # y = 0.1 x + 0.3
                self.assertAlmostEqual(got, want, delta=0.02)

    def test_savedmodel_shows_and_runs_what_was_exported(self):
        self.train(1)
        version = os.path.join(self.base, "1")
        shown = run("savedmodel", "show", version)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        for word in ("serving_default", "predict_images", "MatMul", "784"):
            self.assertIn(word, shown.stdout)
        report = json.loads(run("savedmodel", "show", "--json", version).stdout)
        first = "%s (written by Slipway %s in the format of TensorFlow %s)"
        self.assertEqual(shown.stdout.split("\n")[0], first % (version, report["slipway_version"], report["tensorflow_version"]))
        feed = self.path("feed.json")
        with open(feed, "w", encoding="utf-8") as f:
            json.dump([[0.5] * 784], f)
        ran = run("savedmodel", "run", version, "--signature", "predict_images", "--input", "images=" + json.dumps([[0.5] * 784]))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("scores", ran.stdout)

    def test_savedmodel_run_says_what_a_signature_takes(self):
        self.train(1)
        for given, text in (("z=[1.0]", "signature 'predict_images' has no input 'z'; there are: images"),
                            ("images=[1.0, 2.0]", "(input 'images' has shape [2]; the signature says [?,784])")):
            ran = run("savedmodel", "run", os.path.join(self.base, "1"), "--signature=predict_images", "--input", given)
            self.assertNotEqual(ran.returncode, 0)
            self.assertIn(text, ran.stderr)

    def test_savedmodel_run_writes_numpy_files(self):
        self.train(1)
        command = ["savedmodel", "run", os.path.join(self.base, "1"), "--signature", "predict_images",
                   "--input", "images=" + json.dumps([[0.5] * 784]), "--outdir", self.path("outputs")]
        first = run(*command)
        self.assertEqual(first.returncode, 0, first.stderr)
        scores = numpy.load(self.path("outputs/scores.npy"))
        self.assertEqual((scores.shape, scores.dtype), ((1, 10), numpy.float32))
        self.assertAlmostEqual(scores.sum(), 1, delta=1e-5)
        again = run(*command)
        self.assertNotEqual(again.returncode, 0)
        self.assertIn("scores.npy' exists: --overwrite replaces it", again.stderr)
        self.assertEqual(run(*command, "--overwrite").returncode, 0)

    def test_swaps_in_version_2_under_load_with_no_failed_request(self):
        self.train(1)
        with Server(self.base, "--file_system_poll_wait_seconds=1") as server:
            before = server.post(ASK, row()).json
            with Load(server, ASK, row(), good=lambda answer: answer.status == 200) as load:
                self.train(2, "--seed=7", "--training_iteration=60")
                server.wait_for_state(2, "AVAILABLE")
                server.wait_for_state(1, "END")
                seen = load.count
                while load.count < seen + 100 and not load.wrong:
                    time.sleep(0.01)
            self.assertEqual(load.wrong, [])
            self.assertGreater(load.count, 100)
            self.assertNotEqual(server.post(ASK, row()).json, before)
            gone = server.post("/v1/models/default/versions/1:predict", row())
            self.assertEqual(gone.status, 404, gone)

    def test_sigterm_under_load_ends_with_0_and_no_broken_answer(self):
        self.train(1)
        server = Server(self.base)
        broken, told, answered = [], threading.Event(), [threading.Event() for _ in range(8)]

        def ask(first):
            connection = server.connect()
            while True:
                late = told.is_set()
                try:
                    answer = server.post(ASK, row(), connection=connection)
                    first.set()
                    if answer.status != 200 or len(answer.json["predictions"][0]) != 10:
                        broken.append(answer)
                except (ConnectionError, http.client.RemoteDisconnected) as e:
                    # After the signal a new connection is refused and an idle one closed; before it, neither may happen.
                    if not (late or told.is_set()):
                        broken.append(e)
                    break
                except Exception as e:  # a cut answer, or one that is not JSON
                    broken.append(e)
                    break

        threads = [threading.Thread(target=ask, args=(first,)) for first in answered]
        for t in threads:
            t.start()
        for first in answered:
            self.assertTrue(first.wait(DEADLINE_S), broken)
        time.sleep(0.5)
        told.set()
        self.assertEqual(server.stop(signal.SIGTERM), 0, server.output())
        for t in threads:
            t.join(DEADLINE_S)
        self.assertEqual(broken, [])


if __name__ == "__main__":
    main()

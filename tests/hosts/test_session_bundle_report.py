"""The report of the exporter script: MNIST softmax under a Supervisor, whose chief exports a session_bundle with the named graph
signatures `inputs` {images} and `outputs` {scores}. 2 ps and 2 workers on hosts that share no disk.

On clean disks and with stale directories of a failed run on every host: the export is on the chief's host only and complete, no node
names a device, it is served, and all tasks exit 0."""
import json
import re

from harness import Server, TestCase, main, run
from hosts import Hosts
from job import Job

FLAGS = ["--training_iteration=100", "--batch_size=20", "--seed=2"]
VERSION = ["model/", "model/00000001/", "model/00000001/export-00000-of-00001", "model/00000001/export.meta"]
STALE = ["model/", "model/00000001-tmp/", "model/00000001/"]
IMAGE = [0.5] * 784


class SessionBundle(TestCase):
    def check_served(self, directory, base):
        shown = json.loads(run("savedmodel", "show", "--json", directory).stdout)
        self.assertEqual({name: (sorted(s["inputs"]), sorted(s["outputs"])) for name, s in shown["signatures"].items()},
                         {"serving_default": (["inputs"], ["classes", "scores"]), "predict_images": (["images"], ["scores"])})
        with Server(base) as server:
            answer = server.post("/v1/models/default:predict", {"signature_name": "predict_images", "instances": [IMAGE]})
            self.assertEqual(answer.status, 200, answer)
            scores = answer.json["predictions"][0]
            self.assertAlmostEqual(sum(scores), 1, places=4)
            answer = server.post("/v1/models/default:classify", {"examples": [{"x": IMAGE}]})
            self.assertEqual(answer.status, 200, answer)
            label, score = answer.json["results"][0][0]
            self.assertEqual((int(label), score), (scores.index(max(scores)), max(scores)))
        return scores

    def test_two_ps_and_two_workers_on_four_hosts(self):
        for stale in (False, True):
            with self.subTest(stale=stale), Hosts(4) as (a, b, c, d):
                for host in (a, b, c, d) if stale else ():
                    host.run("mkdir", "-p", "model/00000001", "model/00000001-tmp")
                job = Job(ps=[a, b], worker=[c, d], flags=FLAGS)
                job.start_all("--export_dir=model/00000001", "--export_format=session_bundle")
                job.end(0)
                for host in (a, b, c, d):
                    left = STALE if stale else []
                    self.assertEqual(host.files(), sorted({*left, *VERSION}) if host is c else left, host.name)
                with open(c.path("model", "00000001", "export.meta"), "rb") as file:
                    meta = file.read()
                self.assertIsNone(re.search(rb"/(job|device|task|replica|cpu|gpu):", meta, re.IGNORECASE))
                for words in (b"serving_signatures", b"type.googleapis.com/tensorflow.serving.Signatures", b"save/ShardedFilespec:0"):
                    self.assertIn(words, meta)
                scores = self.check_served(c.path("model", "00000001"), c.path("model"))

                converted = self.path("converted-%s" % stale, "1")
                done = run("savedmodel", "convert", c.path("model", "00000001"), converted)
                self.assertEqual((done.returncode, done.stderr), (0, ""), done)
                self.assertEqual(self.check_served(converted, self.path("converted-%s" % stale)), scores)

    def test_the_next_version_has_eight_digits(self):
        with Hosts(2) as (a, b):
            for version in ("00000001", "00000002"):
                job = Job(ps=[a], worker=[b], flags=FLAGS)
                job.start_all("--work_dir=model", "--export_format=session_bundle")
                job.end(0)
                self.assertIn("model/%s/export.meta" % version, b.files())
                self.assertEqual(a.files(), [])


if __name__ == "__main__":
    main()

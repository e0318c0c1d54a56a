"""The report "can't save model for TensorFlow Serving": softmax, 1 ps, 2 or 3 workers, hosts that share no disk.

In each of its four situations, on clean disks and with stale directories of a failed run on every host: the export is on the
chief's host only and complete, no node names a device, it is served, and all tasks exit 0."""
import json
import re

from harness import Server, TestCase, main, run
from hosts import Hosts
from job import Job

FLAGS = ["--training_iteration=100", "--batch_size=20", "--seed=2"]
VERSION = ["model/", "model/1/", "model/1/assets.extra/", "model/1/assets.extra/compile_config.json", "model/1/saved_model.pb",
           "model/1/variables/", "model/1/variables/variables.data-00000-of-00001", "model/1/variables/variables.index"]
STALE = ["model/", "model/1/", "model/1/variables/"]


class Export(TestCase):
    def check(self, job, chief, stale):
        hosts = {h.name: h for group in job.hosts.values() for h in group}
        for host in hosts.values() if stale else ():
            host.run("mkdir", "-p", "model/1/variables")
        job.start_all("--export_dir=model/1")
        job.end(0)
        for host in hosts.values():
            self.assertEqual(host.files(), VERSION if host is chief else STALE if stale else [], host.name)
        with open(chief.path("model", "1", "saved_model.pb"), "rb") as file:
            self.assertIsNone(re.search(rb"/(job|device|task|replica|cpu|gpu):", file.read(), re.IGNORECASE))
        shown = json.loads(run("savedmodel", "show", "--json", chief.path("model", "1")).stdout)
        self.assertTrue(shown["signatures"])
        with Server(chief.path("model")) as server:
            answer = server.post("/v1/models/default:predict", {"signature_name": "predict_images", "instances": [[0.5] * 784]})
            self.assertEqual(answer.status, 200, answer)
            self.assertAlmostEqual(sum(answer.json["predictions"][0]), 1, places=4)

    def both(self, count, make):
        for stale in (False, True):
            with self.subTest(stale=stale), Hosts(count) as hosts:
                job, chief = make(*hosts)
                self.check(job, chief, stale)

    def test_all_on_one_host(self):
        self.both(1, lambda a: (Job(ps=[a], worker=[a, a], flags=FLAGS), a))

    def test_the_ps_on_a_the_workers_on_b_and_c(self):
        self.both(3, lambda a, b, c: (Job(ps=[a], worker=[b, c, c], flags=FLAGS), b))

    def test_the_ps_and_a_worker_on_a_the_chief_on_b(self):
        self.both(2, lambda a, b: (Job(ps=[a], worker=[b, a], flags=FLAGS), b))

    def test_the_ps_on_a_the_chief_on_b(self):
        self.both(2, lambda a, b: (Job(ps=[a], worker=[b], chief=[b], flags=FLAGS), b))


if __name__ == "__main__":
    main()

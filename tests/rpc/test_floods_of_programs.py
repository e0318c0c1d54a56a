"""The floods of floods.py against modelserver and against the ps of a training job. Neither may be
disturbed."""
import signal

from cluster import Job
from echo import ASAN_OPTIONS
from floods import Flooded
from harness import Server, TestCase, clean_environment, main, train

METADATA = "/tensorflow.serving.PredictionService/GetModelMetadata"
# GetModelMetadataRequest: model_spec { name: "default" }, metadata_field: "signature_def"
ASK_METADATA = b"\n\t\n\x07default" + b"\x12\rsignature_def"
IDENTIFY = "/slipway.training.Task/Identify"


class ModelServer(Flooded, TestCase):
    def setUp(self):
        super().setUp()
        train(self.path("model", "1"), "--model=linear", "--training_iteration=5")
        server = Server(self.path("model"), grpc=True, env=clean_environment(ASAN_OPTIONS=ASAN_OPTIONS))
        self.addCleanup(server.__exit__, None, None, None)
        self.begin(server.pid, server.grpc_port, METADATA, lambda n: ASK_METADATA, lambda sent, got: b"signature_def" in got)
        self.addCleanup(self.honest.__exit__)


class Ps(Flooded, TestCase):
    def setUp(self):
        super().setUp()
        self.job = Job(self, ps=1, workers=2, flags=["--model=linear", "--training_iteration=100000000"])
        for kind, index in self.job.names():
            more = ["--export_dir=" + self.path("m", "1")] if index == 0 and kind == "worker" else []
            self.job.start(kind, index, *more, env=clean_environment(ASAN_OPTIONS=ASAN_OPTIONS))
        for i in range(2):
            self.job.tasks["worker %d" % i].wait_for("trains from step")
        port = int(self.job.hosts["ps"][0].rpartition(":")[2])
        self.begin(self.job.tasks["ps 0"].process.pid, port, IDENTIFY, lambda n: b"", lambda sent, got: b"ps 0" in got)

    def tearDown(self):
        """The job is still training, and none of its tasks has had to wait for the ps."""
        super().tearDown()
        self.honest.__exit__()
        for name, task in self.job.tasks.items():
            self.assertIsNone(task.process.poll(), task.text())
            self.assertNotIn("waiting for ps", task.text().partition("trains from step")[2], name)
        self.job.kill("worker 0", signal.SIGTERM)
        self.assertEqual(self.job.wait(), {"worker 0": 143, "worker 1": 138, "ps 0": 138}, self.job.logs()[-6000:])


if __name__ == "__main__":
    main()

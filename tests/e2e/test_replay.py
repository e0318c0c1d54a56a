"""modelclient replay: a log is sent again, and differences of the answers are found."""
import records
import tiny_model
from grpc_client import Client, messages, module
from harness import Server, TestCase, main, run
from prediction_logs import good_logs, predict, session_run


class Replay(TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        messages()  # skips without protoc

    def setUp(self):
        super().setUp()
        tiny_model.write(self.path("m", "1"))
        self.server = self.enterContext(Server(self.path("m"), name="m", grpc=True))

    def write(self, logs):
        with open(self.path("log"), "wb") as f:
            f.write(b"".join(records.record(log.SerializeToString()) for log in logs))

    def replay(self, *flags):
        return run("modelclient", "replay", self.path("log"), "--against", "127.0.0.1:%d" % self.server.grpc_port, *flags)

    def answered(self, log):
        """The log with this server's answer."""
        kind = log.WhichOneof("log_type")
        part = getattr(log, kind)
        name = {"predict_log": "Predict", "classify_log": "Classify", "regress_log": "Regress", "multi_inference_log": "MultiInference"}[kind]
        answer = Client("127.0.0.1:%d" % self.server.grpc_port).call("/tensorflow.serving.PredictionService/" + name, part.request, type(part.response))
        self.assertEqual(answer.code, "OK", answer.text)
        part.response.CopyFrom(answer.message)
        return log

    def test_equal_answers(self):
        logs = [self.answered(log) for log in [predict(name="m"), *good_logs()[2:5]]]
        self.write(logs * 50 + [predict(name="m"), session_run(), good_logs()[5]])
        for flags in ([], ["--concurrency=8", "--connections=2"], ["--rate=2000", "--concurrency=4"]):
            done = self.replay(*flags)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
            self.assertIn("201 requests: 200 equal, 0 different, 0 refused, 1 without an answer in the log; "
                          "2 records without a request that can be sent\n201 calls, ", done.stdout)
            self.assertRegex(done.stdout, r"latency µs: min [\d.]+  p50 [\d.]+ ")
        self.assertIn("30 requests: 30 equal", self.replay("--count=30").stdout)

    def test_different_answers(self):
        wrong = self.answered(predict(name="m"))
        wrong.predict_log.response.outputs["y"].float_val[0] = 2.6
        self.write([self.answered(predict(name="m")), wrong, predict(name="m", signature_name="none")])
        done = self.replay()
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("record 2: output 'y'[0,0] is 2.5, was 2.5999999\n", done.stdout)
        self.assertIn('record 3: FAILED_PRECONDITION: Serving signature key "none" not found.\n', done.stdout)
        self.assertIn("3 requests: 1 equal, 1 different, 1 refused\n", done.stdout)
        done = self.replay("--show=0")
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (1, "3 requests: 1 equal, 1 different, 1 refused"))
        self.assertIn("3 requests: 2 equal, 0 different, 1 refused", self.replay("--atol=0.2").stdout)

    def test_another_model(self):
        self.write([predict(name="elsewhere")])
        self.assertEqual(self.replay().returncode, 1)
        self.assertEqual(self.replay("--model=m").returncode, 0)
        self.assertEqual(self.replay("--model=m", "--model_version=2").returncode, 1)
        self.assertEqual(self.replay("--model=m", "--model_version=1").returncode, 0)

    def test_what_cannot_be_replayed_is_named(self):
        self.write([predict()])
        cases = [(["x", "--against=http://localhost:1"], 2, "is replayed over gRPC"), ([], 2, "the log is missing"),
                 ([self.path("none")], 2, self.path("none")), ([self.path("log"), "--against=127.0.0.1:1"], 1, "UNAVAILABLE")]
        for flags, status, text in cases:
            done = run("modelclient", "replay", *flags)
            self.assertEqual((done.returncode, text in done.stderr), (status, True), done)
        with open(self.path("log"), "ab") as f:
            f.write(records.record(b"\xff"))
        done = self.replay("--model=m")
        self.assertEqual(done.returncode, 1)
        self.assertIn("record 2 is no PredictionLog", done.stderr)


if __name__ == "__main__":
    main()

"""?explain=1 and x-slipway-explain: an answer tells where its time went, and is the same beside that."""
import json
import os

import tiny_model
from grpc_here import PREDICTION, Client, messages, tensor
from harness import Server, TestCase, main

ASK = "/v1/models/m:predict"
NAME = "x-slipway-explain"


class Explain(TestCase):
    def setUp(self):
        super().setUp()
        base = self.path("m")
        tiny_model.write(os.path.join(base, "1"))
        self.server = Server(base, name="m", grpc=True)
        self.addCleanup(self.server.stop)

    def check(self, explain, *ops):
        self.assertEqual(set(explain), {"stages_us", "ops"})
        self.assertEqual(list(explain["stages_us"]), ["queue", "parse", "run", "print"])
        times = [op["us"] for op in explain["ops"]]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertLessEqual(sum(times), explain["stages_us"]["run"] + 1)
        self.assertEqual({op["op"] for op in explain["ops"]}, set(ops))
        self.assertEqual({op["count"] for op in explain["ops"]}, {1})

    def test_rest(self):
        classify = {"signature_name": "classify_x", "examples": [{"x": 1.0}]}
        for path, body, ops in ((ASK, {"instances": [[1.0]]}, ("_FusedPointwise",)), (ASK, {"inputs": [[1.0], [2.0]]}, ("_FusedPointwise",)),
                                ("/v1/models/m/versions/1:classify", classify, ("ParseExample", "Mul", "AddV2", "ConcatV2"))):
            plain = self.server.post(path, body)
            for answer in (self.server.post(path + "?explain=1", body), self.server.post(path, body, headers={NAME: "true"})):
                self.assertEqual(answer.status, 200, answer)
                found = answer.json
                self.check(found.pop("explain"), *ops)
                self.assertEqual(found, plain.json)

    def test_rest_without_an_explanation(self):
        body = {"instances": [[1.0]]}
        for path, headers, status in ((ASK, {NAME: "0"}, 200), (ASK + "?explain=0", {}, 400), (ASK + "?explain=1&x", {}, 400)):
            answer = self.server.post(path, body, headers=headers)
            self.assertEqual(answer.status, status, answer)
            self.assertNotIn("explain", answer.json)
        answer = self.server.post(ASK + "?explain=1", {"instances": 1})
        self.assertEqual((answer.status, set(answer.json)), (400, {"error"}))
        answer = self.server.post(ASK + "?explain=1", body, headers={"Accept": "application/x-npy"})
        self.assertEqual((answer.status, answer.json["error"]), (400, "explain adds a member to a JSON answer; Accept asks for application/x-npy"))
        self.assertEqual(self.server.get("/v1/models/m?explain=1").status, 404)  # a model of that name, as in TensorFlow Serving

    def test_grpc(self):
        request = messages().PredictRequest(model_spec={"name": "m"})
        request.inputs["x"].CopyFrom(tensor(1, [2, 1], [1, 2]))
        with Client("127.0.0.1:%d" % self.server.grpc_port) as client:
            for metadata, there in (((), False), (((NAME, "1"),), True)):
                future = client.start(PREDICTION + "Predict", request, messages().PredictResponse, metadata=metadata)
                self.assertEqual(list(future.result().outputs["y"].float_val), [2.5, 3.0])
                trailers = dict(future.trailing_metadata())
                self.assertEqual(NAME in trailers, there)
                if there:
                    self.check(json.loads(trailers[NAME]), "_FusedPointwise")


if __name__ == "__main__":
    main()

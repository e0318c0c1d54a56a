"""?explain=1 and x-slipway-explain: an answer tells where its time went, and is the same beside that."""
import json
import os

import tiny_model
from grpc_client import PREDICTION, Client, messages, tensor
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

    def serve_long_names(self):
        """A model of 40 nodes whose names are 1 KB, not ASCII, and not JSON."""
        b = tiny_model.Builder()
        b.placeholder("x", 7, [-1])
        last = "x"
        for i in range(40):
            name = "\u00e9\u20ac" * 200 + str(i)
            b.node(name, "StringLower" if i % 2 else "StringUpper", last, encoding=("s", b""))
            last = name
        b.signature("serving_default", "predict", {"x": ("x:0", 7, [-1])}, {"y": (last + ":0", 7, [-1])})
        os.makedirs(self.path("long", "1"))
        with open(self.path("long", "1", "saved_model.pb"), "wb") as f:
            f.write(b.model.SerializeToString())
        server = Server(self.path("long"), name="m", grpc=True)
        self.addCleanup(server.stop)
        return server

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

    def test_long_names_leave_ops_out_of_the_trailer(self):
        server = self.serve_long_names()
        ops = server.post(ASK + "?explain=1", {"instances": ["a"]}).json["explain"]["ops"]
        self.assertEqual((len(ops), ops[0]["node"][:2]), (40, "\u00e9\u20ac"))
        request = messages().PredictRequest(model_spec={"name": "m"})
        request.inputs["x"].CopyFrom(tensor(7, [1], [b"a"]))
        with Client("127.0.0.1:%d" % server.grpc_port) as client:
            future = client.start(PREDICTION + "Predict", request, messages().PredictResponse, metadata=((NAME, "1"),))
            self.assertEqual(list(future.result().outputs["y"].string_val), [b"a"])
            explain = json.loads(dict(future.trailing_metadata())[NAME])
        self.assertEqual(len(explain["ops"]) + explain["ops_left_out"], 40)
        self.assertEqual(explain["ops"][0]["node"][:2], "\u00e9\u20ac")


if __name__ == "__main__":
    main()

"""Other gRPC clients against modelserver: grpcurl with server reflection only, ghz, and
@grpc/grpc-js with the project's .proto files. Their answers must equal those of REST. Also runs
h2spec, and a flood on a port that REST and gRPC share."""
import json
import os
import subprocess
import tempfile
import unittest

import tiny_model
from echo import ACK, DATA, END_HEADERS, HEADERS, PING, RST_STREAM, SETTINGS, Closed, Connection, frame, request_headers
from harness import DEADLINE_S, SANITIZED, SOURCE, Server, main
from test_h2spec import failed_cases
from tools import go_tool, node_modules

X = [1.0, 2.0, -5.5]
REQUEST = {"model_spec": {"name": "default"},
           "inputs": {"x": {"dtype": "DT_FLOAT", "tensor_shape": {"dim": [{"size": len(X)}]}, "float_val": X}}}


class Modelserver(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.base = os.path.join(cls.work.name, "model")
        tiny_model.write(os.path.join(cls.base, "1"))
        cls.server = Server(cls.base, grpc=True)
        cls.address = "127.0.0.1:%d" % cls.server.grpc_port

    @classmethod
    def tearDownClass(cls):
        status = cls.server.stop()
        cls.work.cleanup()
        assert status == 0, cls.server.output()

    def rest(self):
        answer = self.server.post("/v1/models/default:predict", {"inputs": X})
        self.assertEqual(answer.status, 200, answer)
        return answer.json["outputs"]

    def tool(self, name, *arguments):
        done = subprocess.run([go_tool(name), *arguments], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_grpcurl_lists_describes_and_calls_by_reflection(self):
        services = self.tool("grpcurl", "-plaintext", self.address, "list").split()
        self.assertIn("tensorflow.serving.PredictionService", services)
        self.assertIn("tensorflow.serving.ModelService", services)
        said = self.tool("grpcurl", "-plaintext", self.address, "describe", "tensorflow.serving.PredictionService")
        for method in ("Predict", "Classify", "Regress", "MultiInference", "GetModelMetadata"):
            self.assertIn("rpc %s (" % method, said)
        status = json.loads(self.tool("grpcurl", "-plaintext", "-d", '{"model_spec":{"name":"default"}}', self.address,
                                      "tensorflow.serving.ModelService/GetModelStatus"))
        self.assertEqual(status["model_version_status"][0]["state"], "AVAILABLE")
        answer = json.loads(self.tool("grpcurl", "-plaintext", "-d", json.dumps(REQUEST), self.address,
                                      "tensorflow.serving.PredictionService/Predict"))
        self.assertEqual(answer["outputs"]["y"]["floatVal"], self.rest())

    def test_ghz_counts_no_failure(self):
        report = json.loads(self.tool("ghz", "--insecure", "--call", "tensorflow.serving.PredictionService.Predict", "-d", json.dumps(REQUEST),
                                      "-n", "3000", "-c", "32", "--connections", "4", "-t", "60s", "-O", "json", self.address))
        self.assertEqual(report["statusCodeDistribution"], {"OK": 3000}, report.get("errorDistribution"))

    def test_node_with_the_texts_of_this_project(self):
        script = """
            const path = require("path"), modules = process.env.SLIPWAY_NODE_MODULES;
            const grpc = require(path.join(modules, "@grpc/grpc-js")), loader = require(path.join(modules, "@grpc/proto-loader"));
            const [address, source, request] = process.argv.slice(1);
            const texts = loader.loadSync("proto/prediction_service.proto", { includeDirs: [source, path.join(source, "proto/wellknown")], keepCase: true });
            const serving = grpc.loadPackageDefinition(texts).tensorflow.serving;
            const client = new serving.PredictionService(address, grpc.credentials.createInsecure());
            client.Predict(JSON.parse(request), { deadline: Date.now() + 60000 }, (error, reply) => {
                console.log(JSON.stringify(error ? { error: error.message } : reply.outputs.y.float_val));
                client.Predict({ model_spec: { name: "none" } }, (failure) => { console.log(failure.code, failure.details); client.close(); });
            });
        """
        node_modules()
        done = subprocess.run(["node", "-e", script, self.address, SOURCE, json.dumps(REQUEST)], capture_output=True, text=True,
                              timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        answer, failure = done.stdout.splitlines()
        self.assertEqual(json.loads(answer), self.rest())
        self.assertEqual(failure, "5 Servable not found for request: Latest(none)")

    def test_h2spec_finds_no_more_than_in_a_bare_server(self):
        failed, passed = failed_cases(self.server.grpc_port)
        self.assertGreater(len(passed), 135)
        # The first two cases send frames that exceed other servers' limits, but ours is 16 MiB.
        # nghttpd also fails the third (test_h2spec.py).
        known = ("DATA frame that exceeds the SETTINGS_MAX_FRAME_SIZE", "HEADERS frame that exceeds the SETTINGS_MAX_FRAME_SIZE",
                 "stream identifier that is numerically smaller than previous")
        self.assertEqual([case for case in sorted(failed) if not case.endswith(known)], [])

    def test_a_rapid_reset_on_a_shared_port_leaves_rest_alone(self):
        with Server(self.base, grpc="same") as server:
            def ask():
                answer = server.post("/v1/models/default:predict", {"inputs": X})
                self.assertEqual((answer.status, answer.json["outputs"]), (200, self.rest()))
            with Connection(server.port) as c, self.assertRaises(Closed):
                for n in range(200000):
                    stream = 2 * n + 1
                    c.send(frame(HEADERS, END_HEADERS, stream, request_headers("/tensorflow.serving.PredictionService/Predict")) +
                           frame(RST_STREAM, 0, stream, b"\0\0\0\x08"))
                    if n % 1000 == 0:
                        ask()
            ask()


    def test_half_requests_of_many_share_one_budget(self):
        """Each request announces 30 MB and sends 10 MB. The budget holds six of them."""
        part, claim = b"x" * 1000000, b"\0" + (30000000).to_bytes(4, "big")
        with Server(self.base, "--memory_budget_bytes=64000000", grpc=True) as server:
            crowd = [Connection(server.grpc_port) for _ in range(30)]
            refused = 0
            for c in crowd:
                while c.read_frame()[0] != SETTINGS:
                    pass
                c.send(frame(SETTINGS, ACK, 0))  # the server's large frames and windows apply now
                stream = c.call("/tensorflow.serving.PredictionService/Predict", end=False)
                c.send(frame(DATA, 0, stream, claim))
                for _ in range(10):
                    c.send(frame(DATA, 0, stream, part))
            for c in crowd:
                c.send(frame(PING, 0, 0, b"12345678"))
                kinds = []
                while (PING, ACK) not in kinds:
                    kind, flags, _, payload = c.read_frame()
                    kinds.append((kind, flags & ACK if kind == PING else 0))
                refused += (HEADERS, 0) in kinds or (RST_STREAM, 0) in kinds
            with open("/proc/%d/status" % server.pid, encoding="ascii") as f:
                memory = next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1000
            self.assertGreater(refused, 15)
            self.assertLess(refused, 30)
            if not SANITIZED:  # a sanitizer needs a few times as much memory
                self.assertLess(memory, 140)
            for c in crowd:
                c.socket.close()
            # The whole budget is free again: the body, its tensors and the answer need most of it.
            large = [1.0] * 1000000
            for _ in range(3):
                answer = server.post("/v1/models/default:predict", {"inputs": large})
                self.assertEqual((answer.status, len(answer.json["outputs"])), (200, len(large)))


if __name__ == "__main__":
    main()

"""The Open Inference Protocol, by REST and by gRPC."""
import gzip
import json
import os
import struct
import tempfile
import zlib

import tiny_model
from grpc_client import Client, module
from harness import Server, TestCase, main

INFERENCE = "/inference.GRPCInferenceService/"
HEADER = "Inference-Header-Content-Length"
OCTETS = "application/octet-stream"
# For each input of the signature `types`: datatype, two elements as JSON and as raw bytes.
TYPES = {"float": ("FP32", [1.5, -2.0], "<2f"), "double": ("FP64", [0.1, 1e300], "<2d"), "int32": ("INT32", [-1, 2], "<2i"),
         "uint8": ("UINT8", [0, 255], "<2B"), "int16": ("INT16", [-32768, 5], "<2h"), "int8": ("INT8", [-128, 127], "<2b"),
         "int64": ("INT64", [-1, 1 << 62], "<2q"), "bool": ("BOOL", [True, False], "<2?"), "uint32": ("UINT32", [1, 2**32 - 1], "<2I"),
         "uint64": ("UINT64", [1, 2**64 - 1], "<2Q"), "half": ("FP16", [1.5, -0.25], "<2e")}
TEXTS = ["a", "ä\"\n"]


def raw_texts(texts):
    return b"".join(struct.pack("<I", len(t)) + t for t in (t.encode() for t in texts))


def given(name, datatype, shape, data):
    return {"name": name, "datatype": datatype, "shape": shape, "data": data}


def binary_body(request, *data):
    text = json.dumps(request).encode()
    return text + b"".join(data), {HEADER: str(len(text))}


X = given("x", "FP32", [2, 1], [1.0, 2.0])


class Served(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        base = os.path.join(cls.directory.name, "tiny")
        tiny_model.write(os.path.join(base, "1"))
        cls.server = Server(base, name="tiny", grpc="same")
        cls.client = Client("127.0.0.1:%d" % cls.server.port)
        cls.pb = module("open_inference")

    @classmethod
    def tearDownClass(cls):
        cls.client.__exit__()
        status = cls.server.stop()
        cls.directory.cleanup()
        assert status == 0, cls.server.output()

    def call(self, name, request):
        return self.client.call(INFERENCE + name, request, getattr(self.pb, name + "Response"))

    def infer(self, body, model="tiny", **headers):
        return self.server.post("/v2/models/%s/infer" % model, body, **headers)

    def refused(self, answer, status, text):
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (status, "application/json"), answer)
        self.assertIn(text, answer.json["error"])


class Rest(Served):
    def test_tells_of_the_server(self):
        self.assertEqual(self.server.get("/v2/health/live").json, {"live": True})
        self.assertEqual(self.server.get("/v2/health/ready").json, {"ready": True})
        answer = self.server.get("/v2")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json["extensions"], ["binary_tensor_data", "model_repository"])

    def test_describes_the_model(self):
        want = {"name": "tiny", "versions": ["1"], "platform": "tensorflow_savedmodel",
                "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 1]}],
                "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 1]}]}
        for path in ("/v2/models/tiny", "/v2/models/tiny/versions/1", "/v2/models/tiny?a=b"):
            self.assertEqual(self.server.get(path).json, want)
        self.assertEqual(self.server.get("/v2/models/tiny/ready").json, {"name": "tiny", "ready": True})
        answer = self.server.get("/v2/models/tiny/versions/2/ready")
        self.assertEqual((answer.status, answer.json), (503, {"name": "tiny", "ready": False}))
        for path in ("/v2/models/none", "/v2/models/none/ready", "/v2/models/tiny/versions/2"):
            self.assertEqual(self.server.get(path).status, 404, path)

    def test_infers(self):
        answer = self.infer({"id": "42", "inputs": [X]})
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "application/json"))
        self.assertEqual(answer.json, {"model_name": "tiny", "model_version": "1", "id": "42",
                                       "outputs": [given("y", "FP32", [2, 1], [2.5, 3.0])]})
        nested = dict(X, data=[[1.0], [2.0]])
        self.assertEqual(self.infer({"inputs": [nested]}, model="tiny/versions/1").json["outputs"], answer.json["outputs"])

    def test_chooses_a_signature_and_outputs(self):
        answer = self.infer({"parameters": {"signature_name": "two"}, "inputs": [given("a", "FP32", [1], [5])], "outputs": [{"name": "b"}]})
        self.assertEqual(answer.json["outputs"], [given("b", "INT32", [1], [7])])

    def types_request(self):
        inputs = [given("in_" + name, datatype, [2], data) for name, (datatype, data, _) in TYPES.items()]
        return {"parameters": {"signature_name": "types"}, "inputs": inputs + [given("in_string", "BYTES", [2], TEXTS)]}

    def test_every_datatype_comes_back_in_json(self):
        answer = self.infer(self.types_request())
        self.assertEqual({o["name"]: (o["datatype"], o["shape"], o["data"]) for o in answer.json["outputs"]},
                         {"out_" + name: (datatype, [2], data) for name, (datatype, data, _) in TYPES.items()} |
                         {"out_string": ("BYTES", [2], TEXTS)})

    def test_every_datatype_comes_back_in_binary(self):
        request, data = self.types_request(), []
        request["parameters"]["binary_data_output"] = True
        for item in request["inputs"]:
            name = item["name"][3:]
            data.append(raw_texts(TEXTS) if name == "string" else struct.pack(TYPES[name][2], *item["data"]))
            del item["data"]
            item["parameters"] = {"binary_data_size": len(data[-1])}
        body, headers = binary_body(request, *data)
        answer = self.infer(body, headers=headers)
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, OCTETS), answer)
        size = int(answer.headers[HEADER])
        at, sent = size, {item["name"][3:]: part for item, part in zip(request["inputs"], data)}
        for output in json.loads(answer.body[:size])["outputs"]:
            end = at + output["parameters"]["binary_data_size"]
            self.assertEqual(answer.body[at:end], sent[output["name"][4:]], output)
            at = end
        self.assertEqual(at, len(answer.body))

    def test_a_body_may_be_the_only_input(self):
        answer = self.infer(struct.pack("<2f", 1, 2), headers={HEADER: "0"})
        size = int(answer.headers[HEADER])
        self.assertEqual(json.loads(answer.body[:size])["outputs"],
                         [{"name": "y", "datatype": "FP32", "shape": [2, 1], "parameters": {"binary_data_size": 8}}])
        self.assertEqual(answer.body[size:], struct.pack("<2f", 2.5, 3))

    def test_compressed_bodies_are_expanded(self):
        body = json.dumps({"inputs": [X]}).encode()
        want = self.infer(body).json
        for encoding, compress in (("gzip", gzip.compress), ("deflate", zlib.compress)):
            data, bomb = compress(body), compress(bytes((100 << 20) + 1))
            self.assertEqual(self.infer(data, headers={"Content-Encoding": encoding}).json, want, encoding)
            for damaged in (data[:-1], body):
                self.refused(self.infer(damaged, headers={"Content-Encoding": encoding}), 400, "the body is damaged or cut short")
            self.refused(self.infer(bomb, headers={"Content-Encoding": encoding}), 400, "the body expands beyond 104857600 bytes")
            self.assertEqual(self.server.post("/v2/repository/index", b"", headers={"Content-Encoding": encoding}).status, 200)  # nothing to expand
        # TensorFlow Serving does not look at this encoding, so that any body may have it.
        answer = self.server.post("/v1/models/tiny:predict", {"instances": [[1.0]]}, headers={"Content-Encoding": "deflate"})
        self.assertEqual(answer.json, {"predictions": [[2.5]]})

    def test_large_bodies_are_read_in_the_pool(self):
        count = 100000
        body, headers = binary_body({"inputs": [{"name": "x", "shape": [count, 1], "datatype": "FP32",
                                                 "parameters": {"binary_data_size": 4 * count}}],
                                     "outputs": [{"name": "y", "parameters": {"binary_data": True}}]}, struct.pack("<f", 2) * count)
        answer = self.infer(body, headers=headers)
        self.assertEqual(answer.body[int(answer.headers[HEADER]):], struct.pack("<f", 3) * count)

    def test_refuses(self):
        for request, text in (({"inputs": [dict(X, shape=[1, 2])]}, "input 'x': shape [1,2], signature wants [?,1]"),
                              ({"inputs": [dict(X, datatype="FP64")]}, "input 'x': datatype FP64, signature wants FP32"),
                              ({"inputs": [dict(X, name="z\0z")]}, "input 'z\\000z' is not in the signature 'serving_default', which has: x"),
                              ({"inputs": [dict(X, name="z")]}, "input 'z' is not in the signature 'serving_default', which has: x"),
                              ({"inputs": []}, "input 'x' of the signature 'serving_default' is not in the request"),
                              ({"inputs": [X], "outputs": [{"name": "z"}]}, "output 'z' is not in the signature"),
                              ({"inputs": [X], "parameters": {"signature_name": "no"}}, "model 'tiny' has no signature 'no'"),
                              (b"{", "JSON Parse error")):
            self.refused(self.infer(request), 400, text)
        self.refused(self.infer({"inputs": [X]}, model="none"), 404, "Servable not found for request: Latest(none)")
        self.refused(self.infer(b"{}", headers={HEADER: "x"}), 400, "is not a size")
        self.refused(self.infer(b"{}", headers={HEADER: "3"}), 400, "the body has 2 bytes")
        self.refused(self.infer(b"{}", headers={HEADER: "3 \t "}), 400, "the body has 2 bytes")
        answer = self.server.get("/v2/models/tiny/infer")
        self.assertEqual((answer.status, answer.headers.get("Allow")), (405, "POST"))
        for path in ("/v2/models/tiny/stats", "/v2/models/tiny/versions/x/ready", "/v2/systemsharedmemory/status", "/v2/logging", "/v2/"):
            self.refused(self.server.get(path), 404, path + " is not in the Open Inference Protocol")

    def test_lists_the_repository_and_changes_nothing(self):
        want = [{"name": "tiny", "version": "1", "state": "READY", "reason": ""}]
        for body in (b"", {"ready": True}):
            self.assertEqual(self.server.post("/v2/repository/index", body).json, want)
        for change in ("load", "unload"):
            self.refused(self.server.post("/v2/repository/models/tiny/" + change, b""), 400, "model 'tiny' is not %sed" % change)
        self.assertEqual(self.server.post("/v2/repository/models/none/load", b"").status, 404)


class Grpc(Served):
    def request(self, **more):
        request = self.pb.ModelInferRequest(model_name="tiny", **more)
        request.inputs.add(name="x", datatype="FP32", shape=[2, 1])
        return request

    def test_tells_of_the_server_and_the_model(self):
        pb = self.pb
        self.assertTrue(self.call("ServerLive", pb.ServerLiveRequest()).message.live)
        self.assertTrue(self.call("ServerReady", pb.ServerReadyRequest()).message.ready)
        self.assertEqual(self.call("ServerMetadata", pb.ServerMetadataRequest()).message.name, "modelserver")
        self.assertTrue(self.call("ModelReady", pb.ModelReadyRequest(name="tiny", version="1")).message.ready)
        self.assertFalse(self.call("ModelReady", pb.ModelReadyRequest(name="tiny", version="2")).message.ready)
        self.assertEqual(self.call("ModelReady", pb.ModelReadyRequest(name="none")).code, "NOT_FOUND")
        metadata = self.call("ModelMetadata", pb.ModelMetadataRequest(name="tiny")).message
        self.assertEqual((metadata.platform, list(metadata.versions)), ("tensorflow_savedmodel", ["1"]))
        self.assertEqual((metadata.inputs[0].name, metadata.inputs[0].datatype, list(metadata.inputs[0].shape)), ("x", "FP32", [-1, 1]))

    def test_infers_with_raw_contents(self):
        request = self.request(id="42")
        request.raw_input_contents.append(struct.pack("<2f", 1, 2))
        for number in range(5):  # the server does not parse the third one
            request.raw_input_contents[0] = struct.pack("<2f", 2 * number, 2)
            answer = self.call("ModelInfer", request)
            message = answer.message
            self.assertEqual((answer.code, message.model_name, message.model_version, message.id), ("OK", "tiny", "1", "42"))
            self.assertEqual((message.outputs[0].name, message.outputs[0].datatype, list(message.outputs[0].shape)), ("y", "FP32", [2, 1]))
            self.assertEqual(list(message.raw_output_contents), [struct.pack("<2f", number + 2, 3)])

    def test_infers_with_typed_contents(self):
        request = self.request(model_version="1")
        request.inputs[0].contents.fp32_contents.extend([1, 2])
        message = self.call("ModelInfer", request).message
        self.assertEqual(list(message.outputs[0].contents.fp32_contents), [2.5, 3])
        self.assertFalse(message.raw_output_contents)

    def test_every_datatype_comes_back(self):
        request = self.pb.ModelInferRequest(model_name="tiny")
        request.parameters["signature_name"].string_param = "types"
        sent = {}
        for name, (datatype, data, form) in TYPES.items():
            request.inputs.add(name="in_" + name, datatype=datatype, shape=[2])
            request.raw_input_contents.append(struct.pack(form, *data))
            sent["out_" + name] = request.raw_input_contents[-1]
        request.inputs.add(name="in_string", datatype="BYTES", shape=[2])
        request.raw_input_contents.append(raw_texts(TEXTS))
        sent["out_string"] = request.raw_input_contents[-1]
        message = self.call("ModelInfer", request).message
        self.assertEqual(dict(zip((o.name for o in message.outputs), message.raw_output_contents)), sent)

    def test_refuses(self):
        request = self.request()
        request.raw_input_contents.append(b"12345678")
        request.model_name = "none"
        self.assertEqual(self.call("ModelInfer", request).code, "NOT_FOUND")
        request.model_name, request.model_version = "tiny", "2"
        self.assertEqual(self.call("ModelInfer", request).code, "NOT_FOUND")
        request.model_version = "99999999999999999999"
        self.assertEqual(self.call("ModelInfer", request).code, "INVALID_ARGUMENT")
        self.assertEqual(self.call("ModelInfer", b"\x2a\xff").code, "INTERNAL")
        request.model_version = ""
        request.parameters["signature_name"].int64_param = 1
        answer = self.call("ModelInfer", request)
        self.assertEqual((answer.code, answer.text), ("INVALID_ARGUMENT", "'signature_name' is not a string"))
        answer = self.client.call(INFERENCE + "ModelStatistics", b"", self.pb.ServerLiveResponse)
        self.assertEqual(answer.code, "UNIMPLEMENTED")

    def test_lists_the_repository_and_changes_nothing(self):
        pb = self.pb
        models = self.call("RepositoryIndex", pb.RepositoryIndexRequest(ready=True)).message.models
        self.assertEqual([(m.name, m.version, m.state, m.reason) for m in models], [("tiny", "1", "READY", "")])
        for change in ("Load", "Unload"):
            name = "RepositoryModel" + change
            answer = self.call(name, getattr(pb, name + "Request")(model_name="tiny"))
            self.assertEqual(answer.code, "FAILED_PRECONDITION")
            self.assertIn("model 'tiny' is not %sed" % change.lower(), answer.text)

    def test_reflection_knows_the_service(self):
        answer = self.client.reflect(list_services="")
        self.assertIn("inference.GRPCInferenceService", [s.name for s in answer.list_services_response.service])


class Control(TestCase):
    """--allow_model_control: clients unload and load the configured models."""

    def change(self, what, name, body=b""):
        return self.server.post("/v2/repository/models/%s/%s" % (name, what), body)

    def index(self):
        return [(m["name"], m["version"], m["state"], m["reason"]) for m in self.server.post("/v2/repository/index", b"").json]

    def test_rest(self):
        base = self.path("tiny")
        tiny_model.write(os.path.join(base, "1"))
        with Server(base, "--allow_model_control", "--max_num_load_retries=0", name="tiny", grpc=True) as self.server:
            self.assertEqual(self.change("load", "tiny").status, 200)  # it is loaded
            for what in ("load", "unload"):
                self.assertEqual(self.change(what, "tiny", b"{").status, 400)
            for _ in range(2):
                self.assertEqual(self.change("unload", "tiny", {"parameters": {"unload_dependents": False}}).status, 200)
                self.server.wait_for_state(1, "END", name="tiny")
                self.assertEqual(self.server.post("/v2/models/tiny/infer", {"inputs": [X]}).status, 404)
                self.assertEqual(self.index(), [("tiny", "1", "UNAVAILABLE", "unloaded")])
                self.assertEqual((self.server.get("/v2/health/ready").status, self.server.get("/readyz").status), (200, 200))
                self.assertEqual(self.server.get("/v2/models/tiny/ready").json, {"name": "tiny", "ready": False})
                self.assertEqual(self.change("load", "tiny", {}).status, 200)
                self.assertEqual(self.server.post("/v2/models/tiny/infer", {"inputs": [X]}).status, 200)  # it serves when the answer is there
            for what in ("load", "unload"):
                answer = self.change(what, "none")
                self.assertEqual((answer.status, answer.json["error"]), (404, "model 'none' is not configured"))
            self.assertEqual(self.change("load", "tiny", {"parameters": {"config": "{}"}}).status, 501)
            self.change("unload", "tiny")
            self.server.wait_for_state(1, "END", name="tiny")
            os.rename(base, self.path("gone"))
            os.mkdir(base)
            answer = self.change("load", "tiny")
            self.assertEqual(answer.status, 500, answer)
            self.assertIn("{name: tiny} has no version in its base path", answer.json["error"])

    def test_grpc_and_a_reload(self):
        from grpc_client import MODEL, messages
        tiny_model.write(self.path("tiny", "1"))
        with Server(self.path("tiny"), "--allow_model_control", name="tiny", grpc=True) as self.server, \
                Client("127.0.0.1:%d" % self.server.grpc_port) as client:
            pb = module("open_inference")

            def change(what):
                name = "RepositoryModel" + what
                return client.call(INFERENCE + name, getattr(pb, name + "Request")(model_name="tiny"), getattr(pb, name + "Response")).code

            def reload(*names):
                request = messages().ReloadConfigRequest()
                for name in names:
                    request.config.model_config_list.config.add(name=name, base_path=self.path("tiny"), model_platform="tensorflow")
                return client.call(MODEL + "HandleReloadConfigRequest", request, messages().ReloadConfigResponse).code
            self.assertEqual(change("Unload"), "OK")
            self.server.wait_for_state(1, "END", name="tiny")
            self.assertEqual(reload("tiny", "other"), "OK")
            self.assertEqual(self.server.get("/v1/models/tiny").json["model_version_status"][0]["state"], "END")  # it stays unloaded
            self.assertEqual(change("Load"), "OK")
            self.assertEqual(self.server.post("/v2/models/tiny/infer", {"inputs": [X]}).status, 200)
            self.assertEqual(change("Unload"), "OK")
            self.assertEqual((reload("other"), reload("tiny")), ("OK", "OK"))  # it was left out in between
            self.assertEqual(self.server.post("/v2/models/tiny/infer", {"inputs": [X]}).status, 200)


del Served

if __name__ == "__main__":
    main()

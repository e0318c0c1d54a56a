"""Predict requests and answers that are no JSON: Content-Type and Accept of /v1/models/M:predict."""
import io
import os
import struct
import tempfile

import numpy
import tiny_model
from grpc_client import PREDICTION, Client, messages, tensor
from harness import Server, TestCase, main

OCTETS, NPY, PROTOBUF = "application/octet-stream", "application/x-npy", "application/x-protobuf"


def npy(*rows, dtype=numpy.float32):
    file = io.BytesIO()
    numpy.save(file, numpy.array(rows, dtype))
    return file.getvalue()


class Bodies(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        base = os.path.join(cls.directory.name, "tiny")
        tiny_model.write(os.path.join(base, "1"))
        cls.server = Server(base, name="tiny", grpc="same")
        cls.client = Client("127.0.0.1:%d" % cls.server.port)

    @classmethod
    def tearDownClass(cls):
        cls.client.__exit__()
        status = cls.server.stop()
        cls.directory.cleanup()
        assert status == 0, cls.server.output()

    def refused(self, answer, status, text):
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (status, "application/json"), answer)
        self.assertIn(text, answer.json["error"])

    def predict(self, body, content=None, accept=None, **headers):
        headers = {"x-slipway-" + key: value for key, value in headers.items()}
        if content:
            headers["Content-Type"] = content
        if accept:
            headers["Accept"] = accept
        return self.server.post("/v1/models/tiny:predict", body, headers=headers)

    def test_other_types_mean_json(self):
        for content in ("application/x-www-form-urlencoded", "text/plain", "application/json", None):
            answer = self.predict({"instances": [[1.0]]}, content, "*/*")
            self.assertEqual((answer.status, answer.json), (200, {"predictions": [[2.5]]}))

    def test_raw_elements(self):
        body = struct.pack("<2f", 1, 2)
        self.assertEqual(self.predict(body, OCTETS).json, {"outputs": [[2.5], [3.0]]})
        answer = self.predict(body, OCTETS, OCTETS)
        self.assertEqual((answer.body, answer.headers["Content-Type"]), (struct.pack("<2f", 2.5, 3), OCTETS))
        self.assertEqual((answer.headers["x-slipway-shape"], answer.headers["x-slipway-datatype"]), ("2,1", "FP32"))
        self.assertEqual(self.predict(body, OCTETS, shape="2,1").json, {"outputs": [[2.5], [3.0]]})
        self.refused(self.predict(body, OCTETS, shape="1,2"), 400, "input 'x': shape [1,2], signature wants [?,1]")
        self.refused(self.predict(body[:-1], OCTETS), 400, "7 bytes are not the elements of [1,1] of type float")
        self.refused(self.predict(body, OCTETS, signature="two"), 400, "the signature 'two' has 2 inputs")
        self.refused(self.predict(body, OCTETS, signature="no"), 400, "\"no\" not found in signature def")

    def test_blanks_after_the_value_of_a_header(self):
        answer = self.predict(struct.pack("<f", 1), OCTETS + " ", OCTETS + "\t", shape="1,1 \t", signature="serving_default ")
        self.assertEqual((answer.status, answer.body), (200, struct.pack("<f", 2.5)), answer)
        self.assertIn("explain", self.predict({"instances": [[1.0]]}, explain="1 ").json)

    def test_large_bodies(self):
        """Read in the loop or in the pool: below and above 64 KiB and 1 MiB, with and without a shape; twice, because the first run of a
        size is in the pool."""
        for count in (1000, 20000, 300000):
            x = numpy.arange(count, dtype=numpy.float32).reshape(count, 1)
            for content, body, more in ((OCTETS, x.tobytes(), {}), (OCTETS, x.tobytes(), {"shape": "%d,1" % count}), (NPY, npy(*x), {})) * 2:
                answer = self.predict(body, content, OCTETS, **more)
                self.assertEqual(answer.status, 200)
                self.assertTrue((numpy.frombuffer(answer.body, numpy.float32) == x[:, 0] / 2 + 2).all())
            self.refused(self.predict(x.tobytes() + b"1", OCTETS), 400, "are not the elements of [%d,1] of type float" % count)

    def test_npy(self):
        answer = self.predict(npy([1], [2]), NPY, NPY)
        self.assertEqual(answer.headers["Content-Type"], NPY)
        array = numpy.load(io.BytesIO(answer.body))
        self.assertEqual((array.dtype, array.tolist()), (numpy.float32, [[2.5], [3.0]]))
        self.refused(self.predict(npy([1], [2], dtype=numpy.float64), NPY), 400, "input 'x': datatype FP64, signature wants FP32")
        self.refused(self.predict(b"{}", NPY), 400, "not a .npy file")

    def test_protobuf(self):
        m = messages()
        request = m.PredictRequest()
        request.inputs["x"].CopyFrom(tensor(1, [2, 1], [1, 2]))
        for name in ("", "tiny"):
            request.model_spec.name = name
            answer = self.predict(request.SerializeToString(), PROTOBUF, PROTOBUF)
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, PROTOBUF), answer)
            response = m.PredictResponse.FromString(answer.body)
            self.assertEqual((list(response.outputs["y"].float_val), response.model_spec.version.value), ([2.5, 3], 1))
            self.assertEqual(self.predict(request.SerializeToString(), PROTOBUF).json, {"outputs": [[2.5], [3.0]]})
        by_grpc = self.client.call(PREDICTION + "Predict", request, m.PredictResponse).message
        self.assertEqual(by_grpc, response)
        response = m.PredictResponse.FromString(self.predict({"instances": [[1], [2]]}, accept=PROTOBUF).body)
        self.assertEqual(by_grpc, response)
        request.model_spec.name = "other"
        self.refused(self.predict(request.SerializeToString(), PROTOBUF), 400, "the URL names the model 'tiny', the PredictRequest 'other'")
        self.refused(self.predict(b"\x0a\xff", PROTOBUF), 500, "Failed to parse tensorflow.serving.PredictRequest")

    def test_an_answer_of_several_tensors(self):
        body = {"signature_name": "pair", "inputs": {"a": [1.0], "b": [2]}}
        for accept in (OCTETS, NPY):
            self.refused(self.predict(body, accept=accept), 400, "holds one tensor, but the signature 'pair' has 2 outputs")
        response = messages().PredictResponse.FromString(self.predict(body, accept=PROTOBUF).body)
        self.assertEqual(sorted(response.outputs), ["a", "b"])

    def test_the_outputs_that_a_predict_request_chooses(self):
        request = messages().PredictRequest()
        request.model_spec.signature_name = "pair"
        request.inputs["a"].CopyFrom(tensor(1, [1], [1.0]))
        request.inputs["b"].CopyFrom(tensor(3, [1], [2]))
        whole = self.predict(request.SerializeToString(), PROTOBUF).json["outputs"]
        self.refused(self.predict(request.SerializeToString(), PROTOBUF, OCTETS), 400, "the signature 'pair' has 2 outputs")
        for names in (["b"], ["b", "a"]):
            request.output_filter[:] = names
            outputs = self.predict(request.SerializeToString(), PROTOBUF).json["outputs"]
            self.assertEqual(outputs, {name: whole[name] for name in names} if len(names) > 1 else whole[names[0]])
            response = messages().PredictResponse.FromString(self.predict(request.SerializeToString(), PROTOBUF, PROTOBUF).body)
            self.assertEqual(sorted(response.outputs), sorted(names))
        request.output_filter[:] = ["a"]
        answer = self.predict(request.SerializeToString(), PROTOBUF, NPY)
        self.assertEqual(numpy.load(io.BytesIO(answer.body)).tolist(), whole["a"])


if __name__ == "__main__":
    main()

"""gRPC and REST give the same answers: one table of requests, sent both ways; and requests that only gRPC has."""
import os
import struct
import tempfile
import threading
import time

import tiny_model
from grpc_client import Client, messages, module, tensor, values
from harness import DEADLINE_S, Server, TestCase, main, run, single

HTTP = {"OK": 200, "INVALID_ARGUMENT": 400, "NOT_FOUND": 404, "FAILED_PRECONDITION": 400, "UNIMPLEMENTED": 501, "INTERNAL": 500}
NUMBERS = tiny_model.DTYPES


class Row:
    """One request, both ways. verb: predict, classify or regress; inputs: {key: (dtype, shape, values)} or a list of Examples as
    JSON has them. text: the error's words, None where it is answered."""

    def __init__(self, label, verb, inputs, signature="", model="tiny", version=None, version_label=None, context=None, code="OK",
                 text=None, grpc=None):
        self.label, self.verb, self.inputs, self.signature, self.model = label, verb, inputs, signature, model
        self.version, self.version_label, self.context, self.code, self.text = version, version_label, context, code, text
        self.grpc = grpc or (code, text)  # gRPC has a text of its own here

    def path(self):
        selector = "/versions/%d" % self.version if self.version is not None else \
            "/labels/" + self.version_label if self.version_label else ""
        return "/v1/models/%s%s:%s" % (self.model, selector, self.verb)

    def body(self):
        body = {"signature_name": self.signature} if self.signature else {}
        if self.verb == "predict":
            body["inputs"] = {key: nest(shape, data) for key, (_, shape, data) in self.inputs.items()}
        else:
            body["examples"] = self.inputs
            if self.context:
                body["context"] = self.context
        return body

    def spec(self):
        spec = messages().ModelSpec(name=self.model, signature_name=self.signature)
        if self.version is not None:
            spec.version.value = self.version
        elif self.version_label:
            spec.version_label = self.version_label
        return spec

    def request(self):
        m = messages()
        if self.verb == "predict":
            request = m.PredictRequest(model_spec=self.spec())
            for key, (dtype, shape, data) in self.inputs.items():
                data = [v.encode() if isinstance(v, str) else v for v in data]
                request.inputs[key].CopyFrom(tensor(NUMBERS[dtype], shape, data))
            return request
        request = (m.ClassificationRequest if self.verb == "classify" else m.RegressionRequest)(model_spec=self.spec())
        if self.context:
            request.input.example_list_with_context.context.CopyFrom(example(self.context))
        target = request.input.example_list_with_context if self.context else request.input.example_list
        target.examples.extend(example(e) for e in self.inputs)
        request.input.SetInParent()
        return request


def nest(shape, data):
    if not shape:
        return data[0]
    step = len(data) // shape[0] if shape[0] else 0
    return [nest(shape[1:], data[i * step:(i + 1) * step]) for i in range(shape[0])]


def example(features):
    message = module("example").Example()
    for key, value in features.items():
        for v in value if isinstance(value, list) else [value]:
            kind = message.features.feature[key]
            if isinstance(v, str):
                kind.bytes_list.value.append(v.encode())
            elif isinstance(v, float):
                kind.float_list.value.append(v)
            else:
                kind.int64_list.value.append(v)
    return message


def of_rest(row, answer):
    """The answer of REST as plain values, floats as float32."""
    if row.verb != "predict":
        return answer["results"]
    outputs = answer["outputs"]
    return outputs if isinstance(outputs, dict) else {"": outputs}


def of_grpc(row, message):
    if row.verb == "classify":
        return [[[c.label, c.score] for c in r.classes] for r in message.result.classifications]
    if row.verb == "regress":
        return [r.value for r in message.result.regressions]
    outputs = {}
    for key, value in message.outputs.items():
        shape, data = values(value)
        outputs[key] = nest(shape, [v.decode() if isinstance(v, bytes) else v for v in data])
    return outputs if len(outputs) > 1 else {"": list(outputs.values())[0]}


X = {"x": ("float", [2, 1], [1.0, 3.0])}
PAIR = {"a": ("float", [1], [1.5]), "b": ("int32", [1], [-2])}
TYPES = {"in_float": ("float", [2], [1.5, float("-inf")]), "in_double": ("double", [2], [0.1, -1e300]),
         "in_int32": ("int32", [2], [-2**31, 2**31 - 1]), "in_uint8": ("uint8", [2], [0, 255]), "in_int16": ("int16", [2], [-2**15, 5]),
         "in_int8": ("int8", [2], [-128, 127]), "in_string": ("string", [2], ["", "aß\0b"]), "in_int64": ("int64", [2], [-2**63, 2**63 - 1]),
         "in_bool": ("bool", [2], [True, False]), "in_uint32": ("uint32", [2], [0, 2**32 - 1]), "in_uint64": ("uint64", [2], [1, 2**64 - 1])}
NOT_FOUND = "Servable not found for request: "
ROWS = [
    Row("predict", "predict", X),
    Row("predict by version", "predict", X, version=1),
    Row("predict by the signature's name", "predict", X, signature="serving_default"),
    Row("a batch of none", "predict", {"x": ("float", [0], [])}),
    Row("several inputs and outputs", "predict", PAIR, signature="pair"),
    Row("13 dimensions", "predict", {"x": ("float", [2] + [1] * 11 + [3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])}),
    Row("254 dimensions", "predict", {"x": ("float", [1] * 100 + [2] + [1] * 153, [1.0, 3.0])}),
    Row("many dimensions of every kind", "predict", {"a": ("float", [2] * 13, [0.5] * 2**13), "b": ("int32", [1] * 20, [5])}, signature="pair"),
    Row("classify", "classify", [{"x": 1.0}, {"x": [4.0]}], signature="classify_x"),
    Row("regress", "regress", [{"x": 1.0}, {"x": 3.0}], signature="regress_x_to_y"),
    Row("the context stands in", "regress", [{}, {"x": 3.0}], context={"x": 8.0}, signature="regress_x_to_y"),
    Row("unknown model", "predict", X, model="none", code="NOT_FOUND", text=NOT_FOUND + "Latest(none)"),
    Row("unknown version", "predict", X, version=9, code="NOT_FOUND", text=NOT_FOUND + "Specific(tiny, 9)"),
    Row("unknown label", "predict", X, version_label="best", code="INVALID_ARGUMENT", text="Unrecognized servable version label: best"),
    Row("unknown signature with a NUL", "predict", X, signature="n\0o", code="INVALID_ARGUMENT",
        text='Serving signature name: "n\\000o" not found in signature def',
        grpc=("FAILED_PRECONDITION", 'Serving signature key "n\\000o" not found.')),
    Row("unknown signature", "predict", X, signature="no", code="INVALID_ARGUMENT",
        text='Serving signature name: "no" not found in signature def',
        grpc=("FAILED_PRECONDITION", 'Serving signature key "no" not found.')),
    Row("unknown signature of examples", "classify", [{"x": 1.0}], signature="no", code="INVALID_ARGUMENT",
        text="No signature was found with the name: no"),
    Row("classify what does not", "classify", [{"x": 1.0}], code="INVALID_ARGUMENT",
        text="No classification inputs found in SignatureDef: inputs {x} outputs {y}"),
    Row("regress what does not", "regress", [{"x": 1.0}], signature="classify_x", code="INVALID_ARGUMENT",
        text="No regression outputs found in SignatureDef: outputs {scores}"),
    Row("regress with two inputs", "regress", [{"x": 1.0}], signature="pair", code="INVALID_ARGUMENT", text="Expected one input Tensor."),
    Row("examples for an unknown model", "regress", [{"x": 1.0}], model="none", code="NOT_FOUND", text=NOT_FOUND + "Latest(none)"),
]
# The text comes from the graph and is the same both ways.
GRAPH_ROWS = [
    Row("a feature that is missing", "regress", [{"z": 1.0}], signature="regress_x_to_y", code="INVALID_ARGUMENT"),
    Row("a feature of another kind", "regress", [{"x": 1}], signature="regress_x_to_y", code="INVALID_ARGUMENT"),
    Row("a feature of another length", "regress", [{"x": [1.0, 2.0]}], signature="regress_x_to_y", code="INVALID_ARGUMENT"),
]


class Both(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        base = os.path.join(cls.work.name, "tiny")
        tiny_model.write(os.path.join(base, "1"))
        cls.server = Server(base, "--enable_grpc_healthcheck_service", name="tiny", grpc=True)
        cls.client = Client("127.0.0.1:%d" % cls.server.grpc_port)

    @classmethod
    def tearDownClass(cls):
        cls.client.channel.close()
        status = cls.server.stop()
        cls.work.cleanup()
        assert status == 0, cls.server.output()

    def ask(self, row):
        return self.server.post(row.path(), row.body()), getattr(self.client, row.verb)(row.request())

    def same_values(self, row, rest, grpc):
        if isinstance(rest, dict):
            self.assertEqual(set(rest), set(grpc))
            for key in rest:
                self.same_values(row, rest[key], grpc[key])
        elif isinstance(rest, list):
            self.assertEqual(len(rest), len(grpc))
            for a, b in zip(rest, grpc):
                self.same_values(row, a, b)
        elif isinstance(rest, float):
            self.assertIn(grpc, (rest, single(rest) if abs(rest) < 1e38 else rest))
        else:
            self.assertEqual(rest, grpc)

    def test_one_table_of_requests(self):
        for row in ROWS:
            with self.subTest(row.label):
                rest, grpc = self.ask(row)
                self.assertEqual((rest.status, grpc.code), (HTTP[row.code], row.grpc[0]), (rest, grpc))
                if row.code == "OK":
                    self.same_values(row, of_rest(row, rest.json), of_grpc(row, grpc.message))
                    spec = grpc.message.model_spec
                    self.assertEqual((spec.name, spec.version.value, spec.signature_name, spec.version_label),
                                     ("tiny", 1, row.signature or "serving_default", ""))
                else:
                    self.assertEqual(rest.json["error"], row.text)
                    self.assertEqual(grpc.text, row.grpc[1])

    def test_what_the_graph_says_is_told_both_ways(self):
        for row in GRAPH_ROWS:
            with self.subTest(row.label):
                rest, grpc = self.ask(row)
                self.assertEqual((rest.status, grpc.code), (HTTP[row.code], row.code), (rest, grpc))
                self.assertEqual(rest.json["error"], grpc.text)

    def test_the_answer_itself(self):
        answer = self.client.predict(ROWS[0].request())
        self.assertEqual(values(answer.message.outputs["y"]), ([2, 1], [2.5, 3.5]))
        row = next(r for r in ROWS if r.context)
        self.assertEqual(of_grpc(row, self.client.regress(row.request()).message), [6.0, 3.5])

    def test_every_dtype_both_ways(self):
        row = Row("types", "predict", {**TYPES, "in_half": ("half", [2], [0x3c00, 0])}, signature="types")
        grpc = self.client.predict(row.request())
        self.assertEqual(grpc.code, "OK", grpc)
        for key, (dtype, shape, data) in row.inputs.items():
            data = [v.encode() if isinstance(v, str) else v for v in data]
            self.assertEqual(values(grpc.message.outputs[key.replace("in_", "out_")]), (shape, data), key)

    def test_tensors_in_every_form(self):
        content = tensor(1, [2, 1], [])
        content.tensor_content = struct.pack("<2f", 1, 3)
        repeated = tensor(1, [2, 1], [3.0])
        zeros = tensor(1, [2, 1], [])
        for form, wanted in ((content, [2.5, 3.5]), (repeated, [3.5, 3.5]), (zeros, [2.0, 2.0])):
            request = messages().PredictRequest(model_spec=ROWS[0].spec())
            request.inputs["x"].CopyFrom(form)
            for name in ("", "longer", "other names move what follows"):  # and so does the alignment
                request.client_id = name.encode()
                answer = self.client.predict(request)
                self.assertEqual(values(answer.message.outputs["y"]), ([2, 1], wanted))

    def test_requests_that_differ_in_their_numbers_only(self):
        """A repeated form is recognised; a request of another form in between changes nothing."""
        forms = [([2, 1], ""), ([2, 1], "serving_default"), ([3, 1], ""), ([1, 1], "")]
        for n in range(4):
            for shape, signature in forms:
                numbers = [float(10 * n + i) for i in range(shape[0])]
                for content in (False, True):
                    request = Row("", "predict", {"x": ("float", shape, numbers)}, signature=signature).request()
                    if content:
                        request.inputs["x"].CopyFrom(tensor(1, shape, []))
                        request.inputs["x"].tensor_content = struct.pack("<%df" % len(numbers), *numbers)
                    with self.subTest(n=n, shape=shape, signature=signature, content=content):
                        answer = self.client.predict(request)
                        self.assertEqual(values(answer.message.outputs["y"]), (shape, [x / 2 + 2 for x in numbers]))
                        self.assertEqual(answer.message.model_spec.signature_name, signature or "serving_default")
            row = Row("", "predict", X, version=9 if n % 2 else 1)
            self.assertEqual(self.client.predict(row.request()).code, "NOT_FOUND" if n % 2 else "OK")

    def test_a_known_request_is_answered_by_the_version_that_serves(self):
        with tempfile.TemporaryDirectory() as work:
            base = os.path.join(work, "tiny")
            tiny_model.write(os.path.join(base, "1"))
            with Server(base, "--file_system_poll_wait_seconds=1", name="tiny", grpc=True) as server:
                client = Client("127.0.0.1:%d" % server.grpc_port)
                request, seen, deadline = Row("", "predict", X).request(), [], time.monotonic() + DEADLINE_S
                while 3 not in seen and time.monotonic() < deadline:
                    answer = client.predict(request)
                    self.assertEqual(values(answer.message.outputs["y"]), ([2, 1], [2.5, 3.5]))
                    if answer.message.model_spec.version.value not in seen:
                        seen.append(answer.message.model_spec.version.value)
                        tiny_model.write(os.path.join(base, str(seen[-1] + 1)))
                client.channel.close()
                self.assertEqual(seen, [1, 2, 3])

    def wrong(self, change, code, text, signature=""):
        request = Row("", "predict", PAIR if signature else X, signature=signature).request()
        change(request)
        answer = self.client.predict(request)
        self.assertEqual((answer.code, answer.text), (code, text))

    def test_what_only_grpc_can_ask_wrongly(self):
        bad = "INVALID_ARGUMENT"
        self.wrong(lambda r: r.ClearField("model_spec"), bad, "Missing ModelSpec")
        self.wrong(lambda r: r.model_spec.ClearField("name"), bad, "ModelSpec has no name specified.")
        self.wrong(lambda r: r.inputs["z"].CopyFrom(r.inputs["x"]), bad,
                   "input size does not match signature: 2!=1 len({x,z}) != len({x}). Sent extra: {z}. Missing but required: {}.")
        self.wrong(lambda r: r.inputs.pop("b"), bad,
                   "input size does not match signature: 1!=2 len({a}) != len({a,b}). Sent extra: {}. Missing but required: {b}.", "pair")
        self.wrong(lambda r: (r.inputs["z"].CopyFrom(r.inputs["x"]), r.inputs.pop("x")), bad,
                   "Signature input alias: x(feed name: x:0) not found in request and no default value provided. "
                   "Inputs expected to be in the request {z}, or default input alias set: ")
        self.wrong(lambda r: (r.inputs["z"].CopyFrom(r.inputs["a"]), r.inputs.pop("b")), bad,
                   "Inputs contains invalid name. Used request inputs: a, request input: a,z", "two")
        self.wrong(lambda r: setattr(r.inputs["x"], "tensor_content", b"123"), bad, "tensor parsing error: x")
        self.wrong(lambda r: setattr(r.inputs["x"], "dtype", 0), bad, "tensor parsing error: x")
        self.wrong(lambda r: r.inputs["x"].CopyFrom(tensor(3, [2, 1], [1, 2])), bad,
                   "Expects arg[0] to be float but int32 is provided")
        self.wrong(lambda r: r.output_filter.append("q"), bad,
                   "output tensor alias not found in signature: q Outputs expected to be in the set {a,b}.", "pair")
        self.wrong(lambda r: r.output_filter.extend(["a", "a"]), bad, "duplicate output tensor alias: a", "pair")

    def test_defaults_stand_in(self):
        request = Row("", "predict", PAIR, signature="two").request()
        del request.inputs["b"]
        answer = self.client.predict(request)
        self.assertEqual(values(answer.message.outputs["b"]), ([1], [7]))

    def test_an_output_filter_is_what_is_answered(self):
        request = Row("", "predict", PAIR, signature="pair").request()
        request.output_filter.append("b")
        answer = self.client.predict(request)
        self.assertEqual({k: values(v) for k, v in answer.message.outputs.items()}, {"b": ([1], [-2])})

    def test_what_tensorflow_accepts_beside_a_tensor(self):
        request = Row("", "predict", X).request()
        request.inputs["x"].tensor_shape.unknown_rank = True
        self.assertEqual(self.client.predict(request).code, "OK")
        group = bytes([100 << 3 & 127 | 128 | 3, 100 << 3 >> 7, 8, 5, 100 << 3 & 127 | 128 | 4, 100 << 3 >> 7])  # 100 { 1: 5 }
        serialized = Row("", "predict", X).request().SerializeToString() + group
        answer = self.client.call("/tensorflow.serving.PredictionService/Predict", serialized, messages().PredictResponse)
        self.assertEqual((answer.code, answer.text), ("OK", ""))

    def test_many_dimensions(self):
        self.wrong(lambda r: r.inputs["x"].CopyFrom(tensor(1, [0] * 64, [])), "UNIMPLEMENTED",
                   "input 'x': tensors of rank 64 with more than 63 dimensions other than 1 are not implemented")
        for shape in ([3] + [1] * 12, [1] * 253 + [2]):
            answer = self.server.post("/v1/models/tiny:predict", {"instances": nest(shape, list(range(max(shape))))})
            self.assertEqual(answer.json, {"predictions": nest(shape, [i / 2 + 2 for i in range(max(shape))])})
        # elements of `instances` with 12 dimensions; objects; lists that differ far inside; one level too many
        rows = [{"a": nest([1] * 12, [n]), "b": n} for n in range(2)]
        answer = self.server.post("/v1/models/tiny:predict", {"signature_name": "pair", "instances": rows})
        self.assertEqual(answer.json, {"predictions": [{"a": row["a"], "b": row["b"]} for row in rows]}, answer)
        uneven = nest([2] + [1] * 12, [1, 2])
        uneven[1][0][0][0].append([])
        answer = self.server.post("/v1/models/tiny:predict", {"inputs": uneven})
        self.assertEqual(answer.status, 400)
        self.assertEqual(answer.json["error"], "Expecting 13 levels of lists of equal sizes with elements of type: float, but that "
                         "ends after 2 elements")
        answer = self.server.post("/v1/models/tiny:predict", {"inputs": nest([1] * 255, [1])})
        self.assertEqual((answer.status, answer.json["error"]), (400, "input 'x': Too many dimensions: at most 254"))
        self.wrong(lambda r: r.inputs["x"].CopyFrom(tensor(1, [1] * 255, [1.0])), "INVALID_ARGUMENT", "tensor parsing error: x")

    def test_answers_say_in_which_encodings_requests_may_come(self):
        for request in (Row("", "predict", X).request(), messages().PredictRequest()):  # a message; a failure
            body = request.SerializeToString()
            with open(self.path("call"), "wb") as f:
                f.write(b"\0" + struct.pack(">I", len(body)) + body)
            done = run("/usr/bin/curl", "--silent", "--http2-prior-knowledge", "--dump-header", "-", "--output", "/dev/null",
                       "--header", "content-type: application/grpc", "--header", "te: trailers", "--data-binary", "@" + self.path("call"),
                       "http://127.0.0.1:%d/tensorflow.serving.PredictionService/Predict" % self.server.grpc_port)
            self.assertIn("grpc-accept-encoding: identity,deflate,gzip", done.stdout)

    def test_a_long_error_is_cut(self):
        answer = self.client.predict(messages().PredictRequest(model_spec=messages().ModelSpec(name="n" * 3000)))
        self.assertEqual(answer.code, "NOT_FOUND")
        self.assertTrue(answer.text.endswith("...TRUNCATED"), answer.text)
        self.assertEqual(len(answer.text), 1024 + len("...TRUNCATED"))

    def test_a_few_bytes_that_claim_much_are_refused(self):
        request = Row("", "predict", X).request()
        request.inputs["x"].CopyFrom(tensor(1, [1 << 40, 1], [1.0]))
        self.assertEqual(self.client.predict(request).code, "RESOURCE_EXHAUSTED")

    def test_bytes_that_are_no_message(self):
        for path, text in (("PredictionService/Predict", "PredictRequest"), ("PredictionService/Classify", "ClassificationRequest"),
                           ("PredictionService/Regress", "RegressionRequest"), ("PredictionService/MultiInference", "MultiInferenceRequest"),
                           ("PredictionService/GetModelMetadata", "GetModelMetadataRequest"),
                           ("ModelService/GetModelStatus", "GetModelStatusRequest")):
            answer = self.client.call("/tensorflow.serving." + path, b"\xff\xff\xff", messages().PredictResponse)
            self.assertEqual((answer.code, answer.text), ("INTERNAL", "Failed to parse tensorflow.serving." + text))

    def test_far_too_many_inputs(self):
        def add(request):
            for i in range(5000):
                request.inputs["x%d" % i].CopyFrom(tensor(1, [1], [1.0]))
        self.wrong(add, "INVALID_ARGUMENT", "input size does not match signature: 5001!=1")  # their names are not looked at

    def test_compressed_requests(self):
        import grpc
        m = messages()
        request = Row("", "predict", {"x": ("float", [50000, 1], [1.0] * 50000)}).request()
        for compression in (grpc.Compression.Gzip, grpc.Compression.Deflate):
            with grpc.insecure_channel("127.0.0.1:%d" % self.server.grpc_port, compression=compression) as channel:
                predict = channel.unary_unary("/tensorflow.serving.PredictionService/Predict", m.PredictRequest.SerializeToString,
                                              m.PredictResponse.FromString)
                self.assertEqual(values(predict(request, timeout=DEADLINE_S).outputs["y"]), ([50000, 1], [2.5] * 50000))

    def test_requests_that_say_nothing(self):
        m, bad = messages(), "INVALID_ARGUMENT"
        for answer, text in ((self.client.predict(m.PredictRequest()), "Missing ModelSpec"),
                             (self.client.metadata(m.GetModelMetadataRequest()), "Missing ModelSpec"),
                             (self.client.status(m.GetModelStatusRequest()), "Missing ModelSpec"),
                             (self.client.classify(m.ClassificationRequest()), "Missing ModelSpec"),
                             (self.client.regress(m.RegressionRequest()), "Missing ModelSpec"),
                             (self.client.classify(m.ClassificationRequest(model_spec=m.ModelSpec())), "ModelSpec has no name specified."),
                             (self.client.regress(m.RegressionRequest(model_spec=m.ModelSpec(name="tiny", signature_name="regress_x_to_y"))),
                              "Input is empty.")):
            self.assertEqual((answer.code, answer.text), (bad, text))

    def test_version_0_is_a_version_and_a_label_of_a_status_is_not_looked_at(self):
        m = messages()
        spec = m.ModelSpec(name="tiny")
        spec.version.value = 0
        self.assertEqual(self.client.predict(m.PredictRequest(model_spec=spec)).text, NOT_FOUND + "Specific(tiny, 0)")
        self.assertEqual(self.client.status(m.GetModelStatusRequest(model_spec=spec)).code, "NOT_FOUND")
        spec = m.ModelSpec(name="tiny", version_label="best")
        self.assertEqual(self.client.status(m.GetModelStatusRequest(model_spec=spec)).code, "OK")

    def test_unknown_methods_and_what_is_not_there_yet(self):
        self.assertEqual(self.client.call("/tensorflow.serving.PredictionService/No", b"", messages().PredictResponse).code, "UNIMPLEMENTED")
        answer = self.client.call("/tensorflow.serving.ModelService/HandleReloadConfigRequest", b"", messages().ReloadConfigResponse)
        self.assertEqual((answer.code, answer.text), ("INVALID_ARGUMENT", "ServerModelConfig type not supported by "
                                                      "HandleReloadConfigRequest. Only ModelConfigList is currently supported"))

    def tasks(self, *tasks):
        m = messages()
        request = m.MultiInferenceRequest()
        for model, signature, method in tasks:
            request.tasks.add(model_spec=m.ModelSpec(name=model, signature_name=signature), method_name="tensorflow/serving/" + method)
        request.input.example_list.examples.extend([example({"x": 1.0}), example({"x": 3.0})])
        return request

    def test_multi_inference_in_the_order_of_its_tasks(self):
        answer = self.client.multi_inference(self.tasks(("tiny", "regress_x_to_y2", "regress"), ("tiny", "classify_x", "classify"),
                                                        ("tiny", "regress_x_to_y", "regress")))
        self.assertEqual(answer.code, "OK", answer)
        first, second, third = answer.message.results
        self.assertEqual([r.value for r in first.regression_result.regressions], [3.5, 4.5])
        self.assertEqual([[c.score for c in r.classes] for r in second.classification_result.classifications], [[2.5, 3.5], [3.5, 4.5]])
        self.assertEqual([r.value for r in third.regression_result.regressions], [2.5, 3.5])
        self.assertEqual((first.model_spec.name, first.model_spec.version.value, first.model_spec.signature_name), ("tiny", 1, "regress_x_to_y2"))

    def test_multi_inference_that_is_wrong(self):
        good = ("tiny", "regress_x_to_y", "regress")
        for tasks, code, text in (
                ([], "INVALID_ARGUMENT", "ModelSpec has no name specified."),
                ([good, ("", "classify_x", "classify")], "INVALID_ARGUMENT", "Found ModelSpec with an empty model name."),
                ([good, ("other", "classify_x", "classify")], "INVALID_ARGUMENT",
                 "All ModelSpecs in a MultiInferenceRequest must access the same model name."),
                ([good, good], "INVALID_ARGUMENT", "Duplicate evaluation of signature: regress_x_to_y"),
                ([("tiny", "no", "regress")], "INVALID_ARGUMENT", "Requested signature not found in model graph: no"),
                ([("tiny", "regress_x_to_y", "predict")], "UNIMPLEMENTED", "Unsupported signature method_name: tensorflow/serving/predict")):
            answer = self.client.multi_inference(self.tasks(*tasks))
            self.assertEqual((answer.code, answer.text), (code, text))
        request = self.tasks(good)
        request.ClearField("input")
        answer = self.client.multi_inference(request)
        self.assertEqual((answer.code, answer.text), ("INVALID_ARGUMENT", "Input is empty."))

    def test_metadata_is_that_of_rest(self):
        m = messages()
        request = m.GetModelMetadataRequest(model_spec=m.ModelSpec(name="tiny"), metadata_field=["signature_def"])
        answer = self.client.metadata(request)
        self.assertEqual(answer.code, "OK", answer)
        self.assertEqual((answer.message.model_spec.name, answer.message.model_spec.version.value), ("tiny", 1))
        signatures = m.SignatureDefMap()
        self.assertTrue(answer.message.metadata["signature_def"].Unpack(signatures))
        self.assertEqual(signatures, m.SignatureDefMap(signature_def=tiny_model.build().meta_graphs[0].signature_def))
        rest = self.server.get("/v1/models/tiny/metadata").json["metadata"]["signature_def"]["signature_def"]
        self.assertEqual(set(rest), set(signatures.signature_def))
        for fields, text in (([], "GetModelMetadataRequest must specify at least one metadata_field"),
                             (["other"], "Metadata field other is not supported")):
            answer = self.client.metadata(m.GetModelMetadataRequest(model_spec=m.ModelSpec(name="tiny"), metadata_field=fields))
            self.assertEqual((answer.code, answer.text), ("INVALID_ARGUMENT", text))

    def test_status_is_that_of_rest(self):
        m = messages()
        for name, version in (("tiny", None), ("tiny", 1), ("tiny", 9), ("none", None)):
            spec = m.ModelSpec(name=name)
            if version:
                spec.version.value = version
            grpc = self.client.status(m.GetModelStatusRequest(model_spec=spec))
            rest = self.server.get("/v1/models/%s%s" % (name, "/versions/%d" % version if version else ""))
            self.assertEqual(rest.status, HTTP[grpc.code])
            if grpc.code != "OK":
                self.assertEqual(rest.json["error"], grpc.text)
                continue
            row, = grpc.message.model_version_status
            self.assertEqual((str(row.version), m.ModelVersionStatus.State.Name(row.state)),
                             tuple(rest.json["model_version_status"][0][k] for k in ("version", "state")))

    def test_health_has_a_status_per_model(self):
        for service in ("", "ModelService", "PredictionService", "tensorflow.serving.PredictionService", "tiny"):
            self.assertEqual(self.client.health(service).message.status, 1, service)
        self.assertEqual(self.client.health("none").code, "NOT_FOUND")
        self.assertEqual(next(self.client.watch("none")).status, 3)

    def test_reflection_lets_a_tool_call_without_texts(self):
        for version in ("v1", "v1alpha"):
            services = {s.name for s in self.client.reflect(version, list_services="").list_services_response.service}
            self.assertIn("tensorflow.serving.PredictionService", services)
            self.assertIn("grpc.health.v1.Health", services)
            for service in services:
                self.assertTrue(self.client.reflect(version, file_containing_symbol=service).file_descriptor_response.file_descriptor_proto)
        from google.protobuf import descriptor_database, descriptor_pb2, descriptor_pool, message_factory
        found = self.client.reflect(file_containing_symbol="tensorflow.serving.PredictionService.Predict")
        database = descriptor_database.DescriptorDatabase()
        for file in found.file_descriptor_response.file_descriptor_proto:
            database.Add(descriptor_pb2.FileDescriptorProto.FromString(file))
        pool = descriptor_pool.DescriptorPool(database)
        method = pool.FindServiceByName("tensorflow.serving.PredictionService").FindMethodByName("Predict")
        request = message_factory.MessageFactory(pool).GetPrototype(method.input_type)()
        request.ParseFromString(ROWS[0].request().SerializeToString())
        self.assertEqual(self.client.predict(request.SerializeToString()).code, "OK")
        for question in ({"file_containing_symbol": "tensorflow.serving.No"}, {"file_by_filename": "no.proto"},
                         {"file_containing_symbol": "tensorflow.serving"}, {"file_containing_symbol": ""}):
            self.assertEqual(self.client.reflect(**question).error_response.error_code, 5, question)
        for symbol in ("tensorflow.serving.PredictStreamedOptions.RequestState", "tensorflow.TensorProto.float_val",
                       "tensorflow.serving.PredictRequest.InputsEntry"):
            self.assertTrue(self.client.reflect(file_containing_symbol=symbol).HasField("file_descriptor_response"), symbol)
        self.assertTrue(self.client.reflect(file_by_filename="proto/tensor.proto").HasField("file_descriptor_response"))
        self.assertTrue(self.client.reflect(all_extension_numbers_of_type="tensorflow.TensorProto").HasField("all_extension_numbers_response"))

    def test_rest_and_grpc_at_once_are_each_answered_with_their_own(self):
        wrong = []

        def over_grpc(value):
            request = Row("", "predict", {"x": ("float", [1, 1], [value])}).request()
            for _ in range(20):
                for future in [self.client.start("/tensorflow.serving.PredictionService/Predict", request, messages().PredictResponse)
                               for _ in range(16)]:
                    answer = self.client.end(future)
                    if answer.code != "OK" or values(answer.message.outputs["y"]) != ([1, 1], [value / 2 + 2]):
                        wrong.append((value, answer))

        def over_rest(value):
            connection = self.server.connect()
            for _ in range(200):
                answer = self.server.post("/v1/models/tiny:predict", {"inputs": [[value]]}, connection=connection)
                if answer.status != 200 or answer.json["outputs"] != [[value / 2 + 2]]:
                    wrong.append((value, answer))
            connection.close()
        threads = [threading.Thread(target=work, args=(value,)) for value in (2.0, 8.0, -64.0) for work in (over_grpc, over_rest)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(DEADLINE_S)
        self.assertEqual(wrong, [])

    def test_tensors_of_several_dtypes_do_not_share_a_batch(self):
        good = Row("", "predict", X).request()
        bad = Row("", "predict", X).request()
        bad.inputs["x"].CopyFrom(tensor(2, [2, 1], [1.0, 2.0]))
        path = "/tensorflow.serving.PredictionService/Predict"
        futures = [(r, self.client.start(path, r, messages().PredictResponse)) for _ in range(50) for r in (good, bad)]
        for request, future in futures:
            self.assertEqual(self.client.end(future).code, "OK" if request is good else "INVALID_ARGUMENT")


if __name__ == "__main__":
    main()

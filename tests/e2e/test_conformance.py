"""TensorFlow Serving's contract, section by section of its description: what requests of both protocols, configuration files, versions,
warm-up files, metrics and flags give. The last lines tell how many cases of each section passed and failed.

    8 calls  9 tensors  10 signatures  11 models and versions  12 files  13 batching  14 warm-up  15 metrics  16 flags  17 start and end"""
import atexit
import os
import re
import struct
from concurrent.futures import ThreadPoolExecutor

import prediction_logs
import records
import test_batching
import tiny_model
from grpc_client import MODEL, Client, messages, module, tensor, values
from harness import DEADLINE_S, Server, TestCase, main, run
from test_grpc import example

TALLY = {}  # section -> [passed, failed]
BAD, MISSING = "INVALID_ARGUMENT", "NOT_FOUND"
FLOAT, INT32, STRING, INT64, NUMBER = 1, 3, 7, 9, ("type", 1)
NO_SERVABLE = "Servable not found for request: "
CLASSIFY, REGRESS, PREDICT = ("tensorflow/serving/" + kind for kind in ("classify", "regress", "predict"))


def print_tally():
    for section, (passed, failed) in sorted(TALLY.items(), key=lambda item: [int(n) for n in item[0].split(".")]):
        print("conformance: section %-5s %3d passed, %d failed" % (section, passed, failed), flush=True)


atexit.register(print_tally)


class Begins(str):
    def __eq__(self, other):
        return isinstance(other, str) and other.startswith(str(self))


class Has(str):
    def __eq__(self, other):
        return isinstance(other, str) and str(self) in other


class Conformance(TestCase):
    def check(self, section, label, got, want):
        with self.subTest(section=section, case=label):
            TALLY.setdefault(section, [0, 0])[0 if want == got else 1] += 1
            if not want == got:  # Begins and Has have no __ne__
                self.fail("wanted %r, got %r" % (want, got))

    def write(self, text, *path):
        os.makedirs(os.path.dirname(self.path(*path)), exist_ok=True)
        with open(self.path(*path), "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return self.path(*path)

    def config(self, name, base, more=""):
        return "config { name: '%s' base_path: '%s' model_platform: 'tensorflow' %s } " % (name, base, more)

    def configs(self, *texts):
        return "--model_config_file=" + self.write("model_config_list { %s }" % "".join(texts), "models.config")

    def client(self, server):
        client = Client("127.0.0.1:%d" % server.grpc_port, options=[("grpc.use_local_subchannel_pool", 1)])
        self.addCleanup(client.channel.close)
        return client

    def start_fails(self, section, label, text, *flags):
        done = run("modelserver", "--rest_api_port=1", "--port=0", "--max_num_load_retries=0", *flags)
        self.check(section, label, (done.returncode, done.stdout), (255, Has("Failed to start server. Error: " + text)))


def spec(name="m", version=None, label=None, signature=""):
    message = messages().ModelSpec(name=name, signature_name=signature)
    if version is not None:
        message.version.value = version
    if label is not None:
        message.version_label = label
    return message


def floats(*data):
    return tensor(FLOAT, [len(data), 1], list(data))


def predict(model_spec=None, output_filter=(), **inputs):
    request = messages().PredictRequest(model_spec=model_spec or spec(), output_filter=output_filter)
    for key, value in (inputs or {"x": floats(1.0)}).items():
        request.inputs[key].CopyFrom(value)
    return request


def of_examples(kind, model_spec, *examples, context=None):
    request = getattr(messages(), kind)(model_spec=model_spec)
    if context is not None:
        request.input.example_list_with_context.context.CopyFrom(example(context))
    target = request.input.example_list_with_context if context is not None else request.input.example_list
    target.examples.extend(example(e) for e in examples)
    return request


def describe(signature):
    """A signature that only its metadata show: dimensions with names, the parts of a sparse and of a composite tensor, and no method."""
    x, sparse, ragged = signature.inputs["x"], signature.outputs["sparse"], signature.outputs["ragged"]
    x.name, x.dtype = "x:0", FLOAT
    x.tensor_shape.dim.add(size=-1, name="rows")
    x.tensor_shape.dim.add(size=3)
    sparse.dtype = FLOAT
    sparse.coo_sparse.values_tensor_name, sparse.coo_sparse.indices_tensor_name, sparse.coo_sparse.dense_shape_tensor_name = "v:0", "i:0", "s:0"
    ragged.dtype = FLOAT
    kind = ragged.composite_tensor.type_spec
    kind.type_spec_class, kind.type_spec_class_name, kind.num_flat_components = 3, "RaggedTensorSpec", 2
    state = kind.type_state.tuple_value.values
    state.add().tensor_shape_value.dim.add(size=-1)
    state.add().none_value.SetInParent()
    state.add().dict_value.fields["k"].numpy_value.tensor_content = b"\x00\xff"
    for field, value in (("tensor_dtype_value", FLOAT), ("int64_value", -5), ("float64_value", 0.5), ("float64_value", float("inf")),
                         ("bool_value", True)):
        setattr(state.add(), field, value)
    ragged.composite_tensor.components.add(name="v:0", dtype=FLOAT)


STATE = [{"tensor_shape_value": {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False}}, {"none_value": {}},
         {"dict_value": {"fields": {"k": {"numpy_value": {
             "dtype": "DT_INVALID", "version_number": 0, "tensor_content": "AP8=", "float8_val": "", **{kind + "_val": [] for kind in (
                 "half", "float", "double", "int", "string", "scomplex", "int64", "bool", "dcomplex", "resource_handle", "variant",
                 "uint32", "uint64")}}}}}},
         {"tensor_dtype_value": "DT_FLOAT"}, {"int64_value": "-5"}, {"float64_value": 0.5}, {"float64_value": "Infinity"}, {"bool_value": True}]
DESCRIBED = {"inputs": {"x": {"dtype": "DT_FLOAT", "tensor_shape": {"dim": [{"size": "-1", "name": "rows"}, {"size": "3", "name": ""}],
                                                                   "unknown_rank": False}, "name": "x:0"}},
             "outputs": {"sparse": {"dtype": "DT_FLOAT", "coo_sparse": {"values_tensor_name": "v:0", "indices_tensor_name": "i:0",
                                                                       "dense_shape_tensor_name": "s:0"}},
                         "ragged": {"dtype": "DT_FLOAT", "composite_tensor": {
                             "type_spec": {"type_spec_class": "RAGGED_TENSOR_SPEC", "type_state": {"tuple_value": {"values": STATE}},
                                           "type_spec_class_name": "RaggedTensorSpec", "num_flat_components": 2},
                             "components": [{"dtype": "DT_FLOAT", "name": "v:0"}]}}},
             "method_name": "", "defaults": {}}


def write_signatures(directory):
    """Signatures that break one rule of classification or regression each. Without rows, a tensor has the shape of its name."""
    b = tiny_model.Builder()
    b.placeholder("examples", STRING, [-1])
    b.placeholder("x", FLOAT, [-1])
    for name, dtype, shape in (("n1", FLOAT, [1]), ("n2", FLOAT, [2]), ("n2x1", FLOAT, [2, 1]), ("n2x2", FLOAT, [2, 2]), ("n2x3", FLOAT, [2, 3]),
                               ("n1x2", FLOAT, [1, 2]), ("i2", INT32, [2]), ("i2x2", INT32, [2, 2]), ("s2", STRING, [2]), ("s2x2", STRING, [2, 2]),
                               ("s1x2", STRING, [1, 2]), ("scalar", FLOAT, [])):
        count = 1
        for size in shape:
            count *= size
        b.const(name, dtype, shape, [b"a"] * count if dtype == STRING else [0.5] * count if dtype == FLOAT else [1] * count)
    inputs, types = {"inputs": ("examples:0", STRING, [-1])}, {"n": FLOAT, "i": INT32, "s": STRING}

    def add(name, method, outputs, given=inputs):
        b.signature(name, method, given, {key: (t + ":0", FLOAT if t == "scalar" else types[t[0]], []) for key, t in outputs.items()})
    add("serving_default", "predict", {"y": "scalar"}, {"x": ("x:0", FLOAT, [-1])})
    add("scalar", "predict", {"y": "scalar"}, {"x": ("x:0", FLOAT, [-1])})
    add("foreign", "other", {"y": "scalar"}, {"x": ("x:0", FLOAT, [-1])})
    two = {"inputs": ("examples:0", STRING, [-1]), "x": ("x:0", FLOAT, [-1])}
    add("c_two_inputs", "classify", {"scores": "n2x2"}, two)
    add("c_three_outputs", "classify", {"classes": "s2x2", "scores": "n2x2", "z": "n2"})
    add("c_wrong_input", "classify", {"scores": "n2x2"}, {"other": ("examples:0", STRING, [-1])})
    add("c_wrong_outputs", "classify", {"z": "n2x2"})
    for name, outputs in (("c_classes_rank", {"classes": "s2"}), ("c_classes_dtype", {"classes": "i2x2"}), ("c_classes_rows", {"classes": "s1x2"}),
                          ("c_scores_rank", {"scores": "n2"}), ("c_scores_dtype", {"scores": "i2x2"}), ("c_scores_rows", {"scores": "n1x2"}),
                          ("c_columns", {"classes": "s2x2", "scores": "n2x3"}), ("c_both", {"classes": "s2x2", "scores": "n2x2"}),
                          ("c_classes", {"classes": "s2x2"}), ("c_scores", {"scores": "n2x2"})):
        add(name, "classify", outputs)
    add("r_two_outputs", "regress", {"outputs": "n2", "z": "n2"})
    add("r_wrong_input", "regress", {"outputs": "n2"}, {"other": ("examples:0", STRING, [-1])})
    add("r_float_input", "regress", {"outputs": "n2"}, {"inputs": ("x:0", FLOAT, [-1])})
    b.signature("references", "predict", {"x": ("x:0", FLOAT + 100, [-1])}, {"y": ("x:0", FLOAT + 100, [-1])})
    describe(b.meta.signature_def["described"])
    for name, outputs in (("r_wrong_output", {"z": "n2"}), ("r_shape", {"outputs": "n2x2"}), ("r_rows", {"outputs": "n1"}),
                          ("r_dtype", {"outputs": "i2"}), ("r_vector", {"outputs": "n2"}), ("r_column", {"outputs": "n2x1"})):
        add(name, "regress", outputs)
    tiny_model.save(b.model, directory)


def write_features(directory):
    """Signatures that parse Examples: `features` (dense d = 7.0 by default, sparse s of int64, ragged r of strings), and `dense_only`."""
    b = tiny_model.Builder()
    b.placeholder("examples", STRING, [-1])
    b.const("no_names", STRING, [0], [])
    for key in "dsr":
        b.const("key_" + key, STRING, [1], [key.encode()])
    b.const("no_keys", STRING, [0], [])
    b.const("seven", FLOAT, [1], [7.0])
    b.node("parse", "ParseExampleV2", "examples", "no_names", "key_s", "key_d", "key_r", "seven", Tdense=("list", ("type", [FLOAT])),
           num_sparse=("i", 1), sparse_types=("list", ("type", [INT64])), ragged_value_types=("list", ("type", [STRING])),
           ragged_split_types=("list", ("type", [INT64])), dense_shapes=("shapes", [[1]]))
    outputs = (("s_indices", INT64), ("s_values", INT64), ("s_shape", INT64), ("d", FLOAT), ("r_values", STRING), ("r_splits", INT64))
    b.signature("serving_default", "predict", {"examples": ("examples:0", STRING, [-1])},
                {key: ("parse:%d" % n, dtype, []) for n, (key, dtype) in enumerate(outputs)})
    tiny_model.save(b.model, directory)


def write_composite(directory):
    """Signatures with outputs that are no single tensors: y = x, a ragged `a` and a sparse `s`; only `s`; x and `s`."""
    b = tiny_model.Builder()
    b.placeholder("x", FLOAT, [-1, 1])
    b.placeholder("examples", STRING, [-1])
    b.node("y", "Identity", "x", T=("type", FLOAT))
    b.const("indices", INT64, [1, 2], [0, 0])
    b.const("values", FLOAT, [1], [1.0])
    b.const("size", INT64, [2], [1, 1])
    x, y = {"x": ("x:0", FLOAT, [-1, 1])}, {"y": ("y:0", FLOAT, [-1, 1])}

    def add_sparse(tensor_info):
        tensor_info.dtype = FLOAT
        tensor_info.coo_sparse.indices_tensor_name = "indices:0"
        tensor_info.coo_sparse.values_tensor_name = "values:0"
        tensor_info.coo_sparse.dense_shape_tensor_name = "size:0"
    for name, method, inputs, outputs in (("serving_default", "predict", x, y), ("only_sparse", "predict", x, {}), ("dense", "predict", x, y),
                                          ("classify", "classify", {"inputs": ("examples:0", STRING, [-1])}, {"classes": ("examples:0", STRING, [-1])}),
                                          ("takes_sparse", "predict", x, y)):
        b.signature(name, method, inputs, outputs)
    signatures = b.meta.signature_def
    for name, key in (("serving_default", "s"), ("only_sparse", "s"), ("classify", "scores")):
        add_sparse(signatures[name].outputs[key])
    ragged = signatures["serving_default"].outputs["a"]
    for name in ("values:0", "size:0"):
        ragged.composite_tensor.components.add(name=name, dtype=FLOAT)
    add_sparse(signatures["takes_sparse"].inputs["z"])
    tiny_model.save(b.model, directory)


def write_sparse_default(directory):
    """The default signature has a sparse input, which no request can give; "dense" is y = x."""
    b = tiny_model.Builder()
    b.placeholder("x", FLOAT, [-1, 1])
    b.node("y", "Identity", "x", T=("type", FLOAT))
    for name in ("serving_default", "dense"):
        b.signature(name, "predict", {"x": ("x:0", FLOAT, [-1, 1])}, {"y": ("y:0", FLOAT, [-1, 1])})
    sparse = b.meta.signature_def["serving_default"].inputs["z"]
    sparse.dtype = FLOAT
    sparse.coo_sparse.indices_tensor_name = sparse.coo_sparse.values_tensor_name = sparse.coo_sparse.dense_shape_tensor_name = "x:0"
    tiny_model.save(b.model, directory)


def write_init_ops(directory, signature, main_op, legacy):
    """y = the variable, to which one of three init ops assigns its name and the path of an asset."""
    b = tiny_model.Builder()
    b.placeholder("x", FLOAT, [-1])
    b.node("v", "VarHandleOp", dtype=("type", STRING), shape=("shape", []), shared_name=("s", b"v"))
    b.const("asset", STRING, [], [b"as it was exported"])
    for name, wanted in (("by_signature", signature), ("by_main_op", main_op), ("by_legacy_op", legacy)):
        b.const("name_" + name, STRING, [], [name.encode() + b" "])
        b.node("value_" + name, "StringJoin", "name_" + name, "asset", N=("i", 2))
        b.node("assign_" + name, "AssignVariableOp", "v", "value_" + name, dtype=("type", STRING))
        b.node(name, "NoOp", "^assign_" + name)
        if wanted and name == "by_signature":
            b.meta.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"].name = name
        elif wanted:
            b.meta.collection_def["saved_model_main_op" if name == "by_main_op" else "legacy_init_op"].node_list.value.extend([name] * wanted)
    b.node("read", "ReadVariableOp", "v", dtype=("type", STRING))
    b.signature("serving_default", "predict", {"x": ("x:0", FLOAT, [-1])}, {"y": ("read:0", STRING, [])})
    asset = b.meta.asset_file_def.add(filename="words.txt")
    asset.tensor_info.name = "asset:0"
    os.makedirs(directory + ".making/assets")
    for name, data in (("saved_model.pb", b.model.SerializeToString()), ("assets/words.txt", b"a")):
        with open(os.path.join(directory + ".making", name), "wb") as f:
            f.write(data)
    os.rename(directory + ".making", directory)


# Section 10.3 and 10.4: signature, code, text of a request with two examples.
CLASSIFY_ROWS = [
    ("c_two_inputs", BAD, "Expected one input Tensor."), ("c_three_outputs", BAD, "Expected one or two output Tensors, found 3"),
    ("c_wrong_input", BAD, Begins("No classification inputs found in SignatureDef: ")),
    ("c_wrong_outputs", BAD, Begins('Expected classification signature outputs to contain at least one of "classes" or "scores".')),
    ("c_classes_rank", BAD, "Expected Tensor shape: [batch_size num_classes] but got [2]"),
    ("c_classes_dtype", BAD, "Expected classes Tensor of DT_STRING. Got: DT_INT32"),
    ("c_classes_rows", BAD, "Expected classes output batch size of 2. Got: 1"),
    ("c_scores_rank", BAD, "Expected Tensor shape: [batch_size num_classes] but got [2]"),
    ("c_scores_dtype", BAD, "Expected scores Tensor of DT_FLOAT. Got: DT_INT32"),
    ("c_scores_rows", BAD, "Expected scores output batch size of 2. Got: 1"),
    ("c_columns", BAD, "Tensors class and score should match in dim_size(1). Got 2 vs. 3"),
    ("c_both", "OK", [[["a", 0.5]] * 2] * 2), ("c_classes", "OK", [[["a", 0.0]] * 2] * 2), ("c_scores", "OK", [[["", 0.5]] * 2] * 2),
]
REGRESS_ROWS = [
    ("c_two_inputs", BAD, "Expected one input Tensor."), ("r_two_outputs", BAD, "Expected one output Tensor."),
    ("r_wrong_input", BAD, Has("No regression inputs found in SignatureDef: ")),
    ("r_float_input", BAD, Has("to be float but string is provided")),
    ("r_wrong_output", BAD, Begins("No regression outputs found in SignatureDef: ")),
    ("r_shape", BAD, "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got [2,2]"),
    ("r_rows", BAD, "Input batch size did not match output batch size: 2 vs. 1"),
    ("r_dtype", BAD, "Expected output Tensor of DT_FLOAT.  Got: DT_INT32"),
    ("r_vector", "OK", [0.5, 0.5]), ("r_column", "OK", [0.5, 0.5]),
]


# Section 15: the labels of each name.
LABELS = {":tensorflow:" + name: tuple(labels.split()) for name, labels in (
    ("serving:request_count", "model_name status"), ("serving:request_latency", "model_name API entrypoint"),
    ("serving:runtime_latency", "model_name API runtime"), ("serving:request_example_counts", "model"),
    ("serving:request_example_count_total", "model"), ("serving:request_log_count", "model_name status_code"),
    ("serving:model_warmup_latency", "model_path status"), ("serving:model_warmup_records_read", "model_path status"),
    ("serving:mlmd_map", "model_name version"), ("serving:batching_session:queuing_latency", "thread_pool_name"),
    ("serving:batching_session:wrapped_run_count", ""), ("serving:batching_session:padding_size", "execution_batch_size"),
    ("serving:batching_session:input_batch_size", ""), ("serving:batching_session:processed_batch_size", ""),
    ("cc:saved_model:load_attempt_count", "model_path status"), ("cc:saved_model:load_latency", "model_path"),
    ("cc:saved_model:load_latency_by_stage", "model_path stage"), ("core:direct_session_runs", ""), ("core:graph_runs", ""),
    ("core:graph_run_time_usecs", ""), ("core:graph_run_time_usecs_histogram", ""), ("core:graph_build_calls", ""),
    ("core:graph_build_time_usecs", ""))}


class Calls(Conformance):
    """Sections 8 to 10, and 15."""

    def setUp(self):
        super().setUp()
        for version in (1, 2):
            tiny_model.write(self.path("m", str(version)))
        write_signatures(self.path("odd", "1"))
        write_features(self.path("features", "1"))
        write_composite(self.path("composite", "1"))
        write_sparse_default(self.path("sparse_default", "1"))
        self.monitoring = "--monitoring_config_file=" + self.write("prometheus_config { enable: true }", "monitoring.config")

    def serve(self, *flags):
        labels = "model_version_policy { all {} } version_labels { key: 'stable' value: 1 }"
        flag = self.configs(self.config("m", self.path("m"), labels), self.config("odd", self.path("odd")),
                            self.config("features", self.path("features")), self.config("composite", self.path("composite")),
                            self.config("sparse_default", self.path("sparse_default")))
        server = Server(None, flag, "--allow_version_labels_for_unavailable_models", *flags, grpc=True)
        for version in (1, 2):
            server.wait_for_state(version, "AVAILABLE", name="m")
        return server

    def both(self, section, label, path, body, request, code, text, ask="predict"):
        """The same question both ways. text: of the error, or REST's answer."""
        status = {"OK": 200, BAD: 400, "FAILED_PRECONDITION": 400, MISSING: 404}[code]
        rest = self.server.post("/v1/models/" + path, body)
        self.check(section, label + ", REST", (rest.status, next(iter(rest.json.values()))), (status, text))
        grpc = getattr(self.grpc, ask)(request)
        self.check(section, label + ", gRPC", (grpc.code, grpc.text if code != "OK" else None), (code, text if code != "OK" else None))
        return grpc.message

    def answer(self, section, label, answer, code, text=""):
        self.check(section, label, (answer.code, answer.text), (code, text))
        return answer.message

    def test_calls(self):
        with self.serve() as self.server:
            self.grpc = self.client(self.server)
            self.resolution()
            self.predict_rules()
            self.examples()
            self.features()
            self.composite_outputs()
            self.multi_inference()
            self.metadata_and_status()
            self.tensors()
            self.wire_forms()
            self.odd_signatures()
            self.paths_of_metrics()

    def resolution(self):
        body, good = {"instances": [[1.0]]}, [[2.5]]
        self.answer("8.1", "no name", self.grpc.predict(predict(spec(name=""))), BAD, "ModelSpec has no name specified.")
        for label, where, path, code, text, version in (
                ("a version", spec(version=1), "m/versions/1:predict", "OK", good, 1),
                ("version 0", spec(version=0), "m/versions/0:predict", MISSING, NO_SERVABLE + "Specific(m, 0)", None),
                ("an unknown version", spec(version=7), "m/versions/7:predict", MISSING, NO_SERVABLE + "Specific(m, 7)", None),
                ("a label", spec(label="stable"), "m/labels/stable:predict", "OK", good, 1),
                ("an unknown label", spec(label="none"), "m/labels/none:predict", BAD, "Unrecognized servable version label: none", None),
                ("a label of an unknown model", spec("none", label="a"), "none/labels/a:predict", BAD, "Unrecognized servable version label: a", None),
                ("neither", spec(), "m:predict", "OK", good, 2),
                ("an unknown model", spec("none"), "none:predict", MISSING, NO_SERVABLE + "Latest(none)", None)):
            message = self.both("8.1", label, path, body, predict(where), code, text)
            if version:
                got = message.model_spec
                self.check("8.1", label + ": the answer's model_spec", (got.name, got.version.value, got.version_label, got.signature_name),
                           ("m", version, "", "serving_default"))

    def predict_rules(self):
        p, two = self.grpc.predict, spec(signature="two")
        one, a = floats(1.0), tensor(FLOAT, [1], [1.5])
        self.answer("8.2", "more inputs", p(predict(x=one, z=one)), BAD, Begins("input size does not match signature: 2!=1 len({x,z}) != len({x})"))
        self.answer("8.2", "fewer inputs without a default", p(predict(spec(signature="pair"), a=a)), BAD, Begins("input size does not match signature: 1!=2"))
        message = self.answer("8.2", "fewer inputs with a default", p(predict(two, a=a)), "OK")
        self.check("8.2", "the default", values(message.outputs["b"]), ([1], [7]))
        self.answer("8.2", "another dtype", p(predict(x=tensor(INT32, [1, 1], [1]))), BAD, "Expects arg[0] to be float but int32 is provided")
        message = self.answer("8.2", "no output filter", p(predict(two, a=a)), "OK")
        self.check("8.2", "all outputs", sorted(message.outputs), ["a", "b"])
        message = self.answer("8.2", "an output filter", p(predict(two, ["b"], a=a)), "OK")
        self.check("8.2", "the outputs of the filter", sorted(message.outputs), ["b"])
        self.answer("8.2", "an output twice", p(predict(two, ["b", "b"], a=a)), BAD, "duplicate output tensor alias: b")
        self.answer("8.2", "an unknown output", p(predict(two, ["in_int32:0"], a=a)), BAD, Begins("output tensor alias not found in signature: in_int32:0"))
        message = self.answer("8.2", "a signature of regression", p(predict(spec(signature="regress_x_to_y"), inputs=tensor(
            STRING, [1], [example({"x": 1.0}).SerializeToString()]))), "OK")
        self.check("8.2", "its outputs", values(message.outputs["outputs"]), ([1, 1], [2.5]))
        message = self.answer("8.2", "a scalar", p(predict(spec("odd", signature="scalar"), x=a)), "OK")
        y = message.outputs["y"]
        self.check("8.2", "dtype, shape and typed values of a scalar", (y.dtype, y.HasField("tensor_shape"), len(y.tensor_shape.dim), list(y.float_val)),
                   (FLOAT, True, 0, [0.5]))

    def examples(self):
        x, y = spec(signature="classify_x"), spec(signature="regress_x_to_y")
        message = self.answer("8.3", "classify", self.grpc.classify(of_examples("ClassificationRequest", x, {"x": 1.0})), "OK")
        self.check("8.3", "its model_spec", (message.model_spec.name, message.model_spec.version.value, message.model_spec.signature_name), ("m", 2, "classify_x"))
        self.both("8.3", "regress", "m:regress", {"signature_name": "regress_x_to_y", "examples": [{"x": 1.0}]},
                  of_examples("RegressionRequest", y, {"x": 1.0}), "OK", [2.5], "regress")
        self.both("8.3", "an unknown signature", "m:regress", {"signature_name": "no", "examples": [{"x": 1.0}]},
                  of_examples("RegressionRequest", spec(signature="no"), {"x": 1.0}), BAD, "No signature was found with the name: no", "regress")
        self.answer("8.3", "no examples", self.grpc.regress(of_examples("RegressionRequest", y)), BAD, "Input is empty.")
        for label, first, result in (("the context stands in", {}, 6.0), ("an example overrides the context", {"x": 1.0}, 2.5)):
            self.both("8.4", label, "m:regress", {"signature_name": "regress_x_to_y", "context": {"x": 8.0}, "examples": [first]},
                      of_examples("RegressionRequest", y, first, context={"x": 8.0}), "OK", [result], "regress")
        for label, first, text in (("a feature is missing", {"z": 1.0}, Has("Feature: x (data type: float) is required but could not be found.")),
                                   ("a feature of another kind", {"x": 1}, Has("Data types don't match.")),
                                   ("a feature of another length", {"x": [1.0, 2.0]}, Has("Number of float values != expected."))):
            self.both("10.6", label, "m:regress", {"signature_name": "regress_x_to_y", "examples": [first]},
                      of_examples("RegressionRequest", y, first), BAD, text, "regress")

    def features(self):
        rows = ({"d": 1.0, "s": [5, 6], "r": ["a"]}, {"s": 9, "r": ["b", "c"]}, {})
        data = [example(row).SerializeToString() for row in rows]
        message = self.answer("10.6", "features of each kind", self.grpc.predict(predict(spec("features"), examples=tensor(STRING, [3], data))), "OK")
        for label, key, want in (("a dense default", "d", ([3, 1], [1.0, 7.0, 7.0])), ("sparse indices", "s_indices", ([3, 2], [0, 0, 0, 1, 1, 0])),
                                 ("sparse values", "s_values", ([3], [5, 6, 9])), ("the sparse shape", "s_shape", ([2], [3, 2])),
                                 ("ragged values", "r_values", ([3], [b"a", b"b", b"c"])), ("ragged splits", "r_splits", ([4], [0, 1, 3, 3]))):
            self.check("10.6", label, values(message.outputs[key]), want)
        for label, row, text in (("dense of another kind", {"d": "a"}, "d"), ("sparse of another kind", {"s": 1.5}, "s"), ("ragged of another kind", {"r": 1}, "r")):
            answer = self.grpc.predict(predict(spec("features"), examples=tensor(STRING, [1], [example(row).SerializeToString()])))
            self.check("10.6", label, (answer.code, answer.text), (BAD, Has("Key: %s, Index: 0.  Data types don't match." % text)))
        answer = self.grpc.predict(predict(spec("features"), examples=tensor(STRING, [1], [b"\xff"])))
        self.check("10.6", "no Example", (answer.code, answer.text), (BAD, Has("Could not parse example input")))

    def composite_outputs(self):
        one, body = floats(1.0), {"inputs": [[1.0]]}
        for label, signature, names in (("a filter of the dense output", "", ["y"]), ("a signature of dense outputs", "dense", [])):
            message = self.answer("8.2", label, self.grpc.predict(predict(spec("composite", signature=signature), names, x=one)), "OK")
            self.check("8.2", label + ": its outputs", {key: values(t) for key, t in message.outputs.items()}, {"y": ([1, 1], [1.0])})
        self.check("8.2", "REST: a signature of dense outputs", self.server.post(
            "/v1/models/composite:predict", {"signature_name": "dense", **body}).json, {"outputs": [[1.0]]})
        answer = self.server.post("/v2/models/composite/infer", {"inputs": [{"name": "x", "shape": [1, 1], "datatype": "FP32", "data": [1]}],
                                                                 "outputs": [{"name": "y"}]})
        self.check("8.2", "Open Inference: the dense output", [(o["name"], o["data"]) for o in answer.json["outputs"]], [("y", [1.0])])
        headers = {"Content-Type": "application/x-protobuf"}
        self.check("8.2", "REST: a PredictRequest with a filter of the dense output, as JSON", self.server.post(
            "/v1/models/composite:predict", predict(messages().ModelSpec(), ["y"], x=one).SerializeToString(), headers=headers).json,
            {"outputs": [[1.0]]})
        for label, signature, names, key in (("all outputs", "", [], "a"), ("a sparse one", "", ["y", "s"], "s"),
                                             ("no dense one", "only_sparse", [], "s")):
            text = Has("output '%s' of the signature '%s' is a sparse or composite tensor" % (key, signature or "serving_default"))
            self.answer("8.2", label, self.grpc.predict(predict(spec("composite", signature=signature), names, x=one)), "UNIMPLEMENTED", text)
            answer = self.server.post("/v2/models/composite/infer", {
                "inputs": [{"name": "x", "shape": [1, 1], "datatype": "FP32", "data": [1]}], "outputs": [{"name": name} for name in names],
                "parameters": {"signature_name": signature} if signature else {}})
            self.check("8.2", label + ", Open Inference", (answer.status, answer.json["error"]), (501, text))
            if not names:
                answer = self.server.post("/v1/models/composite:predict", {"signature_name": signature or "serving_default", **body})
                self.check("8.2", label + ", REST", (answer.status, answer.json["error"]), (501, text))
        self.answer("8.3", "classes and sparse scores", self.grpc.classify(of_examples(
            "ClassificationRequest", spec("composite", signature="classify"), {"x": 1.0})), "UNIMPLEMENTED", Has("output 'scores'"))
        self.answer("8.2", "a sparse input", self.grpc.predict(predict(spec("composite", signature="takes_sparse"), x=one, z=one)),
                    "UNIMPLEMENTED", Has("input 'z': it is a sparse or composite tensor"))
        self.answer("8.2", "a sparse input of the default signature", self.grpc.predict(predict(spec("sparse_default"), x=one, z=one)),
                    "UNIMPLEMENTED", Has("input 'z': it is a sparse or composite tensor"))
        message = self.answer("8.2", "a signature beside it", self.grpc.predict(predict(spec("sparse_default", signature="dense"), x=one)), "OK")
        self.check("8.2", "a signature beside it: its output", values(message.outputs["y"]), ([1, 1], [1.0]))

    def multi_inference(self):
        m, good = messages(), ("m", "regress_x_to_y", REGRESS)
        for label, tasks, code, text in (
                ("no tasks", [], BAD, "ModelSpec has no name specified."),
                ("a task without a name", [good, ("", "classify_x", CLASSIFY)], BAD, "Found ModelSpec with an empty model name."),
                ("two models", [good, ("odd", "c_both", CLASSIFY)], BAD, "All ModelSpecs in a MultiInferenceRequest must access the same model name."),
                ("a signature twice", [good, good], BAD, "Duplicate evaluation of signature: regress_x_to_y"),
                ("an unknown signature", [("m", "no", REGRESS)], BAD, "Requested signature not found in model graph: no"),
                ("another method", [("m", "regress_x_to_y", PREDICT)], "UNIMPLEMENTED", "Unsupported signature method_name: " + PREDICT),
                ("an unknown model", [("none", "a", REGRESS)], MISSING, NO_SERVABLE + "Latest(none)"),
                ("both methods", [("m", "regress_x_to_y2", REGRESS), ("m", "classify_x", CLASSIFY)], "OK", "")):
            request = m.MultiInferenceRequest()
            for name, signature, method in tasks:
                request.tasks.add(model_spec=spec(name, signature=signature), method_name=method)
            request.input.example_list.examples.append(example({"x": 1.0}))
            message = self.answer("8.5", label, self.grpc.multi_inference(request), code, text)
        request = m.MultiInferenceRequest()
        request.tasks.add(model_spec=spec(version=1, signature="regress_x_to_y"), method_name=REGRESS)
        request.tasks.add(model_spec=spec(version=7, signature="classify_x"), method_name=CLASSIFY)
        request.input.example_list.examples.append(example({"x": 1.0}))
        first = self.answer("8.5", "the first task tells the version", self.grpc.multi_inference(request), "OK")
        self.check("8.5", "the version of all", [r.model_spec.version.value for r in first.results], [1, 1])
        self.check("8.5", "results in the order of the tasks", [r.WhichOneof("result") for r in message.results],
                   ["regression_result", "classification_result"])
        self.check("8.5", "their versions", [r.model_spec.version.value for r in message.results], [2, 2])

    def metadata_and_status(self):
        m = messages()
        for label, where, fields, code, text in (
                ("signatures", spec(), ["signature_def"], "OK", ""), ("no field", spec(), [], BAD, "GetModelMetadataRequest must specify at least one metadata_field"),
                ("another field", spec(), ["other"], BAD, "Metadata field other is not supported"),
                ("no model_spec", None, ["signature_def"], BAD, "Missing ModelSpec"),
                ("an unknown model", spec("none"), ["signature_def"], MISSING, NO_SERVABLE + "Latest(none)")):
            message = self.answer("8.6", label, self.grpc.metadata(m.GetModelMetadataRequest(model_spec=where, metadata_field=fields)), code, text)
            if code == "OK":
                self.check("8.6", "its type and model_spec", (message.metadata["signature_def"].type_url, message.model_spec.name,
                                                              message.model_spec.version.value, message.model_spec.signature_name),
                           ("type.googleapis.com/tensorflow.serving.SignatureDefMap", "m", 2, ""))
        message = self.answer("8.6", "odd signatures", self.grpc.metadata(m.GetModelMetadataRequest(model_spec=spec("odd"), metadata_field=["signature_def"])), "OK")
        stored = module("meta_graph").SignatureDef()
        describe(stored)
        self.check("8.6", "a signature, as it is stored", m.SignatureDefMap.FromString(message.metadata["signature_def"].value).signature_def["described"], stored)
        self.check("8.6", "the same in JSON", self.server.get("/v1/models/odd/metadata").json["metadata"]["signature_def"]["signature_def"]["described"], DESCRIBED)
        text = self.server.get("/v1/models/m/metadata").body.decode()
        self.check("4.6", "metadata: two documents in one", text, Begins(
            '{\n"model_spec":{\n "name": "m",\n "signature_name": "",\n "version": "2"\n}\n,\n"metadata": {"signature_def": {\n "signature_def": {\n  "'))
        self.check("4.6", "the end of metadata", text[-len('   "defaults": {}\n  }\n }\n}\n}\n}\n'):], '   "defaults": {}\n  }\n }\n}\n}\n}\n')
        for label, where, path, code, want in (
                ("all versions, descending", spec(), "m", "OK", ["2", "1"]), ("one version", spec(version=1), "m/versions/1", "OK", ["1"]),
                ("a label is not looked at", spec(label="stable"), "m/labels/stable", "OK", ["2", "1"]),
                ("an unknown version", spec(version=9), "m/versions/9", MISSING, "Could not find version 9 of model m"),
                ("an unknown model", spec("none"), "none", MISSING, "Could not find any versions of model none")):
            grpc, rest = self.grpc.status(m.GetModelStatusRequest(model_spec=where)), self.server.get("/v1/models/" + path)
            self.check("8.7", label + ", gRPC", (grpc.code, [str(v.version) for v in grpc.message.model_version_status] if code == "OK" else grpc.text), (code, want))
            self.check("8.7", label + ", REST", [v["version"] for v in rest.json["model_version_status"]] if code == "OK" else rest.json["error"], want)

    def tensors(self):
        def y(label, code, want, **fields):
            proto = tensor(FLOAT, [2, 1], [])
            for key, value in fields.items():
                proto.__setattr__(key, value) if isinstance(value, (bytes, int)) else getattr(proto, key).extend(value)
            answer = self.grpc.predict(predict(x=proto))
            self.check("9.2", label, (answer.code, values(answer.message.outputs["y"])[1] if code == "OK" else answer.text), (code, want))
        y("tensor_content", "OK", [2.5, 3.0], tensor_content=struct.pack("<2f", 1, 2))
        y("tensor_content of another length", BAD, "tensor parsing error: x", tensor_content=b"123")
        y("no values", "OK", [2.0, 2.0])
        y("fewer values: the last one repeats", "OK", [4.0, 4.0], float_val=[4.0])
        y("more values: the first ones count", "OK", [2.5, 3.0], float_val=[1.0, 2.0, 9.0])
        y("no dtype", BAD, "tensor parsing error: x", dtype=0, float_val=[1.0, 2.0])
        rank = floats(1.0)
        rank.tensor_shape.unknown_rank = True
        self.answer("9.2", "unknown_rank beside dimensions is not looked at, as in TensorFlow", self.grpc.predict(predict(x=rank)), "OK")
        unknown = floats(1.0)
        unknown.tensor_shape.dim[0].size = -1
        self.answer("9.2", "an unknown dimension", self.grpc.predict(predict(x=unknown)), BAD, "tensor parsing error: x")
        empty = self.grpc.predict(predict(x=tensor(FLOAT, [0, 1], [9.0])))
        self.check("9.2", "no elements: values are ignored", values(empty.message.outputs["y"]), ([0, 1], []))
        types = {"in_" + name: tensor(dtype, [1], [b"a"] if name == "string" else [1]) for name, dtype in tiny_model.DTYPES.items()}
        types["in_int8"].int_val[0] = 300
        types["in_string"].string_val[:] = []
        types["in_string"].tensor_content = b"\3a\0b"
        outputs = self.grpc.predict(predict(spec(signature="types"), **types)).message.outputs
        self.check("9.2", "narrow integers are cut off", list(outputs["out_int8"].int_val), [44])
        self.check("9.2", "strings in tensor_content", list(outputs["out_string"].string_val), [b"a\0b"])

    def wire_forms(self):
        """9.1: what a client's library may write in another way than ours."""
        body = predict(spec("m", version=1)).SerializeToString()
        packed, unpacked = b"\x2a\x04" + struct.pack("<f", 1), b"\x2d" + struct.pack("<f", 1)  # float_val
        self.check("9.1", "float_val is packed by this library", body.count(packed), 1)
        at, end = body.index(b"\x12"), body.index(packed)
        shrunk = bytearray(body.replace(packed, unpacked))
        for i in range(at, end):  # the lengths of the messages around it
            if body[i] == len(body) - i - 1:
                shrunk[i] -= 1
        call = self.grpc.channel.unary_unary("/tensorflow.serving.PredictionService/Predict", response_deserializer=messages().PredictResponse.FromString)
        self.check("9.1", "numbers that are not packed", values(call(bytes(shrunk), timeout=DEADLINE_S).outputs["y"]), ([1, 1], [2.5]))
        message = self.answer("9.1", "a signature of references", self.grpc.predict(predict(spec("odd", signature="references"), x=tensor(FLOAT, [1], [1.5]))), "OK")
        self.check("9.1", "its outputs have the base type", message.outputs["y"].dtype, FLOAT)
        half = tensor(tiny_model.DTYPES["half"], [2], [0x3c00, 0x13c00])  # the low 16 bits count
        types = {"in_" + name: tensor(dtype, [2], [b"a"] * 2 if name == "string" else [1, 1]) for name, dtype in tiny_model.DTYPES.items()}
        message = self.answer("9.1", "half_val", self.grpc.predict(predict(spec(signature="types"), **dict(types, in_half=half))), "OK")
        self.check("9.1", "its low 16 bits", list(message.outputs["out_half"].half_val), [0x3c00, 0x3c00])

    def odd_signatures(self):
        two = {"examples": [{"x": 1.0}, {"x": 2.0}]}
        for section, verb, kind, rows in (("10.3", "classify", "ClassificationRequest", CLASSIFY_ROWS), ("10.4", "regress", "RegressionRequest", REGRESS_ROWS)):
            for signature, code, text in rows:
                self.both(section, signature, "odd:" + verb, dict(two, signature_name=signature),
                          of_examples(kind, spec("odd", signature=signature), {"x": 1.0}, {"x": 2.0}), code, text, verb)
        answer = self.server.post("/v1/models/m:predict", {"signature_name": "two", "instances": [{"a": 1.5}]})
        self.check("10.5", "rows of REST have no defaults", (answer.status, answer.json["error"]), (400, Begins("Failed to process element: 0 of 'instances' list.")))

    def test_method_names(self):
        with self.serve("--enable_signature_method_name_check") as self.server:
            self.grpc = self.client(self.server)
            examples, x = {"examples": [{"x": 1.0}, {"x": 2.0}]}, tensor(FLOAT, [1], [1.0])
            for label, verb, kind, signature, code, text in (
                    ("classify", "classify", "ClassificationRequest", "c_scores", "OK", [[["", 0.5]] * 2] * 2),
                    ("regress", "regress", "RegressionRequest", "r_vector", "OK", [0.5, 0.5]),
                    ("classify what regresses", "classify", "ClassificationRequest", "r_vector", BAD,
                     "Expected classification signature method_name to be %s. Was: %s" % (CLASSIFY, REGRESS)),
                    ("regress what classifies", "regress", "RegressionRequest", "c_scores", BAD,
                     "Expected regression signature method_name to be %s. Was: %s" % (REGRESS, CLASSIFY))):
                self.both("10.2", label, "odd:" + verb, dict(examples, signature_name=signature),
                          of_examples(kind, spec("odd", signature=signature), {"x": 1.0}, {"x": 2.0}), code, text, verb)
            self.answer("10.2", "predict with a signature of regression", self.grpc.predict(predict(spec("odd", signature="r_vector"), inputs=tensor(STRING, [1], [b""]))), "OK")
            answer = self.grpc.predict(predict(spec("odd", signature="foreign"), x=x))
            self.check("10.2", "predict with another one", (answer.code, answer.text), ("INTERNAL", Begins("Expected prediction signature method_name to be one of {")))

    def test_tensor_content(self):
        with self.serve("--enable_serialization_as_tensor_content") as server:
            y = self.client(server).predict(predict()).message.outputs["y"]
            self.check("8.2", "answers as tensor_content", (y.tensor_content, len(y.float_val)), (struct.pack("<f", 2.5), 0))

    def paths_of_metrics(self):
        self.check("15", "not enabled", self.server.get("/monitoring/prometheus/metrics").status, 404)

    def test_metrics(self):
        path = "/monitoring/prometheus/metrics"
        with self.serve(self.monitoring) as server:
            self.server, self.grpc = server, self.client(server)
            self.grpc.predict(predict())
            server.post("/v1/models/m:predict", {"instances": [[1.0]]})
            request = messages().MultiInferenceRequest()
            request.tasks.add(model_spec=spec(signature="regress_x_to_y"), method_name=REGRESS)
            request.input.example_list.examples.append(example({"x": 1.0}))
            def counted():
                return dict(re.findall(r":tensorflow:serving:request_count\{(.*)\} (\d+)\n", server.get(path).body.decode()))
            before, ok = counted(), 'model_name="m",status="OK"'
            self.grpc.multi_inference(request)
            self.check("15", "MultiInference is not counted", counted(), before)
            server.get("/v1/models/m")
            self.check("15", "status is counted", counted(), dict(before, **{ok: str(int(before[ok]) + 1)}))
            self.grpc.predict(predict(spec("none")))
            self.check("15", "failures are counted", counted().get('model_name="none",status="NOT_FOUND"'), "1")
            answer = server.get(path)
            text = answer.body.decode()
            limits = re.findall(r'request_latency_bucket\{model_name="m",API="Predict",entrypoint="GRPC",le="(.*?)"', text)
            self.check("15", "the limits of the buckets", limits, ["%g" % (10 * 1.8 ** i) for i in range(33)] + ["+Inf"])
            self.check("15", "examples of MultiInference", text, Has('request_example_count_total{model="m"} 1\n'))
            self.check("15", "content type", answer.headers["Content-Type"].split(";")[0], "text/plain")
            self.check("15", "a query", (server.get(path + "?x").status, server.get(path + "?x").body.decode()),
                       (400, "Unexpected path: %s?x. Should be %s" % (path, path)))
            for name, kind in (("request_count", "counter"), ("request_latency", "histogram"), ("runtime_latency", "histogram")):
                self.check("15", name, text, Has("# TYPE :tensorflow:serving:%s %s\n" % (name, kind)))
            for name, kind in (("request_example_counts", "histogram"), ("request_example_count_total", "counter"), ("request_log_count", "counter"),
                               ("model_warmup_latency", "histogram"), ("model_warmup_records_read", "counter"), ("mlmd_map", "gauge"),
                               ("batching_session:queuing_latency", "histogram"), ("batching_session:wrapped_run_count", "counter"),
                               ("batching_session:padding_size", "histogram"), ("batching_session:input_batch_size", "histogram"),
                               ("batching_session:processed_batch_size", "histogram")):
                self.check("15", name, text, Has("# TYPE :tensorflow:serving:%s %s\n" % (name, kind)))
            for name, kind in (("load_attempt_count", "counter"), ("load_latency", "counter"), ("load_latency_by_stage", "histogram")):
                self.check("15", name, text, Has("# TYPE :tensorflow:cc:saved_model:%s %s\n" % (name, kind)))
            self.check("15", "requests of both protocols", text, Has(':tensorflow:serving:request_count{model_name="m",status="OK"}'))
            for api, entry in (("Predict", "GRPC"), ("predict", "REST")):
                self.check("15", "latency by " + entry, text, Has('request_latency_count{model_name="m",API="%s",entrypoint="%s"} 1' % (api, entry)))
            self.check("15", "braces without labels", text, Has(":tensorflow:core:direct_session_runs{} "))
            self.check("15", "no help", "# HELP" in text, False)
            seen = {}
            for name, labels in re.findall(r"^(:\S+?)\{(.*)\} \S+$", text, re.M):
                family = re.sub("_(bucket|sum|count)$", "", name) if re.sub("_(bucket|sum|count)$", "", name) in LABELS else name
                seen.setdefault(family, set()).add(tuple(key for key in re.findall(r'(\w+)="', labels) if key != "le"))
            self.check("15", "no other names", sorted(set(seen) - set(LABELS)), [])
            for name in sorted(seen):
                self.check("15", "labels of " + name, seen[name], {LABELS[name]})
            for what, sample in (("runtime", 'serving:runtime_latency_count{model_name="m",API="Predict",runtime="TF1"}'),
                                 ("load attempts", 'saved_model:load_attempt_count{model_path="%s",status="success"} 1' % self.path("m", "1")),
                                 ("restoring", 'load_latency_by_stage_count{model_path="%s",stage="restore_graph"}' % self.path("m", "1")),
                                 ("initializing", 'load_latency_by_stage_count{model_path="%s",stage="init_graph"}' % self.path("m", "1")),
                                 ("REST without a verb", 'request_latency_count{model_name="m",API="",entrypoint="REST"} '),
                                 ("examples of a request", 'request_example_counts_count{model="m"} 1')):
                self.check("15", what, text, Has(sample))
            limits = re.findall(r'request_example_counts_bucket\{model="m",le="(.*?)"', text)
            self.check("15", "the limits of counts of examples", limits, [str(1 << i) for i in range(15)] + ["+Inf"])


def negative_tensor():
    negative = tensor(FLOAT, [1], [1.0])
    negative.tensor_shape.dim[0].size = -1
    return negative


class Models(Conformance):
    """Sections 10.7, 11, 12 and 14: what a server says about versions of each kind."""

    def states(self, server, name):
        return {v["version"]: (v["state"], v["status"]["error_code"]) for v in server.get("/v1/models/" + name).json["model_version_status"]}

    def error(self, server, version, name="m"):
        server.wait_for_state(version, "END", name=name)
        status = server.get("/v1/models/%s/versions/%d" % (name, version)).json["model_version_status"][0]["status"]
        return status["error_code"], status["error_message"]

    def test_versions_that_do_not_load(self):
        tiny_model.write(self.path("m", "1"))
        os.makedirs(self.path("m", "2"))
        b = tiny_model.Builder()
        b.placeholder("x", FLOAT, [-1])
        b.node("c", "Const", dtype=NUMBER)
        b.node("y", "AddV2", "x", "c", T=NUMBER)
        b.signature("serving_default", "predict", {"x": ("x:0", FLOAT, [-1])}, {"y": ("y:0", FLOAT, [-1])})
        tiny_model.save(b.model, self.path("m", "3"))
        other = tiny_model.build()
        other.meta_graphs[0].meta_info_def.tags[:] = ["serve", "gpu"]
        tiny_model.save(other, self.path("m", "4"))
        self.write("x" * 10, "m", "5", "saved_model.pb")
        b = tiny_model.Builder()
        b.placeholder("x", FLOAT, [-1])
        b.node("c", "Const", dtype=NUMBER, value=("tensor", negative_tensor()))
        b.node("y", "AddV2", "x", "c", T=NUMBER)
        b.signature("serving_default", "predict", {"x": ("x:0", FLOAT, [-1])}, {"y": ("y:0", FLOAT, [-1])})
        tiny_model.save(b.model, self.path("inits", "5"))
        for version, ops in (("1", (1, 1, 1)), ("2", (0, 1, 1)), ("3", (0, 0, 1)), ("4", (0, 2, 0))):
            write_init_ops(self.path("inits", version), *ops)
        flag = self.configs(*(self.config(name, self.path(name), "model_version_policy { all {} }") for name in ("m", "inits")))
        with Server(None, flag, "--max_num_load_retries=0") as server:
            server.wait_for_state(1, "AVAILABLE", name="m")
            for version, name in ((1, "signature"), (2, "main_op"), (3, "legacy_op")):
                server.wait_for_state(version, "AVAILABLE", name="inits")
                answer = server.post("/v1/models/inits/versions/%d:predict" % version, {"inputs": [1.0]})
                self.check("10.7", "the init op by %s, an asset's path, and no variables" % name, answer.json,
                           {"outputs": "by_%s %s" % (name, self.path("inits", str(version), "assets", "words.txt"))})
            self.check("10.7", "two init ops", self.error(server, 4, "inits"),
                       ("FAILED_PRECONDITION", Has("Expected exactly one main op in : " + self.path("inits", "4"))))
            self.check("10.7", "a Const with a negative size", self.error(server, 5, "inits")[0], "FAILED_PRECONDITION")
            self.check("10.7", "no saved_model.pb", self.error(server, 2), (MISSING, Has("SavedModel")))
            self.check("10.7", "a Const without a value", self.error(server, 3)[0], "FAILED_PRECONDITION")
            self.check("10.7", "other tags", self.error(server, 4), (MISSING, Has("Could not find meta graph def matching supplied tags: { serve }")))
            self.check("10.7", "no SavedModel", self.error(server, 5)[0] != "OK", True)
            self.check("11.4", "a failed version ends with its error", self.states(server, "m")["2"], ("END", MISSING))
            self.check("11.3", "the version before serves", server.post("/v1/models/m:predict", {"instances": [[1.0]]}).json, {"predictions": [[2.5]]})
        text = tiny_model.build()
        from google.protobuf import text_format
        self.write(text_format.MessageToString(text), "text", "1", "saved_model.pbtxt")
        with Server(self.path("text"), name="text") as server:
            self.check("10.7", "saved_model.pbtxt", server.post("/v1/models/text:predict", {"instances": [[1.0]]}).json, {"predictions": [[2.5]]})
        with Server(self.path("m"), "--saved_model_tags=gpu,serve", "--max_num_load_retries=0", name="m", wait=False) as server:
            server.process.wait()
            self.check("10.7", "the highest version fails", (server.process.returncode, server.output()), (255, Has("1 servable(s) did not become available: {{{name: m version: 5} due to error: ")))
            server.process.returncode = 0

    def test_directories_and_policies(self):
        for name in ("00000003", "7", "12"):
            tiny_model.write(self.path("m", name))
        for name in ("temp", "1x", "8.5"):
            os.makedirs(self.path("m", name))
        for label, policy, want in (("the latest one", "", ["12"]), ("the latest two", "latest { num_versions: 2 }", ["12", "7"]),
                                    ("latest 0 means 1", "latest { num_versions: 0 }", ["12"]), ("all", "all {}", ["12", "7", "3"]),
                                    ("specific", "specific { versions: [3, 7, 99] }", ["7", "3"])):
            flag = self.configs(self.config("m", self.path("m"), "model_version_policy { %s }" % policy if policy else ""))
            with Server(None, flag) as server:
                for version in want:
                    server.wait_for_state(version, "AVAILABLE", name="m")
                self.check("11.2", label, list(self.states(server, "m")), want)
        tiny_model.write(self.path("twice", "01"))
        self.write("x", "twice", "1", "saved_model.pb")  # "1" sorts later than "01"
        with Server(self.path("m"), "--file_system_poll_wait_seconds=0", name="m") as server:
            tiny_model.write(self.path("m", "13"))
            flag = self.configs(self.config("twice", self.path("twice")))
            with Server(None, flag, "--max_num_load_retries=0", "--keep_going") as other:
                self.check("11.1", "of two names with one number, the later one counts", self.error(other, 1, "twice")[0] != "OK", True)
                os.rename(self.path("twice", "1"), self.path("unused"))
                other.wait_for_state(1, "AVAILABLE", name="twice")
                self.check("11.4", "a failed version whose directory is another one", self.states(other, "twice"), {"1": ("AVAILABLE", "OK")})
            self.check("11.2", "a poll time of 0: the base path is read once", list(self.states(server, "m")), ["12"])
        os.rename(self.path("m", "13"), self.path("later"))
        with Server(self.path("m"), name="m") as server:
            self.check("11.1", "other names are no versions", list(self.states(server, "m")), ["12"])
            os.rename(self.path("m", "12"), self.path("gone"))
            server.wait_for_state(7, "AVAILABLE", name="m")
            server.wait_for_state(12, "END", name="m")
            self.check("11.4", "a version that ended stays in the list", self.states(server, "m"), {"12": ("END", "OK"), "7": ("AVAILABLE", "OK")})
            os.rename(self.path("m"), self.path("moved"))
            os.makedirs(self.path("m"))
            server.wait_for_state(7, "END", name="m")
            self.check("11.2", "no versions: all are unloaded", server.post("/v1/models/m:predict", {"instances": [1]}).json,
                       {"error": NO_SERVABLE + "Latest(m)"})

    def reload(self, client, text):
        from google.protobuf import text_format
        config = text_format.Parse(text, module("serving_config").ModelServerConfig())
        answer = client.call(MODEL + "HandleReloadConfigRequest", messages().ReloadConfigRequest(config=config), messages().ReloadConfigResponse)
        return answer.code, answer.text

    def test_reloads(self):
        tiny_model.write(self.path("m", "1"))
        self.write("", "bad", "1", "saved_model.pb")
        good = self.config("m", self.path("m"))
        with Server(self.path("m"), "--max_num_load_retries=0", name="m", grpc=True) as server:
            client = self.client(server)
            for section, label, text, code, error in (
                    ("8.8", "the same list", good, "OK", ""), ("8.8", "a model more", good + self.config("n", self.path("m")), "OK", ""),
                    ("11.6", "a model twice", good + good, BAD, "Illegal to list model m multiple times in config list"),
                    ("11.6", "another platform", good.replace("'tensorflow'", "'x'"), BAD, Begins("Illegal to change a model's platform.")),
                    ("11.6", "no platform", "config { name: 'q' base_path: '/q' }", BAD, Begins("Illegal setting neither")),
                    ("11.6", "platform and type", "config { name: 'q' base_path: '/q' model_platform: 'tensorflow' model_type: TENSORFLOW }", BAD, Begins("Illegal setting both")),
                    ("11.6", "an unknown platform", good + "config { name: 'q' base_path: '/q' model_platform: 'x' }", BAD, "Model q requests unsupported platform x"),
                    ("11.1", "a relative path", good + self.config("q", "q"), BAD, "Expected model q to have an absolute path or URI; got base_path()=q"),
                    ("11.6", "a model that fails", good + self.config("bad", self.path("bad")), "UNKNOWN",
                     Begins("1 model(s) did not become available: {{{name: bad version: 1} due to error: ")),
                    ("11.5", "a label of a version that is not there", self.config("m", self.path("m"), "version_labels { key: 'a' value: 5 }"), "FAILED_PRECONDITION",
                     "Request to assign label to version 5 of model m, which is not currently available for inference"),
                    ("11.5", "a label", self.config("m", self.path("m"), "version_labels { key: 'a' value: 1 }"), "OK", "")):
                self.check(section, label, self.reload(client, "model_config_list { %s }" % text), (code, error))
            self.check("8.8", "no list", self.reload(client, ""), (BAD, Has("Only ModelConfigList is currently supported")))
            self.check("11.5", "the label counts", server.post("/v1/models/m/labels/a:predict", {"instances": [[1.0]]}).json, {"predictions": [[2.5]]})
            server.wait_for_state(1, "END", name="n")
            self.check("8.8", "a model that was left out", server.post("/v1/models/n:predict", {"instances": [1]}).json, {"error": NO_SERVABLE + "Latest(n)"})

    def test_reload_of_labels_and_of_nothing(self):
        for version in (1, 2):
            tiny_model.write(self.path("m", str(version)))
        def stable(version):
            return "model_config_list { %s }" % self.config("m", self.path("m"), "version_labels { key: 'stable' value: %d }" % version)
        with Server(self.path("m"), "--allow_version_labels_for_unavailable_models", name="m", grpc=True) as server:
            client = self.client(server)
            self.check("11.5", "with the flag, a new label may stand for anything", self.reload(client, stable(7)), ("OK", ""))
            answer = server.post("/v1/models/m/labels/stable:predict", {"instances": [[1.0]]})
            self.check("11.5", "a label of a version that is not loaded", (answer.status, answer.json["error"]), (404, NO_SERVABLE + "Specific(m, 7)"))
            self.check("11.5", "a label moves to an available version", self.reload(client, stable(2)), ("OK", ""))
            self.check("11.5", "a label may not move to another one", self.reload(client, stable(1)),
                       ("FAILED_PRECONDITION", "Request to assign label to version 1 of model m, which is not currently available for inference"))
            request = messages().ReloadConfigRequest(metric_names=["/tensorflow/cc/saved_model/load_attempt_count"])
            for name in ("a", "m"):
                request.config.model_config_list.config.add(name=name, base_path=self.path("m"), model_platform="tensorflow")
            answer = client.call(MODEL + "HandleReloadConfigRequest", request, messages().ReloadConfigResponse)
            self.check("8.8", "the increase of a metric", [(m.name, m.int64_value_increase) for m in answer.message.metric],
                       [("/tensorflow/cc/saved_model/load_attempt_count", 1)])
            self.check("8.8", "the status in the answer", (answer.code, answer.message.status.error_code), ("OK", 0))
            custom = messages().ReloadConfigRequest()
            custom.config.custom_model_config.SetInParent()
            answer = client.call(MODEL + "HandleReloadConfigRequest", custom, messages().ReloadConfigResponse)
            self.check("8.8", "a custom_model_config", (answer.code, answer.text), (BAD, Has("Only ModelConfigList is currently supported")))
            self.check("11.6", "an empty list unloads all", self.reload(client, "model_config_list { }"), ("OK", ""))
            server.wait_for_state(2, "END", name="m")

    def test_a_config_file_that_is_polled(self):
        tiny_model.write(self.path("m", "1"))
        tiny_model.write(self.path("n", "4"))
        flag = self.configs(self.config("m", self.path("m")))
        with Server(None, flag, "--model_config_file_poll_wait_seconds=1") as server:
            self.write("model_config_list { config {", "models.config")
            server.wait_for_output("Invalid protobuf file: '%s'" % self.path("models.config"))
            self.check("11.6", "a bad file: the old configuration stays", server.get("/v1/models/m").status, 200)
            self.configs(self.config("m", self.path("m"), "model_version_policy { specific { } }"), self.config("n", self.path("n")))
            server.wait_for_state(4, "AVAILABLE", name="n")
            self.check("11.2", "specific without versions leaves what there is", self.states(server, "m"), {"1": ("AVAILABLE", "OK")})
            self.configs(self.config("m", self.path("n")), self.config("gone", self.path("gone")))
            server.wait_for_state(4, "AVAILABLE", name="m")
            self.check("11.6", "another base path", list(self.states(server, "m"))[0], "4")
            server.wait_for_state(4, "END", name="n")
            self.check("11.2", "a base path that is missing holds up nobody", server.get("/v1/models/gone").status, 404)

    def test_retries(self):
        self.write("x", "m", "1", "saved_model.pb")
        for retries, attempts in ((0, 1), (2, 3)):
            server = Server(self.path("m"), "--max_num_load_retries=%d" % retries, "--load_retry_interval_micros=1000", name="m", wait=False)
            server.process.wait()
            self.check("11.4", "attempts with %d retries" % retries, (server.process.returncode, server.output().count("Loading servable: {name: m version: 1} failed: ")), (255, attempts))
        tiny_model.write(self.path("k", "1"))
        with Server(self.path("k"), "--max_num_load_retries=0", "--version_transition=resource_preserving", name="k") as server:
            tiny_model.write(self.path("k", "2"))
            server.wait_for_state(2, "AVAILABLE", name="k")
            output = server.output()
            self.check("11.3", "resource preserving unloads first", output.index("Done unloading servable version {name: k version: 1}")
                       < output.index("Successfully loaded servable version {name: k version: 2}"), True)

    def test_text_files(self):
        tiny_model.write(self.path("m", "1"))
        for label, text in (
                ("braces and colons", "model_config_list: { config: { name: 'm' base_path: '%s' model_platform: 'tensorflow' } }"),
                ("angle brackets", "model_config_list < config < name: 'm' base_path: '%s' model_platform: 'tensorflow' > >"),
                ("comments, double quotes and joined strings", '# all\nmodel_config_list { config { name: "m" # one\n base_path: "" "%s" model_platform: "tensor" \'flow\' } }'),
                ("separators and escapes", "model_config_list { config { name: '\\155', base_path: '%s'; model_platform: \"\\x74ensorflow\"; } }"),
                ("lists, booleans and maps", "model_config_list { config [ { name: 'm' base_path: '%s' model_platform: 'tensorflow' model_version_policy { specific "
                 "{ versions: 1 versions: [2] } } version_labels { key: 'a', value: 1 } version_labels: { key: \"b\" value: 1 } } ] }")):
            with Server(None, "--model_config_file=" + self.write(text % self.path("m"), "models.config"), "--allow_version_labels_for_unavailable_models") as server:
                self.check("12", label, server.post("/v1/models/m:predict", {"instances": [[1.0]]}).status, 200)
        for label, text, error in (("an unknown field", "model_config_list { x: 1 }", "Invalid protobuf file: '%s'" % self.path("models.config")),
                                   ("an open brace", "model_config_list {", "Invalid protobuf file: '%s'" % self.path("models.config")),
                                   ("the parser's words", "x", "Error parsing text-format tensorflow.serving.ModelServerConfig")):
            flag = "--model_config_file=" + self.write(text, "models.config")
            done = run("modelserver", flag, "--port=0", "--rest_api_port=1")
            self.check("12", label, (done.returncode, done.stdout + done.stderr), (255, Has(error)))
        for label, flag, text in (("12.2", "monitoring_config_file", "prometheus_config { x: 1 }"), ("12.3", "batching_parameters_file", "x: 1"),
                                  ("12.4", "ssl_config_file", "server_key: 1")):
            file = "--%s=%s" % (flag, self.write(text, "file"))
            done = run("modelserver", "--model_base_path=" + self.path("m"), file, "--enable_batching", "--port=1", "--rest_api_port=0")
            self.check(label, "a bad file", (done.returncode != 0, done.stdout + done.stderr), (True, Has("Invalid protobuf file: '%s'" % self.path("file"))))

    def test_warm_up(self):
        tiny_model.write(self.path("m", "1"))
        corrupt = bytearray(records.record(prediction_logs.predict().SerializeToString()))
        corrupt[-1] ^= 1
        record = lambda *logs: b"".join(records.record(log.SerializeToString()) for log in logs)
        for version, data in ((2, record(*prediction_logs.good_logs())), (3, record(*[prediction_logs.predict()] * 1001)), (4, record(prediction_logs.session_run())),
                              (5, records.record(b"\xff")), (6, bytes(corrupt)), (7, record(prediction_logs.unknown_signature()))):
            tiny_model.write(self.path("m", str(version)))
            self.write(data, "m", str(version), "assets.extra", "tf_serving_warmup_requests")
        flag = self.configs(self.config("m", self.path("m"), "model_version_policy { all {} }"))
        with Server(None, flag, "--max_num_load_retries=0") as server:
            for version, label in ((1, "no file"), (2, "each kind of request")):
                server.wait_for_state(version, "AVAILABLE", name="m")
                self.check("14", label, self.states(server, "m")[str(version)], ("AVAILABLE", "OK"))
            for version, label, code, text in ((3, "1001 records", BAD, ""), (4, "a session run", "UNIMPLEMENTED", "Unsupported log_type for warmup: 5"),
                                               (5, "a record that is none", None, ""), (6, "a corrupt file", "DATA_LOSS", "Please verify your warmup data is in TFRecord format."),
                                               (7, "a request that fails", None, "")):
                got = self.error(server, version)
                self.check("14", label, (got[0] if code else got[0] != "OK", got[1]), (code or True, Has(text)))
        with Server(None, flag, "--enable_model_warmup=false") as server:
            for version in range(1, 8):
                server.wait_for_state(version, "AVAILABLE", name="m")
            self.check("14", "turned off", set(self.states(server, "m").values()), {("AVAILABLE", "OK")})


class Batching(Conformance):
    """Section 13, where one request at a time shows it; test_batching.py has the rest."""

    def test_batching(self):
        test_batching.write(self.path("default", "1"))
        for label, text, body, status, want in (
                ("max_batch_size", "max_batch_size { value: 2 }", {"instances": [[1], [2], [3]]}, 400, "Task size 3 is larger than maximum input batch size 2"),
                ("padding to an allowed size", "max_batch_size { value: 4 } allowed_batch_sizes: 4", {"instances": [[1]]}, 200, [[5.0]]),
                ("a task of several batches", "max_batch_size { value: 4 } enable_large_batch_splitting { value: true } max_execution_batch_size { value: 2 }",
                 {"instances": [[1], [2], [3]]}, 200, [[3.0], [4.0], [4.0]]),
                ("a scalar input", "", {"inputs": 1}, 400, "Batching Run() input tensors must have at least one dimension"),
                ("a scalar output", "", {"signature_name": "scalar", "inputs": [[1]]}, 400, "Batched output tensor has 0 dimensions"),
                ("an output of other rows", "", {"signature_name": "fixed", "inputs": [[1]]}, 400,
                 "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input tensors")):
            flag = "--batching_parameters_file=" + self.write(text, "batching.config")
            with Server(self.path("default"), "--enable_batching", flag) as server:
                answer = server.post(test_batching.PATH, body)
                self.check("13", label, (answer.status, next(iter(answer.json.values()))), (status, want))
        with Server(self.path("default"), "--enable_batching") as server:
            self.check("13", "no file", server.post(test_batching.PATH, {"instances": [[1]]}).json, {"predictions": [[2.0]]})
        flag = "--batching_parameters_file=" + self.write("max_batch_size { value: 2 } batch_timeout_micros { value: 20000000 }", "batching.config")
        with Server(self.path("default"), "--enable_batching", flag, grpc=True) as server, ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda x: server.post(test_batching.PATH, {"instances": [[x]]}).json, (1, 2)))
            self.check("13", "two tasks share a batch, and each gets its rows", answers, [{"predictions": [[3.0]]}, {"predictions": [[4.0]]}])
            answers = [a["error"] for a in pool.map(lambda row: server.post(test_batching.PATH, {"instances": [row]}).json, ([1, 2], [3]))]
            self.check("13", "different shapes without padding", answers, [Begins("Tensors with name 'x:0' from different tasks have different shapes")] * 2)
            client = self.client(server)
            answer = client.predict(predict(spec("default"), x=floats(1.0)), timeout=0.2)
            self.check("13", "the deadline passes in the queue", answer.code in ("RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"), True)
        self.write("max_batch_size { value: 4 } allowed_batch_sizes: 4", "default", "1", "batching_params.pbtxt")
        with Server(self.path("default"), "--enable_batching", "--enable_per_model_batching_parameters") as server:
            self.check("13", "parameters of a version", server.post(test_batching.PATH, {"instances": [[1]]}).json, {"predictions": [[5.0]]})
        os.remove(self.path("default", "1", "batching_params.pbtxt"))
        base = "--model_base_path=" + self.path("default")
        file = "--batching_parameters_file=" + self.write("max_batch_size { value: 8 } allowed_batch_sizes: 4", "batching.config")
        self.start_fails("13", "the last allowed size", "INVALID_ARGUMENT: Last entry in allowed_batch_sizes must match max_batch_size; last entry was 4; expected 8",
                         base, "--enable_batching", file)
        self.start_fails("13", "a file without --enable_batching", "INVALID_ARGUMENT: server_options.batching_parameters_file is set", base, file)


class Programs(Conformance):
    """Sections 16 and 17."""

    def test_flags_and_start(self):
        self.start_fails("17", "neither a path nor a file", "INVALID_ARGUMENT: Both server_options.model_base_path and server_options.model_config_file are empty!")
        self.start_fails("17", "a model without a name", "INVALID_ARGUMENT: --model_name is empty", "--model_base_path=/m", "--model_name=")
        self.start_fails("17", "no port", "INVALID_ARGUMENT: ", "--model_base_path=/m", "--rest_api_port=0")
        self.start_fails("17", "TLS with ALTS", "INVALID_ARGUMENT: --use_alts_credentials and --ssl_config_file exclude each other",
                         "--model_base_path=/m", "--use_alts_credentials", "--ssl_config_file=/s")
        self.start_fails("16", "three numbers of threads", "INVALID_ARGUMENT: Either configure server_options.tensorflow_session_parallelism", "--model_base_path=/m",
                         "--tensorflow_intra_op_parallelism=1", "--tensorflow_inter_op_parallelism=1", "--tensorflow_session_parallelism=1")
        for flag, text in (("--mixed_precision=bfloat16", "--mixed_precision"), ("--thread_pool_factory_config_file=x", "--thread_pool_factory_config_file"),
                           ("--port=x", "--port"), ("--no_such=1", "--no_such")):
            done = run("modelserver", flag)
            self.check("16", flag, (done.returncode, done.stderr), (2, Has(text)))
        tiny_model.write(self.path("all", "1"))
        accepted = ["--num_load_threads=1", "--num_unload_threads=1", "--rest_api_timeout_in_ms=0", "--flush_filesystem_caches=false",
                    "--tensorflow_session_parallelism=2", "--use_alts_credentials=false", "--per_process_gpu_memory_fraction=0.5", "--grpc_max_threads=4",
                    "--grpc_channel_arguments=grpc.max_connection_age_ms=600000", "--num_request_iterations_for_warmup=2",
                    "--remove_unused_fields_from_bundle_metagraph=false", "--prefer_tflite_model=false", "--num_tflite_pools=1",
                    "--num_tflite_interpreters_per_pool=1", "--xla_cpu_compilation_enabled=false", "--xla_gpu_compilation_enabled=false",
                    "--enable_profiler=false", "--thread_pool_factory_config_file=", "--mixed_precision=", "--skip_initialize_tpu",
                    "--grpc_socket_path=" + self.path("socket"), "--tensorflow_session_config_file="]
        with Server("file://" + self.path("all"), *accepted, name="all") as server:
            self.check("16", "flags that change nothing here, and the URI of a local path", server.post("/v1/models/all:predict", {"instances": [[1.0]]}).json, {"predictions": [[2.5]]})
        file = self.write("model_config_list { config { name: 'all' base_path: '%s' model_platform: 'tensorflow' } }" % self.path("all"), "models.config")
        with Server(None, "--model_config_file=file://" + file) as server:
            self.check("16", "the URI of a config file", server.get("/v1/models/all").status, 200)
        self.start_fails("16", "a config file elsewhere", "UNIMPLEMENTED: --model_config_file: File system scheme 'gs' not implemented",
                         "--model_config_file=gs://bucket/models.config")
        done = run("modelserver", "--version")
        self.check("16", "--version", (done.returncode, bool(re.match(r"modelserver [\d.]+\n", done.stdout))), (0, True))
        server = Server(self.path("late"), name="late", grpc=True, wait=False)
        server.wait_for_output("waiting for it")
        with self.assertRaises(OSError):
            server.connect().connect()
        tiny_model.write(self.path("late", "1"))
        server.wait_ready()
        output = server.output()
        self.check("17", "waits for a model with closed ports", server.get("/v1/models/late").status, 200)
        self.check("17", "the lines that scripts wait for", (output.index("Successfully loaded servable version {name: late version: 1}")
                                                             < output.index("Running gRPC ModelServer at 0.0.0.0:%d ..." % server.grpc_port)
                                                             < output.index("Exporting HTTP/REST API at:localhost:%d ..." % server.port)), True)
        self.check("17", "SIGTERM", server.stop(), 0)


if __name__ == "__main__":
    main()

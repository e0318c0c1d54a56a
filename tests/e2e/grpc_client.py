"""gRPC for tests: messages generated from the project's own texts with protoc, called with python3-grpcio.

    from grpc_client import Client, messages

    client = Client("127.0.0.1:%d" % server.grpc_port)
    answer = client.predict(messages().PredictRequest(...))
    answer.code, answer.text, answer.message
"""
import functools
import glob
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import DEADLINE_S, SOURCE

PREDICTION = "/tensorflow.serving.PredictionService/"
MODEL = "/tensorflow.serving.ModelService/"


@functools.lru_cache(None)
def generated():
    """A directory of modules: proto/serving_pb2.py and the rest. Skips the test if something is missing."""
    try:
        import google.protobuf  # noqa: what the modules need
        import grpc  # noqa
    except ImportError as e:
        raise unittest.SkipTest("python3-grpcio and python3-protobuf are needed: %s" % e)
    if not shutil.which("protoc"):
        raise unittest.SkipTest("protoc is needed")
    directory = tempfile.mkdtemp(prefix="slipway-proto-")
    import atexit
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    texts = sorted(os.path.relpath(p, SOURCE) for p in glob.glob(os.path.join(SOURCE, "proto", "*.proto")))
    subprocess.run(["protoc", "-I", "proto/wellknown", "-I", ".", "--python_out=" + directory, *texts], cwd=SOURCE, check=True)
    return directory


STUB = """class PredictionServiceStub:
    def __init__(self, channel):
        from proto import serving_pb2
        self.Predict = channel.unary_unary("%sPredict", request_serializer=serving_pb2.PredictRequest.SerializeToString,
                                           response_deserializer=serving_pb2.PredictResponse.FromString)
""" % PREDICTION


@functools.lru_cache(None)
def stand_in():
    """A directory in which tensorflow_serving.apis has what clients import from that package, for a PYTHONPATH."""
    apis = os.path.join(generated(), "tensorflow_serving", "apis")
    os.makedirs(apis)
    with open(os.path.join(apis, "predict_pb2.py"), "w", encoding="ascii") as f:
        f.write("from proto.serving_pb2 import *\n")
    with open(os.path.join(apis, "prediction_service_pb2_grpc.py"), "w", encoding="ascii") as f:
        f.write(STUB)
    return generated()


@functools.lru_cache(None)
def module(name):
    """The module of proto/NAME.proto."""
    if generated() not in sys.path:
        sys.path.insert(0, generated())
    return importlib.import_module("proto.%s_pb2" % name)


def messages():
    """The messages of the prediction and model services; .tensor, .example and so on are modules of their own."""
    return module("serving")


class Answer:
    """code: "OK" or the name of the failure; text: its message."""

    def __init__(self, code, text="", message=None):
        self.code, self.text, self.message = code, text, message

    def __repr__(self):
        return "%s %s%s" % (self.code, self.text, str(self.message or "")[:500])


class Client:
    def __init__(self, target, credentials=None, options=()):
        import grpc
        self.grpc = grpc
        generated()
        options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1), *options]
        self.channel = grpc.secure_channel(target, credentials, options) if credentials else grpc.insecure_channel(target, options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def start(self, path, request, response, timeout=DEADLINE_S, **more):
        """A future; request: a message, or bytes as they are."""
        method = self.channel.unary_unary(path, request_serializer=lambda m: m if isinstance(m, bytes) else m.SerializeToString(),
                                          response_deserializer=response.FromString)
        return method.future(request, timeout=timeout, **more)

    def end(self, future):
        try:
            return Answer("OK", message=future.result())
        except self.grpc.RpcError as e:
            return Answer(e.code().name, e.details())

    def call(self, path, request, response, **more):
        return self.end(self.start(path, request, response, **more))

    def predict(self, request, **more):
        return self.call(PREDICTION + "Predict", request, messages().PredictResponse, **more)

    def classify(self, request):
        return self.call(PREDICTION + "Classify", request, messages().ClassificationResponse)

    def regress(self, request):
        return self.call(PREDICTION + "Regress", request, messages().RegressionResponse)

    def multi_inference(self, request):
        return self.call(PREDICTION + "MultiInference", request, messages().MultiInferenceResponse)

    def metadata(self, request):
        return self.call(PREDICTION + "GetModelMetadata", request, messages().GetModelMetadataResponse)

    def status(self, request):
        return self.call(MODEL + "GetModelStatus", request, messages().GetModelStatusResponse)

    def health(self, service):
        m = module("health")
        return self.call("/grpc.health.v1.Health/Check", m.HealthCheckRequest(service=service), m.HealthCheckResponse)

    def watch(self, service):
        """The stream of answers, to be iterated over."""
        m = module("health")
        method = self.channel.unary_stream("/grpc.health.v1.Health/Watch", request_serializer=m.HealthCheckRequest.SerializeToString,
                                           response_deserializer=m.HealthCheckResponse.FromString)
        return method(m.HealthCheckRequest(service=service), timeout=DEADLINE_S)

    def reflect(self, version="v1", **question):
        m = module("reflection_" + version)
        method = self.channel.stream_stream("/grpc.reflection.%s.ServerReflection/ServerReflectionInfo" % version,
                                            request_serializer=m.ServerReflectionRequest.SerializeToString,
                                            response_deserializer=m.ServerReflectionResponse.FromString)
        return list(method(iter([m.ServerReflectionRequest(**question)]), timeout=DEADLINE_S))[0]


FIELDS = {1: "float_val", 2: "double_val", 3: "int_val", 4: "int_val", 5: "int_val", 6: "int_val", 7: "string_val", 9: "int64_val",
          10: "bool_val", 14: "half_val", 17: "int_val", 19: "half_val", 22: "uint32_val", 23: "uint64_val"}


def tensor(dtype, shape, values):
    """A TensorProto of typed values; dtype: its number."""
    message = module("tensor").TensorProto(dtype=dtype)
    for size in shape:
        message.tensor_shape.dim.add(size=size)
    message.tensor_shape.SetInParent()
    getattr(message, FIELDS[dtype]).extend(values)
    return message


def values(message):
    """(shape, list of the values in the typed field)"""
    return [d.size for d in message.tensor_shape.dim], list(getattr(message, FIELDS[message.dtype]))

"""For tests/e2e/test_endurance.py: traffic of every protocol, and what it is measured by."""
import random
import re
import socket
import threading

from grpc_client import Client, messages, module, tensor
from harness import DEADLINE_S, run

INFER = "/inference.GRPCInferenceService/ModelInfer"
PREDICT = "/v1/models/default:predict"
X = {"name": "x", "shape": [2, 1], "datatype": "FP32", "data": [1.0, 3.0]}
EXAMPLES = {"signature_name": "regress_x_to_y", "examples": [{"x": 1.0}, {"x": 3.0}]}


def memory_kb(server):
    with open("/proc/%d/status" % server.pid, encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


def latency_us(server, count):
    """The median and the 99th percentile of `count` requests, one after the other, by a well-behaved client. Fails if one of them does."""
    done = run("modelclient", "predict", "--server", "http://127.0.0.1:%d" % server.port, "--model", "default", "--input", "x=[[1.0]]",
               "--repeat", str(count))
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return tuple(float(re.search(r" p%d +([\d.]+)" % p, done.stdout).group(1)) for p in (50, 99))


class Traffic(threading.Thread):
    """Asks one question again and again, and keeps what is wrong. ask(): None, or what was wrong about the answer."""

    def __init__(self, ask):
        super().__init__(daemon=True)
        self.ask, self.count, self.wrong, self.stopping = ask, 0, [], threading.Event()

    def run(self):
        while not self.stopping.is_set():
            try:
                wrong = self.ask()
            except Exception as e:  # every failure counts
                wrong = repr(e)
            self.count += 1
            if wrong is not None:
                self.wrong.append(wrong)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.join(DEADLINE_S)


def rest(server, path, body, wanted):
    connection = server.connect()

    def ask():
        answer = server.post(path, body, connection=connection)
        return None if answer.status == 200 and wanted(answer.json) else repr(answer)
    return Traffic(ask)


def grpc(server, path, request, response, wanted):
    # grpcio shares a connection among clients with the same options
    client = Client("127.0.0.1:%d" % server.grpc_port, options=[("grpc.use_local_subchannel_pool", 1)])

    def ask():
        answer = client.call(path, request, response)
        return None if answer.code == "OK" and wanted(answer.message) else repr(answer)
    return Traffic(ask)


def good_traffic(server):
    """A client of each protocol and verb, whose answers are known."""
    m, oip = messages(), module("open_inference")
    predict = m.PredictRequest(model_spec={"name": "default"}, inputs={"x": tensor(1, [2, 1], [1.0, 3.0])})
    infer = oip.ModelInferRequest(model_name="default", raw_input_contents=[b"\0\0\x80?\0\0\x40@"])
    infer.inputs.add(name="x", datatype="FP32", shape=[2, 1])
    path = "/tensorflow.serving.PredictionService/Predict"
    return [rest(server, PREDICT, {"instances": [[1.0], [3.0]]}, lambda j: j == {"predictions": [[2.5], [3.5]]}),
            rest(server, PREDICT, {"inputs": [[1.0], [3.0]] * 3000}, lambda j: j == {"outputs": [[2.5], [3.5]] * 3000}),
            rest(server, PREDICT.replace("predict", "regress"), EXAMPLES, lambda j: j == {"results": [2.5, 3.5]}),
            rest(server, "/v2/models/default/infer", {"inputs": [X]}, lambda j: j["outputs"][0]["data"] == [2.5, 3.5]),
            grpc(server, path, predict, m.PredictResponse, lambda a: list(a.outputs["y"].float_val) == [2.5, 3.5]),
            grpc(server, INFER, infer, oip.ModelInferResponse, lambda a: a.raw_output_contents[0] == b"\0\0\x20@\0\0\x60@")]


BAD = [("/v1/models/default:predict", b"{]", 400), ("/v1/models/default:predict", b'{"instances":[["a"]]}', 400),
       ("/v1/models/default:predict", b'{"signature_name":"none","instances":[1]}', 400), ("/v1/models/none:predict", b'{"instances":[1]}', 404),
       ("/v1/models/default/versions/999999999:predict", b'{"instances":[1]}', 404), ("/v1/models/default:PREDICT", b"{}", 400), ("/v1/x", b"", 400),
       ("/v1/models/default:classify", b'{"examples":[3]}', 400), ("/v2/models/default/infer", b'{"inputs":[{"name":"x","shape":[9223372036854775807]}]}', 400),
       ("/v1/models/default:predict", b'{"instances":' + b"[" * 5000 + b"]" * 5000 + b"}", 400), ("/no", b"", 404)]


def bad_traffic(server, seed):
    """Wrong requests, each on a connection of its own; half requests, garbage, and wrong messages over gRPC."""
    draw = random.Random(seed)
    client = Client("127.0.0.1:%d" % server.grpc_port, options=[("grpc.use_local_subchannel_pool", 1)])

    def half():
        with socket.create_connection(("127.0.0.1", draw.choice([server.port, server.grpc_port])), timeout=DEADLINE_S) as s:
            s.sendall(draw.choice([draw.randbytes(200), b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n{" % PREDICT.encode(),
                                   b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + draw.randbytes(40)]))

    def ask():
        kind = draw.randrange(4)
        if kind == 0:
            return half()
        if kind == 1:
            answer = client.call("/tensorflow.serving.PredictionService/Predict", draw.randbytes(60), messages().PredictResponse)
            return None if answer.code in ("INTERNAL", "INVALID_ARGUMENT") else repr(answer)
        path, body, status = draw.choice(BAD)
        answer = server.post(path, body)
        return None if answer.status == status else "%s: %r" % (path, answer)
    return Traffic(ask)

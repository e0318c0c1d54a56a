"""--memory_budget_bytes: whatever strangers send, by whichever protocol, the process stays below it and 64 MiB for itself; what is
beyond is refused, and what was taken is given back. Also where the address space is limited (ulimit -v)."""
import gzip
import os
import re
import resource
import shutil
import socket
import struct
import subprocess
import threading
import time
import unittest

import tiny_model
from expensive_models import write_fill
from grpc_client import PREDICTION, Client, messages, module, tensor
from harness import DEADLINE_S, SANITIZED, Server, TestCase, clean_environment, main, program, run

MB = 1 << 20
BUDGET = 64 * MB
OWN = 64 * MB
LARGE = 64 * MB  # a model's constant
REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
PREDICT = "/v1/models/default:predict"
GZIP = [("grpc.default_compression_algorithm", 2)]


def write_product(directory):
    """n -> the sum of the product of two n×n matrices of ones."""
    b = tiny_model.Builder()
    number = ("type", 1)
    b.placeholder("n", 3, [])
    b.const("one", 1, [], [1.0])
    b.const("axes", 3, [2], [0, 1])
    b.node("dims", "Pack", "n", "n", N=("i", 2), T=("type", 3), axis=("i", 0))
    b.node("ones", "Fill", "dims", "one", T=number, index_type=("type", 3))
    b.node("product", "MatMul", "ones", "ones", T=number, transpose_a=("b", False), transpose_b=("b", False))
    b.node("sum", "Sum", "product", "axes", T=number, Tidx=("type", 3), keep_dims=("b", False))
    b.signature("serving_default", "predict", {"n": ("n:0", 3, [])}, {"sum": ("sum:0", 1, [])})
    os.makedirs(directory)
    with open(os.path.join(directory, "saved_model.pb"), "wb") as f:
        f.write(b.model.SerializeToString())


def write_large(directory):
    """y = x + the sum of so many bytes of zeros."""
    b = tiny_model.Builder()
    number = ("type", 1)
    b.placeholder("x", 1, [-1, 1])
    b.const("large", 1, [LARGE // 4], [])
    b.meta.graph_def.node[-1].attr["value"].tensor.tensor_content = bytes(LARGE)
    b.const("axes", 3, [1], [0])
    b.node("sum", "Sum", "large", "axes", T=number, Tidx=("type", 3), keep_dims=("b", False))
    b.node("y", "AddV2", "x", "sum", T=number)
    b.signature("serving_default", "predict", {"x": ("x:0", 1, [-1, 1])}, {"y": ("y:0", 1, [-1, 1])})
    tiny_model.save(b.model, directory)


def memory(server, field):
    """Bytes of a line of /proc/PID/status: VmHWM, VmRSS, VmSize."""
    with open("/proc/%d/status" % server.pid, encoding="ascii") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field + ":"))


def predict(signature="", **inputs):
    message = messages().PredictRequest(model_spec=messages().ModelSpec(name="default", signature_name=signature))
    for key, value in inputs.items():
        message.inputs[key].CopyFrom(value)
    return message


def repeated(count):
    """A few bytes that say: one value, so many times."""
    return predict(x=tensor(1, [count, 1], [1.0]))


def fill(count):
    return predict(dims=tensor(9, [1], [count]))


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def call_frames(stream, message, end=True, path=PREDICTION + "Predict"):
    """A call; without an end its message is left open."""
    heads = literal(":method", "POST") + literal(":scheme", "http") + literal(":path", path)
    heads += literal(":authority", "x") + literal("content-type", "application/grpc") + literal("te", "trailers")
    size = len(message) if end else len(message) + 1
    body = b"\0" + struct.pack(">I", size) + message
    data = b"".join(frame(0, 0, stream, body[at:at + 16384]) for at in range(0, len(body), 16384))
    return frame(1, 4, stream, heads) + data + (frame(0, 1, stream, b"") if end else b"")


def held(server):
    """Bytes that count against the budget. (malloc may keep up to 64 MiB of what was freed.)"""
    return float(re.search(r"^slipway_memory_budget_used_bytes (\S+)$", server.get("/metrics").body.decode(), re.MULTILINE)[1])


class Hostile:
    """Connections that stay open and are never read."""

    def __init__(self, test):
        self.sockets = []
        test.addCleanup(self.close)

    def connect(self, port):
        s = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        self.sockets.append(s)
        return s

    def send(self, port, data):
        try:
            self.connect(port).sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused

    def grpc(self, server, frames):
        self.send(server.grpc_port, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frames)

    def rest(self, server, body, length=None):
        head = "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (PREDICT, length or len(body))
        self.send(server.port, head.encode() + body)

    def close(self):
        for s in self.sockets:
            s.close()
        self.sockets = []


class Memory(TestCase):
    def server(self, write=tiny_model.write, budget=BUDGET, *flags):
        base = self.path("model")
        if not os.path.exists(base):
            write(os.path.join(base, "1"))
        return Server(base, "--memory_budget_bytes=%d" % budget, *flags, grpc=True)

    def client(self, server, options=()):
        """One that is connected: there may be no memory for another connection later."""
        client = Client("127.0.0.1:%d" % server.grpc_port, options=options)
        self.addCleanup(client.channel.close)
        self.assertEqual(client.status(messages().GetModelStatusRequest(model_spec=messages().ModelSpec(name="default"))).code, "OK")
        return client

    def stays_below(self, server, budget=BUDGET):
        if not SANITIZED:  # which take a multiple
            self.assertLess(memory(server, "VmHWM") / MB, (budget + OWN) / MB)

    def wait_until(self, what, message):
        end = time.monotonic() + DEADLINE_S
        while not what():
            self.assertLess(time.monotonic(), end, message)
            time.sleep(0.05)

    def is_used_up(self, server, client, hostile):
        """Asks for one more answer that nobody reads: some of those before may have been refused while others were computed."""
        if client.predict(fill(4 * MB)).code == "RESOURCE_EXHAUSTED":
            return True
        hostile.grpc(server, call_frames(1, fill(2 * MB).SerializeToString()))
        return False

    def test_what_every_protocol_may_ask_for(self):
        body = b'{"inputs":[[' + b"0],[" * (12 * MB) + b"0]]}"
        examples = b'{"context":{"s":"%s"},"examples":[%s]}' % (b"x" * MB, b",".join([b"{}"] * 200))
        context = module("example").Example()
        context.features.feature["s"].bytes_list.value.append(b"x" * MB)
        spec = messages().ModelSpec(name="default", signature_name="regress_x_to_y")
        regress = messages().RegressionRequest(model_spec=spec)
        regress.input.example_list_with_context.context.CopyFrom(context)
        for _ in range(200):
            regress.input.example_list_with_context.examples.add()
        large = predict(x=tensor(1, [1], [0.0]))
        large.inputs["x"].ClearField("float_val")
        large.inputs["x"].tensor_content = bytes(80 * MB)
        large.inputs["x"].tensor_shape.dim[0].size = 20 * MB
        names = predict(**{"name%d" % i: tensor(1, [1], []) for i in range(50000)})
        with self.server() as server:
            plain, packed = self.client(server), self.client(server, GZIP)
            for data, headers in ((body, {}), (gzip.compress(body, 1), {"Content-Encoding": "gzip"})):
                answer = server.post(PREDICT, data, headers=headers)
                self.assertEqual(answer.status, 429, answer)
            self.assertEqual(server.post("/v1/models/default:regress", examples).status, 429)
            for client in (plain, packed):
                for count in (1 << 33, 1 << 31, 14 * MB):
                    answer = client.predict(repeated(count))
                    self.assertEqual(answer.code, "RESOURCE_EXHAUSTED", answer)
                answer = client.predict(large)
                self.assertEqual(answer.code, "RESOURCE_EXHAUSTED")
                self.assertIn("Received message larger than max (8388" if client is plain else "", answer.text)
                self.assertEqual(client.regress(regress).code, "RESOURCE_EXHAUSTED")
                self.assertIn(client.predict(names).code, ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"))
            for client in (plain, packed):  # all of it is there again
                self.assertEqual(client.predict(repeated(2 * MB)).code, "OK")
            self.assertEqual(server.post(PREDICT, {"instances": [[2.0]] * 100000}).status, 200)
            self.stays_below(server)

    def test_answers_that_nobody_reads(self):
        with self.server(write_fill) as server:
            client, hostile = self.client(server), Hostile(self)
            for i in range(30):
                hostile.grpc(server, call_frames(1, fill(2 * MB).SerializeToString()))
                hostile.rest(server, b'{"inputs":[300000]}')
                small = fill(50000).SerializeToString()  # which count as well
                hostile.grpc(server, b"".join(call_frames(stream, small) for stream in range(1, 41, 2)))
            self.wait_until(lambda: self.is_used_up(server, client, hostile), "nothing is used up")
            self.assertEqual(server.post(PREDICT, {"inputs": [2000000]}).status, 429)
            self.assertEqual(server.get("/v1/models/default").status, 200)  # a probe finds the server well
            self.client(server)
            self.stays_below(server)
            hostile.close()
            self.wait_until(lambda: client.predict(fill(4 * MB)).code == "OK", "nothing is given back")
            self.wait_until(lambda: server.post(PREDICT, {"inputs": [500000]}).status == 200, "nothing is given back")

    def test_descriptors_that_nobody_reads(self):
        question = module("reflection_v1").ServerReflectionRequest(file_containing_symbol=PREDICTION[1:-1]).SerializeToString()
        with self.server() as server:
            client, hostile = self.client(server), Hostile(self)
            self.assertEqual(client.predict(repeated(2 * MB)).code, "OK")
            no_window = frame(4, 0, 0, struct.pack(">HI", 4, 0))
            for _ in range(20):
                calls = [call_frames(stream, question, path=REFLECTION) for stream in range(1, 200, 2)]
                hostile.grpc(server, no_window + b"".join(calls))
            self.wait_until(lambda: client.predict(repeated(2 * MB)).code == "RESOURCE_EXHAUSTED", "answers cost nothing")
            self.stays_below(server)
            hostile.close()
            self.wait_until(lambda: client.predict(repeated(2 * MB)).code == "OK", "nothing is given back")
            with self.assertRaises(client.grpc.RpcError) as caught:
                client.reflect(file_by_filename="x" * 20000)
            self.assertEqual(caught.exception.code().name, "RESOURCE_EXHAUSTED")
            self.assertIn("services", str(client.reflect(list_services="")))

    def test_requests_that_do_not_end(self):
        with self.server() as server:
            client, hostile = self.client(server), Hostile(self)
            half = b'{"inputs":[' + b"0," * 100000
            for i in range(800):
                hostile.rest(server, half, len(half) + 1)
                hostile.grpc(server, call_frames(1, bytes(200000), end=False))
            self.wait_until(lambda: client.predict(repeated(12 * MB)).code == "RESOURCE_EXHAUSTED", "nothing is used up")
            self.stays_below(server)
            hostile.close()
            self.wait_until(lambda: client.predict(repeated(2 * MB)).code == "OK", "nothing is given back")

    def test_buffers_of_runs_are_given_back(self):
        with self.server(write_fill) as server:
            client = self.client(server)
            for i in range(40):  # each of another size: 240 MB in all
                answer = client.predict(fill(MB + i * 50000))
                self.assertEqual(answer.code, "OK", answer)
            self.stays_below(server)
            self.wait_until(lambda: held(server) < MB, "idle runs keep their buffers")

    @unittest.skipIf(SANITIZED, "a sanitizer keeps freed memory")
    def test_what_a_peak_of_traffic_has_freed_goes_to_the_system(self):
        with self.server(budget=512 * MB) as server:
            hostile = Hostile(self)
            request = predict(x=tensor(1, [12000, 1], [1.0] * 12000)).SerializeToString()
            no_window = frame(4, 0, 0, struct.pack(">HI", 4, 0))
            for _ in range(100):
                calls = [call_frames(stream, request) for stream in range(1, 81, 2)]
                hostile.grpc(server, no_window + b"".join(calls))
            self.wait_until(lambda: memory(server, "VmRSS") > 150 * MB, "nothing is held")
            hostile.close()
            self.wait_until(lambda: memory(server, "VmRSS") < 60 * MB, "malloc keeps what was freed")

    @unittest.skipIf(SANITIZED, "a sanitizer keeps freed memory")
    def test_a_version_that_goes_gives_its_memory_back(self):
        with self.server(write_large) as server:
            self.assertGreater(memory(server, "VmRSS"), LARGE)
            tiny_model.write(self.path("model", "2"))
            server.wait_for_state(1, "END")
            self.wait_until(lambda: memory(server, "VmRSS") < 40 * MB, "it keeps what its version had")

    def with_address_space(self, size, write, budget, *flags):
        """A server with a limited address space."""
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (size, hard))
        try:
            return self.server(write, budget, *flags)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    @unittest.skipIf(SANITIZED, "sanitizers need address space")
    def test_matrix_products_with_little_address_space(self):
        with self.server(write_product) as server:
            self.assertEqual(server.post(PREDICT, {"inputs": 2}).json, {"outputs": 8.0})
            size = memory(server, "VmSize")
        for more in (0, 128 * MB):
            with self.with_address_space(size + BUDGET + OWN + more, write_product, BUDGET, "--tensorflow_intra_op_parallelism=200") as server:
                self.assertIn("ulimit -v", server.output())
                answers, threads = [], []
                for n in (300, 320, 340, 360) * 3:
                    ask = lambda n=n: answers.append((n, server.post(PREDICT, {"inputs": n})))
                    threads.append(threading.Thread(target=ask))
                    threads[-1].start()
                for thread in threads:
                    thread.join(DEADLINE_S)
                self.assertEqual(len(answers), 12)
                for n, answer in answers:
                    self.assertEqual(answer.json, {"outputs": float(n ** 3)})

    @unittest.skipIf(SANITIZED, "sanitizers need address space")
    def test_programs_begin_or_fail_with_little_address_space(self):
        """OpenBLAS's threads would wait forever for work buffers. Below 120 MB, the libraries do not fit."""
        for name in ("modelserver", "pstrain", "savedmodel"):
            for size in range(100, 420, 20):
                for more in ({}, {"OPENBLAS_NUM_THREADS": "3"}):
                    done = run("/bin/bash", "-c", 'ulimit -v %d; exec "$0" --version' % (size << 10), program(name),
                               env=clean_environment(**more))
                    self.assertEqual(name in done.stdout, done.returncode == 0, (size, done))
                    if size >= 260:
                        self.assertEqual(done.returncode, 0, (size, done))

    @unittest.skipIf(SANITIZED or os.geteuid() != 0, "sanitizers need address space, and setuid root")
    def test_a_setuid_program_does_not_begin_again(self):
        """Its path is its caller's, who might have put another program there."""
        os.chmod(self.dir, 0o755)  # the user of the program can begin it
        for mode, begins_again in ((0o755, True), (0o4755, False)):
            copy = shutil.copy(program("modelserver"), self.path("copy"))
            os.chown(copy, 65534, 65534)
            os.chmod(copy, mode)
            with subprocess.Popen(["/bin/bash", "-c", 'ulimit -v 4000000; exec "$0" --help', copy], stdout=subprocess.PIPE,
                                  env=clean_environment(), pipesize=4096) as process:
                process.stdout.read(1)  # the rest of the help does not fit into the pipe: it waits
                with open("/proc/%d/environ" % process.pid, "rb") as f:
                    self.assertEqual(b"OPENBLAS_NUM_THREADS=1" in f.read(), begins_again)
                process.stdout.read()
            self.assertEqual(process.returncode, 0)

    @unittest.skipIf(SANITIZED, "sanitizers need address space")
    def test_floods_with_little_address_space(self):
        with self.server(write_fill) as server:
            size = memory(server, "VmSize")
        with self.with_address_space(size + BUDGET + OWN, write_fill, BUDGET) as server:
            client, hostile = self.client(server), Hostile(self)
            for i in range(20):
                hostile.grpc(server, call_frames(1, fill(2 * MB + i * 100000).SerializeToString()))
                hostile.rest(server, b'{"inputs":[%d]}' % (300000 + i * 10000))
            self.wait_until(lambda: self.is_used_up(server, client, hostile), "nothing is used up")
            hostile.close()
            self.wait_until(lambda: client.predict(fill(2 * MB)).code == "OK", "nothing is given back")
            self.assertEqual(server.post(PREDICT, {"inputs": [3]}).json, {"outputs": [0.0] * 3})


if __name__ == "__main__":
    main()

"""modelserver over time and in numbers: versions that swap under load, a thousand models, ten thousand idle connections and slow readers,
mixed traffic with bad requests. Requests must not fail, and memory must not grow.

    SLIPWAY_ENDURANCE=SECONDS python3 tests/e2e/test_endurance.py     in place of a few seconds: for so long, and in full numbers

Each test prints a line with what it measured. Ratios of latencies are printed and not asserted: other programs may use the machine."""
import contextlib
import os
import resource
import shutil
import socket
import threading
import time

import tiny_model
from endurance import bad_traffic, good_traffic, memory_kb, latency_us
from grpc_client import MODEL, Client, messages
from harness import SANITIZED, Server, TestCase, main

LONG = "SLIPWAY_ENDURANCE" in os.environ
SECONDS = float(os.environ.get("SLIPWAY_ENDURANCE", "6"))
SWAP_S = 0.2
CALLS = 10000 if LONG else 1000
MODELS = 1000 if LONG else 200
IDLE, SLOW = (10000, 500) if LONG else (1000, 50)
GROWTH_KB = 16 << 10  # that malloc may keep in free pieces: between the first third of the time and the end


def write_weights(directory):
    """y = x · a matrix of 784 × 10: 31 KB."""
    b = tiny_model.Builder()
    b.placeholder("x", 1, [-1, 784])
    b.const("weights", 1, [784, 10], [0.5] * 7840)
    b.node("y", "MatMul", "x", "weights", T=("type", 1), transpose_a=("b", False), transpose_b=("b", False))
    b.signature("serving_default", "predict", {"x": ("x:0", 1, [-1, 784])}, {"y": ("y:0", 1, [-1, 10])})
    tiny_model.save(b.model, directory)


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]


class Turns:
    """Measures in turns with and without something that goes on beside it, so that other programs slow both."""

    def __init__(self, measure, switch):
        self.measure, self.switch, self.with_, self.without = measure, switch, [], []

    def __call__(self):
        for turn, on in ((self.without, False), (self.with_, True)):
            self.switch(on)
            turn.append(self.measure())

    def __str__(self):
        p50, p99 = (median([m[i] for m in self.with_]) / median([m[i] for m in self.without]) for i in (0, 1))
        return "p50 %.2f ×, p99 %.2f ×" % (p50, p99)


class Swapper(threading.Thread):
    """Adds the next version and removes the one before the last, every 200 ms."""

    def __init__(self, base, make):
        super().__init__(daemon=True)
        self.base, self.make, self.version, self.on, self.stopping = base, make, 1, True, threading.Event()

    def run(self):
        while not self.stopping.wait(SWAP_S):
            if not self.on:
                continue
            made = os.path.join(self.make, "v")
            shutil.copytree(os.path.join(self.base, str(self.version)), made)
            self.version += 1
            os.rename(made, os.path.join(self.base, str(self.version)))
            if self.version > 2:
                old = os.path.join(self.make, "old")
                os.rename(os.path.join(self.base, str(self.version - 2)), old)
                shutil.rmtree(old)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.join()


class Endurance(TestCase):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("make"))

    def say(self, text, *values):
        print("\nendurance: " + text % values, flush=True)

    def serve_tiny(self):
        tiny_model.write(self.path("model", "1"))
        return Server(self.path("model"), "--rest_api_num_threads=2", grpc=True)

    def run_for(self, server, traffic, meanwhile=lambda: time.sleep(0.1)):
        """Sends the traffic, and calls `meanwhile` again and again; gives the memory after a third of the time and at the end."""
        begin, early = time.monotonic(), None
        with contextlib.ExitStack() as stack:
            for one in traffic:
                stack.enter_context(one)
            while time.monotonic() < begin + SECONDS:
                meanwhile()
                if early is None and time.monotonic() > begin + SECONDS / 3:
                    early = memory_kb(server)
            late = memory_kb(server)
        for one in traffic:
            self.assertEqual(one.wrong[:3], [], "%d of %d" % (len(one.wrong), one.count))
            self.assertGreater(one.count, 0)
        if not SANITIZED:
            self.assertLess(late, early + GROWTH_KB)
        return early, late

    def test_swaps_under_load(self):
        with self.serve_tiny() as server:
            traffic = good_traffic(server)
            with Swapper(self.path("model"), self.path("make")) as swapper:
                turns = Turns(lambda: latency_us(server, CALLS), lambda on: setattr(swapper, "on", on))
                early, late = self.run_for(server, traffic, turns)
            server.wait_for_state(swapper.version, "AVAILABLE")
            self.say("%d swaps, %d requests, 0 failed; memory %d -> %d KB; %s that without swaps", swapper.version - 1,
                     sum(t.count for t in traffic), early, late, turns)

    def test_soak(self):
        with self.serve_tiny() as server:
            traffic = good_traffic(server) + [bad_traffic(server, seed) for seed in (1, 2)]
            with Swapper(self.path("model"), self.path("make")):
                early, late = self.run_for(server, traffic)
            self.say("%d good requests, %d bad ones, 0 wrong answers; memory %d -> %d KB", sum(t.count for t in traffic[:-2]),
                     sum(t.count for t in traffic[-2:]), early, late)

    def configuration(self, paths):
        """As bytes: to build a message of a thousand models takes this process 5 ms, more than the server needs to apply it."""
        request = messages().ReloadConfigRequest()
        for name, path in paths.items():
            request.config.model_config_list.config.add(name=name, base_path=path, model_platform="tensorflow")
        return request.SerializeToString()

    def reload(self, client, configuration):
        begin = time.monotonic()
        answer = client.call(MODEL + "HandleReloadConfigRequest", configuration, messages().ReloadConfigResponse)
        self.assertEqual(answer.code, "OK", answer)
        return time.monotonic() - begin

    def test_many_models(self):
        write_weights(self.path("weights", "1"))
        tiny_model.write(self.path("model", "1"))
        tiny_model.write(self.path("other", "1"))
        paths = {"default": self.path("model")}
        with Server(self.path("model"), grpc=True) as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            memory, seconds = [memory_kb(server)], 0.0
            for half in range(2):
                for i in range(half * MODELS // 2, (half + 1) * MODELS // 2):
                    base = self.path("m%d" % i)
                    shutil.copytree(self.path("weights"), base)
                    paths["m%d" % i] = base
                seconds += self.reload(client, self.configuration(paths))
                memory.append(memory_kb(server))
            times, on, stopping = [], threading.Event(), threading.Event()
            turn = [self.configuration(dict(paths, touched=self.path("other"))), self.configuration(paths)]

            def touch():
                while not stopping.wait(0.1):
                    if on.is_set():
                        times.extend(self.reload(client, configuration) for configuration in turn)
            toucher = threading.Thread(target=touch)
            toucher.start()
            turns = Turns(lambda: latency_us(server, CALLS), lambda wanted: on.set() if wanted else on.clear())
            end = time.monotonic() + SECONDS
            while time.monotonic() < end or not times:
                turns()
            stopping.set()
            toucher.join()
            for name in ("m0", "m%d" % (MODELS - 1)):
                answer = server.post("/v1/models/%s:predict" % name, {"instances": [[1.0] * 784]})
                self.assertEqual((answer.status, answer.json), (200, {"predictions": [[392.0] * 10]}))
            self.say("%d models loaded in %.1f s; %.0f and %.0f KB per model in the two halves; a reload that touches one: median %.1f ms, "
                     "%s that of others without", MODELS, seconds, *((b - a) / (MODELS / 2) for a, b in zip(memory, memory[1:])),
                     median(times) * 1e3, turns)

    def connect_all(self, port, stack, count, request, receive=None):
        for _ in range(count):
            s = stack.enter_context(socket.socket())
            if receive:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
            s.connect(("127.0.0.1", port))
            s.sendall(request)
            yield s

    def test_idle_connections_and_slow_readers(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < IDLE + SLOW + 1000:
            self.skipTest("at most %d descriptors are allowed" % hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        body = b'{"inputs":[' + b",".join([b"[1.0]"] * 20000) + b"]}"  # the answer is longer than what sockets hold
        large = b"POST /v1/models/default:predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        with self.serve_tiny() as server, Server(self.path("model"), "--rest_api_num_threads=2") as other, contextlib.ExitStack() as stack:
            before = memory_kb(server)
            idle = list(self.connect_all(server.port, stack, IDLE // 2, b""))
            idle += self.connect_all(server.port, stack, IDLE // 2, b"GET /v1/models/default HTTP/1.1\r\nHost: x\r\n\r\n")
            slow = list(self.connect_all(server.port, stack, SLOW, large, 4096))
            asked = [other]
            turns = Turns(lambda: latency_us(asked[0], CALLS), lambda on: asked.__setitem__(0, server if on else other))
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                for s in slow:
                    self.assertEqual(len(s.recv(1)), 1)
                turns()
            self.assertEqual(sum(len(s.recv(1)) for s in idle[IDLE // 2:]), IDLE // 2, "each got its answer")
            self.say("%d idle connections and %d slow readers: %s that of a server without them; %.1f KB of memory each", IDLE, SLOW,
                     turns, (memory_kb(server) - before) / (IDLE + SLOW))


if __name__ == "__main__":
    main()

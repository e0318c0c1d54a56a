"""Measures Slipway against its peers in the same run and prints one table: medians of interleaved rounds.

Start it with bench/run, which builds the release preset and installs the peers. Everything runs in a cleaned environment. A server
is pinned to one core and its load to another; a row that says "one thread" is pinned to one core."""
import argparse
import concurrent.futures
import contextlib
import glob
import json
import os
import platform
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from measure import (CORES, LOAD_CORE, PREDICT, ROOT, SERVER_CORE, bench_program, cluster_rate, cpu_seconds, environment,
                     executor_run, first_answer, idle_seconds, listening, out, peer, rate_of_training, started_cluster, tensorflow_cluster, timed_export,
                     trained_cluster, wait_port)
from messages import digits, field, predict_message, varint
from harness import Server, free_port, program  # measure.py knows where it is

MODELS = {"softmax": "softmax", "mlp": "mlp", "convnet": "convnet"}
LAYERS = {"small_convolution": [
    ("InputLayer", {"name": "x", "batch_shape": [None, 784], "dtype": "float32"}), ("Reshape", {"name": "reshape", "target_shape": [28, 28, 1]}),
    ("Conv2D", {"name": "first", "filters": 64, "kernel_size": [5, 5], "padding": "same", "activation": "relu"}),
    ("MaxPooling2D", {"name": "pool", "pool_size": [2, 2]}),
    ("Conv2D", {"name": "second", "filters": 160, "kernel_size": [5, 5], "padding": "same", "activation": "relu"}),
    ("MaxPooling2D", {"name": "pool_again", "pool_size": [2, 2]}), ("Flatten", {"name": "flatten"}), ("Dense", {"name": "scores", "units": 10, "activation": "softmax"})]}
GRPC_PREDICT = "/tensorflow.serving.PredictionService/Predict"
GRPC_INFER = "/inference.GRPCInferenceService/ModelInfer"


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, ours, peer, reach, reached):
        self.rows.append((what, ours, peer, reach, {True: "yes", False: "NO", None: "-"}[reached]))
        print("  " + " | ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def print(self):
        rows = [("what", "ours", "peer, same run", "reach", "reached")] + self.rows
        widths = [max(len(r[i]) for r in rows) for i in range(5)]
        for n, r in enumerate(rows):
            print("| " + " | ".join(c.ljust(w) for c, w in zip(r, widths)) + " |")
            if n == 0:
                print("|" + "|".join("-" * (w + 2) for w in widths) + "|")


class Bench:
    def __init__(self, options):
        self.rounds, self.seconds, self.table = options.rounds, options.seconds, Table()
        self.work = tempfile.mkdtemp(prefix="slipway-bench-")
        self.exported = {}

    def path(self, *parts):
        return os.path.join(self.work, *parts)

    def interleaved(self, middle=statistics.median, **measures):
        """Calls each of the measures in turn, `rounds` times; {name: median}. A measure gives a number or a tuple of numbers."""
        seen = {name: [] for name in measures}
        for _ in range(self.rounds):
            for name, measure in measures.items():
                seen[name].append(measure())
        return {name: tuple(map(middle, zip(*v))) if isinstance(v[0], tuple) else middle(v) for name, v in seen.items()}

    def data(self):
        """Random digits in IDX files of MNIST's size: no row depends on what they show."""
        directory = self.path("data")
        if not os.path.isdir(directory):
            os.makedirs(directory)
            for name, count in (("train", 60000), ("t10k", 1000)):
                with open(os.path.join(directory, name + "-images-idx3-ubyte"), "wb") as f:
                    f.write(struct.pack(">IIII", 2051, count, 28, 28) + os.urandom(count * 784))
                with open(os.path.join(directory, name + "-labels-idx1-ubyte"), "wb") as f:
                    f.write(struct.pack(">II", 2049, count) + bytes(b % 10 for b in os.urandom(count)))
        return directory

    def description(self, name):
        """What `pstrain --model` takes: a name, or a file of layers of LAYERS."""
        if name not in LAYERS:
            return name
        path = self.path(name + ".json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"module": "keras", "class_name": "Sequential", "config": {"name": name, "layers": [
                {"module": "keras.layers", "class_name": kind, "config": config, "registered_name": None} for kind, config in LAYERS[name]]},
                       "compile_config": {"optimizer": "sgd", "loss": "sparse_categorical_crossentropy"}}, f)
        return path

    def model(self, name):
        """The base path of a model exported by pstrain."""
        if name not in self.exported:
            base = self.path("model-" + name)
            out(program("pstrain"), "--model=" + self.description(name), "--train_dir=" + self.data(), "--training_iteration=1",
                "--export_dir=" + os.path.join(base, "1"), "--work_dir=" + self.path("work"))
            self.exported[name] = base
        return self.exported[name]

    def body(self, rows=1):
        """Instances of 784 numbers of 4 digits, as a client sends them."""
        path = self.path("body-%d.json" % rows)
        if not os.path.exists(path):
            values = ", ".join("0.%04d" % (1 + i * 7919 % 9999) for i in range(784))
            with open(path, "w", encoding="utf-8") as f:
                f.write('{"signature_name": "predict_images", "instances": [%s]}' % ", ".join(["[%s]" % values] * rows))
        return path

    def request_file(self, name, make):
        """The path of a file of what `make` returns, made once."""
        path = self.path(name)
        if not os.path.exists(path):
            with open(path, "wb") as f:
                f.write(make())
        return path

    def raw_request(self, rows=1):
        """The same instances as the elements of a tensor."""
        return self.request_file("raw-%d.bin" % rows, lambda: digits(rows))

    def predict_request(self, rows=1, model="default"):
        """The same instances as a PredictRequest in protobuf, as the float values' bytes."""
        return self.request_file("predict-%s-%d.bin" % (model, rows),
                                 lambda: predict_message(model, "predict_images", "images", (rows, 784), digits(rows)))

    def infer_request(self, rows=1):
        """The same instances as a ModelInferRequest with raw contents."""
        def message():
            shape = b"".join(varint(n) for n in (rows, 784))
            parameter = field(1, b"signature_name") + field(2, field(3, b"predict_images"))
            return (field(1, b"default") + field(4, parameter) + field(5, field(1, b"images") + field(2, b"FP32") + field(3, shape)) +
                    field(7, digits(rows)))
        return self.request_file("infer-%d.bin" % rows, message)

    def server(self, model, *flags, cores=(SERVER_CORE,), **more):
        base, mine = self.model(model) if model else None, os.sched_getaffinity(0)
        os.sched_setaffinity(0, cores)  # before it starts: it has as many event loops as cores
        try:
            return Server(base, *flags, env=environment(), **more)
        finally:
            os.sched_setaffinity(0, mine)

    def load(self, port, connections, path=PREDICT, rows=1, core=LOAD_CORE, body=None, headers=()):
        """(requests a second, p50 in µs) of wrk with one thread."""
        text = out("wrk", "-t1", "-c%d" % connections, "-d%gs" % self.seconds, "-s", os.path.join(ROOT, "bench", "post.lua"),
                   *(a for h in headers for a in ("-H", h)), "http://127.0.0.1:%d%s" % (port, path), core=core, BODY=body or self.body(rows))
        requests, microseconds, p50, wrong = map(int, re.search(r"RESULT (\d+) (\d+) (\d+) (\d+)", text).groups())
        if wrong:
            raise RuntimeError("%d of %d answers were not 200" % (wrong, requests))
        return requests / microseconds * 1e6, float(p50)

    def cpu_of_load(self, pid, port, connections, **more):
        """(CPU µs the server spends on a request, requests a second)"""
        before = cpu_seconds(pid)
        rate, _ = self.load(port, connections, **more)
        return (cpu_seconds(pid) - before) / (rate * self.seconds) * 1e6, rate

    def grpc_load(self, pid, port, connections, streams, rows=1, core=LOAD_CORE, method=GRPC_PREDICT, body=None):
        """(CPU µs the server spends on a call, calls a second, bytes of a reply) of grpc_load with one thread."""
        before = cpu_seconds(pid)
        text = out(bench_program("grpc_load"), port, method, body or self.predict_request(rows), connections, streams, self.seconds, core=core)
        calls, microseconds, wrong, size = (int(n) for n in re.search(r"RESULT (\d+) (\d+) [\d.]+ (\d+) (\d+) ", text).groups())
        if wrong or not calls:
            raise RuntimeError("%d of %d answers were wrong" % (wrong, calls))
        return (cpu_seconds(pid) - before) / calls * 1e6, calls / microseconds * 1e6, size

    def open_load(self, server, rows, rate, body=None):
        """(calls answered a second, p99 in ms) of calls that begin at random, so many a second."""
        text = out(bench_program("grpc_load"), server.grpc_port, GRPC_PREDICT, body or self.predict_request(rows), 8, 0, self.seconds, rate,
                   core=LOAD_CORE)
        calls, microseconds, p99 = (float(n) for n in re.search(r"RESULT (\d+) (\d+) [\d.]+ \d+ \d+ ([\d.]+)", text).groups())
        return calls / microseconds * 1e6, p99 / 1e3

    # ---- the rows ----
    def grpc_softmax(self):
        """gRPC Predict of softmax 784-10, 1 connection x 64 streams, one server core, against a bare nghttp2 echo of the same bytes"""
        with self.server("softmax", grpc=True) as server:
            size = self.grpc_load(server.pid, server.grpc_port, 1, 64)[2]
            port = free_port()
            with listening("nghttp2_echo", port, size, core=SERVER_CORE) as echo:
                got = self.interleaved(ours=lambda: self.grpc_load(server.pid, server.grpc_port, 1, 64),
                                       echo=lambda: self.grpc_load(echo.pid, port, 1, 64))
        (ours, rate, _), (other, other_rate, _) = got["ours"], got["echo"]
        share = other / ours  # the share of what one core can do, as in the REST row
        self.table.add("gRPC softmax, 1 x 64, one core", "%.1f µs CPU, %.1f k calls/s" % (ours, rate / 1e3),
                       "nghttp2 echo %.1f µs, %.1f k: %.0f %%" % (other, other_rate / 1e3, share * 100), ">= 70 %", share >= 0.70)

    def grpc_mlp(self):
        """gRPC Predict of mlp 784-512-512-10, 1 x 32 and 8 x 8 streams, one server core, CPU µs a call, against the executor's own time for a row
        of a batch of 32. A bare nghttp2 echo of the same bytes, which comes on top of it, is printed as well"""
        version, rows, port = os.path.join(self.model("mlp"), "1"), 32, free_port()
        with self.server("mlp", grpc=True) as server:
            size = self.grpc_load(server.pid, server.grpc_port, 1, rows)[2]
            with listening("nghttp2_echo", port, size, core=SERVER_CORE) as echo:
                for connections, streams in ((1, 32), (8, 8)):
                    got = self.interleaved(ours=lambda c=connections, s=streams: self.grpc_load(server.pid, server.grpc_port, c, s),
                                           echo=lambda c=connections, s=streams: self.grpc_load(echo.pid, port, c, s),
                                           run=lambda: executor_run(version, "predict_images", rows, 400))
                    (ours, rate, _), row = got["ours"], got["run"] / rows
                    self.table.add("gRPC mlp, %d x %d, one core" % (connections, streams), "%.1f µs CPU, %.1f k calls/s" % (ours, rate / 1e3),
                                   "executor %.1f µs: %.2fx (nghttp2 echo %.1f µs)" % (row, ours / row, got["echo"][0]), "<= 15 µs or 1.3x",
                                   ours <= max(15, 1.3 * row))

    def target_p99(self):
        """mlp, Poisson arrivals of calls of 8 rows, one server core: calls a second whose p99 is within 20 ms, by --target_p99_ms and by the
        best of several settings of --enable_batching. Half of the rounds choose that setting, the others compare it with the target"""
        rows, target, shares = 8, 20, (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
        flags = {"target": ["--target_p99_ms=%d" % target]}
        for size in (8, 32, 64, 256):
            for wait in (0, 1000, 5000):
                path = self.path("batching-%d-%d" % (size, wait))
                with open(path, "w", encoding="ascii") as f:
                    f.write("max_batch_size { value: %d } batch_timeout_micros { value: %d } max_enqueued_batches { value: 1000 } "
                            "num_batch_threads { value: 1 }" % (size, wait))
                flags["max_batch_size %d, %d µs" % (size, wait)] = ["--enable_batching", "--batching_parameters_file=" + path]
        with self.server("mlp", grpc=True) as server:
            capacity = self.interleaved(ours=lambda: self.grpc_load(server.pid, server.grpc_port, 8, 8, rows))["ours"][1]

        def goodput(server):
            """(calls a second, p99) at the largest share of the capacity that is answered within the target, by bisection"""
            best, low, high = (0, 0), 0, len(shares)
            while low < high:
                at = (low + high) // 2
                answered, p99 = self.open_load(server, rows, capacity * shares[at])
                if p99 <= target * 1.1 and answered >= 0.97 * capacity * shares[at]:
                    best, low = (answered, p99), at + 1
                else:
                    high = at
            return best

        with contextlib.ExitStack() as stack:
            servers = {name: stack.enter_context(self.server("mlp", *f, grpc=True)) for name, f in flags.items()}
            self.open_load(servers["target"], rows, capacity / 4)  # costs are measured
            measures = {name: lambda s=server: goodput(s) for name, server in servers.items()}
            ours = measures.pop("target")
            chosen = self.interleaved(**measures)
            hand = max(chosen, key=chosen.get)
            got = self.interleaved(sorted, ours=ours, hand=measures[hand])
        (mine, p99s), (other, _) = got["ours"], got["hand"]
        rate, best = statistics.median(mine), statistics.median(other)
        self.table.add("mlp, 8 rows, p99 <= %d ms" % target,
                       "%.0f calls/s (%.0f to %.0f), %.0f %% of %.0f, p99 %.1f ms" % (rate, mine[0], mine[-1], rate / capacity * 100, capacity,
                                                                                   statistics.median(p99s)),
                       "%s: %.0f calls/s (%.0f to %.0f)" % (hand, best, other[0], other[-1]), ">= best, >= 90 %",
                       rate >= 0.97 * best and rate >= 0.9 * capacity)

    def request_metrics(self):
        """what metrics cost a request, CPU ns, against the CPU of a gRPC Predict of mlp 784-512-512-10 on 1 x 32 streams"""
        with self.server("mlp", grpc=True) as server:
            call_us = self.interleaved(ours=lambda: self.grpc_load(server.pid, server.grpc_port, 1, 32))["ours"][0]
        observer, clock = (float(n) for n in out(bench_program("request_metrics"), core=SERVER_CORE).split()[1:])
        share = (observer + clock) / 1e3 / call_us
        self.table.add("metrics of a request", "%.0f ns, and %.0f ns of clock readings" % (observer, clock),
                       "gRPC mlp %.1f µs: %.1f %%" % (call_us, share * 100), "<= 1 %", share <= 0.01)

    def loops(self):
        """requests by REST and gRPC, two event loops on two cores against one on one core: rows of mlp if the load has cores of its own,
        otherwise of a convolution that takes half a millisecond and whose weights stay in the L2 cache. Requests a second, each against
        the time that the cores had for the server: its own and what they idled, without what the load and other programs took"""
        model, core = ("mlp", LOAD_CORE) if len(CORES) > 2 else ("small_convolution", ",".join(map(str, CORES)))

        def rate(server, cores, load):
            had, begun = cpu_seconds(server.pid) + idle_seconds(cores), time.monotonic()
            answered = load(server) * self.seconds  # requests
            had = cpu_seconds(server.pid) + idle_seconds(cores) - had
            return answered / had * len(cores), had / (time.monotonic() - begun)

        flags = "--rest_api_num_threads=%d", "--batch_ready=false"  # smaller batches on more loops would count as a loss
        one_core, two_cores = CORES[:1], CORES[:2]
        with self.server(model, flags[0] % 1, flags[1], cores=one_core, grpc=True) as one, \
                self.server(model, flags[0] % 2, flags[1], cores=two_cores, grpc=True) as two:
            for name, load in (("gRPC, 8 x 2", lambda s: self.grpc_load(s.pid, s.grpc_port, 8, 2, core=core)[1]),
                               ("REST, c=16", lambda s: self.load(s.port, 16, core=core)[0])):
                got = self.interleaved(one=lambda w=load: rate(one, one_core, w), two=lambda w=load: rate(two, two_cores, w))
                ratio = got["two"][0] / got["one"][0]
                self.table.add("%s by %s, 2 loops" % (model, name), "%.2f k/s (with %.2f cores)" % (got["two"][0] / 1e3, got["two"][1]),
                               "1 loop %.2f k/s (%.2f): %.2fx" % (got["one"][0] / 1e3, got["one"][1], ratio), ">= 1.9x", ratio >= 1.9)

    def rpc(self):
        """unary call over core/rpc at 64 B to 4 MiB, against a raw socket, gRPC C++ and ZeroMQ"""
        ports = {name: free_port() for name in ("ours", "raw", "grpc", "zeromq")}
        programs = {"ours": ("rpc_call", ""), "raw": ("rpc_call", "raw-"), "grpc": ("grpc_call", ""), "zeromq": ("zeromq_call", "")}

        def call(name, size, calls):
            program_name, kind = programs[name]
            text = out(bench_program(program_name), kind + "call", ports[name], size, calls, core=LOAD_CORE)
            return float(re.search(r"us ([\d.]+)", text).group(1))

        with contextlib.ExitStack() as servers:
            for name, (program_name, kind) in programs.items():
                servers.enter_context(listening(program_name, kind + "serve", ports[name], port=ports[name], core=SERVER_CORE))
            for label, size, calls in (("64 B", 64, 20000), ("4 KiB", 4096, 20000), ("64 KiB", 65536, 8000), ("1 MiB", 1 << 20, 800),
                                       ("4 MiB", 4 << 20, 200)):
                got = self.interleaved(**{name: lambda n=name, s=size, c=calls: call(n, s, c) for name in programs})
                ratio, best = got["ours"] / got["raw"], min(got["grpc"], got["zeromq"])
                self.table.add("unary call of %s" % label, "%.1f µs" % got["ours"], "raw socket %.1f µs: %.2fx" % (got["raw"], ratio), "<= 1.1x",
                               ratio <= 1.1)
                self.table.add("the same", "%.1f µs" % got["ours"], "gRPC C++ %.1f µs, ZeroMQ %.1f µs" % (got["grpc"], got["zeromq"]), "ahead",
                               got["ours"] < best)

    def rest_softmax(self):
        """REST predict of softmax 784-10, c=16, one server core, against a bare libmicrohttpd echo of the same body"""
        port = free_port()
        echo = subprocess.Popen(["taskset", "-c", str(SERVER_CORE), bench_program("mhd_echo"), str(port)], stdout=subprocess.DEVNULL)
        try:
            with self.server("softmax") as server:
                wait_port(port)
                got = self.interleaved(ours=lambda: self.cpu_of_load(server.pid, server.port, 16),
                                       echo=lambda: self.cpu_of_load(echo.pid, port, 16))
        finally:
            echo.kill()
            echo.wait()
        (ours, rate), (other, other_rate) = got["ours"], got["echo"]
        # Compares CPU time: rates agree with it only while the load generator can saturate the server's core.
        share = other / ours
        self.table.add("REST softmax, c=16, one core", "%.1f µs CPU, %.1f k req/s" % (ours, rate / 1e3),
                       "echo %.1f µs, %.1f k: %.0f %%" % (other, other_rate / 1e3, share * 100), ">= 75 %", share >= 0.75)

    def rest_mlp(self):
        """REST predict of mlp 784-512-512-10, c=1, 8, 32, one server core, CPU µs a request, against --batch_ready=false"""
        with self.server("mlp") as batching, self.server("mlp", "--batch_ready=false") as plain:
            for connections in (1, 8, 32):
                got = self.interleaved(ours=lambda c=connections: self.cpu_of_load(batching.pid, batching.port, c),
                                       plain=lambda c=connections: self.cpu_of_load(plain.pid, plain.port, c))
                (ours, rate), (other, other_rate) = got["ours"], got["plain"]
                ratio = other / ours
                reach, reached = {1: ("no slower", ratio >= 0.97), 8: ("-", None), 32: ("<= 30 µs, >= 3.5x", ours <= 30 and ratio >= 3.5)}[connections]
                self.table.add("REST mlp, c=%d, one core" % connections, "%.1f µs CPU, %.1f k req/s" % (ours, rate / 1e3),
                               "unbatched %.1f µs, %.1f k: %.2fx" % (other, other_rate / 1e3, ratio), reach, reached)

    def rest_overhead(self):
        """REST predict of mlp 784-512-512-10, c=1, one server core, CPU µs a request, against a bare libmicrohttpd server that runs the same
        model for each request and echoes the body. The executor in a loop and the echo alone are printed as well, but their sum is no
        limit: between requests other programs use the caches that hold the weights"""
        version = os.path.join(self.model("mlp"), "1")
        bare, running = free_port(), free_port()

        with listening("mhd_echo", bare, core=SERVER_CORE) as echo, self.server("mlp") as server, \
                listening("mhd_echo", running, version, "predict_images", core=SERVER_CORE) as runner:
            got = self.interleaved(ours=lambda: self.cpu_of_load(server.pid, server.port, 1)[0],
                                   limit=lambda: self.cpu_of_load(runner.pid, running, 1)[0],
                                   echo=lambda: self.cpu_of_load(echo.pid, bare, 1)[0],
                                   run=lambda: executor_run(version, "predict_images", 1, 4000))
        ratio = got["ours"] / got["limit"]
        self.table.add("REST mlp, c=1, one core", "%.1f µs CPU" % got["ours"],
                       "echo that runs the model %.1f µs: %.2fx (apart: executor %.1f µs, echo %.1f µs)" %
                       (got["limit"], ratio, got["run"], got["echo"]), "<= 1.25x", ratio <= 1.25)

    def bodies(self):
        """a tensor of 1 MB of JSON, as JSON, as raw elements over REST and as gRPC Predict; c=1, one server core, CPU µs a request. A run of
        softmax costs next to nothing, so its row for JSON compares reading numbers with taking them as they are, and has no limit"""
        rows = 163
        octets = ["Content-Type: application/octet-stream", "Accept: application/octet-stream", "x-slipway-signature: predict_images"]
        for model in ("softmax", "mlp"):
            with self.server(model, grpc=True) as server:
                def grpc(method=GRPC_PREDICT, body=self.predict_request(rows), s=server):
                    return self.grpc_load(s.pid, s.grpc_port, 1, 1, method=method, body=body)[0]

                def rest(s=server, **more):
                    return self.cpu_of_load(s.pid, s.port, 1, **more)[0]
                got = self.interleaved(grpc=grpc, json=lambda: rest(rows=rows), octets=lambda: rest(body=self.raw_request(rows), headers=octets))
            for what, name, most in (("JSON of 1 MB", "json", 2 if model == "mlp" else None), ("the same as octet-stream", "octets", 1.1)):
                ratio = got[name] / got["grpc"]
                self.table.add("%s, %s, c=1" % (model, what), "%.0f µs CPU" % got[name], "gRPC %.0f µs: %.2fx" % (got["grpc"], ratio),
                               "<= %gx" % most if most else "-", ratio <= most if most else None)

    def open_inference(self):
        """mlp by the Open Inference Protocol (gRPC, raw contents) against gRPC Predict, one server core, CPU µs a call"""
        with self.server("mlp", grpc=True) as server:
            for rows, streams in ((1, 32), (1, 1), (16, 8)):
                def call(method, body, n=streams):
                    return self.grpc_load(server.pid, server.grpc_port, 1, n, method=method, body=body)[0]
                got = self.interleaved(ours=lambda r=rows: call(GRPC_INFER, self.infer_request(r)),
                                       predict=lambda r=rows: call(GRPC_PREDICT, self.predict_request(r)))
                ratio = got["ours"] / got["predict"]
                self.table.add("OIP gRPC mlp, %d rows, 1 x %d" % (rows, streams), "%.1f µs CPU" % got["ours"],
                               "Predict %.1f µs: %.2fx" % (got["predict"], ratio), "<= 1.05x", ratio <= 1.05)

    def configured(self, text, *flags, **more):
        """A server of a configuration file."""
        path = self.path("models.config")
        with open(path, "w", encoding="utf-8") as f:
            f.write("model_config_list { %s }" % text)
        return self.server(None, "--model_config_file=" + path, *flags, **more)

    def request_log(self):
        """mlp over gRPC, 1 x 32 streams, one server core, CPU µs a call: a request log at 1 % sampling against none"""
        config = "config { name: 'default' base_path: '%s' model_platform: 'tensorflow' %s }"
        logging = "logging_config { log_collector_config { type: 'file' filename_prefix: '%s' } sampling_config { sampling_rate: 0.01 } }"
        base = self.model("mlp")
        os.makedirs(self.path("logs"))
        with self.configured(config % (base, ""), grpc=True) as plain, \
                self.configured(config % (base, logging % self.path("logs", "mlp")), grpc=True) as logs:
            got = self.interleaved(on=lambda: self.grpc_load(logs.pid, logs.grpc_port, 1, 32)[0],
                                   off=lambda: self.grpc_load(plain.pid, plain.grpc_port, 1, 32)[0])
        share = got["on"] / got["off"] - 1
        self.table.add("a request log at 1 %", "%.1f µs CPU" % got["on"], "none %.1f µs: %+.1f %%" % (got["off"], share * 100), "<= 3 %",
                       share <= 0.03)

    def neighbours(self):
        """gRPC Predict of mlp, 200 calls a second at random, one server core: p99 while clients saturate ResNet-50, against alone. Of
        the best round, because other programs only add to it"""
        version = self.path("heavy")
        peer("keras", "ResNet50", os.path.join(version, "1"))
        heavy = self.request_file("resnet.bin", lambda: predict_message("heavy", "serving_default", "keras_tensor", (1, 224, 224, 3),
                                                                        bytes(224 * 224 * 3 * 4)))
        config = "config { name: '%s' base_path: '%s' model_platform: 'tensorflow' }"
        light = self.predict_request(1, "light")
        with self.configured(config % ("light", self.model("mlp")) + config % ("heavy", version), grpc=True) as server:
            def beside():
                load = subprocess.Popen([bench_program("grpc_load"), str(server.grpc_port), GRPC_PREDICT, heavy, "2", "2", str(self.seconds + 4)],
                                        stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, [LOAD_CORE]))
                try:
                    time.sleep(1)
                    return self.open_load(server, 1, 200, light)[1]
                finally:
                    text = load.communicate()[0].decode()
                    calls, _, _, wrong = re.search(r"RESULT (\d+) (\d+) ([\d.]+) (\d+)", text).groups()
                    if int(wrong) or not int(calls):
                        raise RuntimeError("%s of %s answers of ResNet-50 were wrong" % (wrong, calls))
            got = self.interleaved(middle=min, alone=lambda: self.open_load(server, 1, 200, light)[1], beside=beside)
        ratio = got["beside"] / got["alone"]
        self.table.add("p99 of mlp beside ResNet-50, one core", "%.2f ms" % got["beside"], "alone %.2f ms: %.2fx" % (got["alone"], ratio), "<= 2x",
                       ratio <= 2)

    def json(self):
        """JSON body of 784 numbers of 4 digits to a tensor, printing floats, against RapidJSON"""
        seen = {}
        for _ in range(self.rounds):
            for name, value in re.findall(r"^(\w+) ([\d.e+]+)", out(bench_program("json_bench"), self.body(), core=SERVER_CORE), re.M):
                seen.setdefault(name, []).append(float(value))
        m = {k: statistics.median(v) for k, v in seen.items()}
        ratio = m["parse_mb_s"] / m["rapidjson_parse_mb_s"]
        self.table.add("JSON body of 784 numbers to a tensor", "%.0f MB/s" % m["parse_mb_s"],
                       "RapidJSON %.0f MB/s: %.2fx" % (m["rapidjson_parse_mb_s"], ratio), ">= 2.5x (about 1200 MB/s)", ratio >= 2.5)
        ratio = m["rapidjson_print_ns"] / m["print_ns"]
        self.table.add("printing a float", "%.1f ns" % m["print_ns"], "RapidJSON %.1f ns: %.2fx" % (m["rapidjson_print_ns"], ratio),
                       ">= 3x (about 30 ns)", ratio >= 3)

    def executor(self):
        """executor, one thread, batch 1 and 32: softmax, mlp, convnet, against onnxruntime on the same weights"""
        for model in MODELS:
            version = os.path.join(self.model(model), "1")
            onnx = self.path(model + ".onnx")
            peer("onnx", version, onnx)
            for batch in (1, 32):
                feed = self.path("feed-%d.npy" % batch)
                peer("feed", batch, feed)
                repeat = {"softmax": 20000, "mlp": 4000, "convnet": 200}[model] // (1 if batch == 1 else 8)

                def ours():
                    text = out(program("savedmodel"), "run", version, "--signature", "predict_images", "--input", "images=" + feed,
                               "--repeat", repeat, core=SERVER_CORE)
                    return float(re.search(r"latency over .*, µs: .*\bp50 ([\d.]+)", text).group(1))

                got = self.interleaved(ours=ours, theirs=lambda: float(peer("onnx-time", onnx, feed, repeat)))
                ratio = got["theirs"] / got["ours"]
                self.table.add("executor %s, batch %d, one thread" % (model, batch), "%.1f µs" % got["ours"],
                               "onnxruntime %.1f µs: %.2fx" % (got["theirs"], ratio), "no slower", ratio >= 0.97)

    def models(self):
        """executor, one thread, batch 1 and 32: recurrent networks, transformers and image networks as Keras makes them, against OpenVINO"""
        for name, repeat in (("LSTM", 400), ("GRU", 400), ("BERT-tiny", 60), ("GPT-like", 20), ("MobileNetV2", 20), ("EfficientNetB0", 12),
                             ("ResNet50", 4), ("ConvNeXtTiny", 4)):
            version = self.path(name)
            peer("keras", name, version)
            for batch in (1, 32):
                runs = max(1, repeat // (1 if batch == 1 else 10))

                got = self.interleaved(ours=lambda: executor_run(version, "serving_default", batch, runs),
                                       theirs=lambda: float(peer("openvino-time", version, batch, runs)))
                ratio = got["ours"] / got["theirs"]
                self.table.add("executor %s, batch %d, one thread" % (name, batch), "%.2f ms" % (got["ours"] / 1e3),
                               "OpenVINO %.2f ms: %.2f of it" % (got["theirs"] / 1e3, ratio), "<= 1.0", ratio <= 1.0)

    def recurrent(self):
        """executor, one thread, batch 1 and 32: LSTM and GRU of 64 cells over 50 steps as Keras makes them, against onnxruntime's own nodes"""
        for name in ("LSTM", "GRU"):
            version, onnx = self.path(name), self.path(name + ".onnx")
            peer("keras", name, version)
            peer("onnx-recurrent", name, version, onnx)
            for batch, repeat in ((1, 1000), (32, 100)):
                got = self.interleaved(ours=lambda: executor_run(version, "serving_default", batch, repeat),
                                       theirs=lambda: float(peer("onnx-time", onnx, "%s.%d.npy" % (onnx, batch), repeat)))
                ratio = got["ours"] / got["theirs"]
                self.table.add("executor %s, batch %d, one thread" % (name, batch), "%.1f µs" % got["ours"],
                               "onnxruntime %.1f µs: %.2f of it" % (got["theirs"], ratio), "<= 1.0", ratio <= 1.0)

    def text(self):
        """executor, one thread, batch 1 and 32: a text classifier with TextVectorization, against TensorFlow called from Python"""
        version = self.path("TextClassifier")
        peer("keras", "TextClassifier", version)
        for batch, repeat in ((1, 2000), (32, 400)):
            texts = self.path("sentences-%d.json" % batch)
            peer("sentences", batch, texts)
            with open(texts, encoding="utf-8") as f:
                feed = "text=" + f.read()

            def ours():
                text = out(program("savedmodel"), "run", version, "--input", feed, "--threads", 1, "--repeat", repeat, core=SERVER_CORE)
                return float(re.search(r"latency over .*, µs: .*\bp50 ([\d.]+)", text).group(1))

            got = self.interleaved(ours=ours, theirs=lambda: float(peer("tensorflow-time", version, texts, repeat)))
            ratio = got["ours"] / got["theirs"]
            self.table.add("executor text classifier, batch %d, one thread" % batch, "%.1f µs" % got["ours"],
                           "TensorFlow %.1f µs: %.2f of it" % (got["theirs"], ratio), "<= 0.3", ratio <= 0.3)

    def cores(self):
        """executor, two threads against one: ResNet-50 and MobileNetV2 as Keras makes them, batch 1, runs of both widths in turn"""
        if len(CORES) < 2:
            return
        for name, wanted in (("ResNet50", 1.8), ("MobileNetV2", None)):
            version = self.path(name)
            peer("keras", name, version)
            seen = {"run": {}, "best": {}}
            for _ in range(self.rounds):
                text = out(bench_program("executor_bench"), version, "serving_default", 1, 15, 2)
                for kind, threads, value in re.findall(r"^executor_(run|best)_(\d)_threads ([\d.]+)", text, re.M):
                    seen[kind].setdefault(threads, []).append(float(value))
            limit = self.side_by_side(version)
            one, two = (statistics.median(seen["run"][threads]) for threads in "12")
            best_one, best_two = (min(seen["best"][threads]) for threads in "12")
            self.table.add("executor %s, batch 1, two threads" % name, "%.1f ms, best %.1f ms" % (two / 1e3, best_two / 1e3),
                           "one thread %.1f ms, best %.1f ms: %.2fx, best %.2fx; two processes side by side give %.2fx" %
                           (one / 1e3, best_one / 1e3, one / two, best_one / best_two, limit),
                           ">= %.1fx" % wanted if wanted else "-", one / two >= wanted if wanted else None)

    def side_by_side(self, version):
        """How many times the runs of one process two processes of one thread make, each on its core: what the machine allows."""
        def best(core):
            text = out(bench_program("executor_bench"), version, "serving_default", 1, 30, core=core)
            return float(re.search(r"^executor_best ([\d.]+)", text, re.M).group(1))

        alone, together = [], []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for _ in range(self.rounds):
                alone.append(best(CORES[0]))
                together.append(max(pool.map(best, CORES[:2])))
        return 2 * min(alone) / min(together)

    def load_time(self):
        """load of InceptionResNetV2, one thread: CPU time against reading as many bytes of the same file; peak memory, first run included"""
        version = self.path("InceptionResNetV2")
        peer("keras", "InceptionResNetV2", version)
        (data,) = glob.glob(version + "/variables/*.data-*")

        def ours():
            text = out(bench_program("executor_bench"), version, "serving_default", core=SERVER_CORE)
            return {name: float(value) for name, value in re.findall(r"^executor_(\w+) ([\d.]+)", text, re.M)}

        def theirs(size):
            begun = time.process_time()
            with open(data, "rb") as f:
                f.read(size)
            return time.process_time() - begun

        seen, reading = [], []
        for _ in range(self.rounds):
            seen.append(ours())
            reading.append(theirs(int(seen[-1]["weights"] * 1e6)))
        got = {name: statistics.median(one[name] for one in seen) for name in seen[0]}
        read = statistics.median(reading)
        self.table.add("load of InceptionResNetV2, %.0f MB of weights" % got["weights"], "%.2f s CPU" % got["load_cpu"],
                       "reading the bytes %.2f s: %.1fx" % (read, got["load_cpu"] / read), "<= 1.5x", got["load_cpu"] <= 1.5 * read)
        for what, name in (("its load", "load_peak"), ("its load and first run", "first_peak")):
            ratio = got[name] / got["weights"]
            self.table.add("peak memory of " + what, "%.0f MB" % got[name], "weights %.0f MB: %.2fx" % (got["weights"], ratio), "<= 1.3x", ratio <= 1.3)

    def train(self):
        """training in process, --ps 1 --workers 1, batch 100, one thread, samples/s, against TensorFlow's tf.function loop and jax"""
        for model, steps in (("softmax", 20000), ("mlp", 3000)):
            def ours():
                text = out(program("pstrain"), "--model=" + model, "--ps=1", "--workers=1", "--batch_size=100", "--optimizer=sgd",
                           "--training_iteration=%d" % steps, "--train_dir=" + self.data(), core=SERVER_CORE,
                           cwd=tempfile.mkdtemp(dir=self.work))
                return rate_of_training(text)

            got = self.interleaved(ours=ours, tensorflow=lambda: float(peer("train-tensorflow", model, steps)),
                                   jax=lambda: float(peer("train-jax", model, steps)))
            best = max(got["tensorflow"], got["jax"])
            self.table.add("training %s, batch 100, one thread" % model, "%.1f k samples/s" % (got["ours"] / 1e3),
                           "TensorFlow %.1f k, jax %.1f k: %.2fx" % (got["tensorflow"] / 1e3, got["jax"] / 1e3, got["ours"] / best),
                           "no slower", got["ours"] >= 0.97 * best)

    def checkpoint(self):
        """training in process while a checkpoint is written every second, samples/s, against without"""
        for model, steps in (("softmax", 60000), ("mlp", 3000)):
            def ours(*flags, m=model, n=steps):
                with tempfile.TemporaryDirectory(dir=self.work) as directory:
                    flags = [flag.replace("DIR", directory) for flag in flags]
                    return rate_of_training(out(program("pstrain"), "--model=" + m, "--optimizer=adam", "--batch_size=100", "--stop_at_step=%d" % n,
                                                "--train_dir=" + self.data(), *flags, cwd=directory))

            got = self.interleaved(ours=lambda: ours("--checkpoint_dir=DIR/ckpt", "--save_checkpoint_secs=1"), none=ours)
            self.table.add("training %s, a checkpoint every second" % model, "%.1f k samples/s" % (got["ours"] / 1e3),
                           "without %.1f k: %.1f %%" % (got["none"] / 1e3, 100 * got["ours"] / got["none"]), ">= 97 %",
                           got["ours"] >= 0.97 * got["none"])

    def export(self):
        """export of a 400 MB model: time against cp + fsync of the same bytes; growth of memory during the export"""
        big = self.path("big.json")
        dense = lambda name, units, activation: {"class_name": "Dense", "config": {"name": name, "units": units, "activation": activation}}  # noqa: E731
        with open(big, "w", encoding="utf-8") as f:
            json.dump({"class_name": "Sequential", "config": {"name": "big", "layers": [
                {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 784], "dtype": "float32", "name": "x"}},
                dense("wide", 10000, "relu"), dense("wider", 9200, "relu"), dense("scores", 10, "softmax")]}}, f)
        base, copies = self.path("big"), self.path("copies")
        os.makedirs(base)
        os.makedirs(copies)
        size = growth = 0
        ours, theirs, growths = [], [], []
        for n in range(self.rounds):
            seconds, growth = timed_export(base, n + 1, "--model=" + big, "--train_dir=" + self.data(), "--training_iteration=1",
                                           "--batch_size=1", "--work_dir=" + self.path("work"), "--ps=1", "--workers=1")
            version = os.path.join(base, str(n + 1))
            size = sum(os.path.getsize(f) for f in glob.glob(version + "/**", recursive=True) if os.path.isfile(f))
            begun = time.monotonic()
            out("sh", "-c", "cp -r %s %s && find %s -type f -exec sync {} +" % (version, copies, copies))
            theirs.append(time.monotonic() - begun)
            ours.append(seconds)
            growths.append(growth)
            shutil.rmtree(version)
            shutil.rmtree(os.path.join(copies, str(n + 1)))
        seconds, other, growth = map(statistics.median, (ours, theirs, growths))
        self.table.add("export of %.0f MB" % (size / 1e6), "%.2f s" % seconds, "cp + fsync %.2f s: %.2fx" % (other, seconds / other),
                       "<= 1.5x", seconds <= 1.5 * other)
        self.table.add("memory growth during it", "%.1f MB" % growth, "-", "<= 64 MB", growth <= 64)

    def start(self):
        """modelserver: start to first answer, RSS above the weights; sizes of our stripped binaries"""
        for model in ("softmax", "mlp"):
            weights = sum(os.path.getsize(f) for f in glob.glob(os.path.join(self.model(model), "1", "variables", "*.data-*")))
            milliseconds, rss = self.interleaved(ours=lambda m=model: first_answer(self.model(m), self.body()))["ours"]
            self.table.add("start to first answer, %s" % model, "%.1f ms" % milliseconds, "-", "< 50 ms", milliseconds < 50)
            above = rss - weights / 1e6
            self.table.add("RSS above the weights, %s" % model, "%.1f MB" % above, "-", "< 20 MB", above < 20)
        for name in ("modelserver", "pstrain", "savedmodel"):
            stripped = self.path(name)
            out("strip", "-o", stripped, program(name))
            size = os.path.getsize(stripped) / 1e6
            self.table.add("%s, stripped" % name, "%.2f MB" % size, "-", "< 5 MB", size < 5)


    def cluster_start(self):
        """1 ps + 20 workers as processes: from the last start until all train, and the sum of their memory"""
        seconds, megabytes = self.interleaved(ours=lambda: started_cluster(self.path("start"), 20))["ours"]
        self.table.add("1 ps + 20 workers: last start until all train", "%.2f s" % seconds, "TensorFlow 34 s (not run here)", "< 1 s", seconds < 1)
        self.table.add("sum of their PSS", "%.0f MB" % megabytes, "TensorFlow 5300 MB (not run here)", "< 150 MB", megabytes < 150)

    def cluster_train(self):
        """MNIST by 1 ps + 2 workers as processes, batch 100, steps/s against TensorFlow's compat.v1 cluster in turn"""
        for model, steps, times in (("softmax", 20000, 10), ("mlp", 1000, 2)):
            seen = self.interleaved(ours=lambda m=model, n=steps: trained_cluster(self.path("train"), m, self.data(), n) / 100,
                                    theirs=lambda m=model: tensorflow_cluster(self.path("train"), m, self.data(), self.seconds))
            ratio = seen["ours"] / seen["theirs"]
            self.table.add("1 ps + 2 workers, %s" % model, "%.0f steps/s" % seen["ours"],
                           "TensorFlow %.0f steps/s: %.1fx" % (seen["theirs"], ratio), ">= %dx" % times, ratio >= times)

    def ps_bytes(self):
        """push + pull between two processes, the update included, against the same bytes over bare TCP"""
        for size, rounds in ((4, 60), (64, 10)):
            def measure(size=size, rounds=rounds):
                return tuple(map(float, re.findall(r"[\d.]+", out(bench_program("ps_bytes"), size, rounds))))
            push, pull, raw_push, raw_pull = self.interleaved(ours=measure)["ours"]
            both, raw = 2 / (1 / push + 1 / pull), 2 / (1 / raw_push + 1 / raw_pull)
            self.table.add("ps push + pull of %d MiB" % size, "%.2f GB/s (%.2f, %.2f)" % (both, push, pull),
                           "TCP %.2f GB/s: %.0f %%" % (raw, 100 * both / raw), ">= 80 %", both >= .8 * raw)

    def ps_rows(self):
        """push + pull of 100,000 rows of a table of 1,000,000 between two processes, against the same bytes over bare TCP"""
        for floats, size, rounds, threads in ((64, 24, 20, 1), (64, 24, 20, 0), (1, 1, 60, 1), (1, 1, 60, 0)):
            def measure(floats=floats, size=size, rounds=rounds, threads=threads):
                return tuple(map(float, re.findall(r"[\d.]+", out(bench_program("ps_bytes"), size, rounds, floats, "rows", threads))))
            push, pull, raw_push, raw_pull = self.interleaved(ours=measure)["ours"]
            both, raw = 2 / (1 / push + 1 / pull), 2 / (1 / raw_push + 1 / raw_pull)
            rows = (size << 20) // 4 // floats
            label = "ps push + pull of %d rows of %d floats, %s" % (rows, floats, "--threads=0" if threads == 0 else "one thread")
            self.table.add(label, "%.2f GB/s (%.2f, %.2f)" % (both, push, pull),
                           "TCP %.2f GB/s: %.0f %%" % (raw, 100 * both / raw), ">= 80 %", both >= .8 * raw)

    def readers(self):
        """reading CSV, libsvm and TFRecord files into columns, against tf.data with the operations that its guides use, and memcpy"""
        rows, directory = 50000, self.path("records")
        os.makedirs(directory)
        peer("records", rows, directory)
        pairs = ["label:float", "index:int64", "value:float"]
        for name, columns in (("csv", ["label:float"] + ["x%d:float" % i for i in range(28)]), ("libsvm", pairs), ("tfrecord", pairs)):
            path = os.path.join(directory, "train." + name)
            def ours():
                return tuple(map(float, re.findall(r"[\d.]+", out(bench_program("records_read"), self.seconds, name, path, *columns, core=SERVER_CORE))))

            m = self.interleaved(ours=ours, tf=lambda: float(peer("read-tensorflow", name, path)), copy=lambda: float(peer("bandwidth")))
            m["ours"], megabytes = m["ours"]
            self.table.add("reading %s" % name, "%.0f k rows/s, %.0f MB/s: %.0f %% of memcpy" % (m["ours"] / 1e3, megabytes, 100 * megabytes / m["copy"]),
                           "tf.data %.0f k rows/s: %.1fx" % (m["tf"] / 1e3, m["ours"] / m["tf"]), ">= 5x", m["ours"] >= 5 * m["tf"])

    def sparse(self):
        """sparse logistic regression with FTRL of a libsvm file, 39 ids a row of 2^20, against xlearn and TensorFlow; and over 3 processes"""
        rows, epochs, directory = 100000, 4, self.path("sparse")
        os.makedirs(directory)
        peer("records", rows, directory)
        path = os.path.join(directory, "train.libsvm")
        flags = ["--model=sparse_logistic", "--train_files=" + path, "--batch_size=1000", "--epochs=%d" % epochs]

        def ours():
            begun = time.monotonic()
            out(program("pstrain"), *flags, "--noexport")
            return rows * epochs / (time.monotonic() - begun)

        def other(name):
            return float(out(sys.executable, os.path.join(ROOT, "bench", "peers.py"), name, path, epochs).split()[-1])

        m = self.interleaved(ours=ours, xlearn=lambda: other("train-xlearn"), tf=lambda: other("train-sparse"))
        ours_text = "%.0f k samples/s" % (m["ours"] / 1e3)
        self.table.add("sparse FTRL, libsvm file to model", ours_text, "TensorFlow in process %.0f k samples/s: %.1fx" %
                       (m["tf"] / 1e3, m["ours"] / m["tf"]), ">= 1 M samples/s", m["ours"] >= 1e6)
        self.table.add("the same", ours_text, "xlearn %.0f k samples/s: %.1fx" % (m["xlearn"] / 1e3, m["ours"] / m["xlearn"]), "ahead",
                       m["ours"] > m["xlearn"])
        m = self.interleaved(ours=lambda: cluster_rate(self.path("train"), flags),
                             tf=lambda: 1000 * tensorflow_cluster(self.path("train"), "sparse", path, self.seconds))
        self.table.add("the same, 1 ps + 2 workers", "%.0f k samples/s" % (m["ours"] / 1e3),
                       "TensorFlow %.0f k samples/s: %.1fx" % (m["tf"] / 1e3, m["ours"] / m["tf"]), ">= 10x", m["ours"] >= 10 * m["tf"])

    def checkpoint_large(self):
        """one checkpoint of 1.6 GB while a sparse model trains, samples/s of the whole run, against without"""
        directory, epochs = self.path("large"), 40
        os.makedirs(directory)
        peer("records", 100000, directory)
        with open(os.path.join(ROOT, "models", "sparse_logistic.json"), encoding="utf-8") as f:
            text = f.read().replace("1048576", str(1 << 27))  # 0.5 GB of values, and FTRL's two slots
        model = os.path.join(directory, "large.json")
        with open(model, "w", encoding="utf-8") as f:
            f.write(text)

        def ours(*flags):
            return rate_of_training(out(program("pstrain"), "--model=" + model, "--train_files=" + os.path.join(directory, "train.libsvm"),
                                        "--batch_size=1000", "--epochs=%d" % epochs, "--noexport", *flags))

        def saving():
            with tempfile.TemporaryDirectory(dir=self.work) as checkpoints:
                return ours("--checkpoint_dir=" + checkpoints)  # one at the start, and one after the last step, which does not count

        m = self.interleaved(ours=saving, none=ours)
        self.table.add("sparse FTRL of 2^27 ids, a checkpoint of 1.6 GB meanwhile", "%.0f k samples/s" % (m["ours"] / 1e3),
                       "without %.0f k: %.1f %%" % (m["none"] / 1e3, 100 * m["ours"] / m["none"]), ">= 97 %", m["ours"] >= 0.97 * m["none"])

    def clicks(self):
        """wide & deep, DeepFM and DCN v2 on tf.Examples like Criteo's, batch 100, one thread, reading included, against TensorFlow's loop in memory"""
        rows, epochs, path, schema = 20000, 3, self.path("clicks.tfrecord"), self.path("clicks.json")
        peer("clicks", rows, path)
        columns = [{"name": "label"}] + [{"name": "I%d" % i} for i in range(1, 14)] + [{"name": "C%d" % i, "dtype": "int64"} for i in range(1, 27)]
        with open(schema, "w", encoding="utf-8") as f:
            json.dump({"columns": columns, "inputs": {"ids": ["C*"], "numbers": ["I*"]}}, f)
        for model in ("wide_deep", "deepfm", "dcn_v2"):
            def ours():
                return rate_of_training(out(program("pstrain"), "--model=" + model, "--ps=1", "--workers=1", "--batch_size=100", "--train_files=" + path,
                                            "--schema=" + schema, "--epochs=%d" % epochs, "--noexport", core=SERVER_CORE))

            m = self.interleaved(ours=ours, tf=lambda: float(peer("train-clicks", model, path, epochs)))
            self.table.add("training %s, batch 100, one thread" % model, "%.1f k samples/s" % (m["ours"] / 1e3),
                           "TensorFlow in process %.1f k: %.2fx" % (m["tf"] / 1e3, m["ours"] / m["tf"]), "no slower", m["ours"] >= 0.97 * m["tf"])


ROWS = {"json": Bench.json, "start": Bench.start, "rest-softmax": Bench.rest_softmax, "rest-mlp": Bench.rest_mlp,
        "rest-overhead": Bench.rest_overhead, "bodies": Bench.bodies, "open-inference": Bench.open_inference, "request-log": Bench.request_log,
        "neighbours": Bench.neighbours,
        "grpc-softmax": Bench.grpc_softmax, "grpc-mlp": Bench.grpc_mlp, "target-p99": Bench.target_p99, "request-metrics": Bench.request_metrics, "loops": Bench.loops,
        "rpc": Bench.rpc,
        "executor": Bench.executor, "models": Bench.models, "recurrent": Bench.recurrent, "text": Bench.text,
        "cores": Bench.cores, "load": Bench.load_time, "train": Bench.train, "checkpoint": Bench.checkpoint, "export": Bench.export,
        "cluster-start": Bench.cluster_start, "cluster-train": Bench.cluster_train, "ps-bytes": Bench.ps_bytes, "ps-rows": Bench.ps_rows,
        "readers": Bench.readers, "sparse": Bench.sparse, "checkpoint-large": Bench.checkpoint_large, "clicks": Bench.clicks}


def main():
    parser = argparse.ArgumentParser(prog="bench/run", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description=__doc__.split("\n\n")[0],
                                     epilog="rows:\n" + "\n".join("  %-13s %s" % (k, f.__doc__) for k, f in ROWS.items()))
    parser.add_argument("--only", action="append", choices=list(ROWS), metavar="ROW", help="only this row; may be repeated")
    parser.add_argument("--rounds", type=int, default=5, help="rounds whose median is printed (default 5)")
    parser.add_argument("--seconds", type=float, default=3, help="seconds of one load in the REST and gRPC rows (default 3)")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)  # only checks the arguments, for bench/run
    options = parser.parse_args()
    if options.check:
        return
    bench = Bench(options)
    failed = False
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            cpu = re.search(r"model name\s*: (.*)", f.read()).group(1)
        print("%s, %d cores, Linux %s; medians of %d rounds" % (cpu, len(CORES), platform.release(), options.rounds))
        print(out(program("modelserver"), "--version").strip())
        for name in options.only or ROWS:
            print("measuring %s" % name, file=sys.stderr, flush=True)
            try:
                ROWS[name](bench)
            except Exception as e:  # a row that cannot be measured must not hide the others
                failed = True
                bench.table.add(name, "not measured: %s" % str(e).strip().replace("\n", " ")[:200], "-", "-", False)
        bench.table.print()
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

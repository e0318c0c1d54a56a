"""What the rows of bench/run share: the table of results, models and requests, servers on one core and loads on another."""
import json
import os
import re
import statistics
import struct
import sys
import tempfile

from measure import LOAD_CORE, PREDICT, ROOT, SERVER_CORE, bench_program, cpu_seconds, environment, out
from messages import digits, field, predict_message, varint
from harness import Server, program  # measure.py knows where it is

LAYERS = {"small_convolution": [
    ("InputLayer", {"name": "x", "batch_shape": [None, 784], "dtype": "float32"}), ("Reshape", {"name": "reshape", "target_shape": [28, 28, 1]}),
    ("Conv2D", {"name": "first", "filters": 64, "kernel_size": [5, 5], "padding": "same", "activation": "relu"}),
    ("MaxPooling2D", {"name": "pool", "pool_size": [2, 2]}),
    ("Conv2D", {"name": "second", "filters": 160, "kernel_size": [5, 5], "padding": "same", "activation": "relu"}),
    ("MaxPooling2D", {"name": "pool_again", "pool_size": [2, 2]}), ("Flatten", {"name": "flatten"}), ("Dense", {"name": "scores", "units": 10, "activation": "softmax"})]}
GRPC_PREDICT = "/tensorflow.serving.PredictionService/Predict"


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
    """A run of some rows: models and requests that they share, servers, loads, and the table of results."""
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

    def load(self, port, connections, path=PREDICT, rows=1, core=LOAD_CORE, body=None, headers=(), awake=False):
        """(requests a second, p50 in µs) of wrk with one thread. awake: it polls, and the server never has to wake it."""
        preload = {"LD_PRELOAD": bench_program("poll_wait.so")} if awake else {}
        text = out("wrk", "-t1", "-c%d" % connections, "-d%gs" % self.seconds, "-s", os.path.join(ROOT, "bench", "post.lua"),
                   *(a for h in headers for a in ("-H", h)), "http://127.0.0.1:%d%s" % (port, path), core=core, BODY=body or self.body(rows), **preload)
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

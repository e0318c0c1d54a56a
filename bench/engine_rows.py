"""Rows about what the programs share: JSON, calls between processes, the executor, loading a model."""
import concurrent.futures
import contextlib
import glob
import os
import re
import statistics
import time

from measure import CORES, LOAD_CORE, SERVER_CORE, bench_program, executor_run, listening, out, peer
from harness import free_port, program  # measure.py knows where it is

MODELS = {"softmax": "softmax", "mlp": "mlp", "convnet": "convnet"}


def json_numbers(bench):
    """JSON body of 784 numbers of 4 digits to a tensor, printing floats, against RapidJSON"""
    seen = {}
    for _ in range(bench.rounds):
        for name, value in re.findall(r"^(\w+) ([\d.e+]+)", out(bench_program("json_bench"), bench.body(), core=SERVER_CORE), re.M):
            seen.setdefault(name, []).append(float(value))
    m = {k: statistics.median(v) for k, v in seen.items()}
    ratio = m["parse_mb_s"] / m["rapidjson_parse_mb_s"]
    bench.table.add("JSON body of 784 numbers to a tensor", "%.0f MB/s" % m["parse_mb_s"],
                   "RapidJSON %.0f MB/s: %.2fx" % (m["rapidjson_parse_mb_s"], ratio), ">= 2.5x (about 1200 MB/s)", ratio >= 2.5)
    ratio = m["rapidjson_print_ns"] / m["print_ns"]
    bench.table.add("printing a float", "%.1f ns" % m["print_ns"], "RapidJSON %.1f ns: %.2fx" % (m["rapidjson_print_ns"], ratio),
                   ">= 3x (about 30 ns)", ratio >= 3)


def rpc(bench):
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
            got = bench.interleaved(**{name: lambda n=name, s=size, c=calls: call(n, s, c) for name in programs})
            ratio, best = got["ours"] / got["raw"], min(got["grpc"], got["zeromq"])
            bench.table.add("unary call of %s" % label, "%.1f µs" % got["ours"], "raw socket %.1f µs: %.2fx" % (got["raw"], ratio), "<= 1.1x",
                           ratio <= 1.1)
            bench.table.add("the same", "%.1f µs" % got["ours"], "gRPC C++ %.1f µs, ZeroMQ %.1f µs" % (got["grpc"], got["zeromq"]), "ahead",
                           got["ours"] < best)


def executor(bench):
    """executor, one thread, batch 1 and 32: softmax, mlp, convnet, against onnxruntime on the same weights"""
    for model in MODELS:
        version = os.path.join(bench.model(model), "1")
        onnx = bench.path(model + ".onnx")
        peer("onnx", version, onnx)
        for batch in (1, 32):
            feed = bench.path("feed-%d.npy" % batch)
            peer("feed", batch, feed)
            repeat = {"softmax": 20000, "mlp": 4000, "convnet": 200}[model] // (1 if batch == 1 else 8)

            def ours():
                text = out(program("savedmodel"), "run", version, "--signature", "predict_images", "--input", "images=" + feed,
                           "--repeat", repeat, core=SERVER_CORE)
                return float(re.search(r"latency over .*, µs: .*\bp50 ([\d.]+)", text).group(1))

            got = bench.interleaved(ours=ours, theirs=lambda: float(peer("onnx-time", onnx, feed, repeat)))
            ratio = got["theirs"] / got["ours"]
            bench.table.add("executor %s, batch %d, one thread" % (model, batch), "%.1f µs" % got["ours"],
                           "onnxruntime %.1f µs: %.2fx" % (got["theirs"], ratio), "no slower", ratio >= 0.97)


def models(bench):
    """executor, one thread, batch 1 and 32: recurrent networks, transformers and image networks as Keras makes them, against OpenVINO"""
    for name, repeat in (("LSTM", 400), ("GRU", 400), ("BERT-tiny", 60), ("GPT-like", 20), ("MobileNetV2", 20), ("EfficientNetB0", 12),
                         ("ResNet50", 4), ("ConvNeXtTiny", 4)):
        version = bench.path(name)
        peer("keras", name, version)
        for batch in (1, 32):
            runs = max(1, repeat // (1 if batch == 1 else 10))

            got = bench.interleaved(ours=lambda: executor_run(version, "serving_default", batch, runs),
                                   theirs=lambda: float(peer("openvino-time", version, batch, runs)))
            ratio = got["ours"] / got["theirs"]
            bench.table.add("executor %s, batch %d, one thread" % (name, batch), "%.2f ms" % (got["ours"] / 1e3),
                           "OpenVINO %.2f ms: %.2f of it" % (got["theirs"] / 1e3, ratio), "<= 1.0", ratio <= 1.0)


def recurrent(bench):
    """executor, one thread, batch 1 and 32: LSTM and GRU of 64 cells over 50 steps as Keras makes them, against onnxruntime's own nodes"""
    for name in ("LSTM", "GRU"):
        version, onnx = bench.path(name), bench.path(name + ".onnx")
        peer("keras", name, version)
        peer("onnx-recurrent", name, version, onnx)
        for batch, repeat in ((1, 1000), (32, 100)):
            got = bench.interleaved(ours=lambda: executor_run(version, "serving_default", batch, repeat),
                                   theirs=lambda: float(peer("onnx-time", onnx, "%s.%d.npy" % (onnx, batch), repeat)))
            ratio = got["ours"] / got["theirs"]
            bench.table.add("executor %s, batch %d, one thread" % (name, batch), "%.1f µs" % got["ours"],
                           "onnxruntime %.1f µs: %.2f of it" % (got["theirs"], ratio), "<= 1.0", ratio <= 1.0)


def text(bench):
    """executor, one thread, batch 1 and 32: a text classifier with TextVectorization, against TensorFlow called from Python"""
    version = bench.path("TextClassifier")
    peer("keras", "TextClassifier", version)
    for batch, repeat in ((1, 2000), (32, 400)):
        texts = bench.path("sentences-%d.json" % batch)
        peer("sentences", batch, texts)
        with open(texts, encoding="utf-8") as f:
            feed = "text=" + f.read()

        def ours():
            text = out(program("savedmodel"), "run", version, "--input", feed, "--threads", 1, "--repeat", repeat, core=SERVER_CORE)
            return float(re.search(r"latency over .*, µs: .*\bp50 ([\d.]+)", text).group(1))

        got = bench.interleaved(ours=ours, theirs=lambda: float(peer("tensorflow-time", version, texts, repeat)))
        ratio = got["ours"] / got["theirs"]
        bench.table.add("executor text classifier, batch %d, one thread" % batch, "%.1f µs" % got["ours"],
                       "TensorFlow %.1f µs: %.2f of it" % (got["theirs"], ratio), "<= 0.3", ratio <= 0.3)


def cores(bench):
    """executor, two threads against one: ResNet-50 and MobileNetV2 as Keras makes them, batch 1, runs of both widths in turn"""
    if len(CORES) < 2:
        return
    for name, wanted in (("ResNet50", 1.8), ("MobileNetV2", None)):
        version = bench.path(name)
        peer("keras", name, version)
        seen = {"run": {}, "best": {}}
        for _ in range(bench.rounds):
            text = out(bench_program("executor_bench"), version, "serving_default", 1, 15, 2)
            for kind, threads, value in re.findall(r"^executor_(run|best)_(\d)_threads ([\d.]+)", text, re.M):
                seen[kind].setdefault(threads, []).append(float(value))
        limit = side_by_side(bench, version)
        one, two = (statistics.median(seen["run"][threads]) for threads in "12")
        best_one, best_two = (min(seen["best"][threads]) for threads in "12")
        bench.table.add("executor %s, batch 1, two threads" % name, "%.1f ms, best %.1f ms" % (two / 1e3, best_two / 1e3),
                       "one thread %.1f ms, best %.1f ms: %.2fx, best %.2fx; two processes side by side give %.2fx" %
                       (one / 1e3, best_one / 1e3, one / two, best_one / best_two, limit),
                       ">= %.1fx" % wanted if wanted else "-", one / two >= wanted if wanted else None)


def side_by_side(bench, version):
    """How many times the runs of one process two processes of one thread make, each on its core: what the machine allows."""
    def best(core):
        text = out(bench_program("executor_bench"), version, "serving_default", 1, 30, core=core)
        return float(re.search(r"^executor_best ([\d.]+)", text, re.M).group(1))

    alone, together = [], []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for _ in range(bench.rounds):
            alone.append(best(CORES[0]))
            together.append(max(pool.map(best, CORES[:2])))
    return 2 * min(alone) / min(together)


def load_time(bench):
    """load of InceptionResNetV2, one thread: CPU time against reading as many bytes of the same file; peak memory, first run included"""
    version = bench.path("InceptionResNetV2")
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
    for _ in range(bench.rounds):
        seen.append(ours())
        reading.append(theirs(int(seen[-1]["weights"] * 1e6)))
    got = {name: statistics.median(one[name] for one in seen) for name in seen[0]}
    read = statistics.median(reading)
    bench.table.add("load of InceptionResNetV2, %.0f MB of weights" % got["weights"], "%.2f s CPU" % got["load_cpu"],
                   "reading the bytes %.2f s: %.1fx" % (read, got["load_cpu"] / read), "<= 1.5x", got["load_cpu"] <= 1.5 * read)
    for what, name in (("its load", "load_peak"), ("its load and first run", "first_peak")):
        ratio = got[name] / got["weights"]
        bench.table.add("peak memory of " + what, "%.0f MB" % got[name], "weights %.0f MB: %.2fx" % (got["weights"], ratio), "<= 1.3x", ratio <= 1.3)

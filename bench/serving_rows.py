"""Rows about modelserver: REST, gRPC, its start, its logs and metrics."""
import contextlib
import glob
import os
import re
import statistics
import subprocess
import time

from measure import (CORES, LOAD_CORE, SERVER_CORE, bench_program, cpu_seconds, executor_run, first_answer, idle_seconds, listening,
                     out, peer, wait_port)
from messages import predict_message
from harness import free_port, program  # measure.py knows where it is
from bench import GRPC_PREDICT

GRPC_INFER = "/inference.GRPCInferenceService/ModelInfer"


def rest_softmax(bench):
    """REST predict of softmax 784-10, c=16, one server core, against a bare libmicrohttpd echo of the same body. The load polls: it
    would sleep once in each round of modelserver, which pays for waking it, but never beside the echo, whose answers are long"""
    port = free_port()
    echo = subprocess.Popen(["taskset", "-c", str(SERVER_CORE), bench_program("mhd_echo"), str(port)], stdout=subprocess.DEVNULL)
    try:
        with bench.server("softmax") as server:
            wait_port(port)
            got = bench.interleaved(ours=lambda: bench.cpu_of_load(server.pid, server.port, 16, awake=True),
                                   echo=lambda: bench.cpu_of_load(echo.pid, port, 16, awake=True),
                                   waking=lambda: bench.cpu_of_load(server.pid, server.port, 16))
    finally:
        echo.kill()
        echo.wait()
    (ours, rate), (other, other_rate) = got["ours"], got["echo"]
    # Compares CPU time: rates agree with it only while the load generator can saturate the server's core.
    share = other / ours
    bench.table.add("REST softmax, c=16, one core", "%.1f µs CPU, %.1f k req/s" % (ours, rate / 1e3),
                   "echo %.1f µs, %.1f k: %.0f %% (ours with a load that sleeps: %.1f µs)" %
                   (other, other_rate / 1e3, share * 100, got["waking"][0]), ">= 75 %", share >= 0.75)


def rest_mlp(bench):
    """REST predict of mlp 784-512-512-10, c=1, 8, 32, one server core, CPU µs a request, against --batch_ready=false"""
    with bench.server("mlp") as batching, bench.server("mlp", "--batch_ready=false") as plain:
        for connections in (1, 8, 32):
            got = bench.interleaved(ours=lambda c=connections: bench.cpu_of_load(batching.pid, batching.port, c),
                                   plain=lambda c=connections: bench.cpu_of_load(plain.pid, plain.port, c))
            (ours, rate), (other, other_rate) = got["ours"], got["plain"]
            ratio = other / ours
            reach, reached = {1: ("no slower", ratio >= 0.97), 8: ("-", None), 32: ("<= 30 µs, >= 3.5x", ours <= 30 and ratio >= 3.5)}[connections]
            bench.table.add("REST mlp, c=%d, one core" % connections, "%.1f µs CPU, %.1f k req/s" % (ours, rate / 1e3),
                           "unbatched %.1f µs, %.1f k: %.2fx" % (other, other_rate / 1e3, ratio), reach, reached)


def rest_overhead(bench):
    """REST predict of mlp 784-512-512-10, c=1, one server core, CPU µs a request, against a bare libmicrohttpd server that runs the same
    model for each request and echoes the body. The executor in a loop and the echo alone are printed as well, but their sum is no
    limit: between requests other programs use the caches that hold the weights"""
    version = os.path.join(bench.model("mlp"), "1")
    bare, running = free_port(), free_port()

    with listening("mhd_echo", bare, core=SERVER_CORE) as echo, bench.server("mlp") as server, \
            listening("mhd_echo", running, version, "predict_images", core=SERVER_CORE) as runner:
        got = bench.interleaved(ours=lambda: bench.cpu_of_load(server.pid, server.port, 1)[0],
                               limit=lambda: bench.cpu_of_load(runner.pid, running, 1)[0],
                               echo=lambda: bench.cpu_of_load(echo.pid, bare, 1)[0],
                               run=lambda: executor_run(version, "predict_images", 1, 4000))
    ratio = got["ours"] / got["limit"]
    bench.table.add("REST mlp, c=1, one core", "%.1f µs CPU" % got["ours"],
                   "echo that runs the model %.1f µs: %.2fx (apart: executor %.1f µs, echo %.1f µs)" %
                   (got["limit"], ratio, got["run"], got["echo"]), "<= 1.25x", ratio <= 1.25)


def bodies(bench):
    """a tensor of 1 MB of JSON, as JSON, as raw elements over REST and as gRPC Predict; c=1, one server core, CPU µs a request. A run of
    softmax costs next to nothing, so its row for JSON compares reading numbers with taking them as they are, and has no limit"""
    rows = 163
    octets = ["Content-Type: application/octet-stream", "Accept: application/octet-stream", "x-slipway-signature: predict_images"]
    for model in ("softmax", "mlp"):
        with bench.server(model, grpc=True) as server:
            def grpc(method=GRPC_PREDICT, body=bench.predict_request(rows), s=server):
                return bench.grpc_load(s.pid, s.grpc_port, 1, 1, method=method, body=body)[0]

            def rest(s=server, **more):
                return bench.cpu_of_load(s.pid, s.port, 1, **more)[0]
            got = bench.interleaved(grpc=grpc, json=lambda: rest(rows=rows), octets=lambda: rest(body=bench.raw_request(rows), headers=octets))
        for what, name, most in (("JSON of 1 MB", "json", 2 if model == "mlp" else None), ("the same as octet-stream", "octets", 1.1)):
            ratio = got[name] / got["grpc"]
            bench.table.add("%s, %s, c=1" % (model, what), "%.0f µs CPU" % got[name], "gRPC %.0f µs: %.2fx" % (got["grpc"], ratio),
                           "<= %gx" % most if most else "-", ratio <= most if most else None)


def open_inference(bench):
    """mlp by the Open Inference Protocol (gRPC, raw contents) against gRPC Predict, one server core, CPU µs a call"""
    with bench.server("mlp", grpc=True) as server:
        for rows, streams in ((1, 32), (1, 1), (16, 8)):
            def call(method, body, n=streams):
                return bench.grpc_load(server.pid, server.grpc_port, 1, n, method=method, body=body)[0]
            got = bench.interleaved(ours=lambda r=rows: call(GRPC_INFER, bench.infer_request(r)),
                                   predict=lambda r=rows: call(GRPC_PREDICT, bench.predict_request(r)))
            ratio = got["ours"] / got["predict"]
            bench.table.add("OIP gRPC mlp, %d rows, 1 x %d" % (rows, streams), "%.1f µs CPU" % got["ours"],
                           "Predict %.1f µs: %.2fx" % (got["predict"], ratio), "<= 1.05x", ratio <= 1.05)


def configured(bench, text, *flags, **more):
    """A server of a configuration file."""
    path = bench.path("models.config")
    with open(path, "w", encoding="utf-8") as f:
        f.write("model_config_list { %s }" % text)
    return bench.server(None, "--model_config_file=" + path, *flags, **more)


def request_log(bench):
    """mlp over gRPC, 1 x 32 streams, one server core, CPU µs a call: a request log at 1 % sampling against none"""
    config = "config { name: 'default' base_path: '%s' model_platform: 'tensorflow' %s }"
    logging = "logging_config { log_collector_config { type: 'file' filename_prefix: '%s' } sampling_config { sampling_rate: 0.01 } }"
    base = bench.model("mlp")
    os.makedirs(bench.path("logs"))
    with configured(bench, config % (base, ""), grpc=True) as plain, \
            configured(bench, config % (base, logging % bench.path("logs", "mlp")), grpc=True) as logs:
        got = bench.interleaved(on=lambda: bench.grpc_load(logs.pid, logs.grpc_port, 1, 32)[0],
                               off=lambda: bench.grpc_load(plain.pid, plain.grpc_port, 1, 32)[0])
    share = got["on"] / got["off"] - 1
    bench.table.add("a request log at 1 %", "%.1f µs CPU" % got["on"], "none %.1f µs: %+.1f %%" % (got["off"], share * 100), "<= 3 %",
                   share <= 0.03)


def neighbours(bench):
    """gRPC Predict of mlp, 200 calls a second at random, one server core: p99 while clients saturate ResNet-50, against alone. Of
    the best round, because other programs only add to it"""
    version = bench.path("heavy")
    peer("keras", "ResNet50", os.path.join(version, "1"))
    heavy = bench.request_file("resnet.bin", lambda: predict_message("heavy", "serving_default", "keras_tensor", (1, 224, 224, 3),
                                                                    bytes(224 * 224 * 3 * 4)))
    config = "config { name: '%s' base_path: '%s' model_platform: 'tensorflow' }"
    light = bench.predict_request(1, "light")
    with configured(bench, config % ("light", bench.model("mlp")) + config % ("heavy", version), grpc=True) as server:
        def beside():
            load = subprocess.Popen([bench_program("grpc_load"), str(server.grpc_port), GRPC_PREDICT, heavy, "2", "2", str(bench.seconds + 4)],
                                    stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, [LOAD_CORE]))
            try:
                time.sleep(1)
                return bench.open_load(server, 1, 200, light)[1]
            finally:
                text = load.communicate()[0].decode()
                calls, _, _, wrong = re.search(r"RESULT (\d+) (\d+) ([\d.]+) (\d+)", text).groups()
                if int(wrong) or not int(calls):
                    raise RuntimeError("%s of %s answers of ResNet-50 were wrong" % (wrong, calls))
        got = bench.interleaved(middle=min, alone=lambda: bench.open_load(server, 1, 200, light)[1], beside=beside)
    ratio = got["beside"] / got["alone"]
    bench.table.add("p99 of mlp beside ResNet-50, one core", "%.2f ms" % got["beside"], "alone %.2f ms: %.2fx" % (got["alone"], ratio), "<= 2x",
                   ratio <= 2)


def grpc_softmax(bench):
    """gRPC Predict of softmax 784-10, 1 connection x 64 streams, one server core, against a bare nghttp2 echo of the same bytes"""
    with bench.server("softmax", grpc=True) as server:
        size = bench.grpc_load(server.pid, server.grpc_port, 1, 64)[2]
        port = free_port()
        with listening("nghttp2_echo", port, size, core=SERVER_CORE) as echo:
            got = bench.interleaved(ours=lambda: bench.grpc_load(server.pid, server.grpc_port, 1, 64),
                                   echo=lambda: bench.grpc_load(echo.pid, port, 1, 64))
    (ours, rate, _), (other, other_rate, _) = got["ours"], got["echo"]
    share = other / ours  # the share of what one core can do, as in the REST row
    bench.table.add("gRPC softmax, 1 x 64, one core", "%.1f µs CPU, %.1f k calls/s" % (ours, rate / 1e3),
                   "nghttp2 echo %.1f µs, %.1f k: %.0f %%" % (other, other_rate / 1e3, share * 100), ">= 70 %", share >= 0.70)


def grpc_mlp(bench):
    """gRPC Predict of mlp 784-512-512-10, 1 x 32 and 8 x 8 streams, one server core, CPU µs a call, against the executor's own time for a row
    of a batch of 32. A bare nghttp2 echo of the same bytes, which comes on top of it, is printed as well"""
    version, rows, port = os.path.join(bench.model("mlp"), "1"), 32, free_port()
    with bench.server("mlp", grpc=True) as server:
        size = bench.grpc_load(server.pid, server.grpc_port, 1, rows)[2]
        with listening("nghttp2_echo", port, size, core=SERVER_CORE) as echo:
            for connections, streams in ((1, 32), (8, 8)):
                got = bench.interleaved(ours=lambda c=connections, s=streams: bench.grpc_load(server.pid, server.grpc_port, c, s),
                                       echo=lambda c=connections, s=streams: bench.grpc_load(echo.pid, port, c, s),
                                       run=lambda: executor_run(version, "predict_images", rows, 400))
                (ours, rate, _), row = got["ours"], got["run"] / rows
                bench.table.add("gRPC mlp, %d x %d, one core" % (connections, streams), "%.1f µs CPU, %.1f k calls/s" % (ours, rate / 1e3),
                               "executor %.1f µs: %.2fx (nghttp2 echo %.1f µs)" % (row, ours / row, got["echo"][0]), "<= 15 µs or 1.3x",
                               ours <= max(15, 1.3 * row))


def target_p99(bench):
    """mlp, Poisson arrivals of calls of 8 rows, one server core: calls a second whose p99 is within 20 ms, by --target_p99_ms and by the
    best of several settings of --enable_batching. Half of the rounds choose that setting, the others compare it with the target"""
    rows, target, shares = 8, 20, (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    flags = {"target": ["--target_p99_ms=%d" % target]}
    for size in (8, 32, 64, 256):
        for wait in (0, 1000, 5000):
            path = bench.path("batching-%d-%d" % (size, wait))
            with open(path, "w", encoding="ascii") as f:
                f.write("max_batch_size { value: %d } batch_timeout_micros { value: %d } max_enqueued_batches { value: 1000 } "
                        "num_batch_threads { value: 1 }" % (size, wait))
            flags["max_batch_size %d, %d µs" % (size, wait)] = ["--enable_batching", "--batching_parameters_file=" + path]
    with bench.server("mlp", grpc=True) as server:
        capacity = bench.interleaved(ours=lambda: bench.grpc_load(server.pid, server.grpc_port, 8, 8, rows))["ours"][1]

    def goodput(server):
        """(calls a second, p99) at the largest share of the capacity that is answered within the target, by bisection"""
        best, low, high = (0, 0), 0, len(shares)
        while low < high:
            at = (low + high) // 2
            answered, p99 = bench.open_load(server, rows, capacity * shares[at])
            if p99 <= target * 1.1 and answered >= 0.97 * capacity * shares[at]:
                best, low = (answered, p99), at + 1
            else:
                high = at
        return best

    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(bench.server("mlp", *f, grpc=True)) for name, f in flags.items()}
        bench.open_load(servers["target"], rows, capacity / 4)  # costs are measured
        measures = {name: lambda s=server: goodput(s) for name, server in servers.items()}
        ours = measures.pop("target")
        chosen = bench.interleaved(**measures)
        hand = max(chosen, key=chosen.get)
        got = bench.interleaved(sorted, ours=ours, hand=measures[hand])
    (mine, p99s), (other, _) = got["ours"], got["hand"]
    rate, best = statistics.median(mine), statistics.median(other)
    bench.table.add("mlp, 8 rows, p99 <= %d ms" % target,
                   "%.0f calls/s (%.0f to %.0f), %.0f %% of %.0f, p99 %.1f ms" % (rate, mine[0], mine[-1], rate / capacity * 100, capacity,
                                                                               statistics.median(p99s)),
                   "%s: %.0f calls/s (%.0f to %.0f)" % (hand, best, other[0], other[-1]), ">= best, >= 90 %",
                   rate >= 0.97 * best and rate >= 0.9 * capacity)


def request_metrics(bench):
    """what metrics cost a request, CPU ns, against the CPU of a gRPC Predict of mlp 784-512-512-10 on 1 x 32 streams"""
    with bench.server("mlp", grpc=True) as server:
        call_us = bench.interleaved(ours=lambda: bench.grpc_load(server.pid, server.grpc_port, 1, 32))["ours"][0]
    observer, clock = (float(n) for n in out(bench_program("request_metrics"), core=SERVER_CORE).split()[1:])
    share = (observer + clock) / 1e3 / call_us
    bench.table.add("metrics of a request", "%.0f ns, and %.0f ns of clock readings" % (observer, clock),
                   "gRPC mlp %.1f µs: %.1f %%" % (call_us, share * 100), "<= 1 %", share <= 0.01)


def loops(bench):
    """requests by REST and gRPC, two event loops on two cores against one on one core: rows of mlp if the load has cores of its own,
    otherwise of a convolution that takes half a millisecond and whose weights stay in the L2 cache. Requests a second, each against
    the time that the cores had for the server: its own and what they idled, without what the load and other programs took"""
    model, core = ("mlp", LOAD_CORE) if len(CORES) > 2 else ("small_convolution", ",".join(map(str, CORES)))

    def rate(server, cores, load):
        had, begun = cpu_seconds(server.pid) + idle_seconds(cores), time.monotonic()
        answered = load(server) * bench.seconds  # requests
        had = cpu_seconds(server.pid) + idle_seconds(cores) - had
        return answered / had * len(cores), had / (time.monotonic() - begun)

    flags = "--rest_api_num_threads=%d", "--batch_ready=false"  # smaller batches on more loops would count as a loss
    one_core, two_cores = CORES[:1], CORES[:2]
    with bench.server(model, flags[0] % 1, flags[1], cores=one_core, grpc=True) as one, \
            bench.server(model, flags[0] % 2, flags[1], cores=two_cores, grpc=True) as two:
        for name, load in (("gRPC, 8 x 2", lambda s: bench.grpc_load(s.pid, s.grpc_port, 8, 2, core=core)[1]),
                           ("REST, c=16", lambda s: bench.load(s.port, 16, core=core)[0])):
            got = bench.interleaved(one=lambda w=load: rate(one, one_core, w), two=lambda w=load: rate(two, two_cores, w))
            ratio = got["two"][0] / got["one"][0]
            bench.table.add("%s by %s, 2 loops" % (model, name), "%.2f k/s (with %.2f cores)" % (got["two"][0] / 1e3, got["two"][1]),
                           "1 loop %.2f k/s (%.2f): %.2fx" % (got["one"][0] / 1e3, got["one"][1], ratio), ">= 1.9x", ratio >= 1.9)


def start(bench):
    """modelserver: start to first answer, RSS above the weights; sizes of our stripped binaries"""
    for model in ("softmax", "mlp"):
        weights = sum(os.path.getsize(f) for f in glob.glob(os.path.join(bench.model(model), "1", "variables", "*.data-*")))
        milliseconds, rss = bench.interleaved(ours=lambda m=model: first_answer(bench.model(m), bench.body()))["ours"]
        bench.table.add("start to first answer, %s" % model, "%.1f ms" % milliseconds, "-", "< 50 ms", milliseconds < 50)
        above = rss - weights / 1e6
        bench.table.add("RSS above the weights, %s" % model, "%.1f MB" % above, "-", "< 20 MB", above < 20)
    for name in ("modelserver", "pstrain", "savedmodel"):
        stripped = bench.path(name)
        out("strip", "-o", stripped, program(name))
        size = os.path.getsize(stripped) / 1e6
        bench.table.add("%s, stripped" % name, "%.2f MB" % size, "-", "< 5 MB", size < 5)

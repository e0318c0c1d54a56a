"""--monitoring_config_file and /metrics: every count after a known series of requests, over REST and gRPC."""
import os
import re
import shutil
import socket
import subprocess
import time

import records
import tiny_model
from grpc_client import MODEL, Client, messages, module, tensor
from harness import DEADLINE_S, Load, Server, TestCase, main, run
from prediction_logs import CLASSIFY, REGRESS, examples, good_logs

PATH = "/monitoring/prometheus/metrics"
TF = ":tensorflow:serving:"
CC = ":tensorflow:cc:saved_model:"
CORE = ":tensorflow:core:"
SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*)\})? ([-+0-9.eE]+|\+Inf)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Page:
    """The samples of a page: {(name, labels in order): value}."""

    def __init__(self, text):
        self.text, self.samples, self.types, self.helps = text, {}, {}, set()
        assert text.endswith("\n"), text[-100:]
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                name, kind = line.split()[2:]
                assert name not in self.types, line
                self.types[name] = kind
            elif line.startswith("# HELP "):
                self.helps.add(line.split()[2])
            else:
                match = SAMPLE.match(line)
                assert match, line
                key = match[1], tuple(value for _, value in LABEL.findall(match[2] or ""))
                assert key not in self.samples, line
                self.samples[key] = float(match[3])

    def of(self, name):
        """{labels: value} of one name."""
        return {labels: value for (n, labels), value in self.samples.items() if n == name}

    def counts(self, name):
        """The number of observations of a histogram, whose buckets must add up to it."""
        for (n, labels), value in self.samples.items():
            if n == name + "_count":
                buckets = [v for (b, l), v in self.samples.items() if b == name + "_bucket" and l[:-1] == labels]
                assert buckets == sorted(buckets) and buckets[-1] == value, (name, labels, buckets, value)
        return self.of(name + "_count")


class Prometheus(TestCase):
    def setUp(self):
        super().setUp()
        self.config = self.path("monitoring.config")
        self.configure('prometheus_config { enable: true path: "%s" }' % PATH)
        self.base = self.path("m")
        tiny_model.write(os.path.join(self.base, "1"))

    def configure(self, text):
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(text)

    def server(self, *flags):
        return Server(self.base, "--monitoring_config_file=" + self.config, "--warm_up_with_zeros=false", *flags, name="m", grpc=True)

    def page(self, server, path=PATH, **more):
        answer = server.get(path, **more)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.headers["Content-Type"].split(";")[0], "text/plain")
        return Page(answer.body.decode())

    def predict(self, client, name="m", **more):
        request = messages().PredictRequest(model_spec={"name": name, **more})
        request.inputs["x"].CopyFrom(tensor(1, [2, 1], [1, 2]))
        return client.predict(request).code

    def example_request(self, kind, signature):
        request = getattr(messages(), kind)()
        examples(request, signature)
        return request

    def series(self, server):
        """3 predicts, 1 classify, 1 regress, 1 MultiInference of 1 example, metadata, status; and what fails."""
        ask = "/v1/models/m:predict"
        with Client("127.0.0.1:%d" % server.grpc_port) as client:
            for _ in range(3):
                self.assertEqual(self.predict(client), "OK")
            self.assertEqual(client.classify(self.example_request("ClassificationRequest", "classify_x")).code, "OK")
            self.assertEqual(client.regress(self.example_request("RegressionRequest", "regress_x_to_y")).code, "OK")
            request = messages().MultiInferenceRequest()
            for method, signature in ((CLASSIFY, "classify_x"), (REGRESS, "regress_x_to_y2")):
                request.tasks.add(model_spec={"name": "m", "signature_name": signature}, method_name=method)
            request.input.example_list.examples.add().features.feature["x"].float_list.value.append(1)
            self.assertEqual(client.multi_inference(request).code, "OK")
            self.assertEqual(self.predict(client, "nobody"), "NOT_FOUND")
            self.assertEqual(self.predict(client, signature_name="none"), "FAILED_PRECONDITION")
            status = messages().GetModelStatusRequest(model_spec={"name": "m"})
            self.assertEqual(client.status(status).code, "OK")
        for _ in range(2):
            self.assertEqual(server.post(ask, {"instances": [[1.0]]}).status, 200)
        self.assertEqual(server.post(ask, b"{").status, 400)
        self.assertEqual(server.post("/v1/models/m:classify", {"signature_name": "classify_x", "examples": [{"x": 1.0}]}).status, 200)
        self.assertEqual(server.get("/v1/models/m/metadata").status, 200)
        self.assertEqual(server.get("/v1/models/m").status, 200)
        self.assertEqual(server.get("/v1/models/stranger").status, 404)
        self.assertEqual(server.get("/v1/nonsense").status, 400)
        self.assertEqual(server.get("/nonsense").status, 404)

    def test_counts_what_tensorflow_serving_counts(self):
        extra = os.path.join(self.base, "1", "assets.extra")
        os.makedirs(extra)
        with open(os.path.join(extra, "tf_serving_warmup_requests"), "wb") as f:
            f.write(b"".join(records.record(log.SerializeToString()) for log in good_logs()))
        with open(os.path.join(extra, "mlmd_uuid"), "w", encoding="ascii") as f:
            f.write("an id")
        with self.server() as server:
            self.series(server)
            page, path = self.page(server), os.path.join(self.base, "1")
        self.assertEqual(page.of(TF + "request_count"), {
            ("m", "OK"): 3 + 1 + 1 + 2 + 1 + 2, ("m", "INVALID_ARGUMENT"): 1, ("m", "FAILED_PRECONDITION"): 1, ("nobody", "NOT_FOUND"): 1,
            ("stranger", "NOT_FOUND"): 1, ("", "INVALID_ARGUMENT"): 1})
        self.assertEqual(page.counts(TF + "request_latency"), {
            ("m", "Predict", "GRPC"): 3, ("m", "Classify", "GRPC"): 1, ("m", "Regress", "GRPC"): 1,
            ("m", "predict", "REST"): 2, ("m", "classify", "REST"): 1, ("m", "", "REST"): 2})
        self.assertEqual(page.counts(TF + "runtime_latency"), {
            ("m", "Predict", "TF1"): 5, ("m", "Classify", "TF1"): 2, ("m", "Regress", "TF1"): 1, ("m", "MultiInference", "TF1"): 1})
        self.assertEqual(page.counts(TF + "request_example_counts"), {("m",): 1})
        self.assertEqual(page.of(TF + "request_example_count_total"), {("m",): 1})
        self.assertEqual(page.of(CC + "load_attempt_count"), {(path, "success"): 1})
        self.assertGreater(page.of(CC + "load_latency")[path,], 0)
        self.assertEqual(page.counts(CC + "load_latency_by_stage"), {(path, "restore_graph"): 1, (path, "init_graph"): 1})
        self.assertEqual(page.counts(TF + "model_warmup_latency"), {(path, "OK"): 1})
        self.assertEqual(page.of(TF + "model_warmup_records_read"), {(path, "OK"): len(good_logs())})
        self.assertEqual(page.of(TF + "mlmd_map"), {("m", "1"): 0})
        runs = page.of(CORE + "direct_session_runs")[()]
        self.assertGreaterEqual(runs, 9)
        self.assertEqual((page.of(CORE + "graph_runs")[()], page.counts(CORE + "graph_run_time_usecs_histogram")[()]), (runs, runs))
        took_us = page.of(CORE + "graph_run_time_usecs")[()]  # the sum has six digits
        self.assertAlmostEqual(page.of(CORE + "graph_run_time_usecs_histogram_sum")[()], took_us, delta=1e-5 * took_us)
        self.assertGreater(page.of(CORE + "graph_build_calls")[()], 5)  # the signatures of the model
        self.assertGreater(page.of(CORE + "graph_build_time_usecs")[()], 0)
        self.assertIn(CORE + "direct_session_runs{} ", page.text)
        self.assertEqual({n for n in page.types if "slipway" in n} | page.helps, set())
        limits = re.findall(r'request_latency_bucket\{model_name="m",API="",entrypoint="REST",le="([^"]*)"', page.text)
        self.assertEqual(limits, ["%g" % (10 * 1.8 ** i) for i in range(33)] + ["+Inf"])

    def test_connections_of_loops_that_have_nothing_else_to_do(self):
        with self.server("--rest_api_num_threads=2") as server:
            mine, end = server.connect(), time.monotonic() + DEADLINE_S

            def wait_for(count):
                while (have := self.page(server, "/metrics", connection=mine).of("slipway_connections").get(("GRPC",), 0)) != count:
                    self.assertLess(time.monotonic(), end, have)

            sockets = [socket.create_connection(("127.0.0.1", server.grpc_port), timeout=DEADLINE_S) for _ in range(8)]
            wait_for(8)
            for s in sockets:
                s.close()
            wait_for(0)

    def test_counts_in_prometheus_style(self):
        with self.server() as server:
            self.series(server)
            page, end = self.page(server, "/metrics"), time.monotonic() + DEADLINE_S
            while page.of("slipway_connections")["REST",] > 1 and time.monotonic() < end:  # the server learns later that a client has closed one
                page = self.page(server, "/metrics")
        requests = page.of("slipway_requests_total")
        self.assertEqual(requests["m", "1", "serving_default", "GRPC", "OK"], 3)
        self.assertEqual(requests["m", "1", "serving_default", "REST", "OK"], 2)
        self.assertEqual(requests["m", "1", "classify_x", "REST", "OK"], 1)
        self.assertEqual(requests["nobody", "", "", "GRPC", "NOT_FOUND"], 1)
        self.assertEqual(requests["stranger", "", "", "REST", "NOT_FOUND"], 1)
        self.assertEqual(sum(requests.values()), 9 + 8)
        for stage in ("queue", "parse", "run", "print"):
            self.assertEqual(page.counts("slipway_request_stage_seconds")["m", "1", "serving_default", "GRPC", stage], 3)
        self.assertEqual(page.of("slipway_model_versions")["m", "AVAILABLE"], 1)
        self.assertEqual(page.of("slipway_model_loads_total"), {("m", "OK"): 1})
        self.assertGreater(page.of("slipway_model_memory_bytes")["m", "1"], 1000)
        self.assertEqual(page.of("slipway_connections")["REST",], 1)
        self.assertGreater(page.of("process_start_time_seconds")[()], 1.7e9)
        self.assertEqual(set(page.types), page.helps)
        self.assertNotIn("tensorflow", page.text)
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=page.text, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_target_shows_what_it_chose(self):
        b = tiny_model.Builder()
        b.placeholder("x", 1, [-1, 512])
        b.const("weights", 1, [512, 512], [0.001] * 512 * 512)
        for i in range(20):  # a few milliseconds, so that it runs in the pool
            b.node("m%d" % i, "MatMul", "m%d" % (i - 1) if i else "x", "weights", T=("type", 1), transpose_a=("b", False), transpose_b=("b", False))
        b.signature("serving_default", "predict", {"x": ("x:0", 1, [-1, 512])}, {"y": ("m19:0", 1, [-1, 512])})
        tiny_model.save(b.model, os.path.join(self.base, "2"))
        with self.server("--target_p99_ms=1000") as server:
            good = lambda answer: answer.status == 200
            with Load(server, "/v1/models/m:predict", {"instances": [[1.0] * 512]}, good, threads=4) as load:
                text = server.wait_for_output("signature serving_default: --target_p99_ms=1000: runs of up to ")
            self.assertEqual(load.wrong, [])
            rows = int(re.findall(r"--target_p99_ms=1000: runs of up to (\d+) rows", server.output())[-1])
            self.assertEqual(self.page(server, "/metrics").of("slipway_batch_rows_chosen"), {("m", "2", "serving_default"): rows}, text)

    def test_versions_that_go_take_their_series_along(self):
        with self.server("--file_system_poll_wait_seconds=1") as server:
            self.assertEqual(server.post("/v1/models/m:predict", {"instances": [[1.0]]}).status, 200)
            self.assertIn('version="1"', self.page(server, "/metrics").text)
            tiny_model.write(os.path.join(self.base, "2"))
            server.wait_for_output("Done unloading servable version {name: m version: 1}")  # END comes before its memory and its series go
            page = self.page(server, "/metrics")
            self.assertNotIn('version="1"', page.text)
            self.assertEqual(page.of("slipway_model_loads_total"), {("m", "OK"): 2})
            self.assertEqual(self.page(server).of(TF + "request_count")["m", "OK"] >= 1, True)

    def test_names_of_clients_are_bounded(self):
        with self.server() as server:
            connection = server.connect()
            for i in range(150):
                server.get("/v1/models/name%d" % i, connection=connection)
            page = self.page(server)
        counts = page.of(TF + "request_count")
        self.assertEqual(len(counts), 101)
        self.assertEqual(counts["(other)", "NOT_FOUND"], 50)

    def test_a_query_and_other_paths(self):
        with self.server() as server:
            answer = server.get(PATH + "?x=1")
            self.assertEqual((answer.status, answer.body.decode()),
                             (400, "Unexpected path: %s?x=1. Should be %s" % (PATH, PATH)))
            self.assertEqual(server.get("/other").status, 404)
        self.configure("prometheus_config { }")
        with self.server() as server:
            self.assertEqual(server.get(PATH).status, 404)
            self.assertEqual(server.get("/metrics").status, 200)
        self.configure('prometheus_config { enable: true path: "/metrics" }')
        with self.server() as server:
            self.assertIn(TF + "request_count", self.page(server, "/metrics").text)

    def test_a_wrong_file_ends_the_server(self):
        for text, why in (("prometheus_config { port: 1 }", "Invalid protobuf file: '%s'" % self.config),
                          ('prometheus_config { enable: true path: "x" }', 'path "x" is not the path of a URL')):
            self.configure(text)
            done = run("modelserver", "--model_base_path=" + self.base, "--monitoring_config_file=" + self.config)
            self.assertEqual(done.returncode, 255)
            self.assertIn(why, done.stdout)

    def test_a_reload_tells_the_increase_of_metrics(self):
        other = self.path("other")
        tiny_model.write(os.path.join(other, "1"))
        names = ["slipway_config_reloads_total", "/tensorflow/cc/saved_model/load_attempt_count", "no such metric"]
        request = messages().ReloadConfigRequest(metric_names=names + names[:1])
        for name, path in (("a", other), ("m", self.base)):
            request.config.model_config_list.config.add(name=name, base_path=path, model_platform="tensorflow")
        with self.server() as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            answer = client.call(MODEL + "HandleReloadConfigRequest", request, messages().ReloadConfigResponse)
            self.assertEqual(answer.code, "OK", answer)
            increases = {metric.name: metric.int64_value_increase for metric in answer.message.metric}
            self.assertEqual([metric.name for metric in answer.message.metric], sorted(names))
            self.assertTrue(all(metric.HasField("int64_value_increase") for metric in answer.message.metric))
            # Only the first series counts, in the order of labels: here the one of the path that was loaded before.
            self.assertEqual([increases[name] for name in names], [1, 0, 0])
            page = self.page(server, "/metrics")
            self.assertEqual(page.of("slipway_config_reloads_total"), {("rpc", "OK"): 1})


if __name__ == "__main__":
    module("serving")
    main()

"""logging_config: requests are logged as records that can be replayed and used for warm-up, and a log that cannot be written harms
nobody."""
import glob
import os
import re
import shutil
import time

import records
import tiny_model
from grpc_client import Client, messages, module, tensor
from harness import DEADLINE_S, Server, TestCase, main, mount_tmpfs, run

PREDICT = "/v1/models/m:predict"


class RequestLog(TestCase):
    def setUp(self):
        super().setUp()
        messages()  # skips without protoc
        tiny_model.write(self.path("m", "1"))
        os.mkdir(self.path("logs"))

    def put(self, rate=1.0, prefix=None):
        logging = ("logging_config { log_collector_config { type: 'file' filename_prefix: '%s' } sampling_config { sampling_rate: %s } }"
                   % (prefix or self.path("logs", "m"), rate))
        text = ("model_config_list { config { name: 'm' base_path: '%s' model_platform: 'tensorflow' %s } }"
                % (self.path("m"), logging if rate is not None else "version_labels { key: 'unlogged' value: 1 }"))
        with open(self.path("new"), "w", encoding="ascii") as f:
            f.write(text)
        os.rename(self.path("new"), self.path("models.config"))

    def serve(self, *flags, **more):
        return Server(None, "--model_config_file=" + self.path("models.config"), *flags, grpc=True, **more)

    def logs(self):
        """The records so far, and the names of their files."""
        names = sorted(glob.glob(self.path("logs", "m-*.tfrecord")))
        data = []
        for name in names:
            with open(name, "rb") as f:
                data.append(f.read())
        return [module("serving_log").PredictionLog.FromString(record) for d in data for record in records.read(d)], names

    def wait_for(self, count):
        end = time.monotonic() + DEADLINE_S
        while len(logs := self.logs()[0]) < count and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(len(logs), count)
        return logs

    @staticmethod
    def ask_all(server):
        """One request of each kind, and two that fail."""
        client = Client("127.0.0.1:%d" % server.grpc_port)
        m = messages()
        spec = m.ModelSpec(name="m")
        request = m.PredictRequest(model_spec=spec, inputs={"x": tensor(1, [1, 1], [1.0])})
        example = module("serving").ClassificationRequest(model_spec=m.ModelSpec(name="m", signature_name="classify_x"))
        example.input.example_list.examples.add().features.feature["x"].float_list.value.append(1)
        good = [client.predict(request).code, client.classify(example).code]
        good += ["OK" if a.status == 200 else a for a in [
            server.post(PREDICT, {"instances": [[1.0], [3.0]]}), server.post("/v1/models/m/versions/1:predict", {"inputs": {"x": [[5.0]]}}),
            server.post("/v1/models/m:classify", {"signature_name": "classify_x", "examples": [{"x": 1.0}]})]]
        bad = [client.predict(m.PredictRequest(model_spec=spec)).code, server.post(PREDICT, {"instances": ["x"]}).status]
        return good, bad

    def test_each_kind_of_request_is_logged_replayed_and_used_for_warm_up(self):
        self.put()
        with open(self.path("monitoring.config"), "w", encoding="ascii") as f:
            f.write("prometheus_config { enable: true path: '/counts' }")
        with self.serve("--monitoring_config_file=" + self.path("monitoring.config")) as server:
            good, bad = self.ask_all(server)
            self.assertEqual((good, bad), (["OK"] * 5, ["INVALID_ARGUMENT", 400]))
            logs = self.wait_for(5)
            replayed = run("modelclient", "replay", self.logs()[1][0], "--against", "127.0.0.1:%d" % server.grpc_port)
            self.assertIn("5 requests: 5 equal, 0 different, 0 refused\n", replayed.stdout, replayed)
            self.wait_for(10)  # the replay is logged as well
            self.assertIn(':tensorflow:serving:request_log_count{model_name="m",status_code="OK"} 10\n', server.get("/counts").body.decode())
        self.assertEqual([log.WhichOneof("log_type") for log in logs], ["predict_log", "classify_log"] + ["predict_log"] * 3)
        rest = logs[2]
        self.assertEqual((rest.log_metadata.model_spec.name, rest.log_metadata.model_spec.version.value), ("m", 1))
        self.assertEqual((rest.log_metadata.model_spec.signature_name, rest.log_metadata.sampling_config.sampling_rate), ("serving_default", 1))
        self.assertEqual(list(rest.log_metadata.saved_model_tags), ["serve"])
        self.assertLess(abs(rest.log_metadata.timestamp_secs - time.time()), 2 * DEADLINE_S)
        self.assertEqual([d.size for d in rest.predict_log.request.inputs["x"].tensor_shape.dim], [2, 1])
        self.assertFalse(rest.predict_log.request.model_spec.HasField("version"))
        self.assertEqual(logs[3].predict_log.request.model_spec.version.value, 1)
        os.mkdir(self.path("m", "1", "assets.extra"))
        shutil.copy(self.logs()[1][0], self.path("m", "1", "assets.extra", "tf_serving_warmup_requests"))
        with self.serve() as server:
            self.assertIn("Number of warmup records read: 10.", server.output())

    def test_requests_for_which_there_is_no_room_are_reported(self):
        self.put()
        with self.serve("--request_log_waiting_bytes=1000") as server:
            for _ in range(3):
                self.assertEqual(server.post(PREDICT, {"instances": [[1.0]] * 1000}).status, 200)
            server.wait_for_output("request log '%s': more waits for the disk than" % self.path("logs", "m"))
            server.wait_for_output("request log '%s': has room again; 3 requests were not logged" % self.path("logs", "m"))
            server.post(PREDICT, {"instances": [[1.0]]})
            self.wait_for(1)

    def test_a_share_of_the_requests_is_logged_and_the_share_can_be_changed(self):
        self.put(rate=0.5)
        with self.serve("--model_config_file_poll_wait_seconds=1") as server:
            connection = server.connect()
            for _ in range(400):
                server.post(PREDICT, {"instances": [[1.0]]}, connection=connection)
            self.put(rate=None)
            end = time.monotonic() + DEADLINE_S
            while server.post("/v1/models/m/labels/unlogged:predict", {"instances": [[1.0]]}).status != 200:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            for _ in range(100):
                server.post(PREDICT, {"instances": [[1.0], [2.0]]}, connection=connection)
            connection.close()
        logged = [log.predict_log.request.inputs["x"].tensor_shape.dim[0].size for log in self.logs()[0]]
        self.assertEqual(set(logged), {1})  # none of the later requests, which have two rows
        self.assertTrue(130 < len(logged) < 270, len(logged))

    def test_a_client_does_not_choose_where_files_are_written(self):
        self.put()
        with self.serve() as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            for name, code in ("m", "OK"), ("x", "PERMISSION_DENIED"):
                config = messages().ReloadConfigRequest()
                model = config.config.model_config_list.config.add(name="m", base_path=self.path("m"), model_platform="tensorflow")
                model.logging_config.log_collector_config.type = "file"
                model.logging_config.log_collector_config.filename_prefix = self.path("logs", name)
                model.logging_config.sampling_config.sampling_rate = 1
                answer = client.call("/tensorflow.serving.ModelService/HandleReloadConfigRequest", config, messages().ReloadConfigResponse)
                self.assertEqual(answer.code, code, answer)
            self.assertIn("filename_prefix '%s' was not in --model_config_file" % self.path("logs", "x"), answer.text)
            self.assertEqual(server.post(PREDICT, {"instances": [[1.0]]}).status, 200)
            self.wait_for(1)  # in the log that was there

    def test_files_are_rotated(self):
        self.put()
        with self.serve("--request_log_file_bytes=1000", "--request_log_files_max=3") as server:
            for _ in range(30):
                self.assertEqual(server.post(PREDICT, {"instances": [[1.0]]}).status, 200)
            server.wait_for_output("Exporting")
        logs, names = self.logs()
        self.assertEqual(len(names), 3)
        self.assertLess(len(logs), 30)
        for name in names:
            self.assertLessEqual(os.path.getsize(name), 1000)

    def test_a_missing_directory_and_a_full_disk_harm_nobody(self):
        self.put(prefix=self.path("none", "m"))
        with self.serve() as server:
            for _ in range(20):
                self.assertEqual(server.post(PREDICT, {"instances": [[1.0]]}).status, 200)
            output = server.wait_for_output("requests are not logged until this is over")
            self.assertEqual(output.count("request log"), 1)
        mount_tmpfs(self, self.path("small"), "size=16k")
        self.put(prefix=self.path("small", "m"))
        with self.serve() as server:
            counts, end = {}, time.monotonic() + DEADLINE_S

            def wait_for_counts(count):
                while sum(counts.values()) < count and time.monotonic() < end:  # those that waited for the disk are counted as well
                    lines = re.findall(r'^slipway_request_log_records_total\{prefix="(.*)",status="(.*)"\} (\d+)$',
                                       server.get("/metrics").body.decode(), re.M)
                    counts.update({(prefix, status): int(number) for prefix, status, number in lines})

            for i in range(300):
                self.assertEqual(server.post(PREDICT, {"instances": [[1.0]]}).status, 200)
                if i == 0:
                    wait_for_counts(1)  # alone: records that are written together are all refused if the disk has no room for one
            server.wait_for_output("requests are not logged until this is over")
            wait_for_counts(300)
            written = counts.pop((self.path("small", "m"), "OK"))
            self.assertIn((self.path("small", "m"), "RESOURCE_EXHAUSTED"), counts)
            self.assertEqual(written + sum(counts.values()), 300, counts)
            name, = glob.glob(self.path("small", "m-*"))
            with open(name, "rb") as f:
                self.assertEqual(len(list(records.read(f.read()))), written)


if __name__ == "__main__":
    main()

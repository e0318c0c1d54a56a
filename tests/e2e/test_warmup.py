"""assets.extra/tf_serving_warmup_requests: requests that are replayed before a version serves."""
import os
import signal
import time

import records
import tiny_model
from endless_models import write_endless_signature
from grpc_client import messages
from harness import DEADLINE_S, Server, TestCase, main
from prediction_logs import good_logs, predict, session_run, unknown_signature

STATUS = "model_version_status"


class Warmup(TestCase):
    def write(self, version, data, write_model=tiny_model.write):
        """A model with this warm-up file, seen as a whole."""
        directory = self.path("making")
        write_model(directory)
        os.mkdir(os.path.join(directory, "assets.extra"))
        with open(os.path.join(directory, "assets.extra", "tf_serving_warmup_requests"), "wb") as f:
            f.write(data)
        os.makedirs(self.path("m"), exist_ok=True)
        os.rename(directory, self.path("m", str(version)))

    @staticmethod
    def file(logs):
        return b"".join(records.record(log.SerializeToString()) for log in logs)

    def test_each_kind_of_request_is_replayed(self):
        messages()
        self.write(1, self.file(good_logs()))
        with Server(self.path("m"), "--num_request_iterations_for_warmup=3") as server:
            self.assertRegex(server.output(), r"Finished reading warmup data for model at %s/1/assets.extra/tf_serving_warmup_requests. "
                                              r"Number of warmup records read: 6. Elapsed time \(microseconds\): \d+\." % self.path("m"))
            self.assertEqual(server.post("/v1/models/default:predict", {"instances": [[1.0]]}).json, {"predictions": [[2.5]]})

    def test_a_bad_file_fails_the_load(self):
        messages()
        damaged = bytearray(self.file([predict()]))
        damaged[20] ^= 1
        cases = {2: (damaged, "DATA_LOSS", ". Please verify your warmup data is in TFRecord format."),
                 3: (self.file([predict(), session_run()]), "UNIMPLEMENTED", "record 2: Unsupported log_type for warmup: 5"),
                 4: (self.file([unknown_signature()]), "FAILED_PRECONDITION", 'record 1: Serving signature key "none" not found.'),
                 5: (self.file([predict()] * 1001), "INVALID_ARGUMENT", "Number of warmup records exceeeds the maximum (1000) at"),
                 6: (records.record(b"\xff"), "INVALID_ARGUMENT", "Failed to parse warmup record: 1 from")}
        self.write(1, self.file([predict()] * 1000))
        for version, (data, _, _) in cases.items():
            self.write(version, bytes(data))
        with open(self.path("models.config"), "w", encoding="ascii") as f:
            f.write("model_config_list { config { name: 'm' base_path: '%s' model_platform: 'tensorflow' "
                    "model_version_policy { all {} } } }" % self.path("m"))
        flag = "--model_config_file=" + self.path("models.config")
        with Server(None, flag, "--max_num_load_retries=0") as server:
            server.wait_for_state(1, "AVAILABLE", name="m")
            for version, (_, code, text) in cases.items():
                server.wait_for_state(version, "END", name="m")
                status = server.get("/v1/models/m/versions/%d" % version).json[STATUS][0]["status"]
                self.assertEqual(status["error_code"], code)
                self.assertIn(text, status["error_message"])
                self.assertEqual(status["error_message"].count(self.path("m")), 1, status["error_message"])
        with Server(None, flag, "--max_num_load_retries=0", "--enable_model_warmup=false") as server:
            for version in (1, *cases):
                server.wait_for_state(version, "AVAILABLE", name="m")

    def test_a_version_warms_up_while_the_server_starts(self):
        """ThreadSanitizer finds what the start changes under it."""
        tiny_model.write(self.path("m", "1"))
        self.write(2, self.file([predict()] * 900))
        with open(self.path("config"), "w", encoding="ascii") as f:
            f.write('model_config_list { config { name: "default" base_path: "%s" model_platform: "tensorflow" '
                    'model_version_policy { all {} } } }' % self.path("m"))
        with Server(None, "--model_config_file=" + self.path("config"), grpc=True) as server:
            server.wait_for_state(2, "AVAILABLE")

    def test_sigterm_ends_a_record_that_runs_without_end(self):
        messages()
        self.write(1, self.file([predict()]))
        with Server(self.path("m"), "--log_level=debug", "--load_timeout_in_ms=0") as server:
            self.write(2, self.file([predict()]), write_endless_signature)
            server.wait_for_output("replaying the requests in " + self.path("m", "2"))
            end, before = time.monotonic() + DEADLINE_S, server.cpu_seconds()
            while server.cpu_seconds() < before + 0.3:  # the loop runs
                self.assertLess(time.monotonic(), end, "the record does not run")
                time.sleep(0.02)
            self.assertEqual(server.stop(signal.SIGTERM), 0)
            self.assertRegex(server.output(), r"Loading servable: \{name: default version: 2\} failed: CANCELLED: "
                                              r"%s: record 1: .*the server stops" % self.path("m", "2", "assets.extra", "tf_serving_warmup_requests"))


if __name__ == "__main__":
    main()

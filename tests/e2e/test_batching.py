"""--enable_batching: batches of requests as TensorFlow Serving forms them, and their limits."""
import os
from concurrent.futures import ThreadPoolExecutor

import tiny_model
from grpc_client import Client, messages, tensor
from harness import Server, TestCase, free_port, main, program, run

LONG = 20_000_000  # microseconds: a batch with this timeout runs because it is full
PATH = "/v1/models/default:predict"


def write(directory):
    """serving_default: x [n,?] -> y = x + the elements of x in the run, which tells the size of the batch.
    scalar: the number alone; fixed: 3 numbers."""
    b = tiny_model.Builder()
    number = ("type", 1)
    b.placeholder("x", 1, [-1, -1])
    b.node("size", "Size", "x", T=number, out_type=("type", 3))
    b.node("count", "Cast", "size", SrcT=("type", 3), DstT=number)
    b.node("y", "AddV2", "x", "count", T=number)
    b.const("three", 1, [3], [1.0, 2.0, 3.0])
    b.node("fixed", "Mul", "three", "count", T=number)
    x = {"x": ("x:0", 1, [-1, -1])}
    b.signature("serving_default", "predict", x, {"y": ("y:0", 1, [-1, -1])})
    b.signature("scalar", "predict", x, {"y": ("count:0", 1, [])})
    b.signature("fixed", "predict", x, {"y": ("fixed:0", 1, [3])})
    tiny_model.save(b.model, directory)


VALUES = {"bool": [True, False, True, True], "string": [b"a", b"", b"longer than a word", b"d"]}


def rows(*values):
    return {"instances": [[v] for v in values]}


def insist(server):
    """The answer of a request that found room in the queue."""
    while (answer := server.post(PATH, rows(1))).status == 503:
        pass
    return answer


class Batching(TestCase):
    def setUp(self):
        super().setUp()
        messages()
        write(self.path("m", "1"))

    def file(self, text, *path):
        path = self.path(*(path or ("batching.config",)))
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path

    def server(self, text, *more, base="m", **options):
        flag = "--batching_parameters_file=" + self.file(text)
        return Server(self.path(base), "--enable_batching", flag, *more, **options)

    def post_all(self, server, *bodies):
        """The answers of requests that are sent at the same time."""
        with ThreadPoolExecutor(len(bodies)) as pool:
            return list(pool.map(lambda body: server.post(PATH, body), bodies))

    def check(self, answer, status, body):
        self.assertEqual((answer.status, answer.json), (status, body))

    def test_requests_of_both_protocols_share_a_batch(self):
        with self.server("max_batch_size { value: 3 } batch_timeout_micros { value: %d }" % LONG, grpc=True) as server:
            with Client("127.0.0.1:%d" % server.grpc_port) as client, ThreadPoolExecutor(1) as pool:
                rest = pool.submit(server.post, PATH, rows(1, 2))
                request = messages().PredictRequest(model_spec={"name": "default"}, inputs={"x": tensor(1, [1, 1], [5.0])})
                answer = client.predict(request)
                self.assertEqual(list(answer.message.outputs["y"].float_val), [8.0], answer)
                self.check(rest.result(), 200, {"predictions": [[4.0], [5.0]]})

    def test_a_batch_is_padded_to_an_allowed_size(self):
        with self.server("max_batch_size { value: 8 } allowed_batch_sizes: 4 allowed_batch_sizes: 8") as server:
            self.check(server.post(PATH, rows(1)), 200, {"predictions": [[5.0]]})
            self.check(server.post(PATH, rows(1, 2, 3, 4, 5)), 200, {"predictions": [[9.0], [10.0], [11.0], [12.0], [13.0]]})
            self.check(server.post(PATH, {"inputs": []}), 200, {"outputs": []})

    def test_different_shapes(self):
        text = "max_batch_size { value: 2 } batch_timeout_micros { value: %d } " % LONG
        bodies = {"instances": [[1, 2]]}, {"instances": [[3, 4, 5]]}
        with self.server(text) as server:
            for answer in self.post_all(server, *bodies):
                self.check(answer, 400, {"error": "Tensors with name 'x:0' from different tasks have different shapes and padding is turned "
                                                  "off. Set pad_variable_length_inputs to true, or ensure that all tensors with the same "
                                                  "name have equal dimensions starting with the first dim."})
        with self.server(text + "pad_variable_length_inputs: true") as server:
            first, second = self.post_all(server, *bodies)
            self.check(first, 200, {"predictions": [[7.0, 8.0, 7.0]]})
            self.check(second, 200, {"predictions": [[9.0, 10.0, 11.0]]})

    def test_a_large_request_is_split(self):
        text = "max_batch_size { value: 20 } enable_large_batch_splitting { value: true } max_execution_batch_size { value: 8 }"
        with self.server(text) as server:
            sizes = [8] * 8 + [8] * 8 + [3] * 3
            self.check(server.post(PATH, rows(*range(19))), 200, {"predictions": [[float(i + n)] for i, n in enumerate(sizes)]})
            self.check(server.post(PATH, rows(*range(21))), 400, {"error": "Task size 21 is larger than maximum input batch size 20"})

    def test_strings_of_a_split_request(self):
        tiny_model.write(self.path("strings", "1"))
        text = "enable_large_batch_splitting { value: true } max_execution_batch_size { value: 3 }"
        with self.server(text, base="strings", grpc=True) as server:
            with Client("127.0.0.1:%d" % server.grpc_port) as client:
                request = messages().PredictRequest(model_spec={"name": "default", "signature_name": "types"})
                for name, dtype in tiny_model.DTYPES.items():
                    request.inputs["in_" + name].CopyFrom(tensor(dtype, [4], VALUES.get(name, [1, 0, 1, 1])))
                answer = client.predict(request)
                self.assertEqual(answer.code, "OK", answer)
                for name in tiny_model.DTYPES:
                    self.assertEqual(answer.message.outputs["out_" + name], request.inputs["in_" + name], name)
            answer = server.post(PATH, {"signature_name": "pair", "inputs": {"a": [1.0], "b": [1, 2]}})
            self.check(answer, 400, {"error": "Batching Run() input tensors must have equal 0th-dimension size"})

    def test_outputs_that_are_not_rows(self):
        with self.server("") as server:
            self.check(server.post(PATH, {"signature_name": "scalar", "inputs": [[1]]}), 400,
                       {"error": "Batched output tensor has 0 dimensions"})
            self.check(server.post(PATH, {"signature_name": "fixed", "inputs": [[1]]}), 400,
                       {"error": "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the input "
                                 "tensors"})

    def test_a_full_queue_answers_503(self):
        text = "max_batch_size { value: 2 } max_enqueued_batches { value: 1 } batch_timeout_micros { value: %d }" % LONG
        with self.server(text) as server, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(insist, server)
            while (answer := server.post(PATH, rows(1, 2))).status == 200:
                pass  # the other one has not come yet
            self.check(answer, 503, {"error": "The batch scheduling queue to which this task was submitted is full; currently 1 batches "
                                              "enqueued and max_enqueued_batches is 1"})
            self.check(server.post(PATH, rows(7)), 200, {"predictions": [[9.0]]})
            self.check(waiting.result(), 200, {"predictions": [[3.0]]})

    def test_a_request_that_expires_in_the_queue(self):
        with self.server("batch_timeout_micros { value: %d }" % LONG, "--rest_api_timeout_in_ms=1000") as server:
            self.check(server.post(PATH, rows(1)), 429, {"error": "Run() timeout exceeded while waiting in batching queue"})

    def test_parameters_of_a_version(self):
        write(self.path("many", "1"))
        write(self.path("many", "2"))
        self.file("max_batch_size { value: 4 } allowed_batch_sizes: 4", "many", "2", "batching_params.pbtxt")
        config = self.file("model_config_list { config { name: 'default' base_path: '%s' model_platform: 'tensorflow' "
                           "model_version_policy { all {} } } }" % self.path("many"), "models.config")
        flags = "--enable_batching", "--enable_per_model_batching_parameters", "--model_config_file=" + config
        with Server(None, *flags, "--max_num_load_retries=0") as server:
            server.wait_for_state(1, "AVAILABLE")
            server.wait_for_state(2, "AVAILABLE")
            self.check(server.post("/v1/models/default/versions/1:predict", rows(1)), 200, {"predictions": [[2.0]]})
            self.check(server.post("/v1/models/default/versions/2:predict", rows(1)), 200, {"predictions": [[5.0]]})
            write(self.path("making"))
            self.file("max_batch_size { value: 4 } allowed_batch_sizes: 3", "making", "batching_params.pbtxt")
            os.rename(self.path("making"), self.path("many", "3"))
            server.wait_for_state(3, "END")
            self.assertIn("Last entry in allowed_batch_sizes must match max_batch_size; last entry was 3; expected 4", server.output())

    def test_a_server_that_stops_answers_those_that_wait(self):
        text = "max_batch_size { value: 2 } max_enqueued_batches { value: 1 } batch_timeout_micros { value: 1000000 }"
        with self.server(text) as server, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(insist, server)
            while server.post(PATH, rows(1, 2)).status == 200 and not waiting.done():
                pass  # the other one has not come yet
            server.stop()
            self.assertEqual(waiting.result().status, 200)

    def platform(self, text):
        """A file of --platform_config_file with this SessionBundleConfig."""
        return "--platform_config_file=" + self.file(
            "platform_configs { key: 'tensorflow' value { source_adapter_config { "
            "[type.googleapis.com/tensorflow.serving.SavedModelBundleSourceAdapterConfig] { legacy_config { %s } } } } }" % text, "platform.config")

    def test_a_platform_config_replaces_the_flags(self):
        batching = "batching_parameters { max_batch_size { value: 4 } allowed_batch_sizes: 4 }"
        with Server(self.path("m"), self.platform(batching), "--num_request_iterations_for_warmup=3") as server:
            self.check(server.post(PATH, rows(1)), 200, {"predictions": [[5.0]]})
            self.assertIn("--num_request_iterations_for_warmup has no effect: --platform_config_file takes its place", server.output())
        unread = ["--batching_parameters_file=" + self.path("no"), "--tensorflow_session_config_file=" + self.path("no")]
        with Server(self.path("m"), self.platform("session_config { intra_op_parallelism_threads: 1 }"), "--enable_batching", *unread) as server:
            self.check(server.post(PATH, rows(1)), 200, {"predictions": [[2.0]]})
            self.assertIn("--enable_batching has no effect", server.output())
        for text, error in (("saved_model_tags: 'none'", "Could not find meta graph def matching supplied tags"),
                            ("mixed_precision: 'bfloat16'", "UNIMPLEMENTED: '%s': legacy_config: mixed_precision: " % self.path("platform.config"))):
            done = run(program("modelserver"), "--model_base_path=" + self.path("m"), self.platform(text), "--max_num_load_retries=0", "--port=0",
                       "--rest_api_port=%d" % free_port())
            self.assertEqual(done.returncode, 255)
            self.assertIn(error, done.stdout)

    def test_a_session_config(self):
        flag = "--tensorflow_session_config_file=" + self.file("intra_op_parallelism_threads: 1 gpu_options { allow_growth: true }")
        with Server(self.path("m"), flag) as server:
            self.check(server.post(PATH, rows(1)), 200, {"predictions": [[2.0]]})
            self.assertIn("gpu_options has no effect: this server has no GPU", server.output())
            self.assertEqual(server.loop_helpers(), 0)
        with Server(self.path("m"), flag, "--tensorflow_intra_op_parallelism=5") as server:
            self.assertEqual(server.loop_helpers(), 4, "the flag counts before the file")
        for text, error in (("log_device_placement: true", "UNIMPLEMENTED: '%s': log_device_placement: " % self.path("batching.config")),
                            ("no_such: 1", "INVALID_ARGUMENT: Invalid protobuf file: '%s'" % self.path("batching.config"))):
            done = run(program("modelserver"), "--model_base_path=" + self.path("m"), "--tensorflow_session_config_file=" + self.file(text))
            self.assertEqual(done.returncode, 255)
            self.assertIn("Failed to start server. Error: " + error, done.stdout)

    def test_a_target_that_has_no_effect_is_a_warning(self):
        words = "--target_p99_ms has no effect with "
        for flag in ("--enable_batching", "--batch_ready=false"):
            with Server(self.path("m"), "--target_p99_ms=10", flag) as server:
                self.assertIn(words + flag, server.output())
        with Server(self.path("m"), "--target_p99_ms=10", "--enable_batching", "--enable_per_model_batching_parameters") as server:
            self.assertNotIn(words, server.output())

    def test_files_that_are_refused(self):
        for text, error in (
                ("max_batch_size { value: 8 } allowed_batch_sizes: 4",
                 "INVALID_ARGUMENT: Last entry in allowed_batch_sizes must match max_batch_size; last entry was 4; expected 8"),
                ("max_batch_size { value: 8 } allowed_batch_sizes: [4, 2, 8]",
                 "INVALID_ARGUMENT: allowed_batch_sizes entries must be monotonically increasing"),
                ("num_batch_threads { value: 0 }", "INVALID_ARGUMENT: num_batch_threads must be positive; was 0"),
                ("batch_timeout_micros { value: -1 }", "INVALID_ARGUMENT: batch_timeout_micros must be non-negative; was -1\n"),
                ("max_batch_size { value: 0 }", "INVALID_ARGUMENT: input_batch_size_limit must be positive; was 0"),
                ("max_size { value: 0 }", "INVALID_ARGUMENT: Invalid protobuf file: '%s'" % self.path("batching.config"))):
            with self.subTest(text=text):
                done = run(program("modelserver"), "--model_base_path=" + self.path("m"), "--enable_batching",
                           "--batching_parameters_file=" + self.file(text))
                self.assertEqual(done.returncode, 255)
                self.assertIn("Failed to start server. Error: " + error, done.stdout)
        done = run(program("modelserver"), "--model_base_path=" + self.path("m"), "--batching_parameters_file=" + self.file(""))
        self.assertEqual(done.returncode, 255)
        self.assertIn("Failed to start server. Error: INVALID_ARGUMENT: server_options.batching_parameters_file is set without setting "
                      "server_options.enable_batching to true.", done.stdout)


if __name__ == "__main__":
    main()

"""Several models in one server: --model_config_file, HandleReloadConfigRequest, version policies and labels."""
import fcntl
import os
import signal
import struct
import threading
import time
import urllib.request

import tiny_model
from grpc_client import MODEL, Client, messages
from harness import DEADLINE_S, Load, Server, TestCase, free_ports, main, program, run, start

FLOAT = ("type", 1)
STATUS = "model_version_status"


def write(directory, factor):
    """A model of y = factor * x."""
    b = tiny_model.Builder()
    b.placeholder("x", 1, [-1])
    b.const("factor", 1, [], [factor])
    b.node("y", "Mul", "x", "factor", T=FLOAT)
    b.signature("serving_default", "predict", {"x": ("x:0", 1, [-1])}, {"y": ("y:0", 1, [-1])})
    tiny_model.save(b.model, directory)


def write_damaged(directory):
    os.makedirs(directory)
    with open(os.path.join(directory, "saved_model.pb"), "wb") as f:
        f.write(b"\xff")


def config(name, path, more=""):
    return 'config { name: "%s" base_path: "%s" model_platform: "tensorflow" %s }\n' % (name, path, more)


ALL = "model_version_policy { all {} } "


def label(name, version):
    return "version_labels { key: '%s' value: %d } " % (name, version)


class Configs(TestCase):
    def put(self, *configs):
        """Replaces the config file as a whole: a server that reads it meanwhile sees the old or the new one."""
        with open(self.path("new"), "w", encoding="ascii") as f:
            f.write("model_config_list {\n%s}\n" % "".join(configs))
        os.rename(self.path("new"), self.path("models.config"))

    def serve(self, *flags, **more):
        return Server(None, "--model_config_file=" + self.path("models.config"), "--model_config_file_poll_wait_seconds=1",
                      "--max_num_load_retries=0", *flags, **more)

    def states(self, server, name):
        return {int(row["version"]): row["state"] for row in server.get("/v1/models/" + name).json[STATUS]}

    def ask(self, server, target):
        answer = server.post("/v1/models/%s:predict" % target, {"instances": [1.0]})
        return answer.json["predictions"][0] if answer.status == 200 else (answer.status, answer.json["error"])

    def test_models_come_go_and_move_while_requests_run(self):
        write(self.path("a", "1"), 11)
        write(self.path("b", "1"), 21)
        write(self.path("c", "1"), 31)
        write(self.path("moved", "5"), 15)
        self.put(config("a", self.path("a")), config("b", self.path("b")))
        good = lambda answer: answer.status == 200 and answer.json["predictions"] in ([11.0], [15.0])
        with self.serve() as server, Load(server, "/v1/models/a:predict", {"instances": [1.0]}, good, threads=2) as load:
            self.assertEqual((self.ask(server, "a"), self.ask(server, "b")), (11.0, 21.0))
            self.assertEqual(self.ask(server, "c"), (404, "Servable not found for request: Latest(c)"))
            self.put(config("a", self.path("a")), config("c", self.path("c")))
            server.wait_for_state(1, "AVAILABLE", name="c")
            server.wait_for_state(1, "END", name="b")
            self.assertEqual(self.ask(server, "b"), (404, "Servable not found for request: Latest(b)"))
            self.assertEqual(self.ask(server, "c"), 31.0)
            self.put(config("a", self.path("moved")), config("c", self.path("c")))
            server.wait_for_state(1, "END", name="a")
            self.assertEqual(self.ask(server, "a"), 15.0)
            self.assertEqual(self.states(server, "a"), {5: "AVAILABLE", 1: "END"})
            # A bad file changes nothing and is reported once.
            self.assertIn(b"slipway_config_file_accepted 1\n", server.get("/metrics").body)
            self.put("config { nam: 'x' }\n")
            problem = "Error parsing text-format tensorflow.serving.ModelServerConfig: 2:10:"
            self.assertIn("the old configuration stays", server.wait_for_output(problem))
            self.assertIn(b"slipway_config_file_accepted 0\n", server.get("/metrics").body)
            self.put(config("c", self.path("c")), config("c", self.path("b")))
            server.wait_for_output("Illegal to list model c multiple times in config list")
            self.assertEqual((self.ask(server, "a"), self.ask(server, "c")), (15.0, 31.0))
        self.assertGreater(load.count, 0)
        self.assertEqual(load.wrong, [])

    def test_policies_and_labels(self):
        for version in (1, 2, 3):
            write(self.path("m", str(version)), version)
        everything = config("m", self.path("m"), ALL + label("stable", 1) + label("canary", 3))
        self.put(everything)
        done = run("modelserver", "--model_config_file=" + self.path("models.config"), "--port=0", "--rest_api_port=1")
        self.assertEqual(done.returncode, 255, done)
        self.assertIn("Failed to start server. Error: FAILED_PRECONDITION: Request to assign label to version 1 of model m, "
                      "which is not currently available for inference", done.stdout)
        with self.serve("--allow_version_labels_for_unavailable_models", grpc=True) as server:
            for version in (1, 2, 3):
                server.wait_for_state(version, "AVAILABLE", name="m")
                self.assertEqual(self.ask(server, "m/versions/%d" % version), version)
            self.assertEqual((self.ask(server, "m"), self.ask(server, "m/labels/stable"), self.ask(server, "m/labels/canary")), (3, 1, 3))
            self.assertEqual(self.ask(server, "m/labels/other"), (400, "Unrecognized servable version label: other"))
            self.assertEqual(server.get("/v1/models/m/labels/stable/metadata").json["model_spec"]["version"], "1")
            for number in (2, 3, 4, 5):  # the later ones differ from the first in their numbers only, so they are not parsed again
                with Client("127.0.0.1:%d" % server.grpc_port, options=[("grpc.use_local_subchannel_pool", 1)]) as client:
                    request = messages().PredictRequest(model_spec={"name": "m", "version_label": "stable"})
                    request.inputs["x"].dtype, request.inputs["x"].tensor_shape.dim.add().size = 1, 1
                    request.inputs["x"].tensor_content = struct.pack("<f", number)
                    answer = client.predict(request)
                    self.assertEqual((answer.message.outputs["y"].float_val[:], answer.message.model_spec.version.value), ([number], 1))
            self.put(config("m", self.path("m"), "model_version_policy { specific { versions: [1, 2] } } " + label("stable", 2)))
            server.wait_for_state(3, "END", name="m")
            self.assertEqual((self.ask(server, "m"), self.ask(server, "m/labels/stable")), (2, 2))
            self.assertEqual(self.ask(server, "m/labels/canary"), (400, "Unrecognized servable version label: canary"))

    def reload(self, client, **models):
        """models: NAME=(path, what else the config has)."""
        request = messages().ReloadConfigRequest()
        for name, (path, more) in models.items():
            request.config.model_config_list.config.add(name=name, base_path=path, model_platform="tensorflow", **more)
        request.config.model_config_list.SetInParent()
        return client.call(MODEL + "HandleReloadConfigRequest", request, messages().ReloadConfigResponse)

    def test_a_client_reloads_the_configuration(self):
        write(self.path("a", "1"), 1)
        write(self.path("b", "1"), 2)
        write_damaged(self.path("damaged", "1"))
        a, b = (self.path("a"), {}), (self.path("b"), {})
        with Server(a[0], "--max_num_load_retries=0", name="a", grpc=True) as server, \
                Client("127.0.0.1:%d" % server.grpc_port) as client:
            answer = self.reload(client, a=a, b=b)
            self.assertEqual((answer.code, answer.message.HasField("status"), answer.message.status.error_code), ("OK", True, 0))
            self.assertEqual((self.ask(server, "a"), self.ask(server, "b")), (1, 2))  # it serves when the answer is there
            answer = self.reload(client, a=a, b=b, c=(self.path("damaged"), {}))
            self.assertEqual(answer.code, "UNKNOWN")
            self.assertIn("1 model(s) did not become available: {{{name: c version: 1} due to error: ", answer.text)
            self.assertEqual(self.reload(client, a=a).code, "OK")
            server.wait_for_state(1, "END", name="b")
            answer = self.reload(client, a=(a[0], {"version_labels": {"stable": 2}}))
            self.assertEqual((answer.code, answer.text), ("FAILED_PRECONDITION", "Request to assign label to version 2 of model a, "
                                                          "which is not currently available for inference"))
            self.assertEqual(self.reload(client, a=(a[0], {"version_labels": {"stable": 1}})).code, "OK")
            self.assertEqual(self.ask(server, "a/labels/stable"), 1)
            self.assertEqual(self.reload(client, a=("x", {})).code, "INVALID_ARGUMENT")
            # A message that is so large that a thread of the pool reads it.
            many = {"%s%d" % ("n" * 500, i): b for i in range(150)}
            self.assertEqual(self.reload(client, a=a, **many).code, "OK")
            self.assertEqual(self.ask(server, "%s149" % ("n" * 500)), 2)
            self.assertEqual(self.reload(client).code, "OK")
            server.wait_for_state(1, "END", name="a")

    def test_a_reload_whose_client_has_left_gives_its_memory_back(self):
        write(self.path("a", "1"), 1)
        request = messages().ReloadConfigRequest()
        request.config.model_config_list.config.add(name="a", base_path=self.path("a"), model_platform="tensorflow")
        for i in range(30000):  # several MiB when it is parsed
            request.config.model_config_list.config[0].version_labels["l%d" % i] = 1
        reload = (MODEL + "HandleReloadConfigRequest", request.SerializeToString(), messages().ReloadConfigResponse)
        with Server(self.path("a"), "--memory_budget_bytes=%d" % (32 << 20), name="a", grpc=True) as server:
            target = "127.0.0.1:%d" % server.grpc_port
            with Client(target) as client:
                for i in range(30):
                    call = client.start(*reload)
                    time.sleep(0.0002 * i)  # some are being parsed when they are cancelled
                    call.cancel()
            with Client(target, options=[("grpc.use_local_subchannel_pool", 1)]) as client:
                end = time.monotonic() + DEADLINE_S  # the last ones may still be parsed
                while (answer := client.call(*reload)).code == "RESOURCE_EXHAUSTED" and time.monotonic() < end:
                    pass
                self.assertEqual(answer.code, "OK", answer)

    def test_sigterm_ends_a_reload_that_waits(self):
        write(self.path("a", "1"), 1)
        answers = []
        with Server(self.path("a"), "--drain_timeout_seconds=100000", name="a", grpc=True) as server, \
                Client("127.0.0.1:%d" % server.grpc_port) as client:
            late = {"a": (self.path("a"), {}), "late": (self.path("late"), {})}
            thread = threading.Thread(target=lambda: answers.append(self.reload(client, **late)))
            thread.start()
            server.wait_for_output("model late: base path: ")
            self.assertEqual(server.stop(signal.SIGTERM), 0)
            thread.join()
        self.assertEqual((answers[0].code, answers[0].text), ("UNAVAILABLE", "the server is going down"))

    def test_a_log_that_nobody_reads_holds_up_nothing(self):
        write(self.path("a", "1"), 1)
        log, writes = os.pipe()
        self.addCleanup(os.close, log)
        fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
        port, grpc_port = free_ports(2)
        process = start([program("modelserver"), "--model_base_path=" + self.path("a"), "--model_name=a", "--rest_api_port=%d" % port,
                         "--port=%d" % grpc_port], stdout=writes, stderr=writes)
        self.addCleanup(process.kill)
        os.close(writes)
        seen = b""
        while b"Exporting HTTP/REST" not in seen:
            part = os.read(log, 4096)
            self.assertTrue(part, seen)  # nothing: the server has ended
            seen += part
        with Client("127.0.0.1:%d" % grpc_port) as client:
            for i in range(40):  # each logs two lines or more
                models = {"a": (self.path("a"), {}), "b": (self.path("a"), {})} if i % 2 == 0 else {"a": (self.path("a"), {})}
                self.assertEqual(self.reload(client, **models).code, "OK")
        with urllib.request.urlopen("http://127.0.0.1:%d/v1/models/a" % port, timeout=DEADLINE_S) as answer:
            self.assertEqual(answer.status, 200)
        process.terminate()
        self.assertEqual(process.wait(DEADLINE_S), 0)

    def test_a_bad_start(self):
        write(self.path("a", "1"), 1)
        write_damaged(self.path("damaged", "1"))
        flag = "--model_config_file=" + self.path("models.config")
        for text, error in (("model_config_list {", "INVALID_ARGUMENT: Invalid protobuf file: '%s'" % self.path("models.config")),
                            ("custom_model_config {}", "UNIMPLEMENTED: custom_model_config"),
                            ("model_config_list { config { name: 'a' base_path: 'a' model_platform: 'tensorflow' } }",
                             "INVALID_ARGUMENT: Expected model a to have an absolute path or URI; got base_path()=a"),
                            ("model_config_list { %s }" % config("a", self.path("a"), "logging_config { sampling_config { sampling_rate: 2 } }"),
                             "INVALID_ARGUMENT: model a: logging_config: sampling_rate is 2; it wants 0 to 1")):
            with open(self.path("models.config"), "w", encoding="ascii") as f:
                f.write(text)
            done = run("modelserver", flag, "--port=0", "--rest_api_port=1")
            self.assertEqual(done.returncode, 255, done)
            self.assertIn("Failed to start server. Error: " + error, done.stdout)
            self.assertIn(error.split(": ", 1)[1], done.stderr)
        self.put(config("a", self.path("a")), config("damaged", self.path("damaged")))
        done = run("modelserver", flag, "--max_num_load_retries=0", "--port=0", "--rest_api_port=1")
        self.assertEqual(done.returncode, 255, done)
        self.assertIn("1 servable(s) did not become available: {{{name: damaged version: 1} due to error: ", done.stdout)
        self.put(config("a", self.path("a")), config("damaged", self.path("damaged")), config("late", self.path("late")))
        with self.serve("--keep_going", "--num_load_threads=2", "--num_unload_threads=1") as server:
            self.assertEqual(self.ask(server, "a"), 1)
            self.assertEqual(self.states(server, "damaged"), {1: "END"})
            write(self.path("late", "4"), 4)
            server.wait_for_state(4, "AVAILABLE", name="late")

    def test_a_model_without_a_name_is_a_warning(self):
        write(self.path("a", "1"), 1)
        self.put(config("", self.path("a")), config("a", self.path("a")))
        with self.serve() as server:
            self.assertEqual(self.ask(server, "a"), 1)
            self.assertIn(" W a model of the configuration has no name: no request can name it\n", server.output())

    def test_a_version_that_does_not_fit_into_memory(self):
        write(self.path("a", "1"), 1)
        self.put(config("a", self.path("a")))
        with self.serve() as server:
            write(self.path("large"), 2)
            os.mkdir(self.path("large", "variables"))
            with open(self.path("large", "variables", "variables.data-00000-of-00001"), "wb") as f:
                f.truncate(1 << 42)  # a hole in the file takes no disk
            os.rename(self.path("large"), self.path("a", "2"))
            server.wait_for_state(2, "END", name="a")
            error = server.get("/v1/models/a/versions/2").json[STATUS][0]["status"]
            self.assertEqual(error["error_code"], "RESOURCE_EXHAUSTED")
            self.assertRegex(error["error_message"], r"^its files have 43980465\d+ bytes, but \d+ of \d+ bytes of memory are in use$")
            self.assertEqual(self.ask(server, "a"), 1)


if __name__ == "__main__":
    main()

"""What probes and load balancers ask: is the server alive, is it ready, is a model ready; and how readiness goes before the server."""
import os
import signal

import tiny_model
from grpc_client import Client, module
from harness import Server, TestCase, main

ASK = "/v1/models/a:predict"
X = {"instances": [1.0]}
SERVING, NOT_SERVING = 1, 2


def config(name, path):
    return 'config { name: "%s" base_path: "%s" model_platform: "tensorflow" model_version_policy { all {} } }\n' % (name, path)


class Health(TestCase):
    def serve(self, *flags, **more):
        for name in ("a", "b"):
            if not os.path.exists(self.path(name)):
                os.mkdir(self.path(name))
        if not os.path.exists(self.path("a", "1")):
            tiny_model.write(self.path("a", "1"))
        with open(self.path("models.config"), "w", encoding="ascii") as f:
            f.write("model_config_list {\n%s%s}\n" % (config("a", self.path("a")), config("b", self.path("b"))))
        return Server(None, "--model_config_file=" + self.path("models.config"), "--max_num_load_retries=0", *flags, **more)

    def text(self, answer, status, body):
        self.assertEqual((answer.status, answer.body.decode()), (status, body))
        if status != 405:
            self.assertIn("text/plain", answer.headers["Content-Type"])

    def test_readiness_names_the_models_that_do_not_serve(self):
        os.makedirs(self.path("b", "7"))
        with open(self.path("b", "7", "saved_model.pb"), "wb") as f:
            f.write(b"\xff")
        with self.serve("--keep_going") as server:
            self.text(server.get("/healthz"), 200, "ok\n")
            server.wait_for_state(7, "END", name="b")
            answer = server.get("/readyz")
            self.assertEqual(answer.status, 503)
            lines = answer.body.decode().splitlines()
            self.assertEqual(len(lines), 1)
            self.assertTrue(lines[0].startswith("model 'b' has no version that serves: version 7 is END ("), lines)
            self.text(server.get("/readyz/a"), 200, "ok\n")
            self.text(server.get("/readyz/a/versions/1"), 200, "ok\n")
            answer = server.get("/readyz/b")
            self.assertEqual((answer.status, answer.json["error"]), (503, "model 'b': version 7 is END"))
            self.assertEqual(server.get("/readyz/none").status, 404)
            self.assertEqual(server.get("/readyz/a/versions/2").status, 404)
            tiny_model.write(self.path("b", "8"))
            server.wait_for_state(8, "AVAILABLE", name="b")
            self.text(server.get("/readyz?from=probe"), 200, "ok\n")
            self.assertEqual(server.get("/readyz/b").status, 200)

    def test_models_are_listed_with_their_states(self):
        with self.serve("--keep_going") as server:
            answer = server.get("/v1/models")
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "application/json"))
            models = answer.json["models"]
            self.assertEqual([model["name"] for model in models], ["a", "b"])
            self.assertEqual(models[0]["model_version_status"], server.get("/v1/models/a").json["model_version_status"])
            self.assertEqual(models[1]["model_version_status"], [])

    def test_a_configured_model_without_a_version_is_not_ready(self):
        with self.serve("--keep_going", grpc=True) as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            answer = server.get("/readyz/b")
            self.assertEqual((answer.status, answer.json["error"]), (503, "model 'b' has no version that serves"))
            answer = server.get("/v2/models/b/ready")
            self.assertEqual((answer.status, answer.json), (503, {"name": "b", "ready": False}))
            pb = module("open_inference")
            answer = client.call("/inference.GRPCInferenceService/ModelReady", pb.ModelReadyRequest(name="b"), pb.ModelReadyResponse)
            self.assertEqual((answer.code, answer.message.ready), ("OK", False))
            self.assertEqual(server.get("/readyz/b/versions/1").status, 404)
            self.assertEqual(server.get("/v2/models/none/ready").status, 404)

    def test_other_methods_are_told_which_are_allowed(self):
        with self.serve("--keep_going") as server:
            for path in ("/healthz", "/readyz", "/readyz/a"):
                answer = server.post(path, b"")
                self.assertEqual((answer.status, answer.headers["Allow"]), (405, "GET, HEAD"))
                self.assertEqual(answer.json["error"], "POST %s: wants GET, HEAD" % path)
            self.assertEqual(server.get("/").json, {"status": "alive"})  # KServe V1
            answer = server.request("HEAD", "/healthz")
            self.assertEqual((answer.status, answer.body, answer.headers["Content-Length"]), (200, b"", "3"))
            for path in ("/healthz/", "/HEALTHZ", "//", "/readyz/", "/readyz/a/b"):
                self.assertEqual(server.get(path).status, 404)

    def test_readiness_goes_first_and_requests_are_answered(self):
        tiny_model.write(self.path("b", "1"))
        server = self.serve("--enable_grpc_healthcheck_service", "--shutdown_grace_seconds=3600", grpc=True)
        with Client("127.0.0.1:%d" % server.grpc_port) as client, server:
            watch = client.watch("a")
            self.assertEqual(next(watch).status, SERVING)
            self.text(server.get("/readyz"), 200, "ok\n")
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(next(watch).status, NOT_SERVING)
            self.text(server.get("/readyz"), 503, "the server is going down\n")
            self.assertEqual(server.get("/readyz/a").status, 503)
            self.text(server.get("/healthz"), 200, "ok\n")
            self.assertEqual(client.health("").message.status, NOT_SERVING)
            self.assertEqual(server.post(ASK, X).json, {"predictions": [2.5]})  # on a new connection
            # leaving the block sends the second signal, which does not wait for the grace to end

    def test_an_unknown_name_may_be_longer_than_a_trailer(self):
        with self.serve("--keep_going", "--enable_grpc_healthcheck_service", grpc=True) as server:
            with Client("127.0.0.1:%d" % server.grpc_port) as client:
                answer = client.health("x" * (1 << 20))
                self.assertEqual((answer.code, answer.text), ("NOT_FOUND", "unknown service '%s'" % ("x" * 256)))

    def test_watched_names_count_in_the_budget(self):
        flags = ("--keep_going", "--enable_grpc_healthcheck_service", "--memory_budget_bytes=%d" % (64 << 20))
        with self.serve(*flags, grpc=True) as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            watches = [client.watch("x" * (10 << 20)) for _ in range(8)]
            codes = []
            for watch in watches:
                try:
                    next(watch)
                except client.grpc.RpcError as e:
                    codes.append(e.code().name)
            self.assertIn("RESOURCE_EXHAUSTED", codes)
            for watch in watches:
                watch.cancel()

    def test_the_server_ends_by_itself_after_the_grace(self):
        with self.serve("--keep_going", "--shutdown_grace_seconds=1") as server:
            server.process.send_signal(signal.SIGTERM)
            server.wait_for_output("not ready any more; stopping in 1 s (--shutdown_grace_seconds)")
            self.assertEqual(server.process.wait(60), 0)


if __name__ == "__main__":
    main()

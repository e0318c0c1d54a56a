"""--model_limits_file: a model that asks for too much is refused by name, and the others are not."""
import time

import tiny_model
from expensive_models import write_chain
from grpc_client import PREDICTION, Client, messages, tensor
from harness import DEADLINE_S, Server, TestCase, main

FLAG = "--model_limits_file"


def config(name, path):
    return 'config { name: "%s" base_path: "%s" model_platform: "tensorflow" }\n' % (name, path)


def request(n):
    message = messages().PredictRequest(model_spec=messages().ModelSpec(name="heavy"))
    message.inputs["n"].CopyFrom(tensor(3, [], [n]))
    return message


class Limits(TestCase):
    """Two models: `heavy` computes for minutes if n is 1500, `light` is cheap and has no limits."""

    def serve(self, limits, *flags):
        write_chain(self.path("heavy", "1"))
        tiny_model.write(self.path("light", "1"))
        with open(self.path("models.config"), "w", encoding="ascii") as f:
            f.write("model_config_list {\n%s%s}\n" % (config("heavy", self.path("heavy")), config("light", self.path("light"))))
        with open(self.path("limits"), "w", encoding="ascii") as f:
            f.write("model { name: 'heavy' %s }\n" % limits)
        return Server(None, "--model_config_file=" + self.path("models.config"), FLAG + "=" + self.path("limits"), "--rest_api_num_threads=2",
                      *flags, grpc=True)

    def light_answers(self, server):
        for _ in range(5):
            self.assertEqual(server.post("/v1/models/light:predict", {"instances": [1.0]}).json, {"predictions": [2.5]})

    def first_refused(self, client, count):
        """Starts calls that take minutes, of which one is refused; gives the calls and the refusal."""
        calls = [client.start(PREDICTION + "Predict", request(1500), messages().PredictResponse, timeout=3600) for _ in range(count)]
        end = time.monotonic() + DEADLINE_S
        while not any(call.done() for call in calls):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        return calls, client.end(next(call for call in calls if call.done()))

    def dear_answers_again(self, server, calls):
        for call in calls:
            call.cancel()
        end = time.monotonic() + DEADLINE_S
        while (answer := server.post("/v1/models/heavy:predict", {"inputs": {"n": 2}})).status != 200:
            self.assertLess(time.monotonic(), end, answer)
            time.sleep(0.01)

    def test_requests_in_flight(self):
        with self.serve("max_requests: 1") as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            text = "model 'heavy' has 1 requests in flight, its limit (max_requests in --model_limits_file): try again later"
            calls, refused = self.first_refused(client, 2)
            self.assertEqual((refused.code, refused.text), ("RESOURCE_EXHAUSTED", text))
            answer = server.post("/v1/models/heavy:predict", {"inputs": {"n": 2}})
            self.assertEqual((answer.status, answer.json["error"]), (429, text))
            for path in ("/readyz/heavy", "/v2/models/heavy/ready"):  # probes do not count
                self.assertEqual(server.get(path).status, 200, path)
            self.light_answers(server)
            self.dear_answers_again(server, calls)

    def test_waiting_requests(self):
        with self.serve("max_waiting_requests: 1") as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            text = "model 'heavy' has 1 requests that wait for a run, its limit (max_waiting_requests in --model_limits_file): try again later"
            calls, refused = self.first_refused(client, 4)
            self.assertEqual((refused.code, refused.text), ("UNAVAILABLE", text))
            self.dear_answers_again(server, calls)
            self.light_answers(server)

    def test_a_request_that_asks_twice_for_its_run_waits_once(self):
        body = request(2).SerializeToString()  # Predict asks, and then the route, which answers with JSON
        with self.serve("max_waiting_requests: 2") as server:
            for _ in range(5):
                answer = server.post("/v1/models/heavy:predict", body, headers={"Content-Type": "application/x-protobuf"})
                self.assertEqual(answer.status, 200, answer)

    def test_deadline(self):
        with self.serve("deadline_ms: 2000") as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            answer = server.post("/v1/models/heavy:predict", {"inputs": {"n": 1500}})
            self.assertEqual(answer.status, 504)
            self.assertTrue(answer.json["error"].startswith("model 'heavy' (deadline_ms: 2000 in --model_limits_file): "), answer)
            self.assertEqual(client.predict(request(1500), timeout=3600).code, "DEADLINE_EXCEEDED")
            answer = server.post("/v1/models/heavy:predict", {"inputs": {"n": 2}})
            self.assertEqual(answer.status, 200, answer)
            self.light_answers(server)

    def test_memory_of_a_run(self):
        with self.serve("max_run_memory_bytes: 1000000") as server:
            answer = server.post("/v1/models/heavy:predict", {"inputs": {"n": 1500}})
            self.assertEqual(answer.status, 429)
            self.assertTrue(answer.json["error"].startswith("model 'heavy' (max_run_memory_bytes: 1000000 in --model_limits_file): "), answer)
            self.assertEqual(server.post("/v1/models/heavy:predict", {"inputs": {"n": 2}}).status, 200)
            self.light_answers(server)

    def test_a_limit_that_was_not_reached_is_not_named(self):
        """The server's own memory is short, and the client's own deadline passes."""
        with self.serve("max_run_memory_bytes: 1000000000 deadline_ms: 3600000", "--memory_budget_bytes=20000000") as server, \
                Client("127.0.0.1:%d" % server.grpc_port) as client:
            answer = server.post("/v1/models/heavy:predict", {"inputs": {"n": 3000}})
            self.assertEqual(answer.status, 429)
            self.assertNotIn("max_run_memory_bytes", answer.json["error"])
            self.assertNotIn("deadline_ms", client.predict(request(1000), timeout=0.2).text)

    def test_a_wrong_file_is_named(self):
        server = Server(self.path("none"), FLAG + "=" + self.path("limits"), wait=False)
        self.assertEqual(server.process.wait(DEADLINE_S), 255)
        self.assertIn(self.path("limits"), server.output())


if __name__ == "__main__":
    main()

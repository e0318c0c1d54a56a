"""Long and large runs: deadlines, clients that leave, the end of the server, answers larger than its memory."""
import gzip
import os
import signal
import socket
import tempfile
import threading
import time

from expensive_models import chain_request, write_chain, write_fill
from grpc_client import PREDICTION, Client, messages
from harness import DEADLINE_S, Server, TestCase, main


class ExpensiveRuns(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.base = os.path.join(cls.work.name, "chain")
        write_chain(os.path.join(cls.base, "1"))

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def server(self, threads):
        return Server(self.base, "--rest_api_num_threads=%d" % threads, grpc=True)

    def start(self, server, client, n, signature=""):
        """A call that is under way: the server has answered another that came after it, and computes."""
        future = client.start(PREDICTION + "Predict", chain_request(n, signature), messages().PredictResponse, timeout=3600)
        self.assertEqual(client.status(messages().GetModelStatusRequest(model_spec=messages().ModelSpec(name="default"))).code, "OK")
        self.wait_until_it_computes(server)
        return future

    def fill_pool(self, server, client):
        """Two calls that hold both threads of the pool: one signature leaves the last one to others."""
        calls = [self.start(server, client, 1500), self.start(server, client, 1500, "again")]
        end = time.monotonic() + DEADLINE_S
        while b'slipway_queued_calls{queue="pool"} 0' not in server.get("/metrics").body:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        return calls

    def send_by_rest(self, server, body, header=b""):
        client = socket.create_connection(("127.0.0.1", server.port))
        client.sendall(b"POST /v1/models/default:predict HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n" % (header, len(body)) + body)
        return client

    def begin_by_rest(self, server, n):
        client = self.send_by_rest(server, b'{"inputs":%d}' % n)
        self.wait_until_it_computes(server)
        return client

    def wait_until_it_computes(self, server):
        begun, end = server.cpu_seconds(), time.monotonic() + DEADLINE_S
        while server.cpu_seconds() < begun + 0.1:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def answers(self, client):
        answer = client.predict(chain_request(2))
        self.assertEqual(answer.code, "OK", answer)

    def test_a_run_ends_with_its_deadline(self):
        with self.server(1) as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            self.assertEqual(client.predict(chain_request(1500), timeout=0.5).code, "DEADLINE_EXCEEDED")
            self.answers(client)

    def test_a_run_that_nobody_waits_for_ends(self):
        with self.server(1) as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            self.start(server, client, 1500).cancel()
            self.answers(client)
            with Client("127.0.0.1:%d" % server.grpc_port) as other:
                self.start(server, other, 1500)
            self.answers(client)  # the other one has hung up

    def test_a_rest_client_that_hangs_up_ends_its_run(self):
        with self.server(1) as server:
            self.begin_by_rest(server, 1500).close()
            self.assertEqual(server.post("/v1/models/default:predict", {"inputs": 2}).status, 200)

    def test_an_expensive_run_is_not_in_the_loop_however_cheap_those_before_it_were(self):
        base = self.path("short")
        write_chain(os.path.join(base, "1"), steps=100)  # microseconds for n = 2
        with Server(base, "--rest_api_num_threads=1", grpc=True) as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            for _ in range(20):
                self.answers(client)
            expensive = self.start(server, client, 2000)
            self.assertFalse(expensive.done())  # others are answered meanwhile
            expensive.cancel()
            self.answers(client)
            with self.begin_by_rest(server, 2000) as expensive:
                self.assertEqual(server.get("/v1/models/default").status, 200)
                self.assertRaises(BlockingIOError, expensive.recv, 1, socket.MSG_DONTWAIT)
            self.answers(client)

    def test_large_and_compressed_requests_are_read_in_the_pool(self):
        import grpc
        large = chain_request(2)
        large.output_filter.extend(["x" * 1000] * 100)
        with self.server(1) as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            expensive = self.fill_pool(server, client)
            waiting = [client.start(PREDICTION + "Predict", *what, messages().PredictResponse, **more)
                       for what, more in (((large,), {}), ((chain_request(2),), {"compression": grpc.Compression.Gzip}),
                                          ((b"\xff" * (1 << 20),), {"compression": grpc.Compression.Deflate}))]
            self.assertEqual(client.status(messages().GetModelStatusRequest(model_spec=messages().ModelSpec(name="default"))).code, "OK")
            self.assertEqual([future.done() for future in waiting], [False] * 3)
            for future in expensive:
                future.cancel()
            answers = [client.end(future) for future in waiting]
            self.assertEqual([answer.code for answer in answers], ["INVALID_ARGUMENT", "OK", "INTERNAL"])
            self.assertIn("output tensor alias not found in signature: xxx", answers[0].text)
            self.assertEqual(answers[2].text, "Failed to parse tensorflow.serving.PredictRequest")

    def test_large_and_compressed_bodies_are_read_in_the_pool(self):
        with self.server(1) as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            expensive = self.fill_pool(server, client)
            large = self.send_by_rest(server, b'{"inputs":2, "more": "%s"}' % (b"x" * 100000))
            packed = self.send_by_rest(server, gzip.compress(b'{"inputs":"no number"}'), b"Content-Encoding: gzip\r\n")
            self.assertEqual(server.get("/v1/models/default").status, 200)
            for waiting in (large, packed):
                self.assertRaises(BlockingIOError, waiting.recv, 1, socket.MSG_DONTWAIT)
            for future in expensive:
                future.cancel()
            for waiting, status in ((large, b"200"), (packed, b"400")):
                self.assertEqual(waiting.recv(12, socket.MSG_WAITALL), b"HTTP/1.1 " + status)
                waiting.close()

    def test_an_answer_that_is_larger_than_the_memory_is_429(self):
        base = self.path("fill")
        write_fill(os.path.join(base, "1"))
        with Server(base, "--memory_budget_bytes=%d" % (16 << 20)) as server:
            def ask(*dims):
                return server.post("/v1/models/default:predict", {"inputs": dims})
            self.assertEqual(ask(2, 3).json, {"outputs": [[0.0] * 3] * 2})
            for dims in ((2000000,), (2000000, 0), (1 << 62, 0)):  # the last ones have no elements, but text
                answer = ask(*dims)
                self.assertEqual(answer.status, 429, answer)
                self.assertIn("the server's memory for requests is used up", answer.json["error"])
            self.assertEqual(ask(3, 0).json, {"outputs": [[]] * 3})

    def test_calls_that_were_left_while_they_waited_are_not_run(self):
        with self.server(1) as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            first = self.start(server, client, 1500)
            waiting = [self.start(server, client, 1500) for _ in range(3)]
            self.assertEqual(client.predict(chain_request(1500), timeout=0.3).code, "DEADLINE_EXCEEDED")
            for future in (*waiting, first):
                future.cancel()
            self.answers(client)

    def test_the_end_waits_for_who_is_there_and_not_for_who_has_left(self):
        server = self.server(2)
        with Client("127.0.0.1:%d" % server.grpc_port) as client:
            left, stays = self.start(server, client, 700), self.start(server, client, 60)
            server.process.send_signal(signal.SIGTERM)
            left.cancel()
            self.assertEqual(client.end(stays).code, "OK")
        self.assertEqual(server.stop(), 0, server.output())

    def test_the_end_waits_no_longer_than_it_may(self):
        server = Server(self.base, "--rest_api_num_threads=2", "--drain_timeout_seconds=1", grpc=True)
        with Client("127.0.0.1:%d" % server.grpc_port) as client:
            future = self.start(server, client, 1500)
            self.assertEqual(server.stop(), 0, server.output())
            self.assertIn("--drain_timeout_seconds", server.output())
            self.assertEqual(client.end(future).code, "UNAVAILABLE")

    def test_a_second_signal_ends_runs_too(self):
        server = self.server(2)
        with Client("127.0.0.1:%d" % server.grpc_port) as client:
            rest = threading.Thread(target=lambda: server.raw(b"POST /v1/models/default:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n\r\n"
                                                              b'{"inputs":1500}'))
            rest.start()
            self.wait_until_it_computes(server)
            future = self.start(server, client, 1500)
            server.process.send_signal(signal.SIGTERM)
            server.wait_for_output("stopping: finishing requests in flight")  # two signals at once would count as the second
            time.sleep(0.3)
            self.assertIsNone(server.process.poll())
            self.assertEqual(server.stop(), 0, server.output())
            self.assertEqual(client.end(future).code, "UNAVAILABLE")
            rest.join()


if __name__ == "__main__":
    main()

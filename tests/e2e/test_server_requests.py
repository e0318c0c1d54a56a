"""Requests that are wrong, hostile, slow or large, on real sockets: the right code and text, and the server goes on answering."""
import gzip
import json
import os
import signal
import resource
import socket
import tempfile
import threading
import time

from digits import ASK, DigitsServer, row
from harness import DEADLINE_S, Load, Server, TestCase, main, run, train

LIMIT = 4 << 20


class Requests(DigitsServer):
    FLAGS = ["--max_request_bytes=%d" % LIMIT]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.good = cls.server.post(ASK, row())
        assert cls.good.status == 200, cls.good

    def tearDown(self):
        """After any request, an honest one gets the same answer as the first."""
        self.same(self.server.post(ASK, row()))

    def same(self, answer, wanted=None):
        """The last digits of an answer may depend on its batch."""
        self.assertEqual(answer.status, 200, answer)
        want, got = (a.json["predictions"] for a in (wanted or self.good, answer))
        self.assertEqual(len(want), len(got))
        self.assertLess(max(abs(a - b) for a, b in zip(sum(want, []), sum(got, []))), 1e-5)

    def expect(self, answer, status, text):
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertIn(text, answer.json["error"])

    def test_wrong_bodies_have_their_texts(self):
        images = '{"signature_name":"predict_images",'
        for body, text in (
                ("", "JSON Parse error: The document is empty"),
                (images + '"instances":[[1.0', "JSON Parse error: Missing a comma or ']' after an array element. at offset: 52"),
                (images + '"instances":' + "[" * 100000 + "]" * 100000 + "}", "Too many dimensions: at most 254"),
                (images + '"instances":' + "[" * 100000, "JSON Parse error: Invalid value."),
                (images + '"instances":[["a"]]}', 'JSON Value: "a" Type: String is not of expected type: float'),
                (images + '"instances":[[1,2,3]]}', "[1,3]"),
                (images + '"inputs":[[1]],"instances":[[1]]}', "expecting only one of 'inputs' or 'instances' keys to exist"),
                (images + '"instances":[]}', "No values in 'instances' array"),
                ('{"signature_name":"none","instances":[1]}', 'Serving signature name: "none" not found in signature def'),
                ('{"signature_name":7,"instances":[1]}', "'signature_name' key must be a string value."),
                ('{"instances":["not an example"]}', ""),
                ('{"instances":["nul \\u0000 inside"]}', ""),
        ):
            with self.subTest(body=body[:80]):
                self.expect(self.server.post(ASK, body.encode()), 400, text)

    def test_large_and_compressed_bodies_are_answered_as_small_ones(self):
        images = '{"signature_name":"predict_images",'
        for ask, body in ((ASK, json.dumps(row())), (ASK, "{]"), (ASK, "[1]"), (ASK, '{"instances":"a"}'), (ASK, images + '"instances":[["a"]]}'),
                          (ASK, images + '"instances":[[1,2,3]]}'), (ASK, images + '"inputs":[[1]],"instances":[[1]]}'),
                          (ASK, '{"signature_name":"none","instances":[1]}'), ("/v1/models/none:predict", "{]"), ("/v1/models/default", "{}"),
                          ("/v1/models/default:classify", '{"examples":[3]}'), ("/v1/models/default:regress", '{"examples":[]}'), ("/v1/no", "")):
            with self.subTest(ask=ask, body=body[:80]):
                small = self.server.post(ask, body.encode())
                large = self.server.post(ask, body.encode() + b" " * 100000)
                packed = self.server.post(ask, gzip.compress(body.encode()), headers={"Content-Encoding": "gzip"})
                for other in (large, packed):
                    self.assertEqual((other.status, other.body), (small.status, small.body))

    def test_many_large_bodies_that_arrive_at_the_same_time(self):
        body = json.dumps(row()).encode()
        body += b" " * (LIMIT - 1000 - len(body))
        head = b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (ASK.encode(), len(body))
        for _ in range(2):
            clients = [socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) for _ in range(24)]
            for s in clients:
                s.sendall(head + body[:1000])
            for at in range(1000, len(body), 1 << 20):  # all in turn, so that all grow together
                for s in clients:
                    s.sendall(body[at:at + (1 << 20)])
                clients.pop().close()  # one leaves in the middle
            for s in clients:
                answer = b"".join(iter(lambda s=s: s.recv(1 << 16), b""))
                self.assertTrue(answer.startswith(b"HTTP/1.1 200 OK\r\n") and b'"predictions"' in answer, answer[:500])
                s.close()

    def test_deep_nesting_beside_the_tensor_is_skipped(self):
        body = '{"deep":' + "[" * 100000 + "]" * 100000 + "," + json.dumps(row())[1:]
        self.same(self.server.post(ASK, body.encode()))

    def test_wrong_paths_and_methods(self):
        for method, path, status, text in (
                ("POST", "/v1/models/n%00o%00ne:predict", 404, "Servable not found for request: Latest(n\\000o\\000ne)"),
                ("POST", "/v1/models/none:predict", 404, "Servable not found for request: Latest(none)"),
                ("POST", "/v1/models/default/versions/9:predict", 404, "Servable not found for request: Specific(default, 9)"),
                ("POST", "/v1/models/default/labels/stable:predict", 400, "Unrecognized servable version label: stable"),
                ("POST", "/v1/models/default:PREDICT", 400, "Malformed request: POST /v1/models/default:PREDICT"),
                ("POST", "/v1/models/default:predict?x=1", 400, "Malformed request: POST /v1/models/default:predict?x=1"),
                ("POST", "/v1/models/default/versions/99999999999999999999:predict", 400,
                 "Failed to convert version: 99999999999999999999 to numeric."),
                ("PUT", "/v1/models/default:predict", 400, "Malformed request: PUT /v1/models/default:predict"),
                ("GET", "/v1/models/default/", 400, "Malformed request: GET /v1/models/default/"),
                ("GET", "/v1/models/none", 404, "Could not find any versions of model none"),
                ("GET", "/v1/models/default/versions/9", 404, "Could not find version 9 of model default"),
        ):
            with self.subTest(path=path):
                body = json.dumps(row()) if path.endswith("predict") else "{}"
                self.expect(self.server.request(method, path, body.encode() if method != "GET" else None), status, text)
        for path in ("/index.html", "/v1", "/v10/models/default"):
            answer = self.server.get(path)
            self.assertEqual((path, answer.status, answer.headers["Content-Type"]), (path, 404, "text/html"))
        self.same(self.server.post("/v1/models/%64efault/versions/1:predict", row()))

    def test_a_query_may_have_many_arguments(self):
        query = "?" + "&".join("a%d=%d" % (i, i) for i in range(1000))
        self.assertEqual(self.server.get("/v2/health/live" + query).json, {"live": True})
        answer = self.server.get("/v1/models/default" + query)
        self.assertEqual((answer.status, answer.json["error"]), (404, "Could not find any versions of model default" + query))

    def test_gzip_bodies_are_expanded_and_damaged_ones_are_empty(self):
        packed = gzip.compress(json.dumps(row()).encode())
        headers = {"Content-Encoding": "gzip"}
        self.same(self.server.post(ASK, packed, headers=headers))
        self.expect(self.server.post(ASK, packed[:50], headers=headers), 400, "The document is empty")
        text = json.dumps(row()).encode()
        members = [gzip.compress(part) for part in (text[:100], b"", text[100:])]  # as pigz and bgzip write them
        self.same(self.server.post(ASK, b"".join(members), headers=headers))
        self.same(self.server.post(ASK, b"".join(members) + bytes(512), headers=headers))
        self.expect(self.server.post(ASK, b"".join(members)[:-1], headers=headers), 400, "The document is empty")
        self.expect(self.server.post(ASK, gzip.compress(b" " * (LIMIT // 4)) * 5, headers=headers), 429, "expands to over")
        bomb = gzip.compress(b" " * (64 << 20))
        self.expect(self.server.post(ASK, bomb, headers=headers), 429, "expands to over --max_request_bytes=%d" % LIMIT)

    def test_a_body_over_the_limit_is_answered_429(self):
        self.expect(self.server.post(ASK, b" " * (LIMIT + 1)), 429, "over --max_request_bytes=%d" % LIMIT)
        chunks = b"%x\r\n%s\r\n" % (65536, b" " * 65536) * (LIMIT // 65536 + 1) + b"0\r\n\r\n"
        head = b"POST " + ASK.encode() + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.assertTrue(self.server.raw(head + chunks).startswith(b"HTTP/1.1 429 "))
        answer = self.server.request("OPTIONS", ASK, b" " * (LIMIT + 1), headers={"Origin": "http://a.example"})
        self.expect(answer, 429, "over --max_request_bytes=%d" % LIMIT)

    def test_slow_and_half_requests_do_not_hold_up_others(self):
        body = json.dumps(row()).encode()
        head = b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (ASK.encode(), len(body))
        silent = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(20)]
        half = [socket.create_connection(("127.0.0.1", self.server.port)) for _ in range(20)]
        for n, s in enumerate(half):
            s.sendall((head + body)[:1 + n * 40])
        got = []

        def slow():
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as s:
                for at in range(0, len(head + body), 97):
                    s.sendall((head + body)[at:at + 97])
                    time.sleep(0.005)
                back = b""
                while chunk := s.recv(65536):
                    back += chunk
                got.append(back)
        thread = threading.Thread(target=slow)
        thread.start()
        for _ in range(50):
            self.same(self.server.post(ASK, row()))
        thread.join(DEADLINE_S)
        self.assertTrue(got and got[0].startswith(b"HTTP/1.1 200 "), got)
        for s in silent + half:
            s.close()

    def test_silent_connections_leave_descriptors_to_others(self):
        """The oldest of them is closed: at their limit, and when the process has no descriptors."""
        with Server(self.base) as server:
            used = len(os.listdir("/proc/%d/fd" % server.process.pid))
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used + 20, used + 20))
            silent = [socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) for _ in range(60)]
            self.assertEqual(server.post(ASK, row()).status, 200)
            self.assertEqual(silent[0].recv(1), b"")
            for s in silent:
                s.close()

    def test_the_beginning_of_a_preface_costs_nothing(self):
        """"PRI" may or may not become HTTP/2: until the next byte the server can only wait."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as s:
            s.sendall(b"PR")
            time.sleep(0.2)
            s.sendall(b"I")
            before = self.server.cpu_seconds()
            time.sleep(3)
            self.assertLess(self.server.cpu_seconds() - before, 0.5)
            s.sendall(b" * HTTP/1.1\r\n\r\n")
            self.assertTrue(s.recv(65536).startswith(b"HTTP/1.1 4"))

    def test_many_clients_that_hang_up_are_forgotten(self):
        body = json.dumps(row()).encode()
        whole = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (ASK.encode(), len(body)) + body
        for n in range(200):
            with socket.create_connection(("127.0.0.1", self.server.port)) as s:
                s.sendall(whole * (n % 3 + 1))

    def test_pipelined_requests_are_answered_in_order(self):
        parts = []
        for value in (0.1, 0.9):
            body = json.dumps(row(value)).encode()
            parts.append(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (ASK.encode(), len(body)) + body)
        last = b"GET /v1/models/default HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        back = self.server.raw(b"".join(parts) + last)
        # One digit less than the last is the same in any batch.
        marks = [self.server.post(ASK, row(v)).body.split(b"[[")[1][:6] for v in (0.1, 0.9)] + [b"model_version_status"]
        places = [back.find(mark) for mark in marks]
        self.assertEqual(places, sorted(places))
        self.assertGreater(places[0], 0, back)

    def test_two_signals_at_once_end_it_amid_requests(self):
        for _ in range(5):
            server = Server(self.base)
            with Load(server, ASK, row(), good=lambda answer: True, threads=12):
                time.sleep(0.3)
                server.process.send_signal(signal.SIGTERM)
                self.assertEqual(server.stop(signal.SIGINT), 0, server.output())

    def test_cross_origin_preflight(self):
        self.assertEqual(self.server.request("OPTIONS", ASK, headers={"Origin": "http://a.example"}).status, 200)
        self.assertEqual(self.server.request("OPTIONS", ASK).status, 400)
        infer, page = "/v2/models/default/infer", {"Origin": "http://a.example"}
        self.assertEqual(self.server.request("OPTIONS", infer, headers=page).status, 405)
        with Server(self.base, "--rest_api_enable_cors_support") as server:
            answer = server.request("OPTIONS", infer, headers=page)
            self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (200, "*"))
            headers = server.get("/v1/models/default").headers
            self.assertEqual(headers["Access-Control-Allow-Origin"], "*")
            self.assertEqual(headers["Access-Control-Allow-Methods"], "POST, GET")
            self.assertNotIn("Vary", headers)

    def test_origins_that_are_allowed(self):
        allow = "Access-Control-Allow-Origin"
        with Server(self.base, "--cors_allowed_origins=https://a.example,http://b.example:8080") as server:
            for origin in ("https://a.example", "http://b.example:8080"):
                for method, path in (("GET", "/v1/models/default"), ("OPTIONS", ASK), ("GET", "/healthz"), ("OPTIONS", "/healthz")):
                    headers = server.request(method, path, headers={"Origin": origin}).headers
                    self.assertEqual((headers[allow], headers["Vary"]), (origin, "Origin"), (method, path))
            for origin in ("https://a.example.evil", "http://a.example", "https://a.exampl", "", ","):
                answer = server.request("GET", "/v1/models/default", headers={"Origin": origin})
                self.assertEqual((answer.status, answer.headers.get(allow), answer.headers["Vary"]), (200, None, "Origin"), origin)

    def test_answers_in_a_batch_are_those_alone(self):
        alone = {value: self.server.post(ASK, row(value)).body for value in (0.0, 0.25, 0.5, 0.75, 1.0)}
        wrong = []

        def ask(value):
            connection = self.server.connect()
            for _ in range(60):
                answer = self.server.post(ASK, row(value), connection=connection)
                want, got = (json.loads(b)["predictions"][0] for b in (alone[value], answer.body))
                if any(abs(a - b) > 1e-5 for a, b in zip(want, got)):
                    wrong.append((value, answer))
            connection.close()
        threads = [threading.Thread(target=ask, args=(v,)) for v in alone for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(DEADLINE_S)
        self.assertEqual(wrong, [])


class Large(TestCase):
    def test_a_body_of_100_mb_is_served(self):
        with tempfile.TemporaryDirectory() as work:
            base = os.path.join(work, "model")
            train(os.path.join(base, "1"), "--training_iteration=5", "--work_dir=" + work)
            with Server(base) as server:
                one = "[" + ",".join(["0.5"] * 784) + "]"
                rows = (100 << 20) // len(one)
                answer = server.post(ASK, ('{"signature_name":"predict_images","instances":[' + ",".join([one] * rows) + "]}").encode())
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(len(answer.json["predictions"]), rows)
                self.assertEqual(server.post(ASK, row()).status, 200)


class CommandLine(TestCase):
    def test_wrong_flags_end_with_2_and_name_the_flag(self):
        for flags, text in ((["--rest_port=1"], "unknown argument: --rest_port; did you mean --rest_api_port?"),
                            (["stray"], "unknown argument: stray"),
                            (["--rest_api_port=x"], "--rest_api_port=x: wants a whole number"),
                            (["--rest_api_port=70000"], "--rest_api_port=70000: wants a number from 0 to 65535"),
                            (["--port=-1"], "--port=-1: wants a number from 0 to 65535"),
                            (["--mixed_precision", "bfloat16"], "--mixed_precision is not implemented: models are computed in the types")):
            with self.subTest(flags=flags):
                done = run("modelserver", "--model_base_path=/nowhere", *flags)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn(text, done.stderr)
                self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), "one line, which nothing pushes off the screen")

    def test_what_the_entry_point_of_an_image_passes_on(self):
        """The words of CMD come behind its own flags, and flags among them count."""
        with tempfile.TemporaryDirectory() as work:
            base = os.path.join(work, "model")
            train(os.path.join(base, "1"), "--training_iteration=5", "--work_dir=" + work)
            command = "tensorflow_model_server --rest_api_port=1"
            with Server("/nowhere", "/usr/bin/tensorflow_model_server", "--model_base_path=" + base, "/bin/sh", "-c", command) as server:
                self.assertEqual(server.post(ASK, row()).status, 200)
                self.assertIn("the argument /usr/bin/tensorflow_model_server is ignored", server.output())
                self.assertIn("/bin/sh -c '%s' is ignored" % command, server.output())

    def test_no_model_is_told_as_tensorflow_serving_tells_it(self):
        done = run("modelserver")
        self.assertEqual(done.returncode, 255)
        self.assertIn("Failed to start server. Error: INVALID_ARGUMENT: ", done.stdout)

    def test_version_and_help(self):
        self.assertIn("modelserver", run("modelserver", "--version").stdout)
        self.assertIn("--rest_api_port=8501", run("modelserver", "--help").stdout)

    def test_a_model_that_cannot_be_loaded_ends_with_255(self):
        with tempfile.TemporaryDirectory() as work:
            os.makedirs(os.path.join(work, "model", "3"))
            done = run("modelserver", "--model_base_path=" + os.path.join(work, "model"), "--max_num_load_retries=1",
                       "--load_retry_interval_micros=1000", "--port=0", "--model_name=m")
            self.assertEqual(done.returncode, 255, done)
            self.assertIn("1 servable(s) did not become available: {{{name: m version: 3} due to error: NOT_FOUND: ", done.stdout)

    def test_it_waits_for_a_model_and_flags_of_other_hardware_are_logged(self):
        with tempfile.TemporaryDirectory() as work:
            base = os.path.join(work, "model")
            server = Server(base, "--xla_cpu_compilation_enabled", "--model_name=late", wait=False)
            end = time.monotonic() + DEADLINE_S
            while "waiting for it" not in server.output() and time.monotonic() < end:
                time.sleep(0.05)
            with self.assertRaises(OSError):
                server.connect().connect()
            train(os.path.join(base, "1"), "--training_iteration=5", "--work_dir=" + work)
            server.wait_ready()
            self.assertIn("--xla_cpu_compilation_enabled has no effect", server.output())
            self.assertEqual(server.get("/v1/models/late").json["model_version_status"][0]["state"], "AVAILABLE")
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    main()

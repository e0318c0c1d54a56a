"""Where gRPC is served: ports, sockets, TLS; the flags that are gRPC's; health as it changes; the end."""
import contextlib
import http.client
import json
import os
import re
import resource
import socket
import ssl
import struct
import subprocess
import threading
import time

import tiny_model
from grpc_client import Client, messages, tensor
from harness import DEADLINE_S, Server, TestCase, main, run


def request(x=(1.0, 3.0)):
    message = messages().PredictRequest(model_spec=messages().ModelSpec(name="tiny"))
    message.inputs["x"].CopyFrom(tensor(1, [len(x), 1], x))
    return message


def open_sockets():
    text = ""
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(name, encoding="ascii") as f:
            text += f.read()
    return text


def literal(name, value):
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


END_STREAM, END_HEADERS = 1, 4


def call(method=b"POST", flags=END_STREAM):
    """What a client of HTTP/2 sends first, up to the headers of a call of a method that does not exist."""
    headers = b"".join(literal(*header) for header in ((b":method", method), (b":scheme", b"http"), (b":authority", b"x"), (b":path", b"/none"),
                                                       (b"te", b"trailers"), (b"content-type", b"application/grpc")))
    settings = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + bytes([0, 0, len(headers), 1, END_HEADERS | flags, 0, 0, 0, 1]) + headers


CALL = call()
GET = b"GET /v1/models/tiny HTTP/1.1\r\nHost: x\r\n\r\n"


def is_answered(back):
    """HTTP/1: by a head. HTTP/2: by a frame of headers."""
    if back.startswith(b"HTTP/1.1 200"):
        return b"\r\n\r\n" in back
    while len(back) >= 9 and back[3] != 1:
        back = back[9 + int.from_bytes(back[:3], "big"):]
    return len(back) >= 9


def frames_of_the_call(connection):
    """The types and flags of the frames of stream 1, as they come."""
    back = b""
    while more := connection.recv(65536):
        back += more
        while len(back) >= 9 and len(back) >= (size := 9 + int.from_bytes(back[:3], "big")):
            if int.from_bytes(back[5:9], "big") == 1:
                yield back[3], back[4]
            back = back[size:]


def send_in_two(connection, data, at):
    connection.sendall(data[:at])
    time.sleep(0.001)  # usually enough for the server to read it alone
    connection.sendall(data[at:])


class Ports(TestCase):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.path("tiny", "1"))

    def asks(self, client, code="OK"):
        self.assertEqual(client.predict(request()).code, code)

    def test_one_port_serves_both(self):
        with Server(self.path("tiny"), name="tiny", grpc="same") as server:
            with Client("127.0.0.1:%d" % server.port) as client:
                self.asks(client)
                self.assertEqual(server.post("/v1/models/tiny:predict", {"inputs": [[1.0]]}).json, {"outputs": [[2.5]]})
                self.asks(client)
            self.assertIn("Running gRPC ModelServer at 0.0.0.0:%d ..." % server.port, server.output())

    def test_a_request_may_come_in_two_pieces(self):
        with Server(self.path("tiny"), name="tiny", grpc="same") as server:
            for data in CALL, GET:
                for at in range(len(data)):
                    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as s:
                        send_in_two(s, data, at)
                        back = b""
                        while not is_answered(back):
                            back += s.recv(65536) or self.fail((data[:4], at, back))

    def test_clients_of_both_protocols_come_and_go(self):
        """with gRPC's connections, the loop waits in another way for those of REST"""
        with Server(self.path("tiny"), name="tiny", grpc="same") as server:
            rest = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE_S)

            def rest_asks():
                rest.request("POST", "/v1/models/tiny:predict", '{"inputs": [[1.0]]}')
                self.assertEqual(json.loads(rest.getresponse().read()), {"outputs": [[2.5]]})

            for _ in range(3):
                rest_asks()
                with Client("127.0.0.1:%d" % server.port) as client:
                    self.asks(client)
                    rest_asks()
                    self.asks(client)
                for _ in range(20):  # more rounds than the loop passes over its own descriptors
                    rest_asks()
            rest.close()

    def test_http1_at_the_grpc_port(self):
        with Server(self.path("tiny"), name="tiny", grpc=True) as server:
            for method, size in (("GET", 0), ("POST", 10), ("PUT", 1 << 20), ("BREW", 3)):
                client = http.client.HTTPConnection("127.0.0.1", server.grpc_port, timeout=DEADLINE_S)
                client.request(method, "/v1/models/tiny", b"x" * size)
                answer = client.getresponse()
                self.assertEqual((answer.status, answer.read().decode()),
                                 (400, "This port serves gRPC, over HTTP/2. REST is at port %d.\n" % server.port))
                client.close()
            with socket.create_connection(("127.0.0.1", server.grpc_port), timeout=10) as s:  # half of what a handshake may take
                s.sendall(b"GET / HTTP/1.0\r\n\r\n")
                while s.recv(1000):  # a client of HTTP/1.0 reads to the end
                    pass
            for head in (b"POST /v1/models/tiny:predict HTTP/1.1\r\n\r\n", b"PRI * HTTP/1.1\r\n\r\n"):  # begin like the preface of HTTP/2
                with socket.create_connection(("127.0.0.1", server.grpc_port), timeout=10) as s:
                    for byte in head:
                        s.sendall(bytes([byte]))
                        time.sleep(0.005)
                    self.assertEqual(s.recv(12), b"HTTP/1.1 400", head)
            with socket.create_connection(("127.0.0.1", server.grpc_port), timeout=10) as s:
                s.sendall(b"GET /" + 300_000 * b"x ")  # larger than what is read at a time
                s.sendall(b" HTTP/1.1\r\n\r\n")
                self.assertEqual(s.recv(12), b"HTTP/1.1 400")
            for first in (b"\x16\x03\x01", b"HELLO\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nPM\r\n\r\n"):  # none is HTTP/1
                with socket.create_connection(("127.0.0.1", server.grpc_port), timeout=DEADLINE_S) as s:
                    s.sendall(first)
                    self.assertEqual(s.recv(1000)[3], 4, "SETTINGS")
                    while s.recv(1000):
                        pass
            with Client("127.0.0.1:%d" % server.grpc_port) as client:
                self.asks(client)

    def test_a_reset_does_not_overtake_an_answer(self):
        """A proxy may drop an answer that it has not forwarded yet when the reset comes."""
        with Server(self.path("tiny"), name="tiny", grpc=True) as server:
            with socket.create_connection(("127.0.0.1", server.grpc_port), timeout=DEADLINE_S) as s:
                s.sendall(call(flags=0))
                frames = frames_of_the_call(s)
                self.assertEqual(next(frames), (1, END_HEADERS | END_STREAM))
                answered = time.monotonic()
                self.assertEqual(next(frames), (3, 0), "a reset, because the request does not end")
                self.assertGreater(time.monotonic() - answered, 0.5)
            with Client("127.0.0.1:%d" % server.grpc_port) as client:
                self.asks(client)

    def test_an_answer_to_head_has_no_body(self):
        with Server(self.path("tiny"), name="tiny", grpc=True) as server:
            for method, frames in ((b"GET", [(1, END_HEADERS), (0, END_STREAM)]), (b"HEAD", [(1, END_HEADERS | END_STREAM)])):
                with socket.create_connection(("127.0.0.1", server.grpc_port), timeout=DEADLINE_S) as s:
                    s.sendall(call(method))
                    got = []
                    for frame in frames_of_the_call(s):
                        got.append(frame)
                        if frame[1] & END_STREAM:
                            break
                    self.assertEqual(got, frames)

    def stop_with_silent_clients(self):
        """Returns for how long the server went on."""
        with Server(self.path("tiny"), name="tiny", grpc=True) as server:
            silent = [socket.create_connection(("127.0.0.1", server.grpc_port), timeout=DEADLINE_S) for _ in range(5)]
            begun = time.monotonic()
            self.assertEqual(server.stop(), 0)
            took = time.monotonic() - begun
            for s in silent:
                self.assertEqual(s.recv(10), b"")
                s.close()
        return took

    def test_silent_clients_of_grpc_do_not_delay_the_end(self):
        """A client that stays is waited for two seconds. One stop of five may be as short as it is on an idle machine."""
        self.assertTrue(any(self.stop_with_silent_clients() < 1.5 for _ in range(5)))

    def test_grpc_at_the_rest_port(self):
        with Server(self.path("tiny"), name="tiny", grpc=True) as server, Client("127.0.0.1:%d" % server.port) as client:
            answer = client.predict(request())
            self.assertEqual(answer.code, "UNAVAILABLE")
            self.assertIn("http1", answer.text)

    def test_a_unix_socket_serves_too(self):
        path = self.path("socket")
        with Server(self.path("tiny"), "--grpc_socket_path=" + path, name="tiny") as server:
            with Client("unix:" + path) as client:
                self.asks(client)
            self.assertNotIn("0.0.0.0", server.output())
        self.assertFalse(os.path.exists(path))

    def test_a_socket_that_was_left_behind_is_replaced_and_nothing_else(self):
        path, file = self.path("socket"), self.path("file")
        killed = Server(self.path("tiny"), "--grpc_socket_path=" + path, name="tiny")
        killed.process.kill()
        killed.process.wait()
        with open(file, "w", encoding="ascii") as f:
            f.write("precious")
        with Server(self.path("tiny"), "--grpc_socket_path=" + path, name="tiny"):
            for taken in (path, file):
                second = Server(self.path("tiny"), "--grpc_socket_path=" + taken, name="tiny", wait=False)
                self.assertEqual(second.process.wait(DEADLINE_S), 1)
                self.assertIn("listen at unix:%s: bind: Address already in use" % taken, second.output())
            with Client("unix:" + path) as client:
                self.asks(client)
        with open(file, encoding="ascii") as f:
            self.assertEqual(f.read(), "precious")

    def test_the_default_port_of_rest_is_taken(self):
        """as by a first server, whose gRPC has another port"""
        with socket.socket() as taken:
            with contextlib.suppress(OSError):  # somebody else has it: as good
                taken.bind(("0.0.0.0", 8501))
                taken.listen()
            with Server(self.path("tiny"), "--rest_api_port=8501", name="tiny", grpc=True, wait=False) as server:
                self.assertRegex(server.wait_for_output("Running gRPC ModelServer at 0.0.0.0:%d" % server.grpc_port),
                                 "REST is off: .*8501.*Address already in use; --rest_api_port chooses another port")
                self.assertNotIn("Exporting HTTP/REST API", server.output())
                with Client("127.0.0.1:%d" % server.grpc_port) as client:
                    self.asks(client)
                client = http.client.HTTPConnection("127.0.0.1", server.grpc_port, timeout=DEADLINE_S)
                client.request("GET", "/")
                self.assertEqual(client.getresponse().read(), b"This port serves gRPC, over HTTP/2.\n")
                client.close()
            for flags in (["--port=8501"], ["--port=0"]):
                server = Server(self.path("tiny"), "--rest_api_port=8501", *flags, name="tiny", grpc=True, wait=False)
                self.assertEqual(server.process.wait(DEADLINE_S), 1)

    def test_no_port_at_all_is_an_error(self):
        done = run("modelserver", "--model_base_path=" + self.path("tiny"), "--port=0", "--rest_api_port=0", timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 255, done)
        self.assertIn("Failed to start server. Error: INVALID_ARGUMENT: --port=0, --rest_api_port=0 and no --grpc_socket_path", done.stdout)

    def test_old_connections_are_sent_away_and_no_call_fails(self):
        with Server(self.path("tiny"), "--grpc_channel_arguments=grpc.max_connection_age_ms=200,grpc.max_connection_age_grace_ms=60000",
                    name="tiny", grpc=True) as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            seen = set()

            def asked_from():
                self.asks(client)
                seen.update(re.findall(":%04X [0-9A-F]+:([0-9A-F]{4}) 01" % server.grpc_port, open_sockets()))
                return len(seen) > 2
            self.wait_for(asked_from)

    def test_descriptors_that_have_run_out(self):
        with Server(self.path("tiny"), name="tiny", grpc=True) as server:
            count = len(os.listdir("/proc/%d/fd" % server.pid)) + 5
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (count, count))
            crowd = [socket.create_connection(("127.0.0.1", server.grpc_port)) for _ in range(20)]
            time.sleep(0.5)
            before = server.cpu_seconds()
            time.sleep(3)
            self.assertLess(server.cpu_seconds() - before, 0.5)
            for s in crowd:
                s.close()
            with Client("127.0.0.1:%d" % server.grpc_port) as client:
                self.asks(client)

    def test_answers_may_carry_tensor_content(self):
        with Server(self.path("tiny"), "--enable_serialization_as_tensor_content", name="tiny", grpc=True) as server:
            with Client("127.0.0.1:%d" % server.grpc_port) as client:
                output = client.predict(request()).message.outputs["y"]
                self.assertEqual((output.tensor_content, list(output.float_val)), (struct.pack("<2f", 2.5, 3.5), []))

    def test_health_is_off_unless_asked_for(self):
        with Server(self.path("tiny"), name="tiny", grpc=True) as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
            self.assertEqual(client.health("").code, "UNIMPLEMENTED")

    def test_a_message_over_the_limit_is_refused_and_the_connection_lives(self):
        for flag in ("--max_request_bytes=10000", "--grpc_channel_arguments=grpc.max_receive_message_length=10000,grpc.so_reuseport=1"):
            with Server(self.path("tiny"), flag, name="tiny", grpc=True) as server, Client("127.0.0.1:%d" % server.grpc_port) as client:
                self.assertEqual(client.predict(request([1.0] * 5000)).code, "RESOURCE_EXHAUSTED")
                self.asks(client)

    def test_a_channel_argument_without_effect_is_logged_once(self):
        with Server(self.path("tiny"), "--grpc_channel_arguments=grpc.so_reuseport=1", "--rest_api_num_threads=3", name="tiny", grpc=True) as server:
            self.assertEqual(server.output().count("grpc.so_reuseport is not supported"), 1)

    def test_a_wrong_channel_argument_is_named(self):
        server = Server(self.path("tiny"), "--grpc_channel_arguments=grpc.keepalive_time_ms=soon", name="tiny", grpc=True, wait=False)
        self.assertEqual(server.process.wait(DEADLINE_S), 1)
        self.assertIn("grpc.keepalive_time_ms=soon: wants a whole number", server.output())

    def test_watchers_follow_the_model_and_the_end(self):
        server = Server(self.path("tiny"), "--enable_grpc_healthcheck_service", name="tiny", grpc=True)
        with Client("127.0.0.1:%d" % server.grpc_port) as client:
            seen, asked = [], client.watch("tiny")
            self.assertEqual(next(asked).status, 1)

            def follow():
                try:
                    seen.extend(m.status for m in asked)
                except Exception as e:
                    seen.append(e.code().name)
            thread = threading.Thread(target=follow)
            thread.start()
            os.rename(self.path("tiny", "1"), self.path("tiny", "gone"))
            self.wait_for(lambda: seen == [2])
            os.rename(self.path("tiny", "gone"), self.path("tiny", "1"))
            self.wait_for(lambda: seen == [2, 1])
            self.assertEqual(server.stop(), 0)
            thread.join(DEADLINE_S)
            self.assertEqual(seen, [2, 1, 2, "UNAVAILABLE"])

    def wait_for(self, happened):
        end = time.monotonic() + DEADLINE_S
        while not happened():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_calls_in_flight_are_answered_at_the_end(self):
        server = Server(self.path("tiny"), name="tiny", grpc=True)
        with Client("127.0.0.1:%d" % server.grpc_port) as client:
            self.asks(client)
            stopping, codes = threading.Event(), []

            def load():
                while not stopping.is_set():
                    codes.append(client.predict(request()).code)
            threads = [threading.Thread(target=load) for _ in range(4)]
            for t in threads:
                t.start()
            self.wait_for(lambda: len(codes) > 50)
            status = server.stop()
            stopping.set()
            for t in threads:
                t.join(DEADLINE_S)
            self.assertEqual(status, 0, server.output())
        # UNAVAILABLE: begun when nobody listened any more
        self.assertEqual(set(codes) - {"OK", "UNAVAILABLE"}, set())


class Encrypted(TestCase):
    def openssl(self, *command):
        subprocess.run(["openssl", *command], cwd=self.dir, check=True, capture_output=True)

    def certificates(self):
        """ca.pem, and server and client, each a .key and a .pem."""
        ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        self.openssl("req", "-x509", *ec, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test ca")
        with open(self.path("names"), "w", encoding="ascii") as f:
            f.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        for name in ("server", "client"):
            self.openssl("req", *ec, "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name)
            self.openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                         "-out", name + ".pem", "-extfile", "names")

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def config(self, verify):
        def quoted(name):
            return self.read(name).decode().replace("\n", "\\n")
        with open(self.path("ssl.config"), "w", encoding="ascii") as f:
            f.write('server_key: "%s"\nserver_cert: "%s"\ncustom_ca: "%s"\nclient_verify: %s\n' %
                    (quoted("server.key"), quoted("server.pem"), quoted("ca.pem"), verify))
        return "--ssl_config_file=" + self.path("ssl.config")

    def test_serves_over_tls_and_asks_for_certificates(self):
        import grpc
        tiny_model.write(self.path("tiny", "1"))
        self.certificates()
        anonymous = grpc.ssl_channel_credentials(self.read("ca.pem"))
        known = grpc.ssl_channel_credentials(self.read("ca.pem"), self.read("client.key"), self.read("client.pem"))
        for verify, port, code in (("false", True, "OK"), ("true", True, "UNAVAILABLE"), ("true", "same", "UNAVAILABLE")):
            with Server(self.path("tiny"), self.config(verify), name="tiny", grpc=port) as server:
                target = "localhost:%d" % server.grpc_port
                with Client(target, anonymous) as client:
                    self.assertEqual(client.predict(request()).code, code)
                with Client(target, known) as client:
                    self.assertEqual(client.predict(request()).code, "OK")
                with Client(target) as client:
                    self.assertEqual(client.predict(request(), timeout=20).code, "UNAVAILABLE")
                self.assertEqual(server.get("/v1/models/tiny").status, 200)  # plain, as always

    def ask_in_two_pieces(self, port, protocol, data, at):
        """Sends a request together with the end of the handshake, cut at `at`. Returns the size of both."""
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        context.set_alpn_protocols([protocol])
        received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = context.wrap_bio(received, sent, server_hostname="localhost")
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as s:
            def wait_for(step):
                while True:
                    try:
                        return step()
                    except ssl.SSLWantReadError:
                        s.sendall(sent.read())
                        received.write(s.recv(65536) or self.fail((protocol, at, "hung up")))
            wait_for(client.do_handshake)
            client.write(data)
            both = sent.read()
            send_in_two(s, both, at)
            back = b""
            while not is_answered(back):
                back += wait_for(lambda: client.read(65536))
            return len(both)

    def test_a_request_may_come_with_the_end_of_the_handshake_in_two_pieces(self):
        tiny_model.write(self.path("tiny", "1"))
        self.certificates()
        flags = [self.config("false"), "--rest_ssl_config_file=" + self.path("ssl.config")]
        with Server(self.path("tiny"), *flags, name="tiny", grpc="same") as server:
            for protocol, data in ("h2", CALL), ("http/1.1", GET):
                at, size = 0, 1
                while at < size:
                    size = self.ask_in_two_pieces(server.port, protocol, data, at)
                    at += 1

    def test_modelclient_over_tls(self):
        tiny_model.write(self.path("tiny", "1"))
        self.certificates()
        with Server(self.path("tiny"), self.config("true"), name="tiny", grpc=True) as server:
            address = "localhost:%d" % server.grpc_port

            def ask(*flags, to=address):
                done = run("modelclient", "regress", "--server=" + to, "--model=tiny", "--signature=regress_x_to_y",
                           '--examples=[{"x": 2.0}]', "--timeout_ms=20000", *flags)
                return done.returncode, done.stdout or done.stderr
            ca = "--tls_ca=" + self.path("ca.pem")
            own = ("--tls_cert=" + self.path("client.pem"), "--tls_key=" + self.path("client.key"))
            self.assertEqual(ask("--tls", ca, *own), (0, "3\n"))
            code, text = ask("--tls", ca, *own, "--repeat=20", "--concurrency=4", "--connections=2")
            self.assertEqual(code, 0, text)
            self.assertIn("20 calls, 4 at a time", text)
            for flags, words in (((), "UNAVAILABLE"), (("--tls", ca), "Certificate is required"), (("--tls", *own), "certificate"),
                                 (("--tls", ca, *own, "--server_name=other"), "other")):
                code, text = ask(*flags)
                self.assertEqual(code, 1, text)
                self.assertIn(words, text)

    def test_a_wrong_file_ends_the_start(self):
        tiny_model.write(self.path("tiny", "1"))
        with open(self.path("wrong"), "w", encoding="ascii") as f:
            f.write('server_key: "no key"\nno_such_field: 1\n')
        for flag, text in (("--ssl_config_file=" + self.path("absent"), "absent"),
                           ("--ssl_config_file=" + self.path("wrong"), "Invalid protobuf file: '%s'" % self.path("wrong"))):
            server = Server(self.path("tiny"), flag, name="tiny", grpc=True, wait=False)
            self.assertEqual(server.process.wait(DEADLINE_S), 255)
            self.assertIn(text, server.output())


if __name__ == "__main__":
    main()

"""TLS on REST, certificates and tokens that are replaced while the server runs."""
import contextlib
import http.client
import json
import os
import resource
import socket
import ssl
import subprocess
import threading
import time
from unittest import mock

import harness
import tiny_model
from grpc_client import Client, messages, tensor
from harness import DEADLINE_S, Load, Server, TestCase, main, run

PATH, BODY, ANSWER = "/v1/models/tiny:predict", {"instances": [[1.0]]}, {"predictions": [[2.5]]}


def request():
    m = messages()
    return m.PredictRequest(model_spec=m.ModelSpec(name="tiny"), inputs={"x": tensor(1, [1, 1], [1.0])})


class Security(TestCase):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.path("tiny", "1"))

    def write(self, name, text):
        with open(self.path("new"), "w", encoding="ascii") as f:
            f.write(text)
        os.rename(self.path("new"), self.path(name))
        return self.path(name)

    # ---- Certificates.

    def openssl(self, *command):
        subprocess.run(["openssl", *command], cwd=self.dir, check=True, capture_output=True)

    def issue(self, name, ca="ca", subject=None):
        """NAME.key and NAME.pem, signed by the CA, which is made if it is not there."""
        ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        if not os.path.exists(self.path(ca + ".pem")):
            self.openssl("req", "-x509", *ec, "-keyout", ca + ".key", "-out", ca + ".pem", "-subj", "/CN=" + ca)
        self.write("names", "subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        self.openssl("req", *ec, "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + (subject or name))
        self.openssl("x509", "-req", "-in", name + ".csr", "-CA", ca + ".pem", "-CAkey", ca + ".key", "-CAcreateserial", "-days", "2",
                     "-out", name + ".pem", "-extfile", "names")

    def configure(self, name="server", verify=False, ca="ca"):
        def quoted(file):
            with open(self.path(file), encoding="ascii") as f:
                return f.read().replace("\n", "\\n")
        return self.write("ssl.config", 'server_key: "%s"\nserver_cert: "%s"\ncustom_ca: "%s"\nclient_verify: %s\n' %
                          (quoted(name + ".key"), quoted(name + ".pem"), quoted(ca + ".pem"), str(verify).lower()))

    def context(self, client=None, ca="ca", alpn=()):
        context = ssl.create_default_context(cafile=self.path(ca + ".pem"))
        if client:
            context.load_cert_chain(self.path(client + ".pem"), self.path(client + ".key"))
        if alpn:
            context.set_alpn_protocols(list(alpn))
        return context

    def https(self, server, **more):
        return http.client.HTTPSConnection("localhost", server.port, timeout=DEADLINE_S, context=self.context(**more))

    @staticmethod
    def ask(connection, body=BODY, headers=()):
        connection.request("POST", PATH, json.dumps(body), dict(headers))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def serve(self, *flags, **more):
        return Server(self.path("tiny"), *flags, name="tiny", **more)

    def test_rest_over_tls(self):
        self.issue("server")
        with self.serve("--rest_ssl_config_file=" + self.configure()) as server:
            server.wait_for_output(" https://localhost:%d/v1/models/tiny:predict" % server.port)  # the example of a command
            connection = self.https(server)
            for _ in range(3):  # on one connection
                self.assertEqual(self.ask(connection), (200, ANSWER))
            rows = [[float(i % 97)] for i in range(200000)]  # larger than any buffer on the way
            status, answer = self.ask(connection, {"instances": rows})
            self.assertEqual((status, answer["predictions"]), (200, [[x[0] / 2 + 2] for x in rows]))
            connection.close()
            connection = self.https(server, alpn=["h2", "http/1.1"])
            self.assertEqual(self.ask(connection), (200, ANSWER))
            self.assertEqual(connection.sock.selected_alpn_protocol(), "http/1.1")
            connection.close()
            self.assertEqual((server.get("/v1/models/tiny").status, server.get("/v1/models/tiny").body), (400, b"This port is for REST, over HTTPS.\n"))
            with self.assertRaises(ssl.SSLError):
                with socket.create_connection(("localhost", server.port), DEADLINE_S) as s:
                    self.context(alpn=["h2"]).wrap_socket(s, server_hostname="localhost")

    def test_modelclient_over_https(self):
        self.issue("server")
        self.issue("client")
        with self.serve("--rest_ssl_config_file=" + self.configure(verify=True)) as server:
            command = ["modelclient", "predict", "--model=tiny", "--input=x=[[1.0]]", "--server=https://localhost:%d" % server.port]
            ca, certificate = "--tls_ca=" + self.path("ca.pem"), ["--tls_cert=" + self.path("client.pem"), "--tls_key=" + self.path("client.key")]
            done = run(*command, ca, *certificate)
            self.assertEqual((done.stdout, done.returncode), ("y: float [1,1]\n[[2.5]]\n", 0), done)
            done = run(*command, ca, *certificate, "--repeat=20", "--concurrency=2")
            self.assertEqual(done.returncode, 0, done)
            for flags in ([ca], certificate, [ca, *certificate, "--server_name=other.example"]):
                done = run(*command, *flags)
                self.assertEqual(done.returncode, 1, (flags, done))

    def test_clients_that_leave_or_say_nothing_harm_nobody(self):
        self.issue("server")
        with self.serve("--rest_ssl_config_file=" + self.configure()) as server:
            silent = [socket.create_connection(("localhost", server.port)) for _ in range(20)]
            for s in silent[:10]:
                s.sendall(b"\x16\x03\x01\x02\x00\x01")
            for s in silent[:5]:
                s.close()
            for data in (b"POST /v1/models/tiny:predict HTTP/1.1\r\n", b"\x00" * 100, b""):
                with socket.create_connection(("localhost", server.port), DEADLINE_S) as s:
                    with self.context().wrap_socket(s, server_hostname="localhost") as t:
                        t.sendall(data)
            connection = self.https(server)
            self.assertEqual(self.ask(connection), (200, ANSWER))
            connection.close()
            for s in silent:
                s.close()

    def test_client_certificates_on_rest(self):
        self.issue("server")
        self.issue("client")
        self.issue("stranger", ca="other")
        with self.serve("--rest_ssl_config_file=" + self.configure(verify=True)) as server:
            self.assertEqual(self.ask(self.https(server, client="client")), (200, ANSWER))
            for client in (None, "stranger"):
                with self.assertRaises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
                    self.ask(self.https(server, client=client))

    def test_one_port_for_both_protocols(self):
        self.issue("server")
        import grpc
        file = self.configure()
        credentials = grpc.ssl_channel_credentials(self.read("ca.pem"))
        with self.serve("--rest_ssl_config_file=" + file, "--ssl_config_file=" + file, grpc="same") as server:
            self.assertEqual(self.ask(self.https(server)), (200, ANSWER))
            with Client("localhost:%d" % server.port, credentials) as client:
                for _ in range(3):
                    self.assertEqual(client.predict(request()).code, "OK")
        with self.serve("--rest_ssl_config_file=" + file, grpc="same") as server:  # gRPC is not encrypted
            self.assertEqual(self.ask(self.https(server)), (200, ANSWER))
            with Client("localhost:%d" % server.port) as client:
                self.assertEqual(client.predict(request()).code, "OK")
        server = self.serve("--rest_ssl_config_file=" + file, "--ssl_config_file=" + self.write("other.config", "x"), grpc="same", wait=False)
        self.assertEqual(server.process.wait(DEADLINE_S), 255)
        self.assertIn("must name the same file if REST and gRPC share a port", server.output())

    def test_certificates_are_replaced_without_dropping_connections(self):
        self.issue("server")
        import grpc
        file = self.configure()
        with self.serve("--rest_ssl_config_file=" + file, "--ssl_config_file=" + file, grpc=True) as server:
            old, target = self.https(server), "localhost:%d" % server.grpc_port
            self.assertEqual(self.ask(old), (200, ANSWER))
            kept = Client(target, grpc.ssl_channel_credentials(self.read("ca.pem")))
            self.assertEqual(kept.predict(request()).code, "OK")
            self.issue("later", ca="next")
            self.write("ssl.config", "server_key: 'no key'")
            server.wait_for_output("what was read before stays in use")
            self.assertEqual(self.ask(self.https(server)), (200, ANSWER))
            self.configure("later", ca="next")
            server.wait_for_output("--rest_ssl_config_file=%s: has changed" % file)
            server.wait_for_output("--ssl_config_file=%s: has changed" % file)
            self.assertEqual(self.ask(self.https(server, ca="next")), (200, ANSWER))
            with Client(target, grpc.ssl_channel_credentials(self.read("next.pem"))) as client:
                self.assertEqual(client.predict(request()).code, "OK")
            with self.assertRaises(ssl.SSLError):
                self.ask(self.https(server))
            self.assertEqual(self.ask(old), (200, ANSWER))  # the connections from before
            self.assertEqual(kept.predict(request()).code, "OK")
            old.close()

    def test_certificates_that_are_none_end_the_start(self):
        self.issue("server")
        self.issue("other")
        text = self.read(os.path.basename(self.configure())).decode()
        ca, key, other = (self.read(name).decode().replace("\n", "\\n") for name in ("ca.pem", "server.key", "other.key"))
        for wrong, words in ((text.replace(ca, "no certificate"), "'custom_ca' holds no certificate in PEM"),  # not even if no client needs one
                             (text.replace(key, other), "the private key 'server_key' does not belong to the certificate 'server_cert'"),
                             (text.replace(key, key[:-100]), "'server_key' holds no private key in PEM"),
                             (text.replace(key, "\\000"), 'Field "server_key" holds a NUL character')):
            server = self.serve("--rest_ssl_config_file=" + self.write("ssl.config", wrong), wait=False)
            self.assertEqual(server.process.wait(DEADLINE_S), 255, words)
            self.assertIn(words, server.output())

    def test_a_client_may_take_long_to_shake_hands(self):
        """As it does if others have the processor: it pauses within its first message for longer than within a request."""
        self.issue("server")
        with self.serve("--rest_ssl_config_file=" + self.configure()) as server, \
                socket.create_connection(("localhost", server.port), DEADLINE_S) as plain:
            received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
            client = self.context().wrap_bio(received, sent, server_hostname="localhost")

            def go_on(step):
                while True:
                    try:
                        done = step()
                        plain.sendall(sent.read())
                        return done
                    except ssl.SSLWantReadError:
                        plain.sendall(sent.read())
                        received.write(plain.recv(65536))
            with self.assertRaises(ssl.SSLWantReadError):
                client.do_handshake()
            hello = sent.read()
            plain.sendall(hello[:50])
            time.sleep(11)
            plain.sendall(hello[50:])
            go_on(client.do_handshake)
            client.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(go_on(lambda: client.read(12)), b"HTTP/1.1 200")

    def test_the_preface_may_come_with_the_end_of_the_handshake(self):
        """If REST and gRPC share a port, REST's side shakes hands, and has then read what gRPC's side waits for."""
        self.issue("server")
        file = self.configure()
        with self.serve("--rest_ssl_config_file=" + file, "--ssl_config_file=" + file, grpc="same") as server, \
                socket.create_connection(("localhost", server.port), DEADLINE_S) as plain:
            received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
            client = self.context(alpn=["h2"]).wrap_bio(received, sent, server_hostname="localhost")
            plain.settimeout(DEADLINE_S)
            while True:
                try:
                    client.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    plain.sendall(sent.read())
                    received.write(plain.recv(65536))
            client.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
            plain.sendall(sent.read())  # both in one piece
            received.write(plain.recv(65536))
            self.assertEqual(client.read(9)[3], 4)  # the type of the frame: SETTINGS

    def test_requests_in_flight_end_at_sigterm(self):
        self.issue("server")
        with self.serve("--rest_ssl_config_file=" + self.configure()) as server:
            server.connect = lambda: self.https(server)
            codes, begun = [], threading.Event()
            with Load(server, PATH, BODY, good=lambda a: codes.append(a.status) or begun.set() or True, threads=4) as load:
                self.assertTrue(begun.wait(DEADLINE_S))
                self.assertEqual(server.stop(), 0)
                load.stopping.set()
            self.assertEqual(set(codes), {200})

    def test_connections_leave_descriptors_for_models(self):
        self.issue("server")
        few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))}
        start = harness.start
        with mock.patch("harness.start", lambda *args, **more: start(*args, **few, **more)):
            server = self.serve("--rest_ssl_config_file=" + self.configure(), "--rest_api_num_threads=2", "--file_system_poll_wait_seconds=1")
        with server, contextlib.ExitStack() as clients:
            answered = 0
            for _ in range(120):
                with contextlib.suppress(OSError):  # it was one too many
                    plain = clients.enter_context(socket.create_connection(("localhost", server.port), DEADLINE_S))
                    client = clients.enter_context(self.context().wrap_socket(plain, server_hostname="localhost"))
                    client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                    answered += client.recv(12) == b"HTTP/1.1 200"
            self.assertGreater(answered, 60)
            tiny_model.write(self.path("tiny", "2"))
            server.wait_for_output("Successfully loaded servable version {name: tiny version: 2}")
            self.assertNotIn("Too many open files", server.output())

    # ---- Tokens.

    def test_tokens(self):
        messages()
        file = self.write("tokens", "# ours\nsecret-1\nsecret-2\n")
        with self.serve("--auth_token_file=" + file, "--enable_grpc_healthcheck_service", grpc=True) as server:
            def rest(header, path="/v1/models/tiny"):
                answer = server.get(path, headers={"Authorization": header} if header else {})
                return answer.status, answer.json.get("error", "")
            self.assertEqual(rest("Bearer secret-1"), (200, ""))
            self.assertEqual(rest("bearer secret-2"), (200, ""))
            self.assertEqual(rest(None), (401, "this server wants a token: send the header 'Authorization: Bearer TOKEN'"))
            self.assertEqual(rest("Bearer secret-3"), (401, "the token is not one that this server knows"))
            self.assertEqual(rest("Basic secret-1"), (401, "the header 'Authorization' is not of the form 'Bearer TOKEN'"))
            for path in ("/healthz", "/readyz", "/readyz/tiny", "/v2/health/live", "/v2/health/ready", "/v2/models/tiny/ready"):
                self.assertEqual(server.get(path).status, 200, path)
            for path in ("/metrics", "/v1/models", "/v2", "/v2/models/tiny"):
                self.assertEqual(server.get(path).status, 401, path)
            answer = server.post(PATH, b"x" * 3000000)  # dropped as it comes
            self.assertEqual((answer.status, answer.headers["WWW-Authenticate"]), (401, "Bearer"))
            self.assertEqual(server.post(PATH, BODY, headers={"Authorization": "Bearer secret-1"}).json, ANSWER)
            self.assertNotEqual(server.request("OPTIONS", PATH, headers={"Origin": "http://x"}).status, 401)
            client = Client("localhost:%d" % server.grpc_port)
            self.assertEqual(client.predict(request(), metadata=[("authorization", "Bearer secret-1")]).code, "OK")
            refused = client.predict(request())
            self.assertEqual((refused.code, refused.text), ("UNAUTHENTICATED", "this server wants a token: send the header "
                                                            "'Authorization: Bearer TOKEN'"))
            self.assertEqual(client.predict(request(), metadata=[("authorization", "Bearer x")]).code, "UNAUTHENTICATED")
            self.assertEqual(client.health("").code, "OK")
            for way in ("127.0.0.1:%d" % server.grpc_port, "http://127.0.0.1:%d" % server.port):
                for more in ([], ["--repeat=20", "--concurrency=2"]):
                    ask = ["modelclient", "predict", "--server=" + way, "--model=tiny", "--input=x=[[1.0]]", *more]
                    done = run(*ask, "--auth_token_file=" + file)
                    self.assertEqual(done.returncode, 0, done)
                    refused = run(*ask)
                    self.assertEqual((refused.returncode, "UNAUTHENTICATED" in refused.stderr), (1, True), refused)
            self.write("tokens", "secret-4\n")
            server.wait_for_output("has changed, and was read again")
            self.assertEqual(rest("Bearer secret-4"), (200, ""))
            self.assertEqual(rest("Bearer secret-1")[0], 401)
            self.write("tokens", "")
            server.wait_for_output("the file has no token: what was read before stays in use")
            self.assertEqual(rest("Bearer secret-4"), (200, ""))

    def test_whoever_has_no_token_learns_no_errors(self):
        os.makedirs(self.path("tiny", "2"))
        with open(self.path("tiny", "2", "saved_model.pb"), "wb") as f:
            f.write(b"x")
        os.rename(self.path("tiny", "1"), self.path("gone"))
        for flags, told in ((["--auth_token_file=" + self.write("tokens", "secret\n")], False), ([], True)):
            with self.serve("--keep_going", "--max_num_load_retries=0", *flags) as server:
                answer = server.get("/readyz")
                self.assertEqual(answer.status, 503)
                self.assertIn(b"model 'tiny' has no version that serves: version 2 is ", answer.body)
                self.assertEqual(b"saved_model.pb" in answer.body, told, answer)

    def test_web_pages_may_send_tokens(self):
        file = self.write("tokens", "secret\n")
        with self.serve("--auth_token_file=" + file, "--rest_api_enable_cors_support") as server:
            answer = server.request("OPTIONS", PATH, headers={"Origin": "http://x", "Access-Control-Request-Headers": "authorization"})
            self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Headers"]), (200, "Content-Type, Authorization"))

    def test_a_file_without_tokens_ends_the_start(self):
        for text, words in (("\n", "the file has no token"), ("a b\n", "line 1: a token has no spaces")):
            server = self.serve("--auth_token_file=" + self.write("tokens", text), wait=False)
            self.assertEqual(server.process.wait(DEADLINE_S), 255)
            self.assertIn(words, server.output())


if __name__ == "__main__":
    main()

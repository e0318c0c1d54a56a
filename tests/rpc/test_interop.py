"""Other gRPC clients against our server, without and with TLS: python3-grpcio, grpcurl, ghz and
@grpc/grpc-js."""
import json
import os
import subprocess
import tempfile
import threading
import unittest

from echo import CHAT, COUNT, ECHO, FAIL, HOLD, REPEAT, Echo, certificates
from harness import DEADLINE_S, main
from tools import go_tool, node_modules, python_grpc

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "echo.proto")
MESSAGE = "no 'x' at 100 %, ä\nsecond line"


class Server(unittest.TestCase):
    """Each class below starts its own server. Tls classes require client certificates."""
    tls = False

    @classmethod
    def setUpClass(cls):
        if cls is Server:
            raise unittest.SkipTest("the base of the others")
        cls.need()
        cls.directory = tempfile.TemporaryDirectory()
        certificates(cls.directory.name)
        flags = ["--tls_cert=" + cls.file("server.pem"), "--tls_key=" + cls.file("server.key"), "--tls_ca=" + cls.file("ca.pem")] if cls.tls else []
        cls.server = Echo("--message_max_bytes=%d" % (64 << 20), *flags)
        cls.address = "localhost:%d" % cls.server.port

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()
        cls.server.stop()

    @classmethod
    def file(cls, name):
        return os.path.join(cls.directory.name, name)


class Python(Server):
    @classmethod
    def need(cls):
        cls.grpc = python_grpc()

    def setUp(self):
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1), ("grpc.enable_http_proxy", 0)]
        if self.tls:
            ca, key, cert = (open(self.file(n), "rb").read() for n in ("ca.pem", "client.key", "client.pem"))
            self.channel = self.grpc.secure_channel(self.address, self.grpc.ssl_channel_credentials(ca, key, cert), options)
        else:
            self.channel = self.grpc.insecure_channel(self.address, options)
        self.addCleanup(self.channel.close)

    def unary(self, path):
        return self.channel.unary_unary(path, None, None)

    def test_gives_back_messages_of_any_size(self):
        for size in (0, 1, 100, 5000, 16384, 65535, 70000, 1 << 20, 20 << 20):
            with self.subTest(size=size):
                data = bytes(i * 7 % 251 for i in range(1000)) * (size // 1000 + 1)
                self.assertTrue(self.unary(ECHO)(data[:size], timeout=DEADLINE_S) == data[:size])

    def test_metadata_comes_and_goes(self):
        _, call = self.unary(ECHO).with_call(b"x", timeout=DEADLINE_S, metadata=(("x-echo", "some value"),))
        self.assertIn(("x-echo", "some value"), [tuple(m) for m in call.trailing_metadata()])

    def test_failures_have_code_and_text(self):
        for code in range(1, 17):
            with self.assertRaises(self.grpc.RpcError) as caught:
                self.unary(FAIL)(MESSAGE.encode(), timeout=DEADLINE_S, metadata=(("x-code", str(code)),))
            self.assertEqual(caught.exception.code().value[0], code)
            self.assertEqual(caught.exception.details(), MESSAGE)

    def test_unknown_methods_are_unimplemented(self):
        for path in ("/slipway.test.Echo/None", "/none.None/Echo"):
            with self.assertRaises(self.grpc.RpcError) as caught:
                self.unary(path)(b"x", timeout=DEADLINE_S)
            self.assertEqual(caught.exception.code(), self.grpc.StatusCode.UNIMPLEMENTED)
            self.assertIn(path, caught.exception.details())

    def test_a_message_that_is_too_large_is_refused_and_the_next_is_served(self):
        with self.assertRaises(self.grpc.RpcError) as caught:
            self.unary(ECHO)(b"x" * (65 << 20), timeout=DEADLINE_S)
        self.assertEqual(caught.exception.code(), self.grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(self.unary(ECHO)(b"next", timeout=DEADLINE_S), b"next")

    def test_deadlines_and_cancellation_reach_the_server(self):
        with self.assertRaises(self.grpc.RpcError) as caught:
            self.unary(HOLD)(b"x", timeout=0.3)
        self.assertEqual(caught.exception.code(), self.grpc.StatusCode.DEADLINE_EXCEEDED)
        call = self.unary(HOLD).future(b"x", timeout=DEADLINE_S)
        while b"held 1" not in self.unary(COUNT)(b"", timeout=DEADLINE_S):
            pass
        call.cancel()
        while b"held 0" not in self.unary(COUNT)(b"", timeout=DEADLINE_S):
            pass

    def test_streams_of_replies(self):
        repeat = self.channel.unary_stream(REPEAT, None, None)
        for size, count in ((0, 10), (10, 1000), (100000, 200)):
            replies = repeat(b"r" * size, timeout=DEADLINE_S, metadata=(("x-count", str(count)),))
            self.assertEqual(sum(r == b"r" * size for r in replies), count)

    def test_a_stream_that_is_left_ends(self):
        replies = self.channel.unary_stream(REPEAT, None, None)(b"r" * 10000, timeout=DEADLINE_S, metadata=(("x-count", "100000000"),))
        self.assertEqual(next(replies), b"r" * 10000)
        replies.cancel()
        self.assertEqual(self.unary(ECHO)(b"next", timeout=DEADLINE_S), b"next")

    def test_streams_both_ways(self):
        chat = self.channel.stream_stream(CHAT, None, None)
        self.assertEqual(list(chat(iter([b"a", b"", b"c" * 100000]), timeout=DEADLINE_S)), [b"a", b"", b"c" * 100000])
        self.assertEqual(list(chat(iter([]), timeout=DEADLINE_S)), [])

    def test_many_calls_at_a_time_from_many_threads(self):
        wrong = []

        def work(n):
            for i in range(100):
                data = b"%d %d" % (n, i) * (1 + i * 40)
                if self.unary(ECHO)(data, timeout=DEADLINE_S) != data:
                    wrong.append((n, i))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


    def test_compressed_requests_are_read(self):
        for compression in (self.grpc.Compression.Gzip, self.grpc.Compression.Deflate):
            for size in (1, 10000, 3 << 20):
                got = self.unary(ECHO)(b"x" * size, timeout=DEADLINE_S, compression=compression)
                self.assertTrue(got == b"x" * size)

    def test_a_message_that_inflates_beyond_the_limit_is_refused(self):
        with self.assertRaises(self.grpc.RpcError) as caught:
            self.unary(ECHO)(b"x" * (65 << 20), timeout=DEADLINE_S, compression=self.grpc.Compression.Gzip)
        self.assertEqual(caught.exception.code(), self.grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertEqual(self.unary(ECHO)(b"next", timeout=DEADLINE_S), b"next")


class PythonTls(Python):
    tls = True

    def refused(self, **credentials):
        options = [("grpc.enable_http_proxy", 0)]
        with self.grpc.secure_channel(self.address, self.grpc.ssl_channel_credentials(**credentials), options) as channel:
            with self.assertRaises(self.grpc.RpcError) as caught:
                channel.unary_unary(ECHO, None, None)(b"x", timeout=5)
            self.assertIn(caught.exception.code(), (self.grpc.StatusCode.UNAVAILABLE, self.grpc.StatusCode.DEADLINE_EXCEEDED))

    def test_refuses_a_client_without_certificate_and_one_of_a_strange_ca(self):
        ca, key, cert = (open(self.file(n), "rb").read() for n in ("ca.pem", "stranger.key", "stranger.pem"))
        self.refused(root_certificates=ca)
        self.refused(root_certificates=ca, private_key=key, certificate_chain=cert)
        self.assertEqual(self.unary(ECHO)(b"next", timeout=DEADLINE_S), b"next")


class Grpcurl(Server):
    @classmethod
    def need(cls):
        cls.tool = go_tool("grpcurl")

    def security(self):
        return ["-cacert", self.file("ca.pem"), "-cert", self.file("client.pem"), "-key", self.file("client.key")] if self.tls else ["-plaintext"]

    def call(self, method, data, *more):
        return subprocess.run([self.tool, *self.security(), "-import-path", os.path.dirname(PROTO), "-proto", PROTO, *more, "-d", json.dumps(data),
                               self.address, "slipway.test.Echo/" + method], capture_output=True, text=True, timeout=DEADLINE_S)

    def test_calls_and_streams(self):
        done = self.call("Echo", {"text": "hello"})
        self.assertEqual((done.returncode, done.stdout and json.loads(done.stdout)), (0, {"text": "hello"}), done.stderr)
        done = self.call("Repeat", {"text": "again"}, "-H", "x-count: 4")
        self.assertEqual((done.returncode, done.stdout.count('"text": "again"')), (0, 4), done.stderr)
        done = self.call("Chat", {"text": "one"})
        self.assertEqual((done.returncode, done.stdout and json.loads(done.stdout)), (0, {"text": "one"}), done.stderr)

    def test_shows_failures(self):
        done = self.call("Fail", {}, "-H", "x-code: 9", "-H", "x-message: not at 100 %")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Code: FailedPrecondition", done.stderr)
        self.assertIn("Message: not at 100 %", done.stderr)


class GrpcurlTls(Grpcurl):
    tls = True


class Ghz(Server):
    @classmethod
    def need(cls):
        cls.tool = go_tool("ghz")

    def security(self):
        return ["--cacert", self.file("ca.pem"), "--cert", self.file("client.pem"), "--key", self.file("client.key")] if self.tls else ["--insecure"]

    def test_counts_no_failure(self):
        done = subprocess.run([self.tool, *self.security(), "--proto", PROTO, "--call", "slipway.test.Echo.Echo", "-d", '{"text":"load"}', "-n", "3000",
                               "-c", "50", "--connections", "5", "-t", "60s", "-O", "json", self.address], capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["statusCodeDistribution"], {"OK": 3000}, report.get("errorDistribution"))


class GhzTls(Ghz):
    tls = True


class Node(Server):
    @classmethod
    def need(cls):
        node_modules()

    def test_every_kind_of_call(self):
        files = [self.file(n) for n in ("ca.pem", "client.key", "client.pem")] if self.tls else []
        done = subprocess.run(["node", os.path.join(os.path.dirname(PROTO), "client.js"), self.address, *files], capture_output=True, text=True,
                              timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = {}
        for line in done.stdout.splitlines():
            row = json.loads(line)
            seen[row.pop("name")] = row
        self.assertEqual(seen["small"], {"code": 0, "details": "", "size": 5, "equal": True, "trailer": ["back"]})
        self.assertEqual((seen["empty"]["code"], seen["empty"]["size"]), (0, 0))
        self.assertEqual((seen["large"]["code"], seen["large"]["equal"]), (0, True))
        self.assertEqual((seen["fail"]["code"], seen["fail"]["details"]), (5, MESSAGE))
        self.assertEqual(seen["unknown"]["code"], 12)
        self.assertEqual(seen["deadline"]["code"], 4)
        self.assertEqual(seen["repeat"], {"replies": 1000, "code": 0})
        self.assertEqual(seen["chat"], {"replies": ["a", "b", "c"], "code": 0})
        self.assertEqual(seen["parallel"], {"good": 200})


class NodeTls(Node):
    tls = True


if __name__ == "__main__":
    main()

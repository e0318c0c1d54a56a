"""HTTP/1 at its edges, on real sockets: what could hide one request in another is refused, what is merely unusual is answered, and
clients that leave are forgotten."""
import json
import os
import socket
import tempfile
import time

from harness import DEADLINE_S, Server, TestCase, main, train

ASK = "/v1/models/default:predict"


def row(value=0.5):
    return {"signature_name": "predict_images", "instances": [[value] * 784]}


class Http1(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        base = os.path.join(cls.work.name, "model")
        train(os.path.join(base, "1"), "--training_iteration=5", "--work_dir=" + cls.work.name)
        cls.server = Server(base)

    @classmethod
    def tearDownClass(cls):
        status = cls.server.stop()
        cls.work.cleanup()
        assert status == 0, cls.server.output()

    def tearDown(self):
        self.assertEqual(self.server.post(ASK, row()).status, 200)

    def say(self, *parts):
        """What comes back until the server closes, for a request sent part by part."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as s:
            for part in parts:
                s.sendall(part)
            back = b""
            while chunk := s.recv(65536):
                back += chunk
            return back

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.server.pid))

    def test_what_two_readers_could_understand_differently_is_refused(self):
        """A proxy reads the same bytes: each of these is one answer, and the connection is closed, whatever follows."""
        post, body = b"POST " + ASK.encode() + b" HTTP/1.1\r\n", json.dumps(row()).encode()
        length = b"Content-Length: %d\r\n" % len(body)
        chunked = b"Transfer-Encoding: chunked\r\n"
        for what, head, status, text in (
                ("two lengths", post + b"Host: x\r\n" + length + b"Content-Length: 5\r\n", 400, "two Content-Length headers"),
                ("a list of lengths", post + b"Host: x\r\nContent-Length: 5, 5\r\n", 400, "Content-Length is not a number"),
                ("no number", post + b"Host: x\r\nContent-Length: x\r\n", 400, "Content-Length is not a number"),
                ("a sign", post + b"Host: x\r\nContent-Length: -1\r\n", 400, "Content-Length is not a number"),
                ("a length beside chunks", post + b"Host: x\r\n" + length + chunked, 400, "both Content-Length and Transfer-Encoding"),
                ("chunks beside a length", post + b"Host: x\r\n" + chunked + length, 400, "both Content-Length and Transfer-Encoding"),
                ("identity", post + b"Host: x\r\nTransfer-Encoding: identity\r\n" + length, 501, "Transfer-Encoding"),
                ("gzip, chunked", post + b"Host: x\r\nTransfer-Encoding: gzip, chunked\r\n", 501, "Transfer-Encoding"),
                ("chunked twice", post + b"Host: x\r\n" + chunked + chunked, 501, "Transfer-Encoding"),
                ("NUL in a value", post + b"Host: x\r\nA: b\0c\r\n" + length, 400, "control character"),
                ("NUL in a name", post + b"Host: x\r\nA\0: b\r\n" + length, 400, "name of a header"),
                ("a space before the colon", post + b"Host: x\r\nContent-Length : 5\r\n", 400, "name of a header"),
                ("a folded line", post + b"Host: x\r\nA: b\r\n c: d\r\n" + length, 400, "name of a header"),
                ("no colon", post + b"Host: x\r\nabc\r\n" + length, 400, "no colon"),
                ("no Host", post + length, 400, "Host"),
                ("two Hosts", post + b"Host: x\r\nHost: x\r\n" + length, 400, "two Host headers"),
                ("HTTP/3", b"GET /v1/models/default HTTP/3.0\r\nHost: x\r\n", 505, "HTTP/1.1"),
                ("no version", b"GET /v1/models/default\r\nHost: x\r\n", 400, "no HTTP version"),
                ("a head without end", post + b"Host: x\r\nA: " + b"b" * (129 << 10), 431, "larger than 128 KiB"),
        ):
            with self.subTest(what=what):
                back = self.say(head + b"\r\n" + body + b"GET /v1/models/default HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertTrue(back.startswith(b"HTTP/1.1 %d " % status), back[:300])
                self.assertEqual(back.count(b"\r\nDate: "), 1, back[:1000])
                self.assertEqual(back.lower().count(b"content-length:"), 1, back[:1000])
                self.assertIn(b"\r\nConnection: close\r\n", back)
                self.assertIn(text, json.loads(back.split(b"\r\n\r\n", 1)[1])["error"])

    def test_broken_chunks_are_refused(self):
        head = b"POST " + ASK.encode() + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        for what, chunks in (("an extension without end", b"15;" + b"a" * 20000),
                             ("trailers without end", b"0\r\n" + b"a: b\r\n" * 4000),
                             ("no size", b"\r\n{}\r\n0\r\n\r\n"),
                             ("a sign", b"-2\r\n{}\r\n0\r\n\r\n"),
                             ("a size over 60 bits", b"1000000000000002\r\n{}\r\n0\r\n\r\n"),
                             ("data longer than its size", b"2\r\n{}}\r\n0\r\n\r\n"),
                             ("a bare LF", b"2\n{}\r\n0\r\n\r\n"),
                             ("a bare LF in an extension", b"2;a\n{}\r\n0\r\n\r\n")):
            with self.subTest(what=what):
                back = self.say(head, chunks)
                self.assertTrue(back.startswith(b"HTTP/1.1 400 "), back[:300])
                self.assertIn(b"chunks", back)

    def test_unusual_requests_are_answered(self):
        body = json.dumps(row()).encode()
        end = b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        post = b"POST " + ASK.encode() + b" HTTP/1.1\r\n"
        for what, parts in (
                ("absolute form", [b"POST http://x:1%s HTTP/1.1\r\nHost: x:1\r\n" % ASK.encode() + end]),
                ("HTTP/1.0 without Host", [b"POST %s HTTP/1.0\r\n" % ASK.encode() + end]),
                ("a header of 100 KB", [post + b"Host: x\r\nA: " + b"b" * 100000 + b"\r\n" + end]),
                ("1000 headers", [post + b"Host: x\r\n" + b"A: b\r\n" * 1000 + end]),
                ("the same length twice", [post + b"Host: x\r\nContent-Length: %d\r\n" % len(body) + end]),
                ("bare LF", [post.replace(b"\r", b"") + b"Host: x\n" + end.replace(b"\r", b"")]),
                ("an empty line before it", [b"\r\n" + post + b"Host: x\r\n" + end]),
                ("chunks, an extension, a trailer", [post + b"Host: x\r\nConnection: close\r\nTransfer-Encoding: Chunked\r\n\r\n",
                                                     b"5;a=b\r\n" + body[:5] + b"\r\n%X\r\n" % (len(body) - 5) + body[5:], b"\r\n000\r\nA: b\r\n\r\n"]),
        ):
            with self.subTest(what=what):
                back = self.say(*parts)
                self.assertTrue(back.startswith(b"HTTP/1.1 200 "), back[:300])
        asks = b"GET /v1/models/default%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        self.assertIn(b"HTTP/1.1 400 Bad Request", self.say(asks % (b"/" + b"x" * 60000)))
        self.assertIn(b"HTTP/1.1 404 Not Found", self.say(asks % (b"?" + b"&a=b" * 3000)))
        head = self.say(b"HEAD" + (asks % b"")[3:])
        self.assertTrue(head.startswith(b"HTTP/1.1 400 ") and head.endswith(b"\r\n\r\n"), head)

    def test_a_client_is_told_to_go_on_with_its_body(self):
        body = json.dumps(row()).encode()
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as s:
            s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % (ASK.encode(), len(body)))
            self.assertEqual(s.recv(65536), b"HTTP/1.1 100 Continue\r\n\r\n")
            s.sendall(body)
            self.assertTrue(s.recv(65536).startswith(b"HTTP/1.1 200 "))

    def test_clients_that_leave_amid_a_request_are_forgotten(self):
        """Their FIN may come with half a request, or behind it."""
        before = self.descriptors()
        post = b"POST " + ASK.encode() + b" HTTP/1.1\r\nHost: x\r\n"
        halves = (post[:30], post, post + b"Content-Length: 50000\r\n\r\n" + b"x" * 20000, post + b"Transfer-Encoding: chunked\r\n\r\n9\r\nabc")
        for n in range(100):
            with socket.create_connection(("127.0.0.1", self.server.port)) as s:
                s.sendall(halves[n % 4])
        end = time.monotonic() + DEADLINE_S
        while self.descriptors() > before:
            self.assertLess(time.monotonic(), end, "100 clients are gone, %d descriptors are open" % self.descriptors())
            time.sleep(0.01)
        for half in halves:  # it closes its sending side only, and reads on
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as s:
                s.sendall(half)
                s.shutdown(socket.SHUT_WR)
                self.assertEqual(s.recv(65536), b"")


if __name__ == "__main__":
    main()

"""HTTP/1 at its edges, on real sockets: what could hide one request in another is refused, what is merely unusual is answered, and
clients that leave or stand still are forgotten."""
import contextlib
import json
import os
import re
import signal
import socket
import time

from digits import ASK, DigitsServer, row
from harness import DEADLINE_S, SANITIZED, Server, main

POST = b"POST " + ASK.encode() + b" HTTP/1.1\r\n"


class Http1(DigitsServer):
    BODY_BYTES_MAX = 1 << 20
    FLAGS = ["--max_request_bytes=%d" % BODY_BYTES_MAX]

    def tearDown(self):
        self.assertEqual(self.server.post(ASK, row()).status, 200)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S)

    def say(self, *parts):
        """Sends a request part by part; returns everything until the server closes."""
        with self.connect() as s:
            for part in parts:
                s.sendall(part)
            back = b""
            while chunk := s.recv(65536):
                back += chunk
            return back

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.server.pid))

    def wait_for_descriptors(self, count):
        end = time.monotonic() + DEADLINE_S
        while self.descriptors() > count:
            self.assertLess(time.monotonic(), end, "%d descriptors are open, %d are wanted" % (self.descriptors(), count))
            time.sleep(0.01)

    def test_what_two_readers_could_understand_differently_is_refused(self):
        """A proxy may read the same bytes differently: each of these gets one answer and a closed connection."""
        body = json.dumps(row()).encode()
        length = b"Content-Length: %d\r\n" % len(body)
        chunked = b"Transfer-Encoding: chunked\r\n"
        for what, head, status, text in (
                ("two lengths", b"Host: x\r\n" + length + b"Content-Length: 5\r\n", 400, "two Content-Length headers"),
                ("two lengths of the JSON", b"Host: x\r\nInference-Header-Content-Length: 5\r\ninference-header-content-length: 6\r\n" + length, 400,
                 "two Inference-Header-Content-Length headers, 5 and 6"),
                ("a length beside chunks", b"Host: x\r\n" + length + chunked, 400, "both Content-Length and Transfer-Encoding"),
                ("chunks beside a length", b"Host: x\r\n" + chunked + length, 400, "both Content-Length and Transfer-Encoding"),
                ("identity", b"Host: x\r\nTransfer-Encoding: identity\r\n" + length, 501, "Transfer-Encoding: identity;"),
                ("gzip, chunked", b"Host: x\r\nTransfer-Encoding: gzip, chunked\r\n", 501, "Transfer-Encoding: gzip, chunked;"),
                ("chunked twice", b"Host: x\r\n" + chunked + chunked, 501, "Transfer-Encoding: chunked, chunked;"),
                ("no Host", length, 400, "no Host header"),
                ("two Hosts", b"Host: x\r\nHost: y\r\n" + length, 400, "2 Host headers"),
                ("a NUL in a value", b"Host: x\r\nA: b\0c\r\n" + length, 400, "a header with a NUL"),
                ("a NUL in the host", b"Host: x\0y\r\n" + length, 400, "a header with a NUL"),
                ("two NULs, and what looks like a header", b"Host: x\r\nA: b\0\0C: d\r\n" + length, 400, "a header with a NUL"),
                ("a NUL at the end of a value", b"Host: x\r\nA: b\0\r\n" + length, 400, "a header with a NUL"),
                ("a NUL in the last value", b"Host: x\r\n" + length[:-2] + b"\0a\r\n", 400, "a header with a NUL"),
                ("two NULs in the last value", b"Host: x\r\n" + length[:-2] + b"\0\0a\r\n", 400, "a header with a NUL"),
                ("a space behind a name", b"Host: x\r\nTransfer-Encoding : chunked\r\n" + length, 400, "the name of a header"),
                ("a tab behind a name", b"Host: x\r\nContent-Length\t: 5\r\n" + length, 400, "the name of a header"),
                ("a control character in a name", b"Host: x\r\nA\x01: b\r\n" + length, 400, "the name of a header"),
                ("a name of no characters", b"Host: x\r\n: b\r\n" + length, 400, "without a name"),
                ("a return within a value", b"Host: x\r\nA: b\rTransfer-Encoding: chunked\r\n" + length, 400, "a carriage return"),
                ("a return at the end of a value", b"Host: x\r\nA: b\r\r\n" + length, 400, "a carriage return"),
                ("a header of two lines", b"Host: x\r\nA: b\r\n  c\r\n" + length, 400, "of several lines"),
                ("a last header of two lines", b"Host: x\r\n" + length + b"A: b\r\n  c\r\n", 400, "of several lines"),
        ):
            with self.subTest(what=what):
                back = self.say(POST + head + b"\r\n" + body + b"GET /v1/models/default HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertTrue(back.startswith(b"HTTP/1.1 %d " % status), back[:300])
                self.assertEqual(back.count(b"\r\nDate: "), 1, back[:1000])
                self.assertIn(b"\r\nConnection: close\r\n", back)
                self.assertIn(text, json.loads(back.split(b"\r\n\r\n", 1)[1])["error"])

    def test_chunks_in_http_1_0_are_refused(self):
        """A proxy of HTTP/1.0 does not know them, and would take them for the body or for another request."""
        back = self.say(POST.replace(b"1.1", b"1.0") + b"Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        self.assertTrue(back.startswith(b"HTTP/1.1 400 "), back[:300])
        self.assertIn(b"Transfer-Encoding in a request of HTTP/1.0", back)

    def test_a_client_that_asks_first_need_not_send_a_body_that_is_refused(self):
        head = POST + b"Host: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
        back = self.say(head % (self.BODY_BYTES_MAX + 1))
        self.assertTrue(back.startswith(b"HTTP/1.1 429 "), back[:300])
        self.assertIn(b"\r\nConnection: close\r\n", back)
        with self.connect() as s:
            body = json.dumps(row()).encode()
            s.sendall(head % len(body))
            self.assertEqual(s.recv(65536), b"HTTP/1.1 100 Continue\r\n\r\n")
            s.sendall(body)
            self.assertTrue(s.recv(65536).startswith(b"HTTP/1.1 200 "))
        with Server(self.base, "--memory_budget_bytes=%d" % (64 << 20)) as server:
            for size in (60 << 20, 64 << 20, 1 << 50):  # a sixteenth is reserved
                with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as s:
                    s.sendall(head % size)
                    back = s.recv(65536)
                    self.assertTrue(back.startswith(b"HTTP/1.1 429 "), back)
                    back += s.recv(65536)
                    said = re.search(rb"request body of (\d+) bytes is over the (\d+) bytes that --memory_budget_bytes=67108864 leaves for one", back)
                    self.assertEqual(int(said[1]), size, back)
                    self.assertGreater(size, int(said[2]))

    def test_unusual_requests_are_answered(self):
        body = json.dumps(row()).encode()
        end = b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        for what, parts in (
                ("absolute form", [b"POST http://x:1%s HTTP/1.1\r\nHost: x:1\r\n" % ASK.encode() + end]),
                ("absolute form for TLS", [b"POST HTTPS://x:1%s HTTP/1.1\r\nHost: x:1\r\n" % ASK.encode() + end]),
                ("HTTP/1.0 without Host", [b"POST %s HTTP/1.0\r\n" % ASK.encode() + end]),
                ("line ends of one byte", [(POST + b"Host: x\r\n" + end).replace(b"\r", b"")]),
                ("spaces, and values of none", [POST + b"Host:x  \r\nA:\r\nB: \t\r\n" + end]),
                ("a long head in parts", [POST + b"Host: x\r\n"] + [b"A%d: " % i + b"b" * 700 + b"\r\n" for i in range(15)] + [end]),
                ("the same length twice", [POST + b"Host: x\r\nContent-Length: %d\r\n" % len(body) + end]),
                ("chunks, an extension, a trailer", [POST + b"Host: x\r\nConnection: close\r\nTransfer-Encoding: Chunked\r\n\r\n",
                                                     b"5;a=b\r\n" + body[:5] + b"\r\n%X\r\n" % (len(body) - 5) + body[5:], b"\r\n000\r\nA: b\r\n\r\n"]),
        ):
            with self.subTest(what=what):
                back = self.say(*parts)
                self.assertTrue(back.startswith(b"HTTP/1.1 200 "), back[:300])
        asks = b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        self.assertIn(b"HTTP/1.1 200 ", self.say(asks % b"http://x/v1/models/default"))
        self.assertTrue(self.say(asks % b"http://x").endswith(b'{"status":"alive"}'))  # no path is /

    def test_clients_that_leave_amid_a_request_are_forgotten(self):
        """Their FIN may come with half a request, or behind it."""
        before = self.descriptors()
        post = POST + b"Host: x\r\n"
        halves = (post[:30], post, post + b"Content-Length: 50000\r\n\r\n" + b"x" * 20000, post + b"Transfer-Encoding: chunked\r\n\r\n9\r\nabc")
        for n in range(100):
            with self.connect() as s:
                s.sendall(halves[n % 4])
        self.wait_for_descriptors(before)
        for half in halves:  # it closes only its sending side and keeps reading
            with self.connect() as s:
                s.sendall(half)
                s.shutdown(socket.SHUT_WR)
                self.assertEqual(s.recv(65536), b"")

    def test_as_many_requests_at_once_as_libmicrohttpd_takes_events(self):
        """It takes 128 events at a time, and after as many it waits for more before it handles them: nothing wakes the second loop."""
        ask = b"GET /v1/models/default HTTP/1.1\r\nHost: x\r\n\r\n"
        with Server(self.base, "--rest_api_num_threads=2") as server, contextlib.ExitStack() as stack:

            def hear(connection):
                self.assertTrue(connection.recv(65536).startswith(b"HTTP/1.1 200 "))

            connections = []
            for _ in range(256):  # the loops take them in turn
                connections.append(stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S)))
                connections[-1].sendall(ask)
                hear(connections[-1])
            os.kill(server.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, server.pid, os.WSTOPPED | os.WNOWAIT)
            for connection in connections:
                connection.sendall(ask)
            os.kill(server.pid, signal.SIGCONT)
            for connection in connections:
                hear(connection)

    def test_a_chunk_extension_without_end_ends_its_connection(self):
        """It fills the buffer; what is in the socket behind it is not read. Gone clients and such as wait, alike."""
        before = self.descriptors()
        for size in (16200, 20000):
            with self.connect() as s:
                s.sendall(POST + b"Host: x\r\nTransfer-Encoding: chunked\r\n\r\n15;" + b"a" * size)
        with self.connect() as s:
            s.sendall(POST + b"Host: x\r\nTransfer-Encoding: chunked\r\n\r\n15;" + b"a" * 16200)
            self.assertEqual(s.recv(65536), b"")
        self.wait_for_descriptors(before)

    def cost_of_leavers(self, body):
        """CPU seconds of a thousand clients that send the beginning of a body and leave."""
        before, spent = self.descriptors(), self.server.cpu_seconds()
        for _ in range(1000):
            with self.connect() as s:
                s.sendall(POST + b"Host: x\r\n" + body)
        self.assertTrue(self.say(b"GET /v1/models/default HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 200 "))
        self.wait_for_descriptors(before)
        return self.server.cpu_seconds() - spent

    def test_many_chunk_extensions_without_end_cost_little(self):
        """libmicrohttpd searches the whole buffer of each in each of its runs, so it must not run once for each new connection. Each
        loop has to search for the second until such clients are cut."""
        plain = self.cost_of_leavers(b"Content-Length: 30000\r\n\r\n" + b"a" * 20000)
        endless = self.cost_of_leavers(b"Transfer-Encoding: chunked\r\n\r\n15;" + b"a" * 20000)
        self.assertLess(endless, 40 * plain + 2 * os.cpu_count(), plain)  # about 17 s if it ran for each

    def test_a_request_that_is_given_up_is_freed(self):
        """libmicrohttpd refuses a request with too many arguments itself, and does not tell that the request has ended."""
        before, memory = self.descriptors(), []
        for _ in range(4):
            for _ in range(1000):
                with self.connect() as s:
                    s.sendall(b"GET /v1/models/default?" + b"&a=b" * 3000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            self.wait_for_descriptors(before)
            with open("/proc/%d/statm" % self.server.pid) as f:
                memory.append(int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6)
        if not SANITIZED:
            growth = [b - a for a, b in zip(memory, memory[1:])]
            self.assertLess(min(growth), 6, memory)  # 12 each time if each left its URL behind; the allocator's pools grow once or twice


if __name__ == "__main__":
    main()

"""Floods of frames against any server of core/rpc. A test class names the server. The server must
limit each flood, keep answering an honest client, and keep its memory bounded.

    class Floods(Flooded, unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.begin(server.pid, server.port, "/slipway.test.Echo/Echo", lambda n: b"%d" % n, lambda sent, got: got == sent)
"""
import struct
import time

from echo import (CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE, Closed,
                  Connection, Honest, frame, literal, memory_mb, message, request_headers)
from harness import SANITIZED

# The memory that one flooding connection may cost. A server that kept a whole flood would need
# several times as much. ThreadSanitizer adds shadow memory.
GROWTH_MB = 48 * (8 if SANITIZED == "thread" else 1)
WINDOW_MAX = (1 << 31) - 1


class Flooded:
    @classmethod
    def begin(cls, pid, port, method, request, good):
        """request(n) returns the honest client's n-th message. good(sent, got) checks an answer."""
        cls.pid, cls.port, cls.method, cls.request = pid, port, method, staticmethod(request)
        cls.honest = Honest(port, method, request, good).__enter__()
        cls.before_mb = memory_mb(pid)

    def tearDown(self):
        """The server must still answer the honest client, in bounded memory."""
        self.honest.wait_for(5)
        self.assert_little_is_kept()

    def assert_little_is_kept(self):
        self.assertLess(memory_mb(self.pid) - self.before_mb, GROWTH_MB)

    def flood(self, piece, total_bytes=32 << 20, read=False, prologue=b"", settings=b""):
        """Sends `piece`, which is bytes or a function of a running number. Stops when the server
        closes the connection, stops reading for a second, or has taken total_bytes. Returns the
        GOAWAY code, "blocked" or "taken"."""
        with Connection(self.port, settings) as c:
            taken, number, blocked = 0, 0, None
            rest = prologue
            try:
                while taken < total_bytes:
                    while len(rest) < 65536:
                        rest += piece(number) if callable(piece) else piece * (65536 // len(piece))
                        number += 1
                    sent = c.try_send(rest)
                    rest, taken = rest[sent:], taken + sent
                    if sent:
                        blocked = None
                    elif blocked is None:
                        blocked = time.monotonic()
                    elif time.monotonic() - blocked > 1:
                        self.assert_little_is_kept()
                        return "blocked"
                    else:
                        time.sleep(0.005)
                    if read and not sent:
                        c.read_frame()
                self.assert_little_is_kept()
                return "taken"
            except Closed as e:
                return e.goaway

    def limited(self, *arguments, **options):
        self.assertNotEqual(self.flood(*arguments, **options), "taken", "all of it was taken")

    def headers(self, n, flags=END_HEADERS):
        return frame(HEADERS, flags, 2 * n + 1, request_headers(self.method))

    def call(self, n):
        return self.headers(n) + frame(DATA, END_STREAM, 2 * n + 1, message(self.request(n)))

    def test_rapid_reset(self):
        self.limited(lambda n: self.headers(n) + frame(RST_STREAM, 0, 2 * n + 1, struct.pack(">I", 8)))

    def test_rapid_reset_of_whole_calls(self):
        self.limited(lambda n: self.call(n) + frame(RST_STREAM, 0, 2 * n + 1, struct.pack(">I", 8)))

    def test_rapid_reset_by_a_wrong_window_update(self):
        """An invalid WINDOW_UPDATE makes the server reset the stream, at the same cost."""
        self.limited(lambda n: self.headers(n) + frame(WINDOW_UPDATE, 0, 2 * n + 1, struct.pack(">I", 0)))

    def test_continuation_without_end(self):
        block = b"".join(literal("x-%d" % i, "y" * 100) for i in range(100))
        self.limited(frame(CONTINUATION, 0, 1, block), prologue=self.headers(0, flags=0))

    def test_empty_continuation_without_end(self):
        self.limited(frame(CONTINUATION, 0, 1), prologue=self.headers(0, flags=0))

    def test_settings_without_reading_their_acknowledgements(self):
        self.limited(frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW, 70000)))

    def test_empty_settings_while_reading_their_acknowledgements(self):
        self.flood(frame(SETTINGS, 0, 0), total_bytes=4 << 20, read=True)

    def test_ping_without_reading_its_acknowledgements(self):
        self.limited(frame(PING, 0, 0, b"12345678"))

    def test_calls_whose_answers_find_a_zero_window(self):
        self.limited(self.call, settings=struct.pack(">HI", INITIAL_WINDOW, 0))

    def test_calls_whose_answers_are_not_read(self):
        """The windows are at their maximum, so only the socket holds the answers back."""
        self.limited(self.call, settings=struct.pack(">HI", INITIAL_WINDOW, WINDOW_MAX),
                     prologue=frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW_MAX - 65535)))

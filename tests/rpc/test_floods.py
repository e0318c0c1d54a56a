"""Peers that misbehave, by frames on a raw socket: each is limited, an honest client beside it is answered all the while, and the
server's memory and descriptors stay bounded."""
import os
import random
import socket
import struct
import time
import unittest

from echo import (ACK, CONTINUATION, COUNT, DATA, ECHO, END_HEADERS, END_STREAM, HEADERS, HOLD, INITIAL_WINDOW, PING, PREFACE, PRIORITY,
                  REPEAT, RST_STREAM, SETTINGS, WINDOW_UPDATE, Closed, Connection, Echo, Honest, frame, literal, message,
                  request_headers)
from harness import DEADLINE_S, main

ENHANCE_YOUR_CALM = 11
GROWTH_MB = 48  # what one misbehaving connection may cost; each flood would cost a multiple if it were kept
STALL_MS = 1500


class Floods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Echo("--stall_timeout_ms=%d" % STALL_MS, "--handshake_timeout_ms=%d" % STALL_MS, "--streams_max=100",
                          "--keepalive_ms=%d" % STALL_MS, "--keepalive_timeout_ms=%d" % STALL_MS,
                          "--unsent_max_bytes=%d" % (8 << 20))
        cls.honest = Honest(cls.server.port).__enter__()
        cls.before_mb = cls.server.memory_mb()

    @classmethod
    def tearDownClass(cls):
        try:
            cls.honest.__exit__()
        finally:
            cls.server.stop()

    def tearDown(self):
        """Whatever came before: others are served, and little is kept."""
        self.honest.wait_for(5)
        self.assertLess(self.server.memory_mb() - self.before_mb, GROWTH_MB)

    def flood(self, piece, total_bytes=32 << 20, read=False, prologue=b"", settings=b""):
        """Sends `piece` (bytes, or a function of a running number) until the server closes the connection, takes no more, or has
        taken total_bytes. Gives how it ended and how many bytes it took."""
        with Connection(self.server.port, settings) as c:
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
                        self.assertLess(self.server.memory_mb() - self.before_mb, GROWTH_MB)
                        return "blocked", taken
                    else:
                        time.sleep(0.005)
                    if read and not sent:
                        c.read_frame()
                self.assertLess(self.server.memory_mb() - self.before_mb, GROWTH_MB)
                return "taken", taken
            except Closed as e:
                return e.goaway, taken

    def limited(self, *arguments, **options):
        ending, taken = self.flood(*arguments, **options)
        self.assertNotEqual(ending, "taken", "all of %d bytes were taken" % taken)
        return ending

    # ---- Frames without end. ----
    def test_rapid_reset(self):
        def piece(n):
            stream = 2 * n + 1
            return frame(HEADERS, END_HEADERS, stream, request_headers(HOLD)) + frame(RST_STREAM, 0, stream, struct.pack(">I", 8))
        self.limited(piece)

    def test_rapid_reset_by_a_wrong_window_update(self):
        """The server resets the streams instead: the same work for it."""
        def piece(n):
            stream = 2 * n + 1
            return frame(HEADERS, END_HEADERS, stream, request_headers(HOLD)) + frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 0))
        self.limited(piece)

    def test_requests_beyond_the_limit_of_streams(self):
        def piece(n):
            return frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, request_headers(HOLD))
        self.flood(piece)

    def test_continuation_without_end(self):
        block = b"".join(literal("x-%d" % i, "y" * 100) for i in range(100))
        self.limited(frame(CONTINUATION, 0, 1, block), prologue=frame(HEADERS, 0, 1, request_headers(ECHO)))

    def test_empty_continuation_without_end(self):
        self.limited(frame(CONTINUATION, 0, 1), prologue=frame(HEADERS, 0, 1, request_headers(ECHO)))

    def test_settings_without_reading_their_acknowledgements(self):
        self.limited(frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW, 70000)))

    def test_empty_settings_while_reading_their_acknowledgements(self):
        self.flood(frame(SETTINGS, 0, 0), total_bytes=4 << 20, read=True)

    def test_ping_without_reading_its_acknowledgements(self):
        self.limited(frame(PING, 0, 0, b"12345678"))

    def test_acknowledgements_of_nothing(self):
        self.flood(frame(SETTINGS, ACK, 0), total_bytes=4 << 20)
        self.flood(frame(PING, ACK, 0, b"12345678"), total_bytes=4 << 20)

    def test_priority_and_window_updates_of_streams_that_never_were(self):
        self.flood(lambda n: frame(PRIORITY, 0, 2 * n + 1, struct.pack(">IB", 0, 16)), total_bytes=8 << 20)
        self.flood(lambda n: frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)), total_bytes=4 << 20)

    def test_empty_data_without_end(self):
        self.flood(frame(DATA, 0, 1), total_bytes=8 << 20, prologue=frame(HEADERS, END_HEADERS, 1, request_headers(ECHO)))

    def test_unknown_frames(self):
        self.flood(frame(0xbe, 0, 0, b"x" * 1000), total_bytes=8 << 20)

    # ---- Large things. ----
    def test_header_block_that_is_too_large(self):
        with Connection(self.server.port) as c:
            try:
                data, code = c.reply(c.call(ECHO, b"x", *[("x-%d" % i, "y" * 1000) for i in range(15)], ("x-last", "z" * 1500)))
                self.assertEqual(data, b"")
            except Closed:
                pass

    def test_small_block_that_names_a_large_header_ever_again(self):
        """One header of 4000 bytes goes into the table; then a byte each names it: an amplification of 4000."""
        large = b"\x40" + literal("x-bomb", "b" * 3900)[1:]
        with Connection(self.server.port) as c:
            with self.assertRaises(Closed):
                c.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, request_headers(HOLD) + large))
                for n in range(1, 50):
                    c.send(frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, request_headers(HOLD) + b"\xbe" * 16000))
                c.reply(99)

    def test_message_that_is_larger_than_it_may_be(self):
        with Connection(self.server.port) as c:
            c.send(frame(HEADERS, END_HEADERS, 1, request_headers(ECHO)) + frame(DATA, 0, 1, b"\x00\xff\xff\xff\xff" + b"x" * 1000))
            data, _ = c.reply(1)
            self.assertEqual(data, b"")

    def test_messages_that_are_announced_and_never_come(self):
        """100 streams say that 4 MiB follow: what they say must not be allocated, or be given back when they stall."""
        with Connection(self.server.port) as c:
            for n in range(100):
                stream = 2 * n + 1
                c.send(frame(HEADERS, END_HEADERS, stream, request_headers(ECHO)) +
                       frame(DATA, 0, stream, b"\x00" + struct.pack(">I", 4 << 20) + b"x" * 100))
            self.honest.wait_for(5)
            self.assertLess(self.server.memory_mb() - self.before_mb, GROWTH_MB)
            self.assertTrue(self.ends(c))

    def ends(self, c):
        """The server ends the connection, or resets its streams, within its stall time-out (and our patience)."""
        end = time.monotonic() + DEADLINE_S
        try:
            while time.monotonic() < end:
                kind, _, stream, _ = c.read_frame()
                if kind == RST_STREAM or (kind == HEADERS and stream):
                    return True
        except Closed:
            return True
        return False

    # ---- Peers that wait. ----
    def test_zero_window_and_large_replies(self):
        with Connection(self.server.port, struct.pack(">HI", INITIAL_WINDOW, 0)) as c:
            for _ in range(50):
                c.call(REPEAT, b"x" * 16000, ("x-count", "10000"))
            self.honest.wait_for(10)
            self.assertLess(self.server.memory_mb() - self.before_mb, GROWTH_MB)
            c.closes()

    def test_reader_that_does_not_read(self):
        settings = struct.pack(">HI", INITIAL_WINDOW, (1 << 31) - 1)
        with Connection(self.server.port, settings) as c:
            c.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", (1 << 31) - 1 - 65535)))
            for _ in range(20):
                c.call(REPEAT, b"x" * 16000, ("x-count", "100000"))
            self.honest.wait_for(10)
            self.assertLess(self.server.memory_mb() - self.before_mb, GROWTH_MB)
            time.sleep(2 * STALL_MS / 1000)
            c.closes()

    def test_reader_of_a_byte_at_a_time(self):
        """Slow is not stalled: it is served on, at its pace, and holds little."""
        settings = struct.pack(">HI", INITIAL_WINDOW, (1 << 31) - 1)
        with Connection(self.server.port, settings) as c:
            c.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", (1 << 31) - 1 - 65535)))
            c.call(REPEAT, b"x" * 16000, ("x-count", "100000"))
            for _ in range(50):
                c.socket.recv(1)
                time.sleep(0.01)
            self.honest.wait_for(5)
            self.assertLess(self.server.memory_mb() - self.before_mb, GROWTH_MB)

    def test_half_of_anything_is_given_up(self):
        whole = PREFACE + frame(SETTINGS, 0, 0)
        headers = frame(HEADERS, END_HEADERS, 1, request_headers(ECHO))
        data = frame(DATA, END_STREAM, 1, message(b"x" * 1000))
        for label, bytes_sent in (("nothing", b""), ("half a preface", PREFACE[:10]), ("no settings", PREFACE),
                                  ("half a frame's head", whole + headers[:5]), ("half a header block", whole + headers[:30]),
                                  ("half a DATA frame", whole + headers + data[:500]),
                                  ("half a message", whole + headers + frame(DATA, 0, 1, message(b"x" * 1000)[:500]))):
            with self.subTest(label), Connection(self.server.port, handshake=False) as c:
                c.send(bytes_sent)
                self.assertTrue(self.ends(c))

    def test_connections_that_only_stand_there(self):
        descriptors = self.server.descriptors()
        all_of_them = [Connection(self.server.port, handshake=False) for _ in range(200)]
        self.honest.wait_for(5)
        for c in all_of_them:
            c.closes()
            c.socket.close()
        end = time.monotonic() + DEADLINE_S
        while self.server.descriptors() > descriptors and time.monotonic() < end:
            time.sleep(0.05)
        self.assertLessEqual(self.server.descriptors(), descriptors)

    # ---- Strangers. ----
    def test_other_protocols_and_noise(self):
        noise = random.Random(1)
        for data in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500), b"\x00" * 1000,
                     b"SSH-2.0-OpenSSH_9.2\r\n", PREFACE[:-1] + b"X", *(noise.randbytes(400) for _ in range(20)),
                     *(PREFACE + frame(SETTINGS, 0, 0) + noise.randbytes(400) for _ in range(20))):
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as s:
                s.sendall(data)
                try:
                    while s.recv(65536):
                        pass
                except ConnectionResetError:
                    pass

    def test_what_clients_left_is_not_held(self):
        with Connection(self.server.port) as c:
            for _ in range(50):
                c.call(HOLD, b"x")
            c.send(frame(PING, 0, 0, b"12345678"))
            while c.read_frame()[0] != PING:
                pass
        end, seen = time.monotonic() + DEADLINE_S, b""
        with Connection(self.server.port) as c:
            while b"held 0 " not in seen:
                self.assertLess(time.monotonic(), end, "calls of clients that have left are held: %r" % seen)
                seen, _ = c.reply(c.call(COUNT, b""))


if __name__ == "__main__":
    main()

"""Misbehaving peers that send frames over a raw socket: the floods of floods.py and worse. The
server must limit each, keep answering an honest client, and keep its memory and descriptors
bounded."""
import os
import random
import socket
import struct
import time
import unittest

from echo import (ACK, CHAT, COUNT, DATA, ECHO, END_HEADERS, END_STREAM, HEADERS, HOLD, INITIAL_WINDOW, PING, PREFACE, PRIORITY, REPEAT,
                  RST_STREAM, SETTINGS, WINDOW_UPDATE, Closed, Connection, Echo, frame, literal, message, request_headers)
from floods import WINDOW_MAX, Flooded
from harness import DEADLINE_S, main

STALL_MS = 4000  # an honest client waits less even on a loaded machine
WINDOWS_MAX = struct.pack(">HI", INITIAL_WINDOW, WINDOW_MAX)
WINDOW_OF_ALL_MAX = frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW_MAX - 65535))


class Floods(Flooded, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Echo("--stall_timeout_ms=%d" % STALL_MS, "--handshake_timeout_ms=%d" % STALL_MS, "--streams_max=100",
                          "--keepalive_ms=%d" % STALL_MS, "--keepalive_timeout_ms=%d" % STALL_MS,
                          "--unsent_max_bytes=%d" % (8 << 20))
        cls.begin(cls.server.pid, cls.server.port, ECHO, lambda n: b"%d" % n, lambda sent, got: got == sent)

    @classmethod
    def tearDownClass(cls):
        try:
            cls.honest.__exit__()
        finally:
            cls.server.stop()

    # ---- Endless frames. ----
    def test_requests_beyond_the_limit_of_streams(self):
        def piece(n):
            return frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, request_headers(HOLD))
        self.flood(piece)

    def test_acknowledgements_of_nothing(self):
        self.flood(frame(SETTINGS, ACK, 0), total_bytes=4 << 20)
        self.flood(frame(PING, ACK, 0, b"12345678"), total_bytes=4 << 20)

    def test_priority_and_window_updates_of_streams_that_never_were(self):
        self.flood(lambda n: frame(PRIORITY, 0, 2 * n + 1, struct.pack(">IB", 0, 16)), total_bytes=8 << 20)
        self.flood(lambda n: frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1)), total_bytes=4 << 20)

    def test_empty_data_without_end(self):
        self.flood(frame(DATA, 0, 1), total_bytes=8 << 20, prologue=frame(HEADERS, END_HEADERS, 1, request_headers(ECHO)))

    def test_empty_messages_behind_replies_that_are_not_read(self):
        headers = frame(HEADERS, END_HEADERS, 1, request_headers(CHAT))
        reply = frame(DATA, 0, 1, message(b"x" * 16000))
        with Connection(self.server.port, struct.pack(">HI", INITIAL_WINDOW, 0)) as c:
            c.send(frame(SETTINGS, ACK, 0) + headers + reply * 200)
            for _ in range(1000):
                c.send(frame(DATA, 0, 1, message(b"") * 3000))
            self.honest.wait_for(5)
            self.assert_little_is_kept()

    def test_unknown_frames(self):
        self.flood(frame(0xbe, 0, 0, b"x" * 1000), total_bytes=8 << 20)

    # ---- Large headers and messages. ----
    def test_header_block_that_is_too_large(self):
        with Connection(self.server.port) as c:
            try:
                data, code = c.reply(c.call(ECHO, b"x", *[("x-%d" % i, "y" * 1000) for i in range(15)], ("x-last", "z" * 1500)))
                self.assertEqual(data, b"")
            except Closed:
                pass

    def test_small_block_that_names_a_large_header_ever_again(self):
        """One header of 3900 bytes enters the HPACK table. Every later byte refers to it, which
        amplifies the input almost 4000-fold."""
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
        """100 streams announce 4 MiB each. The server must not allocate the announced size, or must
        free it when a stream stalls."""
        with Connection(self.server.port) as c:
            for n in range(100):
                stream = 2 * n + 1
                c.send(frame(HEADERS, END_HEADERS, stream, request_headers(ECHO)) +
                       frame(DATA, 0, stream, b"\x00" + struct.pack(">I", 4 << 20) + b"x" * 100))
            self.honest.wait_for(5)
            self.assert_little_is_kept()
            self.assertTrue(self.ends(c))

    def ends(self, c):
        """Whether the server ends the connection or a stream within DEADLINE_S. The stall timeout
        is shorter."""
        end = time.monotonic() + DEADLINE_S
        try:
            while time.monotonic() < end:
                kind, _, stream, _ = c.read_frame()
                if kind == RST_STREAM or (kind == HEADERS and stream):
                    return True
        except Closed:
            return True
        return False

    # ---- Peers that stall. ----
    def test_zero_window_and_large_replies(self):
        with Connection(self.server.port, struct.pack(">HI", INITIAL_WINDOW, 0)) as c:
            for _ in range(50):
                c.call(REPEAT, b"x" * 16000, ("x-count", "10000"))
            self.honest.wait_for(10)
            self.assert_little_is_kept()
            c.closes()

    def test_reader_that_does_not_read(self):
        with Connection(self.server.port, WINDOWS_MAX) as c:
            c.send(WINDOW_OF_ALL_MAX)
            for _ in range(20):
                c.call(REPEAT, b"x" * 16000, ("x-count", "100000"))
            self.honest.wait_for(10)
            self.assert_little_is_kept()
            time.sleep(2 * STALL_MS / 1000)
            c.closes()

    def test_reader_that_is_slow(self):
        """A slow reader is not stalled. The server keeps serving it and buffers little for it."""
        with Connection(self.server.port, WINDOWS_MAX, receive_bytes=65536) as c:
            c.send(WINDOW_OF_ALL_MAX)
            c.call(REPEAT, b"x" * 16000, ("x-count", "100000"))
            end = time.monotonic() + 2 * STALL_MS / 1000
            while time.monotonic() < end:
                self.assertTrue(c.socket.recv(65536))
                # The server's PING may be anywhere in the unread bytes: acknowledge it unseen.
                c.send(frame(PING, ACK, 0, b"12345678"))
                time.sleep(0.05)
            self.honest.wait_for(5)
            self.assert_little_is_kept()

    def test_half_of_anything_is_given_up(self):
        whole = PREFACE + frame(SETTINGS, 0, 0)
        headers = frame(HEADERS, END_HEADERS, 1, request_headers(ECHO))
        data = frame(DATA, END_STREAM, 1, message(b"x" * 1000))
        halves = (("nothing", b""), ("half a preface", PREFACE[:10]), ("no settings", PREFACE),
                  ("half a frame's head", whole + headers[:5]), ("half a header block", whole + headers[:30]),
                  ("half a DATA frame", whole + headers + data[:500]),
                  ("half a message", whole + headers + frame(DATA, 0, 1, message(b"x" * 1000)[:500])))
        connections = [Connection(self.server.port, handshake=False) for _ in halves]
        for (_, half), c in zip(halves, connections):
            c.send(half)
        for (label, _), c in zip(halves, connections):
            with self.subTest(label), c:
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

    # ---- Other protocols, and clients that leave. ----
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

"""Starts an echo_server (tests/rpc/echo_server.c) and talks to it frame by frame, so that a test
can violate HTTP/2.

    with Echo("--stall_timeout_ms=500") as server, Connection(server.port) as c:
        stream = c.call("/slipway.test.Echo/Echo", b"x")
        reply, trailers = c.reply(stream)
"""
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

from harness import DEADLINE_S, SANITIZER, clean_environment, read_log, start

BUILD = os.environ.get("SLIPWAY_BUILD") or os.path.join(os.path.dirname(__file__), "..", "..", "build", "dev")
ECHO, FAIL, REPEAT, CHAT, HOLD, COUNT = ("/slipway.test.Echo/" + m for m in ("Echo", "Fail", "Repeat", "Chat", "Hold", "Count"))

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS = 1, 1, 4
INITIAL_WINDOW = 4  # a SETTINGS identifier


def built(name):
    path = os.path.abspath(os.path.join(BUILD, "tests", name))
    if not os.access(path, os.X_OK):
        raise RuntimeError("%s is not built: cmake --build --preset dev" % path)
    return path


def certificates(directory):
    """Writes ca.pem and the .pem and .key files of server, client and stranger to the directory."""
    subprocess.run([built("make_certificates"), directory], check=True)


# AddressSanitizer quarantines freed memory. A small quarantine keeps it out of memory_mb.
ASAN_OPTIONS = "quarantine_size_mb=4:" + os.environ.get("ASAN_OPTIONS", "")


def memory_mb(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


class Echo:
    """Leaving the block sends SIGTERM. It fails if the server exits non-zero or a sanitizer reports
    an error."""

    def __init__(self, *flags, address="127.0.0.1:0"):
        self.log = tempfile.TemporaryFile()
        environment = clean_environment(ASAN_OPTIONS=ASAN_OPTIONS)
        self.process = start([built("echo_server"), "--address=" + address, *flags], stdout=subprocess.PIPE, stderr=self.log,
                             env=environment)
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on "):
            self.process.wait()
            raise AssertionError("echo_server did not start: " + self.output())
        self.port = int(line.split()[-1])

    def output(self):
        return read_log(self.log)

    @property
    def pid(self):
        return self.process.pid

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("echo_server did not end: " + self.output())
        finally:
            self.process.stdout.close()
        if status != 0 or SANITIZER.search(self.output().encode()):
            raise AssertionError("echo_server exited %d: %s" % (status, self.output()[-6000:]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def literal(name, value):
    """An HPACK literal without indexing or Huffman coding."""
    def text(t):
        t = t.encode() if isinstance(t, str) else t
        length, out = len(t), b""
        if length < 127:
            return bytes((length,)) + t
        length, out = length - 127, b"\x7f"
        while length >= 128:
            out, length = out + bytes((length % 128 + 128,)), length // 128
        return out + bytes((length,)) + t
    return b"\x00" + text(name) + text(value)


def request_headers(path, *more):
    fields = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"), ("te", "trailers"),
              ("content-type", "application/grpc")] + list(more)
    return b"".join(literal(n, v) for n, v in fields)


def message(data):
    return b"\x00" + struct.pack(">I", len(data)) + data


class Closed(Exception):
    """The server has closed the connection. goaway: the error code of its last GOAWAY, or None."""

    def __init__(self, goaway):
        super().__init__("closed, GOAWAY %s" % goaway)
        self.goaway = goaway


class Connection:
    def __init__(self, port, settings=b"", handshake=True, receive_bytes=None):
        """receive_bytes: the size of the kernel's receive buffer."""
        self.socket = socket.socket()
        self.socket.settimeout(DEADLINE_S)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.goaway, self.next_stream, self.unread = b"", None, 1, 0
        if handshake:
            self.send(PREFACE + frame(SETTINGS, 0, 0, settings))

    def send(self, data):
        """Sends all of data. Raises Closed if the server has closed the connection."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            self.drain()
            raise Closed(self.goaway) from None

    def try_send(self, data):
        """Sends as much as the socket takes without blocking. Returns the number of bytes."""
        try:
            return self.socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except (BrokenPipeError, ConnectionResetError):
            self.drain()
            raise Closed(self.goaway) from None

    def drain(self):
        """Reads the frames that the server sent before it closed, to record its GOAWAY."""
        try:
            while True:
                self.read_frame()
        except (Closed, OSError):
            pass

    def read_frame(self, timeout=DEADLINE_S):
        """Returns (type, flags, stream, payload). Acknowledges nothing."""
        self.socket.settimeout(timeout)
        while True:
            if len(self.buffer) >= 9:
                size = int.from_bytes(self.buffer[:3], "big")
                if len(self.buffer) >= 9 + size:
                    kind, flags, stream = self.buffer[3], self.buffer[4], int.from_bytes(self.buffer[5:9], "big")
                    payload, self.buffer = self.buffer[9:9 + size], self.buffer[9 + size:]
                    if kind == GOAWAY:
                        self.goaway = int.from_bytes(payload[4:8], "big")
                    return kind, flags, stream, payload
            try:
                more = self.socket.recv(1 << 20)
            except ConnectionResetError:
                more = b""
            if not more:
                raise Closed(self.goaway)
            self.buffer += more

    def call(self, path, data=None, *more, end=True):
        """Begins a call. Returns its stream."""
        stream = self.next_stream
        self.next_stream += 2
        headers = frame(HEADERS, END_HEADERS, stream, request_headers(path, *more))
        self.send(headers + (frame(DATA, END_STREAM if end else 0, stream, message(data)) if data is not None else b""))
        return stream

    def reply(self, stream, timeout=DEADLINE_S):
        """Reads until the stream ends. Returns its data without gRPC's prefix, and the RST_STREAM
        code or None."""
        data = b""
        while True:
            kind, flags, which, payload = self.read_frame(timeout)
            if kind == SETTINGS and not flags & ACK:
                self.send(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                self.send(frame(PING, ACK, 0, payload))
            elif which == stream and kind == RST_STREAM:
                return data[5:], int.from_bytes(payload, "big")
            elif which == stream and kind in (DATA, HEADERS):
                if kind == DATA:
                    data += payload
                    self.read_back(stream, len(payload), flags & END_STREAM)
                if flags & END_STREAM:
                    return data[5:], None

    def read_back(self, stream, size, ended):
        """Returns flow-control credit for bytes that were read."""
        self.unread += size
        if self.unread >= 16384:
            self.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", self.unread)))
            self.unread = 0
        if size and not ended:
            self.send(frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", size)))

    def closes(self, timeout=DEADLINE_S):
        """Skips frames until the server closes. Returns the error code of its GOAWAY."""
        end = time.monotonic() + timeout
        try:
            while time.monotonic() < end:
                self.read_frame(max(0.01, end - time.monotonic()))
        except Closed as e:
            return e.goaway
        except OSError:
            pass
        raise AssertionError("the server did not close the connection in %g s" % timeout)

    def closed(self):
        """Whether the server has closed the connection. Does not wait."""
        if not select.select([self.socket], [], [], 0)[0]:
            return False
        try:
            return self.socket.recv(1, socket.MSG_PEEK) == b""
        except ConnectionResetError:
            return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class Honest:
    """Calls the server in a loop while a test floods it; every call must get the right answer.
    request(n) returns the n-th message. good(sent, got) checks an answer."""

    def __init__(self, port, path, request, good):
        self.port, self.path, self.request, self.good = port, path, request, good
        self.answered, self.wrong = 0, None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)

    def work(self):
        try:
            with Connection(self.port) as c:
                while not self.stopping.is_set():
                    data = self.request(self.answered)
                    got, reset = c.reply(c.call(self.path, data))
                    if reset is not None or not self.good(data, got):
                        raise AssertionError("%s of %r gave %r, reset %s" % (self.path, data, got, reset))
                    self.answered += 1
                    time.sleep(0.002)
        except Exception as e:  # wait_for raises it in the test's thread
            self.wrong = e

    def wait_for(self, more):
        """Waits until `more` further calls are answered."""
        target, end = self.answered + more, time.monotonic() + DEADLINE_S
        while self.answered < target and self.wrong is None:
            if time.monotonic() > end:
                raise AssertionError("an honest client got no answer in %g s" % DEADLINE_S)
            time.sleep(0.005)
        if self.wrong is not None:
            raise self.wrong

    def __enter__(self):
        self.thread.start()
        self.wait_for(1)
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join(DEADLINE_S)
        if self.wrong is not None:
            raise self.wrong

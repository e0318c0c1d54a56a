"""Writes tests/fuzz/corpus/grpc_server and grpc_client: valid and broken connections.

    PYTHONPATH=tests/rpc:tests/e2e python3 tests/fuzz/make_grpc_corpus.py

Bit 0 of the first byte asks for a valid beginning in front of the rest. Its other bits are the
number of bytes per write (0: all at once).
"""
import os
import struct
import zlib

from echo import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PREFACE, PRIORITY, PUSH_PROMISE, RST_STREAM,
                  SETTINGS, WINDOW_UPDATE, frame, literal, message, request_headers)

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
PADDED, PRIORITIES = 8, 0x20


def write(target, name, data, cut=0, begun=True):
    directory = os.path.join(HERE, target)
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, name), "wb") as f:
        f.write(bytes((cut << 1 | begun,)) + data)


def call(path, *messages, stream=1, more=(), end=True):
    data = b"".join(message(m) for m in messages)
    return frame(HEADERS, END_HEADERS, stream, request_headers(path, *more)) + frame(DATA, END_STREAM if end else 0, stream, data)


def window(stream, by):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", by))


def setting(identifier, value):
    return struct.pack(">HI", identifier, value)


def server():
    def seed(name, data, **options):
        write("grpc_server", name, data, **options)
    echo = call("/t/Echo", b"hello")
    seed("unary", echo)
    seed("by_bytes", echo, cut=1)
    seed("by_sevens", echo + call("/t/Repeat", b"x", stream=3), cut=7)
    seed("whole_beginning", PREFACE + frame(SETTINGS, 0, 0, setting(4, 70000) + setting(5, 20000) + setting(6, 1000)) + echo, begun=False)
    seed("empty", call("/t/Echo", b""))
    seed("payload", call("/t/Payload", b"\x0a\x03abc\x7a\x05bytes"))
    seed("payload_cut", call("/t/Payload", b"\x0a\x03abc\x7a\x50bytes"), cut=3)
    seed("payload_first", call("/t/Payload", b"\x7a\x05bytes\x08\x01"))
    seed("replies", call("/t/Repeat", b"x"))
    seed("chat", call("/t/Chat", b"a", b"", b"c", end=False) + frame(DATA, END_STREAM, 1, message(b"last")))
    seed("two_for_unary", call("/t/Echo", b"a", b"b"))
    seed("none_for_unary", frame(HEADERS, END_HEADERS | END_STREAM, 1, request_headers("/t/Echo")))
    seed("half_message", frame(HEADERS, END_HEADERS, 1, request_headers("/t/Echo")) + frame(DATA, END_STREAM, 1, message(b"abcdef")[:7]))
    seed("large_announced", frame(HEADERS, END_HEADERS, 1, request_headers("/t/Echo")) + frame(DATA, 0, 1, b"\x00\x7f\xff\xff\xff"))
    seed("large_allowed", frame(HEADERS, END_HEADERS, 1, request_headers("/t/Echo")) + frame(DATA, 0, 1, b"\x00\x00\x0f\xff\xff" + b"x" * 3000))
    seed("gzip", call("/t/Echo", more=(("grpc-encoding", "gzip"),), end=False) +
         frame(DATA, END_STREAM, 1, b"\x01" + message(zlib.compress(b"x" * 1000, wbits=31))[1:]))
    seed("odd_flag", frame(HEADERS, END_HEADERS, 1, request_headers("/t/Echo")) + frame(DATA, END_STREAM, 1, b"\x07\0\0\0\1x"))
    seed("timeouts", b"".join(call("/t/Hold", b"", stream=2 * n + 1, more=(("grpc-timeout", t),))
                              for n, t in enumerate(("1n", "0S", "5m", "99999999H", "x", "123456789S", "-1S"))))
    seed("metadata", call("/t/Echo", b"m", more=(("x-echo", "v" * 300), ("x-echo-bin", "AAEC"), ("x-bad-bin", "***"), ("x-empty", ""))))
    seed("trailers", frame(HEADERS, END_HEADERS, 1, request_headers("/t/Echo")) + frame(DATA, 0, 1, message(b"t")) +
         frame(HEADERS, END_HEADERS | END_STREAM, 1, literal("x-last", "1")))
    seed("continued", frame(HEADERS, 0, 1, request_headers("/t/Echo")[:40]) + frame(CONTINUATION, 0, 1, request_headers("/t/Echo")[40:80]) +
         frame(CONTINUATION, END_HEADERS, 1, request_headers("/t/Echo")[80:]) + frame(DATA, END_STREAM, 1, message(b"c")))
    seed("padded", frame(HEADERS, END_HEADERS | PADDED | PRIORITIES, 1, b"\x03" + struct.pack(">IB", 0, 7) + request_headers("/t/Echo") + b"\0\0\0") +
         frame(DATA, END_STREAM | PADDED, 1, b"\x05" + message(b"p") + b"\0" * 5))
    seed("indexed", frame(HEADERS, END_HEADERS, 1, b"\x83\x86\x44\x07/t/Echo\x40" + literal("content-type", "application/grpc")[1:]) +
         frame(DATA, END_STREAM, 1, message(b"i")) + frame(HEADERS, END_HEADERS | END_STREAM, 3, b"\x83\x86\xbe\xbf\xc0"))
    seed("no_grpc", frame(HEADERS, END_HEADERS | END_STREAM, 1, literal(":method", "GET") + literal(":scheme", "http") + literal(":path", "/")))
    seed("unknown", call("/t/None", b"x") + call("", b"x", stream=3))
    seed("reset", call("/t/Hold", b"") + frame(RST_STREAM, 0, 1, struct.pack(">I", 8)))
    seed("many", b"".join(call("/t/Echo", b"%d" % n, stream=2 * n + 1) for n in range(15)))
    seed("windows", frame(SETTINGS, 0, 0, setting(4, 0)) + call("/t/Repeat", b"x") + window(1, 3) + window(1, 100) + window(0, 1 << 30) +
         frame(SETTINGS, 0, 0, setting(4, 5)))
    seed("overflow", call("/t/Hold", b"") + window(1, 0x7fffffff) + window(0, 0x7fffffff))
    seed("control", frame(PING, 0, 0, b"12345678") + frame(PING, ACK, 0, b"12345678") + frame(SETTINGS, ACK, 0) + frame(PRIORITY, 0, 1, struct.pack(">IB", 3, 1)) +
         frame(0xbe, 9, 1, b"unknown") + frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0) + b"bye") + echo)
    seed("wrong_stream", frame(DATA, 0, 5, b"x"))
    seed("wrong_length", frame(PING, 0, 0, b"123"))
    seed("pushed", frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 2) + request_headers("/t/Echo")))
    seed("http1", b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", begun=False)
    seed("table_size", frame(SETTINGS, 0, 0, setting(1, 0)) + frame(HEADERS, END_HEADERS, 1, b"\x3f\xe1\x1f" + request_headers("/t/Echo")) +
         frame(DATA, END_STREAM, 1, message(b"s")))


def client():
    def seed(name, data, **options):
        write("grpc_client", name, data, **options)

    def reply(*messages, stream=1, status="0", text=None, head=b"\x88"):
        trailers = literal("grpc-status", status) + (literal("grpc-message", text) if text else b"")
        return (frame(HEADERS, END_HEADERS, stream, head + literal("content-type", "application/grpc")) +
                frame(DATA, 0, stream, b"".join(message(m) for m in messages)) + frame(HEADERS, END_HEADERS | END_STREAM, stream, trailers))
    seed("reply", reply(b"hello"))
    seed("by_bytes", reply(b"hello"), cut=1)
    seed("whole_beginning", frame(SETTINGS, 0, 0, setting(3, 1) + setting(4, 70000) + setting(5, 20000)) + reply(b"x"), begun=False)
    seed("empty", reply(b""))
    seed("payload", reply(b"\x0a\x03abc\x7a\x05bytes"), cut=4)
    seed("several", reply(b"a", b"b", b"c"))
    seed("none", reply())
    seed("failed", reply(status="5", text="no %27x%27 %E4%zz"))
    seed("failed_at_once", frame(HEADERS, END_HEADERS | END_STREAM, 1, b"\x88" + literal("grpc-status", "14") + literal("grpc-message", "")))
    seed("odd_status", reply(b"x", status="99999999999") + reply(b"x", status="-1", stream=3))
    seed("no_status", frame(HEADERS, END_HEADERS, 1, b"\x88") + frame(DATA, END_STREAM, 1, message(b"x")))
    seed("http_404", frame(HEADERS, END_HEADERS, 1, literal(":status", "404") + literal("content-type", "text/html")) + frame(DATA, END_STREAM, 1, b"<html>"))
    seed("informational", frame(HEADERS, END_HEADERS, 1, literal(":status", "103")) + reply(b"x"))
    seed("half", frame(HEADERS, END_HEADERS, 1, b"\x88") + frame(DATA, END_STREAM, 1, message(b"abc")[:6]))
    seed("large", frame(HEADERS, END_HEADERS, 1, b"\x88") + frame(DATA, 0, 1, b"\x00\xff\xff\xff\xff"))
    seed("compressed", frame(HEADERS, END_HEADERS, 1, b"\x88" + literal("grpc-encoding", "gzip")) + frame(DATA, 0, 1, b"\x01\0\0\0\1x"))
    seed("reset", frame(RST_STREAM, 0, 1, struct.pack(">I", 7)))
    seed("reset_calm", frame(RST_STREAM, 0, 1, struct.pack(">I", 11)))
    seed("away", frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0) + b"shutting down"))
    seed("away_later", frame(GOAWAY, 0, 0, struct.pack(">II", 0x7fffffff, 0)) + reply(b"x") + frame(GOAWAY, 0, 0, struct.pack(">II", 1, 11) + b"too_many_pings"))
    seed("pushed", frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 2) + request_headers("/x")) + reply(b"x"))
    seed("headers_of_nobody", reply(b"x", stream=7))
    seed("http1", b"HTTP/1.1 400 Bad Request\r\n\r\n", begun=False)
    seed("tls_alert", b"\x15\x03\x01\0\2\2\x46", begun=False)
    seed("ping", frame(PING, 0, 0, b"12345678") + frame(PING, ACK, 0, b"abcdefgh") + reply(b"x"))


server()
client()

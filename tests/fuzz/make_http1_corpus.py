"""Writes tests/fuzz/corpus/http1: valid, unusual and broken requests.

    python3 tests/fuzz/make_http1_corpus.py

The first byte is the number of bytes per write (0: all at once).
"""
import gzip
import os

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "http1")
ASK = b"POST /v1/models/m:predict HTTP/1.1\r\n"
BODY = b'{"instances":[[1.0]]}'
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = ASK + b"Host: x\r\nTransfer-Encoding: chunked\r\n\r\n"

SEEDS = {
    "ask": ASK + b"Host: x\r\n" + LENGTH + b"\r\n" + BODY,
    "status": b"GET /v1/models/m HTTP/1.1\r\nHost: x\r\n\r\n",
    "metadata": b"GET /v1/models/m/versions/7/metadata HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "pipelined": (b"GET /v1/models/m HTTP/1.1\r\nHost: x\r\n\r\n" + ASK + b"Host: x\r\n" + LENGTH + b"\r\n" + BODY) * 20,
    "http10": b"GET /v1/models/m HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
    "preflight": b"OPTIONS /v1/models/m HTTP/1.1\r\nHost: x\r\nOrigin: http://a.example\r\n\r\n",
    "head": b"HEAD /v1/models/m HTTP/1.1\r\nHost: x\r\n\r\n",
    "absolute": b"GET http://x:1/v1/models/m HTTP/1.1\r\nHost: x:1\r\n\r\n",
    "expect": ASK + b"Host: x\r\nExpect: 100-continue\r\n" + LENGTH + b"\r\n" + BODY,
    "gzip": ASK + b"Host: x\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(gzip.compress(BODY, mtime=0)) + gzip.compress(BODY, mtime=0),
    "chunks": CHUNKED + b"5;a=b\r\n" + BODY[:5] + b"\r\n10\r\n" + BODY[5:] + b"\r\n0\r\nA: b\r\n\r\n",
    "extension": CHUNKED + b"15;" + b"a" * 20000,
    "trailers": CHUNKED + b"0\r\n" + b"A: b\r\n" * 1000,
    "bad_chunk": CHUNKED + b"ffffffffffffffff\r\n",
    "two_lengths": ASK + b"Host: x\r\n" + LENGTH + b"Content-Length: 5\r\n\r\n" + BODY,
    "length_and_chunks": ASK + b"Host: x\r\n" + LENGTH + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "identity": ASK + b"Host: x\r\nTransfer-Encoding: identity\r\n" + LENGTH + b"\r\n" + BODY,
    "too_long": ASK + b"Host: x\r\nContent-Length: 99999999\r\n\r\n" + BODY,
    "nul": ASK + b"Host: x\r\nA\0: b\0\r\n\r\n",
    "no_host": b"GET /v1/models/m HTTP/1.1\r\n\r\n",
    "large_head": b"GET /v1/models/m HTTP/1.1\r\nHost: x\r\nA: " + b"b" * (17 << 10),
    "half": (ASK + b"Host: x\r\n" + LENGTH + b"\r\n" + BODY)[:-5],
    "http2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "tls": b"\x16\x03\x01\x00\x05hello",
    "beginning": b"PR",
}

os.makedirs(HERE, exist_ok=True)
for name, data in SEEDS.items():
    cut = {"ask": 7, "chunks": 1, "beginning": 1, "pipelined": 100}.get(name, 0)
    with open(os.path.join(HERE, name), "wb") as f:
        f.write(bytes((cut,)) + data)

"""Writes tests/fuzz/corpus/ps: a valid request per method of a ps, sequences of such requests, and
mutations of both, whose seed is fixed.

    python3 tests/fuzz/make_ps_corpus.py

An input is up to 8 requests; fuzz_ps.c describes their format and the variables of the ps. The
header fields are those of proto/training.proto."""
import os
import random
import re
import struct

METHODS = ["join", "create", "pull", "push", "hold", "cut", "read", "drop", "finish", "await", "write", "open", "heartbeat", "stop", "pass", "take", "totals"]
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "corpus", "ps")
# A ps rejects another version of the protocol, or another placement, early.
with open(os.path.join(HERE, "../../trainer/protocol/protocol.h")) as header:
    PROTOCOL = int(re.search(r"#define PROTOCOL_VERSION (\d+)", header.read()).group(1))
PLACEMENT = 524859057050760945  # the hash of fuzz_ps.c's placement on one ps
GRADIENTS = struct.pack("<14f", *[0.5] * 14)  # of w and b
DIVIDED = struct.pack("<6f", *[0.5] * 6)  # of norm and its vector, behind all others
ROWS = struct.pack("<4f", *[0.25] * 4)  # gradients of two rows of emb


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


class F64(int):
    """A fixed64."""


def double(value):
    return F64(struct.unpack("<Q", struct.pack("<d", value))[0])


def keys(*values):
    """A list of keys, whose sign bits are flipped, as differences."""
    out, least = b"", 0
    for value in values:
        out += varint(value + 2**63 - least)
        least = value + 2**63 + 1
    return out


def message(**fields):
    """Encodes the fields f1=…, f2=…: an int as a varint, a float as fixed32, an F64 as fixed64.
    A list repeats its field."""
    out = b""
    for name, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            number = int(name[1:]) << 3
            if isinstance(value, F64):
                out += varint(number | 1) + struct.pack("<Q", value)
            elif isinstance(value, float):
                out += varint(number | 5) + struct.pack("<f", value)
            elif isinstance(value, int):
                out += varint(number) + varint(value)
            else:
                value = value.encode() if isinstance(value, str) else value
                out += varint(number | 2) + varint(len(value)) + value
    return out


def request(method, payload=b"", **fields):
    header = message(**fields)
    return struct.pack("<BHB", METHODS.index(method), len(header), len(payload)) + header + payload


def identity(index, incarnation, reader=0):
    return message(f1="test", f2="worker", f3=index, f4=F64(incarnation), f5="a:1,b:1", f6=F64(PLACEMENT), f8=PROTOCOL, f9=reader)


def ticket(worker, incarnation, reader=0):
    return message(f1=worker, f2=F64(incarnation), f3=1, f5=reader)


CHIEF = ticket(0, 1)
READER = ticket(0, 7, 1)
APPLIED = [message(f1=0, f2=F64(1), f3=1)]
PIECES = [message(f1=i, f2=size, f3=1, f4=int(i in (1, 2, 5, 6)), f5=8 * (i > 3), f6=1) for i, size in enumerate((16, 16, 16, 8, 16, 16, 16))]
KEYS = message(f1=1, f6=2, f7=double(1), f8=4)
PIECES.append(message(f1=7, f3=1, f5=8, f6=1, f10=KEYS))


PIECES.append(message(f1=8, f2=16, f3=1, f6=1, f12=[2, 2], f13=2))
PIECES.append(message(f1=9, f2=8, f6=1, f7=1))


def gradients(*rows):
    return GRADIENTS + b"".join(rows) + DIVIDED


def push_keys(sequence):
    lists = keys(-5, 7) + keys(7, 8)
    return request("push", gradients(ROWS) + lists, f1=CHIEF, f2=sequence, f4=1, f9=len(lists), f10=[2], f11=[2])


VALID = {
    "join": request("join", f1=identity(1, 5), f2=1),
    "create": request("create", f1=identity(0, 1), f2=2, f3="lazy_adam", f4=0.1, f5=[message(f1="beta_1", f2=0.5)], f6=PIECES, f7=2, f8=1, f10=9),
    "pull": request("pull", f1=CHIEF),
    "push": request("push", gradients(), f1=CHIEF, f2=1, f3=0, f4=1),
    # rows as differences: 1 and 4 are 1, 2
    "pull_rows": request("pull", b"\1\2", f1=CHIEF, f5=2),
    "pull_piece_of_rows": request("pull", b"\2\0", f1=CHIEF, f3=5, f4=6, f5=2),
    "pull_row_of_none": request("pull", b"\6", f1=CHIEF, f5=1),
    "pull_long_row": request("pull", b"\xff" * 9 + b"\1", f1=CHIEF, f5=1),
    "push_rows": request("push", gradients(ROWS) + b"\1\2" + b"\0\4", f1=CHIEF, f2=1, f4=1, f7=2, f8=2, f9=4),
    "push_rows_of_a_piece": request("push", ROWS + DIVIDED + b"\4\0", f1=CHIEF, f2=1, f5=6, f7=2, f9=2),
    "push_divided": request("push", DIVIDED, f1=CHIEF, f2=1, f5=8, f4=1),
    "push_vector_alone": request("push", DIVIDED[16:], f1=CHIEF, f2=1, f5=9, f4=1),
    "push_more_rows_than_listed": request("push", gradients(ROWS) + b"\1", f1=CHIEF, f2=1, f7=2, f9=1),
    "pull_keys": request("pull", keys(-5, 7), f1=CHIEF, f6=[2]),
    "pull_keys_and_rows": request("pull", b"\1\2" + keys(1, 4), f1=CHIEF, f5=2, f6=[2], f7=1),
    "pull_keys_before": request("pull", keys(-(2**63), 2**63 - 1), f1=CHIEF, f2=1, f6=[2]),
    "pull_more_keys_than_listed": request("pull", keys(1), f1=CHIEF, f6=[2]),
    "push_keys": push_keys(1),
    "push_keys_and_rows": request("push", gradients(ROWS, ROWS) + b"\1\2" + keys(1, 4), f1=CHIEF, f2=1, f7=2, f9=2 + len(keys(1, 4)), f10=[2]),
    "push_more_lists": request("push", gradients(ROWS) + keys(1, 4), f1=CHIEF, f2=1, f9=len(keys(1, 4)), f10=[2, 0]),
    "read_keys": request("read", f1=1, f2=7, f5=4, f7=719),
    "read_single_keys": request("read", keys(-5, 7), f1=1, f8=[2]),
    "read_single_keys_and_rows": request("read", b"\1\2" + keys(7), f1=1, f2=6, f6=2, f8=[1], f9=8),
    "read_keys_of_a_piece_by_rows": request("read", keys(7), f1=1, f2=4, f8=[1], f9=7),
    "write_keys": request("write", struct.pack("<4q", -5, 7, 1, 2) + ROWS, f1=2, f2=F64(1), f3=7, f6=2),
    "write_waiting_keys": request("write", struct.pack("<6q", 1, 2, 3, 4, 1, 1), f1=2, f2=F64(1), f3=7, f6=2, f7=1),
    "hold": request("hold", f1=CHIEF, f2=3),
    "cut": request("cut", f1=CHIEF, f2=APPLIED, f3=1, f4=3),
    "read": request("read", f1=1, f2=0, f3=0, f4=3),
    "read_rows": request("read", b"\1\2", f1=1, f6=2),
    "read_row_of_none": request("read", b"\6", f1=1, f6=1),
    "drop": request("drop", f1=CHIEF, f2=3),
    "finish": request("finish", f1=CHIEF, f2=13, f3="x", f4=1),
    "finish_identity": request("finish", f2=5, f4=1, f5=identity(0, 1)),
    "await": request("await", f1=1),
    "write": request("write", GRADIENTS[:16], f1=2, f2=F64(1), f3=0),
    "open": request("open", f1=2, f2=F64(1)),
    "heartbeat": request("heartbeat", f1=identity(1, 5)),
    "stop": request("stop", f1=CHIEF),
    "pass": request("pass", f1=CHIEF, f2=0),
    "take": request("take", f1=CHIEF, f2=1, f3=1),
    "reader_stop": request("stop", f1=READER),
    "reader_join": request("join", f1=identity(0, 7, 1), f2=1),
    "reader_heartbeat": request("heartbeat", f1=identity(0, 7, 1)),
    "reader_hold": request("hold", f1=READER, f2=4),
    "reader_cut": request("cut", f1=READER, f2=APPLIED, f4=4),
    "reader_drop": request("drop", f1=READER, f2=4),
    "reader_push": request("push", gradients(), f1=READER, f2=1),
    "reader_finish": request("finish", f1=READER, f2=13, f3="x", f4=1, f5=identity(0, 7, 1)),
}
V = VALID
SEQUENCES = {
    "snapshot": V["hold"] + V["push"] + V["cut"] + V["cut"] + V["read"] + V["hold"] + V["drop"] + V["read"],
    "held_push": V["hold"] + V["push"] + V["push"] + V["drop"] + V["pull"],
    "cut_waits": V["hold"] + V["cut"] + V["join"] + V["push"] + V["finish"],
    "new_generation": V["push"] + V["create"] + V["write"] + V["open"] + V["push"] + V["pull"],
    "replaced": V["hold"] + V["push"] + request("join", f1=identity(0, 9), f2=1) + V["push"] + V["cut"],
    "end_while_filled": V["create"] + V["finish_identity"] + V["await"] + V["join"],
    "end": V["await"] + V["join"] + V["finish"] + V["await"] + V["push"] + V["join"],
    "two_snapshots": V["reader_join"] + V["hold"] + V["reader_hold"] + V["push"] + V["cut"] + V["reader_hold"] + V["reader_cut"] + V["read"],
    "the_chief_goes_first": V["reader_join"] + V["reader_hold"] + V["push"] + V["hold"] + V["reader_cut"] + V["cut"] + V["reader_drop"],
    "another_reader": V["reader_join"] + V["reader_hold"] + V["push"] + request("join", f1=identity(0, 8, 1)) + V["reader_cut"],
    "rows": V["pull_rows"] + V["push_rows"] + V["push_rows"] + V["pull_rows"] + V["pull_piece_of_rows"],
    "rows_in_chunks": request("push", GRADIENTS, f1=CHIEF, f2=1, f6=4) + V["push_rows_of_a_piece"]
    + request("push", ROWS + b"\0\2", f1=CHIEF, f2=1, f5=4, f6=6, f7=2, f9=2) + V["pull_rows"],
    "rows_of_a_snapshot": V["hold"] + V["push_rows"] + V["cut"] + request("read", f1=1, f2=5) + V["push_rows"] + request("read", f1=1, f2=5)
    + V["read_rows"],
    "keys": V["pull_keys"] + V["push_keys"] + V["pull_keys"] + V["pull_keys_and_rows"],
    "keys_of_a_snapshot": V["push_keys"] + V["hold"] + V["cut"] + V["push_keys_and_rows"] + V["read_keys"] + V["read_keys"],
    "single_keys_of_a_snapshot": push_keys(1) + push_keys(2) + V["hold"] + request("cut", f1=CHIEF, f2=[message(f1=0, f2=F64(1), f3=2)], f4=3)
    + V["read_single_keys"] + push_keys(3) + V["read_single_keys"] + V["read_single_keys_and_rows"],
    "keys_written": V["create"] + V["write_keys"] + V["write_waiting_keys"] + V["write_keys"] + V["open"] + V["pull_keys"],
    "rows_before": request("create", f1=identity(0, 1), f2=2, f3="ftrl", f4=0.1, f6=PIECES, f7=1, f8=1, f12=1) + V["pull_rows"],
    "pass_after_a_push": V["push"] + V["pass"] + request("pass", f1=CHIEF, f2=1) + request("pass", f1=CHIEF, f2=99) + V["finish"],
    "limited_lead": request("create", f1=identity(0, 1), f2=2, f3="sgd", f4=0.1, f6=PIECES, f7=1, f18=1) + V["pass"] + V["push"] + V["pass"],
    "shares": request("create", f1=identity(0, 1), f2=2, f3="sgd", f4=0.1, f6=PIECES, f7=1, f10=20, f21=4, f22=[9, 1, 2, 5, 1]) + V["write"] + V["open"]
    + V["take"] + request("take", f1=CHIEF, f2=2) + request("push", gradients(), f1=CHIEF, f2=1, f12=2) + V["hold"] + V["cut"],
    "totals": request("create", f1=identity(0, 1), f2=2, f3="sgd", f4=0.1, f6=PIECES, f7=1, f10=20, f23=2) + V["write"] + V["open"]
    + request("push", gradients(), f1=CHIEF, f2=1, f13=[double(10), double(4.5)]) + request("totals", f1=CHIEF)
    + request("push", gradients(), f1=CHIEF, f2=2, f13=[double(10)]),
    "loss_scale": request("create", f1=identity(0, 1), f2=2, f3="sgd", f4=0.1, f6=PIECES, f7=1, f10=20, f27=message(f1=8.0, f2=2, f4=1)) + V["write"] + V["open"],
    "overflow": request("push", gradients(ROWS) + keys(1, 4), f1=CHIEF, f2=1, f9=len(keys(1, 4)), f10=[2], f14=8.0) + push_keys(2)
    + request("push", gradients(), f1=CHIEF, f2=3, f4=1, f14=-1.0) + request("push", gradients(), f1=CHIEF, f2=4, f14=16.0) + V["hold"],
    "shares_of_no_position": request("create", f1=identity(0, 1), f2=2, f3="sgd", f4=0.1, f6=PIECES, f7=1, f21=4, f22=[9, 8, 2]) + V["take"],
    "stop_early": V["reader_join"] + V["reader_stop"] + V["push"] + V["stop"] + V["push"] + V["join"],
    "all_rows": request("create", f1=identity(0, 1), f2=2, f3="ftrl", f4=0.1, f6=PIECES, f7=1, f8=1, f16=1) + V["push_rows"],
    "other_optimizers": request("create", f1=identity(0, 1), f2=2, f3="adam", f4=0.1, f6=[piece + message(f11=i % 3) for i, piece in enumerate(PIECES)],
                                f7=1, f20=[message(f1="ftrl", f2=0.1, f3=[message(f1="beta", f2=0.5)]), message(f1="sgd", f2=0.1)])
    + V["push"] + V["push_rows"] + V["hold"],
    "divided": V["push"] + V["hold"] + V["cut"] + request("push", gradients(), f1=CHIEF, f2=2, f4=1) + request("read", f1=1, f2=8)
    + request("read", f1=1, f2=9) + V["drop"],
    "divided_in_chunks": request("push", GRADIENTS, f1=CHIEF, f2=1, f6=4) + request("push", DIVIDED[:16], f1=CHIEF, f2=1, f5=4, f6=9)
    + request("push", DIVIDED[16:], f1=CHIEF, f2=1, f5=9) + V["pull"],
    "divided_otherwise": b"".join(request("create", f1=identity(0, 1), f2=2, f3="sgd", f4=0.1, f6=PIECES[:8] + pieces, f7=1) for pieces in (
        [message(f1=8, f2=16, f3=1, f6=1, f12=[2, 2], f13=2**32 - 1), PIECES[9]],
        [message(f1=8, f2=16, f3=1, f6=1, f12=[4, 4], f13=1), PIECES[9]], [PIECES[8]],
        [PIECES[8], message(f1=9, f2=12, f6=1, f7=1)])),
    "all": b"".join(V[m] for m in ("join", "heartbeat", "pull", "push", "hold", "cut", "drop", "await")),
}


def mutations(name, data, count=4):
    draw = random.Random(name)
    for i in range(count):
        mutant = bytearray(data)
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(len(mutant))
            kind = draw.randrange(4)
            if kind == 0:
                mutant[at] ^= 1 << draw.randrange(8)
            elif kind == 1:
                mutant[at] = draw.choice((0, 1, 127, 128, 255))
            elif kind == 2 and len(mutant) > 3:
                del mutant[at]
            else:
                mutant[at:at] = draw.randbytes(draw.randrange(1, 9))
        yield "%s_%d" % (name, i), bytes(mutant)


def corpus():
    """The name and the bytes of each file."""
    for name, data in [*VALID.items(), *SEQUENCES.items()]:
        yield from [(name, data), *mutations(name, data)]
    draw = random.Random(1)
    for i in range(8):
        yield "random_%d" % i, draw.randbytes(300)


def main():
    os.makedirs(OUT, exist_ok=True)
    for old in os.listdir(OUT):
        os.remove(os.path.join(OUT, old))
    for name, data in corpus():
        with open(os.path.join(OUT, name), "wb") as file:
            file.write(data)


if __name__ == "__main__":
    main()

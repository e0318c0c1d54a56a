"""Makes cases.txt: what TensorFlow's ParseExampleV2 and ParseSingleExample give for Examples good and bad.

Run with TensorFlow 2.21: python make_cases.py > cases.txt
One case: `case LABEL`, `single` or `batch`, then lines
  name HEX | serialized HEX
  sparse KEY TYPE | dense KEY TYPE SHAPE DEFAULT_SHAPE DEFAULT | ragged KEY TYPE SPLITS_TYPE
and what comes out: `error HEX` (`*` for any text), or one `out TYPE SHAPE VALUES` per output; `end`.
SHAPE is [2,?]; VALUES are hex: numbers as in memory, strings one by one with commas between.
"""
import random
import struct
import sys

import numpy as np
import tensorflow as tf

NAMES = {tf.float32: "float", tf.int64: "int64", tf.string: "string", tf.int32: "int32"}
random.seed(7)


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(kind, values, packed=True):
    if kind == "none":
        return b""
    if kind == "string":
        return field(1, b"".join(field(1, v) for v in values))
    if kind == "float":
        items = [struct.pack("<f", v) for v in values]
        body = field(1, b"".join(items)) if packed else b"".join(b"\x0d" + i for i in items)
        return field(2, body if values else b"")
    items = [varint(v) for v in values]
    body = field(1, b"".join(items)) if packed else b"".join(b"\x08" + i for i in items)
    return field(3, body if values else b"")


def entry(key, feat, swap=False):
    parts = [field(1, key), field(2, feat)]
    return field(1, b"".join(reversed(parts) if swap else parts))


def example(*entries):
    return field(1, b"".join(entries))


def hexed(data):
    return data.hex() or "-"


def shape_text(shape):
    return "[" + ",".join("?" if d is None or d < 0 else str(d) for d in shape) + "]"


def values_text(array):
    array = np.asarray(array)
    if array.dtype == object or array.dtype.kind == "S":
        return ",".join(hexed(bytes(v)) for v in array.reshape(-1)) or "="
    return hexed(np.ascontiguousarray(array).tobytes())


def run(label, serialized, sparse=(), dense=(), ragged=(), names=None, single=False):
    """sparse: (key, type); dense: (key, type, shape, default array); ragged: (key, type, splits type)"""
    print("case", label.replace(" ", "_"))
    print("single" if single else "batch")
    for n in names or []:
        print("name", hexed(n))
    for s in serialized:
        print("serialized", hexed(s))
    for k, t in sparse:
        print("sparse", hexed(k), NAMES[t])
    for k, t, s, d in dense:
        print("dense", hexed(k), NAMES[t], shape_text(s), shape_text(np.asarray(d).shape), values_text(d))
    for k, t, s in ragged:
        print("ragged", hexed(k), NAMES[t], NAMES[s])
    defaults = [tf.constant(d, dtype=t, shape=np.asarray(d).shape) for k, t, s, d in dense]
    shapes = [tf.TensorShape([None if x < 0 else x for x in s]) for k, t, s, d in dense]
    try:
        out = tf.raw_ops.ParseExampleV2(
            serialized=tf.constant(serialized[0] if single else serialized, tf.string),
            names=tf.constant(names or [], tf.string), sparse_keys=tf.constant([k for k, t in sparse], tf.string),
            dense_keys=tf.constant([k for k, t, s, d in dense], tf.string),
            ragged_keys=tf.constant([k for k, t, s in ragged], tf.string), dense_defaults=defaults,
            num_sparse=len(sparse), sparse_types=[t for k, t in sparse], ragged_value_types=[t for k, t, s in ragged],
            ragged_split_types=[s for k, t, s in ragged], dense_shapes=shapes)
        flat = [x for group in (out.sparse_indices, out.sparse_values, out.sparse_shapes, out.dense_values,
                                out.ragged_values, out.ragged_row_splits) for x in group]
        for x in flat:
            print("out", NAMES[x.dtype], shape_text(x.shape), values_text(x.numpy()))
    except (tf.errors.InvalidArgumentError, tf.errors.InternalError) as e:
        text = e.message
        # What the eager runtime wraps around the op's own words.
        if text.startswith("{{function_node"):
            text = text.split("}} ", 1)[1]
        text = text.split("}} ", 1)[-1] if text.startswith("{{") else text
        text = text.rsplit(" [Op:", 1)[0]
        if text.startswith("Could not parse example input") and any(0 in s for s in serialized):
            text = ""  # cut at the NUL on its way to Python
        print("error", "*" if text == "" else hexed(text.encode("utf-8", "surrogateescape")))
    except UnicodeDecodeError:  # the text holds bytes that Python cannot show
        print("error *")
    print("end")


F, I, S = tf.float32, tf.int64, tf.string
none = lambda t: np.zeros([0], {F: np.float32, I: np.int64, S: object}[t])
fixed = (b"f", F, [2], none(F))

x = example(entry(b"f", feature("float", [1, 2])))
run("fixed", [x, x], dense=[fixed])
run("names", [x, example()], dense=[fixed], names=[b"one", b"two"])
run("unnamed missing", [x, example()], dense=[fixed])
run("names of another length", [x, x], dense=[fixed], names=[b"one"])
run("default", [x, example()], dense=[(b"f", F, [2], np.array([7, 8], np.float32))])
run("default of another shape", [x], dense=[(b"f", F, [2], np.array([7], np.float32))])
run("scalar shape", [example(entry(b"f", feature("float", [3])))], dense=[(b"f", F, [], np.float32(4))])
run("scalar default of shape 1", [x], dense=[(b"f", F, [], np.array([4], np.float32))])
for kind, t, v in [("float", F, [1.0, 2, 3]), ("int64", I, [1, -2, 3]), ("string", S, [b"a", b"", b"c\0d"])]:
    for n in range(4):
        e = example(entry(b"k", feature(kind, v[:n])))
        run(f"{kind} {n} of 2", [e], dense=[(b"k", t, [2], none(t))], names=[b"nm"])
        run(f"{kind} {n} of 2 single", [e], dense=[(b"k", t, [2], none(t))], single=True)
        run(f"{kind} {n} of 2 unpacked", [example(entry(b"k", feature(kind, v[:n], False)))], dense=[(b"k", t, [2], none(t))])
        run(f"{kind} {n} sparse", [e, x], sparse=[(b"k", t)])
        run(f"{kind} {n} sparse single", [e], sparse=[(b"k", t)], single=True)
        run(f"{kind} {n} ragged", [e, x, e], ragged=[(b"k", t, tf.int32)])
        run(f"{kind} {n} ragged single", [e], ragged=[(b"k", t, I)], single=True)
        pad = {F: np.float32(9), I: np.int64(9), S: np.array(b"pad", object)}[t]
        run(f"{kind} {n} variable", [x, e], dense=[(b"k", t, [-1], pad)])
        run(f"{kind} {n} variable of 2", [e, x], dense=[(b"k", t, [-1, 2], pad)], names=[b"p", b"q"])
        run(f"{kind} {n} variable of 2 single", [e], dense=[(b"k", t, [-1, 2], pad)], single=True)
    for other in [F, I, S]:
        if other == t:
            continue
        e = example(entry(b"k", feature(kind, v)))
        pad = {F: np.float32(9), I: np.int64(9), S: np.array(b"pad", object)}[other]
        for single in [False, True]:
            w = " single" if single else ""
            run(f"{kind} for {NAMES[other]} dense{w}", [e], dense=[(b"k", other, [3], none(other))], single=single)
            run(f"{kind} for {NAMES[other]} variable{w}", [e], dense=[(b"k", other, [-1], pad)], single=single)
            run(f"{kind} for {NAMES[other]} sparse{w}", [e], sparse=[(b"k", other)], single=single)
            run(f"{kind} for {NAMES[other]} ragged{w}", [e], ragged=[(b"k", other, I)], single=single)
run("variable without padding", [x], dense=[(b"f", F, [-1], none(F))])
run("missing single", [example()], dense=[fixed], single=True)
run("missing variable single", [example()], dense=[(b"f", F, [-1], np.float32(1))], single=True)
run("missing sparse single", [example()], sparse=[(b"f", F)], single=True)
run("kind not set", [example(entry(b"f", b""))], dense=[(b"f", F, [2], np.array([7, 8], np.float32))])
run("last of two wins", [example(entry(b"f", feature("float", [1, 2])), entry(b"f", feature("float", [3, 4])))], dense=[fixed])
run("last of two has no kind", [example(entry(b"f", feature("float", [1, 2])), entry(b"f", b""))], dense=[fixed])
run("last of two sparse", [example(entry(b"f", feature("float", [1, 2])), entry(b"f", feature("float", [3])))], sparse=[(b"f", F)])
run("concatenated", [example(entry(b"f", feature("float", [1, 2]))) + example(entry(b"g", feature("int64", [5])))],
    dense=[fixed, (b"g", I, [1], none(I))])
run("value before key", [example(entry(b"f", feature("float", [1, 2]), True))], dense=[fixed])
run("packed then single", [example(entry(b"f", field(2, field(1, struct.pack("<ff", 1, 2)) + b"\x0d" + struct.pack("<f", 3))))], dense=[fixed])
run("two packed chunks", [example(entry(b"f", field(2, field(1, struct.pack("<ff", 1, 2)) + field(1, struct.pack("<f", 3)))))], dense=[fixed])
run("two lists", [example(entry(b"f", feature("int64", [1]) + feature("float", [1, 2])))], dense=[fixed])
run("unknown kind", [example(entry(b"f", field(4, b"x")))], dense=[fixed])
run("key twice in an entry", [example(field(1, field(1, b"f") + field(1, b"f")))], dense=[fixed])
run("entry without value", [example(field(1, field(1, b"f")))], dense=[fixed])
run("entry with three fields", [example(field(1, field(1, b"f") + field(2, b"") + field(2, b"")))], dense=[fixed])
run("unknown field at the top", [field(9, b"abc") + b"\x50\x01" + x], dense=[fixed])
run("unknown field past the end", [x + b"\x4a\x7fabc"], dense=[fixed])
run("unknown field past the end, and nothing else", [b"bad"], dense=[fixed])
run("unknown field without a length", [x + b"\x4a"], dense=[fixed])
run("unknown field in features", [field(1, field(9, b"abc"))], dense=[fixed])
run("empty example", [b""], sparse=[(b"f", F)])
run("garbage", [b"\xffabc"], dense=[fixed], names=[b"nm"])
run("garbage single", [b"abc"], dense=[fixed], single=True)
run("length past the end", [b"\x0a\x7f\x01"], sparse=[(b"f", F)])
run("no examples", [], sparse=[(b"s", F)], dense=[fixed, (b"v", I, [-1], np.int64(0))], ragged=[(b"r", S, tf.int32)])
run("two errors", [example(entry(b"a", feature("int64", [1])), entry(b"b", feature("int64", [1])))],
    dense=[(b"a", F, [1], none(F)), (b"b", F, [1], none(F))])
run("second example is wrong", [x, example(entry(b"f", feature("float", [1])))], dense=[fixed])
run("floats cut short", [example(entry(b"f", field(2, field(1, b"\0\0\0\0\0\0"))))], dense=[fixed])
run("floats cut short single", [example(entry(b"f", field(2, field(1, b"\0\0\0\0\0\0"))))], dense=[fixed], single=True)
run("varint cut short", [example(entry(b"i", field(3, field(1, b"\x80"))))], sparse=[(b"i", I)])

# Random ones: features of random kinds under few keys, parsed by random specifications, some with a byte damaged.
kinds = ["float", "int64", "string", "none"]
types = {"float": F, "int64": I, "string": S}


def some(kind):
    n = random.randrange(4)
    if kind == "float":
        return [random.uniform(-9, 9) for _ in range(n)]
    if kind == "int64":
        return [random.choice([0, 1, -1, 300, -(1 << 63), (1 << 63) - 1]) for _ in range(n)]
    return [bytes(random.randrange(256) for _ in range(random.randrange(4))) for _ in range(n)]


for i in range(300):
    home = {k: random.choice(kinds[:3]) for k in [b"a", b"b", b"c", b"d"]}
    serialized = []
    for _ in range(random.randrange(1, 4)):
        es = []
        for _ in range(random.randrange(5)):
            k = random.choice(list(home))
            kind = home[k] if random.random() < 0.93 else random.choice(kinds)
            es.append(entry(k, feature(kind, some(kind), random.random() < 0.7), random.random() < 0.2))
        data = bytearray(example(*es))
        if data and random.random() < 0.15:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        serialized.append(bytes(data))
    sparse, dense, ragged = [], [], []
    for k, kind in home.items():
        t, form = types[kind], random.randrange(4)
        if form == 0:
            sparse.append((k, t))
        elif form == 1:
            ragged.append((k, t, random.choice([tf.int32, I])))
        else:
            n = random.randrange(1, 4)
            default = {F: np.arange(n, dtype=np.float32), I: np.arange(n), S: np.array([b"d"] * n, object)}[t]
            pad = {F: np.float32(-1), I: np.int64(-1), S: np.array(b"p", object)}[t]
            if form == 2:
                dense.append((k, t, [n], default if random.random() < 0.8 else none(t)))
            else:
                dense.append((k, t, [-1] + ([2] if random.random() < 0.2 else []), pad))
    single = random.random() < 0.25
    names = [b"n%d" % j for j in range(len(serialized))] if random.random() < 0.3 and not single else None
    run(f"random {i}", serialized[:1] if single else serialized, sparse, dense, ragged, names, single)

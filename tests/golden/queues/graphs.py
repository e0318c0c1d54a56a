#!/usr/bin/env python3
"""Writes the GraphDefs that test_queues.c reads: queues, staging areas and the like, with TensorFlow's answers.

    python tests/golden/queues/graphs.py [case…]

Made with TensorFlow 2.21. A graph brings its answers as constants, as those of ../answered_graphs.py do: `answers/N/run` names the nodes that
run N is for, `answers/N/feed/NAME` is fed to the placeholder NAME, and `answers/N/fetch/NAME` is what NAME gives; `answers/N/error` is TensorFlow's
error text instead, and `answers/N/code` its code. Runs follow each other in the order of N, and share the state. No run waits: that is tested in C.
"""
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework import op_def_registry  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from answered_graphs import save  # noqa: E402

v1 = tf.compat.v1
raw = tf.raw_ops
v1.disable_v2_behavior()
CASES = []


def case(function):
    CASES.append(function)
    return function


def fed(name, dtype, shape=None):
    """Shapes stay unknown, so that the kernel and not the graph refuses them."""
    return v1.placeholder(dtype, shape, name)


def queue(kind, types, shapes=(), version="V2", **attrs):
    return getattr(raw, kind + "Queue" + version)(component_types=types, shapes=[tf.TensorShape(shape) for shape in shapes], shared_name=kind.lower(), **attrs)


class Queue:
    """The ops on a queue, in the graph under names of their own."""

    def __init__(self, kind, types, shapes=(), version="V2", add_types=(), **attrs):
        self.handle = queue(kind, types, shapes, version, **attrs)
        self.version = version
        types = list(add_types) + list(types)
        self.parts = [fed(f"x{i}", dtype) for i, dtype in enumerate(types)]
        self.n = fed("n", tf.int32)
        self.ops = {
            "put": self.call("Enqueue", components=self.parts),
            "put_many": self.call("EnqueueMany", components=self.parts),
            "take": self.call("Dequeue", component_types=types),
            "take_many": self.call("DequeueMany", n=self.n, component_types=types),
            "take_up_to": self.call("DequeueUpTo", n=self.n, component_types=types),
            "close": self.call("Close"),
            "cancel": self.call("Close", cancel_pending_enqueues=True),
            "is_closed": self.call("IsClosed"),
            "size": self.call("Size"),
        }

    def call(self, name, **arguments):
        return getattr(raw, "Queue" + name + self.version)(handle=self.handle, **arguments)

    def put(self, *values):
        return ("put", dict(zip(self.parts, values)))

    def put_many(self, *values):
        return ("put_many", dict(zip(self.parts, values)))

    def take_many(self, n):
        return ("take_many", {self.n: n})

    def take_up_to(self, n):
        return ("take_up_to", {self.n: n})


ENDS = ["is_closed", "close", "is_closed", "size"]


@case
def fifo():
    q = Queue("FIFO", [tf.float32, tf.string], capacity=6)
    row = lambda i: q.put(np.float32([i, i + 0.5]), "row %d" % i)
    return q.ops, [row(1), row(2), "size", "take", q.put(np.float32(3), ["a", "b"]), "take", "take", q.put_many(np.float32([[1], [2], [3]]), ["x", "", "z"]), "size", "take",
                   q.put_many(np.zeros([0, 4], np.float32), np.zeros([0], str)), q.take_many(1), q.take_up_to(1), q.put_many([1.0, 2.0], ["x"]),
                   *ENDS, row(9), q.put_many([1.0], ["x"]), q.put_many(np.zeros([0], np.float32), np.zeros([0], str)), "take", "take", "take", "close", "cancel", "is_closed"]


@case
def fifo_of_shapes():
    q = Queue("FIFO", [tf.int64, tf.string], [[2], []], capacity=10)
    return q.ops, [q.put([1, 2], "a"), q.put([1], "a"), q.put([[1, 2]], "a"), q.put([1, 2], ["a"]), q.put_many([[3, 4], [5, 6], [7, 8]], ["b", "", "ddd"]),
                   q.put_many([[3, 4, 5]], ["b"]), q.put_many([3, 4], ["b", "c"]), q.put_many([[3, 4], [5, 6]], ["b"]), q.put_many([[3, 4]], ["b", "c"]), q.put_many([[3, 4]], "b"),
                   q.take_many(0), q.take_many(-1), q.take_up_to(-2), q.take_many([1]), q.take_many(2), "size", q.take_up_to(1), "size", q.put_many([[1, 1]] * 3, ["k", "l", "m"]),
                   *ENDS, q.take_many(4), "size", q.take_up_to(0), q.take_up_to(2), q.take_up_to(9), q.take_up_to(1), q.take_many(1), q.take_many(0), "take"]


@case
def fifo_v1():
    q = Queue("FIFO", [tf.int32], [[]], version="", capacity=3)
    return q.ops, [q.put(1), q.put_many([2, 3]), "size", "take", q.take_many(2), q.put(4), q.take_up_to(1), *ENDS, "take", q.put(1)]


@case
def one_run():
    """A queue between the input and the model, as programs with input pipelines have it: each run gives a row and takes it."""
    q = queue("FIFO", [tf.float32, tf.int32], capacity=1)
    x = fed("x", tf.float32)
    with tf.control_dependencies([raw.QueueEnqueueV2(handle=q, components=[x, tf.size(x)])]):
        rows, size = raw.QueueDequeueV2(handle=q, component_types=[tf.float32, tf.int32])
    return {"y": rows * 2 + tf.cast(size, tf.float32)}, [("y", {x: [1, 2]}), ("y", {x: [[3], [4], [5]]}), ("y", {x: []})]


TYPES = [tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.complex64, tf.int64, tf.bool, tf.bfloat16, tf.uint16, tf.complex128, tf.half, tf.uint32, tf.uint64]


@case
def fifo_of_types():
    q = Queue("FIFO", TYPES, [[2]] * len(TYPES))
    rows = [np.array([[1, 0], [0, 3]]).astype(dtype.as_numpy_dtype) for dtype in TYPES]
    one = tf.cast(tf.stack([tf.reduce_sum(tf.abs(tf.cast(part, tf.complex128))) for part in q.ops["take_many"]]), tf.float32)
    return {"put_many": q.ops["put_many"], "sums": one}, [q.put_many(*rows), ("sums", {q.n: 2})]


@case
def padding():
    q = Queue("PaddingFIFO", [tf.float32, tf.string, tf.int32], [[None, 2], [None], [None, None]], capacity=20)
    row = lambda a, b, c, d: q.put(np.arange(2 * a, dtype=np.float32).reshape(a, 2) + 1, ["s%d" % i for i in range(b)], np.arange(c * d).reshape(c, d) + 1)
    return q.ops, [row(1, 3, 2, 1), row(2, 0, 1, 3), row(0, 1, 0, 2), row(1, 1, 1, 1), q.take_many(3), q.put(np.zeros([1, 3], np.float32), ["a"], [[1]]), q.put(np.zeros([2], np.float32), ["a"], [[1]]),
                   q.put_many(np.ones([2, 1, 2], np.float32), [["a"], ["b"]], np.ones([2, 2, 2], np.int32)), "take", q.take_many(0), *ENDS, q.take_many(3), q.take_up_to(5), q.take_up_to(5), "take",
                   q.put(np.zeros([1, 2], np.float32), ["a"], [[1]]), q.put_many(np.ones([2, 1, 2], np.float32), [["a"], ["b"]], np.ones([2, 2, 2], np.int32)), "close"]


@case
def padding_by_nothing():
    q = Queue("PaddingFIFO", [tf.int64], [[2]], capacity=20)
    return q.ops, [q.put_many([[1, 2], [3, 4]]), q.put([1]), q.take_many(2), *ENDS, q.take_up_to(1)]


@case
def shuffled():
    q = Queue("RandomShuffle", [tf.int32], [[]], seed=3, seed2=11, min_after_dequeue=2, capacity=300)
    return q.ops, [q.put_many(np.arange(200)), q.take_many(5), "take", "take", q.put(1000), q.take_many(60), q.take_up_to(70), "size", *ENDS, q.take_many(100), q.take_up_to(30), "take", "size",
                   q.take_many(40), q.take_up_to(100), "take", q.take_up_to(1), q.put(1), q.put_many([1]), "close", "cancel"]


@case
def shuffled_by_one_seed():
    q = Queue("RandomShuffle", [tf.int64, tf.string], seed2=7)
    return q.ops, [q.put_many([4, 5, 6], ["a", "b", "c"]), "take", "take", q.put(9, "d"), "take", "take", *ENDS, "take"]


@case
def priorities():
    q = Queue("Priority", [tf.string], [[]], add_types=[tf.int64])
    names = ["row %d" % i for i in range(24)]
    return q.ops, [q.put_many([5, 1, 3, 1, 1, 5, 3, -7, 2 ** 40, 0, 0, 0, 1, 1, 5, 5, 3, 3, 3, -7, -7, 9, 1, 0], names), "take", "take", q.take_many(7), q.put(1, "late"), q.take_up_to(4),
                   q.put([1], "late"), "size", *ENDS, q.put(1, "later"), q.take_many(20), q.take_many(5), q.take_up_to(7), "take"]  # less than asked for, TensorFlow loses


def two(first, second):
    """The second node asks for another queue of the same name."""
    a, b = first(), second()
    return {"first": raw.QueueSizeV2(handle=a), "second": raw.QueueSizeV2(handle=b)}, ["first", "second", "first"]


def named(kind, types, shapes=(), **attrs):
    return lambda: getattr(raw, kind + "QueueV2")(component_types=types, shapes=[tf.TensorShape(shape) for shape in shapes], shared_name="q", **attrs)


@case
def conflict_of_kinds():
    return two(named("FIFO", [tf.int32]), named("PaddingFIFO", [tf.int32], [[]]))


@case
def conflict_of_capacities():
    return two(named("FIFO", [tf.int32], capacity=3), named("FIFO", [tf.int32], capacity=4))


@case
def conflict_of_types():
    return two(named("FIFO", [tf.int32]), named("FIFO", [tf.int32, tf.float32]))


@case
def conflict_of_shapes():
    return two(named("FIFO", [tf.int32, tf.float32], [[1, 2], []]), named("FIFO", [tf.int32, tf.float32], [[1, 3], [4]]))


@case
def conflict_of_no_shapes():
    return two(named("FIFO", [tf.int32], [[1]]), named("FIFO", [tf.int32]))


@case
def conflict_of_seeds():
    return two(named("RandomShuffle", [tf.int32], seed=1, seed2=2), named("RandomShuffle", [tf.int32], seed=1, seed2=3))


@case
def conflict_of_mins():
    return two(named("RandomShuffle", [tf.int32], min_after_dequeue=1, seed=1), named("RandomShuffle", [tf.int32], min_after_dequeue=2, seed=1))


@case
def other_containers():
    """Queues of one name in two containers are two."""
    a, b = named("FIFO", [tf.int32], container="a")(), named("FIFO", [tf.int32], container="b")()
    return {"put": raw.QueueEnqueueV2(handle=a, components=[1]), "a": raw.QueueSizeV2(handle=a), "b": raw.QueueSizeV2(handle=b)}, ["put", "a", "b"]


@case
def mismatch_v1():
    q = raw.FIFOQueue(component_types=[tf.int32, tf.float32], shapes=[], shared_name="q")
    return {"type": raw.QueueEnqueue(handle=q, components=[1, 2]), "many": raw.QueueEnqueueMany(handle=q, components=[[1.0], [1.0], [1.0]]),
            "out": raw.QueueDequeue(handle=q, component_types=[tf.int32]), "out_many": raw.QueueDequeueMany(handle=q, n=2, component_types=[tf.int32])}, ["type", "many", "out", "out_many"]


@case
def refused_attributes():
    q, p = named("FIFO", [tf.int32])(), named("FIFO", [tf.int32, tf.int32], [[1]], container="c")
    shuffled = named("RandomShuffle", [tf.int32], min_after_dequeue=3, capacity=3, container="d")
    negative = named("RandomShuffle", [tf.int32], min_after_dequeue=-1, capacity=3, container="e")
    return {"timeout": raw.QueueDequeueV2(handle=q, component_types=[tf.int32], timeout_ms=10), "shapes": raw.QueueSizeV2(handle=p()), "min": raw.QueueSizeV2(handle=shuffled()),
            "negative": raw.QueueSizeV2(handle=negative()), "type": raw.QueueEnqueueV2(handle=q, components=[1.0]), "count": raw.QueueEnqueueV2(handle=q, components=[1, 2]),
            "out": raw.QueueDequeueV2(handle=q, component_types=[tf.float32]), "more": raw.QueueDequeueV2(handle=q, component_types=[tf.int32, tf.int32]),
            }, ["timeout", "shapes", "min", "negative", "type", "count", "out", "more"]


# ---- staging areas ----


def area(dtypes=(tf.float32, tf.string), **attrs):
    attrs = {"shared_name": "area", **attrs}
    limits, attrs = attrs, {"dtypes": list(dtypes), **attrs}
    x = [fed(f"x{i}", dtype) for i, dtype in enumerate(dtypes)]
    index = fed("index", tf.int32)
    ops = {"put": raw.Stage(values=x, **limits), "take": raw.Unstage(**attrs), "peek": raw.StagePeek(index=index, **attrs), "size": raw.StageSize(**attrs),
           "clear": raw.StageClear(**attrs)}
    return ops, lambda *values: ("put", dict(zip(x, values))), lambda i: ("peek", {index: i})


@case
def staged():
    ops, put, peek = area()
    return ops, ["size", put([1, 2], "a"), put([[3]], ["b", "c"]), "size", peek(0), peek(1), "take", peek(0), put([], "d"), "clear", "size", put(5, ""), "take", "size", peek([0, 1])]


@case
def staged_within_limits():
    """The first op decides them."""
    ops, put, _ = area([tf.float32], memory_limit=12, capacity=2)
    return ops, [put([1, 2, 3]), "take", put([1, 2, 3, 4]), "size", put([1]), put([2]), "take", "take", "size"]


@case
def unstaged_otherwise():
    ops, put, _ = area([tf.float32, tf.int32])
    ops["one"] = raw.Unstage(dtypes=[tf.float32], shared_name="area")
    return ops, [put([1, 2], 3), "one", "size", put([4], 5), "take"]


class StagingMap:
    """The ops on a map of rows of two tensors: `put1` gives the second one only, and so on."""

    def __init__(self, prefix, **attrs):
        types, attrs = [tf.float32, tf.string], {"shared_name": "map", **attrs}

        def call(name, **arguments):
            return getattr(raw, prefix + "Map" + name)(**arguments, **attrs)

        self.key, self.indices, self.x = fed("key", tf.int64), fed("indices", tf.int32), [fed(f"x{i}", dtype) for i, dtype in enumerate(types)]
        key = {"key": self.key, "indices": self.indices}
        self.ops = {"size": call("Size", dtypes=types), "incomplete": call("IncompleteSize", dtypes=types), "clear": call("Clear", dtypes=types)}
        for name, part in [("", [0, 1]), ("0", [0]), ("1", [1])]:
            some = [types[i] for i in part]
            any_key = call("UnstageNoKey", indices=self.indices, dtypes=some)
            self.ops |= {"put" + name: call("Stage", values=[self.x[i] for i in part], dtypes=types, **key),
                         "peek" + name: call("Peek", dtypes=some, **key), "take" + name: call("Unstage", dtypes=some, **key),
                         "any" + name: [any_key.key, *any_key.values]}

    def put(self, key, *values, part="", indices=None):
        parts = [int(part)] if part else [0, 1]
        return ("put" + part, {self.key: key, self.indices: indices or parts, **dict(zip([self.x[i] for i in parts], values))})

    def call(self, name, key, *indices):
        return (name, {self.key: key, self.indices: np.array(indices, np.int32)})


def staging_map(prefix):
    m = StagingMap(prefix)
    return m.ops, [
        "size", m.put(5, [1, 2], "five"), m.put(3, "three", part="1"), "size", "incomplete", m.put(3, "again", part="1"), m.put(8, "x", part="1", indices=[2]),
        m.put(8, "x", part="1", indices=[-1]), ("put1", {m.key: 8, m.indices: np.zeros([0], np.int32), m.x[1]: "x"}), m.put(8, 1, "x", indices=[1, 0]),
        m.put(8, 1, "x", indices=[1, 1]), m.put(5, 7, "another"), "size", m.call("peek", 5, 0, 1), m.call("peek1", 5, 1), m.put(3, 30, part="0"), "size", "incomplete",
        m.call("peek", 3, 0, 1), m.call("peek1", 3, 2), m.call("peek", 3, 1, 0), m.call("take1", 3, 1), m.call("take1", 3, 1), m.call("peek1", 3, 1), "size",
        m.call("take0", 3, 0), "size", m.call("any", 0, 0, 1), "size", m.put(9, 90, part="0"), m.put(9, "nine", part="1"), m.call("any1", 0, 1), m.call("any0", 0, 0),
        "size", m.put(1, 1, "one"), m.put(2, 1, part="0"), "clear", "size", "incomplete", m.put(1, 10, "one")]


@case
def staged_by_key():
    return staging_map("")


@case
def staged_in_order():
    return staging_map("Ordered")


@case
def least_key_first():
    m = StagingMap("Ordered")
    return m.ops, [m.put(7, 70, "seven"), m.put(-1, -10, "before"), m.put(3, 30, "three"), m.call("any", 0, 0, 1), m.call("any", 0, 0, 1), m.call("any", 0, 0, 1), "size"]


@case
def staged_by_key_within_limits():
    """One tensor a row: of several, TensorFlow counts the bytes of the last one only."""
    key, x, first = fed("key", tf.int64), fed("x", tf.float32), tf.constant([0])
    attrs = {"dtypes": [tf.float32], "shared_name": "map", "capacity": 2, "memory_limit": 20}
    ops = {"put": raw.MapStage(key=key, indices=first, values=[x], **attrs), "take": raw.MapUnstage(key=key, indices=first, **attrs), "size": raw.MapSize(**attrs)}
    return ops, [("put", {key: 1, x: [1, 2, 3]}), ("put", {key: 2, x: [4, 5]}), ("put", {key: 3, x: [1] * 6}), "size", ("take", {key: 1}),
                 ("put", {key: 3, x: [6]}), "size"]


# ---- mutexes ----


@case
def mutex():
    """The lock of one run ends with it, so that the next can have it."""
    m = raw.MutexV2(shared_name="m")
    lock = raw.MutexLock(mutex=m)
    with tf.control_dependencies([lock]):
        y = fed("y", tf.float32) * 2
    with tf.control_dependencies([y]):
        end = raw.ConsumeMutexLock(mutex_lock=lock)
    with tf.control_dependencies([end]):
        again = raw.MutexLock(mutex=m)
    with tf.control_dependencies([again]):
        z = tf.identity(y) + 1
    return {"y": y, "end": end, "z": z}, [("y", {"y:0": 1}), ("end", {"y:0": 1}), ("z", {"y:0": 2}), ("z", {"y:0": 3})]


# ---- variables of a run ----


@case
def temporary():
    x = fed("x", tf.float32)
    variable = raw.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="t")
    sum = raw.AssignAdd(ref=raw.Assign(ref=variable, value=x), value=x * 10)
    words = raw.Assign(ref=raw.TemporaryVariable(shape=[], dtype=tf.string, var_name="words"), value="some words")
    return {"y": raw.DestroyTemporaryVariable(ref=sum, var_name="t"), "words": raw.DestroyTemporaryVariable(ref=words, var_name="words")}, [
        ("y", {x: [1, 2]}), ("y", {x: [3, 4]}), "words", ("y", {x: [1, 2, 3]})]


# ---- sparse tensors that a number stands for ----


class SparseMap:
    def __init__(self, dtype, **attrs):
        self.parts = [fed("indices", tf.int64), fed("values", dtype), fed("shape", tf.int64)]
        self.handles = fed("handles", tf.int64)
        add = dict(zip(["sparse_indices", "sparse_values", "sparse_shape"], self.parts))
        self.ops = {"add": raw.AddSparseToTensorsMap(**add, shared_name="map"), "add_many": raw.AddManySparseToTensorsMap(**add, shared_name="map"),
                    "take": list(raw.TakeManySparseFromTensorsMap(sparse_handles=self.handles, dtype=dtype, shared_name="map"))}

    def add(self, *parts):
        return ("add", dict(zip(self.parts, parts)))

    def add_many(self, *parts):
        return ("add_many", dict(zip(self.parts, parts)))

    def take(self, *handles):
        return ("take", {self.handles: np.array(handles, np.int64)})


@case
def sparse_maps():
    m = SparseMap(tf.string)
    other = raw.TakeManySparseFromTensorsMap(sparse_handles=m.handles, dtype=tf.int32, shared_name="map")
    return {**m.ops, "other": list(other)}, [
        m.take(0), m.add([[0, 1], [2, 0]], ["a", "some words"], [3, 4]), m.add([[5, 5]], ["b"], [6, 7]), m.add(np.zeros([0, 2]), [], [1, 1]), m.take(1, 0), m.take(1), m.take(2), m.take(0),
        m.add_many([[0, 0, 1], [0, 2, 2], [2, 1, 0]], ["x", "", "z"], [4, 3, 3]), m.take(3, 4, 5, 6), m.add_many([[0, 1], [1, 0]], ["p", "q"], [2, 2]), m.add([[0, 0]], ["r"], [1, 1]),
        m.take(7, 9), m.take(8), m.take(7, 8), m.add([[1]], ["s"], [2]), ("other", {m.handles: [10]}), m.take(10), m.take(), ("take", {m.handles: np.int64(3)}), ("take", {m.handles: [[3]]}),
        m.add([1], ["s"], [2]), m.add([[1]], "s", [2]), m.add([[1]], ["s"], [[2]]), m.add([[1]], ["s", "t"], [2]), m.add([[1, 1]], ["s"], [2]), m.add([[9]], ["s"], [2]), m.take(11), m.add_many([[0]], ["s"], [2]),
        m.add_many([[0, 1]], ["s", "t"], [2, 2]), m.add_many([[0, 1, 0]], ["s"], [2, 2]),
        m.add_many(np.zeros([0, 2]), [], [2, 2]), m.add_many(np.zeros([0, 2]), [], [0, 2])]


def message(error):
    """The part of the text that does not name nodes."""
    lines = error.message.split("\n")
    nodes = [i for i, line in enumerate(lines) if line.startswith("Node: ")]
    return (lines[nodes[0] + 1] if nodes else lines[0]).split(" [[{{")[0].strip()


def name_results(made):
    """Identities of all outputs, by which the runs fetch them; nodes without outputs are targets."""
    fetches = {}
    for name, result in made.items():
        if isinstance(result, tf.Operation):
            fetches[name] = (result, [])
        else:
            fetches[name] = (None, [tf.identity(part, name=f"out_{name}_{i}") for i, part in enumerate(tf.nest.flatten(result))])
    return fetches


def answer(session, number, step, fetches, answers):
    name, feeds = step if isinstance(step, tuple) else (step, {})
    feeds = {session.graph.get_tensor_by_name(tensor) if isinstance(tensor, str) else tensor: value for tensor, value in feeds.items()}
    for tensor, value in feeds.items():
        answers[f"answers/{number}/feed/{tensor.op.name}"] = np.array(value, tensor.dtype.as_numpy_dtype)
    target, outputs = fetches[name]
    answers[f"answers/{number}/run"] = [target.name] if target is not None else [output.op.name for output in outputs]
    try:
        got = session.run(target if target is not None else outputs, feeds, options=v1.RunOptions(timeout_in_ms=5000))
        for output, value in zip(outputs, got or []):
            answers[f"answers/{number}/fetch/{output.op.name}"] = value
    except tf.errors.DeadlineExceededError:
        raise AssertionError(f"run {number} waits: {step}")
    except tf.errors.OpError as error:
        answers[f"answers/{number}/error"] = message(error)
        answers[f"answers/{number}/code"] = error.error_code
        print("   ", number, name, error.error_code, message(error))


def write(function):
    print(function.__name__)
    with v1.Graph().as_default() as graph, v1.Session() as session:
        made, steps = function()
        fetches = name_results(made)
        tf.no_op(name="initialise")
        definition = graph.as_graph_def()
        answers = {}
        for number, step in enumerate(steps):
            answer(session, number, step, fetches, answers)
    save(HERE / (function.__name__ + ".pb"), definition, answers)


for each in CASES:
    if each.__name__ in sys.argv[1:] or len(sys.argv) == 1:
        write(each)

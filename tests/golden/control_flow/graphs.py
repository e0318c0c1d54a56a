#!/usr/bin/env python3
"""Writes the GraphDefs that test_lower.c reads: what tf.compat.v1 makes of tf.cond, tf.while_loop and TensorArrays, with TensorFlow's answers.

    python tests/golden/control_flow/graphs.py [case…]

Made with TensorFlow 2.21. ../answered_graphs.py says how a graph holds the answers.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from answered_graphs import np, tf, v1, write  # noqa: E402
from tensorflow.python.framework import function  # noqa: E402
from tensorflow.python.ops import functional_ops  # noqa: E402

raw = tf.raw_ops
v1.disable_v2_behavior()
v1.disable_control_flow_v2()
CASES = []


def case(function):
    CASES.append(function)
    return function


def numbers(*shape):
    """The same on every machine: small numbers without a pattern."""
    count = int(np.prod(shape))
    return (((np.arange(count) * 37 + 11) % 101 / 50.0 - 1).reshape(shape)).astype(np.float32)


def placeholder(name, shape=None, dtype=tf.float32):
    return v1.placeholder(dtype, shape, name)


def variable(name, value):
    return v1.Variable(value, name=name, use_resource=True)


def reference(name, value):
    return v1.Variable(value, name=name, use_resource=False)


def weights(name, shape, *_, **__):
    return variable(name, numbers(*shape))


# ---- branches ----


@case
def cond():
    """Two results, one that is passed on, and one that only the branch knows."""
    p, x = placeholder("p", [], tf.bool), placeholder("x", [None])
    a, b = v1.cond(p, lambda: (x * 2, tf.constant(1)), lambda: (x, tf.constant(2)))
    return {"a": a, "b": b}, [{p: True, x: [1, 2]}, {p: False, x: [3, 4]}, {p: True, x: []}]


@case
def cond_nested():
    p, q, x = placeholder("p", [], tf.bool), placeholder("q", [], tf.bool), placeholder("x", [])
    y = v1.cond(p, lambda: v1.cond(q, lambda: x + 1, lambda: v1.cond(x > 5, lambda: x + 20, lambda: x + 2)) * 10, lambda: x - 1)
    return {"y": y}, [{p: i > 1, q: i % 2, x: v} for i in range(4) for v in (1.0, 9.0)]


@case
def cond_in_turn():
    """One predicate for three branches of which each needs the one before; the middle one takes the result inside."""
    p, x = placeholder("p", [], tf.bool), placeholder("x", [])
    y = v1.cond(p, lambda: x + 1, lambda: x - 1)
    z = v1.cond(p, lambda: v1.cond(y > 0, lambda: y * 2, lambda: x), lambda: y * 3)
    w = v1.cond(p, lambda: y + z, lambda: y - z)
    return {"w": w}, [{p: True, x: 4}, {p: False, x: 4}, {p: True, x: -4}]


@case
def cond_effects():
    """Assignments happen in the branch that is taken; so do those of operations that give nothing."""
    p = placeholder("p", [], tf.bool)
    v, r = variable("v", 1.0), reference("r", 1.0)
    first = v1.cond(p, lambda: v.assign_add(10.0).op, lambda: v.assign_sub(1.0).op)
    with tf.control_dependencies([first]):
        second = v1.cond(p, lambda: v1.assign(r, 5.0), lambda: v1.assign_add(r, 0.5))
    with tf.control_dependencies([second]):
        return {"a": v.read_value(), "b": tf.identity(second)}, [{p: b} for b in (False, True, False, False)]


@case
def cond_assert():
    """The Assert of the branch that is not taken must not run."""
    p, x = placeholder("p", [], tf.bool), placeholder("x", [])

    def checked():
        with tf.control_dependencies([v1.Assert(x > 0, ["x is not positive:", x])]):
            return tf.sqrt(x)

    return {"y": v1.cond(p, checked, lambda: x)}, [{p: True, x: 4}, {p: False, x: -4}, {p: True, x: -4}]


@case
def assert_alone():
    """assert_positive makes a cond of its own, which only control edges need."""
    x = placeholder("x", [None])
    with tf.control_dependencies([v1.assert_positive(x)]):
        return {"y": x + 1}, [{x: [1, 2]}, {x: [1, -2]}]


@case
def case_of_three():
    x = placeholder("x", [], tf.int32)
    y = v1.case([(tf.equal(x, 0), lambda: tf.constant(10)), (x > 5, lambda: x * x), (x > 2, lambda: x)], default=lambda: -x)
    z = v1.case([(x < 1, lambda: tf.constant([1.0])), (x > 6, lambda: tf.constant([2.0, 3.0]))], default=lambda: tf.constant([0.5]), exclusive=True)
    return {"y": y, "z": z}, [{x: v} for v in (0, 3, 7, 1)]


@case
def merge_index():
    """Switch and Merge by hand: value_index, a dead node in between, inputs in the other order."""
    p, x = placeholder("p", [], tf.bool), placeholder("x", [2])
    switched = raw.Switch(data=x, pred=p)
    merged = raw.Merge(inputs=[switched.output_true + 1, tf.negative(tf.square(switched.output_false))])
    return {"y": merged.output, "i": merged.value_index}, [{p: True, x: [1, 2]}, {p: False, x: [1, 2]}]


@case
def shared_predicate():
    """A predicate behind identities, and a branch that two merges share."""
    p, x = placeholder("p", [], tf.bool), placeholder("x", [2])
    switched = raw.Switch(data=x, pred=tf.identity(tf.identity(p)))
    other = raw.Switch(data=x * 3, pred=p)
    part = tf.exp(switched.output_true)
    a = raw.Merge(inputs=[switched.output_false, part]).output
    b = raw.Merge(inputs=[part + other.output_true, switched.output_false]).output
    return {"a": a, "b": b}, [{p: True, x: [1, 2]}, {p: False, x: [1, 2]}]


@case
def constant_predicate():
    """Keras' learning phase: a placeholder with a default. The branch that it turns off disappears from the plan."""
    x = placeholder("x", [None, 4])
    training = v1.placeholder_with_default(False, [], "learning_phase")
    y = v1.cond(training, lambda: tf.nn.dropout(x, rate=0.5), lambda: x * 2)
    y = v1.cond(tf.identity(training), lambda: y * float("nan"), lambda: v1.cond(training, lambda: -y, lambda: y + 1))
    return {"y": y}, [{x: numbers(2, 4)}]


@case
def batch_norm():
    """Batch normalization whose moments depend on the fed is_training, and which then updates the moving ones."""
    x, training = placeholder("x", [None, 3]), placeholder("is_training", [], tf.bool)
    mean, variance = reference("mean", [0.5, 0.0, 1.0]), reference("variance", [1.0, 2.0, 0.5])
    batch_mean, batch_variance = tf.nn.moments(x, [0])

    def update():
        with tf.control_dependencies([v1.assign_sub(mean, 0.1 * (mean - batch_mean)), v1.assign_sub(variance, 0.1 * (variance - batch_variance))]):
            return tf.identity(batch_mean), tf.identity(batch_variance)

    m, v = v1.cond(training, update, lambda: (mean, variance))
    y = tf.nn.batch_normalization(x, m, v, None, None, 1e-3)
    return {"y": y}, [{x: numbers(4, 3), training: t} for t in (False, True, True, False)]


@case
def table_in_cond():
    p, x = placeholder("p", [], tf.bool), placeholder("x", [None], tf.string)
    table = v1.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1)
    return {"y": v1.cond(p, lambda: table.lookup(x), lambda: tf.zeros_like(x, tf.int64))}, [{p: True, x: ["b", "z"]}, {p: False, x: ["b"]}]


# ---- loops ----


@case
def loop():
    """Carried values of which one is not fetched, an invariant, and a shape that grows."""
    n, x = placeholder("n", [], tf.int32), placeholder("x", [None, 2])
    body = lambda i, y, z: (i + 1, y + x * tf.cast(i, tf.float32), tf.concat([z, z[-1:] * 2], 0))  # noqa: E731
    i, y, z = v1.while_loop(lambda i, y, z: i < n, body, [tf.constant(0), x, tf.constant([1])],
                            [tf.TensorShape([]), tf.TensorShape([None, 2]), tf.TensorShape([None])])
    return {"i": i, "y": y, "z": z}, [{n: 3, x: numbers(2, 2)}, {n: 0, x: numbers(1, 2)}, {n: 1, x: numbers(0, 2)}]


@case
def loop_nested():
    """A loop in a loop, with values of both frames, and a branch in the inner one."""
    n = placeholder("n", [], tf.int32)

    def outer(i, total):
        def inner(j, total):
            return j + 1, v1.cond(tf.equal(j % 2, 0), lambda: total + i * n, lambda: total - j)

        _, total = v1.while_loop(lambda j, t: j < i, inner, [tf.constant(0), total])
        return i + 1, total

    return {"y": v1.while_loop(lambda i, t: i < n, outer, [tf.constant(0), tf.constant(100)])[1]}, [{n: 5}, {n: 1}, {n: 0}]


@case
def loop_in_cond():
    p, x = placeholder("p", [], tf.bool), placeholder("x", [])
    y = v1.cond(p, lambda: v1.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, v * x), [0, x])[1], lambda: -x)
    return {"y": y}, [{p: True, x: 2}, {p: False, x: 2}]


@case
def loop_of_variables():
    """A loop that reads and writes variables, of both kinds, that it captures."""
    n = placeholder("n", [], tf.int32)
    v, r = variable("v", 1.0), reference("r", [1.0, 2.0])

    def body(i, x):
        with tf.control_dependencies([v.assign_add(1.0)]):
            updated = v1.assign_add(r, [1.0, 1.0])
            return i + 1, x + v.read_value() + tf.reduce_sum(updated)

    i, x = v1.while_loop(lambda i, x: i < n, body, [tf.constant(0), tf.constant(0.0)], parallel_iterations=1)
    with tf.control_dependencies([x]):
        return {"x": x, "v": v.read_value(), "r": tf.identity(r.read_value())}, [{n: 2}, {n: 0}, {n: 1}]


@case
def loop_of_an_error():
    x = placeholder("x", [], tf.int32)

    def body(i, x):
        with tf.control_dependencies([v1.Assert(i < 3, ["too far:", i])]):
            return i + 1, x - 1

    return {"y": v1.while_loop(lambda i, x: x > 0, body, [tf.constant(0), x])[1]}, [{x: 2}, {x: 7}]


@case
def beam():
    """As in a beam search: top k of a growing set of sequences."""
    x = placeholder("x", [None, 5])

    def body(i, sequences, scores):
        total = tf.reshape(scores[:, None] + tf.math.log_softmax(x + tf.cast(i, tf.float32) * scores[:, None]), [-1])
        scores, picks = tf.math.top_k(total, 3)
        return i + 1, tf.concat([tf.gather(sequences, picks // 5), (picks % 5)[:, None]], 1), scores

    _, sequences, scores = v1.while_loop(lambda i, *_: i < 4, body, [tf.constant(0), tf.zeros([3, 0], tf.int32), tf.constant([0.0, -1.0, -2.0])],
                                         [tf.TensorShape([]), tf.TensorShape([3, None]), tf.TensorShape([3])])
    return {"sequences": sequences, "scores": scores}, [{x: numbers(3, 5)}]


# ---- TensorArrays ----


@case
def map_fn():
    x = placeholder("x", [None, 2])
    a, b = v1.map_fn(lambda row: (tf.reduce_sum(row), row[::-1]), x, (tf.float32, tf.float32))
    return {"a": a, "b": b}, [{x: numbers(3, 2)}, {x: numbers(1, 2)}]


@case
def map_strings():
    x = placeholder("x", [None], tf.string)
    y = v1.map_fn(lambda s: v1.cond(tf.equal(s, "a"), lambda: tf.constant("first"), lambda: tf.strings.join([s, s])), x)
    return {"y": y}, [{x: ["a", "bc", "a"]}, {x: ["z"]}]


@case
def scan():
    x = placeholder("x", [None])
    return {"y": v1.scan(lambda a, v: a * 0.5 + v, x, tf.constant(1.0)), "z": v1.scan(lambda a, v: a + v, x, reverse=True)}, [{x: [1, 2, 3]}, {x: [5]}]


@case
def arrays():
    """Every op of an array, outside of loops."""
    x = placeholder("x", [None, 2])
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True, clear_after_read=False, infer_shape=False)
    array = array.write(2, x[0]).write(0, x[1]).write(1, x[0] + x[1])
    split = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2])
    ints = tf.TensorArray(tf.int64, 3).unstack(tf.constant([5, 6, 7], tf.int64))
    unset = tf.TensorArray(tf.float32, 2, element_shape=[2]).write(1, x[1])
    words = tf.TensorArray(tf.string, 2).scatter([1, 0], tf.constant([["a", "b"], ["c", "d"]]))
    fetches = {"size": array.size(), "stack": array.stack(), "some": array.gather([2, 0, 2]), "one": array.read(1), "concat": split.concat(),
               "ints": ints.gather([2, 0]), "unset": unset.stack(), "words": words.concat()}
    return fetches, [{x: numbers(3, 2)}]


def failing(make):
    """A case that fails in its only run."""
    def build():
        x = placeholder("x", [None, 2])
        return {"y": make(x)}, [{x: numbers(2, 2)}]
    build.__name__ = make.__name__
    CASES.append(build)


def array_of(size, **kwargs):
    return tf.TensorArray(tf.float32, size, infer_shape=False, **kwargs)


@failing
def read_beyond(x):
    return array_of(1).write(0, x).read(1)


@failing
def read_twice(x):
    array = array_of(1).write(0, x)
    first = array.read(0)
    with tf.control_dependencies([first]):
        return array.read(tf.constant(0)) + first


@failing
def write_beyond(x):
    return array_of(1).write(1, x).stack()


@failing
def write_twice(x):
    return array_of(1).write(0, x).write(0, x).stack()


@failing
def read_unset(x):
    return array_of(2).write(0, x).read(1)


@failing
def stack_unequal(x):
    return array_of(2).write(0, x).write(1, x[:1]).stack()


@failing
def split_wrongly(x):
    return array_of(2).split(x, [1, 2]).concat()


@failing
def scatter_too_few(x):
    return array_of(3).scatter([0], x).stack()


@case
def stacks():
    """What a loop pushes, another pops."""
    n = placeholder("n", [], tf.int32)
    stack = raw.StackV2(max_size=5, elem_type=tf.float32)

    def push(i, x):
        with tf.control_dependencies([raw.StackPushV2(handle=stack, elem=x)]):
            return i + 1, x * 2

    def pop():
        return tf.reshape(raw.StackPopV2(handle=stack, elem_type=tf.float32), [])

    pushed = v1.while_loop(lambda i, x: i < n, push, [tf.constant(0), tf.constant(3.0)], parallel_iterations=1)
    with tf.control_dependencies(pushed):
        popped = v1.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 10 + pop()),
                               [tf.constant(0), tf.constant(0.0)], parallel_iterations=1)
    return {"y": popped[1]}, [{n: 3}, {n: 0}, {n: 6}]


# ---- older forms, and gradient arrays ----


def flow():
    return tf.constant(0.0)


def old_graph():
    """TensorFlow runs an op that it removed only in the graph of a producer before that."""
    definition = v1.GraphDef()
    definition.versions.producer = 15
    v1.import_graph_def(definition)


def arrays_of(suffix):
    """Every op of an array's older form, by hand: nothing writes them any more."""
    def op(name, **arguments):
        return getattr(raw, f"TensorArray{name}{suffix}")(**arguments)

    old_graph()
    x = placeholder("x", [None, 2])
    array = op("", size=2, dtype=tf.float32, dynamic_size=True, clear_after_read=False)
    written = op("Write", handle=array, index=2, value=x[0], flow_in=flow())
    written = op("Write", handle=array, index=0, value=x[1], flow_in=written)
    written = op("Write", handle=array, index=1, value=x[0] + x[1], flow_in=written)
    split = op("", size=2, dtype=tf.float32)
    pieces = op("Concat", handle=split, dtype=tf.float32, flow_in=op("Split", handle=split, value=x, lengths=tf.constant([1, 2], tf.int64), flow_in=flow()))
    words = op("", size=2, dtype=tf.string)
    scattered = op("Scatter", handle=words, indices=[1, 0], value=tf.constant([["a", "b"], ["c", "d"]]), flow_in=flow())
    fetches = {"size": op("Size", handle=array, flow_in=written), "some": op("Gather", handle=array, indices=[2, 0, 2], flow_in=written, dtype=tf.float32),
               "one": op("Read", handle=array, index=1, flow_in=written, dtype=tf.float32), "concat": pieces[0], "lengths": pieces[1],
               "words": op("Gather", handle=words, indices=[0, 1], flow_in=scattered, dtype=tf.string)}
    if suffix == "":
        rows = op("", size=3, dtype=tf.float32)
        fetches["rows"] = op("Pack", handle=rows, flow_in=op("Unpack", handle=rows, value=x, flow_in=flow()), dtype=tf.float32)
    with tf.control_dependencies(list(fetches.values())):
        closed = op("Close", handle=words)
    with tf.control_dependencies([closed]):
        fetches["closed"] = tf.constant(1)
    return fetches, [{x: numbers(3, 2)}, {x: numbers(3, 2) * 2}]


@case
def arrays_v1():
    return arrays_of("")


@case
def arrays_v2():
    return arrays_of("V2")


@case
def array_v2_in_loop():
    """The handle of the second form is text that a loop carries."""
    old_graph()
    n = placeholder("n", [], tf.int32)
    array = raw.TensorArrayV2(size=n, dtype=tf.float32)

    def body(i, flow):
        return i + 1, raw.TensorArrayWriteV2(handle=array, index=i, value=tf.cast(i * i, tf.float32), flow_in=flow)

    last = v1.while_loop(lambda i, _: i < n, body, [tf.constant(0), flow()], parallel_iterations=1)[1]
    return {"y": raw.TensorArrayGatherV2(handle=array, indices=tf.range(n), flow_in=last, dtype=tf.float32)}, [{n: 4}, {n: 1}]


@failing
def array_v2_beyond(x):
    old_graph()
    array = raw.TensorArrayV2(size=1, dtype=tf.float32)
    return raw.TensorArrayReadV2(handle=array, index=1, flow_in=raw.TensorArrayWriteV2(handle=array, index=0, value=x, flow_in=flow()), dtype=tf.float32)


@failing
def unpack_too_few(x):
    old_graph()
    array = raw.TensorArray(size=3, dtype=tf.float32)
    return raw.TensorArrayPack(handle=array, flow_in=raw.TensorArrayUnpack(handle=array, value=x, flow_in=flow()), dtype=tf.float32)


@case
def stack_v1():
    x = placeholder("x", [2])
    stack = raw.Stack(elem_type=tf.float32)
    pushed = raw.StackPush(handle=stack, elem=x)
    with tf.control_dependencies([pushed]):
        pushed = raw.StackPush(handle=stack, elem=x * 2)
    with tf.control_dependencies([pushed]):
        first = raw.StackPop(handle=stack, elem_type=tf.float32)
    with tf.control_dependencies([first]):
        second = raw.StackPop(handle=stack, elem_type=tf.float32)
    with tf.control_dependencies([second]):
        closed = raw.StackClose(handle=stack)
    with tf.control_dependencies([closed]):
        return {"first": first, "second": second + 0}, [{x: [1, 2]}, {x: [3, 4]}]


@case
def array_gradients():
    """tf.gradients of arrays: a cell that is read twice gets the sum, one that is not read gets zeros."""
    x = placeholder("x", [3, 2])
    array = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
    y = tf.reduce_sum(array.read(0) * 2 + array.read(2) ** 2 + array.read(2))
    rows = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2])
    z = tf.reduce_sum(rows.concat() ** 3)
    return {"y": tf.gradients(y, x)[0], "z": tf.gradients(z, x)[0]}, [{x: numbers(3, 2)}]


@case
def loop_gradients():
    """tf.gradients of a scan over an array, and of its parts."""
    x = placeholder("x", [None])
    y = v1.scan(lambda a, v: a * v + v, x, tf.constant(1.0))
    return {"y": tf.gradients(y, x)[0]}, [{x: [1, 2, 3]}, {x: [5]}]


@case
def gradient_with_shape():
    x = placeholder("x", [2])
    array = tf.TensorArray(tf.float32, 2).unstack(tf.stack([x, x * 2]))
    handle, ready = raw.TensorArrayGradWithShape(handle=array.handle, flow_in=array.flow, shape_to_prepend=[2, 1], source="g")
    again, same = raw.TensorArrayGradWithShape(handle=array.handle, flow_in=ready, shape_to_prepend=[2, 1], source="g")
    zeros = raw.TensorArrayReadV3(handle=handle, index=1, flow_in=same, dtype=tf.float32)
    value = tf.reshape(tf.stack([x, x + 1]), [2, 1, 2])
    with tf.control_dependencies([zeros]):
        written = raw.TensorArrayWriteV3(handle=handle, index=0, value=value, flow_in=ready)
        written = raw.TensorArrayWriteV3(handle=again, index=0, value=value * 10, flow_in=written)
    return {"zeros": zeros, "sum": raw.TensorArrayReadV3(handle=again, index=0, flow_in=written, dtype=tf.float32)}, [{x: [1, 2]}]


@case
def gradient_v2():
    old_graph()
    x = placeholder("x", [2])
    array = raw.TensorArrayV2(size=1, dtype=tf.float32, clear_after_read=False)
    written = raw.TensorArrayWriteV2(handle=array, index=0, value=x, flow_in=flow())
    with tf.control_dependencies([written]):
        gradient = raw.TensorArrayGradV2(handle=array, flow_in=written, source="g")
    back = raw.TensorArrayWriteV2(handle=gradient, index=0, value=x * 3, flow_in=flow())
    old = raw.TensorArray(size=1, dtype=tf.int32)
    made = raw.TensorArrayUnpack(handle=old, value=[[5, 6]], flow_in=flow())
    with tf.control_dependencies([made]):
        older = raw.TensorArrayGrad(handle=old, flow_in=made, source="g")
    sums = raw.TensorArrayUnpack(handle=older, value=[[1, 2]], flow_in=flow())
    sums = raw.TensorArrayUnpack(handle=older, value=[[10, 20]], flow_in=sums)
    return {"y": raw.TensorArrayReadV2(handle=gradient, index=0, flow_in=back, dtype=tf.float32),
            "z": raw.TensorArrayPack(handle=older, flow_in=sums, dtype=tf.int32)}, [{x: [1, 2]}]


@failing
def sum_of_shapes(x):
    array = tf.TensorArray(tf.float32, 1, infer_shape=False).write(0, x)
    handle, ready = raw.TensorArrayGradV3(handle=array.handle, flow_in=array.flow, source="g")
    return raw.TensorArrayReadV3(handle=handle, index=0, flow_in=raw.TensorArrayWriteV3(handle=handle, index=0, value=x[:1], flow_in=ready), dtype=tf.float32)


@failing
def gradient_of_gradient(x):
    array = tf.TensorArray(tf.float32, 1).write(0, x)
    handle, ready = raw.TensorArrayGradV3(handle=array.handle, flow_in=array.flow, source="g")
    return tf.reshape(raw.TensorArrayGradV3(handle=handle, flow_in=ready, source="h").flow_out, [1])


# ---- For: Defun's loop with a counter ----


def counted(body, start, limit, delta, *inputs):
    return functional_ops.For(start, limit, delta, list(inputs), body)


@function.Defun(tf.int32, tf.float32, tf.string)
def grow(i, x, text):
    return tf.concat([x, [tf.cast(i, tf.float32)]], 0) * 2, tf.strings.join([text, tf.strings.as_string(i)])


@case
def counted_loop():
    """Values that change shape; up, down, not at all; a last step beyond the limit; a loop in a loop; without values."""
    start, limit, delta, x = placeholder("start", [], tf.int32), placeholder("limit", [], tf.int32), placeholder("delta", [], tf.int32), placeholder("x", [None])

    @function.Defun(tf.int32, tf.float32)
    def nested(i, x):
        return counted(power, 0, i, 1, x)[0]

    @function.Defun(tf.int32, tf.float32)
    def power(i, x):
        return x * 1.5 + tf.cast(i, tf.float32)

    y, text = counted(grow, start, limit, delta, x, "-")
    return {"y": y, "text": text, "nested": counted(nested, start, limit, delta, x)[0]}, [
        {start: a, limit: b, delta: d, x: [1, 2]} for a, b, d in ((0, 3, 1), (0, 10, 3), (3, -1, -2), (5, 5, 0), (5, 5, -1), (2, 3, 2**31 - 3))]


@case
def counted_loop_of_a_variable():
    x, v = placeholder("x", [2]), variable("v", [1.0, 2.0])

    @function.Defun(tf.int32, tf.float32, tf.resource)
    def add(i, x, handle):
        with tf.control_dependencies([raw.AssignAddVariableOp(resource=handle, value=x)]):
            return raw.ReadVariableOp(resource=handle, dtype=tf.float32) * tf.cast(i, tf.float32), tf.identity(handle)

    y = counted(add, 1, 4, 1, x, v.handle)[0]
    with tf.control_dependencies([y]):
        return {"y": y, "v": v.read_value()}, [{x: [1, 2]}, {x: [3, 4]}]


def counted_wrongly(name, start, limit, delta):
    def build():
        x = placeholder("x", [None])
        return {"y": counted(grow, start, limit, delta, x, "")[0]}, [{x: [1]}]
    build.__name__ = "counted_" + name
    CASES.append(build)


counted_wrongly("not_at_all", 0, 3, 0)
counted_wrongly("up_to_less", 3, 0, 1)
counted_wrongly("down_to_more", 0, 3, -1)


# ---- maps, and lists of lists ----


@case
def maps():
    x, key = placeholder("x", [2]), placeholder("key", [], tf.string)
    empty = raw.EmptyTensorMap()
    one = raw.TensorMapInsert(input_handle=empty, key=tf.constant("a"), value=x)
    two = raw.TensorMapInsert(input_handle=one, key=tf.constant([7, 8]), value=tf.constant(5))
    both = raw.TensorMapInsert(input_handle=two, key=tf.constant("a"), value=x * 2)
    without = raw.TensorMapErase(input_handle=both, key=tf.constant([7, 8]), value_dtype=tf.int32)
    nested = raw.TensorMapInsert(input_handle=empty, key=tf.constant(1.5), value=both)
    inner = raw.TensorMapLookup(input_handle=nested, key=tf.constant(1.5), value_dtype=tf.variant)
    sizes = tf.stack([raw.TensorMapSize(input_handle=m) for m in (empty, one, two, both, without, nested, inner)])
    fetches = {"sizes": sizes, "old": raw.TensorMapLookup(input_handle=one, key=key, value_dtype=tf.float32),
               "new": raw.TensorMapLookup(input_handle=inner, key=key, value_dtype=tf.float32),
               "has": tf.cast(tf.stack([raw.TensorMapHasKey(input_handle=without, key=k) for k in (key, tf.constant([7, 8]), tf.constant("b"), tf.constant(["a"]))]), tf.int32),
               "keys": raw.TensorMapStackKeys(input_handle=without, key_dtype=tf.string), "rows": raw.TensorMapStackKeys(input_handle=raw.TensorMapErase(
                   input_handle=both, key=key, value_dtype=tf.float32), key_dtype=tf.int32)}
    return fetches, [{x: [1, 2], key: "a"}]


@case
def map_in_loop():
    n = placeholder("n", [], tf.int32)

    def body(i, m):
        return i + 1, raw.TensorMapInsert(input_handle=m, key=i % 4, value=i * i)

    m = v1.while_loop(lambda i, _: i < n, body, [tf.constant(0), raw.EmptyTensorMap()])[1]
    return {"size": raw.TensorMapSize(input_handle=m), "y": raw.TensorMapLookup(input_handle=m, key=tf.constant(1), value_dtype=tf.int32)}, [{n: 3}, {n: 7}]


@failing
def no_such_key(x):
    return raw.TensorMapLookup(input_handle=raw.TensorMapInsert(input_handle=raw.EmptyTensorMap(), key=tf.constant(1), value=x), key=tf.constant(2), value_dtype=tf.float32)


@failing
def erase_no_such_key(x):
    return tf.cast(raw.TensorMapSize(input_handle=raw.TensorMapErase(input_handle=raw.EmptyTensorMap(), key=x, value_dtype=tf.float32)), tf.float32)


@failing
def keys_of_an_empty_map(x):
    return x + raw.TensorMapStackKeys(input_handle=raw.EmptyTensorMap(), key_dtype=tf.float32)


@failing
def keys_of_two_shapes(x):
    m = raw.TensorMapInsert(input_handle=raw.EmptyTensorMap(), key=x, value=x)
    return raw.TensorMapStackKeys(input_handle=raw.TensorMapInsert(input_handle=m, key=x[0], value=x), key_dtype=tf.float32)


@case
def push_to_lists():
    x = placeholder("x", [2, 3])
    lists = [tf.raw_ops.TensorListFromTensor(tensor=tf.zeros([i, 3]), element_shape=[3]) for i in (0, 2)]
    pushed = raw.TensorListPushBackBatch(input_handles=tf.stack(lists), tensor=x)
    stacks = [raw.TensorListStack(input_handle=tf.gather(pushed, i), element_shape=[3], element_dtype=tf.float32) for i in (0, 1)]
    return {"a": stacks[0], "b": stacks[1], "old": raw.TensorListLength(input_handle=lists[1])}, [{x: numbers(2, 3)}]


def lengths(table):
    """The lengths of the lists of a tensor of one or more dimensions."""
    flat = tf.reshape(table, [-1])
    return tf.shape(table), tf.map_fn(lambda i: raw.TensorListLength(input_handle=flat[i]), tf.range(tf.size(flat)))


@case
def lists_moved():
    """Tensors of lists are sliced, spread and chosen from as those of numbers."""
    x, at, p = placeholder("x", [6, 2]), placeholder("at", [], tf.int32), placeholder("p", [2], tf.bool)
    lists = [raw.TensorListFromTensor(tensor=x[:i], element_shape=[2]) for i in range(6)]
    table = tf.reshape(tf.stack(lists), [2, 3])
    moved = [table[at], table[::-1, at:at + 1], tf.broadcast_to(table[:, :1], [4, 2, 3]), tf.reshape(table[1, 2], [1]), table[2:],
             raw.SelectV2(condition=p, t=table[:, 0], e=table[:, 1]), raw.Select(condition=p, x=table, y=table[::-1])]
    return {f"{what}{i}": value for i, each in enumerate(moved) for what, value in zip(("shape", "y"), lengths(each))}, [{x: numbers(6, 2), at: i, p: [i > 0, True]} for i in (0, 1)]


@failing
def push_to_too_few(x):
    lists = tf.stack([raw.EmptyTensorList(element_shape=[2], max_num_elements=-1, element_dtype=tf.float32)] * 3)
    return raw.TensorListStack(input_handle=tf.gather(raw.TensorListPushBackBatch(input_handles=lists, tensor=x), 0), element_shape=[2], element_dtype=tf.float32)


@failing
def push_of_another_shape(x):
    lists = tf.stack([raw.EmptyTensorList(element_shape=[3], max_num_elements=-1, element_dtype=tf.float32)] * 2)
    return raw.TensorListStack(input_handle=tf.gather(raw.TensorListPushBackBatch(input_handles=lists, tensor=x), 0), element_shape=[3], element_dtype=tf.float32)


# ---- recurrent networks ----


def lstm_step(inputs, state, kernel, bias):
    """TF1's BasicLSTMCell."""
    c, h = state
    i, j, f, o = tf.split(tf.matmul(tf.concat([inputs, h], 1), kernel) + bias, 4, axis=1)
    c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
    return c, tf.tanh(c) * tf.sigmoid(o)


def dynamic_rnn(x, lengths, units, kernel, bias):
    """TF1's dynamic_rnn, which TensorFlow 2.21 has no more: arrays of inputs and outputs, and past its length a row keeps its state. Without lengths, a step is one
    without conditions."""
    steps, rows = tf.shape(x)[1], tf.shape(x)[0]
    inputs = tf.TensorArray(tf.float32, steps, element_shape=x.shape[:1].concatenate(x.shape[2:])).unstack(tf.transpose(x, [1, 0, 2]))
    outputs = tf.TensorArray(tf.float32, steps, element_shape=[None, units])
    zeros = tf.zeros([rows, units])
    least, most = (tf.reduce_min(lengths), tf.reduce_max(lengths)) if lengths is not None else (None, None)

    def body(time, outputs, c, h):
        def run():
            return lstm_step(inputs.read(time), (c, h), kernel, bias)

        def some():
            new_c, new_h = run()
            done = (time >= lengths)[:, None] & tf.ones([1, units], tf.bool)
            return tf.where(done, zeros, new_h), tf.where(done, c, new_c), tf.where(done, h, new_h)

        def all_rows():
            new_c, new_h = run()
            return new_h, new_c, new_h

        if lengths is None:
            out, new_c, new_h = all_rows()
        else:
            out, new_c, new_h = v1.cond(time < least, all_rows, lambda: v1.cond(time >= most, lambda: (zeros, c, h), some))
        return time + 1, outputs.write(time, out), new_c, new_h

    _, outputs, c, h = v1.while_loop(lambda time, *_: time < steps, body, [tf.constant(0), outputs, zeros, zeros], parallel_iterations=32, swap_memory=True)
    return tf.transpose(outputs.stack(), [1, 0, 2]), c, h


@case
def lstm():
    x, lengths = placeholder("x", [None, None, 3]), placeholder("lengths", [None], tf.int32)
    outputs, c, h = dynamic_rnn(x, lengths, 4, weights("kernel", [7, 16]), weights("bias", [16]))
    return {"outputs": outputs, "c": c, "h": h}, [{x: numbers(2, 5, 3), lengths: [3, 4]}, {x: numbers(1, 1, 3), lengths: [1]}]


@case
def bidirectional():
    x, lengths = placeholder("x", [None, None, 3]), placeholder("lengths", [None], tf.int32)
    forward, _, _ = dynamic_rnn(x, None, 2, weights("fw/kernel", [5, 8]), weights("fw/bias", [8]))
    backward, _, _ = dynamic_rnn(tf.reverse_sequence(x, lengths, 1, 0), None, 2, weights("bw/kernel", [5, 8]), weights("bw/bias", [8]))
    return {"y": tf.concat([forward, tf.reverse_sequence(backward, lengths, 1, 0)], 2)}, [{x: numbers(2, 4, 3), lengths: [4, 2]}]


@case
def keras_lstm():
    """TF1's Keras: an LSTM with dropout behind the learning phase, over the loop of K.rnn."""
    x = placeholder("x", [None, None, 3])
    training = v1.placeholder_with_default(False, [], "keras_learning_phase")
    kernel, recurrent = weights("kernel", [3, 16]), weights("recurrent_kernel", [4, 16])
    ones = tf.ones_like(x[:, 0, :1]) * tf.ones([1, 3])
    mask = v1.cond(training, lambda: tf.nn.dropout(ones, rate=0.5), lambda: tf.identity(ones))
    time_steps = tf.shape(x)[1]
    inputs = tf.TensorArray(tf.float32, time_steps, tensor_array_name="input_ta").unstack(tf.transpose(x, [1, 0, 2]))
    outputs = tf.TensorArray(tf.float32, time_steps, tensor_array_name="output_ta")
    zeros = tf.zeros([tf.shape(x)[0], 4])

    def step(time, outputs, h, c):
        z = tf.matmul(inputs.read(time) * mask, kernel) + tf.matmul(h, recurrent)
        i, f, g, o = tf.split(z, 4, axis=1)
        c = tf.clip_by_value(0.2 * f + 0.5, 0, 1) * c + tf.clip_by_value(0.2 * i + 0.5, 0, 1) * tf.tanh(g)
        h = tf.clip_by_value(0.2 * o + 0.5, 0, 1) * tf.tanh(c)
        return time + 1, outputs.write(time, h), h, c

    last, outputs, h, _ = v1.while_loop(lambda time, *_: time < time_steps, step, (tf.constant(0), outputs, zeros, zeros),
                                        parallel_iterations=32, swap_memory=True, maximum_iterations=time_steps)
    return {"last": outputs.read(last - 1), "h": h}, [{x: numbers(2, 3, 3)}]


# ---- functions ----


@case
def batch_function():
    """TensorFlow gathers the rows of several requests for one call of the function."""
    x, w = placeholder("x", [None, 2]), placeholder("w", [2, 2])
    function = tf.function(lambda x, w: tf.matmul(x, w) + 1, [tf.TensorSpec([None, 2]), tf.TensorSpec([2, 2])]).get_concrete_function()
    y, = raw.BatchFunction(in_tensors=[x], captured_tensors=[w], f=function, num_batch_threads=1, max_batch_size=4, batch_timeout_micros=0,
                           allowed_batch_sizes=[2, 4], Tout=[tf.float32])
    return {"y": y}, [{x: numbers(1, 2), w: numbers(2, 2)}, {x: numbers(3, 2), w: numbers(2, 2)}]


@case
def device_index():
    x = placeholder("x", [])
    index = [raw.DeviceIndex(device_names=names) for names in (["CPU", "GPU"], ["GPU", "CPU"], ["GPU", "TPU"], [])]
    return {"y": tf.cast(tf.stack(index), tf.float32) + x}, [{x: 0.5}]


@case
def implementation_for_cpu():
    """Functions that implement one interface: TensorFlow runs the one for the device, also below another function. As
    nothing calls the one for CPUs, the graph has to be told of it."""

    def implementation(interface, device, number):
        attributes = {"api_implements": interface, **({"api_preferred_device": device} if device else {})}
        body = tf.function(lambda x: x * number, input_signature=[tf.TensorSpec([None], tf.float32)], experimental_attributes=attributes)
        concrete = body.get_concrete_function()
        concrete.add_to_graph(v1.get_default_graph())
        return concrete

    x = placeholder("x", [None])
    named = {"nameless": implementation("one", "", 2), "gpu": implementation("two", "GPU", 3), "alone": implementation("three", "GPU", 5), "cpu": implementation("four", "CPU", 7)}
    for interface in ("one", "two", "four"):
        implementation(interface, "GPU", 11)
    for interface in ("one", "two"):
        implementation(interface, "CPU", 13)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def below(x):
        return named["nameless"](x) + 1

    return {**{name: function(x) for name, function in named.items()}, "below": below(x)}, [{x: [1, 2]}]


@case
def assert_of_texts():
    """The text of the error escapes strings as C does."""
    x = placeholder("x", [None], tf.string)
    with tf.control_dependencies([tf.Assert(tf.equal(tf.size(x), 0), ["of \"x\":", x])]):
        return {"y": tf.identity(x)}, [{x: []}, {x: ["a'b\\", "\n\t\r\x7f\x01", "\u00e9"]}]


# ---- conditions that are no scalars ----


def texts_of(*results):
    """A function without arguments for each result."""
    functions = []
    for result in results:

        @tf.function(input_signature=[])
        def function(result=result):
            return tf.constant(result)

        functions.append(function.get_concrete_function())
    return functions


def lowered(outputs):
    outputs[0].op._set_attr("_lower_using_switch_merge", v1.AttrValue(b=True))
    return outputs[0]


def branch(name, condition):
    then, otherwise = texts_of("true", "false")
    return getattr(raw, name)(cond=condition, input=[], Tout=[tf.string], then_branch=then, else_branch=otherwise)


def branches(name, index):
    return getattr(raw, name)(branch_index=index, input=[], Tout=[tf.string], branches=texts_of("0", "1", "others"))


def turns(name, condition):
    """A loop whose body sets the value that is its condition to false, and counts."""
    spec = [tf.TensorSpec(None, condition.dtype), tf.TensorSpec([], tf.int32)]

    @tf.function(input_signature=spec)
    def cond(value, _):
        return tf.identity(value)

    @tf.function(input_signature=spec)
    def body(value, count):
        return tf.zeros([], value.dtype), count + 1

    return getattr(raw, name)(input=[condition, tf.constant(0)], cond=cond.get_concrete_function(), body=body.get_concrete_function())[::-1]


def truths(kind, name, dtype, feeds, is_lowered):
    p = placeholder("p", None, dtype)
    outputs = kind(name, p)
    return {"y": lowered(outputs) if is_lowered else outputs[0]}, [{p: feed} for feed in feeds]


BOOLS = [True, False, [False], [True, True, False], np.zeros([0]), [[False]]]
for _name, _kind, _dtype, _feeds in (
    ("If", branch, tf.bool, BOOLS),
    ("StatelessIf", branch, tf.bool, BOOLS),
    ("StatelessIf", branch, tf.float32, [2.0, -0.0, [0.0], np.zeros([0])]),
    ("Case", branches, tf.int32, [0, 1, 2, -1, 9, [0], [[1]], np.zeros([0])]),
    ("StatelessCase", branches, tf.int32, [1, [1], [0, 1]]),
    ("While", turns, tf.bool, BOOLS),
    ("StatelessWhile", turns, tf.bool, BOOLS),
    ("While", turns, tf.int32, [2, 0, [0], np.zeros([0])]),
):
    for _lowered in (False, True) if _dtype in (tf.bool, _kind is branches and tf.int32) else (False,):

        def condition_of(args=(_kind, _name, _dtype, _feeds, _lowered)):
            return truths(*args)

        condition_of.__name__ = f"condition_of_{_name}_{_dtype.name}" + _lowered * "_lowered"
        case(condition_of)


@case
def condition_of_switches():
    p, x = placeholder("p", None, tf.bool), placeholder("x", [2])
    switched = raw.Switch(data=x, pred=p)
    return {"y": raw.Merge(inputs=[switched.output_true + 1, -switched.output_false]).output}, [{p: value, x: [1, 2]} for value in BOOLS]


@case
def condition_of_a_loop():
    p = placeholder("p", None, tf.bool)
    n = v1.while_loop(lambda n, more: more, lambda n, _: (n + 1, tf.constant(False)), [tf.constant(0), p],
                      shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)])[0]
    return {"n": n}, [{p: value} for value in BOOLS]


# ---- graphs that are not structured ----


@case
def refused_merge():
    """Which input the Merge takes is not determined, except that both are the same."""
    x = placeholder("x", [2])
    return {"y": raw.Merge(inputs=[x + 1, 1 + x]).output}, [{x: [1, 2]}]


@case
def refused_predicates():
    """Both predicates must hold; such a node is in no tf.cond."""
    p, q, x = placeholder("p", [], tf.bool), placeholder("q", [], tf.bool), placeholder("x", [])
    both = raw.Switch(data=x, pred=p).output_true + raw.Switch(data=x, pred=q).output_true
    return {"y": raw.Merge(inputs=[both, raw.Switch(data=x, pred=p).output_false]).output}, [{p: True, q: True, x: 2}]


# ---- gradients of functions ----


@case
def symbolic_gradient():
    """Of two results of which one does not depend on all arguments, and of an argument that is a number."""

    @function.Defun(tf.float32, tf.float32, tf.float32, tf.int32)
    def layer(x, w, b, n):
        return tf.tanh(tf.matmul(x, w) + b) / tf.cast(n, tf.float32), tf.reduce_sum(tf.square(x), 1)

    x, w, b, n = placeholder("x", [None, 2]), placeholder("w", [2, 3]), placeholder("b", None), placeholder("n", [], tf.int32)
    y, squares = layer(x, w, b, n)
    dy, dsquares = tf.ones_like(y), tf.exp(squares)
    dx, dw, db, dn = raw.SymbolicGradient(input=[x, w, b, n, dy, dsquares], Tout=[tf.float32] * 3 + [tf.int32], f=layer)
    return {"dx": dx, "dw": dw, "db": db, "dn": dn}, [{x: numbers(4, 2), w: numbers(2, 3), b: value, n: 3} for value in (numbers(3), numbers(4, 1), 0.5)]


@case
def symbolic_gradient_that_is_given():
    """The library says what the gradient of the function is."""

    @function.Defun(tf.float32, tf.float32)
    def given(x, dy):
        return dy * 3 + x

    @function.Defun(tf.float32, grad_func=given)
    def square(x):
        return x * x

    x = placeholder("x", [None])
    y = square(x)
    return {"y": y, "dx": v1.gradients(y, x)[0]}, [{x: [1, 2, 0.5]}]


@case
def symbolic_gradient_of_a_gradient():
    @function.Defun(tf.float32)
    def wave(x):
        return tf.sin(x)

    @function.Defun(tf.float32)
    def slope(x):
        return raw.SymbolicGradient(input=[x, tf.ones_like(x)], Tout=[tf.float32], f=wave)[0]

    x = placeholder("x", [None])
    return {"y": slope(x), "dx": raw.SymbolicGradient(input=[x, tf.exp(x)], Tout=[tf.float32], f=slope)[0]}, [{x: [1, 2, 0.5]}]


def listed(x):
    return raw.TensorListFromTensor(tensor=x, element_shape=tf.constant([-1]))


@case
def sums_of_lists_of_lists():
    """As in gradients of gradients of loops, whose accumulators hold lists; one element is not set."""
    x = placeholder("x", [None, 2])
    unset = raw.TensorListReserve(element_shape=tf.constant([], tf.int32), num_elements=3, element_dtype=tf.variant)
    one = raw.TensorListSetItem(input_handle=unset, index=2, item=listed(x))
    both = raw.TensorListSetItem(input_handle=one, index=1, item=listed(x * 3))
    deep = raw.TensorListSetItem(input_handle=unset, index=1, item=both)

    def rows(lists, *path):
        for at in path:
            lists = raw.TensorListGetItem(input_handle=lists, index=at, element_shape=tf.constant([], tf.int32), element_dtype=tf.variant)
        return raw.TensorListStack(input_handle=lists, element_shape=tf.constant([2]), element_dtype=tf.float32)

    total, deep_total = raw.AddN(inputs=[one, both, tf.zeros_like(both)]), raw.AddN(inputs=[deep, tf.zeros_like(deep), deep])
    return {
        "zeros": rows(tf.zeros_like(both), 1),
        "sum": rows(total, 2),
        "sum_with_unset": rows(total, 1),
        "one": rows(one, 2),
        "deep": rows(deep_total, 1, 1),
        "length": raw.TensorListLength(input_handle=tf.zeros_like(one)),
    }, [{x: [[1, 2], [3, 4], [5, 6]]}, {x: [[7, 8]]}]


for each in CASES:
    if each.__name__ in sys.argv[1:] or len(sys.argv) == 1:
        write(HERE / (each.__name__ + ".pb"), each)

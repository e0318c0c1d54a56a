#!/usr/bin/env python3
"""Writes the GraphDefs that test_gradient_graphs.c reads: each has a scalar `loss`, and TensorFlow's gradients of it by the placeholders.

    python tests/golden/gradients/graphs.py [case…]

Made with TensorFlow 2.21. `answers/0/feed/NAME` is fed to the placeholder NAME, and `answers/0/gradient/NAME` is the gradient by it. The cases
are of ops whose inputs are no plain tensors: arrays, and ragged tensors in variants.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from answered_graphs import np, save, tf, v1  # noqa: E402

v1.disable_v2_behavior()
CASES = []


def case(control_flow_v2=False):
    def enter(function):
        CASES.append((function, control_flow_v2))
        return function
    return enter


def numbers(*shape):
    """The same on every machine: small numbers without a pattern."""
    count = int(np.prod(shape))
    return (((np.arange(count) * 37 + 11) % 101 / 50.0 - 1).reshape(shape)).astype(np.float32)


def weighted(y):
    """A sum in which each element has another weight."""
    size = tf.size(y)
    weights = tf.cast(tf.range(size) * 23 % 17, tf.float32) / 8.0 - 1
    return tf.reduce_sum(tf.reshape(y, [-1]) * weights)


def placeholder(name, *shape):
    return v1.placeholder(tf.float32, shape, name)


def array(size, **more):
    return tf.TensorArray(tf.float32, size, clear_after_read=False, **more)


# ---- arrays ----


@case()
def array_write_and_read():
    """An element that is read twice gets the sum of both gradients, one that is never read zeros."""
    x = placeholder("x", 2, 3)
    a = array(3, element_shape=[3]).write(0, x[0] * x[1]).write(2, tf.sin(x[1])).write(1, x[0])
    return weighted(a.read(0) * a.read(2)) + weighted(tf.square(a.read(0))), {x: numbers(2, 3)}


@case()
def array_scatter_and_gather():
    x = placeholder("x", None, 2)
    a = array(4).scatter([2, 0, 3, 1], tf.exp(x))
    return weighted(a.gather([3, 0, 2])), {x: numbers(4, 2)}


@case()
def array_split_and_concat():
    x = placeholder("x", 5, 2)
    a = tf.TensorArray(tf.float32, 3, infer_shape=False).split(tf.square(x), [2, 0, 3])
    return weighted(a.concat()), {x: numbers(5, 2)}


@case()
def array_stack():
    x, y = placeholder("x", 3), placeholder("y", 3)
    return weighted(array(2).write(1, x * y).write(0, tf.tanh(y)).stack()), {x: numbers(3), y: numbers(3) + 0.25}


@case()
def array_in_a_loop():
    """What tf.nn.dynamic_rnn makes: a loop that reads steps from an array, writes to another one, and carries a state."""
    x, w = placeholder("x", None, 2, 3), placeholder("w", 3, 3)
    steps = tf.TensorArray(tf.float32, tf.shape(x)[0]).unstack(x)
    results = tf.TensorArray(tf.float32, tf.shape(x)[0])

    def body(i, state, out):
        state = tf.tanh(tf.matmul(state, w) + steps.read(i))
        return i + 1, state, out.write(i, state * 2)
    _, state, out = v1.while_loop(lambda i, *_: i < tf.shape(x)[0], body, (0, tf.zeros([2, 3]), results))
    return weighted(out.stack()) + weighted(state), {x: numbers(4, 2, 3), w: numbers(3, 3)}


# ---- ragged tensors in variants ----


def ragged(values):
    return tf.RaggedTensor.from_row_splits(values, [0, 2, 2, 5])


@case(True)
def ragged_there_and_back():
    x = placeholder("x", 5)
    encoded = ragged(x * x)._to_variant(batched_input=False)
    back = tf.RaggedTensor._from_variant(encoded, tf.float32, output_ragged_rank=1)
    return weighted(back.flat_values), {x: numbers(5)}


@case(True)
def ragged_used_twice():
    """The gradients of both uses are added in their variant."""
    x = placeholder("x", 5)
    encoded = ragged(tf.exp(x))._to_variant(batched_input=False)
    a, b = (tf.RaggedTensor._from_variant(encoded, tf.float32, output_ragged_rank=1) for _ in range(2))
    return weighted(a.flat_values) + weighted(tf.square(b.flat_values)), {x: numbers(5)}


@case(True)
def ragged_rows_there_and_back():
    x = placeholder("x", 5, 2)
    encoded = ragged(tf.sin(x))._to_variant(batched_input=True)
    back = tf.RaggedTensor._from_variant(encoded, tf.float32, output_ragged_rank=1, input_ragged_rank=0)
    return weighted(back.flat_values), {x: numbers(5, 2)}


@case(True)
def ragged_map():
    """tf.map_fn over the rows of a ragged tensor gives another one."""
    x = placeholder("x", 5)
    y = tf.map_fn(lambda row: tf.cumsum(row * row), ragged(x), fn_output_signature=tf.RaggedTensorSpec([None], tf.float32, ragged_rank=0))
    return weighted(y.flat_values), {x: numbers(5)}


def write(function, control_flow_v2):
    (v1.enable_control_flow_v2 if control_flow_v2 else v1.disable_control_flow_v2)()
    with v1.Graph().as_default() as graph, v1.Session() as session:
        loss, feeds = function()
        tf.identity(loss, name="loss")
        definition = graph.as_graph_def()
        gradients = session.run(dict((x.op.name, g) for x, g in zip(feeds, v1.gradients(loss, list(feeds)))), feeds)
    answers = {"answers/0/feed/" + x.op.name: np.array(value, np.float32) for x, value in feeds.items()}
    answers.update(("answers/0/gradient/" + name, value) for name, value in gradients.items())
    save(HERE / (function.__name__ + ".pb"), definition, answers)


for function, control_flow_v2 in CASES:
    if len(sys.argv) < 2 or function.__name__ in sys.argv[1:]:
        write(function, control_flow_v2)

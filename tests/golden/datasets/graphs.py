#!/usr/bin/env python3
"""Writes the GraphDefs that test_datasets.c reads: what tf.function makes of tf.data, with TensorFlow's answers.

    python tests/golden/datasets/graphs.py [case…]

Made with TensorFlow 2.21. ../answered_graphs.py says how a graph holds the answers.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from answered_graphs import np, tf, v1, write  # noqa: E402

Data = tf.data.Dataset
CASES = {}
F, I, L, S, B = tf.float32, tf.int32, tf.int64, tf.string, tf.bool


def case(*runs, **inputs):
    """A function of placeholders (`name=(dtype, shape)`) as a graph; each run is the values of the placeholders, in order."""
    def add(function):
        def build():
            feeds = [v1.placeholder(dtype, shape, name) for name, (dtype, shape) in inputs.items()]
            results = tf.function(function)(*feeds)
            return results, [dict(zip(feeds, run)) for run in runs or [()]]
        CASES[function.__name__] = build
    return add


def listed(dataset, dtype=None):
    """All elements, in one tensor of a dimension more."""
    spec = dataset.element_spec
    array = tf.TensorArray(dtype or spec.dtype, 0, dynamic_size=True, element_shape=spec.shape)
    _, array = dataset.reduce((0, array), lambda state, x: (state[0] + 1, state[1].write(state[0], x)))
    return array.stack()


# ---- sources and ends ----


@case(([1.0, 2, 3],), ([],), x=(F, [None]))
def slices_reduce(x):
    return {"sum": Data.from_tensor_slices(x).reduce(0.0, lambda a, b: a * 2 + b)}


@case((0, 10, 3), (5, 0, -2), (3, 3, 1), (1, 1, -1), start=(L, []), stop=(L, []), step=(L, []))
def ranges(start, stop, step):
    data = Data.range(start, stop, step)
    return {"values": listed(data), "count": data.cardinality()}


@case((0,), step=(L, []))
def range_of_no_step(step):
    return {"values": listed(Data.range(0, 3, step))}


@case()
def range_types():
    return {dtype.name: listed(Data.range(-3, 9, 4, output_type=dtype)) for dtype in [tf.int8, tf.uint8, tf.int32, tf.float32, tf.uint64]}


@case(([[1, 2], [3, 4]], ["a", "bcd"]), x=(I, [None, 2]), s=(S, [None]))
def slices_of_a_structure(x, s):
    data = Data.from_tensor_slices({"x": x, "s": s})
    total, text = data.reduce((0, ""), lambda a, e: (a[0] + tf.reduce_sum(e["x"]), a[1] + e["s"]))
    return {"total": total, "text": text, "count": data.cardinality()}


@case(([1, 2], [1, 2, 3]), ([1], [5]), x=(I, [None]), y=(I, [None]))
def slices_of_two_lengths(x, y):
    return {"count": Data.from_tensor_slices((x, y)).reduce(0, lambda a, e: a + e[0] * e[1])}


@case(([1, 2, 3],), ([],), ([7],), x=(I, [None]))
def single_element(x):
    data = Data.from_tensor_slices(x).filter(lambda v: v > 2)
    return {"only": data.get_single_element()}


@case(([1, 2, 3],), x=(I, [None]))
def too_many_elements(x):
    return {"only": Data.from_tensor_slices(x).get_single_element()}


@case(([[1.0, 2], [3, 4]],), x=(F, [None, 2]))
def one_tensor(x):
    return {"only": Data.from_tensors((x, x[0])).map(lambda a, b: a + b).get_single_element()}


# ---- functions ----


@case(([1, 2, 3, 4], 10), x=(I, [None]), y=(I, []))
def map_captures(x, y):
    w = tf.constant([5, 6])
    return {"values": listed(Data.from_tensor_slices(x).map(lambda v: v * w + y))}


@case(([1, 2, 3, 4], 10), x=(I, [None]), y=(I, []))
def map_side_by_side(x, y):
    data = Data.from_tensor_slices(x).map(lambda v: v + y, num_parallel_calls=4).prefetch(2)
    data = data.map(lambda v: v * v, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True).batch(3, num_parallel_calls=2)
    return {"first": next(iter(data)), "count": data.cardinality()}


@case(([3, 1, 4, 1, 5, 9, 2, 6],), ([],), x=(I, [None]))
def filter_and_take_while(x):
    data = Data.from_tensor_slices(x)
    odd = data.filter(lambda v: v % 2 == 1)
    return {"odd": listed(odd), "count": odd.cardinality(), "small": listed(data.take_while(lambda v: v < 5))}


@case((4,), (0,), n=(L, []))
def flat_map(n):
    data = Data.range(n).flat_map(lambda v: Data.range(v).map(lambda w: v * 10 + w))
    return {"values": listed(data), "pairs": listed(Data.range(3).flat_map(lambda v: Data.from_tensors([v, v + n]).repeat(2)))}


@case(([1.0, 2, 3, 4],), x=(F, [None]))
def scans(x):
    data = Data.from_tensor_slices(x).scan((0.0, 1.0), lambda s, v: ((s[0] + v, s[1] * v), s[0] - s[1]))
    return {"values": listed(data), "count": data.cardinality()}


@case((6,), n=(L, []))
def nested_reduce(n):
    inner = Data.range(n).map(lambda v: v + 1)
    return {"values": listed(Data.range(3).map(lambda v: v * inner.reduce(tf.constant(0, L), lambda a, b: a + b * v)))}


@case((5,), (-5,), n=(L, []))
def branch_in_map(n):
    return {"values": listed(Data.range(4).map(lambda v: tf.cond(v * n > 5, lambda: v + n, lambda: v - n)))}


@case(([2.0, 3],), x=(F, [None]))
def variable_in_map(x):
    if not VARIABLES:
        VARIABLES.append(v1.get_variable("w", initializer=[1.5, 2.5], use_resource=True))
    return {"values": listed(Data.from_tensor_slices(x).map(lambda v: v * VARIABLES[0]))}


# ---- loops and iterators ----


@case(([1, 2, 3, 4],), ([],), x=(I, [None]))
def loop(x):
    total, steps = tf.constant(0), tf.constant(0)
    for v in Data.from_tensor_slices(x):
        total += v * v
        steps += 1
    return {"total": total, "steps": steps}


@case(([1, 2, 3, 4, 100],), ([200],), x=(I, [None]))
def loop_with_break(x):
    total = tf.constant(0)
    for v in Data.from_tensor_slices(x):
        if v > 3:
            break
        if v == 2:
            continue
        total += v
    return {"total": total}


@case(([1, 2, 3, 4],), ([5],), x=(I, [None]))
def loop_over_an_iterator(x):
    iterator = iter(Data.from_tensor_slices(x))
    first, total = next(iterator), tf.constant(0)
    for v in iterator:
        total = total * 10 + v
    return {"first": first, "total": total}


@case(([1, 2, 3],), ([1],), x=(I, [None]))
def iterator_beyond_the_end(x):
    iterator = iter(Data.from_tensor_slices(x))
    next(iterator)
    return {"second": next(iterator)}


@case(([1, 2],), ([],), x=(I, [None]))
def optional_elements(x):
    iterator = iter(Data.from_tensor_slices(x))
    first = iterator.get_next_as_optional()
    value = tf.cond(first.has_value(), lambda: first.get_value(), lambda: -1)
    return {"has": first.has_value(), "value": value}


@case((3,), n=(I, []))
def loop_in_a_loop(n):
    total = tf.constant(0)
    for v in tf.range(n):
        for w in Data.range(3).map(lambda w: tf.cast(w, I) + v):
            total = total * 3 + w
    return {"total": total}


# ---- picks ----


@case((2,), (0,), (-1,), (100,), n=(L, []))
def take_skip_repeat(n):
    data = Data.range(5)
    take, skip = data.take(n), data.skip(n)
    return {"take": listed(take), "takes": take.cardinality(), "skip": listed(skip), "skips": skip.cardinality(),
            "repeat": listed(data.repeat(n).take(12)), "repeats": data.repeat(n).cardinality()}


@case((3,), n=(L, []))
def repeat_of_nothing(n):
    return {"forever": listed(Data.range(0).repeat()), "thrice": listed(Data.range(0).repeat(n))}


@case((3, 2), n=(L, []), m=(L, []))
def concatenate_and_zip(n, m):
    both = Data.range(n).concatenate(Data.range(10, 10 + m))
    zipped = Data.zip((Data.range(n), both, Data.range(100).repeat()))
    return {"both": listed(both), "count": both.cardinality(), "zipped": listed(zipped.map(lambda a, b, c: a + 10 * b + 100 * c)),
            "pairs": zipped.cardinality(), "numbered": listed(both.enumerate().map(lambda i, v: i * v))}


@case((3, 1), (2, 0), (2, 2), (0, 0), shards=(L, []), index=(L, []))
def shards(shards, index):
    data = Data.range(8).shard(shards, index)
    return {"values": listed(data), "count": data.cardinality()}


@case()
def options():
    settings = tf.data.Options()
    settings.deterministic = True
    settings.threading.private_threadpool_size = 3
    return {"values": listed(Data.range(3).with_options(settings))}


# ---- batches ----


@case((2,), (4,), (10,), (5,), n=(L, []))
def batches(n):
    data = Data.range(10)
    full, rest = data.batch(n, drop_remainder=True), data.batch(n)
    return {"full": full.reduce(tf.zeros([], L), lambda a, b: a * 7 + tf.reduce_sum(b)), "fulls": full.cardinality(),
            "rests": rest.cardinality(), "sizes": listed(rest.map(tf.size)), "back": listed(rest.unbatch()),
            "first": next(iter(rest))}


@case((0,), n=(L, []))
def batch_of_none(n):
    return {"first": next(iter(Data.range(10).batch(n)))}


@case()
def batch_of_unequal():
    return {"first": next(iter(Data.range(1, 4).map(lambda v: tf.ones([v])).take(5).batch(3)))}


@case((["a", "b", "c"],), x=(S, [None]))
def batch_of_strings(x):
    data = Data.from_tensor_slices((x, tf.strings.length(x))).batch(2)
    return {"joined": listed(data.map(lambda s, n: tf.strings.reduce_join(s) + tf.strings.as_string(tf.size(n))))}


# ---- windows ----


@case((2, [-1]), (3, [4]), (4, [2]), n=(L, []), shape=(L, [1]))
def padded_batches(n, shape):
    data = Data.range(4).map(lambda v: tf.fill([v], v)).padded_batch(n, [shape[0]], padding_values=tf.constant(-1, L))
    return {"first": next(iter(data)), "sum": data.reduce(tf.zeros([], L), lambda a, b: a * 3 + tf.reduce_sum(b * b)), "count": data.cardinality()}


@case((["a b c", "", "d e", "f"],), x=(S, [None]))
def padded_structures(x):
    data = Data.from_tensor_slices(x).map(lambda v: {"words": tf.strings.split(v), "grid": tf.ones([tf.strings.length(v), 2]), "length": tf.strings.length(v)})
    batch = data.padded_batch(3, drop_remainder=True, padded_shapes={"words": [None], "grid": [None, 3], "length": []}).get_single_element()
    return batch


@case((3, 3, 1, False), (3, 1, 1, False), (2, 3, 1, False), (2, 1, 2, True), (4, 2, 3, True), (1, 1, 1, False),
      size=(L, []), shift=(L, []), stride=(L, []), drop=(B, []))
def windows(size, shift, stride, drop):
    data = Data.range(8).window(size, shift, stride, drop)
    sums = data.map(lambda w: w.reduce(tf.zeros([], L), lambda a, b: a * 10 + b + 1))
    return {"sums": listed(sums), "count": data.cardinality(), "flat": listed(data.flat_map(lambda w: w.batch(2)).unbatch())}


@case(([1, 2, 3, 4, 5], ["a", "b", "c", "d", "e"]), x=(I, [None]), s=(S, [None]))
def windows_of_pairs(x, s):
    data = Data.from_tensor_slices((x, s)).window(2).flat_map(lambda a, b: Data.zip((a.batch(2), b.batch(2))))
    return {"text": listed(data.map(lambda a, b: tf.strings.reduce_join(tf.strings.as_string(a) + b)))}


# ---- interleave ----


@case((2, 1), (3, 2), (1, 3), (10, 1), cycle=(L, []), block=(L, []))
def interleaves(cycle, block):
    def numbers(v):
        return Data.range(v).map(lambda w: v * 10 + w)

    def settled(data):
        settings = tf.data.Options()
        settings.deterministic = True
        return data.with_options(settings)

    data = Data.range(1, 6)
    return {"one": listed(data.interleave(numbers, cycle, block)),
            "many": listed(settled(data.interleave(numbers, cycle, block, num_parallel_calls=tf.data.AUTOTUNE))),
            "sure": listed(data.interleave(numbers, cycle, block, num_parallel_calls=1, deterministic=True))}


@case((2,), n=(L, []))
def interleave_of_too_many_calls(n):
    return {"values": listed(Data.range(3).interleave(lambda v: Data.range(v), n, num_parallel_calls=3))}


@case((0,), n=(L, []))
def interleave_of_none(n):
    return {"values": listed(Data.range(3).interleave(lambda v: Data.range(v), n))}


# ---- shuffles and caches ----


@case((1, 1), (3, 7), (100, 42), (5, 123456789012), size=(L, []), seed=(L, []))
def shuffles(size, seed):
    data = Data.range(10)
    return {"fixed": listed(data.shuffle(size, seed=seed, reshuffle_each_iteration=False)), "fresh": listed(data.shuffle(size, seed=seed)),
            "all": listed(data.shuffle(tf.data.UNKNOWN_CARDINALITY, seed=seed)), "count": data.shuffle(size, seed=seed).cardinality()}


@case((1,), (4,), (100,), size=(L, []))
def shuffles_again(size):
    data = Data.range(6)
    again = data.shuffle(size, seed=5)
    return {"same": listed(data.shuffle(size, seed=5, reshuffle_each_iteration=False).map(lambda v: v).repeat(3)),
            "other": listed(again.map(lambda v: v).repeat(3)), "fused": listed(again.repeat(3)), "later": listed(again)}


@case((0,), size=(L, []))
def shuffle_of_none(size):
    return {"values": listed(Data.range(3).shuffle(size, seed=1))}


@case((3,), n=(L, []))
def caches(n):
    data = Data.range(n).map(lambda v: v * v).cache()
    return {"values": listed(data.repeat(2)), "count": data.cardinality(), "part": listed(data.take(2).concatenate(data))}


VARIABLES = []
for name, build in CASES.items():
    if name in sys.argv[1:] or len(sys.argv) == 1:
        VARIABLES.clear()
        write(HERE / (name + ".pb"), build)

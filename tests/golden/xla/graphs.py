#!/usr/bin/env python3
"""Writes the GraphDefs that test_xla.c reads: ops of XLA that run functions, with TensorFlow's answers.

    python tests/golden/xla/graphs.py [case…]

Made with TensorFlow 2.21. ../answered_graphs.py says how a graph holds the answers.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "kernels"))
from answered_graphs import np, tf, v1, write  # noqa: E402
from tensorflow.compiler.tf2xla.ops import gen_xla_ops as xla  # noqa: E402
from xla_rows import numbers  # noqa: E402

CASES = {}
F, I, L, B = tf.float32, tf.int32, tf.int64, tf.bool


def case(*runs, **inputs):
    """A function of placeholders (`name=(dtype, shape)`) as a graph; each run is the values of the placeholders, in order."""
    def add(function):
        def build():
            feeds = [v1.placeholder(dtype, shape, name) for name, (dtype, shape) in inputs.items()]
            results = tf.function(function)(*feeds)
            return results, [dict(zip(feeds, run)) for run in runs]
        CASES[function.__name__] = build
    return add


def draw(*shape, seed=1):
    return np.random.RandomState(seed).randint(-9, 10, shape).astype(np.float32)


def of_scalars(function, *types):
    return tf.function(function).get_concrete_function(*[tf.TensorSpec([], dtype) for dtype in types])


def combiner(function, dtype=F):
    return of_scalars(function, dtype, dtype)


def apart(a, b):
    """A sum that is not computed element by element."""
    return tf.reduce_sum(tf.stack([a, b]))


def first(a, b):
    return tf.identity(a)


def second(a, b):
    return tf.identity(b)


SUM, MOST, APART, SECOND = (combiner(f) for f in (tf.add, tf.maximum, apart, second))


@case((draw(3, 4, 5),), (draw(1, 4, 2),), (draw(0, 4, 2),), (draw(2, 4, 0),), x=(F, [None, 4, None]))
def reductions(x):
    def reduce(function, *dims, start=0.0):
        return xla.xla_reduce(x, start, dimensions_to_reduce=list(dims), reducer=function)
    return {"all": reduce(SUM, 0, 1, 2), "rows": reduce(SUM, 0), "inner": reduce(SUM, 1, 2), "none": reduce(SUM), "most": reduce(MOST, 1, start=-3.0),
            "apart": reduce(APART, 2, start=2.0)}


def most_at(x, i, y, j):
    wins = (x > y) | ((x == y) & (i < j))
    return tf.where(wins, x, y), tf.where(wins, i, j)


def crossed(x, i, y, j):
    """The results are arguments, in another order of types."""
    return tf.identity(y), tf.minimum(i, j)


@case((draw(3, 7),), (draw(4, 1),), (draw(2, 0),), x=(F, [None, None]))
def reductions_of_pairs(x):
    i = tf.broadcast_to(tf.range(tf.shape(x)[1]), tf.shape(x))
    most = xla.xla_variadic_reduce_v2([x, i], [-100.0, 100], dimensions_to_reduce=[1], reducer=of_scalars(most_at, F, I, F, I))
    both = xla.xla_variadic_reduce([x, x * 2], [1.0, 0.0], dimensions_to_reduce=[0], reducer=of_scalars(lambda a, b, c, d: (a + c, b + d), F, F, F, F))
    return {"most": most[0], "at": most[1], "sum": both[0], "double": both[1]}


@case((draw(2, 6, 5),), (draw(1, 2, 2),), (draw(0, 3, 3),), x=(F, [None, None, None]))
def windows(x):
    def window(function, start, size, steps=(1, 1, 1), base=(1, 1, 1), spread=(1, 1, 1), padding=((0, 0), (0, 0), (0, 0))):
        return xla.xla_reduce_window(x, start, list(size), list(steps), list(base), list(spread), [list(p) for p in padding], computation=function)
    return {"pool": window(MOST, -np.inf, (1, 2, 2), (1, 2, 2)), "sum": window(SUM, 0.0, (1, 3, 1), padding=((0, 0), (2, 0), (0, 0))),
            "spread": window(SUM, 1.0, (1, 2, 2), spread=(1, 2, 1), base=(1, 1, 3), padding=((0, 0), (1, 1), (-1, 2))),
            "apart": window(APART, 0.0, (1, 1, 2)), "last": window(SECOND, 5.0, (1, 2, 1)), "none": window(SUM, 0.0, (1, 30, 1))}


@case((draw(4, 5), [[1], [3], [1]], draw(3, 5, seed=2)), (draw(4, 5), [[4], [-1], [0]], draw(3, 5, seed=3)), (draw(4, 5), np.zeros((0, 1)), draw(0, 5)),
      x=(F, [None, None]), i=(I, [None, 1]), u=(F, [None, None]))
def scatters(x, i, u):
    rows = numbers(f1=[1], f2=[0], f3=[0], f4=1)
    columns = numbers(f1=[0], f2=[0], f3=[0], f4=1)

    def scatter(function, message, updates):
        return xla.xla_scatter(x, i, updates, update_computation=function, dimension_numbers=message, indices_are_sorted=False)
    return {"set": scatter(SECOND, rows, u), "add": scatter(SUM, rows, u), "most": scatter(MOST, rows, u), "apart": scatter(APART, rows, u),
            "moved": scatter(SUM, columns, tf.transpose(u)), "keep": scatter(combiner(first), rows, u)}


@case((draw(3, 4, 5), [[1, 3], [0, 0], [2, 1]], draw(3, 2)), x=(F, [3, 4, 5]), i=(L, [3, 2]), u=(F, [3, 2]))
def scatters_of_a_batch(x, i, u):
    message = numbers(f1=[1], f2=[1, 2], f3=[1, 2], f4=1)
    batch = numbers(f1=[], f2=[1, 2], f3=[1, 2], f4=1, f5=[0], f6=[0])
    return {"windows": xla.xla_scatter(x, i, u[:, :1] + tf.range(3.0), update_computation=SUM, dimension_numbers=message, indices_are_sorted=False),
            "batch": xla.xla_scatter(x, i, u[:, 0], update_computation=SUM, dimension_numbers=batch, indices_are_sorted=False)}


GREATER, LATER, ALL = (combiner(f) for f in (tf.greater_equal, tf.greater, lambda a, b: tf.reduce_all(tf.stack([a >= b, a > -9.0]))))


@case((draw(2, 7, 6),), (draw(1, 4, 3),), (draw(0, 4, 3),), x=(F, [None, None, None]))
def selections(x):
    """Sources are numbers from 1 on: each tells which window chose."""
    def select(by, combine, size, steps, padding=((0, 0), (0, 0), (0, 0)), start=0.5, index=I):
        padded = tf.shape(x) + tf.reduce_sum(tf.constant(padding), 1)
        shape = tf.maximum((padded - size) // steps + 1, 0)
        source = tf.reshape(tf.range(1.0, tf.cast(tf.reduce_prod(shape), F) + 1), shape)
        return xla.xla_select_and_scatter(x, tf.constant(size, index), tf.constant(steps, index), tf.constant(padding, index), source, start, select=by, scatter=combine)
    return {"pool": select(GREATER, SUM, (1, 2, 2), (1, 2, 2)), "overlap": select(GREATER, SUM, (1, 3, 2), (1, 1, 1)),
            "later": select(LATER, SUM, (1, 3, 2), (1, 1, 1)), "last": select(GREATER, SECOND, (1, 3, 3), (1, 1, 2)),
            "padded": select(GREATER, SUM, (1, 2, 3), (1, 1, 1), ((0, 0), (1, 3), (2, 0)), index=L), "cut": select(LATER, MOST, (1, 2, 2), (1, 2, 1), ((0, 0), (-1, 0), (0, 0))),
            "apart": select(ALL, APART, (1, 2, 2), (1, 1, 2)), "all": select(GREATER, SUM, (1, 2, 2), (1, 1, 1), start=-3.0)}


@case((np.random.RandomState(2).permutation(40).reshape(2, 4, 5),), (draw(0, 4, 5),), (draw(2, 0, 5),), x=(F, [None, None, None]))
def selections_of_types(x):
    """All elements are different: with padding, XLA changes the order of equal ones (docs/differences.md)."""
    size, steps, padding = tf.constant([1, 3, 2]), tf.constant([1, 2, 1]), tf.constant([[0, 0], [1, 2], [1, 0]])
    source = tf.ones(tf.maximum((tf.shape(x) + tf.reduce_sum(padding, 1) - size) // steps + 1, 0))
    results = {}
    for dtype in (tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.uint32, tf.int64, tf.uint64, tf.complex64, tf.complex128):
        greater = combiner(lambda a, b: tf.math.real(a) >= tf.math.real(b), dtype)
        results[dtype.name] = xla.xla_select_and_scatter(tf.cast(x, dtype), size, steps, padding, tf.cast(source, dtype), tf.cast(1, dtype),
                                                         select=greater, scatter=combiner(tf.add, dtype))
    return results


@case((draw(2, 9),), (draw(1, 1),), (draw(3, 2),), (draw(0, 4),), (draw(2, 0),), (draw(2, 33, seed=4),), x=(F, [None, None]))
def sorts(x):
    i = tf.broadcast_to(tf.range(tf.shape(x)[1]), tf.shape(x))
    up = of_scalars(lambda a, b: a < b, F, F)
    down_with_places = of_scalars(lambda a, b, i, j: a > b, F, F, I, I)
    by_both = of_scalars(lambda a, b, i, j: (tf.abs(a) < tf.abs(b)) | ((tf.abs(a) == tf.abs(b)) & (a > b)), F, F, I, I)
    down = xla.xla_variadic_sort([x, i], 1, comparator=down_with_places, is_stable=True)
    both = xla.xla_variadic_sort([x, i], 1, comparator=by_both, is_stable=True)
    return {"up": xla.xla_variadic_sort([x], 1, comparator=up, is_stable=True)[0], "columns": xla.xla_variadic_sort([x], 0, comparator=up, is_stable=True)[0],
            "down": down[0], "down_places": down[1], "both": both[0], "both_places": both[1]}


@case((draw(3), 5), (draw(2, seed=3), 0), (draw(0), 2), x=(F, [None]), n=(I, []))
def loops(x, n):
    specs = [tf.TensorSpec([], I), tf.TensorSpec([], I), tf.TensorSpec([None], F)]
    goes_on = tf.function(lambda i, n, x: i < n).get_concrete_function(*specs)
    step = tf.function(lambda i, n, x: (i + 1, n, x * 2 + tf.cast(i, F))).get_concrete_function(*specs)
    done = xla.xla_while([tf.constant(0), n, x], cond=goes_on, body=step)
    return {"count": done[0], "x": done[2]}


@case((np.array([[0x7fc00000, -0x00400000, 0, -2**31, 0x7f800000, -0x00800000, 1, -2**31 + 1, 0x7f800001, 0x3f800000]]),), x=(I, [None, None]))
def sorts_of_bits(x):
    """A NaN with a sign comes first: IEEE 754's total order."""
    return {"order": tf.bitcast(xla.xla_sort(tf.bitcast(x, F)), I), "places": xla.xla_key_value_sort(tf.bitcast(x, F), tf.argsort(x))[1]}


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        write(HERE / f"{name}.pb", CASES[name])

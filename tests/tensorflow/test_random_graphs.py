#!/usr/bin/env python3
"""Random graphs: TensorFlow runs and exports them, and `savedmodel run` must give the same values.

A graph takes a few values of random types and shapes and applies random ops with random attributes to them and to each other's
results. Shapes are partly unknown in the signatures. A run that fails in TensorFlow must fail here too.

SLIPWAY_RANDOM_GRAPHS is their number, SLIPWAY_RANDOM_SEED the first seed. A difference is printed with its seed, and its model
stays in SLIPWAY_RANDOM_DIR if that is set.
"""
import os
import tempfile

from tensorflow_oracle import np, tf

from harness import TestCase, main, run

GRAPHS = int(os.environ.get("SLIPWAY_RANDOM_GRAPHS", "60"))
SEED = int(os.environ.get("SLIPWAY_RANDOM_SEED", "1"))
PER_MODEL = 20  # graphs: a signature each
OPS_MAX = 9

FLOATS = ["float32", "float32", "float32", "float64", "float16", "bfloat16"]
INTS = ["int32", "int64", "int32", "uint8", "int8", "int16"]
ANY = FLOATS + INTS + ["bool"]
R = tf.raw_ops


# ---- values ----
def shape(random):
    return [int(d) for d in random.choice([0, 1, 1, 2, 3, 3, 4, 5], random.integers(0, 5))]


def values(random, dtype, dims):
    """Small numbers, and sometimes one that is special."""
    size = int(np.prod(dims))
    if dtype == "bool":
        return random.integers(0, 2, dims).astype(bool)
    kind = tf.as_dtype(dtype)
    x = random.integers(-6, 7, size).astype(np.float64)
    if kind.is_floating:
        x = x / random.choice([1, 2, 4])
        if size and random.random() < 0.15:
            x[random.integers(size)] = random.choice([np.nan, np.inf, -np.inf, -0.0, 1e30 if dtype != "float16" else 6e4])
    if kind.is_unsigned:
        x = np.abs(x)
    return x.reshape(dims).astype(kind.as_numpy_dtype)


# ---- ops: functions of (random, pool) that return new tensors; they may raise anything ----
def pick(random, pool, dtypes=None, rank_min=0):
    fit = [x for x in pool if (dtypes is None or x.dtype.name in dtypes) and (x.shape.rank is None or x.shape.rank >= rank_min)]
    return fit[random.integers(len(fit))]


def alike(random, pool, x):
    """A value of the same type, often x itself or one that broadcasts."""
    return pick(random, pool, [x.dtype.name])


def axis(random, x, ends=0):
    rank = x.shape.rank if x.shape.rank is not None else 2
    return int(random.integers(-rank - ends, rank + ends)) if rank + ends else 0


UNARY = ["Abs", "Neg", "Square", "Sign", "Exp", "Expm1", "Log", "Log1p", "Sqrt", "Rsqrt", "Sin", "Cos", "Tan", "Atan", "Asin", "Acos", "Sinh",
         "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Sigmoid", "Softplus", "Softsign", "Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Erf", "Erfc",
         "Floor", "Ceil", "Rint", "Round", "Reciprocal", "Lgamma", "Digamma", "IsNan", "IsInf", "IsFinite", "LogicalNot", "Invert", "ZerosLike",
         "OnesLike", "Shape", "Size", "Rank", "Identity", "Softmax", "LogSoftmax", "L2Loss", "Where", "MatrixInverse", "Erfinv", "PopulationCount"]
BINARY = ["AddV2", "Sub", "Mul", "RealDiv", "Div", "DivNoNan", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Maximum", "Minimum", "Pow",
          "SquaredDifference", "Atan2", "Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "LogicalAnd", "LogicalOr",
          "BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift", "MulNoNan", "Xdivy", "Xlogy", "NextAfter", "BiasAdd", "TruncateMod",
          "MatMul", "BatchMatMulV2", "BroadcastArgs", "Cross", "Igamma", "Zeta"]
REDUCE = ["Sum", "Mean", "Prod", "Max", "Min", "All", "Any", "EuclideanNorm"]


def call(name, *operands, **attrs):
    op = getattr(R, name)
    keywords = [k for k in op.__signature__.parameters if k != "name"] if hasattr(op, "__signature__") else None
    keywords = keywords or op.__wrapped__.__code__.co_varnames[:op.__wrapped__.__code__.co_argcount]
    return op(**dict(zip([k for k in keywords if k not in attrs and k != "name"], operands)), **attrs)


def unary(random, pool):
    """Without what TensorFlow 2.21 gets wrong: Round makes zeros of integers, and Where ends at runtime for half."""
    name, x = str(random.choice(UNARY)), pick(random, pool)
    return None if (name == "Round" and x.dtype.is_integer) or (name == "Where" and x.dtype == tf.float16) else call(name, x)


def binary(random, pool):
    x = pick(random, pool)
    return call(str(random.choice(BINARY)), x, alike(random, pool, x))


# TensorFlow's optimizer takes the largest element first and then computes one Sqrt, which loses a NaN (docs/differences.md).
UNDEFINED_SOMEWHERE = ["Acos", "Acosh", "Asin", "Atanh", "Log", "Log1p", "Rsqrt", "Sqrt"]


def reduce(random, pool):
    x = pick(random, pool)
    if x.op.type in UNDEFINED_SOMEWHERE:
        return None
    rank = x.shape.rank or 0
    axes = [int(a) for a in random.permutation(rank)[:random.integers(0, rank + 1)]]
    return call(str(random.choice(REDUCE)), x, np.array(axes, np.int32), keep_dims=bool(random.integers(2)))


def arg(random, pool):
    x = pick(random, pool, rank_min=1)
    return (tf.argmax if random.integers(2) else tf.argmin)(x, axis(random, x), output_type=tf.int32 if random.integers(2) else tf.int64)


def scan(random, pool):
    x = pick(random, pool, FLOATS + INTS, 1)
    name = str(random.choice(["Cumsum", "Cumprod"]))
    return call(name, x, axis(random, x), exclusive=bool(random.integers(2)), reverse=bool(random.integers(2)))


def cast(random, pool):
    """The integer that a float becomes if it does not fit depends on the processor's instruction. A number that rounding may have
    put on either side of an integer moves away from it."""
    x, dtype = pick(random, pool), str(random.choice(ANY))
    if x.dtype.is_floating and tf.as_dtype(dtype).is_integer:
        x = tf.clip_by_value(tf.where(tf.math.is_nan(x), tf.zeros_like(x), x), tf.cast(0, x.dtype), tf.cast(100, x.dtype))
        x = x + tf.cast(0.25, x.dtype)
    return tf.cast(x, dtype)


def select(random, pool):
    x = pick(random, pool)
    return R.SelectV2(condition=pick(random, pool, ["bool"]), t=x, e=alike(random, pool, x))


def clip(random, pool):
    x = pick(random, pool, FLOATS + INTS)
    return R.ClipByValue(t=x, clip_value_min=alike(random, pool, x), clip_value_max=alike(random, pool, x))


def transpose(random, pool):
    x = pick(random, pool)
    return tf.transpose(x, random.permutation(x.shape.rank))


def reshape(random, pool):
    x = pick(random, pool)
    return tf.reshape(x, [[-1], [1, -1], [-1, 1], [-1, 2], [2, -1], [-1, 3], [0, -1]][random.integers(7)])


def expand(random, pool):
    x = pick(random, pool)
    return tf.expand_dims(x, axis(random, x, 1))


def squeeze(random, pool):
    return tf.squeeze(pick(random, pool))


def concat(random, pool):
    x = pick(random, pool, rank_min=1)
    return tf.concat([x, alike(random, pool, x)], axis(random, x))


def stack(random, pool):
    x = pick(random, pool)
    return tf.stack([x, alike(random, pool, x)], axis(random, x, 1))


def split(random, pool):
    x = pick(random, pool, rank_min=1)
    return tf.split(x, int(random.integers(1, 4)), axis(random, x))[-1]


def gather(random, pool):
    x = pick(random, pool, rank_min=1)
    indices = random.integers(0, 3, shape(random)[:2]).astype(np.int32) if random.integers(2) else pick(random, pool, ["int32", "int64"])
    return tf.gather(x, indices, axis=axis(random, x))


def gather_nd(random, pool):
    x = pick(random, pool, rank_min=1)
    return tf.gather_nd(x, random.integers(0, 2, [int(random.integers(0, 4)), int(random.integers(1, x.shape.rank + 1))]))


def scatter(random, pool):
    x = pick(random, pool, rank_min=1)
    return tf.scatter_nd(random.integers(0, 4, [x.shape[0] or 1, 1]), x, [4] + [d or 1 for d in x.shape[1:]])


def slice_(random, pool):
    x = pick(random, pool)
    parts = []
    for _ in range(random.integers(0, x.shape.rank + 1)):
        step = int(random.choice([1, 1, 2, -1, -2]))
        ends = [None if random.random() < 0.4 else int(random.integers(-5, 6)) for _ in range(2)]
        parts.append([slice(ends[0], ends[1], step), int(random.integers(-2, 2)), tf.newaxis, Ellipsis][random.choice([0, 0, 0, 0, 1, 2])])
    if random.random() < 0.2:
        parts.insert(random.integers(len(parts) + 1), Ellipsis)
    return x[tuple(parts)]


def pad(random, pool):
    x = pick(random, pool)
    mode = str(random.choice(["CONSTANT", "REFLECT", "SYMMETRIC"]))
    return tf.pad(x, random.integers(0, 3, [x.shape.rank, 2]), mode)


def tile(random, pool):
    x = pick(random, pool)
    return tf.tile(x, random.integers(0, 3, [x.shape.rank]))


def reverse(random, pool):
    x = pick(random, pool, rank_min=1)
    return tf.reverse(x, [axis(random, x)])


def roll(random, pool):
    x = pick(random, pool, rank_min=1)
    return tf.roll(x, int(random.integers(-4, 5)), axis(random, x))


def broadcast(random, pool):
    x = pick(random, pool)
    return tf.broadcast_to(x, [int(random.integers(1, 4))] + [d if d is not None and d != 1 else 3 for d in x.shape])


def one_hot(random, pool):
    x = pick(random, pool, ["int32", "int64", "uint8"])
    return tf.one_hot(x, int(random.integers(0, 5)), axis=axis(random, x, 1), dtype=str(random.choice(FLOATS + INTS)))


def top_k(random, pool):
    x = pick(random, pool, INTS, 1)  # rounding can change the order of computed floats
    found = tf.math.top_k(x, int(random.integers(0, 4)))
    return found.values if random.integers(2) else found.indices


def sort(random, pool):
    x = pick(random, pool, ["int32", "int64"], 1)
    return (tf.sort if random.integers(2) else tf.argsort)(x, direction=str(random.choice(["ASCENDING", "DESCENDING"])), stable=True) \
        if random.integers(2) else tf.sort(x)


def unique(random, pool):
    found = tf.unique_with_counts(tf.reshape(pick(random, pool, INTS), [-1]))
    return found[random.integers(3)]


def segment(random, pool):
    x = pick(random, pool, FLOATS + INTS, 1)
    name = str(random.choice(["UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd"]))
    return call(name, x, random.integers(-1, 4, [x.shape[0] if x.shape[0] is not None else 3]).astype(np.int32), np.int32(4))


def has_elements(x):
    """Of images without a pixel, TensorFlow checks nothing, and a depthwise convolution has the shape of its input."""
    if not x.shape.is_fully_defined() or 0 in x.shape:
        raise ValueError("empty, or perhaps")
    return x.shape


def conv(random, pool):
    x = pick(random, pool, ["float32", "float64"], 4)
    w = random.standard_normal([random.integers(1, 4), random.integers(1, 4), has_elements(x)[3], random.integers(1, 4)])
    return tf.nn.conv2d(x, w.astype(x.dtype.as_numpy_dtype), int(random.integers(1, 3)), str(random.choice(["SAME", "VALID"])))


def depthwise(random, pool):
    x = pick(random, pool, ["float32", "float64"], 4)
    w = random.standard_normal([random.integers(1, 4), random.integers(1, 4), has_elements(x)[3], random.integers(1, 3)])
    return tf.nn.depthwise_conv2d(x, w.astype(x.dtype.as_numpy_dtype), [1, 1, 1, 1], str(random.choice(["SAME", "VALID"])))


def pool(random, pool_):
    x = pick(random, pool_, FLOATS, 4)
    function = tf.nn.max_pool2d if random.integers(2) and x.op.type not in UNDEFINED_SOMEWHERE else tf.nn.avg_pool2d
    return function(x, int(random.integers(1, 4)), int(random.integers(1, 3)), str(random.choice(["SAME", "VALID"])))


def dense(random, pool):
    x = pick(random, pool, ["float32", "float64", "float16", "bfloat16"], 2)
    w = tf.cast(random.standard_normal([x.shape[-1] or 3, int(random.integers(1, 40))]), x.dtype)
    y = tf.matmul(x, w) if x.shape.rank == 2 else tf.tensordot(x, w, 1)
    y = tf.nn.bias_add(y, tf.cast(random.standard_normal([w.shape[1]]), x.dtype)) if random.integers(2) else y
    return [tf.nn.relu, tf.tanh, tf.sigmoid, tf.nn.gelu, tf.nn.swish, tf.identity][random.integers(6)](y)


def norm(random, pool):
    x = pick(random, pool, ["float32", "float64"], 1)
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, None, None, 1e-3)


def einsum(random, pool):
    x = pick(random, pool, FLOATS + ["int32", "int64"], 2)
    return tf.einsum(str(random.choice(["...ij,...jk->...ik", "...ij,...ij->...i", "...ij,...kj->...ik"])), x, alike(random, pool, x))


def band(random, pool):
    x = pick(random, pool, rank_min=2)
    return tf.linalg.band_part(x, int(random.integers(-1, 3)), int(random.integers(-1, 3)))


def diagonal(random, pool):
    x = pick(random, pool, rank_min=1)
    return tf.linalg.diag(x) if x.shape.rank < 2 or random.integers(2) else tf.linalg.diag_part(x)


def range_(random, pool):
    ends = [int(x) for x in random.integers(-5, 6, 2)]
    return tf.range(ends[0], ends[1], int(random.choice([1, 2, -1, -3])), dtype=str(random.choice(["int32", "int64", "float32"])))


def text(random, pool):
    return tf.strings.length(tf.strings.as_string(pick(random, pool, ["int32", "int64", "bool"])))


def branch(random, pool):
    x = pick(random, pool, FLOATS + INTS)
    return tf.cond(tf.size(x) > 3, lambda: x + x, lambda: x * x)


def loop(random, pool):
    x = pick(random, pool, FLOATS + INTS)
    turns = int(random.integers(0, 4))
    return tf.while_loop(lambda i, y: i < turns, lambda i, y: (i + 1, y + x), (0, x), shape_invariants=(tf.TensorShape([]), x.shape))[1]


OPS = [unary] * 8 + [binary] * 10 + [reduce] * 3 + [cast] * 3 + [slice_] * 2 + [dense] * 2 + [
    arg, scan, select, clip, transpose, reshape, expand, squeeze, concat, stack, split, gather, gather_nd, scatter, pad, tile, reverse, roll,
    broadcast, one_hot, top_k, sort, unique, segment, conv, depthwise, pool, norm, einsum, band, diagonal, range_, text, branch, loop]


# ---- graphs ----
def draw_inputs(random):
    common = shape(random)
    inputs = []
    for _ in range(random.integers(1, 4)):
        dims = common if random.random() < 0.7 else shape(random)
        inputs.append(values(random, str(random.choice(ANY)), dims))
    return inputs


def signature_of(random, inputs):
    known = random.random() < 0.5
    return [tf.TensorSpec([None if not known and random.random() < 0.5 else d for d in x.shape], x.dtype, "x%d" % i)
            for i, x in enumerate(inputs)]


def apply_op(random, pool):
    """The new value, or None: the op does not take the values."""
    try:
        made = OPS[random.integers(len(OPS))](random, pool)
    except Exception:  # noqa: BLE001  it does not fit, in one of many ways
        return None
    return made if made is not None and made.dtype.name in ANY and made.shape.rank is not None and made.shape.rank < 6 else None


def make_graph(seed):
    random = np.random.default_rng(seed)
    inputs = draw_inputs(random)

    def graph(*feeds):
        pool, used = list(feeds), set()
        for _ in range(random.integers(1, OPS_MAX + 1) * 2):
            made = apply_op(random, pool)
            if made is not None:
                pool.append(made)
        results = pool[len(feeds):][-4:] or [tf.identity(pool[0])]
        return {"y%d" % i: tf.identity(y) for i, y in enumerate(results)}

    return tf.function(graph, input_signature=signature_of(random, inputs), autograph=False).get_concrete_function(), inputs


def expected(function, inputs):
    """TensorFlow's answers, or the text of its failure."""
    try:
        return {name: y.numpy() for name, y in function(*map(tf.constant, inputs)).items()}
    except Exception as failure:  # noqa: BLE001
        return str(failure)


def expected_of_ops(seed):
    """The same without TensorFlow's optimizer, which drops ops that would fail, such as a MatMul of zeros and a matrix that does not fit."""
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        return expected(*make_graph(seed))
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})


def got(directory, name, inputs):
    with tempfile.TemporaryDirectory() as work:
        command = ["run", directory, "--signature", name, "--outdir", work + "/out", "--threads", "1"]
        os.mkdir(work + "/out")
        for i, x in enumerate(inputs):
            if x.dtype.name == "bfloat16":
                return None
            np.save("%s/x%d.npy" % (work, i), x)
            command += ["--input", "x%d=%s/x%d.npy" % (i, work, i)]
        done = run("savedmodel", *command)
        if done.returncode < 0 or done.returncode > 2:
            return "crash %d: %s" % (done.returncode, done.stderr)
        if done.returncode:
            return done.stderr
        return {f[:-4]: np.load(work + "/out/" + f) for f in os.listdir(work + "/out")}


TOLERANCE = {"float32": 2e-4, "float64": 1e-7, "float16": 2e-2, "bfloat16": 1e-1}  # sums in other orders, of a few ops in a row


def difference(name, want, have, least):
    if want.dtype.name == "bfloat16":
        have = have.astype(np.float32) if have.dtype.kind == "f" else (have.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if list(want.shape) != list(have.shape):
        return "%s has shape %s, should be %s" % (name, list(have.shape), list(want.shape))
    tolerance = max(TOLERANCE.get(want.dtype.name, 0), least)
    if want.dtype.name not in TOLERANCE:
        return None if np.array_equal(want, have) else "%s: %s, should be %s" % (name, have.ravel()[:20], want.ravel()[:20])
    want, have = want.astype(np.float64), have.astype(np.float64)
    if np.allclose(have, want, tolerance, tolerance, equal_nan=True):
        return None
    return "%s: %s, should be %s" % (name, have.ravel()[:20], want.ravel()[:20])


def widened(function):
    """The tolerance of the narrowest floats that become wider ones in the graph."""
    return max([TOLERANCE.get(op.inputs[0].dtype.name, 0) for op in function.graph.get_operations() if op.type == "Cast"], default=0)


def compare(want, have, least=0):
    """None, or what differs. `least`: a tolerance for all types of floats."""
    if have is None:
        return None
    if isinstance(have, str):
        if have.startswith("crash"):
            return have
        return None if isinstance(want, str) else "fails: " + have
    if isinstance(want, str):
        if "No OpKernel" in want:  # a type that TensorFlow could also have
            return None
        return "runs, but TensorFlow fails: " + want
    for name in sorted(want):
        if name not in have and want[name].dtype.name == "bfloat16":
            continue  # .npy files have no such type
        if name not in have:
            return "has no output " + name
        text = difference(name, want[name], have[name], least)
        if text:
            return text
    return None


def check(first, count, directory):
    """The differences of graphs [first, first + count), by seed."""
    module, runs = tf.Module(), {}
    for seed in range(first, first + count):
        function, inputs = make_graph(seed)
        runs["g%d" % seed] = function, inputs, expected(function, inputs)
    tf.saved_model.save(module, directory, signatures={name: run[0] for name, run in runs.items()})
    found = {}
    for name, (function, inputs, want) in runs.items():
        have = got(directory, name, inputs)
        least = widened(function)
        text = compare(want, have, least)
        if text and compare(expected_of_ops(int(name[1:])), have, least):
            found[int(name[1:])] = text + "\n    ops: " + " ".join(
                op.type for op in function.graph.get_operations() if op.type not in ("Const", "Placeholder", "Identity", "NoOp"))
    return found


class RandomGraphs(TestCase):
    def test_give_tensorflows_answers(self):
        found = {}
        kept = os.environ.get("SLIPWAY_RANDOM_DIR")
        for first in range(SEED, SEED + GRAPHS, PER_MODEL):
            with tempfile.TemporaryDirectory() as work:
                directory = work if kept is None else os.path.join(kept, str(first))
                new = check(first, min(PER_MODEL, SEED + GRAPHS - first), directory)
                for seed, text in new.items():
                    print("seed %d: %s" % (seed, text), flush=True)
                found.update(new)
        self.assertEqual(found, {})


if __name__ == "__main__":
    main()

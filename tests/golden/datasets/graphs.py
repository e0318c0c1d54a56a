#!/usr/bin/env python3
"""Writes the GraphDefs that test_datasets.c reads: what tf.function makes of tf.data, with TensorFlow's answers.

    python tests/golden/datasets/graphs.py [case…]

Made with TensorFlow 2.21. ../answered_graphs.py says how a graph holds the answers.
"""
import gzip
import pathlib
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from answered_graphs import np, tf, v1, write  # noqa: E402
from tensorflow.python.data.ops.dataset_ops import _VariantDataset  # noqa: E402
from tensorflow.python.framework import extension_type  # noqa: E402

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


def raw_dataset(op, shape, dtype, **inputs):
    """What an op without a Python function makes, as a tf.data.Dataset."""
    variant = op(output_types=[dtype], output_shapes=[shape], **inputs)
    return _VariantDataset(variant, tf.TensorSpec(shape, dtype))


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


AT = {
    "range": lambda: Data.range(3, 13, 2), "slices": lambda: Data.from_tensor_slices(([1, 2, 3, 4], ["a", "b", "c", "d"])), "tensor": lambda: Data.from_tensors(5),
    "map": lambda: Data.range(5).map(lambda x: x * 2), "batch": lambda: Data.range(7).batch(2), "take": lambda: Data.range(9).take(4), "skip": lambda: Data.range(5).skip(2),
    "repeat": lambda: Data.range(2).repeat(3), "concatenate": lambda: Data.range(2).concatenate(Data.range(5, 7)), "zip": lambda: Data.zip((Data.range(4), Data.range(5, 8))),
    "shard": lambda: Data.range(10).shard(3, 1), "cache": lambda: Data.range(5).cache().prefetch(2),
}


def at_index(index, *names):
    return {name + str(i): x for name in names for i, x in enumerate(tf.nest.flatten(tf.data.experimental.at(AT[name](), index)))}


@case((0,), (2,), index=(L, []))
def elements_at_an_index(index):
    return at_index(index, *(name for name in AT if name != "tensor"))


@case(*[(i,) for i in (-1, 3, 2**40)], index=(L, []))
def element_beyond_the_end(index):
    return at_index(index, "zip")


@case((2,), index=(L, []))
def element_after_an_error(index):
    return {"x": tf.data.experimental.at(Data.range(4).map(lambda x: tf.debugging.check_numerics(1 / tf.cast(x, F), "none")), index)}


# ---- files: beside this script; the paths are relative to the root of the repository ----


FILES = "tests/golden/datasets/files/"


CSV = {
    "good.gz": b'1,2,x\r\n3,,"q ""y"" , z"\n,6,\r 7 ,8,"more\r\nlines"\n-1,0,end',
    "header": b'a,"b\n""c",d\n1,2,x\n',
    "wrong": b'1,2\n3,4,ok\n1,2,3,4\n5,6,a"b\nx,7,c\n99999999999,1,d\n\n7,8,"e"f"\n9,10,"g"h",i\n11,12,"j\n13,14,k\n',
    "wide": b'1,NA,x,2.5,NA\n"3",4,"",-1e3,"n""a"\n5,6,y"z,,\n7,8\n9,10,a,1.5,b',
    "line_ends.gz": b'\n\r1\r\n\n"2"\r',
    "delimiters": b'1;"2";x\n3;4;"y;z"\n',
    "empty": b"",
}
CSV_ERRORS = [b"1,2", b"1,2,3,4", b'1,2,a"b', b"x,2,c", b",2,c", b'1,2,"a"b"', b'1,2,"a', b'1,2147483648,c', b"\n1,2,c"]
CSV |= {"wrong%d" % i: record for i, record in enumerate(CSV_ERRORS)}


def write_files():
    """What the cases below read."""
    (HERE / "files").mkdir(exist_ok=True)
    records = HERE / "files" / "records"
    with tf.io.TFRecordWriter(str(records)) as writer:
        for record in [b"a", b"", b"ccc"]:
            writer.write(record)
    whole = records.read_bytes()
    lines, fixed = b"one\r\ntw\ro\n\nthree", b"HHaabbccFF"
    contents = {"lines.txt": lines, "empty.txt": b"", "ended.txt": b"x\n", "lines.gz": gzip.compress(lines, mtime=0), "lines.zlib": zlib.compress(lines),
                "fixed": fixed, "fixed.gz": gzip.compress(fixed, mtime=0), "records": whole, "records.gz": gzip.compress(whole, mtime=0),
                "records.cut": whole[:-2], "records.damaged": whole[:13] + b"X" + whole[14:], "records.header": whole[:20],
                "pairs.txt": b"a,1\nb,-2\nlong key,3\n"}
    contents |= {"csv." + name: gzip.compress(content, mtime=0) if name.endswith("gz") else content for name, content in CSV.items()}
    for name, content in contents.items():
        (HERE / "files" / name).write_bytes(content)


def as_it_is(variant):
    """TensorFlow cannot rewrite some datasets, whose kernels write other inputs than their ops have."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return _VariantDataset(variant, tf.TensorSpec([], S)).with_options(options)


def files(*names):
    return [FILES + name for name in names]


@case((files("lines.txt", "empty.txt", "ended.txt"), ""), (files("lines.gz", "lines.gz"), "GZIP"), (files("lines.zlib"), "ZLIB"), (files("lines.gz"), "ZLIB"), ([], ""), (files("ended.txt"), "XZ"), names=(S, [None]), kind=(S, []))
def text_lines(names, kind):
    data = _VariantDataset(tf.raw_ops.TextLineDataset(filenames=names, compression_type=kind, buffer_size=0), tf.TensorSpec([], S))
    return {"lines": listed(data.repeat(2))}


@case((files("lines.txt"), -1), names=(S, [None]), size=(L, []))
def text_lines_of_a_negative_buffer(names, size):
    return {"lines": listed(_VariantDataset(tf.raw_ops.TextLineDataset(filenames=names, compression_type="", buffer_size=size), tf.TensorSpec([], S)))}


@case(([files("lines.txt")],), names=(S, None))
def text_lines_of_a_matrix(names):
    return {"lines": listed(_VariantDataset(tf.raw_ops.TextLineDataset(filenames=names, compression_type="", buffer_size=0), tf.TensorSpec([], S)))}


@case((files("records", "records"), ""), (files("records.gz"), "GZIP"), (files("records"), "LZ"), (files("records.header"), ""), (files("empty.txt", "records"), ""),
      (files("records.damaged"), ""), (files("lines.gz"), ""), names=(S, [None]), kind=(S, []))
def tfrecords(names, kind):
    data = _VariantDataset(tf.raw_ops.TFRecordDataset(filenames=names, compression_type=kind, buffer_size=0), tf.TensorSpec([], S))
    return {"records": listed(data)}


@case((files("records", "records"), [17, 0]), (files("records"), []), (files("records.gz"), [33]), (files("records"), [100]), names=(S, [None]), offsets=(L, [None]))
def tfrecords_from_offsets(names, offsets):
    kind = tf.where(tf.strings.regex_full_match(names[0], ".*gz"), "GZIP", "")
    return {"records": listed(as_it_is(tf.raw_ops.TFRecordDatasetV2(filenames=names, compression_type=kind, buffer_size=0, byte_offsets=offsets)))}


@case((files("fixed", "fixed"), [2, 2, 2], 0), (files("fixed"), [2, 4, 2], 0), (files("fixed"), [2, 2, 8], 0), (files("fixed"), [0, 20, 0], 0), (files("empty.txt", "ended.txt"), [0, 2, 0], 0),
      (files("fixed"), [-1, 2, 0], 0), (files("fixed"), [0, 0, 0], 0), (files("fixed"), [0, 2, -1], 0), (files("fixed"), [0, 2, 0], -1), names=(S, [None]), sizes=(L, [3]), buffer=(L, []))
def fixed_records(names, sizes, buffer):
    variant = tf.raw_ops.FixedLengthRecordDataset(filenames=names, header_bytes=sizes[0], record_bytes=sizes[1], footer_bytes=sizes[2], buffer_size=buffer)
    return {"records": listed(as_it_is(variant))}


@case((files("fixed.gz"), [2, 2, 2]), (files("fixed.gz"), [2, 3, 2]), (files("fixed.gz"), [2, 4, 2]), (files("fixed.gz", "fixed.gz"), [2, 6, 2]), names=(S, [None]), sizes=(L, [3]))
def fixed_records_compressed(names, sizes):
    variant = tf.raw_ops.FixedLengthRecordDatasetV2(filenames=names, header_bytes=sizes[0], record_bytes=sizes[1], footer_bytes=sizes[2], buffer_size=0, compression_type="GZIP")
    return {"records": listed(_VariantDataset(variant, tf.TensorSpec([], S)))}


def csv(name, defaults, excluded=None, header=False, delimiter=",", quotes=True, missing="", selected=(), kind="", size=7):
    names = tf.reshape(tf.constant(FILES) + name, [-1])
    shared = dict(filenames=names, compression_type=kind, buffer_size=tf.cast(size, L), header=header, field_delim=delimiter, use_quote_delim=quotes, na_value=missing,
                  select_cols=tf.cast(selected, L), record_defaults=defaults, output_shapes=[[]] * len(defaults))
    variant = tf.raw_ops.CSVDataset(**shared) if excluded is None else tf.raw_ops.CSVDatasetV2(exclude_cols=tf.cast(excluded, L), **shared)
    return _VariantDataset(variant, tuple(tf.TensorSpec([], value.dtype) for value in defaults))


def table(data):
    """The elements of a dataset of tuples, as one text each."""
    return {"lines": listed(data.map(lambda *fields: tf.strings.join([tf.strings.as_string(f) if f.dtype != S else f for f in fields], "|")), S)}


def numbers_and_text():
    return [tf.zeros([0], I), tf.constant([4], I), tf.constant("none")]


@case(("csv.good.gz", False, "GZIP"), ("csv.header", True, ""), ("csv.header", False, ""), ("csv.empty", False, ""), ("csv.empty", True, ""), ("csv.good.gz", False, "ZLIB"), ("csv.empty", False, "LZ"), name=(S, []), header=(B, []), kind=(S, []))
def csv_files(name, header, kind):
    return table(csv(name, [tf.constant([0], I)] + numbers_and_text()[1:], header=header, kind=kind))


@case(("csv.wrong",), ("csv.good.gz",), ("csv.line_ends.gz",), name=(S, []))
def csv_errors(name):
    return table(csv(name, numbers_and_text(), kind=tf.where(tf.strings.regex_full_match(name, ".*gz"), "GZIP", "")).ignore_errors())


@case(*[("csv.wrong%d" % i,) for i in range(len(CSV_ERRORS))], name=(S, []))
def csv_error_texts(name):
    return table(csv(name, numbers_and_text()))


@case(([0, 1],), ([0, 4],), ([1, 4],), ([0],), ([1, 0],), ([-1, 0],), ([3, 9],), columns=(L, [None]))
def csv_selected(columns):
    return table(csv("csv.wide", [tf.constant(["d"]), tf.constant(["e"])], selected=columns, missing="NA").ignore_errors())


@case(([0, 1], []), ([2, 3], []), ([], [0, 1, 4]), ([1, 0], []), ([-1], []), ([1], [0, 1, 4]), ([7], []), excluded=(L, [None]), selected=(L, [None]))
def csv_excluded(excluded, selected):
    return table(csv("csv.wide", [tf.constant(["d"]), tf.constant([], S), tf.constant("f")], excluded, selected=selected).ignore_errors())


@case((",", True, 1), (";", True, 100), (";", False, 100), (";;", True, 1), ("", True, 1), (";", True, 0), (";", True, -1), delimiter=(S, []), quotes=(B, []), size=(L, []))
def csv_delimiters(delimiter, quotes, size):
    return table(csv("csv.delimiters", [tf.constant([1], I), tf.constant(["2"]), tf.constant(["3"])], delimiter=delimiter, quotes=quotes, size=size).ignore_errors())


@case()
def csv_types():
    defaults = [tf.constant([v], dtype) for v, dtype in [(0, L), (7.0, F), ("", S), (0.5, tf.float64), ("x", S)]]
    data = csv("csv.wide", defaults, missing="NA").ignore_errors()
    return {str(i): listed(data.map(lambda *fields, i=i: fields[i]), d.dtype) for i, d in enumerate(defaults)}


@case(([1, 2],), ([[1]],), ([1],), value=(I, None))
def csv_defaults(value):
    return table(csv("csv.wide", [value, value, tf.constant("")]))


@case((["a", "long key", "none"],), keys=(S, [None]))
def table_of_a_file(keys):
    def pair(line):
        parts = tf.strings.split(line, ",")
        return parts[0], tf.strings.to_number(parts[1], L)
    data = Data.from_tensors(FILES + "pairs.txt").flat_map(tf.data.TextLineDataset).map(pair)
    table = tf.raw_ops.HashTableV2(key_dtype=S, value_dtype=L, shared_name="pairs")
    fills = [tf.raw_ops.InitializeTableFromDataset(table_handle=table, dataset=data._variant_tensor) for _ in range(2)]
    with tf.control_dependencies(fills):
        return {"values": tf.raw_ops.LookupTableFindV2(table_handle=table, keys=keys, default_value=tf.constant(-1, L)), "size": tf.raw_ops.LookupTableSizeV2(table_handle=table)}


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


@case((3, 10), (4, 0), (1, 1), n=(L, []), m=(L, []))
def map_and_batch(n, m):
    def made(f, size, drop, calls, dtype, kept=True):
        function = tf.function(f).get_concrete_function(tf.TensorSpec([], L))
        return raw_dataset(tf.raw_ops.MapAndBatchDataset, [None], dtype, input_dataset=Data.range(m)._variant_tensor, f=function,
                           other_arguments=function.captured_inputs, batch_size=size, num_parallel_calls=calls, drop_remainder=drop,
                           preserve_cardinality=kept)

    part, full = made(lambda v: v * v + n, n, False, 2, L), made(lambda v: -v, n, True, tf.data.AUTOTUNE, L)
    return {"part": listed(part.unbatch()), "parts": part.cardinality(), "full": listed(full.unbatch()), "fulls": full.cardinality(),
            "sizes": listed(part.map(tf.size)), "unknown": made(lambda v: v, n, True, 1, L, False).cardinality(),
            "texts": listed(made(tf.strings.as_string, n, False, 1, S).unbatch())}


@case((0, 1), (2, 0), n=(L, []), calls=(L, []))
def map_and_batch_of_none(n, calls):
    function = tf.function(lambda v: v).get_concrete_function(tf.TensorSpec([], L))
    data = raw_dataset(tf.raw_ops.MapAndBatchDataset, [None], L, input_dataset=Data.range(3)._variant_tensor, f=function, other_arguments=[],
                       batch_size=n, num_parallel_calls=calls, drop_remainder=False)
    return {"values": listed(data.unbatch())}


@case((10, 3), (0, 3), (7, 1), n=(L, []), size=(L, []))
def groups_by_window(n, size):
    data = Data.range(n).group_by_window(key_func=lambda v: 5 - v % 3, reduce_func=lambda key, window: window.batch(2).map(lambda v: v + key * 100),
                                         window_size_func=lambda key: key - size + 1)
    pairs = Data.range(n).map(lambda v: (v, tf.strings.as_string(v))).group_by_window(
        lambda v, s: tf.cast(v % 2 == 0, L), lambda key, window: window.map(lambda v, s: s + tf.strings.as_string(key + size)), window_size=4)
    return {"values": listed(data.unbatch()), "pairs": listed(pairs), "count": data.cardinality(),
            "endless": Data.range(3).repeat().group_by_window(lambda v: v, lambda key, window: window, window_size=2).cardinality()}


@case((2,), n=(L, []))
def group_of_no_window(n):
    return {"values": listed(Data.range(10).group_by_window(lambda v: v, lambda key, window: window, window_size_func=lambda key: key - n))}


@case((10, 2), (0, 1), n=(L, []), m=(L, []))
def groups_by_reducer(n, m):
    reducer = tf.data.experimental.Reducer(lambda key: (key * 1000, ""), lambda state, v: (state[0] * m + v, state[1] + tf.strings.as_string(v)),
                                           lambda total, text: text + "=" + tf.strings.as_string(total))
    data = Data.range(n).apply(tf.data.experimental.group_by_reducer(lambda v: m - v % 3, reducer))
    return {"values": listed(data), "count": data.cardinality()}


@case(([1, 2, 3], [[1.0, 2], [3, 4], [5, 6]], 10), ([], np.zeros([0, 2]), 10), x=(I, [None]), y=(F, [None, 2]), z=(I, []))
def map_defun(x, y, z):
    function = tf.function(lambda v, w: (v * z, tf.reverse(w, [0]) + tf.cast(v, F), tf.strings.as_string(v)))
    function = function.get_concrete_function(tf.TensorSpec([], I), tf.TensorSpec([2], F))
    number, row, text = tf.raw_ops.MapDefun(arguments=[x, y], captured_inputs=function.captured_inputs, output_types=[I, F, S],
                                            output_shapes=[[], [2], []], f=function)
    return {"number": number, "row": row, "text": text}


def mapped(x, y, shape):
    function = tf.function(lambda v, w: v + w).get_concrete_function(tf.TensorSpec(x.shape[1:], I), tf.TensorSpec(y.shape[1:], I))
    return {"sums": tf.raw_ops.MapDefun(arguments=[x, y], captured_inputs=[], output_types=[I], output_shapes=[shape], f=function)[0]}


@case(([1, 2, 3], [1, 2]), x=(I, [None]), y=(I, [None]))
def map_defun_of_unequal(x, y):
    return mapped(x, y, [])


@case(([[1, 2]], [1]), x=(I, [None, 2]), y=(I, [None]))
def map_defun_of_another_shape(x, y):
    return mapped(x, y, [3])


@case(([], []), x=(I, [None]), y=(I, [None]))
def map_defun_of_no_rows_and_no_shape(x, y):
    return mapped(x, y, [None])


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


def one_shot_iterator():
    """An iterator of TensorFlow 1 lives as long as a session: there is one run."""
    data = Data.range(5).map(lambda v: (v * v, tf.strings.as_string(v)))
    iterator = v1.data.make_one_shot_iterator(data)
    first = iterator.get_next()
    with tf.control_dependencies([first[0]]):
        second = iterator.get_next()
    return {"first": first[1], "second": second[0], "text": second[1]}, [{}]


CASES["one_shot_iterator"] = one_shot_iterator


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


def optional_of(*values):
    return tf.raw_ops.OptionalFromValue(components=list(values))


def values_of(optional, *dtypes):
    return tf.raw_ops.OptionalGetValue(optional=optional, output_types=list(dtypes), output_shapes=[None] * len(dtypes))


@case(([1, 2], 3), ([], -1), x=(F, [None]), n=(I, []))
def sums_of_optionals(x, n):
    raw = tf.raw_ops
    total = values_of(raw.AddN(inputs=[optional_of(x, n), optional_of(x * 10, n), optional_of(x + 1, n * 2)]), F, I)
    zeros = values_of(raw.ZerosLike(x=optional_of(x + 1, n > 2, tf.complex(x, x))), F, B, tf.complex64)
    none = raw.AddN(inputs=[raw.OptionalNone(), raw.OptionalNone()])
    return {"x": total[0], "n": total[1], "alone": values_of(raw.AddN(inputs=[optional_of(tf.strings.as_string(n))]), S)[0],
            "zeros": zeros[0], "no": zeros[1], "complex": zeros[2], "none": raw.OptionalHasValue(optional=none),
            "like_none": raw.OptionalHasValue(optional=raw.ZerosLike(x=none))}


@case(([1], [1, 2]), x=(F, [None]), y=(F, [None]))
def sum_of_other_shapes(x, y):
    return {"sum": values_of(tf.raw_ops.AddN(inputs=[optional_of(x), optional_of(y)]), F)[0]}


def sum_case(name, *optionals):
    """A sum that fails."""
    def build():
        return tf.function(lambda: {"sum": tf.raw_ops.OptionalHasValue(optional=tf.raw_ops.AddN(inputs=[o() for o in optionals]))})(), [{}]
    CASES[name] = build


sum_case("sum_of_value_and_none", lambda: optional_of(1.0), tf.raw_ops.OptionalNone)
sum_case("sum_of_texts", lambda: optional_of("a"), lambda: optional_of("b"))


def composite_of(metadata, *components):
    return tf.raw_ops.CompositeTensorVariantFromComponents(components=list(components), metadata=metadata)


def components_of(encoded, metadata, *dtypes):
    return tf.raw_ops.CompositeTensorVariantToComponents(encoded=encoded, metadata=metadata, Tcomponents=list(dtypes))


def class_metadata(number):
    """A CompositeTensorVariantMetadata that says no more than the class of its TypeSpec."""
    return b"\n\x02\x08" + bytes([number])


RAGGED = class_metadata(3)


class Masked(tf.experimental.ExtensionType):
    __name__ = "slipway.Masked"
    values: tf.Tensor
    mask: tf.Tensor


@case(([1, 2, 3], [1, 0, 1]), ([], []), x=(F, [None]), mask=(I, [None]))
def packed_extension_type(x, mask):
    """What tf.experimental.ExtensionType's pack makes, and a branch hands on; its gradient."""
    packed = extension_type.pack(Masked(x, mask > 0))
    chosen = tf.cond(tf.reduce_any(mask > 0), lambda: packed, lambda: extension_type.pack(Masked(x * 0, mask < 0)))
    masked = extension_type.unpack(chosen)
    again = extension_type.unpack(extension_type.pack(Masked(x * 2, mask > 0)))
    gradient, = tf.gradients(tf.reduce_sum(again.values ** 3), x)
    return {"values": masked.values, "mask": masked.mask, "gradient": gradient}


@case(([1, 2, 3], [0, 1, 3]), x=(F, [None]), splits=(L, [None]))
def composites(x, splits):
    """Of every type, in one another, in a tensor with others; of other metadata of the same class; the gradient of one component of two."""
    ragged = composite_of(RAGGED, x * 2, splits)
    back = components_of(ragged, RAGGED + b"\x12\x01a", F, L)
    outer = composite_of(b"", ragged, tf.strings.as_string(splits), tf.cast(x, tf.half), tf.complex(x, x), splits > 0)
    inner, *parts = components_of(outer, b"", tf.variant, S, tf.half, tf.complex64, B)
    first = components_of(tf.stack([ragged, outer]), RAGGED, F, L)
    both = components_of(composite_of(class_metadata(13), x * 2, x * 3), class_metadata(13), F, F)
    gradients = tf.gradients(tf.reduce_sum(back[0] ** 3) + tf.reduce_sum(both[0] ** 2), x)
    none = composite_of(b"")
    return {"values": back[0], "splits": back[1], "inner": components_of(inner, RAGGED, F, L)[0], "text": parts[0], "half": parts[1],
            "complex": parts[2], "bools": parts[3], "first": first[0], "both": both[1], "gradient": gradients[0],
            "count": tf.size(components_of(composite_of(class_metadata(12), none, x), class_metadata(12), tf.variant, F)[1])}


def composite_case(name, encoded, metadata, *dtypes):
    """A value that cannot be unpacked."""
    def build():
        return tf.function(lambda: {"out": components_of(encoded(), metadata, *dtypes)[0]})(), [{}]
    CASES[name] = build


composite_case("composite_of_another_class", lambda: composite_of(RAGGED, 1, [2.0]), class_metadata(1), I, F)
composite_case("composite_of_no_class", lambda: composite_of(class_metadata(13), 1, [2.0]), b"", I, F)
composite_case("composite_of_an_unknown_class", lambda: composite_of(class_metadata(99), 1), class_metadata(12), I)
composite_case("composite_of_more", lambda: composite_of(RAGGED, 1, [2.0]), RAGGED, I)
composite_case("composite_of_less", lambda: composite_of(RAGGED, 1), RAGGED, I, I)
composite_case("composite_of_other_types", lambda: composite_of(RAGGED, 1, [2.0]), RAGGED, I, I)
composite_case("composite_of_damaged_metadata", lambda: composite_of(b"\n\x02\x1a\x63", 1), RAGGED, I)
composite_case("composite_in_damaged_metadata", lambda: composite_of(RAGGED, 1), b"\n\x03\x12\x01\x63", I)


@case()
def zeros_like_texts():
    return {"zeros": values_of(tf.raw_ops.ZerosLike(x=optional_of("a")), S)[0]}


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


def directed(selector, data, stops=False, dtype=L):
    return raw_dataset(tf.raw_ops.DirectedInterleaveDataset, [], dtype, selector_input_dataset=selector._variant_tensor,
                       data_input_datasets=[d._variant_tensor for d in data], stop_on_empty_dataset=stops)


@case(([0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1],), ([],), ([1, 1],), x=(L, [None]))
def directed_interleaves(x):
    selector, data = Data.from_tensor_slices(x), [Data.range(3), Data.range(10, 15)]
    endless = directed(selector, [Data.range(3), Data.range(5).repeat()])
    return {"all": listed(directed(selector, data)), "first": listed(directed(selector, data, True)), "count": directed(selector, data).cardinality(),
            "empty": listed(directed(Data.range(2).repeat(), [Data.range(0), Data.range(4)])), "endless": endless.cardinality(),
            "chosen": listed(Data.choose_from_datasets([d.map(tf.strings.as_string) for d in data], selector))}


@case(([0, 2],), ([-1],), x=(L, [None]))
def directed_beyond(x):
    return {"values": listed(directed(Data.from_tensor_slices(x), [Data.range(3), Data.range(5)]))}


@case(([0, 1],), x=(I, [None]))
def directed_by_another_type(x):
    return {"values": listed(directed(Data.from_tensor_slices(x), [Data.range(3), Data.range(5)]))}


@case(([3, 1, 3, 3, 2, 1, -1], ["a", "", "bc", "a", "", "b"]), ([], []), (list(range(40)) * 2, ["x"] * 20), x=(I, [None]), s=(S, [None]))
def uniques(x, s):
    data, rows = Data.from_tensor_slices(x).unique(), Data.from_tensor_slices(x).batch(2).unique()
    return {"values": listed(data), "wide": listed(Data.from_tensor_slices(x).map(lambda v: tf.cast(v, L)).unique()),
            "texts": listed(Data.from_tensor_slices(s).unique()), "rows": listed(rows.unbatch()), "count": data.cardinality(),
            "shapes": listed(Data.range(8).map(lambda v: tf.ones([v % 3, 2 - v % 3], I)).unique().map(tf.shape))}


@case(([1.0],), x=(F, [None]))
def unique_of_floats(x):
    return {"values": listed(raw_dataset(tf.raw_ops.UniqueDataset, [], F, input_dataset=Data.from_tensor_slices(x)._variant_tensor))}


@case(([-1.0, 0, 1, 2, 0, 0],), ([0],), ([],), x=(F, [None]))
def errors_ignored(x):
    def inverse(v):
        return tf.debugging.check_numerics(1 / v, "no inverse")

    data = Data.from_tensor_slices(x).map(inverse)
    shapes = Data.from_tensor_slices(x).map(lambda v: tf.ones([tf.cast(tf.abs(v), I)])).batch(2).ignore_errors()
    return {"values": listed(data.ignore_errors()), "batches": listed(data.batch(2).ignore_errors().unbatch()),
            "shapes": listed(shapes.map(tf.shape)), "count": data.ignore_errors().cardinality()}


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


@case((10, 4), (0, 3), (6, 6), n=(L, []), size=(L, []))
def rebatch(n, size):
    pairs = Data.range(n).map(lambda v: (v, tf.strings.as_string(v))).batch(size)
    turns = raw_dataset(tf.raw_ops.RebatchDatasetV2, [None], L, input_dataset=Data.range(n).batch(size)._variant_tensor, batch_sizes=[2, 1, 4], drop_remainder=False)
    texts = tf.zeros([0], S)
    return {"rows": listed(Data.range(n).batch(size).rebatch(3, drop_remainder=True)), "sizes": listed(turns.map(tf.size)), "back": listed(turns.unbatch()),
            "texts": pairs.rebatch(3).reduce(texts, lambda all, p: tf.concat([all, tf.strings.as_string(p[0]) + p[1], ["|"]], 0)), "count": turns.cardinality()}


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


@case((3, 1, 1), (3, 2, 1), (2, 3, 2), (2, 4, 3), (2, 1, 5), (20, 1, 1), size=(L, []), shift=(L, []), stride=(L, []))
def sliding_windows(size, shift, stride):
    def made(drop):
        return raw_dataset(tf.raw_ops.SlidingWindowDataset, [None], L, input_dataset=Data.range(8)._variant_tensor, window_size=size,
                           window_shift=shift, window_stride=stride, drop_remainder=drop)

    full, part = made(True), made(False)
    return {"full": listed(full.unbatch()), "sizes": listed(full.map(tf.size)), "fulls": full.cardinality(),
            "part": listed(part.unbatch()), "part_sizes": listed(part.map(tf.size)), "parts": part.cardinality()}


@case((0, 1, 1), (1, 0, 1), (1, 1, 0), size=(L, []), shift=(L, []), stride=(L, []))
def sliding_windows_of_none(size, shift, stride):
    return {"values": listed(raw_dataset(tf.raw_ops.SlidingWindowDataset, [None], L, input_dataset=Data.range(8)._variant_tensor,
                                         window_size=size, window_shift=shift, window_stride=stride).unbatch())}


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


@case((3, 7, True), (100, 42, False), size=(L, []), seed=(L, []), reshuffle=(B, []))
def shuffles_of_a_generator(size, seed, reshuffle):
    """One generator gives seeds to all its datasets: their iterators must begin in a known order."""
    handle, _ = tf.raw_ops.AnonymousSeedGenerator(seed=seed, seed2=seed + 1, reshuffle=reshuffle)

    def shuffled(op, **more):
        return raw_dataset(op, [], L, input_dataset=Data.range(9)._variant_tensor, buffer_size=size, seed_generator=handle, **more)

    second = listed(shuffled(tf.raw_ops.ShuffleDatasetV2).map(lambda v: v).repeat(2))
    with tf.control_dependencies([second]):
        third = listed(shuffled(tf.raw_ops.ShuffleDatasetV3, seed=5, seed2=6))
    return {"second": second, "third": third, "count": shuffled(tf.raw_ops.ShuffleDatasetV2).cardinality()}


@case((0,), size=(L, []))
def shuffle_of_none(size):
    return {"values": listed(Data.range(3).shuffle(size, seed=1))}


@case((3,), n=(L, []))
def caches(n):
    data = Data.range(n).map(lambda v: v * v).cache()
    return {"values": listed(data.repeat(2)), "count": data.cardinality(), "part": listed(data.take(2).concatenate(data))}


@case((0,), (3,), (-1,), threads=(L, []))
def threads_of_a_dataset(threads):
    data = Data.range(4)
    kinds = dict(output_types=[L], output_shapes=[[]])
    first = tf.raw_ops.PrivateThreadPoolDataset(input_dataset=data._variant_tensor, num_threads=threads, **kinds)
    second = tf.raw_ops.MaxIntraOpParallelismDataset(input_dataset=first, max_intra_op_parallelism=threads, **kinds)
    return {"values": listed(_VariantDataset(second, data.element_spec))}


def map_of(*pairs):
    made = tf.raw_ops.EmptyTensorMap()
    for key, value in pairs:
        made = tf.raw_ops.TensorMapInsert(input_handle=made, key=key, value=value)
    return made


@case(([1.0, 2], [3.0, 4]), ([1.0], [3.0, 4]), x=(F, [None]), y=(F, [None]))
def sums_of_maps(x, y):
    raw = tf.raw_ops
    first, second = map_of(("a", x), ("b", y)), map_of(("c", x), ("a", y), (tf.constant([1]), y))
    total = raw.AddN(inputs=[first, second, second])
    value = lambda of, key: raw.TensorMapLookup(input_handle=of, key=key, value_dtype=F)
    zeros = raw.ZerosLike(x=first)
    return {"a": value(total, "a"), "b": value(total, "b"), "c": value(total, "c"), "size": raw.TensorMapSize(input_handle=total), "zeros": raw.TensorMapSize(input_handle=zeros),
            "before": value(first, "a"), "alone": value(raw.AddN(inputs=[first]), "b")}


@case((["x"],), x=(S, [None]))
def sums_of_maps_of_texts(x):
    return {"size": tf.raw_ops.TensorMapSize(input_handle=tf.raw_ops.AddN(inputs=[map_of(("a", x)), map_of(("a", x))]))}


@case(([1, 2],), x=(F, [None]))
def sums_of_complex_parts(x):
    raw, z = tf.raw_ops, tf.complex(x, 2 * x)
    one = raw.OptionalFromValue(components=[z])
    total = raw.OptionalGetValue(optional=raw.AddN(inputs=[one, one]), output_types=[z.dtype], output_shapes=[[None]])[0]
    rows = raw.TensorListFromTensor(tensor=z, element_shape=tf.constant([], I))
    rows = raw.TensorListStack(input_handle=raw.AddN(inputs=[rows, rows, rows]), element_shape=tf.constant([], I), element_dtype=z.dtype)
    return {"optional": total, "list": rows}


@case((4, 9), (-1, 2**40), (0, 1), seed=(L, []), seed2=(L, []))
def random_numbers(seed, seed2):
    data = raw_dataset(tf.raw_ops.RandomDataset, [], L, seed=seed, seed2=seed2)
    return {"values": listed(data.take(40)), "again": listed(data.take(3).repeat(2)), "count": data.cardinality()}


@case((0.4, 3, 7), (0.9, 5, 0), (0, 1, 1), (1, 1, 1), (-1, 1, 1), (2, 1, 1), (np.nan, 1, 1), rate=(F, []), seed=(L, []), seed2=(L, []))
def samples(rate, seed, seed2):
    pairs = Data.zip((Data.range(50), Data.range(50, 100)))
    data = _VariantDataset(tf.raw_ops.SamplingDataset(input_dataset=pairs._variant_tensor, rate=rate, seed=seed, seed2=seed2, output_types=[L, L], output_shapes=[[], []]), pairs.element_spec)
    return {"values": listed(data.map(lambda a, b: a * b)), "again": listed(data.map(lambda a, b: a).repeat(2)), "count": data.cardinality()}


@case((3, 7, True), (3, 7, False), (123456789012, 5, True), seed=(L, []), seed2=(L, []), reshuffle=(B, []))
def random_numbers_anew(seed, seed2, reshuffle):
    """Each iterator has other numbers, from a generator of the dataset or from a shared one."""
    own = {again: raw_dataset(tf.raw_ops.RandomDatasetV2, [], L, seed=seed, seed2=seed2, seed_generator=tf.raw_ops.DummySeedGenerator(), rerandomize_each_iteration=again) for again in (True, False)}
    handle, _ = tf.raw_ops.AnonymousSeedGenerator(seed=seed, seed2=seed2, reshuffle=reshuffle)
    shared = raw_dataset(tf.raw_ops.RandomDatasetV2, [], L, seed=1, seed2=2, seed_generator=handle, rerandomize_each_iteration=True)
    return {"own": listed(own[True].take(4).map(lambda v: v).repeat(3)), "same": listed(own[False].take(4).map(lambda v: v).repeat(3)),
            "shared": listed(shared.take(4).map(lambda v: v).repeat(3)), "count": own[True].cardinality()}


@case((1, 1), (2, 1), (2, 3), (3, 2), (9, 2), (12, 1), (0, 1), (1, 0), cycle=(L, []), block=(L, []))
def interleaves_of_old(cycle, block):
    """The older parallel ops, in their order without `sloppy`."""
    @tf.function(input_signature=[tf.TensorSpec([], L)])
    def numbers(v):
        return Data.range(v % 4).map(lambda w: v * 10 + w)._variant_tensor

    data = Data.from_tensor_slices(tf.constant([1, 6, 3, 0, 2, 7, 5, 4, 9], L))._variant_tensor
    shared = dict(input_dataset=data, other_arguments=[], cycle_length=cycle, block_length=block, buffer_output_elements=2, prefetch_input_elements=1, f=numbers.get_concrete_function())
    return {"old": listed(raw_dataset(tf.raw_ops.ParallelInterleaveDataset, [], L, sloppy=False, **shared)),
            "newer": listed(raw_dataset(tf.raw_ops.LegacyParallelInterleaveDatasetV2, [], L, deterministic="true", **shared))}


@case((2, 9), (1, 1), cycle=(L, []), block=(L, []))
def interleaves_after_errors(cycle, block):
    """An element of the input that fails while the older parallel ops fill their places takes no other along."""
    @tf.function(input_signature=[tf.TensorSpec([], L)])
    def numbers(v):
        return Data.range(v % 4).map(lambda w: v * 10 + w)._variant_tensor

    data = Data.from_tensor_slices(tf.constant([1, 0, 2], L)).map(lambda v: 6 // v)._variant_tensor
    shared = dict(input_dataset=data, other_arguments=[], cycle_length=cycle, block_length=block, buffer_output_elements=2, prefetch_input_elements=0, f=numbers.get_concrete_function())
    return {"old": listed(raw_dataset(tf.raw_ops.ParallelInterleaveDataset, [], L, sloppy=False, **shared).ignore_errors()),
            "newer": listed(raw_dataset(tf.raw_ops.LegacyParallelInterleaveDatasetV2, [], L, deterministic="true", **shared).ignore_errors())}


@case(([[0, 1], [0, 2], [2, 0]], [1, 2, 3], [4, 3]), ([[3, 0]], [1], [4, 3]), (np.zeros((0, 2)), [], [2, 3]), (np.zeros((0, 2)), [], [0, 3]), ([[1, 0], [0, 0]], [1, 2], [4, 3]), ([[5, 0]], [1], [4, 3]), ([[-1, 0]], [1], [4, 3]),
      ([[0, 0]], [1, 2], [4, 3]), ([[0, 0]], [1], [4]), ([0], [1], [4]), ([[0]], [[1]], [4]), ([[2], [3]], [1, 2], [5]), i=(L, None), v=(F, None), s=(L, None))
def slices_of_sparse(i, v, s):
    spec = (tf.TensorSpec(None, L), tf.TensorSpec(None, F), tf.TensorSpec([None], L))
    data = _VariantDataset(tf.raw_ops.SparseTensorSliceDataset(indices=i, values=v, dense_shape=s), spec)
    rows = data.map(lambda i, v, s: tf.concat([[tf.cast(tf.size(v), F)], tf.cast(tf.reshape(i, [-1]), F), v, tf.cast(s, F)], 0))
    return {"values": rows.reduce(tf.zeros([0]), lambda a, b: tf.concat([a, b], 0)), "count": data.cardinality()}


@case((1, 2, [3, 4]), a=(I, []), b=(I, []), c=(I, [None]))
def window_of_tensors(a, b, c):
    def window(*inputs, shapes):
        specs = tuple(tf.TensorSpec(shape, I) for shape in shapes)
        variant = tf.raw_ops.WindowOp(inputs=inputs, output_types=[I] * len(shapes), output_shapes=shapes)
        return _VariantDataset(variant, specs if len(specs) > 1 else specs[0])
    pairs = window(a, c, b, c + 1, shapes=[[], [None]])
    return {"one": listed(window(a, b, a, shapes=[[]])), "pairs": listed(pairs.map(lambda x, y: x + y), I), "count": pairs.cardinality()}


def example(**features):
    kinds = {bytes: "bytes_list", float: "float_list", int: "int64_list"}
    lists = {key: tf.train.Feature(**{kinds[type(values[0])]: {"value": values}}) for key, values in features.items() if values}
    return tf.train.Example(features=tf.train.Features(feature=lists)).SerializeToString(deterministic=True)


EXAMPLES = [example(a=[1, 2], d=[0.5], t=[b"x", b"yz"], r=[3, 4, 5], v=[1.5, 2.5]), example(a=[3, 4], t=[b"w"]), example(a=[5, 6], d=[2.0], r=[7]), example(a=[7, 8], v=[3.5])]


@case((EXAMPLES, 2), (EXAMPLES, 3), (EXAMPLES[:0], 2), ([EXAMPLES[1], b"no example"], 2), ([EXAMPLES[0], example(d=[1.0])], 1), ([example(a=[1])], 1), ([example(a=[1.0, 2.0])], 1), serialized=(S, [None]), size=(L, []))
def parsed_examples(serialized, size):
    """Features of all kinds, whose components stand in the order of their keys."""
    features = {"v": tf.io.FixedLenSequenceFeature([], F, allow_missing=True), "a": tf.io.FixedLenFeature([2], L), "d": tf.io.FixedLenFeature([], F, default_value=-1.0),
                "t": tf.io.VarLenFeature(S), "r": tf.io.RaggedFeature(L), "q": tf.io.RaggedFeature(L, row_splits_dtype=L)}
    data = Data.from_tensor_slices(serialized).batch(size).apply(tf.data.experimental.parse_example_dataset(features, num_parallel_calls=2))

    def numbers(batch):
        ragged = [tf.reshape(tf.cast(x, F), [-1]) for key in "rq" for x in (batch[key].values, batch[key].row_splits)]
        return tf.concat([tf.cast(tf.reshape(batch["a"], [-1]), F), tf.reshape(batch["d"], [-1]), tf.reshape(batch["v"], [-1]), *ragged], 0)

    texts = data.map(lambda batch: tf.strings.reduce_join(tf.reshape(tf.sparse.to_dense(batch["t"], "-"), [-1]), separator=","))
    return {"numbers": data.map(numbers).reduce(tf.zeros([0]), lambda a, b: tf.concat([a, b], 0)), "texts": listed(texts), "count": data.cardinality()}


@case((EXAMPLES, 2), (EXAMPLES, 0), serialized=(S, [None]), calls=(L, []))
def parsed_examples_of_old(serialized, calls):
    variant = tf.raw_ops.ParseExampleDataset(
        input_dataset=Data.from_tensor_slices(serialized).batch(3)._variant_tensor, num_parallel_calls=calls, dense_defaults=[tf.constant([0], L), tf.constant(9.0)], sparse_keys=["t"], dense_keys=["z", "d"],
        sparse_types=[S], dense_shapes=[[None], []], output_types=[F, tf.variant, L], output_shapes=[[None], [3], [None, None]])
    data = _VariantDataset(variant, (tf.TensorSpec([None], F), tf.TensorSpec([3], tf.variant), tf.TensorSpec([None, None], L)))
    counts = data.map(lambda d, t, z: tf.size(raw_values(t)))
    return {"d": data.map(lambda d, t, z: d).reduce(tf.zeros([0]), lambda a, b: tf.concat([a, b], 0)), "sizes": listed(counts)}


def raw_values(sparse):
    return tf.raw_ops.DeserializeSparse(serialized_sparse=sparse, dtype=S).sparse_values


@case((2, [-1]), (3, [-1]), (9, [4]), (2, [2]), (2, [-1, -1]), (0, [-1]), size=(L, []), row=(L, [None]))
def sparse_batches(size, row):
    """Rows of 0, 1, … elements."""
    data = Data.range(5).map(Data.range).map(lambda part: part.batch(9, drop_remainder=False).reduce(tf.zeros([0], L), lambda a, b: b))
    spec = tf.SparseTensorSpec([None, None], L)
    batches = _VariantDataset(tf.raw_ops.DenseToSparseBatchDataset(input_dataset=data._variant_tensor, batch_size=size, row_shape=row, output_types=[L], output_shapes=[[None, None]]), spec)
    flat = batches.map(lambda v: tf.concat([v.values, tf.reshape(v.indices, [-1]), v.dense_shape], 0))
    return {"values": flat.reduce(tf.zeros([0], L), lambda a, b: tf.concat([a, b], 0)), "count": batches.cardinality()}


@case(([[["a", "b"]], [["c", "d"]]],), x=(S, [None, 1, 2]))
def sparse_batch_of_matrices(x):
    batches = Data.from_tensor_slices(x).apply(tf.data.experimental.dense_to_sparse_batch(3, [None, 2]))
    return {"text": listed(batches.map(lambda v: tf.strings.reduce_join(v.values))), "sizes": listed(batches.map(lambda v: v.dense_shape), L), "scalars": listed(scalar_batches(), L)}


def scalar_batches():
    return Data.range(3).apply(tf.data.experimental.dense_to_sparse_batch(2, [])).map(lambda v: tf.reduce_sum(v.values * 10 + v.indices[:, 0]))


@case((0,), (1,), (-1,), time=(L, []))
def sleepers(time):
    data = raw_dataset(tf.raw_ops.SleepDataset, [], L, input_dataset=Data.range(3)._variant_tensor, sleep_microseconds=time)
    return {"values": listed(data), "count": data.cardinality()}


VARIABLES = []
write_files()
for name, build in CASES.items():
    if name in sys.argv[1:] or len(sys.argv) == 1:
        VARIABLES.clear()
        write(HERE / (name + ".pb"), build)

"""Rows of small ops of many families: compressed bytes, CSV, scripts, fingerprints, empty rows."""
import gzip
import zlib

from rows import Rows
from sparse_rows import stored_sparse

import numpy as np
import tensorflow as tf

bfloat16 = tf.bfloat16.as_numpy_dtype
REALS = [np.float32, np.float64, np.float16, bfloat16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
COMPLEX = [np.complex64, np.complex128]
LOOSE = {np.float16: 2e-3, bfloat16: 1.6e-2}


def i64(*values):
    return np.array(values, np.int64)


def compressed(rows):
    for text in [b"", b"abc\0" * 50, bytes(range(256)) * 40]:
        z, g = zlib.compress(text), gzip.compress(text, mtime=0)
        for data, kind in [(z, "ZLIB"), (g, "GZIP"), (text, ""), (z, "GZIP"), (g, "ZLIB"), (z[:-5], "ZLIB"), (g[:10], "GZIP"), (g[:-9], "GZIP"), (z + b"xx", "ZLIB"), (g + g, "GZIP"), (z + z, "ZLIB"),
                           (g + gzip.compress(b"", mtime=0) + g, "GZIP"), (g + b"xx", "GZIP"), (g[:-4] + b"abcd", "GZIP"), (z[:-4] + b"abcd", "ZLIB")]:
            rows.add("DecodeCompressed", [np.array([data], object)], compression_type=kind)
    z = zlib.compress(b"row")
    for data in [b"junk", b"", b"\x78", b"\x78\x9c", b"\x1f\x8b"]:
        rows.add("DecodeCompressed", [np.array(data)], compression_type="ZLIB")
        rows.add("DecodeCompressed", [np.array(data)], compression_type="GZIP")
    rows.add("DecodeCompressed", [np.array([[z, zlib.compress(b"")], [z, z]], object)], compression_type="ZLIB")
    rows.add("DecodeCompressed", [tf.zeros([0, 2], tf.string)], compression_type="ZLIB")
    for kind in ["zlib", "NONE", "LZ"]:
        rows.add("DecodeCompressed", [np.array([z])], compression_type=kind)


def csv(rows):
    def add(records, defaults, **attributes):
        defaults = [tf.convert_to_tensor(value) for value in defaults]
        rows.add("DecodeCSV", [tf.constant(records), defaults], OUT_TYPE=[value.dtype for value in defaults], **attributes)
    none = {kind: tf.zeros([0], kind) for kind in [tf.float32, tf.float64, tf.int32, tf.int64, tf.string]}
    all_kinds = [np.float32(1.5), np.float64(-2.5), np.int32(7), i64(9), tf.constant("d")]
    add(["1,2,3,4,e", "-1.5e3, 2 ,-3,+4,\"q,\"", ",,,,"], all_kinds)
    add(["1,2,3,4,e", ",2,3,4,e"], list(none.values()))
    add("1.25", [np.float32(0)])
    add([["1,a", "2,b"], ["3,c", "4,d"]], [np.int32(0), tf.constant("")])
    texts = [tf.constant("x"), tf.constant("y")]
    for record in ["a,b", '"a","b"', '"a""b",""', 'a"b,c', '"a"b,c', '"a,b', '"a"', 'a,"b"\n', "a\nb,c", "\na,\r\nb", "a,", ",a", "a", "a,b,c", "", '"', '""', '"",""', ',"b', '"a\nb",c', "a,\n", "\n", '"a",']:
        add(record, texts)
        add(record, texts, use_quote_delim=False)
    add("a\tb", texts, field_delim="\t")
    add("a;\"b;\"", texts, field_delim=";")
    add(["NA,b", "a,NA", '"NA",b'], texts, na_value="NA")
    add(["NA,1"], [np.int32(3), none[tf.int64]], na_value="NA")
    add(["1,NA"], [np.int32(3), none[tf.int64]], na_value="NA")
    for chosen in [[0, 1], [0, 2], [1, 3], [2, 5]]:
        add(["a,b,c,d", "e,f,g,", "a,b,c"], texts, select_cols=chosen)
    for wrong in [dict(select_cols=[1, 0]), dict(select_cols=[1]), dict(select_cols=[1, 1]), dict(select_cols=[-1, 1]), dict(field_delim=""), dict(field_delim="ab")]:
        add(["a,b,c"], texts, **wrong)
    for field in ["x", "1x", "1 2", " 5 ", "2147483648", "-2147483649", "9223372036854775808", "1e5", "0x10", "nan", "-inf", "1e400", "1.5", "+3"]:
        for kind in [tf.float32, tf.float64, tf.int32, tf.int64]:
            add([field], [none[kind]])
    add(["1"], [np.zeros((1, 1), np.int32)])
    add(["1"], [np.int32([1, 2])])
    add(tf.zeros([0], tf.string), [np.int32(1)])


def empty_rows(rows):
    for dtype in REALS + COMPLEX + [object, np.bool_]:
        values = np.array([b"a", b"", b"c", b"d"], object) if dtype is object else np.array([1, 2, 3, 4]).astype(dtype)
        default = np.array(b"none") if dtype is object else np.array(9).astype(dtype)
        for ids, count in [((0, 0, 2, 5), 7), ((3, 0, 3, 1), 4), ((0, 1, 2, 3), 4)]:
            rows.add("RaggedFillEmptyRows", [i64(*ids), values, np.int64(count), default])
        if dtype in REALS + COMPLEX:
            for op in ["RaggedFillEmptyRowsGrad", "SparseFillEmptyRowsGrad"]:
                for places in [(0, 3), (), (2, 2, 1), (3, 2, 1, 0)]:
                    rows.add(op, [i64(*places), values], LOOSE.get(dtype))
    values = np.float32([1, 2])
    for ids, of, count, default in [((0, 5), values, 4, 0), ((0, -1), values, 4, 0), ((), values[:0], 3, 0), ((), values[:0], 0, 0), ((0,), values[:0], 1, 0), ((0,), values[:1], 0, 0), (([0],), values[:1], 2, 0),
                                    ((0,), values[:1, None], 2, 0), ((0,), values[:1], -1, 0), ((0,), values[:1], [1], 0), ((0,), values[:1], 1, [0])]:
        rows.add("RaggedFillEmptyRows", [i64(*ids), of, np.array(count, np.int64), np.float32(default)])
    for op in ["RaggedFillEmptyRowsGrad", "SparseFillEmptyRowsGrad"]:
        for places, gradient in [((0, 3), [1, 2, 3]), ((0, -1), [1, 2]), ((), []), (([0],), [1]), ((0,), [[1]])]:
            rows.add(op, [i64(*places), np.float32(gradient)])


def segment_gradients(rows):
    for op in ["Sum", "Mean", "SqrtN"]:
        op = "SparseSegment%sGradV2" % op
        for dtype in REALS[:4]:
            gradient = np.array([[1, 2], [3, -4], [0.5, 8]]).astype(dtype)
            for kind in [np.int32, np.int64]:
                rows.add(op, [gradient, np.array([5, 2, 5, 0, 2], kind), np.array([0, 0, 1, 2, 2], kind), np.int32(6)], LOOSE.get(dtype))
            rows.add(op, [gradient[:, 0], np.int32([1, 1, 1]), np.int64([0, 1, 2]), np.int32(3)], LOOSE.get(dtype))
        gradient = np.float32([[1, 2], [3, 4]])
        rows.add(op, [gradient, np.int32([]), np.int32([]), np.int32(4)])
        rows.add(op, [gradient[:, :0], np.int32([1, 0]), np.int32([0, 1]), np.int32(4)])
        for indices, ids, size in [([0, 4], [0, 1], 4), ([0, -1], [0, 1], 4), ([0, 1], [0, 2], 4), ([0, 1], [-1, 0], 4), ([0, 1], [0], 4), ([[0, 1]], [0, 1], 4), ([0, 1], [[0, 1]], 4), ([0, 1], [0, 1], [4, 4])]:
            rows.add(op, [gradient, np.int32(indices), np.int32(ids), np.int32(size)], text=False)


def tests_of_values(rows):
    for value in [0, 2, 0.0, -0.0, 1.5, np.nan, "", "a", True, False, np.int8(3), np.uint64(3), np.complex64(0), np.float16(0), np.float64(0), np.int16(0), np.uint8(9), np.uint16(0), i64(0)[0], [""], [0], [[0, 0]]]:
        rows.add("ToBool", [tf.convert_to_tensor(value)])
    for dtype in REALS + COMPLEX:
        rows.add("ToBool", [np.zeros(2, dtype)])
        rows.add("ToBool", [np.zeros((0, 2), dtype)])
    for dtype in REALS[:4]:
        for values in [[1, 2], [np.nan, 1], [np.inf, 1], [1, -np.inf], [np.inf, -np.inf], [np.nan, np.inf], [np.nan, -np.inf], [np.nan, np.inf, -np.inf], []]:
            rows.add("CheckNumericsV2", [np.array(values, dtype)], message="bad")


def hashes_and_scripts(rows):
    rows.add("UnicodeScript", [np.int32([-1, 0, 9, 65, 0xe9, 0x3b1, 0x430, 0x5d0, 0x627, 0x905, 0x3042, 0x30a2, 0x4e00, 0xac00, 0x378, 0xd800, 0xe000, 0x1e900, 0x1f600, 0x10ffff, 0x110000, 2**31 - 1])])
    rows.add("UnicodeScript", [np.int32([[65], [0x4e00]])])
    rows.add("UnicodeScript", [np.int32(0x671)])
    rows.add("UnicodeScript", [np.zeros((0, 2), np.int32)])
    rows.add("UnicodeScript", [np.arange(0, 0x110000, 257, dtype=np.int32)])
    method = tf.constant("farmhash64")
    for dtype in REALS + COMPLEX:
        rows.add("Fingerprint", [np.array([[1, 2, 3], [4, 5, 6]]).astype(dtype), method])
        rows.add("Fingerprint", [np.array([1, 2]).astype(dtype), method])
    for data in [["a", "bc"], [["a", "bc"]], [["a"], ["bc"]], [[["a", "bc"]], [["", "d"]]]]:
        rows.add("Fingerprint", [tf.constant(data), method])
    rows.add("Fingerprint", [np.array([True, False]), method])
    for shape in [(0, 3), (3, 0), (0,)]:
        rows.add("Fingerprint", [np.zeros(shape, np.float32), method])
    rows.add("Fingerprint", [np.float32(1), method])
    rows.add("Fingerprint", [np.float32([1]), tf.constant("md5")])
    rows.add("Fingerprint", [np.float32([1]), tf.constant(["farmhash64"])])


def products(rows):
    random = np.random.RandomState(2)
    a, b = [np.round(random.uniform(-2, 2, shape), 2) for shape in [(3, 4), (4, 5)]]
    a[1] = 0
    for first in [np.float32, bfloat16]:
        for second in [np.float32, bfloat16]:
            for left in [False, True]:
                for right in [False, True]:
                    rows.add("SparseMatMul", [(a.T if left else a).astype(first), (b.T if right else b).astype(second)], transpose_a=left, transpose_b=right, a_is_sparse=left)
    nan = np.float32([[np.nan, 0], [np.inf, 1]])
    rows.add("SparseMatMul", [nan, np.float32([[1, 2], [3, 4]])])
    for x, y in [((2, 0), (0, 3)), ((0, 2), (2, 3)), ((2, 3), (2, 3)), ((2,), (2, 3)), ((2, 3), (3,)), ((1, 2, 3), (3, 2))]:
        rows.add("SparseMatMul", [np.ones(x, np.float32), np.ones(y, np.float32)])


def odds():
    rows = Rows("odds")
    for part in [compressed, csv, empty_rows, segment_gradients, tests_of_values, hashes_and_scripts, products]:
        part(rows)
    rows.write()


FAMILIES = [odds, stored_sparse]

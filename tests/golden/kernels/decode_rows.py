"""Rows of compressed bytes and of CSV."""
import gzip
import zlib

from drawn import i64
from rows import Rows

import numpy as np
import tensorflow as tf


def decode_compressed():
    rows = Rows("decode_compressed")
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
    rows.write()


def decode_csv():
    rows = Rows("decode_csv")
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
    rows.write()


FAMILIES = [decode_compressed, decode_csv]

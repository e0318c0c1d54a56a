"""Rows of ops on texts: parts, joins, printed tensors, encodings."""
from rows import FLOAT8, Rows

import numpy as np
import tensorflow as tf

WORDS = np.array([b"The quick", b"", b"a", "Gr\u00f6\u00dfe \u6771\u4eac \U0001f600".encode(), b"\xff\x80\x80a\xc3", b"x\0y"], object)


def texts(*values):
    return np.array(values, object).astype(object) if values else np.zeros(0, bytes)


def substrings(rows):
    for unit in ["BYTE", "UTF8_CHAR"]:
        for position in [0, 1, 3, -1, -2, -3, 9, 10, -9, -10, 2**31 - 1, -2**31]:
            for length in [0, 1, 2, 100, -1, -3, 2**31 - 1, -2**31]:
                for word in [WORDS[3], WORDS[0], b""]:
                    rows.add("Substr", [np.array(word), np.int32(position), np.int32(length)], unit=unit, text=False)
        for position, length in [(0, 2), (-1, 1), (2, 2)]:
            rows.add("Substr", [WORDS[3:], np.int64(position), np.int64(length)], unit=unit)
        rows.add("Substr", [WORDS, np.int32([1, 0, 0, -2, 2, -1]), np.int32([2, 3, 1, 2, 9, 1])], unit=unit)
        rows.add("Substr", [np.array(b"hello"), np.int32([0, 1, -2]), np.int32([2, 3, 1])], unit=unit)
        rows.add("Substr", [texts([b"hello"], [b"world"]), np.int32([0, 1, -2]), np.int32([2, 3, 1])], unit=unit)
        rows.add("Substr", [texts([b"hello", b"world"]), np.int32([[0, 1], [2, 3], [-2, -1]]), np.int32([[2, 3], [1, 1], [1, 9]])], unit=unit)
        rows.add("Substr", [texts(b"hello", b"world"), np.int32([[0], [1], [-2]]), np.int32([[2], [3], [1]])], unit=unit)
        rows.add("Substr", [texts([b"hello", b"ten!!"]), np.int32([[4]]), np.int32([[3]])], unit=unit)
        rows.add("Substr", [texts(b"ab", b"c"), np.int32([0, 2]), np.int32([1, 1])], unit=unit)
        rows.add("Substr", [texts(), np.int32(0), np.int32(1)], unit=unit)
        rows.add("Substr", [WORDS.reshape(1, 2, 3), np.int32([[[0]]]), np.int32([[[1]]])], unit=unit)
        rows.add("Substr", [WORDS[:2], np.int32([0, 0, 0]), np.int32([1, 1, 1])], unit=unit)
        rows.add("Substr", [WORDS, np.int32(0), np.int32([1])], unit=unit, text=False)
        rows.add("Substr", [WORDS, np.zeros(0, np.int32), np.zeros(0, np.int32)], unit=unit, text=False)
    for position in [2**63 - 1, -2**63]:
        for length in [2**63 - 1, -2**63]:
            rows.add("Substr", [np.array(b"hello"), np.int64(position), np.int64(length)], text=False)


def string_joins():
    """Texts that are cut, joined, printed and written in other encodings."""
    rows = Rows("string_joins")
    substrings(rows)
    cube = np.array([c.encode() for c in "abcdefghijkl"], object).reshape(2, 3, 2)
    for axes in [0, [0], [1], [-1], [0, 1], [1, 0], [2, 0, 1], [], [0, -3], [3], [-4], [1, 1]]:
        for keep in [False, True]:
            rows.add("ReduceJoin", [cube, np.array(axes, np.int32)], keep_dims=keep, separator="--")
    rows.add("ReduceJoin", [np.array(b"a"), np.zeros(0, np.int32)])
    rows.add("ReduceJoin", [texts(), np.int32(0)], separator=",")
    rows.add("ReduceJoin", [np.zeros((0, 3), bytes), np.int32([1])], separator=",")
    rows.add("ReduceJoin", [np.zeros((3, 0), bytes), np.int32([1])], separator=",")
    rows.add("ReduceJoin", [texts(b"", b"a", b"", b"x\0y"), np.int32(0)], separator="\0")
    for ids, kind in [([0, 1, 0], np.int32), ([2, 2, 2], np.int64), ([0, 1, 3], np.int32), ([0, -1, 2], np.int64)]:
        for count in [np.int32(3), np.int64(3)]:
            rows.add("UnsortedSegmentJoin", [texts(b"a", b"", b"c"), np.array(ids, kind), count], separator="+", text=False)
    rows.add("UnsortedSegmentJoin", [texts(b"", b"", b"c", b""), np.int32([0, 0, 0, 0]), np.int32(2)], separator="::")
    rows.add("UnsortedSegmentJoin", [cube, np.int32([1, 0]), np.int32(2)], separator=":")
    rows.add("UnsortedSegmentJoin", [cube, np.int32([[1, 0, 1], [1, 0, 0]]), np.int32(2)], separator=":")
    rows.add("UnsortedSegmentJoin", [np.zeros((0, 2), bytes), np.zeros(0, np.int32), np.int32(2)])
    for ids, count in [(np.int32(0), np.int32(1)), (np.int32([0, 1]), np.int32(2)), (np.zeros((3, 1), np.int32), np.int32(2)), (np.int32([0, 0, 0]), np.zeros(0, np.int32))]:
        rows.add("UnsortedSegmentJoin", [texts(b"a", b"b", b"c"), ids, count], text=False)
    formats(rows)
    for errors in ["replace", "strict", "ignore"]:
        for encoding in ["UTF-8", "UTF-16-BE", "UTF-32-BE"]:
            for text in [WORDS[:4], WORDS, texts([b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"], [b"\xc0\xaf", "\uffff\U0010ffff".encode(), b"a\x01\tb"])]:
                for control in [False, True]:
                    rows.add("UnicodeTranscode", [text], input_encoding="UTF-8", output_encoding=encoding, errors=errors, replace_control_characters=control, replacement_char=0x1f601)
            rows.add("UnicodeEncode", [np.int32([97, 0xfc, 0x20ac, 0x1f600, 0x10ffff, 0xd800, -1]), np.array([0, 1, 1, 7])], errors=errors, output_encoding=encoding)
            rows.add("UnicodeEncode", [np.int32([97, 0xfc, 0x20ac, 0x1f600, 0x10ffff]), np.array([0, 1, 1, 5])], errors=errors, output_encoding=encoding)
    for delimiter in [b"", b",", b", ", b"\0", b"\xff"]:
        for skip in [True, False]:
            rows.add("StringSplit", [texts(b"a,b, c", b"", b",", b",,x,", b"x\0y", b" ", WORDS[4]), np.array(delimiter)], skip_empty=skip)
            rows.add("StringSplit", [texts(), np.array(delimiter)], skip_empty=skip)
    rows.add("StringSplit", [texts([b"a"]), np.array(b",")], text=False)
    rows.add("StringSplit", [texts(b"a"), texts(b",")], text=False)
    many = np.array([bytes((7 * i + n) % 256 for i in range(n)) for n in range(20)], object)
    for buckets in [1, 10, 2**63 - 1]:
        rows.add("StringToHashBucket", [many], num_buckets=buckets)
    rows.write()


def formats(rows):
    def show(*inputs, template="{}", summarize=3, placeholder="{}"):
        inputs = [tf.convert_to_tensor(x) for x in inputs]
        rows.add("StringFormat", [inputs], each=1e-9, T=[x.dtype for x in inputs], template=template, placeholder=placeholder, summarize=summarize)
    odd = [1 / 3, 0.1, 1e-7, 16777217, 123456789, np.nan, np.inf, -np.inf, 1e20, -0.0, 1234567, 1e-40]
    for dtype in [tf.float32, tf.float64, tf.half, tf.bfloat16, *FLOAT8]:
        show(tf.cast(odd, dtype), summarize=-1)
        show(tf.constant(0.1, dtype))
    for dtype in [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]:
        show(np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype))
    show(np.array([True, False]))
    show(np.complex64([1 + 2j, 3]))
    show(np.complex128(1))
    show(np.complex128([1, 2, 3, 4]), summarize=2)
    show(texts(b"a\"b'\\\n\r\t\x01\x7f", WORDS[3], b""), summarize=-1)
    for summarize in [-1, 0, 1, 2, 3]:
        for shape in [(), (7,), (3, 4, 5), (2, 2, 2), (0, 3), (2, 0), (0,)]:
            show(np.arange(np.prod(shape, dtype=int)).reshape(shape), summarize=summarize)
    show(np.int32(1), texts(b"x"), template="a{}b\0{}c")
    show(np.int32(1), np.int32(2), template="abc", placeholder="")
    show(np.int32(1), template="a%%b", placeholder="%%")
    show(template="nothing")
    show(template="")
    show(np.int32(1), template="{}{}")
    show(np.int32(1), template="{}{", placeholder="{}")


def string_encodings():
    """Texts in other encodings than UTF-8: pairs of surrogates, halves of pairs, ends within a character."""
    rows = Rows("string_encodings")
    be = [b"\0a\xd8\x3d\xde\0\0b", b"\xd8\x3d\0a", b"\xd8\x3d", b"\xde\0\0a", b"\0a\0", b"\0", b"\xfe\xff\0a", b"\xd8\x3d\xde", b"\xd8\x3d\xd8\x3d\xde\0", b"\0\x05\0a", b""]
    wide = [b"\0\0\0a\0\x01\xf6\0", b"\0\0\xd8\0\0\0\0a", b"\0\x11\0\0\0\0\0a", b"\0\0\0", b"\0\0\0a\0\0", b"\xff\0\0a\0\0\0b", b"\0\0\0\x05"]
    little = [bytes(b for i in range(0, len(v) // 2 * 2, 2) for b in (v[i + 1], v[i])) for v in be]
    for encoding, data in [("UTF-16-BE", be), ("UTF-16LE", little), ("utf-16le", be), ("UTF-32-BE", wide), ("UTF_32 LE", wide), ("UTF32-LE", [v[::-1] for v in wide]),
                           ("US-ASCII", [b"a\x80\xe9b", b"\x05"]), ("ascii", [b"az", b""]), ("ISO-8859-1", [b"a\x80\xe9b", b"\xff\x05"]), ("Latin1", [b"\0\xff"]), ("utf8", [b"\xc3\xa9"])]:
        for errors in ["replace", "strict", "ignore"]:
            for text in [np.array(data[:1], object), np.array(data, object)]:
                rows.add("UnicodeDecodeWithOffsets", [text], input_encoding=encoding, errors=errors, replace_control_characters=errors == "ignore")
                rows.add("UnicodeTranscode", [text], input_encoding=encoding, output_encoding="UTF-8", errors=errors, replace_control_characters=text.size > 1)
    marked = [b"\xfe\xff\0a\0b", b"\xff\xfea\0b\0", b"\0a\0b", b"a\0b\0", b"\xff\xfe", b"\xfe\xff", b"\xff", b"\xfe", b"\xff\xfe\xff\xfea\0", b"\xfe\xff\xff\xfe\0a", b"\0a\xfe\xff", b"\xff\xfe\x3d\xd8", b"",
              b"\xff\xfe\0\0a\0\0\0"]
    marked_wide = [b"\0\0\xfe\xff\0\0\0a", b"\xff\xfe\0\0a\0\0\0", b"\0\0\0a", b"a\0\0\0", b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"\xff\xfe", b"\xff\xfea\0", b"\0\0\xfe", b"\xff\xfe\0\0\xff\xfe\0\0", b"", b"\0\0\xfe\xff\0\0"]
    pages = ["windows-%d" % n for n in range(1250, 1259)] + ["ISO-8859-%d" % n for n in range(2, 16) if n != 12] + ["KOI8-R", "cp1251", "Latin-2"]
    for encoding, data in [("UTF-16", marked), ("utf16", marked[:1]), ("UTF-32", marked_wide)] + [(page, [bytes(range(256)), b"\x81a"]) for page in pages]:
        for errors in ["replace", "strict", "ignore"][:3 if "UTF" in encoding or "125" in encoding else 1]:
            for one in data:  # alone: in TensorFlow, the first text of a batch decides the order of bytes of the others
                rows.add("UnicodeDecodeWithOffsets", [np.array([one], object)], input_encoding=encoding, errors=errors)
                rows.add("UnicodeTranscode", [np.array([one], object)], input_encoding=encoding, output_encoding="UTF-8", errors=errors)
    rows.write()


FAMILIES = [string_joins, string_encodings]

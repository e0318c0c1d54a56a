"""Rows of ops on texts: numbers, hashes, regular expressions, parts, characters."""
from rows import Rows
from drawn import COMPLEX, REALS, f32, i32

import numpy as np
import tensorflow as tf


def text():
    rows = Rows("text", seed=453)
    rows.add("StringJoin", [[np.array([b"a", b"b"]), np.array(b"x"), np.array([b"", b"c\0"])]], separator="-")
    rows.add("StringJoin", [[np.array([b"a", b"b"]), np.array([b"a"])]])
    rows.add("ShardedFilename", [np.array(b"ckpt"), np.int32(3), np.int32(12)])
    rows.add("ShardedFilespec", [np.array(b"ckpt"), np.int32(12)])
    for op in ["StringLower", "StringUpper"]:
        rows.add(op, [np.array([b"aBc 1!Z", "\u00c4\u00e4".encode(), b""])])
    rows.add("StringLower", [np.array([b"ABC"])], encoding="utf-8")
    rows.add("StringStrip", [np.array([b"  a b\t\n", b"", b"   ", b"x"])])
    for one in [b"", b"YQ", b"YQ==", b"YWI", b"YWI=", b"YWJj", b"YWJjZGVm", b"YR==", b"-_8=", b"-_8", b"YQ=", b"Y", b"YWJjZ", b"+/8=", b"a b=",
                b"YQ==YQ==", b"====", b"=", b"Y===", b"YWJ\n", b"+WJjZ", b"YWJj+", b"\xc3\xa4YQ"]:
        rows.add("DecodeBase64", [np.array(one)])
    rows.add("DecodeBase64", [np.array([[b"YQ", b"YWJjZA=="]])])
    for pad in [False, True]:
        rows.add("EncodeBase64", [np.array([b"", b"a", b"ab", b"abc", b"abcd", b"\xff\xfe\xfd", b"\xfb\xff"])], pad=pad)
    for unit in ["BYTE", "UTF8_CHAR"]:
        rows.add("StringLength", [np.array([b"abc", "\u00c4\u20ac".encode(), b""])], unit=unit)
    for out_type in [np.float32, np.float64, np.int32, np.int64]:
        rows.add("StringToNumber", [np.array([b"12", b"-3", b" 7 "])], out_type=out_type)
        rows.add("StringToNumber", [np.array([b"x1"])], out_type=out_type)
    rows.add("StringToNumber", [np.array([b"1e-3", b"2.5"])], out_type=np.float32)
    rows.add("StringToNumber", [np.array([b"9223372036854775807", b"-9223372036854775808"])], out_type=np.int64)
    rows.add("StringToNumber", [np.array([b"9223372036854775808"])], out_type=np.int64)
    rows.add("StringToNumber", [np.array([b"-99999999999999999999"])], out_type=np.int64)
    for value in [i32(1, -20), np.array([1, 2], np.int64), np.array([True, False]), f32(1.5, -0.25), np.float64(3)]:
        rows.add("AsString", [value])
    rows.add("AsString", [f32(1.5, 1234567)], precision=2)
    rows.add("AsString", [f32(1.5, 1234567)], scientific=True)
    rows.add("AsString", [f32(1.5, 1234567)], shortest=True)
    rows.add("AsString", [i32(1, -20)], width=5, fill="0")
    for fill in "+-#":
        rows.add("AsString", [f32(1.5, -20)], width=12, fill=fill)
    for fill in "*%n":  # they would be another directive of printf's
        rows.add("AsString", [i32(1, -20)], width=5, fill=fill)
    for op in ["StringLower", "StringUpper"]:
        rows.add(op, [np.array([bytes(range(256)) + b"aZ", bytes(range(60, 130))], object)])
    rows.write()


def text_hashes():
    """Texts of every size that the hash treats on its own."""
    rows = Rows("text_hashes", seed=636)
    texts = np.array([bytes((7 * i + n) % 256 for i in range(n)) for n in [*range(0, 36), 47, 48, 63, 64, 65, 127, 128, 129, 191, 192, 193, 1000]], object)
    words = np.array([b"", b"a", "\u00e9t\u00e9".encode(), b"\0", b"abc\0d", b"-1", b"  x ", "\u6771\u4eac".encode()], object)
    for buckets in [1, 2, 10, 3060, 2**31, 2**62, 2**63 - 1]:
        rows.add("StringToHashBucketFast", [texts], num_buckets=buckets)
        rows.add("StringToHashBucketStrong", [texts], num_buckets=buckets, key=[2**40 + 1, -3])
    rows.add("StringToHashBucketFast", [words.reshape(2, 2, 2)], num_buckets=1000)
    rows.add("StringToHashBucketFast", [np.array(b"x", object)], num_buckets=1000)
    rows.add("StringToHashBucketFast", [np.zeros((0, 3), object)], num_buckets=1000)
    rows.add("StringToHashBucketStrong", [words], num_buckets=1000, key=[0, 0])
    rows.add("StringToHashBucketStrong", [words], num_buckets=1000, key=[133, 137])
    for key in [[], [1], [1, 2, 3]]:
        rows.add("StringToHashBucketStrong", [words], num_buckets=9, key=key, text=False)
    rows.write()

    rows = Rows("sparse_cross")
    cross(rows)
    rows.write()

    rows = Rows("dense_bincount")
    for dtype in [np.int32, np.int64]:
        for data in [[[1, 1, 5, 0], [2, 2, 2, 3]], [1, 1, 5, 0], np.zeros((2, 0)), np.zeros((0, 3)), np.zeros(0), [[1, -1]], 2, [[[1]]]]:
            for weights in [np.float32, np.float64, np.int32, np.int64]:
                for binary in [False, True]:
                    data = np.array(data, dtype)
                    rows.add("DenseBincount", [data, dtype(4), np.zeros(0, weights)], binary_output=binary, text=data.ndim < 3)
        for size in [0, -1, [3], 2]:
            rows.add("DenseBincount", [np.array([[1, 2], [0, 1]], dtype), np.array(size, dtype), np.float32([[0.5, 1], [2, 4]])], binary_output=False, text=False)
        rows.add("DenseBincount", [np.array([1, 2, 1], dtype), dtype(3), np.float32([0.5, 1, -2])], binary_output=False)
        rows.add("DenseBincount", [np.array([1, 2, 1], dtype), dtype(3), np.float32([0.5, 1])], binary_output=False, text=False)
        rows.add("DenseBincount", [np.array([1, 2, 1], dtype), dtype(3), np.float32([0.5, 1, 2])], binary_output=True)
    rows.write()


def cross(rows):
    a, b, numbers = np.array([[b"a"], [b""], ["\u00e9".encode()]], object), np.array([[b"x"], [b"y"], [b"x"]], object), np.array([[1], [-2], [2**62]], np.int64)
    wide = np.array([[b"p", b"q"], [b"r", b"s"], [b"t", b"u"]], object)
    indices, shape = np.array([[0, 0], [0, 1], [2, 0]], np.int64), np.array([3, 2], np.int64)
    texts, values = np.array([b"m", b"n", b"o"], object), np.array([5, 6, -7], np.int64)
    none = np.zeros((0, 2), np.int64)
    for sparse, dense in [([], [a, b]), ([], [a, numbers]), ([], [wide, numbers, b]), ([], [a]), ([(indices, texts, shape)], [wide]), ([(indices, values, shape)], [a, numbers]),
                          ([(indices, texts, shape), (indices, values, shape)], []), ([(none, texts[:0], shape)], [a]), ([], [a[:0], b[:0]]), ([], [wide[:, :0], a]),
                          ([], [a, b[:2]]), ([], [a[:, 0]]), ([], [])]:
        inputs = [[s[0] for s in sparse], [s[1] for s in sparse], [s[2] for s in sparse], dense]
        types = [tf.as_dtype(tf.convert_to_tensor(v).dtype) for v in inputs[1]], [tf.as_dtype(tf.convert_to_tensor(v).dtype) for v in dense]
        internal = tf.int64 if tf.int64 in types[0] + types[1] else tf.string
        for hashed in [True, False]:
            for buckets in [0, 10, 2**40] if hashed else [0]:
                rows.add("SparseCross", inputs, N=len(sparse), hashed_output=hashed, num_buckets=buckets, hash_key=0xDECAFCAFFE, sparse_types=types[0],
                         dense_types=types[1], out_type=tf.int64 if hashed else tf.string, internal_type=internal, text=False)


def text_regex():
    rows = Rows("text_regex", seed=559)
    texts = np.array([b"The cat, sat. on THE mat!", b"", b"aaa", "\u00fcn\u00ef c\u00f6d\u00e9".encode(), b"a\xffb\xc3", b"x\0y"], object)
    for pattern, rewrite in [("[!\"#$%&()\\*\\+,-\\./:;<=>?@\\[\\\\\\]^_`{|}~\\']", ""), ("a", "b"), ("", "-"), ("a*", "-"), ("(\\w+) (\\w+)", "\\2 \\1"), ("\\p{L}", "L"),
                             ("(?i)the", "<\\0>"), ("[.?!,]", " \\0 "), ("a", "\\1"), ("a", "x\\qy"), ("a", "\\\\"), ("^", "^"), ("$", "$"), ("\\pN|(c)", "[\\1]"), ("(a)|(z)", "<\\2>"),
                             (".", "."), ("\\C", "c"), ("\\b", "|"), ("x.y", "nul"), ("\u00fc", "ue"), ("a", "b\\")]:
        for everywhere in [True, False]:
            rows.add("StaticRegexReplace", [texts], pattern=pattern, rewrite=rewrite, replace_global=everywhere)
        rows.add("RegexReplace", [texts, np.array(pattern.encode()), np.array(rewrite.encode())])
        rows.add("StaticRegexFullMatch", [texts], pattern=pattern)
        rows.add("RegexFullMatch", [texts.reshape(2, 3), np.array(pattern.encode())])
    rows.add("StaticRegexReplace", [np.zeros([0, 2], object).astype(bytes)], pattern="a", rewrite="b")
    for op, more in [("RegexReplace", [np.array(b"b")]), ("RegexFullMatch", [])]:
        rows.add(op, [texts, np.array(b"(")] + more, text=False)
        rows.add(op, [texts, np.array([b"a", b"b"])] + more, text=False)
    rows.add("RegexReplace", [texts, np.array(b"a"), np.array([b"a", b"b"])], text=False)
    rows.write()

    rows = Rows("text_split")
    sentences = np.array([b"  one two\t\nthree ", b"", b"   ", b"a,,b,", b",", b"one", b"\x0b\x0c\x1f x", b"a b c d"], object)
    for separator in [b"", b",", b", ", b"on", b" ", b",,", b"\0"]:
        for most in [-1, 0, 1, 2, 3]:
            rows.add("StringSplitV2", [sentences, np.array(separator)], maxsplit=most)
    rows.add("StringSplitV2", [np.array([], bytes), np.array(b"")])
    rows.add("StringSplitV2", [sentences.reshape(2, 4), np.array(b"")], text=False)
    rows.add("StringSplitV2", [sentences, np.array([b"a", b"b"])], text=False)
    for size in [127, 128, 129, 256, 1000]:  # of letters, and of words that begin everywhere in the blocks that are counted together
        for letters in [b"a ", b" a", b"ab\t", b"word \n\v", b"a", b" ", b"abcdefghi\r"]:
            rows.add("StringSplitV2", [np.array([(letters * size)[:size]], object), np.array(b"")])
    rows.write()

    rows = Rows("text_ngrams")
    data = np.array([b"a", b"bb", b"", b"d", b"e"], object)
    for splits in [[0, 2, 2, 5], [0, 5], [0, 1, 2, 3, 4, 5], [0, 4], [1, 5], [0, 3, 2, 5], [0, 6]]:
        for widths, pad, short in [([2], 0, False), ([1, 2], 0, False), ([2, 3], 0, False), ([3], -1, False), ([1, 3], 1, False), ([4], 0, True), ([], 0, True), ([], 2, True), ([], -1, True),
                                   ([2], 5, False), ([0], 0, False)]:
            for dtype in [np.int64, np.int32]:
                rows.add("StringNGrams", [data, np.array(splits, dtype)], separator=" ", ngram_widths=widths, left_pad="<", right_pad=">", pad_width=pad, preserve_short_sequences=short)
    rows.add("StringNGrams", [np.array([], bytes), np.array([0, 0, 0])], separator="|", ngram_widths=[2], left_pad="", right_pad="", pad_width=-1, preserve_short_sequences=False)
    rows.write()

    rows = Rows("text_unicode")
    for tsplits in [tf.int64, tf.int32]:
        for errors in ["replace", "strict", "ignore"]:
            for text in [texts.reshape(2, 3), texts[:4], np.array(b"a\x01\tb"), np.array([b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\xf0\x9f\x98\x80", b"\xe2\x82a\x80"], object)]:
                for op in ["UnicodeDecode"] + ["UnicodeDecodeWithOffsets"] * (tsplits == tf.int64):  # TensorFlow crashes with int32
                    rows.add(op, [text], input_encoding="UTF-8", errors=errors, Tsplits=tsplits)
            rows.add("UnicodeDecode", [np.array(b"a\x01\tb")], input_encoding="UTF-8", errors=errors, Tsplits=tsplits, replace_control_characters=True, replacement_char=63)
    for errors in ["replace", "strict", "ignore"]:
        for splits in [[0, 2, 2, 8], [0, 8], [0, 4, 3, 8], [1, 8], [0, 7], []]:
            for dtype in [np.int64, np.int32]:
                rows.add("UnicodeEncode", [i32(97, 0xfc, 0x20ac, 0x1f600, 0x10ffff, 0xd800, -1, 0xfdd0), np.array(splits, dtype)], errors=errors, output_encoding="UTF-8", text=splits != [])
        rows.add("UnicodeEncode", [i32(97, 0xfc, 0x20ac, 0x1f600), np.array([0, 1, 4])], errors=errors, output_encoding="UTF-8")
    rows.write()


def fingerprints():
    rows = Rows("fingerprints")
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
    rows.write()


FAMILIES = [text, text_hashes, text_regex, fingerprints]

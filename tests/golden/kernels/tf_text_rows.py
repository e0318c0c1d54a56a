"""Rows of the ops of TensorFlow Text 2.21, which come with the package tensorflow_text."""
import glob
import os
import random
import struct

import rows as rows_of
from rows import Rows

import tensorflow as tf

TEXTS = [b"hello there", b"", b" a  b ", b"x\0y z\xffq", b"\xe2\x82 \xe2", "Gr\u00f6\u00dfe  \u6771\u4eac\u3000\U0001f600".encode()]
# Letters that fold or compose in each way: marks out of order, Hangul, ligatures, invisible ones, small capitals, and what has no lower case.
LETTERS = ["Gr\u00f6\u00dfe", "\u00ad\u2126\ufb01\u0345", "\u1e9e\u0130\u0131I", "e\u0323\u0301 e\u0301\u0323", "\u1112\u1161\u11ab\ud55c", "\ufdfa", "\u2460\uff21\uff76\uff9e",
           "\u03a3\u03c2\u1fb3\u1d2c", "\u0958\u0f77\u2adc", "a\u034f\u0301", "\u200d\U000e0041x\ufe0f", "\U0001d400\U0001d7ff", "\u0390\u1f52", "\u09c7\u09be", "\u304b\u3099", "a\0B"]
INVALID = [b"\xff\x80\x80a\xc3", b"\xed\xa0\x80A", b"\xe2\x82", b"e\xff\xcc\x81", b"e\xcc\x81\xcc", b"\xf4\x90\x80\x80\xc3\x84"]


def load():
    """Makes the ops of TensorFlow Text's libraries known to Rows."""
    import tensorflow_text  # the other families do without it
    functions = {}
    for path in glob.glob(os.path.join(os.path.dirname(tensorflow_text.__file__), "**", "*.so"), recursive=True):
        try:
            library = tf.load_op_library(path)
        except (tf.errors.NotFoundError, AttributeError):  # one without ops
            continue
        for name in dir(library):
            if not name.startswith("_") and callable(getattr(library, name)):
                functions[name.replace("_", "")] = getattr(library, name)
    for op in ["CaseFoldUTF8", "NormalizeUTF8", "RegexSplitWithOffsets", "TFText>WhitespaceTokenizeWithOffsetsV2", "TFText>ByteSplitWithOffsets",
               "TFText>RoundRobinTrim", "TFText>RoundRobinGenerateMasks", "UnicodeScriptTokenizeWithOffsets", "WhitespaceTokenizeWithOffsets",
               "TFText>NgramsStringJoin", "FastWordpieceTokenizeWithOffsets", "TFText>FastWordpieceDetokenize", "FastBertNormalize",
               "SplitMergeTokenizeWithOffsets", "TokenizerFromLogits", "TFText>ByteSplitByOffsets", "TFText>Utf8Binarize", "TFText>OffsetsToBoiseTags",
               "TFText>BoiseTagsToOffsets", "RougeL", "ConstrainedSequence", "MaxSpanningTree",
               "TFText>FastSentencepieceTokenize", "TFText>FastSentencepieceDetokenize", "PhraseTokenize", "TFText>PhraseDetokenize", "SentenceFragments", "SentenceFragmentsV2"]:
        rows_of.HIDDEN_OPS[op] = functions[op.lower().replace(">", "")]
    return tensorflow_text.WhitespaceTokenizer()._config


def texts(*values):
    return tf.constant(values, tf.string)


def long_text(letters, size):
    """Longer than the parts that are normalized at a time (core/runtime/kernels/plain/text_normal.h)."""
    return (letters * (size // len(letters))).encode()


def tf_text_tokens():
    """Texts that are normalized and divided."""
    spaces = load()
    rows = Rows("tf_text_tokens")
    words = [w.encode() for w in LETTERS]
    many = [long_text("e\u0323\u0301\u4e00\u304b\u3099", 1200), long_text("\u0e33\u0301\u1e9e\ufdfa", 400), long_text("\u0301", 1100), long_text("Abc ", 1200)]
    for op, attrs in [("CaseFoldUTF8", {})] + [("NormalizeUTF8", {"normalization_form": form}) for form in ["NFC", "NFD", "NFKC", "NFKD", "nfKc"]]:
        for value in [texts(*words), texts(*INVALID), texts(*many), texts(), tf.constant(b"A\xcc\x8a"), tf.constant([[b"A"], [b"\xc3\x84"]])]:
            rows.add(op, [value], **attrs)
    for form in ["x", "", "NFCC"]:
        rows.add("NormalizeUTF8", [texts(b"a")], normalization_form=form)
    divided = texts(*TEXTS)
    for pattern in [rb"(\s)", rb"(\s+)", rb"\s", rb"e(l+)", rb"(l)(l)", rb"(^.)", rb"(\p{L})", rb"( |\x{3000})", rb"(", b""]:
        for kept in [b"", rb"(\s)", rb"l+", rb"("]:
            rows.add("RegexSplitWithOffsets", [divided, tf.constant(pattern), tf.constant(kept)])
    for value in [texts(), tf.constant(b"a b"), tf.constant([[b"a b"], [b"c"]])]:
        rows.add("RegexSplitWithOffsets", [value, tf.constant(rb"(\s)"), tf.constant(b"")])
    for value in [divided, texts("a\u00a0b\u3000c\u2028".encode(), "\u200b\u2003 x\u0085".encode()), texts(), texts(*INVALID)]:
        for config in [spaces, tf.constant(b""), tf.constant(b"\xff"), tf.constant(bytes(12) + b"\x02")]:
            rows.add("TFText>WhitespaceTokenizeWithOffsetsV2", [value, config])
        rows.add("TFText>ByteSplitWithOffsets", [value])
    trims(rows)
    characters(rows)
    ngrams(rows)
    rows.write()


def ngrams(rows):
    """Neighbours that are joined."""
    words = tf.constant([b"a", b"bb", b"", b"d", b"e\0f", b"g"])
    for width in [1, 2, 3, 9]:
        for separator in ["", " ", "--"]:
            attrs = dict(width=width, axis=-1, string_separator=separator)
            for values in [words, tf.reshape(words, [2, 3]), tf.reshape(words, [2, 3, 1]), tf.reshape(words, [1, 2, 3]), tf.zeros([0, 3], tf.string)]:
                rows.add("TFText>NgramsStringJoin", [values, []], RAGGED_RANK=0, **attrs)
            for splits in [[[0, 2, 6]], [[0, 0, 6, 6]], [[0, 1, 2], [0, 2, 6]]]:
                rows.add("TFText>NgramsStringJoin", [words, [tf.constant(s, tf.int64) for s in splits]], **attrs)
    rows.add("TFText>NgramsStringJoin", [tf.zeros([0], tf.string), [tf.constant([0], tf.int64)]], width=2, axis=-1, string_separator=" ")


def characters(rows):
    """Texts as the numbers of their characters."""
    lines = ["hello \u6771\u4eactower! 12", "", " ", "x  y", "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440, abc-def",
             "\u304b\u306a\u30ab\u30ca\u6f22\u5b57 \u30fc\u3005", "a\u0300 \u0300a\u0378\U0001f600\ufe0f", "a\u00a0b\u3000\u2028\u200b\u180e\u0085c"]
    texts_of = [lines, [], [""], ["", "a", ""]]
    for dtype in [tf.int32, tf.int64]:
        for values in texts_of:
            decoded = tf.strings.unicode_decode(tf.constant(values, tf.string), "UTF-8")
            inputs = [decoded.values, tf.cast(decoded.row_splits, dtype)]
            for keep in [False, True]:
                rows.add("UnicodeScriptTokenizeWithOffsets", inputs, keep_whitespace=keep)
            if decoded.values.shape[0] > 0:  # otherwise, TensorFlow Text crashes
                rows.add("WhitespaceTokenizeWithOffsets", inputs)
    for wrong in [[97, -1, 32, 98], [97, 0x110000, 0xd800, 0xd801, 98], [-1, -2, 0x7fffffff]]:
        inputs = [tf.constant(wrong), tf.constant([0, len(wrong)], tf.int64)]
        rows.add("UnicodeScriptTokenizeWithOffsets", inputs)
        rows.add("WhitespaceTokenizeWithOffsets", inputs)


def trims(rows):
    """Segments that share a number of tokens."""
    pairs = [[1, 2, 3, 4, 5], [10, 11, 12]], [[0, 2, 5], [0, 3, 3]]
    three = [[1, 2, 3, 4, 5, 6], [7], [8, 9, 10, 11], [12, 13, 14]], [[0, 4, 4, 6], [0, 1, 1, 1], [0, 4, 4, 4], [0, 0, 3, 3]]
    for op in ["TFText>RoundRobinTrim", "TFText>RoundRobinGenerateMasks"]:
        for most in [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 100]:
            for values, splits in [pairs, three]:
                rows.add(op, [tf.constant(most), [tf.constant(v) for v in values], [tf.constant(s, tf.int64) for s in splits]])
        for dtype in [tf.int64, tf.float32, tf.uint8, tf.string]:
            values = [tf.constant([[b"%d" % v] for v in part])[:, 0] if dtype == tf.string else tf.constant(part, dtype) for part in pairs[0]]
            rows.add(op, [tf.constant(3), values, [tf.constant(s, tf.int32) for s in pairs[1]]])
        rows.add(op, [tf.constant([3]), [tf.constant([1, 2, 3, 4])], [tf.constant([0, 4], tf.int64)]])
        rows.add(op, [tf.constant(3), [tf.zeros([0])] * 2, [tf.constant([0], tf.int64)] * 2])
        rows.add(op, [tf.constant(3), [tf.zeros([0])] * 2, [tf.constant([0, 0], tf.int64)] * 2])


# Pieces that lead into each other, words of one and of several pieces, punctuation with and without a piece, Chinese, and pieces longer than a word may be.
PIECES = ["[UNK]", "a", "ab", "abcd", "##b", "##bc", "##cd", "##z", "##efz", "abcdefg", "un", "##aff", "##able", "##a", "c", "##c", "!", "-", "##-", "\u6771", "\u4eac", "##\u4eac",
          "Gr\u00f6", "##\u00dfe", "\u00f6", "##\U0001f600", "\u3002", "longlonglong", "##longlong"]
SENTENCES = ["abcdz", "abcdefz abcdefg", "unaffable", "una-ff!able", "x", "ab x ab", "\u6771\u4eac\u3002ab", "ab\u6771\u4eac", "Gr\u00f6\u00dfe!", "##", "##b", "##abc", "# #", "#", "a##b", "", " ",
             "  a  ", "\u3000a\u2003ab\u00a0", "a\u0085b", "!!", "!a!", "a?b", "a\u2030b", "\u1b4ea", "\U0001e5ffab", "longlonglonglonglong", "longlonglong", "longlonglonglong a", "[UNK]", "[a]",
             "abcdefghi\u6771", "ab\U0001f600", "\U0001f600", "aa\u2044a", "a\u00d7a"]
BYTES = [b"ab\0ab", b"\0", b"ab\xffab", b"\xff\xfe", b"\xe2\x82 ab", b"ab\xe2\x82", b"\xed\xa0\x80ab", b"\xf0\x9f\x98a", b"!\xff!", b"\xe6\x9d\xb1\xe4\xba"]
# A model may end words at 0 bytes, and leave the indicator empty, make it a piece, or spell it with letters.
MODELS = [(PIECES, 100, "##"), (PIECES, 12, "##"), (PIECES + ["##", "#", "###"], 100, "##"), (PIECES + ["#", "###", "##[UNK]"], 100, "##"), (PIECES, 100, ""), (PIECES + ["xyx", "xya", "xyab"], 100, "xy"),
          (PIECES, 0, "##"), (PIECES + ["<s>", "</w>a"], 100, "</w>")]


def drawn(letters, count, longest, seed):
    draw = random.Random(seed)
    return ["".join(draw.choice(letters) for _ in range(draw.randrange(longest))).encode() for _ in range(count)]


def without_unused(model):
    """A model for texts has pieces of all punctuation in its pool, 330 KB, of which few are used: those that a node of the trie refers to stay."""
    def u32(at):
        return struct.unpack_from("<I", model, at)[0]
    model = bytearray(model)
    table = u32(0)
    fields = table - struct.unpack_from("<i", model, table)[0]
    place = [table + struct.unpack_from("<H", model, fields + 4 + 2 * i)[0] for i in range(3)]
    trie, failures, pool = [at + u32(at) for at in place]
    used = {}
    kept = []
    for node in range(u32(failures)):
        at = failures + 4 + 8 * node + 4
        lies = u32(at)
        if lies == 0xFFFFFFFF:
            continue
        if lies not in used:
            used[lies] = len(kept) << 8 | lies & 255
            kept += [u32(pool + 4 + 4 * (lies // 256 + i)) for i in range(lies % 256 + 1)]
        struct.pack_into("<I", model, at, used[lies])
    begin, end = pool + 4 + 4 * len(kept), pool + 4 + 4 * u32(pool)
    end -= (end - begin) % 8  # what follows stays aligned
    assert begin <= end <= min(trie, failures)
    struct.pack_into("<I", model, pool, len(kept))
    struct.pack_into("<%dI" % len(kept), model, pool + 4, *kept)
    for at in place[:2]:
        struct.pack_into("<I", model, at, u32(at) - (end - begin))
    return bytes(model[:begin] + model[end:])


def tf_text_word_pieces():
    """Texts and words that are divided by a model, and joined."""
    load()
    from tensorflow_text.core.pybinds import pywrap_fast_wordpiece_tokenizer_model_builder as builder
    rows = Rows("tf_text_word_pieces")
    letters = "abcdefgzun!-# ? \u6771\u4eac\u00f6\u00df\u3000"
    for words_alone in [True, False]:
        for i, (vocabulary, longest, indicator) in enumerate(MODELS):
            model = builder.build_fast_wordpiece_model(vocabulary, longest, indicator, "[UNK]", words_alone, True)
            model = model if words_alone else without_unused(model)
            inputs = [s.encode() for s in SENTENCES] + BYTES + drawn(letters, 100, 20, i) + drawn("abcdefz ", 100, 12, i)
            if longest < 4:  # TensorFlow Text does not return where a punctuation is longer
                inputs = [s for s in inputs if words_alone or s.isalpha()]
            model = tf.constant(list(model), tf.uint8)
            rows.add("FastWordpieceTokenizeWithOffsets", [texts(*inputs), model])
            if words_alone:
                rows.add("FastWordpieceTokenizeWithOffsets", [texts(), model])
                joined(rows, model, len(vocabulary), i)
    model = tf.constant(list(builder.build_fast_wordpiece_model(["[UNK]", "a"], 100, "##", "[UNK]", True, False)), tf.uint8)
    rows.add("FastWordpieceTokenizeWithOffsets", [texts(b"a", b"aa"), model])
    for splits in [[0, 2], [0]]:
        rows.add("TFText>FastWordpieceDetokenize", [tf.constant([1, 0][:splits[-1]], tf.int32), tf.constant(splits, tf.int64), model], text=False)
    rows.write()


def joined(rows, model, count, seed):
    draw = random.Random(seed)
    numbers = [draw.randrange(count) for _ in range(300)]
    splits = sorted([0, 300, 300] + [draw.randrange(301) for _ in range(60)])
    rows.add("TFText>FastWordpieceDetokenize", [tf.constant(numbers, tf.int32), tf.constant(splits, tf.int64), model])
    rows.add("TFText>FastWordpieceDetokenize", [tf.zeros([0], tf.int32), tf.constant([0], tf.int64), model])


def tf_text_bert_normalize():
    """Characters that a model replaces."""
    load()
    from tensorflow_text.core.pybinds import pywrap_fast_bert_normalizer_model_builder as builder
    rows = Rows("tf_text_bert_normalize")
    inputs = [w.encode() for w in LETTERS] + INVALID + TEXTS + [b"\0", b"A\0B", b"a\x01B\x7f", b"\t\r\nA", "\u00bc\u0085\u00ad\u200bx".encode(), b"plain"]
    drawn_inputs = drawn("aB\0 \x01\u00c9\u0301\u1e9e\ud55c\u00bc\u6771\ufdfa", 150, 12, 1)
    controls = tf.constant(list(builder.build_fast_bert_normalizer_model(False)), tf.uint8)
    accents = tf.constant(list(builder.build_fast_bert_normalizer_model(True)), tf.uint8)
    rows.add("FastBertNormalize", [texts(*inputs, *drawn_inputs), accents], get_offsets=True)
    for get_offsets in [False, True]:
        for value in [texts(*inputs, *drawn_inputs), texts(), texts(b""), texts(b"plain")]:
            rows.add("FastBertNormalize", [value, controls], get_offsets=get_offsets)
    rows.write()


FAMILIES = [tf_text_tokens, tf_text_word_pieces, tf_text_bert_normalize]

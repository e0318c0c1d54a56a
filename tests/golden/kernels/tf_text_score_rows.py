"""Rows of ops of TensorFlow Text 2.21 on labels, spans and scores: tokens from labels, tags, bits, ROUGE, sequences of states and spanning trees."""
import ast
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "text"))
import numpy as np
import sentencepiece_models
from rows import Rows
from tf_text_rows import INVALID, load, texts

import tensorflow as tf

LINES = [b"a b cd", "I\u3000love \u6771\u4eac".encode(), b"", b" ", b"  x ", "\u00e9\u0301 \U0001f600!".encode()]


def ints(*values):
    return tf.constant(values, tf.int32)


def longs(*values):
    return tf.constant(values, tf.int64)


def size_of(text):
    """Characters, as their first bytes tell."""
    count, at = 0, 0
    while at < len(text):
        at += 1 if text[at] < 0xc0 else 2 if text[at] < 0xe0 else 3 if text[at] < 0xf0 else 4
        count += 1
    return count


def tf_text_labels():
    """Texts that are divided as labels say, and spans of tokens."""
    load()
    rows = Rows("tf_text_labels")
    merged(rows)
    ranges(rows)
    bits(rows)
    tags(rows)
    rouge(rows)
    rows.write()


def merged(rows):
    draw = random.Random(1)
    whole = LINES + [b"\xc3\xa9\xff\x80 x"]
    for values in [whole, [], [b""]]:
        counts = [size_of(v) + more for more, v in enumerate(values)]
        for chosen in [lambda: 0, lambda: 1, lambda: draw.randrange(3)]:
            for force in [False, True]:
                labels_of = [chosen() for _ in range(sum(counts))]
                splits = np.cumsum([0] + counts)
                rows.add("SplitMergeTokenizeWithOffsets", [texts(*values), ints(*labels_of), ints(*splits)], force_split_at_break_character=force)
                most = max(counts + [0])
                logits = np.array([[[chosen() - 0.5, draw.randrange(2)] for _ in range(most)] for _ in values], np.float32).reshape(len(values), most, 2)
                rows.add("TokenizerFromLogits", [texts(*values), logits, tf.constant(force)])
    rows.add("SplitMergeTokenizeWithOffsets", [texts(b"abc"), ints(0, 1), ints(0, 2)])
    rows.add("SplitMergeTokenizeWithOffsets", [texts(b"abc"), ints(0, 1, 1), ints(0)])
    rows.add("TokenizerFromLogits", [texts(b"abc"), tf.zeros([1, 2, 2]), tf.constant(True)])
    rows.add("TokenizerFromLogits", [texts(b"abc"), tf.zeros([1, 3, 3]), tf.constant(True)])
    rows.add("TokenizerFromLogits", [texts(b"abc"), tf.zeros([2, 3, 2]), tf.constant(True)])


def ranges(rows):
    def cut(values, begins, ends, splits):
        rows.add("TFText>ByteSplitByOffsets", [texts(*values), ints(*begins), ints(*ends), longs(*splits)])
    cut([b"hello", b"", b"wo\0rld"], [0, 3, 0, 1, 2], [2, 5, 0, 1, 6], [0, 2, 3, 5])
    cut([b"hello", b"x"], [], [], [0, 0, 0])
    cut([], [], [], [0])
    cut([b"hello"], [1], [2, 3], [0, 1])
    for begin, end in [(0, 6), (3, 1), (7, 8), (-1, 2), (5, 5)]:
        cut([b"hello"], [begin], [end], [0, 1])


def bits(rows):
    values = texts(b"hi", b"", b"a\0b", "h\u2764\ufe0f!\U0001f600\U0010ffff".encode(), *INVALID)
    for length, width, malformed in [(3, 4, 65533), (5, 10, 5), (2, 24, 0xFFFD), (1, 40, -1), (2, 33, 2**31 - 1), (0, 3, 0), (3, 0, 0)]:
        rows.add("TFText>Utf8Binarize", [values, ], word_length=length, bits_per_char=width, replacement_char=malformed)
    rows.add("TFText>Utf8Binarize", [texts()], word_length=2, bits_per_char=3, replacement_char=0)


def tags(rows):
    draw = random.Random(2)

    def spans(count, most):
        """Ranges that go up and do not overlap, apart from some."""
        places = sorted(draw.randrange(most) for _ in range(2 * count))
        return places[::2], [max(a + 1, b) for a, b in zip(places[::2], places[1::2])]
    for strict in [False, True]:
        for _ in range(20):
            begins, ends = spans(12, 40)
            span_begins, span_ends = spans(6, 40)
            types = [draw.choice([b"per", b"", b"loc\xff"]) for _ in range(6)]
            cut, span_cut = draw.randrange(13), draw.randrange(7)
            rows.add("TFText>OffsetsToBoiseTags", [ints(*begins), ints(*ends), ints(*span_begins), ints(*span_ends), texts(*types)] + [longs(0, cut, 12)] * 2 + [longs(0, span_cut, 6)] * 3 + [tf.constant(strict)])
        empty = [ints(), ints()]
        rows.add("TFText>OffsetsToBoiseTags", empty * 2 + [texts()] + [longs(0, 0)] * 5 + [tf.constant(strict)])
        rows.add("TFText>OffsetsToBoiseTags", [ints(0, 3), ints(2, 5)] + empty + [texts()] + [longs(0, 2)] * 2 + [longs(0, 0)] * 3 + [tf.constant(strict)])
    letters = [b"O", b"B-a", b"I-a", b"E-a", b"S-a", b"I-b", b"E-b", b"B-", b"", b"x", b"B", b"Oh", b"S-a\0b", b"e-a"]
    for _ in range(40):
        begins, ends = spans(14, 60)
        drawn = [draw.choice(letters) for _ in range(14)]
        cut = draw.randrange(15)
        rows.add("TFText>BoiseTagsToOffsets", [ints(*begins), ints(*ends), texts(*drawn)] + [longs(0, cut, 14)] * 3)
    rows.add("TFText>BoiseTagsToOffsets", [ints(), ints(), texts()] + [longs(0, 0, 0)] * 3)
    rows.add("TFText>BoiseTagsToOffsets", [ints(1), ints(2), texts(b"O", b"O")] + [longs(0, 1)] * 3, text=False)


def rouge(rows):
    draw = random.Random(3)
    for dtype in [tf.int32, tf.int64, tf.string]:
        for splits in [tf.int32, tf.int64]:
            for alpha in [-1, 0, 0.25, 1]:
                values = [[draw.randrange(5) for _ in range(20)] for _ in range(2)]
                values = [tf.constant([b"w%d" % v for v in part]) if dtype == tf.string else tf.constant(part, dtype) for part in values]
                rows.add("RougeL", [values[0], tf.constant([0, 7, 7, 8, 20], splits), values[1], tf.constant([0, 6, 6, 6, 20], splits), tf.constant(alpha, tf.float32)], each=1e-6)
    one = tf.constant([1])
    for hypothesis, reference, alpha in [([0, 1], [0, 1], 2), ([0, 1], [0, 0, 1], 1), ([], [], 1), ([0], [0], 1)]:
        rows.add("RougeL", [one[:len(hypothesis) - 1], longs(*hypothesis), one[:len(reference) - 1], longs(*reference), tf.constant(alpha, tf.float32)])


def tf_text_state_sequences():
    """The best sequences of states, and the best trees."""
    load()
    rows = Rows("tf_text_state_sequences")
    state_sequences(rows)
    trees(rows)
    rows.write()


def state_sequences(rows):
    draw = np.random.RandomState(4)
    nothing = [np.zeros([0, 0], bool), np.zeros([0, 0], np.float32)]

    def search(scores, lengths, tables, adds=True, **attrs):
        rows.add("ConstrainedSequence", [scores, lengths] + tables, **{**dict(use_viterbi=True, use_log_space=adds, use_start_and_end_states=True), **attrs})
    for ends in [False, True]:
        for viterbi in [False, True]:
            for adds in [False, True]:
                for dtype in [np.int32, np.int64]:
                    scores = draw.randint(0, 5, [4, 6, 3]).astype(np.float32)  # with ties
                    size = 3 + ends
                    allowed, weights = draw.rand(size, size) < 0.6, draw.randint(0, 4, [size, size]).astype(np.float32) / 2
                    lengths = np.array([6, 0, 1, 4], dtype)
                    for tables in [nothing, [allowed, nothing[1]], [nothing[0], weights], [allowed, weights], [np.zeros_like(allowed), weights]]:
                        search(scores, lengths, tables, adds, use_viterbi=viterbi, use_start_and_end_states=ends, Tsplits=tf.int32 if dtype == np.int64 else tf.int64)
                search(draw.randn(2, 30, 5).astype(np.float32), np.array([30, 17]), nothing, adds, use_viterbi=viterbi, use_start_and_end_states=ends)
                strange = np.array([[np.nan, 1, np.inf], [np.nan] * 3, [-np.inf] * 3], np.float32)
                for steps in [1, 2, 3]:
                    search(strange, np.array([steps]), nothing, adds, use_viterbi=viterbi, use_start_and_end_states=ends)
                if adds:  # otherwise, TensorFlow Text crashes
                    search(np.zeros([1, 2, 0], np.float32), np.array([2]), nothing, adds, use_viterbi=viterbi, use_start_and_end_states=ends)
                search(np.zeros([0, 2, 3], np.float32), np.zeros([0], np.int64), nothing, adds, use_viterbi=viterbi, use_start_and_end_states=ends)
    one = np.ones([1, 3], np.float32)
    search(one, np.array([2]), nothing)
    search(one, np.array([1, 1]), nothing)
    search(np.ones([3], np.float32), np.array([1]), nothing)
    search(one, np.array([1]), [nothing[0], np.ones([1, 1], np.float32)])
    search(one, np.array([1]), [np.ones([4, 3], bool), nothing[1]])
    search(one, np.array([1]), [np.ones([4], bool), nothing[1]])
    search(one, np.array([1]), [nothing[0], -np.ones([4, 4], np.float32)], adds=False)


def trees(rows):
    draw = np.random.RandomState(5)
    for forest in [False, True]:
        for dtype in [np.int32, np.float32, np.float64]:
            for size, batch, greatest in [(1, 2, 5), (2, 3, 3), (3, 8, 4), (5, 12, 6), (8, 12, 12), (12, 6, 1000)]:  # small numbers: ties and cycles
                scores = draw.randint(-greatest, greatest, [batch, size, size]).astype(dtype)
                rows.add("MaxSpanningTree", [draw.randint(1, size + 1, batch).astype(np.int32), scores], forest=forest)
            rows.add("MaxSpanningTree", [np.zeros([0], np.int32), np.zeros([0, 3, 3], dtype)], forest=forest)
            for counts, shape in [([0], [1, 2, 2]), ([3], [1, 2, 2]), ([2, 2], [1, 2, 2]), ([2], [1, 2, 3]), ([2], [2, 2])]:
                rows.add("MaxSpanningTree", [ints(*counts), np.ones(shape, dtype)], forest=forest, text=False)
        for _ in range(4):
            scores = draw.randn(6, 9, 9)
            rows.add("MaxSpanningTree", [np.full(6, 9, np.int32), scores], forest=forest)
            rows.add("MaxSpanningTree", [np.full(6, 9, np.int32), scores.astype(np.float32)], forest=forest)
        for _ in range(8):  # arcs that are missing
            scores = np.where(draw.rand(1, 6, 6) < 0.5, np.float32(np.nan), draw.randint(0, 9, [1, 6, 6]).astype(np.float32))
            rows.add("MaxSpanningTree", [ints(6), scores], forest=forest)
        rows.add("MaxSpanningTree", [ints(2), np.float32([[[np.inf, 2], [3, -np.inf]]])], forest=forest)
        rows.add("MaxSpanningTree", [ints(2), np.float32([[[3e38, -3e38], [3e38, 1]]])], forest=forest)
        rows.add("MaxSpanningTree", [ints(3), np.int32([[[2**31 - 1, 7, -2**31], [2**30, 5, 2**31 - 1], [1, 2, 3]]])], forest=forest)


def tf_text_fast_pieces():
    """Texts that are divided by a SentencePiece model in another form, and joined."""
    load()
    from tensorflow_text.core.pybinds import pywrap_model_converter
    rows = Rows("tf_text_fast_pieces")
    normal = [w for w in sentencepiece_models.WORDS if w[2] == sentencepiece_models.NORMAL]
    special, model = sentencepiece_models.SPECIAL, sentencepiece_models.model
    folded = [(2, sentencepiece_models.charsmap({**sentencepiece_models.REPLACED, " a": "b", "zz": "", "q": " \t "}))]
    models = [model(special + normal, rules=folded), model(special + normal, rules=[(3, False), (4, False)]), model(special + normal, rules=[(3, False), (5, False)] + folded),
              model([normal[0]] + special + normal[1:], rules=[(5, False)])]
    draw = random.Random(6)
    letters = ["a", "b", "c", "f", "fi", "\ufb01", "\uff21", "\uff21\uff22", "e\u0301", "\u2460", "\u200b", "\t", " ", "  ", "\n", "\u3000", "\u2581", "\u6771", "\u4eac", "<s>", "<unk>", "q", "zz", "x", "\0"]
    lines = ["", " ", "   ", "a", " a", "ab", " ab  abc ", "x y", "\u6771\u4eac"] + ["".join(draw.choice(letters) for _ in range(draw.randrange(14))) for _ in range(80)]
    lines = [line.encode() for line in lines] + INVALID + [b"\xe2\x96a"]
    for each in models:
        tokenizer = tf.constant(list(pywrap_model_converter.convert_sentencepiece_model(each.data)), tf.uint8)
        joiner = tf.constant(list(pywrap_model_converter.convert_sentencepiece_model_for_decoder(each.data)), tf.uint8)
        for begins, ends, reverses in [(False, False, False), (True, False, True), (True, True, False)]:
            chosen = [tf.constant(0), tf.constant(0.0), tf.constant(begins), tf.constant(ends), tf.constant(reverses)]
            rows.add("TFText>FastSentencepieceTokenize", [tokenizer, texts(*lines)] + chosen)
        rows.add("TFText>FastSentencepieceTokenize", [tokenizer, texts()] + chosen)
        numbers = [draw.randrange(len(normal) + 3) for _ in range(40)]
        for dtype in [tf.int32, tf.int64]:
            rows.add("TFText>FastSentencepieceDetokenize", [joiner, ints(*numbers), tf.constant([0, 0, 7, 7, 8, 30, 40], dtype)])
    for wrong in [-1, len(normal) + 3, 2**31 - 1]:
        rows.add("TFText>FastSentencepieceDetokenize", [joiner, ints(wrong), longs(0, 1)])
    rows.write()


def tf_text_phrases():
    """Texts that are divided into phrases of words, and joined."""
    load()
    from tensorflow_text.core.pybinds import pywrap_phrase_tokenizer_model_builder as builder
    rows = Rows("tf_text_phrases")
    draw = random.Random(7)
    known = ["I", "have", "a", "dream", "a dream", "I have a", "dream.", "!", "b!", "a .", ". a", "<UNK>", "\u6771", "a\u3000b", "a b a b"]
    words = ["I", "have", "a", "dream", "a", "b", "dream.", "a.", "b!", "x", "x?", ".", "...", "\u6771", "a\u3000b", "  ", "\t", "Ihave", "have,", "\0"]
    lines = ["", " ", "I have a dream", "  I  have\ta\u3000dream x", "a dreamy", "a b a b a", "a b a"] + [" ".join(draw.choice(words) for _ in range(draw.randrange(8))) for _ in range(60)]
    lines = [line.encode() for line in lines] + INVALID
    for divides_ends in [0, 1]:
        for joins in [True, False]:
            model = tf.constant(list(builder.build_phrase_model(known, "<UNK>", joins, 0, divides_ends)), tf.uint8)
            rows.add("PhraseTokenize", [texts(*lines), model])
            rows.add("PhraseTokenize", [texts(), model])
            rows.add("TFText>PhraseDetokenize", [ints(0, 4, 11, 14, 2), longs(0, 2, 2, 5), model])
            rows.add("TFText>PhraseDetokenize", [ints(), longs(0), model])
    always = tf.constant(list(builder.build_phrase_model(known, "<UNK>", True, 100, 0)), tf.uint8)  # the shortest phrases
    rows.add("PhraseTokenize", [texts(*lines), always])
    rows.write()


def tf_text_sentences():
    """Tokens of texts that are divided where sentences may end."""
    load()
    rows = Rows("tf_text_sentences")
    draw = random.Random(8)
    words = [b"a", b"b", b".", b"!", b"?", b"...", "\u2026".encode(), b")", b"(", b"]", b"\"", b"<", b">", b"A.", b":)", "\u3002".encode(), "\u300d".encode(), "\u00bf".encode(), b"\xff", b".\xff", b"\xe2\x80", b"''", b"x.", b"\0",
             "\u17d4".encode(), "\U0001da88".encode(), "\ufd3e".encode(), "\ufd3f".encode()]
    kinds = [0, 0, 0, 0x80, 0x100, 0x180, 0x7F]  # emoticons, acronyms

    def add(lengths, values, properties, **attrs):
        places = tf.range(len(values), dtype=tf.int64)
        rows.add("SentenceFragments", [longs(*lengths), places, places + 1, texts(*values), longs(*properties)], **{"input_encoding": "UTF-8", **attrs})
    for name, most in [("UTF-8", 1), ("utf8", 3), ("UTF-8", 7)]:
        for _ in range(12):
            lengths = [draw.randrange(14) for _ in range(6)]
            add(lengths, [draw.choice(words) for _ in range(sum(lengths))], [draw.choice(kinds[:most]) for _ in range(sum(lengths))], input_encoding=name)
    every = [chr(c).encode() for first, last in [(0x21, 0x7f), (0xa1, 0xc0), (0x2010, 0x2060), (0x2e20, 0x2e60), (0x3000, 0x3020), (0xfe10, 0xfe60), (0xff01, 0xff66)] for c in range(first, last)]
    add([2] * len(every), [w for each in every for w in (each, b"x")], [0] * (2 * len(every)))
    add([], [], [])
    add([0, 0], [], [])
    add([2], [b".", b""], [0, 0])
    add([2], [b"."], [0], text=False)
    add([1], [b"."], [0], replacement_char=-1)
    rows.add("SentenceFragments", [longs(1), tf.constant([[1]], tf.int64), longs(1), texts(b"a"), longs(0)], input_encoding="UTF-8", text=False)
    rows.write()


def tf_text_documents():
    """Whole texts that are divided where sentences may end. Each face is there alone, and texts are drawn of the characters of faces and signs."""
    load()
    rows = Rows("tf_text_documents")
    draw = random.Random(11)
    table = pathlib.Path(__file__).resolve().parents[3] / "core" / "runtime" / "kernels" / "text" / "faces.def"
    faces = [ast.literal_eval(face) for face in re.findall(r'^FACE\((".*")\)$', table.read_text(), re.M)]
    signs = [".", "!", "?", "...", "\u2026", ")", "]", ">", "''", "\"", "\u3002", "\u300d", "\u17d4", "\ufd3f", "U.S.", "A.", "O.O.", " ", "\n", "\u3000", "\u00a0"]
    rows.add("SentenceFragmentsV2", [texts(*["a" + face + "b. c" for face in faces])])
    rows.add("SentenceFragmentsV2", [texts(*["x." + face + face for face in faces])])
    rows.add("SentenceFragmentsV2", [texts(*[".)" + face[:-1] + " " + face[1:] for face in faces])])
    letters = sorted(set("".join(faces))) + ["a"]
    rows.add("SentenceFragmentsV2", [texts(*["".join(draw.choice(letters) for _ in range(9)) for _ in range(400)])])
    for words in [signs + ["a", "b"], signs + faces[::9] + ["a"], signs[:8] + ["a"]]:
        rows.add("SentenceFragmentsV2", [texts(*["".join(draw.choice(words) for _ in range(draw.randrange(14))) for _ in range(80)])])
    rows.add("SentenceFragmentsV2", [texts(b"", b" ", b".", b"a", b"\xff.", b"a\xe3\x80", b"\xe3\x80.\xe2\x80\xa6", b"\0.\0", b"...." * 9, b":)" * 20, b"A.B.C.)", *INVALID)])
    rows.add("SentenceFragmentsV2", [texts()])
    rows.write()


FAMILIES = [tf_text_documents, tf_text_labels, tf_text_state_sequences, tf_text_fast_pieces, tf_text_phrases, tf_text_sentences]

#!/usr/bin/env python3
"""Writes the GraphDefs that test_tokenizers.c reads: tokenizers of TensorFlow Text that need a table, with TensorFlow's answers.

    python tests/golden/text/graphs.py [case…]

Made with TensorFlow and TensorFlow Text 2.21. ../answered_graphs.py says how a graph holds the answers.
"""
import collections
import itertools
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from answered_graphs import tf, v1, write  # noqa: E402
import sentencepiece_models  # noqa: E402
from sentencepiece_models import BPE, MODELS, UNIGRAM  # noqa: E402
from tensorflow_text.python.ops import normalize_ops, sentencepiece_tokenizer  # noqa: E402
from tensorflow_text.python.ops import wordpiece_tokenizer as ops  # noqa: E402

sentencepiece = sentencepiece_tokenizer.gen_sentencepiece_tokenizer

PIECES = ["un", "##aff", "##able", "a", "b", "##b", "[UNK]", "##[UNK]", "\u00fc", "##\u00fc", "ab", "abc", "##bc", "\u6771", "##\u4eac", "####", "x\0", "##\0y"]
WORDS = ["unaffable", "", "ab", "xyz", "axb", "unx", "a\u00fcb", "\u00e9", "a\u20acb", "abcbc", "\u6771\u4eac\u6771", "a##b", "x\0\0y", "a" * 120]
INVALID = [b"a\xffb", b"\xe2\x82b", b"a\xe2\x82", b"\xc3", b"ab\xf0\x9f\x98bc"]
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def wordpiece(words, dtype=tf.int64, **attrs):
    keys = tf.constant(PIECES)
    values = tf.range(len(PIECES), dtype=dtype)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), tf.constant(-1, dtype))
    settings = dict(suffix_indicator="##", max_bytes_per_word=100, use_unknown_token=True, unknown_token="[UNK]", output_row_partition_type="row_lengths")
    outputs = ops.gen_wordpiece_tokenizer.wordpiece_tokenize_with_offsets(words, table.resource_handle, **{**settings, **attrs})
    return dict(zip(["values", "rows", "starts", "limits"], outputs))


def drawn_words():
    """Words of the letters of the vocabulary, and of some others."""
    generator = random.Random(1)
    return ["".join(generator.choice(["un", "aff", "able", "a", "b", "c", "\u00fc", "#", "\u4eac"]) for _ in range(generator.randrange(12))) for _ in range(60)]


def runs_of(words):
    return [{words: [w.encode() for w in WORDS]}, {words: INVALID}, {words: []}, {words: [w.encode() for w in drawn_words()]}]


def word_pieces(unknown, split):
    words = v1.placeholder(tf.string, [None], name="words")
    outputs = {}
    for most, kind in [(0, "row_lengths"), (0, "row_splits"), (2, "row_lengths"), (3, "row_lengths")]:
        made = wordpiece(words, use_unknown_token=unknown, split_unknown_characters=split, max_chars_per_token=most, output_row_partition_type=kind)
        outputs.update({"%s_%d_%s" % (name, most, kind): value for name, value in made.items()})
    return outputs, runs_of(words)


for known, whole in itertools.product([False, True], [False, True]):
    CASES["word_pieces%s%s" % ("" if known else "_unknown", "" if whole else "_split")] = lambda unknown=not known, split=not whole: word_pieces(unknown, split)


@case
def word_pieces_of_few_bytes():
    words = v1.placeholder(tf.string, [None], name="words")
    outputs = {}
    for most in [0, 2, 5]:
        outputs.update({"%s_%d" % (name, most): value for name, value in wordpiece(words, max_bytes_per_word=most, suffix_indicator="").items()})
    return outputs, runs_of(words)


def pieces(name):
    """All ops on one model. Each setting has a model of its own: TensorFlow Text keeps the settings of the op that ran last with the model."""
    texts, ids = v1.placeholder(tf.string, [None], name="texts"), v1.placeholder(tf.int32, [None], name="ids")
    alpha = 1.0 if MODELS[name].method == BPE else 200.0  # of what is chosen at random: no merge at all; the best way
    made = collections.defaultdict(list)
    for number, settings in enumerate([(False, False, False), (True, True, False), (False, True, True)]):
        nbest = number // 2
        if number == 2 and MODELS[name].method in (UNIGRAM, BPE):  # every other text at random
            nbest = v1.placeholder_with_default(-(tf.range(tf.size(texts)) % 2), None)
        handle = sentencepiece.sentencepiece_op(model=MODELS[name].data, shared_name=str(number))
        found = sentencepiece.sentencepiece_tokenize_with_offsets_op(handle, texts, nbest, alpha, *settings)
        named = sentencepiece.sentencepiece_tokenize_op(handle, texts, nbest, alpha, *settings, out_type=tf.string, Tsplits=tf.int32)
        for key, value in found._asdict().items():
            made[key].append(value)
        made["names"].append(named.output_values)
        made["joined"].append(sentencepiece.sentencepiece_detokenize_op(handle, found.output_values, found.output_splits, *settings))
        made["joined_names"].append(sentencepiece.sentencepiece_detokenize_op(handle, named.output_values, named.output_splits, *settings))
    outputs = {key: tf.concat(values, 0) for key, values in made.items()}
    for key in ["output_splits", "output_offset_starts", "output_offset_limits"]:
        outputs[key] = tf.cast(outputs[key], tf.int32)
    outputs["drawn"] = sentencepiece.sentencepiece_detokenize_op(handle, ids, [0, 0, tf.size(ids) // 2, tf.size(ids)], *settings)
    outputs["strings"] = sentencepiece.sentencepiece_id_to_string_op(handle, ids)
    outputs["numbers"] = sentencepiece.sentencepiece_string_to_id_op(handle, tf.concat([texts, outputs["strings"]], 0))
    outputs["size"] = sentencepiece.sentencepiece_vocab_size_op(handle)
    return outputs, piece_runs(texts, ids)


def piece_runs(texts, ids):
    generator = random.Random(2)
    letters = ["a", "b", "c", "f", "fi", "\ufb01", "\uff21", "\uff21\uff22", "e\u0301", "\u2460", "\u200b", "\t", " ", "  ", "\u3000", "\u2581", "\u6771", "\u4eac", "<sep>", "<s>", "</s>", "<s", "<0x41>", "\U0001f600", "\0"]
    drawn = ["".join(generator.choice(letters) for _ in range(generator.randrange(16))).encode() for _ in range(30)]
    some = ["", " ", "   ", "ab", " ab  abc ", "abcabc", "\u2581a", "a\u2581", "\u3000a\u3000", "<unk>", "abc" * 30, "\u200b", "\u200b \u200b"]
    numbers = [generator.randrange(21) for _ in range(60)]
    return [{texts: [t.encode() for t in some], ids: range(20)}, {texts: INVALID + [b" \xff", b"\xe2\x96a", b"\xc3\xa9\xa9"], ids: numbers}, {texts: [], ids: []}, {texts: drawn, ids: numbers[::-1]}, {texts: [b"", b"ab" * 28], ids: []}]


@case
def piece_ways():
    """The best ways to divide a text, and one of them at random, with alpha so great that it is the best. No two ways have one score: TensorFlow Text gives those in any order."""
    texts = v1.placeholder(tf.string, [None], name="texts")
    words = [(text, score - 0.0137 * i * i, kind) for i, (text, score, kind) in enumerate(sentencepiece_models.WORDS)]
    made = collections.defaultdict(list)
    for number, (nbest, settings) in enumerate([(1, (False, False, False)), (2, (True, True, False)), (5, (False, True, True)), (2000, (False, False, False))]):
        handle = sentencepiece.sentencepiece_op(model=sentencepiece_models.model(sentencepiece_models.SPECIAL + words, rules=sentencepiece_models.FOLDED).data, shared_name=str(number))
        for key, value in sentencepiece.sentencepiece_tokenize_with_offsets_op(handle, texts, nbest, 1.0, *settings, return_nbest=True)._asdict().items():
            made[key].append(tf.cast(value, tf.int32))
        made["names"].append(sentencepiece.sentencepiece_tokenize_op(handle, texts, nbest, 1.0, *settings, out_type=tf.string, Tsplits=tf.int32, return_nbest=True).output_values)
        made["drawn"].append(sentencepiece.sentencepiece_tokenize_op(handle, texts, min(nbest, 512), 200.0, *settings).output_values)
    return {key: tf.concat(values, 0) for key, values in made.items()}, [{texts: [t.encode() for t in each]} for each in [["ab c", "abc", "", " ", "fi b", "<sep>a", "zz", "<s c", "a\u2581\u6771\u4eacf"], [], ["\ufb01c1"]]]


for name in ["bpe", "word"]:
    def refused_ways(name=name):
        handle = sentencepiece.sentencepiece_op(model=MODELS[name].data)
        texts = v1.placeholder(tf.string, [None], name="texts")
        return {"values": sentencepiece.sentencepiece_tokenize_op(handle, texts, 2, 1.0, False, False, False, return_nbest=True).output_values}, [{texts: [b"ab"]}]
    CASES["piece_ways_" + name] = refused_ways


for each in MODELS:
    CASES["pieces_" + each] = lambda name=each: pieces(name)


# Letters that compose (not U+1E9B and the like, where ICU divides further), that marks follow, and that have several characters in a compatible form; Hangul; and bytes that are no character.
LETTERS = ["a", "e", "q", "x", "2", " ", "\u0301", "\u0323", "\u0316", "\u0328", "\u0345", "\u05b0", "\u00e9", "\u1e69", "\u212b", "\u1100", "\u1161", "\u11a8", "\uac00", "\uac01", "\uffa1",
           "\u304b", "\u3099", "\uff76", "\uff9e", "\uff21", "\ufb01", "\u2460", "\ufdfa", "\u00a8", "\u09c7", "\u09be", "\u0958", "\U0001d15e", "\u6771", "\U0002f800"]
PLACES = 44


def normal_offsets(form):
    """Places in normal texts, from before their begins to behind their ends."""
    texts, places, splits = v1.placeholder(tf.string, None, name="texts"), v1.placeholder(tf.int64, None, name="places"), v1.placeholder(tf.int32, [None], name="splits")
    normal, changes = normalize_ops.gen_normalize_ops.normalize_utf8_with_offsets_map(texts, form)
    found = normalize_ops.gen_normalize_ops.find_source_offsets(changes, places, splits)
    generator = random.Random(3)
    drawn = ["".join(generator.choice(LETTERS) for _ in range(generator.randrange(9))).encode() for _ in range(400)]
    known = [s.encode() for s in ["", "plain", "e\u0323\u0301x", "\u1112\u1161\u11ab", "\ufdfa.", "\ufb01\ufb01x", "A\u030a\u00c5\u212b", "\u2460\u2461\u0301", "\u1100\u1161\u11a8\u11a8\u1161", "\uac00\ub098\u11a8x"]]

    def run(values, count=PLACES):
        return {texts: values, places: list(range(-2, count - 2)) * len(values), splits: [count * i for i in range(len(values) + 1)]}
    runs = [run(known), run(drawn), run(INVALID + [b"e\xff\xcc\x81\xcc\xa3e\xcc\x81"]), {**run([b"a", b"b"]), splits: [0, 2 * PLACES]}]
    return {"normal": normal, "found": found}, runs + [{texts: [[b"a"], ["\u00c5".encode()]], places: [[1], [2]], splits: [0, 1, 2]}]


for each in ["NFC", "NFKC", "NFD", "NFKD"]:
    CASES["normal_offsets_" + each] = lambda form=each: normal_offsets(form)


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        write(HERE / (name + ".pb"), CASES[name])

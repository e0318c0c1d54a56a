#!/usr/bin/env python3
"""Writes the GraphDefs that test_tokenizers.c reads: tokenizers of TensorFlow Text that need a table, with TensorFlow's answers.

    python tests/golden/text/graphs.py [case…]

Made with TensorFlow and TensorFlow Text 2.21. ../answered_graphs.py says how a graph holds the answers.
"""
import itertools
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from answered_graphs import tf, v1, write  # noqa: E402
from tensorflow_text.python.ops import wordpiece_tokenizer as ops  # noqa: E402

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


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        write(HERE / (name + ".pb"), CASES[name])

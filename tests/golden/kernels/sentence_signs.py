"""Writes core/runtime/kernels/text/sentence_signs.def: the characters that end sentences and brackets, as TensorFlow Text's SentenceFragments takes them.

    python tests/golden/kernels/sentence_signs.py > core/runtime/kernels/text/sentence_signs.def

Made with TensorFlow Text 2.21. Each character is a token of a text of its own: alone; behind a full stop and a closed bracket, where more may be closed; and before
those, as the bracket is the sentence's if it was opened first.
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import rows as rows_of
import tf_text_rows

import tensorflow as tf

TERMINAL, SENTENCE_IN_BRACKETS = 1, 8
ELLIPSIS = 0x2026  # may follow closed brackets, too
CHARACTERS = [c for c in range(0x110000) if not 0xd800 <= c < 0xe000]


def fragments(before, behind):
    """The end and the properties of the first fragment of each text."""
    words = [word for c in CHARACTERS for word in before + [chr(c).encode()] + behind]
    count = len(before) + 1 + len(behind)
    places = tf.range(len(words), dtype=tf.int64)
    _, ends, properties, _, lengths = rows_of.HIDDEN_OPS["SentenceFragments"](
        row_lengths=tf.fill([len(CHARACTERS)], tf.constant(count, tf.int64)), token_start=places, token_end=places, token_word=tf.constant(words),
        token_properties=tf.zeros_like(places), input_encoding="UTF-8")
    first = tf.cumsum(lengths, exclusive=True)
    return tf.gather(ends, first).numpy(), tf.gather(properties, first).numpy()


def write(kind, found):
    first = previous = None
    for c in [c for c, has in zip(CHARACTERS, found) if has] + [0x110002]:
        if previous is None or c != previous + 1:
            if first is not None:
                print("SIGN(%s, 0x%04x, 0x%04x)" % (kind, first, previous))
            first = c
        previous = c


tf_text_rows.load()
print("/* Written by tests/golden/kernels/sentence_signs.py with TensorFlow Text 2.21. SIGN(kind, first character, last character) */")
write("SIGN_TERMINAL", fragments([], [])[1] & TERMINAL)
write("SIGN_CLOSES", [end == 3 and c != ELLIPSIS for c, end in zip(CHARACTERS, fragments([b".", b")"], [b"x"])[0])])
write("SIGN_OPENS", fragments([], [b".", b")"])[1] & SENTENCE_IN_BRACKETS)

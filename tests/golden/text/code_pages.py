#!/usr/bin/env python3
"""Writes code_pages.def: the encodings of one byte per character that TensorFlow's ICU decodes, by all names that it takes.

    python tests/golden/text/code_pages.py > core/runtime/kernels/text/code_pages.def

Made with TensorFlow 2.21. The candidates are the names that Python knows. An encoding counts if its lower half is ASCII and no two bytes are one character.
"""
import encodings.aliases
import os
import re
import textwrap

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

BYTES = tf.constant([bytes([i]) for i in range(256)])
PAIRS = tf.constant([bytes([i, second]) for second in (0x40, 0xa1) for i in range(128, 256)])
UNDEFINED = 0xffff


def decode(name):
    """The character of each byte, or None."""
    try:
        splits, characters = tf.raw_ops.UnicodeDecode(input=BYTES, input_encoding=name, errors="ignore")
        pairs = tf.raw_ops.UnicodeDecode(input=PAIRS, input_encoding=name, errors="ignore")[1].numpy()
    except (tf.errors.InvalidArgumentError, tf.errors.UnknownError):
        return None
    splits, characters = splits.numpy(), characters.numpy()
    counts = splits[1:] - splits[:-1]
    if counts.max() > 1 or len(characters) < 128 or characters.max() >= UNDEFINED:
        return None
    page = tuple(int(characters[splits[i]]) if counts[i] else UNDEFINED for i in range(256))
    alone = [page[byte] for pair in PAIRS.numpy() for byte in pair if page[byte] != UNDEFINED]
    return page if alone == pairs.tolist() else None


def plain(name):
    """The letters and digits: ICU looks at nothing else."""
    return re.sub("[^a-z0-9]", "", name.lower())


candidates = set(encodings.aliases.aliases) | set(encodings.aliases.aliases.values())
candidates |= {name.replace("_", "-") for name in candidates} | {f"windows-{n}" for n in range(1250, 1259)} | {f"ISO-8859-{n}" for n in range(1, 17)}
pages = {}
for name in sorted(candidates):
    page = decode(name)
    if page is not None and page[:128] == tuple(range(128)) and any(c != UNDEFINED for c in page[128:]):
        pages.setdefault(page[128:], set()).add(plain(name))

print("/* Written by tests/golden/text/code_pages.py: CODE_PAGE(names, the characters of the bytes from 0x80 on), 0xffff where there is none. */")
for page, names in sorted(pages.items(), key=lambda item: sorted(item[1])):
    print(f'CODE_PAGE(" {" ".join(sorted(names))} ",')
    print(textwrap.fill(", ".join(hex(c) for c in page) + ")", 99, initial_indent="          ", subsequent_indent="          "))

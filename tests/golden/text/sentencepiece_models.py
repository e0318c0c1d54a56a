"""Small SentencePiece models, written field by field (core/runtime/kernels/text/sentencepiece_model.c names the fields)."""
import collections
import struct

Model = collections.namedtuple("Model", "data method")
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE, WORD, CHAR = range(1, 5)
REPLACED = {"\ufb01": "fi", "\uff21": "A", "\uff21\uff22": "ab", "\u3000": " ", "\t": " ", "\u200b": "", "e\u0301": "\u00e9", "\u2460": "(1) "}


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, bool) or isinstance(value, int):
        return varint(number << 3) + varint(int(value))
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def double_array(rules):
    """The trie of a charsmap: a child of node i is at i ^ offset ^ byte; the value of a node is its child at 0."""
    tree = {}
    for key, value in rules.items():
        node = tree
        for byte in key:
            node = node.setdefault(byte, {})
        node[None] = value
    words, used, todo = [0] * 4096, {0}, [(tree, 0)]
    while todo:
        node, at = todo.pop(0)
        labels = [byte or 0 for byte in node]
        offset = next(o for o in range(1, 4096) if all(at ^ o ^ b < 4096 and at ^ o ^ b not in used for b in labels))
        words[at] |= offset << 10 | (256 if None in node else 0)
        for byte, child in node.items():
            to = at ^ offset ^ (byte or 0)
            used.add(to)
            if byte is None:
                words[to] = 1 << 31 | child
            else:
                words[to] = byte
                todo.append((child, to))
    last = (max(used) | 255) + 1
    return struct.pack("<%dI" % last, *words[:last])


def charsmap(replaced):
    texts, rules = b"", {}
    for key, value in replaced.items():
        rules[key.encode()] = len(texts)
        texts += value.encode() + b"\0"
    trie = double_array(rules)
    return struct.pack("<I", len(trie)) + trie + texts


def model(pieces, method=UNIGRAM, trainer=(), rules=(), denormal=b""):
    """pieces: text, score and kind of each; trainer, rules: further fields."""
    out = b"".join(field(1, field(1, text) + field(2, float(score)) + field(3, kind)) for text, score, kind in pieces)
    out += field(2, b"".join(field(n, v) for n, v in [(3, method), *trainer]))
    out += field(3, b"".join(field(n, v) for n, v in rules))
    return Model(out + (field(5, denormal) if denormal else b""), method)


SPECIAL = [("<unk>", 0, UNKNOWN), ("<s>", 0, CONTROL), ("</s>", 0, CONTROL)]
WORDS = [("\u2581", -2, NORMAL), ("\u2581a", -3.5, NORMAL), ("\u2581ab", -4, NORMAL), ("ab", -3, NORMAL), ("a", -5, NORMAL), ("b", -5.25, NORMAL), ("c", -6, NORMAL), ("bc", -4.5, UNUSED),
         ("abc", -3.25, NORMAL), ("abca", -9, UNUSED), ("f", -7, NORMAL), ("fi", -6.5, NORMAL), ("\u00e9", -8, NORMAL), ("\u6771\u4eac", -8, NORMAL), ("\u6771", -9, NORMAL), ("1", -7, NORMAL),
         ("<sep>", 0, USER_DEFINED), ("<s", -7.5, USER_DEFINED), ("\u2581\u2581", -6, NORMAL), (" ", -6, NORMAL), ("a\u2581", -4, NORMAL)]
BYTES = [("<0x%02X>" % i, 0, BYTE) for i in range(256)]
FOLDED = [(2, charsmap(REPLACED))]
MODELS = {
    "unigram": model(SPECIAL + WORDS, rules=FOLDED),
    "unigram_bytes": model(SPECIAL + BYTES + WORDS, trainer=[(35, True)], rules=FOLDED),
    "unigram_spaces": model(SPECIAL + WORDS, rules=[(3, False), (4, False)]),
    "unigram_prefix": model(SPECIAL + WORDS, rules=[(3, True), (4, False)]),
    "unigram_unescaped": model(SPECIAL + WORDS, rules=FOLDED + [(5, False)]),
    "unigram_suffix": model(SPECIAL + WORDS, trainer=[(24, True), (44, "<?>")], rules=FOLDED),
    "unigram_back": model(SPECIAL + WORDS, denormal=field(2, charsmap({"a": "\uff21", "fi": "\ufb01"})) + field(3, False) + field(5, False)),
    "bpe": model(SPECIAL + WORDS, BPE, rules=FOLDED),
    "bpe_bytes": model([("<unk>", 0, UNKNOWN), ("[B]", 0, CONTROL), ("[E]", 0, CONTROL)] + BYTES + WORDS, BPE, trainer=[(35, True), (46, "[B]"), (47, "[E]")]),
    "word": model(SPECIAL + WORDS, WORD),
    "word_suffix": model(SPECIAL + WORDS, WORD, trainer=[(24, True)]),
    "char": model(SPECIAL + WORDS, CHAR, rules=FOLDED),
}

"""Writes tests/fuzz/corpus/forest: the forests of tests/golden/forests, the files of each as one message, and some damaged ones.

    python3 tests/fuzz/make_forest_corpus.py
"""
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
FORESTS = HERE.parent / "golden" / "forests"
OUT = HERE / "corpus" / "forest"
FIELDS = {"header.pb": 1, "data_spec.pb": 2, "random_forest_header.pb": 3, "gradient_boosted_trees_header.pb": 3, "nodes-00000-of-00001": 4}
CASES = ["forest_votes", "forest_distributions", "forest_integer_classes", "forest_regression", "forest_oblique", "forest_oblique_local",
         "forest_numerical_uplift", "boosted_classes", "boosted_logit", "boosted_discretized", "boosted_missing", "boosted_sets",
         "forest_sets"]


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def message(files):
    """Of (field, bytes)."""
    return b"".join(bytes([field << 3 | 2]) + varint(len(data)) + data for field, data in sorted(files))


def read(case):
    return [(field, file.read_bytes()) for file in (FORESTS / case).iterdir() for name, field in FIELDS.items()
            if file.name in (name, f"another_{name}")]


def cut(files, field, size):
    return [(number, data[:size] if number == field else data) for number, data in files]


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        (OUT / case).write_bytes(message(read(case)))
    some = read("forest_votes")
    (OUT / "no_nodes").write_bytes(message([file for file in some if file[0] != 4]))
    for field, size in ((1, 20), (2, 100), (3, 5), (4, 7), (4, 8), (4, 300)):
        (OUT / f"cut_{field}_{size}").write_bytes(message(cut(some, field, size)))

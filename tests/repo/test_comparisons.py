"""Each layer, operation, loss, metric and optimizer is in a comparison with Keras or TensorFlow: a row of a table that is in none fails.

A layer or loss counts if a model in tests/golden/layers has it and trains it for 20 steps, which tests/unit/layers/test_keras.c repeats.
The sets below are what cannot be compared in this way, with what compares it instead."""
import re
import unittest

from harness import main
from tree import files, text

STEPS = 20
GOLDEN_MODELS = [path for path in files(".txt") if path.startswith("tests/golden/layers/")]

# Layers without variables through which no gradient passes, or that draw: Keras' outputs are compared.
BY_OUTPUT = {
    "tests/golden/preprocessing/keras3.txt": {"StringLookup", "IntegerLookup", "TextVectorization", "HashedCrossing"},
    "tests/unit/layers/test_layer_augment.c": {"RandomCrop"},  # Keras passes the images of an evaluation on uncropped
    # Keras 3.15 leaves Equalization out of a model, and the others draw or have no gradient.
    "tests/unit/layers/augment_golden.h": {"Equalization", "ContrastLimitedAdaptiveHistogramEqualization", "RandAugment", "AugMix",
                                           "MixUp", "CutMix", "MaxNumBoundingBoxes", "RandomElasticTransform"},
    "tests/unit/layers/test_layer_noise.c": {"RandomFlip", "DropPath"},  # always draws; of KerasCV
}
# Layers that Keras does not have.
OWN = {"EmbeddingBag": "tests/unit/layers/lists_golden.h", "DynamicEmbedding": "tests/unit/layers/test_dynamic_embedding.c"}


def plain(name):
    return re.sub("[^a-z0-9]", "", name.lower())


def words_of(path):
    return {plain(word) for word in re.findall(r"\w+", text(path))}


def trained_models():
    """The descriptions of the models that are trained for so many steps."""
    for path in GOLDEN_MODELS:
        lines = text(path).splitlines()
        if sum(line.startswith("step ") for line in lines) >= STEPS:
            yield next(line for line in lines if line.startswith("json "))


def layers():
    """Keras' names of the rows of core/layers/classes/classes.def, by their nouns; those of operations begin with op_."""
    names = {}
    for path in files(".c"):
        if path.startswith("core/layers/"):
            source = text(path)
            names.update(re.findall(r"struct layer_class layer_(\w+) = \{[^{}]*?\.name = \"(\w+)\"", source))
            is_of_ops = "/classes/op" in path
            for noun, name in re.findall(r"^[A-Z][A-Z_]*\((\w+),\s*\"(\w+)\"", source, re.M):
                names["op_" + noun if is_of_ops else noun] = name
    rows = re.findall(r"^(LAYER|OPERATION)\((\w+)\)", text("core/layers/classes/classes.def"), re.M)
    nouns = [noun if kind == "LAYER" else "op_" + noun for kind, noun in rows]
    return {noun: names.get(noun) for noun in nouns}


def rows_of(path, pattern):
    return re.findall(pattern, text(path), re.M)


def uncovered(rows, covered):
    return sorted(set(rows) - set(covered))


class Comparisons(unittest.TestCase):
    def assert_all(self, rows, covered, least):
        self.assertGreaterEqual(len(rows), least)  # the tables are still found
        self.assertEqual(uncovered(rows, covered), [], "compared with Keras nowhere")

    def test_layers(self):
        trained = set()
        for model in trained_models():
            trained.update(re.findall(r'"class_name": "(\w+)"', model))
        for path, names in BY_OUTPUT.items():
            for name in names:
                self.assertIn(plain(name), words_of(path), path)
            trained |= names
        for name, path in OWN.items():
            self.assertIn(plain(name), words_of(path), path)
            trained.add(name)
        rows = layers()
        self.assertEqual([noun for noun, name in rows.items() if name is None], [])
        self.assert_all([name for noun, name in rows.items() if not noun.startswith("op_")], trained, 100)

    def test_operations(self):
        compared = set()
        for path in GOLDEN_MODELS:
            compared.update(re.findall(r'"class_name": "(\w+)"', text(path)))
        self.assert_all([name for noun, name in layers().items() if noun.startswith("op_")], compared, 70)

    def test_losses(self):
        rows = rows_of("core/layers/losses/formulas.c", r"^    \{ \"(\w+)\", LAYERS_")
        aliases = dict(rows_of("core/layers/losses/loss.c", r"^    \{ \"(\w+)\", \"(\w+)\" \},"))
        named = set()
        for model in trained_models():
            named.update(plain(word) for word in re.findall(r'"(\w+)"', model))
        named |= {plain(name) for alias, name in aliases.items() if plain(alias) in named}
        self.assert_all([plain(name) for name in rows], named, 20)

    def test_metrics(self):
        rows = [name for path in files(".c") if path.startswith("core/layers/metrics/")
                for name in rows_of(path, r"^    \{ \"(\w+)\", (?:true|false), (?:true|false)")]
        golden = text("tests/unit/layers/metric_golden.h")
        named = {plain(name) for name in re.findall(r'class_name\\": \\"(\w+)|"\\"(\w+)\\""', golden) for name in name if name}
        self.assertIn("counts_as_tensorflow", text("tests/unit/layers/test_ranking.c"))
        self.assert_all([plain(name) for name in rows], named | {plain("factorized_top_k")}, 25)

    def test_optimizers(self):
        names = rows_of("trainer/optimizers/table.c", r"^    \{ \.name = \"(\w+)\"")
        rows = {name[len("lazy_"):] if name.startswith("lazy_") else name for name in names}
        self.assertIn("#define GOLDEN_STEPS %d" % STEPS, text("tests/unit/trainer/optimizer_golden.h"))
        compared = set()
        for path in ("tests/unit/trainer/optimizer_golden.h", "tests/unit/trainer/optimizer_keras_golden.h"):
            compared.update(re.findall(r"^    \{ \"(\w+)\"", text(path), re.M))
        for name in ("adafactor", "muon"):  # they take whole variables
            if "#define UPDATES %d" % STEPS in text("tests/unit/trainer/%s_golden.h" % name):
                compared.add(name)
        self.assert_all(rows, compared, 12)

    def test_a_row_without_comparison_would_be_seen(self):
        self.assertEqual(uncovered(["a", "b"], {"a"}), ["b"])


if __name__ == "__main__":
    main()

"""Every row of a table that users choose from is in the document, or the help text, that lists it."""
import re
import unittest

from harness import main
from test_comparisons import layers, rows_of
from tree import files, text


def plain(name):
    return re.sub("[^a-z0-9]", "", name.lower())


def missing(names, where, listed=None):
    """names: rows of a table, which is in the file `where`. listed: what a name has to be among; None: the names are words of it."""
    words = {plain(word) for word in re.findall(r"\w+", text(where) if listed is None else listed)}
    return ["%s does not name %s" % (where, name) for name in names if plain(name) not in words]


def help_of(flag):
    """The help text of a flag of pstrain."""
    row = re.search(r'\{ "%s", (.*?) \},\n' % flag, text("trainer/flags/option_flags.c"), re.S).group(1)
    return " ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', row))


class Documented(unittest.TestCase):
    def assert_named(self, names, where, least, listed=None):
        self.assertGreaterEqual(len(names), least)  # the table is still found
        wrong = missing(names, where, listed)
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_layers_and_operations(self):
        self.assert_named([name for name in layers().values() if name], "docs/layers.md", 300)

    def test_losses_and_metrics(self):
        names = rows_of("core/layers/losses/formulas.c", r"^    \{ \"(\w+)\", LAYERS_")
        names += [name for path in files(".c") if path.startswith("core/layers/metrics/")
                  for name in rows_of(path, r"^    \{ \"(\w+)\", (?:true|false), (?:true|false)")]
        self.assert_named(names, "docs/layers.md", 45)

    def test_optimizers(self):
        self.assert_named(rows_of("trainer/optimizers/table.c", r"^    \{ \.name = \"(\w+)\""), "docs/optimizers.md", 20)

    def test_formats_of_records(self):
        sources = "".join(text(path) for path in files(".c") if path.startswith("trainer/records/"))
        names = re.findall(r"struct record_format \w+ = \{\s*\.name = \"(\w+)\"", sources)
        self.assert_named(names, "docs/data.md", 11)
        self.assert_named(names, "trainer/flags/option_flags.c: the help of --data_format", 11, help_of("data_format"))

    def test_models(self):
        names = [path[len("models/"):-len(".json")] for path in files(".json") if path.startswith("models/")]
        self.assert_named(names, "trainer/flags/option_flags.c: the help of --model", 17, help_of("model"))

    def test_metrics_of_the_server(self):
        names = re.findall(r'"((?:slipway|process)_\w+)"', text("server/metrics/rows.def"))
        self.assert_named(names, "docs/serving.md", 15)

    def test_a_row_without_its_line_would_be_seen(self):
        self.assertEqual(missing(["NoSuchLayer", "Dense"], "docs/layers.md"), ["docs/layers.md does not name NoSuchLayer"])
        self.assertEqual(missing(["a", "b_c"], "x", "b_c, d"), ["x does not name a"])


if __name__ == "__main__":
    main()

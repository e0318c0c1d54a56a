"""No file names a place that exists on one machine only, nor a package registry: packages are asked for by name, from whatever
the user's apt and pip are set up to use."""
import re
import unittest

from harness import main
from tree import files, text

# Written in pieces, so that this file passes its own check.
PLACES = re.compile("|".join([
    r"(?<![\w./$}-])/(?:" + "|".join(["wo" + "rk", "ro" + "ot", "ho" + "me", "Us" + "ers"]) + r")/\w",
    "py" + r"pi\.org", "python" + r"hosted\.org", "deb" + r"ian\.org", "npm" + r"js\.(?:org|com)", "crates" + r"\.io",
    # A module's name and version is no place.
    "repo1?" + r"\.maven", "golang" + r"\.org/(?!x/[a-z]+@v)", "archive" + r"\.ubuntu",
]))
BINARY = (".png", ".gz", ".pb", ".bin", ".index", ".npy", ".tfrecord", ".bundle")


def places(path, source):
    return ["%s:%d: %s" % (path, source.count("\n", 0, m.start()) + 1, m.group()) for m in PLACES.finditer(source)]


class Hosts(unittest.TestCase):
    def test_no_file_names_a_machine_or_a_registry(self):
        wrong = []
        for path in files():
            if not path.endswith(BINARY) and "/corpus/" not in path and "data-0000" not in path:
                wrong += places(path, text(path))
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_one_would_be_seen(self):
        self.assertTrue(places("x", "see /ho" + "me/someone/data\n"))
        self.assertTrue(places("x", "https://py" + "pi.org/simple"))
        self.assertTrue(places("x", "https://golang" + ".org/x/net"))
        self.assertFalse(places("x", "golang" + ".org/x/net@v0.17.0"))
        self.assertFalse(places("x", "cmake --build build/home/x; ../work/dir"))


if __name__ == "__main__":
    main()

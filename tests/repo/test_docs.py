"""What the documents point to exists: links between them, and the files and directories that they name in `code`."""
import os
import re
import unittest

from harness import SOURCE, main
from tree import files, text

LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
NAMED = re.compile(r"`((?:core|proto|models|exporter|trainer|server|tests|bench|docs|scripts|cmake)/[\w./-]*[\w/])`")


def missing(path, source):
    here = os.path.dirname(os.path.join(SOURCE, path))
    wrong = ["%s links to %s" % (path, link) for link in LINK.findall(source) if not os.path.exists(os.path.join(here, link))]
    for name in NAMED.findall(source):
        if name.upper() != name and not re.search(r"[A-Z]{3}", name) and not os.path.exists(os.path.join(SOURCE, name)):
            wrong.append("%s names %s" % (path, name))
    return wrong


class Docs(unittest.TestCase):
    def test_what_they_point_to_exists(self):
        wrong = [w for path in files(".md") for w in missing(path, text(path))]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_a_dead_link_would_be_seen(self):
        self.assertTrue(missing("README.md", "see [x](docs/no_such.md)"))
        self.assertTrue(missing("README.md", "see `core/graph/no_such.h`"))
        self.assertFalse(missing("README.md", "see [x](docs/architecture.md), `tests/unit/MODULE/test_FILE.c` and `scripts/test`"))

    def test_the_first_screen_of_the_readme_holds_both_commands(self):
        first = "\n".join(text("README.md").splitlines()[:24])
        self.assertIn("scripts/quickstart", first)
        self.assertIn("scripts/test", first)

    def test_every_debian_package_has_its_reason(self):
        reasons = text("docs/dependencies.md")
        listed = {line.split()[1] for line in text("scripts/packages.txt").splitlines() if line and not line.startswith("#")}
        # Compilers, the build tool and git need no defence.
        plain = {"cmake", "ninja-build", "gcc", "g++", "libc6-dev", "pkg-config", "git"}
        self.assertEqual(sorted(p for p in listed - plain if p not in reasons), [])


if __name__ == "__main__":
    main()

"""A struct, union or enum has a name of its own: no two files define one that is called the same.

A reader who searches for `struct client` finds one definition. Tests and benchmarks are left out: each is a program of its own, and its
short names (`row`) stand beside their only use."""
import re
import unittest

from harness import main
from test_includes import folder_of
from tree import files, text

# In a comment or a string, braces and words are not code.
TEXT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
# `struct name {`, also with a macro for an attribute in front of the name: `struct CHECKED status {`.
DEFINITION = re.compile(r"\b(?:struct|union|enum)\s+(?:[A-Z]\w*\s+)?(\w+)\s*\{")


def definitions(source):
    """The names of the types that a file defines."""
    return set(DEFINITION.findall(TEXT.sub(" ", source)))


def defined_twice(sources):
    """Of {path: source}, the names that several files define, one line each."""
    places = {}
    for path, source in sorted(sources.items()):
        for name in definitions(source):
            places.setdefault(name, []).append(path)
    return ["%s is defined in %s" % (name, ", ".join(paths)) for name, paths in sorted(places.items()) if len(paths) > 1]


class Names(unittest.TestCase):
    def test_no_two_files_define_the_same_name(self):
        sources = {path: text(path) for path in files(".c", ".h") if folder_of(path) is not None}
        self.assertGreater(sum(len(definitions(source)) for source in sources.values()), 500)
        wrong = defined_twice(sources)
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_a_name_defined_twice_would_be_seen(self):
        first = "struct client {\n    int fd;\n};\n"
        for second in (first, "static const struct client\n{ int a; } rows[1];", "union client { int a; };", "enum client { A };",
                       "struct CHECKED client {\n    int a;\n};", "void f(void)\n{\n    struct client { int a; } c;\n}"):
            self.assertTrue(defined_twice({"a.c": first, "b.c": second}), second)
        for second in ("struct client;", "struct client *f(void)\n{\n}", "/* struct client { … } */", 'f("struct client {");',
                       "struct client c = { 0 };", "x = (struct client){ 0 };", "struct ps_client { int a; };", "enum { client };"):
            self.assertFalse(defined_twice({"a.c": first, "b.c": second}), second)


if __name__ == "__main__":
    main()

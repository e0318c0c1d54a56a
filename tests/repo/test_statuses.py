"""No call throws away the struct status that it returns.

Clang warns of it (CHECKED in core/base/status.h), but the ordinary build is GCC's, whose warn_unused_result is for functions, not for
types: it would have to stand at each of some 700 declarations."""
import re
import unittest

from harness import main
from tree import files, text

# `struct status f(` declares or defines a function, `struct status (*f)(` a pointer to one; the same with another type in front.
DECLARED = re.compile(r"^(static )?(?:inline )?(?:_Noreturn )?(?:const )?((?:struct |enum |union )?\w+)[ *\n]+(\w+)\(", re.M)
POINTER = re.compile(r"^\s+((?:struct |enum |union )?\w+) \**\(\*(?:const )?(\w+)\)\(", re.M)
# A line that begins with a call: `f(`, or `a->b.f(`, after a cast to void or not.
CALL = re.compile(r"\s+(?:\(void\)\s?)?((?:[\w\]]+(?:\[[^]]*\])*(?:\.|->))*)(\w+)\(")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
KEYWORDS = {"else", "return", "if", "for", "while", "switch", "do", "sizeof", "typedef", "define"}


def without_comments(source):
    return COMMENT.sub(lambda match: "\n" * match[0].count("\n"), source)


def declarations(source):
    """The functions of a file, and the function pointers: (name, is it static, does it return a status)."""
    functions = [(m[3], bool(m[1]), m[2] == "struct status") for m in DECLARED.finditer(source) if m[2] not in KEYWORDS]
    pointers = [(m[2], m[1] == "struct status") for m in POINTER.finditer(source)]
    return functions, pointers


class Names:
    """What is known of the whole tree: which functions and which pointers return a status."""

    def __init__(self, sources):
        self.functions, self.pointers, others = set(), set(), set()
        for path, source in sources.items():
            functions, pointers = declarations(without_comments(source))
            self.functions |= {name for name, static, status in functions if status and (path.endswith(".h") or not static)}
            self.pointers |= {name for name, status in pointers if status}
            others |= {name for name, status in pointers if not status}
        self.pointers -= others  # two structs have a member of this name: which one is called, the text does not say


def ignored(path, source, names):
    """The lines of a file that throw a status away."""
    source = without_comments(source)
    own, _ = declarations(source)
    functions = names.functions - {name for name, _, status in own if not status} | {name for name, _, status in own if status}
    found, before = [], ";"
    for number, line in enumerate(source.split("\n"), 1):
        call = CALL.match(line)
        if call and before[-1] in ";{}):" or call and re.search(r"\b(else|do)$", before):
            owner, name = call.groups()
            if name in (names.pointers if owner else functions):
                found.append("%s:%d: %s" % (path, number, line.strip()))
        if line.startswith("#define") and line.endswith("\\"):
            before = "("  # what the macro stands for may be a value
        elif line.strip() and not line.startswith("#"):
            before = line.rstrip(" \\")
    return found


class Statuses(unittest.TestCase):
    def test_none_is_ignored(self):
        sources = {path: text(path) for path in files(".c", ".h")}
        names = Names(sources)
        self.assertGreater(len(names.functions), 100)
        self.assertGreater(len(names.pointers), 5)
        found = [line for path, source in sources.items() for line in ignored(path, source, names)]
        self.assertFalse(found, "use TRY, TRY_OR or status_ignore:\n" + "\n".join(found))

    def test_an_ignored_one_would_be_seen(self):
        header = "struct status f(int x);\nvoid g(void);\nstruct ops {\n    struct status (*work)(void);\n};\n"
        names = Names({"x.h": header})
        for body in ("f(1);", "(void)f(1);", "if (x)\n        f(1);", "else\n        f(1);", "ops->work();", "a[1].ops.work(2);",
                     "int x;\n#ifdef X\n    f(\n        1);", "g(); /* why */\n    f(1);", "label:\n    f(1);"):
            self.assertTrue(ignored("x.c", "void h(void)\n{\n    " + body + "\n}\n", names), body)
        for body in ("g();", "TRY(f(1));", "return f(1);", "s =\n        f(1);", "return x &&\n        f(1);", "TRY(\n        f(1));",
                     "x.f(1);", "work();", "TRY_OR(done,\n           f(1));", "/* why:\n    f(1); */",
                     "}\n#define F(x) \\\n    f(x)\n{"):
            self.assertFalse(ignored("x.c", "void h(void)\n{\n    " + body + "\n}\n", names), body)
        self.assertFalse(ignored("x.c", "static void f(int x);\nvoid h(void)\n{\n    f(1);\n}\n", names))
        self.assertTrue(ignored("x.c", "static struct status k(void)\n{\n}\nvoid h(void)\n{\n    k();\n}\n", names))


if __name__ == "__main__":
    main()

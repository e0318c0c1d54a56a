"""Every flag that --help shows is read by something: no option is parsed and ignored."""
import re
import unittest

from harness import main, run
from tree import files, text

# A row of a flag table: { "port", FLAG_INT32, &options.port, … }
ROW = re.compile(r'\{\s*"(\w+)",\s*FLAG_\w+,\s*&([\w.>\-]*?)(\w+)\s*[,}]')
PROGRAMS = {"pstrain": ("trainer/", [[]]), "savedmodel": ("exporter/", [["show"], ["run"]]), "modelserver": ("server/", [[]])}


def shown(program, command):
    """The names that --help shows: lines such as `  --port=8501` or `  --[no]sync (false)`."""
    done = run(program, *command, "--help")
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"^\s*--(?:\[no\])?(\w+)", done.stdout, re.M))


def reads(target, source):
    """How often a source reads `target`, rows and plain assignments left out."""
    without_rows = re.sub(r"&[\w.>\-]*" + target + r"\s*[,}]", "", source)
    return len(re.findall(r"(?:\.|->)" + target + r"\b(?!\s*=[^=])", without_rows))


def unread(sources):
    """sources {path: text} -> [flags whose target nothing reads]. A target of the same name in another file's table is that file's."""
    wrong = []
    for path, source in sources.items():
        for name, _, target in ROW.findall(source):
            others = [s for p, s in sources.items() if p != path and not any(t == target for _, _, t in ROW.findall(s))]
            if not any(reads(target, s) for s in [source] + others):
                wrong.append("%s: nothing reads %s, the target of --%s" % (path, target, name))
    return wrong


class Flags(unittest.TestCase):
    def test_every_flag_shown_is_read(self):
        for program, (directory, commands) in PROGRAMS.items():
            sources = {p: text(p) for p in files(".c", ".h") if p.startswith(directory)}
            names = {name for s in sources.values() for name, _, _ in ROW.findall(s)}
            for command in commands:
                have = shown(program, command)
                self.assertGreater(len(have), 2, program)
                self.assertEqual(have - names, set(), "%s shows flags whose rows this test does not find" % program)
            self.assertEqual(unread(sources), [])

    def test_an_ignored_flag_would_be_seen(self):
        table = 'static const struct flag rows[] = { { "port", FLAG_INT32, &options.port, "1" }, { "sync", FLAG_BOOL, &options.sync } };\n'
        self.assertEqual(len(unread({"a.c": table})), 2)
        self.assertEqual(len(unread({"a.c": table + "f(options.port); options.sync = 1;"})), 1)
        self.assertEqual(unread({"a.c": table, "b.c": "f(o->port); if (o->sync == 1) g();"}), [])


if __name__ == "__main__":
    main()

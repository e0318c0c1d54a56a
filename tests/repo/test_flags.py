"""Every flag that --help shows is read by something: no option is parsed and ignored."""
import re
import time
import unittest

from harness import DEADLINE_S, Server, main, run
from tree import files, text

# A row of a flag table: { "port", FLAG_INT32, &options.port, … }
ROW = re.compile(r'\{\s*"(\w+)",\s*FLAG_\w+,\s*&(?!other\b)([\w.>\-]*?)(\w+)\s*[,}]')
# A flag of modelserver that is known by its name only: { "port", FLAG_INT32, &other.i[0], "8500", .help = LATER …
BY_NAME = re.compile(r'\{\s*"(\w+)",\s*FLAG_(\w+),\s*&other\.[\w\[\]]+,\s*"([^"]*)",\s*\.help = (\w+)')
PROGRAMS = {"pstrain": ("trainer/", [[]]), "savedmodel": ("exporter/", [["show"], ["run"]]), "modelserver": ("server/", [[]]),
            "modelclient": ("clients/", [["predict"], ["status"]])}


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
            names = {row[0] for s in sources.values() for row in ROW.findall(s) + BY_NAME.findall(s)}
            for command in commands:
                have = shown(program, command)
                self.assertGreater(len(have), 2, program)
                self.assertEqual(have - names, set(), "%s shows flags whose rows this test does not find" % program)
            self.assertEqual(unread(sources), [])

    @staticmethod
    def known_by_name(kind):
        """The flags of modelserver that are LATER or FOREIGN, each set to what is not its default."""
        other = {"BOOL": lambda d: "false" if d == "true" else "true", "TEXT": lambda d: "x", "DOUBLE": lambda d: "0.5"}
        rows = [row for path in files(".c") if path.startswith("server/") for row in BY_NAME.findall(text(path)) if row[3] == kind]
        return {name: "--%s=%s" % (name, other.get(type_, lambda d: int(d) + 2)(default)) for name, type_, default, _ in rows}

    @staticmethod
    def met():
        """{ "enable_profiler", "false" }, …: values of LATER flags that ask for what happens anyway."""
        table = text("server/options.c").split("} met[] = {")[1].split("};")[0]
        return {"--%s=%s" % row for row in re.findall(r'\{ "(\w+)", "([^"]*)" \}', table)}

    def test_a_flag_of_what_is_not_there_yet_is_refused_by_its_name(self):
        later = self.known_by_name("LATER")
        self.assertGreater(len(later), 5)
        for name, flag in later.items():
            if flag in self.met():
                continue
            done = run("modelserver", "--model_base_path=x", flag, timeout=20)
            self.assertEqual(done.returncode, 2, flag + done.stderr)
            self.assertIn("--" + name, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_a_flag_that_asks_for_what_happens_anyway_is_accepted(self):
        self.assertGreater(len(self.met()), 5)
        done = run("modelserver", *self.met(), "--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_flag_of_hardware_that_is_not_used_is_logged(self):
        foreign = self.known_by_name("FOREIGN")
        self.assertGreater(len(foreign), 2)
        server = Server("no/such/base/path", *foreign.values(), wait=False)  # it waits for the path to appear
        self.addCleanup(server.process.wait)
        self.addCleanup(server.process.kill)
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end and server.process.poll() is None and not all("--%s " % name in server.output() for name in foreign):
            time.sleep(0.02)
        for name in foreign:
            self.assertIn("--%s " % name, server.output())

    def test_an_ignored_flag_would_be_seen(self):
        table = 'static const struct flag rows[] = { { "port", FLAG_INT32, &options.port, "1" }, { "sync", FLAG_BOOL, &options.sync } };\n'
        self.assertEqual(len(unread({"a.c": table})), 2)
        self.assertEqual(len(unread({"a.c": table + "f(options.port); options.sync = 1;"})), 1)
        self.assertEqual(unread({"a.c": table, "b.c": "f(o->port); if (o->sync == 1) g();"}), [])


if __name__ == "__main__":
    main()

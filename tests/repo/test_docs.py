"""Every file, folder and heading that a document or a comment refers to exists.

References are links of Markdown; paths that begin with a folder of the tree (`core/rpc/http2.c`, `trainer/ps`), with a folder as an
include names it (`rpc/http2.c`), or beside the file that names them (`rest/head.c` in server/); and bare names of C sources, headers and
documents (`http2.c`, `server.md`). A name in capitals (`tests/unit/MODULE`) or with a star stands for many and is not a reference."""
import io
import os
import re
import subprocess
import tokenize
import unittest

from harness import main
from test_includes import BELOW, EDGES
from tree import files, text

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
C_COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
# Not inside a longer path, an address, a flag, or a name with placeholders.
PATH = re.compile(r"(?<![\w./$%{}<>*~:@-])((?:[\w-]+/)+(?:[\w.-]*\w/?)?|[\w-]+\.(?:c|h|md))(?![\w/*<{…]|\.[\w*<]|-[*<])")
PLACEHOLDER = re.compile(r"(?<![A-Za-z])(?:[A-Z]{3,}|[Xx])(?![A-Za-z])")
ENDINGS = (".md", ".c", ".h", ".cc", ".def", ".proto", ".py", ".cmake", ".txt", ".sh")


def prose(path, source):
    """The part of a file that people read: documents whole, of sources the comments."""
    if path.endswith(".md"):
        return source
    if path.endswith((".c", ".h", ".cc", ".def", ".proto", ".inc")):
        return "\n".join(m.group() for m in C_COMMENT.finditer(source) if m.group().startswith("/"))
    if path.endswith(".py"):
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        return "\n".join(t.string for t in tokens if t.type == tokenize.COMMENT or (t.type == tokenize.STRING and t.string.startswith('"""')))
    return "\n".join(re.findall(r"(?:^|\s)#[^\n]*", source))


class Tree:
    def __init__(self, paths):
        self.paths = set(paths)
        self.names = {os.path.basename(path) for path in paths}
        for path in paths:
            while path := os.path.dirname(path):
                self.paths.add(path)
        self.stems = {os.path.splitext(path)[0] for path in self.paths}
        self.top = {path.split("/")[0] for path in paths if "/" in path}

    def has(self, path):
        """Whether there is such a file (its ending may be missing), such a folder, or a .proto that it is generated from."""
        path = re.sub(r"(\.pb-c\.[ch]|_pb2\.py)$", ".proto", path)
        return path in self.paths or path in self.stems

    def is_reference(self, here, name):
        """Whether `name`, in a file of the folder `here`, is meant to be a file or folder of this tree and not another project's."""
        first = name.split("/")[0]
        if "/" not in name or first in self.top:
            return True
        folders = {"core/" + first, "tests/" + first, os.path.join(os.path.dirname(here), first)}
        return not folders.isdisjoint(self.paths) and name.endswith((".c", ".h", ".md", ".def"))

    def finds(self, here, name):
        """Whether it is there, as seen from the root, from core/, its kernels or tests/, or from `here` or the folder above; or a library's header."""
        name = name.rstrip("/")
        if "/" not in name:
            return name in self.names or name in self.top or name in EDGES
        return any(self.has(os.path.normpath(os.path.join(place, name))) for place in ("", "core", "core/runtime/kernels", "tests", here, os.path.dirname(here)))


def anchors(source):
    """The fragments that GitHub gives the headings of a document."""
    return {"#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(source)}


def dead_links(path, source, tree):
    here, wrong = os.path.dirname(path), []
    for link, anchor in LINK.findall(source):
        target = os.path.normpath(os.path.join(here, link)) if link else path
        if not tree.has(target):
            wrong.append("%s links to %s, which does not exist" % (path, link))
        elif anchor and anchor not in anchors(source if target == path else text(target)):
            wrong.append("%s links to %s%s, but %s has no such heading" % (path, link, anchor, target))
    return wrong


def dead_names(path, source, tree):
    here = os.path.dirname(path)
    return ["%s names %s, which does not exist" % (path, name) for name in PATH.findall(LINK.sub("", prose(path, source)))
            if not PLACEHOLDER.search(name) and tree.is_reference(here, name) and not tree.finds(here, name)]


class References(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tree = Tree(files())

    def test_every_link_leads_somewhere(self):
        wrong = [w for path in files(".md") for w in dead_links(path, text(path), self.tree)]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_every_file_that_is_named_exists(self):
        paths = [path for path in files() if path.endswith(ENDINGS) or text(path).startswith("#!")]
        self.assertGreater(len(paths), 500)
        wrong = [w for path in paths for w in dead_names(path, text(path), self.tree)]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_a_dead_link_would_be_seen(self):
        for source in ("[x](docs/no_such.md)", "[x](#no-such)", "[x](docs/architecture.md#no-such)"):
            self.assertTrue(dead_links("README.md", source, self.tree), source)
        for source in ("[x](docs/architecture.md#tests)", "[x](docs/)", "# A (b)\n[x](#a-b)", "[x](https://example.com/no_such)"):
            self.assertFalse(dead_links("README.md", source, self.tree), source)

    def test_a_dead_name_would_be_seen(self):
        for path, source in (("README.md", "see `core/graph/no_such.h`"), ("README.md", "in trainer/no_such/"), ("a.c", "/* rpc/no_such.h */"),
                             ("server/rest/rest.c", "// rest/no_such.c"), ("core/rpc/http2.c", "/* no_such.h\n * and */"),
                             ("a.py", "# tests/e2e/no_such.py"), ("CMakeLists.txt", "x() # core/no_such")):
            self.assertTrue(dead_names(path, source, self.tree), source)
        for path, source in (("README.md", "`tests/unit/MODULE/test_FILE.c`, `scripts/test`, trainer/ps/*.h, build/dev/bin/no_such.h"),
                             ("a.c", 'open("core/no_such.h"); /* rpc/http2.c, core/graph/ops.def, proto/graph.pb-c.h */'),
                             ("server/rest/rest.c", "/* rest/head.c, head.c; TensorFlow's saved_model/load.py */"),
                             ("a.py", 'open("core/no_such.h")  # tests/e2e/harness.py')):
            self.assertFalse(dead_names(path, source, self.tree), source)


    def test_every_function_and_flag_that_a_document_names_exists(self):
        known = set(re.findall(r"\w+_\w*", " ".join(files())))
        for path in files():
            if not path.endswith(".md") and "/corpus/" not in path and "/golden/" not in path and path != "tests/repo/test_docs.py":
                known.update(re.findall(r"\w+_\w*", text(path)))
        wrong = []
        for path in [path for path in files(".md") if path.startswith("docs/")]:
            for code in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text(path), flags=re.S)):
                wrong += ["%s names %s, which does not exist" % (path, word) for word in re.findall(r"(?<![\w<…])[a-z]+_\w+(?![\w<…])", code)
                          if word not in known and not PLACEHOLDER.search(word)]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))


# What stands beside the folders. A file that somebody tried something with is easily committed here, unseen.
TOP = {".dockerignore", "Dockerfile", ".clang-format", ".clang-tidy", ".editorconfig", ".gitignore", "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "README.md"}


class TopLevel(unittest.TestCase):
    def test_it_holds_no_other_file(self):
        self.assertEqual({path for path in files() if "/" not in path} - TOP, set())


class Readme(unittest.TestCase):
    def test_its_first_screen_holds_both_commands(self):
        first = "\n".join(text("README.md").splitlines()[:24])
        self.assertIn("scripts/quickstart", first)
        self.assertIn("scripts/test", first)

    def test_the_index_lists_every_document(self):
        linked = {link for link, _ in LINK.findall(text("docs/README.md"))}
        self.assertEqual({os.path.basename(path) for path in files(".md") if path.startswith("docs/")} - linked, {"README.md"})


class Quickstart(unittest.TestCase):
    def test_the_targets_that_it_builds_exist(self):
        built = re.search(r"^build release (.+)$", text("scripts/quickstart"), re.M).group(1).split()
        self.assertGreater(len(built), 2)
        for target in built:
            done = subprocess.run(["ninja", "-C", os.environ["SLIPWAY_BUILD"], "-t", "query", target], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def folder_rows(source):
    """The rows of the table of folders: the folders of each, and the folders that they build on."""
    rows = [[cell.strip() for cell in line.split("|")] for line in source.splitlines() if line.startswith("| `")]
    return [({folder.removeprefix("core/") for folder in re.findall("`(.*?)`", row[1])}, set(row[3].split(", ")) - {""}) for row in rows]


def wrong_folders(source):
    """Where the table and BELOW differ: a folder that may not be included, or one that may be and is not reached from the row."""
    wrong, reached = [], {}
    for folders, named in folder_rows(source):
        allowed = set().union(*(BELOW.get(folder, set()) for folder in folders)) - folders
        reach = named.union(*(reached.get(folder, set()) for folder in named))
        wrong += ["%s may not include %s" % (", ".join(sorted(folders)), folder) for folder in sorted(named - allowed)]
        wrong += ["%s may include %s" % (", ".join(sorted(folders)), folder) for folder in sorted(allowed - reach)]
        reached.update({folder: reach | folders for folder in folders})
    return wrong


class Architecture(unittest.TestCase):
    def test_the_table_of_folders_holds_every_folder(self):
        listed = set().union(*(folders for folders, _ in folder_rows(text("docs/architecture.md"))))
        self.assertEqual(set(BELOW) - listed, set())

    def test_the_table_of_folders_says_what_each_builds_on(self):
        self.assertEqual(wrong_folders(text("docs/architecture.md")), [])

    def test_a_wrong_folder_would_be_seen(self):
        self.assertEqual(wrong_folders("| `core/rpc` | | base |\n| `proto` | | base, core/rpc |"), ["proto may not include core/rpc"])
        self.assertEqual(wrong_folders("| `proto` | | base |\n| `core/storage` | | proto |"), ["storage may include tensor"])


class Dependencies(unittest.TestCase):
    def test_the_files_that_include_each_library_are_those_of_edges(self):
        listed = {}
        for line in text("docs/dependencies.md").splitlines():
            cells = line.split("|")
            if len(cells) == 6 and (header := re.search("`(.*?)`", cells[2])):
                listed[header.group(1)] = sorted(re.findall("`(.*?)`", cells[3]))
        wrong = ["docs/dependencies.md: %s is included by %s" % (header, ", ".join("`%s`" % owner for owner in owners))
                 for header, owners in EDGES.items() if not header.startswith("sys/") and listed.get(header) != sorted(owners)]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_every_debian_package_has_its_reason(self):
        reasons = text("docs/dependencies.md")
        listed = {line.split()[1] for line in text("scripts/packages.txt").splitlines() if line and not line.startswith("#")}
        # Compilers, the build tool and git need no defence.
        plain = {"cmake", "ninja-build", "gcc", "g++", "libc6-dev", "pkg-config", "git"}
        self.assertEqual(sorted(p for p in listed - plain if p not in reasons), [])


if __name__ == "__main__":
    main()

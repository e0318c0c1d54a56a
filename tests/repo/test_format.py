"""Every C and C++ file is as clang-format 14 and .clang-format leave it, and so are drawings in comments; paragraphs of documents are wrapped.

clang-format does not reflow comments (ReflowComments: false): it would join the lines of drawings and examples to paragraphs. So this
test looks at the width of lines, and for drawings that a reflow has broken."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import SOURCE, main
from tree import files, text

TOOL = shutil.which("clang-format-14")


WIDTH = 100
DOCUMENT_WIDTH = 150
# A line of a drawing, indented by four blanks, and behind it one that begins at the comment's margin, without a blank line between.
DRAWN = re.compile(r"\s*/?\* {4,}\S")
AT_MARGIN = re.compile(r"\s*\* ?(?!Shapes|Types|Units|Owner|Errors|Threads|Source|Returns)[^\s*/]")


def broken_comments(path, source):
    lines = source.split("\n")
    wide = ["%s:%d: %d columns, more than %d" % (path, i, len(line), WIDTH) for i, line in enumerate(lines, 1)
            if len(line) > WIDTH and '"' not in line]  # a string may be wider
    return wide + ["%s:%d: a drawing or an example that has lost its indentation" % (path, i)
                   for i, (line, after) in enumerate(zip(lines, lines[1:]), 2) if DRAWN.match(line) and AT_MARGIN.match(after)]


# The heading of a section of a file: one line, no period. Explanations stand in a comment of their own below it.
HEADING = re.compile(r"/\* ---- \S(?!.*\. [A-Z]).*[^.\s] ---- \*/")


def broken_headings(path, source):
    return ["%s:%d: %s: a heading looks like /* ---- reading a block ---- */" % (path, i, line)
            for i, line in enumerate(source.split("\n"), 1) if re.match(r"(/\*|//) ?---", line) and not HEADING.fullmatch(line)]


def ends_in_blanks(path, source):
    """clang-format does not look into tables for which it is off, nor into other languages."""
    return ["%s:%d: blanks at the end of the line" % (path, i) for i, line in enumerate(source.split("\n"), 1) if line != line.rstrip(" \t")]


def unformatted(*paths):
    """The tool's complaints about these files, one line each."""
    done = subprocess.run([TOOL, "--style=file", "--dry-run", "-Werror", "--ferror-limit=1", *paths], capture_output=True, text=True, cwd=SOURCE)
    return [line for line in done.stderr.splitlines() if "error:" in line] or (["exit %d" % done.returncode] if done.returncode else [])


@unittest.skipUnless(TOOL, "clang-format-14 is not installed")
class Format(unittest.TestCase):
    def test_every_file_is_formatted(self):
        paths = files(".c", ".h", ".cc")
        self.assertGreater(len(paths), 5)
        wrong = unformatted(*paths)
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_an_unformatted_file_would_be_seen(self):
        with tempfile.NamedTemporaryFile("w", suffix=".c") as f:  # in the tree, a test that runs beside this one would find it
            f.write("int  f( void ){return 1 ;}\n")
            f.flush()
            self.assertTrue(unformatted(f.name))


class Comments(unittest.TestCase):
    def test_lines_are_narrow_and_drawings_whole(self):
        wrong = [line for path in files(".c", ".h", ".cc") for line in broken_comments(path, text(path))]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_headings_look_alike(self):
        wrong = [line for path in files(".c", ".h", ".cc") for line in broken_headings(path, text(path))]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))
        for heading in "/* ---- Reading. ---- */", "/* ---- reading ---*/", "/* ---- reading. With the lock ---- */", "// --- reading", \
                "/* ---- reading, and\n * writing ---- */":
            self.assertTrue(broken_headings("x.c", heading), heading)
        self.assertFalse(broken_headings("x.c", "/* ---- Fingerprint64, by size: core/base/fingerprint.c ---- */"))

    def test_no_line_ends_in_blanks(self):
        wrong = [line for path in files(".c", ".h", ".cc", ".def", ".py", ".cmake") for line in ends_in_blanks(path, text(path))]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_a_broken_drawing_would_be_seen(self):
        drawing = "/*\n * key:\n *\n *     key   := name  size(4)\n%s\n *\n * Names are sorted.\n */\n"
        self.assertTrue(broken_comments("x.h", drawing % " * size(4) value"))
        self.assertTrue(broken_comments("x.h", drawing % (" *     " + 95 * "x")))
        self.assertFalse(broken_comments("x.h", drawing % " *     value := size(4)"))
        self.assertFalse(broken_comments("x.h", "/**\n * Owner   the caller, who\n *         frees it\n * Errors  none\n */\n"))


def wide_paragraphs(path, source):
    """Tables and examples may be wider."""
    code, wrong = False, []
    for i, line in enumerate(source.split("\n"), 1):
        code ^= line.startswith("```")
        if len(line) > DOCUMENT_WIDTH and not code and not line.startswith(("|", "    ")):
            wrong.append("%s:%d: %d columns, more than %d" % (path, i, len(line), DOCUMENT_WIDTH))
    return wrong


class Documents(unittest.TestCase):
    def test_paragraphs_are_wrapped(self):
        paths = [path for path in files(".md") if path != "docs/ops.md"]  # print_ops writes that one
        self.assertGreater(len(paths), 5)
        wrong = [line for path in paths for line in wide_paragraphs(path, text(path))]
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_a_wide_paragraph_would_be_seen(self):
        wide = "word " * 40
        self.assertTrue(wide_paragraphs("x.md", wide))
        self.assertFalse(wide_paragraphs("x.md", "| %s |\n```\n%s\n```\n    %s" % (wide, wide, wide)))


if __name__ == "__main__":
    main()

"""Every C and C++ file is as clang-format 14 and .clang-format leave it."""
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import SOURCE, main
from tree import files

TOOL = shutil.which("clang-format-14")


def unformatted(*paths):
    """The tool's complaints about these files, one line each."""
    done = subprocess.run([TOOL, "--dry-run", "-Werror", "--ferror-limit=1", *paths], capture_output=True, text=True, cwd=SOURCE)
    return [line for line in done.stderr.splitlines() if "error:" in line] or (["exit %d" % done.returncode] if done.returncode else [])


@unittest.skipUnless(TOOL, "clang-format-14 is not installed")
class Format(unittest.TestCase):
    def test_every_file_is_formatted(self):
        paths = files(".c", ".h", ".cc")
        self.assertGreater(len(paths), 5)
        wrong = unformatted(*paths)
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_an_unformatted_file_would_be_seen(self):
        with tempfile.NamedTemporaryFile("w", suffix=".c", dir=os.path.join(SOURCE, "tests", "repo")) as f:
            f.write("int  f( void ){return 1 ;}\n")
            f.flush()
            self.assertTrue(unformatted(f.name))


if __name__ == "__main__":
    main()

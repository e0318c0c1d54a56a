"""docs/ops.md is what the tables say."""
import os
import subprocess
import unittest

from harness import SOURCE, main

BUILD = os.environ["SLIPWAY_BUILD"]


class OpsDocument(unittest.TestCase):
    def test_it_is_what_the_tables_say(self):
        program = os.path.join(BUILD, "tests", "print_ops")
        printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        with open(os.path.join(SOURCE, "docs", "ops.md"), encoding="utf-8") as f:
            self.assertEqual(f.read(), printed, "make it anew: %s > docs/ops.md" % os.path.relpath(program, SOURCE))


if __name__ == "__main__":
    main()

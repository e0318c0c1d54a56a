"""docs/ops.md is what the tables say."""
import os
import re
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

    def test_it_names_and_counts_what_tensorflow_has_and_we_lack(self):
        def read(*path):
            with open(os.path.join(SOURCE, *path), encoding="utf-8") as f:
                return f.read()

        tensorflow = re.findall(r"^SERVING_OP\(([\w>]+)\)", read("tests", "golden", "ops", "serving_ops.def"), re.M)
        document, separator, missing = read("docs", "ops.md").partition("## What TensorFlow has and Slipway does not: ")
        self.assertTrue(separator)
        supported = set(re.findall(r"^\| ([\w>]+) \|", document, re.M))
        groups = re.findall(r"^\* .+: ([\w>]+(?:, [\w>]+)*)$", missing, re.M)  # a reason, and the ops that it explains
        named = sorted(name for group in groups for name in group.split(", "))
        self.assertEqual(tensorflow, sorted(set(tensorflow)), "serving_ops.def is sorted and names each op once")
        self.assertEqual(named, [name for name in tensorflow if name not in supported])
        self.assertEqual(missing.split()[0], str(len(named)))


if __name__ == "__main__":
    main()

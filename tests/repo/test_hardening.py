"""The programs are built with the usual defences, and load no library from the current directory."""
import os
import re
import subprocess
import unittest

from harness import TestCase, main, program

PROGRAMS = ("modelclient", "modelserver", "pstrain", "savedmodel")


def readelf(option, name):
    return subprocess.run(["readelf", "--wide", option, program(name)], capture_output=True, text=True, check=True).stdout


class Hardening(TestCase):
    def test_no_search_path_names_the_current_directory(self):
        for name in PROGRAMS:
            for path in re.findall(r"R(?:UN)?PATH\).*\[(.*)\]", readelf("--dynamic", name)):
                self.assertTrue(all(entry.startswith("/") for entry in path.split(":")), "%s searches %r" % (name, path))

    def test_relocations_are_bound_at_start_and_read_only(self):
        for name in PROGRAMS:
            self.assertRegex(readelf("--dynamic", name), r"FLAGS_1\).*\bNOW\b.*\bPIE\b")
            self.assertIn("GNU_RELRO", readelf("--program-headers", name))

    @unittest.skipUnless(os.uname().machine == "x86_64", "-fcf-protection exists on x86 only")
    def test_targets_of_indirect_branches_are_marked(self):
        for name in PROGRAMS:
            # The ELF property is absent: the linker drops it because Debian's own start files lack it.
            code = subprocess.run(["objdump", "--disassemble=main", program(name)], capture_output=True, text=True, check=True).stdout
            self.assertIn("endbr64", code)

    @unittest.skipIf(os.environ.get("SLIPWAY_SANITIZE"), "sanitizers replace these checks")
    def test_stacks_and_library_calls_are_checked(self):
        for name in PROGRAMS:
            symbols = readelf("--dyn-syms", name)
            for checked in ("__stack_chk_fail", "printf_chk"):
                self.assertTrue(checked in symbols, "%s does not call %s" % (name, checked))


if __name__ == "__main__":
    main()

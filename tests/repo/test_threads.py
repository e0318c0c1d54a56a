"""Every unit test that may start threads is run under ThreadSanitizer: add_unit_test has THREADS."""
import json
import os
import re
import subprocess

from harness import TestCase, main

# Their programs hold code that starts threads, of the runtime for example, and do not run it.
ONE_THREAD = r"(exporter|layers|runtime|savedmodel)/.*|graph/test_gradient|trainer/test_(await_rows|heartbeat|divided|model)"


class Threads(TestCase):
    def unit_tests(self):
        """{name: (labels, program)}"""
        build = os.environ.get("SLIPWAY_BUILD")
        if not build:
            self.skipTest("SLIPWAY_BUILD names no build directory (CTest sets it)")
        shown = subprocess.run(["ctest", "--show-only=json-v1", "--label-regex", "^unit$"], cwd=build, capture_output=True, text=True, check=True).stdout
        labels = {test["name"]: next(p["value"] for p in test["properties"] if p["name"] == "LABELS") for test in json.loads(shown)["tests"]}
        found = {name: (labels[name], os.path.join(build, "tests", name.replace("/", "_"))) for name in labels}
        return {name: test for name, test in found.items() if os.path.exists(test[1])}

    def test_what_starts_threads_is_registered_so(self):
        tests = self.unit_tests()
        self.assertTrue(tests)
        symbols = subprocess.run(["readelf", "--wide", "--dyn-syms", *(program for _, program in tests.values())],
                                 capture_output=True, text=True, check=True).stdout
        starts = {os.path.basename(part.split("\n")[0]): "pthread_create" in part for part in re.split("^File: ", symbols, flags=re.M)[1:]}
        for name, (labels, program) in tests.items():
            with self.subTest(name):
                if "threads" in labels:
                    self.assertTrue(starts[os.path.basename(program)], "has THREADS and starts none")
                elif not re.fullmatch(ONE_THREAD, name):
                    self.assertFalse(starts[os.path.basename(program)], "its add_unit_test lacks THREADS")


if __name__ == "__main__":
    main()

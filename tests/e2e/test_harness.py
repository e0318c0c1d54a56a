"""The harness itself: what a test starts is gone when the test is killed."""
import os
import subprocess
import sys

from harness import DEADLINE_S, TestCase, main

# What is started says itself that it runs: by then the kernel knows with whom it dies, which it need not when start() returns.
SCRIPT = """
import subprocess
import time
from harness import start
start(["sh", "-c", "echo runs; exec sleep 600"], stderr=subprocess.DEVNULL)
time.sleep(600)
"""


class Harness(TestCase):
    def test_a_killed_test_takes_what_it_started_along(self):
        with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True,
                              cwd=os.path.dirname(os.path.abspath(__file__))) as child:
            self.assertEqual(child.stdout.readline(), "runs\n")
            child.kill()
            child.communicate(timeout=DEADLINE_S)  # its stdout ends with the last process that has it


if __name__ == "__main__":
    main()

"""The harness itself: what a test starts is gone when the test is killed."""
import os
import signal
import subprocess
import sys
import time

from harness import DEADLINE_S, TestCase, main

SCRIPT = """
import time
from harness import start
print(start(["sleep", 600]).pid, flush=True)
time.sleep(600)
"""


class Harness(TestCase):
    def test_a_killed_test_takes_what_it_started_along(self):
        child = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True,
                                 cwd=os.path.dirname(os.path.abspath(__file__)))
        pid = int(child.stdout.readline())
        self.assertTrue(os.path.exists("/proc/%d" % pid))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        end = time.monotonic() + DEADLINE_S
        while os.path.exists("/proc/%d" % pid):
            self.assertLess(time.monotonic(), end, "process %d is still there" % pid)
            time.sleep(0.05)


if __name__ == "__main__":
    main()

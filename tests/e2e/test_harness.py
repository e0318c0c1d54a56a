"""The harness itself: processes that a test started end when the test is killed."""
import os
import subprocess
import sys
import tempfile

from harness import DEADLINE_S, TestCase, main, read_log, start

# The program says itself that it runs. By then the kernel knows that it dies with its parent; when start() returns, it may not yet.
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

    def test_a_log_that_is_read_while_it_is_written_stays_whole(self):
        with tempfile.TemporaryFile() as log:
            writer = start(["sh", "-c", "for i in $(seq 20000); do echo $i; done"], stdout=log)
            while writer.poll() is None:
                read_log(log)
            self.assertEqual(read_log(log).splitlines(), [str(n) for n in range(1, 20001)])


if __name__ == "__main__":
    main()

"""SIGINT, SIGTERM and SIGHUP end a training cleanly: a line that says so, 128 + the signal's number, nothing exported, nothing left."""
import os
import signal
import subprocess

from digits import write_digits
from harness import DEADLINE_S, TestCase, main, program, start


class TrainStop(TestCase):
    def stop(self, number, *flags):
        base = self.path("m%d%d" % (number, len(flags)))
        child = start([program("pstrain"), "--export_dir=" + os.path.join(base, "1"), "--train_dir=" + self.data,
                       "--training_iteration=100000000", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.kill)
        for line in child.stdout:
            if " step " in line:
                break
        child.send_signal(number)
        rest, errors = child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, 128 + number, errors)
        self.assertIn("stopped by %s" % signal.Signals(number).name, errors)
        self.assertIn("nothing was exported", errors)
        self.assertNotIn("Exported", rest)
        self.assertEqual(os.listdir(base) if os.path.exists(base) else [], [])

    def test_a_signal_ends_it_and_leaves_nothing(self):
        self.data = write_digits(self.path("data"), train=500, test=50)
        for number in (signal.SIGINT, signal.SIGTERM):
            for flags in ((), ("--sync",), ("--sync", "--workers=3")):
                with self.subTest(signal=number, flags=flags):
                    self.stop(number, *flags)
        self.stop(signal.SIGHUP)

    def test_under_nohup_the_end_of_a_terminal_does_not(self):
        self.data = write_digits(self.path("data"), train=500, test=50)
        child = start(["nohup", program("pstrain"), "--export_dir=" + self.path("m", "1"), "--train_dir=" + self.data,
                       "--training_iteration=300000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.kill)
        steps = (line for line in child.stdout if " step " in line)
        next(steps)
        child.send_signal(signal.SIGHUP)
        next(steps)
        child.send_signal(signal.SIGTERM)
        _, errors = child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, 128 + signal.SIGTERM, errors)


if __name__ == "__main__":
    main()

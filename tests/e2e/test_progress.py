"""What pstrain shows while it trains: one line that fits on a terminal, plain lines elsewhere."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from digits import write_digits
from harness import TestCase, clean_environment, head, main, program, run

# The loss of both steps is a number, the loss after them is not.
DIVERGES = ["--model=linear", "--sync", "--training_iteration=2", "--learning_rate=1e9"]

STEPS = 6000  # a second or so: several lines are drawn


class Progress(TestCase):
    def setUp(self):
        super().setUp()
        self.flags = ["--train_dir=" + write_digits(self.path("data"), train=500, test=50), "--training_iteration=%d" % STEPS, "--batch_size=10"]

    def on_terminal(self, columns, *flags, **environment):
        """What a terminal of that width shows."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        child = subprocess.Popen([program("pstrain"), *self.flags, "--noexport", *flags], stdin=subprocess.DEVNULL,
                                 stdout=theirs, stderr=theirs, env=clean_environment(**environment))
        self.addCleanup(child.kill)
        os.close(theirs)
        seen = b""
        try:
            while data := os.read(ours, 65536):
                seen += data
        except OSError:
            pass  # how Linux says that the other end is closed
        os.close(ours)
        self.assertEqual(child.wait(), 0, seen)
        return seen.decode()

    def test_the_line_is_never_wider_than_the_terminal(self):
        for columns, bar in ((200, r"\[[#.]{30}\] "), (80, r"\[[#.]{8,30}\] "), (40, "")):
            with self.subTest(columns=columns):
                drawn = [line.split("\x1b[K")[0] for line in self.on_terminal(columns).split("\r") if "\x1b[K" in line]
                self.assertGreater(len(drawn), 0)
                for line in drawn:
                    self.assertRegex(line, "^%sstep \\d+/%d  loss" % (bar, STEPS))
                    self.assertLess(len(line), columns)

    def test_the_loss_is_drawn_at_the_end(self):
        for locale, dot in (("C", "\\*"), ("C.UTF-8", "[\u2801-\u28ff]")):
            with self.subTest(locale):
                shown = self.on_terminal(60, LC_ALL=locale)
                self.assertRegex(shown, r"(?s)Trained 6\d{3} steps.*\n {12}loss \(log scale\) by step\r\n +\d\S+ \|%s.*\r\nTest: " % dot)
                self.assertRegex(shown, r"\n {11}\+-{48}\r\n {12}\d+ +\d+\r\n")

    def test_the_loss_is_not_drawn_where_it_has_no_place(self):
        for columns, flags in ((60, ["--noplot"]), (60, ["--log_level=warning"]), (20, [])):
            with self.subTest(columns=columns, flags=flags):
                self.assertNotIn("by step", self.on_terminal(columns, *flags))

    def test_elsewhere_lines_are_plain(self):
        done = run("pstrain", *self.flags, "--export_dir=" + self.path("m", "1"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stdout + done.stderr, "[\r\x1b]|by step")
        steps = re.findall(r"^%sstep (\d+)/%d  loss \S+  \S+ [kM] rows/s(?:  ETA \d+ s)?$" % (head(), STEPS), done.stdout, re.M)
        self.assertEqual(steps[-1], str(STEPS))
        self.assertEqual(steps.count(str(STEPS)), 1)
        for words in ("Trained", "Test: ", "Exported to"):
            self.assertRegex(done.stdout, "(?m)^%s%s" % (head(), words))

    def test_log_level_none_is_silent(self):
        done = run("pstrain", *self.flags, "--export_dir=" + self.path("m", "1"), "--log_level=none")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        done = run("pstrain", *DIVERGES, "--export_dir=" + self.path("m", "2"), "--log_level=none")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", ""))

    def test_a_small_loss_has_digits_that_matter(self):
        done = run("pstrain", *self.flags, "--export_dir=" + self.path("m", "1"))
        self.assertRegex(done.stdout, r"step 6000/6000  loss (0\.\d{4}|0\.0*[1-9]\d{3}|[1-9]\.\d+e-\d+|0\.0000)  ")
        self.assertNotIn("loss 0.0000 ", done.stdout)

    def test_nothing_is_exported_when_the_last_loss_is_no_number(self):
        done = run("pstrain", *DIVERGES, "--export_dir=" + self.path("m", "1"))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("nothing was exported", done.stderr)
        self.assertFalse(os.path.exists(self.path("m", "1")))


if __name__ == "__main__":
    main()

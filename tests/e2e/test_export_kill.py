"""Kills pstrain at random moments around the export: the base path never holds half a version, and a retry just works."""
import json
import os
import random
import signal
import subprocess
import threading
import time

from digits import WIDE, write_digits
from harness import DEADLINE_S, SANITIZED, TestCase, main, program, run, start, train

KILLS = 20 if SANITIZED else 50


def numbered(base):
    return [n for n in os.listdir(base) if n.isdigit()]


def names(directory):
    try:
        return set(os.listdir(directory))
    except FileNotFoundError:
        return set()


def inode(directory):
    try:
        return os.stat(directory).st_ino
    except FileNotFoundError:
        return None


class Watch:
    """Polls the base path as a server does: a version must be complete from the moment its directory appears."""

    def __init__(self, base):
        self.base, self.wrong, self.looks, self.stopping = base, [], 0, False
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.stopping:
            for version in numbered(self.base):
                directory = os.path.join(self.base, version)
                # The test itself takes a version away by one rename, and another may come in its place.
                before, have = inode(directory), names(directory) | names(os.path.join(directory, "variables"))
                whole = {"saved_model.pb", "variables.index", "variables.data-00000-of-00001"} <= have
                if not whole and before and inode(directory) == before:
                    self.wrong.append((version, sorted(have)))
            self.looks += 1
            time.sleep(0.001)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        self.thread.join(DEADLINE_S)


class ExportKill(TestCase):
    def test_a_kill_leaves_no_version_or_a_whole_one(self):
        data = write_digits(self.path("data"), train=200, test=50)
        base, away = self.path("model"), self.path("away")
        os.makedirs(base)
        os.makedirs(away)
        with open(self.path("wide.json"), "w", encoding="utf-8") as f:
            json.dump(WIDE, f)
        flags = ["--model=%s" % self.path("wide.json"), "--train_dir=%s" % data, "--training_iteration=1", "--batch_size=10",
                 "--work_dir=%s" % self.path("work"), "--log_level=error"]

        # Once undisturbed: when does the export begin (something appears beside the final name), when does it end?
        begun = time.monotonic()
        child = self.start(base, flags)
        first = None
        while child.poll() is None:
            if first is None and os.listdir(base):
                first = time.monotonic() - begun
            time.sleep(0.0005)
        last = time.monotonic() - begun
        self.assertEqual(child.returncode, 0, child.stderr.read())
        self.check(base)
        os.rename(os.path.join(base, "1"), os.path.join(away, "whole"))
        first = first or last * 0.5

        draw = random.Random(os.environ.get("SLIPWAY_SEED") or time.time_ns())
        left = {"none": 0, "whole": 0, "temporary": 0}
        with Watch(base) as watch:
            for kill in range(KILLS):
                child = self.start(base, flags)
                if kill % 2:  # at a moment counted from the start …
                    time.sleep(draw.uniform(max(0, first - 0.1 * last), last * 1.05))
                else:  # … or from the first sign of the export
                    while child.poll() is None and not os.listdir(base):
                        time.sleep(0.0002)
                    time.sleep(draw.uniform(0, (last - first) * 1.1))
                child.send_signal(signal.SIGKILL)
                child.wait(DEADLINE_S)
                found = numbered(base)
                left["whole" if found else "none"] += 1
                left["temporary"] += len(os.listdir(base)) > len(found)
                if found:
                    self.assertEqual(found, ["1"])
                    self.check(base)
                    os.rename(os.path.join(base, "1"), os.path.join(away, str(kill)))
                # The leftovers beside the final name stay there for the next kill, as they would for a user's retry.
            self.assertGreater(watch.looks, 0)
        self.assertEqual(watch.wrong, [])
        print("killed %d times: %d no version, %d a whole one, %d with an unfinished one beside" %
              (KILLS, left["none"], left["whole"], left["temporary"]), flush=True)
        self.assertGreater(left["none"], 0, "no kill came before the end: the test proves nothing")
        train(os.path.join(base, "1"), *flags)
        self.check(base)
        self.assertEqual(os.listdir(base), ["1"], "the retry leaves nothing of the killed ones behind")

    def start(self, base, flags):
        return start([program("pstrain"), "--export_dir=%s" % os.path.join(base, "1"), *flags], text=True,
                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def check(self, base):
        """The version loads with its checksums verified, and answers."""
        done = run("savedmodel", "run", os.path.join(base, "1"), "--signature", "predict_images",
                   "--input", "images=" + json.dumps([[0.5] * 784]))
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    main()

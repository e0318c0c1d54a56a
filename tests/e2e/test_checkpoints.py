"""--checkpoint_dir: a job that was killed goes on from its last checkpoint, at any moment, with another number of ps, to the same bits;
at most so many checkpoints are kept, and nothing of a killed one stays."""
import json
import os
import random
import re
import select
import signal
import subprocess
import time

from digits import write_digits
from harness import DEADLINE_S, SANITIZED, TestCase, main, mount_tmpfs, program, run, start

KILLS = 25
MODEL = {"class_name": "Sequential", "config": {"name": "deep", "layers": [
    {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 784], "dtype": "float32", "name": "x"}},
    {"class_name": "Dense", "config": {"name": "hidden", "units": 600, "activation": "relu"}},
    {"class_name": "Dropout", "config": {"name": "dropout", "rate": 0.2}},
    {"class_name": "Dense", "config": {"name": "scores", "units": 10, "activation": "softmax"}}]}}


def names(directory):
    return sorted(os.listdir(directory))


def listed(directory):
    with open(os.path.join(directory, "checkpoint"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    paths = [re.fullmatch(r'(\w+): "(.*)"', line).groups() for line in lines]
    latest = [value for key, value in paths if key == "model_checkpoint_path"]
    return latest[0], [value for key, value in paths if key == "all_model_checkpoint_paths"]


def state(directory):
    """The checkpoints that the state file lists; None: there is no such file yet."""
    try:
        with open(os.path.join(directory, "checkpoint"), encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return None


def files_of(checkpoints):
    return sorted(["checkpoint"] + [name + end for name in checkpoints for end in (".index", ".data-00000-of-00001")])


def steps(directory):
    return [int(name[len("model.ckpt-"):-len(".index")]) for name in names(directory) if re.fullmatch(r"model\.ckpt-\d+\.index", name)] or [-1]


class Checkpoints(TestCase):
    def setUp(self):
        super().setUp()
        self.data = write_digits(self.path("data"), train=300, test=50)
        self.exports = 0
        with open(self.path("deep.json"), "w", encoding="utf-8") as f:
            json.dump(MODEL, f)

    def command(self, directory, *flags):
        self.exports += 1
        return [program("pstrain"), "--model=%s" % self.path("deep.json"), "--train_dir=%s" % self.data, "--batch_size=20",
                "--optimizer=adam", "--checkpoint_dir=%s" % self.path(directory), "--export_dir=%s" % self.path("model", str(self.exports)),
                *flags]

    def train(self, directory, *flags):
        done = run(*self.command(directory, *flags))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def exported(self):
        with open(self.path("model", str(self.exports), "variables", "variables.data-00000-of-00001"), "rb") as f:
            return f.read()

    def test_a_resumed_job_ends_with_the_bits_of_one_that_was_not_stopped(self):
        self.train("whole", "--sync", "--stop_at_step=30")
        whole = self.exported()
        for steps, ps in ((7, 1), (20, 3), (30, 5)):
            out = self.train("parts", "--sync", "--stop_at_step=%d" % steps, "--ps=%d" % ps)
        self.assertIn("Restored %s/model.ckpt-20, step 20" % self.path("parts"), out)
        self.assertIn("Trained 10 steps", out)
        self.assertEqual(self.exported(), whole)
        self.assertEqual(listed(self.path("parts")), ("model.ckpt-30", ["model.ckpt-%d" % s for s in (0, 7, 20, 30)]))

    def test_the_first_the_last_and_every_so_many_steps_and_only_so_many_are_kept(self):
        for steps in (10, 20, 30):
            self.train("ckpt", "--sync", "--stop_at_step=%d" % steps, "--max_to_keep=3", "--workers=1")
        kept = ["model.ckpt-%d" % s for s in (10, 20, 30)]  # the first, of step 0, is gone
        self.assertEqual(listed(self.path("ckpt")), ("model.ckpt-30", kept))
        self.assertEqual(names(self.path("ckpt")), files_of(kept))
        # How many there are between the first and the last depends on the disk: those that are due meanwhile become one.
        self.train("often", "--sync", "--stop_at_step=40", "--save_checkpoint_steps=10", "--max_to_keep=0", "--workers=1")
        kept = listed(self.path("often"))[1]
        self.assertEqual((kept[0], kept[-1]), ("model.ckpt-0", "model.ckpt-40"))
        self.train("all", "--stop_at_step=5", "--max_to_keep=0")
        self.assertEqual(listed(self.path("all"))[1][0], "model.ckpt-0")

    def test_a_kill_at_any_moment_leaves_the_last_checkpoint_and_the_next_start_cleans_up(self):
        draw = random.Random(os.environ.get("SLIPWAY_SEED") or time.time_ns())
        directory = self.path("ckpt")
        flags = ["--stop_at_step=1000000", "--save_checkpoint_secs=0.001", "--max_to_keep=2", "--log_level=info"]
        before, unfinished = -1, 0
        for kill in range(KILLS):
            found, end = state(directory), time.monotonic() + DEADLINE_S
            child = start(self.command("ckpt", *flags), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            # Most as soon as they write checkpoints; some at once, so that kills hit starts that clean up, too.
            while (kill % 3 or not found) and state(directory) == found and time.monotonic() < end:
                time.sleep(0.001)
            time.sleep(draw.uniform(0, 0.3))
            child.send_signal(signal.SIGKILL)
            out, err = child.communicate(timeout=DEADLINE_S)
            self.assertEqual(child.returncode, -signal.SIGKILL, err)
            latest, kept = listed(directory)
            self.assertEqual(kept[-1], latest)
            have = names(directory)
            for end in (".index", ".data-00000-of-00001"):
                self.assertIn(latest + end, have)
            unfinished += any("unfinished" in name for name in have)
            step = int(latest.rpartition("-")[2])
            self.assertGreaterEqual(step, before)
            before = step
        out = self.train("ckpt", "--stop_at_step=%d" % (before + 5), "--max_to_keep=2")
        self.assertIn("Restored", out)
        print("killed %d times, %d with an unfinished checkpoint; the last one was step %d" % (KILLS, unfinished, before), flush=True)
        self.assertGreater(unfinished, 0, "no kill came while a checkpoint was written: the test proves nothing")
        latest, kept = listed(directory)
        self.assertEqual(len(kept), 2)
        self.assertEqual(names(directory), files_of(kept))

    def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(self):
        for steps in (5, 9):
            self.train("ckpt", "--sync", "--stop_at_step=%d" % steps)
        data = self.path("ckpt", "model.ckpt-9.data-00000-of-00001")
        with open(data, "r+b") as f:
            f.seek(100000)
            f.write(b"damaged")
        done = run(*self.command("ckpt", "--sync", "--stop_at_step=12"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r" W .*model\.ckpt-9.*; trying the one before")
        self.assertIn("Restored %s/model.ckpt-5, step 5" % self.path("ckpt"), done.stdout)

    def test_what_cannot_work_is_refused_before_training(self):
        with open(self.path("file"), "w", encoding="utf-8") as f:
            f.write("x")
        done = run(*self.command("file", "--stop_at_step=5"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("--checkpoint_dir", done.stderr)
        os.makedirs(self.path("ckpt"))
        with open(self.path("ckpt", "checkpoint"), "w", encoding="utf-8") as f:
            f.write("model_checkpoint_path: model")
        done = run(*self.command("ckpt", "--stop_at_step=5"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("CheckpointState", done.stderr)

    def test_a_damaged_state_file_is_written_anew_from_the_checkpoints_beside_it(self):
        for steps in (9, 10):
            self.train("ckpt", "--sync", "--stop_at_step=%d" % steps)
        for damage in ("model_checkpoint_path: model", ""):
            with open(self.path("ckpt", "checkpoint"), "w", encoding="utf-8") as f:
                f.write(damage)
            done = run(*self.command("ckpt", "--sync", "--stop_at_step=11", "--max_to_keep=2"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, "W .*the state file '%s/checkpoint' is damaged" % self.path("ckpt"))
            self.assertRegex(done.stdout, r"Restored %s/model.ckpt-1[01]," % self.path("ckpt"))
        # No state file lists those over the limit, so nothing removes them.
        self.assertEqual(listed(self.path("ckpt")), ("model.ckpt-11", ["model.ckpt-10", "model.ckpt-11"]))
        self.assertIn("model.ckpt-0.index", names(self.path("ckpt")))

    def test_checkpoints_without_a_state_file_are_mentioned(self):
        self.train("ckpt", "--sync", "--stop_at_step=5")
        os.remove(self.path("ckpt", "checkpoint"))
        done = run(*self.command("ckpt", "--sync", "--stop_at_step=3"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "W .*holds model.ckpt-5, but no state file 'checkpoint'.*starts from scratch")
        self.assertNotIn("Restored", done.stdout)

    def test_the_export_is_made_although_the_last_checkpoint_fails(self):
        mount_tmpfs(self, self.path("ckpt"), "size=32m")
        steps = 300 if SANITIZED else 2000  # more time than it takes to see the first checkpoint
        child = start(self.command("ckpt", "--sync", "--workers=1", "--stop_at_step=%d" % steps, "--max_to_keep=0"), text=True,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while state(self.path("ckpt")) is None:
            self.assertIsNone(child.poll(), "it ended")
            time.sleep(0.001)
        child.send_signal(signal.SIGSTOP)  # it must not end before the disk is full
        with open(self.path("ckpt", "filler"), "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"x" * 65536)
            except OSError:
                pass
        child.send_signal(signal.SIGCONT)
        out, err = child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, 1, err)
        self.assertIn("the last checkpoint failed", err)
        self.assertIn("Exported to %s" % self.path("model", str(self.exports)), out)
        self.assertTrue(os.path.exists(self.path("model", str(self.exports), "saved_model.pb")))

    def test_who_stops_it_is_told_where_it_would_go_on(self):
        child = start(self.command("ckpt", "--stop_at_step=1000000"), text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not os.path.exists(self.path("ckpt", "checkpoint")):
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=DEADLINE_S)
        self.assertEqual(child.returncode, 130)
        self.assertRegex(error, r"stopped by SIGINT at step \d+; nothing was exported; the last checkpoint is \S+/model.ckpt-0\n")

    def test_a_disk_that_is_full_for_a_while_costs_only_the_checkpoints_meanwhile(self):
        mount_tmpfs(self, self.path("ckpt"), "size=32m")
        child = start(self.command("ckpt", "--stop_at_step=1000000", "--save_checkpoint_steps=20", "--max_to_keep=1"), text=True,
                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            filler = self.path("ckpt", "filler")
            while not os.path.exists(self.path("ckpt", "checkpoint")):
                time.sleep(0.01)
            with open(filler, "wb", buffering=0) as f:
                # Repeats: removing a checkpoint that a later one replaces makes room for the next.
                while not select.select([child.stderr], [], [], 0.02)[0]:
                    try:
                        while True:
                            f.write(b"x" * 65536)
                    except OSError:
                        pass
            said = child.stderr.readline()
            self.assertRegex(said, "training continues without this checkpoint: .*No space left on device")
            before = max(steps(self.path("ckpt")))
            os.remove(filler)
            end = time.monotonic() + DEADLINE_S
            while max(steps(self.path("ckpt"))) <= before:
                self.assertLess(time.monotonic(), end, "no checkpoint is made any more")
                time.sleep(0.05)
        finally:
            child.kill()
            child.communicate()

    def test_two_jobs_do_not_write_into_one_directory(self):
        child = start(self.command("ckpt", "--stop_at_step=1000000"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + DEADLINE_S
            while not os.path.exists(self.path("ckpt", "checkpoint")) and time.monotonic() < end:
                time.sleep(0.01)
            done = run(*self.command("ckpt", "--stop_at_step=5"))
            self.assertEqual(done.returncode, 2)
            self.assertIn("another process writes checkpoints to", done.stderr)
        finally:
            child.kill()
            child.wait(DEADLINE_S)


if __name__ == "__main__":
    main()

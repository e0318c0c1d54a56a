"""scripts/quickstart does what the README says: builds, trains, exports, serves, asks, shows the answers, and stops."""
import json
import os
import re
import socket
import subprocess

from harness import SOURCE, TestCase, clean_environment, free_port, main


def quickstart(*arguments):
    return subprocess.run([os.path.join(SOURCE, "scripts", "quickstart"), *arguments], capture_output=True, text=True, timeout=1500,
                          stdin=subprocess.DEVNULL, env=clean_environment())


class Quickstart(TestCase):
    def test_trains_exports_serves_asks_and_stops(self):
        port = free_port()
        programs = [os.path.join(SOURCE, "build", "release", "bin", name) for name in ("modelclient", "modelserver", "pstrain", "savedmodel")]
        for program in programs:
            if os.path.exists(program):
                os.remove(program)
        done = quickstart("--once", "--port", str(port), "--work_dir", self.dir)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
        for program in programs:
            self.assertTrue(os.access(program, os.X_OK), "README.md goes on with " + program)
        predictions = re.findall(r'"predictions": (\[.*?\n?\s*\])\n\}', done.stdout, re.S)
        self.assertEqual(len(predictions), 3, done.stdout)
        # The three digits that it draws are plain enough for any classifier that learned something.
        self.assertEqual([max(range(10), key=json.loads(p)[0].__getitem__) for p in predictions], [0, 1, 7], done.stdout)
        self.assertEqual(len(re.findall(r'"results"', done.stdout)), 3)
        with socket.socket() as s:
            self.assertNotEqual(s.connect_ex(("127.0.0.1", port)), 0, "the server still runs")

    def test_a_second_run_exports_the_next_version_and_takes_another_port_when_its_own_is_busy(self):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", 8501))
                s.listen()
            except OSError:
                pass  # already in use, which is as good
            for version in ("1", "2"):
                done = quickstart("--work_dir", self.dir)
                self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
                self.assertNotIn("on port 8501:", done.stdout)
                self.assertIn(version, os.listdir(self.path("model")))

    def test_a_named_port_that_is_busy_is_one_clear_error(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            done = quickstart("--once", "--port", str(s.getsockname()[1]), "--work_dir", self.dir)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is in use", done.stderr.splitlines()[-1])

    def test_unknown_arguments_and_impossible_values_exit_2(self):
        for arguments in (["--oncee"], ["--port", "eighty"], ["--port"], ["--model", "giant"]):
            done = quickstart(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    main()

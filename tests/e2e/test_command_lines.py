"""Common to all programs' command lines: help, versions, misspelt flags, an output that cannot be written."""
import os
import re
import shutil
import signal
import subprocess
import time

from harness import DEADLINE_S, Server, TestCase, clean_environment, free_port, main, program, run, start, train

# Each way to reach a table of flags, a misspelt flag, and the flag that was meant.
TABLES = ((("pstrain",), "--modle=mlp", "--model"), (("pstrain", "doctor"), "--ps_host=a:1", "--ps_hosts"),
          (("modelserver",), "--rest_port=1", "--rest_api_port"), (("modelclient", "predict"), "--inptu=x=1", "--input"),
          (("modelclient", "status"), "-sever=a:1", "--server"), (("savedmodel", "show"), "--jsno", "--json"),
          (("savedmodel", "run"), "--signatur=x", "--signature"), (("savedmodel", "convert"), "--too=x", "--to"))


class CommandLines(TestCase):
    def test_help_lists_the_flags_in_groups(self):
        text = run("pstrain", "--help").stdout
        order = ["\nthe model:\n  --model=softmax\n", "\n\nthe data:\n", "\n\nsteps, optimizer and loss:\n", "\n\ninitial values:\n",
                 "\n\nworkers and parameter servers:\n", "\n\nthe export:\n  --export_dir", "\n\ncheckpoints:\n", "\n\na job in one process:\n",
                 "\n\na task of a cluster:\n  --ps_hosts", "\n\nan evaluator:\n", "\n\nthe program:\n"]
        places = [text.find(words) for words in order]
        self.assertEqual(places, sorted(places), text)
        self.assertNotIn(-1, places, text)

    def test_help_in_each_form(self):
        for command, _, meant in TABLES:
            for form in ("--help", "-h"):
                with self.subTest(command=command, form=form):
                    done = run(*command, form, cwd=self.path())
                    self.assertEqual((done.returncode, done.stderr), (0, ""), done)
                    self.assertIn(meant + "=" if meant != "--json" else "--[no]json", done.stdout)
        for name in ("modelclient", "savedmodel"):
            for form in ("--help", "-h", "help"):
                with self.subTest(command=name, form=form):
                    done = run(name, form)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertEqual(os.listdir(self.path()), [], "no flag is taken for a directory")

    def test_versions(self):
        for name in ("pstrain", "modelserver", "modelclient", "savedmodel"):
            done = run(name, "--version")
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
            self.assertTrue(done.stdout.startswith(name + " "), done.stdout)

    def test_a_misspelt_flag_is_named_with_what_was_meant(self):
        for command, misspelt, meant in TABLES:
            with self.subTest(misspelt):
                done = run(*command, misspelt, cwd=self.path())
                self.assertEqual((done.returncode, done.stdout), (2, ""), done)
                self.assertEqual(done.stderr, "%s: unknown argument: %s; did you mean %s?\n" % (command[0], misspelt.split("=")[0], meant))

    def test_a_flag_is_not_taken_for_the_value_of_the_one_before(self):
        done = run("pstrain", "--export_dir", "--sync", cwd=self.path())
        self.assertEqual((done.returncode, done.stderr), (2, "pstrain: --export_dir has no value\n"), done)

    def test_help_of_doctor_lists_the_flags_of_a_cluster_only(self):
        text = run("pstrain", "doctor", "--help").stdout
        self.assertIn("\na task of a cluster:\n  --ps_hosts=", text)
        self.assertIn("--cluster_token_file=", text)
        for other in ("--model=", "--evaluate_steps=", "--[no]plot"):
            self.assertNotIn(other, text)

    def test_doctor_comes_first(self):
        done = run("pstrain", "--ps_hosts=localhost:1", "--worker_hosts=localhost:2", "doctor", cwd=self.path())
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("doctor", done.stderr)

    def test_a_word_that_is_no_command_is_not_taken_for_a_directory(self):
        for words in (("docter",), ("--training_iteration=1", "predcit"), ("shema", "data.csv")):
            with self.subTest(words):
                done = run("pstrain", *words, cwd=self.path())
                self.assertEqual((done.returncode, done.stdout), (2, ""), done)
                self.assertIn("is none of the commands schema, ", done.stderr)
        self.assertEqual(os.listdir(self.path()), [])
        os.mkdir(self.path("mine"))
        for word in ("mine", "./yours"):
            done = run("pstrain", "--training_iteration=1", word, cwd=self.path())
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual(os.listdir(self.path(word)), ["1"])

    def test_help_lists_the_commands(self):
        text = run("pstrain", "--help").stdout
        self.assertRegex(text, r"(?s)to tell it from a command\.\n\ncommands, .*\n  schema     print .*\n  doctor     connect to every task.*\n  supervise  run a task.*\n  --model=")
        self.assertIn("usage: pstrain schema ", run("pstrain", "schema", "--help").stdout)

    def test_an_output_that_cannot_be_written_is_an_error(self):
        train(self.path("model", "1"), "--training_iteration=1")
        with open("/dev/full", "w") as full:
            done = subprocess.run([program("savedmodel"), "show", self.path("model", "1")], stdout=full, stderr=subprocess.PIPE,
                                  env=clean_environment(), text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "savedmodel: write to the standard output: No space left on device\n"))
        for name in ("pstrain", "modelserver", "modelclient", "savedmodel"):
            for flag in ("--help", "--version"):
                with self.subTest(name=name, flag=flag), open("/dev/full", "w") as full:
                    done = subprocess.run([program(name), flag], stdout=full, stderr=subprocess.PIPE, env=clean_environment(), text=True)
                    self.assertEqual((done.returncode, done.stderr), (1, name + ": write to the standard output: No space left on device\n"))

    def test_a_directory_of_versions_and_a_version_are_told_apart(self):
        train(self.path("model", "7"), "--training_iteration=1")
        for name in ("10", "11.old", "backup", "99999999999999999999"):
            shutil.copytree(self.path("model", "7"), self.path("model", name))
        for command, code in ((["savedmodel", "show", self.path("model")], 1),
                              (["pstrain", "predict", self.path("model"), "--predict_files=x.csv"], 2),
                              (["pstrain", "--from_savedmodel", self.path("model"), "--noexport"], 2)):
            done = run(*command)
            self.assertEqual(done.returncode, code, done)
            self.assertIn("; did you mean '%s'?\n" % self.path("model", "10"), done.stderr)
        with Server(self.path("model", "7"), wait=False) as server:
            server.wait_for_output("which is a version itself: give the directory above it")

    def test_a_path_may_be_a_uri_of_a_local_file(self):
        for command in (["savedmodel", "show", "file:///no/such"], ["savedmodel", "convert", "file:///no/such", self.path("copy")],
                        ["modelclient", "replay", "file:///no/such"], ["modelclient", "status", "--tls", "--tls_ca=file:///no/such"]):
            with self.subTest(command=command):
                errors = run(*command).stderr
                self.assertIn("/no/such", errors)
                self.assertNotIn("file:", errors)

    def test_what_is_printed_with_stdout_and_stderr_closed_goes_nowhere(self):
        """Output must not go to a file or socket that got the number of a closed stream."""
        for command in (["modelserver", "--model_base_path=" + self.path("nowhere"), "--port=0", "--rest_api_port=%d" % free_port()],
                        ["pstrain", "--ps_hosts=localhost:%d" % free_port(), "--worker_hosts=localhost:%d" % free_port(), "--job_name=ps",
                         "--task_index=0"]):
            child = start(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", program(command[0]), *command[1:]])
            self.addCleanup(child.kill)
            wanted, end = ["/dev/null"] * 3, time.monotonic() + DEADLINE_S
            while (have := self.standard_files(child.pid)) != wanted and time.monotonic() < end:
                time.sleep(0.02)
            self.assertEqual(have, wanted)
            child.terminate()
            child.wait()

    def test_a_file_that_cannot_be_read_is_named_with_its_flag(self):
        flags = re.findall(r"\n  (--\w+_file)=…", run("modelserver", "--help").stdout)
        flags.remove("--thread_pool_factory_config_file")  # refused
        self.assertIn("--monitoring_config_file", flags)
        for flag in flags:
            with self.subTest(flag=flag):
                done = run("modelserver", "--model_base_path=" + self.path(), "--enable_batching", "%s=%s" % (flag, self.path("no")))
                words = "%s: open '%s': No such file or directory\n" % (flag, self.path("no"))
                self.assertEqual((done.returncode, done.stdout), (255, "Failed to start server. Error: NOT_FOUND: " + words))
                self.assertIn(words, done.stderr)

    def test_a_signal_is_heard_from_the_first_line_of_main(self):
        """The signal waits for the program, which is started with it blocked: it comes before the command line is found to be wrong."""
        for name, status, words in (("modelserver", 0, ""), ("pstrain", 128, "pstrain: stopped by %s\n")):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                with self.subTest(name=name, signal=number):
                    def send():
                        signal.signal(number, signal.SIG_DFL)  # nohup, under which tests may run, ignores SIGHUP
                        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
                        os.kill(os.getpid(), number)
                    done = subprocess.run([program(name), "--no_such_flag"], preexec_fn=send, capture_output=True, timeout=DEADLINE_S,
                                          env=clean_environment(), text=True)
                    self.assertEqual(done.returncode, status and status + number, done)
                    self.assertEqual(done.stderr, words and words % number.name)

    @staticmethod
    def standard_files(pid):
        try:
            return [os.readlink("/proc/%d/fd/%d" % (pid, fd)) for fd in range(3)]
        except OSError:
            return None


if __name__ == "__main__":
    main()

"""What all programs' command lines have in common: help, versions, typing errors, an output that cannot be written."""
import os
import subprocess

from harness import TestCase, clean_environment, main, program, run, train

# Each way to reach a table of flags, and a misspelt flag of it with what was meant.
TABLES = ((("pstrain",), "--modle=mlp", "--model"), (("pstrain", "doctor"), "--ps_host=a:1", "--ps_hosts"),
          (("modelserver",), "--rest_port=1", "--rest_api_port"), (("modelclient", "predict"), "--inptu=x=1", "--input"),
          (("modelclient", "status"), "-sever=a:1", "--server"), (("savedmodel", "show"), "--jsno", "--json"),
          (("savedmodel", "run"), "--signatur=x", "--signature"))


class CommandLines(TestCase):
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

    def test_doctor_comes_first(self):
        done = run("pstrain", "--ps_hosts=localhost:1", "--worker_hosts=localhost:2", "doctor", cwd=self.path())
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("doctor", done.stderr)

    def test_an_output_that_cannot_be_written_is_an_error(self):
        train(self.path("model", "1"), "--training_iteration=1")
        with open("/dev/full", "w") as full:
            done = subprocess.run([program("savedmodel"), "show", self.path("model", "1")], stdout=full, stderr=subprocess.PIPE,
                                  env=clean_environment(), text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "savedmodel: write to the standard output: No space left on device\n"))


if __name__ == "__main__":
    main()

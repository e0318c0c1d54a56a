"""After cmake --install to another place, the programs work there without the tree that they were built in."""
import glob
import gzip
import os
import re
import subprocess

from digits import write_digits
from harness import TestCase, main, run


class Installed(TestCase):
    def test_installed_programs_work_from_anywhere(self):
        build = os.environ.get("SLIPWAY_BUILD")
        if not build:
            self.skipTest("SLIPWAY_BUILD names no build directory (CTest sets it)")
        prefix = self.path("prefix")
        done = subprocess.run(["cmake", "--install", build, "--prefix", prefix], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        programs = sorted(os.listdir(os.path.join(prefix, "bin")))
        self.assertEqual(programs, ["modelclient", "modelserver", "pstrain", "savedmodel"])
        data = write_digits(self.path("data"), train=200, test=50)
        for name in programs:
            done = run(os.path.join(prefix, "bin", name), "--help", cwd="/")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(name, done.stdout)
            self.assertEqual(run(os.path.join(prefix, "bin", name), "--version", cwd="/").returncode, 0)
        for model in ("softmax", "mlp", "convnet", "linear"):
            export = self.path(model, "1")
            digits = ["--train_dir=" + data] if model != "linear" else []
            done = run(os.path.join(prefix, "bin", "pstrain"), "--model=" + model, *digits, "--training_iteration=1",
                       "--export_dir=" + export, "--work_dir=" + self.path("work"), cwd="/")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(run(os.path.join(prefix, "bin", "savedmodel"), "show", export, cwd="/").returncode, 0)

    def test_manual_pages_and_completion_know_what_help_prints(self):
        build = os.environ.get("SLIPWAY_BUILD")
        if not build:
            self.skipTest("SLIPWAY_BUILD names no build directory (CTest sets it)")
        prefix = self.path("prefix")
        subprocess.run(["cmake", "--install", build, "--prefix", prefix], capture_output=True, check=True)

        def flags(text):
            return re.findall(r"^  --(?:\[no\])?([a-z0-9_]+)", text, re.M)

        def complete(name, *words):
            """What bash offers in place of the last word."""
            script = ('source "$1"; program=$2; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                      '_slipway "$program" "${COMP_WORDS[COMP_CWORD]}"; printf "%s\\n" "${COMPREPLY[@]}"')
            done = subprocess.run(["bash", "-c", script, "bash", os.path.join(prefix, "share/bash-completion/completions", name),
                                   os.path.join(prefix, "bin", name), name, *words], capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")
            return done.stdout.split()

        for name, commands in (("modelserver", []), ("modelclient", ["predict", "replay"]), ("savedmodel", ["show", "convert"]),
                               ("pstrain", ["schema", "launch"])):
            with gzip.open(os.path.join(prefix, "share/man/man1", name + ".1.gz"), "rt", encoding="utf-8") as f:
                page = f.read()
            self.assertTrue(page.startswith(".TH %s 1 " % name.upper()), page[:100])
            for command in [[], *([command] for command in commands)]:
                known = flags(run(os.path.join(prefix, "bin", name), *command, "--help").stdout)
                self.assertEqual(known != [], name in ("modelserver", "pstrain") or command != [])
                section = page.split(".SH COMMAND %s\n" % command[0].upper())[1] if command else page
                for flag in known:
                    self.assertRegex(section, r"(?m)^\\fB\\-\\-(\[no\])?%s\b" % flag)
                offered = complete(name, *command, "-")
                self.assertEqual(len(offered), len(set(offered)))
                self.assertLessEqual({"--" + flag for flag in known}, {word.rstrip("=") for word in offered})
            if commands:
                self.assertLessEqual(set(commands), set(complete(name, "")))
                self.assertEqual(complete(name, commands[0][:-1]), [commands[0]])
        self.assertEqual(complete("savedmodel", "convert", "--to", "="), ["saved_model", "session_bundle"])
        self.assertEqual(complete("savedmodel", "convert", "--to", "se"), ["session_bundle"])
        self.assertEqual(complete("modelserver", "--log_level", "=", "w"), ["warning"])
        self.assertEqual(complete("pstrain", "launch", "--hos"), ["--hosts="])
        self.assertEqual(complete("savedmodel", "show", "mod"), [])  # so that bash completes names of files

    def test_a_debian_package_has_the_programs_the_manual_and_the_service(self):
        build = os.environ.get("SLIPWAY_BUILD")
        if not build:
            self.skipTest("SLIPWAY_BUILD names no build directory (CTest sets it)")
        done = subprocess.run(["cpack", "-G", "DEB", "--config", os.path.join(build, "CPackConfig.cmake"), "-B", self.path("package")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        package, = glob.glob(self.path("package", "*.deb"))
        depends = subprocess.run(["dpkg-deb", "--field", package, "Depends"], capture_output=True, text=True, check=True).stdout
        for library in ("libc6", "libmicrohttpd12", "libnghttp2-14", "libopenblas0"):
            self.assertIn(library, depends)
        subprocess.run(["dpkg-deb", "--extract", package, self.path("root")], check=True)
        self.assertEqual(sorted(os.listdir(self.path("root", "usr", "bin"))), ["modelclient", "modelserver", "pstrain", "savedmodel"])
        self.assertEqual(len(os.listdir(self.path("root", "usr", "share", "man", "man1"))), 4)
        # The service's words for the program's flags are ones that the program knows.
        with open(self.path("root", "usr", "lib", "systemd", "system", "modelserver.service"), encoding="utf-8") as f:
            unit = dict(line.rstrip("\n").split("=", 1) for line in f if "=" in line and not line.startswith("#"))
        self.assertEqual(unit["ExecStart"], "modelserver $MODELSERVER_FLAGS")
        flags = unit["Environment"].strip('"').removeprefix("MODELSERVER_FLAGS=").split()
        done = run(self.path("root", "usr", "bin", "modelserver"), *flags, "--help", cwd="/")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    main()

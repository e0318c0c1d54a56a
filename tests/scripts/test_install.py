"""How the scripts install packages, with stand-ins for dpkg-query, apt-get, sudo and id that record their arguments."""
import os
import subprocess

from harness import SOURCE, TestCase, main

STANDINS = {
    # The file `have` lists the installed packages; apt-get install adds to it.
    "dpkg-query": 'grep -qx -- "${@: -1}" "$STATE/have" && echo installed',
    "apt-get": '''echo "apt-get $*" >>"$STATE/calls"
        case "$*" in
        *update*) [ ! -e "$STATE/offline" ] && touch "$STATE/lists" ;;
        *--simulate*) [ -e "$STATE/lists" ] || [ -e "$STATE/stale" ] ;;
        *install*)
            if [ -e "$STATE/offline" ] || { [ -e "$STATE/stale" ] && [ ! -e "$STATE/lists" ]; }; then echo "E: unable to fetch" >&2; exit 100; fi
            for p in "$@"; do echo "$p"; done >>"$STATE/have" ;;
        esac''',
    "sudo": 'echo "sudo $*" >>"$STATE/calls"; [ "$1" = -v ] || exec "$@"',
    "id": 'cat "$STATE/uid"',
}


class Install(TestCase):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("bin"))
        for name, body in STANDINS.items():
            with open(self.path("bin", name), "w", encoding="utf-8") as f:
                f.write("#!/bin/bash\n%s\n" % body)
            os.chmod(self.path("bin", name), 0o755)
        self.write("uid", "0\n")
        self.write("have", "")
        # A copy of the scripts alone, so that their logs do not mix with those of the run this test is part of.
        os.makedirs(self.path("tree"))
        subprocess.run(["cp", "-r", os.path.join(SOURCE, "scripts"), self.path("tree")], check=True)

    def write(self, name, text=""):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def calls(self):
        if not os.path.exists(self.path("calls")):
            return []
        with open(self.path("calls"), encoding="utf-8") as f:
            return f.read().splitlines()

    def install(self, groups="build"):
        return subprocess.run(["bash", "-c", '. "%s"; install_packages %s' % (self.path("tree", "scripts", "lib.sh"), groups), "scripts/x"],
                              capture_output=True, text=True, timeout=60, cwd=self.path("tree"),
                              env=dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"], STATE=self.dir))

    def names(self, *groups):
        with open(os.path.join(SOURCE, "scripts", "packages.txt"), encoding="utf-8") as f:
            return sorted({line.split()[1] for line in f if line.split()[0] in groups})

    def test_does_nothing_when_everything_is_there(self):
        self.write("have", "\n".join(self.names("build", "test")) + "\n")
        self.write("offline")
        done = self.install("build test")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.calls(), [])

    def test_fetches_the_lists_when_they_are_missing_and_says_first_what_it_installs(self):
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Will install these Debian packages: ", done.stdout)
        for name in self.names("build"):
            self.assertIn(name, done.stdout)
        kinds = [next(k for k in ("update", "--simulate", "install") if k in c) for c in self.calls()]
        self.assertEqual(kinds, ["--simulate", "update", "install"])
        self.assertEqual(self.install().stdout, "", "a second run has nothing to do")

    def test_installs_only_what_is_missing_without_fetching_lists_that_are_there(self):
        self.write("have", "\n".join(n for n in self.names("build") if n != "libdnnl-dev") + "\n")
        self.write("lists")
        self.assertEqual(self.install().returncode, 0)
        self.assertEqual([c.split()[-1] for c in self.calls()], ["libdnnl-dev", "libdnnl-dev"])
        self.assertFalse([c for c in self.calls() if "update" in c])

    def test_fetches_stale_lists_anew_and_tries_again(self):
        self.write("stale")
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len([c for c in self.calls() if "update" in c]), 1)

    def test_ends_with_one_clear_line_when_it_cannot_install(self):
        self.write("offline")
        self.write("lists")
        done = self.install()
        self.assertEqual(done.returncode, 1)
        self.assertIn("installing the Debian packages failed", done.stderr.splitlines()[-1])

    def test_uses_sudo_for_a_user(self):
        self.write("uid", "1000\n")
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls()[0], "sudo -v")
        self.assertTrue(any(c.startswith("sudo env DEBIAN_FRONTEND=noninteractive apt-get") for c in self.calls()), self.calls())

    def test_tells_a_user_without_sudo_what_to_do(self):
        self.write("uid", "1000\n")
        os.remove(self.path("bin", "sudo"))
        tools = self.path("tools")  # the tools that lib.sh needs, without sudo
        os.makedirs(tools)
        for tool in ("awk", "sort", "grep", "dirname", "basename", "realpath", "tr", "env", "bash", "cat", "mkdir", "tail"):
            os.symlink(subprocess.run(["bash", "-c", "command -v " + tool], capture_output=True, text=True, check=True).stdout.strip(),
                       os.path.join(tools, tool))
        done = subprocess.run(["/bin/bash", "-c", '. "%s"; install_packages build' % self.path("tree", "scripts", "lib.sh"), "scripts/x"],
                              capture_output=True, text=True, timeout=60,
                              env={"PATH": self.path("bin") + ":" + tools, "STATE": self.dir, "HOME": self.dir})
        self.assertEqual(done.returncode, 1)
        self.assertIn("needs root or sudo for: apt-get install", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    main()

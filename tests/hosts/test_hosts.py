"""The helper itself: hosts have disks and names of their own, faults take effect, and nothing is left behind."""
import os
import signal
import socket
import subprocess
import sys
import time
import unittest

from harness import DEADLINE_S, TestCase, main
from hosts import DISK, Hosts, requirements

CONNECT = """
import socket, sys
s = socket.socket()
s.settimeout(float(sys.argv[3]))
try:
    s.connect((sys.argv[1], int(sys.argv[2])))
    s.sendall(b"hello")
    print("answer", s.recv(100).decode())
except socket.timeout:
    print("timeout")
except OSError as error:
    print("error", error)
"""
ECHO = """
import socket
s = socket.create_server(("", 22000))
print("listening", flush=True)
while True:
    c, _ = s.accept()
    c.sendall(c.recv(100))
    c.close()
"""


def ask(host, address, seconds=20):
    return host.run(sys.executable, "-c", CONNECT, address, "22000", str(seconds)).strip()


def processes_in(marker):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                if marker in file.read():
                    found.append(pid)
        except OSError:
            pass
    return found


@unittest.skipIf(requirements(), requirements())
class Namespaces(TestCase):
    def test_disks_are_separate_and_the_rest_is_read_only(self):
        with Hosts(2) as (a, b):
            a.run("sh", "-c", "mkdir -p model/1 && echo a >model/1/file && echo x >/tmp/slipway-hosts-scratch")
            self.assertEqual(a.files(), ["model/", "model/1/", "model/1/file"])
            self.assertEqual(b.files(), [])
            self.assertFalse(os.path.exists(os.path.join(DISK, "model")))
            self.assertFalse(os.path.exists("/tmp/slipway-hosts-scratch"))
            with self.assertRaises(RuntimeError):
                a.run("touch", "/usr/touched")
            self.assertEqual(b.run("hostname").strip(), "hostb")

    def test_hosts_reach_each_other_by_name_and_faults_come_and_go(self):
        with Hosts(3) as (a, b, c):
            a.start(sys.executable, "-c", ECHO).wait_for("listening")
            self.assertEqual(ask(b, "hosta"), "answer hello")
            self.assertIn("refused", ask(a, "hostb"))
            a.drop(b)
            self.assertEqual(ask(b, "hosta", 0.5), "timeout")
            self.assertEqual(ask(c, "hosta"), "answer hello")
            a.heal(b)
            self.assertEqual(ask(b, "hosta", 20), "answer hello")
            a.link_down()
            self.assertRegex(ask(c, "hosta", 1), "timeout|No route")
            a.link_up()
            end = time.monotonic() + 60
            while ask(c, "hosta", 5) != "answer hello":
                self.assertLess(time.monotonic(), end)

    def test_nothing_is_left_when_the_test_is_killed(self):
        seconds = "86397.%d" % os.getpid()  # by which it is known
        # It says itself that it runs: by then the kernel knows with whom it dies, which it need not when start() returns.
        script = "import sys, time; sys.path.insert(0, %r); from hosts import Hosts; h = Hosts(2); " \
                 "h.hosts[0].start('/bin/sh', '-c', 'echo runs; exec sleep $1', 'sh', %r).wait_for('runs'); " \
                 "print('up', flush=True); time.sleep(600)" % (os.path.dirname(__file__), seconds)
        marker = b"\0" + seconds.encode()
        links = socket.if_nameindex()
        child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "up\n")
        self.assertTrue(processes_in(marker))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        end = time.monotonic() + DEADLINE_S
        while processes_in(marker) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(processes_in(marker), [])
        self.assertEqual(socket.if_nameindex(), links)


if __name__ == "__main__":
    main()

"""Our server passes every h2spec case that nghttpd passes. Both are built on nghttp2."""
import os
import re
import signal
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from echo import Echo
from harness import DEADLINE_S, free_port, main, start
from tools import go_tool, installed


def wait_port(port, process):
    import socket
    import time
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return True
        time.sleep(0.02)
    return False


def failed_cases(port):
    """Runs h2spec against a port. Returns the sets of failed and of passed cases."""
    with tempfile.TemporaryDirectory() as directory:
        report = os.path.join(directory, "report.xml")
        # -o: the timeout, long enough for a loaded machine. Only failing cases wait for it.
        done = subprocess.run([go_tool("h2spec"), "generic", "http2", "hpack", "-p", str(port), "-o", "15", "-j", report],
                              capture_output=True, text=True, timeout=10 * DEADLINE_S)
        if not os.path.exists(report):
            raise AssertionError("h2spec: %s%s" % (done.stdout[-2000:], done.stderr[-2000:]))
        with open(report, encoding="utf-8", errors="replace") as f:
            text = re.sub("[\0-\x08\x0b\x0c\x0e-\x1f]", "?", f.read())  # bytes of frames
        failed, passed = set(), set()
        for case in xml.etree.ElementTree.fromstring(text).iter("testcase"):
            name = "%s: %s" % (case.get("package"), case.get("classname"))
            kinds = {child.tag for child in case}
            said = "".join(child.text or "" for child in case)
            # A frame that arrives just after the server has closed its socket is answered with a
            # TCP reset, which h2spec reports as a failure.
            if "Connection closed" in said and "connection reset by peer" in said:
                kinds = set()
            if kinds & {"failure", "error"}:
                failed.add(name)
            elif "skipped" not in kinds:
                passed.add(name)
        return failed, passed


class H2Spec(unittest.TestCase):
    def nghttpd(self):
        for _ in range(5):  # another process may take the port first
            port = free_port()
            process = start([installed("nghttpd", "nghttp2-server"), "--no-tls", port, "-d", "/nonexistent"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if wait_port(port, process):
                self.addCleanup(process.wait)
                self.addCleanup(process.send_signal, signal.SIGKILL)
                return port
            process.wait()
        raise AssertionError("nghttpd does not start")

    def test_no_case_fails_that_nghttpd_passes(self):
        # Use nghttpd's limits: some cases assume them, and one assumes frames of at most 16 KiB.
        with Echo("--streams_max=100", "--frame_max_bytes=16384") as server:
            ours, passed = failed_cases(server.port)
        _, theirs = failed_cases(self.nghttpd())
        print("h2spec: %d cases passed, %d failed; nghttpd passes %d" % (len(passed), len(ours), len(theirs)))
        self.assertGreater(len(passed), 140)
        self.assertEqual(sorted(ours & theirs), [])


if __name__ == "__main__":
    main()

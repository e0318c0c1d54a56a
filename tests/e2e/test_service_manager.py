"""What modelserver tells the service manager that started it, by the protocol of systemd's sd_notify(3)."""
import contextlib
import os
import socket

import tiny_model
from harness import DEADLINE_S, Server, TestCase, clean_environment, main


class Manager:
    """The service manager's end: a datagram socket, whose name the server finds in NOTIFY_SOCKET."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(DEADLINE_S)
        self.socket.bind(name.replace("@", "\0"))
        self.environment = dict(clean_environment(), NOTIFY_SOCKET=name)

    def told(self):
        """The next message: {name: value}."""
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().split("\n"))

    def told_nothing(self):
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            raise AssertionError(self.socket.recv(4096))


class ServiceManager(TestCase):
    def setUp(self):
        super().setUp()
        tiny_model.write(self.path("model", "1"))

    def test_it_is_told_when_the_server_is_ready_and_when_it_stops(self):
        for name in (self.path("notify"), "@slipway-test-%d" % os.getpid()):
            with self.subTest(name):
                manager = Manager(name)
                self.addCleanup(manager.socket.close)
                with Server(self.path("model"), "--shutdown_grace_seconds=1", "--drain_timeout_seconds=4", env=manager.environment) as server:
                    self.assertEqual(manager.told(), {"STATUS": "Waiting for a version that serves"})
                    self.assertEqual(manager.told(), {"READY": "1", "STATUS": "Serving: REST on port %d, gRPC on port 0" % server.port})
                told = manager.told()
                self.assertEqual((told["STOPPING"], told["EXTEND_TIMEOUT_USEC"]), ("1", "35000000"))
                manager.told_nothing()

    def test_it_is_not_told_ready_before_a_version_serves(self):
        os.rename(self.path("model", "1"), self.path("later"))
        manager = Manager(self.path("notify"))
        self.addCleanup(manager.socket.close)
        with Server(self.path("model"), "--file_system_poll_wait_seconds=1", wait=False, env=manager.environment) as server:
            server.wait_for_output("no versions of servable found under base path")
            self.assertEqual(manager.told(), {"STATUS": "Waiting for a version that serves"})
            manager.told_nothing()
            manager.socket.settimeout(DEADLINE_S)
            os.rename(self.path("later"), self.path("model", "1"))
            self.assertEqual(manager.told()["READY"], "1")

    def test_a_watchdog_is_fed(self):
        manager = Manager(self.path("notify"))
        self.addCleanup(manager.socket.close)
        with Server(self.path("model"), env=dict(manager.environment, WATCHDOG_USEC="60000000")):
            while manager.told() != {"WATCHDOG": "1"}:
                pass

    def test_a_watchdog_of_another_process_is_not_fed(self):
        manager = Manager(self.path("notify"))
        self.addCleanup(manager.socket.close)
        with Server(self.path("model"), env=dict(manager.environment, WATCHDOG_USEC="60000000", WATCHDOG_PID="1")):
            told = [manager.told(), manager.told()]
        told.append(manager.told())
        self.assertEqual([sorted(t)[0] for t in told], ["STATUS", "READY", "EXTEND_TIMEOUT_USEC"])

    def test_a_manager_that_cannot_be_told_stops_nothing(self):
        for name, reason in ((self.path("nobody"), "No such file or directory"), ("relative", "not a path from /"),
                             ("/" + "x" * 200, "not a path from /")):
            with Server(self.path("model"), env=dict(clean_environment(), NOTIFY_SOCKET=name)) as server:
                self.assertIn(reason, server.wait_for_output("NOTIFY_SOCKET='%s': the service manager was not told READY=1" % name))
                self.assertEqual(server.get("/healthz").status, 200)


if __name__ == "__main__":
    main()

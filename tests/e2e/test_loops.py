"""Several event loops: connections of both protocols on all of them, while versions come and go, and at the end of the server."""
import contextlib
import glob
import os
import resource
import signal
import socket
import threading
import time
from unittest import mock

import harness
import tiny_model
from endless_models import write_endless_init
from expensive_models import chain_request, write_chain
from grpc_client import PREDICTION, Client, messages, tensor
from harness import DEADLINE_S, Load, Server, TestCase, main

LOOPS = 4
SWAPS = 8
BODY = {"instances": [1.0, 3.0]}


def request():
    message = messages().PredictRequest(model_spec=messages().ModelSpec(name="default"))
    message.inputs["x"].CopyFrom(tensor(1, [2], [1.0, 3.0]))
    return message


def is_right(answer):
    return answer.status == 200 and answer.json == {"predictions": [2.5, 3.5]}


class GrpcLoad(threading.Thread):
    """Repeats a call on a connection of its own, and keeps every wrong answer. In the end the server may refuse it."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target, self.count, self.wrong, self.stopping = target, 0, [], threading.Event()

    def run(self):
        # grpcio shares a connection among clients with the same options
        with Client(self.target, options=[("grpc.use_local_subchannel_pool", 1)]) as client:
            while not self.stopping.is_set():
                answer = client.predict(request())
                if answer.code == "UNAVAILABLE" and self.stopping.is_set():
                    return
                self.count += 1
                if answer.code != "OK" or list(answer.message.outputs["y"].float_val) != [2.5, 3.5]:
                    self.wrong.append(answer)


class Loops(TestCase):
    def serve(self, *flags, **more):
        return Server(self.path("model"), "--rest_api_num_threads=%d" % LOOPS, *flags, **more)

    def wait_for(self, condition):
        end = time.monotonic() + DEADLINE_S
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def add_version(self, number):
        tiny_model.write(self.path("new", str(number)))
        os.makedirs(self.path("model"), exist_ok=True)
        os.rename(self.path("new", str(number)), self.path("model", str(number)))

    def remove_version(self, number):
        os.rename(self.path("model", str(number)), self.path("new", str(number)))

    def grpc_loads(self, target, count=LOOPS):
        loads = [GrpcLoad(target) for _ in range(count)]
        for load in loads:
            load.start()
        return loads

    def end(self, loads):
        for load in loads:
            load.stopping.set()
        for load in loads:
            load.join(DEADLINE_S)
            self.assertEqual(load.wrong, [])
            self.assertGreater(load.count, 0)

    def test_no_request_fails_while_versions_swap(self):
        self.add_version(1)
        with self.serve(grpc=True) as server:
            calls = self.grpc_loads("127.0.0.1:%d" % server.grpc_port)
            with Load(server, "/v1/models/default:predict", BODY, is_right, threads=2 * LOOPS) as load:
                for version in range(2, 2 + SWAPS):
                    self.add_version(version)
                    server.wait_for_state(version, "AVAILABLE")
                    self.remove_version(version - 1)
                    server.wait_for_state(version - 1, "END")  # no loop holds it
            self.end(calls)
            self.assertEqual(load.wrong, [])
            self.assertGreater(load.count, SWAPS)

    def test_both_protocols_on_one_port_and_on_a_socket(self):
        self.add_version(1)
        with self.serve("--grpc_socket_path=" + self.path("socket"), grpc="same") as server:
            calls = self.grpc_loads("127.0.0.1:%d" % server.port) + self.grpc_loads("unix:" + self.path("socket"))
            with Load(server, "/v1/models/default:predict", BODY, is_right, threads=LOOPS) as load:
                self.wait_for(lambda: load.count > 100 and all(call.count > 10 for call in calls))
            self.end(calls)
            self.assertEqual(load.wrong, [])

    def test_a_signal_under_load_lets_requests_end(self):
        self.add_version(1)
        server = self.serve(grpc=True)
        calls = self.grpc_loads("127.0.0.1:%d" % server.grpc_port)
        with Load(server, "/v1/models/default:predict", BODY, is_right, threads=2 * LOOPS) as load:
            self.wait_for(lambda: load.count > 100 and all(call.count > 10 for call in calls))
            for call in calls:
                call.stopping.set()  # from now on the server may refuse
            self.assertEqual(load.wrong, [])
            self.assertEqual(server.stop(), 0, server.output())
        self.end(calls)
        # New connections are refused, and those that bring no request for 300 ms are closed.
        self.assertTrue(all(isinstance(wrong, ConnectionError) for wrong in load.wrong), load.wrong[:3])

    def test_a_second_signal_ends_the_runs_of_all_loops(self):
        write_chain(self.path("model", "1"))
        server = self.serve(grpc=True)
        clients = [Client("127.0.0.1:%d" % server.grpc_port, options=[("grpc.use_local_subchannel_pool", 1)]) for _ in range(LOOPS)]
        futures = [client.start(PREDICTION + "Predict", chain_request(1500), messages().PredictResponse, timeout=3600)
                   for client in clients]
        for client in clients:  # the call before it has arrived
            self.assertEqual(client.status(messages().GetModelStatusRequest(model_spec=messages().ModelSpec(name="default"))).code, "OK")
        server.process.send_signal(signal.SIGTERM)
        server.wait_for_output("stopping: finishing requests in flight")
        self.assertEqual(server.stop(), 0, server.output())
        for client, future in zip(clients, futures):
            self.assertEqual(client.end(future).code, "UNAVAILABLE")
            client.channel.close()

    def test_a_signal_during_the_first_load_waits_for_no_loop(self):
        write_endless_init(self.path("model", "1"))
        with self.serve("--log_level=debug", grpc=True, wait=False) as server:
            server.wait_for_output("running the init op")
            self.assertEqual(server.stop(), 0, server.output())
            self.assertNotIn("requests in flight did not end", server.output())

    def test_connections_leave_descriptors_for_models(self):
        self.add_version(1)
        few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))}
        start = harness.start
        with mock.patch("harness.start", lambda *args, **more: start(*args, **few, **more)):
            server = self.serve("--file_system_poll_wait_seconds=1")
        clients = []
        with server:
            for _ in range(300):
                clients.append(socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S))
                clients[-1].sendall(b"GET /v1/models/default HTTP/1.1\r\nHost: x\r\n\r\n")
            for client in clients:
                with contextlib.suppress(ConnectionError):  # it was one too many
                    client.recv(1)
            self.add_version(2)
            server.wait_for_output("Successfully loaded servable version {name: default version: 2}")
            for client in clients:
                client.close()

    def test_too_few_descriptors_for_the_loops(self):
        self.add_version(1)
        done = harness.run("/bin/bash", "-c", 'ulimit -n 64; exec "$0" "$@"', harness.program("modelserver"), "--rest_api_port=0",
                           "--port=%d" % harness.free_port(), "--model_base_path=" + self.path("model"), "--rest_api_num_threads=40")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"event loop \d+ of 40 \(--rest_api_num_threads\): .*Too many open files")

    def test_calls_of_one_connection_run_at_the_same_time(self):
        write_chain(self.path("model", "1"))
        with self.serve("--tensorflow_intra_op_parallelism=1", grpc=True) as server:
            with Client("127.0.0.1:%d" % server.grpc_port) as client:
                futures = [client.start(PREDICTION + "Predict", chain_request(1500), messages().PredictResponse, timeout=3600)
                           for _ in range(2)]
                self.wait_for(lambda: sum(ticks > 5 for ticks in self.ticks(server)) >= 2)
                for future in futures:
                    self.assertFalse(future.done())
                    future.cancel()

    @staticmethod
    def ticks(server):
        """The CPU time of each thread."""
        for path in glob.glob("/proc/%d/task/*/stat" % server.pid):
            with open(path, encoding="ascii") as f:
                yield int(f.read().rsplit(")", 1)[1].split()[11])

    def test_watchers_on_all_loops_hear_of_a_change(self):
        self.add_version(1)
        with self.serve("--enable_grpc_healthcheck_service", grpc=True) as server:
            clients = [Client("127.0.0.1:%d" % server.grpc_port, options=[("grpc.use_local_subchannel_pool", 1)]) for _ in range(LOOPS)]
            watches = [client.watch("default") for client in clients]
            self.assertEqual([next(watch).status for watch in watches], [1] * LOOPS)
            os.rename(self.path("model", "1"), self.path("gone"))
            self.assertEqual([next(watch).status for watch in watches], [2] * LOOPS)
            for client in clients:
                client.channel.close()


if __name__ == "__main__":
    main()

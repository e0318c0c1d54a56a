"""KServe's SDK against modelserver: both versions of its protocol by REST, the second by gRPC, on one port."""
import os
import subprocess
import tempfile
import unittest

import tiny_model
from harness import DEADLINE_S, Server, main
from tools import clients_python

CALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kserve_calls.py")


class Kserve(unittest.TestCase):
    def test_its_clients_get_what_they_ask_for(self):
        python = clients_python()
        with tempfile.TemporaryDirectory() as directory:
            tiny_model.write(os.path.join(directory, "tiny", "1"))
            with Server(os.path.join(directory, "tiny"), name="tiny", grpc="same") as server:
                done = subprocess.run([python, CALLS, str(server.port)], capture_output=True, text=True,
                                      timeout=DEADLINE_S, env={"PATH": os.environ["PATH"]})
                self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-4000:])


if __name__ == "__main__":
    main()

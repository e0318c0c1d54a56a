"""tritonclient against modelserver, by HTTP and by gRPC, on one port."""
import os
import subprocess
import tempfile
import unittest

import tiny_model
from harness import DEADLINE_S, Server, main
from tools import clients_python

CALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "triton_calls.py")


class Triton(unittest.TestCase):
    def test_its_clients_get_what_they_ask_for(self):
        python = clients_python()
        with tempfile.TemporaryDirectory() as directory:
            tiny_model.write(os.path.join(directory, "tiny", "1"))
            for flags, more in (([], []), (["--allow_model_control"], ["control"])):
                with Server(os.path.join(directory, "tiny"), *flags, name="tiny", grpc="same") as server:
                    done = subprocess.run([python, CALLS, str(server.port), *more], capture_output=True, text=True, timeout=DEADLINE_S,
                                          env={"PATH": os.environ["PATH"]})
                    self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-4000:])


if __name__ == "__main__":
    main()

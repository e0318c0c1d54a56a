"""tensorflow-serving-api, TensorFlow Serving's own client, against modelserver."""
import os
import subprocess
import tempfile
import unittest

import tiny_model
from harness import DEADLINE_S, Server, main
from tools import serving_api

CALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "serving_api_calls.py")


class ServingApi(unittest.TestCase):
    def test_it_gets_what_it_asks_for(self):
        python, path = serving_api()
        with tempfile.TemporaryDirectory() as directory:
            tiny_model.write(os.path.join(directory, "tiny", "1"))
            with Server(os.path.join(directory, "tiny"), name="tiny", grpc=True) as server:
                done = subprocess.run([python, CALLS, str(server.grpc_port)], capture_output=True, text=True,
                                      timeout=DEADLINE_S, env={"PATH": os.environ["PATH"], "PYTHONPATH": path})
                self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-4000:])


if __name__ == "__main__":
    main()

"""modelclient against modelserver: the same answers over gRPC and REST, tables and JSON, its exit status, its load."""
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

import tiny_model
from harness import DEADLINE_S, Server, TestCase, main, program, run, start


class Client(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        base = os.path.join(cls.work.name, "tiny")
        tiny_model.write(os.path.join(base, "3"))
        cls.server = Server(base, name="tiny", grpc=True)
        cls.ways = ("--server=127.0.0.1:%d" % cls.server.grpc_port, "--server=http://127.0.0.1:%d" % cls.server.port)

    @classmethod
    def tearDownClass(cls):
        status = cls.server.stop()
        cls.work.cleanup()
        assert status == 0, cls.server.output()

    def ask(self, way, command, *flags, model="tiny"):
        done = run("modelclient", command, way, "--model=" + model, *flags)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def test_predict_both_ways(self):
        for way in self.ways:
            for flags in ([], ["--model_version=3"], ["--signature=serving_default"]):
                self.assertEqual(self.ask(way, "predict", "--input=x=[[1.0], [3]]", *flags), "y: float [2,1]\n[[2.5],\n [3.5]]\n")
            got = json.loads(self.ask(way, "predict", "--format=json", "--signature=pair", "--input=a=[0.1]", "--input=b=[-7]"))
            self.assertEqual(got["outputs"], {"a": [0.100000001], "b": [-7]})
            self.assertEqual(got.get("version", "3"), "3")

    def test_arrays_of_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is needed")
        numpy.save(self.path("x.npy"), numpy.arange(6, dtype=numpy.float32).reshape(6, 1))
        answers = [self.ask(way, "predict", "--input=x=" + self.path("x.npy")) for way in self.ways]
        self.assertEqual(answers[0], answers[1])
        self.assertTrue(answers[0].startswith("y: float [6,1]\n[[2],\n [2.5],\n"), answers[0])

    def test_every_dtype_that_json_has(self):
        inputs = {"float": "[1.5]", "double": "[0.1]", "int32": "[-5]", "uint8": "[255]", "int16": "[-3]", "int8": "[-128]",
                  "string": '["a\\u0000\\"b"]', "int64": "[-9223372036854775808]", "bool": "[true]", "uint32": "[4294967295]",
                  "uint64": "[9]", "half": "[0.5]"}
        flags = ["--input=in_%s=%s" % row for row in inputs.items()]
        got = json.loads(self.ask(self.ways[0], "predict", "--signature=types", "--format=json", *flags))["outputs"]
        self.assertEqual(got, {"out_" + key: json.loads(value) for key, value in inputs.items()})

    def test_classify_and_regress_both_ways(self):
        for way in self.ways:
            examples = '--examples=[{"x": 1.0}, {"x": [4.0]}]'
            self.assertEqual(json.loads(self.ask(way, "classify", examples, "--signature=classify_x", "--format=json")),
                             {"results": [[["", 2.5], ["", 3.5]], [["", 4.0], ["", 5.0]]]})
            self.assertIn("example 1\n", self.ask(way, "classify", examples, "--signature=classify_x"))
            self.assertEqual(self.ask(way, "regress", examples, "--signature=regress_x_to_y"), "2.5\n4\n")
            self.assertEqual(json.loads(self.ask(way, "regress", '--examples=[{}]', '--context={"x": 8.0}', "--signature=regress_x_to_y",
                                                 "--format=json")), {"results": [6]})

    def test_metadata_and_status_both_ways(self):
        tables = [self.ask(way, "metadata") for way in self.ways]
        self.assertEqual(*(sorted(t.splitlines()) for t in tables))
        self.assertIn("tiny version 3\n", tables[0])
        documents = [json.loads(self.ask(way, "metadata", "--format=json")) for way in self.ways]
        self.assertEqual(*documents)
        self.assertEqual(documents[0]["signatures"]["serving_default"]["inputs"], {"x": {"dtype": "DT_FLOAT", "shape": [-1, 1]}})
        for way in self.ways:
            self.assertEqual(json.loads(self.ask(way, "status", "--format=json")),
                             {"versions": [{"version": "3", "state": "AVAILABLE", "error_code": "OK", "error_message": ""}]})
            self.assertRegex(self.ask(way, "status"), r"^3 +AVAILABLE *\n$")

    def test_load_prints_rate_and_latency(self):
        for way, more in ((self.ways[0], ["--connections=3"]), (self.ways[1], [])):
            text = self.ask(way, "predict", "--input=x=[[1.0]]", "--repeat=500", "--concurrency=8", *more)
            self.assertRegex(text, r"500 calls, 8 at a time: \d+ calls/s; latency µs: min [\d.]+  p50 [\d.]+  p90 .* max [\d.]+\n$")
            low, middle, high = (float(re.search(word + r" ([\d.]+)", text).group(1)) for word in ("min", "p50", "max"))
            self.assertTrue(0 < low <= middle <= high, text)
            for command in ("classify --signature=classify_x", "regress --signature=regress_x_to_y"):
                text = self.ask(way, *command.split(), '--examples=[{"x": 1.0}]', "--repeat=50", "--concurrency=4")
                self.assertRegex(text, r"\n50 calls, 4 at a time: \d+ calls/s;")

    def test_ctrl_c_ends_the_load_and_prints_what_there_is(self):
        for way in self.ways:
            child = start([program("modelclient"), "predict", way, "--model=tiny", "--input=x=[[1.0]]", "--repeat=20000000", "--concurrency=4"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(child.kill)
            end = time.monotonic() + DEADLINE_S
            while not self.catches(child.pid, signal.SIGINT) and time.monotonic() < end:
                time.sleep(0.01)
            child.send_signal(signal.SIGINT)
            text, error = child.communicate(timeout=DEADLINE_S)
            self.assertEqual((child.returncode, error), (0, ""))
            self.assertRegex(text, r"^y: float \[1,1\]\n\[\[2.5\]\]\n(\d+ calls?, 4 at a time: .*\n)?$")

    @staticmethod
    def catches(pid, number):
        with open("/proc/%d/status" % pid, encoding="ascii") as f:
            caught = re.search(r"^SigCgt:\s*(\w+)", f.read(), re.M)
        return bool(int(caught.group(1), 16) >> number - 1 & 1)

    def fails(self, code, text, *command):
        done = run("modelclient", *command)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done)
        self.assertIn(text, done.stderr)

    def test_what_the_server_refuses_is_told_and_ends_with_1(self):
        for way in self.ways:
            self.fails(1, "NOT_FOUND: Servable not found for request: Latest(none)", "metadata", way, "--model=none")
            self.fails(1, "NOT_FOUND: Servable not found for request: Specific(tiny, 9)", "classify", way, "--model=tiny",
                       "--model_version=9", '--examples=[{"x": 1.0}]')
            self.fails(1, "Unrecognized servable version label: best", "metadata", way, "--model=tiny", "--label=best")
            self.fails(1, "model 'tiny' has no signature 'no'", "predict", way, "--model=tiny", "--signature=no", "--input=x=[1.0]")
            self.fails(1, "signature 'serving_default' has no input 'z'", "predict", way, "--model=tiny", "--input=z=[1.0]")

    def test_another_scheme_is_refused_with_those_that_there_are(self):
        self.fails(2, "'ftp://localhost:1': want host:port or unix:/path for gRPC, http://host:port or", "metadata",
                   "--server=ftp://localhost:1")

    def test_what_cannot_be_read_ends_with_2_and_does_not_blame_the_server(self):
        with open(self.path("no.npy"), "w", encoding="ascii") as f:
            f.write("hello")
        for way in self.ways:
            for text, flag in (("--input x: element 0 is not a float", '--input=x=["a"]'), ("--input x: not JSON", "--input=x=[1.0"),
                               ("--input x: lists of different sizes", "--input=x=[[1],[2,3]]"),
                               ("--input x: open '%s': No such file" % self.path("none.npy"), "--input=x=" + self.path("none.npy")),
                               ("--input x: '%s': not a .npy file" % self.path("no.npy"), "--input=x=" + self.path("no.npy"))):
                self.fails(2, "modelclient: " + text, "predict", way, "--model=tiny", flag)
        for text, flag in (("--examples: example 0: feature 'x' mixes kinds at element 1", '--examples=[{"x": [1.0, 2]}]'),
                           ("--examples: example 1: feature 'x': Unable to base64 decode", '--examples=[{}, {"x": {"b64": "?"}}]'),
                           ("--examples: not JSON", "--examples=[{"), ("--examples: a list of examples", '--examples={"x": 1}')):
            self.fails(2, "modelclient: " + text, "regress", self.ways[0], "--model=tiny", flag)
        self.fails(2, "TLS: open '/nonexistent'", "status", self.ways[0], "--tls", "--tls_ca=/nonexistent")

    def test_the_wrong_type_is_told_in_the_servers_words(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is needed")
        numpy.save(self.path("x.npy"), numpy.ones((2, 1)))  # double
        self.fails(1, "INVALID_ARGUMENT: Expects arg[0] to be float but double is provided", "predict", self.ways[0], "--model=tiny",
                   "--input=x=" + self.path("x.npy"))

    def test_bytes_in_examples(self):
        flags = ("--signature=regress_x_to_y", '--examples=[{"x": 2.0, "raw": {"b64": "AP8="}, "more": ["a", {"b64": "/w=="}]}]')
        for way in self.ways:
            self.assertEqual(self.ask(way, "regress", *flags), "3\n")

    def test_a_wrong_command_line_ends_with_2(self):
        for text, command in (("unknown command 'ask'", ["ask"]), ("unknown argument: --nothing", ["predict", "--nothing=1"]),
                              ("unknown argument: stray", ["status", "stray"]), ("--input 'x'", ["predict", "--input=x"]),
                              ("--examples", ["classify"]), ("--label and --model_version", ["status", "--label=a", "--model_version=1"]),
                              ("--tls is for gRPC", ["status", "--tls", "--server=http://localhost"]),
                              ("--tls_ca needs --tls", ["status", "--tls_ca=x"]), ("--tls_key needs --tls", ["status", "--tls_key=x"]),
                              ("--server_name needs --tls", ["status", "--server_name=x"]),
                              ("REST is encrypted with --server=https://localhost:1", ["status", "--tls", "--server=http://localhost:1"]),
                              ("/no/such.pem", ["status", "--server=https://localhost:1", "--tls_ca=/no/such.pem"]),
                              ("--input does not apply to classify, only to: predict", ["classify", "--input=x=1"]),
                              ("--examples does not apply to predict", ["predict", "--examples=[]"]),
                              ("--repeat does not apply to status", ["status", "--repeat=1"]),
                              ("--signature does not apply to metadata", ["metadata", "--signature=a"]),
                              ("--concurrency needs --repeat", ["predict", "--concurrency=2"]),
                              ("", ["status", "--server=no port"]), ("nothing after it", ["status", "--server=http://localhost:1/v1"])):
            self.fails(2, text, *command)

    def test_version_and_help(self):
        self.assertTrue(run("modelclient", "--version").stdout.startswith("modelclient "))
        self.assertIn("predict", run("modelclient", "--help").stdout)
        self.assertIn("--concurrency", run("modelclient", "predict", "--help").stdout)

    def test_the_help_of_a_command_lists_its_flags_only(self):
        flags = {command: set(re.findall(r"^  --(?:\[no\])?(\w+)", run("modelclient", command, "--help").stdout, re.M))
                 for command in ("predict", "classify", "regress", "metadata", "status", "replay")}
        own = {command: {flag for flag in names if not all(flag in others for others in flags.values())} for command, names in flags.items()}
        self.assertEqual(own["status"], {"format"})
        self.assertEqual(own["metadata"], {"format"})
        self.assertEqual(own["predict"], {"format", "input", "signature", "repeat", "concurrency", "connections"})
        self.assertEqual(own["regress"], own["classify"])
        self.assertEqual(own["classify"], own["predict"] - {"input"} | {"examples", "context"})
        self.assertEqual(own["replay"], {"against", "rate", "count", "rtol", "atol", "show", "concurrency", "connections"})

    def test_the_wrong_port_is_told(self):
        done = run("modelclient", "status", "--server=127.0.0.1:%d" % self.server.port, "--model=tiny")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("the peer speaks HTTP/1, not HTTP/2", done.stderr)

    def test_nobody_there_and_somebody_silent(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
            for scheme in ("", "http://"):
                self.fails(1, "UNAVAILABLE", "status", "--server=%s127.0.0.1:%d" % (scheme, port), "--timeout_ms=20000")
            self.fails(1, "UNAVAILABLE: nohost.invalid:1: resolve 'nohost.invalid'", "status", "--server=http://nohost.invalid:1")
            self.fails(1, "UNAVAILABLE: nohost.invalid:1: resolve 'nohost.invalid'", "status", "--server=nohost.invalid:1")
            s.listen()
            self.fails(1, "DEADLINE_EXCEEDED", "status", "--server=http://127.0.0.1:%d" % port, "--timeout_ms=300")
            done = run("modelclient", "status", "--server=127.0.0.1:%d" % port, "--timeout_ms=300")
            self.assertEqual(done.returncode, 1, done)

    def test_answers_that_are_none(self):
        for answer, text in ((b"hello\r\n\r\n", "not HTTP/1.1"), (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{", "hung up within"),
                             (b"HTTP/1.1 200 OK\r\n\r\nnot json", "not JSON"), (b"", "hung up before"),
                             (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "an answer of 99999999999 bytes"),
                             (b"HTTP/1.1 200 OK\r\nContent-Length: -18446744073709551614\r\n\r\n{}", "its Content-Length is not a number"),
                             (b"HTTP/1.1 200 OK\r\nContent-Length: 2x\r\n\r\n{}", "its Content-Length is not a number"),
                             (b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n{}", "its Content-Length is not a number"),
                             (b"HTTP/1.1 200 OK\r\nContent-Length: \t2 \r\n\r\n{}", ""),
                             (b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", "UNAVAILABLE: HTTP error"),
                             (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "")):
            with socket.create_server(("127.0.0.1", 0)) as listener:
                def serve():
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(65536)
                        connection.sendall(answer)
                thread = threading.Thread(target=serve)
                thread.start()
                done = run("modelclient", "status", "--server=http://127.0.0.1:%d" % listener.getsockname()[1], "--timeout_ms=20000")
                thread.join()
                self.assertEqual(done.returncode, 1 if text else 0, done)
                self.assertIn(text, done.stderr)

    def test_an_answer_whose_second_output_is_none(self):
        metadata = json.dumps(self.server.get("/v1/models/tiny/metadata").json).encode()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def serve():
                connection, _ = listener.accept()
                with connection:
                    while asked := connection.recv(65536):
                        answer = b'{"outputs": {"a": [0.5], "b": ["seven"]}}' if b":predict" in asked else metadata
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer))
            thread = threading.Thread(target=serve)
            thread.start()
            done = run("modelclient", "predict", "--server=http://127.0.0.1:%d" % listener.getsockname()[1], "--model=tiny",
                       "--signature=pair", "--input=a=[0.1]", "--input=b=[7]")
            thread.join()
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("output 'b'", done.stderr)


if __name__ == "__main__":
    main()

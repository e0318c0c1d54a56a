"""Which versions replace the one that serves: those that can answer, loaded in bounded time and memory, from files of their own."""
import os
import shutil
import signal

import tiny_model
from endless_models import write_endless_init
from harness import Server, TestCase, main

ASK = "/v1/models/default:predict"


def write(directory, *ops, **signatures):
    """A model of x -> y: each keyword is a signature and names the node that gives its y; `ops` are (name, op) of one float input, x."""
    b = tiny_model.Builder()
    b.placeholder("x", 1, [-1])
    for name, op in ops:
        b.node(name, op, "x", T=("type", 1))
    for name, node in signatures.items():
        b.signature(name, "predict", {"x": ("x:0", 1, [-1])}, {"y": (node + ":0", 1, [-1])})
    tiny_model.save(b.model, directory)


def write_reader(directory, **const):
    """A model that gives the content of the file that the client names; with path=…, one that fills a table from there."""
    b = tiny_model.Builder()
    b.placeholder("x", 7, [])
    b.node("y", "ReadFile", "x")
    b.signature("serving_default", "predict", {"x": ("x:0", 7, [])}, {"y": ("y:0", 7, [])})
    if "path" in const:
        b.node("table", "HashTableV2", key_dtype=("type", 7), value_dtype=("type", 9), shared_name=("s", b"t"))
        b.const("path", 7, [], [const["path"].encode()])
        b.node("init", "InitializeTableFromTextFileV2", "table", "path", key_index=("i", -2), value_index=("i", -1))
        b.signature("__saved_model_init_op", "", {}, {"__saved_model_init_op": ("init", 0, [])})
    tiny_model.save(b.model, directory)


class Loading(TestCase):
    def serve(self, *flags):
        write(self.path("model", "1"), ("y", "Neg"), serving_default="y")
        return Server(self.path("model"), "--file_system_poll_wait_seconds=1", "--max_num_load_retries=0", *flags)

    def assert_refused(self, server, version, *texts):
        """The version ends with an error that holds the texts, and version 1 goes on."""
        server.wait_for_state(version, "END")
        status = {row["version"]: row for row in server.get("/v1/models/default").json["model_version_status"]}
        for text in texts:
            self.assertIn(text, status[str(version)]["status"]["error_message"])
            self.assertIn(text, server.output())
        self.assertEqual(server.post(ASK, {"inputs": [1.5]}).json, {"outputs": [-1.5]})

    def test_a_version_that_cannot_answer_does_not_replace_one_that_can(self):
        neg, lacking = ("y", "Neg"), ("lack", "PyFunc")  # a function of Python never has a kernel
        with self.serve() as server:
            write(self.path("model", "2"), neg, lacking, serving_default="lack", other="y")
            self.assert_refused(server, 2, "signature 'serving_default'", "op 'PyFunc' of node 'lack' is not implemented")
            write(self.path("model", "3"), lacking, one="lack", two="lack")
            self.assert_refused(server, 3, "signature 'one'", "op 'PyFunc' of node 'lack' is not implemented")
            write(self.path("model", "4"), neg, lacking, serving_default="y", other="lack")
            server.wait_for_state(4, "AVAILABLE")
            self.assertEqual(server.post(ASK, {"inputs": [1.5]}).json, {"outputs": [-1.5]})
            answer = server.post(ASK, {"signature_name": "other", "inputs": [1.5]})
            self.assertEqual((answer.status, "'PyFunc'" in answer.json["error"]), (501, True), answer)
            self.assertEqual(server.output().count("version 4: signature other cannot answer: op 'PyFunc'"), 1)

    def test_a_base_path_that_is_not_read_again_says_so(self):
        os.mkdir(self.path("empty"))
        for path, seconds, text in (("none", 0, "No such file or directory; it is not read again (--file_system_poll_wait_seconds=0)"),
                                    ("empty", 0, "empty; it is not read again (--file_system_poll_wait_seconds=0)"),
                                    ("empty", -1, "--file_system_poll_wait_seconds=-1: no base path is read, and no version loaded")):
            with self.subTest(text), Server(self.path(path), "--file_system_poll_wait_seconds=%d" % seconds, wait=False) as server:
                server.wait_for_output(text)

    def test_two_names_of_one_version_are_not_logged_at_each_poll(self):
        with self.serve() as server:
            write(self.path("model", "01"), ("y", "Neg"), serving_default="y")
            server.wait_for_output("model default: version 1: '%s' stands for it, '%s' is ignored" % (self.path("model", "1"), self.path("model", "01")))
            for version in (2, 3):  # each is found by another poll
                write(self.path("model", str(version)), ("y", "Neg"), serving_default="y")
                server.wait_for_state(version, "AVAILABLE")
            self.assertEqual(server.output().count("stands for it"), 1)

    def test_an_op_that_tensorflow_does_not_know_is_refused_even_if_nothing_needs_it(self):
        with self.serve() as server:
            write(self.path("model", "2"), ("y", "Neg"), ("strange", "NobodysOp"), serving_default="y")
            self.assert_refused(server, 2, "Op type not registered 'NobodysOp'", "'strange'")

    def test_an_init_op_without_end_holds_up_nobody(self):
        with self.serve("--log_level=debug") as server:
            write_endless_init(self.path("model", "2"))
            server.wait_for_output("running the init op")  # a load ends otherwise if its files vanish before they are read
            shutil.rmtree(self.path("model", "2"))
            self.assert_refused(server, 2, "version 2 is not wanted any more")
            write_endless_init(self.path("model", "3"))
            server.wait_for_state(3, "LOADING")
            write(self.path("model", "4"), ("y", "Neg"), serving_default="y")  # a newer version also ends it
            server.wait_for_state(4, "AVAILABLE")
            write_endless_init(self.path("model", "5"))
            server.wait_for_state(5, "LOADING")
            server.stop(signal.SIGTERM)

    def test_sigterm_ends_the_first_load(self):
        write_endless_init(self.path("model", "1"))
        with Server(self.path("model"), "--log_level=debug", wait=False) as server:
            server.wait_for_output("Loading servable version {name: default version: 1}")
            server.stop(signal.SIGTERM)

    def test_a_load_has_a_deadline(self):
        with self.serve("--load_timeout_in_ms=3000") as server:  # version 1 must load in this time
            write_endless_init(self.path("model", "2"))
            self.assert_refused(server, 2, "init op 'init': the deadline passed")

    def test_a_fifo_is_no_model(self):
        with self.serve() as server:
            os.mkdir(self.path("fifo"))
            os.mkfifo(self.path("fifo", "saved_model.pb"))
            os.rename(self.path("fifo"), self.path("model", "2"))
            self.assert_refused(server, 2, "it is not a regular file")

    def test_files_outside_of_the_model_need_a_flag(self):
        secret = self.path("secret")
        with open(secret, "w") as f:
            f.write("one\ntwo\n")
        os.mkfifo(self.path("fifo"))
        ask = lambda server, path: server.post(ASK, {"inputs": path})  # noqa: E731
        write_reader(self.path("reader", "1"))
        with open(self.path("reader", "1", "own"), "w") as f:
            f.write("own")
        os.symlink(secret, self.path("reader", "1", "link"))
        write_reader(self.path("table", "1"), path=secret)
        with Server(self.path("reader")) as server:
            self.assertEqual(ask(server, self.path("reader", "1", "own")).json, {"outputs": "own"})
            for path in (secret, self.path("reader", "1", "link"), self.path("reader", "1", "..", "..", "secret"), self.path("fifo")):
                answer = ask(server, path)
                self.assertEqual((answer.status, "--allow_paths_outside_model" in answer.json["error"]), (403, True), answer)
        with self.assertRaisesRegex(AssertionError, "'%s' is outside of the model's directory" % secret):
            Server(self.path("table"), "--max_num_load_retries=0")
        with Server(self.path("table"), "--allow_paths_outside_model") as server:
            self.assertEqual(ask(server, secret).json, {"outputs": "one\ntwo\n"})
            self.assertIn("it is not a regular file", ask(server, self.path("fifo")).json["error"])


if __name__ == "__main__":
    main()

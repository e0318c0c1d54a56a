"""Which versions replace the one that serves: those that can answer, loaded in bounded time and memory, from files of their own."""
import tiny_model
from harness import Server, TestCase, main

ASK = "/v1/models/default:predict"
FLOAT = ("type", 1)


def write(directory, *ops, **signatures):
    """A model of x -> y: each keyword is a signature and names the node that gives its y; `ops` are (name, op) of one float input, x."""
    b = tiny_model.Builder()
    b.placeholder("x", 1, [-1])
    for name, op in ops:
        b.node(name, op, "x", T=FLOAT)
    for name, node in signatures.items():
        b.signature(name, "predict", {"x": ("x:0", 1, [-1])}, {"y": (node + ":0", 1, [-1])})
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
        neg, lacking = ("y", "Neg"), ("lack", "XlaSvd")
        with self.serve() as server:
            write(self.path("model", "2"), neg, lacking, serving_default="lack", other="y")
            self.assert_refused(server, 2, "signature 'serving_default'", "op 'XlaSvd' of node 'lack' is not implemented")
            write(self.path("model", "3"), lacking, one="lack", two="lack")
            self.assert_refused(server, 3, "signature 'one'", "op 'XlaSvd' of node 'lack' is not implemented")
            write(self.path("model", "4"), neg, lacking, serving_default="y", other="lack")
            server.wait_for_state(4, "AVAILABLE")
            self.assertEqual(server.post(ASK, {"inputs": [1.5]}).json, {"outputs": [-1.5]})
            answer = server.post(ASK, {"signature_name": "other", "inputs": [1.5]})
            self.assertEqual((answer.status, "'XlaSvd'" in answer.json["error"]), (501, True), answer)
            self.assertEqual(server.output().count("version 4: signature other cannot answer: op 'XlaSvd'"), 1)

    def test_an_op_that_tensorflow_does_not_know_is_refused_even_if_nothing_needs_it(self):
        with self.serve() as server:
            write(self.path("model", "2"), ("y", "Neg"), ("strange", "NobodysOp"), serving_default="y")
            self.assert_refused(server, 2, "Op type not registered 'NobodysOp'", "'strange'")


if __name__ == "__main__":
    main()

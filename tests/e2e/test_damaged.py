"""Damaged and hostile SavedModels: refused with a line that names what is wrong, by `savedmodel` and by a server that goes on answering
from the version it has."""
import os
import random
import shutil

from digits import write_digits
from harness import Server, TestCase, main, run, train
from records import varint

ASK = "/v1/models/default:predict"
ROW = {"signature_name": "predict_images", "instances": [[0.5] * 784]}


# ---- a SavedModel by hand: protobuf's wire format, just enough of it ----
def field(number, value):
    """An int as a varint, anything else as length-delimited bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def entry(key, value):
    """An entry of a map from text to a message."""
    return field(1, key) + field(2, value)


def saved_model(*nodes, output):
    """One meta graph tagged {serve} whose signature gives `output` and takes nothing but `x`, a float placeholder."""
    x = field(1, "x") + field(2, "Placeholder") + field(5, entry("dtype", field(6, 1)))
    tensor_info = lambda name: field(1, name) + field(2, 1)  # noqa: E731
    signature = field(1, entry("x", tensor_info("x:0"))) + field(2, entry("y", tensor_info(output))) + field(3, "tensorflow/serving/predict")
    graph = b"".join(field(1, node) for node in (x,) + nodes) + field(4, field(1, 1395))
    meta = field(1, field(4, "serve")) + field(2, graph) + field(5, entry("serving_default", signature))
    return field(1, 1) + field(2, meta)


def nested(levels):
    """A node attribute of that many levels: an AttrValue whose func has an attribute whose value has a func …"""
    value = b""
    for _ in range(levels // 3):
        value = field(10, field(1, "f") + field(2, entry("a", value)))
    return saved_model(field(1, "y") + field(2, "Identity") + field(3, "x") + field(5, entry("T", field(6, 1))) + field(5, entry("_deep", value)), output="y:0")


def giant(size):
    """A constant that claims to have that many elements and holds one."""
    tensor = field(1, 1) + field(2, field(2, field(1, size))) + field(5, b"\0\0\0\0")
    const = field(1, "c") + field(2, "Const") + field(5, entry("dtype", field(6, 1))) + field(5, entry("value", field(8, tensor)))
    add = field(1, "y") + field(2, "AddV2") + field(3, "x") + field(3, "c") + field(5, entry("T", field(6, 1)))
    return saved_model(const, add, output="y:0")


class Damaged(TestCase):
    def setUp(self):
        super().setUp()
        data = write_digits(self.path("data"), train=200, test=50)
        self.whole = self.path("model", "1")
        train(self.whole, "--train_dir=%s" % data, "--training_iteration=2", "--work_dir=%s" % self.path("work"))
        self.draw = random.Random(20)

    def damaged(self, change):
        """A copy of the export with one file changed: change(directory)."""
        directory = self.path("damaged", "1")
        shutil.rmtree(self.path("damaged"), ignore_errors=True)
        shutil.copytree(self.whole, directory)
        change(directory)
        return directory

    @staticmethod
    def edit(name, change):
        def apply(directory):
            path = os.path.join(directory, name)
            with open(path, "rb") as f:
                content = f.read()
            with open(path, "wb") as f:
                f.write(change(content))
        return apply

    def flip(self, content):
        at = self.draw.randrange(len(content))
        return content[:at] + bytes([content[at] ^ 1 << self.draw.randrange(8)]) + content[at + 1:]

    def damages(self):
        index, data, graph = "variables/variables.index", "variables/variables.data-00000-of-00001", "saved_model.pb"
        half = lambda content: content[:len(content) // 2]  # noqa: E731
        yield "half an index", self.edit(index, half)
        yield "half the data", self.edit(data, half)
        yield "no data", lambda d: os.remove(os.path.join(d, data))
        yield "no index", lambda d: os.remove(os.path.join(d, index))
        yield "no variables, as in the middle of a copy", lambda d: shutil.rmtree(os.path.join(d, "variables"))
        yield "an empty index", self.edit(index, lambda c: b"")
        yield "a flipped bit in the data", self.edit(data, self.flip)
        yield "a flipped bit in the index", self.edit(index, lambda c: self.flip(c[:-48]) + c[-48:])
        yield "a wrong magic number", self.edit(index, lambda c: c[:-8] + bytes(8))
        yield "random bytes as saved_model.pb", self.edit(graph, lambda c: self.draw.randbytes(len(c)))
        yield "an empty saved_model.pb", self.edit(graph, lambda c: b"")
        yield "half a saved_model.pb", self.edit(graph, half)
        yield "12000 levels of nested protobuf", self.edit(graph, lambda c: nested(12000))

    def assert_refused(self, done, label):
        self.assertGreater(done.returncode, 0, "%s: exit %d: %s" % (label, done.returncode, done.stdout + done.stderr))
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, "%s: %s" % (label, done.stderr))

    def run_tool(self, directory):
        return run("savedmodel", "run", directory, "--signature", "predict_images", "--input", "images=[[%s]]" % ",".join(["0.5"] * 784))

    def test_the_whole_one_is_accepted_and_the_hand_made_one_too(self):
        self.assertEqual(self.run_tool(self.whole).returncode, 0)
        directory = self.damaged(self.edit("saved_model.pb", lambda c: giant(1)))
        shutil.rmtree(os.path.join(directory, "variables"))
        done = run("savedmodel", "run", directory, "--signature", "serving_default", "--input", "x=[1.5]")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1.5", done.stdout)
        for levels in (3, 60):
            directory = self.damaged(self.edit("saved_model.pb", lambda c, n=levels: nested(n)))
            done = run("savedmodel", "run", directory, "--signature", "serving_default", "--input", "x=[1.5]")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_savedmodel_refuses_each(self):
        for label, change in self.damages():
            with self.subTest(label):
                self.assert_refused(self.run_tool(self.damaged(change)), label)

    def test_any_prefix_of_the_graph_ends_in_an_answer_never_a_crash(self):
        size = os.path.getsize(os.path.join(self.whole, "saved_model.pb"))
        for at in sorted(self.draw.sample(range(size), 25)):
            done = run("savedmodel", "show", self.damaged(self.edit("saved_model.pb", lambda c, n=at: c[:n])))
            self.assertIn(done.returncode, (0, 1), "prefix of %d bytes: %s" % (at, done.stderr))

    def test_a_tensor_that_claims_2_to_the_60_elements(self):
        for size in (2**60, 2**62, 2**63 - 1, 2**40):
            directory = self.damaged(self.edit("saved_model.pb", lambda c, n=size: giant(n)))
            done = run("savedmodel", "run", directory, "--signature", "serving_default", "--input", "x=[1.5]")
            self.assert_refused(done, "2^60 elements")

    def test_a_server_goes_on_answering_from_the_version_it_has(self):
        with Server(self.path("model"), "--file_system_poll_wait_seconds=1", "--max_num_load_retries=0") as server:
            before = server.post(ASK, ROW)
            self.assertEqual(before.status, 200, before)
            version = 1
            for label, change in self.damages():
                version += 1
                with self.subTest(label):
                    os.rename(self.damaged(change), self.path("model", str(version)))
                    server.wait_for_state(version, "END")
                    status = {row["version"]: row for row in server.get("/v1/models/default").json["model_version_status"]}
                    self.assertNotEqual(status[str(version)]["status"]["error_code"], "OK", status)
                    self.assertNotEqual(status[str(version)]["status"]["error_message"], "", status)
                    self.assertEqual(status["1"]["state"], "AVAILABLE", status)
                    self.assertEqual(server.post(ASK, ROW).body, before.body)
                    shutil.rmtree(self.path("model", str(version)))

    def test_names_of_a_stranger_are_not_put_into_a_line_to_be_pasted(self):
        spy = self.edit("saved_model.pb", lambda c: c.replace(b"predict_images", b"$(touch pwned)"))
        with Server(os.path.dirname(self.damaged(spy)), "--model_name=$(id) ;", wait=False) as server:
            line = [line for line in server.wait_for_output("/metadata").splitlines() if "curl" in line]
            self.assertEqual(len(line), 1)
            self.assertRegex(line[0], r"^curl http://localhost:\d+/v1/models/%24%28id%29%20%3B/metadata$")

    def test_a_version_that_was_seen_half_copied_is_served_when_the_copy_is_complete(self):
        # Retries come too late for this test: only a change of the files can cause a load.
        for retries in ("--load_retry_interval_micros=3600000000", "--max_num_load_retries=0"):
            with self.subTest(retries), Server(self.path("model"), "--file_system_poll_wait_seconds=1", retries) as server:
                os.mkdir(self.path("model", "2"))
                shutil.copy(self.path("model", "1", "saved_model.pb"), self.path("model", "2"))
                server.wait_for_output("version: 2} failed: DATA_LOSS")
                self.assertEqual(server.post(ASK, ROW).status, 200)
                shutil.copytree(self.path("model", "1", "variables"), self.path("model", "2", "variables"))
                server.wait_for_state(2, "AVAILABLE")
                self.assertEqual(server.post(ASK, ROW).status, 200)
            shutil.rmtree(self.path("model", "2"))


if __name__ == "__main__":
    main()

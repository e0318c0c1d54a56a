"""Exports of TensorFlow Decision Forests: by columns, by rows and by gRPC, with TensorFlow's answers.

tests/golden/forests/exports.py trains the forests, exports them and writes the answers.
"""
import concurrent.futures
import json
import os

from grpc_client import Client, messages, tensor, values
from harness import SOURCE, Server, TestCase, main

EXPORTS = os.path.join(SOURCE, "tests", "golden", "forests", "exports")
TOLERANCE = 1e-6  # TensorFlow adds the leaves in another order


def flat(rows):
    return [value for row in rows for value in row] if isinstance(rows[0], list) else rows


class Forests(TestCase):
    def check_close(self, got, want):
        self.assertEqual(len(got), len(want))
        for one, other in zip(flat(got), flat(want)):
            self.assertAlmostEqual(one, other, delta=TOLERANCE * max(1, abs(other)))

    def ask(self, server, body):
        answer = server.post("/v1/models/forest:predict", body)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def check_grpc(self, server, answers):
        request = messages().PredictRequest()
        request.model_spec.name = "forest"
        for name, column in answers["inputs"].items():
            data = [text.encode() for text in column] if isinstance(column[0], str) else column
            request.inputs[name].CopyFrom(tensor(answers["types"][name], [len(column)], data))
        with Client("127.0.0.1:%d" % server.port) as client:
            answer = client.predict(request)
        self.assertEqual(answer.code, "OK", answer)
        shape, got = values(answer.message.outputs[answers["output"]])
        self.assertEqual(shape[0], len(answers["values"]))
        self.assertEqual(len(got), len(flat(answers["values"])))
        self.check_close(got, flat(answers["values"]))

    def check(self, name, *flags):
        with open(os.path.join(EXPORTS, name, "answers.json"), encoding="ascii") as file:
            answers = json.load(file)
        inputs, want = answers["inputs"], answers["values"]
        with Server(os.path.join(EXPORTS, name), *flags, name="forest", grpc="same") as server:
            self.check_close(self.ask(server, {"inputs": inputs})["outputs"], want)
            self.check_grpc(server, answers)
            if any(len(column) != len(want) for column in inputs.values()):
                return  # the parts of a ragged tensor have no rows
            rows = [dict(zip(inputs, row)) for row in zip(*inputs.values())]
            self.check_close(self.ask(server, {"instances": rows})["predictions"], want)
            with concurrent.futures.ThreadPoolExecutor(4) as threads:
                alone = list(threads.map(lambda row: self.ask(server, {"instances": [row]})["predictions"][0], rows))
            self.check_close(alone, want)

    def test_a_random_forest_of_distributions(self):
        self.check("forest_distributions")

    def test_a_random_forest_with_oblique_conditions(self):
        self.check("forest_oblique")

    def test_a_random_forest_of_numbers(self):
        self.check("forest_regression")

    def test_boosted_trees_of_several_classes(self):
        self.check("boosted_classes")

    def test_boosted_trees_that_rank(self):
        self.check("boosted_ranking")

    def test_boosted_trees_on_sets(self):
        self.check("boosted_sets")

    def test_requests_share_a_batch(self):
        self.check("boosted_classes", "--enable_batching")


if __name__ == "__main__":
    main()

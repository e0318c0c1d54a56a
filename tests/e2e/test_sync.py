"""--sync with a seed gives the same bits for every run and any number of ps."""
import json
import os

from digits import write_digits
from harness import SANITIZED, SOURCE, TestCase, main, train
from table_model import write_table_model

STEPS = 5 if SANITIZED else 25  # other sums differ from the first step on


class Sync(TestCase):
    def normalised(self):
        """A model with moving averages, and a constraint over the rows of a variable that is otherwise cut into pieces."""
        with open(os.path.join(SOURCE, "models", "mlp.json")) as f:
            model = json.load(f)
        layers = model["config"]["layers"]
        dense = next(i for i, layer in enumerate(layers) if layer["class_name"] == "Dense")
        layers[dense]["config"]["kernel_constraint"] = {"class_name": "MaxNorm", "config": {"max_value": 1, "axis": 0}}
        layers.insert(dense + 1, {"class_name": "BatchNormalization", "config": {"name": "normalised"}})
        path = self.path("normalised.json")
        with open(path, "w") as f:
            json.dump(model, f)
        return path

    def variables(self, label, *flags):
        directory = self.path(label, "1")
        train(directory, "--train_dir=%s" % self.data, "--work_dir=%s" % self.path("work"), "--training_iteration=%d" % STEPS, *flags)
        with open(os.path.join(directory, "variables", "variables.data-00000-of-00001"), "rb") as f:
            return f.read()

    def test_same_bits_for_any_number_of_ps_and_for_every_run(self):
        self.data = write_digits(self.path("data"), train=500, test=50)
        tables = [write_table_model(self.path(name + ".json"), name) for name in ("Adagrad", "RMSprop")]
        tables.append(write_table_model(self.path("sampled.json"), sampled=4))
        for model in ("softmax", "mlp", self.normalised(), *tables):
            name = os.path.basename(model)
            want = self.variables(name + "-a", "--model=" + model, "--sync", "--seed=5", "--ps=1", "--workers=2")
            self.assertGreater(len(want), 1000)
            for label, *flags in (("b", "--ps=1"), ("c", "--ps=2"), ("d", "--ps=5")):
                got = self.variables(name + "-" + label, "--model=" + model, "--sync", "--seed=5", "--workers=2", *flags)
                self.assertTrue(got == want, "%s: %s differs from --ps=1" % (model, flags))
            self.assertFalse(self.variables(name + "-e", "--model=" + model, "--sync", "--seed=6", "--ps=1", "--workers=2") == want,
                             "another seed gives other weights, or the comparison proves nothing")


if __name__ == "__main__":
    main()

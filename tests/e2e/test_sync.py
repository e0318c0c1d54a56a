"""--sync with a seed gives the same bits for every run and any number of ps."""
import os

from digits import write_digits
from harness import TestCase, main, train


class Sync(TestCase):
    def variables(self, label, *flags):
        directory = self.path(label, "1")
        train(directory, "--train_dir=%s" % self.data, "--work_dir=%s" % self.path("work"), "--training_iteration=25", *flags)
        with open(os.path.join(directory, "variables", "variables.data-00000-of-00001"), "rb") as f:
            return f.read()

    def test_same_bits_for_any_number_of_ps_and_for_every_run(self):
        self.data = write_digits(self.path("data"), train=500, test=50)
        for model in ("softmax", "mlp"):
            want = self.variables(model + "-a", "--model=" + model, "--sync", "--seed=5", "--ps=1", "--workers=2")
            self.assertGreater(len(want), 1000)
            for label, *flags in (("b", "--ps=1"), ("c", "--ps=2"), ("d", "--ps=5")):
                got = self.variables(model + "-" + label, "--model=" + model, "--sync", "--seed=5", "--workers=2", *flags)
                self.assertTrue(got == want, "%s: %s differs from --ps=1" % (model, flags))
            self.assertFalse(self.variables(model + "-e", "--model=" + model, "--sync", "--seed=6", "--ps=1", "--workers=2") == want,
                             "another seed gives other weights, or the comparison proves nothing")


if __name__ == "__main__":
    main()

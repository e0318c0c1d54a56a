"""What training reaches: on real MNIST, on the digits that pstrain draws itself, and on sparse data of the real world."""
import re

from harness import TestCase, main, shared, train

# Long enough for an epoch of the convnet on a busy machine.
TIMEOUT_S = 3000


class Accuracy(TestCase):
    def accuracy(self, *flags):
        said = train(self.path("model", str(len(flags)) + str(abs(hash(flags)))), "--work_dir=%s" % self.path("work"), *flags, timeout=TIMEOUT_S).stdout
        found = re.findall(r"accuracy\D*(0\.\d+|1\.0*)", said)
        self.assertTrue(found, said[-1500:])
        print("%s: %s" % (" ".join(flags), found[-1]), flush=True)
        return float(found[-1])

    def test_softmax_on_mnist_for_every_seed_tried(self):
        mnist = "--train_dir=" + shared("data", "mnist")
        for seed in (1, 2, 3, 7, 42, 1234):
            self.assertGreaterEqual(self.accuracy(mnist, "--training_iteration=1000", "--batch_size=100", "--seed=%d" % seed), 0.90)

    def test_softmax_on_mnist_with_nothing_else_set(self):
        self.assertGreaterEqual(self.accuracy("--train_dir=" + shared("data", "mnist")), 0.90)

    def test_mlp_on_mnist(self):
        self.assertGreaterEqual(self.accuracy("--train_dir=" + shared("data", "mnist"), "--model=mlp"), 0.975)

    def test_convnet_on_mnist(self):
        """One epoch ends between 0.976 and 0.984, by the seed and by how the workers' steps fall."""
        self.assertGreaterEqual(self.accuracy("--train_dir=" + shared("data", "mnist"), "--model=convnet", "--epochs=1"), 0.97)

    def test_softmax_finds_the_drawn_digits_hard(self):
        self.assertAlmostEqual(self.accuracy(), 0.9, delta=0.05)

    def test_convnet_masters_the_drawn_digits(self):
        self.assertGreater(self.accuracy("--model=convnet", "--training_iteration=300"), 0.97)

    def test_sparse_logistic_on_a9a(self):
        """The published linear models reach 84.9 %."""
        files = ["--train_files=" + shared("data", "a9a", "a9a"), "--test_files=" + shared("data", "a9a", "a9a.t")]
        for seed in (1, 2, 3):
            self.assertGreaterEqual(self.accuracy("--model=sparse_logistic", *files, "--seed=%d" % seed), 0.849)

    def test_sparse_logistic_on_mushroom(self):
        """The classes can be separated."""
        files = ["--train_files=" + shared("data", "mushroom", "agaricus_train.txt"), "--test_files=" + shared("data", "mushroom", "agaricus_test.txt")]
        self.assertGreaterEqual(self.accuracy("--model=sparse_logistic", *files, "--epochs=40"), 0.999)


if __name__ == "__main__":
    main()

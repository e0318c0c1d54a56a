"""Models with several inputs on tables as they are: which columns each input takes, and what is said if none fit."""
import json
import os
import random

from harness import TestCase, main, run
from records import example, floats, integers, record


def criteo_lines(count, seed=1):
    """The first category decides the label. Numbers and categories may be missing."""
    numbers = random.Random(seed)
    for _ in range(count):
        categories = ["%08x" % numbers.randrange(40) if numbers.random() < 0.9 else "" for _ in range(26)]
        label = categories[0] != "" and int(categories[0], 16) % 3 == 0
        yield "\t".join(["%d" % label] + ["%d" % 10 ** numbers.randrange(6) if numbers.random() < 0.8 else "" for _ in range(13)] + categories)


def clicks(count, seed=1):
    """Rows of a table: the color decides the label. Ages may be missing."""
    numbers = random.Random(seed)
    for _ in range(count):
        color = numbers.choice(["red", "green", "blue", "black"])
        yield [int(color in ("red", "blue")), color, numbers.choice(["s", "m", "l"]), numbers.choice(["", *range(20, 60)]),
               round(numbers.gauss(1000, 300), 2), numbers.randrange(3)]


HEADER = "click,color,size,age,price,visits\n"


class Tables(TestCase):
    def write(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def csv(self, name="clicks.csv", count=2000, header=HEADER):
        return self.write(name, header + "".join(",".join(map(str, row)) + "\n" for row in clicks(count)))

    def train(self, *flags, auc=0.9, export=None):
        where = "--export_dir=" + self.path(export) if export else "--noexport"
        done = run("pstrain", *flags, where, "--epochs=8", "--workers=1", "--learning_rate=0.2", "--batch_size=50")
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, said)
        self.assertGreater(float(said.split("Test: ")[1].split("auc ")[1].split()[0].rstrip(",")), auc, said)
        return said

    def refused(self, *flags):
        done = run("pstrain", *flags, "--noexport", "--epochs=1", "--workers=1")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stderr

    def test_criteo_without_a_schema(self):
        path = self.write("day.criteo", "\n".join(criteo_lines(2000)) + "\n")
        for model in ("wide_deep", "fm", "deepfm", "dcn_v2"):
            with self.subTest(model):
                said = self.train("--model=" + model, "--train_files=" + path, "--test_files=" + path, auc=0.58)
                self.assertIn('as if --schema had "inputs": {"ids": ["C1", "C2", "C3", …], "numbers": ["I1", "I2", "I3", …]}', said)

    def test_criteo_with_the_schema_that_is_printed(self):
        path = self.write("day.criteo", "\n".join(criteo_lines(2000)) + "\n")
        for flags in ([], ["--label_column=label", "--normalize", "--hash_buckets=1000"]):
            schema = self.write("schema.json", run("pstrain", "schema", path, *flags).stdout)
            self.train("--model=deepfm", "--train_files=" + path, "--test_files=" + path, "--schema=" + schema)

    def test_a_table_of_any_columns(self):
        path = self.csv()
        schema = self.write("schema.json", run("pstrain", "schema", path, "--label_column=click", "--normalize").stdout)
        for model in ("wide_deep", "fm", "deepfm"):
            with self.subTest(model):
                flags = ["--train_files=" + path, "--test_files=" + path, "--label_column=click", "--schema=" + schema]
                said = self.train("--model=" + model, *flags, export=model)
                self.assertIn('"inputs": {"ids": ["color", "size"], "numbers": ["age", "price", "visits"]}', said)
        done = run("pstrain", "predict", self.path("fm"), "--predict_files=" + path, "--label_column=click", "--schema=" + schema)
        self.assertEqual(len(done.stdout.splitlines()), 2000, done.stderr)

    def test_integers_are_categories_if_only_these_fit(self):
        """As in Criteo's TFRecords: I are floats, C are row numbers."""
        numbers = random.Random(3)
        rows = [(numbers.randrange(30), [numbers.random() for _ in range(13)]) for _ in range(1000)]
        path = self.write("rows.tfrecord", b"".join(record(example(
            label=floats([c % 2]), **{"C%d" % i: integers([c + i]) for i in range(1, 27)},
            **{"I%d" % i: floats([x]) for i, x in enumerate(values, 1)})) for c, values in rows))
        self.train("--model=deepfm", "--train_files=" + path, "--test_files=" + path)
        self.train("--model=dcn_v2", "--train_files=" + path, "--test_files=" + path)

    def test_users_items_and_any_numbers(self):
        numbers = random.Random(5)
        users = [(numbers.randrange(20), numbers.randrange(20), numbers.random()) for _ in range(2000)]
        path = self.write("c.csv", "label,user,item,n\n" + "".join("%d,u%d,i%d,%g\n" % (u % 2, u, i, n) for u, i, n in users))
        said = self.train("--model=click", "--train_files=" + path, "--test_files=" + path)
        self.assertIn('as if --schema had "inputs": {"numbers": ["n"]}', said)

    def test_lists_of_a_schema_that_is_printed(self):
        path = self.write("a.libsvm", "".join("%d %s\n" % (i % 2, " ".join("%d:1" % c for c in (1 + i % 2, 3 + i % 7))) for i in range(500)))
        printed = run("pstrain", "schema", path).stdout
        self.assertEqual(json.loads(printed)["columns"][1]["kind"], "sparse")
        schema = self.write("schema.json", printed)
        self.train("--model=sparse_fm", "--train_files=" + path, "--test_files=" + path, "--schema=" + schema)

    def test_what_does_not_fit_is_explained(self):
        path = self.csv(count=50)
        said = self.refused("--model=dcn_v2", "--train_files=" + path, "--label_column=click")
        self.assertIn("the model's 'ids' takes 26 values per row, and the data have 2 of categories", said)
        self.assertIn('List the columns of each input in --schema: "inputs": {"ids": ["color", "size"], "numbers": ["age", "price", "visits"]}, '
                      'or choose a model that takes any number of columns, such as --model=deepfm', said)
        said = self.refused("--model=deepfm", "--train_files=" + self.write("n.csv", "label,a,b\n" + "1,2,3\n" * 9))
        self.assertIn("the model's 'ids' takes any number of values, and the data have 0 of categories (texts, or with hash_buckets)", said)
        said = self.refused("--model=deepfm", "--train_files=" + path)
        self.assertIn("--label_column: no column 'label'", said)
        sparse = self.write("a.libsvm", "1 1:1 3:1\n0 2:1\n")
        said = self.refused("--model=deepfm", "--train_files=" + sparse)
        self.assertIn("choose a model with the inputs 'index' and 'value', such as --model=sparse_deepfm", said)
        said = self.refused("--model=sparse_deepfm", "--train_files=" + path, "--label_column=click")
        self.assertIn("the model's 'index' takes a list of any length per row", said)
        said = self.refused("--model=two_tower", "--train_files=" + path, "--label_column=click")
        self.assertIn("no column 'user' for the model's 'user'", said)
        self.assertIn('"inputs": {"user": ["', said)

    def test_texts_become_as_many_buckets_as_the_table_has_rows(self):
        users = ["u%d" % (i % 40) for i in range(1000)]
        path = self.write("pairs.csv", "label,user,item\n" + "".join("%d,%s,i%d\n" % (int(u[1:]) % 2, u, i % 7) for i, u in enumerate(users)))
        done = run("pstrain", "--model=two_tower", "--train_files=" + path, "--epochs=1", "--workers=1", "--export_dir=" + self.path("m"))
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = run("savedmodel", "show", self.path("m")).stdout
        self.assertRegex(shown, r"user.*string")
        self.assertTrue(os.path.exists(self.path("m", "saved_model.pb")))


if __name__ == "__main__":
    main()

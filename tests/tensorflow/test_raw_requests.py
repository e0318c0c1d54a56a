"""TensorFlow answers raw requests to pstrain's exports as pstrain predict does, and as computed from its own hashes and the weights."""
import json

from tensorflow_oracle import np, tf

import raw_columns
from harness import TestCase, main, run


def prepared(row):
    """The model's input, prepared by TensorFlow and NumPy."""
    x = np.zeros(raw_columns.WIDTH)

    def bucket(value, count):
        return int(tf.strings.to_hash_bucket_fast(str(value), count))
    if row["color"]:
        x[bucket(row["color"], 7)] += 1
    x[7 + bucket(row["shop"], 5)] += 1
    x[12] = (float(np.float32(row["size"])) - 50) / 9
    x[13], x[14] = ["no", "yes"].index(row["kind of"]), [1, 2.5, 4].index(row["level"])
    for tag in row["tags"]:
        x[15 + bucket(tag, 6)] += 1
    x[21 + int(tf.raw_ops.Bucketize(input=float(row["age"]), boundaries=[40, 50, 55.5]))] += 1
    return x


class RawRequests(TestCase):
    def test_every_layout(self):
        made = list(raw_columns.rows())
        for kind in ("dense", "sparse", "classes"):
            with self.subTest(kind):
                flags = raw_columns.write(self.dir, kind)
                export = self.path(kind, "1")
                done = run("pstrain", "--export_dir=" + export, *flags)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                weights = tf.train.load_checkpoint(export + "/variables/variables")
                z = np.stack([prepared(row) for row in made]) @ weights.get_tensor("d/kernel") + weights.get_tensor("d/bias")
                want = tf.nn.softmax(z).numpy() if kind == "classes" else 1 / (1 + np.exp(-z))
                predict = tf.saved_model.load(export).signatures["predict"]
                types = {name: spec.dtype for name, spec in predict.structured_input_signature[1].items()}
                inputs = {name: tf.constant(value, types[name]) for name, value in raw_columns.request(made).items()}
                got, = predict(**inputs).values()
                np.testing.assert_allclose(got, want, atol=1e-6)
                done = run("pstrain", "predict", export, "--predict_files=" + self.path("rows.csv"), *[f for f in flags if f[2:7] in ("schem", "label")])
                rows = [next(iter(json.loads(line).values())) for line in done.stdout.splitlines()]
                np.testing.assert_allclose(rows, want, atol=1e-6)


if __name__ == "__main__":
    main()

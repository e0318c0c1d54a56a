"""Exports with hash tables: TensorFlow, Keras and modelserver give the same answers, and the rows are those of an Embedding."""
import json
import os
import random

from tensorflow_oracle import ask, assert_agrees, np, tf
from harness import Server, TestCase, main, train

WORDS = 50


def call(name):
    return {"class_name": "__keras_tensor__", "config": {"keras_history": [name, 0, 0]}}


def layer(kind, name, *inputs, **config):
    return {"class_name": kind, "name": name, "config": dict(config, name=name),
            "inbound_nodes": [{"args": [call(i) for i in inputs], "kwargs": {}}] if inputs else []}


def model(dtype, table, **config):
    layers = [layer("InputLayer", "x", batch_shape=[None, 3], dtype=dtype), layer(table, "table", "x", output_dim=4, **config),
              layer("Flatten", "flat", "table"), layer("Dense", "y", "flat", units=1, activation="sigmoid")]
    return {"class_name": "Functional", "config": {"name": "keys", "layers": layers, "input_layers": [["x", 0, 0]], "output_layers": [["y", 0, 0]]},
            "compile_config": {"optimizer": {"class_name": "Adagrad", "config": {"learning_rate": 0.5}}, "loss": "binary_crossentropy"}}


class Keys(TestCase):
    def export(self, name, dtype, form, table, *flags, **config):
        numbers = random.Random(3)
        rows = [[numbers.randrange(WORDS) for _ in range(3)] for _ in range(1500)]
        with open(self.path("rows.csv"), "w") as f:
            f.write("label,a,b,c\n" + "".join("%d,%s\n" % (sum(i % 2 for i in row) > 1, ",".join(form % i for i in row)) for row in rows))
        columns = [{"name": "label"}] + [{"name": n, "dtype": dtype} for n in "abc"]
        for file, content in (("schema.json", {"columns": columns, "inputs": {"x": ["a", "b", "c"]}}), ("model.json", model(dtype, table, **config))):
            with open(self.path(file), "w") as f:
                json.dump(content, f)
        directory = self.path(name, "1")
        train(directory, "--model=" + self.path("model.json"), "--train_files=" + self.path("rows.csv"), "--schema=" + self.path("schema.json"),
              "--sync", "--workers=2", "--training_iteration=80", *flags)
        return directory

    def check_answers(self, directory, x):
        """x: known ids, and others."""
        examples = []
        for row in x:
            kind = {"bytes_list": tf.train.BytesList(value=list(row))} if x.dtype == object else {"int64_list": tf.train.Int64List(value=list(row))}
            examples.append(tf.train.Example(features=tf.train.Features(feature={"x": tf.train.Feature(**kind)})).SerializeToString())
        with Server(os.path.dirname(directory)) as server:
            ours = ask(server, "predict", {"x": x}, ["y"])["y"]
        self.assertGreater(np.ptp(np.asarray(ours)), 0.3, "the model has learned")
        loaded = tf.saved_model.load(directory).signatures["predict"](x=tf.constant(x))["y"].numpy()
        assert_agrees(self, ours, loaded, 1e-6, "tf.saved_model.load")
        (by_layer,) = tf.keras.layers.TFSMLayer(directory, call_endpoint="serving_default")(tf.constant(examples)).values()
        assert_agrees(self, ours, np.asarray(by_layer), 1e-6, "TFSMLayer")
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            signature = tf.compat.v1.saved_model.load(session, ["serve"], directory).signature_def["predict"]
            by_session = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: x})
        assert_agrees(self, ours, by_session, 1e-6, "v1 loader")

    def test_texts(self):
        directory = self.export("texts", "string", "word %d", "DynamicEmbedding")
        self.check_answers(directory, np.array([[b"word 1", b"word 3", b"word 49"], [b"word 0", b"word 2", b"word 4"], [b"word 1", b"", b"nothing"]], object))
        reader = tf.train.load_checkpoint(os.path.join(directory, "variables", "variables"))
        keys = tf.strings.to_hash_bucket_fast(["word %d" % i for i in range(WORDS)], 2**63 - 1).numpy()
        self.assertEqual(set(reader.get_tensor("table/embeddings/keys")), set(keys))
        self.assertEqual(reader.get_tensor("table/embeddings/values")[0].tolist(), [0] * 4)

    def test_integers(self):
        directory = self.export("integers", "int64", "%d", "DynamicEmbedding")
        self.check_answers(directory, np.array([[1, 3, 49], [0, 2, 4], [1, -7, 2**62]], np.int64))

    def test_a_table_without_rows(self):
        """No key came often enough."""
        directory = self.export("empty", "int64", "%d", "DynamicEmbedding", min_count=1000)
        x = np.array([[1, 3, 49]], np.int64)
        with Server(os.path.dirname(directory)) as server:
            ours = ask(server, "predict", {"x": x}, ["y"])["y"]
        assert_agrees(self, ours, tf.saved_model.load(directory).signatures["predict"](x=tf.constant(x))["y"].numpy(), 1e-6)

    def test_rows_are_those_of_an_embedding(self):
        def read(directory):
            return tf.train.load_checkpoint(os.path.join(directory, "variables", "variables"))
        by_keys = read(self.export("keys", "int64", "%d", "DynamicEmbedding"))
        by_rows = read(self.export("rows", "int64", "%d", "Embedding", input_dim=WORDS))
        keys, values = by_keys.get_tensor("table/embeddings/keys"), by_keys.get_tensor("table/embeddings/values")
        self.assertEqual(sorted(keys), list(range(WORDS)))
        self.assertTrue(np.array_equal(values[1:], by_rows.get_tensor("table/embeddings")[keys]))
        self.assertTrue(np.array_equal(by_keys.get_tensor("y/kernel"), by_rows.get_tensor("y/kernel")))


if __name__ == "__main__":
    main()

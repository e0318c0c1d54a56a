"""pstrain exports a real SavedModel: TensorFlow loads it in three ways and gives modelserver's answers."""
import tensorflow_oracle  # noqa: first, it may go on under another interpreter
import contextlib
import io
import json
import os
import subprocess
import sys
from unittest import mock

import numpy as np
import tensorflow as tf
from absl.testing import flagsaver
from tensorflow.python.tools import saved_model_cli

import preprocessed
from digits import write_digits
from harness import SOURCE, Server, TestCase, clean_environment, main, train
from tensorflow_oracle import ask, assert_agrees

def started_tool(*arguments):
    """What saved_model_cli prints, started as a user starts it."""
    program = os.path.join(os.path.dirname(sys.executable), "saved_model_cli")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, env=clean_environment(), timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def imported_tool(*arguments):
    """The same by the tool's main() in this process: a start of the tool imports TensorFlow, which takes 5 s of processor time."""
    shown = io.StringIO()
    with mock.patch.object(sys, "argv", ["saved_model_cli", *arguments]), flagsaver.flagsaver(), contextlib.redirect_stdout(shown):
        try:
            saved_model_cli.main()
        except SystemExit as end:
            assert not end.code, end.code
    return shown.getvalue()


def examples(rows):
    """Serialized tf.Example protos with the feature `x`."""
    feature = lambda row: {"x": tf.train.Feature(float_list=tf.train.FloatList(value=row))}  # noqa: E731
    return [tf.train.Example(features=tf.train.Features(feature=feature(row))).SerializeToString() for row in rows]


def by_tf2(directory, signature, inputs):
    """tf.saved_model.load and a call of the signature."""
    function = tf.saved_model.load(directory).signatures[signature]
    return {k: v.numpy() for k, v in function(**{k: tf.constant(v) for k, v in inputs.items()}).items()}


def by_session(directory, signature, inputs):
    """tf.compat.v1.saved_model.load in a session: the restore op and the init op run, then the signature's tensors are fetched."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], directory)
        definition = meta.signature_def[signature]
        feed = {definition.inputs[k].name: v for k, v in inputs.items()}
        return session.run({k: t.name for k, t in definition.outputs.items()}, feed)


def by_cli(tool, directory, signature, inputs, scratch):
    """saved_model_cli run."""
    os.makedirs(scratch, exist_ok=True)
    feeds = []
    for name, value in inputs.items():
        np.save(os.path.join(scratch, name + ".npy"), value)
        feeds.append("%s=%s" % (name, os.path.join(scratch, name + ".npy")))
    tool("run", "--dir", directory, "--tag_set", "serve", "--signature_def", signature, "--inputs", ";".join(feeds), "--outdir", scratch, "--overwrite")
    return {f[:-4]: np.load(os.path.join(scratch, f), allow_pickle=True) for f in os.listdir(scratch)
            if f.endswith(".npy") and f[:-4] not in inputs}


class Exports(TestCase):
    def export(self, model, *flags):
        base = self.path("model")
        train(os.path.join(base, "1"), "--model=%s" % model, "--work_dir=%s" % self.path("work"), *flags)
        return base, os.path.join(base, "1")

    def check(self, model, *flags, signatures, tool=imported_tool):
        """signatures: {name: (method, inputs)}"""
        base, directory = self.export(model, *flags)
        stored = tf.saved_model.load(directory).signatures
        self.assertLessEqual(set(signatures), set(stored))
        shown = tool("show", "--dir", directory, "--all")
        with Server(base) as server:
            for name, (method, inputs) in signatures.items():
                self.assertIn("signature_def['%s']" % name, shown)
                self.assertIn("tensorflow/serving/" + method, shown)
                ways = {"tf.saved_model.load": by_tf2(directory, name, inputs), "session": by_session(directory, name, inputs)}
                if all(v.dtype != object for v in inputs.values()):  # the tool reads .npy files of objects only with its unsafe flag
                    ways["saved_model_cli"] = by_cli(tool, directory, name, inputs, self.path("cli-" + name))
                outputs = sorted(ways["session"])
                ours = ask(server, name, inputs, outputs)
                self.assertEqual(sorted(ours), outputs)
                for way, theirs in ways.items():
                    self.assertEqual(sorted(theirs), outputs, way)
                    for output in outputs:
                        assert_agrees(self, ours[output], theirs[output], what="%s %s.%s by %s" % (model, name, output, way))

    def check_classifier(self, model, *flags, **more):
        data = write_digits(self.path("data"), train=400, test=100)
        images = np.random.default_rng(1).random((5, 784), np.float32)
        self.check(model, "--train_dir=%s" % data, *flags, **more, signatures={
            "predict_images": ("predict", {"images": images}),
            "serving_default": ("classify", {"inputs": np.array(examples(images), object)})})

    def test_softmax(self):
        self.check_classifier("softmax", "--training_iteration=50", tool=started_tool)

    def test_mlp(self):
        self.check_classifier("mlp", "--training_iteration=20")

    def test_convnet(self):
        self.check_classifier("convnet", "--training_iteration=5")

    def test_table(self):
        """A table and numbers beside it, from TFRecords with ids."""
        draw, layers = np.random.default_rng(2), tf.keras.layers
        ids, numbers = tf.keras.Input((3,), dtype="int64", name="ids"), tf.keras.Input((2,), name="numbers")
        words = layers.Flatten(name="flat")(layers.Embedding(50, 4, name="words")(ids))
        y = layers.Dense(1, activation="sigmoid", name="out")(layers.Concatenate(name="joined")([words, numbers]))
        model = tf.keras.Model([ids, numbers], y, name="table")
        model.compile("adagrad", loss="binary_crossentropy")
        with open(self.path("table.json"), "w", encoding="utf-8") as f:
            f.write(model.to_json())

        def feature(row, x, **more):
            lists = {"ids": tf.train.Feature(int64_list=tf.train.Int64List(value=row)), "numbers": tf.train.Feature(float_list=tf.train.FloatList(value=x))}
            return tf.train.Example(features=tf.train.Features(feature={**lists, **more})).SerializeToString()

        rows, values = draw.integers(0, 50, (60, 3)), draw.random((60, 2), np.float32)
        with tf.io.TFRecordWriter(self.path("rows.tfrecord")) as writer:
            for row, x in zip(rows, values):
                writer.write(feature(row, x, label=tf.train.Feature(float_list=tf.train.FloatList(value=[float(row.sum() > 75)]))))
        asked = np.array([[0, 49, 7], [-1, 3, 3]]), values[:2]  # Keras 3 takes -1 as the last row
        self.check(self.path("table.json"), "--train_files=" + self.path("rows.tfrecord"), "--batch_size=10", "--training_iteration=30", signatures={
            "predict": ("predict", {"ids": asked[0], "numbers": asked[1]}),
            "serving_default": ("regress", {"inputs": np.array([feature(*x) for x in zip(*asked)], object)})})

    def test_retrieval(self):
        """Two towers, with a column that the loss alone takes: each is asked alone, and both together."""
        with open(os.path.join(SOURCE, "models", "retrieval.json"), encoding="utf-8") as f:
            model = json.load(f)
        model["compile_config"]["loss"]["user_vector"]["config"].update(temperature=0.5, candidate_sampling_probability="share")
        with open(self.path("towers.json"), "w", encoding="utf-8") as f:
            json.dump(model, f)
        with open(self.path("rows.csv"), "w", encoding="utf-8") as f:
            f.write("user,item,share\n" + "".join("%d,%d,%g\n" % (i % 30, i * 7 % 20, 0.05) for i in range(200)))
        users, items = np.array([[3], [29], [-1]]), np.array([[0], [19], [99999]])
        self.check(self.path("towers.json"), "--train_files=" + self.path("rows.csv"), "--batch_size=20", "--training_iteration=30", signatures={
            "user_vector": ("predict", {"user": users}), "item_vector": ("predict", {"item": items}),
            "serving_default": ("predict", {"user": users, "item": items})})

    def test_sampled_softmax(self):
        """Trained on samples of the classes, exported with all of them."""
        layers = [("InputLayer", {"name": "x", "batch_shape": [None, 1], "dtype": "int64"}),
                  ("Embedding", {"name": "words", "input_dim": 30, "output_dim": 4}), ("Flatten", {"name": "flat"}),
                  ("SampledSoftmax", {"name": "next", "units": 300, "num_sampled": 20})]
        with open(self.path("sampled.json"), "w", encoding="utf-8") as f:
            json.dump({"class_name": "Sequential", "keras_version": "3.15.0",
                       "config": {"name": "sampled", "layers": [{"class_name": c, "config": config} for c, config in layers]}}, f)
        with open(self.path("rows.csv"), "w", encoding="utf-8") as f:
            f.write("word,label\n" + "".join("%d,%d\n" % (i % 30, i % 30 * 9) for i in range(200)))
        self.check(self.path("sampled.json"), "--train_files=" + self.path("rows.csv"), "--batch_size=20", "--training_iteration=30", signatures={
            "predict_images": ("predict", {"images": np.array([[0], [29], [-1]])})})

    def test_linear(self):
        _, directory = base, directory = self.export("linear")
        signatures = {}
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            stored = tf.compat.v1.saved_model.load(session, ["serve"], directory).signature_def
            for name, definition in stored.items():
                if not definition.outputs or name.startswith("__"):
                    continue
                (key, info), = definition.inputs.items()
                x = np.array([[0.25], [0.75], [0.5]], np.float32)
                signatures[name] = (definition.method_name.rsplit("/", 1)[1],
                                    {key: np.array(examples(x), object) if info.dtype == tf.string.as_datatype_enum else x})
        self.assertEqual({method for method, _ in signatures.values()}, {"regress", "predict"})
        del base
        import shutil
        shutil.rmtree(self.path("model"))
        self.check("linear", signatures=signatures)

    def check_lists(self, name, config, layers, feature, parts):
        """A model with a sparse or ragged input, by its Examples and by the input's parts."""
        path, model = self.path("rows.libsvm"), self.path(name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join("%d %d:1 %d:0.5 %d:2\n" % (i % 2, i % 7 + 1, i % 5 + 1, i % 11 + 1) for i in range(300)))
        schema = {"columns": [{"name": "label"}, {"name": "index", "kind": "ragged", "dtype": "int64"} if config.get("ragged") else
                              {"name": "f", "kind": "sparse", "index": "index", "value": "value"}]}
        with open(self.path("schema.json"), "w", encoding="utf-8") as file:
            json.dump(schema, file)
        answer = {"class_name": "Dense", "config": {"name": "answer", "units": 1, "activation": "sigmoid"}}
        with open(model, "w", encoding="utf-8") as file:
            json.dump({"class_name": "Sequential", "config": {"name": name, "layers": [{"class_name": "InputLayer", "config": config}, *layers, answer]},
                       "compile_config": {"optimizer": "ftrl", "loss": "binary_crossentropy"}}, file)
        serialized = [tf.train.Example(features=tf.train.Features(feature=f)).SerializeToString() for f in feature]
        self.check(model, "--train_files=" + path, "--schema=" + self.path("schema.json"), "--learning_rate=0.5", signatures={
            "predict": ("predict", parts), "serving_default": ("regress", {"inputs": np.array(serialized, object)})})

    def test_raw_columns_of_adapted_layers(self):
        model, pattern = preprocessed.write(self.dir)
        raw = {"color": np.array([["red"], ["été"], ["unknown"], [""]], object), "size": np.float32([[70.5], [30], [50], [1e9]]),
               "shop": np.array([[3], [-12345678901234], [99], [7]], np.int64)}
        kinds = {"color": lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=[v.encode()])),
                 "size": lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=[v])),
                 "shop": lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=[v]))}
        rows = [tf.train.Features(feature={k: kinds[k](raw[k][i, 0]) for k in raw}) for i in range(4)]
        serialized = [tf.train.Example(features=row).SerializeToString() for row in rows]
        self.check(model, "--train_files=" + pattern, "--training_iteration=50", signatures={
            "predict": ("predict", raw), "serving_default": ("regress", {"inputs": np.array(serialized, object)})})

    def test_raw_columns_of_a_schema(self):
        """The schema's means are far from 0, where a float has few digits left: the graph subtracts in doubles."""
        draw = np.random.default_rng(3)
        rows = np.stack([draw.normal(1e6, 0.5, 200), draw.normal(0, 1, 200)], 1)
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("a,b,y\n" + "".join("%.4f,%.6f,%.6f\n" % (a, b, (a - 1e6) + b) for a, b in rows))
        with open(self.path("schema.json"), "w", encoding="utf-8") as file:
            json.dump({"columns": [{"name": "a", "mean": 1e6, "stddev": 0.5}, {"name": "b"}, {"name": "y"}]}, file)
        with open(self.path("sum.json"), "w", encoding="utf-8") as file:
            json.dump({"class_name": "Sequential", "config": {"name": "sum", "layers": [
                {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 2]}}, {"class_name": "Dense", "config": {"name": "y", "units": 1}}]}}, file)
        raw = np.float32([[1e6, 0], [1e6 + 0.5, 1], [1e6 - 1, -1]])
        self.check(self.path("sum.json"), "--train_files=" + self.path("rows.csv"), "--schema=" + self.path("schema.json"), "--label_column=y",
                   "--learning_rate=0.1", "--training_iteration=300", signatures={
                       "predict": ("predict", {"x": raw}), "serving_default": ("regress", {"inputs": np.array(examples(raw), object)})})
        ours = by_tf2(self.path("model", "1"), "predict", {"x": raw})["y"][:, 0]
        np.testing.assert_allclose(ours, [0, 1.5, -2], atol=.02)  # as after 300 steps without noise

    def test_texts(self):
        """TextVectorization, adapted to the data as by Keras: the vocabularies are Keras', and TensorFlow computes the same."""
        texts = ["The cat, sat. on THE mat!", "a  dog", "", "\u00fcn\u00ef c\u00f6d\u00e9 THE the", "dog: a cat", "the MAT"]
        config = {"ids": {"max_tokens": 12, "output_sequence_length": 5}, "weights": {"output_mode": "tf_idf", "ngrams": 2},
                  "letters": {"output_mode": "multi_hot", "split": "character"}}

        def layer(kind, name, *inputs, **more):
            calls = [[[i, 0, 0, {}] for i in inputs]] if inputs else []
            return {"class_name": kind, "name": name, "config": {"name": name, **more}, "inbound_nodes": calls}
        described = [layer("InputLayer", "text", batch_shape=[None, 1], dtype="string"), *(layer("TextVectorization", n, "text", **c) for n, c in config.items()),
                     layer("Embedding", "vectors", "ids", input_dim=12, output_dim=3), layer("Flatten", "flat", "vectors"),
                     layer("Concatenate", "all", "flat", "weights", "letters"), layer("Dense", "y", "all", units=1)]
        model = self.path("texts.json")
        with open(model, "w", encoding="utf-8") as file:
            json.dump({"class_name": "Functional", "config": {"name": "texts", "layers": described, "input_layers": [["text", 0, 0]],
                                                              "output_layers": [["y", 0, 0]]}}, file)
        with open(self.path("texts.csv"), "w", encoding="utf-8") as file:
            file.write("text,y\n" + "".join('"%s",%d\n' % (text, len(text)) for text in texts))
        asked = np.array([[t] for t in texts + ["something else, the cat", "   "]], object)
        feature = [{"x": tf.train.Feature(bytes_list=tf.train.BytesList(value=[t.encode()]))} for t in asked[:, 0]]
        serialized = [tf.train.Example(features=tf.train.Features(feature=f)).SerializeToString() for f in feature]
        self.check(model, "--train_files=" + self.path("texts.csv"), "--label_column=y", "--feature_columns=text", "--training_iteration=5", "--batch_size=6",
                   "--learning_rate=0.01", signatures={"predict": ("predict", {"x": asked}), "serving_default": ("regress", {"inputs": np.array(serialized, object)})})
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            nodes = {n.name: n for n in tf.compat.v1.saved_model.load(session, ["serve"], self.path("model", "1")).graph_def.node}
        for name, options in config.items():
            theirs = tf.keras.layers.TextVectorization(**options)
            theirs.adapt(texts)
            with self.subTest(name):
                ours = [v.decode() for v in tf.make_ndarray(nodes[name + "/vocabulary"].attr["value"].tensor)]
                self.assertEqual(ours, theirs.get_vocabulary(include_special_tokens=False))

    def test_a_sparse_input(self):
        rows = [[3, 1, 3], [], [11]]
        feature = [{"ids": tf.train.Feature(int64_list=tf.train.Int64List(value=ids)),
                    "values": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5] * len(ids)))} for ids in rows]
        pairs = [(row, i) for row, ids in enumerate(rows) for i in ids]
        self.check_lists("sparse", {"name": "x", "batch_shape": [None, 12], "dtype": "float32", "sparse": True}, [], feature,
                         {"x": np.array(pairs, np.int64), "x_1": np.full(len(pairs), 0.5, np.float32), "x_2": np.array([3, 12], np.int64)})

    def test_a_ragged_input(self):
        rows = [[3, 1, 3], [], [11]]
        bag = {"class_name": "EmbeddingBag", "config": {"name": "bag", "input_dim": 12, "output_dim": 3}}
        self.check_lists("ragged", {"name": "x", "batch_shape": [None, None], "dtype": "int64", "ragged": True}, [bag],
                         [{"x": tf.train.Feature(int64_list=tf.train.Int64List(value=ids))} for ids in rows],
                         {"x": np.array(sum(rows, []), np.int64), "x_1": np.array([0, 3, 3, 4], np.int64)})


if __name__ == "__main__":
    main()

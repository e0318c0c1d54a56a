"""SavedModels that this TensorFlow and Keras write load in modelserver and give TensorFlow's answers."""
import tensorflow_oracle  # noqa: first, it may go on under another interpreter
import json

import numpy as np
import tensorflow as tf

from harness import Server, TestCase, main, run
from tensorflow_oracle import ask, assert_agrees

keras = tf.keras
layers = keras.layers


class Foreign(TestCase):
    def setUp(self):
        super().setUp()
        keras.utils.set_random_seed(11)
        self.base, self.directory = self.path("model"), self.path("model", "1")
        self.random = np.random.default_rng(5)

    def floats(self, *shape):
        return (self.random.random(shape, np.float32) * 2 - 1).astype(np.float32)

    def check(self, *asks, tolerance=1e-5):
        """asks: (signature, inputs) pairs; the expected outputs come from tf.saved_model.load."""
        signatures = tf.saved_model.load(self.directory).signatures
        with Server(self.base) as server:
            for name, inputs in asks:
                theirs = {k: v.numpy() for k, v in signatures[name](**{k: tf.constant(v) for k, v in inputs.items()}).items()}
                ours = ask(server, name, inputs, sorted(theirs))
                self.assertEqual(sorted(ours), sorted(theirs))
                for output, want in theirs.items():
                    assert_agrees(self, ours[output], want, tolerance, "%s.%s" % (name, output))

    def check_keras(self, model, *shape, tolerance=1e-5):
        """Exports a Keras 3 model and asks it with batches of several sizes."""
        model.export(self.directory, verbose=False)
        (name,) = tf.saved_model.load(self.directory).signatures["serving_default"].structured_input_signature[1]
        self.check(*[("serving_default", {name: self.floats(batch, *shape)}) for batch in (1, 3, 8, 1)], tolerance=tolerance)

    def test_keras_dense_net(self):
        self.check_keras(keras.Sequential([layers.Input((20,)), layers.Dense(64, "relu"), layers.Dense(32, "tanh"),
                                           layers.Dense(5, "softmax")]), 20)

    def test_datasets_in_functions(self):
        class Texts(tf.Module):
            def __init__(self):
                super().__init__()
                self.scale = tf.Variable([1.0, 2.0, 3.0])
                self.ids = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b", "c"], tf.constant([0, 1, 2], tf.int64)), -1)

            @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "lines"), tf.TensorSpec([], tf.int64, "size")])
            def serve(self, lines, size):
                data = tf.data.Dataset.from_tensor_slices(lines).map(lambda line: self.ids.lookup(tf.strings.split(line)), num_parallel_calls=2)
                sums, batches = tf.zeros([3]), 0
                for batch in data.padded_batch(size, padding_values=tf.constant(-1, tf.int64)).prefetch(1):
                    sums += tf.reduce_sum(tf.one_hot(batch, 3), [0, 1]) * self.scale
                    batches += 1
                order = tf.data.Dataset.range(8).shuffle(4, seed=3).batch(8).get_single_element()
                return {"sums": sums, "batches": batches, "order": order}

        module = Texts()
        tf.saved_model.save(module, self.directory, signatures=module.serve)
        lines = np.array(["a b", "c", "", "b b b a", "x c"], object)
        self.check(*[("serving_default", {"lines": lines, "size": np.int64(size)}) for size in (1, 2, 9)])

    def test_keras_convolutional_net(self):
        model = keras.Sequential([
            layers.Input((20, 20, 3)), layers.Conv2D(8, 3, padding="same", activation="relu"), layers.BatchNormalization(),
            layers.MaxPooling2D(), layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False), layers.BatchNormalization(), layers.ReLU(),
            layers.AveragePooling2D(2), layers.Flatten(), layers.Dropout(0.5), layers.Dense(4, "softmax")])
        model.compile(loss="mse")  # some training, so that batch norm's averages are not their first values
        model.fit(self.floats(16, 20, 20, 3), self.floats(16, 4), epochs=2, verbose=0)
        self.check_keras(model, 20, 20, 3)

    def test_keras_recurrent_net(self):
        # 1e-4: seven steps, each on the rounded state of the one before.
        self.check_keras(keras.Sequential([layers.Input((7, 3)), layers.LSTM(16, return_sequences=True), layers.LSTM(8), layers.Dense(1)]),
                         7, 3, tolerance=1e-4)

    def test_keras_text_vectorization(self):
        texts = ["The cat, sat. on THE mat!", "a  dog", "", "   ", "\u00fcn\u00ef c\u00f6d\u00e9 THE the", "an unknown word"]
        x = layers.Input((1,), dtype="string", name="x")
        options = [dict(output_mode="int"), dict(output_mode="int", output_sequence_length=5, ngrams=2), dict(output_mode="multi_hot", split="character"),
                   dict(output_mode="tf_idf", ngrams=(2, 3)), dict(output_mode="count", split=None, standardize=None),
                   dict(output_mode="int", split="character", output_sequence_length=4)]
        outputs = []
        for option in options:
            layer = layers.TextVectorization(**option)
            layer.adapt(texts[:5])
            outputs.append(layer(x))
        keras.Model(x, outputs).export(self.directory, verbose=False)
        (name,) = tf.saved_model.load(self.directory).signatures["serving_default"].structured_input_signature[1]
        self.check(*[("serving_default", {name: np.array(some, object).reshape(-1, 1)}) for some in (texts, texts[:1], texts[2:3])])

    def test_keras_functional_with_two_inputs_and_outputs(self):
        a, b = layers.Input((4,), name="a"), layers.Input((6,), name="b")
        both = layers.Concatenate()([layers.Dense(8, "relu")(a), layers.Dense(8, "sigmoid")(b)])
        keras.Model({"a": a, "b": b}, {"sum": layers.Dense(2)(both), "odds": layers.Dense(3, "softmax")(both)}).export(self.directory, verbose=False)
        self.check(*[("serving_default", {"a": self.floats(n, 4), "b": self.floats(n, 6)}) for n in (1, 2, 5)])

    def test_module_with_signatures(self):
        class Module(tf.Module):
            def __init__(self):
                super().__init__()
                self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
                self.offset = tf.Variable(7, dtype=tf.int32)

            @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
            def project(self, x):
                return {"y": tf.matmul(x, self.w), "largest": tf.argmax(x, 1), "flipped": tf.reverse(x, [1])}

            @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, "n"), tf.TensorSpec([None], tf.string, "s")])
            def passes(self, n, s):
                return {"n": n + self.offset, "s": tf.identity(s), "small": n < 3}

        module = Module()
        tf.saved_model.save(module, self.directory, {"serving_default": module.project, "passes": module.passes})
        self.check(("serving_default", {"x": self.floats(4, 3)}), ("serving_default", {"x": self.floats(1, 3)}),
                   ("passes", {"n": np.array([1, 2, 3], np.int32), "s": np.array([b"a", b"", b"\x00\xff"], object)[:2].repeat(2)[:3]}))

    def test_variables_of_several_dtypes_and_an_empty_one(self):
        class Module(tf.Module):
            def __init__(self):
                super().__init__()
                self.values = {t.name: tf.Variable(tf.cast([[1, 2], [3, 4]], t)) for t in (tf.float64, tf.int32, tf.int64, tf.float32)}
                self.empty = tf.Variable(tf.zeros([0, 3]))

            @tf.function(input_signature=[tf.TensorSpec([], tf.float32, "x")])
            def all(self, x):
                given = {k: tf.identity(v) for k, v in self.values.items()}
                return dict(given, empty=tf.identity(self.empty), x=x)

        module = Module()
        tf.saved_model.save(module, self.directory, {"serving_default": module.all})
        self.check(("serving_default", {"x": np.float32(2.5)}))

    def save_one_input(self, module, shape, dtype, **functions):
        """tf.saved_model.save with one signature per function of x."""
        spec = [tf.TensorSpec(shape, dtype, "x")]
        tf.saved_model.save(module, self.directory,
                            {name: tf.function(lambda x, f=f: {"y": f(x)}, input_signature=spec, autograph=False) for name, f in functions.items()})

    def test_two_towers_have_embeddings_of_one_name(self):
        class TwoTowers(keras.Model):
            def __init__(self):
                super().__init__()
                self.user, self.item = layers.Embedding(50, 8), layers.Embedding(50, 8)

            def call(self, given):
                return tf.reduce_sum(self.user(given["u"]) * self.item(given["i"]), -1)

        model, ids = TwoTowers(), np.array([1, 2], np.int32)
        model({"u": ids, "i": ids})
        self.save_one_input(model, [None], tf.int32, serving_default=model.user, item=model.item)
        self.check(("serving_default", {"x": ids}), ("item", {"x": ids}))

    def test_a_subclassed_model_has_two_layers_of_one_name(self):
        class Two(keras.Model):
            def __init__(self):
                super().__init__()
                self.first, self.second = layers.Dense(6), layers.Dense(6)

            def call(self, x):
                return self.second(self.first(x))

        model, x = Two(), self.floats(3, 6)
        model(x)
        self.save_one_input(model, [None, 6], tf.float32, serving_default=model, first=model.first, second=model.second)
        self.check(*[(name, {"x": x}) for name in ("serving_default", "first", "second")])

    def test_a_model_and_its_average_or_target(self):
        for name, served in (("ema_model", "model"), ("ema_model", "ema_model"), ("target", "model"), ("target", "target")):
            with self.subTest(name=name, served=served):
                self.base, self.directory = self.path(name + served), self.path(name + served, "1")
                net = keras.Sequential([layers.Input((6,)), layers.Dense(8, "relu", name="h"), layers.Dense(3, name="o")])
                other = keras.models.clone_model(net)
                other.set_weights([w + 0.5 for w in net.get_weights()])
                module = tf.Module()
                module.model = net
                setattr(module, name, other)
                self.save_one_input(module, [None, 6], tf.float32, serving_default=getattr(module, served))
                self.check(("serving_default", {"x": self.floats(2, 6)}))

    def test_plain_variables_of_one_name(self):
        module = tf.Module()
        module.one, module.two = (tf.Variable(k * np.eye(6, 3, dtype=np.float32), name="w") for k in (1, 2))
        self.save_one_input(module, [None, 6], tf.float32, serving_default=lambda x: x @ module.two, one=lambda x: x @ module.one)
        self.check(*[(name, {"x": self.floats(2, 6)}) for name in ("serving_default", "one")])

    def test_tf1_builder_with_examples_and_a_table(self):
        """The classic export example: parse tf.Example, a softmax regression, top k, an index-to-string table."""
        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            serialized = v1.placeholder(tf.string, [None], "tf_example")
            x = tf.identity(v1.io.parse_example(serialized, {"x": v1.FixedLenFeature([6], tf.float32)})["x"], "x")
            w = v1.get_variable("w", [6, 3], initializer=v1.random_normal_initializer(seed=3), use_resource=False)
            b = v1.get_variable("b", [3], initializer=v1.constant_initializer(0.1), use_resource=True)
            y = tf.nn.softmax(tf.matmul(x, w) + b)
            values, indices = tf.nn.top_k(y, 3)
            table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.range(3, dtype=tf.int64), tf.constant(["no", "maybe", "yes"])), "?")
            classes = table.lookup(tf.cast(indices, tf.int64))
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            info = v1.saved_model.utils.build_tensor_info
            build = v1.saved_model.signature_def_utils.build_signature_def
            builder = v1.saved_model.Builder(self.directory)
            builder.add_meta_graph_and_variables(session, ["serve"], main_op=v1.tables_initializer(), signature_def_map={
                "serving_default": build({"inputs": info(serialized)}, {"classes": info(classes), "scores": info(values)}, "tensorflow/serving/classify"),
                "predict": build({"x": info(x)}, {"y": info(y)}, "tensorflow/serving/predict")})
            builder.save()
        rows = self.floats(4, 6)
        protos = [tf.train.Example(features=tf.train.Features(feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=r))}))
                  .SerializeToString() for r in rows]
        self.check(("predict", {"x": rows}), ("serving_default", {"inputs": np.array(protos, object)}))
        want = tf.saved_model.load(self.directory).signatures["serving_default"](inputs=tf.constant(protos))
        with Server(self.base) as server:
            answer = server.post("/v1/models/default:classify", {"examples": [{"x": r.tolist()} for r in rows]})
            self.assertEqual(answer.status, 200, answer)
            for got, classes, scores in zip(answer.json["results"], want["classes"].numpy(), want["scores"].numpy()):
                self.assertEqual([label for label, _ in got], [c.decode() for c in classes])
                assert_agrees(self, [score for _, score in got], scores)

    def test_a_tf1_saver_that_stores_the_parts_of_a_variable_twice(self):
        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 4], "x")
            whole = v1.get_variable("whole", [4, 8], use_resource=False)
            cut = v1.get_variable("cut", [8, 3], use_resource=False, partitioner=v1.min_max_variable_partitioner(max_partitions=4, min_slice_size=16))
            y = tf.matmul(tf.matmul(x, whole), tf.convert_to_tensor(cut))
            session.run(v1.global_variables_initializer())
            saver = v1.train.Saver({"whole": whole, "old/cut": cut, **{part.op.name: part for part in cut}})
            builder = v1.saved_model.builder.SavedModelBuilder(self.directory)
            signature = v1.saved_model.signature_def_utils.predict_signature_def({"x": x}, {"y": y})
            builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature}, saver=saver)
            builder.save()
        self.check(("serving_default", {"x": self.floats(3, 4)}))

    def test_embedding(self):
        keras.Sequential([layers.Input((8,), dtype="int32"), layers.Embedding(50, 4), layers.Flatten(), layers.Dense(1, "sigmoid")]).export(
            self.directory, verbose=False)
        (name,) = tf.saved_model.load(self.directory).signatures["serving_default"].structured_input_signature[1]
        self.check(*[("serving_default", {name: self.random.integers(0, 50, (n, 8)).astype(np.int32)}) for n in (1, 6)])

    def test_savedmodel_run_gives_tensorflows_answer(self):
        model = keras.Sequential([layers.Input((5,)), layers.Dense(3)])
        model.export(self.directory, verbose=False)
        signature = tf.saved_model.load(self.directory).signatures["serving_default"]
        (name,) = signature.structured_input_signature[1]
        x = self.floats(2, 5)
        np.save(self.path("x.npy"), x)
        done = run("savedmodel", "run", self.directory, "--signature", "serving_default", "--input", "%s=%s" % (name, self.path("x.npy")))
        self.assertEqual(done.returncode, 0, done.stderr)
        (want,) = signature(tf.constant(x)).values()
        got = json.JSONDecoder().raw_decode(done.stdout.split("\n", 1)[1].strip())[0]  # the first line says name, dtype, shape
        assert_agrees(self, got, want.numpy(), what=done.stdout)


if __name__ == "__main__":
    main()

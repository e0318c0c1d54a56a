"""Models whose inputs have open dimensions, trained by pstrain on rows of different lengths from CSV files, TFRecords and lines of text.
20 steps change the variables as Keras' fit does on the same batches, each padded to its longest row. TensorFlow and modelserver give
the export's answers, which are Keras', for sequences of several lengths."""
import os

from tensorflow_oracle import ask, assert_agrees, np, tf

from harness import Server, TestCase, main, run

keras = tf.keras
L = keras.layers
STEPS, ROWS, BATCH, WORDS, FEATURES = 20, 24, 8, 30, 5
# Sums of floats in another order, through recurrent layers and normalisations: 20 steps from drawn values came to 3.5e-5.
TOLERANCE = 1e-4


def ids_input():
    return keras.Input((None,), dtype="int32", name="x")


def compiled(model, loss="sparse_categorical_crossentropy"):
    model.compile(keras.optimizers.SGD(0.05, momentum=0.5), loss=loss)
    return model


def padded(rows):
    out = np.zeros((len(rows), max(map(len, rows))) + np.shape(rows[0])[1:], np.asarray(rows[0]).dtype)
    for to, row in zip(out, rows, strict=True):
        to[:len(row)] = row
    return out


def feature(values):
    values = np.ravel(values)
    if values.dtype.kind in "iu":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


class OpenInputs(TestCase):

    def setUp(self):
        super().setUp()
        keras.utils.set_random_seed(7)  # of the layers' first values
        self.draw = np.random.default_rng(7)
        # No batch is as long as another one.
        self.lengths = [int(self.draw.integers(3, 8 + 3 * (i // BATCH))) for i in range(ROWS)]
        self.labels = self.draw.integers(0, 2, ROWS)

    def ids(self, lengths):
        return [self.draw.integers(1, WORDS, n).astype(np.int32) for n in lengths]

    def steps(self, lengths):
        return [self.draw.uniform(-1, 1, (n, FEATURES)).astype(np.float32) for n in lengths]

    def write_csv(self, rows, labels):
        with open(self.path("rows.csv"), "w", encoding="utf-8") as f:
            f.write("x,label\n" + "".join("%s,%s\n" % ("|".join("%.9g" % v for v in np.ravel(x)), y) for x, y in zip(rows, labels, strict=True)))
        with open(self.path("schema.json"), "w", encoding="utf-8") as f:
            f.write('{"columns": [{"name": "x", "kind": "ragged", "dtype": "%s", "separator": "|"}, {"name": "label"}]}'
                    % ("int64" if rows[0].dtype.kind == "i" else "float32"))
        return ["--train_files=" + self.path("rows.csv"), "--schema=" + self.path("schema.json")]

    def write_tfrecords(self, rows, labels):
        with tf.io.TFRecordWriter(self.path("rows.tfrecord")) as writer:
            for x, y in zip(rows, labels, strict=True):
                writer.write(tf.train.Example(features=tf.train.Features(feature={"x": feature(x), "label": feature(y)})).SerializeToString())
        return ["--train_files=" + self.path("rows.tfrecord")]

    def write_sequences(self, rows, labels):
        with tf.io.TFRecordWriter(self.path("rows.tfrecord")) as writer:
            for x, y in zip(rows, labels, strict=True):
                steps = tf.train.FeatureList(feature=[feature(step) for step in x])
                writer.write(tf.train.SequenceExample(context=tf.train.Features(feature={"label": feature(y)}),
                                                      feature_lists=tf.train.FeatureLists(feature_list={"x": steps})).SerializeToString())
        return ["--train_files=" + self.path("rows.tfrecord")]

    def train(self, model, flags, batch=BATCH):
        """From the model's own values. Returns the values after the steps, by the path of each variable."""
        names = {w.path: w.path.removeprefix(model.name + "/") for w in model.weights}
        with open(self.path("model.json"), "w", encoding="utf-8") as f:
            f.write(model.to_json())
        directory = self.path("ckpt")
        os.makedirs(directory)
        prefix = os.path.join(directory, "model.ckpt-0")
        tf.raw_ops.SaveV2(prefix=prefix, tensor_names=[*names.values(), "global_step"], shape_and_slices=[""] * (len(names) + 1),
                          tensors=[tf.constant(w.numpy()) for w in model.weights] + [tf.constant(0, tf.int64)])
        tf.compat.v1.train.update_checkpoint_state(directory, prefix)
        done = run("pstrain", "--model=" + self.path("model.json"), "--export_dir=" + self.path("export", "1"), "--workers=1", "--ps=2",
                   "--batch_size=%d" % batch, "--shuffle_buffer=0", "--stop_at_step=%d" % STEPS, "--checkpoint_dir=" + directory, *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        reader = tf.train.load_checkpoint(directory)
        return {path: reader.get_tensor(name) for path, name in names.items()}

    def check(self, model, flags, rows, requests, labels=None):
        """requests: inputs of different lengths, to which the export must answer what Keras does. labels: a list if each step has one."""
        labels = self.labels if labels is None else labels
        got = self.train(model, flags)
        for step in range(STEPS):
            first = step * BATCH % ROWS
            some = labels[first:first + BATCH]
            model.train_on_batch(padded(rows[first:first + BATCH]), padded(some) if isinstance(labels, list) else some)
        for variable in model.weights:
            assert_agrees(self, got[variable.path], variable.numpy(), TOLERANCE, variable.path)
        self.check_export(model, requests)

    def check_export(self, model, requests):
        loaded = tf.saved_model.load(self.path("export", "1")).signatures
        name = next(name for name, function in loaded.items() if "inputs" not in function.structured_input_signature[1])
        (key, spec), = loaded[name].structured_input_signature[1].items()
        self.assertEqual(spec.shape.as_list(), [None, *model.input_shape[1:]])
        with Server(self.path("export")) as server:
            for x in requests:
                want = model.predict(x, verbose=0)
                (output, loads), = loaded[name](**{key: tf.constant(x)}).items()
                assert_agrees(self, loads.numpy(), want, TOLERANCE, "TensorFlow")
                assert_agrees(self, ask(server, name, {key: x}, [output])[output], want, TOLERANCE, "modelserver")
                default = loaded.get("serving_default")
                if default is not None and "inputs" in default.structured_input_signature[1]:
                    self.check_examples(default, server, x, want)

    def check_examples(self, loads, server, x, want):
        """The rows as Examples, of which all but the first lack the zeros at the end."""
        rows = [x[0]] + [np.trim_zeros(row, "b") if row.ndim == 1 else row[:np.flatnonzero(np.any(row, 1))[-1] + 1] for row in x[1:]]
        examples = [tf.train.Example(features=tf.train.Features(feature={"x": feature(row)})).SerializeToString() for row in rows]
        output = "scores" if "scores" in loads.structured_outputs else "outputs"
        want = -np.sort(-want)  # the best class comes first
        assert_agrees(self, loads(inputs=tf.constant(examples))[output].numpy(), want, TOLERANCE, "Examples")
        answer = ask(server, "serving_default", {"inputs": np.array(examples, object)}, list(loads.structured_outputs))
        assert_agrees(self, answer[output], want, TOLERANCE, "Examples, modelserver")

    def id_requests(self):
        return [padded(self.ids(lengths)) for lengths in ([7, 4], [1], [19, 3, 11])]

    def step_requests(self):
        return [padded(self.steps(lengths)) for lengths in ([7, 4], [6], [19, 3, 11])]

    def test_an_lstm_classifier(self):
        model = compiled(keras.Sequential([ids_input(), L.Embedding(WORDS, 6, name="words"), L.LSTM(5, name="lstm"),
                                           L.Dense(2, activation="softmax", name="scores")]))
        rows = self.ids(self.lengths)
        self.check(model, self.write_csv(rows, self.labels), rows, self.id_requests())

    def test_a_convolutional_classifier(self):
        x = ids_input()
        y = L.Dropout(0)(L.Conv1D(6, 3, activation="tanh", name="first")(L.Embedding(WORDS, 6, name="words")(x)))
        y = L.Conv1D(6, 3, padding="same", name="second")(L.MaxPooling1D(2, padding="same")(y))
        both = L.Concatenate()([L.GlobalMaxPooling1D()(y), L.GlobalAveragePooling1D()(y)])
        model = compiled(keras.Model(x, L.Dense(1, activation="sigmoid", name="answer")(both)), "binary_crossentropy")
        rows = self.ids(self.lengths)
        requests = [padded(self.ids(lengths)) for lengths in ([7, 4], [3], [19, 3, 11])]
        self.check(model, self.write_tfrecords(rows, self.labels), rows, requests, self.labels.reshape(-1, 1))

    def test_a_transformer_block(self):
        x = ids_input()
        y = L.Embedding(WORDS, 6, mask_zero=True, name="words")(x)
        # The true gradient of the bias of the keys is 0: what is left of it is rounding.
        attention = L.MultiHeadAttention(2, 3, bias_initializer="random_normal", name="heads")
        y = L.LayerNormalization(name="norm_1")(L.Add()([y, attention(y, y, use_causal_mask=True)]))
        y = L.LayerNormalization(name="norm_2")(L.Add()([y, L.Dense(6, name="down")(L.Dense(8, activation="gelu", name="up")(y))]))
        model = compiled(keras.Model(x, L.Dense(2, activation="softmax", name="scores")(L.GlobalAveragePooling1D()(y))))
        rows = self.ids(self.lengths)
        self.check(model, self.write_tfrecords(rows, self.labels), rows, self.id_requests())

    def test_a_regression_of_numbers(self):
        model = compiled(keras.Sequential([keras.Input((None, FEATURES), name="x"), L.Masking(name="masks"), L.GRU(5, return_sequences=True, name="gru_1"),
                                           L.GRU(4, name="gru_2"), L.Dense(1, name="value")]), "mse")
        rows, labels = self.steps(self.lengths), self.draw.uniform(-1, 1, (ROWS, 1)).astype(np.float32)
        self.check(model, self.write_sequences(rows, labels), rows, self.step_requests(), labels)

    def test_both_directions_with_masks(self):
        model = compiled(keras.Sequential([ids_input(), L.Embedding(WORDS, 6, mask_zero=True, name="words"),
                                           L.Bidirectional(L.LSTM(4, return_sequences=True), name="both"), L.Bidirectional(L.GRU(3), name="again"),
                                           L.Dense(2, activation="softmax", name="scores")]))
        rows = self.ids(self.lengths)
        self.check(model, self.write_csv(rows, self.labels), rows, self.id_requests())

    def test_words_that_are_hashed(self):
        """The schema hashes the words of a row, in training and in the export, whose requests have the words and the row splits."""
        model = compiled(keras.Sequential([keras.Input((None,), dtype="int64", name="x"), L.Embedding(WORDS, 6, name="words"), L.GRU(5, name="gru"),
                                           L.Dense(1, name="value")]), "mse")
        words = [["w%d" % self.draw.integers(50) for _ in range(n)] for n in self.lengths]
        hashed = [tf.strings.to_hash_bucket_fast(row, WORDS).numpy() for row in words]
        labels = self.draw.uniform(-1, 1, (ROWS, 1)).astype(np.float32)
        with open(self.path("rows.csv"), "w", encoding="utf-8") as f:
            f.write("words,label\n" + "".join("%s,%.9g\n" % (" ".join(x), y) for x, (y,) in zip(words, labels, strict=True)))
        with open(self.path("schema.json"), "w", encoding="utf-8") as f:
            f.write('{"columns": [{"name": "words", "kind": "ragged", "dtype": "string", "separator": " ", "hash_buckets": %d}, {"name": "label"}]}' % WORDS)
        got = self.train(model, ["--train_files=" + self.path("rows.csv"), "--schema=" + self.path("schema.json")])
        for step in range(STEPS):
            first = step * BATCH % ROWS
            model.train_on_batch(padded(hashed[first:first + BATCH]), labels[first:first + BATCH])
        for variable in model.weights:
            assert_agrees(self, got[variable.path], variable.numpy(), TOLERANCE, variable.path)
        for some in (slice(0, 3), slice(9, 10), slice(3, 24)):
            splits = np.cumsum([0] + [len(row) for row in words[some]])
            request = {"words": np.array(sum(words[some], []), object), "words_1": splits}
            want = model.predict(padded(hashed[some]), verbose=0)
            loaded = tf.saved_model.load(self.path("export", "1")).signatures["predict"]
            assert_agrees(self, loaded(**{k: tf.constant(v) for k, v in request.items()})["y"].numpy(), want, TOLERANCE, "TensorFlow")
            with Server(self.path("export")) as server:
                assert_agrees(self, ask(server, "predict", request, ["y"])["y"], want, TOLERANCE, "modelserver")

    def test_lines_of_text(self):
        """TextVectorization makes lists of any length; all rows are one batch."""
        words = ["w%d" % i for i in range(WORDS - 2)]
        model = compiled(keras.Sequential([keras.Input((1,), dtype="string", name="x"), L.TextVectorization(vocabulary=words, name="tokens"),
                                           L.Embedding(WORDS, 6, mask_zero=True, name="words"), L.LSTM(5, name="lstm"),
                                           L.Dense(2, activation="softmax", name="scores")]))
        texts = np.array([[" ".join(self.draw.choice(words, n))] for n in self.lengths], object)
        for label in (0, 1):
            os.makedirs(self.path("texts", str(label)))
            with open(self.path("texts", str(label), "lines.txt"), "w", encoding="utf-8") as f:
                f.write("".join(text + "\n" for text in texts[self.labels == label, 0]))
        got = self.train(model, ["--train_files=" + self.path("texts")], ROWS)
        for _ in range(STEPS):
            model.train_on_batch(tf.constant(texts), self.labels)
        for variable in model.weights:
            assert_agrees(self, got[variable.path], variable.numpy(), TOLERANCE, variable.path)

    def test_a_class_for_each_step(self):
        """The labels are lists as well, padded with class 0; the mask of the ids says which steps count."""
        model = compiled(keras.Sequential([ids_input(), L.Embedding(WORDS, 6, mask_zero=True, name="words"), L.GRU(5, return_sequences=True, name="gru"),
                                           L.Dense(3, activation="softmax", name="scores")]))
        rows = self.ids(self.lengths)
        labels = [row % 3 for row in rows]
        flags = self.write_tfrecords(rows, labels)
        self.check(model, [*flags, "--test_files=" + self.path("rows.tfrecord")], rows, self.id_requests(), labels)

    def test_a_number_for_each_step(self):
        model = compiled(keras.Sequential([keras.Input((None, FEATURES), name="x"), L.Bidirectional(L.SimpleRNN(4, return_sequences=True), name="both"),
                                           L.Conv1D(3, 3, padding="causal", activation="tanh", name="conv"), L.Dense(2, name="value")]), "mae")
        rows = self.steps(self.lengths)
        labels = [np.stack([row.sum(1), row[:, 0]], 1) for row in rows]
        self.check(model, self.write_tfrecords(rows, labels), rows, self.step_requests(), labels)

    def test_images_of_any_size(self):
        model = compiled(keras.Sequential([
            keras.Input((None, None, 3), name="x"), L.Rescaling(1 / 255), L.Conv2D(4, 3, activation="tanh", padding="same", bias_initializer="random_normal", name="conv"),
            L.MaxPooling2D(2), L.DepthwiseConv2D(3, use_bias=False, name="deep"), L.BatchNormalization(momentum=0.8, name="norm"), L.GlobalAveragePooling2D(),
            L.Dense(2, activation="softmax", name="scores")]))
        images = self.draw.integers(0, 256, (ROWS, 10, 12, 3)).astype(np.float32)
        np.savez(self.path("rows.npz"), x=images, label=self.labels)
        requests = [self.draw.uniform(0, 255, (2, *size, 3)).astype(np.float32) for size in ((10, 12), (17, 9))]
        self.check(model, ["--train_files=" + self.path("rows.npz")], list(images), requests)

    def test_images_of_any_size_that_grow(self):
        model = compiled(keras.Sequential([
            keras.Input((None, None, 3), name="x"), L.Conv2D(4, 3, activation="tanh", bias_initializer="random_normal", name="down"), L.UpSampling2D((2, 3)),
            L.Conv2D(3, 3, activation="tanh", name="up"), L.GlobalMaxPooling2D(), L.Dense(2, activation="softmax", name="scores")]))
        images = self.draw.uniform(-1, 1, (ROWS, 6, 7, 3)).astype(np.float32)
        np.savez(self.path("rows.npz"), x=images, label=self.labels)
        requests = [self.draw.uniform(-1, 1, (2, *size, 3)).astype(np.float32) for size in ((6, 7), (11, 5))]
        self.check(model, ["--train_files=" + self.path("rows.npz")], list(images), requests)

    def test_numbers_that_the_schema_normalises(self):
        """The export takes raw numbers, and normalises rows of any length."""
        layers = [L.Conv1D(4, 3, activation="tanh", name="conv"), L.GlobalMaxPooling1D(), L.Dense(2, activation="softmax", name="scores")]
        model = compiled(keras.Sequential([keras.Input((None, 2), name="x"), *layers]))
        rows = self.draw.uniform(0, 100, (ROWS, 6, 2)).astype(np.float32)
        np.savez(self.path("rows.npz"), x=rows, label=self.labels)
        with open(self.path("schema.json"), "w", encoding="utf-8") as f:
            f.write('{"columns": [{"name": "x", "shape": [6, 2], "mean": 50, "stddev": 25}, {"name": "label"}]}')
        got = self.train(model, ["--train_files=" + self.path("rows.npz"), "--schema=" + self.path("schema.json")])
        x = keras.Input((None, 2), name="x")
        raw = keras.Model(x, model(L.Rescaling(1 / 25, -2)(x)))
        compiled(raw)
        for step in range(STEPS):
            first = step * BATCH % ROWS
            raw.train_on_batch(rows[first:first + BATCH], self.labels[first:first + BATCH])
        for variable in model.weights:
            assert_agrees(self, got[variable.path], variable.numpy(), TOLERANCE, variable.path)
        self.check_export(raw, [self.draw.uniform(0, 100, (2, length, 2)).astype(np.float32) for length in (6, 3, 9)])

    def test_a_class_for_each_pixel(self):
        """A U-Net, which answers for images of any size that its strides divide."""
        x = keras.Input((None, None, 3), name="x")
        down = L.Conv2D(4, 3, padding="same", activation="tanh", name="down")(x)
        deep = L.Conv2D(5, 3, padding="same", activation="tanh", name="deep")(L.MaxPooling2D(2)(down))
        y = L.Concatenate()([down, L.Conv2DTranspose(4, 3, strides=2, padding="same", name="up")(deep)])
        model = compiled(keras.Model(x, L.Conv2D(2, 1, activation="softmax", name="scores")(y)))
        images = self.draw.uniform(-1, 1, (ROWS, 6, 8, 3)).astype(np.float32)
        labels = (images[..., 0] > 0).astype(np.int64)
        np.savez(self.path("rows.npz"), x=images, label=labels)
        requests = [self.draw.uniform(-1, 1, (2, *size, 3)).astype(np.float32) for size in ((6, 8), (12, 4))]
        self.check(model, ["--train_files=" + self.path("rows.npz")], list(images), requests, labels)


if __name__ == "__main__":
    main()

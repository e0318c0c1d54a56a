"""An export of pstrain --from_savedmodel has the weights that Keras' fit makes of the same start, and TensorFlow and Keras load it as
they loaded the original."""
import json
import os
import random
import sys

from tensorflow_oracle import assert_agrees, np, tf

from harness import SOURCE, TestCase, main, run

sys.path.insert(0, os.path.join(SOURCE, "tests", "golden", "finetune"))
import models  # noqa: E402

GOLDEN = os.path.join(SOURCE, "tests", "golden", "finetune")


def values_of(directory):
    """Every value that the checkpoint of a SavedModel holds, by its key."""
    reader = tf.train.load_checkpoint(os.path.join(directory, "variables", "variables"))
    return {key: reader.get_tensor(key) for key in reader.get_variable_to_shape_map() if not key.startswith("_CHECKPOINTABLE")}


def short(name):
    """The layer and its weight: "norm/gamma" of "sequential_3/norm/gamma:0"."""
    return "/".join(name.split(":")[0].split("/")[-2:])


def weights_of(directory):
    """The values that serving_default computes with, by their short names."""
    loaded = tf.saved_model.load(directory)  # its functions refer to its variables weakly
    return {short(v.name): v.numpy() for v in loaded.signatures["serving_default"].variables}


def start_of(name):
    """The golden start as Keras' list of weights."""
    by_name = weights_of(os.path.join(GOLDEN, name))
    return [by_name[short(v.path)] for v in models.MODELS[name][0]().weights]


def raw_rows():
    numbers = random.Random(3)
    words, rows = "the quick brown fox jumps over lazy dogs été".split(), []
    for _ in range(160):
        text = " ".join(numbers.choice(words) for _ in range(numbers.randrange(1, 9))) + numbers.choice(["", "!", " Foo"])
        rows.append((text, numbers.choice(["red", "blue", "green", ""]), round(numbers.gauss(50, 9), 3), numbers.randrange(5)))
    return rows, [int(("fox" in text) + (color == "red") + (size > 50) > 1) for text, color, size, _ in rows]


def raw_model(columns):
    layers = tf.keras.layers
    text, color = layers.Input((1,), dtype="string", name="text"), layers.Input((1,), dtype="string", name="color")
    size, shop = layers.Input((1,), name="size"), layers.Input((1,), dtype="int64", name="shop")
    words, colors = layers.TextVectorization(max_tokens=12, output_sequence_length=6), layers.StringLookup(output_mode="one_hot")
    scaled, shops = layers.Normalization(), layers.IntegerLookup()
    for layer, name in ((words, "text"), (colors, "color"), (scaled, "size"), (shops, "shop")):
        layer.adapt(columns[name][:100])
    ranges = layers.Discretization(bin_boundaries=[40.0, 50.0, 60.0], output_mode="one_hot")
    x = layers.Concatenate()([
        layers.GlobalAveragePooling1D()(layers.Embedding(12, 4)(words(text))), colors(color), scaled(size), ranges(size),
        layers.Flatten()(layers.Embedding(7, 2)(shops(shop))), layers.Hashing(num_bins=5, output_mode="one_hot")(color)])
    return tf.keras.Model([text, color, size, shop], layers.Dense(1, activation="sigmoid")(layers.Dense(6, activation="tanh")(x)))


class Finetune(TestCase):
    def tune(self, name, optimizer):
        freeze, out = models.MODELS[name][4], self.path("%s_%s" % (name, optimizer))
        done = run("pstrain", "--from_savedmodel=" + os.path.join(GOLDEN, name), "--train_files=" + os.path.join(GOLDEN, name + ".csv"),
                   "--compile_config=" + os.path.join(GOLDEN, "%s_%s.json" % (name, optimizer)), "--shuffle_buffer=0", "--workers=1",
                   "--batch_size=%d" % models.BATCH, "--epochs=1", "--export_dir=" + out, *(["--freeze=" + freeze] if freeze else []))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return out

    def assert_weights(self, out, name, trained):
        """Each value of the checkpoint is that of Keras: the keys of one weight hold the same."""
        before, after = values_of(os.path.join(GOLDEN, name)), values_of(out)
        self.assertEqual(before.keys(), after.keys())
        start, got = start_of(name), weights_of(out)
        for variable, first in zip(trained.weights, start, strict=True):
            want = variable.numpy()
            assert_agrees(self, got[short(variable.path)], want, 1e-5, variable.path)
            keys = [key for key in before if before[key].shape == first.shape and np.array_equal(before[key], first)]
            self.assertTrue(keys, variable.path)
            if np.any(first):  # several biases begin at zero
                for key in keys:
                    assert_agrees(self, after[key], want, 1e-5, key)

    def assert_loads(self, out, name, trained):
        """By tf.saved_model.load, by the loader of TensorFlow 1, and by Keras."""
        rows = models.MODELS[name][1][:models.ROWS].astype(np.int32 if name in ("embedding", "recurrent") else np.float32)
        want = trained.predict(rows, verbose=0)
        (loaded,) = tf.saved_model.load(out).signatures["serving_default"](tf.constant(rows)).values()
        assert_agrees(self, loaded.numpy(), want, 1e-5, "tf.saved_model.load")
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            signature = tf.compat.v1.saved_model.load(session, ["serve"], out).signature_def["serving_default"]
            ((_, x),), ((_, y),) = signature.inputs.items(), signature.outputs.items()
            # tf.saved_model.save of Keras 3 restores other variables than its signatures read, in the original as well.
            if name != "convnet":
                assert_agrees(self, session.run(y.name, {x.name: rows}), want, 1e-5, "v1")
        (layer,) = tf.keras.layers.TFSMLayer(out, call_endpoint="serving_default")(rows).values()
        assert_agrees(self, np.asarray(layer), want, 1e-5, "TFSMLayer")

    def test_weights_are_those_of_fit(self):
        for name in models.MODELS:
            for optimizer in models.OPTIMIZERS:
                with self.subTest(name + " " + optimizer):
                    trained = models.fit(name, optimizer, start_of(name))
                    out = self.tune(name, optimizer)
                    self.assert_weights(out, name, trained)
                    self.assert_loads(out, name, trained)

    def test_layers_that_take_raw_values(self):
        """Texts, categories and numbers go through the model's own TextVectorization, StringLookup, Normalization, …."""
        rows, labels = raw_rows()
        columns = {name: np.array([[row[i]] for row in rows], dtype=dtype) for i, (name, dtype) in enumerate(
            (("text", object), ("color", object), ("size", np.float32), ("shop", np.int64)))}
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("text,color,size,shop,label\n" + "".join("%s,%s,%r,%d,%d\n" % (*row, y) for row, y in zip(rows, labels)))
        with open(self.path("schema.json"), "w", encoding="utf-8") as file:
            file.write('{"columns": [{"name": "text", "dtype": "string"}, {"name": "color", "dtype": "string"}, {"name": "size"}, '
                       '{"name": "shop", "dtype": "int64"}, {"name": "label"}]}')
        inputs = {name: tf.constant(values) for name, values in columns.items()}
        # Keras 3's Adam squares the gradients of an id that occurs twice one by one. The export says that the tables are frozen.
        for optimizer, frozen in (("sgd", False), ("adam", True)):
            with self.subTest(optimizer):
                model, start, out = raw_model(columns), self.path("start_" + optimizer), self.path(optimizer)
                for layer in model.layers:
                    if frozen and isinstance(layer, tf.keras.layers.Embedding):
                        layer.trainable = False
                model.compile(optimizer=tf.keras.optimizers.get({"class_name": optimizer, "config": {"learning_rate": 0.05}}), loss="binary_crossentropy")
                model.export(start, verbose=False)
                with open(self.path("compile.json"), "w", encoding="utf-8") as file:
                    json.dump(model.get_compile_config(), file)
                model.fit(inputs, np.float32(labels)[:, None], batch_size=8, shuffle=False, verbose=0)
                done = run("pstrain", "--from_savedmodel=" + start, "--train_files=" + self.path("rows.csv"), "--schema=" + self.path("schema.json"),
                           "--compile_config=" + self.path("compile.json"), "--shuffle_buffer=0", "--workers=1", "--batch_size=8", "--epochs=1",
                           "--export_dir=" + out)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                (got,) = tf.saved_model.load(out).signatures["serving_default"](**inputs).values()
                assert_agrees(self, got.numpy(), model.predict(inputs, verbose=0), 1e-5, optimizer)

    def test_a_model_that_is_frozen_as_a_whole(self):
        """The error says that the export froze it, and how to train it."""
        layers = tf.keras.layers
        model = tf.keras.Sequential([layers.Input((2,), name="x"), layers.Dense(1, name="answer")])
        model.trainable = False
        model.export(self.path("start"), verbose=False)
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("a,b,label\n" + "1,2,3\n" * 8)
        flags = ["--from_savedmodel=" + self.path("start"), "--train_files=" + self.path("rows.csv"), "--loss=mse", "--batch_size=8", "--epochs=1", "--noexport"]
        done = run("pstrain", *flags)
        self.assertIn("nothing is left to train, because the model was exported with its layers frozen; freeze 'none' to train the variables ", done.stderr)
        self.assertEqual(run("pstrain", *flags, "--freeze=none").returncode, 0)

    def assert_tunes(self, name, model, inputs, labels, loss, *flags, weights=None, tolerance=1e-5):
        """pstrain trains the export as fit trains the model."""
        start, out, config = (self.path(name + end) for end in ("_start", "_out", "_compile.json"))
        optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.5)
        # As Keras does by itself, which an export does not tell.
        model.compile(tf.keras.optimizers.LossScaleOptimizer(optimizer) if "mixed_float16" in name else optimizer, loss=loss)
        model.export(start, verbose=False)
        with open(config, "w", encoding="utf-8") as file:
            json.dump(model.get_compile_config(), file)
        before = model.predict(inputs, verbose=0)
        model.fit(inputs, labels, batch_size=8, shuffle=False, verbose=0, sample_weight=weights)
        want = model.predict(inputs, verbose=0)
        self.assertGreater(np.abs(want - before).max(), 1e-3)
        done = run("pstrain", "--from_savedmodel=" + start, "--compile_config=" + config, "--shuffle_buffer=0", "--workers=1", "--batch_size=8",
                   "--epochs=1", "--export_dir=" + out, *flags)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        served = tf.saved_model.load(out).signatures["serving_default"]
        (got,) = (served(**inputs) if isinstance(inputs, dict) else served(inputs)).values()
        self.assertEqual(got.numpy().dtype, want.dtype)
        assert_agrees(self, np.float32(got), np.float32(want), tolerance, name)

    def test_records(self):
        draw, layers = np.random.RandomState(6), tf.keras.layers
        numbers, ids, colors = draw.normal(size=(64, 3)).astype(np.float32), draw.randint(20, size=(64, 4)), draw.choice([b"red", b"green", b""], 64)
        labels = numbers.sum(1)
        with tf.io.TFRecordWriter(self.path("rows.tfrecord"), "GZIP") as file:
            for row in zip(numbers, ids, colors, labels):
                lists = (tf.train.Feature(float_list={"value": row[0]}), tf.train.Feature(int64_list={"value": row[1]}),
                         tf.train.Feature(bytes_list={"value": [row[2]]}), tf.train.Feature(float_list={"value": [row[3]]}))
                file.write(tf.train.Example(features={"feature": dict(zip(("numbers", "ids", "color", "label"), lists))}).SerializeToString())
        x, i, c = (layers.Input(shape, dtype=dtype, name=name) for name, shape, dtype in (
            ("numbers", (3,), "float32"), ("ids", (4,), "int64"), ("color", (1,), "string")))
        looked_up = layers.StringLookup(vocabulary=["red", "green"], output_mode="one_hot")(c)
        y = layers.Concatenate()([x, layers.Flatten()(layers.Embedding(20, 3)(i)), looked_up])
        model = tf.keras.Model([x, i, c], layers.Dense(1)(layers.Dense(5, activation="tanh")(y)))
        inputs = {"numbers": tf.constant(numbers), "ids": tf.constant(ids, tf.int64), "color": tf.constant(colors[:, None])}
        self.assert_tunes("records", model, inputs, labels, "mse", "--train_files=" + self.path("rows.tfrecord"))

    def test_folders(self):
        draw, layers = np.random.RandomState(7), tf.keras.layers
        for k, name in enumerate(("cats", "dogs")):
            for n in range(16):
                pixels = draw.randint(256, size=(12 + n % 5, 10 + n % 3, 3)).astype(np.uint8) // np.uint8([[[1, 1 + k, 1]]])
                data = tf.io.encode_png(pixels) if n % 2 else tf.io.encode_jpeg(pixels)
                tf.io.write_file(self.path("images", name, "%02d.%s" % (n, "png" if n % 2 else "jpg")), data)
                words = " ".join(draw.choice("the quick brown fox jumps".split(), size=draw.randint(1, 6)))
                tf.io.write_file(self.path("texts", name, "%02d.txt" % n), words + " fox" * k)
        load = {"batch_size": None, "shuffle": False, "verbose": False}
        images = tf.keras.utils.image_dataset_from_directory(self.path("images"), image_size=(12, 10), **load)
        texts = tf.keras.utils.text_dataset_from_directory(self.path("texts"), **load)
        labels = np.array([label for _, label in images])
        for dtype in ("float32", "uint8"):
            model = tf.keras.Sequential([layers.Input((12, 10, 3), dtype=dtype), layers.Rescaling(1 / 255), layers.Conv2D(4, 3, activation="relu"),
                                         layers.GlobalAveragePooling2D(), layers.Dense(2, activation="softmax")])
            pixels = tf.stack([tf.cast(image, dtype) for image, _ in images])
            self.assert_tunes(dtype, model, pixels, labels, "sparse_categorical_crossentropy", "--train_files=" + self.path("images"))
        model = tf.keras.Sequential([layers.Input((1,), dtype="string"), layers.TextVectorization(vocabulary=["the", "fox"], output_sequence_length=6),
                                     layers.Embedding(4, 3), layers.GlobalAveragePooling1D(), layers.Dense(1, activation="sigmoid")])
        self.assert_tunes("texts", model, tf.stack([[text] for text, _ in texts]), labels[:, None], "binary_crossentropy",
                          "--train_files=" + self.path("texts"))

    def test_a_schema_prepares_what_the_model_takes(self):
        draw, layers = np.random.RandomState(8), tf.keras.layers
        sizes, answers = draw.normal(50, 10, size=(64, 2)).round(2), draw.choice(["no", "yes"], 64)
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("a,b,answer\n" + "".join("%.2f,%.2f,%s\n" % (*row, answer) for row, answer in zip(sizes, answers)))
        with open(self.path("schema.json"), "w", encoding="utf-8") as file:
            json.dump({"columns": [{"name": name, "mean": 50, "stddev": 10} for name in "ab"] +
                       [{"name": "answer", "dtype": "string", "classes": ["no", "yes"]}]}, file)
        model = tf.keras.Sequential([layers.Input((2,)), layers.Dense(4, activation="tanh"), layers.Dense(2, activation="softmax")])
        self.assert_tunes("schema", model, tf.constant((sizes - 50) / 10, tf.float32), np.int64(answers == "yes"), "sparse_categorical_crossentropy",
                          "--train_files=" + self.path("rows.csv"), "--schema=" + self.path("schema.json"), "--label_column=answer")

    def test_inputs_of_other_types(self):
        """In several inputs; a number that a type does not have is a bad record."""
        draw, layers = np.random.RandomState(9), tf.keras.layers
        given = {"bool": draw.randint(2, size=(64, 3)), "uint8": draw.randint(256, size=(64, 2)), "int16": draw.randint(-9, 9, size=(64, 1)),
                 "float64": draw.normal(size=(64, 2)).astype(np.float32), "float16": draw.normal(size=(64, 3)).astype(np.float16),
                 "bfloat16": draw.normal(size=(64, 2)).astype(np.float32)}
        labels = sum(values.mean(1, dtype=np.float64) / 50 for values in given.values())
        np.savez(self.path("rows.npz"), label=labels, **given)
        inputs = {dtype: layers.Input(values.shape[1:], dtype=dtype, name=dtype) for dtype, values in given.items()}
        joined = layers.Concatenate()([tf.keras.ops.cast(x, "float32") / 50 for x in inputs.values()])
        model = tf.keras.Model(list(inputs.values()), layers.Dense(1)(layers.Dense(3, activation="tanh")(joined)))
        tensors = {dtype: tf.cast(values, dtype) for dtype, values in given.items()}
        self.assert_tunes("types", model, tensors, labels.astype(np.float32), "mse", "--train_files=" + self.path("rows.npz"))
        given["uint8"][5, 1] = 256
        np.savez(self.path("rows.npz"), label=labels, **given)
        done = run("pstrain", "--from_savedmodel=" + self.path("types_start"), "--train_files=" + self.path("rows.npz"), "--noexport", "--batch_size=8")
        self.assertEqual(done.returncode, 1)
        self.assertIn("256 is no integer of type uint8, as the model takes", done.stderr)
        given["uint8"][5, 1] = 255
        for dtype in ("float16", "bfloat16"):
            with self.subTest(dtype):
                np.savez(self.path("rows.npz"), label=labels, **{**given, dtype: np.where(np.arange(64)[:, None] == 9, np.nan, given[dtype])})
                done = run("pstrain", "--from_savedmodel=" + self.path("types_start"), "--train_files=" + self.path("rows.npz"), "--noexport", "--batch_size=8")
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, "rows.npz.*column '%s'" % dtype)

    def test_models_of_mixed_precision(self):
        """Variables are floats; the layers compute in 16 bits, and the last one may give as many. The results differ by roundings."""
        draw, layers = np.random.RandomState(12), tf.keras.layers
        x = draw.normal(size=(64, 6)).astype(np.float32)
        labels = np.int64(x.sum(1) > 0)
        np.savez(self.path("rows.npz"), x=x, label=labels)
        for policy, tolerance in (("mixed_float16", 2e-3), ("mixed_bfloat16", 2e-2)):
            for last in ("float32", None):
                tf.keras.config.set_dtype_policy(policy)
                self.addCleanup(tf.keras.config.set_dtype_policy, "float32")
                model = tf.keras.Sequential([layers.Input((6,)), layers.Dense(8, activation="relu"), layers.Dense(2, activation="softmax", dtype=last)])
                self.assert_tunes("%s_%s" % (policy, last), model, tf.constant(x), labels, "sparse_categorical_crossentropy",
                                  "--train_files=" + self.path("rows.npz"), tolerance=tolerance)
        done = run("pstrain", "predict", self.path("mixed_bfloat16_None_out"), "--predict_files=" + self.path("rows.npz"), "--evaluate",
                   "--loss=sparse_categorical_crossentropy", "--metrics=accuracy")
        self.assertEqual(done.returncode, 0, done.stderr)
        want = model.evaluate(x, labels, verbose=0)
        self.assertLess(abs(json.loads(done.stdout)["loss"] - want), 0.05)

    def test_a_class_for_each_step_or_pixel(self):
        """Labels of numbers, texts and one-hot values in CSV, TFRecord and npz files; weights of rows and of steps."""
        draw, layers = np.random.RandomState(10), tf.keras.layers
        ids, tags, weights = draw.randint(1, 20, size=(64, 5)), draw.randint(3, size=(64, 5)), draw.choice([0.0, 0.5, 2.0], (64, 5)).astype(np.float32)
        names, sparse = ["O", "B-PER", "I-PER"], "sparse_categorical_crossentropy"
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("ids,label,w\n" + "".join("%s,%s,%s\n" % (
                " ".join(map(str, i)), " ".join(names[tag] for tag in t), " ".join(map(str, w))) for i, t, w in zip(ids, tags, weights)))
        columns = [{"name": "ids", "dtype": "int64"}, {"name": "label", "dtype": "string", "classes": names}, {"name": "w"}]
        with open(self.path("schema.json"), "w", encoding="utf-8") as file:
            json.dump({"columns": [{**column, "shape": [5], "separator": " "} for column in columns]}, file)

        def tagger(**options):
            return tf.keras.Sequential([layers.Input((5,), dtype="int64"), layers.Embedding(20, 4), layers.Dense(3, activation="softmax")], **options)

        inputs = tf.constant(ids, tf.int64)
        flags = ["--train_files=" + self.path("rows.csv"), "--schema=" + self.path("schema.json")]
        self.assert_tunes("tags", tagger(), inputs, tags, sparse, *flags, "--feature_columns=ids")
        self.assert_tunes("tags_weighted", tagger(), inputs, tags, sparse, *flags, "--weight_column=w", weights=weights)
        by_weights = tf.keras.losses.SparseCategoricalCrossentropy(reduction="mean_with_sample_weight")
        self.assert_tunes("tags_by_weights", tagger(), inputs, tags, by_weights, *flags, "--weight_column=w", weights=weights)
        with tf.io.TFRecordWriter(self.path("rows.tfrecord")) as file:
            for i, t, w in zip(ids, tags, weights):
                features = {"ids": tf.train.Feature(int64_list={"value": i}), "label": tf.train.Feature(int64_list={"value": t}),
                            "w": tf.train.Feature(float_list={"value": w[:1]})}
                file.write(tf.train.Example(features={"feature": features}).SerializeToString())
        self.assert_tunes("tags_records", tagger(), inputs, tags, sparse, "--train_files=" + self.path("rows.tfrecord"), "--weight_column=w",
                          weights=weights[:, :1])
        self.assert_tunes("records_by_weights", tagger(), inputs, tags, by_weights, "--train_files=" + self.path("rows.tfrecord"), "--weight_column=w",
                          weights=weights[:, :1])
        images, classes = draw.normal(size=(64, 6, 5, 2)).astype(np.float32), draw.randint(3, size=(64, 6, 5))
        of_pixels = draw.choice([0.0, 0.5, 2.0], (64, 6, 5)).astype(np.float32)
        for name, labels, loss in (("pixels", classes, sparse), ("pixels_hot", np.eye(3, dtype=np.float32)[classes], "categorical_crossentropy")):
            model = tf.keras.Sequential([layers.Input((6, 5, 2)), layers.Conv2D(4, 3, padding="same", activation="relu"), layers.Conv2D(3, 1, activation="softmax")])
            np.savez(self.path(name + ".npz"), label=labels, x=images)
            self.assert_tunes(name, model, tf.constant(images), labels, loss, "--train_files=" + self.path(name + ".npz"))
        for name, labels, loss in (("any", classes, sparse), ("any_hot", np.eye(3, dtype=np.float32)[classes], "categorical_crossentropy")):
            model = tf.keras.Sequential([layers.Input((None, None, 2)), layers.Conv2D(4, 3, padding="same", activation="relu"), layers.Conv2D(3, 1, activation="softmax")])
            np.savez(self.path(name + ".npz"), label=labels, x=images, w=of_pixels)
            self.assert_tunes(name, model, tf.constant(images), labels, loss, "--train_files=" + self.path(name + ".npz"), "--weight_column=w",
                              weights=of_pixels)
        classes[3, 2, 1] = 3
        np.savez(self.path("wrong.npz"), label=classes, x=images)
        done = run("pstrain", "--from_savedmodel=" + self.path("pixels_start"), "--train_files=" + self.path("wrong.npz"), "--noexport", "--batch_size=8")
        self.assertEqual(done.returncode, 1)
        self.assertIn("3 is not a class: the model has the classes 0 to 2", done.stderr)

    def test_tags_of_sentences_of_any_length(self):
        """Rows of a batch are padded to the longest one, their labels with the class that does not count."""
        draw, layers = np.random.RandomState(11), tf.keras.layers
        lengths = draw.randint(1, 7, size=64)
        rows = [(draw.randint(1, 20, size=n), draw.randint(3, size=n)) for n in lengths]
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("ids,label\n" + "".join("%s,%s\n" % tuple(" ".join(map(str, part)) for part in row) for row in rows))
        with open(self.path("schema.json"), "w", encoding="utf-8") as file:
            json.dump({"columns": [{"name": name, "kind": "ragged", "dtype": "int64", "separator": " "} for name in ("ids", "label")]}, file)
        model = tf.keras.Sequential([layers.Input((None,), dtype="int64"), layers.Embedding(20, 4), layers.Dense(3, activation="softmax")])
        padded = [np.full((64, 6), fill, np.int64) for fill in (0, -1)]
        for row, parts in enumerate(rows):
            for to, part in zip(padded, parts):
                to[row, :len(part)] = part
        loss = tf.keras.losses.SparseCategoricalCrossentropy(ignore_class=-1)
        self.assert_tunes("sentences", model, tf.constant(padded[0]), padded[1], loss, "--train_files=" + self.path("rows.csv"),
                          "--schema=" + self.path("schema.json"))
        done = run("pstrain", "predict", self.path("sentences_out"), "--predict_files=" + self.path("rows.csv"), "--schema=" + self.path("schema.json"),
                   "--evaluate", "--compile_config=" + self.path("sentences_compile.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertAlmostEqual(json.loads(done.stdout)["loss"], model.evaluate(tf.constant(padded[0]), padded[1], batch_size=64, verbose=0), places=5)

    def sparse_rows(self):
        """Lists of ids, with few in some rows, and sparse rows of floats, in a file with its schema; and the same as tensors of TensorFlow."""
        numbers = random.Random(4)
        ids = [[numbers.randrange(20) for _ in range(numbers.randrange(1, 6))] for _ in range(80)]
        places = [sorted(numbers.sample(range(30), numbers.randrange(6))) for _ in ids]
        values = [[round(numbers.gauss(0, 1), 3) for _ in row] for row in places]
        labels = [numbers.randrange(2) for _ in ids]
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("label,ids,at,value\n")
            for label, *lists in zip(labels, ids, places, values):
                file.write("%d,%s\n" % (label, ",".join("|".join(map(str, part)) for part in lists)))
        with open(self.path("schema.json"), "w", encoding="utf-8") as file:
            json.dump({"columns": [{"name": "label"}, {"name": "ids", "kind": "ragged", "dtype": "int64", "separator": "|"},
                                   {"name": "x", "kind": "sparse", "index": "at", "value": "value", "width": 30, "separator": "|"}]}, file)

        def batch(first, end):
            at = [[row, place] for row, list_ in enumerate(places[first:end]) for place in list_]
            floats = [value for list_ in values[first:end] for value in list_]
            return (tf.RaggedTensor.from_row_lengths(tf.constant(sum(ids[first:end], []), tf.int64), [len(i) for i in ids[first:end]]).to_sparse(),
                    tf.SparseTensor(np.reshape(np.int64(at), (-1, 2)), np.float32(floats), [end - first, 30]))

        return batch, np.float32(labels)[:, None]

    def test_sparse_inputs(self):
        """A function that takes SparseTensors: lists of ids for a table of embeddings, and sparse rows of floats."""
        batch, labels = self.sparse_rows()
        module, draw = tf.Module(), np.random.RandomState(3)
        module.table = tf.Variable(draw.normal(size=(20, 3)).astype(np.float32), name="table")
        module.kernel = tf.Variable(draw.normal(size=(30, 1)).astype(np.float32), name="kernel")
        module.weights = tf.Variable(draw.normal(size=(3, 1)).astype(np.float32), name="weights")

        def compute(ids, x):
            bag = tf.nn.embedding_lookup_sparse(module.table, ids, None, combiner="mean")
            return tf.sigmoid(bag @ module.weights + tf.sparse.sparse_dense_matmul(x, module.kernel))

        serve = tf.function(compute, input_signature=[tf.SparseTensorSpec([None, None], tf.int64),
                                                      tf.SparseTensorSpec([None, 30], tf.float32)])
        tf.saved_model.save(module, self.path("start"), signatures=serve)
        variables, optimizer = [module.table, module.kernel, module.weights], tf.keras.optimizers.SGD(0.5)
        for first in range(0, 80, 8):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.keras.losses.binary_crossentropy(labels[first:first + 8], compute(*batch(first, first + 8))))
            optimizer.apply_gradients(zip([tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)], variables))
        flags = ["--schema=" + self.path("schema.json"), "--sparse_width=30"]
        done = run("pstrain", "--from_savedmodel=" + self.path("start"), "--train_files=" + self.path("rows.csv"), "--loss=binary_crossentropy",
                   "--optimizer=sgd", "--learning_rate=0.5", "--shuffle_buffer=0", "--workers=1", "--batch_size=8", "--epochs=1",
                   "--export_dir=" + self.path("out"), *flags)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        ids, x = batch(0, 80)
        inputs = {"ids": ids.indices, "ids_1": ids.values, "ids_2": ids.dense_shape, "x": x.indices, "x_1": x.values, "x_2": x.dense_shape}
        (got,) = tf.saved_model.load(self.path("out")).signatures["serving_default"](**inputs).values()
        assert_agrees(self, got.numpy(), compute(ids, x).numpy(), 1e-5, "answers")
        done = run("pstrain", "predict", self.path("out"), "--predict_files=" + self.path("rows.csv"), flags[0])
        self.assertEqual(done.returncode, 2)
        self.assertIn("input 'x' of signature 'serving_default' is sparse: give --sparse_width, the number of its columns", done.stderr)
        done = run("pstrain", "predict", self.path("out"), "--predict_files=" + self.path("rows.csv"), *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        assert_agrees(self, np.float32([json.loads(line)["output_0"] for line in done.stdout.splitlines()]), got.numpy(), 1e-5, "predict")

    def test_a_named_sparse_input_is_refused(self):
        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.sparse_placeholder(tf.float32, [None, 3], name="x")
            kernel = v1.get_variable("kernel", [3, 1], use_resource=True)
            signature = v1.saved_model.predict_signature_def({"x": x}, {"y": tf.sparse.sparse_dense_matmul(x, kernel)})
            session.run(v1.global_variables_initializer())
            builder = v1.saved_model.Builder(self.path("start"))
            builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature})
            builder.save()
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("a,b,c,label\n1,2,3,4\n")
        for words in (("--from_savedmodel=" + self.path("start"), "--train_files=" + self.path("rows.csv")),
                      ("predict", self.path("start"), "--predict_files=" + self.path("rows.csv"))):
            done = run("pstrain", *words, cwd=self.dir)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("input 'x': it is a sparse or composite tensor (coo_sparse, composite_tensor)", done.stderr)

    def test_several_outputs_and_signatures(self):
        """A loss for each output, with weights; an output without one is not trained. Every signature has the new values."""
        layers, numbers = tf.keras.layers, np.random.RandomState(5)
        x = numbers.normal(size=(80, 4)).astype(np.float32)
        price, kind = (x[:, :1] - x[:, 1:2]).astype(np.float32), np.int32(x[:, 2] > 0) + np.int32(x[:, 3] > 0)
        given = layers.Input((4,), name="x")
        hidden = layers.Dense(5, activation="tanh")(given)
        outputs = {"price": layers.Dense(1)(hidden), "kind": layers.Dense(3, activation="softmax")(hidden), "side": layers.Dense(2)(hidden)}
        model = tf.keras.Model(given, outputs)
        model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss={"price": "mse", "kind": "sparse_categorical_crossentropy"},
                      loss_weights={"price": 0.5, "kind": 2.0})
        start, out = self.path("start"), self.path("out")
        archive = tf.keras.export.ExportArchive()
        archive.track(model)
        spec = [tf.TensorSpec((None, 4), name="x")]
        archive.add_endpoint("serve", model.call, spec)
        archive.add_endpoint("only_price", lambda x: model(x)["price"], spec)
        archive.write_out(start, verbose=False)
        with open(self.path("compile.json"), "w", encoding="utf-8") as file:
            json.dump(model.get_compile_config(), file)
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("a,b,c,d,price,kind\n" + "".join("%r,%r,%r,%r,%r,%d\n" % (*map(float, row), float(p), k) for row, (p,), k in zip(x, price, kind)))
        with open(self.path("schema.json"), "w", encoding="utf-8") as file:
            json.dump({"columns": [{"name": c} for c in ("a", "b", "c", "d", "price", "kind")], "inputs": {"x": ["a", "b", "c", "d"]}}, file)
        model.fit(x, {"price": price, "kind": kind}, batch_size=8, shuffle=False, verbose=0)
        done = run("pstrain", "--from_savedmodel=" + start, "--train_files=" + self.path("rows.csv"), "--schema=" + self.path("schema.json"),
                   "--compile_config=" + self.path("compile.json"), "--shuffle_buffer=0", "--workers=1", "--batch_size=8", "--epochs=1",
                   "--export_dir=" + out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        signatures, want = tf.saved_model.load(out).signatures, model.predict(x, verbose=0)
        for name, values in signatures["serving_default"](x=tf.constant(x)).items():
            assert_agrees(self, values.numpy(), want[name], 1e-5, name)
        (values,) = signatures["only_price"](x=tf.constant(x)).values()
        assert_agrees(self, values.numpy(), want["price"], 1e-5, "only_price")


if __name__ == "__main__":
    main()

"""The format session_bundle: TensorFlow's v1 importer reads what pstrain and `savedmodel convert` write, and what TensorFlow's saver
writes in this format is served and converted. All give the same answers."""
import tensorflow_oracle  # noqa: first, it may go on under another interpreter
import os

import numpy as np
import tensorflow as tf

import legacy_exporter
from digits import write_digits
from harness import Server, TestCase, main, run, train
from legacy_exporter import classification, export, generic, regression
from tensorflow_oracle import ask, assert_agrees

v1 = tf.compat.v1


def examples(rows):
    """Serialized tf.Example protos with the feature `x`."""
    feature = lambda row: {"x": tf.train.Feature(float_list=tf.train.FloatList(value=row))}  # noqa: E731
    return np.array([tf.train.Example(features=tf.train.Features(feature=feature(r))).SerializeToString() for r in rows], object)


def by_importer(directory, feeds, *fetches):
    """import_meta_graph, Saver.restore, init op: [values]. feeds: {tensor name: value}."""
    with tf.Graph().as_default(), v1.Session() as session:
        legacy_exporter.load(directory, session)
        return session.run(list(fetches), feeds)


class Legacy(TestCase):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(9)
        self.base, self.directory = self.path("model"), self.path("model", "00000001")

    def floats(self, *shape):
        return self.random.random(shape, np.float32)

    def convert(self, source, target, *flags):
        done = run("savedmodel", "convert", source, target, *flags)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)

    def assert_same(self, signature, inputs, **want):
        """modelserver, `savedmodel convert` and tf.saved_model.load give these outputs."""
        with Server(self.base) as server:
            got = ask(server, signature, inputs, sorted(want))
            for key, value in want.items():
                assert_agrees(self, got[key], value, what="modelserver %s.%s" % (signature, key))
        converted = self.path("converted", "1")
        if not os.path.exists(converted):
            self.convert(self.directory, converted)
        theirs = tf.saved_model.load(converted).signatures[signature](**{k: tf.constant(v) for k, v in inputs.items()})
        self.assertEqual(sorted(theirs), sorted(want))
        for key, value in want.items():
            assert_agrees(self, theirs[key].numpy(), value, what="tf.saved_model.load %s.%s" % (signature, key))

    # ---- what pstrain writes ----

    def test_tensorflow_reads_the_export_of_pstrain(self):
        data = write_digits(self.path("data"), train=400, test=100)
        train(self.directory, "--model=softmax", "--train_dir=%s" % data, "--training_iteration=50", "--export_format=session_bundle")
        self.assertEqual(sorted(os.listdir(self.directory)), ["export-00000-of-00001", "export.meta"])
        with tf.Graph().as_default(), v1.Session() as session:
            meta, signatures = legacy_exporter.load(self.directory, session)
        default = signatures.default_signature.classification_signature
        inputs = {k: t.tensor_name for k, t in signatures.named_signatures["inputs"].generic_signature.map.items()}
        outputs = {k: t.tensor_name for k, t in signatures.named_signatures["outputs"].generic_signature.map.items()}
        self.assertEqual((inputs, outputs), ({"images": "x:0"}, {"scores": "y:0"}))
        self.assertEqual((meta.saver_def.version, meta.saver_def.sharded), (v1.train.SaverDef.V1, True))
        ops = {node.op for node in meta.graph_def.node}
        self.assertEqual(ops - set(TENSORFLOW_1_0), set(), "TensorFlow 1.0 has no such ops")

        images = self.floats(5, 784)
        (scores,) = by_importer(self.directory, {inputs["images"]: images}, outputs["scores"])
        self.assert_same("predict_images", {"images": images}, scores=scores)
        serialized = examples(images)
        classes, top = by_importer(self.directory, {default.input.tensor_name: serialized}, default.classes.tensor_name, default.scores.tensor_name)
        self.assert_same("serving_default", {"inputs": serialized}, classes=classes, scores=top)

    def test_what_python_saves_again_is_the_same_file(self):
        train(self.directory, "--model=linear", "--training_iteration=20", "--export_format=session_bundle")
        with tf.Graph().as_default(), v1.Session() as session:
            meta, _ = legacy_exporter.load(self.directory, session)
            v1.train.Saver(saver_def=meta.saver_def).save(session, self.path("again"), write_meta_graph=False, write_state=False)
        with open(self.path("again-00000-of-00001"), "rb") as theirs, open(os.path.join(self.directory, "export-00000-of-00001"), "rb") as ours:
            self.assertEqual(theirs.read(), ours.read())

    # ---- what TensorFlow's exporter wrote ----

    def graph(self, resource=False):
        """The softmax of the old tutorial: parse tf.Example, x, y, and a table of class names from a file."""
        serialized = v1.placeholder(tf.string, None, "tf_example")
        x = tf.identity(v1.io.parse_example(serialized, {"x": v1.FixedLenFeature([6], tf.float32)})["x"], "x")
        w = v1.get_variable("w", [6, 3], initializer=v1.random_normal_initializer(seed=3), use_resource=resource)
        b = v1.get_variable("b", [3], initializer=v1.constant_initializer(0.1), use_resource=resource)
        y = tf.nn.softmax(tf.matmul(x, w) + b, name="y")
        return serialized, x, y

    def check_export(self, saver_options, **more):
        with tf.Graph().as_default(), v1.Session() as session:
            serialized, x, y = self.graph()
            path = tf.constant("nowhere.txt", name="asset")
            table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(path, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER, tf.string,
                                                                            tf.lookup.TextFileIndex.WHOLE_LINE), "?")
            values, indices = tf.nn.top_k(y, 3)
            classes = table.lookup(tf.cast(indices, tf.int64))
            session.run(v1.global_variables_initializer())
            export(self.directory, session, v1.train.Saver(**saver_options), default=classification(serialized, classes, values),
                   named={"inputs": generic({"images": x}), "outputs": generic({"scores": y})},
                   init_op=v1.tables_initializer(), assets={"names.txt": (path, "no\nmaybe\nyes\n")}, **more)
            rows = self.floats(4, 6)
            scores, top = session.run([y, values], {x: rows})
        names = np.array([b"no", b"maybe", b"yes"], object)[np.argsort(-scores, 1)]
        self.assert_same("serving_default", {"inputs": examples(rows)}, classes=names, scores=top)
        self.assert_same("predict", {"images": rows}, scores=scores)

    def test_a_sharded_saver_of_format_v1(self):
        self.check_export({"sharded": True, "write_version": v1.train.SaverDef.V1})
        self.assertIn("export-00000-of-00001", os.listdir(self.directory))

    def test_one_file_of_format_v1(self):
        self.check_export({"write_version": v1.train.SaverDef.V1})
        self.assertIn("export", os.listdir(self.directory))

    def test_a_saver_of_format_v2(self):
        self.check_export({"sharded": True})
        self.assertIn("export.index", os.listdir(self.directory))

    def test_a_graph_with_cleared_devices(self):
        self.check_export({"sharded": True, "write_version": v1.train.SaverDef.V1}, clear_devices=True)

    def test_a_regression_and_the_first_restore_ops(self):
        with tf.Graph().as_default(), v1.Session() as session:
            serialized, _, y = self.graph()
            first = tf.identity(y[:, 0], "first")
            session.run(v1.global_variables_initializer())
            saver = v1.train.Saver(sharded=True, write_version=v1.train.SaverDef.V1)
            pattern = session.graph.get_tensor_by_name(saver.saver_def.filename_tensor_name)
            # Restore and RestoreSlice, as the savers of TensorFlow 0.x wrote them.
            values = {"b": tf.raw_ops.Restore(file_pattern=pattern, tensor_name="b", dt=tf.float32),
                      "w": tf.raw_ops.RestoreSlice(file_pattern=pattern, tensor_name="w", shape_and_slice="", dt=tf.float32)}
            saver.saver_def.restore_op_name = v1.group(*[v1.assign(v, values[v.op.name]) for v in v1.global_variables()], name="old_restore").name
            export(self.directory, session, v1.train.Saver(saver_def=saver.saver_def), default=regression(serialized, first))
            rows = self.floats(4, 6)
            want = session.run(first, {"x:0": rows})
        self.assert_same("serving_default", {"inputs": examples(rows)}, outputs=want)

    def test_named_signatures_alone(self):
        with tf.Graph().as_default(), v1.Session() as session:
            _, x, y = self.graph(resource=True)
            session.run(v1.global_variables_initializer())
            export(self.directory, session, v1.train.Saver(), named={"inputs": generic({"images": x}), "outputs": generic({"scores": y})})
            rows = self.floats(4, 6)
            want = session.run(y, {x: rows})
        self.assert_same("serving_default", {"images": rows}, scores=want)

    # ---- what `savedmodel convert` writes ----

    def test_a_savedmodel_with_a_large_variable_converts_and_tensorflow_reads_it(self):
        source = self.path("source", "1")
        with tf.Graph().as_default(), v1.Session() as session:
            rows = v1.placeholder(tf.int64, [None], "rows")
            table = v1.get_variable("table", [300, 61000], initializer=v1.random_uniform_initializer(seed=1), use_resource=True)  # 70 MiB: two slices
            y = tf.add(tf.reduce_sum(tf.gather(table, rows), 1), 1.0, "y")
            session.run(v1.global_variables_initializer())
            info, build = v1.saved_model.utils.build_tensor_info, v1.saved_model.signature_def_utils.build_signature_def
            builder = v1.saved_model.Builder(source)
            builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map={
                "serving_default": build({"rows": info(rows)}, {"sums": info(y)}, "tensorflow/serving/predict")})
            builder.save()
            ids = np.array([0, 261, 298, 299, 5])
            want = session.run(y, {rows: ids})
        self.convert(source, self.directory, "--to=session_bundle")
        (got,) = by_importer(self.directory, {"rows:0": ids}, "y:0")
        assert_agrees(self, got, want, 0)
        self.assert_same("serving_default", {"rows": ids}, sums=want)

    def test_a_keras_export_converts_both_ways(self):
        source = self.path("source", "1")
        model = tf.keras.Sequential([tf.keras.layers.Input((5,)), tf.keras.layers.Dense(4, "relu"), tf.keras.layers.Dense(3)])
        model.export(source, verbose=False)
        signature = tf.saved_model.load(source).signatures["serving_default"]
        ((name, _),) = signature.structured_input_signature[1].items()
        rows = self.floats(3, 5)
        ((key, want),) = signature(**{name: tf.constant(rows)}).items()
        self.convert(source, self.directory)
        self.assert_same("serving_default", {name: rows}, **{key: want.numpy()})


TENSORFLOW_1_0 = """Add ArgMax Assign AssignVariableOp BiasAdd Cast Const Fill HashTableV2 Identity InitializeTableV2 LookupTableFindV2 MatMul
NoOp ParseExample Placeholder PlaceholderWithDefault ReadVariableOp Reshape RestoreV2 SaveSlices ShardedFilename ShardedFilespec Softmax TopKV2
VarHandleOp""".split()

if __name__ == "__main__":
    main()

"""TensorFlow reads the event files that pstrain writes, and they hold what --metrics_file holds."""
import glob
import json
import os

from tensorflow_oracle import np, tf

from digits import write_digits
from harness import TestCase, main, run


class Events(TestCase):
    def pstrain(self, *flags):
        done = run("pstrain", "--train_dir=" + self.data, "--noexport", "--workers=1", "--log_dir=" + self.path("logs"),
                   "--metrics_file=" + self.path("m"), "--save_summary_steps=50", "--checkpoint_dir=" + self.path("ckpt"), *flags)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.path("m"), encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def events(self, *under):
        """The events of the newest file of a directory."""
        paths = glob.glob(self.path("logs", *under, "events.out.tfevents.*"))
        return list(tf.compat.v1.train.summary_iterator(max(paths, key=lambda path: os.stat(path).st_mtime_ns)))

    def assert_same(self, event, line, tags):
        """The event has the values of the line's keys under their tags."""
        self.assertEqual(event.step, line["step"])
        self.assertAlmostEqual(event.wall_time, line["time"], places=2)
        self.assertEqual([v.tag for v in event.summary.value], [tag for tag, key in tags.items() if key in line])
        for value in event.summary.value:
            np.testing.assert_allclose(value.simple_value, line[tags[value.tag]], rtol=1e-6)

    def assert_histograms(self, events, steps):
        """Of both variables at these steps; the last ones are of the values in the checkpoint."""
        self.assertEqual([(x.step, x.summary.value[0].tag) for x in events],
                         [(step, name + "/histogram") for step in steps for name in ("dense/kernel", "dense/bias")])
        reader = tf.train.load_checkpoint(self.path("ckpt"))
        for event, name in zip(events[-2:], ("dense/kernel", "dense/bias")):
            histo, values = event.summary.value[0].histo, np.asarray(reader.get_tensor(name), np.float64).ravel()
            self.assertEqual((histo.num, histo.min, histo.max), (values.size, values.min(), values.max()))
            np.testing.assert_allclose((histo.sum, histo.sum_squares), (values.sum(), (values ** 2).sum()), rtol=1e-9)
            counts = np.histogram(values, [-np.inf, *histo.bucket_limit])[0]
            np.testing.assert_array_equal(histo.bucket, counts)

    def test_the_reader_gives_what_was_written(self):
        self.data = write_digits(self.path("data"), train=500, test=50)
        train = {"loss": "loss", "learning_rate": "learning_rate", "global_step/sec": "steps_per_second"}
        evaluation = {"loss": "loss", "accuracy": "accuracy"}
        before = 0
        for stop in (120, 200):
            lines = self.pstrain("--stop_at_step=%d" % stop, *["--histogram_steps=40"] * (stop == 200))[before:]
            before += len(lines)
            version, graph, start, *rest = self.events()
            nodes = tf.compat.v1.GraphDef.FromString(graph.graph_def).node
            self.assertIn("MatMul", {node.op for node in nodes})
            self.assertEqual(version.file_version, "brain.Event:2")
            # TensorBoard drops what earlier files hold of this and later steps.
            self.assertEqual((start.session_log.status, start.step), (tf.compat.v1.SessionLog.START, lines[0]["step"]))
            trained = [x for x in lines if x["kind"] == "train"]
            histograms = [x for x in rest if x.summary.value[0].HasField("histo")]
            rest = [x for x in rest if x not in histograms]
            self.assert_histograms(histograms, [] if stop == 120 else [160, 200])
            for event, line in zip(rest, trained, strict=True):
                self.assert_same(event, line, train)
            for under, line in (("eval_validation", lines[-2]), ("eval", lines[-1])):
                version, tested = self.events(under)
                self.assertEqual(version.file_version, "brain.Event:2")
                self.assert_same(tested, line, evaluation)

    def test_a_histogram_of_a_table_is_of_the_rows_of_a_batch(self):
        with open(self.path("pairs.csv"), "w", encoding="utf-8") as f:
            f.write("user,item\n" + "".join("%d,%d\n" % (i % 7, i % 5) for i in range(350)))
        done = run("pstrain", "--model=retrieval", "--train_files=" + self.path("pairs.csv"), "--noexport", "--workers=1", "--batch_size=35",
                   "--log_dir=" + self.path("logs"), "--histogram_steps=5", "--stop_at_step=10")
        self.assertEqual(done.returncode, 0, done.stderr)
        values = [(x.step, x.summary.value[0]) for x in self.events() if x.HasField("summary")]
        sizes = {value.tag: value.histo.num for step, value in values if value.HasField("histo") and step == 5}
        tables = sorted(tag for tag in sizes if "embedding" in tag)
        self.assertEqual(len(tables), 2, sizes)
        for tag in tables:  # tables of keys: the width of a row is that of the first layer behind it
            width = sizes[tag] / (7 if "user" in tag else 5)
            self.assertEqual((width > 1, width % 8), (True, 0), sizes)


if __name__ == "__main__":
    main()

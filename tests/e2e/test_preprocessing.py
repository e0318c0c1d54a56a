"""Layers that are adapted to the data: the same in one process and in a cluster, and after a restart."""
import os

import preprocessed
from cluster import Job
from harness import Server, TestCase, main, run


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def exported(directory):
    return read(directory, "saved_model.pb"), read(directory, "variables", "variables.data-00000-of-00001")


class Preprocessing(TestCase):
    def flags(self, files, **more):
        model, pattern = preprocessed.write(self.dir, files, **more)
        return ["--model=" + model, "--train_files=" + pattern, "--sync", "--batch_size=20", "--seed=5", "--training_iteration=40"]

    def train(self, label, *flags, code=0):
        done = run("pstrain", "--export_dir=" + self.path(label, "1"), *flags)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return exported(self.path(label, "1")) if code == 0 else done.stdout + done.stderr

    def test_a_cluster_adapts_as_one_process(self):
        for files, workers in ((1, 2), (3, 3)):  # shares of one file's records; files of its own for each worker
            with self.subTest(files=files, workers=workers):
                flags = self.flags(files)
                want = self.train("one%d" % files, *flags, "--workers=%d" % workers)
                job = Job(self, ps=2, workers=workers, flags=flags)
                job.start_all(self.path("cluster%d" % files, "1"))
                self.assertEqual(set(job.wait().values()), {0}, job.logs()[-8000:])
                self.assertEqual(exported(self.path("cluster%d" % files, "1")), want)

    def test_a_worker_that_starts_again_takes_the_states(self):
        flags = self.flags(1)[:-1] + ["--training_iteration=1000000", "--checkpoint_dir=" + self.path("kept"), "--save_checkpoint_secs=0.2"]
        job = Job(self, ps=1, workers=2, flags=[f for f in flags if f != "--sync"])
        chief_only = [f for f in job.flags if f.startswith(("--checkpoint_dir", "--save_checkpoint"))]
        job.flags = [f for f in job.flags if f not in chief_only]
        job.start("ps", 0)
        job.start("worker", 0, *chief_only, "--export_dir=" + self.path("m", "1"))
        job.start("worker", 1).wait_for("trains from step")
        job.kill("worker 1")
        job.start("worker", 1).wait_for("trains from step")
        job.kill("ps 0")  # it has the states; the chief gives them to the next one
        job.start("ps", 0).wait_for("the variables exist")
        job.kill("worker 1")
        job.start("worker", 1).wait_for("trains from step")

    def test_a_job_that_continues_keeps_its_states(self):
        kept = ["--checkpoint_dir=" + self.path("kept"), "--noexport"]
        flags = self.flags(1)
        self.assertEqual(run("pstrain", *flags, *kept).returncode, 0)
        states = read(self.path("kept", "preprocessing.tfrecord"))
        flags = self.flags(1, seed=2, count=300)[:-1] + ["--training_iteration=60"]  # other data, the same vocabularies
        done = run("pstrain", *flags, *kept)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(read(self.path("kept", "preprocessing.tfrecord")), states)
        with open(self.path("kept", "preprocessing.tfrecord"), "r+b") as file:
            file.seek(20)
            file.write(b"\xff\xff")
        done = run("pstrain", *flags, *kept)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("preprocessing.tfrecord", done.stderr)

    def test_a_request_carries_raw_values(self):
        self.train("m", *self.flags(1))
        raw = {"color": [["red"], ["été"], ["unknown"]], "size": [[70.5], [30.25], [50.5]], "shop": [[3], [-12345678901234], [99]]}
        with Server(self.path("m")) as server:
            got = server.post("/v1/models/default:predict", {"signature_name": "predict", "inputs": raw})
            self.assertEqual(got.status, 200, got)
            examples = [{key: values[i] for key, values in raw.items()} for i in range(3)]
            by_examples = server.post("/v1/models/default:regress", {"examples": examples})
            self.assertEqual(by_examples.status, 200, by_examples)
            self.assertEqual([y[0] for y in got.json["outputs"]], by_examples.json["results"])

    def test_data_that_a_layer_cannot_be_adapted_to(self):
        flags = self.flags(1)
        with open(self.path("clicks-0.csv"), "a", encoding="utf-8") as file:
            file.write("red,nan,3,1\n")
        self.assertRegex(self.train("m", *flags, code=2), "adapting layer '(scaled|bins)': the data have the value nan")


if __name__ == "__main__":
    main()

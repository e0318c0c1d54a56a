"""The report "BUG when training with multiple ps servers", as its user ran it: a sparse linear classifier of 30,000,000 features with FTRL
0.01, 5 workers and 6 ps on hosts that share no disk, batches of 1000 rows, TFRecord files of sparse ids and values, --max_to_keep 2, and
a validation while the job trains.

The kernel and FTRL's two slots are 360 MB, cut over the 6 ps, and so large is each of the two checkpoints that are kept. A worker has
only the rows of its batches: 39,000 at most."""
import json
import os
import random
import re

from harness import TestCase, main, run
from hosts import Hosts
from job import Job
from records import example, floats, integers, record

FEATURES, IDS, STOP = 30_000_000, 39, 300
FILES, FILE_ROWS, TEST_ROWS = 6, 4000, 2000
FREQUENT = 50  # ids of each field

MODEL = {"class_name": "Sequential", "config": {"name": "click", "layers": [
    {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, FEATURES], "dtype": "float32", "sparse": True}},
    {"class_name": "Dense", "config": {"name": "linear", "units": 1, "activation": "sigmoid", "kernel_initializer": "zeros"}}]},
    "compile_config": {"optimizer": "ftrl", "loss": "binary_crossentropy", "metrics": ["accuracy"]}}


def rows(count, seed):
    """Label and ids, one of each field. A field's frequent ids decide the label, the odd ones for it and the even ones against it; the
    other ids may be anywhere in the field."""
    numbers = random.Random(seed)
    field = FEATURES // IDS
    for _ in range(count):
        places = [numbers.randrange(FREQUENT if numbers.random() < 0.8 else field) for _ in range(IDS)]
        score = sum(place % 2 * 2 - 1 for place in places if place < FREQUENT)
        yield float(score > 0), [f * field + place for f, place in enumerate(places)]


def data_file(count, seed):
    return b"".join(record(example(label=floats([label]), ids=integers(ids), values=floats([1.0] * IDS))) for label, ids in rows(count, seed))


class SparseReport(TestCase):
    def write_data(self, hosts):
        files = {"train-%d.tfrecord" % i: data_file(FILE_ROWS, i) for i in range(FILES)}
        files["test.tfrecord"] = data_file(TEST_ROWS, 99)
        files["model.json"] = json.dumps(MODEL).encode()
        for host in hosts:
            for name, data in files.items():
                with open(host.path(name), "wb") as file:
                    file.write(data)

    def check_checkpoints(self, chief):
        steps = sorted({int(m.group(1)) for f in chief.files() for m in [re.match(r"ckpt/model\.ckpt-(\d+)\.index", f)] if m})
        self.assertEqual(len(steps), 2, chief.files())
        self.assertGreaterEqual(steps[-1], STOP)
        for step in steps:
            size = os.path.getsize(chief.path("ckpt", "model.ckpt-%d.data-00000-of-00001" % step))
            self.assertAlmostEqual(size, FEATURES * 3 * 4, delta=1000)  # the bias, its slots and the step are the rest

    def check_memory(self, job):
        """No worker but the chief, which makes the first values, ever had as much as the kernel needs. A ps has its share of the kernel and
        of FTRL's two slots, and at most a copy of them for a snapshot, and the messages of 5 workers."""
        share = FEATURES * 4 * 3 / len(job.hosts["ps"])
        for index in range(len(job.hosts["ps"])):
            peak = job.task("ps", index).peak_bytes
            self.assertTrue(share < peak < 2 * share + (64 << 20), "ps %d: %d of %d" % (index, peak, share))
        for index in range(1, len(job.hosts["worker"])):
            self.assertLess(job.task("worker", index).peak_bytes, FEATURES * 4, "worker %d" % index)

    def check_resume(self, job):
        """The job goes on from the last checkpoint, with 4 ps instead of 6."""
        last = self.last_step(job.hosts["worker"][0])
        flags = [flag for flag in job.flags if not flag.startswith("--stop_at_step")] + ["--stop_at_step=%d" % (last + 50)]
        again = Job(ps=job.hosts["ps"][:4], worker=job.hosts["worker"], flags=flags)
        again.start_all("--checkpoint_dir=ckpt", "--max_to_keep=2", "--noexport")
        again.end(0)
        self.assertIn("model.ckpt-%d, step %d" % (last, last), again.task("worker", 0).output())
        self.assertGreaterEqual(self.last_step(job.hosts["worker"][0]), last + 50)

    def last_step(self, chief):
        return max(int(m.group(1)) for f in chief.files() for m in [re.match(r"ckpt/model\.ckpt-(\d+)\.index", f)] if m)

    def answer(self, chief, ids):
        pairs = json.dumps([[0, i] for i in ids])
        done = run("savedmodel", "run", chief.path("model", "1"), "--signature=predict", "--input=x=" + pairs,
                   "--input=x_1=" + json.dumps([1.0] * len(ids)), "--input=x_2=[1, %d]" % FEATURES)
        self.assertEqual(done.returncode, 0, done.stderr)
        return float(re.findall(r"\[([-+.\de]+)\]", done.stdout)[-1])

    def test_5_workers_and_6_ps(self):
        flags = ["--model=model.json", "--train_files=train-*.tfrecord", "--test_files=test.tfrecord", "--learning_rate=0.01",
                 "--batch_size=1000", "--loss_reduction=sum", "--stop_at_step=%d" % STOP]
        with Hosts(6, disk_mb=2048) as hosts:  # on the chief's: two checkpoints, a third that is written, the export
            self.write_data(hosts)
            job = Job(ps=hosts, worker=hosts[:5], flags=flags)
            evaluator = hosts[5].start("pstrain", *job.map_flags(), "--job_name=evaluator", *flags, "--eval_start_delay_secs=0",
                                       "--eval_throttle_secs=0", label="evaluator")
            job.start_together("--checkpoint_dir=ckpt", "--save_checkpoint_steps=100", "--max_to_keep=2", "--export_dir=model/1")
            evaluator.wait_for("Test at step ")
            job.end(0)
            self.check_memory(job)
            self.assertIn("Test at step", evaluator.end(0))
            self.check_checkpoints(hosts[0])
            for host in hosts[1:]:
                self.assertFalse([f for f in host.files() if "/" in f], host.name)
            said = job.task("worker", 0).output()
            self.check_resume(job)
            accuracy = float(re.search(r"Test: loss \S+, accuracy (\S+)", said).group(1))
            self.assertGreater(accuracy, 0.8, said[-2000:])  # 0.90, less if gradients are stale; 0.56 without training
            field = FEATURES // IDS
            self.assertGreater(self.answer(hosts[0], [f * field + 1 for f in range(IDS)]), 0.5)
            self.assertLess(self.answer(hosts[0], [f * field for f in range(IDS)]), 0.5)


if __name__ == "__main__":
    main()

"""The reports of linear regression and of TF_CONFIG with their users' own data, on hosts that share no disk: points of y = 2x + 10 and noise
in a CSV file on each host, 2 ps, a chief and 2 workers that TF_CONFIG describes, and event files.

The export is the line, and event files, checkpoints and export are on the chief's disk and on no other."""
import random
import re
import struct

from harness import TestCase, main, run
from hosts import Hosts
from job import Job

STOP = 600


def points(count=2000):
    numbers = random.Random(1)
    xs = [numbers.uniform(-1, 1) for _ in range(count)]
    return "x,y\n" + "".join("%.6f,%.6f\n" % (x, 2 * x + 10 + numbers.gauss(0, .1)) for x in xs)


def events(path):
    """The records of an event file: their length, its checksum, the record, its checksum."""
    with open(path, "rb") as file:
        data = file.read()
    while data:
        size, = struct.unpack_from("<Q", data)
        yield data[12:12 + size]
        data = data[16 + size:]


class LinearReport(TestCase):
    def check_events(self, host):
        """One file of the training, with the graph and the loss, and one of the test rows."""
        trained = [f for f in host.files() if f.startswith("logs/events.")]
        tested = [f for f in host.files() if f.startswith("logs/eval/events.")]
        self.assertEqual((len(trained), len(tested)), (1, 1), host.files())
        records = list(events(host.path(trained[0])))
        self.assertIn(b"brain.Event:2", records[0])
        self.assertIn(b"MatMul", records[1])
        # One for 100 steps, or for more while the others make steps without the chief.
        self.assertGreaterEqual(sum(b"global_step/sec" in record for record in records), STOP // 200)
        self.assertTrue(any(b"loss" in record for record in events(host.path(tested[0]))))

    def predict(self, host, x):
        done = run("savedmodel", "run", host.path("model", "1"), "--signature=predict", "--input=x=[[%g]]" % x)
        self.assertEqual(done.returncode, 0, done.stderr)
        return float(re.findall(r"\[([-+.\de]+)\]", done.stdout)[-1])

    def test_a_line_of_a_csv_file_by_tf_config(self):
        with Hosts(5) as hosts:
            for host in hosts:
                with open(host.path("line.csv"), "w", encoding="utf-8") as file:
                    file.write(points())
            job = Job(ps=hosts[:2], chief=[hosts[2]], worker=hosts[3:], flags=[
                "--model=linear", "--train_files=line.csv", "--test_files=line.csv", "--label_column=y", "--batch_size=50", "--learning_rate=0.01",
                "--stop_at_step=%d" % STOP])
            job.start_all("--checkpoint_dir=ckpt", "--log_dir=logs", "--export_dir=model/1", tf_config=True)
            job.end(0)
            chief = hosts[2]
            self.check_events(chief)
            self.assertTrue({"ckpt/checkpoint", "model/1/saved_model.pb"} <= set(chief.files()), chief.files())
            for host in hosts[:2] + hosts[3:]:
                self.assertEqual(host.files(), ["line.csv"], host.name)
            for x in (0, 1, -1):
                self.assertAlmostEqual(self.predict(chief, x), 2 * x + 10, delta=.05)  # .1 / sqrt(2000), many times


if __name__ == "__main__":
    main()

"""The reports "BUG when training with multiple ps servers" and "NotFoundError with multiple ps servers": linear regression with
Adagrad 0.01 to step 50000, 1, 2 and 5 ps, 3 and 5 workers on hosts that share no disk, a checkpoint every second.

The checkpoints are complete on the chief's disk and on no other, the job goes on from them with 1 ps and with 3, the weights are
within 1e-3 of the truth (y = 0.1 x + 0.3), and nothing else is left on any host."""
import re

from harness import TestCase, main, run
from hosts import Hosts
from job import Job

STOP = 50000


def flags(stop):
    return ["--model=linear", "--optimizer=adagrad", "--learning_rate=0.01", "--stop_at_step=%d" % stop]


def chief_flags(version):
    return ["--checkpoint_dir=ckpt", "--save_checkpoint_secs=1", "--export_dir=model/%d" % version]


class Checkpoints(TestCase):
    def spread(self, hosts, ps, workers):
        """The chief alone on a; the ps tasks and the other workers around the rest, a ps and its neighbour apart."""
        others = hosts[1:]
        return Job(ps=[others[i % len(others)] for i in range(ps)],
                   worker=[hosts[0]] + [others[-1 - i % len(others)] for i in range(workers - 1)], flags=flags(STOP))

    def steps(self, chief):
        return sorted({int(m.group(1)) for f in chief.files() for m in [re.match(r"ckpt/model\.ckpt-(\d+)\.", f)] if m})

    def check_disks(self, hosts, versions):
        chief, others = hosts[0], hosts[1:]
        steps = self.steps(chief)
        self.assertLessEqual(len(steps), 5)
        expected = ["ckpt/", "ckpt/checkpoint", "model/"]
        for step in steps:
            expected += ["ckpt/model.ckpt-%d.%s" % (step, end) for end in ("data-00000-of-00001", "index")]
        for version in versions:
            expected += ["model/%d/%s" % (version, f) for f in
                         ("", "assets.extra/", "assets.extra/compile_config.json", "saved_model.pb", "variables/", "variables/variables.index",
                          "variables/variables.data-00000-of-00001")]
        self.assertEqual(chief.files(), sorted(expected))
        for host in others:
            self.assertEqual(host.files(), [], host.name)
        with open(chief.path("ckpt", "checkpoint"), encoding="utf-8") as file:
            self.assertIn('model_checkpoint_path: "model.ckpt-%d"' % steps[-1], file.read())
        return steps[-1]

    def check_weights(self, chief, version):
        def predict(x):
            done = run("savedmodel", "run", chief.path("model", str(version)), "--signature=predict", "--input=x=[[%g]]" % x)
            self.assertEqual(done.returncode, 0, done.stderr)
            return float(re.findall(r"\[([-+.\de]+)\]", done.stdout)[-1])
        self.assertAlmostEqual(predict(0), 0.3, delta=1e-3)
        self.assertAlmostEqual(predict(1) - predict(0), 0.1, delta=1e-3)

    def run_job(self, job, hosts, stop, version, earlier=()):
        job.start_all(*chief_flags(version))
        job.end(0)
        last = self.check_disks(hosts, [*earlier, version])
        self.assertTrue(stop <= last < stop + len(job.hosts["worker"]), last)
        self.check_weights(hosts[0], version)
        return last

    def check(self, ps, workers):
        with Hosts(6) as hosts:
            self.run_job(self.spread(hosts, ps, workers), hosts, STOP, 1)

    def test_1_ps_3_workers(self):
        self.check(1, 3)

    def test_1_ps_5_workers(self):
        self.check(1, 5)

    def test_2_ps_3_workers(self):
        self.check(2, 3)

    def test_2_ps_5_workers(self):
        self.check(2, 5)

    def test_5_ps_3_workers(self):
        self.check(5, 3)

    def test_5_ps_5_workers_goes_on_with_1_ps_and_with_3(self):
        with Hosts(6) as hosts:
            reached = self.run_job(self.spread(hosts, 5, 5), hosts, STOP, 1)
            for version, ps in ((2, 1), (3, 3)):
                job = self.spread(hosts, ps, 3)
                job.flags = flags(STOP + 10000 * version)
                last = self.run_job(job, hosts, STOP + 10000 * version, version, range(1, version))
                self.assertIn("step %d" % reached, job.task("worker", 0).output())
                reached = last


if __name__ == "__main__":
    main()

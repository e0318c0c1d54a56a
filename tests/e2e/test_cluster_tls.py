"""Jobs whose tasks use TLS and trust only each other, and the warning without TLS."""
import os
import subprocess

from cluster import Job
from harness import DEADLINE_S, TestCase, clean_environment, main, program

LINEAR = ["--model=linear", "--training_iteration=300", "--sync"]


class Tls(TestCase):
    def openssl(self, *command):
        subprocess.run(["openssl", *command], cwd=self.dir, check=True, capture_output=True)

    def certificates(self, name, ca):
        """Makes NAME.pem and NAME.key, signed by the CA of that name, which it makes if there is none. Returns the flags."""
        ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        if not os.path.exists(self.path(ca + ".pem")):
            self.openssl("req", "-x509", *ec, "-keyout", ca + ".key", "-out", ca + ".pem", "-subj", "/CN=" + ca)
        with open(self.path("san"), "w") as f:
            f.write("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        self.openssl("req", *ec, "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + name)
        self.openssl("x509", "-req", "-in", name + ".csr", "-CA", ca + ".pem", "-CAkey", ca + ".key", "-CAcreateserial", "-days", "2",
                     "-extfile", "san", "-out", name + ".pem")
        return ["--tls_cert=" + self.path(name + ".pem"), "--tls_key=" + self.path(name + ".key"), "--tls_ca=" + self.path(ca + ".pem")]

    def variables(self, label):
        with open(self.path(label, "1", "variables", "variables.data-00000-of-00001"), "rb") as f:
            return f.read()

    def train(self, label, *flags):
        job = Job(self, ps=2, workers=2, flags=LINEAR + list(flags))
        job.start_all(self.path(label, "1"))
        codes = job.wait()
        self.assertEqual(set(codes.values()), {0}, "%s\n%s" % (codes, job.logs()[-6000:]))
        self.assertNotIn("plaintext", job.logs(), "within one host nobody listens")
        return self.variables(label)

    def test_a_job_over_tls_learns_the_same(self):
        tls = self.certificates("task", "ca")
        self.assertEqual(self.train("tls", *tls), self.train("plain"))

    def test_a_stranger_is_kept_out_and_told_why(self):
        tls, strange = self.certificates("task", "ca"), self.certificates("stranger", "another")
        job = Job(self, ps=1, workers=1, flags=["--model=linear"])
        job.start("ps", 0, *tls).wait_for("serves at")
        for flags, words in ((strange, "TLS"), ([], "the peer speaks TLS, and this client does not")):
            task = job.start("worker", 0, "--export_dir=" + self.path("m", "1"), "--start_timeout=3", *flags)
            self.assertEqual(task.wait(), 138, task.text())
            self.assertIn("gave up waiting for ps 0 at " + job.hosts["ps"][0], task.text())
            self.assertIn(words, task.text())

    def test_doctor_over_tls(self):
        tls = self.certificates("task", "ca")
        job = Job(self, ps=1, workers=1)
        job.start("ps", 0, *tls).wait_for("serves at")
        done = subprocess.run([program("pstrain"), "doctor", *job.map_flags(), *tls], capture_output=True, text=True, timeout=DEADLINE_S,
                              env=clean_environment())
        self.assertRegex(done.stdout, "ps 0 at .*: fine, ")
        done = subprocess.run([program("pstrain"), "doctor", *job.map_flags()], capture_output=True, text=True, timeout=DEADLINE_S,
                              env=clean_environment())
        self.assertEqual(done.returncode, 1)
        self.assertNotRegex(done.stdout, "ps 0 at .*: fine")

    def test_certificates_that_are_no_use_are_refused_at_once(self):
        tls = self.certificates("task", "ca")
        job = Job(self, ps=1, workers=1)
        task = job.start("ps", 0, tls[0].replace("task.pem", "none.pem"), *tls[1:])
        self.assertEqual(task.wait(), 2, task.text())
        self.assertIn("none.pem", task.text())

    def test_plaintext_beyond_this_host_is_warned_of(self):
        job = Job(self, ps=1, workers=1, flags=LINEAR)
        beyond = dict(job.hosts, worker=["some.other.host:2222"])  # nobody dials it
        task = job.start("ps", 0, hosts=beyond, *["--start_timeout=1"])
        self.assertEqual(task.wait(), 138, task.text())
        self.assertEqual(task.text().count("the tasks talk in plaintext"), 1, task.text())


if __name__ == "__main__":
    main()

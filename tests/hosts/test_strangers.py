"""Strangers on a ps' port while a job trains: HTTP/1, TLS, random bytes, half a preface, silence, another job's worker. The ps refuses
each and goes on, and the job ends as if none had come."""
import random
import socket
import ssl
import time

from harness import TestCase, main
from hosts import Hosts, inside
from job import Job

LINEAR = ["--model=linear", "--seed=7", "--learning_rate=0.01"]
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def drain(s):
    """What the other side sends until it closes; None: it does not within 30 s."""
    s.settimeout(30)
    got = b""
    try:
        while True:
            part = s.recv(65536)
            if not part:
                return got
            got += part
    except socket.timeout:
        return None
    except OSError:
        return got


class Strangers(TestCase):
    def visit(self, address, sends):
        """Sends one piece after the other, and checks that the ps closes the connection."""
        with socket.create_connection(address, timeout=30) as s:
            try:
                for piece in sends:
                    s.sendall(piece)
            except OSError:
                return  # closed in the middle
            self.assertIsNotNone(drain(s), sends)

    def test_none_of_them_disturbs_a_job(self):
        with Hosts(3) as (a, b, c):
            job = Job(ps=[a], worker=[b, c], flags=[*LINEAR, "--sync", "--training_iteration=40000"])
            job.start_all("--export_dir=model/1")
            for i in range(2):
                job.task("worker", i).wait_for("trains from step")
            other = b.start("pstrain", *job.map_flags(), "--job_name=worker", "--task_index=1", "--cluster_id=theirs", *LINEAR,
                            "--start_timeout=2", label="another job's worker")
            other.wait_for("belongs to cluster 'default', worker 1 to 'theirs'")
            with inside(c):
                self.strangers(job)
            self.assertNotEqual(other.wait(), 0)
            job.end(0)
            self.assertIn("the job is finished at step 40000", job.task("ps").output())

    def strangers(self, job):
        host, port = job.addresses["ps"][0].split(":")
        address = (job.hosts["ps"][0].address, int(port))
        draw = random.Random(5)
        self.visit(address, [b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode()])
        self.visit(address, [b"POST /slipway.training.ParameterServer/Push HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"])
        for size in (1, 100, 100000):
            self.visit(address, [b"\x00" + draw.randbytes(size), b"\r\n" * 100])
            self.visit(address, [PREFACE, draw.randbytes(size + 100)])
        with socket.create_connection(address, timeout=30) as s:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with self.assertRaises(OSError):
                context.wrap_socket(s)
        half = socket.create_connection(address)
        half.sendall(PREFACE[:10])
        silent = socket.create_connection(address)
        time.sleep(0.5)  # both are still there while the job goes on
        half.close()
        silent.close()


if __name__ == "__main__":
    main()

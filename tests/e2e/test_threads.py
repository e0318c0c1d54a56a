"""--tensorflow_intra_op_parallelism, --tensorflow_session_parallelism and TF_NUM_INTRAOP_THREADS: how many threads a run may use."""
import os
import resource
import subprocess
import unittest

from digits import ASK, DigitsServer
from harness import SANITIZED, Server, clean_environment, main, program, run

ROWS = 2000  # a product that is worth several threads


class Threads(DigitsServer):
    def answer(self, *flags, **options):
        """The answer to a large request, and the number of helpers that the server has started for it."""
        body = {"signature_name": "predict_images", "instances": [[(row + i) % 7 for i in range(784)] for row in range(ROWS)]}
        with Server(self.base, *flags, **options) as server:
            answer = server.post(ASK, body)
            self.assertEqual(answer.status, 200, answer)
            return answer.body, server.loop_helpers()

    def test_a_run_has_as_many_threads_as_asked_for_and_the_same_answer(self):
        alone, helpers = self.answer("--tensorflow_session_parallelism=1")
        self.assertEqual(helpers, 0)
        for width, others in (2, ("--tensorflow_session_parallelism=1",)), (3, ("--tensorflow_inter_op_parallelism=2",)):
            body, helpers = self.answer("--tensorflow_intra_op_parallelism=%d" % width, *others)
            self.assertEqual(helpers, width - 1)
            self.assertEqual(body, alone)

    def test_the_environment_gives_the_default(self):
        width = len(os.sched_getaffinity(0)) + 1
        for flags, helpers in ((), width - 1), (("--tensorflow_intra_op_parallelism=1",), 0):
            _, started = self.answer(*flags, env=clean_environment(TF_NUM_INTRAOP_THREADS=str(width)))
            self.assertEqual(started, helpers, flags)

    @unittest.skipIf(SANITIZED == "thread", "the kernel leaves such a stack the room of ThreadSanitizer's shadow memory")
    def test_other_programs_tell_that_threads_are_refused(self):
        """No thread gets a stack of the size that the limit asks for. (OpenBLAS must not start any.)"""
        model = os.path.join(self.base, "1")
        rows = self.path("one.csv")
        with open(rows, "w", encoding="ascii") as file:
            file.write("x,label\n1,2\n")
        image = "--input=images=" + str([[0] * 784])
        for words in (("savedmodel", "run", model, "--signature=predict_images", image, "--threads=3"),
                      ("pstrain", "--model=linear", "--train_files=" + rows, "--noexport", "--threads=3")):
            with self.subTest(words[0]):
                done = subprocess.run([program(words[0]), *words[1:]], capture_output=True, text=True, check=False,
                                      env=clean_environment() | {"OPENBLAS_NUM_THREADS": "1"},
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 48, resource.RLIM_INFINITY)))
                self.assertIn("the system allows 0 of the 2 threads that help with large ops", done.stderr)

    def test_all_three_flags_are_refused_as_tensorflow_serving_refuses_them(self):
        flags = ["--tensorflow_%s_parallelism=1" % name for name in ("intra_op", "inter_op", "session")]
        done = run("modelserver", "--model_base_path=" + self.base, *flags)
        self.assertEqual(done.returncode, 255, done)
        self.assertIn("INVALID_ARGUMENT: Either configure server_options.tensorflow_session_parallelism or ", done.stdout)


if __name__ == "__main__":
    main()

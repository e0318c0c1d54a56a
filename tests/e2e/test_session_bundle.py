"""session_bundle, the format before SavedModel: exported, served, converted; damaged files and wrong command lines."""
import os
import shutil

from harness import Server, TestCase, main, run

IMAGE = [0.5] * 784


class SessionBundle(TestCase):
    def setUp(self):
        super().setUp()
        self.base, self.directory = self.path("model"), self.path("model", "00000001")

    def pstrain(self, *flags):
        return run("pstrain", "--training_iteration=20", "--batch_size=20", "--export_format=session_bundle", "--noplot", *flags)

    def export(self, *flags):
        done = self.pstrain(*(flags or [self.base]))
        self.assertEqual(done.returncode, 0, done.stderr)

    def scores(self, server):
        answer = server.post("/v1/models/default:predict", {"signature_name": "predict_images", "instances": [IMAGE]})
        self.assertEqual(answer.status, 200, answer)
        return answer.json["predictions"][0]

    def test_an_export_is_served_and_converted(self):
        self.export()
        with Server(self.base) as server:
            scores = self.scores(server)
            metadata = server.get("/v1/models/default/metadata").json["metadata"]["signature_def"]["signature_def"]
            self.assertEqual(metadata["serving_default"]["method_name"], "tensorflow/serving/classify")
            self.assertEqual(metadata["predict_images"]["inputs"]["images"]["tensor_shape"]["dim"][1]["size"], "784")
            done = run("savedmodel", "convert", self.directory, os.path.join(self.base, "2"))
            self.assertEqual((done.returncode, done.stdout), (0, "Wrote %s as a saved_model\n" % os.path.join(self.base, "2")), done)
            server.wait_for_state(2, "AVAILABLE")
            self.assertEqual(self.scores(server), scores)
        done = run("savedmodel", "run", self.directory, "--signature=predict_images", "--input=images=%s" % [IMAGE])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("scores: float [1,10]", done.stdout)

    def test_versions_go_on_in_either_format(self):
        self.export()
        self.export()
        self.assertEqual(sorted(os.listdir(self.base)), ["00000001", "00000002"])
        done = run("pstrain", "--training_iteration=20", "--batch_size=20", "--noplot", "--export_dir=%s" % self.base)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(self.base)), ["00000001", "00000002", "3"])

    def test_a_finished_job_knows_its_export(self):
        flags = ["--export_dir=%s" % self.directory, "--checkpoint_dir=%s" % self.path("ckpt"), "--stop_at_step=20", "--sync"]
        self.export(*flags)
        before = os.stat(os.path.join(self.directory, "export.meta")).st_mtime_ns
        self.export(*flags)
        self.assertEqual(os.stat(os.path.join(self.directory, "export.meta")).st_mtime_ns, before)
        shutil.rmtree(self.path("ckpt"))
        done = self.pstrain(*flags)
        self.assertNotEqual(done.returncode, 0, "another job's export is not overwritten")
        self.assertIn("'%s'" % self.directory, done.stderr)

    def test_damaged_files_do_not_replace_a_good_version(self):
        self.export()
        with Server(self.base, "--max_num_load_retries=0") as server:
            scores = self.scores(server)
            for version, (name, size) in enumerate((("export-00000-of-00001", 20000), ("export.meta", 100), ("export-00000-of-00001", None)), 2):
                broken = self.path("broken")
                shutil.copytree(self.directory, broken)
                if size is None:
                    os.remove(os.path.join(broken, name))
                else:
                    os.truncate(os.path.join(broken, name), size)
                shown = run("savedmodel", "show", broken)
                self.assertEqual(shown.returncode, 1, shown)
                os.rename(broken, os.path.join(self.base, str(version)))
                server.wait_for_state(version, "END")
                self.assertEqual(self.scores(server), scores)

    def test_command_lines_that_are_wrong(self):
        self.export()
        taken = self.path("taken")
        os.makedirs(os.path.join(taken, "x"))
        with open(os.path.join(taken, "file"), "w", encoding="utf-8"):
            pass
        new = self.path("new")
        for arguments, status, words in (
                ([self.directory], 2, "takes two directories, FROM and TO; 1 given"),
                ([self.directory, new, new], 2, "3 given"),
                ([self.directory, new, "--to=onnx"], 2, "--to=onnx"),
                ([self.directory, new, "--to=session_bundle"], 1, "is a session_bundle already"),
                ([self.directory, new, "--tag_set=train"], 1, "matching supplied tags: { train }"),
                ([self.base, new], 1, "did you mean '%s'?" % self.directory),
                ([self.path("none"), new], 1, "does not appear to contain a SavedModel"),
                ([self.directory, taken], 1, "is not empty")):
            with self.subTest(arguments):
                done = run("savedmodel", "convert", *arguments)
                self.assertEqual((done.returncode, done.stdout), (status, ""), done)
                self.assertIn(words, done.stderr)
                self.assertFalse(os.path.exists(new))
        with Server(self.directory, wait=False) as server:
            server.wait_for_output("which is a version itself: give the directory above it")


if __name__ == "__main__":
    main()

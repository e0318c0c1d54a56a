"""What the container of the Dockerfile starts. No image is made here: that takes the network and a container engine."""
import os
import re

import tiny_model
from harness import BIN, SOURCE, Server, TestCase, clean_environment, main

ENTRYPOINT = os.path.join(SOURCE, "server", "tf_serving_entrypoint.sh")


class Container(TestCase):
    def serve(self, *flags, **variables):
        environment = clean_environment(PATH=BIN + ":" + os.environ["PATH"], MODEL_BASE_PATH=self.path("models"), **variables)
        return Server(None, *flags, env=environment, starter=ENTRYPOINT)

    def test_variables_name_the_model(self):
        tiny_model.write(self.path("models", "my model", "3"))
        with self.serve(MODEL_NAME="my model") as server:
            self.assertEqual(server.get("/v1/models/my%20model").json["model_version_status"][0]["version"], "3")

    def test_a_config_file_names_other_models(self):
        tiny_model.write(self.path("models", "half", "1"))
        with open(self.path("models", "models.config"), "w", encoding="utf-8") as f:
            f.write('model_config_list { config { name: "other" base_path: "%s" model_platform: "tensorflow" } }' % self.path("models", "half"))
        with self.serve("--model_config_file=" + self.path("models", "models.config"), MODEL_NAME="model") as server:
            self.assertEqual(server.get("/v1/models/other").status, 200)
            self.assertEqual(server.get("/v1/models/model").status, 404)

    def test_the_dockerfile_names_what_exists(self):
        with open(os.path.join(SOURCE, "Dockerfile"), encoding="utf-8") as f:
            text = f.read()
        for path in re.findall(r"^COPY ([^-.\s]\S*) ", text, re.MULTILINE):
            self.assertTrue(os.path.exists(os.path.join(SOURCE, path)), path)
        self.assertIn('ENTRYPOINT ["/usr/bin/%s"]' % os.path.basename(ENTRYPOINT), text)


if __name__ == "__main__":
    main()

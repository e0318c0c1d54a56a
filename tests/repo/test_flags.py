"""Every flag that --help shows has an effect: no option is parsed and ignored, or copied to where nothing reads it."""
import re
import time
import unittest

from harness import DEADLINE_S, Server, main, run
from effects import COMMENT_OR_STRING, Code
from tree import files, text

# A row of a flag table: { "port", FLAG_INT32, &options.port, … }
ROW = re.compile(r'\{\s*"(\w+)",\s*FLAG_\w+,\s*&(?!unused\b)([\w.>\-]*?)(\w+)\s*[,}]')
# The row of --help: HELP_FLAG(&options.help)
HELP = re.compile(r'HELP_FLAG\(&([\w.>\-]*?)(\w+)\)')
# A flag of modelserver that is known by its name only: { "port", FLAG_INT32, &unused.grpc_max_threads, "0", .help = FOREIGN …
BY_NAME = re.compile(r'\{\s*"(\w+)",\s*FLAG_(\w+),\s*&unused\.\w+,\s*"([^"]*)",\s*\.help = (\w+)')
PROGRAMS = {"pstrain": "trainer/", "savedmodel": "exporter/", "modelserver": "server/", "modelclient": "clients/"}


# Every flag of TensorFlow Serving 2.19: values that work or ask for what happens anyway, and values that are refused because
# nothing here would do what they ask for.
SERVING_FLAGS = {
    "port": (["8500", "0"], ["70000"]), "grpc_socket_path": (["/tmp/socket"], []),
    "rest_api_port": (["0", "8501"], ["70000"]), "rest_api_num_threads": (["16", "0"], []),
    "rest_api_timeout_in_ms": (["30000", "0", "-1"], ["x"]), "rest_api_enable_cors_support": (["true", "false"], ["x"]),
    "enable_batching": (["true", "false"], ["x"]), "allow_version_labels_for_unavailable_models": (["true", "false"], []),
    "batching_parameters_file": (["", "x"], []), "enable_per_model_batching_parameters": (["true", "false"], []),
    "model_config_file": (["x", ""], []), "model_config_file_poll_wait_seconds": (["0", "60", "-1"], []),
    "model_name": (["m"], []), "model_base_path": (["/m"], []), "num_load_threads": (["0", "2"], []),
    "num_unload_threads": (["0", "2"], []), "max_num_load_retries": (["0", "5"], []),
    "load_retry_interval_micros": (["60000000", "0", "-1"], []), "file_system_poll_wait_seconds": (["1", "0", "-1"], []),
    "flush_filesystem_caches": (["true", "false"], []), "tensorflow_session_parallelism": (["0", "4", "-1"], []),
    "tensorflow_session_config_file": (["", "x"], []), "tensorflow_intra_op_parallelism": (["0", "4", "-1"], []),
    "tensorflow_inter_op_parallelism": (["0", "4", "-1"], []), "use_alts_credentials": (["false", "true"], []),
    "ssl_config_file": (["", "x"], []), "platform_config_file": (["", "x"], []), "per_process_gpu_memory_fraction": (["0", "0.5"], []),
    "saved_model_tags": (["serve", "serve,gpu"], []), "grpc_channel_arguments": (["", "grpc.max_concurrent_streams=100"], []),
    "grpc_max_threads": (["8"], []), "enable_model_warmup": (["true", "false"], []),
    "num_request_iterations_for_warmup": (["0", "3", "-1"], []), "version": (["true"], []), "monitoring_config_file": (["", "x"], []),
    "remove_unused_fields_from_bundle_metagraph": (["true", "false"], []), "prefer_tflite_model": (["true", "false"], []),
    "num_tflite_pools": (["4"], []), "num_tflite_interpreters_per_pool": (["1", "2"], []),
    "enable_signature_method_name_check": (["true", "false"], []), "xla_cpu_compilation_enabled": (["true", "false"], []),
    "xla_gpu_compilation_enabled": (["true", "false"], []), "enable_profiler": (["true", "false"], []),
    "thread_pool_factory_config_file": ([""], ["x"]), "mixed_precision": ([""], ["bfloat16"]),
    "skip_initialize_tpu": (["true", "false"], []), "enable_grpc_healthcheck_service": (["true", "false"], []),
    "enable_serialization_as_tensor_content": (["true", "false"], []),
}


def commands_of(program):
    """Its command lines for --help: one for each command that it lists, and one without a command if that has flags."""
    page = run(program, "--help").stdout
    listed = re.search(r"^commands.*\n((?:  .*\n)*)", page, re.M)
    commands = [[name] for name in re.findall(r"^  ([a-z]+) ", listed[1], re.M)] if listed else []
    return commands + ([[]] if re.search(r"^\s*--", page, re.M) else [])


def shown(program, command):
    """The names that --help shows: lines such as `  --port=8501` or `  --[no]sync (false)`."""
    done = run(program, *command, "--help")
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"^\s*--(?:\[no\])?(\w+)", done.stdout, re.M))


def rows_of(source):
    """The rows of the flag tables in a source: [(name, owner of the target, target)]."""
    return ROW.findall(source) + [("help", owner, target) for owner, target in HELP.findall(source)]


def without_effect(sources):
    """sources {path: text} -> [flags whose target is only copied, or not read at all]."""
    code, wrong = Code(sources), []
    for path, source in sources.items():
        for name, owner, target in rows_of(COMMENT_OR_STRING.sub(lambda m: m[0] if m[0][0] == '"' else " ", source)):
            variable = re.findall(r"\w+", owner)[-1]
            own = re.search(r"static struct \{[^{}]*\} " + variable + ";", source)
            types = frozenset() if own else frozenset(re.findall(r"struct (\w+) " + variable + r"\b", "".join(sources.values())))
            if not code.field_has_effect(target, types, path if own else None):
                wrong.append("%s: --%s has no effect: %s is only copied, or not read at all" % (path, name, target))
    return wrong


class Flags(unittest.TestCase):
    def test_every_flag_shown_has_a_row(self):
        for program, directory in PROGRAMS.items():
            sources = [text(p) for p in files(".c", ".h") if p.startswith(directory)]
            names = {row[0] for s in sources for row in rows_of(s) + BY_NAME.findall(s)}
            commands = commands_of(program)
            self.assertTrue(commands, program)
            for command in commands:
                have = shown(program, command)
                self.assertGreater(len(have), 2, program)
                self.assertEqual(have - names, set(), "%s shows flags whose rows this test does not find" % program)

    def test_every_flag_has_an_effect(self):
        folders = ("core/", "proto/", "trainer/", "exporter/", "server/", "clients/")
        self.assertEqual(without_effect({p: text(p) for p in files(".c", ".h") if p.startswith(folders)}), [])

    @staticmethod
    def known_by_name(kind):
        """The flags of modelserver that are REFUSED, MET or FOREIGN, each set to what is not its default."""
        other = {"BOOL": lambda d: "false" if d == "true" else "true", "TEXT": lambda d: "x", "DOUBLE": lambda d: "0.5"}
        rows = [row for path in files(".c") if path.startswith("server/") for row in BY_NAME.findall(text(path)) if row[3] == kind]
        return {name: "--%s=%s" % (name, other.get(type_, lambda d: int(d) + 2)(default)) for name, type_, default, _ in rows}

    def test_a_flag_of_what_is_not_there_is_refused_by_its_name(self):
        refused = self.known_by_name("REFUSED")
        self.assertEqual(set(refused), {"thread_pool_factory_config_file", "mixed_precision"})
        for name, flag in refused.items():
            done = run("modelserver", "--model_base_path=x", flag, timeout=20)
            self.assertEqual(done.returncode, 2, flag + done.stderr)
            self.assertIn("--%s is not implemented: " % name, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_every_flag_of_tensorflow_serving_works_or_is_refused_by_its_name(self):
        for name, (accepted, refused) in SERVING_FLAGS.items():
            for value in accepted:
                done = run("modelserver", "--%s=%s" % (name, value), "--version")
                self.assertEqual((done.returncode, done.stderr), (0, ""), "--%s=%s" % (name, value))
            for value in refused:
                done = run("modelserver", "--%s=%s" % (name, value), "--version")
                self.assertEqual(done.returncode, 2, "--%s=%s" % (name, value))
                self.assertIn("--" + name, done.stderr)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_a_flag_that_asks_for_what_happens_anyway_is_accepted(self):
        met = self.known_by_name("MET")
        self.assertTrue(met)
        done = run("modelserver", *met.values(), "--version")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_flag_of_hardware_that_is_not_used_is_logged(self):
        foreign = self.known_by_name("FOREIGN")
        self.assertGreater(len(foreign), 2)
        server = Server("no/such/base/path", *foreign.values(), wait=False)  # it waits for the path to appear
        self.addCleanup(server.process.wait)
        self.addCleanup(server.process.kill)
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end and server.process.poll() is None and not all("--%s " % name in server.output() for name in foreign):
            time.sleep(0.02)
        for name in foreign:
            self.assertIn("--%s " % name, server.output())

    def test_a_flag_without_effect_would_be_seen(self):
        table = ('static struct { int port; bool sync; } options;\n'
                 'static const struct flag rows[] = { { "port", FLAG_INT32, &options.port, "1" }, { "sync", FLAG_BOOL, &options.sync } };\n')
        main_ = "int main(void)\n{\n    %s\n}\n"
        self.assertEqual(len(without_effect({"a.c": table})), 2)
        self.assertEqual(len(without_effect({"a.c": table + main_ % "f(options.port); options.sync = 1;"})), 1)
        self.assertEqual(without_effect({"a.c": table + main_ % "f(options.port); if (options.sync) g();"}), [])
        self.assertEqual(len(without_effect({"a.c": table.replace('"1"', '"1", .help = "a/*"') + "/* */\n"})), 2)

    def test_a_field_is_told_from_a_variable_of_its_name(self):
        table = ('struct values { int port; };\nstruct all { struct values flags; };\nstatic struct values values;\n'
                 'static const struct flag rows[] = { { "port", FLAG_INT32, &values.port, "1" } };\n')
        main_ = "int main(void)\n{\n    struct other flags = { 0 };\n    f(%s);\n}\n"
        self.assertEqual(without_effect({"a.c": table + main_ % "out->flags.port"}), [])
        self.assertEqual(len(without_effect({"a.c": table + main_ % "flags.port"})), 1)

    def test_a_flag_that_is_only_copied_would_be_seen(self):
        table = ('static struct { int width; } options;\n'
                 'static const struct flag rows[] = { { "width", FLAG_INT32, &options.width, "1" } };\n'
                 "int main(void)\n{\n    struct run run;\n    run_set_width(&run, options.width);\n%s}\n")
        setter = "void run_set_width(struct run *run, int width)\n{\n    run->width = width;\n}\n"
        getter = "int run_width(struct run *run)\n{\n    return run->width;\n}\n"
        other = "int window_width(struct window *w)\n{\n    return w->width;\n}\n"
        self.assertEqual(len(without_effect({"a.c": table % "", "b.c": setter})), 1)
        self.assertEqual(len(without_effect({"a.c": table % "", "b.c": setter + getter})), 1)  # nobody calls run_width
        self.assertEqual(len(without_effect({"a.c": table % "    window_width(0);\n", "b.c": setter + other})), 1)
        self.assertEqual(without_effect({"a.c": table % "    run_width(&run);\n", "b.c": setter + getter}), [])


if __name__ == "__main__":
    main()

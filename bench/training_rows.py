"""Rows about pstrain: training, checkpoints, exports, clusters, reading files."""
import glob
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time

from measure import (ROOT, SERVER_CORE, bench_program, cluster_rate, out, peer, rate_of_training, started_cluster, tensorflow_cluster,
                     timed_export, trained_cluster)
from harness import program  # measure.py knows where it is


def train(bench):
    """training in process, --ps 1 --workers 1, batch 100, one thread, rows/s, against TensorFlow's tf.function loop and jax"""
    for model, steps in (("softmax", 20000), ("mlp", 3000)):
        def ours():
            text = out(program("pstrain"), "--model=" + model, "--ps=1", "--workers=1", "--batch_size=100", "--optimizer=sgd",
                       "--training_iteration=%d" % steps, "--train_dir=" + bench.data(), core=SERVER_CORE,
                       cwd=tempfile.mkdtemp(dir=bench.work))
            return rate_of_training(text)

        got = bench.interleaved(ours=ours, tensorflow=lambda: float(peer("train-tensorflow", model, steps)),
                               jax=lambda: float(peer("train-jax", model, steps)))
        best = max(got["tensorflow"], got["jax"])
        bench.table.add("training %s, batch 100, one thread" % model, "%.1f k rows/s" % (got["ours"] / 1e3),
                       "TensorFlow %.1f k, jax %.1f k: %.2fx" % (got["tensorflow"] / 1e3, got["jax"] / 1e3, got["ours"] / best),
                       "no slower", got["ours"] >= 0.97 * best)


def checkpoint(bench):
    """training in process while a checkpoint is written every second, rows/s, against without"""
    for model, steps in (("softmax", 60000), ("mlp", 3000)):
        def ours(*flags, m=model, n=steps):
            with tempfile.TemporaryDirectory(dir=bench.work) as directory:
                flags = [flag.replace("DIR", directory) for flag in flags]
                return rate_of_training(out(program("pstrain"), "--model=" + m, "--optimizer=adam", "--batch_size=100", "--stop_at_step=%d" % n,
                                            "--train_dir=" + bench.data(), *flags, cwd=directory))

        got = bench.interleaved(ours=lambda: ours("--checkpoint_dir=DIR/ckpt", "--save_checkpoint_secs=1"), none=ours)
        bench.table.add("training %s, a checkpoint every second" % model, "%.1f k rows/s" % (got["ours"] / 1e3),
                       "without %.1f k: %.1f %%" % (got["none"] / 1e3, 100 * got["ours"] / got["none"]), ">= 97 %",
                       got["ours"] >= 0.97 * got["none"])


def checkpoint_large(bench):
    """one checkpoint of 1.6 GB while a sparse model trains, rows/s of the whole run, against without"""
    directory, epochs = bench.path("large"), 40
    os.makedirs(directory)
    peer("records", 100000, directory)
    with open(os.path.join(ROOT, "models", "sparse_logistic.json"), encoding="utf-8") as f:
        text = f.read().replace("1048576", str(1 << 27))  # 0.5 GB of values, and FTRL's two slots
    model = os.path.join(directory, "large.json")
    with open(model, "w", encoding="utf-8") as f:
        f.write(text)

    def ours(*flags):
        return rate_of_training(out(program("pstrain"), "--model=" + model, "--train_files=" + os.path.join(directory, "train.libsvm"),
                                    "--batch_size=1000", "--epochs=%d" % epochs, "--noexport", *flags))

    def saving():
        with tempfile.TemporaryDirectory(dir=bench.work) as checkpoints:
            return ours("--checkpoint_dir=" + checkpoints)  # one at the start, and one after the last step, which does not count

    m = bench.interleaved(ours=saving, none=ours)
    bench.table.add("sparse FTRL of 2^27 ids, a checkpoint of 1.6 GB meanwhile", "%.0f k rows/s" % (m["ours"] / 1e3),
                   "without %.0f k: %.1f %%" % (m["none"] / 1e3, 100 * m["ours"] / m["none"]), ">= 97 %", m["ours"] >= 0.97 * m["none"])


def export(bench):
    """export of a 400 MB model: time against cp + fsync of the same bytes; growth of memory during the export"""
    big = bench.path("big.json")
    dense = lambda name, units, activation: {"class_name": "Dense", "config": {"name": name, "units": units, "activation": activation}}  # noqa: E731
    with open(big, "w", encoding="utf-8") as f:
        json.dump({"class_name": "Sequential", "config": {"name": "big", "layers": [
            {"class_name": "InputLayer", "config": {"batch_input_shape": [None, 784], "dtype": "float32", "name": "x"}},
            dense("wide", 10000, "relu"), dense("wider", 9200, "relu"), dense("scores", 10, "softmax")]}}, f)
    base, copies = bench.path("big"), bench.path("copies")
    os.makedirs(base)
    os.makedirs(copies)
    size = growth = 0
    ours, theirs, growths = [], [], []
    for n in range(bench.rounds):
        seconds, growth = timed_export(base, n + 1, "--model=" + big, "--train_dir=" + bench.data(), "--training_iteration=1",
                                       "--batch_size=1", "--work_dir=" + bench.path("work"), "--ps=1", "--workers=1")
        version = os.path.join(base, str(n + 1))
        size = sum(os.path.getsize(f) for f in glob.glob(version + "/**", recursive=True) if os.path.isfile(f))
        begun = time.monotonic()
        out("sh", "-c", "cp -r %s %s && find %s -type f -exec sync {} +" % (version, copies, copies))
        theirs.append(time.monotonic() - begun)
        ours.append(seconds)
        growths.append(growth)
        shutil.rmtree(version)
        shutil.rmtree(os.path.join(copies, str(n + 1)))
    seconds, other, growth = map(statistics.median, (ours, theirs, growths))
    bench.table.add("export of %.0f MB" % (size / 1e6), "%.2f s" % seconds, "cp + fsync %.2f s: %.2fx" % (other, seconds / other),
                   "<= 1.5x", seconds <= 1.5 * other)
    bench.table.add("memory growth during it", "%.1f MB" % growth, "-", "<= 64 MB", growth <= 64)


def cluster_start(bench):
    """1 ps + 20 workers as processes: from the last start until all train, and the sum of their memory"""
    seconds, megabytes = bench.interleaved(ours=lambda: started_cluster(bench.path("start"), 20))["ours"]
    bench.table.add("1 ps + 20 workers: last start until all train", "%.2f s" % seconds, "TensorFlow 34 s (not run here)", "< 1 s", seconds < 1)
    bench.table.add("sum of their PSS", "%.0f MB" % megabytes, "TensorFlow 5300 MB (not run here)", "< 150 MB", megabytes < 150)


def cluster_train(bench):
    """MNIST by 1 ps + 2 workers as processes, batch 100, steps/s against TensorFlow's compat.v1 cluster in turn"""
    for model, steps, times in (("softmax", 20000, 10), ("mlp", 1000, 2)):
        seen = bench.interleaved(ours=lambda m=model, n=steps: trained_cluster(bench.path("train"), m, bench.data(), n) / 100,
                                theirs=lambda m=model: tensorflow_cluster(bench.path("train"), m, bench.data(), bench.seconds))
        ratio = seen["ours"] / seen["theirs"]
        bench.table.add("1 ps + 2 workers, %s" % model, "%.0f steps/s" % seen["ours"],
                       "TensorFlow %.0f steps/s: %.1fx" % (seen["theirs"], ratio), ">= %dx" % times, ratio >= times)


def ps_bytes(bench):
    """push + pull between two processes, the update included, against the same bytes over bare TCP"""
    for size, rounds in ((4, 60), (64, 10)):
        def measure(size=size, rounds=rounds):
            return tuple(map(float, re.findall(r"[\d.]+", out(bench_program("ps_bytes"), size, rounds))))
        push, pull, raw_push, raw_pull = bench.interleaved(ours=measure)["ours"]
        both, raw = 2 / (1 / push + 1 / pull), 2 / (1 / raw_push + 1 / raw_pull)
        bench.table.add("ps push + pull of %d MiB" % size, "%.2f GB/s (%.2f, %.2f)" % (both, push, pull),
                       "TCP %.2f GB/s: %.0f %%" % (raw, 100 * both / raw), ">= 80 %", both >= .8 * raw)


def ps_rows(bench):
    """push + pull of 100,000 rows of a table of 1,000,000 between two processes, against the same bytes over bare TCP"""
    for floats, size, rounds, threads in ((64, 24, 20, 1), (64, 24, 20, 0), (1, 1, 60, 1), (1, 1, 60, 0)):
        def measure(floats=floats, size=size, rounds=rounds, threads=threads):
            return tuple(map(float, re.findall(r"[\d.]+", out(bench_program("ps_bytes"), size, rounds, floats, "rows", threads))))
        push, pull, raw_push, raw_pull = bench.interleaved(ours=measure)["ours"]
        both, raw = 2 / (1 / push + 1 / pull), 2 / (1 / raw_push + 1 / raw_pull)
        rows = (size << 20) // 4 // floats
        label = "ps push + pull of %d rows of %d floats, %s" % (rows, floats, "--threads=0" if threads == 0 else "one thread")
        bench.table.add(label, "%.2f GB/s (%.2f, %.2f)" % (both, push, pull),
                       "TCP %.2f GB/s: %.0f %%" % (raw, 100 * both / raw), ">= 80 %", both >= .8 * raw)


def readers(bench):
    """reading CSV, libsvm and TFRecord files into columns, against tf.data with the operations that its guides use, and memcpy"""
    rows, directory = 50000, bench.path("records")
    os.makedirs(directory)
    peer("records", rows, directory)
    pairs = ["label:float", "index:int64", "value:float"]
    for name, columns in (("csv", ["label:float"] + ["x%d:float" % i for i in range(28)]), ("libsvm", pairs), ("tfrecord", pairs)):
        path = os.path.join(directory, "train." + name)
        def ours():
            return tuple(map(float, re.findall(r"[\d.]+", out(bench_program("records_read"), bench.seconds, name, path, *columns, core=SERVER_CORE))))

        m = bench.interleaved(ours=ours, tf=lambda: float(peer("read-tensorflow", name, path)), copy=lambda: float(peer("bandwidth")))
        m["ours"], megabytes = m["ours"]
        bench.table.add("reading %s" % name, "%.0f k rows/s, %.0f MB/s: %.0f %% of memcpy" % (m["ours"] / 1e3, megabytes, 100 * megabytes / m["copy"]),
                       "tf.data %.0f k rows/s: %.1fx" % (m["tf"] / 1e3, m["ours"] / m["tf"]), ">= 5x", m["ours"] >= 5 * m["tf"])


def sparse(bench):
    """sparse logistic regression with FTRL of a libsvm file, 39 ids a row of 2^20, against xlearn and TensorFlow; and over 3 processes"""
    rows, epochs, directory = 100000, 4, bench.path("sparse")
    os.makedirs(directory)
    peer("records", rows, directory)
    path = os.path.join(directory, "train.libsvm")
    flags = ["--model=sparse_logistic", "--train_files=" + path, "--batch_size=1000", "--epochs=%d" % epochs]

    def ours():
        begun = time.monotonic()
        out(program("pstrain"), *flags, "--noexport")
        return rows * epochs / (time.monotonic() - begun)

    def other(name):
        return float(out(sys.executable, os.path.join(ROOT, "bench", "peers.py"), name, path, epochs).split()[-1])

    m = bench.interleaved(ours=ours, xlearn=lambda: other("train-xlearn"), tf=lambda: other("train-sparse"))
    ours_text = "%.0f k rows/s" % (m["ours"] / 1e3)
    bench.table.add("sparse FTRL, libsvm file to model", ours_text, "TensorFlow in process %.0f k rows/s: %.1fx" %
                   (m["tf"] / 1e3, m["ours"] / m["tf"]), ">= 1 M rows/s", m["ours"] >= 1e6)
    bench.table.add("the same", ours_text, "xlearn %.0f k rows/s: %.1fx" % (m["xlearn"] / 1e3, m["ours"] / m["xlearn"]), "ahead",
                   m["ours"] > m["xlearn"])
    m = bench.interleaved(ours=lambda: cluster_rate(bench.path("train"), flags),
                         tf=lambda: 1000 * tensorflow_cluster(bench.path("train"), "sparse", path, bench.seconds))
    bench.table.add("the same, 1 ps + 2 workers", "%.0f k rows/s" % (m["ours"] / 1e3),
                   "TensorFlow %.0f k rows/s: %.1fx" % (m["tf"] / 1e3, m["ours"] / m["tf"]), ">= 10x", m["ours"] >= 10 * m["tf"])


def clicks(bench):
    """wide & deep, DeepFM and DCN v2 on tf.Examples like Criteo's, batch 100, one thread, reading included, against TensorFlow's loop in memory"""
    rows, epochs, path, schema = 20000, 3, bench.path("clicks.tfrecord"), bench.path("clicks.json")
    peer("clicks", rows, path)
    columns = [{"name": "label"}] + [{"name": "I%d" % i} for i in range(1, 14)] + [{"name": "C%d" % i, "dtype": "int64"} for i in range(1, 27)]
    with open(schema, "w", encoding="utf-8") as f:
        json.dump({"columns": columns, "inputs": {"ids": ["C*"], "numbers": ["I*"]}}, f)
    for model in ("wide_deep", "deepfm", "dcn_v2"):
        def ours():
            return rate_of_training(out(program("pstrain"), "--model=" + model, "--ps=1", "--workers=1", "--batch_size=100", "--train_files=" + path,
                                        "--schema=" + schema, "--epochs=%d" % epochs, "--noexport", core=SERVER_CORE))

        m = bench.interleaved(ours=ours, tf=lambda: float(peer("train-clicks", model, path, epochs)))
        bench.table.add("training %s, batch 100, one thread" % model, "%.1f k rows/s" % (m["ours"] / 1e3),
                       "TensorFlow in process %.1f k: %.2fx" % (m["tf"] / 1e3, m["ours"] / m["tf"]), "no slower", m["ours"] >= 0.97 * m["tf"])

"""Measures Slipway against its peers in the same run and prints one table: medians of interleaved rounds.

Start it with bench/run, which builds the release preset and installs the peers. Everything runs in a cleaned environment. A server
is pinned to one core and its load to another; a row that says "one thread" is pinned to one core."""
import argparse
import platform
import re
import shutil
import sys

import engine_rows
import serving_rows
import training_rows
from bench import Bench
from measure import CORES, out
from harness import program  # measure.py knows where it is

ROWS = {
    "json": engine_rows.json_numbers, "start": serving_rows.start, "rest-softmax": serving_rows.rest_softmax,
    "rest-mlp": serving_rows.rest_mlp, "rest-overhead": serving_rows.rest_overhead, "bodies": serving_rows.bodies,
    "open-inference": serving_rows.open_inference, "request-log": serving_rows.request_log, "neighbours": serving_rows.neighbours,
    "grpc-softmax": serving_rows.grpc_softmax, "grpc-mlp": serving_rows.grpc_mlp, "target-p99": serving_rows.target_p99,
    "request-metrics": serving_rows.request_metrics, "loops": serving_rows.loops, "rpc": engine_rows.rpc,
    "executor": engine_rows.executor, "models": engine_rows.models, "recurrent": engine_rows.recurrent, "text": engine_rows.text,
    "cores": engine_rows.cores, "load": engine_rows.load_time, "train": training_rows.train, "checkpoint": training_rows.checkpoint,
    "export": training_rows.export, "cluster-start": training_rows.cluster_start, "cluster-train": training_rows.cluster_train,
    "ps-bytes": training_rows.ps_bytes, "ps-rows": training_rows.ps_rows, "readers": training_rows.readers,
    "sparse": training_rows.sparse, "checkpoint-large": training_rows.checkpoint_large, "clicks": training_rows.clicks,
}


def main():
    parser = argparse.ArgumentParser(prog="bench/run", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description=__doc__.split("\n\n")[0],
                                     epilog="rows:\n" + "\n".join("  %-13s %s" % (k, f.__doc__) for k, f in ROWS.items()))
    parser.add_argument("--only", action="append", choices=list(ROWS), metavar="ROW", help="only this row; may be repeated")
    parser.add_argument("--rounds", type=int, default=5, help="rounds whose median is printed (default 5)")
    parser.add_argument("--seconds", type=float, default=3, help="seconds of one load in the REST and gRPC rows (default 3)")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)  # only checks the arguments, for bench/run
    options = parser.parse_args()
    if options.check:
        return
    bench = Bench(options)
    failed = False
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            cpu = re.search(r"model name\s*: (.*)", f.read()).group(1)
        print("%s, %d cores, Linux %s; medians of %d rounds" % (cpu, len(CORES), platform.release(), options.rounds))
        print(out(program("modelserver"), "--version").strip())
        for name in options.only or ROWS:
            print("measuring %s" % name, file=sys.stderr, flush=True)
            try:
                ROWS[name](bench)
            except Exception as e:  # a row that cannot be measured must not hide the others
                failed = True
                bench.table.add(name, "not measured: %s" % str(e).strip().replace("\n", " ")[:200], "-", "-", False)
        bench.table.print()
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

"""Includes point down only, third-party headers stay in the files that translate them, and a file includes its own header first.

BELOW is the diagram of docs/architecture.md as a table: for each folder of code, the other folders that its files may
include. Our headers are included as "folder/file.h", standard and third-party headers in <>. EDGES lists the files that may include
each third-party header, TRANSLATED those for a header with generated types that the rest of its program does not see."""
import fnmatch
import os
import re
import unittest

from harness import SOURCE, main
from tree import files, text

BASE = {"base"}
TENSOR = BASE | {"proto", "tensor"}
GRAPH = TENSOR | {"graph"}
LAYERS = GRAPH | {"layers"}
RUNTIME = GRAPH | {"storage", "runtime"}
SAVEDMODEL = RUNTIME | {"savedmodel"}
KERNELS = BASE | {"image", "tensor", "graph", "storage", "runtime", "runtime/kernels/plain"}
KERNELS_ROOM = KERNELS | {"runtime/kernels"}
PROTOCOL = TENSOR | {"rpc", "trainer/optimizers", "trainer/protocol"}
JOB = PROTOCOL | {"trainer/ps", "trainer/client", "trainer/checkpoint", "trainer/job"}
TRAINER = SAVEDMODEL | LAYERS | JOB | {"savedmodel/trainable", "exporter", "trainer/records", "trainer/data", "trainer/flags", "trainer/inputs", "trainer/model", "trainer/options"}

BELOW = {
    "base": set(),
    "image": BASE,
    "proto": BASE,
    "tensor": {"proto"} | BASE,
    "rpc": BASE,
    "graph": TENSOR | {"graph/ops", "graph/gradients", "graph/lower"},
    "graph/ops": GRAPH,
    "graph/gradients": GRAPH,
    "graph/lower": GRAPH,
    "storage": TENSOR,
    "runtime": BASE | {"tensor", "graph"},
    "runtime/kernels": KERNELS,
    "runtime/kernels/array": KERNELS_ROOM | {"runtime/kernels/state"},
    "runtime/kernels/control": KERNELS_ROOM,
    "runtime/kernels/forests": KERNELS_ROOM | {"proto", "runtime/kernels/state"},
    "runtime/kernels/image": KERNELS_ROOM,
    "runtime/kernels/data": KERNELS_ROOM | {"runtime/kernels/lists", "runtime/kernels/records", "runtime/kernels/state"},
    "runtime/kernels/lists": KERNELS_ROOM | {"proto"},
    "runtime/kernels/math": KERNELS_ROOM,
    "runtime/kernels/matrix": KERNELS_ROOM,
    "runtime/kernels/nn": KERNELS_ROOM | {"proto", "runtime/kernels/array", "runtime/kernels/image", "runtime/kernels/lists", "runtime/kernels/random"},
    "runtime/kernels/queues": KERNELS_ROOM | {"runtime/kernels/state"},
    "runtime/kernels/ragged": KERNELS_ROOM | {"runtime/kernels/lists", "runtime/kernels/sparse"},
    "runtime/kernels/random": KERNELS_ROOM | {"runtime/kernels/state"},
    "runtime/kernels/records": KERNELS_ROOM | {"proto", "runtime/kernels/text"},
    "runtime/kernels/signal": KERNELS_ROOM | {"runtime/kernels/matrix"},
    "runtime/kernels/sparse": KERNELS_ROOM | {"runtime/kernels/lists", "runtime/kernels/state"},
    "runtime/kernels/state": KERNELS_ROOM,
    "runtime/kernels/text": KERNELS_ROOM | {"proto", "runtime/kernels/lists", "runtime/kernels/ragged", "runtime/kernels/state"},
    "runtime/kernels/xla": KERNELS_ROOM | {"proto", "runtime/kernels/math"},
    "runtime/kernels/plain": BASE | {"tensor"},
    "runtime/plan": BASE | {"tensor", "graph", "graph/lower", "runtime"},
    "layers": GRAPH | {"layers/classes", "layers/losses", "layers/metrics"},
    "layers/classes": LAYERS,
    "layers/losses": LAYERS | {"layers/classes"},
    "layers/metrics": LAYERS | {"layers/losses"},
    "layers/serving": LAYERS | {"layers/classes", "layers/losses"},
    "savedmodel": SAVEDMODEL,
    "savedmodel/trainable": SAVEDMODEL | {"graph/lower"},
    "exporter": SAVEDMODEL | {"savedmodel/trainable"},
    "trainer/optimizers": TENSOR,
    "trainer/protocol": PROTOCOL - {"trainer/protocol"},
    "trainer/ps": PROTOCOL,
    "trainer/client": PROTOCOL | {"savedmodel"},
    "trainer/checkpoint": PROTOCOL | {"storage", "trainer/client"},
    "trainer/job": JOB - {"trainer/job"},
    "trainer/records": TENSOR | {"image", "storage"},
    "trainer/data": TENSOR | {"trainer/records"},
    "trainer/adapt": RUNTIME | {"layers", "trainer/data"},
    "trainer/launch": TENSOR | {"trainer/job"},
    "trainer/flags": JOB | {"savedmodel"},
    "trainer/inputs": GRAPH | {"runtime", "trainer/protocol", "trainer/records", "trainer/data", "trainer/flags"},
    "trainer/model": SAVEDMODEL | JOB | {"trainer/data", "trainer/inputs"},
    "trainer/options": TRAINER - {"trainer/options"},
    "trainer/predict": TRAINER,
    "trainer/report": TRAINER,
    "trainer/session": TRAINER | {"trainer/adapt", "trainer/report"},
    "trainer": TRAINER | {"trainer/launch", "trainer/predict", "trainer/session"},
    "clients": TENSOR | {"rpc", "storage"},
    "server/json": GRAPH | {"storage"},
    "server/oip": GRAPH | {"server/json"},
    "server/metrics": {"base", "proto"},
    "server/config": BASE | {"proto", "rpc", "server/models"},
    "server/models": SAVEDMODEL | {"server/metrics"},
    "server/inference": SAVEDMODEL | {"server/oip", "server/metrics", "server/models"},
    "server/rest": SAVEDMODEL | {"rpc", "server/grpc", "server/json", "server/oip", "server/metrics", "server/models", "server/inference"},
    "server/grpc": SAVEDMODEL | {"rpc", "server/oip", "server/metrics", "server/models", "server/inference"},
    "server": SAVEDMODEL | {"rpc", "runtime/kernels", "server/config", "server/metrics", "server/models", "server/inference", "server/rest", "server/grpc"},
}
EDGES = {
    "cblas.h": ["core/runtime/kernels/libraries.c", "core/runtime/kernels/plain/linear.c", "core/runtime/kernels/plain/matmul_blas.c"],
    "dnnl.h": ["core/runtime/kernels/nn/conv2d_filter.h", "core/runtime/kernels/nn/conv2d_filter_copy.h", "core/runtime/kernels/nn/conv2d_onednn.c", "core/runtime/kernels/libraries.c",
               "core/runtime/kernels/plain/matmul_onednn.c"],
    "gnutls/*": ["core/rpc/tls*"],
    "jansson.h": ["core/base/json_value.c"],
    "jerror.h": ["core/image/jpeg.h"],
    "jpeglib.h": ["core/image/jpeg.h"],
    "microhttpd.h": ["server/main.c", "server/rest/rest_internal.h"],
    "nghttp2/nghttp2.h": ["core/rpc/http2_internal.h", "core/rpc/session_memory.h"],
    "png.h": ["core/image/png.c"],
    "protobuf-c/*": ["proto/*"],
    "re2/re2.h": ["core/runtime/kernels/plain/regex_re2.cc"],
    "snappy-c.h": ["core/storage/block.c", "core/storage/table.c"],
    "sys/epoll.h": ["core/base/loop.[ch]"],
    "unicase.h": ["core/runtime/kernels/plain/text_case.c", "core/runtime/kernels/plain/text_normal.c"],
    "unictype.h": ["core/runtime/kernels/plain/text_class.c", "core/runtime/kernels/plain/text_normal.c"],
    "uninorm.h": ["core/runtime/kernels/plain/text_normal.c"],
    "webp/*": ["core/image/webp.c"],
    # inflate.c expands a stream into memory; gzip_file.c, tfrecord.c and zip.c pull files of any size in steps; tfrecord.c also writes.
    "zlib.h": ["core/base/inflate.c", "core/storage/gzip_file.c", "core/storage/tfrecord.c", "core/storage/zip.c"],
}
TRANSLATED = {
    "proto/training.pb-c.h": ["trainer/protocol/protocol*"],
    "trainer/protocol/protocol_internal.h": ["trainer/protocol/protocol*"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def folder_of(path):
    """The folder of a file or of an included header, None where anything goes (tests, benchmarks)."""
    directory = os.path.dirname(path)
    if directory.split("/")[0] in ("tests", "bench"):
        return None
    return directory.removeprefix("core/")


def wrong_includes(path, source):
    folder = folder_of(path)
    if folder is None:
        return []
    if folder not in BELOW:
        return ["%s: '%s' is a folder that tests/repo/test_includes.py does not know" % (path, folder)]
    wrong = []
    for quote, name in INCLUDE.findall(source):
        for header, owners in (EDGES | TRANSLATED).items():
            if fnmatch.fnmatch(name, header) and not any(fnmatch.fnmatch(path, owner) for owner in owners):
                wrong.append("%s includes %s, which belongs to %s" % (path, name, ", ".join(owners)))
        if quote == "<":
            continue
        if "/" not in name:
            # A file that is not a header (an .inc or .def table) may be named from beside it.
            if name.endswith(".h"):
                wrong.append('%s includes "%s" without its folder' % (path, name))
        elif (target := folder_of(name)) != folder and target not in BELOW[folder]:
            wrong.append('%s includes "%s": %s stands beside or above %s' % (path, name, target, folder))
    return wrong


def own_header_after_others(path, source, headers):
    """A .c file that includes another header before its own one, which would then not show that it lacks an include."""
    stem = path.removesuffix(".c")
    own = [header.removeprefix("core/") for header in (stem + ".h", stem + "_internal.h") if header in headers]
    included = [name for _, name in INCLUDE.findall(source)]
    return bool(own) and included[:1] not in [[name] for name in own]


class Includes(unittest.TestCase):
    def test_point_down_only(self):
        wrong, seen = [], 0
        for path in files(".c", ".h", ".cc"):
            seen += 1
            wrong += wrong_includes(path, text(path))
        self.assertGreater(seen, 5)
        self.assertFalse(wrong, "\n" + "\n".join(wrong))

    def test_would_be_seen_pointing_up(self):
        self.assertTrue(wrong_includes("core/graph/graph.c", '#include "runtime/plan.h"\n'))
        self.assertTrue(wrong_includes("core/rpc/channel.c", '#include "tensor/tensor.h"\n'))
        self.assertTrue(wrong_includes("core/layers/dense.c", '#include "runtime/kernel.h"\n'))
        self.assertTrue(wrong_includes("core/runtime/kernels/nn/fused.c", '#include "runtime/plan/maker.h"\n'))
        self.assertTrue(wrong_includes("core/runtime/executor.c", '#include "runtime/plan/maker.h"\n'))
        self.assertTrue(wrong_includes("server/rest/rest.c", '#include "trainer/ps/ps.h"\n'))
        self.assertTrue(wrong_includes("server/rest/rest.c", '#include "server/options.h"\n'))
        self.assertTrue(wrong_includes("server/grpc/port.c", '#include "server/rest/rest.h"\n'))
        self.assertTrue(wrong_includes("server/attic/rest.c", ""))
        self.assertTrue(wrong_includes("trainer/ps/ps.c", "#include <microhttpd.h>\n"))
        self.assertTrue(wrong_includes("trainer/ps/ps.c", '#include "proto/training.pb-c.h"\n'))
        self.assertTrue(wrong_includes("trainer/ps/ps.c", "#include <proto/training.pb-c.h>\n"))
        self.assertTrue(wrong_includes("core/rpc/server.c", "#include <gnutls/x509.h>\n"))
        self.assertTrue(wrong_includes("core/base/log.c", '#include "log.h"\n'))
        self.assertFalse(wrong_includes("trainer/ps/ps.c", '#include "rpc/channel.h"\n#include "base/status.h"\n#include <stdio.h>\n'))

    def test_a_file_includes_its_own_header_first(self):
        headers = set(files(".h"))
        wrong = [path for path in files(".c") if folder_of(path) is not None and own_header_after_others(path, text(path), headers)]
        self.assertFalse(wrong, "these files include their own header late or never:\n" + "\n".join(wrong))

    def test_a_late_header_would_be_seen(self):
        headers = {"core/rpc/server.h", "core/rpc/server_internal.h"}
        late = '#include <stdlib.h>\n#include "rpc/server.h"\n'
        self.assertTrue(own_header_after_others("core/rpc/server.c", late, headers))
        self.assertTrue(own_header_after_others("core/rpc/server.c", "#include <stdlib.h>\n", headers))
        self.assertFalse(own_header_after_others("core/rpc/server.c", '#include "rpc/server_internal.h"\n#include <stdlib.h>\n', headers))
        self.assertFalse(own_header_after_others("core/rpc/main.c", late, headers))

    def test_no_two_folders_know_each_other(self):
        # The tables of graph and of layers list what the folders inside them define, which build on the types of the tables.
        for folder, below in BELOW.items():
            for other in below - {folder}:
                if os.path.dirname(folder) not in ("graph", "layers") and os.path.dirname(other) not in ("graph", "layers"):
                    self.assertNotIn(folder, BELOW[other], "%s and %s include each other" % (folder, other))

    def test_every_folder_holds_code(self):
        folders = {folder_of(path) for path in files(".c", ".h")} - {None}
        self.assertEqual(set(BELOW) - folders, set())


if __name__ == "__main__":
    main()

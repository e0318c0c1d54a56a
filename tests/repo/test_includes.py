"""Includes point down only.

The diagram of docs/architecture.md as a table: what each module may include of our own, besides itself. Standard and
third-party headers come in <>, ours in "" with their module's name, and a third-party type stays in the files named in EDGES."""
import os
import re
import unittest

from harness import SOURCE, main
from tree import files, text

BELOW = {
    "base": set(),
    "proto": {"base"},
    "tensor": {"proto", "base"},
    "rpc": {"base"},
    "graph": {"tensor", "proto", "base"},
    "storage": {"tensor", "proto", "base"},
    "runtime": {"graph", "storage", "tensor", "proto", "base"},
    "layers": {"graph", "tensor", "proto", "base"},
    "savedmodel": {"runtime", "graph", "storage", "tensor", "proto", "base"},
    "exporter": {"savedmodel", "layers", "runtime", "graph", "storage", "tensor", "proto", "base"},
    "trainer": {"exporter", "savedmodel", "layers", "runtime", "graph", "storage", "rpc", "tensor", "proto", "base"},
    "clients": {"tensor", "rpc", "proto", "base"},
    "server": {"savedmodel", "runtime", "graph", "storage", "rpc", "tensor", "proto", "base"},
}
# A library's header: the modules whose files may include it.
EDGES = {
    "microhttpd.h": {"server"},
    "cblas.h": {"runtime"},
    "dnnl.h": {"runtime"},
    "gnutls/gnutls.h": {"rpc"},
    "gnutls/x509.h": {"rpc"},
    "nghttp2/nghttp2.h": {"rpc"},
    "snappy-c.h": {"storage"},
    "sys/epoll.h": {"base"},
    "unicase.h": {"runtime"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def module_of(path):
    """The module of a file, None where anything goes (tests, benchmarks)."""
    parts = path.split("/")
    if parts[0] in ("tests", "bench"):
        return None
    return parts[1] if parts[0] == "core" else parts[0]


def wrong_includes(path, source):
    module = module_of(path)
    if module is None:
        return []
    if module not in BELOW:
        return ["%s: '%s' is a module that tests/repo/test_includes.py does not know" % (path, module)]
    wrong = []
    for quote, name in INCLUDE.findall(source):
        if quote == "<":
            if name in EDGES and module not in EDGES[name]:
                wrong.append("%s includes <%s>, which belongs to %s" % (path, name, ", ".join(sorted(EDGES[name]))))
        elif "/" not in name:
            # A file that is not a header (an .inc or .def table) may be named from beside it.
            if name.endswith(".h"):
                wrong.append('%s includes "%s" without its module' % (path, name))
        elif (target := name.split("/")[0]) != module and target not in BELOW[module]:
            wrong.append('%s includes "%s": %s stands beside or above %s' % (path, name, target, module))
    return wrong


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
        self.assertTrue(wrong_includes("server/rest.c", '#include "trainer/ps.h"\n'))
        self.assertTrue(wrong_includes("trainer/ps.c", "#include <microhttpd.h>\n"))
        self.assertTrue(wrong_includes("core/base/log.c", '#include "log.h"\n'))
        self.assertFalse(wrong_includes("trainer/ps.c", '#include "rpc/channel.h"\n#include "base/status.h"\n#include <stdio.h>\n'))

    def test_every_directory_of_code_is_known(self):
        core = os.path.join(SOURCE, "core")
        unknown = [d for d in os.listdir(core) if os.path.isdir(os.path.join(core, d)) and d not in BELOW]
        self.assertEqual(unknown, [])


if __name__ == "__main__":
    main()

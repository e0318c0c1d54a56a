"""The foreign clients of the interop tests: where they are, or a skip that says how to get them. scripts/test sets the variables."""
import os
import shutil
import unittest


def go_tool(name):
    """A program of scripts/go.txt."""
    path = os.path.join(os.environ.get("SLIPWAY_GO_TOOLS") or "/nonexistent", name)
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest("no %s: scripts/test builds it (SLIPWAY_GO_TOOLS)" % name)
    return path


def node_modules():
    """The directory of what scripts/node.txt names."""
    path = os.environ.get("SLIPWAY_NODE_MODULES") or "/nonexistent"
    if not os.path.isdir(os.path.join(path, "@grpc")) or not shutil.which("node"):
        raise unittest.SkipTest("no @grpc/grpc-js: scripts/test installs it (SLIPWAY_NODE_MODULES)")
    return path


def installed(name, package):
    """A program of a Debian package."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")
    if not path:
        raise unittest.SkipTest("no %s: it is in Debian's %s" % (name, package))
    return path


def python_grpc():
    try:
        import grpc
    except ImportError:
        raise unittest.SkipTest("no module grpc: it is in Debian's python3-grpcio") from None
    return grpc

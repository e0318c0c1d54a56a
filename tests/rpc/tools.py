"""Finds the gRPC clients of the interop tests. If one is missing, skips the test and says how to
install it. scripts/test sets the environment variables."""
import os
import shutil
import unittest


def go_tool(name):
    """The path of a program from scripts/go.txt."""
    path = os.path.join(os.environ.get("SLIPWAY_GO_TOOLS") or "/nonexistent", name)
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest("no %s: scripts/test builds it (SLIPWAY_GO_TOOLS)" % name)
    return path


def node_modules():
    """The directory of the packages in scripts/node.txt."""
    path = os.environ.get("SLIPWAY_NODE_MODULES") or "/nonexistent"
    if not os.path.isdir(os.path.join(path, "@grpc")) or not shutil.which("node"):
        raise unittest.SkipTest("no @grpc/grpc-js: scripts/test installs it (SLIPWAY_NODE_MODULES)")
    return path


def clients_python():
    """The interpreter that has the packages of scripts/clients.txt."""
    path = os.environ.get("SLIPWAY_CLIENTS_PYTHON") or "/nonexistent"
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest("no tritonclient, ovmsclient and kserve: scripts/test installs them (SLIPWAY_CLIENTS_PYTHON)")
    return path


def serving_api():
    """An interpreter that has TensorFlow, and the directory of tensorflow-serving-api for its PYTHONPATH."""
    python, path = os.environ.get("SLIPWAY_TENSORFLOW_PYTHON") or "/nonexistent", os.environ.get("SLIPWAY_SERVING_API") or "/nonexistent"
    if not os.access(python, os.X_OK) or not os.path.isdir(path):
        raise unittest.SkipTest("no tensorflow-serving-api: scripts/test installs it (SLIPWAY_TENSORFLOW_PYTHON, SLIPWAY_SERVING_API)")
    return python, path


def installed(name, package):
    """The path of a program from a Debian package."""
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

"""Calls a modelserver with ovmsclient, in the interpreter of scripts/clients.txt: ovms_calls.py GRPC_PORT REST_PORT. tests/rpc/test_ovms.py
starts the server, with the model of tests/e2e/tiny_model.py. It fails with an AssertionError."""
import sys

import numpy
from ovmsclient import make_grpc_client, make_http_client
from ovmsclient.tfs_compat.base.errors import InvalidInputError, ModelNotFoundError


def refuses(kind, text, call):
    try:
        call()
    except kind as e:
        assert text in str(e), str(e)
        return
    raise AssertionError("was not refused: %s" % text)


def check(client):
    """It asks for version 0 unless a version is given, which TensorFlow Serving also takes for a version like others."""
    status = client.get_model_status("tiny", 1)
    assert (status[1]["state"], status[1]["error_code"]) == ("AVAILABLE", 0), status
    x = numpy.array([[1], [2]], numpy.float32)
    assert client.predict({"x": x}, "tiny", 1).tolist() == [[2.5], [3.0]]
    outputs = client.predict({"x": [[1.0]]}, "tiny", model_version=1, timeout=60)
    assert outputs.tolist() == [[2.5]], outputs
    refuses(ModelNotFoundError, "Servable not found for request: Specific(none, 1)", lambda: client.predict({"x": x}, "none", 1))
    refuses(ModelNotFoundError, "Servable not found for request: Specific(tiny, 0)", lambda: client.predict({"x": x}, "tiny"))
    refuses(InvalidInputError, "x", lambda: client.predict({"z": x}, "tiny", 1))


def main(grpc_port, rest_port):
    grpc = make_grpc_client("127.0.0.1:" + grpc_port)
    check(grpc)
    metadata = grpc.get_model_metadata("tiny", 1)
    assert metadata["inputs"] == {"x": {"shape": [-1, 1], "dtype": "DT_FLOAT"}}, metadata
    check(make_http_client("127.0.0.1:" + rest_port))


if __name__ == "__main__":
    main(*sys.argv[1:])

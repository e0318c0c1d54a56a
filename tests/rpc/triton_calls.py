"""Calls a modelserver with tritonclient, in the interpreter of scripts/clients.txt: triton_calls.py PORT [control]. tests/rpc/test_triton.py
starts the server, with the model of tests/e2e/tiny_model.py. It fails with an AssertionError."""
import sys

import numpy
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

TYPES = {"float": ("FP32", numpy.float32), "double": ("FP64", numpy.float64), "int32": ("INT32", numpy.int32),
         "uint8": ("UINT8", numpy.uint8), "int16": ("INT16", numpy.int16), "int8": ("INT8", numpy.int8), "int64": ("INT64", numpy.int64),
         "bool": ("BOOL", bool), "uint32": ("UINT32", numpy.uint32), "uint64": ("UINT64", numpy.uint64), "half": ("FP16", numpy.float16)}


def give(library, name, datatype, array, **more):
    tensor = library.InferInput(name, list(array.shape), datatype)
    tensor.set_data_from_numpy(array, **more)
    return tensor


def refuses(call, *words):
    try:
        call()
    except InferenceServerException as e:
        assert all(word in str(e) for word in words), str(e)
        return
    raise AssertionError("was not refused: %s" % (words,))


def check_descriptions(client, as_json):
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("tiny") and client.is_model_ready("tiny", "1") and not client.is_model_ready("tiny", "2")
    server = client.get_server_metadata(**as_json)
    assert server["name"] == "modelserver" and "binary_tensor_data" in server["extensions"], server
    model = client.get_model_metadata("tiny", **as_json)
    assert (model["versions"], model["inputs"][0]["datatype"]) == (["1"], "FP32"), model
    index = client.get_model_repository_index(**as_json)
    models = index["models"] if isinstance(index, dict) else index
    assert [(m["name"], m["state"]) for m in models] == [("tiny", "READY")], index
    refuses(lambda: client.load_model("tiny"), "model 'tiny' is not loaded")
    refuses(lambda: client.unload_model("tiny"), "model 'tiny' is not unloaded")
    refuses(lambda: client.get_model_metadata("none"), "none")


def check_inference(library, client, inputs_more, outputs_more):
    x = numpy.array([[1], [2]], numpy.float32)
    for wanted in (None, [library.InferRequestedOutput("y", **outputs_more)]):
        result = client.infer("tiny", [give(library, "x", "FP32", x, **inputs_more)], request_id="42", outputs=wanted)
        assert result.as_numpy("y").tolist() == [[2.5], [3.0]], result.get_response()
    refuses(lambda: client.infer("tiny", [give(library, "x", "FP32", x.T, **inputs_more)]), "shape [1,2], signature wants [?,1]")
    refuses(lambda: client.infer("tiny", [give(library, "z", "FP32", x, **inputs_more)]), "input 'z'")
    refuses(lambda: client.infer("none", [give(library, "x", "FP32", x, **inputs_more)]), "none")


def check_compression(client, what):
    """Answers may come as they are."""
    x = give(tritonclient.http, "x", "FP32", numpy.array([[1]] * 100, numpy.float32))
    for algorithm in ("gzip", "deflate"):
        result = client.infer("tiny", [x], **{what: algorithm})
        assert result.as_numpy("y").tolist() == [[2.5]] * 100, result.get_response()


def check_types(library, client):
    inputs, sent = [], {}
    for name, (datatype, dtype) in TYPES.items():
        sent["out_" + name] = numpy.array([1, 0], dtype)
        inputs.append(give(library, "in_" + name, datatype, sent["out_" + name]))
    sent["out_string"] = numpy.array([b"a\0\xff", b""], object)
    inputs.append(give(library, "in_string", "BYTES", sent["out_string"]))
    result = client.infer("tiny", inputs, parameters={"signature_name": "types"})
    for name, array in sent.items():
        got = result.as_numpy(name)
        assert got.tolist() == array.tolist() and got.dtype == array.dtype, (name, got)


def check_control(client):
    """The server has --allow_model_control."""
    for _ in range(2):
        client.unload_model("tiny")
        assert not client.is_model_ready("tiny") and client.is_server_ready()
        client.load_model("tiny")
        assert client.is_model_ready("tiny")
    refuses(lambda: client.load_model("none"), "model 'none' is not configured")
    refuses(lambda: client.load_model("tiny", config="{}"), "not implemented")


def main(port, control):
    if control:
        for library in (tritonclient.http, tritonclient.grpc):
            client = library.InferenceServerClient("127.0.0.1:%s" % port)
            check_control(client)
            client.close()
        return
    http = tritonclient.http.InferenceServerClient("127.0.0.1:%s" % port)
    check_descriptions(http, {})
    for binary_in in (True, False):
        for binary_out in (True, False):
            check_inference(tritonclient.http, http, {"binary_data": binary_in}, {"binary_data": binary_out})
    check_compression(http, "request_compression_algorithm")
    check_compression(http, "response_compression_algorithm")
    check_types(tritonclient.http, http)
    body, size = http.generate_request_body([give(tritonclient.http, "x", "FP32", numpy.zeros((1, 1), numpy.float32))])
    assert size and body
    http.close()
    grpc = tritonclient.grpc.InferenceServerClient("127.0.0.1:%s" % port)
    check_descriptions(grpc, {"as_json": True})
    check_inference(tritonclient.grpc, grpc, {}, {})
    check_types(tritonclient.grpc, grpc)
    grpc.close()


if __name__ == "__main__":
    main(sys.argv[1], "control" in sys.argv)

"""Calls a modelserver with KServe's SDK, in the interpreter of scripts/clients.txt: kserve_calls.py PORT. tests/rpc/test_kserve.py starts the
server, with the model of tests/e2e/tiny_model.py. It fails with an AssertionError."""
import asyncio
import sys

import numpy
from kserve import InferInput, InferRequest, InferenceGRPCClient, InferenceRESTClient, RESTConfig


def request(array, raw, **more):
    give = InferInput("x", list(array.shape), "FP32")
    give.set_data_from_numpy(array, binary_data=raw)
    return InferRequest("tiny", [give], request_id="42", **more)


def check_answer(answer):
    assert answer.model_name == "tiny" and answer.outputs[0].name == "y", answer
    assert answer.outputs[0].as_numpy().tolist() == [[2.5], [3.0]], answer


async def refuses(call, *words):
    try:
        await call
    except Exception as e:  # httpx's or grpc's
        assert all(word in str(e) + str(getattr(e, "response", "")) for word in words), repr(e)
        return
    raise AssertionError("was not refused: %s" % (words,))


async def check_rest(url):
    client = InferenceRESTClient(RESTConfig(protocol="v2", retries=0))
    assert await client.is_server_live(url) and await client.is_server_ready(url)
    assert await client.is_model_ready(url, "tiny") and not await client.is_model_ready(url, "none")
    x = numpy.array([[1], [2]], numpy.float32)
    for raw in (False, True):
        check_answer(await client.infer(url, request(x, raw), model_name="tiny"))
    await refuses(client.infer(url, request(x.T, False), model_name="tiny"), "400")
    await refuses(client.infer(url, request(x, False), model_name="none"), "404")
    await client.close()
    client = InferenceRESTClient(RESTConfig(protocol="v1", retries=0))
    assert await client.infer(url, {"instances": [[1.0]]}, model_name="tiny") == {"predictions": [[2.5]]}
    await client.close()


async def check_grpc(address):
    client = InferenceGRPCClient(address, retries=0)
    assert await client.is_server_live() and await client.is_server_ready()
    assert await client.is_model_ready("tiny")
    await refuses(client.is_model_ready("none"), "Could not find any versions of model none")
    x = numpy.array([[1], [2]], numpy.float32)
    for raw in (False, True):
        check_answer(await client.infer(request(x, raw)))
    await refuses(client.infer(request(x.T, True)), "shape [1,2], signature wants [?,1]")
    await client.close()


async def main(port):
    await check_rest("http://127.0.0.1:" + port)
    await check_grpc("127.0.0.1:" + port)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

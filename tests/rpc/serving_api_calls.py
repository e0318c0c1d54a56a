"""Calls a modelserver with the package tensorflow-serving-api, in the interpreter of scripts/tensorflow.txt: serving_api_calls.py PORT.
tests/rpc/test_serving_api.py starts the server, with the model of tests/e2e/tiny_model.py. It fails with an AssertionError."""
import sys

import grpc
import tensorflow as tf
from tensorflow_serving.apis import (classification_pb2, get_model_metadata_pb2, get_model_status_pb2, inference_pb2, model_management_pb2,
                                     model_service_pb2_grpc, predict_pb2, prediction_service_pb2_grpc, regression_pb2)


def example(x):
    return tf.train.Example(features=tf.train.Features(feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=[x]))}))


def check_predict(service):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "tiny"
    request.inputs["x"].CopyFrom(tf.make_tensor_proto([[1.0], [2.0]]))
    answer = service.Predict(request)
    assert tf.make_ndarray(answer.outputs["y"]).tolist() == [[2.5], [3.0]], answer
    assert (answer.model_spec.version.value, answer.model_spec.signature_name) == (1, "serving_default"), answer
    request.inputs["x"].CopyFrom(tf.make_tensor_proto([1], tf.int32))
    try:
        service.Predict(request)
    except grpc.RpcError as e:
        assert e.code() == grpc.StatusCode.INVALID_ARGUMENT and "Expects arg[0] to be float but int32 is provided" in e.details(), e
    else:
        raise AssertionError("int32 was taken")


def check_examples(service):
    request = classification_pb2.ClassificationRequest()
    request.model_spec.name, request.model_spec.signature_name = "tiny", "classify_x"
    request.input.example_list.examples.append(example(1.0))
    classes = service.Classify(request).result.classifications[0].classes
    assert [c.score for c in classes] == [2.5, 3.5], classes
    request = regression_pb2.RegressionRequest()
    request.model_spec.name, request.model_spec.signature_name = "tiny", "regress_x_to_y"
    request.input.example_list.examples.extend([example(1.0), example(2.0)])
    assert [r.value for r in service.Regress(request).result.regressions] == [2.5, 3.0]
    request = inference_pb2.MultiInferenceRequest()
    request.input.example_list.examples.append(example(1.0))
    task = request.tasks.add(method_name="tensorflow/serving/regress")
    task.model_spec.name, task.model_spec.signature_name = "tiny", "regress_x_to_y"
    assert service.MultiInference(request).results[0].regression_result.regressions[0].value == 2.5


def check_models(service, models):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "tiny"
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert service.GetModelMetadata(request).metadata["signature_def"].Unpack(signatures)
    assert signatures.signature_def["serving_default"].inputs["x"].dtype == tf.float32.as_datatype_enum
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "tiny"
    states = models.GetModelStatus(request).model_version_status
    assert [(s.version, s.state) for s in states] == [(1, get_model_status_pb2.ModelVersionStatus.AVAILABLE)], states
    assert model_management_pb2.ReloadConfigRequest().IsInitialized()


def main(port):
    channel = grpc.insecure_channel("127.0.0.1:" + port)
    service = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    check_predict(service)
    check_examples(service)
    check_models(service, model_service_pb2_grpc.ModelServiceStub(channel))
    channel.close()


if __name__ == "__main__":
    main(sys.argv[1])

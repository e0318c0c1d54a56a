"""PredictionLogs, the records of warm-up files and request logs: one of each kind, good and wrong."""
from grpc_client import module

CLASSIFY, REGRESS = "tensorflow/serving/classify", "tensorflow/serving/regress"


def predict(x=1.0, **more):
    log = module("serving_log").PredictionLog()
    request = log.predict_log.request
    for name, value in more.items():
        setattr(request.model_spec, name, value)
    request.inputs["x"].dtype = 1
    request.inputs["x"].tensor_shape.dim.add().size = 1
    request.inputs["x"].tensor_shape.dim.add().size = 1
    request.inputs["x"].float_val.append(x)
    return log


def examples(request, signature):
    request.model_spec.name, request.model_spec.signature_name = "m", signature
    request.input.example_list.examples.add().features.feature["x"].float_list.value.append(1)


def good_logs():
    """One of each kind. The model and the version that they name do not exist."""
    log = module("serving_log").PredictionLog
    classify, regress, multi, empty = log(), log(), log(), log()
    examples(classify.classify_log.request, "classify_x")
    examples(regress.regress_log.request, "regress_x_to_y")
    request = multi.multi_inference_log.request
    for method, signature in ((CLASSIFY, "classify_x"), (REGRESS, "regress_x_to_y2")):
        request.tasks.add(model_spec={"name": "m", "signature_name": signature}, method_name=method)
    request.input.example_list.examples.add().features.feature["x"].float_list.value.append(1)
    empty.log_metadata.timestamp_secs = 7
    return [predict(name="other"), predict(), classify, regress, multi, empty]


def session_run():
    log = module("serving_log").PredictionLog()
    log.session_run_log.request.SetInParent()
    return log


def unknown_signature():
    return predict(signature_name="none")

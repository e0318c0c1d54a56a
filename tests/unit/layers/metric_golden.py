"""Writes metric_golden.h: what the metrics of Keras 3 say of 20 batches of predictions. Run clang-format on it."""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

M, BATCHES, ROWS = keras.metrics, 20, 3
random = np.random.RandomState(5)
binary = random.randint(0, 2, (BATCHES * ROWS, 1)).astype(np.float32)
scores = np.clip(binary * 0.3 + random.uniform(0, 0.7, binary.shape), 0, 1).astype(np.float32)
scores[:2, 0] = 0, 1
classes = random.randint(0, 4, BATCHES * ROWS)
outputs = random.uniform(0.01, 1, (BATCHES * ROWS, 4)).astype(np.float32)
outputs[np.arange(BATCHES * ROWS), classes] += 0.3
outputs /= outputs.sum(-1, keepdims=True)
targets = random.uniform(-1, 1, (BATCHES * ROWS, 4)).astype(np.float32)
marks = random.randint(0, 2, (BATCHES * ROWS, 4)).astype(np.float32)
MARKS, ONE_HOT_ROWS = (outputs, marks, "binary_focal_crossentropy"), (outputs, classes, "categorical_crossentropy")
BINARY, CLASSES, VALUES = (scores, binary, "binary_crossentropy"), (outputs, classes, "sparse_categorical_crossentropy"), (outputs, targets, "mse")
CASES = [
    (BINARY, M.BinaryAccuracy(name="accuracy"), "accuracy"), (BINARY, M.BinaryAccuracy(threshold=0.3), None), (BINARY, M.AUC(), "AUC"),
    (BINARY, M.AUC(num_thresholds=20, name="auc_20"), None), (BINARY, M.AUC(curve="PR"), None),
    (BINARY, M.AUC(curve="PR", summation_method="minoring"), None), (BINARY, M.AUC(summation_method="majoring"), None),
    (BINARY, M.AUC(from_logits=True), None), (BINARY, M.Precision(), "Precision"), (BINARY, M.Precision(thresholds=0.6), None),
    (BINARY, M.Recall(), None), (BINARY, M.Recall(thresholds=0.6), None), (BINARY, M.BinaryCrossentropy(), "binary_crossentropy"),
    (BINARY, M.BinaryCrossentropy(label_smoothing=0.1), None),
    (CLASSES, M.SparseCategoricalAccuracy(), "acc"), (CLASSES, M.SparseCategoricalAccuracy(), None), (CLASSES, M.SparseTopKCategoricalAccuracy(k=2), None),
    (CLASSES, M.SparseCategoricalCrossentropy(), "sparse_categorical_crossentropy"),
    (VALUES, M.MeanSquaredError(), "mse"), (VALUES, M.MeanAbsoluteError(), None), (VALUES, M.RootMeanSquaredError(), None),
    (VALUES, M.CosineSimilarity(), "cosine_similarity"), (VALUES, M.CategoricalAccuracy(), "accuracy"), (VALUES, M.CategoricalAccuracy(), None),
    (VALUES, M.TopKCategoricalAccuracy(k=2), None),
    (BINARY, M.TruePositives(), "TruePositives"), (BINARY, M.TrueNegatives(thresholds=0.4), None), (BINARY, M.FalsePositives(), None),
    (BINARY, M.FalseNegatives(), None), (BINARY, M.SensitivityAtSpecificity(0.7), None),
    (BINARY, M.SpecificityAtSensitivity(0.7, num_thresholds=30), None), (BINARY, M.PrecisionAtRecall(0.6), None),
    (BINARY, M.RecallAtPrecision(0.8), None), (BINARY, M.RecallAtPrecision(1.0), None), (BINARY, M.BinaryIoU(), None),
    (BINARY, M.BinaryIoU(target_class_ids=[1], threshold=0.3), None), (BINARY, M.F1Score(threshold=0.5), None),
    (CLASSES, M.F1Score(average="macro"), None), (CLASSES, M.F1Score(average="micro"), None),
    (CLASSES, M.FBetaScore(average="weighted", beta=2.0, threshold=0.4), None), (CLASSES, M.OneHotMeanIoU(num_classes=4), None),
    (CLASSES, M.MeanIoU(num_classes=4, sparse_y_pred=False), None), (CLASSES, M.IoU(4, [1, 3], sparse_y_pred=False), None),
    (CLASSES, M.OneHotIoU(4, [0, 2]), None), (CLASSES, M.MeanIoU(num_classes=4, sparse_y_pred=False, ignore_class=2), None),
    (CLASSES, M.OneHotIoU(4, [0, 2], ignore_class=0), None), (VALUES, M.R2Score(), "R2Score"), (VALUES, M.R2Score("variance_weighted_average"), None),
    (VALUES, M.R2Score(num_regressors=3), None), (VALUES, M.PearsonCorrelation(), None), (VALUES, M.ConcordanceCorrelation(), None),
    (VALUES, M.LogCoshError(), None), (VALUES, M.MeanAbsolutePercentageError(), None), (VALUES, M.MeanSquaredLogarithmicError(), None),
    (VALUES, M.Hinge(), None), (VALUES, M.SquaredHinge(), None), (VALUES, M.KLDivergence(), None), (VALUES, M.Poisson(), None),
    (CLASSES, M.Precision(top_k=2), None), (CLASSES, M.Recall(top_k=2), None), (CLASSES, M.Recall(top_k=3, thresholds=0.25), None),
    (CLASSES, M.Precision(class_id=1), None), (CLASSES, M.Precision(top_k=2, class_id=3), None), (CLASSES, M.Recall(thresholds=0.2, class_id=0), None),
    (BINARY, M.Recall(class_id=0), None), (CLASSES, M.Precision(), None),
    (CLASSES, M.SensitivityAtSpecificity(0.7, class_id=2), None), (CLASSES, M.SpecificityAtSensitivity(0.7), None),
    (CLASSES, M.PrecisionAtRecall(0.6, num_thresholds=30, class_id=0), None), (CLASSES, M.RecallAtPrecision(0.6, class_id=3), None),
    (CLASSES, M.CategoricalHinge(), None), (CLASSES, M.CategoricalCrossentropy(label_smoothing=0.1), None),
    (MARKS, M.AUC(multi_label=True), None), (MARKS, M.AUC(multi_label=True, curve="PR", num_labels=4, num_thresholds=30), None),
    (MARKS, M.AUC(multi_label=True, label_weights=[0.5, 0.0, 1.0, 2.0]), None), (ONE_HOT_ROWS, M.AUC(), "AUC"), (ONE_HOT_ROWS, M.AUC(multi_label=True), None),
    (ONE_HOT_ROWS, M.BinaryAccuracy(threshold=0.4), None), (ONE_HOT_ROWS, M.TruePositives(thresholds=0.3), None), (ONE_HOT_ROWS, M.MeanSquaredError(), "mse"),
    (ONE_HOT_ROWS, M.RootMeanSquaredError(), None), (ONE_HOT_ROWS, M.CosineSimilarity(), None), (ONE_HOT_ROWS, M.BinaryCrossentropy(), None),
    (ONE_HOT_ROWS, M.CategoricalAccuracy(), "accuracy"),
    # Lists of results, of which each is a metric.
    (BINARY, M.Precision(thresholds=[0.2, 0.5, 0.8]), None), (BINARY, M.Recall(thresholds=[0.6, 0.3]), None), (BINARY, M.Precision(thresholds=[0.4]), None),
    (BINARY, M.TruePositives(thresholds=[0.3, 0.6]), None), (BINARY, M.FalseNegatives(thresholds=[0.3, 0.6]), None),
    (MARKS, M.FalsePositives(thresholds=[0.1, 0.2, 0.3, 0.4]), None), (MARKS, M.TrueNegatives(thresholds=[0.2, 0.3]), None),
    (CLASSES, M.Precision(thresholds=[0.1, 0.3], top_k=2, class_id=1), None), (CLASSES, M.Recall(thresholds=[0.2, 0.3, 0.4], top_k=3), None),
    (CLASSES, M.Recall(thresholds=[0.0, 0.5, 1.0], class_id=2), None), (CLASSES, M.F1Score(), None), (CLASSES, M.FBetaScore(beta=0.5, threshold=0.3), None),
    (MARKS, M.F1Score(threshold=0.25), None), (VALUES, M.R2Score(class_aggregation=None), None), (VALUES, M.R2Score(None, num_regressors=2), None),
    # Curves by thresholds of one's own.
    (BINARY, M.AUC(thresholds=[0.2, 0.3, 0.7]), None), (BINARY, M.AUC(thresholds=[0.5, 0.25], curve="PR", summation_method="majoring"), None),
    (MARKS, M.AUC(multi_label=True, thresholds=[0.1, 0.2, 0.25, 0.4], curve="PR"), None), (BINARY, M.AUC(curve="PRGAIN"), None),
    (MARKS, M.AUC(multi_label=True, curve="PRGAIN", summation_method="minoring", num_thresholds=20), None),
    (MARKS, M.AUC(label_weights=[0.5, 0.0, 1.0, 2.0]), None),
]

# Keras takes these with one-hot labels, which are class numbers in Slipway.
ONE_HOT = (M.Precision, M.Recall, M.SensitivityAtSpecificity, M.SpecificityAtSensitivity, M.PrecisionAtRecall, M.RecallAtPrecision, M.F1Score, M.FBetaScore, M.OneHotIoU, M.OneHotMeanIoU, M.CategoricalHinge, M.CategoricalCrossentropy)


def floats(name, array):
    return "static const float %s[] = { %s };\n" % (name, ", ".join("%.9gf" % v if v % 1 else "%d" % v for v in np.ravel(array)))


with open(os.path.join(os.path.dirname(__file__), "metric_golden.h"), "w") as out:
    out.write("/* Made by metric_golden.py with Keras %s. */\n" % keras.__version__)
    for name in ("binary", "scores", "classes", "outputs", "targets", "marks"):
        out.write(floats("golden_" + name, globals()[name]))
    out.write("static const struct golden goldens[] = {\n")
    names = {"binary_crossentropy": ("scores", "binary", 1), "sparse_categorical_crossentropy": ("outputs", "classes", 4), "mse": ("outputs", "targets", 4),
             "binary_focal_crossentropy": ("outputs", "marks", 4), "categorical_crossentropy": ("outputs", "classes", 4)}
    for (x, y, loss), metric, short in CASES:
        for part in (slice(i * ROWS, (i + 1) * ROWS) for i in range(BATCHES)):
            one_hot = y is classes and (loss == "categorical_crossentropy" or isinstance(metric, ONE_HOT))
            metric.update_state(np.eye(4, dtype=np.float32)[y[part]] if one_hot else y[part], x[part])
        text = json.dumps(short) if short else json.dumps(keras.saving.serialize_keras_object(metric))
        text = text.replace("\\", "\\\\").replace('"', '\\"')
        results = np.ravel(metric.result())
        for element, value in enumerate(results):
            out.write('    { "%s", "%s", golden_%s, golden_%s, %d, %d, %d, %.9g },\n' % (text, loss, *names[loss], element, len(results), value))
    out.write("};\n")

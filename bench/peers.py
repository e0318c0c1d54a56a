"""The peers of bench/run, each in a process of its own: peers.py WHAT ARGUMENT...

  onnx VERSION_DIR FILE          writes the exported model, with its weights, as an ONNX file
  feed BATCH FILE                writes images [BATCH, 784]
  keras NAME VERSION_DIR         exports a model of keras.applications, or one of KERAS below, with drawn weights
  openvino-time VERSION_DIR BATCH REPEAT
                                 median µs of a run in OpenVINO, one thread
  onnx-recurrent NAME VERSION_DIR FILE
                                 writes the exported LSTM or GRU as onnxruntime's own node
  sentences BATCH FILE           writes texts of 40 words as JSON, for TextClassifier
  tensorflow-time VERSION_DIR FILE REPEAT
                                 median µs of a run of these texts in TensorFlow, one thread, called from Python
  onnx-time FILE FEED REPEAT     median µs of a run in onnxruntime, one thread
  train-tensorflow MODEL STEPS   rows/s of a compiled loop, batch 100, one thread
  train-jax MODEL STEPS          the same in jax
  records ROWS DIRECTORY         writes train.csv, train.libsvm and train.tfrecord
  read-tensorflow FORMAT FILE    rows/s of tf.data, in batches of 1000
  train-xlearn FILE EPOCHS       the same by xlearn: rows/s from the file to the model in memory, as many threads as there are cores
  bandwidth                      MB/s at which one thread copies memory
  clicks ROWS FILE               writes tf.Examples like Criteo's: 13 numbers and 26 categories
  train-clicks MODEL FILE EPOCHS rows/s of a built-in model of clicks, read by Keras; the rows are in memory
  train-sparse FILE EPOCHS       rows/s of a sparse logistic regression on a libsvm file, reading included: FTRL, 2^20 columns
"""
import json
import os
import sys
import time

import numpy as np

LAYERS = {"softmax": [784, 10], "mlp": [784, 512, 512, 10]}
BATCH = 100
RATE = 0.01


def feed(batch, path):
    np.save(path, np.random.default_rng(1).random((int(batch), 784), np.float32))


def lstm(keras):
    return keras.Sequential([keras.layers.Input((50, 64)), keras.layers.LSTM(64), keras.layers.Dense(10)])


def gru(keras):
    return keras.Sequential([keras.layers.Input((50, 64)), keras.layers.GRU(64), keras.layers.Dense(10)])


def transformer(keras, layers, width, heads, length, words, causal):
    """Post-norm blocks with the exact gelu, as in BERT; if causal, the next word's scores at each place, as in GPT."""
    L = keras.layers
    ids = L.Input((length,), dtype="int32", name="ids")
    x = L.Embedding(words, width)(ids)
    x = L.LayerNormalization(epsilon=1e-6)(x)
    for _ in range(layers):
        attended = L.MultiHeadAttention(heads, width // heads)(x, x, use_causal_mask=causal)
        x = L.LayerNormalization(epsilon=1e-6)(x + attended)
        hidden = L.Dense(width)(L.Dense(4 * width, activation="gelu")(x))
        x = L.LayerNormalization(epsilon=1e-6)(x + hidden)
    return keras.Model(ids, L.Dense(words)(x) if causal else L.Dense(2)(x[:, 0]))


def words():
    draw = np.random.default_rng(7)
    return ["".join(chr(97 + c) for c in draw.integers(0, 26, draw.integers(2, 11))) + str(i) for i in range(2000)]


def sentences(batch, path):
    draw, vocabulary = np.random.default_rng(8), words()
    texts = [" ".join(vocabulary[i] for i in draw.integers(0, 2000, 40)).capitalize() + ", really!" for _ in range(int(batch))]
    with open(path, "w", encoding="utf-8") as f:
        json.dump([[text] for text in texts], f)


def text_classifier(keras):
    """Lower case, no punctuation, words by white space, ids, embeddings, their mean, two dense layers."""
    L = keras.layers
    text = L.Input((1,), dtype="string", name="text")
    ids = L.TextVectorization(max_tokens=2002, output_sequence_length=100, vocabulary=words())(text)
    mean = L.GlobalAveragePooling1D()(L.Embedding(2002, 64)(ids))
    return keras.Model(text, L.Dense(1, activation="sigmoid")(L.Dense(16, activation="relu")(mean)))


KERAS = {"LSTM": lstm, "TextClassifier": text_classifier, "GRU": gru, "BERT-tiny": lambda keras: transformer(keras, 2, 128, 2, 128, 30522, False),
         "GPT-like": lambda keras: transformer(keras, 6, 256, 8, 64, 2000, True)}


def export_keras(name, directory):
    import keras
    model = KERAS[name](keras) if name in KERAS else getattr(keras.applications, name)(weights=None)
    model.export(directory, verbose=False)


def openvino_time(directory, batch, repeat):
    """Compiled for this batch. Numbers are float32, as ours."""
    import openvino
    core = openvino.Core()
    model = core.read_model(directory)
    shapes = {i.get_any_name(): [int(batch)] + [d.get_length() for d in list(i.get_partial_shape())[1:]] for i in model.inputs}
    model.reshape(shapes)
    run = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    feeds = {i: np.resize((np.arange(17) / 17).astype(i.get_element_type().to_dtype()), shapes[i.get_any_name()]) for i in run.model_inputs}
    run.infer(feeds)
    seconds = []
    for _ in range(int(repeat) + 3):
        begun = time.perf_counter()
        run.infer()
        seconds.append(time.perf_counter() - begun)
    print(np.median(seconds[3:]) * 1e6)


# ---- onnxruntime ----
def chain(kernels, width):
    """The names of all kernels, ordered so that each takes the output of the one before it, or None. A flattened map has a
    multiple of its channels."""
    if not kernels:
        return []
    for name, kernel in kernels.items():
        maps = any(k.ndim == 4 for k in kernels.values())
        fits = kernel.shape[-2] == width or (kernel.ndim == 2 and width != 784 and kernel.shape[0] % width == 0)
        if fits and kernel.ndim == (4 if maps else 2):
            rest = chain({k: v for k, v in kernels.items() if k != name}, kernel.shape[-1])
            if rest is not None:
                return [name] + rest
    return None


def weights(directory):
    """The kernels and biases of an export, in the order of the layers."""
    import tensorflow as tf
    reader = tf.train.load_checkpoint(directory + "/variables/variables")
    values = {k: reader.get_tensor(k) for k, dtype in reader.get_variable_to_dtype_map().items() if dtype == tf.float32}
    kernels = {k: v for k, v in values.items() if v.ndim in (2, 4)}
    names = chain(kernels, 1 if any(v.ndim == 4 for v in kernels.values()) else 784)
    return [(values[name], values[name.replace("kernel", "bias")]) for name in names]


def onnx(directory, path):
    import onnx as o
    from onnx import TensorProto, helper, numpy_helper
    nodes, initializers, value = [], [], "images"

    def constant(name, array):
        initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(op, *inputs, **attributes):
        nonlocal value
        name = "%s_%d" % (op, len(nodes))
        nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        value = name

    layers = weights(directory)
    channels, side = 0, 28
    if layers[0][0].ndim == 4:  # NCHW, onnxruntime's own layout; with one channel the reshape moves nothing
        node("Reshape", value, constant("image_shape", np.array([-1, 1, 28, 28], np.int64)))
    for i, (kernel, bias) in enumerate(layers):
        if kernel.ndim == 4:
            size, channels = kernel.shape[0], kernel.shape[3]
            node("Conv", value, constant("w%d" % i, kernel.transpose(3, 2, 0, 1)), constant("b%d" % i, bias),
                 pads=[size // 2] * 4, kernel_shape=[size, size])
            node("Relu", value)
            node("MaxPool", value, kernel_shape=[2, 2], strides=[2, 2])
            side //= 2
            continue
        if channels:  # rows of the first dense kernel in the order of the NCHW map
            node("Flatten", value)
            kernel = kernel.reshape(side, side, channels, -1).transpose(2, 0, 1, 3).reshape(kernel.shape)
            channels = 0
        node("Gemm", value, constant("w%d" % i, kernel), constant("b%d" % i, bias))
        node("Relu" if i < len(layers) - 1 else "Softmax", value)
    graph = helper.make_graph(nodes, "peer", [helper.make_tensor_value_info("images", TensorProto.FLOAT, [None, 784])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, [None, 10])], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    o.checker.check_model(model)
    o.save(model, path)
    # The same weights must give the same answers, or the comparison is meaningless.
    import tensorflow as tf
    x = np.random.default_rng(2).random((3, 784), np.float32)
    want = next(iter(tf.saved_model.load(directory).signatures["predict_images"](tf.constant(x)).values())).numpy()
    got = session(path).run(None, {"images": x})[0]
    if np.max(np.abs(got - want)) > 1e-4:
        raise SystemExit("the ONNX graph of %s does not give the model's answers" % directory)


def recurrent_layer(keras_weights, gates):
    """W, R and B of an ONNX node: a row for each cell of each gate, the gates in `gates`' order of Keras'."""
    kernel, recurrent, bias = keras_weights

    def rows(x):
        return np.concatenate([np.split(x, len(gates), -1)[g] for g in gates], -1)
    bias = bias if bias.ndim == 2 else np.stack([bias, np.zeros_like(bias)])
    return rows(kernel).T[None], rows(recurrent).T[None], np.concatenate([rows(bias[0]), rows(bias[1])])[None]


def onnx_recurrent(name, directory, path):
    import onnx as o
    import tensorflow as tf
    from onnx import TensorProto, helper, numpy_helper
    values = {v.name: v.numpy() for v in tf.saved_model.load(directory).variables}

    def find(end):
        return next(v for k, v in values.items() if k.split(":")[0].endswith("/" + end))
    cell = name.lower() + "_cell"
    layer = recurrent_layer([find(cell + "/" + part) for part in ("kernel", "recurrent_kernel", "bias")], [0, 3, 1, 2] if name == "LSTM" else [0, 1, 2])
    constants = dict(zip(("W", "R", "B", "D", "d"), [*layer, find("dense/kernel"), find("dense/bias")]), flat=np.array([-1, 64], np.int64))
    attributes = {"linear_before_reset": 1} if name == "GRU" else {}
    nodes = [helper.make_node("Transpose", ["images"], ["x"], perm=[1, 0, 2]),
             helper.make_node(name, ["x", "W", "R", "B"], ["", "last"], hidden_size=64, **attributes),
             helper.make_node("Reshape", ["last", "flat"], ["h"]), helper.make_node("Gemm", ["h", "D", "d"], ["y"])]
    graph = helper.make_graph(nodes, "peer", [helper.make_tensor_value_info("images", TensorProto.FLOAT, [None, 50, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 10])],
                              [numpy_helper.from_array(np.ascontiguousarray(v, v.dtype), k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    o.save(model, path)
    x = np.random.default_rng(2).random((3, 50, 64), np.float32)
    want = next(iter(tf.saved_model.load(directory).signatures["serving_default"](tf.constant(x)).values())).numpy()
    if np.max(np.abs(session(path).run(None, {"images": x})[0] - want)) > 1e-4:
        raise SystemExit("the ONNX graph of %s does not give the model's answers" % directory)
    for batch in (1, 32):
        np.save("%s.%d.npy" % (path, batch), np.random.default_rng(1).random((batch, 50, 64), np.float32))


def tensorflow_time(directory, path, repeat):
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    run = tf.saved_model.load(directory).signatures["serving_default"]
    with open(path, encoding="utf-8") as f:
        feeds = {name: tf.constant(json.load(f)) for name in run.structured_input_signature[1]}
    seconds = []
    for _ in range(int(repeat) + 10):
        begun = time.perf_counter()
        next(iter(run(**feeds).values())).numpy()
        seconds.append(time.perf_counter() - begun)
    print(np.median(seconds[10:]) * 1e6)


def session(path):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def onnx_time(path, feed_path, repeat):
    """Binds input and output, so that the time is onnxruntime's and hardly Python's."""
    run, x = session(path), np.load(feed_path)
    binding = run.io_binding()
    binding.bind_cpu_input("images", x)
    binding.bind_output(run.get_outputs()[0].name)
    seconds = []
    for _ in range(int(repeat) + 20):
        begun = time.perf_counter()
        run.run_with_iobinding(binding)
        seconds.append(time.perf_counter() - begun)
    print(np.median(seconds[20:]) * 1e6)


# ---- training ----
def digits():
    random = np.random.default_rng(3)
    return random.random((60000, 784), np.float32), random.integers(0, 10, 60000).astype(np.int32)


def initial(model):
    random, sizes = np.random.default_rng(4), LAYERS[model]
    return [(random.standard_normal((m, n)).astype(np.float32) * (1 / m) ** 0.5, np.zeros(n, np.float32)) for m, n in zip(sizes, sizes[1:])]


def train_tensorflow(model, steps):
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    images, labels = map(tf.constant, digits())
    batches = 60000 // BATCH
    best = 0.0
    for jit in (False, True):  # with and without XLA: the faster one is the peer
        variables = [(tf.Variable(w), tf.Variable(b)) for w, b in initial(model)]
        flat = [v for pair in variables for v in pair]

        def step(i):
            x = tf.slice(images, [i % batches * BATCH, 0], [BATCH, 784])
            y = tf.slice(labels, [i % batches * BATCH], [BATCH])
            with tf.GradientTape() as tape:
                h = x
                for n, (w, b) in enumerate(variables):
                    h = tf.matmul(h, w) + b
                    h = tf.nn.relu(h) if n < len(variables) - 1 else h
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=h))
            for v, g in zip(flat, tape.gradient(loss, flat)):
                v.assign_sub(RATE * g)

        @tf.function(jit_compile=jit)
        def loop(count):
            for i in tf.range(count):
                step(i)

        loop(tf.constant(50))
        begun = time.perf_counter()
        loop(tf.constant(int(steps)))
        best = max(best, int(steps) * BATCH / (time.perf_counter() - begun))
    print(best)


def train_jax(model, steps):
    import jax
    import jax.numpy as jnp
    images, labels = map(jnp.asarray, digits())
    batches = 60000 // BATCH

    def loss(parameters, x, y):
        h = x
        for n, (w, b) in enumerate(parameters):
            h = h @ w + b
            h = jax.nn.relu(h) if n < len(parameters) - 1 else h
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(h), y[:, None], 1))

    def step(i, parameters):
        x = jax.lax.dynamic_slice(images, (i % batches * BATCH, 0), (BATCH, 784))
        y = jax.lax.dynamic_slice(labels, (i % batches * BATCH,), (BATCH,))
        return jax.tree.map(lambda p, g: p - RATE * g, parameters, jax.grad(loss)(parameters, x, y))

    loop = jax.jit(lambda count, parameters: jax.lax.fori_loop(0, count, step, parameters))
    parameters = jax.tree.map(jnp.asarray, initial(model))
    jax.block_until_ready(loop(50, parameters))
    begun = time.perf_counter()
    jax.block_until_ready(loop(int(steps), parameters))
    print(int(steps) * BATCH / (time.perf_counter() - begun))


# ---- tf.data ----
def write_record(writer, label, indices, values):
    import tensorflow as tf
    feature = {"label": tf.train.Feature(float_list=tf.train.FloatList(value=[label])),
               "index": tf.train.Feature(int64_list=tf.train.Int64List(value=indices)),
               "value": tf.train.Feature(float_list=tf.train.FloatList(value=values))}
    writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def records(rows, directory):
    """28 numbers a row in the CSV file, 39 of 2^20 indices in the others."""
    import tensorflow as tf
    random = np.random.default_rng(1)
    with open(directory + "/train.csv", "w") as csv, open(directory + "/train.libsvm", "w") as libsvm, \
            tf.io.TFRecordWriter(directory + "/train.tfrecord") as writer:
        csv.write(",".join(["label"] + ["x%d" % i for i in range(28)]) + "\n")
        for row in range(int(rows)):
            indices, values = np.unique(random.integers(1, 1 << 20, 60))[:39], random.choice([1, 1, .25, .123456], 39)
            csv.write("%d," % (row % 2) + ",".join("%.6f" % x for x in random.standard_normal(28)) + "\n")
            libsvm.write("%d " % (row % 2) + " ".join("%d:%g" % pair for pair in zip(indices, values)) + "\n")
            write_record(writer, row % 2, indices, values)


def read_csv(tf, path):
    return tf.data.experimental.CsvDataset(path, [tf.float32] * 29, header=True).batch(1000)


def read_libsvm(tf, path):
    def parse(lines):
        parts = tf.strings.split(lines, " ").to_tensor("")
        pairs = tf.strings.split(tf.reshape(parts[:, 1:], [-1]), ":").to_tensor("0")
        return tf.strings.to_number(parts[:, 0]), tf.strings.to_number(pairs[:, 0], tf.int64), tf.strings.to_number(pairs[:, 1])
    return tf.data.TextLineDataset(path).batch(1000).map(parse)


def read_tfrecord(tf, path):
    features = {"label": tf.io.FixedLenFeature([], tf.float32), "index": tf.io.VarLenFeature(tf.int64), "value": tf.io.VarLenFeature(tf.float32)}
    return tf.data.TFRecordDataset(path).batch(1000).map(lambda x: tf.io.parse_example(x, features))


def read_tensorflow(kind, path):
    import tensorflow as tf
    rows = sum(1 for _ in (tf.data.TFRecordDataset(path) if kind == "tfrecord" else tf.data.TextLineDataset(path))) - (kind == "csv")
    dataset = {"csv": read_csv, "libsvm": read_libsvm, "tfrecord": read_tfrecord}[kind](tf, path)
    next(iter(dataset))
    begun = time.perf_counter()
    for _ in dataset:
        pass
    print(rows / (time.perf_counter() - begun))


def train_sparse(path, epochs):
    """A compiled step of sparse ops: the rows of the batch's ids are read and updated, duplicates summed. Threads as TensorFlow likes."""
    import tensorflow as tf
    weights, accumulators, linears = (tf.Variable(tf.fill([1 << 20], x)) for x in (0.0, 0.1, 0.0))
    bias = tf.Variable(0.0)

    @tf.function
    def step(labels, indices, values):
        batch = tf.shape(labels)[0]
        ids, places = tf.unique(indices - 1)
        terms = tf.gather(tf.gather(weights, ids), places) * values
        scores = tf.reduce_sum(tf.reshape(terms, [batch, -1]), 1) + bias
        errors = (tf.sigmoid(scores) - labels) / tf.cast(batch, tf.float32)
        each = tf.repeat(errors, tf.shape(values)[0] // batch) * values
        gradient = tf.math.unsorted_segment_sum(each, places, tf.shape(ids)[0])
        tf.raw_ops.ResourceSparseApplyFtrl(var=weights.handle, accum=accumulators.handle, linear=linears.handle, grad=gradient, indices=ids,
                                           lr=0.1, l1=0.0, l2=0.0, lr_power=-0.5)
        bias.assign_sub(0.1 * tf.reduce_sum(errors))

    dataset = read_libsvm(tf, path).prefetch(4)
    step(*next(iter(dataset)))
    rows, begun = 0, time.perf_counter()
    for _ in range(int(epochs)):
        for batch in dataset:
            step(*batch)
            rows += batch[0].shape[0]
    print(rows / (time.perf_counter() - begun))


def train_xlearn(path, epochs):
    """xlearn writes a binary copy beside the file and would read that the next time."""
    os.environ.setdefault("USER", "bench")  # it names its log by it, and aborts without
    import xlearn
    model = xlearn.create_linear()
    model.setTrain(path)
    model.disableEarlyStop()
    model.setQuiet()
    begun = time.perf_counter()
    model.fit({"task": "binary", "opt": "ftrl", "alpha": 0.1, "beta": 0, "lambda_1": 0, "lambda_2": 0, "epoch": int(epochs),
               "nthread": os.cpu_count()}, path + ".model")
    seconds = time.perf_counter() - begun
    with open(path, "rb") as f:
        rows = sum(1 for _ in f)
    for copy in (path + ".bin", path + ".model"):
        os.remove(copy)
    print("\n%f" % (rows * int(epochs) / seconds))


def bandwidth():
    source, target = np.ones(1 << 26, np.float32), np.ones(1 << 26, np.float32)
    begun = time.perf_counter()
    for _ in range(4):
        np.copyto(target, source)
    print(4 * source.nbytes / 1e6 / (time.perf_counter() - begun))


# ---- clicks ----
CLICK_BATCH, CATEGORIES = 100, 26


def clicks(rows, path):
    """A fifth of the categories of each column is in most rows, as in real logs."""
    import tensorflow as tf
    draw = np.random.default_rng(5)
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(int(rows)):
            feature = {"I%d" % (i + 1): tf.train.Feature(float_list=tf.train.FloatList(value=[x])) for i, x in enumerate(draw.random(13))}
            ids = (draw.random(CATEGORIES) ** 4 * 100000).astype(np.int64)
            feature.update({"C%d" % (i + 1): tf.train.Feature(int64_list=tf.train.Int64List(value=[x])) for i, x in enumerate(ids)})
            feature["label"] = tf.train.Feature(float_list=tf.train.FloatList(value=[float(draw.random() < 0.25)]))
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def click_columns(path):
    import tensorflow as tf
    ids, numbers, labels = [], [], []
    for record in tf.data.TFRecordDataset(path):
        row = tf.train.Example.FromString(record.numpy()).features.feature
        ids.append([row["C%d" % (i + 1)].int64_list.value[0] for i in range(CATEGORIES)])
        numbers.append([row["I%d" % (i + 1)].float_list.value[0] for i in range(13)])
        labels.append(row["label"].float_list.value)
    return np.int64(ids), np.float32(numbers), np.float32(labels)


def train_clicks(model, path, epochs):
    """A compiled loop of steps, with sparse updates of the tables: Keras' own Adagrad on IndexedSlices."""
    import keras
    import tensorflow as tf
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models", model + ".json"), encoding="utf-8") as f:
        model = keras.models.model_from_json(f.read())
    ids, numbers, labels = map(tf.constant, click_columns(path))
    optimizer = keras.optimizers.Adagrad(0.05)
    optimizer.build(model.trainable_variables)
    steps = len(labels) // CLICK_BATCH

    @tf.function
    def loop(count):
        for i in tf.range(count):
            rows = slice(i % steps * CLICK_BATCH, (i % steps + 1) * CLICK_BATCH)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(keras.losses.binary_crossentropy(labels[rows], model({"ids": ids[rows], "numbers": numbers[rows]})))
            optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)

    loop(tf.constant(2))
    begun = time.perf_counter()
    loop(tf.constant(int(epochs) * steps))
    print(int(epochs) * steps * CLICK_BATCH / (time.perf_counter() - begun))


WHAT = {"clicks": clicks, "train-clicks": train_clicks,
        "train-xlearn": train_xlearn, "bandwidth": bandwidth, "train-sparse": train_sparse, "records": records, "read-tensorflow": read_tensorflow, "onnx": onnx, "feed": feed, "keras": export_keras, "onnx-recurrent": onnx_recurrent, "sentences": sentences, "tensorflow-time": tensorflow_time, "onnx-time": onnx_time, "openvino-time": openvino_time, "train-tensorflow": train_tensorflow, "train-jax": train_jax}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in WHAT:
        sys.exit(__doc__)
    WHAT[sys.argv[1]](*sys.argv[2:])

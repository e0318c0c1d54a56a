"""Writes a file per model with operations (keras.ops) as layers, in the form of models.py.

    python tests/golden/layers/operations.py tests/golden/layers                                  Keras 3.15
"""
from cases import L, case, keras, np
from keras import ops

x, y = keras.Input((4, 3), name="x"), keras.Input((4, 3), name="y")


def model(name, inputs, values, units=2):
    """Dense layers before the operations, so that gradients pass through them, and one behind."""
    flat = [L.Flatten(name="flat_%d" % i)(v) if len(v.shape) > 2 else v for i, v in enumerate(values)]
    joined = L.Concatenate(name="joined")(flat) if len(flat) > 1 else flat[0]
    return keras.Model(inputs, L.Dense(units, name="answer")(L.Rescaling(0.05, name="smaller")(joined)), name=name)


a, b = L.Dense(3, name="dense_a")(x), L.Dense(3, name="dense_b")(y)
positive = ops.exp(a)
case("op_binary", model("op_binary", [x, y], [
    a + b, a - b, a * b, a / (2.5 + ops.square(b)), positive**b, ops.square(a) ** 2.0, 1.0 - a, 2 * b, ops.maximum(a, b), ops.minimum(a, 0.1),
    ops.add(a, np.float32([[1, 2, 3]])), ops.divide_no_nan(a, positive), ops.arctan2(a, positive), ops.where(a > b, a, 0.5), ops.mod(a, 2.0),
    a // positive, ops.where(ops.logical_or(ops.logical_not(a <= 0.2), ops.logical_and(a >= b, b < 0.5)), b, a)]), trained=True)
case("op_unary", model("op_unary", [x], [
    -a, ops.absolute(a), ops.square(a), ops.sign(a), ops.sqrt(positive), ops.rsqrt(positive), ops.reciprocal(positive), ops.exp(a), ops.expm1(a),
    ops.log(positive), ops.log1p(positive), ops.sin(a), ops.cos(a), ops.tan(ops.tanh(a)), ops.arctan(a), ops.tanh(a), ops.erf(a), ops.floor(a),
    ops.ceil(a), ops.stop_gradient(a), ops.clip(a, -0.5, 0.5), ops.cast(a > 0.3, "float32"), ops.cast(ops.cast(a, "int64"), "float32")]), trained=True)
case("op_activations", model("op_activations", [x], [
    ops.relu(a), ops.relu6(a), ops.sigmoid(a), ops.softplus(a), ops.softsign(a), ops.selu(a), ops.silu(a), ops.hard_sigmoid(a), ops.hard_silu(a),
    ops.log_sigmoid(a), ops.softmax(a), ops.elu(a, 0.5), ops.leaky_relu(a, 0.1), ops.gelu(a), ops.gelu(a, approximate=False)]), trained=True)
case("op_reductions", model("op_reductions", [x, y], [
    ops.sum(a, axis=1), ops.mean(a, axis=-1), ops.max(a, axis=[1, 2], keepdims=True), ops.min(a, axis=1), ops.prod(y, axis=2),
    ops.logsumexp(a, axis=1), ops.logsumexp(a, axis=-1, keepdims=True), ops.var(a, axis=1), ops.std(a, axis=-1), ops.norm(a, axis=1),
    ops.normalize(a), ops.cast(ops.any(a > 0.5, axis=1), "float32"), ops.cast(ops.all(a > -0.5, axis=2), "float32")]), trained=True)
case("op_shapes", model("op_shapes", [x, y], [
    ops.reshape(a, (-1, 2, 6)), ops.reshape(a, (-1, 3, 2, 2)), ops.transpose(a, (0, 2, 1)), ops.swapaxes(a, 1, -1),
    ops.moveaxis(ops.expand_dims(a, 1), 1, 3), ops.squeeze(ops.expand_dims(a, -1), -1), ops.concatenate([a, b], axis=1), ops.stack([a, b], axis=1),
    ops.stack([a, b, a], axis=-1), ops.tile(a, (1, 2, 2)), *ops.split(a, 2, axis=1), ops.split(a, [1, 2], axis=2)[1], a[:, 0], a[:, 1:3, -1],
    a[..., ::2], a[:, None, -3:, 1], a[:, ::-1], a[..., 0, None], ops.matmul(a, ops.transpose(b, (0, 2, 1))),
    ops.matmul(a, np.float32([[1, -1], [0.5, 2], [0, 1]]))]), trained=True)

# Integers: Keras makes floats of them only where an operand is one.
n, m = keras.Input((3,), dtype="int32", name="n"), keras.Input((3,), dtype="int64", name="m")
whole = [n + 1, n * m, n - True, m % 3, m // 2, n / 2, n * 0.5, ops.maximum(n, m), ops.mean(n, axis=1, keepdims=True), ops.sum(m, axis=1, keepdims=True)]
table = L.Embedding(7, 2, name="table")
case("op_integers", model("op_integers", [n, m], [ops.cast(v, "float32") for v in whole] + [table((n + m) % 7), L.Dense(2, name="both")(ops.sqrt(n + 1))]),
     trained=True, inputs=[np.int32([[1, 5, 0], [3, 2, 8], [7, 7, 1]]), np.int64([[4, 0, 2], [6, 6, 1], [3, 9, 5]])])

# A factorization machine as it is written with operations.
ids, numbers = keras.Input((4,), dtype="int64", name="ids"), keras.Input((2,), name="numbers")
factors = L.Embedding(9, 3, name="factors")(ids)
pairs = 0.5 * ops.sum(ops.square(ops.sum(factors, axis=1)) - ops.sum(ops.square(factors), axis=1), axis=-1, keepdims=True)
linear = ops.sum(L.Embedding(9, 1, name="weights")(ids), axis=1) + L.Dense(1, name="dense")(numbers)
case("op_fm", keras.Model([ids, numbers], ops.sigmoid(linear + pairs), name="op_fm"), trained=True,
     inputs=[np.int64([[0, 1, 2, 8], [3, 3, 5, 4], [8, 7, 0, 1]]), np.float32([[0.5, -1], [2, 0.25], [-0.5, 1]])])

# An activation whose arguments Keras prints only of a call on tensors.
case("op_threshold", model("op_threshold", [x], [keras.activations.threshold(a, 0.125, -0.5), ops.threshold(a, 0, 0.25)]), trained=True)

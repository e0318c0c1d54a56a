"""Models of the policies mixed_bfloat16 and mixed_float16, in the form of models.py.

    python tests/golden/layers/mixed.py tests/golden/layers              Keras 3.15

The loss is not scaled here.
"""
import functools
import cases
from cases import L, keras, np, sequential
from keras import ops

keras.Sequential.compile = functools.partialmethod(keras.Sequential.compile, auto_scale_loss=False)
keras.Model.compile = functools.partialmethod(keras.Model.compile, auto_scale_loss=False)
numbers = cases.numbers
cases.numbers = lambda array: numbers(cases.tf.cast(array, "float32"))


def functional(shapes, build):
    inputs = [L.Input(shape, name="in%d" % i) for i, shape in enumerate(shapes)]
    return keras.Model(inputs if len(inputs) > 1 else inputs[0], build(*inputs))


def flat(x):
    return L.Dense(2)(L.Flatten()(x))


def merged(a, b):
    p, q = L.Dense(4, activation="tanh")(a), L.Dense(4, dtype="float32")(b)
    return L.Dense(2)(L.Concatenate()([L.Add()([p, q]), L.Subtract()([p, q]), L.Multiply()([p, q]), L.Average()([p, q]), L.Dot(1)([p, q])]))


def operated(a):
    h = L.Dense(6)(a)
    exact = ops.cast(h, "float32") * 3.0
    return L.Dense(2)(ops.concatenate([
        ops.tanh(h) + 1.0, h * 0.5, exact, ops.cast(exact, "float16"), ops.softmax(h), ops.mean(h, axis=-1, keepdims=True), ops.where(
            h > 0.1, h, a[:, :1]), ops.logsumexp(h, axis=-1, keepdims=True), ops.reshape(ops.matmul(*2 * [ops.reshape(h, (-1, 2, 3))[:, :, :2]]), (-1, 4))],
        axis=-1))


MODELS = {
    "dense": lambda: sequential(L.Input((5,)), L.Dense(8, activation="tanh", kernel_regularizer="l2"), L.Dropout(0.0), L.Dense(
        6, activation=L.LeakyReLU(0.2)), L.Dense(6, activation="gelu", dtype="float32"), L.Dense(6, activation="softplus"), L.PReLU(), L.Dense(3)),
    "norms": lambda: sequential(L.Input((4, 6)), L.LayerNormalization(), L.Dense(6), L.GroupNormalization(3), L.Dense(6), L.RMSNormalization(), L.Dense(
        6), L.UnitNormalization(), L.Flatten(), L.Dense(3)),
    "moments": lambda: sequential(L.Input((4, 6)), L.Dense(5), L.BatchNormalization(), L.Flatten(), L.Dense(3)),
    "images": lambda: sequential(L.Input((9, 9, 3)), L.Rescaling(0.5, 0.1), L.Conv2D(6, 3, activation="silu"), L.AveragePooling2D(2), L.SeparableConv2D(
        4, 2, activation="tanh"), L.UpSampling2D(2), L.DepthwiseConv2D(2), L.Conv2DTranspose(3, 2), L.Resizing(4, 4), L.GlobalAveragePooling2D(), L.Dense(2)),
    "sequence": lambda: sequential(L.Input((8, 3)), L.Conv1D(5, 3, padding="causal", activation="elu"), L.TimeDistributed(L.Dense(4, activation="tanh")), L.LSTM(
        4, return_sequences=True), L.Bidirectional(L.GRU(3, return_sequences=True)), L.RNN([L.SimpleRNNCell(3), L.GRUCell(3)]), L.Dense(2)),
    "embedded": lambda: sequential(L.Input((4,), dtype="int64"), L.Embedding(7, 6, mask_zero=True), L.LSTM(4, return_sequences=True), L.GlobalAveragePooling1D(), L.Dense(2)),
    "attention": lambda: functional([(4, 6), (5, 6)], lambda a, b: flat(L.Attention(use_scale=True)([L.MultiHeadAttention(2, 3)(
        a, b), L.LayerNormalization()(a)], use_causal_mask=True))),
    "merged": lambda: functional([(5,), (3,)], merged),
    "operations": lambda: functional([(5,)], operated),
    "inner": lambda: sequential(L.Input((5,)), keras.Sequential([L.Input((5,)), L.LayerNormalization(name="n"), L.Dense(4, activation="tanh", name="d")], name="part"), L.Dense(
        2, dtype="float32")),
    "gates": lambda: sequential(L.Input((5, 4)), L.LSTM(4, return_sequences=True, recurrent_activation="hard_sigmoid"), L.Dense(5, activation="hard_silu"), L.LSTM(
        3, recurrent_dropout=1e-9), L.Dense(2)),
}
HALF = ("dense", "norms", "moments", "images", "sequence", "gates")  # the two types differ in their range, which these depend on most


def begin(policy):
    """clear_session also forgets the policy."""
    keras.backend.clear_session()
    keras.config.set_dtype_policy(policy)
    cases.random = np.random.RandomState(3)


def case(policy, name, model, **more):
    assert '"name": "%s"' % policy in model.to_json(), name
    cases.case("%s_%s" % (policy, name), model, trained=True, masked=True, **more)


for policy in ("mixed_bfloat16", "mixed_float16"):
    for name, make in MODELS.items():
        if policy == "mixed_float16" and name not in HALF:
            continue
        begin(policy)
        more = {"inputs": [np.array([[1, 2, 0, 0], [3, 6, 5, 0], [4, 4, 1, 2]], np.float32)]} if name == "embedded" else {}
        case(policy, name, make(), **more)
    if policy == "mixed_float16":
        break
    begin(policy)
    case(policy, "softmax", sequential(L.Input((5,)), L.Dense(8, activation="relu6"), L.Dense(4, activation="softmax")), loss="sparse_categorical_crossentropy")
    case(policy, "last_float", sequential(L.Input((5,)), L.Dense(8, activation="tanh"), L.Dense(4), L.Activation("softmax", dtype="float32")),
         loss="sparse_categorical_crossentropy")

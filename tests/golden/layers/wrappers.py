"""Writes a file per model whose layers call other layers, in the form of models.py.

    python tests/golden/layers/wrappers.py tests/golden/layers            Keras 3.15
"""
from cases import L, case, keras, np, sequential
import updates  # writes its own files again, the same ones

# ---- layers one after the other ----
steps = [L.Rescaling(0.5), L.Conv2D(3, 2, activation="tanh", name="conv"), L.Pipeline([L.Dropout(0.0), L.Dense(2, name="inner")], name="more")]
case("pipeline", sequential(L.Input((4, 5, 2)), L.Pipeline(steps, name="steps"), L.Flatten(), L.Dense(2)), trained=True)
ids = L.Input((4,), dtype="int64")
masked = L.Pipeline([L.Embedding(6, 3, mask_zero=True, name="table"), L.Dropout(0.0)], name="ids")
case("pipeline_masked", keras.Model(ids, L.Dense(2)(L.LSTM(3)(masked(ids)))), trained=True, masked=True,
     inputs=[np.int64([[1, 5, 0, 0], [3, 2, 0, 4], [5, 4, 1, 2]])])
updates.case("moments_pipeline", sequential(
    L.Input((5, 6, 3)), L.Pipeline([L.Rescaling(127.5, 127.5), L.RandomBrightness((0.1, 0.1)), L.RandomContrast((-0.4, 0.4))], name="steps"),
    L.Rescaling(1 / 255), L.Conv2D(2, 2), L.Flatten(), L.Dense(2)))

# ---- models inside TimeDistributed: Keras 3 calls them with one step after the other ----
T = L.TimeDistributed
cnn = keras.Sequential([L.Input((5, 4, 2)), L.Conv2D(3, 2, name="conv", kernel_regularizer="l2"), L.BatchNormalization(momentum=0.8, name="norm"),
                        L.Activation("tanh"), L.GlobalAveragePooling2D()], name="cnn")
updates.case("moments_distributed", sequential(
    L.Input((3, 5, 4, 2)), T(cnn, name="frames"), T(L.BatchNormalization(momentum=0.7, center=False, name="inner"), name="direct"), L.LSTM(3), L.Dense(2)))
x, line = L.Input((2, 3, 4, 2)), L.Input((4, 2), name="line")
twice = keras.Model(line, L.Add(name="add")([L.BatchNormalization(axis=1, momentum=0.9, name="by_axis")(line), L.Dense(2, name="same")(line)]), name="line")
frame = T(T(twice, name="rows"), name="frames")
updates.case("moments_distributed_twice", keras.Model(x, L.Dense(2)(L.Flatten()(frame(frame(x))))))
x = updates.random.uniform(-1, 1, (4, 5, 3)).astype(np.float32)
x[0, 3:] = x[2, :2] = x[3, 4:] = 0
step = keras.Sequential([L.Input((3,)), L.Dense(4, activation="tanh", name="dense"), L.BatchNormalization(momentum=0.6, name="norm")], name="step")
updates.case("moments_distributed_masked", sequential(L.Input((5, 3)), L.Masking(), T(step, name="steps"), L.GRU(3), L.Dense(2)), x=x)
long, short = L.Input((4, 3), name="long"), L.Input((2, 3), name="short")
tower = T(keras.Sequential([L.Input((3,)), L.Dense(4, activity_regularizer="l2", activation="tanh", name="up"), L.ActivityRegularization(l1=0.1), L.Dense(2, name="down")],
                           name="tower"), name="towers")
both = L.Concatenate(name="both")([L.Flatten(name="flat%d" % i)(tower(x)) for i, x in enumerate((long, short))])
case("distributed_models", keras.Model([long, short], L.Dense(2, name="last")(both)), trained=True)
ids = np.int64([[[1, 5, 0, 0], [3, 2, 0, 4], [0, 0, 0, 0]], [[5, 4, 1, 2], [1, 0, 0, 0], [2, 3, 0, 0]], [[4, 0, 0, 0], [1, 1, 5, 2], [3, 5, 1, 0]]])
words = [L.Input((4,), dtype="int64"), L.Embedding(6, 3, mask_zero=True, name="table"), L.Dropout(0.0), L.LSTM(3, name="words")]
case("distributed_texts", sequential(
    L.Input((3, 4), dtype="int64"), T(keras.Sequential(words, name="sentence"), name="sentences"), L.Bidirectional(L.GRU(2)), L.Dense(2)),
    trained=True, inputs=[ids])
case("distributed_layers", sequential(
    L.Input((3, 4, 2)), T(L.Bidirectional(L.GRU(2, return_sequences=True)), name="each"), T(L.LSTM(3), name="last"),
    L.GlobalMaxPooling1D(), L.Dense(2)), trained=True)

# ---- a penalty of the output of a layer inside another one ----
penalised = [T(L.Dense(3, activity_regularizer="l2", name="inner"), name="each"), T(L.ActivityRegularization(l1=0.1, name="inner2"), name="as_layer"),
             L.Bidirectional(L.GRU(2, activity_regularizer="l1", return_sequences=True, name="both"), name="directions"), L.Flatten(),
             L.SpectralNormalization(L.Dense(3, activity_regularizer="l2", name="inner3"), name="divided"), L.Dense(2)]
updates.case("moments_penalised_inside", sequential(L.Input((4, 3)), *penalised))

# ---- the second call of a layer comes after layers that follow in the list ----
x = L.Input((5, 3), name="x")
times = T(L.Rescaling(0.5, name="half"), name="times")
y = L.RMSNormalization(name="norm")(times(x))
ends = [L.Dense(2, name="first")(L.AdditiveAttention(name="attention")([times(y), y])), L.Dense(2, name="second")(L.GlobalAveragePooling1D(name="pool")(y))]
case("distributed_again", keras.Model(x, L.Add(name="ends")([L.GlobalMaxPooling1D(name="most")(ends[0]), ends[1]])), trained=True)

# ---- a layer that each step changes: it divides the kernel that the step before has divided ----
S = L.SpectralNormalization
inside = keras.Sequential([L.Input((5, 4)), S(L.Conv1D(4, 2, activation="tanh", kernel_regularizer="l2", name="conv"), power_iterations=2, name="divided"),
                           L.BatchNormalization(momentum=0.8, name="norm"), L.GlobalAveragePooling1D()], name="inside")
still = S(L.Dense(3, activation="tanh", name="still"), name="frozen")
still.trainable = False
x = L.Input((2, 3, 5, 2), name="x")
deep = T(T(S(L.Dense(4, activity_regularizer="l2", name="inner"), name="normed"), name="rows"), name="frames")(L.Reshape((2, 15, 2))(x))
deep = T(T(inside, name="pairs"), name="all")(L.Reshape((2, 3, 5, 4))(deep))
updates.case("moments_distributed_spectral", keras.Model(x, L.Dense(2, name="last")(L.Flatten()(T(still, name="steps")(L.Reshape((6, 4))(deep))))))

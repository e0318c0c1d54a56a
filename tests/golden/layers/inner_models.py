"""Writes a file per model that has models as layers, in the form of models.py.

    python tests/golden/layers/inner_models.py tests/golden/layers                                  Keras 3.15
    TF_USE_LEGACY_KERAS=1 python tests/golden/layers/inner_models.py tests/golden/layers            Keras 2, by the package tf_keras 2.21
"""
from cases import L, case, keras, np, sequential

# Two inputs and two outputs, called twice; a chain called twice, and one called once. The outer model has layers of the same names.
p, q = keras.Input((3,), name="p"), keras.Input((3,), name="q")
pair = keras.Model([p, q], [L.Dense(2, name="dense", kernel_regularizer="l2")(p), L.Add(name="add")([p, L.Dense(3, name="other")(q)])], name="pair")
chain = keras.Sequential([L.Input((3,)), L.Dense(4, activation="tanh", name="first"), L.BatchNormalization(name="norm", trainable=False)], name="chain")
widen = keras.Sequential([L.Dense(3, name="first"), L.Dense(3, name="second")], name="widen")
a, b = keras.Input((3,), name="a"), keras.Input((4,), name="b")
one, two = pair([a, widen(b)])
three, four = pair([two, a])
joined = L.Concatenate(name="joined")([one, two, three, four, chain(two), chain(four)])
case("inner_shared", keras.Model([a, b], L.Dense(2, name="dense")(joined), name="outer"), trained=True)

# Models in models, one of them frozen, in a Sequential one.
x = keras.Input((5, 2), name="x")
inner = keras.Sequential([L.Input((5, 3)), L.Dense(2, name="down")], name="inner")
deep = keras.Sequential([L.Input((5, 2)), L.Dense(3, name="up"), inner], name="deep")
recurrent = keras.Model(x, L.GRU(3, name="gru")(deep(x)), name="recurrent")
frozen = keras.Sequential([L.Input((3,)), L.Dense(4, name="dense")], name="frozen")
frozen.trainable = False
case("inner_deep", sequential(L.Input((5, 2)), recurrent, frozen, L.Dense(2)), trained=True)

# A tower of ids: a table inside a model, used for two inputs.
ids = keras.Input((2,), dtype="int32", name="ids")
tower = keras.Model(ids, L.Dense(3, name="up")(L.Flatten(name="flat")(L.Embedding(7, 2, name="table")(ids))), name="tower")
u, v = keras.Input((2,), dtype="int32", name="u"), keras.Input((2,), dtype="int32", name="v")
case("inner_tower", keras.Model([u, v], L.Dot(axes=1, name="product")([tower(u), tower(v)]), name="towers"), trained=True,
     inputs=[np.int32([[0, 6], [3, 3], [5, 1]]), np.int32([[2, 2], [6, 0], [4, 5]])])

# A model of sequences of any length, called with sequences of two lengths.
steps = keras.Input((None, 3), name="steps")
mixed = L.Add(name="add")([steps, L.Dense(3, activation="tanh", name="dense")(L.LayerNormalization(name="norm")(steps))])
block = keras.Model(steps, mixed, name="block")
lists = keras.Sequential([keras.Input((None, 3)), L.Conv1D(2, 2, name="conv")], name="lists")
long, short = keras.Input((5, 3), name="long"), keras.Input((3, 3), name="short")
pooled = [L.Flatten(name="flat%d" % i)(lists(block(x))) for i, x in enumerate((long, short))]
case("inner_open", keras.Model([long, short], L.Dense(2, name="last")(L.Concatenate(name="all")(pooled)), name="open"), trained=True)

# A model whose output is that of a model inside it, whose output is the second call of one inside that.
low, mid = keras.Input((3,), name="low"), keras.Input((3,), name="mid")
twice = keras.Model(low, L.Dense(3, activation="tanh", name="dense")(low), name="twice")
case("inner_last", keras.Model(a, keras.Model(mid, twice(twice(mid)), name="middle")(L.Dense(3, name="first")(a)), name="last"), trained=True)

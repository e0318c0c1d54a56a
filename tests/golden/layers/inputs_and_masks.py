"""Models with inputs of small types, and masks that MultiHeadAttention takes away, in the form of models.py.

    python tests/golden/layers/inputs_and_masks.py tests/golden/layers            Keras 3.15
"""
from cases import L, case, keras, np, random

# ---- each axis rolled by its own shift; inputs of small types ----
x = keras.Input((2, 3, 4), name="x")
case("rolled", keras.Model(x, L.Dense(2)(L.Flatten()(keras.ops.roll(L.Dense(3)(x), (1, -2, -1), axis=(1, -1, 2))))), trained=True)
counts, image = keras.Input((4,), dtype="bool", name="counts"), keras.Input((3, 3, 2), dtype="uint8", name="image")
steps = L.GRU(3, return_sequences=True, name="steps")(keras.ops.reshape(L.Rescaling(1 / 255, name="scaled")(image), (-1, 3, 6))[:, :1])
steps = L.GRU(3, name="last")(L.Concatenate(axis=1, name="four")([steps, steps, steps, steps]), mask=counts)
case("small_inputs", keras.Model([counts, image], L.Dense(2)(L.Concatenate(name="all")([steps, L.Dense(2, name="of_truths")(counts)]))), trained=True,
     inputs=[np.array([[1, 1, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]], bool), random.randint(0, 256, (3, 3, 3, 2)).astype(np.uint8)])

# ---- the loss of the first model is that of all steps, of the second that of the unmasked ones ----
ids = keras.Input((4,), dtype="int64", name="ids")
places = [np.int64([[1, 5, 0, 0], [3, 2, 0, 4], [5, 4, 1, 2]])]
for kept in (False, True):
    table = L.Embedding(6, 3, mask_zero=True, name="table")(ids)
    seen = L.MultiHeadAttention(2, 2, name="first")(table, table)
    again = seen if kept else L.LayerNormalization(name="norm")(L.Add(name="add")([table, seen]))
    end = L.Dense(2, name="end")(L.MultiHeadAttention(1, 2, name="second")(again if kept else table, again))
    case("masks_" + ("kept" if kept else "taken"), keras.Model(ids, end), trained=True, masked=True, inputs=places)

# ---- of two attentions side by side, the one that Keras runs first gets the mask; so do layers after one in a nested model, or behind a layer that passes x on ----
table = L.Embedding(6, 3, mask_zero=True, name="table")(ids)
sides = [L.Dense(3, name="of_" + name)(L.MultiHeadAttention(1, 2, name=name)(table, table)) for name in ("left", "right")]
case("masks_beside", keras.Model(ids, L.Dense(2, name="end")(L.Add(name="both")(sides))), trained=True, masked=True, inputs=places)
x = keras.Input((4, 3), name="x")
block = keras.Model(x, L.MultiHeadAttention(1, 2, name="inside")(x, x), name="block")
for within in (True, False):
    table = L.Embedding(6, 3, mask_zero=True, name="table")(ids)
    same = L.Dropout(0.0, name="same")(table)
    seen = block(table) if within else L.MultiHeadAttention(1, 2, name="attention")(same, same)
    both = L.Add(name="both")([L.Dense(2, name="of_table")(table), L.Dense(2, name="of_seen")(seen)])
    case("masks_" + ("within" if within else "passed_on"), keras.Model(ids, both), trained=True, masked=True, inputs=places)

# ---- products and extremes leave masked inputs out ----
first, second = (L.Embedding(6, 3, mask_zero=True, name=name) for name in ("first", "second"))
others = keras.Input((4,), dtype="int64", name="others")
a, b, c = first(ids), second(others), L.Dense(3, name="unmasked")(keras.ops.stack([keras.ops.cast(ids, "float32")] * 2, axis=-1))
for name, layer in (("multiplied", L.Multiply), ("maximum", L.Maximum), ("minimum", L.Minimum)):
    both = L.Concatenate(name="both")([layer(name="two")([a, b]), layer(name="three")([a, c, b]), layer(name="after")([c, a])])
    case("masks_" + name, keras.Model([ids, others], L.Concatenate(name="ends")([L.Dense(2, name="end")(both), layer(name="alone")([a, b])])), trained=True,
         masked=True, inputs=places + [np.int64([[0, 2, 3, 0], [1, 0, 0, 0], [0, 5, 5, 4]])])

# ---- in a Sequential model, no layer gets its mask by an argument ----
steps = random.uniform(-1, 1, (3, 4, 2)).astype(np.float32)
steps[1, 2:], steps[2, 1:] = 0, 0
case("masks_normalized", keras.Sequential([
    L.Input((4, 2)), L.Masking(), L.Normalization(mean=0.25, variance=0.5), L.GRU(3, return_sequences=True), L.Dense(2)]), trained=True, masked=True, inputs=[steps])

# ---- a softmax of the elements that a mask keeps: of each element, and of each row for all columns ----
x, kept, wide = keras.Input((3, 4), name="x"), keras.Input((3, 4), dtype="bool", name="kept"), keras.Input((1, 4), name="wide")
scores = [L.Softmax(name="each")(L.Dense(4, name="left")(x), mask=kept), L.Softmax(axis=[1, 2], name="all")(L.Dense(4, name="right")(x), mask=wide)]
case("softmax_masked", keras.Model([x, kept, wide], L.Dense(2, name="end")(keras.ops.matmul(*scores[:1], keras.ops.swapaxes(scores[1], 1, 2)))), trained=True, inputs=[
    random.uniform(-1, 1, (3, 3, 4)).astype(np.float32), random.uniform(size=(3, 3, 4)) < np.reshape([0.5, 0.0, 0.8], (3, 1, 1)),
    np.float32([[[0, 1, 0.25, 0.75]], [[1, 1, 1, 1]], [[0, 0, 1, 0]]])])

# ---- a mask that a nested model is given is that of the tensor again, which an attention has taken away ----
step = keras.Input((4, 3), name="step")
for within in (True, False):
    table = L.Embedding(6, 3, mask_zero=True, name="table")(ids)
    inner = block if within else keras.Model(step, L.Dense(3, name="inside")(step), name="block")
    given = inner(table, mask=keras.ops.not_equal(ids, 0))
    seen = L.ReLU(name="later")(L.ReLU(name="after")(L.MultiHeadAttention(1, 2, name="first")(table, table)))
    both = [L.Dense(2, name="of_" + name)(y) for name, y in (("seen", seen), ("given", L.ReLU(name="behind")(given)), ("table", table))]
    case("masks_given_" + ("within" if within else "again"), keras.Model(ids, L.Add(name="all")(both)), trained=True, masked=True, inputs=places)

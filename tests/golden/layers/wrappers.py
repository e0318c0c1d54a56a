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

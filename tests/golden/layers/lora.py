"""Writes a file per model whose layers have lora_rank, in the form of models.py.

    python tests/golden/layers/lora.py tests/golden/layers            Keras 3.15
"""
from cases import L, case, keras, np, sequential

case("lora", sequential(
    L.Input((6, 3)), L.Dense(4, activation="tanh", lora_rank=2, kernel_regularizer="l2", bias_regularizer="l1", name="dense"),
    L.EinsumDense("abc,cde->abde", (None, 2, 3), lora_rank=1, lora_alpha=3, bias_axes="de", name="einsum"),
    L.Conv2D(3, 2, lora_rank=2, lora_alpha=1, activation="tanh", name="images"), L.Reshape((5, 3)),
    L.Conv1D(4, 2, lora_rank=3, use_bias=False, padding="causal", name="steps"), L.Reshape((5, 2, 2, 1)),
    L.Conv3D(2, 2, lora_rank=1, lora_alpha=2, name="volumes"), L.Flatten(), L.Dense(2, name="end")), trained=True)
ids = keras.Input((4,), dtype="int64", name="ids")
table = L.Embedding(7, 5, lora_rank=2, lora_alpha=5, mask_zero=True, name="table")(ids)
case("lora_table", keras.Model(ids, L.Dense(2, name="end")(L.GRU(3, name="gru")(table))), trained=True,
     inputs=[np.int64([[1, 5, 0, 0], [3, 2, 0, 4], [5, 4, 1, 6]])])

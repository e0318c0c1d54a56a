"""The activations that models.py does not have, in its form.

    python tests/golden/layers/activations.py tests/golden/layers            Keras 3.15
"""
from cases import L, case, keras

for name in ("celu", "hard_tanh", "hard_shrink", "soft_shrink", "tanh_shrink", "sparse_plus", "sparse_sigmoid", "squareplus", "glu", "sparsemax"):
    layers = [L.Input((3,)), L.Dense(6, kernel_initializer="ones", activation=name), L.Dense(2)]
    if name == "glu":  # Keras takes its output to be as long as its input, so no layer can follow
        del layers[2]
    case("activation_" + name, keras.Sequential(layers), batch=5)

# ---- layers as activations of others ----
case("activation_of_layers", keras.Sequential([
    L.Input((4, 3)), L.Dense(5, activation=L.LeakyReLU(0.1)), L.Conv1D(4, 2, activation=L.ELU(0.7)), L.Dense(4, activation=L.Softmax(axis=1)), L.Dense(4, activation=L.Activation("tanh")),
    L.LSTM(3, activation=L.ReLU(negative_slope=0.25)), L.Activation(L.ReLU(max_value=0.5, threshold=0.125)), L.Dense(2)]), batch=5, trained=True)

"""The activations that models.py does not have, in its form.

    python tests/golden/layers/activations.py tests/golden/layers            Keras 3.15
"""
from cases import L, case, keras

for name in ("celu", "hard_tanh", "hard_shrink", "soft_shrink", "tanh_shrink", "sparse_plus", "sparse_sigmoid", "squareplus", "glu", "sparsemax"):
    layers = [L.Input((3,)), L.Dense(6, kernel_initializer="ones", activation=name), L.Dense(2)]
    if name == "glu":  # Keras takes its output to be as long as its input, so no layer can follow
        del layers[2]
    case("activation_" + name, keras.Sequential(layers), batch=5)

"""Models that pool to a given size, in the form of models.py.

    python tests/golden/layers/adaptive.py tests/golden/layers            Keras 3.15
"""
from cases import L, case, sequential

case("adaptive_sequence", sequential(
    L.Input((7, 3)), L.Conv1D(4, 1, activation="tanh"), L.AdaptiveAveragePooling1D(5), L.Conv1D(3, 1), L.AdaptiveMaxPooling1D(2), L.Flatten(),
    L.Dense(2)), trained=True)
case("adaptive_images", sequential(
    L.Input((7, 9, 2)), L.Conv2D(3, 2, activation="tanh"), L.AdaptiveAveragePooling2D((4, 5)), L.Conv2D(2, 1), L.AdaptiveMaxPooling2D((3, 3)),
    L.AdaptiveAveragePooling2D((2, 2)), L.Flatten(), L.Dense(2)), trained=True)
case("adaptive_volumes", sequential(
    L.Input((5, 4, 6, 2)), L.Conv3D(3, 1, activation="tanh"), L.AdaptiveMaxPooling3D((3, 4, 5)), L.Conv3D(2, 1), L.AdaptiveAveragePooling3D(2), L.Flatten(),
    L.Dense(2)), trained=True)

"""Writes models in which two axes have the same size, so that Keras 3 takes another one than the layer's argument names.

    python tests/golden/layers/equal_sizes.py tests/golden/layers            Keras 3.15
"""
from cases import L, case, sequential

E = L.EinsumDense
case("einsum_bias", sequential(
    L.Input((2, 5)), E("abc,bd->adc", (5, 5), bias_axes="d", activation="tanh"), L.Reshape((5, 5, 1)), E("abcd,ce->abed", (5, 5, 1), bias_axes="e", activation="tanh"),
    E("abcd,be->aecd", (4, 5, 1), bias_axes="e"), E("abcd,be->aecd", (3, 5, 1), bias_axes="c"), L.Flatten(), L.Dense(2)), trained=True)
case("rms_norm_axis", sequential(
    L.Input((4, 3, 3)), L.Dense(3), L.RMSNormalization(axis=2, epsilon=0.01), L.Dense(4, activation="tanh"), L.Reshape((3, 4, 4)), L.RMSNormalization(axis=-2), L.Flatten(),
    L.Dense(2)), trained=True)

"""Writes a model of EinsumDense layers whose bias Keras 3 adds along another axis than bias_axes names, because both have the same size.

    python tests/golden/layers/einsum_bias.py tests/golden/layers            Keras 3.15
"""
from cases import L, case, sequential

E = L.EinsumDense
case("einsum_bias", sequential(
    L.Input((2, 5)), E("abc,bd->adc", (5, 5), bias_axes="d", activation="tanh"), L.Reshape((5, 5, 1)), E("abcd,ce->abed", (5, 5, 1), bias_axes="e", activation="tanh"),
    E("abcd,be->aecd", (4, 5, 1), bias_axes="e"), E("abcd,be->aecd", (3, 5, 1), bias_axes="c"), L.Flatten(), L.Dense(2)), trained=True)

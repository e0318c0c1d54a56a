"""Writes a file per model of ConvLSTM layers, in the form of models.py.

    python tests/golden/layers/conv_lstm.py tests/golden/layers            Keras 3.15
"""
from cases import L, case, keras, sequential


def conv_lstm(name, shape, *layers, trained=True):
    case("conv_lstm_" + name, sequential(L.Input(shape), *layers), trained=trained, batch=2)


conv_lstm("1d", (3, 5, 2), L.ConvLSTM1D(2, 2, return_sequences=True, strides=2), L.ConvLSTM1D(3, 2, padding="same", go_backwards=True),
          L.Flatten(), L.Dense(2))
conv_lstm("2d", (3, 4, 5, 2), L.ConvLSTM2D(2, (2, 3), return_sequences=True), L.ConvLSTM2D(
    3, 2, padding="same", strides=2, use_bias=False, unroll=True, kernel_regularizer="l2"), L.Flatten(), L.Dense(2))
conv_lstm("2d_dilated", (3, 5, 5, 1), L.ConvLSTM2D(2, 2, dilation_rate=2, unit_forget_bias=False, activation="relu"), L.Flatten(), L.Dense(2))
conv_lstm("3d", (2, 3, 3, 2, 2), L.ConvLSTM3D(2, (2, 2, 1), return_sequences=True), L.ConvLSTM3D(1, 2, padding="same"), L.Flatten(), L.Dense(2))
conv_lstm("dropped", (3, 4, 4, 2), L.ConvLSTM2D(2, 2, dropout=0.3, recurrent_dropout=0.2, return_sequences=True), L.ConvLSTM2D(2, 2, dropout=0.5),
          L.Flatten(), L.Dense(2), trained=False)
x = L.Input((3, 4, 4, 2))
whole, h, c = L.ConvLSTM2D(2, 2, return_sequences=True, return_state=True, padding="same")(x)
case("conv_lstm_states", keras.Model(x, L.Dense(2)(L.Flatten()(L.ConvLSTM2D(2, 2, padding="same")(whole, initial_state=[h, c])))), trained=True, batch=2)
conv_lstm("both", (3, 4, 4, 2), L.Bidirectional(L.ConvLSTM2D(2, 2, return_sequences=True, name="inner"), name="both"), L.Bidirectional(
    L.ConvLSTM2D(3, 2, strides=2, go_backwards=True, name="last"), merge_mode="ave", backward_layer=L.ConvLSTM2D(3, 2, strides=2, name="back")),
    L.Flatten(), L.Dense(2))
x = L.Input((3, 5, 2))
whole, h, c, back_h, back_c = L.Bidirectional(L.ConvLSTM1D(2, 3, padding="same", return_state=True, return_sequences=True), merge_mode="mul")(x)
whole = L.Bidirectional(L.ConvLSTM1D(2, 3, padding="same"), merge_mode="sum")(whole, initial_state=[c, h, back_h, back_c])
case("conv_lstm_both_states", keras.Model(x, L.Dense(2)(L.Flatten()(whole))), trained=True, batch=2)

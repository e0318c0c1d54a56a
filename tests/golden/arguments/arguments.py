"""Writes arguments.txt for tests/unit/layers/test_arguments.c. Lines `layer CLASS ARGUMENT…`: of each class of keras.layers, the arguments of
its constructor but for those of every layer. Lines `json TEXT`: models in which arguments count that count in none of the other models here.

    python tests/golden/arguments/arguments.py > tests/golden/arguments/arguments.txt            Keras 3.15
"""
import inspect
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras

L = keras.layers
OF_EVERY_LAYER = {"self", "args", "kwargs", "name", "dtype", "trainable"}

for name in sorted(dir(L)):
    layer = getattr(L, name)
    if inspect.isclass(layer) and layer.__name__ == name:
        print("layer", name, *(a for a in inspect.signature(layer.__init__).parameters if a not in OF_EVERY_LAYER))


def show(inputs, outputs):
    print("json", keras.Model(inputs, outputs).to_json())


x = keras.Input((4, 3))
for layer in (L.Attention, L.AdditiveAttention):
    show(x, layer(dropout=0.5, seed=1)([x, x]))
show(x, L.GroupQueryAttention(2, 2, 1, dropout=0.5, seed=1)(x, x))
for cell in (L.SimpleRNNCell(2, dropout=0.5, seed=1), L.LSTMCell(2, dropout=0.5, seed=1), L.GRUCell(2, dropout=0.5, seed=1)):
    show(x, L.RNN(cell, return_state=True)(x)[1])
for layer in (L.Equalization(), L.RandomCrop(2, 3, seed=1), L.ContrastLimitedAdaptiveHistogramEqualization(tile_grid_size=(2, 2)), L.RandAugment(seed=1), L.AugMix(seed=1),
              L.MixUp(seed=1), L.CutMix(seed=1), L.MaxNumBoundingBoxes(2), L.RandomElasticTransform(fill_mode="constant", seed=1)):
    print("json", keras.Sequential([keras.Input((4, 4, 3)), layer, L.Rescaling(1.0)]).to_json())
for layer, shape in ((L.ConvLSTM1D, (2, 4, 1)), (L.ConvLSTM3D, (2, 3, 3, 3, 1))):
    images = keras.Input(shape)
    show(images, layer(1, 2, dropout=0.5, seed=1)(images))

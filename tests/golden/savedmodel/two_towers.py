"""Writes two_towers/: two variables of one name behind two signatures, as tf.saved_model.save writes the variables of Keras 3.

    python tests/golden/savedmodel/two_towers.py        (under a Python with TensorFlow 2.21 and Keras 3)

`serving_default` answers x + 1 and `item` x + 100. The restore function of such an export fills variables that no signature reads; only the
object graph says which key of the checkpoint belongs to the handle that a signature is called with. Names do not: both objects are `offset`, the handles `offset`
and `offset_1`, in an order that is not the objects'.
"""
import os
import shutil

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras  # noqa: E402
import tensorflow as tf  # noqa: E402


class TwoTowers(tf.Module):
    def __init__(self):
        super().__init__()
        self.user = keras.Variable([1.0, 1.0], name="offset")
        self.item = keras.Variable([100.0, 100.0], name="offset")

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, "x")])
    def ask_user(self, x):
        return {"y": x + self.user.value}

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, "x")])
    def ask_item(self, x):
        return {"y": x + self.item.value}


directory = os.path.join(os.path.dirname(os.path.abspath(__file__)), "two_towers")
shutil.rmtree(directory, ignore_errors=True)
model = TwoTowers()
tf.saved_model.save(model, directory, {"serving_default": model.ask_user, "item": model.ask_item},
                    tf.saved_model.SaveOptions(save_debug_info=False))
os.remove(os.path.join(directory, "fingerprint.pb"))
os.rmdir(os.path.join(directory, "assets"))
loaded = tf.saved_model.load(directory).signatures
for name in ("serving_default", "item"):
    print(name, loaded[name](x=tf.constant([0.0, 10.0]))["y"].numpy())

"""A classifier of sequences and a Transformer block, trained by pstrain on ids: TensorFlow loads their exports in two ways and gives
modelserver's answers, and they have learned."""
from tensorflow_oracle import ask, assert_agrees, np, tf

from harness import Server, TestCase, main, train

keras = tf.keras
L = keras.layers
STEPS, WORDS = 12, 20


def sequences(count, seed):
    """Ids 1 to 19, padded with 0. The class is 1 if there are more of the upper half than of the lower."""
    numbers = np.random.default_rng(seed)
    x = numbers.integers(1, WORDS, (count, STEPS))
    for row, length in zip(x, numbers.integers(3, STEPS + 1, count)):
        row[length:] = 0
    return x.astype(np.int32), ((x > WORDS // 2).sum(1) > ((x > 0) & (x <= WORDS // 2)).sum(1)).astype(np.int32)


def recurrent():
    return keras.Sequential([keras.Input((STEPS,), dtype="int32", name="x"), L.Embedding(WORDS, 8, mask_zero=True),
                             L.Bidirectional(L.LSTM(8)), L.Dense(2, activation="softmax")])


def transformer():
    inputs = keras.Input((STEPS,), dtype="int32", name="x")
    x = L.Embedding(WORDS, 8, mask_zero=True)(inputs)
    x = L.LayerNormalization()(L.Add()([x, L.MultiHeadAttention(2, 4)(x, x)]))
    x = L.LayerNormalization()(L.Add()([x, L.Dense(8)(L.Dense(16, activation="relu")(x))]))
    return keras.Model(inputs, L.Dense(2, activation="softmax")(L.GlobalAveragePooling1D()(x)))


class Sequences(TestCase):
    def check(self, model):
        model.compile(keras.optimizers.Adam(0.02), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
        with open(self.path("model.json"), "w", encoding="utf-8") as file:
            file.write(model.to_json())
        x, labels = sequences(600, 1)
        np.savez(self.path("train.npz"), x=x, label=labels)
        directory = self.path("model/1")
        train(directory, "--model=" + self.path("model.json"), "--train_files=" + self.path("train.npz"), "--work_dir=" + self.path("work"),
              "--stop_at_step=150", "--batch_size=50", "--workers=2", "--ps=2", "--sync")
        x, labels = sequences(200, 2)
        loaded = tf.saved_model.load(directory).signatures
        name = next(name for name, function in loaded.items() if "inputs" not in function.structured_input_signature[1])
        (key, spec), = loaded[name].structured_input_signature[1].items()
        inputs = {key: x.astype(spec.dtype.as_numpy_dtype)}
        ways = {"tf.saved_model.load": {k: v.numpy() for k, v in loaded[name](**{k: tf.constant(v) for k, v in inputs.items()}).items()}}
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            stored = tf.compat.v1.saved_model.load(session, ["serve"], directory).signature_def[name]
            ways["session"] = session.run({k: t.name for k, t in stored.outputs.items()},
                                          {stored.inputs[k].name: v for k, v in inputs.items()})
        with Server(self.path("model")) as server:
            answers = ask(server, name, inputs, list(ways["session"]))
        for way, outputs in ways.items():
            for output, want in outputs.items():
                assert_agrees(self, answers[output], want, 1e-5, way)
        (scores,) = ways["session"].values()
        # A guess is right half of the time; both models reach 0.9 and more here.
        self.assertGreater(np.mean(scores.argmax(1) == labels), 0.8)

    def test_recurrent(self):
        self.check(recurrent())

    def test_transformer(self):
        self.check(transformer())


if __name__ == "__main__":
    main()

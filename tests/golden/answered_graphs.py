"""Writes GraphDefs that bring TensorFlow's answers with them, which tests/unit/runtime/answered_graph.h reads.

A graph brings its answers as constants: `answers/N/feed/NAME` is fed to the placeholder NAME in run N, and
`answers/N/fetch/NAME` is what NAME gives; `answers/N/error` is a part of TensorFlow's error text instead. The runs share the variables, which
the target `initialise` sets. Runs follow each other in the order of N.
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.python.framework.meta_graph import strip_graph_default_valued_attrs  # noqa: E402

v1 = tf.compat.v1


def message(error):
    """The part of the text that does not name nodes: handles of arrays are numbered anew in each session."""
    lines = error.message.removeprefix("Graph execution error:\n\n").split("\n")
    nodes = [i for i, line in enumerate(lines) if line.startswith("Node: ")]
    text = (lines[nodes[0] + 1] if nodes else lines[0]).split(" [[")[0]
    if text.startswith("Wrong input container."):
        return text[:text.index("TensorArray")]
    if "Could not find key" in text:
        return text[:text.index(' "')]
    text = text.split(" from {{")[0].split(" while building NodeDef")[0]
    if text.startswith("external/"):  # a file of a library, and the condition that failed
        return text[text.index("] ") + 2:]
    for mark in (": Could not", ": Tried", "] overflowed"):
        if mark in text:
            text = text[text.index(mark) + 2:]
    return text.strip()


def save(path, definition, answers):
    """Writes a graph with constants of these values and names."""
    with v1.Graph().as_default() as graph:
        v1.import_graph_def(definition, name="")
        for name, value in answers.items():
            tf.constant(value, name=name)
        definition = graph.as_graph_def()
    meta_graph = v1.MetaGraphDef(graph_def=definition)
    strip_graph_default_valued_attrs(meta_graph)
    definition = meta_graph.graph_def
    for node in definition.node:
        node.attr.pop("_class", None)
        node.ClearField("experimental_debug_info")
    path.write_bytes(definition.SerializeToString(deterministic=True))


def write(path, function):
    """Writes the graph that `function` makes, with the answers of its runs: it returns the tensors to fetch, by name, and the feeds of each run."""
    with v1.Graph().as_default() as graph, v1.Session() as session:
        fetches, runs = function()
        fetches = {name: tf.identity(tensor, name="out_" + name) for name, tensor in fetches.items()}
        init = tf.group(v1.global_variables_initializer(), v1.tables_initializer(), name="initialise")
        definition = graph.as_graph_def()
        session.run(init)
        answers = {}
        for number, feeds in enumerate(runs):
            for tensor, value in feeds.items():
                answers[f"answers/{number}/feed/{tensor.op.name}"] = np.array(value, tensor.dtype.as_numpy_dtype)
            try:
                for name, value in session.run(fetches, feeds).items():
                    answers[f"answers/{number}/fetch/out_{name}"] = value
            except tf.errors.OpError as error:
                answers[f"answers/{number}/error"] = message(error)
    save(path, definition, answers)

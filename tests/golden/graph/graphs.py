#!/usr/bin/env python3
"""Writes the GraphDefs that test_flatten.c reads, one *.pb for each text below.

    python tests/golden/graph/graphs.py

Made with TensorFlow 2.21 (only its protobuf messages are used).
"""
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from google.protobuf import text_format  # noqa: E402
from tensorflow.core.framework import graph_pb2  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent

FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'
DTYPE = 'attr { key: "dtype" value { type: DT_FLOAT } }'


def node(name, op, inputs="", attrs=""):
    listed = " ".join(f'input: "{text}"' for text in inputs.split())
    return f'{{ name: "{name}" op: "{op}" {listed} {attrs} }}'


def types(key, text):
    listed = " ".join(f"type: {name}" for name in text.split())
    return f'attr {{ key: "{key}" value {{ list {{ {listed} }} }} }}'


def call(function, tin, tout):
    return (types("Tin", tin) + types("Tout", tout) +
            f'attr {{ key: "f" value {{ func {{ name: "{function}" }} }} }}')


def arg(kind, name, rest="type: DT_FLOAT"):
    return f'{kind} {{ name: "{name}" {rest} }}'


def ret(name, value):
    return f'ret {{ key: "{name}" value: "{value}" }}'


def control(name):
    return f'control_ret {{ key: "{name}" value: "{name}" }} '


VARIABLE = node("v", "VarHandleOp", "", DTYPE + 'attr { key: "shape" value { shape { } } }')

TOWER = "".join(f"""
          function {{
            signature {{ name: "g{k}" {arg("input_arg", "a")} {arg("output_arg", "r")} }}
            node_def {node("slope", "SymbolicGradient", "a a", call(f"g{k - 1}", "DT_FLOAT DT_FLOAT", "DT_FLOAT"))}
            {ret("r", "slope:output:0")}
          }}""" for k in range(1, 21))

GRAPHS = {
    # y = relu(x) + x, in a function in a function; the argument `unused` is computed for nobody
    "nested": f"""
        node {node("x", "Placeholder", "", DTYPE)}
        node {node("unused", "Neg", "x", FLOAT)}
        node {node("call", "PartitionedCall", "x unused", call("outer", "DT_FLOAT DT_FLOAT", "DT_FLOAT"))}
        node {node("y", "Identity", "call", FLOAT)}
        library {{
          function {{
            signature {{ name: "outer" {arg("input_arg", "a")} {arg("input_arg", "b")} {arg("output_arg", "r")} }}
            node_def {node("inner", "PartitionedCall", "a", call("relu", "DT_FLOAT", "DT_FLOAT"))}
            node_def {node("sum", "AddV2", "inner:output:0 a", FLOAT)}
            {ret("r", "sum:z:0")}
          }}
          function {{
            signature {{ name: "relu" {arg("input_arg", "a")} {arg("output_arg", "r")} }}
            node_def {node("Relu", "Relu", "a", FLOAT)}
            {ret("r", "Relu:activations:0")}
          }}
        }}""",
    # add = v += d; read = v. The second call must run behind the first, and `add` although it returns nothing
    "effects": f"""
        node {VARIABLE}
        node {node("d", "Placeholder", "", DTYPE)}
        node {node("first", "StatefulPartitionedCall", "v d", call("add", "DT_RESOURCE DT_FLOAT", ""))}
        node {node("second", "StatefulPartitionedCall", "v ^first", call("read", "DT_RESOURCE", "DT_FLOAT"))}
        node {node("y", "Identity", "second", FLOAT)}
        node {node("lone", "StatefulPartitionedCall", "v", call("read_and_add", "DT_RESOURCE", "DT_FLOAT"))}
        library {{
          function {{
            signature {{ name: "add" {arg("input_arg", "h", "type: DT_RESOURCE")} {arg("input_arg", "d")}
                         is_stateful: true control_output: "AssignAdd" }}
            node_def {node("twice", "AddV2", "d d", FLOAT)}
            node_def {node("AssignAdd", "AssignAddVariableOp", "h twice:z:0", DTYPE)}
            {control("AssignAdd")}
          }}
          function {{
            signature {{ name: "read" {arg("input_arg", "h", "type: DT_RESOURCE")} {arg("output_arg", "r")}
                         is_stateful: true }}
            node_def {node("Read", "ReadVariableOp", "h", DTYPE)}
            node_def {node("plain", "Neg", "Read:value:0", FLOAT)}
            {ret("r", "plain:y:0")}
          }}
          function {{
            signature {{ name: "read_and_add" {arg("input_arg", "h", "type: DT_RESOURCE")} {arg("output_arg", "r")}
                         is_stateful: true control_output: "AssignAdd" }}
            node_def {node("Read", "ReadVariableOp", "h", DTYPE)}
            node_def {node("AssignAdd", "AssignAddVariableOp", "h Read:value:0", DTYPE)}
            {ret("r", "Read:value:0")} {control("AssignAdd")}
          }}
        }}""",
    # a call by the function's own name, whose attributes the body takes; a list argument; `split:output:1`
    "attributes": f"""
        node {node("x", "Placeholder", "", DTYPE)}
        node {node("two", "generic", "x x", FLOAT + 'attr { key: "N" value { i: 2 } }')}
        node {node("y", "Identity", "two:1", FLOAT)}
        library {{
          function {{
            signature {{ name: "generic" {arg("input_arg", "xs", 'type_attr: "T" number_attr: "N"')}
                         {arg("output_arg", "first", 'type_attr: "T"')} {arg("output_arg", "rest", 'type_attr: "T"')}
                         attr {{ name: "T" type: "type" }} attr {{ name: "N" type: "int" }}
                         attr {{ name: "parts" type: "int" default_value {{ i: 3 }} }} }}
            node_def {node("joined", "AddN", "xs", 'attr { key: "T" value { placeholder: "T" } }'
                           'attr { key: "N" value { placeholder: "N" } }')}
            node_def {node("axis", "Const", "", 'attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value"'
                           ' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } }')}
            node_def {node("split", "Split", "axis:output:0 joined:sum:0", 'attr { key: "T" value { placeholder: "T" } }'
                           'attr { key: "num_split" value { placeholder: "parts" } }')}
            {ret("first", "xs:0")} {ret("rest", "split:output:2")}
          }}
        }}""",
    # a function that calls itself
    "recursion": f"""
        node {node("x", "Placeholder", "", DTYPE)}
        node {node("y", "PartitionedCall", "x", call("again", "DT_FLOAT", "DT_FLOAT"))}
        library {{
          function {{
            signature {{ name: "again" {arg("input_arg", "a")} {arg("output_arg", "r")} }}
            node_def {node("call", "PartitionedCall", "a", call("again", "DT_FLOAT", "DT_FLOAT"))}
            {ret("r", "call:output:0")}
          }}
        }}""",
    # forty functions, each calling the next one twice, around nothing
    "doubling": f"""
        node {node("x", "Placeholder", "", DTYPE)}
        node {node("y", "PartitionedCall", "x", call("f0", "DT_FLOAT", "DT_FLOAT"))}
        library {{ """ + "".join(f"""
          function {{
            signature {{ name: "f{i}" {arg("input_arg", "a")} {arg("output_arg", "r")} }}
            node_def {node("p", "PartitionedCall", "a", call(f"f{i + 1}", "DT_FLOAT", "DT_FLOAT"))}
            node_def {node("q", "PartitionedCall", "p:output:0", call(f"f{i + 1}", "DT_FLOAT", "DT_FLOAT"))}
            {ret("r", "q:output:0")}
          }}""" for i in range(40)) + f"""
          function {{
            signature {{ name: "f40" {arg("input_arg", "a")} {arg("output_arg", "r")} }} {ret("r", "a")}
          }}
        }}""",
    # TensorFlow 1: a loop, closed by an edge from NextIteration to Merge
    "loop": f"""
        node {node("x", "Placeholder", "", DTYPE)}
        node {node("enter", "Enter", "x", FLOAT)}
        node {node("merge", "Merge", "enter next", FLOAT + 'attr { key: "N" value { i: 2 } }')}
        node {node("grow", "AddV2", "merge merge", FLOAT)}
        node {node("next", "NextIteration", "grow", FLOAT)}
        node {node("exit", "Exit", "merge", FLOAT)}""",
    "cycle": f"""
        node {node("a", "Neg", "b", FLOAT)}
        node {node("b", "Neg", "a", FLOAT)}""",
    # a Merge that waits for a NextIteration: only an input closes a loop
    "waiting_merge": f"""
        node {node("x", "Placeholder", "", DTYPE)}
        node {node("merge", "Merge", "x ^next", FLOAT + 'attr { key: "N" value { i: 1 } }')}
        node {node("next", "NextIteration", "merge", FLOAT)}""",
    # a body with an argument of its own making
    "argument": f"""
        node {node("x", "Placeholder", "", DTYPE)}
        node {node("y", "PartitionedCall", "x", call("f", "DT_FLOAT", "DT_FLOAT"))}
        library {{
          function {{
            signature {{ name: "f" {arg("input_arg", "a")} {arg("output_arg", "r")} }}
            node_def {node("stray", "_Arg", "", FLOAT + ' attr { key: "index" value { i: 100000000 } }')}
            {ret("r", "stray:output:0")}
          }}
        }}""",
    # an op that Slipway does not know, in the graph and in a function
    "unknown": f"""
        node {node("x", "Placeholder", "", DTYPE)}
        node {node("call", "PartitionedCall", "x", call("f", "DT_FLOAT", "DT_FLOAT"))}
        node {node("y", "Frobnicate", "call", FLOAT)}
        library {{
          function {{
            signature {{ name: "f" {arg("input_arg", "a")} {arg("output_arg", "r")} }}
            node_def {node("strange", "Frobnicate", "a", FLOAT)}
            {ret("r", "strange:bars:0")}
          }}
        }}""",
    # damaged ones
    "two_names": f"""
        node {node("a", "NoOp")}
        node {node("a", "NoOp")}""",
    "no_input": f"""
        node {node("a", "Neg", "b", FLOAT)}""",
    "no_output": f"""
        node {node("b", "Placeholder", "", DTYPE)}
        node {node("a", "Neg", "b:1", FLOAT)}""",
    "wrong_type": f"""
        node {node("b", "Placeholder", "", DTYPE)}
        node {node("a", "Neg", "b", 'attr { key: "T" value { type: DT_INT32 } }')}""",
    "bad_constant": f"""
        node {node("c", "Const", "", DTYPE + 'attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {'
                   ' dim { size: 1152921504606846976 } } float_val: 1 } } }')}""",
    "bare_reference": f"""
        node {node("x", "Placeholder", "", DTYPE)}
        node {node("y", "PartitionedCall", "x", call("f", "DT_FLOAT", "DT_FLOAT"))}
        library {{
          function {{
            signature {{ name: "f" {arg("input_arg", "a")} {arg("output_arg", "r")} }}
            node_def {node("n", "Neg", "a", FLOAT)}
            node_def {node("m", "Neg", "n", FLOAT)}
            {ret("r", "m:y:0")}
          }}
        }}""",
    "builtin_name": f"""
        library {{
          function {{
            signature {{ name: "Neg" {arg("input_arg", "a")} {arg("output_arg", "r")} }} {ret("r", "a")}
          }}
        }}""",
    # a function that calls its own gradient; and one call that lacks the input dy
    "gradient_recursion": f"""
        node {node("x", "Placeholder", "", DTYPE)}
        node {node("y", "SymbolicGradient", "x x", call("again", "DT_FLOAT DT_FLOAT", "DT_FLOAT"))}
        node {node("z", "SymbolicGradient", "x", call("again", "DT_FLOAT", "DT_FLOAT"))}
        library {{
          function {{
            signature {{ name: "again" {arg("input_arg", "a")} {arg("output_arg", "r")} }}
            node_def {node("slope", "SymbolicGradient", "a a", call("again", "DT_FLOAT DT_FLOAT", "DT_FLOAT"))}
            {ret("r", "slope:output:0")}
          }}
        }}""",
    # the gradient of a gradient of …, 21 times
    "gradient_tower": f"""
        node {node("x", "Placeholder", "", DTYPE)}
        node {node("y", "SymbolicGradient", "x x", call("g20", "DT_FLOAT DT_FLOAT", "DT_FLOAT"))}
        library {{
          function {{
            signature {{ name: "g0" {arg("input_arg", "a")} {arg("output_arg", "r")} }}
            node_def {node("square", "Mul", "a a", FLOAT)}
            {ret("r", "square:z:0")}
          }}{TOWER}
        }}""",
}

for name, text in GRAPHS.items():
    graph = text_format.Parse(text, graph_pb2.GraphDef())
    (HERE / f"{name}.pb").write_bytes(graph.SerializeToString(deterministic=True))

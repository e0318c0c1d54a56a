#!/usr/bin/env python3
"""Writes the *.rows beside it, which tests/unit/runtime/test_kernels.c runs: make_rows.py [family…]

A family is a function of a *_rows.py. It has the name of the file that it writes, or of the first one if it writes several.
In some runs, XLA crashes at its first op (TensorFlow 2.21); the next run of the same family passes.
"""
import importlib
import pathlib
import sys

import rows  # noqa: F401, first: it says how TensorFlow is to start

wanted = sys.argv[1:]
for script in sorted(pathlib.Path(__file__).parent.glob("*_rows.py")):
    if script.stem != "make_rows":
        for family in importlib.import_module(script.stem).FAMILIES:
            if not wanted or family.__name__ in wanted:
                family()

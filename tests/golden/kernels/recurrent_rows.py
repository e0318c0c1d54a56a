"""Rows of LSTM and GRU cells."""
import numpy as np
import tensorflow as tf

from tensorflow.python.framework import op_def_registry

from drawn import unit_floats
from rows import Rows

PEEPHOLES = ["wci", "wcf", "wco"]


def recurrent():
    rows = Rows("recurrent", seed=3)
    for dtype in [np.float32, np.float16]:
        loose = 1e-2 if dtype == np.float16 else None
        for peephole in [False, True]:
            cells(rows, dtype, loose, peephole)
            sequences(rows, dtype, loose, peephole)
    grus(rows)
    wrong(rows)
    rows.write()


def weights(inputs, size, dtype):
    return [unit_floats(inputs + size, 4 * size, low=-1, dtype=dtype)] + [unit_floats(size, low=-1, dtype=dtype) for _ in PEEPHOLES] + [unit_floats(4 * size, low=-1, dtype=dtype)]


def cell_inputs(dtype, batch=2, inputs=3, size=4):
    return [unit_floats(batch, inputs, low=-2, high=2, dtype=dtype), unit_floats(batch, size, low=-2, high=2, dtype=dtype), unit_floats(batch, size, low=-1, dtype=dtype)] + weights(inputs, size, dtype)


def sequence_inputs(dtype, length, steps=4, batch=3, inputs=2, size=3):
    rest = cell_inputs(dtype, batch, inputs, size)
    return [np.int64(length), unit_floats(steps, batch, inputs, low=-2, high=2, dtype=dtype)] + rest[1:]


def run(op, inputs, **attrs):
    names = [arg.name for arg in op_def_registry.get(op).input_arg]
    return list(getattr(tf.raw_ops, op)(**dict(zip(names, map(tf.constant, inputs))), **attrs))


def cells(rows, dtype, loose, peephole):
    for attrs in [{}, dict(forget_bias=0.25, cell_clip=0.5), dict(cell_clip=-1.0)]:
        inputs = cell_inputs(dtype)
        rows.add("LSTMBlockCell", inputs, loose, use_peephole=peephole, **attrs)
        results = run("LSTMBlockCell", inputs, use_peephole=peephole, **attrs)
        rows.add("LSTMBlockCellGrad", inputs + results[:6] + [unit_floats(2, 4, low=-1, dtype=dtype), unit_floats(2, 4, low=-1, dtype=dtype)], loose, use_peephole=peephole)
    rows.add("LSTMBlockCell", cell_inputs(dtype, 1, 1, 1), loose, use_peephole=peephole)


def sequences(rows, dtype, loose, peephole):
    for op, settings in [("BlockLSTM", [{}, dict(forget_bias=0.5, cell_clip=0.25)]), ("BlockLSTMV2", [{}, dict(cell_clip=0.3)])]:
        for attrs in settings:
            for length in [4, 2, 0]:
                inputs = sequence_inputs(dtype, length)
                skip = (0, 2, 3, 4, 5) if length < 4 else ()  # not written behind the length
                rows.add(op, inputs, loose, skip=skip, use_peephole=peephole, **attrs)
                results = [np.nan_to_num(r.numpy(), posinf=0, neginf=0) for r in run(op, inputs, use_peephole=peephole, **attrs)]
                for result in results:
                    result[length:] = 0
                inputs += results + [unit_floats(4, 3, 3, low=-1, dtype=dtype), unit_floats(4, 3, 3, low=-1, dtype=dtype)]
                rows.add(op.replace("LSTM", "LSTMGrad"), inputs, loose, use_peephole=peephole)


def gru_inputs(batch=2, inputs=3, size=4):
    return [unit_floats(batch, inputs, low=-2, high=2), unit_floats(batch, size, low=-1), unit_floats(inputs + size, 2 * size, low=-1), unit_floats(inputs + size, size, low=-1), unit_floats(2 * size, low=-1),
            unit_floats(size, low=-1)]


def grus(rows):
    for sizes in [(2, 3, 4), (1, 1, 1), (3, 2, 5)]:
        inputs = gru_inputs(*sizes)
        rows.add("GRUBlockCell", inputs)
        results = run("GRUBlockCell", inputs)
        rows.add("GRUBlockCellGrad", inputs + results[:3] + [unit_floats(sizes[0], sizes[2], low=-1)])
    inputs = gru_inputs()
    inputs[0][0, 0] = np.nan
    rows.add("GRUBlockCell", inputs)


def wrong(rows):
    inputs = cell_inputs(np.float32)
    for i, value in [(0, inputs[0][:1]), (1, inputs[1][:, :2]), (2, inputs[2][:1]), (3, inputs[3][:3]), (3, inputs[3][:, :3]), (7, inputs[7][:3]), (4, inputs[4][None])]:
        rows.add("LSTMBlockCell", inputs[:i] + [value] + inputs[i + 1:], text=False)
    inputs = sequence_inputs(np.float32, 4)
    for i, value in [(0, np.int64([1])), (1, inputs[1][0]), (1, inputs[1][:, :1]), (2, inputs[2][0]), (3, inputs[3][:1]), (4, inputs[4][:2]), (5, inputs[5][:1]),
                     (6, inputs[6][:1]), (7, inputs[7][:1]), (8, inputs[8][:1])]:
        for op in ["BlockLSTM", "BlockLSTMV2"]:
            rows.add(op, inputs[:i] + [value] + inputs[i + 1:], text=False)
    inputs = gru_inputs()
    for i, value in [(0, inputs[0][:1]), (1, inputs[1][:, :2]), (2, inputs[2][:3]), (3, inputs[3][:3]), (4, inputs[4][:3]), (5, inputs[5][:3])]:
        rows.add("GRUBlockCell", inputs[:i] + [value] + inputs[i + 1:], text=False)


FAMILIES = [recurrent]

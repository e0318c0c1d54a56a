"""Rows of the ops of connectionist temporal classification."""
from rows import Rows

import numpy as np

RANDOM = np.random.RandomState(7)


def steps_of(*shape, dtype=np.float32):
    return np.round(RANDOM.uniform(-3, 3, shape), 3).astype(dtype)


def beam(rows):
    for dtype in [np.float32, np.float64]:
        steps = steps_of(7, 3, 5, dtype=dtype)
        for width, paths in [(1, 1), (2, 1), (2, 2), (4, 3), (10, 5), (100, 5), (3, 4)]:
            for merge in [False, True]:
                rows.add("CTCBeamSearchDecoder", [steps, np.int32([7, 5, 7])], beam_width=width, top_paths=paths, merge_repeated=merge)
        rows.add("CTCBeamSearchDecoder", [steps, np.int32([7, 0, 3])], beam_width=4, top_paths=1)
        rows.add("CTCBeamSearchDecoder", [steps, np.int32([7, 0, 3])], beam_width=4, top_paths=2)
        rows.add("CTCBeamSearchDecoder", [steps, np.int32([-1, 2, 3])], beam_width=4, top_paths=1)
        for width in [2, 3, 5, 8, 20]:  # ties
            if width < 8:
                rows.add("CTCBeamSearchDecoder", [np.zeros((4, 1, 4), dtype), np.int32([4])], beam_width=width, top_paths=width, merge_repeated=False)
            rows.add("CTCBeamSearchDecoder", [np.round(steps_of(6, 2, 4, dtype=dtype) / 3), np.int32([6, 5])], beam_width=width, top_paths=2, merge_repeated=False)
        rows.add("CTCBeamSearchDecoder", [steps_of(30, 1, 12, dtype=dtype), np.int32([30])], beam_width=25, top_paths=3, merge_repeated=False)
        sure = np.full((3, 1, 3), -np.inf, dtype)
        sure[[0, 1, 2], 0, [0, 2, 1]] = 0
        rows.add("CTCBeamSearchDecoder", [sure, np.int32([3])], beam_width=3, top_paths=1)
        rows.add("CTCBeamSearchDecoder", [steps_of(3, 1, 1, dtype=dtype), np.int32([3])], beam_width=3, top_paths=1)
    steps = np.zeros((2, 2, 3), np.float32)
    for lengths in [[1], [1, 3], [[1, 1]]]:
        rows.add("CTCBeamSearchDecoder", [steps, np.int32(lengths)], beam_width=2, top_paths=1)
    for wrong in [steps[0], steps[:0], steps[:, :0]]:
        rows.add("CTCBeamSearchDecoder", [wrong, np.int32([1, 1])], beam_width=2, top_paths=1)


def loss(rows):
    def add(steps, labels, lengths, **attributes):
        """Labels: a list for each row."""
        indices = [[b, i] for b, row in enumerate(labels) for i in range(len(row))]
        rows.add("CTCLoss", [steps, np.array(indices, np.int64).reshape(-1, 2), np.int32([label for row in labels for label in row]), np.int32(lengths)],
                 tolerance=1e-4 if steps.dtype == np.float32 else None, **attributes)  # TensorFlow adds logarithms in float, one after another
    for dtype in [np.float32, np.float64]:
        steps = steps_of(8, 3, 5, dtype=dtype)
        for attributes in [dict(), dict(ctc_merge_repeated=False), dict(preprocess_collapse_repeated=True), dict(preprocess_collapse_repeated=True, ctc_merge_repeated=False),
                           dict(ignore_longer_outputs_than_inputs=True)]:
            add(steps, [[0, 1, 1, 2], [3], [2, 0, 0, 0]], [8, 3, 7], **attributes)
            add(steps, [[0], [3, 3], [2]], [1, 3, 8], **attributes)
            add(steps, [[0, 1, 2, 3, 2], [1, 1], [1, 4]], [2, 2, 8], **attributes)
            add(steps, [[0], [1], [2]], [1, 0, 8], **attributes)
        add(steps * 100, [[0, 1], [3], [2, 0]], [8, 3, 7])
        add(steps_of(20, 1, 30, dtype=dtype), [list(range(0, 29, 3))], [20])
        add(steps_of(5, 1, 2, dtype=dtype), [[0]], [5])
        impossible = np.zeros((2, 1, 3), dtype)
        add(impossible, [[1, 1]], [2])
        for labels in [[[0, 4, 1], [1], [1]], [[-1], [1], [1]], [[], [1], [1]], [[1], [1], []]]:
            rows_of = [[b, i] for b, row in enumerate(labels) for i in range(len(row))]
            rows.add("CTCLoss", [steps, np.array(rows_of, np.int64), np.int32([label for row in labels for label in row]), np.int32([8, 8, 8])], text=labels[0] == [])
    steps = np.zeros((2, 2, 3), np.float32)
    pairs, values, lengths = np.int64([[0, 0], [1, 0]]), np.int32([0, 1]), np.int32([2, 2])
    for wrong in [[steps[0], pairs, values, lengths], [steps, pairs, values, np.int32([[2, 2]])], [steps, pairs[0], values, lengths], [steps, pairs, values[:, None], lengths],
                  [steps, pairs, values, np.int32([2])], [steps, pairs, values[:1], lengths], [steps[:, :0], pairs[:0], values[:0], lengths[:0]], [steps, pairs, values, np.int32([2, 3])],
                  [steps, pairs, values, np.int32([2, -1])]]:
        rows.add("CTCLoss", wrong)
    for wrong in [[[0, 0], [2, 0]], [[1, 0], [0, 0]], [[0, 0], [0, 0]], [[0, -1], [1, 0]]]:
        rows.add("CTCLoss", [steps, np.int64(wrong), values, lengths], text=False)


def ctc():
    rows = Rows("ctc")
    beam(rows)
    loss(rows)
    rows.write()


FAMILIES = [ctc]

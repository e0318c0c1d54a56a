"""Rows of products of matrices, and of what follows them in a dense layer."""
from rows import Rows
from drawn import FLOATS, INTEGERS, LOOSE, f32, floats, i32, integers

import numpy as np
import tensorflow as tf

# Of one operand or two, with the shapes: transposes, diagonals, sums, products, broadcast ellipses.
EQUATIONS = [
    ("ij->ji", (2, 3)), ("ij->ij", (2, 3)), ("ij->i", (2, 3)), ("ij->j", (2, 3)), ("ij->", (2, 3)), ("->", ()), ("i->", (3,)),
    ("ii->i", (3, 3)), ("ii->", (3, 3)), ("iij->ji", (2, 2, 3)), ("i->ii", (3,)), ("ij->iijj", (2, 3)), ("iji->jj", (2, 3, 2)),
    ("...ij->...ji", (2, 1, 3)), ("...->...", (2, 3)), ("i...->...", (2, 3)), ("...a->a...", (2, 3, 4)), ("...ii->...i", (2, 3, 3)),
    ("i...i->...", (3, 2, 3)), ("...i->...ii", (2, 2)), ("...i->i", (3,)), ("i->i...", (3,)), ("a1->1a", (2, 3)), ("Aa->aA", (2, 3)),
    ("abcd->dbca", (2, 3, 1, 4)),
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk->ki", (2, 3), (3, 4)), ("ji,jk->ik", (3, 2), (3, 4)), ("ij,kj->ik", (2, 3), (4, 3)),
    ("ji,kj->ik", (3, 2), (4, 3)), ("i,i->", (3,), (3,)), ("i,j->ij", (3,), (2,)), ("i,j->ji", (3,), (2,)), ("i,i->i", (3,), (3,)),
    (",->", (), ()), ("i,->i", (3,), ()), (",ij->ji", (), (2, 3)), ("ij,ij->", (2, 3), (2, 3)), ("ij,ij->ij", (2, 3), (2, 3)),
    ("i,i->ii", (3,), (3,)), ("i,j->iij", (3,), (2,)), ("ij,jk->iik", (2, 3), (3, 2)), ("ij,j->i", (2, 3), (3,)), ("i,ij->j", (2,), (2, 3)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("bi,bi->b", (2, 5), (2, 5)), ("bij,bj->bi", (2, 2, 3), (2, 3)), ("bi,bj->ijb", (2, 3), (2, 4)),
    ("abc,cde->abde", (2, 3, 4), (4, 2, 3)), ("abcd,cde->abe", (2, 3, 2, 4), (2, 4, 5)),
    ("aecd,abcd->acbe", (2, 3, 2, 4), (2, 5, 2, 4)), ("acbe,aecd->abcd", (2, 2, 5, 3), (2, 3, 2, 4)),
    ("abc,cd->abd", (2, 3, 4), (4, 5)), ("ab,bc->ac", (2, 3), (3, 4)), ("btd,dhk->bthk", (2, 3, 4), (4, 2, 2)),
    ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)), ("bhqk,bkhd->bqhd", (2, 2, 3, 5), (2, 5, 2, 4)),
    ("ijk,il->l", (2, 3, 4), (2, 5)), ("ij,kl->jl", (2, 3), (4, 5)), ("iij,jkk->ik", (2, 2, 3), (3, 4, 4)), ("ij,jk->", (2, 3), (3, 4)),
    ("ijx,jk->ik", (2, 3, 4), (3, 2)), ("ij,jky->ik", (2, 3), (3, 2, 4)), ("abi,bja->jbi", (2, 3, 4), (3, 5, 2)),
    ("...ij,...jk->...ik", (3, 2, 4), (3, 4, 2)), ("...ij,...jk->...ik", (3, 1, 2, 4), (2, 4, 2)), ("...ij,jk->...ik", (2, 3, 4), (4, 5)),
    ("...,...->...", (2, 1, 3), (4, 1)), ("...,...->...", (), (2,)), ("...x,xy->...y", (2, 3, 4), (4, 2)), ("ab...,bc->ac...", (2, 3, 2), (3, 4)),
    ("ab...,...cb->...ac", (2, 3, 4, 1), (5, 6, 3)), ("...i,...i->...", (2, 3), (1, 3)), ("i...,j...->ij...", (2, 1, 3), (3, 2, 1)),
    ("ij...,jk->ik...", (2, 3, 4, 2), (3, 2)), ("...b,b->...", (2, 1, 3), (3,)), ("x...y,y->x...", (2, 3, 4), (4,)),
    ("abcdefgh,hgfe->abcd", (2, 1, 2, 1, 2, 1, 2, 2), (2, 2, 1, 2)),
    ("ij,jk->ik", (0, 3), (3, 2)), ("ij,jk->ik", (2, 0), (0, 2)), ("ij->i", (2, 0)), ("ij->j", (2, 0)), ("i->ii", (0,)), ("i,j->ij", (0,), (3,)),
    ("bij,bjk->bik", (0, 2, 3), (0, 3, 2)), ("ij,jk->ik", (1, 3), (3, 1)), ("ij,jk->ik", (1, 1), (1, 1)), ("...i,...i->...", (0, 3), (1, 3)),
    ("ij,jk->ik", (5, 70), (70, 65)), ("bij,bkj->bik", (3, 17, 33), (3, 18, 33)), ("ij,jk->ik", (1, 64), (64, 48)),
]
# What TensorFlow refuses.
WRONG_EQUATIONS = [
    ("ij,jk", (2, 3), (3, 2)), ("i->j->i", (2,)), ("", ()), ("ij,jk->ik", (2, 3), (4, 2)), ("ij->ij", (2,)), ("ij->ij", (2, 3, 4)),
    ("ii->i", (2, 3)), ("ij,j->i", (2, 1), (3,)), ("...i->i", (2, 3)), ("i...->", (3, 2)), ("...->", (2,)),
    ("i..j->ij", (2, 3)), ("...i,...i->...", (2, 3), (3, 3)), ("ij,jk->ik", (2, 3)), ("i->i", (2,), (2,)), ("a,b,c->abc", (2,), (2,), (2,)),
    ("...ij->...ij", (2,)), ("...,...->...", (0,), (3,)),
]


def matmul():
    rows = Rows("matmul", seed=656)
    narrow = [np.int8, np.uint8, tf.bfloat16.as_numpy_dtype]
    for a in narrow:
        for b in narrow:
            if (a, b) != (narrow[2], narrow[2]):
                out = np.int32 if narrow[2] not in (a, b) else narrow[2]
                rows.add("BatchMatMulV3", [np.array([[1, 2, 100], [120, 127, 90]], a), np.array([[[3], [4], [127]]], b)], LOOSE.get(out), Tout=tf.as_dtype(out))
                rows.add("BatchMatMulV3", [np.array([[1, 2], [120, 127]], a), np.array([[3, 4], [99, 1]], b)], LOOSE.get(out), Tout=tf.as_dtype(out), adj_x=True, adj_y=True)
    for dtype in FLOATS + [np.int32, np.int64]:
        for ta in [False, True]:
            for tb in [False, True]:
                a = integers(3, 2, low=-3, high=4, dtype=dtype) if ta else integers(2, 3, low=-3, high=4, dtype=dtype)
                b = integers(4, 3, low=-3, high=4, dtype=dtype) if tb else integers(3, 4, low=-3, high=4, dtype=dtype)
                rows.add("MatMul", [a, b], LOOSE.get(dtype), transpose_a=ta, transpose_b=tb)
    rows.add("MatMul", [floats(1, 17), floats(17, 9)])
    rows.add("MatMul", [floats(1, 17), floats(9, 17)], transpose_b=True)
    rows.add("MatMul", [floats(17, 1), floats(17, 9)], transpose_a=True)
    rows.add("MatMul", [floats(0, 3), floats(3, 2)])
    rows.add("MatMul", [floats(2, 0), floats(0, 3)])
    rows.add("MatMul", [floats(1, 3), floats(4, 2)])
    rows.add("MatMul", [floats(3), floats(3, 2)])
    rows.add("MatMul", [floats(2, 3), floats(1, 3, 2)])
    rows.add("MatMul", [floats(3), floats(3)])
    rows.add("MatMul", [f32(np.nan, 0)[None], f32(0, 1)[:, None]])
    for op in ["BatchMatMulV2", "BatchMatMul"]:
        rows.add(op, [floats(2, 2, 3), floats(2, 3, 2)])
        rows.add(op, [floats(2, 3), floats(3, 2)])
        rows.add(op, [floats(2, 3, 2), floats(2, 4, 3)], adj_x=True, adj_y=True)
    rows.add("BatchMatMulV2", [floats(3, 1, 2, 3), floats(2, 3, 2)])
    rows.add("BatchMatMulV2", [floats(2, 3), floats(2, 3, 2)])
    rows.add("BatchMatMulV2", [floats(2, 2, 3), floats(3, 3, 2)])
    rows.add("BatchMatMulV2", [floats(2, 2, 3), floats(2, 4, 2)])
    rows.add("BatchMatMulV2", [floats(0, 2, 3), floats(3, 2)])
    for dtype in FLOATS + INTEGERS:
        if dtype in (np.uint32, np.uint64):
            continue
        rows.add("BiasAdd", [integers(2, 2, 3, dtype=dtype), integers(3, dtype=dtype)])
    rows.add("BiasAdd", [floats(2, 3, 2), floats(3)], data_format="NCHW")
    rows.add("BiasAdd", [floats(2, 3), floats(2)])
    rows.add("BiasAdd", [floats(3), floats(3)])
    rows.add("BiasAdd", [floats(2, 3), floats(3, 1)])
    rows.add("BiasAdd", [floats(0, 3), floats(3)])
    rows.add("BiasAddGrad", [floats(2, 2, 3)])
    rows.add("BiasAddGrad", [floats(2, 3, 4)], data_format="NCHW")
    for op in ["Softmax", "LogSoftmax"]:
        for dtype in FLOATS:
            rows.add(op, [floats(2, 5, dtype=dtype)], LOOSE.get(dtype))
        rows.add(op, [floats(3, 40, low=-20, high=20)])
        rows.add(op, [f32(1000, 1000, -1000)])
        rows.add(op, [f32(1, np.nan, 2)])
        rows.add(op, [f32(1, -np.inf, 2)])
        rows.add(op, [floats(2, 2, 2)])
        rows.add(op, [floats(0, 4)])
    rows.add("SoftmaxCrossEntropyWithLogits", [floats(3, 4), np.eye(4, dtype=np.float32)[:3]])
    rows.add("SoftmaxCrossEntropyWithLogits", [floats(2, 20), np.full((2, 20), 0.05, np.float32)])
    rows.add("SparseSoftmaxCrossEntropyWithLogits", [floats(3, 4), i32(0, 3, 1)])
    rows.add("SparseSoftmaxCrossEntropyWithLogits", [floats(2, 4), np.array([1, 2], np.int64)])
    rows.add("SparseSoftmaxCrossEntropyWithLogits", [floats(2, 4), i32(0)])
    rows.add("SparseSoftmaxCrossEntropyWithLogits", [np.zeros((3, 4), np.float32), i32(0, 4, 1)])
    for x, y in (((3, 1, 2, 3), (3, 2, 3, 2)), ((2, 3), (2, 3, 2)), ((2, 2, 3), (1, 3, 2)), ((3,), (3,)), ((0, 2, 3), (2, 3, 2))):
        rows.add("BatchMatMul", [floats(*x), floats(*y)], text=False)
    rows.write()


def einsum():
    rows = Rows("einsum", seed=657)
    for equation, *shapes in EQUATIONS:
        rows.add("Einsum", [[floats(*shape) for shape in shapes]], equation=equation)
    some = EQUATIONS[::5] + [e for e in EQUATIONS if e[0] in ("aecd,abcd->acbe", "acbe,aecd->abcd", "ij,jk->ik", "i->ii", "ii->", "i,j->ij")]
    for dtype in FLOATS[1:] + [np.int32, np.int64, np.complex64, np.complex128]:
        for equation, *shapes in some:
            inputs = [integers(*shape, low=-3, high=4).astype(dtype) for shape in shapes]
            if np.issubdtype(dtype, np.complexfloating):
                inputs = [value + (1j * integers(*value.shape, low=-3, high=4)).astype(dtype) for value in inputs]
            rows.add("Einsum", [inputs], LOOSE.get(dtype), equation=equation)
    for dtype in [np.int8, np.uint32, np.bool_]:
        rows.add("Einsum", [[np.ones((2, 2), dtype)]], equation="ij->ji")
    rows.add("Einsum", [[i32(2 ** 30, 2 ** 30), i32(2, 3)]], equation="i,i->")
    rows.add("Einsum", [[np.array([2 ** 62, 1], np.int64), np.array([2, 3], np.int64)]], equation="i,j->ij")
    for special in [np.nan, np.inf, -np.inf]:
        rows.add("Einsum", [[f32(special, 0, 1)[None], f32(0, 1, 2)[:, None]]], equation="ij,jk->ik")
        rows.add("Einsum", [[f32(special, 0, 1), f32(2, 1)]], equation="i,j->ij")
        rows.add("Einsum", [[f32(special, 0, 1)]], equation="i->ii")
        rows.add("Einsum", [[f32(special, 0, 1)]], equation="i->")
    for equation, *shapes in WRONG_EQUATIONS:
        rows.add("Einsum", [[floats(*shape) for shape in shapes]], text=False, equation=equation)
    rows.write()


FAMILIES = [matmul, einsum]

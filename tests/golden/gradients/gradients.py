"""Writes gradients.txt: for each op with a gradient, what TensorFlow says it is.

    python tests/golden/gradients/gradients.py > tests/golden/gradients/gradients.txt

made with TensorFlow 2.21. The loss is the sum of the outputs, each element times a weight, so that what flows back differs from
element to element. Lines: `case LABEL OP`, `attr NAME KIND VALUES`, `input ROLE DTYPE SHAPE VALUES` (role x: its gradient is
compared; f: fed; c: a constant), `weights OUTPUT SHAPE VALUES`, `grad INPUT VALUES`, `end`; of complex numbers, the loss is the
real part of the sum, the last two are `complex-weights` and `complex-grad`, and values are pairs; `kink` says that a difference quotient
means nothing there (a tie, a kink, an integer).
"""
import os
import zlib
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.python import xla  # noqa: F401 (registers gradients)
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.python.framework import op_def_registry

random = np.random.RandomState(7)


def draw(*shape, low=-2.0, high=2.0):
    return random.uniform(low, high, shape).astype(np.float32)


def positive(*shape):
    return draw(*shape, low=0.3, high=2.0)


def x(value): return ("x", np.asarray(value, np.float32))
def z(value): return ("x", np.asarray(value, np.complex64))
def fed(value, dtype): return ("f", np.asarray(value, dtype))
def const(value, dtype=np.int32): return ("c", np.asarray(value, dtype))


CASES = []


def case(label, op, *inputs, kink=False, outputs=None, **attrs):
    CASES.append((label, op, inputs, kink, outputs, attrs))


# ---- one input, element by element ----
for op in ("Neg", "Square", "Exp", "Expm1", "Sin", "Cos", "Tanh", "Sigmoid", "Erf", "Softplus", "Softsign", "Elu", "Selu", "Identity"):
    case(op.lower(), op, x(draw(2, 3)))
for op in ("Sqrt", "Rsqrt", "Log", "Log1p", "Reciprocal", "Inv"):
    case(op.lower(), op, x(positive(2, 3)))
case("tan", "Tan", x(draw(4, low=-1, high=1)))
for op in ("Abs", "Relu"):
    case(op.lower(), op, x(draw(3, 4)))
    case(op.lower() + " at 0", op, x([-1, 0, 2]), kink=True)
case("relu6", "Relu6", x([-3, -0.5, 0.5, 5.5, 6.5, 9]))
case("relu6 at its edges", "Relu6", x([0, 6]), kink=True)
case("leaky relu", "LeakyRelu", x(draw(3, 4)), alpha=("float", 0.3))
case("leaky relu at 0", "LeakyRelu", x([0, 1]), kink=True, alpha=("float", 0.3))
case("scalar", "Square", x(1.5))
case("cast there and back", "Cast", x(draw(3)), DstT=("type", tf.float64), kink=True)
case("placeholder with default", "PlaceholderWithDefault", x(draw(2)), dtype=("type", tf.float32), shape=("shape", [2]))

# ---- two inputs, broadcast ----
for op in ("Add", "AddV2", "Sub", "Mul", "RealDiv", "DivNoNan", "SquaredDifference", "Maximum", "Minimum"):
    kink = op in ("Maximum", "Minimum")
    case(op + " same shape", op, x(draw(2, 3)), x(positive(2, 3)), kink=kink)
    case(op + " a row", op, x(draw(2, 3)), x(positive(3)), kink=kink)
    case(op + " a column and a row", op, x(draw(2, 1)), x(positive(1, 3)), kink=kink)
    case(op + " a scalar", op, x(draw()), x(positive(2, 2)), kink=kink)
    case(op + " in front and inside", op, x(draw(4, 1, 3)), x(positive(2, 1)), kink=kink)
for op in ("Maximum", "Minimum"):
    # Far enough apart for a difference quotient.
    case(op + " a row, apart", op, x(np.round(draw(4, 3), 1)), x(np.round(draw(3), 1) + 0.05))
    case(op + " at a tie", op, x([1, 2, 3]), x([1, 3, 2]), kink=True)
case("pow", "Pow", x(positive(2, 3)), x(draw(3)))
case("pow of 0 and less", "Pow", x([0, -1, 2]), x([2, 3, 0]), kink=True)
case("div by 0", "DivNoNan", x([1, 2]), x([0, 2]), kink=True)
case("floor mod same shape", "FloorMod", x([[1.5, -2.25, 0.7], [2.2, 3.1, -1.3]]), x([[0.4, 0.9, 2], [1.7, -1.2, 0.5]]))
case("floor mod a row", "FloorMod", x([[1.5, -2.25, 0.7], [1.1, 3.1, -1.3]]), x([0.4, 0.9, -2]))
case("add n", "AddN", x(draw(2, 2)), x(draw(2, 2)), x(draw(2, 2)))
case("clip", "ClipByValue", x([-3, 0.25, 3]), x(-1.0), x(1.0))
case("select", "Select", fed([[True, False], [False, True]], bool), x(draw(2, 2)), x(draw(2, 2)))
case("select rows", "Select", fed([True, False], bool), x(draw(2, 2)), x(draw(2, 2)))
case("select, broadcast", "SelectV2", fed([[True], [False]], bool), x(draw(2, 3)), x(draw(3)))

# ---- reductions ----
for op in ("Sum", "Mean", "Max", "Min"):
    case(op + " of all", op, x(draw(2, 3)), const([0, 1]))
    case(op + " rows", op, x(draw(2, 3, 2)), const([1]))
    case(op + " kept", op, x(draw(2, 3, 2)), const([0, -1]), keep_dims=("bool", True))
    case(op + " of nothing", op, x(draw(2, 2)), const(np.zeros(0)))
    case(op + " of a scalar axis", op, x(draw(2, 2)), const(-1))
for op in ("Max", "Min"):
    case(op + " at a tie", op, x([[1, 2, 2], [0, 0, 0]]), const([1]), kink=True)
case("l2 loss", "L2Loss", x(draw(3, 2)))
for exclusive in (False, True):
    for reverse in (False, True):
        case("cumsum %d %d" % (exclusive, reverse), "Cumsum", x(draw(2, 4)), const(1), exclusive=("bool", exclusive),
             reverse=("bool", reverse))

# ---- products ----
for ta in (False, True):
    for tb in (False, True):
        a, b = (draw(3, 2) if ta else draw(2, 3)), (draw(4, 3) if tb else draw(3, 4))
        case("matmul %d %d" % (ta, tb), "MatMul", x(a), x(b), transpose_a=("bool", ta), transpose_b=("bool", tb))
        a, b = (draw(2, 3, 2) if ta else draw(2, 2, 3)), (draw(2, 4, 3) if tb else draw(2, 3, 4))
        case("batch matmul %d %d" % (ta, tb), "BatchMatMulV2", x(a), x(b), adj_x=("bool", ta), adj_y=("bool", tb))
case("batch matmul, broadcast", "BatchMatMulV2", x(draw(2, 1, 2, 3)), x(draw(5, 3, 2)))
case("batch matmul v3", "BatchMatMulV3", x(draw(2, 2, 3)), x(draw(2, 3, 2)), Tout=("type", tf.float32))

# ---- networks ----
case("bias add", "BiasAdd", x(draw(2, 3)), x(draw(3)))
case("bias add of images", "BiasAdd", x(draw(2, 2, 2, 3)), x(draw(3)))
case("softmax", "Softmax", x(draw(3, 4)))
case("log softmax", "LogSoftmax", x(draw(3, 4)))
shares = positive(3, 4)
shares /= shares.sum(1, keepdims=True)  # only then is its gradient the derivative
case("cross entropy", "SoftmaxCrossEntropyWithLogits", x(draw(3, 4)), x(shares), outputs=[0])
case("sparse cross entropy", "SparseSoftmaxCrossEntropyWithLogits", x(draw(3, 4)), fed([1, 3, 0], np.int32), outputs=[0])
for label, padding, stride, size, filt, dilation in (
        ("valid", "VALID", 1, 5, 3, 1), ("same", "SAME", 1, 5, 3, 1), ("same, even stride", "SAME", 2, 5, 3, 1),
        ("same, even stride and size", "SAME", 2, 6, 3, 1), ("valid, stride leaves a rest", "VALID", 2, 6, 3, 1),
        ("even filter", "SAME", 1, 4, 2, 1), ("stride over the filter", "VALID", 3, 7, 2, 1)):
    case("conv2d " + label, "Conv2D", x(draw(2, size, size, 2)), x(draw(filt, filt, 2, 3)), strides=("ints", [1, stride, stride, 1]),
         padding=("text", padding))
case("conv2d of unequal sides", "Conv2D", x(draw(1, 5, 4, 2)), x(draw(3, 1, 2, 2)), strides=("ints", [1, 2, 1, 1]), padding=("text", "SAME"))
case("transposed conv2d", "Conv2DBackpropInput", const([1, 6, 6, 2]), x(draw(3, 3, 2, 3)), x(draw(1, 3, 3, 3)),
     strides=("ints", [1, 2, 2, 1]), padding=("text", "SAME"))
for padding, stride in (("VALID", 1), ("SAME", 2)):
    case("depthwise conv2d " + padding, "DepthwiseConv2dNative", x(draw(1, 5, 5, 2)), x(draw(3, 3, 2, 2)),
         strides=("ints", [1, stride, stride, 1]), padding=("text", padding))
for padding, size, window, stride in (("VALID", 4, 2, 2), ("SAME", 5, 2, 2), ("SAME", 5, 3, 2), ("VALID", 5, 3, 1), ("SAME", 4, 3, 1)):
    label = "%s %d %d %d" % (padding, size, window, stride)
    attrs = dict(ksize=("ints", [1, window, window, 1]), strides=("ints", [1, stride, stride, 1]), padding=("text", padding))
    distinct = random.permutation(2 * size * size * 2).reshape(2, size, size, 2).astype(np.float32) / 10
    case("max pool " + label, "MaxPool", x(distinct), **attrs)
    case("avg pool " + label, "AvgPool", x(draw(2, size, size, 2)), **attrs)
case("max pool at ties", "MaxPool", x(np.array([1, 1, 0, 0, 1, 1, 0, 2, 3, 3, 3, 3, 3, 3, 3, 3]).reshape(1, 4, 4, 1)), kink=True,
     ksize=("ints", [1, 2, 2, 1]), strides=("ints", [1, 2, 2, 1]), padding=("text", "VALID"))
case("max pool of overlapping ties", "MaxPool", x(np.ones((1, 3, 3, 1))), kink=True, ksize=("ints", [1, 2, 2, 1]),
     strides=("ints", [1, 1, 1, 1]), padding=("text", "SAME"))
case("batch norm in training", "FusedBatchNormV3", x(draw(2, 2, 2, 3)), x(positive(3)), x(draw(3)), const(np.zeros(0), np.float32),
     const(np.zeros(0), np.float32), outputs=[0], is_training=("bool", True), epsilon=("float", 0.001))
case("batch norm, frozen", "FusedBatchNormV3", x(draw(2, 2, 2, 3)), x(positive(3)), x(draw(3)), fed(draw(3), np.float32),
     fed(positive(3), np.float32), outputs=[0], is_training=("bool", False), epsilon=("float", 0.001))

# ---- arrangement ----
case("reshape", "Reshape", x(draw(2, 6)), const([3, -1]))
case("expand dims", "ExpandDims", x(draw(2, 3)), const(1))
case("squeeze", "Squeeze", x(draw(2, 1, 3, 1)))
case("squeeze one", "Squeeze", x(draw(2, 1, 3, 1)), squeeze_dims=("ints", [1]))
case("fill", "Fill", const([2, 3]), x(1.5))
case("broadcast to", "BroadcastTo", x(draw(3, 1)), const([2, 3, 4]))
case("pack", "Pack", x(draw(2, 3)), x(draw(2, 3)), axis=("int", 1))
case("unpack", "Unpack", x(draw(2, 3)), axis=("int", 1), num=("int", 3))
case("unpack, one unused", "Unpack", x(draw(2, 3)), axis=("int", 0), num=("int", 2), outputs=[1])
case("concat", "ConcatV2", x(draw(2, 1)), x(draw(2, 3)), const(1))
case("concat from the back", "ConcatV2", x(draw(2, 1, 2)), x(draw(2, 2, 2)), const(-2))
case("split", "Split", const(1), x(draw(2, 6)), num_split=("int", 3))
case("split, one unused", "Split", const(0), x(draw(4, 2)), num_split=("int", 2), outputs=[0])
case("split in unequal parts", "SplitV", x(draw(2, 5)), const([2, 3], np.int64), const(1), num_split=("int", 2))
case("slice", "Slice", x(draw(3, 4)), const([1, 0]), const([2, -1]))
case("strided slice", "StridedSlice", x(draw(4, 5)), const([0, 1]), const([4, 5]), const([2, 2]))
case("strided slice backwards", "StridedSlice", x(draw(5)), const([4]), const([0]), const([-2]))
case("strided slice by masks", "StridedSlice", x(draw(3, 4, 2)), const([1, 0, 0]), const([2, 0, 0]), const([1, 1, 1]),
     begin_mask=("int", 2), end_mask=("int", 2), shrink_axis_mask=("int", 1), new_axis_mask=("int", 4))
case("strided slice with an ellipsis", "StridedSlice", x(draw(2, 3, 4)), const([0, 1]), const([0, 3]), const([1, 1]),
     ellipsis_mask=("int", 1))
case("transpose", "Transpose", x(draw(2, 3, 4)), const([2, 0, 1]))
case("reverse", "ReverseV2", x(draw(2, 3)), const([1]))
case("tile", "Tile", x(draw(2, 3)), const([2, 3]))
case("pad", "Pad", x(draw(2, 3)), const([[1, 0], [2, 1]]))
case("pad with a value", "PadV2", x(draw(2, 3)), const([[1, 0], [2, 1]]), const(7.0, np.float32))
case("gather, an index twice", "GatherV2", x(draw(4, 2)), fed([1, 3, 1], np.int32), const(0))
for adjoint_a in (False, True):
    for adjoint_b in (False, True):
        table = draw(2 if adjoint_a else 3, 2)
        case("sparse product, adjoint_a %d, adjoint_b %d" % (adjoint_a, adjoint_b), "SparseTensorDenseMatMul",
             fed([[0, 1], [1, 2], [0, 1], [1, 0]], np.int64), x(draw(4)), fed([2, 3], np.int64),
             x(table.T.copy() if adjoint_b else table), adjoint_a=("bool", adjoint_a), adjoint_b=("bool", adjoint_b))

# ---- inverse functions ----
for op in ("Asin", "Acos", "Atanh"):
    case(op.lower(), op, x(draw(4, low=-0.8, high=0.8)))
for op in ("Atan", "Sinh", "Cosh", "Asinh", "Erfc"):
    case(op.lower(), op, x(draw(2, 3)))
case("acosh", "Acosh", x(draw(4, low=1.5, high=3)))
for op in ("Div", "Atan2", "MulNoNan", "Xdivy", "Xlogy"):
    case(op + " same shape", op, x(positive(2, 3)), x(positive(2, 3)))
    case(op + " a row", op, x(positive(2, 3)), x(positive(3)))
for op in ("Xdivy", "Xlogy", "MulNoNan"):
    case(op + " at 0", op, x([0.0, 0.0, 1.5]), x([2.0, 0.5, 2.0]), kink=True)

# ---- moving ----
case("identities", "IdentityN", x(draw(2, 2)), x(draw(3)))
case("ensure shape", "EnsureShape", x(draw(2, 2)), shape=("shape", [2, 2]))
case("reverse sequence", "ReverseSequence", x(draw(3, 4, 2)), fed([2, 4, 1], np.int64), seq_dim=("int", 1), batch_dim=("int", 0))
case("depth to space", "DepthToSpace", x(draw(1, 2, 2, 8)), block_size=("int", 2))
case("space to depth", "SpaceToDepth", x(draw(1, 4, 2, 3)), block_size=("int", 2))
case("space to batch", "SpaceToBatchND", x(draw(1, 3, 4, 2)), const([2, 2]), const([[0, 1], [0, 0]]))
case("batch to space", "BatchToSpaceND", x(draw(4, 2, 2, 2)), const([2, 2]), const([[0, 1], [1, 0]]))
case("band", "MatrixBandPart", x(draw(2, 3, 4)), const(1, np.int64), const(0, np.int64))
case("gather nd", "GatherNd", x(draw(3, 4, 2)), fed([[0, 1], [2, 3], [0, 1]], np.int32))
case("scatter nd", "ScatterNd", fed([[1], [3], [1]], np.int32), x(draw(3, 2)), const([5, 2]))
case("stitch", "DynamicStitch", fed([0, 2], np.int32), fed([3, 1], np.int32), x(draw(2, 2)), x(draw(2, 2)))
case("segments", "UnsortedSegmentSum", x(draw(4, 2)), fed([1, 0, -1, 1], np.int32), const(3))

# ---- volumes ----
volumes = np.random.RandomState(8)  # of its own: the cases before keep their values


def volume(*shape): return x(volumes.uniform(-2, 2, shape).astype(np.float32))


for label, padding, strides, dilations in (("valid", "VALID", (1, 1, 1), (1, 1, 1)), ("same, strides", "SAME", (2, 1, 3), (1, 1, 1)),
                                           ("dilated", "VALID", (1, 1, 1), (2, 2, 2))):
    attrs = dict(strides=("ints", [1, *strides, 1]), padding=("text", padding), dilations=("ints", [1, *dilations, 1]))
    case("conv3d " + label, "Conv3D", volume(2, 3, 4, 5, 2), volume(2, 2, 3, 2, 2), **attrs)
case("transposed conv3d", "Conv3DBackpropInputV2", const([1, 4, 4, 2, 2]), volume(3, 2, 2, 2, 3), volume(1, 2, 2, 2, 3),
     strides=("ints", [1, 2, 2, 1, 1]), padding=("text", "SAME"))
for padding, window, stride in (("VALID", 2, 2), ("SAME", 2, 1)):
    attrs = dict(ksize=("ints", [1, window, window, 1, 1]), strides=("ints", [1, stride, 1, stride, 1]), padding=("text", padding))
    case("max pool of volumes " + padding, "MaxPool3D", x(volumes.permutation(2 * 4 * 3 * 4 * 2).reshape(2, 4, 3, 4, 2) / 10), **attrs)
    case("avg pool of volumes " + padding, "AvgPool3D", volume(2, 4, 3, 4, 2), **attrs)
case("max pool of volumes at ties", "MaxPool3D", x(np.ones((1, 2, 3, 2, 1))), kink=True, ksize=("ints", [1, 2, 2, 2, 1]),
     strides=("ints", [1, 1, 1, 1, 1]), padding=("text", "VALID"))

# ---- equations ----
equations = np.random.RandomState(9)


def operand(*shape): return x(equations.uniform(-2, 2, shape).astype(np.float32))


for equation, *shapes in [
        ("ij,jk->ik", (2, 3), (3, 4)), ("ji,kj->ik", (3, 2), (4, 3)), ("abc,cde->abde", (2, 3, 4), (4, 2, 3)), ("ij->ji", (2, 3)),
        ("aecd,abcd->acbe", (2, 3, 2, 4), (2, 5, 2, 4)), ("acbe,aecd->abcd", (2, 2, 5, 3), (2, 3, 2, 4)), ("ij->i", (2, 3)), ("ij->", (2, 3)),
        ("ii->i", (3, 3)), ("ii->", (3, 3)), ("i->ii", (3,)), ("i,j->ij", (3,), (2,)), ("ijk,il->l", (2, 3, 4), (2, 5)),
        ("iij,jkk->ik", (2, 2, 3), (3, 4, 4)), ("...x,xy->...y", (2, 3, 4), (4, 2)), ("...ij,...jk->...ik", (3, 1, 2, 4), (2, 4, 2)),
        ("...,...->...", (2, 1, 3), (4, 1)), ("ab...,...cb->...ac", (2, 3, 4, 1), (5, 6, 3)), ("ab...,bc->ac...", (2, 3, 2), (3, 4)),
        ("i...->...", (2, 3)), ("x...yz,y->x...", (2, 3, 4, 2), (4,)), ("i...,j...->ij...", (2, 1, 3), (3, 2, 1)), ("i...,i...->i", (3,), (3,))]:
    case("einsum " + equation, "Einsum", *[operand(*shape) for shape in shapes], equation=("text", equation))

# ---- slices and segments ----
case("sorted segments", "SegmentSum", operand(4, 2), fed([0, 0, 2, 2], np.int32))
case("stitch in parallel", "ParallelDynamicStitch", fed([0, 2], np.int32), fed([3, 1], np.int32), operand(2, 2), operand(2, 2))
for op in ("Update", "Add", "Sub"):
    case("tensor scatter " + op.lower(), "TensorScatter" + op, operand(4, 3), fed([[1], [3]], np.int32), operand(2, 3))
for op in ("Sum", "Mean", "SqrtN"):
    chosen = fed([0, 3, 3, 1, 0], np.int32), fed([0, 0, 0, 2, 2], np.int32)
    case("chosen rows, " + op, "SparseSegment" + op, operand(4, 2), *chosen)
    case("chosen rows, counted segments, " + op, "SparseSegment%sWithNumSegments" % op, operand(4, 2), *chosen, const(4))


# ---- special functions ----
for op in ("Lgamma", "Digamma"):
    case(op.lower(), op, x([[0.4, 0.9, 1.3], [2.5, 0.7, 1.9]]))
for op in ("BesselI0", "BesselI0e"):
    case(op.lower(), op, x([-1.7, -0.4, 0.3, 1.2, 2.6]))
case("erfinv", "Erfinv", x([-0.8, -0.3, 0.1, 0.6]))
case("ndtri", "Ndtri", x([0.1, 0.3, 0.6, 0.9]))

# ---- elements that move ----
case("roll", "Roll", operand(3, 4), const([1, -6]), const([0, 1]))
case("roll one axis twice", "Roll", operand(3, 2), const([1, 1]), const([0, -2]))
case("diag", "Diag", operand(2, 3))
case("diag part", "DiagPart", operand(2, 3, 2, 3))
case("cross", "Cross", operand(2, 3), operand(2, 3))
case("reverse by flags", "Reverse", operand(2, 3, 2), const([True, False, True], bool))
case("scatter without aliasing", "ScatterNdNonAliasingAdd", operand(4, 3), fed([[1], [3]], np.int32), operand(2, 3))
case("slice update", "TensorStridedSliceUpdate", operand(3, 4), const([0, 1]), const([3, 3]), const([2, 1]), operand(2, 2))
case("slice update that broadcasts", "TensorStridedSliceUpdate", operand(3, 4), const([1, 0]), const([3, 4]), const([1, 1]), operand(1, 4),
     end_mask=("int", 2))
case("slice update of a row", "TensorStridedSliceUpdate", operand(3, 4), const([1]), const([2]), const([1]), operand(4), shrink_axis_mask=("int", 1))
case("ctc loss", "CTCLoss", x(draw(5, 2, 4)), fed([[0, 0], [0, 1], [1, 0]], np.int64), fed([0, 2, 1], np.int32), fed([5, 3], np.int32), outputs=[0])
case("sparse fill empty rows", "SparseFillEmptyRows", fed([[0, 0], [3, 1]], np.int64), x(draw(2)), fed([5, 2], np.int64), x(draw()), outputs=[1])
case("ragged fill empty rows", "RaggedFillEmptyRows", fed([0, 0, 2], np.int64), x(draw(3)), fed(4, np.int64), x(draw()), outputs=[1])
case("check numerics", "CheckNumerics", x(draw(3)), message=("text", "seen"))
case("check numerics v2", "CheckNumericsV2", x(draw(3)), message=("text", "seen"))


# ---- images ----
pictures = np.random.RandomState(10)


def picture(*shape): return x(pictures.uniform(-2, 2, shape).astype(np.float32))


for op in ("ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"):
    for label, attrs in (("", {}), (" align", dict(align_corners=("bool", True))), (" half", dict(half_pixel_centers=("bool", True)))):
        case(op + label, op, picture(2, 3, 4, 2), const([5, 3]), **attrs)
for kernel in ("lanczos3", "triangle", "gaussian"):
    case("scale and translate " + kernel, "ScaleAndTranslate", picture(2, 4, 5, 2), const([3, 6]), const([0.7, 1.3], np.float32), const([0.2, -0.5], np.float32),
         kernel_type=("text", kernel))
case("scale and translate, no antialias", "ScaleAndTranslate", picture(1, 4, 5, 2), const([3, 6]), const([0.7, 1.3], np.float32), const([0.2, -0.5], np.float32),
     antialias=("bool", False))
boxes = x([[0.1, 0.2, 0.7, 0.9], [0.8, 0.75, 0.3, 0.15], [-0.2, 0.1, 0.6, 1.3]])
for method in ("bilinear", "nearest"):
    case("crop and resize " + method, "CropAndResize", picture(2, 4, 5, 2), boxes, fed([0, 1, 1], np.int32), const([3, 2]), kink=True, method=("text", method))
case("crop and resize to a pixel", "CropAndResize", picture(2, 4, 5, 2), boxes, fed([0, 1, 1], np.int32), const([1, 1]), kink=True)
case("lrn", "LRN", picture(1, 2, 2, 5), depth_radius=("int", 1), bias=("float", 1.5), alpha=("float", 0.3), beta=("float", 0.75))
for mode in ("REFLECT", "SYMMETRIC"):
    case("mirror pad " + mode, "MirrorPad", picture(3, 4), const([[1, 2], [0, 3]]), mode=("text", mode))
    case("mirror pad grad " + mode, "MirrorPadGrad", picture(6, 7), const([[1, 2], [0, 3]]), mode=("text", mode))


# ---- more pooling ----
distinct = x(pictures.permutation(2 * 5 * 4 * 3).reshape(2, 5, 4, 3) / 10)
case("max pool v2", "MaxPoolV2", distinct, const([1, 3, 2, 1]), const([1, 2, 1, 1]), padding=("text", "SAME"))
for batch in (False, True):
    case("max pool with argmax %d" % batch, "MaxPoolWithArgmax", distinct, outputs=[0], ksize=("ints", [1, 2, 3, 1]), strides=("ints", [1, 1, 2, 1]),
         padding=("text", "VALID"), include_batch_in_index=("bool", batch))
for padding, strides, rates in (("SAME", [1, 2, 1, 1], [1, 1, 2, 1]), ("VALID", [1, 1, 1, 1], [1, 1, 1, 1])):
    case("dilation " + padding, "Dilation2D", picture(2, 5, 4, 2), picture(3, 2, 2), kink=True, strides=("ints", strides), rates=("ints", rates),
         padding=("text", padding))


# ---- recurrent cells ----
for op, attrs in (("BlockLSTM", dict(cell_clip=("float", 0.0), forget_bias=("float", 0.5))), ("BlockLSTMV2", {})):
    for peephole in (False, True):
        case("%s %d" % (op, peephole), op, const(3, np.int64), picture(3, 2, 2), picture(2, 2), picture(2, 2), picture(4, 8), picture(2), picture(2), picture(2), picture(8),
             outputs=[1, 6], use_peephole=("bool", peephole), **attrs)


# ---- more special functions ----
for op in ("BesselI1", "BesselI1e", "BesselJ0", "BesselJ1"):
    case(op.lower(), op, x([-1.7, -0.4, 0.3, 1.2, 2.6]))
    case(op.lower() + " at 0", op, x([0, 1]), kink=True)
for op in ("BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1", "Expint"):
    case(op.lower(), op, x([0.6, 0.9, 1.2, 2.6]))
for op in ("Dawsn", "FresnelCos", "FresnelSin"):
    case(op.lower(), op, x([-0.9, -0.4, 0, 0.3, 1.2]))
case("spence", "Spence", x([0.4, 0.8, 1.3, 2.6]))
case("spence at 1", "Spence", x([1, 2]), kink=True)
case("zeta", "Zeta", fed([[1.5], [2.5]], np.float32), x([0.7, 1.2, 2.1]))
case("polygamma", "Polygamma", fed([[1], [2]], np.float32), x([1.3, 2.1, 1.7]))
case("igamma", "Igamma", fed([[1.5], [2.5]], np.float32), x([0.7, 1.2, 2.1]))
case("igammac", "Igammac", fed([[1.5], [2.5]], np.float32), x([0.7, 1.2, 2.1]))
case("betainc", "Betainc", fed([1.5, 2, 1], np.float32), fed([0.8, 1, 2], np.float32), x([0.3, 0.5, 0.7]))
case("next after", "NextAfter", x([[1, 2], [3, 4]]), x([2, 1]), kink=True)

# ---- segments, the greatest, partitions ----
rows7 = np.random.RandomState(11)
shuffled = rows7.permutation(24).reshape(6, 4).astype(np.float32) / 8 - 1.3
for op in ("Max", "Min", "Prod"):
    case("segment " + op, "Segment" + op, x(shuffled), fed([0, 0, 0, 2, 2, 3], np.int32))
    case("unsorted segment " + op, "UnsortedSegment" + op, x(shuffled), fed([1, 0, 1, -1, 3, 1], np.int32), const(5))
    case("unsorted segment of a matrix " + op, "UnsortedSegment" + op, x(shuffled), fed(rows7.randint(-1, 3, (6, 4)), np.int32), const(3))
    case("segment at ties " + op, "Segment" + op, x([[1, 0], [1, 0], [0, 2]]), fed([0, 0, 0], np.int32), kink=True)
    case("unsorted segment at ties " + op, "UnsortedSegment" + op, x([1, 0, 1, 0, 0, 3]), fed([0, 1, 0, 1, 2, 2], np.int32), const(3), kink=True)
case("segment mean", "SegmentMean", x(shuffled), fed([0, 0, 0, 2, 2, 3], np.int32))
case("top k", "TopKV2", x(shuffled), const(2), outputs=[0])
case("top k of a vector", "TopKV2", x(shuffled[:, 1]), const(3), outputs=[0])
case("top k of volumes", "TopKV2", x(shuffled.reshape(2, 3, 4)), const(3), outputs=[0])
case("dynamic partition", "DynamicPartition", x(shuffled), fed([0, 2, 0, 1, 2, 2], np.int32), num_partitions=("int", 3))
case("dynamic partition of elements", "DynamicPartition", x(shuffled), fed(rows7.randint(0, 2, (6, 4)), np.int32), outputs=[0], num_partitions=("int", 2))
for op in ("Max", "Min"):
    case("tensor scatter " + op, "TensorScatter" + op, x(shuffled), fed([[1], [4], [2]], np.int32), x(rows7.permutation(12).reshape(3, 4) / 6 - 0.9))
    case("tensor scatter at ties " + op, "TensorScatter" + op, x([1, 2, 3, 4]), fed([[0], [2], [2]], np.int32), x([1, 3, 3]), kink=True)

# ---- diagonals ----
matrix = np.random.RandomState(12)


def matrices(*shape): return matrix.uniform(-1, 1, shape).astype(np.float32)


none = const(-1), const(-1), const(0, np.float32)
case("matrix diag", "MatrixDiag", x(matrices(2, 3)))
case("matrix diag v2", "MatrixDiagV2", x(matrices(2, 3)), const(1), *none)
case("matrix diag v3", "MatrixDiagV3", x(matrices(2, 3, 4)), const([-1, 1]), *none)
case("matrix diag part", "MatrixDiagPart", x(matrices(2, 3, 4)))
case("matrix diag part v2", "MatrixDiagPartV2", x(matrices(2, 3, 4)), const(-1), const(0, np.float32))
for align in ("RIGHT_LEFT", "LEFT_RIGHT"):
    case("matrix diag part v3 " + align, "MatrixDiagPartV3", x(matrices(2, 3, 4)), const([-1, 2]), const(0, np.float32), align=("text", align))
    case("matrix set diag v3 " + align, "MatrixSetDiagV3", x(matrices(2, 3, 4)), x(matrices(2, 3, 3)), const([-1, 1]), align=("text", align))
case("matrix set diag", "MatrixSetDiag", x(matrices(2, 3, 4)), x(matrices(2, 3)))
case("matrix set diag v2", "MatrixSetDiagV2", x(matrices(2, 3, 4)), x(matrices(2, 3)), const(1))

# ---- linear algebra ----
eye = 3 * np.eye(3, dtype=np.float32)


def turned(*shape): return (matrices(*shape) + 1j * matrices(*shape)).astype(np.complex64)


symmetric = matrices(2, 3, 3)
symmetric = symmetric + symmetric.transpose(0, 2, 1) + 2 * eye + np.diag([0, 1, 2.5])
for flag in (False, True):
    adjoint = dict(adjoint=("bool", flag))
    case("matrix inverse %d" % flag, "MatrixInverse", x(matrices(2, 3, 3) + eye), **adjoint)
    case("matrix solve %d" % flag, "MatrixSolve", x(matrices(2, 3, 3) + eye), x(matrices(2, 3, 2)), **adjoint)
    case("complex matrix solve %d" % flag, "MatrixSolve", z(turned(3, 3) + eye), z(turned(3, 2)), **adjoint)
    for lower in (False, True):
        case("triangular solve %d %d" % (lower, flag), "MatrixTriangularSolve", x(matrices(2, 3, 3) + eye), x(matrices(2, 3, 2)), lower=("bool", lower), **adjoint)
case("triangular solve of a stack", "MatrixTriangularSolve", x(matrices(3, 3) + eye), x(matrices(2, 3, 2)))
case("matrix determinant", "MatrixDeterminant", x(matrices(2, 3, 3) + eye))
case("log matrix determinant", "LogMatrixDeterminant", x(matrices(2, 3, 3) + eye), outputs=[1])
case("cholesky", "Cholesky", x(symmetric), kink=True)
case("complex cholesky", "Cholesky", z(np.array([[3, 1 + 0.5j], [1 - 0.5j, 2]])))
for label, m, n, full in (("square", 3, 3, False), ("deep", 4, 2, False), ("wide", 2, 4, False), ("wide, full", 2, 4, True)):
    case("qr " + label, "Qr", x(matrices(2, m, n) + np.eye(m, n)), full_matrices=("bool", full))
case("complex qr", "Qr", z(turned(3, 2)))
case("eigenvalues", "SelfAdjointEigV2", x(symmetric), kink=True, outputs=[0], compute_v=("bool", False))
case("eigenvectors", "SelfAdjointEigV2", x(symmetric[:, :2, :2]), kink=True)
spread = np.diag([1, 2.5, 4]).astype(np.float32)
case("singular values", "Svd", x(matrices(2, 3, 3) + spread), outputs=[0], compute_uv=("bool", False))
for label, m, n, full in (("square", 2, 2, False), ("deep", 3, 2, False), ("wide", 2, 3, False), ("wide, full", 2, 3, True), ("deep, full", 3, 2, True)):
    # Of these matrices, TensorFlow's vectors have the signs of LAPACK's.
    case("svd " + label, "Svd", x(np.random.RandomState(0).uniform(-1, 1, (m, n)) + spread[:m, :n]), full_matrices=("bool", full))

# ---- complex numbers and spectra ----
case("real", "Real", z(turned(2, 3)))
case("imag", "Imag", z(turned(2, 3)))
case("angle", "Angle", z(turned(2, 3)))
case("complex abs", "ComplexAbs", z(turned(2, 3)))
case("complex abs at 0", "ComplexAbs", z([0, 1j]))
case("conj", "Conj", z(turned(2, 3)))
case("complex", "Complex", x(matrices(2, 3)), x(matrices(3)))
case("complex product", "Mul", z(turned(2, 3)), z(turned(3)))
case("complex exp", "Exp", z(turned(2, 3)))
for rank, shape in ((1, (2, 5)), (2, (3, 4)), (3, (2, 3, 2))):
    kind = "%dD" % rank if rank > 1 else ""
    case("fft" + kind, "FFT" + kind, z(turned(*shape)))
    case("ifft" + kind, "IFFT" + kind, z(turned(*shape)))
for length in (6, 5):
    case("rfft %d" % length, "RFFT", x(matrices(2, length)), const([length]), Tcomplex=("type", tf.complex64))
    case("irfft %d" % length, "IRFFT", z(turned(2, length // 2 + 1)), const([length]), Treal=("type", tf.float32))
    case("rfft2d %d" % length, "RFFT2D", x(matrices(2, 3, length)), const([3, length]), Tcomplex=("type", tf.complex64))
    case("irfft2d %d" % length, "IRFFT2D", z(turned(2, 3, length // 2 + 1)), const([3, length]), Treal=("type", tf.float32))

# ---- fractional pooling, and the greatest values of rows ----
fractions = np.random.RandomState(23)
for overlapping in (False, True):
    for op in ("FractionalAvgPool", "FractionalMaxPool"):
        case("%s %d" % (op, overlapping), op, x(fractions.permutation(2 * 7 * 5 * 2).reshape(2, 7, 5, 2) / 10), outputs=[0], kink=True,
             pooling_ratio=("floats", [1, 1.5, 1.3, 1]), overlapping=("bool", overlapping), deterministic=("bool", True), seed=("int", 5 + overlapping))
for shape_of in ((9,), (2, 3, 5)):
    case("approximate top k %d" % len(shape_of), "ApproxTopK", x(fractions.permutation(int(np.prod(shape_of))).reshape(shape_of)), outputs=[0], k=("int", 3))

# ---- gamma and truncated normal numbers, by their parameters ----
shapes = np.random.RandomState(29)
for op in ("Igamma", "Igammac"):
    case("%s of both" % op, op, x(shapes.uniform(0.3, 4, (3, 1))), x(shapes.uniform(0.3, 6, (4,))))
case("gamma numbers", "StatelessRandomGammaV2", const([5, 2, 3]), const([1, 2]), x(shapes.uniform(0.3, 4, (2, 1))* np.ones((1, 3))), kink=True)
case("gamma numbers by a key", "StatelessRandomGammaV3", const([5, 3]), const([7], np.uint64), const([1, 2], np.uint64), const(1), x(shapes.uniform(0.3, 4, (3,))), kink=True)
case("gamma numbers of a stream", "RandomGamma", const([5]), x(shapes.uniform(0.3, 4, (3,))), kink=True, seed=("int", 5))
case("truncated normal numbers", "StatelessParameterizedTruncatedNormal", const([5, 2, 3]), const([1, 2]), x([[0.5], [-1]]), x([1, 2, 0.5]), x([-1.5]), x([[1, 2, 2.5], [1.5, 1, 3]]),
     kink=True)

# ---- older versions ----
older = np.random.RandomState(31)
def old(*shape): return x(older.uniform(0.2, 2, shape).astype(np.float32))
for training in (True, False):
    for op in ("FusedBatchNorm", "FusedBatchNormV2"):
        statistics = [const([], np.float32)] * 2 if training else [fed(older.uniform(0.2, 2, 3), np.float32), fed(older.uniform(0.5, 2, 3), np.float32)]
        case("%s %d" % (op, training), op, old(2, 2, 3, 3), old(3), old(3), *statistics, outputs=[0], epsilon=("float", 0.01), is_training=("bool", training))
for scale in (True, False):
    case("global normalization %d" % scale, "BatchNormWithGlobalNormalization", old(2, 2, 1, 3), *[old(3) for _ in range(4)], variance_epsilon=("float", 0.01),
         scale_after_normalization=("bool", scale))
case("space to batch of one size", "SpaceToBatch", old(1, 3, 4, 2), const([[1, 0], [0, 2]]), block_size=("int", 2))
case("batch to space of one size", "BatchToSpace", old(4, 2, 2, 1), const([[1, 0], [0, 2]]), block_size=("int", 2))

# ---- quantization: the difference quotient is of steps, the gradient is not ----
steps = [[-3, -0.7, 0.1], [0.9, 2.5, 1.4]]
case("fake quantization of a fixed range", "FakeQuantWithMinMaxArgs", x(steps), kink=True, min=("float", -1.0), max=("float", 2.0), num_bits=("int", 4))
case("fake quantization of a range", "FakeQuantWithMinMaxVars", x(steps), x(-1.0), x(2.0), kink=True, num_bits=("int", 8), narrow_range=("bool", True))
case("fake quantization of channels", "FakeQuantWithMinMaxVarsPerChannel", x(steps), x([-1, 0, -2]), x([0.5, 1, 1.5]), kink=True, num_bits=("int", 8))
case("tile, multiples that are fed", "Tile", x(draw(2, 1, 3)), fed([2, 3, 1], np.int32))
case("tile, long multiples", "Tile", x(draw(2)), fed([4], np.int64))
case("gather along the last axis", "GatherV2", x(draw(2, 4)), fed([3, 1, 3], np.int32), const(1))
case("gather along an axis inside", "GatherV2", x(draw(2, 3, 2, 2)), fed([[2, 0], [0, 0]], np.int64), const(-3))
case("quantization there and back", "QuantizeAndDequantizeV4", x(steps), x(-1.0), x(2.0), kink=True, range_given=("bool", True))
case("gather of a batch", "GatherV2", x(draw(2, 3, 2)), fed([[2, 0, 2], [1, 1, 0]], np.int32), const(1), batch_dims=("int", 1))
case("gather of a batch of batches", "GatherV2", x(draw(2, 2, 3)), fed([[[2, 0], [1, 1]], [[0, 1], [2, 2]]], np.int64), const(-1), batch_dims=("int", -1))
case("gather one of each entry", "GatherV2", x(draw(2, 3, 2)), fed([2, 1], np.int32), const(1), batch_dims=("int", 1))

# ---- several devices ----
case("sharding", "XlaSharding", x(draw(2, 3)))

# ---- products of elements ----
case("prod of all", "Prod", x(draw(2, 3)), const([0, 1]))
case("prod of rows", "Prod", x(draw(2, 3, 2)), const([1]))
case("prod kept", "Prod", x(draw(2, 3, 2)), const([0, -1]), keep_dims=("bool", True))
case("prod with zeros", "Prod", x([[0, 2, 3], [0, 0, 4], [5, 6, 7]]), const([1]))
for exclusive in (False, True):
    for reverse in (False, True):
        case("cumprod %d %d" % (exclusive, reverse), "Cumprod", x(draw(2, 4)), const(1), exclusive=("bool", exclusive), reverse=("bool", reverse))
case("cumprod with a zero", "Cumprod", x([[2, 0, 3, 4]]), const(1), kink=True)

# ---- pixels that are moved ----
maps = fed([[1, 0.2, -0.7, 0, 0.9, 0.3, 0, 0], [0.8, 0.1, 0.4, -0.2, 1.2, -0.6, 0.01, -0.02]], np.float32)
for mode in ("CONSTANT", "NEAREST"):
    case("moved " + mode, "ImageProjectiveTransformV3", picture(2, 4, 5, 2), maps, const([4, 5]), const(0.5, np.float32), kink=True, fill_mode=("text", mode),
         interpolation=("text", "BILINEAR"))
case("moved to another size", "ImageProjectiveTransformV2", picture(2, 4, 3, 1), fed(maps[1][:1], np.float32), const([3, 6]), kink=True,
     interpolation=("text", "NEAREST"))

# ---- derivatives of derivatives ----
second = np.random.RandomState(37)
def second_draw(*shape): return second.uniform(-2, 2, shape).astype(np.float32)
for op in ("SigmoidGrad", "TanhGrad", "ReciprocalGrad", "InvGrad", "RsqrtGrad", "SqrtGrad"):
    case("%s again" % op, op, x(second.uniform(0.3, 1.5, (2, 3))), x(second_draw(2, 3)))
    case("%s of complex numbers" % op, op, z(second_draw(4) + 1j * second_draw(4)), z(second_draw(4) + 1j * second_draw(4)))
for op in ("ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "SoftplusGrad"):
    case("%s again" % op, op, x(second_draw(2, 3)), x([[-1.5, -0.25, 0.5], [2, 5.5, 7]]))
case("leaky relu again", "LeakyReluGrad", x(second_draw(4)), x([-2, -0.5, 0.25, 1]), alpha=("float", 0.3))
case("relu again, at 0", "ReluGrad", x(second_draw(2)), x([0, 1]), kink=True)
case("elu again, at 0", "EluGrad", x(second_draw(2)), x([0, -0.5]), kink=True)
case("bias add again", "BiasAddGrad", x(second_draw(2, 3, 2)))
case("bias add again, channels first", "BiasAddGrad", x(second_draw(2, 3, 2, 2)), data_format=("text", "NCHW"))
case("strided slice again", "StridedSliceGrad", const([4, 5]), const([0, 1]), const([4, 5]), const([2, 2]), x(second_draw(2, 2)), begin_mask=("int", 1),
     end_mask=("int", 0), ellipsis_mask=("int", 0), new_axis_mask=("int", 0), shrink_axis_mask=("int", 0))

# ---- older versions, and rare ops ----
case("conjugate transpose", "ConjugateTranspose", z(second_draw(2, 3, 2) + 1j * second_draw(2, 3, 2)), const([2, 0, 1]))
case("concat v1", "Concat", const(1), x(second_draw(2, 1)), x(second_draw(2, 3)))
case("gather v1", "Gather", x(second_draw(4, 2)), fed([[1, 3], [1, 0]], np.int32))
case("batch matmul v1", "BatchMatMul", x(second_draw(2, 3, 2)), x(second_draw(2, 3, 4)), adj_x=("bool", True))
case("bias add v1", "BiasAddV1", x(second_draw(2, 3)), x(second_draw(3)))
case("Xlog1py a row", "Xlog1py", x(second.uniform(0.3, 2, (2, 3))), x(second.uniform(-0.5, 2, 3)))
case("Xlog1py at 0", "Xlog1py", x([0.0, 0.0, 1.5]), x([2.0, 0.5, 2.0]), kink=True)
case("euclidean norm of rows", "EuclideanNorm", x(second_draw(2, 3)), const([1]), keep_dims=("bool", False))
case("euclidean norm kept", "EuclideanNorm", x(second_draw(2, 3, 2)), const([0, 2]), keep_dims=("bool", True))
for exclusive in (False, True):
    for reverse in (False, True):
        case("cumulative logsumexp %d %d" % (exclusive, reverse), "CumulativeLogsumexp", x(second_draw(2, 4)), const(1), kink=exclusive,
             exclusive=("bool", exclusive), reverse=("bool", reverse))
case("nth element", "NthElement", x([[3, 1, 2.5, 0.5, 1.5], [-1, 0.25, 4, 2, -2]]), const(2))
case("nth element at ties", "NthElement", x([[3, 1, 3, 3], [2, 2, 0, 1]]), const(1), kink=True, reverse=("bool", True))
case("patches", "ExtractImagePatches", x(second_draw(2, 4, 5, 2)), ksizes=("ints", [1, 2, 3, 1]), strides=("ints", [1, 1, 2, 1]), rates=("ints", [1, 1, 1, 1]),
     padding=("text", "SAME"))
case("patches without padding", "ExtractImagePatches", x(second_draw(1, 5, 5, 1)), ksizes=("ints", [1, 2, 2, 1]), strides=("ints", [1, 2, 2, 1]),
     rates=("ints", [1, 2, 1, 1]), padding=("text", "VALID"))
case("quantization v2", "QuantizeAndDequantizeV2", x(steps), const(-1.0, np.float32), const(2.0, np.float32), kink=True, range_given=("bool", True))
case("quantization v3", "QuantizeAndDequantizeV3", x(steps), const(-1.0, np.float32), const(2.0, np.float32), const(8), kink=True, range_given=("bool", True))
case("print", "Print", x(second_draw(2)), message=("text", "x"))

# ---- sparse tensors ----
places = [[0, 1], [0, 3], [1, 0], [2, 2], [2, 3]]
def at(rows): return fed(rows, np.int64)
def size(*dims): return fed(dims, np.int64)
case("sparse, reordered", "SparseReorder", at([places[i] for i in (3, 0, 4, 2, 1)]), x(second_draw(5)), size(3, 4), outputs=[1])
case("sparse sum", "SparseAdd", at(places), x(second_draw(5)), size(3, 4), at([[0, 0], [0, 1], [2, 3]]), x(second_draw(3)), size(3, 4), const(0.0, np.float32),
     outputs=[1])
case("sparse slice", "SparseSlice", at(places), x(second_draw(5)), size(3, 4), size(0, 1), size(2, 3), outputs=[1])
case("sparse and dense sum", "SparseTensorDenseAdd", at(places), x(second_draw(5)), size(3, 4), x(second_draw(3, 4)))
case("sparse to dense", "SparseToDense", at(places), const([3, 4], np.int64), x(second_draw(5)), x(0.5))
for axes, keep in (([1], False), ([0], True), ([-1, 0], False)):
    case("sparse reduced over %s %d" % (axes, keep), "SparseReduceSum", at(places), x(second_draw(5)), size(3, 4), const(axes), keep_dims=("bool", keep))
case("sparse softmax", "SparseSoftmax", at(places), x(second_draw(5)), size(3, 4))
for op in ("SparseDenseCwiseMul", "SparseDenseCwiseDiv"):
    for dims in ((3, 4), (4,), (3, 1)):
        case("%s by %s" % (op, list(dims)), op, at(places), x(second_draw(5)), size(3, 4), x(second.uniform(0.5, 2, dims)))

# ---- ragged tensors ----
splits = fed([0, 2, 2, 5], np.int64)
case("ragged to sparse", "RaggedTensorToSparse", splits, x(second_draw(5)), outputs=[1])
case("ragged to dense", "RaggedTensorToTensor", const([-1, -1, 2], np.int64), x(second_draw(5, 2)), x(0.25), splits, row_partition_types=("texts", ["ROW_SPLITS"]))
case("ragged to a narrower one", "RaggedTensorToTensor", const([3, 2, 2], np.int64), x(second_draw(5, 2)), x(second_draw(2)), splits,
     row_partition_types=("texts", ["ROW_SPLITS"]))
case("ragged to dense, by row numbers", "RaggedTensorToTensor", const([4, 3], np.int64), x(second_draw(5)), x(0.5), fed(4, np.int64), fed([0, 0, 2, 2, 2], np.int64),
     row_partition_types=("texts", ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]))
case("rows of a ragged tensor", "RaggedGather", splits, x(second_draw(5, 2)), fed([2, 0, 2], np.int32), outputs=[1], OUTPUT_RAGGED_RANK=("int", 1))
case("rows of a ragged tensor of lists", "RaggedGather", fed([0, 2, 3], np.int64), splits, x(second_draw(5)), fed([[1, 0], [0, 0]], np.int64), outputs=[3],
     OUTPUT_RAGGED_RANK=("int", 3))


# ---- gradients of convolutions and pools, again ----
ONE = dict(strides=("ints", [1, 1, 1, 1]), padding=("text", "SAME"))
TWO = dict(strides=("ints", [1, 2, 2, 1]), padding=("text", "VALID"))
for attrs, side in ((ONE, 5), (TWO, 2)):
    case("conv2d filter again %d" % side, "Conv2DBackpropFilter", x(second_draw(2, 5, 5, 2)), const([3, 3, 2, 3]), x(second_draw(2, side, side, 3)), **attrs)
    case("depthwise filter again %d" % side, "DepthwiseConv2dNativeBackpropFilter", x(second_draw(1, 5, 5, 2)), const([3, 3, 2, 2]),
         x(second_draw(1, side, side, 4)), **attrs)
    case("depthwise input again %d" % side, "DepthwiseConv2dNativeBackpropInput", const([1, 5, 5, 2]), x(second_draw(3, 3, 2, 2)),
         x(second_draw(1, side, side, 4)), **attrs)
case("conv3d filter again", "Conv3DBackpropFilterV2", x(second_draw(1, 3, 3, 3, 2)), const([2, 2, 2, 2, 2]), x(second_draw(1, 2, 2, 2, 2)),
     strides=("ints", [1, 1, 1, 1, 1]), padding=("text", "VALID"))
PLANE = dict(ksize=("ints", [1, 2, 2, 1]), strides=("ints", [1, 2, 2, 1]), padding=("text", "SAME"))
SPACE = dict(ksize=("ints", [1, 2, 2, 2, 1]), strides=("ints", [1, 2, 2, 2, 1]), padding=("text", "SAME"))
case("avg pool again", "AvgPoolGrad", const([1, 5, 4, 2]), x(second_draw(1, 3, 2, 2)), **PLANE)
case("avg pool of volumes again", "AvgPool3DGrad", const([1, 3, 4, 2, 1]), x(second_draw(1, 2, 2, 1, 1)), **SPACE)
flat = second.permutation(40).reshape(1, 5, 4, 2).astype(np.float32)
case("max pool again", "MaxPoolGrad", fed(flat, np.float32), fed(tf.nn.max_pool2d(flat, 2, 2, "SAME").numpy(), np.float32), x(second_draw(1, 3, 2, 2)), **PLANE)
solid = second.permutation(24).reshape(1, 3, 4, 2, 1).astype(np.float32)
case("max pool of volumes again", "MaxPool3DGrad", fed(solid, np.float32), fed(tf.nn.max_pool3d(solid, 2, 2, "SAME").numpy(), np.float32),
     x(second_draw(1, 2, 2, 1, 1)), **SPACE)


# ---- the rest of linear algebra ----
third = np.random.RandomState(41)
def third_draw(*shape): return third.uniform(-2, 2, shape).astype(np.float32)
def complexes(*shape): return third_draw(*shape) + 1j * third_draw(*shape)
def definite(*shape):
    m = third_draw(*shape)
    return m @ np.swapaxes(m, -1, -2) + 2 * np.eye(shape[-1])
TOUT = dict(Tout=("type", tf.complex64))
case("eigenvalues of any matrix", "Eig", x(third_draw(2, 3, 3)), outputs=[0], compute_v=("bool", False), **TOUT)
case("eigenvalues of any complex matrix", "Eig", z(complexes(3, 3)), outputs=[0], compute_v=("bool", False), **TOUT)
case("eigenvectors of any matrix", "Eig", x(third_draw(4, 4)), kink=True, compute_v=("bool", True), **TOUT)
case("eigenvectors of any complex matrix", "Eig", z(complexes(3, 3)), compute_v=("bool", True), **TOUT)
case("only eigenvalues used", "Eig", x(third_draw(3, 3)), outputs=[0], compute_v=("bool", True), **TOUT)
for label, rows in (("tall", 4), ("square", 2), ("wide", 1)):
    case("least squares, %s" % label, "MatrixSolveLs", x(third_draw(3, rows, 2)), x(third_draw(3, rows, 2)), const(0.5, np.float64))
    case("least squares, %s and complex" % label, "MatrixSolveLs", z(complexes(rows, 2)), z(complexes(rows, 3)), const(0.25, np.float64))
case("least squares, unweighted", "MatrixSolveLs", x(third_draw(4, 2)), x(third_draw(4, 1)), const(0, np.float64))
case("square root of matrices", "MatrixSquareRoot", x(definite(2, 3, 3)))
case("square root of a matrix", "MatrixSquareRoot", x(definite(2, 2)))
case("square root of a complex matrix", "MatrixSquareRoot", z(definite(3, 3) + 0.25j * third_draw(3, 3)))
for pivoting in (True, False):
    diagonals = third_draw(2, 3, 4)
    diagonals[:, 1] += 5
    case("three diagonals solved, %d" % pivoting, "TridiagonalSolve", x(diagonals), x(third_draw(2, 4, 2)), partial_pivoting=("bool", pivoting))
case("three complex diagonals solved", "TridiagonalSolve", z(diagonals[0] + 1j * third_draw(3, 4)), z(complexes(4, 2)))
case("three diagonals multiplied", "TridiagonalMatMul", *[x(third_draw(2, 1, 4)) for _ in range(3)], x(third_draw(2, 4, 3)))
case("three complex diagonals multiplied", "TridiagonalMatMul", *[z(complexes(1, 4)) for _ in range(3)], z(complexes(4, 3)))
for lower in (True, False):
    for adjoint in (False, True):
        bands = third_draw(2, 3, 5)
        bands[:, 0 if lower else -1] += 4  # the main diagonal
        flags = dict(lower=("bool", lower), adjoint=("bool", adjoint))
        case("bands solved %d %d" % (lower, adjoint), "BandedTriangularSolve", x(bands), x(third_draw(2, 5, 2)), **flags)
case("bands solved, broadcast", "BandedTriangularSolve", x(bands[0]), x(third_draw(2, 5, 2)), **flags)
case("complex bands solved", "BandedTriangularSolve", z(bands[0] + 1j * third_draw(3, 5)), z(complexes(5, 2)), **flags)

# ---- gradients of gradients of layers ----
FLAT = ("NHWC", (2, 3, 2, 3)), ("NCHW", (2, 3, 3, 2))
DEEP = ("NDHWC", (2, 2, 1, 2, 3)), ("NCDHW", (2, 3, 2, 1, 2))
for op, formats in (("FusedBatchNormGrad", FLAT[:1]), ("FusedBatchNormGradV2", FLAT[:1]), ("FusedBatchNormGradV3", FLAT + DEEP)):
    for format, dims in formats:
        for training in (True, False)[:1 if "C" in format[:2] else 2]:  # that is all that TensorFlow has for a CPU
            reserved = [fed(third.uniform(0.5, 1.5, 3), np.float32) for _ in range(3 if op.endswith("3") else 2)]
            case("%s, %s %d" % (op, format, training), op, x(third_draw(*dims)), x(third_draw(*dims)), x(third.uniform(0.5, 2, 3)), *reserved, kink=training,
                 outputs=[0, 1, 2], is_training=("bool", training), data_format=("text", format), epsilon=("float", 0.001))
pooled = fed(tf.nn.max_pool2d(flat, 2, 2, "SAME").numpy(), np.float32)
case("max pool once more", "MaxPoolGradGrad", fed(flat, np.float32), pooled, x(third_draw(1, 5, 4, 2)), **PLANE)
case("max pool of volumes once more", "MaxPool3DGradGrad", fed(solid, np.float32), fed(tf.nn.max_pool3d(solid, 2, 2, "SAME").numpy(), np.float32),
     x(third_draw(1, 3, 4, 2, 1)), **SPACE)
case("max pool v2 again", "MaxPoolGradV2", fed(flat, np.float32), pooled, x(third_draw(1, 3, 2, 2)), const([1, 2, 2, 1]), const([1, 2, 2, 1]),
     padding=("text", "SAME"))

# ---- colours, patches, and what is left ----
case("hues", "RGBToHSV", x(third.uniform(0.1, 1, (3, 4, 3))), kink=True)
case("hues at ties and below 0", "RGBToHSV", x([[.5, .5, .2], [.5, .2, .5], [.2, .5, .5], [.4, .4, .4], [0, 0, 0], [0, .25, 0], [-.5, .25, .125], [.25, 0, .5],
                                                [-.5, -.25, -.125]]), kink=True)
case("patches of volumes", "ExtractVolumePatches", x(third_draw(2, 3, 4, 3, 2)), ksizes=("ints", [1, 2, 3, 2, 1]), strides=("ints", [1, 1, 2, 1, 1]),
     padding=("text", "SAME"))
case("patches of volumes without padding", "ExtractVolumePatches", x(third_draw(1, 4, 3, 3, 1)), ksizes=("ints", [1, 2, 2, 2, 1]),
     strides=("ints", [1, 2, 1, 1, 1]), padding=("text", "VALID"))
case("isotonic regression", "IsotonicRegression", x(third_draw(3, 6)), kink=True, outputs=[0])
for ta in (False, True):
    for tb in (False, True):
        a, b = (third_draw(3, 2) if ta else third_draw(2, 3)), (third_draw(4, 3) if tb else third_draw(3, 4))
        case("sparse matmul %d %d" % (ta, tb), "SparseMatMul", x(a), x(b), transpose_a=("bool", ta), transpose_b=("bool", tb), a_is_sparse=("bool", True))
case("sparse to dense, one value", "SparseToDense", at([[0, 1], [1, 0], [2, 3]]), const([3, 4], np.int64), x(0.75), x(0.5))
case("sparse to dense, a vector", "SparseToDense", at([0, 1, 3]), const([4], np.int64), x(third_draw(3)), x(0.5))
case("sparse to dense, one place", "SparseToDense", at(2), const([4], np.int64), x(1.5), x(0.5))


def numbers(array):
    if array.dtype == bool:
        return " ".join("%d" % v for v in array.ravel())
    if array.dtype.kind in "iu":
        return " ".join("%d" % v for v in array.ravel())
    if array.dtype.kind == "c":
        return " ".join("%.9g %.9g" % (v.real, v.imag) for v in array.ravel())
    return " ".join("%.9g" % v for v in array.ravel())


def prefix(array):
    return "complex-" if array.dtype.kind == "c" else ""


def shape(array):
    return "[" + ",".join(map(str, array.shape)) + "]"


def arguments(op, tensors):
    """Flat inputs as the keyword arguments of tf.raw_ops."""
    args = op_def_registry.get(op).input_arg
    lists = sum(bool(arg.number_attr or arg.type_list_attr) for arg in args)
    given, at = {}, 0
    for arg in args:
        if arg.number_attr or arg.type_list_attr:
            count = (len(tensors) - (len(args) - lists)) // lists
            given[arg.name] = tensors[at:at + count]
            at += count
        else:
            given[arg.name] = tensors[at]
            at += 1
    return given


def attributes(op, attrs):
    given = {name: value for name, (kind, value) in attrs.items()}
    if op == "StridedSlice":
        for name in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"):
            given.setdefault(name, 0)
    return given


@tf.custom_gradient
def block_lstm_v2(*inputs, **attrs):
    """TensorFlow registers the op BlockLSTMGrad as its gradient, whose gates have another order: that is not the derivative."""
    names = [arg.name for arg in op_def_registry.get("BlockLSTMGradV2").input_arg]
    results = tf.raw_ops.BlockLSTMV2(**dict(zip(names, inputs)), **attrs)

    def gradient(*upstream):
        given = dict(zip(names, [*inputs, *results, upstream[1], upstream[6]]))
        return [None, *tf.raw_ops.BlockLSTMGradV2(**given, use_peephole=attrs["use_peephole"])]
    return tuple(results), gradient


def flip(op, value, result, weights):
    """The sign of an eigenvector is anyone's choice. The weights that are written suit LAPACK's."""
    if op == "SelfAdjointEigV2" and 1 in weights:
        chosen = np.linalg.eigh(value)[1]
        weights[1] = weights[1] * np.sign(np.sum(chosen * result[1], -2, keepdims=True)).astype(np.float32)
    if op == "Eig":
        for at in np.ndindex(value.shape[:-2]):
            reorder(value[at], result, weights, at)


def reorder(matrix, result, weights, at):
    """The order of the eigenvalues of any matrix, too."""
    values, vectors = np.linalg.eig(matrix.astype(np.complex64))
    order = [int(np.argmin(abs(result[0][at] - v))) for v in values]
    assert len(set(order)) == len(order)
    weights[0][at] = weights[0][at][order]
    if 1 in weights:
        turned = np.sum(np.conj(result[1][at][:, order]) * vectors, -2, keepdims=True)  # e^(i angle)
        weights[1][at] = weights[1][at][:, order] * np.conj(turned)


def in_graph(function):
    return tf.function(lambda **arguments: function(**arguments))


OF_XLA = {"XlaSharding": in_graph(gen_xla_ops.xla_sharding)}  # tf.raw_ops lacks it, and its gradient needs a graph


def write(label, op, inputs, kink, outputs, attrs):
    tensors = [tf.constant(value) for _, value in inputs]
    watched = [t for t, (role, _) in zip(tensors, inputs) if role == "x"]
    raw = "Reciprocal" if op == "Inv" else op
    with tf.GradientTape() as tape:
        tape.watch(watched)
        if op == "PlaceholderWithDefault":
            result = [tf.identity(tensors[0])]
        else:
            function = OF_XLA.get(raw) or getattr(tf.raw_ops, raw)
            if raw == "Conv3D":  # the plain kernel takes no dilations
                plain = function
                function = tf.function(lambda **arguments: plain(**arguments), jit_compile=True)
            given = arguments(raw, tensors)
            if raw in ("Cast",):
                result = [tf.cast(tensors[0], tf.float64)]
            else:
                names = {"Squeeze": {"squeeze_dims": "axis"}}.get(raw, {})
                extra = {names.get(n, n): v for n, v in attributes(raw, attrs).items()}
                if raw in ("Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm"):
                    given = {"input": given["input"], "axis": given["reduction_indices"]}
                    extra = {"keep_dims": extra.get("keep_dims", False)}
                if raw == "Split":
                    given = {"axis": given["split_dim"], "value": given["value"]}
                if raw == "SplitV":
                    given = {"value": given["value"], "size_splits": given["size_splits"], "axis": given["split_dim"]}
                if raw == "ExpandDims":
                    given = {"input": given["input"], "axis": given["dim"]}
                if raw == "Select":
                    given = {"condition": tensors[0], "x": tensors[1], "y": tensors[2]}
                if raw == "BatchNormWithGlobalNormalization":  # removed from eager TensorFlow, which has it by this name
                    function = lambda t, m, v, beta, gamma, variance_epsilon, scale_after_normalization: tf.nn.batch_normalization(
                        t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon)
                if raw == "BlockLSTMV2":
                    function = lambda use_peephole, **values: block_lstm_v2(*values.values(), use_peephole=use_peephole)
                if raw == "SparseToDense":  # its gradient wants them so
                    given["sparse_indices"] = tf.reshape(given["sparse_indices"], [-1, len(inputs[1][1])])
                result = function(**given, **extra)
            result = tf.nest.flatten(result)
        wanted = range(len(result)) if outputs is None else outputs
        own = np.random.RandomState(zlib.crc32(label.encode()))  # a case that is added changes no other
        weights = {k: own.uniform(-1, 1, result[k].shape).astype(np.float32) for k in wanted}
        vectors = [y.numpy() for y in result]
        for k in wanted:
            if result[k].dtype.is_complex:
                weights[k] = weights[k] + 1j * own.uniform(-1, 1, result[k].shape).astype(np.float32)
                result[k] = tf.math.real(result[k] * weights[k])
            else:
                result[k] = tf.cast(result[k], tf.float32) * weights[k]
        loss = tf.add_n([tf.reduce_sum(result[k]) for k in wanted])
    gradients = iter(tape.gradient(loss, watched, unconnected_gradients=tf.UnconnectedGradients.ZERO))
    flip(op, inputs[0][1], vectors, weights)
    print("case %s : %s" % (label, op))
    for name, (kind, value) in attrs.items():
        if kind == "type":
            text = "%d" % value.as_datatype_enum
        elif kind in ("ints", "floats", "shape", "texts"):
            text = " ".join(map(str, value))
        elif kind == "bool":
            text = "%d" % value
        else:
            text = "%s" % value
        print("attr %s %s %s" % (name, kind, text))
    for role, value in inputs:
        print("input %s %d %s %s" % (role, tf.as_dtype(value.dtype).as_datatype_enum, shape(value), numbers(value)))
    for k in wanted:
        print("%sweights %d %s %s" % (prefix(weights[k]), k, shape(weights[k]), numbers(weights[k])))
    for i, (role, _) in enumerate(inputs):
        if role == "x":
            value = tf.convert_to_tensor(next(gradients)).numpy()
            if op == "SparseToDense" and inputs[i][1].ndim == 0:
                value = value.sum()  # TensorFlow gives one for each place
            print("%sgrad %d %s %s" % (prefix(value), i, shape(value), numbers(value)))
    if kink or any(role == "x" and value.dtype.kind == "c" for role, value in inputs):
        print("kink")
    print("end")


for one in CASES:
    try:
        write(*one)
    except Exception as error:
        raise SystemExit("%s: %s" % (one[0], error))

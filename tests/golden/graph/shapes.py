#!/usr/bin/env python3
"""Writes shapes.pb, a graph of many ops over shapes with known and unknown parts, and shapes.txt: what TensorFlow
infers for each output of it, in the words of core/tensor/shape.h.

    python tests/golden/graph/shapes.py

    python tests/golden/graph/shapes.py MODELS OUT   the same for the graph and each function of every SavedModel
                                                      under MODELS, into OUT (not kept in the tree)

Made with TensorFlow 2.21.
"""
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402
from tensorflow.compiler.tf2xla.ops import gen_xla_ops  # noqa: E402
from tensorflow.core.protobuf import saved_model_pb2  # noqa: E402
from tensorflow.python.framework import function_def_to_graph  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
v1 = tf.compat.v1
raw = tf.raw_ops


def text(shape):
    if shape.rank is None:
        return "<unknown>"
    return "[" + ",".join("?" if dim is None else str(dim) for dim in shape.as_list()) + "]"


def write(graph, path):
    for operation in graph.get_operations():
        operation._clear_attr("_output_shapes")
    path.with_suffix(".pb").write_bytes(graph.as_graph_def().SerializeToString(deterministic=True))
    lines = [f"{tensor.name} {text(tensor.shape)}\n" for op in graph.get_operations() for tensor in op.outputs]
    path.with_suffix(".txt").write_text("".join(lines))


def ours():
    def given(*dims, dtype=tf.float32):
        return v1.placeholder(dtype, None if dims == (...,) else dims)

    batch = given(None, 28, 28, 3)
    image = given(2, 7, 9, 4)
    matrix, square, vector, scalar, unknown = given(None, 6), given(6, 6), given(6), given(), given(...)
    ints, ids = given(None, dtype=tf.int32), given(2, None, dtype=tf.int64)
    words, flags = given(None, dtype=tf.string), given(None, 6, dtype=tf.bool)
    anything = given(..., dtype=tf.int32)

    for x in (batch, image, matrix, vector, scalar, unknown):
        tf.identity(x), tf.nn.relu(x), tf.shape(x), tf.size(x), tf.rank(x), tf.zeros_like(x), tf.cast(x, tf.int32)
        tf.reshape(x, [-1]), tf.reshape(x, tf.shape(x)), tf.reduce_sum(x, axis=[]), raw.Snapshot(input=x)
        raw.Sum(input=x, axis=anything), raw.Mean(input=x, axis=anything, keep_dims=True)
    for x, y in ((matrix, vector), (matrix, scalar), (matrix, unknown), (batch, given(28, 1, 3)), (matrix, matrix)):
        tf.add(x, y), tf.equal(x, y), tf.maximum(x, y), tf.where(x > y, x, y)
    tf.add_n([matrix, given(3, None)]), tf.stack([vector, given(None)]), tf.stack([scalar, scalar], axis=-1)
    tf.unstack(square, axis=1), tf.concat([matrix, given(4, 6)], 0), tf.concat([image, image], -1)
    tf.concat([unknown, matrix], 1), raw.ConcatV2(values=[matrix, square], axis=v1.placeholder(tf.int32, []))
    tf.split(image, 3, axis=2), tf.split(matrix, [1, 2, 3], axis=1), tf.split(batch, 2, axis=1)
    tf.slice(image, [0, 1, 0, 2], [-1, 2, 9, -1]), tf.slice(matrix, [0, 0], [-1, 2])
    raw.Slice(input=matrix, begin=given(2, dtype=tf.int32), size=given(2, dtype=tf.int32))
    image[0], image[:, 1:-1, ::2], image[..., 0], image[:, tf.newaxis, ..., 1:3], matrix[-1, 2:], image[1:0], image[::-1]
    matrix[:, ::-2], batch[:, :-1], unknown[0], vector[ints[0]:], image[:, 7:2:-2], batch[..., tf.newaxis]
    tf.transpose(batch, [0, 3, 1, 2]), tf.transpose(image), tf.transpose(unknown, [1, 0]), raw.Transpose(x=image, perm=ints)
    tf.expand_dims(matrix, 1), tf.expand_dims(matrix, -1), tf.squeeze(given(1, None, 1), [0, 2]), tf.squeeze(given(1, 3, 1))
    tf.squeeze(given(None, 1)), tf.tile(matrix, [2, 3]), tf.pad(image, [[0, 0], [1, 2], [3, 4], [0, 0]]), tf.pad(matrix, [[0, 0], [1, 1]])
    raw.Pad(input=matrix, paddings=given(2, 2, dtype=tf.int32)), tf.range(10), tf.range(2, 11, 3), tf.range(ints[0])
    tf.range(9, 0, -2), raw.LinSpace(start=0.0, stop=1.0, num=5), tf.one_hot(ids, 5), tf.one_hot(ids, ints[0], axis=0), tf.fill([2, 3], 1.0)
    tf.fill(tf.stack([tf.shape(matrix)[0], 4]), 1.0), tf.zeros(tf.shape(matrix)), tf.broadcast_to(vector, [3, 6])
    tf.reshape(batch, [-1, 28 * 28 * 3]), tf.reshape(matrix, [-1, 2, 3]), tf.reshape(image, tf.stack([2, -1]))
    tf.reshape(batch, tf.concat([tf.shape(batch)[:1], [2352]], 0)), tf.reshape(unknown, [2, -1])
    tf.reshape(batch, tf.stack([tf.shape(batch)[0], tf.reduce_prod(tf.shape(batch)[1:])]))
    tf.reshape(image, tf.gather(tf.shape(image), [3, 0, 1, 2])), tf.reshape(image, tf.shape(image)[0:2] * [4, 9] // [1, 1])
    tf.gather(matrix, ids), tf.gather(matrix, ids, axis=1), tf.gather(image, ids, batch_dims=1, axis=2), tf.gather(unknown, ids)
    raw.GatherV2(params=matrix, indices=ids, axis=ints[0]), tf.gather_nd(image, given(5, 2, dtype=tf.int32))
    raw.Gather(params=square, indices=ids), tf.scatter_nd(given(5, 1, dtype=tf.int32), given(5, 6), [9, 6])
    tf.where(flags), tf.argmax(matrix, 1), tf.argmin(image, -1), raw.ArgMax(input=matrix, dimension=ints[0])
    tf.math.top_k(matrix, 3), tf.math.top_k(matrix, ints[0]), tf.unique(vector), tf.reverse(matrix, [1])
    tf.math.unsorted_segment_sum(matrix, given(None, dtype=tf.int32), 4), tf.cumsum(matrix, 1)
    tf.dynamic_stitch([given(3, dtype=tf.int32), given(2, dtype=tf.int32)], [given(3, 6), given(2, 6)])
    for axis in (0, [1, -1], None):
        tf.reduce_sum(square, axis), tf.reduce_max(image, axis, keepdims=True), tf.reduce_mean(batch, axis)
    tf.reduce_all(flags, 1), tf.nn.l2_loss(matrix), raw.Bincount(arr=ints, size=3, weights=vector)
    tf.matmul(matrix, square), tf.matmul(matrix, square, transpose_b=True), tf.matmul(matrix, matrix, transpose_a=True)
    raw.MatMul(a=unknown, b=square), tf.matmul(given(None, 5, 3, 4), given(1, 4, 2)), tf.matmul(given(5, 3, 4), given(5, 2, 4), adjoint_b=True)
    raw.BatchMatMul(x=given(5, 3, 4), y=given(5, 4, 2))
    raw.Einsum(inputs=[matrix, square], equation="ij,jk->ik"), raw.Einsum(inputs=[batch, given(3, 5)], equation="abcd,de->abce")
    raw.Einsum(inputs=[given(None, 3), given(3, None)], equation="ij,jk->ik"), raw.Einsum(inputs=[image], equation="...ij->ji...")
    raw.Einsum(inputs=[given(None, 3), given(3)], equation="...,...->..."), raw.Einsum(inputs=[given(None, None)], equation="ii->i")
    raw.Einsum(inputs=[given(None), given(1)], equation="...,...->..."), raw.Einsum(inputs=[unknown, square], equation="ij,jk->ik")
    raw.Einsum(inputs=[given(None, 1), given(5, 1, 4)], equation="...,...->..."), raw.Einsum(inputs=[vector], equation="i->ii")
    tf.nn.bias_add(batch, given(3)), tf.nn.softmax(matrix), tf.nn.leaky_relu(image), raw.Softplus(features=unknown)
    for padding in ("SAME", "VALID", [[0, 0], [1, 2], [0, 3], [0, 0]]):
        tf.nn.conv2d(batch, given(5, 3, 3, 8), [1, 2, 1, 1], padding), tf.nn.conv2d(given(None, None, 20, 3), given(5, 3, 3, 8), 2, padding)
        tf.nn.depthwise_conv2d(batch, given(3, 3, 3, 2), [1, 1, 1, 1], padding)
    tf.nn.conv2d(batch, given(3, 3, 3, 8), 1, "VALID", dilations=2), tf.nn.conv2d(given(2, 3, 9, 9), given(2, 2, 3, 5), 1, "SAME", data_format="NCHW")
    tf.nn.max_pool2d(batch, 2, 2, "VALID"), tf.nn.max_pool2d(image, [3, 2], [2, 2], "SAME"), tf.nn.avg_pool2d(image, 3, 1, "VALID")
    tf.nn.max_pool2d(image, 2, 2, "VALID", data_format="NCHW"), tf.nn.conv2d_transpose(image, given(3, 3, 5, 4), [2, 14, 18, 5], 2)
    raw.FusedBatchNormV3(x=batch, scale=given(3), offset=given(3), mean=given(3), variance=given(3), is_training=False)
    raw.FusedBatchNorm(x=batch, scale=given(3), offset=given(3), mean=given(3), variance=given(3), is_training=False)
    tf.image.resize(batch, [14, 15]), raw.ResizeNearestNeighbor(images=image, size=given(2, dtype=tf.int32))
    tf.nn.depth_to_space(image, 2), tf.nn.space_to_depth(given(None, 4, 6, 3), 2), tf.nn.lrn(batch)
    raw.BatchToSpaceND(input=given(8, 3, 3, 2), block_shape=given(2, dtype=tf.int32), crops=given(2, 2, dtype=tf.int32))
    raw.SoftmaxCrossEntropyWithLogits(features=matrix, labels=given(4, 6)), raw.SparseSoftmaxCrossEntropyWithLogits(features=matrix, labels=ints)
    raw.BiasAddGrad(out_backprop=batch), raw.ReluGrad(gradients=matrix, features=given(3, None)), raw.MaxPoolGrad(
        orig_input=image, orig_output=given(2, 3, 4, 4), grad=given(2, 3, 4, 4), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    raw.Conv2DBackpropFilter(input=batch, filter_sizes=[3, 3, 3, 8], out_backprop=given(None, 28, 28, 8), strides=[1, 1, 1, 1], padding="SAME")
    raw.BroadcastGradientArgs(s0=tf.shape(matrix), s1=tf.shape(vector)), tf.random.uniform([2, 3]), tf.random.normal(tf.shape(matrix))
    raw.StatelessRandomUniform(shape=[3, 4], seed=[1, 2]), tf.random.truncated_normal([5])
    handle = raw.VarHandleOp(dtype=tf.float32, shape=[10, 6], shared_name="v")
    raw.ReadVariableOp(resource=handle, dtype=tf.float32), raw.ResourceGather(resource=handle, indices=ids, dtype=tf.float32)
    raw.VarIsInitializedOp(resource=handle), raw.VariableShape(input=handle), raw.AssignVariableOp(resource=handle, value=given(10, 6))
    reference = raw.VariableV2(shape=[10, 6], dtype=tf.float32)
    raw.Assign(ref=reference, value=given(10, None)), raw.IsVariableInitialized(ref=reference), tf.identity(reference)
    table = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    raw.LookupTableFindV2(table_handle=table, keys=words, default_value=tf.constant(-1, tf.int64)), raw.LookupTableSizeV2(table_handle=table)
    raw.LookupTableExportV2(table_handle=table, Tkeys=tf.string, Tvalues=tf.int64)
    tf.io.parse_example(words, {"s": tf.io.VarLenFeature(tf.int64), "d": tf.io.FixedLenFeature([3], tf.float32),
                                "e": tf.io.FixedLenFeature([], tf.string)})
    tf.strings.join([words, given(dtype=tf.string)]), tf.strings.as_string(ints), tf.strings.lower(words)
    raw.ShardedFilename(basename="a", shard=0, num_shards=1), raw.RestoreV2(
        prefix="p", tensor_names=["a", "b"], shape_and_slices=["", ""], dtypes=[tf.float32, tf.int32])
    reserved = raw.TensorListReserve(element_shape=[3, 4], num_elements=5, element_dtype=tf.float32)
    stored = raw.TensorListSetItem(input_handle=reserved, index=0, item=given(3, 4))
    raw.TensorListStack(input_handle=stored, element_shape=[3, 4], element_dtype=tf.float32, num_elements=5)
    raw.TensorListStack(input_handle=stored, element_shape=[3, -1], element_dtype=tf.float32)
    raw.TensorListGetItem(input_handle=stored, index=1, element_shape=[3, 4], element_dtype=tf.float32)
    raw.TensorListFromTensor(tensor=given(None, 3), element_shape=[3]), raw.TensorListLength(input_handle=stored)
    tf.ensure_shape(unknown, [None, 3]), tf.ensure_shape(matrix, [4, None]), v1.placeholder_with_default([[1.0]], [None, 1])
    volume = given(None, 5, 6, None, 2)
    for padding in ("SAME", "VALID"):
        tf.nn.conv3d(volume, given(2, 3, 2, 2, 4), [1, 1, 2, 1, 1], padding), tf.nn.max_pool3d(volume, [2, 3, 2], 2, padding)
    raw.Conv3D(input=given(1, 2, 5, 6, 7), filter=given(2, 1, 3, 2, 4), strides=[1] * 5, padding="VALID", data_format="NCDHW")
    tf.nn.conv3d_transpose(volume, given(3, 3, 3, 4, 2), [2, 5, 6, 8, 4], 1), tf.nn.avg_pool3d(unknown, 2, 1, "VALID")
    raw.AvgPool3DGrad(orig_input_shape=[1, 4, 4, 4, 2], grad=given(1, 2, 2, 2, 2), ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID")
    gen_xla_ops.xla_sort(matrix), gen_xla_ops.xla_key_value_sort(matrix, ids), gen_xla_ops.xla_reduce_precision(batch, 5, 2)
    gen_xla_ops.xla_rng_bit_generator(1, given(2, dtype=tf.uint64), [3, 4]), gen_xla_ops.xla_rng_bit_generator(
        1, given(..., dtype=tf.uint64), given(2, dtype=tf.int32))
    gen_xla_ops.xla_sharding(matrix), gen_xla_ops.xla_spmd_shard_to_full_shape(matrix, "", [4, 6])
    raw.SobolSample(dim=3, num_results=5, skip=0), raw.SobolSample(dim=ints[0], num_results=5, skip=0)

    for padding in ("SAME", "VALID"):
        for x in (image, batch, unknown):
            raw.ExtractImagePatches(images=x, ksizes=[1, 3, 2, 1], strides=[1, 2, 3, 1], rates=[1, 1, 2, 1], padding=padding)

    places, longs = given(None, 2, dtype=tf.int64), given(None, dtype=tf.int64)
    for indices in (given(5, 2, dtype=tf.int64), places, given(..., dtype=tf.int64)):
        raw.SparseReorder(input_indices=indices, input_values=vector, input_shape=longs)
        raw.SparseReshape(input_indices=indices, input_shape=longs, new_shape=given(3, dtype=tf.int64))
        raw.SparseReshape(input_indices=indices, input_shape=longs, new_shape=longs)
    for dims in ([3, 4], ints):
        raw.SparseToDense(sparse_indices=given(None, 2, dtype=tf.int32), output_shape=dims, sparse_values=vector, default_value=0.0)


def models(directory, out):
    for path in sorted(pathlib.Path(directory).glob("*/1/saved_model.pb")):
        saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
        graph_def = saved.meta_graphs[0].graph_def
        name = path.parts[-3]
        try:
            with tf.Graph().as_default() as graph:
                for node in graph_def.node:
                    node.attr.pop("_output_shapes", None)
                v1.import_graph_def(graph_def, name="")
                write(graph, out / name)
        except Exception as error:  # custom ops
            print(name, str(error)[:100])
        for number, function in enumerate(graph_def.library.function):
            shapes = [function.arg_attr[i].attr["_output_shapes"].list.shape[0] if function.arg_attr[i].attr["_output_shapes"].list.shape
                      else None for i in range(len(function.signature.input_arg))]
            try:
                write(function_def_to_graph.function_def_to_graph(function, input_shapes=shapes), out / f"{name}-{number}")
            except Exception:  # calls a function that is not registered here
                pass


if __name__ == "__main__":
    if len(sys.argv) > 2:
        models(sys.argv[1], pathlib.Path(sys.argv[2]))
    else:
        with tf.Graph().as_default() as ours_graph:
            ours()
            write(ours_graph, HERE / "shapes")

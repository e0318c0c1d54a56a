"""Rows of convolutions."""
from rows import Rows
from drawn import LOOSE, RANDOM, f32, floats, i32, integers

import numpy as np
import tensorflow as tf


def conv():
    rows = Rows("conv", seed=438)
    for padding in ["SAME", "VALID"]:
        for size, kernel, stride, dilation in [((5, 6), (3, 3), (1, 1), (1, 1)), ((5, 6), (3, 2), (2, 2), (1, 1)),
                                               ((6, 5), (1, 1), (1, 1), (1, 1)), ((6, 5), (1, 1), (2, 2), (1, 1)),
                                               ((7, 7), (3, 3), (1, 1), (2, 2)), ((4, 4), (4, 4), (3, 1), (1, 1)),
                                               ((5, 5), (2, 2), (3, 3), (1, 1))]:
            x, f = floats(2, *size, 2), floats(*kernel, 2, 3)
            attrs = dict(strides=[1, *stride, 1], padding=padding, dilations=[1, *dilation, 1])
            rows.add("Conv2D", [x, f], **attrs)
            if dilation == (1, 1):
                y = tf.raw_ops.Conv2D(input=x, filter=f, **attrs)
                dy = floats(*y.shape)
                rows.add("Conv2DBackpropInput", [i32(*x.shape), f, dy], **attrs)
                rows.add("Conv2DBackpropFilter", [x, i32(*f.shape), dy], **attrs)
            if stride[0] == stride[1] and dilation == (1, 1):
                d = floats(*kernel, 2, 2)
                rows.add("DepthwiseConv2dNative", [x, d], **attrs)
                rows.add("DepthwiseConv2dNative", [x, d[..., :1]], **attrs)
                if dilation == (1, 1):
                    y = tf.raw_ops.DepthwiseConv2dNative(input=x, filter=d, **attrs)
                    dy = floats(*y.shape)
                    rows.add("DepthwiseConv2dNativeBackpropInput", [i32(*x.shape), d, dy], **attrs)
                    rows.add("DepthwiseConv2dNativeBackpropFilter", [x, i32(*d.shape), dy], **attrs)
    for strides, padding in [([1, 1, 1, 1], "SAME"), ([1, 2, 2, 1], "VALID")]:
        attrs = dict(strides=strides, padding=padding)
        x, d = (np.arange(n, dtype=np.float64).reshape(dims) % 7 - 3 for n, dims in ((50, (1, 5, 5, 2)), (24, (3, 2, 2, 2))))
        y = tf.raw_ops.DepthwiseConv2dNative(input=x, filter=d, **attrs)
        rows.add("DepthwiseConv2dNative", [x, d], **attrs)
        rows.add("DepthwiseConv2dNativeBackpropInput", [i32(*x.shape), d, y.numpy() / 2], **attrs)
        rows.add("DepthwiseConv2dNativeBackpropFilter", [x, i32(*d.shape), y.numpy() / 2], **attrs)
    rows.add("Conv2D", [floats(1, 4, 4, 4), floats(2, 2, 2, 6)], strides=[1, 1, 1, 1], padding="VALID")
    rows.add("Conv2D", [floats(1, 4, 4, 2), floats(3, 3, 2, 2)], strides=[1, 1, 1, 1], padding="EXPLICIT",
             explicit_paddings=[0, 0, 2, 1, 0, 1, 0, 0])
    rows.add("Conv2D", [floats(0, 4, 4, 2), floats(3, 3, 2, 2)], strides=[1, 1, 1, 1], padding="SAME")
    rows.add("Conv2D", [floats(1, 1, 10, 1), floats(1, 3, 1, 4)], strides=[1, 1, 2, 1], padding="VALID")
    rows.add("Conv2D", [floats(1, 2, 2, 1), floats(3, 3, 1, 1)], strides=[1, 1, 1, 1], padding="VALID")
    rows.add("Conv2D", [floats(1, 4, 4, 3), floats(3, 3, 2, 1)], strides=[1, 1, 1, 1], padding="VALID")
    rows.add("Conv2D", [floats(4, 4, 3), floats(3, 3, 3, 1)], strides=[1, 1, 1, 1], padding="VALID")
    rows.add("Conv2D", [floats(1, 4, 4, 3), floats(3, 3, 3)], strides=[1, 1, 1, 1], padding="VALID")
    for dtype in [np.float16, np.float64, tf.bfloat16.as_numpy_dtype]:
        rows.add("Conv2D", [floats(1, 4, 4, 2, dtype=dtype), floats(3, 3, 2, 2, dtype=dtype)], LOOSE.get(dtype),
                 strides=[1, 1, 1, 1], padding="SAME")
    rows.write()


def conv_3d():
    rows = Rows("conv_3d", seed=779)
    sizes = [((4, 5, 6), (2, 3, 2), (1, 1, 1), (1, 1, 1)), ((5, 4, 6), (3, 2, 1), (2, 1, 3), (1, 1, 1)), ((3, 4, 2), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
             ((5, 6, 5), (2, 2, 2), (1, 1, 1), (2, 3, 1)), ((4, 4, 4), (2, 3, 3), (3, 2, 1), (1, 1, 1))]
    bfloat16 = tf.bfloat16.as_numpy_dtype
    for padding in ["SAME", "VALID"]:
        for size, kernel, stride, dilation in sizes:
            # TensorFlow's plain kernels take no dilations, and misplace a kernel that is smaller than its stride
            by_xla = max(dilation) > 1 or min(k - s for k, s in zip(kernel, stride)) < 0
            x, f = floats(2, *size, 2), floats(*kernel, 2, 3)
            attrs = dict(strides=[1, *stride, 1], padding=padding, dilations=[1, *dilation, 1])
            rows.add("Conv3D", [x, f], by_xla=by_xla, **attrs)
            dy = floats(*tf.nn.convolution(x, f, stride, padding, dilations=dilation).shape)
            rows.add("Conv3DBackpropInputV2", [i32(*x.shape), f, dy], by_xla=by_xla, **attrs)
            rows.add("Conv3DBackpropFilterV2", [x, i32(*f.shape), dy], by_xla=by_xla, **attrs)
        for dtype in [np.float16, np.float64, bfloat16]:
            x, f = floats(1, 3, 4, 3, 2, dtype=dtype), floats(2, 2, 2, 2, 2, dtype=dtype)
            attrs = dict(strides=[1, 1, 2, 1, 1], padding=padding)
            rows.add("Conv3D", [x, f], LOOSE.get(dtype), **attrs)
            if dtype != np.float64:
                dy = floats(*tf.raw_ops.Conv3D(input=x, filter=f, **attrs).shape, dtype=dtype)
                rows.add("Conv3DBackpropInputV2", [np.array(x.shape, np.int64), f, dy], LOOSE[dtype], **attrs)
                rows.add("Conv3DBackpropFilterV2", [x, i32(*f.shape), dy], LOOSE[dtype], **attrs)
        for size, kernel, stride in [((4, 6, 2), (2, 2, 2), (2, 2, 2)), ((5, 3, 5), (3, 1, 2), (2, 1, 3)), ((3, 3, 3), (3, 3, 3), (1, 1, 1)), ((4, 3, 5), (1, 2, 3), (1, 1, 1))]:
            x = integers(2, *size, 3, high=5, dtype=np.float32)  # with ties: each gets the gradient
            attrs = dict(ksize=[1, *kernel, 1], strides=[1, *stride, 1], padding=padding)
            y = tf.raw_ops.MaxPool3D(input=x, **attrs)
            dy = floats(*y.shape)
            rows.add("MaxPool3D", [x], **attrs)
            rows.add("AvgPool3D", [x], **attrs)
            rows.add("MaxPool3DGrad", [x, y.numpy(), dy], **attrs)
            rows.add("AvgPool3DGrad", [i32(*x.shape), dy], **attrs)
    rows.add("Conv3D", [floats(0, 4, 4, 4, 2), floats(3, 3, 3, 2, 2)], strides=[1] * 5, padding="SAME")
    for x, f in [((1, 2, 2, 2, 1), (3, 3, 3, 1, 1)), ((1, 4, 4, 4, 3), (3, 3, 3, 2, 1)), ((4, 4, 3), (3, 3, 3, 3, 1)), ((1, 4, 4, 4, 3), (3, 3, 3)),
                 ((1, 4, 4, 4, 3), (0, 3, 3, 3, 2))]:
        rows.add("Conv3D", [floats(*x), floats(*f)], strides=[1] * 5, padding="VALID")
    attrs = dict(ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID")
    for op in ["MaxPool3D", "AvgPool3D"]:
        for shape in [(1, 1, 1, 1, 1), (4, 4, 1), (0, 4, 4, 4, 1)]:
            rows.add(op, [floats(*shape)], **attrs)
        rows.add(op, [floats(1, 4, 4, 2, 2, dtype=bfloat16)], LOOSE[bfloat16], **attrs)
    rows.add("MaxPool3D", [f32(1, np.nan, 3, -np.inf, 0, 0, -1, 2).reshape(1, 2, 2, 2, 1)], **attrs)
    rows.add("MaxPool3DGrad", [f32(1, np.nan, 3, -np.inf, 0, 0, -1, 3).reshape(1, 2, 2, 2, 1), f32(3).reshape(1, 1, 1, 1, 1), f32(0.5).reshape(1, 1, 1, 1, 1)], **attrs)
    for padding, size, kernel, stride in [("SAME", (5, 3, 5), (3, 1, 2), (2, 1, 3)), ("VALID", (4, 6, 2), (2, 2, 2), (2, 2, 2)), ("SAME", (3, 3, 3), (3, 3, 3), (1, 1, 1))]:
        x = integers(2, *size, 3, high=5, dtype=np.float32)
        some = dict(ksize=[1, *kernel, 1], strides=[1, *stride, 1], padding=padding)
        rows.add("MaxPool3DGradGrad", [x, tf.raw_ops.MaxPool3D(input=x, **some).numpy(), floats(*x.shape)], **some)
    x, ddx = f32(1, 5, np.nan, 5, 0, -0.0, 5, -np.inf).reshape(1, 2, 2, 2, 1), f32(*range(8)).reshape(1, 2, 2, 2, 1)
    for y in [5, 2, 0, np.nan, -np.inf]:  # ties; no element equals it
        rows.add("MaxPool3DGradGrad", [x, f32(y).reshape(1, 1, 1, 1, 1), ddx], **attrs)
    rows.add("MaxPool3DGradGrad", [a.astype(bfloat16) for a in [x, f32(5).reshape(1, 1, 1, 1, 1), ddx]], **attrs)
    for shapes in [[(0, 2, 2, 2, 1), (0, 1, 1, 1, 1), (0, 2, 2, 2, 1)], [(1, 2, 2, 2, 1), (1, 2, 1, 1, 1), (1, 2, 2, 2, 1)],
                   [(1, 2, 2, 2, 1), (1, 1, 1, 1, 1), (1, 2, 1, 2, 1)]]:
        rows.add("MaxPool3DGradGrad", [floats(*shape) for shape in shapes], **attrs)
    rows.write()


def conv_padded():
    rows = Rows("conv_padded", seed=1)
    f32 = np.float32
    x, filters = np.round(RANDOM.randn(1, 4, 5, 2), 2), np.round(RANDOM.randn(2, 3, 2, 2), 2)
    some = [[0, 0], [1, 2], [2, 0], [0, 0]]
    for dtype, tolerance in [(f32, None), (np.float64, 1e-6), (np.float16, 4e-3)]:
        for mode in ["REFLECT", "SYMMETRIC"]:
            for paddings in [some, [[0, 0], [3, 3], [0, 4], [0, 0]], [[0, 0]] * 4]:
                for strides, padding in [([1, 1, 1, 1], "VALID"), ([1, 2, 2, 1], "SAME")]:
                    attrs = dict(mode=mode, strides=strides, padding=padding)
                    rows.add("FusedPadConv2D", [x.astype(dtype), np.int32(paddings), filters.astype(dtype)], tolerance, **attrs)
                    for size, align in [((4, 5), False), ((5, 7), False), ((7, 6), True)]:
                        rows.add("FusedResizeAndPadConv2D", [x.astype(dtype), np.int32(size), np.int32(paddings), filters.astype(dtype)], tolerance, resize_align_corners=align, **attrs)
    usual = dict(mode="REFLECT", strides=[1, 1, 1, 1], padding="VALID")
    for paddings in [[[1, 0], [1, 2], [2, 0], [0, 0]], [[0, 0], [1, 2], [2, 0], [0, 1]], [[0, 0], [4, 2], [2, 0], [0, 0]], [[0, 0], [-1, 2], [2, 0], [0, 0]], [[0, 0], [1, 2], [2, 0]]]:
        rows.add("FusedPadConv2D", [f32(x), np.int32(paddings), f32(filters)], text=False, **usual)
    rows.add("FusedPadConv2D", [f32(x), np.int32(some), f32(filters[:, :, :1])], text=False, **usual)
    rows.add("FusedResizeAndPadConv2D", [f32(x), np.int32([0, 3]), np.int32(some), f32(filters)], text=False, **usual)
    rows.add("FusedResizeAndPadConv2D", [f32(x), np.int32([3]), np.int32(some), f32(filters)], text=False, **usual)
    rows.write()


def conv_any_rank():
    rows = Rows("conv_any_rank", seed=11)
    small = lambda dtype, *shape: tf.cast(RANDOM.randint(-4, 5, shape), dtype)
    for dtype in [tf.float32, tf.float64, tf.bfloat16, tf.float16, tf.int32]:
        rows.add("Conv", [small(dtype, 2, 5, 6, 3), small(dtype, 2, 2, 3, 4)], strides=[1, 1, 2, 1], padding="SAME")
        if dtype != tf.int32:
            rows.add("Conv", [small(dtype, 2, 4, 5, 6, 3), small(dtype, 2, 3, 2, 3, 4)], strides=[1, 1, 2, 1, 1], padding="VALID")
    x, y, volume, cube = small(tf.float32, 2, 3, 5, 6, 3), small(tf.float32, 2, 2, 3, 4), small(tf.float32, 2, 3, 2, 5, 6, 3), small(tf.float32, 2, 2, 2, 3, 4)
    for attrs in [dict(padding="SAME"), dict(padding="VALID", dilations=[1, 2, 1, 1]), dict(padding="EXPLICIT", explicit_paddings=[0, 0, 1, 0, 2, 3, 0, 0])]:
        rows.add("Conv", [x[0], y], strides=[1, 1, 2, 1], **attrs)
        rows.add("Conv", [x, y], strides=[1, 2, 1, 1], batch_dims=2, **attrs)
        rows.add("Conv", [x[0, 0], y], strides=[1, 2, 1, 1], batch_dims=0, **attrs)
    rows.add("Conv", [volume, cube], strides=[1, 1, 2, 1, 1], batch_dims=2, padding="SAME")
    rows.add("Conv", [volume[0, 0], cube], strides=[1, 1, 2, 1, 1], batch_dims=0, padding="SAME")
    rows.add("Conv", [x[0, :0], y], strides=[1, 1, 1, 1], padding="SAME")
    for inputs, attrs in [((x[0], y), dict(groups=3)), ((x[0], y), dict(data_format="CHANNELS_FIRST")), ((small(tf.float32, 2, 3, 5, 6), y), dict(data_format="CHANNELS_FIRST")), ((x, y), {}), ((x[0], y), dict(strides=[2, 1])),
                          ((x[0], y), dict(strides=[1, 0, 1, 1])), ((x[0], y), dict(strides=[2, 1, 1, 1])), ((x[0], y[:, :, :2]), {}), ((x[0], y), dict(padding="EXPLICIT", explicit_paddings=[1, 1])), ((x[0], y), dict(dilations=[2, 2])),
                          ((x[0, 0], y), {}), ((x, cube), {}), ((x[0], y), dict(batch_dims=2))]:
        rows.add("Conv", list(inputs), text=False, **dict(dict(strides=[1, 1, 1, 1], padding="SAME"), **attrs))
    rows.write()


FAMILIES = [conv, conv_3d, conv_padded, conv_any_rank]

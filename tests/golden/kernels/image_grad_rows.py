"""Rows of ScaleAndTranslate and of the gradients of ops on images."""
import numpy as np
import tensorflow as tf

from drawn import ALL_REAL, LOOSE, f32, i32, unit_floats
from image_rows import boxes_of
from rows import Rows

SAMPLERS = ["lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]


def image_grads():
    rows = Rows("image_grads", seed=3)
    scaled(rows)
    resized(rows)
    cropped(rows)
    normalized(rows)
    mirrored(rows)
    volumes(rows)
    double_grads(rows)
    rows.write()


def scaled(rows):
    image, nan = unit_floats(2, 5, 6, 3, high=255), unit_floats(1, 4, 4, 2)
    nan[0, 1, 1], nan[0, 3, 3] = np.nan, np.inf
    for sampler in SAMPLERS:
        for antialias in [True, False]:
            attrs = dict(kernel_type=sampler, antialias=antialias)
            for size, scale, move in [((7, 4), (1.4, 0.6), (0.0, 0.0)), ((3, 9), (0.5, 1.5), (-1.25, 2.0)), ((5, 6), (1.0, 1.0), (0.0, 0.0)), ((4, 4), (0.3, 0.2), (0.5, 1.5))]:
                rows.add("ScaleAndTranslate", [image, i32(*size), f32(*scale), f32(*move)], **attrs)
                rows.add("ScaleAndTranslateGrad", [unit_floats(2, *size, 3), image, f32(*scale), f32(*move)], **attrs)
        rows.add("ScaleAndTranslate", [nan, i32(5, 5), f32(1.2, 1.2), f32(0, 0)], kernel_type=sampler)
    for dtype in ALL_REAL:
        rows.add("ScaleAndTranslate", [unit_floats(1, 3, 4, 2, high=100, dtype=dtype), i32(5, 3), f32(1.5, 0.75), f32(0.25, 0)])
    for scale, move in [((1e-3, 1), (0, 0)), ((1, 1e3), (0, 0)), ((1, 1), (100, 0)), ((1, 1), (-3, 1e30)), ((1, 1), (np.nan, 0)), ((np.inf, 1), (0, 0)), ((1, 1), (np.inf, 0)),
                        ((0, 1), (0, 0)), ((-1, 1), (0, 0)), ((np.nan, 1), (0, 0))]:
        rows.add("ScaleAndTranslate", [image, i32(3, 4), f32(*scale), f32(*move)])
        rows.add("ScaleAndTranslateGrad", [unit_floats(2, 3, 4, 3), image, f32(*scale), f32(*move)])
    one = f32(1, 1)
    for wrong in [(image[0], i32(2, 2), one, one), (image, i32(2), one, one), (image, i32(2, 0), one, one), (image, i32(2, 2, 2), one, one), (image, i32(2, 2), one[:1], one),
                  (image, i32(2, 2), one, one[0]), (image[:, :0], i32(2, 2), one, one), (image[..., :0], i32(2, 2), one, one)]:
        rows.add("ScaleAndTranslate", list(wrong), text=False)
    rows.add("ScaleAndTranslate", [image[:0], i32(2, 2), one, one])
    rows.add("ScaleAndTranslate", [image, i32(2, 2), one, one], kernel_type="nonsense")
    for wrong in [(image[0], image, one, one), (image, image[0], one, one), (image, image, one[:1], one), (image, image, one, one[0])]:
        rows.add("ScaleAndTranslateGrad", list(wrong), text=False)
    rows.add("ScaleAndTranslateGrad", [image[:0], image[:0], one, one])


def resized(rows):
    for attrs in [{}, dict(align_corners=True), dict(half_pixel_centers=True)]:
        for size in [(4, 5), (7, 3), (2, 9), (1, 1), (3, 3)]:
            dy = unit_floats(2, *size, 3, low=-2, high=2)
            rows.add("ResizeBilinearGrad", [dy, unit_floats(2, 4, 5, 3)], **attrs)
            rows.add("ResizeBicubicGrad", [dy, unit_floats(2, 4, 5, 3)], **attrs)
            rows.add("ResizeBicubicGrad", [dy, unit_floats(2, 1, 5, 3)], **attrs)
            rows.add("ResizeNearestNeighborGrad", [dy, i32(4, 5)], **attrs)
            rows.add("ResizeNearestNeighborGrad", [dy, i32(1, 2)], **attrs)
        dy = unit_floats(2, 3, 2, 2, low=-2, high=2)
        for dtype in ALL_REAL:
            rows.add("ResizeBilinearGrad", [dy, unit_floats(2, 5, 3, 2, dtype=dtype)], LOOSE.get(dtype), **attrs)
            rows.add("ResizeBicubicGrad", [dy, unit_floats(2, 5, 3, 2, dtype=dtype)], **attrs)
            rows.add("ResizeNearestNeighborGrad", [unit_floats(1, 5, 4, 2, high=100, dtype=dtype), i32(2, 3)], LOOSE.get(dtype), **attrs)
    dy = unit_floats(2, 3, 4, 2)
    nan = dy.copy()
    nan[0, 0, 0], nan[1, 2, 1] = np.nan, np.inf
    for op, last in [("ResizeBilinearGrad", unit_floats(2, 2, 2, 2)), ("ResizeBicubicGrad", unit_floats(2, 2, 2, 2)), ("ResizeNearestNeighborGrad", i32(2, 2))]:
        rows.add(op, [nan, last])
        rows.add(op, [dy[0], last], text=False)
        rows.add(op, [dy, last], align_corners=True, half_pixel_centers=True)
        if op == "ResizeNearestNeighborGrad":
            rows.add(op, [dy[:0], last])
            for wrong in [i32(2), i32(2, 0), i32(2, 2, 2), i32(2, -1)]:
                rows.add(op, [dy, wrong], text=False)
        else:
            rows.add(op, [dy[:0], last[:0]])
            rows.add(op, [dy, last[0]], text=False)


def cropped(rows):
    image, boxes, owners = unit_floats(2, 5, 6, 3, high=10), boxes_of(4), i32(0, 1, 1, 0)
    boxes = np.concatenate([boxes, f32([-0.3, 0.2, 0.5, 1.4], [0.9, 0.8, 0.1, 0.2], [0.25, 0.25, 0.25, 0.25])])
    owners = i32(0, 1, 1, 0, 0, 1, 1)
    for size in [(3, 4), (1, 1), (1, 3), (7, 2)]:
        dy = unit_floats(7, *size, 3, low=-2, high=2)
        for method in ["bilinear", "nearest"]:
            for dtype in [np.float32, np.float64, np.float16]:
                rows.add("CropAndResizeGradImage", [dy, boxes, owners, i32(2, 5, 6, 3)], LOOSE.get(dtype), T=dtype, method=method)
        rows.add("CropAndResizeGradBoxes", [dy, image, boxes, owners])
    dy = unit_floats(7, 2, 3, 3)
    for dtype in ALL_REAL:
        rows.add("CropAndResizeGradBoxes", [dy, image.astype(dtype), boxes, owners])
    size = i32(2, 5, 6, 3)
    for wrong in [(dy[0], boxes, owners, size), (dy[:, :0], boxes, owners, size), (dy, boxes[:3], owners, size), (dy, boxes[:, :3], owners, size), (dy, boxes, owners + 1, size),
                  (dy, boxes, owners, size[:3]), (dy, boxes, owners, i32(2, 0, 6, 3)), (dy, boxes, owners, i32(2, 5, 6, 2)), (dy[:3], boxes, owners, size), (dy, boxes, owners, i32(-1, 5, 6, 3)),
                  (dy, boxes[0], owners, size), (dy, boxes, owners[:, None], size)]:
        rows.add("CropAndResizeGradImage", list(wrong), T=np.float32, text=False)
    for wrong in [(dy[0], image, boxes, owners), (dy[:, :0], image, boxes, owners), (dy, image[0], boxes, owners), (dy, image, boxes[:2], owners), (dy, image, boxes, owners - 1),
                  (dy, image[..., :2], boxes, owners), (dy[:4], image, boxes, owners), (dy, image[:, :0], boxes, owners)]:
        rows.add("CropAndResizeGradBoxes", list(wrong), text=False)
    rows.add("CropAndResizeGradImage", [dy[:0], boxes[:0], owners[:0], size], T=np.float32)
    rows.add("CropAndResizeGradBoxes", [dy[:0], image, boxes[:0], owners[:0]])


def normalized(rows):
    x, dy = unit_floats(2, 2, 2, 9, low=-3, high=3), unit_floats(2, 2, 2, 9, low=-2, high=2)
    for attrs in [{}, dict(depth_radius=2, bias=2.0, alpha=0.3, beta=0.75), dict(depth_radius=1, beta=1.0), dict(depth_radius=20, beta=0.5, alpha=0.01), dict(depth_radius=0)]:
        y = tf.raw_ops.LRN(input=x, **attrs).numpy()
        for dtype in [np.float32, np.float16, tf.bfloat16.as_numpy_dtype]:
            rows.add("LRNGrad", [dy.astype(dtype), x.astype(dtype), y.astype(dtype)], LOOSE.get(dtype), **attrs)
    for wrong in [(dy[0], x, x), (dy, x[:1], x), (dy, x, x[..., :2]), (dy, x, x[0])]:
        rows.add("LRNGrad", list(wrong), text=False)
    for radius in [-1, (1 << 31) - 1]:
        rows.add("LRNGrad", [dy, x, x], depth_radius=radius, text=False)
    rows.add("LRNGrad", [dy[:0], x[:0], x[:0]])


def mirrored(rows):
    for mode in ["REFLECT", "SYMMETRIC"]:
        for dtype in ALL_REAL + [np.complex64, np.complex128, np.uint32, np.uint64, np.bool_]:
            rows.add("MirrorPadGrad", [unit_floats(6, 5, high=100, dtype=dtype), i32(2, 1, 0, 2).reshape(2, 2)], LOOSE.get(dtype), mode=mode)
        rows.add("MirrorPadGrad", [unit_floats(9, 2, 4, low=-2, high=2), np.array([[2, 3], [0, 0], [1, 0]])], mode=mode)
        rows.add("MirrorPadGrad", [np.array([1, np.nan, 2, np.inf, 3], np.float32), i32([1, 1])], mode=mode)
        rows.add("MirrorPadGrad", [np.float32(2), np.zeros((0, 2), np.int32)], mode=mode)
        rows.add("MirrorPadGrad", [np.zeros((0, 3), np.float32), i32([0, 0], [1, 0])], mode=mode)
        for x, pads in [(unit_floats(4), i32([2, 2])), (unit_floats(4), i32([3, 0])), (unit_floats(4), i32([-1, 0])), (unit_floats(4), i32([0, 0], [0, 0])), (unit_floats(4), i32(0, 0)), (unit_floats(4), i32([5, 1])),
                        (unit_floats(4), np.array([[2**62, 2**62]]))]:
            rows.add("MirrorPadGrad", [x, pads], mode=mode, text=False)


def volumes(rows):
    for padding, stride in [("VALID", 1), ("SAME", 2)]:
        for dtype in [np.float32, np.float64, np.float16]:
            x, filters = unit_floats(2, 4, 3, 4, 2, dtype=dtype), unit_floats(2, 2, 2, 2, 3, dtype=dtype)
            out = tf.nn.conv3d(x, filters, [1, stride, stride, stride, 1], padding)
            dy = unit_floats(*out.shape, dtype=dtype)
            attrs = dict(strides=[1, stride, stride, stride, 1], padding=padding, producer=9)
            rows.add("Conv3DBackpropInput", [x, filters, dy], LOOSE.get(dtype), **attrs)
            rows.add("Conv3DBackpropFilter", [x, filters, dy], LOOSE.get(dtype), **attrs)
            if dtype == np.float64:
                rows.add("Conv3DBackpropInputV2", [i32(*x.shape), filters, dy], strides=attrs["strides"], padding=padding)
                rows.add("Conv3DBackpropFilterV2", [x, i32(*filters.shape), dy], strides=attrs["strides"], padding=padding)
            for wrong in [(x[0], filters, dy), (x, filters[0], dy), (x, filters, dy[:, :1, :1, :1, :1]), (x[..., :1], filters, dy)]:
                rows.add("Conv3DBackpropInput", list(wrong), text=False, **attrs)
                rows.add("Conv3DBackpropFilter", list(wrong), text=False, **attrs)


def double_grads(rows):
    for padding, stride in [("VALID", 1), ("SAME", 2), ("SAME", 3)]:
        x, filters = unit_floats(2, 5, 6, 4, dtype=np.float64), unit_floats(3, 2, 4, 3, dtype=np.float64)
        attrs = dict(strides=[1, stride, stride, 1], padding=padding)
        dy = unit_floats(*tf.nn.conv2d(x, filters, attrs["strides"], padding).shape, dtype=np.float64)
        rows.add("Conv2DBackpropInput", [i32(*x.shape), filters, dy], **attrs)
        rows.add("Conv2DBackpropFilter", [x, i32(*filters.shape), dy], **attrs)


FAMILIES = [image_grads]

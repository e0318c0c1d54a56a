"""Writes a file per model with further operations (keras.ops) as layers, and further arguments, in the form of models.py.

    python tests/golden/layers/more_operations.py tests/golden/layers                             Keras 3.15
"""
from cases import L, case, keras, np, tf
from keras import ops

x, y = keras.Input((4, 3), name="x"), keras.Input((4, 3), name="y")


def model(name, inputs, values, units=2):
    """Dense layers before the operations, so that gradients pass through them, and one behind."""
    flat = [L.Flatten(name="flat_%d" % i)(v) if len(v.shape) > 2 else v for i, v in enumerate(values)]
    joined = L.Concatenate(name="joined")(flat) if len(flat) > 1 else flat[0]
    return keras.Model(inputs, L.Dense(units, name="answer")(L.Rescaling(0.05, name="smaller")(joined)), name=name)


def number(v):
    return ops.cast(v, "float32")


a, b = L.Dense(3, name="dense_a")(x), L.Dense(3, name="dense_b")(y)
positive = ops.exp(a)

# The operations that take several ops of TensorFlow, and activations with arguments.
small = ops.tanh(a)
more = [ops.arcsin(small * 0.9), ops.arccos(small * 0.9), ops.sinh(a), ops.cosh(a), ops.arcsinh(a), ops.arccosh(positive + 1), ops.arctanh(small * 0.9),
        ops.erfc(a), ops.erfinv(small * 0.9), ops.log2(positive), ops.log10(positive), ops.exp2(a), ops.deg2rad(a), ops.rad2deg(small), ops.cbrt(positive),
        ops.sinc(a + 3), ops.trunc(a * 2), ops.round(a * 2), ops.round(a, 1), ops.nan_to_num(ops.stop_gradient(a) / 0.0, 2, 3, -4), ops.copy(a)]
more += [number(f(ops.stop_gradient(a) / ops.floor(a))) for f in (ops.isnan, ops.isinf, ops.isfinite, ops.isneginf, ops.isposinf)]
case("op_formulas", model("op_formulas", [x], more), trained=True)
case("op_pairs", model("op_pairs", [x, y], [
    ops.logaddexp(a, b), ops.hypot(a, b), ops.fmod(a, 0.75), number(ops.logical_xor(a > 0, b > 0)),
    number(ops.isclose(a, b, rtol=0.5, atol=0.25))]), trained=True)
case("op_more_activations", model("op_more_activations", [x], [
    ops.sparse_plus(a), ops.sparse_sigmoid(a), ops.tanh_shrink(a), ops.hard_tanh(a), ops.log_softmax(a), ops.log_softmax(a, axis=1), ops.softmax(a, axis=1),
    ops.glu(a, axis=1), ops.sparsemax(a), ops.celu(a), ops.celu(a, 0.5), ops.hard_shrink(a, 0.3), ops.soft_shrink(a, 0.3), ops.squareplus(a, 2)]), trained=True)

# Turned, shifted, repeated, padded, masked, summed up.
case("op_moves", model("op_moves", [x, y], [
    ops.flip(a, axis=1), ops.flip(a, axis=(1, -1)), ops.roll(a, 1, axis=1), ops.roll(b, -2, axis=-1), ops.repeat(a, 2, axis=1), ops.repeat(b, 3, axis=-1),
    ops.pad(a, ((0, 0), (1, 2), (0, 1))), ops.pad(a, ((0, 0), (1, 0), (0, 0)), constant_values=0.5), ops.pad(b, ((0, 0), (2, 1), (1, 1)), mode="reflect"),
    ops.pad(b, ((0, 0), (0, 1), (2, 0)), mode="symmetric"), ops.cumsum(a, axis=1), ops.cumsum(a, axis=-1), number(ops.cumsum(a > 0, axis=1)),
    ops.cumprod(y, axis=1), ops.diff(a, axis=1), ops.diff(b, n=2), ops.tril(a), ops.tril(b, k=-1), ops.tril(b, k=1), ops.triu(a), ops.triu(b, k=1),
    ops.triu(b, k=-1)]), trained=True)

# Picked by place.
case("op_picks", model("op_picks", [x, y], [
    ops.take(a, [2, 0, -1], axis=1), ops.take(a, 1, axis=2), ops.take(b, np.int32([[0, 1], [2, 2]]), axis=-1), ops.take(np.float32([[1, 2], [3, 4], [5, 6]]),
                                                                                                                        ops.argmax(a, axis=-1), axis=0),
    ops.take_along_axis(a, ops.argsort(b, axis=1), axis=1), ops.take_along_axis(a, ops.argmax(b, axis=-1, keepdims=True), axis=2),
    ops.take_along_axis(b, ops.argmin(ops.sum(a, axis=2, keepdims=True), axis=1, keepdims=True), axis=1), ops.sort(a), ops.sort(b, axis=1),
    number(ops.argsort(a)), ops.top_k(a, 2)[0], number(ops.top_k(b, 1)[1]), number(ops.argmax(a, axis=1)), number(ops.argmin(b, axis=-1)),
    ops.one_hot(ops.argmax(a, axis=-1), 3), number(ops.one_hot(ops.argmin(a, axis=-1), 2, axis=1, dtype="int32")), number(ops.sort(ops.argsort(b)))]),
     trained=True)

# Joined, divided, reduced, normalized.
case("op_more_reductions", model("op_more_reductions", [x, y], [
    ops.hstack([a, b]), ops.dstack([a, b]), *ops.unstack(a, axis=1), *ops.unstack(b, 3, axis=-1), ops.average(a, axis=1), ops.amax(a, axis=1), ops.amin(b, axis=-1, keepdims=True),
    number(ops.count_nonzero(ops.floor(a), axis=1)), *ops.moments(a, axes=[1]), *ops.moments(b, axes=[1, 2], keepdims=True), ops.layer_normalization(a),
    ops.layer_normalization(b, axis=[1, 2], epsilon=0.01), ops.rms_normalization(a), ops.rms_normalization(b, axis=1, epsilon=0.1)]), trained=True)

# Products. Matrices that are far from singular are inverted.
square = ops.matmul(a, ops.transpose(a, (0, 2, 1))) + 3 * np.eye(4, dtype="float32")
heads, others = ops.reshape(a, (-1, 4, 1, 3)), ops.reshape(b, (-1, 4, 1, 3))
attended = [ops.dot_product_attention(heads, others, others), ops.dot_product_attention(heads, heads, others, is_causal=True, scale=0.5),
            ops.dot_product_attention(heads, others, heads, mask=ops.reshape(ops.matmul(x, ops.transpose(y, (0, 2, 1))) > -0.5, (-1, 1, 4, 4))),
            ops.dot_product_attention(heads, others, heads, bias=ops.reshape(ops.matmul(x, ops.transpose(y, (0, 2, 1))), (-1, 1, 4, 4)))]
case("op_products", model("op_products", [x, y], [
    ops.einsum("bij,bkj->bik", a, b), ops.einsum("bij->bji", a), ops.einsum("bij,jk->bki", a, np.float32([[1, -1], [0.5, 2], [0, 1]])),
    ops.einsum("...ij,...ij->...", a, b)[:, None], ops.einsum("ij,bjk->bik", np.float32([[1, 2, 3, 4]]), b), ops.dot(a, np.float32([[1], [2], [3]])),
    ops.tensordot(b, np.float32([[1, 2], [2, 0], [3, 1]]), axes=1), ops.inv(square), ops.det(square * 0.25)[:, None]] + attended), trained=True)

# Images.
image = keras.Input((6, 4, 3), name="image")
painted = L.Conv2D(3, 1, name="painted")(image)
shown = [ops.image.resize(painted, (3, 5)), ops.image.resize(painted, (9, 7), interpolation="nearest"), ops.image.resize(painted, (4, 3), antialias=True),
         ops.image.resize(painted, (5, 5), interpolation="bicubic"), ops.image.resize(painted, (3, 3), interpolation="lanczos3"),
         ops.image.resize(painted, (2, 3), interpolation="bicubic", antialias=True), ops.image.rgb_to_grayscale(painted),
         ops.image.extract_patches(painted, 2), ops.image.extract_patches(painted, (3, 2)), ops.image.extract_patches(painted, 3, strides=1, padding="same"),
         ops.image.extract_patches(painted, 2, dilation_rate=2, strides=1), ops.max_pool(painted, 2), ops.max_pool(painted, (3, 2), strides=1, padding="same"),
         ops.average_pool(painted, 2, strides=(1, 2)), ops.average_pool(painted[:, :, 0], 3), ops.space_to_depth(painted, 2),
         ops.depth_to_space(ops.concatenate([painted, painted[..., :1]], axis=-1), 2)]
case("op_images", model("op_images", [image], shown), trained=True)
case("resized_otherwise", keras.Model(image, L.Dense(2)(L.Concatenate()([
    L.Flatten()(L.Resizing(3, 3, interpolation=kind, antialias=smooth)(image)) for kind in ("bicubic", "lanczos3", "lanczos5", "bilinear", "nearest")
    for smooth in (False, True)]))), trained=True)

# Channels in front, which Keras pools on CPUs as well.
case("pooled_channels_first", keras.Model([x, image], L.Dense(2)(L.Concatenate()([
    layer(data_format="channels_first")(v) for v, layers in ((a, (L.GlobalAveragePooling1D, L.GlobalMaxPooling1D)),
                                                             (painted, (L.GlobalAveragePooling2D, L.GlobalMaxPooling2D))) for layer in layers]))), trained=True)

# A FeatureSpace, whose features need no adaptation here.
space = keras.utils.FeatureSpace(features={"size": "float_rescaled", "weight": keras.utils.FeatureSpace.float(),
                                           "kind": keras.utils.FeatureSpace.integer_hashed(4)}, output_mode="concat")
space.adapt(tf.data.Dataset.from_tensor_slices({"size": np.float32([0, 1]), "weight": np.float32([0, 1]), "kind": np.int32([0, 1])}))
case("feature_space", keras.Model(space.get_inputs(), L.Dense(2)(space.get_encoded_features())), trained=True,
     inputs=[np.float32([[51], [102], [204]]), np.float32([[1], [-1], [0.5]]), np.int32([[3], [8], [5]])])

# Pixels that are integers: Keras rounds what lies between them. The sizes make fractions that floats represent exactly.
pixels = keras.Input((4, 3, 3), dtype="int32", name="pixels")
between = [L.UpSampling2D(2, interpolation="bilinear")(pixels), L.UpSampling2D((1, 2))(pixels), ops.image.resize(pixels, (2, 6)),
           ops.image.rgb_to_grayscale(pixels), L.CenterCrop(3, 3)(pixels),
           L.ZeroPadding2D(1)(pixels), L.Cropping2D(1)(pixels), L.MaxPooling2D(2)(pixels), ops.max_pool(pixels, 2), L.Rescaling(0.5)(pixels)]
case("op_integer_images", model("op_integer_images", [pixels], [number(v) for v in between]), trained=True,
     inputs=[np.random.RandomState(5).randint(0, 12, (3, 4, 3, 3)).astype(np.int32)])

# Integers stay integers, so that they can be places; an axis that is open if the input is; infinities.
places = ops.argmax(a, axis=1, keepdims=True)
case("op_edges", model("op_edges", [x, y], [
    *[ops.take_along_axis(a, f(places), axis=1) for f in (ops.trunc, ops.round, ops.nan_to_num)], ops.take_along_axis(
        b, ops.take(np.int32([3, 1, 0, 2]), places, axis=0), axis=1), ops.sparsemax(a, axis=1),
    ops.stop_gradient(ops.nan_to_num(ops.logaddexp(ops.log(a * 0), ops.log(b * 0)), neginf=-3))]), trained=True)

# NaN elements, which are passed over: rows of them, columns of them, and none.
nan = ops.stop_gradient(a) * 0.0 / 0.0
holes = ops.where(ops.logical_or(x > 0.3, ops.all(x < 0.2, axis=1, keepdims=True)), nan, a)
case("op_nan", model("op_nan", [x, y], [
    ops.nan_to_num(v, posinf=1, neginf=-1) for v in (
        ops.nansum(holes, axis=1), ops.nanmean(holes, axis=-1), ops.nanmax(holes, axis=(1, 2), keepdims=True), ops.nanmin(holes, axis=2),
        ops.nanvar(holes, axis=1, keepdims=True), ops.nanstd(ops.nan_to_num(holes, nan=5), axis=1), ops.nanprod(holes, axis=1),
        ops.prod(b, axis=(1, 2), keepdims=True), ops.cumprod(b, axis=2), ops.nancumsum(holes, axis=1), ops.nancumprod(holes, axis=2), number(ops.nanargmax(holes, axis=1)),
        number(ops.nanargmin(holes, axis=2, keepdims=True)), ops.fmax(holes, b), ops.fmin(holes, 0.25))]), trained=True)
case("op_outside_graphs", model("op_outside_graphs", [x], [  # Keras 3.15 does not compute these in a graph, as training does
    number(ops.isin(ops.argmax(a, axis=1), np.int32([0, 2]))), number(ops.isin(ops.argmin(a, axis=1), np.int32([1]), invert=True)), *(
        ops.nan_to_num(v) for v in (ops.nanmedian(holes, axis=1), ops.nanquantile(holes, 0.3, axis=2, keepdims=True),
                                    ops.nanpercentile(holes, 70, axis=(1, 2), keepdims=True)))]))

# Quantiles, places among constants, choices.
case("op_choices", model("op_choices", [x, y], [
    ops.median(a, axis=1), ops.median(b, axis=(1, 2), keepdims=True), ops.quantile(a, 0.3, axis=2), ops.quantile(b, 1.0, axis=1, keepdims=True),
    ops.percentile(b, 35, axis=(1, 2), keepdims=True), ops.nan_to_num(ops.median(holes, axis=1)), ops.ptp(a, axis=1), ops.fabs(b), ops.heaviside(a, b),
    ops.logaddexp2(a, b), number(ops.digitize(a, np.float32([-0.5, 0.0, 0.5]))), number(ops.searchsorted(np.float32([-0.5, 0.25]), b[:, 0, 0]))[:, None],
    number(ops.searchsorted(np.float32([-0.5, 0.25]), b[:, 1, 0], side="right"))[:, None], ops.select([a > 0.5, b > 0], [a * b, b], 0.25),
    ops.select([a > 0], [b]), ops.multi_hot(ops.argmax(a, axis=1), 4)]), trained=True)

# Images with margins, blurred, moved, cut into windows.
transform = ops.concatenate([ops.reshape(1 + 0.1 * ops.tanh(ops.stop_gradient(painted[:, 0, 0, :2])), (-1, 2)) * np.float32([1, 0.3]), ops.zeros_like(
    painted[:, 0, 0, :1]) + np.float32([-0.5, 0.2, 0.9, 0.4, 0.0, 0.0])], axis=1)
case("op_framed_images", model("op_framed_images", [image], [
    ops.image.pad_images(painted, 1, 0, 0, 2), ops.image.pad_images(painted, top_padding=2, right_padding=1, target_height=9, target_width=5),
    ops.image.crop_images(painted, 1, 1, 2, 0), ops.image.crop_images(painted, bottom_cropping=1, left_cropping=1, target_height=3, target_width=2),
    ops.image.gaussian_blur(painted), ops.image.gaussian_blur(painted, kernel_size=(5, 3), sigma=(0.7, 1.5)),
    ops.image.affine_transform(painted, np.float32([0.9, 0.1, 0.3, -0.1, 1.1, -0.4, 0, 0])),
    ops.image.affine_transform(painted, transform, interpolation="nearest", fill_mode="reflect"),
    ops.image.affine_transform(painted, transform, fill_mode="nearest")]), trained=True)
whole = keras.Input((6, 4, 3), name="image", batch_size=3)
channels = ops.transpose(L.Conv2D(3, 1)(whole), (0, 3, 1, 2))
case("op_windows", model("op_windows", [whole], [  # which Keras reads of batches of a known size only
    ops.rearrange(channels, "b c h w -> b w h c"), ops.rearrange(channels, "b c (h k) (w l) -> b h (k c) (w l)", k=2, l=2),
    ops.rearrange(channels, "b c h w -> b (w h) c"), ops.nn.unfold(channels, 2),
    ops.nn.unfold(channels, (3, 2), dilation=(1, 2), padding=(1, 0), stride=(2, 1))]), trained=True)

# Of elements that are infinite or NaN.
endless = ops.stop_gradient(ops.where(x > 0.5, ops.exp(a) / 0.0, holes))
case("op_not_finite", model("op_not_finite", [x], [
    a, ops.nan_to_num(ops.nanvar(endless, axis=1), nan=7, posinf=9), ops.nan_to_num(ops.nanstd(endless, axis=2), nan=7, posinf=9),
    number(ops.digitize(endless, np.float32([-0.5, 0.0, 0.5]))), number(ops.searchsorted(np.float32([-0.5, 0.25]), endless[:, 0, 0]))[:, None],
    number(ops.searchsorted(np.float32([-0.5, 0.25]), endless[:, 1, 0], side="right"))[:, None]]))

# Of truth values.
case("op_truths", model("op_truths", [x], [a] + [
    number(f(x > 0.5, axis=1)) for f in (ops.sum, ops.prod, ops.max, ops.amin, ops.nansum, ops.nanprod, ops.nanmax, ops.nanmin, ops.nanmean, ops.count_nonzero)]))

# Infinite numbers, which Keras' JSON has as -Infinity: the pads of an attention mask.
infinite = float("inf")
case("op_infinite", model("op_infinite", [x, y], [
    ops.softmax(ops.pad(a, ((0, 0), (0, 0), (1, 2)), constant_values=-infinite)), ops.clip(a, 0, infinite), ops.clip(b, -infinite, 0.25),
    ops.maximum(ops.where(a > b, a, -infinite), -2.0), ops.threshold(a, -infinite, 0)]), trained=True)

# Fourier transforms, whose complex numbers are pairs of tensors.
case("op_fourier", model("op_fourier", [x, y], [
    *ops.fft((a, b)), *ops.fft2((a, b)), *ops.ifft2((b, a)), *ops.rfft(a), *ops.rfft(a, fft_length=7), ops.irfft(ops.rfft(a)),
    ops.irfft((a, b), fft_length=5)]), trained=True)

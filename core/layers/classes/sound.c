/* sound: MelSpectrogram and STFTSpectrogram, the intensity of each frequency over time. Source:
 * keras/src/layers/preprocessing/mel_spectrogram.py, stft_spectrogram.py. */
#include <math.h>

#include "layers/classes/image.h"
#include "layers/initializer.h"

#define PI 3.14159265358979323846

#define CONSTANTS_MAX (1 << 26) /* numbers of a constant: 256 MiB */

static const struct layer_arg mel_spectrogram_args[] = {
    { "fft_length", ARG_INT, "2048" },
    { "sequence_stride", ARG_INT, "512" },
    { "sequence_length", ARG_NULL_OR_INT, "null" }, /* null: fft_length */
    { "window", ARG_NULL_OR_VALUE, "\"hann\"" },
    { "sampling_rate", ARG_INT, "16000" },
    { "num_mel_bins", ARG_INT, "128" },
    { "min_freq", ARG_NUMBER, "20" },
    { "max_freq", ARG_NULL_OR_NUMBER, "null" }, /* null: half of sampling_rate */
    { "power_to_db", ARG_BOOL, "true" },
    { "top_db", ARG_NUMBER, "80" },
    { "mag_exp", ARG_NUMBER, "2" },
    { "min_power", ARG_NUMBER, "1e-10" },
    { "ref_power", ARG_NUMBER, "1" },
};

/* The sizes of a layer and its input; -1: the samples and frames are open. */
struct sound {
    int64_t samples, fft, stride, length, frames, bins, bands;
    double min_freq, max_freq;
};

static bool read_sound(struct layer_context *context, const struct layer *layer, struct endpoint x,
                       struct sound *s)
{
    const struct arg_value *length = layer_arg(layer, "sequence_length"),
                           *max_freq = layer_arg(layer, "max_freq");
    int64_t rate = layer_arg(layer, "sampling_rate")->integer;

    if (!layer_check_open(context, layer, x, 2, 2))
        return false;
    *s = (struct sound){
        .samples = endpoint_shape(x)->dims[1],
        .fft = layer_arg(layer, "fft_length")->integer,
        .stride = layer_arg(layer, "sequence_stride")->integer,
        .bands = layer_arg(layer, "num_mel_bins")->integer,
        .min_freq = layer_arg(layer, "min_freq")->number,
        .max_freq = max_freq->is_null ? (double)(rate / 2) : max_freq->number,
    };
    s->length = length->is_null ? s->fft : length->integer;
    if (s->length < 1 || s->length > s->fft)
        layer_fail(context, layer, "argument 'sequence_length': got %lld, expected 1 to fft_length",
                   (long long)s->length);
    else if (!(s->min_freq >= 0 && s->max_freq > s->min_freq && isfinite(s->max_freq)))
        layer_fail(context, layer, "expected 0 <= min_freq < max_freq, got %g and %g", s->min_freq,
                   s->max_freq);
    else if (s->samples >= 0 && s->samples <= s->fft / 2)
        layer_fail(context, layer, "the input has %lld samples, expected more than fft_length / 2",
                   (long long)s->samples);
    if (!status_is_ok(context->builder.status))
        return false;
    s->frames = s->samples < 0 ? -1 : 1 + (s->samples - s->fft % 2) / s->stride;
    s->bins = s->fft / 2 + 1;
    const int64_t of_frames[] = { s->frames, s->fft }, of_bands[] = { s->bins, s->bands };
    if (!layer_check_size(context, layer, "the samples of all frames", 2, of_frames) ||
        !layer_check_size(context, layer, "the bins of all bands", 2, of_bands))
        return false;
    if (s->frames * s->fft > CONSTANTS_MAX || s->bins * s->bands > CONSTANTS_MAX)
        layer_refuse(context, layer, "more than %d samples of all frames, or bins of all bands",
                     CONSTANTS_MAX);
    return status_is_ok(context->builder.status);
}

/* ---- frames ---- */

/* Pads the input by mirroring at both ends. */
static struct endpoint mirror(struct builder *b, const struct sound *s, struct endpoint x)
{
    const int32_t margins[] = { 0, 0, (int32_t)(s->fft / 2), (int32_t)(s->fft / 2) };
    const struct shape shape = shape_of(2, 2);
    const struct tensor paddings = tensor_borrow(DT_INT32, &shape, margins);
    const struct endpoint inputs[] = { x, build_const(b, NULL, &paddings) };

    return build(b, "MirrorPad", NULL, 2, inputs,
                 (const struct attr[]){ attr_text("mode", "REFLECT"), ATTR_END });
}

/* 0, step, 2 step, … below `end`. */
static struct endpoint range(struct builder *b, struct endpoint end, int64_t step)
{
    const struct endpoint inputs[] = { build_const_int(b, 0), end,
                                       build_const_int(b, (int32_t)step) };

    return build(b, "Range", NULL, 3, inputs, NULL);
}

/* [batch, frames, fft]: a frame begins at each multiple of the stride. */
static struct endpoint cut_frames(struct builder *b, const struct sound *s, struct endpoint x)
{
    struct endpoint one = build_const_int(b, 1);
    /* After the mirrored samples, there is room for a frame at each sample, and after the last. */
    struct endpoint end = build_binary(b, "AddV2", NULL, build_size(b, x, 1),
                                       build_const_int(b, s->fft % 2 == 0 ? 1 : 0));
    struct endpoint begins = range(b, end, s->stride);
    struct endpoint places = build_binary(b, "AddV2", NULL, build_expand_dims(b, begins, 1),
                                          range(b, build_const_int(b, (int32_t)s->fft), 1));
    const struct endpoint inputs[] = { mirror(b, s, x), places, one };
    return build(b, "GatherV2", NULL, 3, inputs, NULL);
}

/* Writes TensorFlow's window of this name, centred in fft numbers. An odd window is symmetric
 * although it should be periodic, as in TensorFlow. */
static bool fill_window(struct layer_context *context, const struct layer *layer,
                        const struct sound *s, float *out)
{
    const struct json_value *value = layer_arg(layer, "window")->value;
    bool none = json_value_is_null(value);
    const char *name = !none && value->kind == JSON_VALUE_TEXT ? value->text : "";
    bool hann = strcmp(name, "hann") == 0;
    double a = hann ? 0.5 : 0.54;
    int64_t first = (s->fft - s->length) / 2, period = s->length - s->length % 2;

    if (!none && !hann && strcmp(name, "hamming") != 0) {
        layer_refuse(context, layer,
                     "argument 'window': got %s; hann, hamming and null are implemented",
                     json_value_show(value, context->arena));
        return false;
    }
    for (int64_t i = 0; i < s->fft; i++)
        out[i] = none ? 1 : 0;
    for (int64_t i = 0; !none && i < s->length; i++)
        out[first + i] =
            s->length == 1 ? 1 : (float)(a - (1 - a) * cos(2 * PI * (double)i / (double)period));
    return true;
}

/* The magnitude of each frequency in each frame: [batch, frames, bins]. */
static struct endpoint magnitudes(struct layer_context *context, const struct layer *layer,
                                  const struct sound *s, struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct shape shape = shape_of(s->fft);
    const int32_t fft = (int32_t)s->fft;
    float *window = ARENA_ARRAY(context->arena, float, s->fft);

    if (!fill_window(context, layer, s, window))
        return x;
    const struct tensor tensor = tensor_borrow(DT_FLOAT, &shape, window);
    struct endpoint frames =
        build_binary(b, "Mul", NULL, cut_frames(b, s, x), build_const(b, NULL, &tensor));
    struct endpoint waves =
        build_binary(b, "RFFT", NULL, frames, build_const_ints(b, NULL, 1, &fft));
    return build_unary(b, "ComplexAbs", NULL, waves);
}

/* ---- bands ---- */

static double mel_of(double hertz)
{
    return 1127 * log(1 + hertz / 700);
}

/* The mel filter bank, [bins, bands]: triangles that overlap by half. No band contains frequency
 * 0. */
static struct endpoint band_matrix(struct layer_context *context, const struct layer *layer,
                                   const struct sound *s)
{
    struct builder *b = &context->builder;
    const struct shape shape = shape_of(s->bins, s->bands);
    float *weights = ARENA_ARRAY(context->arena, float, s->bins * s->bands);
    double nyquist = (double)layer_arg(layer, "sampling_rate")->integer / 2;
    double low = mel_of(s->min_freq), step = (mel_of(s->max_freq) - low) / (double)(s->bands + 1);

    for (int64_t i = 1; i < s->bins; i++)
        for (int64_t k = 0; k < s->bands; k++) {
            double mel = mel_of(nyquist * (double)i / (double)(s->bins - 1));
            double place = (mel - low) / step - (double)k; /* 1 at the center of the band */
            weights[i * s->bands + k] = (float)fmax(0, fmin(place, 2 - place));
        }
    const struct tensor tensor = tensor_borrow(DT_FLOAT, &shape, weights);
    return build_const(b, NULL, &tensor);
}

static struct endpoint decibels(struct builder *b, struct endpoint x)
{
    return build_by_number(b, "Mul", build_unary(b, "Log", NULL, x), 10 / log(10));
}

/* Converts to decibels, and raises everything more than top_db below the loudest value of the
 * batch to that level. */
static struct endpoint to_decibels(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x)
{
    static const int32_t all[] = { 0, 1, 2 };
    struct builder *b = &context->builder;
    double least = layer_arg(layer, "min_power")->number;
    double reference = fmax(fabs(layer_arg(layer, "ref_power")->number), least);

    x = decibels(b, build_by_number(b, "Maximum", x, least));
    x = build_by_number(b, "Sub", x, 10 * log10(reference));
    struct endpoint loudest = build_binary(b, "Max", NULL, x, build_const_ints(b, NULL, 3, all));
    return build_binary(b, "Maximum", NULL, x,
                        build_by_number(b, "Sub", loudest, layer_arg(layer, "top_db")->number));
}

static struct endpoint mel_spectrogram_build(struct layer_context *context,
                                             const struct layer *layer, struct endpoint x)
{
    static const int32_t order[] = { 0, 2, 1 };
    struct builder *b = &context->builder;
    double exponent = layer_arg(layer, "mag_exp")->number;
    struct sound s;

    if (!read_sound(context, layer, x, &s))
        return x;
    if (!(layer_arg(layer, "min_power")->number > 0)) {
        layer_fail(context, layer, "argument 'min_power': expected a number above 0");
        return x;
    }
    struct endpoint loud = magnitudes(context, layer, &s, x);
    if (!status_is_ok(b->status))
        return x;
    loud = build_by_number(b, "Pow", loud, exponent);
    loud = build_dense_product(context, loud, band_matrix(context, layer, &s), s.bands);
    if (layer_arg(layer, "power_to_db")->boolean && status_is_ok(b->status))
        loud = to_decibels(context, layer, loud);
    return build_binary(b, "Transpose", NULL, loud, build_const_ints(b, NULL, 3, order));
}
FLOAT_LAYER_CLASS(mel_spectrogram, "MelSpectrogram", mel_spectrogram_args, mel_spectrogram_build);

/* ---- STFTSpectrogram: a convolution, whose kernels are trained as well ---- */

static const struct layer_arg stft_spectrogram_args[] = {
    { "mode", ARG_CHOICE, "log magnitude psd real imag angle stft" },
    { "frame_length", ARG_INT, "256" },
    { "frame_step", ARG_NULL_OR_INT, "null" }, /* null: half of frame_length */
    { "fft_length", ARG_NULL_OR_INT, "null" }, /* null: the next power of 2 from frame_length */
    { "window", ARG_NULL_OR_VALUE, "\"hann\"" },
    { "periodic", ARG_BOOL, "false" },
    { "scaling", ARG_NULL_OR_VALUE, "\"density\"" },
    PADDING,
    { "expand_dims", ARG_BOOL, "false" },
    CHANNELS_LAST,
};

struct stft {
    int64_t frame, step, frequencies;
    struct waves waves;
};

static int64_t power_of_2(int64_t least)
{
    int64_t power = 1;

    while (power < least)
        power *= 2;
    return power;
}

static bool read_waves(struct layer_context *context, const struct layer *layer,
                       struct waves *waves)
{
    static const char *const keys[] = { "window", "scaling" };

    waves->periodic = layer_arg(layer, "periodic")->boolean;
    for (size_t i = 0; i < COUNT(keys); i++) {
        struct status status =
            waves_read(keys[i], layer_arg(layer, keys[i])->value, context->arena, waves);
        if (status.code == STATUS_UNIMPLEMENTED)
            layer_refuse(context, layer, "%s", status.message);
        else if (!status_is_ok(status))
            layer_fail(context, layer, "%s", status.message);
    }
    return status_is_ok(context->builder.status);
}

static bool read_stft(struct layer_context *context, const struct layer *layer, struct stft *s)
{
    const struct arg_value *step = layer_arg(layer, "frame_step"),
                           *fft = layer_arg(layer, "fft_length");
    int64_t frame = layer_arg(layer, "frame_length")->integer;
    int64_t length = fft->is_null ? power_of_2(frame) : fft->integer;

    *s = (struct stft){ .frame = frame,
                        .step = step->is_null ? frame / 2 : step->integer,
                        .frequencies = length / 2 + 1 };
    if (s->step < 1 || s->step > frame || length < frame) {
        layer_fail(context, layer, "expected 1 <= frame_step <= frame_length <= fft_length");
        return false;
    }
    const int64_t sizes[] = { frame, s->frequencies };
    return layer_check_size(context, layer, "the kernel", 2, sizes) &&
           read_waves(context, layer, &s->waves);
}

/* Transforms the frames of all channels: [batch · channels, 1, frames, frequencies]. */
static struct endpoint transform(struct layer_context *context, const struct layer *layer,
                                 const struct stft *s, const char *name, enum wave_side side,
                                 struct endpoint x)
{
    struct builder *b = &context->builder;
    const int64_t strides[] = { 1, 1, s->step };
    struct initializer initializer = { .kind = INITIALIZER_WAVES, .waves = s->waves };

    initializer.waves.side = side;
    struct endpoint kernel =
        layer_variable_with(context, layer, name, shape_of(s->frame, 1, s->frequencies),
                            &initializer, NULL, layer->trainable);
    const struct endpoint inputs[] = { x, build_expand_dims(b, kernel, 0) };
    const struct attr attrs[] = { attr_window(b, "strides", 2, strides),
                                  attr_text("padding", padding_of(layer)), ATTR_END };
    return build(b, "Conv2D", NULL, 2, inputs, attrs);
}

static struct endpoint limit(struct builder *b, struct endpoint x)
{
    return build_by_number(b, "Maximum", x, 1e-7);
}

/* real² + imag², or a function of it. */
static struct endpoint powers(struct layer_context *context, const char *mode, const struct stft *s,
                              struct endpoint real, struct endpoint imag)
{
    struct builder *b = &context->builder;
    struct endpoint power = build_binary(b, "AddV2", NULL, build_unary(b, "Square", NULL, real),
                                         build_unary(b, "Square", NULL, imag));
    const struct shape shape = shape_of(s->frequencies);
    float *sides = ARENA_ARRAY(context->arena, float, s->frequencies);

    if (strcmp(mode, "psd") == 0) { /* both sides of the spectrum, which share its end points */
        for (int64_t k = 0; k < s->frequencies; k++)
            sides[k] = k == 0 || k == s->frequencies - 1 ? 1 : 2;
        const struct tensor tensor = tensor_borrow(DT_FLOAT, &shape, sides);
        return build_binary(b, "Mul", NULL, power, build_const(b, NULL, &tensor));
    }
    struct endpoint size = build_unary(b, "Sqrt", NULL, limit(b, power));
    return strcmp(mode, "log") == 0 ? build_unary(b, "Log", NULL, limit(b, size)) : size;
}

/* The spectrum in the layer's mode, in the shape of `transform`. */
static struct endpoint spectrum(struct layer_context *context, const struct layer *layer,
                                const struct stft *s, struct endpoint x)
{
    struct builder *b = &context->builder;
    const char *mode = layer_arg(layer, "mode")->text;
    struct endpoint real = { 0 }, imag = { 0 };

    if (strcmp(mode, "imag") != 0)
        real = transform(context, layer, s, "real_kernel", SIDE_REAL, x);
    if (strcmp(mode, "real") != 0)
        imag = transform(context, layer, s, "imag_kernel", SIDE_IMAGINARY, x);
    if (real.node == NULL || imag.node == NULL)
        return real.node != NULL ? real : imag;
    if (strcmp(mode, "angle") == 0)
        return build_binary(b, "Atan2", NULL, imag, real);
    const struct endpoint both[] = { real, imag, build_const_int(b, 3) };
    if (strcmp(mode, "stft") == 0)
        return build(b, "ConcatV2", NULL, 3, both, NULL);
    return powers(context, mode, s, real, imag);
}

static struct endpoint stft_spectrogram_build(struct layer_context *context,
                                              const struct layer *layer, struct endpoint x)
{
    static const int32_t channels_first[] = { 0, 2, 1 }, expanded[] = { 0, 2, 3, 1 },
                         joined[] = { 0, 2, 1, 3 };
    struct builder *b = &context->builder;
    bool expand = layer_arg(layer, "expand_dims")->boolean;
    struct stft s;

    if (!layer_check_open(context, layer, x, 3, 2) || !read_stft(context, layer, &s))
        return x;
    const int64_t channels = endpoint_shape(x)->dims[2];
    if (endpoint_shape(x)->dims[1] == 0 || channels < 1) {
        layer_fail(context, layer, "the input's shape %s has no samples",
                   shape_text(endpoint_shape(x)));
        return x;
    }
    const int64_t images[] = { SIZE_REST, 1, SIZE_OF(1), 1 };
    const struct endpoint samples = x;
    x = build_binary(b, "Transpose", NULL, x, build_const_ints(b, NULL, 3, channels_first));
    x = build_reshape(b, x, samples, 4, images);
    struct endpoint y = spectrum(context, layer, &s, x);
    if (!window_fits(context, layer, y))
        return y;
    const int64_t width = endpoint_shape(y)->dims[3];
    const int64_t sizes[] = { endpoint_shape(y)->dims[2], channels, width };
    if (!layer_check_size(context, layer, "the frequencies of all channels", 3, sizes))
        return y;
    const int64_t apart[] = { SIZE_REST, channels, SIZE_OF(2), width },
                  rows[] = { SIZE_OF(0), SIZE_OF(1), channels * width };
    y = build_reshape(b, y, y, 4, apart);
    y = build_binary(b, "Transpose", NULL, y,
                     build_const_ints(b, NULL, 4, expand ? expanded : joined));
    return expand ? y : build_reshape(b, y, y, 3, rows);
}
const struct layer_class layer_stft_spectrogram = {
    .name = "STFTSpectrogram",
    .args = stft_spectrogram_args,
    .args_count = (int)COUNT(stft_spectrogram_args),
    .build = stft_spectrogram_build,
    .precision = LAYER_REFUSES_16_BITS,
};

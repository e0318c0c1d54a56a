/* layer_sound: MelSpectrogram, how loud each band of frequencies is at each time. Source:
 * keras/src/layers/preprocessing/mel_spectrogram.py. */
#include <math.h>

#include "layers/layer_classes.h"

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

/* The sizes of a layer and its input. */
struct sound {
    int64_t samples, fft, stride, length, frames, bins, bands;
    double min_freq, max_freq;
};

static struct endpoint by_number(struct builder *b, const char *op, struct endpoint x, double value)
{
    return build_binary(b, op, NULL, x, build_const_float(b, NULL, (float)value));
}

static bool read_sound(struct layer_context *context, const struct layer *layer, struct endpoint x,
                       struct sound *s)
{
    const struct arg_value *length = layer_arg(layer, "sequence_length"),
                           *max_freq = layer_arg(layer, "max_freq");
    int64_t rate = layer_arg(layer, "sampling_rate")->integer;

    if (!layer_wants_rank(context, layer, x, 2))
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
    else if (s->samples <= s->fft / 2)
        layer_fail(context, layer, "the input has %lld samples, expected more than fft_length / 2",
                   (long long)s->samples);
    if (!status_is_ok(context->builder.status))
        return false;
    s->frames = 1 + (s->samples + 2 * (s->fft / 2) - s->fft) / s->stride;
    s->bins = s->fft / 2 + 1;
    const int64_t of_frames[] = { s->frames, s->fft }, of_bands[] = { s->bins, s->bands };
    if (!layer_fits(context, layer, "the samples of all frames", 2, of_frames) ||
        !layer_fits(context, layer, "the bins of all bands", 2, of_bands))
        return false;
    if (s->frames * s->fft > CONSTANTS_MAX || s->bins * s->bands > CONSTANTS_MAX)
        layer_refuse(context, layer, "more than %d samples of all frames, or bins of all bands",
                     CONSTANTS_MAX);
    return status_is_ok(context->builder.status);
}

/* ---- frames ---- */

/* The input, mirrored at both ends. */
static struct endpoint mirror(struct builder *b, const struct sound *s, struct endpoint x)
{
    const int32_t margins[] = { 0, 0, (int32_t)(s->fft / 2), (int32_t)(s->fft / 2) };
    const struct shape shape = shape_of(2, 2);
    const struct tensor paddings = tensor_borrow(DT_INT32, &shape, margins);
    const struct endpoint inputs[] = { x, build_const(b, NULL, &paddings) };

    return build(b, "MirrorPad", NULL, 2, inputs,
                 (const struct attr[]){ attr_text("mode", "REFLECT"), ATTR_END });
}

/* [batch, frames, fft]: a frame begins at each multiple of the stride. */
static struct endpoint cut_frames(struct layer_context *context, const struct sound *s,
                                  struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct shape shape = shape_of(s->frames, s->fft);
    int32_t *places = ARENA_ARRAY(context->arena, int32_t, s->frames * s->fft);

    for (int64_t i = 0; i < s->frames; i++)
        for (int64_t k = 0; k < s->fft; k++)
            places[i * s->fft + k] = (int32_t)(i * s->stride + k);
    const struct tensor tensor = tensor_borrow(DT_INT32, &shape, places);
    const struct endpoint inputs[] = { mirror(b, s, x), build_const(b, NULL, &tensor),
                                       build_const_int(b, NULL, 1) };
    return build(b, "GatherV2", NULL, 3, inputs, NULL);
}

/* TensorFlow's window of this name, in the middle of fft numbers; of an odd length, it is symmetric
 * although it should be periodic. */
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
                     "argument 'window': got %s; hann, hamming and null are "
                     "implemented",
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

/* The size of each frequency in each frame: [batch, frames, bins]. */
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
        build_binary(b, "Mul", NULL, cut_frames(context, s, x), build_const(b, NULL, &tensor));
    struct endpoint waves =
        build_binary(b, "RFFT", NULL, frames, build_const_ints(b, NULL, 1, &fft));
    return build_unary(b, "ComplexAbs", NULL, waves);
}

/* ---- bands ---- */

static double mel_of(double hertz)
{
    return 1127 * log(1 + hertz / 700);
}

/* [bins, bands]: triangles that overlap by half. Frequency 0 is in none. */
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
            double place = (mel - low) / step - (double)k; /* 1 in the middle of the band */
            weights[i * s->bands + k] = (float)fmax(0, fmin(place, 2 - place));
        }
    const struct tensor tensor = tensor_borrow(DT_FLOAT, &shape, weights);
    return build_const(b, NULL, &tensor);
}

static struct endpoint decibels(struct builder *b, struct endpoint x)
{
    return by_number(b, "Mul", build_unary(b, "Log", NULL, x), 10 / log(10));
}

/* In decibels; what is quieter than the loudest sound of the batch by more than top_db is raised to
 * that. */
static struct endpoint to_decibels(struct layer_context *context, const struct layer *layer,
                                   struct endpoint x)
{
    static const int32_t all[] = { 0, 1, 2 };
    struct builder *b = &context->builder;
    double least = layer_arg(layer, "min_power")->number;
    double reference = fmax(fabs(layer_arg(layer, "ref_power")->number), least);

    x = decibels(b, by_number(b, "Maximum", x, least));
    x = by_number(b, "Sub", x, 10 * log10(reference));
    struct endpoint loudest = build_binary(b, "Max", NULL, x, build_const_ints(b, NULL, 3, all));
    return build_binary(b, "Maximum", NULL, x,
                        by_number(b, "Sub", loudest, layer_arg(layer, "top_db")->number));
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
    loud = by_number(b, "Pow", loud, exponent);
    loud = build_dense_product(context, loud, band_matrix(context, layer, &s), s.bands);
    if (layer_arg(layer, "power_to_db")->boolean && status_is_ok(b->status))
        loud = to_decibels(context, layer, loud);
    return build_binary(b, "Transpose", NULL, loud, build_const_ints(b, NULL, 3, order));
}
LAYER_CLASS(mel_spectrogram, "MelSpectrogram", mel_spectrogram_args, mel_spectrogram_build);

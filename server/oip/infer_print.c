#include "server/json/print.h"
#include "server/oip/datatype.h"
#include "server/oip/elements.h"
#include "server/oip/infer_json.h"
#include "server/oip/raw.h"

#define NUMBER_ROOM 24 /* an integer, and the comma */

static size_t sum(size_t a, size_t b)
{
    return __builtin_add_overflow(a, b, &a) ? SIZE_MAX : a;
}

/* Room for a string with all its bytes escaped, and for the member's name and punctuation. */
static size_t text_size_max(size_t size)
{
    size_t escaped;
    return __builtin_mul_overflow(size, (size_t)6, &escaped) ? SIZE_MAX : sum(escaped, 64);
}

static size_t output_size_max(const struct infer_answer *answer, const struct infer_choice *choice,
                              const struct tensor *output)
{
    const char *key = answer->signature->outputs[choice->output].key;
    size_t around = text_size_max(strlen(key)) + 128 + SHAPE_RANK_TENSORFLOW * NUMBER_ROOM;
    return sum(around, choice->binary ? (size_t)raw_size(output) : elements_size_max(output));
}

size_t infer_json_size_max(const struct infer_answer *answer, const struct tensor *outputs)
{
    size_t size = sum(text_size_max(answer->model_name.size), text_size_max(answer->id.size));
    for (int i = 0; i < answer->choices_count; i++) {
        const struct infer_choice *choice = &answer->choices[i];
        size = sum(size, output_size_max(answer, choice, &outputs[choice->output]));
    }
    return sum(size, 128);
}

static void print_shape(const struct shape *shape, struct buffer *out)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    int rank = shape_unpack(shape, dims);
    buffer_append_char(out, '[');
    for (int i = 0; i < rank; i++)
        buffer_printf(out, "%s%lld", i > 0 ? "," : "", (long long)dims[i]);
    buffer_append_char(out, ']');
}

static struct status print_output(const char *key, const struct tensor *output, bool binary,
                                  struct buffer *out)
{
    buffer_append_text(out, "{\"name\":");
    json_print_string(out, bytes_of(key));
    buffer_printf(out, ",\"datatype\":\"%s\",\"shape\":", datatype_name(output->dtype));
    print_shape(&output->shape, out);
    if (binary) {
        buffer_printf(out, ",\"parameters\":{\"binary_data_size\":%llu}}",
                      (unsigned long long)raw_size(output));
        return status_ok();
    }
    buffer_append_text(out, ",\"data\":");
    TRY(status_in(elements_print(output, out), "output '%s'", key));
    buffer_append_char(out, '}');
    return status_ok();
}

static void print_head(const struct infer_answer *answer, struct buffer *out)
{
    buffer_append_text(out, "{\"model_name\":");
    json_print_string(out, answer->model_name);
    buffer_printf(out, ",\"model_version\":\"%lld\"", (long long)answer->version);
    if (answer->id.size > 0) {
        buffer_append_text(out, ",\"id\":");
        json_print_string(out, answer->id);
    }
    buffer_append_text(out, ",\"outputs\":[");
}

struct status infer_json_print(const struct infer_answer *answer, const struct tensor *outputs,
                               struct buffer *out, size_t *json_size)
{
    size_t start = out->size;
    bool binary = false;
    print_head(answer, out);
    for (int i = 0; i < answer->choices_count; i++) {
        const struct infer_choice *choice = &answer->choices[i];
        const char *key = answer->signature->outputs[choice->output].key;
        if (i > 0)
            buffer_append_char(out, ',');
        TRY(print_output(key, &outputs[choice->output], choice->binary, out));
        binary |= choice->binary;
    }
    buffer_append_text(out, "]}");
    *json_size = binary ? out->size - start : INFER_JSON_ALL;
    for (int i = 0; i < answer->choices_count; i++)
        if (answer->choices[i].binary)
            raw_put(&outputs[answer->choices[i].output], out);
    return status_ok();
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "base/json_number.h"
#include "server/json/print.h"

/* Prints a number as TensorFlow Serving does: with %g if that is exact, or with all digits. */
static void print_plainly(char *out, double value, bool is_float)
{
    if (!isfinite(value)) {
        strcpy(out, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
        return;
    }
    sprintf(out, "%g", value);
    if (is_float ? strtof(out, NULL) != (float)value : strtod(out, NULL) != value)
        sprintf(out, is_float ? "%.9g" : "%.17g", value);
    if (strpbrk(out, ".e") == NULL)
        strcat(out, ".0");
}

static void check_float(float value)
{
    char got[64], want[64];
    *json_put_float(got, value) = '\0';
    print_plainly(want, value, true);
    if (strcmp(got, want) != 0)
        fail_msg("float %a: %s, want %s", value, got, want);
}

static void check_double(double value)
{
    char got[64], want[64];
    *json_put_double(got, value) = '\0';
    print_plainly(want, value, false);
    if (strcmp(got, want) != 0)
        fail_msg("double %a: %s, want %s", value, got, want);
}

static const struct row {
    double value;
    const char *text;
} rows[] = {
    { 7, "7.0" },
    { 0.3, "0.3" },
    { 12000000, "1.2e+07" },
    { 123456, "123456.0" },
    { 0.00005, "5e-05" },
    { 1234567.5, "1234567.5" },
    { 1.0 / 3, "0.333333343" },
    { -0.0, "-0.0" },
    { 0, "0.0" },
    { 16777216, "16777216.0" },
    { 1e-45, "1.4013e-45" },
    { 3.4028234663852886e38, "3.40282347e+38" },
    { 1234565, "1234565.0" },
    { 0.0001, "0.0001" },
    { 999999.5, "999999.5" },
};

static void outputs_of_tensorflow_serving_are_matched(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char got[64];
        *json_put_float(got, (float)rows[i].value) = '\0';
        assert_string_equal(got, rows[i].text);
    }
}

static long samples(void)
{
    const char *text = getenv("JSON_PRINT_SAMPLES");
    return text ? atol(text) : 300000;
}

static void random_bits_print_as_with_printf(void **state)
{
    (void)state;
    struct random random;
    random_init(&random, 1, 0);
    for (long i = 0; i < samples(); i++) {
        uint64_t bits = random_u64(&random);
        uint32_t low = (uint32_t)bits;
        float single;
        double wide;
        memcpy(&single, &low, sizeof single);
        memcpy(&wide, &bits, sizeof wide);
        check_float(single);
        check_double(wide);
    }
}

static void short_decimals_print_as_with_printf(void **state)
{
    (void)state;
    struct random random;
    random_init(&random, 2, 0);
    for (long i = 0; i < samples(); i++) {
        uint64_t bits = random_u64(&random);
        double value = (double)(bits % 1000003) * pow(10, (int)(bits >> 40 & 63) - 40);
        check_float((float)value);
        check_double(value);
        check_float((float)((double)(bits >> 11) / 9007199254740992.0));
        check_double((double)(bits >> 11) / 9007199254740992.0);
    }
}

static void powers_of_ten_and_two_and_their_neighbours_print_as_with_printf(void **state)
{
    (void)state;
    for (int i = -320; i <= 308; i++) {
        double ten = pow(10, i);
        check_double(ten);
        check_double(nextafter(ten, 0));
        check_double(nextafter(ten, INFINITY));
        check_float((float)ten);
        check_float(nextafterf((float)ten, 0));
        check_float(nextafterf((float)ten, INFINITY));
    }
    for (int i = -1074; i <= 1023; i++) {
        check_double(ldexp(1, i));
        check_float((float)ldexp(1, i));
        check_float((float)ldexp(16777215, i));
    }
}

/* A number must be read as the double that strtod returns. A float is that double, rounded. */
static void check_reading(const char *digits)
{
    char text[128] = { 0 };
    struct json_number number;
    snprintf(text, sizeof text - JSON_PADDING, "%s", digits);
    const char *end = json_number_read(text, &number);
    assert_ptr_equal(end, text + strlen(text));
    double want = strtod(text, NULL), got = json_number_double(&number);
    if (got != want)
        fail_msg("%s: %a, want %a", text, got, want);
    float single;
    size_t count;
    assert_ptr_equal(json_floats_read(text, &single, 1, &count), end);
    if (single != (float)want)
        fail_msg("%s: %a, want %a", text, single, (float)want);
}

static void numbers_are_read_as_with_strtod(void **state)
{
    (void)state;
    static const char *const forms[] = { "%.1f",  "%.4f", "%.7f", "%.8f",  "%.9f",  "%.15f",
                                         "%.17g", "%.9g", "%.3e", "%.20f", "%.30f", "%.0f" };
    struct random random;
    random_init(&random, 3, 0);
    for (long i = 0; i < samples() / 3; i++) {
        uint64_t bits = random_u64(&random);
        double value = ldexp((double)(int64_t)bits, (int)(bits & 63) - 95);
        char text[128];
        snprintf(text, 100, forms[i % (long)COUNT(forms)], value);
        check_reading(text);
    }
    static const char *const odd[] = { "0.0000000000000000000000000001234567890123456789",
                                       "9007199254740993",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "0.1e-400",
                                       "1e308",
                                       "123456789012345678901234567890",
                                       "8388608.5",
                                       "1048576.0625",
                                       "9999999.9999999",
                                       "16777217",
                                       "0.0000000",
                                       "-0.1e1",
                                       "8191.9999999",
                                       "5e-324",
                                       "2.4703282292062327e-324",
                                       "-0.0",
                                       "0e10" };
    for (size_t i = 0; i < COUNT(odd); i++)
        check_reading(odd[i]);
}

/* The midpoint of two adjacent floats, printed with 0 to 8 decimal places. */
static void middles_between_floats_are_rounded_to_even(void **state)
{
    (void)state;
    struct random random;
    random_init(&random, 4, 0);
    for (long i = 0; i < samples() / 3; i++) {
        char text[128];
        /* 1 to 2^24 */
        uint32_t bits = (uint32_t)random_below(&random, 0x4B800000u - 0x3F800000u) + 0x3F800000u;
        float low, high;
        memcpy(&low, &bits, sizeof low);
        bits++;
        memcpy(&high, &bits, sizeof high);
        snprintf(text, sizeof text, "%.*f", (int)(i % 9), ((double)low + high) / 2);
        check_reading(text);
    }
}

static void runs_of_numbers_of_all_kinds_are_read(void **state)
{
    (void)state;
    static const char *const parts[] = { "0.1234", "-0.5",       "7",         "255",    "1.25e3",
                                         "NaN",    "12345678.5", "0.1234567", "3.14159" };
    struct random random;
    random_init(&random, 5, 0);
    for (int round = 0; round < 2000; round++) {
        char text[512] = { 0 };
        float want[12], got[12];
        size_t count = 1 + random_below(&random, 12), read = 0;
        for (size_t i = 0; i < count; i++) {
            const char *part = parts[random_below(&random, 8)];
            strcat(strcat(text, i == 0 ? "" : round % 2 ? ", " : ","), part);
            want[i] = strtof(part, NULL);
        }
        const char *end = text + strlen(text);
        strcat(text, "]");
        assert_ptr_equal(json_floats_read(text, got, 12, &read), end);
        assert_int_equal(read, count);
        assert_memory_equal(got, want, count * sizeof *got);
    }
}

/* Checks every number that json_floats_read can read with one load, after a number of another size.
 * Malformed numbers must not take the same path. */
static void every_short_decimal_is_read_as_with_strtod(void **state)
{
    (void)state;
    for (int places = 1, tens = 10; places <= 5; places++, tens *= 10) {
        for (int value = 0; value < 10 * tens; value++) {
            char text[64] = { 0 };
            float got[4];
            size_t read = 0;
            int size = sprintf(text, "0.5,%d.%0*d, %d.%0*d,0.5]", value / tens, places,
                               value % tens, value / tens, places, value % tens);
            float want = (float)strtod(text + 4, NULL);
            const char *end = json_floats_read(text, got, 4, &read);
            if (end != text + size - 1 || read != 4 || got[1] != want || got[2] != want)
                fail_msg("%s: %a %a, want %a", text, (double)got[1], (double)got[2], (double)want);
        }
    }
    static const char *const wrong[] = { "0.5,0.x5,", "0.5,0.,", "0.5,.51,", "0.5,0:12,",
                                         "0.5,0.1/," };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char text[64] = { 0 };
        float got[4];
        size_t read = 9;
        strcpy(text, wrong[i]);
        const char *end = json_floats_read(text, got, 4, &read);
        assert_true(end == NULL || *end != ',');
        assert_true(read < 3);
    }
}

/* Four are read one by one, then two times eight together, if the processor can, then four. */
#define RUN 24

static void print_run(char *text, int places, int first, bool spaced)
{
    int tens = (int)pow(10, places);
    for (int i = 0; i < RUN; i++) {
        int value = (first + i) % (10 * tens);
        text += sprintf(text, "%s%d.%0*d",
                        i == 0   ? ""
                        : spaced ? ", "
                                 : ",",
                        value / tens, places, value % tens);
    }
    strcpy(text, "]");
}

static void a_run_of_numbers_of_one_size_is_read_as_with_strtod(void **state)
{
    (void)state;
    for (int places = 1, all = 100; places <= 5; places++, all *= 10) {
        for (int first = 0; first < all; first += 8) {
            char text[256] = { 0 };
            float got[RUN];
            size_t read = 0;
            bool spaced = first / 8 % 2;
            print_run(text, places, first, spaced);
            assert_ptr_equal(json_floats_read(text, got, RUN, &read), strchr(text, ']'));
            assert_int_equal(read, RUN);
            for (int i = 0; i < RUN; i++) {
                float want = (float)((first + i) % all) / (float)(all / 10);
                if (got[i] != want)
                    fail_msg("%s: %a, want %a", text, (double)got[i], (double)want);
            }
        }
    }
}

/* Returns the end of the last number that was read, or NULL. */
static const char *read_one_by_one(const char *at, float *out, size_t max, size_t *count)
{
    for (*count = 0;;) {
        size_t read = 0;
        at = json_floats_read(at, out + *count, 1, &read);
        *count += read;
        if (at == NULL || *at != ',' || *count == max)
            return at;
        at++;
    }
}

/* Each byte of a run in turn is replaced by each other. */
static void a_damaged_run_is_read_as_one_by_one(void **state)
{
    (void)state;
    for (int form = 0; form < 10; form++) {
        char text[256] = { 0 };
        print_run(text, form / 2 + 1, 1, form % 2);
        for (size_t at = 0, size = strlen(text); at < size; at++) {
            char right = text[at];
            for (int byte = 0; byte < 256; byte++) {
                float got[RUN] = { 0 }, want[RUN] = { 0 };
                size_t read = 0, wanted = 0;
                text[at] = (char)byte;
                const char *end = read_one_by_one(text, want, RUN, &wanted);
                assert_ptr_equal(json_floats_read(text, got, RUN, &read), end);
                assert_int_equal(read, wanted);
                assert_memory_equal(got, want, read * sizeof *got);
            }
            text[at] = right;
        }
    }
}

static void strings_are_escaped(void **state)
{
    (void)state;
    struct buffer out = { 0 };
    json_print_string(&out, (struct bytes){ "a\"\\\n\x01\0\xC3\xA9/", 9 });
    assert_int_equal(out.size, 24);
    assert_memory_equal(out.data, "\"a\\\"\\\\\\n\\u0001\\u0000\xC3\xA9/\"", out.size);
    buffer_finish(&out);
}

static void base64_is_padded(void **state)
{
    (void)state;
    static const char *const want[] = { "", "YQ==", "YWI=", "YWJj", "YWJjZA==" };
    for (size_t i = 0; i < COUNT(want); i++) {
        struct buffer out = { 0 };
        char text[64];
        json_print_base64(&out, (struct bytes){ "abcd", i });
        snprintf(text, sizeof text, "{\"b64\": \"%s\"}", want[i]);
        assert_int_equal(out.size, strlen(text));
        assert_memory_equal(out.data, text, out.size);
        buffer_finish(&out);
    }
}

/* The padding ends where no byte can be read. */
static void nothing_is_read_beyond_the_padding(void **state)
{
    static const char run[] = "0.1234, 0.1234, 0.1234, 0.1234, ";
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = sizeof run - 1;
    float got[32];
    size_t read;
    (void)state;
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    char *text = pages + page - JSON_PADDING - size;
    for (size_t cut = 0; cut < size; cut++) {
        memset(pages, 0, page);
        memcpy(text + cut, run, size - cut);
        json_floats_read(text + cut, got, 32, &read);
        assert_in_range(read, (size - cut) / 8, 4);
    }
    munmap(pages, 2 * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_of_tensorflow_serving_are_matched),
        cmocka_unit_test(random_bits_print_as_with_printf),
        cmocka_unit_test(short_decimals_print_as_with_printf),
        cmocka_unit_test(powers_of_ten_and_two_and_their_neighbours_print_as_with_printf),
        cmocka_unit_test(numbers_are_read_as_with_strtod),
        cmocka_unit_test(middles_between_floats_are_rounded_to_even),
        cmocka_unit_test(runs_of_numbers_of_all_kinds_are_read),
        cmocka_unit_test(every_short_decimal_is_read_as_with_strtod),
        cmocka_unit_test(a_run_of_numbers_of_one_size_is_read_as_with_strtod),
        cmocka_unit_test(a_damaged_run_is_read_as_one_by_one),
        cmocka_unit_test(nothing_is_read_beyond_the_padding),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(base64_is_padded),
    };
    return cmocka_run_group_tests_name("json print", tests, NULL, NULL);
}

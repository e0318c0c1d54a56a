#include "trainer/optimizers/finite.h"

#include <math.h>

#include "base/clones.h"

#define EXPONENT 0x7f800000u /* all ones: NaN or infinite */

/* No early exit, so that the compiler vectorises the loop. A message's payload may be unaligned,
 * so it is copied rather than cast. */
CLONES static bool are_finite(const char *data, size_t count)
{
    uint32_t bad = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, data + i * sizeof bits, sizeof bits);
        bad |= (bits & EXPONENT) == EXPONENT;
    }
    return bad == 0;
}

static float float_at(struct bytes floats, size_t index)
{
    float value;

    memcpy(&value, floats.data + index * sizeof value, sizeof value);
    return value;
}

bool finite_all(struct bytes floats)
{
    return are_finite(floats.data, floats.size / sizeof(float));
}

struct status finite_check(const char *variable, struct bytes floats)
{
    size_t i = 0;

    if (finite_all(floats))
        return status_ok();
    while (isfinite(float_at(floats, i)))
        i++;
    return status_error(STATUS_OUT_OF_RANGE,
                        "variable '%s' holds %s: training has diverged; try a smaller "
                        "--learning_rate",
                        variable, isnan(float_at(floats, i)) ? "nan" : "inf");
}

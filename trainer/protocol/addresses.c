#include "trainer/protocol/addresses.h"

#include <ctype.h>
#include <string.h>

#define LOCALHOST "localhost"

/* Appends the address at `at`, which ends at a comma or the end. A path keeps its case. */
static void append_address(const char *at, size_t size, struct buffer *out)
{
    static const char v4[] = "127.0.0.1:";

    if (size >= sizeof v4 - 1 && memcmp(at, v4, sizeof v4 - 1) == 0) {
        buffer_append_text(out, LOCALHOST);
        at += sizeof v4 - 2;
        size -= sizeof v4 - 2;
    }
    bool is_path = size >= 5 && memcmp(at, "unix:", 5) == 0;
    for (size_t i = 0; i < size; i++)
        buffer_append_char(out, is_path ? at[i] : (char)tolower((unsigned char)at[i]));
}

const char *addresses_normalized(const char *list, struct arena *arena)
{
    struct buffer text = { 0 };

    for (size_t size;; list += size + 1) {
        size = strcspn(list, ",");
        append_address(list, size, &text);
        if (list[size] == '\0')
            break;
        buffer_append_char(&text, ',');
    }
    const char *kept = text.size > 0 ? arena_memdup(arena, text.data, text.size) : "";
    buffer_finish(&text);
    return kept;
}

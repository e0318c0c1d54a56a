#include "server/rest/media.h"

#include <string.h>
#include <strings.h>

#include "base/status.h"

static const char *const names[] = {
    [MEDIA_JSON] = "application/json",
    [MEDIA_OCTETS] = "application/octet-stream",
    [MEDIA_NPY] = "application/x-npy",
    [MEDIA_PROTOBUF] = "application/x-protobuf",
};

const char *media_name(enum media media)
{
    return names[media];
}

/* Compares the type at the start of the text. */
static bool find(const char *text, enum media *out)
{
    text += strspn(text, " \t");
    size_t size = strcspn(text, " \t;,");
    for (size_t i = 0; i < COUNT(names); i++) {
        if (strlen(names[i]) == size && strncasecmp(text, names[i], size) == 0) {
            *out = (enum media)i;
            return true;
        }
    }
    return false;
}

enum media media_of_body(const char *content_type)
{
    enum media media = MEDIA_JSON;
    if (content_type != NULL)
        find(content_type, &media);
    return media;
}

enum media media_of_answer(const char *accept)
{
    enum media media = MEDIA_JSON;
    while (accept != NULL && !find(accept, &media)) {
        accept = strchr(accept, ',');
        accept = accept != NULL ? accept + 1 : NULL;
    }
    return media;
}

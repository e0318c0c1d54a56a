#include "trainer/records/other_content.h"

#define UNPACK  "unpack it, or compress it with gzip"
#define CONVERT "convert it to CSV or TFRecord"

/* No more bytes than the smallest window of a test has. */
static const struct other_content kinds[] = {
    { { "\x28\xb5\x2f\xfd", 4 }, "compressed with zstd", UNPACK, false },
    { { "\xfd\x37zXZ\0", 6 }, "compressed with xz", UNPACK, false },
    { { "BZh", 3 }, "compressed with bzip2", UNPACK, false },
    { { "PK\3\4", 4 }, "a ZIP archive", "unpack it", false },
    { { "PAR1\x15", 5 }, "a Parquet file", CONVERT, false },
    { { "ARROW1\0", 7 }, "an Arrow file", CONVERT, false },
    { { "\x89HDF\r\n", 6 }, "an HDF5 file", "convert it to npz, CSV or TFRecord", false },
    { { "\x93NUMPY", 6 }, "an array of NumPy", "write it with numpy.savez, as .npz", false },
    { { "SQLite format 3", 15 }, "an SQLite database", CONVERT, false },
    { { "{", 1 }, "JSON", CONVERT, true },
    { { "[{", 2 }, "JSON", CONVERT, true },
    { { "<?xml", 5 }, "XML", CONVERT, true },
};

static bool is_bzip2(struct bytes content)
{
    return content.size >= 10 && memcmp(content.data + 4, "1AY&SY", 6) == 0;
}

/* A key or nothing follows the brace, which a text or the name of a column may begin with, too. */
static bool is_object(struct bytes content)
{
    size_t at = 1;

    while (at < content.size && strchr(" \t\r\n", content.data[at]) != NULL)
        at++;
    return at < content.size && strchr("\"'}", content.data[at]) != NULL;
}

/* The first bytes are those of this kind: is it? */
static bool is_of_kind(struct bytes content)
{
    return content.data[0] == 'B'   ? is_bzip2(content)
           : content.data[0] == '{' ? is_object(content)
                                    : true;
}

const struct other_content *other_content_find(struct bytes start)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (start.size >= kinds[i].start.size &&
            memcmp(start.data, kinds[i].start.data, kinds[i].start.size) == 0 && is_of_kind(start))
            return &kinds[i];
    return NULL;
}

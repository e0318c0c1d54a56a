#include "trainer/records/other_content.h"

#include "base/characters.h"

#define UNPACK  "unpack it, or compress it with gzip"
#define CONVERT "convert it to CSV or TFRecord"

static bool is_bzip2(struct bytes content)
{
    return content.size >= 10 && memcmp(content.data + 4, "1AY&SY", 6) == 0;
}

/* A key or nothing follows the brace, which a text or the name of a column may begin with, too. */
static bool is_object(struct bytes content)
{
    size_t at = 1;

    while (at < content.size && is_one_of(content.data[at], " \t\r\n"))
        at++;
    return at < content.size && is_one_of(content.data[at], "\"'}");
}

/* No more bytes than the smallest window of a test has. */
static const struct other_content kinds[] = {
    { { "\x28\xb5\x2f\xfd", 4 }, "compressed with zstd", UNPACK, false, NULL },
    { { "\xfd\x37zXZ\0", 6 }, "compressed with xz", UNPACK, false, NULL },
    { { "BZh", 3 }, "compressed with bzip2", UNPACK, false, is_bzip2 },
    { { "PK\3\4", 4 }, "a ZIP archive", "unpack it", false, NULL },
    { { "PAR1\x15", 5 }, "a Parquet file", CONVERT, false, NULL },
    { { "ARROW1\0", 7 }, "an Arrow file", CONVERT, false, NULL },
    { { "\x89HDF\r\n", 6 }, "an HDF5 file", "convert it to npz, CSV or TFRecord", false, NULL },
    { { "\x93NUMPY", 6 }, "an array of NumPy", "write it with numpy.savez, as .npz", false, NULL },
    { { "SQLite format 3", 15 }, "an SQLite database", CONVERT, false, NULL },
    { { "\xff\xfe", 2 }, "in UTF-16", "convert it to UTF-8, as with iconv", false, NULL },
    { { "\xfe\xff", 2 }, "in UTF-16", "convert it to UTF-8, as with iconv", false, NULL },
    { { "{", 1 }, "JSON", CONVERT, true, is_object },
    { { "[{", 2 }, "JSON", CONVERT, true, NULL },
    { { "<?xml", 5 }, "XML", CONVERT, true, NULL },
};

const struct other_content *other_content_find(struct bytes start)
{
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (start.size >= kinds[i].start.size &&
            memcmp(start.data, kinds[i].start.data, kinds[i].start.size) == 0 &&
            (kinds[i].is_of_kind == NULL || kinds[i].is_of_kind(start)))
            return &kinds[i];
    return NULL;
}

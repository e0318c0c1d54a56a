/*
 * zip: reads the members of a ZIP archive, stored or deflated, also of more than 4 GiB (ZIP64).
 *
 *     struct zip_archive *archive;
 *     TRY(zip_open(path, &archive));
 *     for (int i = 0; i < zip_members_count(archive); i++)
 *         …zip_member(archive, i)->name…
 *     TRY_OR(done, zip_stream_open(archive, member, &stream));
 *     TRY_OR(done, zip_stream_read(stream, data, size));
 *
 *     archive   := (local-header data)* central-entry* end
 *     end       := 'PK' 05 06  disks(4)  entries u16 ×2  central-size u32  central-offset u32
 *                  comment-size u16  comment
 *
 * A member is read from the front to its end, in steps.
 *
 * Memory   the list of members; for each stream, zlib's window and a chunk of the file
 * Threads  an archive may have any number of streams, each used by one thread at a time
 */
#ifndef STORAGE_ZIP_H
#define STORAGE_ZIP_H

#include "base/bytes.h"

struct zip_archive;
struct zip_stream;

struct zip_member {
    const char *name;
    uint64_t offset; /* of its local header */
    uint64_t packed_bytes, bytes;
    uint32_t crc32;
    bool deflated;
};

/* Errors: DATA_LOSS not a ZIP archive, or a damaged one; UNIMPLEMENTED a member that is encrypted
 * or compressed by another method. None names the path. */
struct status zip_open(const char *path, struct zip_archive **out);
void zip_close(struct zip_archive *archive); /* accepts NULL */

int zip_members_count(const struct zip_archive *archive);
const struct zip_member *zip_member(const struct zip_archive *archive, int index);

/* The archive outlives the stream. */
struct status zip_stream_open(const struct zip_archive *archive, const struct zip_member *member,
                              struct zip_stream **out);
/* Reads the next `size` bytes. DATA_LOSS: the member has fewer, or is damaged; its checksum is
 * compared when its last byte is read. */
struct status zip_stream_read(struct zip_stream *stream, void *out, size_t size);
void zip_stream_close(struct zip_stream *stream); /* accepts NULL */

#endif

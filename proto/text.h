/*
 * text: messages in protobuf's text format, driven by their descriptors: saved_model.pbtxt,
 * `checkpoint`, *.config.
 *
 *     Tensorflow__Serving__ModelServerConfig *config;
 *     TRY(proto_text_read(&tensorflow__serving__model_server_config__descriptor, text, 0, arena,
 * &config));
 */
#ifndef PROTO_TEXT_H
#define PROTO_TEXT_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/bytes.h"

enum proto_text_flags {
    PROTO_TEXT_SKIP_UNKNOWN =
        1, /* pass over fields that are not declared, as a binary reader would; else an error */
};

/**
 * Reads a message; `out` points to a pointer to its struct.
 *
 * Owner   all of it lives in `arena`
 * Errors  INVALID_ARGUMENT `Error parsing text-format tensorflow.X: 3:14: …` (line and column from
 * 1): what is wrong there
 */
struct status proto_text_read(const ProtobufCMessageDescriptor *descriptor, struct bytes text,
                              int flags, struct arena *arena, void *out);

/* Appends the message, two blanks to a level. Fields without a declaration are left out. */
void proto_text_print(const void *message, struct buffer *out);

#endif

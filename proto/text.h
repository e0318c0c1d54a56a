/*
 * text: messages in protobuf's text format, driven by their descriptors: saved_model.pbtxt,
 * `checkpoint`, *.config.
 *
 *     Tensorflow__Serving__ModelServerConfig *config;
 *     TRY(proto_text_read(&tensorflow__serving__model_server_config__descriptor, text, 0, arena,
 *                         &config));
 */
#ifndef PROTO_TEXT_H
#define PROTO_TEXT_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/bytes.h"

enum proto_text_flags {
    /* skip fields that are not declared; otherwise they are an error */
    PROTO_TEXT_SKIP_UNKNOWN = 1,
    /* refuse strings that are not UTF-8, as a configuration file may not have; TensorFlow's parser
     * takes them */
    PROTO_TEXT_CHECK_UTF8 = 2,
};

/**
 * Reads a message; `out` points to a pointer to its struct.
 *
 * Owner   everything lives in `arena`
 * Errors  INVALID_ARGUMENT `Error parsing text-format tensorflow.X: 3:14: …`, with the line and the
 *         column, from 1; RESOURCE_EXHAUSTED the arena's limit
 */
struct status proto_text_read(const ProtobufCMessageDescriptor *descriptor, struct bytes text,
                              int flags, struct arena *arena, void *out);

/* Appends the message, indented by two blanks per level. Undeclared fields are left out. */
void proto_text_print(const void *message, struct buffer *out);

#endif

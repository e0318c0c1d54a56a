/*
 * pretty_message: a message of protobuf as JSON, as TensorFlow Serving prints its answers: with the
 * names of the .proto file, and with fields that have their default. An Any has no special form.
 */
#ifndef SERVER_JSON_PRETTY_MESSAGE_H
#define SERVER_JSON_PRETTY_MESSAGE_H

#include "server/json/pretty.h"

/* `message` is a struct that protobuf-c generates. */
void json_pretty_message(struct json_pretty *pretty, const char *key, const void *message);

#endif

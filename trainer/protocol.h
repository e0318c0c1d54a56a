/*
 * protocol: the messages of proto/training.proto as messages of rpc: paths, packing, unpacking.
 */
#ifndef TRAINER_PROTOCOL_H
#define TRAINER_PROTOCOL_H

#include "proto/message.h"
#include "proto/training.pb-c.h"
#include "rpc/message.h"

/* Counts changes of training.proto that make one side misunderstand the other. */
#define PROTOCOL_VERSION 3

#define PS_PATH(method) "/slipway.training.ParameterServer/" method
#define PS_JOIN         PS_PATH("Join")
#define PS_CREATE       PS_PATH("Create")
#define PS_WRITE        PS_PATH("Write")
#define PS_OPEN         PS_PATH("Open")
#define PS_PULL         PS_PATH("Pull")
#define PS_PUSH         PS_PATH("Push")
#define PS_HOLD         PS_PATH("Hold")
#define PS_CUT          PS_PATH("Cut")
#define PS_READ         PS_PATH("Read")
#define PS_DROP         PS_PATH("Drop")
#define PS_FINISH       PS_PATH("Finish")
#define PS_AWAIT        PS_PATH("Await")
#define PS_BEAT         PS_PATH("Beat")
#define TASK_IDENTIFY   "/slipway.training.Task/Identify"

/* A message of header only, which it owns. `header` is a protobuf-c message. */
struct message protocol_pack(const void *header);

/* A message whose pieces are borrowed: they outlive it. */
struct message protocol_pack_pieces(const void *header, const struct bytes *pieces,
                                    int pieces_count);

/* Reads a header into `arena`. INTERNAL where it is not such a message. */
struct status protocol_unpack(const struct message *message,
                              const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
                              void *out);

#endif

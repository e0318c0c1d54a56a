/*
 * media: the media types of a predict request's body and of its answer, from the headers
 * Content-Type and Accept. TensorFlow Serving ignores both, so only exact names count: everything
 * else, such as curl's application/x-www-form-urlencoded, means JSON.
 */
#ifndef SERVER_REST_MEDIA_H
#define SERVER_REST_MEDIA_H

enum media { MEDIA_JSON, MEDIA_OCTETS, MEDIA_NPY, MEDIA_PROTOBUF };

/* "application/x-npy". */
const char *media_name(enum media media);

/* The type of a body; the header may be NULL, and may have parameters after a ';'. */
enum media media_of_body(const char *content_type);

/* The first known type of the list; weights (;q=) are ignored. The header may be NULL. */
enum media media_of_answer(const char *accept);

#endif

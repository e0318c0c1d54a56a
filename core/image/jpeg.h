/* jpeg: how libjpeg-turbo fails. Shared by jpeg_decode.c and jpeg_encode.c. */
#ifndef IMAGE_JPEG_H
#define IMAGE_JPEG_H

#include <setjmp.h>
#include <stdio.h>

#include <jerror.h>
#include <jpeglib.h>

#include "image/image.h"

#define SCANS_MAX 200 /* of a progressive file: each costs a pass over all pixels */

/* An error of libjpeg, or of a sink, jumps to `jump`; `status` is the reason. */
struct jpeg_failure {
    struct jpeg_error_mgr manager; /* first: the functions cast */
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    const struct image_sink *sink; /* may be NULL */
    bool recover_truncated, refuse_damaged;
    struct status status;
    char text[JMSG_LENGTH_MAX];
};

/* Sets all but `jump`. */
void jpeg_failure_init(struct jpeg_failure *failure, const struct image_sink *sink);
/* Jumps if the status is a failure. */
void jpeg_try(struct jpeg_failure *failure, struct status status);

#endif

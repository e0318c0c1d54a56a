/*
 * The least that a libmicrohttpd server can do with a POST: it reads the body and sends it back.
 * One thread, epoll. The rows of REST compare modelserver with it.
 *
 *     mhd_echo PORT                  the difference is parsing, running and printing
 *     mhd_echo PORT DIR SIGNATURE    also runs a SavedModel on one row for each request: the
 *                                    difference is parsing and printing
 */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loaded_model.h"

struct upload {
    char *data;
    size_t size, capacity;
};

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **state)
{
    (void)url, (void)method, (void)version;
    struct upload *upload = *state;
    if (upload == NULL) {
        *state = calloc(1, sizeof *upload);
        return *state != NULL ? MHD_YES : MHD_NO;
    }
    if (*size > 0) {
        if (upload->size + *size > upload->capacity) {
            upload->capacity = 2 * (upload->size + *size);
            upload->data = realloc(upload->data, upload->capacity);
            if (upload->data == NULL)
                return MHD_NO;
        }
        memcpy(upload->data + upload->size, data, *size);
        upload->size += *size;
        *size = 0;
        return MHD_YES;
    }
    struct loaded_model *loaded = context;
    if (loaded != NULL)
        loaded_model_run(loaded);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(upload->size, upload->data, MHD_RESPMEM_MUST_FREE);
    upload->data = NULL;
    enum MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return queued;
}

static void completed(void *context, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code)
{
    (void)context, (void)connection, (void)code;
    struct upload *upload = *state;
    if (upload != NULL)
        free(upload->data);
    free(upload);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: mhd_echo PORT [DIR SIGNATURE]\n");
        return 2;
    }
    struct loaded_model loaded;
    if (argc == 4)
        loaded_model_open(argv[2], argv[3], 1, &loaded);
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, (uint16_t)atoi(argv[1]), NULL, NULL, answer,
                         argc == 4 ? &loaded : NULL, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768, MHD_OPTION_END);
    if (daemon == NULL) {
        fprintf(stderr, "mhd_echo: cannot listen on %s\n", argv[1]);
        return 1;
    }
    pause();
    return 0;
}

/*
 * make_certificates DIRECTORY: writes certificates for tests whose peers are other programs.
 *
 *     ca.pem                        our CA
 *     server.pem, server.key        issued by it for localhost
 *     client.pem, client.key        issued by it for a client
 *     stranger.pem, stranger.key    issued by another CA
 */
#include <stdio.h>

#include "support/certificates.h"

static int write_text(const char *directory, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct certificate ca, server, client, other_ca, stranger;
    if (argc != 2) {
        fprintf(stderr, "usage: make_certificates DIRECTORY\n");
        return 2;
    }
    certificate_make(&(struct certificate_wish){ .name = "test CA" }, NULL, &ca);
    certificate_make(&(struct certificate_wish){ .name = "server", .host = "localhost" }, &ca,
                     &server);
    certificate_make(&(struct certificate_wish){ .name = "client" }, &ca, &client);
    certificate_make(&(struct certificate_wish){ .name = "other CA" }, NULL, &other_ca);
    certificate_make(&(struct certificate_wish){ .name = "stranger" }, &other_ca, &stranger);
    int failed = write_text(argv[1], "ca.pem", ca.cert_pem) |
                 write_text(argv[1], "server.pem", server.cert_pem) |
                 write_text(argv[1], "server.key", server.key_pem) |
                 write_text(argv[1], "client.pem", client.cert_pem) |
                 write_text(argv[1], "client.key", client.key_pem) |
                 write_text(argv[1], "stranger.pem", stranger.cert_pem) |
                 write_text(argv[1], "stranger.key", stranger.key_pem);
    struct certificate *all[] = { &ca, &server, &client, &other_ca, &stranger };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        certificate_free(all[i]);
    return failed;
}

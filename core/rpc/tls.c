#include "rpc/tls.h"

#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/file.h"
#include "rpc/tls_session.h"

#define PEM_MAX_BYTES (16 << 20)

/* The ciphers of TLS 1.2 that RFC 9113, appendix A, leaves to HTTP/2: AEAD with ephemeral keys. */
static const char priorities[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:-CIPHER-ALL:"
    "+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:-MAC-ALL:+AEAD";

static bool given(const struct tls_pem *pem)
{
    return pem->file != NULL || pem->text != NULL;
}

static const char *name_of(const struct tls_pem *pem)
{
    return pem->file != NULL ? pem->file : pem->name;
}

static struct status read_pem(const struct tls_pem *pem, struct buffer *out)
{
    if (pem->file != NULL)
        return file_read(pem->file, PEM_MAX_BYTES, out);
    buffer_append_text(out, pem->text);
    return status_ok();
}

static gnutls_datum_t datum_of(const struct buffer *buffer)
{
    return (gnutls_datum_t){ (unsigned char *)buffer->data, (unsigned)buffer->size };
}

static struct status check_dates(gnutls_x509_crt_t cert, const char *name)
{
    char text[64];
    struct tm day;
    time_t now = time(NULL), from = gnutls_x509_crt_get_activation_time(cert),
           until = gnutls_x509_crt_get_expiration_time(cert);
    if (now >= from && now <= until)
        return status_ok();
    const time_t *limit = now < from ? &from : &until;
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(limit, &day));
    return status_error(STATUS_FAILED_PRECONDITION, "certificate '%s' %s %s", name,
                        now < from ? "is not valid before" : "has expired on", text);
}

/* Checks the first certificate, which is the one that we present. */
static struct status check_cert(const gnutls_datum_t *pem, const char *name)
{
    gnutls_x509_crt_t *chain;
    unsigned count;
    int error = gnutls_x509_crt_list_import2(&chain, &count, pem, GNUTLS_X509_FMT_PEM, 0);
    if (error < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' holds no certificate in PEM: %s", name,
                            gnutls_strerror(error));
    struct status status = check_dates(chain[0], name);
    for (unsigned i = 0; i < count; i++)
        gnutls_x509_crt_deinit(chain[i]);
    gnutls_free(chain);
    return status;
}

static struct status check_key(const gnutls_datum_t *pem, const char *name)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_privkey_init(&key);
    int error = gnutls_x509_privkey_import2(key, pem, GNUTLS_X509_FMT_PEM, NULL, 0);
    gnutls_x509_privkey_deinit(key);
    if (error == GNUTLS_E_DECRYPTION_FAILED)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the private key in '%s' is encrypted; a key without password is "
                            "needed",
                            name);
    if (error < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' holds no private key in PEM: %s", name,
                            gnutls_strerror(error));
    return status_ok();
}

static struct status show(struct tls_keys *keys, const struct tls_options *options)
{
    struct buffer cert = { 0 }, key = { 0 };
    struct status status;
    TRY_OR(done, read_pem(&options->cert, &cert));
    TRY_OR(done, read_pem(&options->key, &key));
    gnutls_datum_t cert_pem = datum_of(&cert), key_pem = datum_of(&key);
    TRY_OR(done, check_cert(&cert_pem, name_of(&options->cert)));
    TRY_OR(done, check_key(&key_pem, name_of(&options->key)));
    int error = gnutls_certificate_set_x509_key_mem2(keys->credentials, &cert_pem, &key_pem,
                                                     GNUTLS_X509_FMT_PEM, NULL, 0);
    if (error == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        status = status_error(STATUS_INVALID_ARGUMENT,
                              "the private key '%s' does not belong to the certificate '%s'",
                              name_of(&options->key), name_of(&options->cert));
    else if (error < 0)
        status =
            status_error(STATUS_INVALID_ARGUMENT, "certificate '%s' with key '%s': %s",
                         name_of(&options->cert), name_of(&options->key), gnutls_strerror(error));

done:
    if (key.data != NULL)
        gnutls_memset(key.data, 0, key.size);
    buffer_finish(&key);
    buffer_finish(&cert);
    return status;
}

static char *quoted(const char *name)
{
    struct buffer text = { 0 };
    buffer_printf(&text, "'%s'", name);
    buffer_append_char(&text, '\0');
    return text.data;
}

static struct status believe(struct tls_keys *keys, const struct tls_pem *ca)
{
    if (!given(ca)) {
        keys->believed = xstrdup("the system's CAs");
        int error = gnutls_certificate_set_x509_system_trust(keys->credentials);
        if (error < 0)
            return status_error(STATUS_FAILED_PRECONDITION, "the system's CAs cannot be read: %s",
                                gnutls_strerror(error));
        return status_ok();
    }
    struct buffer text = { 0 };
    struct status status = read_pem(ca, &text);
    if (status_is_ok(status)) {
        gnutls_datum_t pem = datum_of(&text);
        int count =
            gnutls_certificate_set_x509_trust_mem(keys->credentials, &pem, GNUTLS_X509_FMT_PEM);
        if (count <= 0)
            status = status_error(STATUS_INVALID_ARGUMENT, "'%s' holds no certificate in PEM%s%s",
                                  name_of(ca), count < 0 ? ": " : "",
                                  count < 0 ? gnutls_strerror(count) : "");
    }
    keys->believed = quoted(name_of(ca));
    buffer_finish(&text);
    return status;
}

static struct status check_options(const struct tls_options *options, bool server)
{
    if (given(&options->cert) != given(&options->key))
        return status_error(STATUS_INVALID_ARGUMENT,
                            given(&options->cert)
                                ? "certificate '%s' is given without its private key"
                                : "private key '%s' is given without its certificate",
                            name_of(given(&options->cert) ? &options->cert : &options->key));
    if (server && !given(&options->cert))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "a server needs a certificate and its private key for TLS");
    return status_ok();
}

static void keys_destroy(struct tls_keys *keys)
{
    gnutls_certificate_free_credentials(keys->credentials);
    free(keys->believed);
    free(keys);
}

static struct status keys_create(const struct tls_options *options, bool server,
                                 struct tls_keys **out)
{
    struct status status;
    TRY(check_options(options, server));
    struct tls_keys *keys = zalloc(sizeof *keys);
    keys->references = 1;
    keys->server = server;
    keys->verify_client = options->verify_client;
    gnutls_certificate_allocate_credentials(&keys->credentials);
    if (given(&options->cert))
        TRY_OR(fail, show(keys, options));
    if (!server || options->verify_client || given(&options->ca))
        TRY_OR(fail, believe(keys, &options->ca));
    *out = keys;
    return status_ok();

fail:
    keys_destroy(keys);
    return status;
}

struct tls_keys *tls_keys_acquire(struct tls *tls)
{
    pthread_mutex_lock(&tls->lock);
    struct tls_keys *keys = tls->keys;
    keys->references++;
    pthread_mutex_unlock(&tls->lock);
    return keys;
}

void tls_keys_release(struct tls *tls, struct tls_keys *keys)
{
    pthread_mutex_lock(&tls->lock);
    bool last = --keys->references == 0;
    pthread_mutex_unlock(&tls->lock);
    if (last)
        keys_destroy(keys);
}

static struct status create(const struct tls_options *options, bool server, struct tls **out)
{
    struct tls_keys *keys;
    TRY(status_in(keys_create(options, server, &keys), "TLS"));
    struct tls *tls = zalloc(sizeof *tls);
    tls->maker.make = tls_transport_make;
    tls->server = server;
    tls->protocols = options->protocols;
    tls->budget = options->budget;
    tls->keys = keys;
    pthread_mutex_init(&tls->lock, NULL);
    int error = gnutls_priority_init(&tls->priority, priorities, NULL);
    if (error < 0) {
        tls_destroy(tls);
        return status_error(STATUS_INTERNAL, "TLS priorities: %s", gnutls_strerror(error));
    }
    *out = tls;
    return status_ok();
}

struct status tls_server_create(const struct tls_options *options, struct tls **out)
{
    return create(options, true, out);
}

struct status tls_client_create(const struct tls_options *options, struct tls **out)
{
    return create(options, false, out);
}

struct status tls_server_reload(struct tls *tls, const struct tls_options *options)
{
    struct tls_keys *keys;
    TRY(status_in(keys_create(options, true, &keys), "TLS"));
    pthread_mutex_lock(&tls->lock);
    struct tls_keys *old = tls->keys;
    tls->keys = keys;
    pthread_mutex_unlock(&tls->lock);
    tls_keys_release(tls, old);
    return status_ok();
}

void tls_destroy(struct tls *tls)
{
    if (tls == NULL)
        return;
    tls_keys_release(tls, tls->keys);
    if (tls->priority != NULL)
        gnutls_priority_deinit(tls->priority);
    pthread_mutex_destroy(&tls->lock);
    free(tls);
}

struct transport_maker *tls_maker(struct tls *tls)
{
    return &tls->maker;
}

/* The error texts of TLS. A failure between two machines is often read by an operator who sees one
 * of them, so each text names the certificate, its owner, and what would be right. */
#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "rpc/tls_session.h"

#define NAMES_SHOWN 8

static const char *alert_words(gnutls_session_t session)
{
    const char *name = gnutls_alert_get_name(gnutls_alert_get(session));
    return name != NULL ? name : "unknown alert";
}

void tls_describe_error(gnutls_session_t session, int error, char *out, size_t out_size)
{
    if (error == GNUTLS_E_FATAL_ALERT_RECEIVED)
        snprintf(out, out_size, "TLS: the peer refused the connection: %s", alert_words(session));
    else
        snprintf(out, out_size, "TLS: %s", gnutls_strerror(error));
}

/* Did the peer refuse our certificate, and not our TLS version or ciphers? */
static bool is_about_certificates(gnutls_alert_description_t alert)
{
    switch (alert) {
    case GNUTLS_A_BAD_CERTIFICATE:
    case GNUTLS_A_UNSUPPORTED_CERTIFICATE:
    case GNUTLS_A_CERTIFICATE_REVOKED:
    case GNUTLS_A_CERTIFICATE_EXPIRED:
    case GNUTLS_A_CERTIFICATE_UNKNOWN:
    case GNUTLS_A_CERTIFICATE_REQUIRED:
    case GNUTLS_A_UNKNOWN_CA:
    case GNUTLS_A_ACCESS_DENIED:
        return true;
    default:
        return false;
    }
}

static bool first_certificate(gnutls_session_t session, gnutls_x509_crt_t *out)
{
    unsigned count;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    if (chain == NULL || count == 0 || gnutls_x509_crt_init(out) < 0)
        return false;
    if (gnutls_x509_crt_import(*out, &chain[0], GNUTLS_X509_FMT_DER) == 0)
        return true;
    gnutls_x509_crt_deinit(*out);
    return false;
}

static void append_printable(struct buffer *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        buffer_append_char(out, text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?');
}

/* "'ps0.example', '10.0.0.1'": the hosts of a certificate. */
static void append_names(struct buffer *out, gnutls_x509_crt_t cert)
{
    char name[256], digits[INET6_ADDRSTRLEN];
    unsigned type;
    int shown = 0;
    for (unsigned i = 0; shown < NAMES_SHOWN; i++) {
        size_t size = sizeof name;
        int error = gnutls_x509_crt_get_subject_alt_name2(cert, i, name, &size, &type, NULL);
        if (error == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
            break;
        if (error < 0 || (type != GNUTLS_SAN_DNSNAME && type != GNUTLS_SAN_IPADDRESS))
            continue;
        if (type == GNUTLS_SAN_IPADDRESS &&
            inet_ntop(size == 4 ? AF_INET : AF_INET6, name, digits, sizeof digits) == NULL)
            continue;
        const char *text = type == GNUTLS_SAN_IPADDRESS ? digits : name;
        buffer_append_text(out, shown++ > 0 ? ", '" : "'");
        append_printable(out, text, type == GNUTLS_SAN_IPADDRESS ? strlen(digits) : size);
        buffer_append_char(out, '\'');
    }
    if (shown == 0)
        buffer_append_text(out, "no host");
}

static void append_subject(struct buffer *out, gnutls_x509_crt_t cert, bool issuer)
{
    gnutls_datum_t name;
    if ((issuer ? gnutls_x509_crt_get_issuer_dn3(cert, &name, 0)
                : gnutls_x509_crt_get_dn3(cert, &name, 0)) < 0)
        return;
    append_printable(out, (const char *)name.data, name.size);
    gnutls_free(name.data);
}

static void append_time(struct buffer *out, time_t when)
{
    char text[64];
    struct tm day;
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&when, &day));
    buffer_append_text(out, text);
}

/* Appends the fault of the peer's certificate, the nearest cause first. */
static void append_verdict(struct buffer *out, unsigned verdict, gnutls_x509_crt_t cert,
                           const struct tls_keys *keys, const char *host)
{
    if (verdict & (GNUTLS_CERT_SIGNER_NOT_FOUND | GNUTLS_CERT_SIGNER_NOT_CA)) {
        buffer_append_text(out, "is issued by '");
        append_subject(out, cert, true);
        buffer_printf(out, "', an unknown CA: not one of %s", keys->believed);
    } else if ((verdict & GNUTLS_CERT_EXPIRED) &&
               gnutls_x509_crt_get_expiration_time(cert) >= time(NULL)) {
        buffer_append_text(out, "is issued by '");
        append_subject(out, cert, true);
        buffer_append_text(out, "', whose certificate has expired");
    } else if (verdict & GNUTLS_CERT_EXPIRED) {
        buffer_append_text(out, "has expired on ");
        append_time(out, gnutls_x509_crt_get_expiration_time(cert));
    } else if (verdict & GNUTLS_CERT_NOT_ACTIVATED) {
        buffer_append_text(out, "is not valid before ");
        append_time(out, gnutls_x509_crt_get_activation_time(cert));
    } else if (verdict & GNUTLS_CERT_UNEXPECTED_OWNER) {
        buffer_append_text(out, "is for ");
        append_names(out, cert);
        buffer_printf(out, " and not for '%s'", host);
    } else if (verdict & GNUTLS_CERT_PURPOSE_MISMATCH) {
        buffer_printf(out, "is not meant for a %s", keys->server ? "client" : "server");
    } else {
        gnutls_datum_t words;
        if (gnutls_certificate_verification_status_print(verdict, GNUTLS_CRT_X509, &words, 0) < 0)
            return;
        buffer_append_text(out, "is not accepted: ");
        append_printable(out, (const char *)words.data, words.size);
        gnutls_free(words.data);
    }
}

static struct status certificate_error(gnutls_session_t session, const struct tls_keys *keys,
                                       const char *host)
{
    const char *whose = keys->server ? "client" : "server";
    gnutls_x509_crt_t cert;
    if (!first_certificate(session, &cert))
        return status_error(STATUS_UNAUTHENTICATED, "TLS: the %s shows no certificate", whose);
    struct buffer text = { 0 };
    buffer_printf(&text, "TLS: the %s's certificate '", whose);
    append_subject(&text, cert, false);
    buffer_append_text(&text, "' ");
    append_verdict(&text, gnutls_session_get_verify_cert_status(session), cert, keys, host);
    struct status status = status_error(STATUS_UNAUTHENTICATED, "%.*s", (int)text.size, text.data);
    gnutls_x509_crt_deinit(cert);
    buffer_finish(&text);
    return status;
}

struct status tls_handshake_error(gnutls_session_t session, const struct tls_keys *keys,
                                  const char *host, int error)
{
    char words[192];
    switch (error) {
    case GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR:
        return certificate_error(session, keys, host);
    case GNUTLS_E_CERTIFICATE_REQUIRED:
    case GNUTLS_E_NO_CERTIFICATE_FOUND:
        return status_error(STATUS_UNAUTHENTICATED, "TLS: the client shows no certificate");
    case GNUTLS_E_FATAL_ALERT_RECEIVED:
        tls_describe_error(session, error, words, sizeof words);
        return status_error(is_about_certificates(gnutls_alert_get(session))
                                ? STATUS_UNAUTHENTICATED
                                : STATUS_UNAVAILABLE,
                            "%s", words);
    case GNUTLS_E_PULL_ERROR:
    case GNUTLS_E_PUSH_ERROR:
    case GNUTLS_E_PREMATURE_TERMINATION:
        return status_error(STATUS_UNAVAILABLE, "TLS: the peer hung up during the handshake");
    case GNUTLS_E_UNSUPPORTED_VERSION_PACKET:
    case GNUTLS_E_UNEXPECTED_PACKET:
    case GNUTLS_E_UNEXPECTED_PACKET_LENGTH:
    case GNUTLS_E_RECORD_OVERFLOW:
    case GNUTLS_E_ERROR_IN_FINISHED_PACKET:
        return status_error(STATUS_UNAVAILABLE, "TLS: the peer does not speak TLS");
    case GNUTLS_E_NO_APPLICATION_PROTOCOL:
        return status_error(STATUS_UNAVAILABLE, "TLS: the peer does not offer HTTP/2 (ALPN h2)");
    default:
        tls_describe_error(session, error, words, sizeof words);
        return status_error(STATUS_UNAVAILABLE, "%s", words);
    }
}

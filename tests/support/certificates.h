/* certificates: makes certificates of CAs, servers and clients for tests of TLS. */
#ifndef SUPPORT_CERTIFICATES_H
#define SUPPORT_CERTIFICATES_H

#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_S 86400

/* A certificate signed by a CA, or by itself if it is a CA. */
struct certificate {
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
    char *cert_pem, *key_pem;
};

struct certificate_wish {
    const char *name;    /* CN */
    const char *host;    /* a DNS name or an IP address; NULL: none */
    const char *purpose; /* GNUTLS_KP_*; NULL: any */
    int from_s, until_s; /* seconds from now; 0: a day before and after */
};

static char *certificate_text(gnutls_datum_t pem)
{
    char *text = strndup((const char *)pem.data, pem.size);
    gnutls_free(pem.data);
    return text;
}

static inline void certificate_add_host(gnutls_x509_crt_t crt, const char *host)
{
    unsigned char address[16];
    for (int family = 0; family < 2; family++)
        if (inet_pton(family == 0 ? AF_INET : AF_INET6, host, address) == 1) {
            gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address,
                                                 family == 0 ? 4 : 16, GNUTLS_FSAN_APPEND);
            return;
        }
    gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, host, (unsigned)strlen(host),
                                         GNUTLS_FSAN_APPEND);
}

/* issuer: a CA; NULL: makes a CA, which signs itself. */
static inline void certificate_make(const struct certificate_wish *wish,
                                    const struct certificate *issuer, struct certificate *out)
{
    static unsigned made;
    time_t now = time(NULL);
    gnutls_datum_t pem;
    gnutls_x509_privkey_init(&out->key);
    gnutls_x509_privkey_generate(out->key, GNUTLS_PK_ECDSA,
                                 GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    gnutls_x509_crt_init(&out->crt);
    gnutls_x509_crt_set_version(out->crt, 3);
    const unsigned char serial[] = { (unsigned char)(1 + (made >> 8)), (unsigned char)made };
    made++;
    gnutls_x509_crt_set_serial(out->crt, serial, sizeof serial);
    gnutls_x509_crt_set_dn_by_oid(out->crt, GNUTLS_OID_X520_COMMON_NAME, 0, wish->name,
                                  (unsigned)strlen(wish->name));
    gnutls_x509_crt_set_activation_time(out->crt, now + (wish->from_s ? wish->from_s : -DAY_S));
    gnutls_x509_crt_set_expiration_time(out->crt, now + (wish->until_s ? wish->until_s : DAY_S));
    gnutls_x509_crt_set_key(out->crt, out->key);
    gnutls_x509_crt_set_basic_constraints(out->crt, issuer == NULL, -1);
    gnutls_x509_crt_set_key_usage(out->crt, issuer == NULL ? GNUTLS_KEY_KEY_CERT_SIGN
                                                           : GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (wish->purpose != NULL)
        gnutls_x509_crt_set_key_purpose_oid(out->crt, wish->purpose, 0);
    if (wish->host != NULL)
        certificate_add_host(out->crt, wish->host);
    gnutls_x509_crt_sign2(out->crt, issuer ? issuer->crt : out->crt,
                          issuer ? issuer->key : out->key, GNUTLS_DIG_SHA256, 0);
    gnutls_x509_crt_export2(out->crt, GNUTLS_X509_FMT_PEM, &pem);
    out->cert_pem = certificate_text(pem);
    gnutls_x509_privkey_export2(out->key, GNUTLS_X509_FMT_PEM, &pem);
    out->key_pem = certificate_text(pem);
}

static inline void certificate_free(struct certificate *certificate)
{
    gnutls_x509_crt_deinit(certificate->crt);
    gnutls_x509_privkey_deinit(certificate->key);
    free(certificate->cert_pem);
    free(certificate->key_pem);
}

#endif

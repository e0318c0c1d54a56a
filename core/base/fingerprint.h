/*
 * fingerprint: hashes of texts that are the same on every machine and in every version, as
 * TensorFlow's ops for hashed features compute them.
 *
 *     bucket = fingerprint64(text) % buckets;                 tf.strings.to_hash_bucket_fast
 *     bucket = siphash64(key, text) % buckets;                tf.strings.to_hash_bucket_strong
 *     bucket = murmur64(text) % buckets;                      tf.strings.to_hash_bucket
 *     crossed = fingerprint_cat64(crossed, fingerprint64(text));         tf.sparse.cross_hashed
 *
 * Threads safe
 * Source  FarmHash's Fingerprint64 (farmhashna::Hash64); Aumasson and Bernstein, SipHash: a fast
 *         short-input PRF (2012); MurmurHash64A by Appleby, with the seed of TensorFlow's Hash64;
 *         FingerprintCat64 in TensorFlow's fingerprint.h
 */
#ifndef BASE_FINGERPRINT_H
#define BASE_FINGERPRINT_H

#include <stdint.h>

#include "base/bytes.h"

uint64_t fingerprint64(struct bytes text);
uint64_t fingerprint_cat64(uint64_t a, uint64_t b);           /* not the same as (b, a) */
uint64_t siphash64(const uint64_t key[2], struct bytes text); /* SipHash-2-4 */
uint64_t murmur64(struct bytes text);

/* The key of siphash64 for tables whose keys strangers choose: random bytes of this process. */
void fingerprint_secret(uint64_t key[2]);

#endif

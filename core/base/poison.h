/*
 * poison: marks memory that must not be accessed at the moment, so that AddressSanitizer reports
 * any access. Without the sanitizer these macros do nothing.
 */
#ifndef BASE_POISON_H
#define BASE_POISON_H

#include <stdbool.h>

#ifndef __has_feature /* Clang's; GCC defines __SANITIZE_ADDRESS__ */
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define POISON_WORKS         true
#define IS_POISONED(address) __asan_address_is_poisoned(address)
#define POISON(data, size)   ASAN_POISON_MEMORY_REGION(data, size)
#define UNPOISON(data, size) ASAN_UNPOISON_MEMORY_REGION(data, size)
#else
#define POISON_WORKS         false
#define IS_POISONED(address) ((void)(address), false)
#define POISON(data, size)   ((void)(data), (void)(size))
#define UNPOISON(data, size) ((void)(data), (void)(size))
#endif

#endif

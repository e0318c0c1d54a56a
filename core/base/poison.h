/*
 * poison: memory that nobody may touch just now: AddressSanitizer reports who does. Without the
 * sanitizer these are nothing.
 */
#ifndef BASE_POISON_H
#define BASE_POISON_H

#ifndef __has_feature /* Clang's; GCC defines __SANITIZE_ADDRESS__ */
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define POISON(data, size)   ASAN_POISON_MEMORY_REGION(data, size)
#define UNPOISON(data, size) ASAN_UNPOISON_MEMORY_REGION(data, size)
#else
#define POISON(data, size)   ((void)(data), (void)(size))
#define UNPOISON(data, size) ((void)(data), (void)(size))
#endif

#endif

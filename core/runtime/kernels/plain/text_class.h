/*
 * text_class: which characters divide words.
 */
#ifndef KERNELS_PLAIN_TEXT_CLASS_H
#define KERNELS_PLAIN_TEXT_CLASS_H

#include <stdbool.h>
#include <stdint.h>

/* White space, as Unicode has it. -1, for bytes that are no character, is none. */
bool text_is_space(int32_t character);

/* Does BERT tokenize the character as a word? True for punctuation of Unicode 16, all of ASCII
 * but letters and digits, and Chinese ideographs. -1 is none. */
bool text_is_punctuation(int32_t character);

#endif

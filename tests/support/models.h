/*
 * models: finds the real models that some tests read. They are not part of the source tree, but in
 * $SLIPWAY_MODELS, ../shared/models or ../../shared/models. Without them a test skips and says so.
 */
#ifndef SUPPORT_MODELS_H
#define SUPPORT_MODELS_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Returns NULL if there are none. */
static inline const char *models_directory(void)
{
    const char *candidates[] = { getenv("SLIPWAY_MODELS"), "../shared/models",
                                 "../../shared/models" };
    for (int i = 0; i < 3; i++)
        if (candidates[i] != NULL && access(candidates[i], R_OK) == 0)
            return candidates[i];
    fprintf(stderr, "SKIPPED: no real models found (set SLIPWAY_MODELS)\n");
    return NULL;
}

#endif

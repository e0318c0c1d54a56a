/*
 * convert: rewrites an export of one format (format.h) in the other. The graph, its collections and
 * signatures, the variables and the assets are kept; session_bundle_proto.h lists the changes.
 * Needs memory for the graph and for the largest variable.
 */
#ifndef SAVEDMODEL_CONVERT_H
#define SAVEDMODEL_CONVERT_H

#include "savedmodel/format.h"

struct savedmodel_conversion {
    const char *from, *to;         /* directories; `to` is absent or empty */
    enum savedmodel_format format; /* of `to`; must be another than that of `from` */
    const char *const *tags;       /* of the meta graph */
    int tags_count;
};

/**
 * Writes `to` complete or not at all.
 *
 * Errors  INVALID_ARGUMENT `from` has the format already; ALREADY_EXISTS `to` is not empty;
 *         NOT_FOUND no model or no such meta graph, or a variable's file is missing; UNIMPLEMENTED
 *         a variable of a type that the format does not have; DATA_LOSS damaged files; those of
 *         session_bundle_upgrade and of the file system
 */
struct status savedmodel_convert(const struct savedmodel_conversion *conversion);

#endif

/*
 * signature: the structs live beside the graph they name (graph/signature.h).
 */
#ifndef SAVEDMODEL_SIGNATURE_H
#define SAVEDMODEL_SIGNATURE_H

#include "graph/signature.h"

#endif

/*
 * op_parse: reads the notation of ops.def. A row that does not parse is a bug of ours and ends the
 * program with its text.
 *
 *     arguments   `x:T, inputs:N*T, data:list Tin, keys:string, ref:T&`
 *     attributes  `T:type, N:int>=1, axis:int=0, padding:string{SAME,VALID}='SAME',
 *                  strides:list(int)=[1,1], shape:shape=unknown, Tidx:type{index}=int32`
 */
#ifndef GRAPH_OP_PARSE_H
#define GRAPH_OP_PARSE_H

#include "base/arena.h"
#include "graph/op.h"

/* The result, names included, lives in `arena`. */
const struct op_arg *op_parse_args(struct arena *arena, const char *text, int *count);
const struct op_attr *op_parse_attrs(struct arena *arena, const char *text, int *count);

/* Names for sets of types that many attributes allow: the larger sets first, NULL name at the end.
 */
struct op_type_set {
    const char *name;
    dtype_set types;
};
extern const struct op_type_set op_type_sets[];

#endif

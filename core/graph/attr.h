/*
 * attr: the values of node attributes, free of protobuf types. All memory belongs to the graph's
 * arena.
 */
#ifndef GRAPH_ATTR_H
#define GRAPH_ATTR_H

#include "base/bytes.h"
#include "tensor/tensor.h"

enum attr_kind {
    ATTR_NONE,
    ATTR_STRING,      /* s */
    ATTR_INT,         /* i */
    ATTR_FLOAT,       /* f */
    ATTR_BOOL,        /* b */
    ATTR_TYPE,        /* type: a number as in files, may be >= DT_REF */
    ATTR_SHAPE,       /* shape */
    ATTR_TENSOR,      /* tensor */
    ATTR_FUNC,        /* func */
    ATTR_PLACEHOLDER, /* s: the name of the call's attribute that replaces this value (function
                         bodies only) */
    ATTR_LIST,        /* elements[0 .. count), all of kind element_kind */
};

struct attr;

/* A function by name, with the attributes that its body's placeholders take. */
struct function_name {
    const char *name;
    const struct attr *attrs;
    int attrs_count;
};

struct attr_value {
    enum attr_kind kind;
    enum attr_kind element_kind; /* of ATTR_LIST; ATTR_NONE for an empty list */
    int count;                   /* of ATTR_LIST */
    union {
        struct bytes s;
        int64_t i;
        float f;
        bool b;
        int type;
        const struct shape *shape;
        const struct tensor *tensor;
        const struct function_name *func;
        const struct attr_value *elements;
    };
};

struct attr {
    const char *name;
    struct attr_value value;
};

/* Do both have the same attributes, in any order? */
bool attrs_equal(const struct attr *a, int a_count, const struct attr *b, int b_count);

/* The attribute of that name, or NULL. */
const struct attr_value *attrs_find(const struct attr *attrs, int count, const char *name);
bool attr_value_equal(const struct attr_value *a, const struct attr_value *b);

/* "string", "list(int)", …: the words of ops.def. */
const char *attr_kind_name(enum attr_kind kind);

/* A copy in `arena`. Elements of tensors are shared: they must live as long as the copy. */
struct attr_value attr_value_share(struct arena *arena, const struct attr_value *value);
/* The same with tensors copied too. RESOURCE_EXHAUSTED: over the arena's limit. */
struct status attr_value_copy(struct arena *arena, const struct attr_value *value,
                              struct attr_value *out);

#endif

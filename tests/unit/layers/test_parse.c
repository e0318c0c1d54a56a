/* An error names the fault in a description and the valid form. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "layers/layers.h"
#include "support/test_group.h"

#define SEQUENTIAL(layers) \
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" layers "]}}"
#define LAYER(name, config) "{\"class_name\": \"" name "\", \"config\": {" config "}}"
#define INPUT(shape)        LAYER("InputLayer", "\"batch_shape\": " shape)
#define DENSE(config)       SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Dense", config))
#define LOSS(loss)                                                                               \
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT("[null, 4]") ", " LAYER( \
        "Dense", "\"units\": 3") "]}, \"compile_config\": {\"loss\": " loss "}}"
#define SCALED(inner, config)                                                                     \
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(                          \
        "[null, 4]") "]}, \"compile_config\": {\"optimizer\": {\"class_name\": "                  \
                     "\"LossScaleOptimizer\", \"config\": {\"name\": null, \"inner_optimizer\": " \
                     "{\"class_name\": \"" inner "\", \"config\": {}}, " config "}}}}"
#define EACH_STEP_DIVIDED(steps)                         \
    SEQUENTIAL(INPUT("[null, " steps ", 2]") ", " LAYER( \
        "TimeDistributed",                               \
        "\"name\": \"t\", \"layer\": " LAYER(            \
            "SpectralNormalization",                     \
            "\"name\": \"n\", \"layer\": " LAYER("Dense", "\"name\": \"d\", \"units\": 2"))))
#define IMAGE(layer) SEQUENTIAL(INPUT("[null, 4, 4, 1]") ", " layer)

/* A layer of a Functional model; `nodes` are its inbound_nodes. */
#define NODE(name, class, config, nodes)                                           \
    "{\"name\": \"" name "\", \"class_name\": \"" class "\", \"config\": {" config \
                                                        "}, \"inbound_nodes\": [" nodes "]}"
#define FUNCTIONAL(layers, ports) \
    "{\"class_name\": \"Functional\", \"config\": {\"layers\": [" layers "]" ports "}}"
#define X                      NODE("x", "InputLayer", "\"name\": \"x\", \"batch_shape\": [null, 4]", "")
#define FROM(name)             "[[\"" name "\", 0, 0, {}]]"
#define FLAT(from)             NODE("flat", "Flatten", "\"name\": \"flat\"", from)
#define SEQUENCE(shape, layer) SEQUENTIAL(INPUT(shape) ", " layer)
#define STEPS                  NODE("x", "InputLayer", "\"name\": \"x\", \"batch_shape\": [null, 10000, 1]", "")
#define ATTENTION(arguments)                                               \
    STEPS ", " NODE("att", "MultiHeadAttention",                           \
                    "\"name\": \"att\", \"num_heads\": 1, \"key_dim\": 1", \
                    "[[\"x\", 0, 0, {\"value\": [\"x\", 0, 0]" arguments "}]]")
#define IMAGE_ATTENTION(config, arguments)                                                      \
    FUNCTIONAL(NODE("x", "InputLayer", "\"name\": \"x\", \"batch_shape\": [null, 2, 3, 4]",     \
                    "") ", " NODE("att", "MultiHeadAttention",                                  \
                                  "\"name\": \"att\", \"num_heads\": 1, \"key_dim\": 1" config, \
                                  "[[\"x\", 0, 0, {\"value\": [\"x\", 0, 0]" arguments "}]]"),  \
               "")
#define INNER(shape)                                                                          \
    "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"inner\", \"layers\": [" LAYER( \
        "InputLayer", "\"name\": \"x\", \"batch_shape\": " shape) ", " LAYER("Flatten", "") "]}}"
#define TENSOR(name)                          \
    "{\"class_name\": \"__keras_tensor__\", " \
    "\"config\": {\"keras_history\": [\"" name "\", 0, 0]}}"
#define X_TENSOR TENSOR("x")
/* A call of an operation. */
#define CALL(class, name, config, arguments)                \
    "{\"module\": \"keras.src.ops.numpy\", "                \
    "\"class_name\": \"" class "\", "                       \
                               "\"name\": \"" name "\", "   \
                               "\"config\": {" config "}, " \
                               "\"inbound_nodes\": [{" arguments "}]}"
/* An operation on x [batch, 4]. */
#define OP(class, config, arguments) \
    FUNCTIONAL(X ", " CALL(class, "op", config, "\"args\": [" arguments "]"), "")
/* Attention of q [batch, 2, 1, 3] to itself; m is [batch, 2]. */
#define Q               NODE("q", "InputLayer", "\"name\": \"q\", \"batch_shape\": [null, 2, 1, 3]", "")
#define M               NODE("m", "InputLayer", "\"name\": \"m\", \"batch_shape\": [null, 2]", "")
#define QUERY_KEY_VALUE TENSOR("q") ", " TENSOR("q") ", " TENSOR("q")
#define ATTEND(arguments)                                           \
    FUNCTIONAL(Q ", " M ", " CALL("DotProductAttention", "op", "",  \
                                  "\"args\": [" QUERY_KEY_VALUE "]" \
                                  ", \"kwargs\": {" arguments "}"), \
               "")
#define WHOLE      "{\"class_name\": \"__slice__\", \"config\": {}}"
#define TWO_LAYERS X ", " FLAT(FROM("x"))

static const struct row {
    const char *label, *json;
    enum status_code code;
    const char *message; /* part of it */
} rows[] = {
    { "not JSON", "{\n\"class_name\": oops}", STATUS_INVALID_ARGUMENT,
      "line 2, column 18: invalid token" },
    { "two equal keys", "{\"a\": 1, \"a\": 2}", STATUS_INVALID_ARGUMENT, "duplicate object key" },
    { "not a model", "[]", STATUS_INVALID_ARGUMENT,
      "class_name is nothing; known: Sequential, Functional, Model" },
    { "another class", "{\"class_name\": \"RNN\"}", STATUS_INVALID_ARGUMENT,
      "class_name is 'RNN'" },
    { "no layers", SEQUENTIAL(""), STATUS_INVALID_ARGUMENT, "config.layers is a list of 0" },
    { "a config that is a list",
      SEQUENTIAL(INPUT("[null, 4]") ", {\"class_name\": \"Dense\", \"config\": [null, 3]}"),
      STATUS_INVALID_ARGUMENT, "config is a list of 2, expected an object" },
    { "a layer that is not implemented", SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Lambda", "")),
      STATUS_UNIMPLEMENTED, "layer 'Lambda' is not implemented: it holds a function in Python" },
    { "images that are mixed with none of their share",
      SEQUENTIAL(INPUT("[null, 4, 4, 1]") ", " LAYER("MixUp", "\"alpha\": 0")),
      STATUS_INVALID_ARGUMENT, "argument 'alpha' is 0, expected a number above 0" },
    { "factors of other channels",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Rescaling", "\"scale\": [1, 2, 3]")),
      STATUS_INVALID_ARGUMENT, "argument 'scale' has shape [3], which does not fit [?,4]" },
    { "factors that are no numbers",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Rescaling", "\"scale\": \"twice\"")),
      STATUS_INVALID_ARGUMENT, "argument 'scale' wants finite numbers" },
    { "an unknown layer", SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Conv9D", "")),
      STATUS_INVALID_ARGUMENT, "unknown layer 'Conv9D'; known: InputLayer, Dense, Flatten, " },
    { "a layer of one's own",
      SEQUENTIAL(INPUT("[null, 4]") ", {\"module\": null, \"registered_name\": \"My>Add\", "
                                    "\"class_name\": \"Add\", \"config\": {\"name\": \"sum\"}}"),
      STATUS_UNIMPLEMENTED, "layer 'sum' (Add) is a class of your own" },
    { "a layer of a module of one's own",
      SEQUENTIAL(INPUT("[null, 4]") ", {\"module\": \"models\", \"class_name\": \"Add\"}"),
      STATUS_UNIMPLEMENTED, "layer 'unnamed' (Add) is a class of your own" },
    { "an unknown operation", OP("Snic", "", X_TENSOR), STATUS_UNIMPLEMENTED,
      "operation 'Snic' is not implemented; known: Add, Subtract, " },
    { "an operation without a name", OP("", "", X_TENSOR), STATUS_UNIMPLEMENTED,
      "operation '' is not implemented" },
    { "an operation that mixes rows", OP("Vstack", "", X_TENSOR), STATUS_UNIMPLEMENTED,
      "operation 'Vstack' is not implemented: it mixes the rows of the batch" },
    { "an operation on matrices without a formula", OP("Cholesky", "", X_TENSOR),
      STATUS_UNIMPLEMENTED, "of the operations on matrices, only Inv, Det and Norm are" },
    { "a median of all rows", OP("Median", "\"axis\": null", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "argument 'axis' is null: it would reduce the batch as well" },
    { "several quantiles", OP("Quantile", "\"axis\": [1]", X_TENSOR ", [0.1, 0.9]"),
      STATUS_UNIMPLEMENTED, "argument 'q' of a call that is not one number" },
    { "a quantile beyond all", OP("Percentile", "\"axis\": 1", X_TENSOR ", 101"),
      STATUS_INVALID_ARGUMENT, "the share 1.01; expected 0 to 1" },
    { "a quantile of no share", OP("Quantile", "\"axis\": 1", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "the share nan" },
    { "a search in a tensor", OP("IsIn", "", X_TENSOR ", " X_TENSOR), STATUS_INVALID_ARGUMENT,
      "argument 'x2' is a tensor, whose rows all rows would share" },
    { "boundaries that are texts", OP("Digitize", "", X_TENSOR ", \"a\""), STATUS_INVALID_ARGUMENT,
      "argument 'bins' of a call is no tensor and no number" },
    { "choices without conditions",
      OP("Select", "", "[" X_TENSOR "], [" X_TENSOR ", " X_TENSOR "]"), STATUS_INVALID_ARGUMENT,
      "1 conditions; expected 1 to 32 tensors, and as many choices" },
    { "whole choices or a fraction",
      FUNCTIONAL(
          NODE("x", "InputLayer",
               "\"name\": \"x\", \"batch_shape\": [null, 4], \"dtype\": \"int32\"",
               "") ", " CALL("Select", "op", "", "\"args\": [[" X_TENSOR "], [" X_TENSOR "], 1.5]"),
          ""),
      STATUS_UNIMPLEMENTED, "'default' 1.5 beside choices of int32" },
    { "conditions that are numbers", OP("Select", "", "[" X_TENSOR "], [" X_TENSOR "]"),
      STATUS_INVALID_ARGUMENT, "expected conditions of bool" },
    { "a pattern without an arrow", OP("Rearrange", "", X_TENSOR ", \"b c\""),
      STATUS_INVALID_ARGUMENT, "the pattern 'b c' and its sizes do not fit x of shape [?,4]" },
    { "a pattern that moves the batch", OP("Rearrange", "", X_TENSOR ", \"b c -> c b\""),
      STATUS_INVALID_ARGUMENT, "the pattern 'b c -> c b'" },
    { "a pattern that joins the batch", OP("Rearrange", "", X_TENSOR ", \"b c -> (b c)\""),
      STATUS_INVALID_ARGUMENT, "the pattern 'b c -> (b c)'" },
    { "a pattern with an open group", OP("Rearrange", "", X_TENSOR ", \"b (c -> b c\""),
      STATUS_INVALID_ARGUMENT, "the pattern 'b (c -> b c'" },
    { "a pattern with an empty group", OP("Rearrange", "", X_TENSOR ", \"b () c -> b c ()\""),
      STATUS_INVALID_ARGUMENT, "the pattern 'b () c" },
    { "a pattern with too many names",
      OP("Rearrange", "",
         X_TENSOR ", \"b (c d e f g h i j k l m n) -> b c d e f g h i j k l m n\""),
      STATUS_INVALID_ARGUMENT, "the pattern 'b (c d" },
    { "a pattern with a name twice", OP("Rearrange", "", X_TENSOR ", \"b (c c) -> b c c\""),
      STATUS_INVALID_ARGUMENT, "the pattern 'b (c c)" },
    { "a pattern with two open sizes", OP("Rearrange", "", X_TENSOR ", \"b (c d) -> b c d\""),
      STATUS_INVALID_ARGUMENT, "the pattern 'b (c d)" },
    { "a pattern whose size does not divide",
      FUNCTIONAL(X ", " CALL("Rearrange", "op", "",
                             "\"args\": [" X_TENSOR ", \"b (c d) -> b c d\"], "
                             "\"kwargs\": {\"c\": 3}"),
                 ""),
      STATUS_INVALID_ARGUMENT, "the pattern 'b (c d)" },
    { "a size of no name of the pattern",
      FUNCTIONAL(X ", " CALL("Rearrange", "op", "",
                             "\"args\": [" X_TENSOR ", \"b c -> b c\"], \"kwargs\": {\"d\": 4}"),
                 ""),
      STATUS_INVALID_ARGUMENT, "the pattern 'b c -> b c'" },
    { "too many windows",
      FUNCTIONAL(NODE("x", "InputLayer", "\"name\": \"x\", \"batch_shape\": [null, 1, 1, 1000000]",
                      "") ", " CALL("Unfold", "op", "\"kernel_size\": 1, \"padding\": [1100, 0]",
                                    "\"args\": [" X_TENSOR "]"),
                 ""),
      STATUS_INVALID_ARGUMENT, "the windows: a row has 2^31 numbers or more" },
    { "a flip of all axes", OP("Flip", "\"axis\": null", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "argument 'axis' is null: it would move rows of the batch as well" },
    { "a roll of rows", OP("Roll", "\"shift\": 1, \"axis\": 0", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "(Roll): axis 0 of an input of rank 2" },
    { "rows repeated", OP("Repeat", "\"repeats\": 2, \"axis\": 0", X_TENSOR),
      STATUS_INVALID_ARGUMENT, "(Repeat): axis 0 of an input of rank 2" },
    { "too many repeats", OP("Repeat", "\"repeats\": 2147483647, \"axis\": 1", X_TENSOR),
      STATUS_INVALID_ARGUMENT, "the output: a row has 2^31 numbers or more" },
    { "padded rows", OP("Pad", "\"pad_width\": [[1, 0], [0, 0]]", X_TENSOR),
      STATUS_INVALID_ARGUMENT, "expected 2 pairs of sizes from 0 on, [0, 0] for the batch" },
    { "more differences than elements", OP("Diff", "\"n\": 9, \"axis\": 1", X_TENSOR),
      STATUS_INVALID_ARGUMENT, "argument 'n': got 9" },
    { "a triangle of rows", OP("Tril", "", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "expected matrices [batch, …, rows, columns]" },
    { "places of other rows", OP("Take", "\"axis\": 1", X_TENSOR ", " X_TENSOR),
      STATUS_INVALID_ARGUMENT, "each row would get the places of all rows" },
    { "places in a table of rows", OP("Take", "\"axis\": 1", "[[1, 2]], " X_TENSOR),
      STATUS_INVALID_ARGUMENT, "places in a table of numbers: expected axis 0" },
    { "places that are floats", OP("TakeAlongAxis", "\"axis\": 1", X_TENSOR ", " X_TENSOR),
      STATUS_INVALID_ARGUMENT, "argument 'indices' is float, expected integers" },
    { "more than all", OP("TopK", "\"k\": 100", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "the 100 largest of float" },
    { "rows sorted", OP("Sort", "\"axis\": null", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "argument 'axis' is null: it would mix rows of the batch" },
    { "a softmax of all axes", OP("Softmax", "\"axis\": null", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "(Softmax): argument 'axis' is null: it would mix rows of the batch" },
    { "an axis of the batch alone",
      FUNCTIONAL(X ", " CALL("Sum", "one", "\"axis\": 1", "\"args\": [" X_TENSOR "]") ", " CALL(
                     "Sort", "two", "\"axis\": -1", "\"args\": [" TENSOR("one") "]"),
                 ""),
      STATUS_INVALID_ARGUMENT, "axis -1 of an input that has only the batch" },
    { "attention along the features", IMAGE_ATTENTION(", \"attention_axes\": [3]", ""),
      STATUS_INVALID_ARGUMENT,
      "argument 'attention_axes': expected axes between the batch and the features of [?,2,3,4]" },
    { "scores of images", IMAGE_ATTENTION("", ", \"return_attention_scores\": true"),
      STATUS_UNIMPLEMENTED, "masks and scores of inputs of rank 4" },
    { "causal attention of images", IMAGE_ATTENTION("", ", \"use_causal_mask\": true"),
      STATUS_UNIMPLEMENTED, "masks and scores of inputs of rank 4" },
    { "attention scaled by a tensor", ATTEND("\"scale\": " TENSOR("q")), STATUS_UNIMPLEMENTED,
      "argument 'scale' of a call that is not one number" },
    { "a choice by a tensor of another rank",
      FUNCTIONAL(Q ", " M
                   ", " CALL("Where", "op", "", "\"args\": [" TENSOR("m") ", " TENSOR("q") ", 0]"),
                 ""),
      STATUS_INVALID_ARGUMENT, "(Where): the input has shape [?,2,1,3], expected rank 2" },
    { "a matrix times a tensor", OP("Matmul", "", "[[1, 2]], " X_TENSOR), STATUS_INVALID_ARGUMENT,
      "(Matmul): expected two tensors [batch, …, rows, columns], or a tensor and a matrix" },
    { "an equation of truths",
      OP("Einsum", "\"subscripts\": \"bi,ij->bj\"", X_TENSOR ", [[true], [false]]"),
      STATUS_INVALID_ARGUMENT, "(Einsum): argument 'second' of a call is no tensor and no number" },
    { "a tolerance that is a tensor", OP("Isclose", "", X_TENSOR ", " X_TENSOR ", " X_TENSOR),
      STATUS_UNIMPLEMENTED, "(Isclose): argument 'rtol' of a call that is not one number" },
    { "attention with a mask of one rank less", ATTEND("\"mask\": " TENSOR("m")),
      STATUS_INVALID_ARGUMENT,
      "(DotProductAttention): the input has shape [?,2], expected rank 4" },
    { "an equation that sums over rows", OP("Einsum", "\"subscripts\": \"bi->i\"", X_TENSOR),
      STATUS_INVALID_ARGUMENT, "where b is the batch" },
    { "an equation of pairs of rows",
      OP("Einsum", "\"subscripts\": \"bi,ci->bc\"", X_TENSOR ", " X_TENSOR),
      STATUS_INVALID_ARGUMENT, "where b is the batch" },
    { "an equation without dots in the output",
      OP("Einsum", "\"subscripts\": \"...i->i\"", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "where b is the batch" },
    { "three operands",
      OP("Einsum", "\"subscripts\": \"bi,bi,bi->b\"", X_TENSOR ", " X_TENSOR ", " X_TENSOR),
      STATUS_INVALID_ARGUMENT, "a call has 3 arguments, expected 2" },
    { "a product of two batches", OP("Dot", "", X_TENSOR ", " X_TENSOR), STATUS_UNIMPLEMENTED,
      "they would mix rows of the batch" },
    { "patches of no images", OP("ExtractPatches", "\"size\": 2", X_TENSOR),
      STATUS_INVALID_ARGUMENT, "expected rank 4" },
    { "a pool without directions", OP("MaxPool", "\"pool_size\": 2", X_TENSOR),
      STATUS_INVALID_ARGUMENT, "expected rank 3 to 5" },
    { "an inverse of rows", OP("Inv", "", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "expected square matrices [batch, n, n]" },
    { "parts of rows", OP("Unstack", "\"axis\": 0", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "(Unstack): axis 0 of an input of rank 2" },
    { "rows side by side in depth", OP("Dstack", "", "[" X_TENSOR ", " X_TENSOR "]"),
      STATUS_INVALID_ARGUMENT, "inputs of rank 2 would be joined along the batch" },
    { "a sum over the batch", OP("Sum", "\"axis\": null", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "(Sum): argument 'axis' is null: it would reduce the batch" },
    { "a sum over axis 0", OP("Sum", "\"axis\": [1, 0]", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "2 axes of an input of rank 2" },
    { "a maximum over the batch", OP("Max", "\"axis\": -2", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "axis -2 of an input of rank 2" },
    { "a row of the batch", OP("GetItem", "", X_TENSOR ", 0"), STATUS_INVALID_ARGUMENT,
      "the key of x[…] does not fit x of shape [?,4]" },
    { "an element out of range", OP("GetItem", "", X_TENSOR ", [" WHOLE ", 4]"),
      STATUS_INVALID_ARGUMENT, "the key of x[…] does not fit x of shape [?,4]" },
    { "the last element that int32 has", OP("GetItem", "", X_TENSOR ", [" WHOLE ", 2147483647]"),
      STATUS_INVALID_ARGUMENT, "the key of x[…] does not fit x of shape [?,4]" },
    { "a key of too many dimensions", OP("GetItem", "", X_TENSOR ", [" WHOLE ", 1, 1]"),
      STATUS_INVALID_ARGUMENT, "the key of x[…] does not fit" },
    { "a step of 0",
      OP("GetItem", "",
         X_TENSOR ", [" WHOLE ", {\"class_name\": \"__slice__\", \"config\": "
                  "{\"step\": 0}}]"),
      STATUS_INVALID_ARGUMENT, "the key of x[…] does not fit" },
    { "numbers for each row", OP("Add", "", X_TENSOR ", [[1, 2, 3, 4], [5, 6, 7, 8]]"),
      STATUS_INVALID_ARGUMENT, "operands of shapes [?,4] and [2,4] do not fit row by row" },
    { "an operand that is text", OP("Add", "", X_TENSOR ", \"one\""), STATUS_INVALID_ARGUMENT,
      "argument 'x2' of a call is no tensor and no number" },
    { "ragged lists of numbers", OP("Add", "", X_TENSOR ", [[1], [2, 3]]"), STATUS_INVALID_ARGUMENT,
      "argument 'x2' of a call is no tensor and no number" },
    { "numbers of too many dimensions",
      OP("Add", "", X_TENSOR ", [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]"), STATUS_INVALID_ARGUMENT,
      "(Add): argument 'x2' of a call is no tensor and no number" },
    { "a missing operand", OP("Multiply", "", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "argument 'x2' of a call is no tensor and no number" },
    { "a shape that moves rows", OP("Reshape", "\"newshape\": [-1, 3]", X_TENSOR),
      STATUS_INVALID_ARGUMENT, "… have 4 elements as a row of the input [?,4]" },
    { "the batch behind", OP("Transpose", "\"axes\": [1, 0]", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "argument 'axes': expected each of 0 to 1 once, first 0" },
    { "a type of 64 bits", OP("Cast", "\"dtype\": \"float64\"", X_TENSOR), STATUS_UNIMPLEMENTED,
      "dtype 'float64'; only float32, float16, bfloat16, int32, int64 and bool are implemented" },
    { "parts that do not divide", OP("Split", "\"indices_or_sections\": 3, \"axis\": 1", X_TENSOR),
      STATUS_INVALID_ARGUMENT, "'indices_or_sections' does not divide axis 1, of size 4" },
    { "a batch twice", OP("Tile", "\"repeats\": [2, 1]", X_TENSOR), STATUS_INVALID_ARGUMENT,
      "expected at most 2 numbers from 1 on, 1 for the batch" },
    { "rows stacked before the batch", OP("Stack", "\"axis\": 0", "[" X_TENSOR "]"),
      STATUS_INVALID_ARGUMENT, "axis 0 of an input of rank 3" },
    { "a product of rows", OP("Matmul", "", X_TENSOR ", " X_TENSOR), STATUS_INVALID_ARGUMENT,
      "expected two tensors [batch, …, rows, columns]" },
    { "another norm", OP("Norm", "\"ord\": 1, \"axis\": 1", X_TENSOR), STATUS_UNIMPLEMENTED,
      "argument 'ord'" },
    { "a cross of no rank",
      FUNCTIONAL(X ", " NODE("cross", "FeatureCross", "\"projection_dim\": 0", FROM("x")), ""),
      STATUS_INVALID_ARGUMENT, "argument 'projection_dim': got 0, expected at least 1" },
    { "a cross of two shapes",
      FUNCTIONAL(X ", " NODE("up", "Dense", "\"name\": \"up\", \"units\": 3", FROM("x")) ", " NODE(
                     "cross", "FeatureCross", "", "[[\"x\", 0, 0, {\"x\": [\"up\", 0, 0]}]]"),
                 ""),
      STATUS_INVALID_ARGUMENT, "inputs of shapes [?,4] and [?,3]; expected two of one shape" },
    { "dots of one feature", FUNCTIONAL(X ", " NODE("dots", "DotInteraction", "", FROM("x")), ""),
      STATUS_INVALID_ARGUMENT, "it has 1 inputs, expected 2 to 256" },
    { "a model inside a model without layers",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Functional", "\"name\": \"tower\"")),
      STATUS_INVALID_ARGUMENT, "model 'tower': config.layers is nothing" },
    { "a model inside a model without a name",
      SEQUENTIAL(INPUT("[null, 4]") ", " SEQUENTIAL(LAYER("Flatten", ""))), STATUS_INVALID_ARGUMENT,
      "a model inside a model without a name" },
    { "an input that does not fit the model inside",
      SEQUENTIAL(INPUT("[null, 4]") ", " INNER("[null, 3]")), STATUS_INVALID_ARGUMENT,
      "layer 'inner' (Functional): its input 'x' is float [?,3], it is given float [?,4]" },
    { "two inputs of a model that has one",
      FUNCTIONAL(
          X ", {\"name\": \"inner\", \"class_name\": \"Sequential\", \"config\": {\"layers\": "
            "[" INPUT("[null, 4]") ", " LAYER("Flatten", "") "]}, \"inbound_nodes\": [[[\"x\", 0, "
                                                             "0, {}], [\"x\", 0, 0, {}]]]}",
          ""),
      STATUS_INVALID_ARGUMENT, "it has 1 inputs, it is given 2" },
    { "a layer after a model that gives its input no shape",
      SEQUENTIAL(INPUT("[null, 4]") ", {\"class_name\": \"Sequential\", \"config\": {\"name\": "
                                    "\"inner\", \"layers\": [" LAYER("Flatten", "") "]}}, " LAYER(
                                        "MaxPooling2D", "\"name\": \"pool\"")),
      STATUS_INVALID_ARGUMENT,
      "layer 2 of 'model': layer 'pool' (MaxPooling2D): the input has shape [?,4], expected rank "
      "4" },
    { "an input that does not fit the model inside a layer",
      SEQUENTIAL(INPUT("[null, 4, 2]") ", " LAYER(
          "TimeDistributed", "\"name\": \"t\", \"layer\": " INNER("[null, 3]"))),
      STATUS_INVALID_ARGUMENT,
      "layer 't/inner' (Functional): its input 'x' is float [?,3], it is given float [?,2]" },
    { "a model inside a layer without a name",
      SEQUENTIAL(INPUT("[null, 4, 2]") ", " LAYER("TimeDistributed",
                                                  "\"layer\": " SEQUENTIAL(LAYER("Flatten", "")))),
      STATUS_INVALID_ARGUMENT, "argument 'layer': a model inside a model without a name" },
    { "a layer with two outputs inside another",
      SEQUENTIAL(INPUT("[null, 4, 3, 2]") ", " LAYER(
          "TimeDistributed", "\"name\": \"t\", \"layer\": " LAYER(
                                 "GRU", "\"name\": \"g\", \"units\": 2, \"return_state\": true"))),
      STATUS_INVALID_ARGUMENT,
      "layer 't/g' (GRU): 2 outputs, expected 1 of a layer inside another one" },
    { "moments of an open number of steps",
      SEQUENTIAL(INPUT("[null, null, 2]") ", " LAYER(
          "TimeDistributed", "\"layer\": " LAYER("BatchNormalization", "\"name\": \"n\""))),
      STATUS_UNIMPLEMENTED,
      "training inside a TimeDistributed with an open number of steps: give the InputLayer a "
      "size" },
    { "a spectral normalization of an open number of steps", EACH_STEP_DIVIDED("null"),
      STATUS_UNIMPLEMENTED,
      "layer 't/n' (SpectralNormalization): inside a TimeDistributed with an open number of steps: "
      "give the InputLayer a size" },
    { "a spectral normalization of too many steps", EACH_STEP_DIVIDED("1001"), STATUS_UNIMPLEMENTED,
      "layer 't' (TimeDistributed): the layer inside it is called for each of 1001 steps; at most "
      "1000 such calls are implemented" },
    { "an unknown argument", DENSE("\"units\": 3, \"unit\": 3"), STATUS_INVALID_ARGUMENT,
      "layer 'unnamed' (Dense): unknown argument 'unit'; known: name, trainable, dtype, units, "
      "activation, " },
    { "an unknown activation", DENSE("\"units\": 3, \"activation\": \"rleu\""),
      STATUS_INVALID_ARGUMENT,
      "argument 'activation': 'rleu' is not an activation; known: linear, relu, " },
    { "an unknown initializer", DENSE("\"units\": 3, \"kernel_initializer\": \"Nought\""),
      STATUS_INVALID_ARGUMENT, "'Nought' is not an initializer; known: Zeros, Ones, " },
    { "an unknown argument of an initializer",
      DENSE("\"units\": 3, \"kernel_initializer\": {\"class_name\": \"Constant\", \"config\": "
            "{\"valeu\": 1}}"),
      STATUS_INVALID_ARGUMENT, "Constant: unknown argument 'valeu'" },
    { "a constant array with texts",
      DENSE("\"units\": 3, \"bias_initializer\": {\"class_name\": \"Constant\", \"config\": "
            "{\"value\": [1, \"2\", 3]}}"),
      STATUS_INVALID_ARGUMENT, "value is a list of 3, expected a finite number, or lists of them" },
    { "a constant that is not finite",
      DENSE("\"units\": 3, \"bias_initializer\": {\"class_name\": \"Constant\", \"config\": "
            "{\"value\": -Infinity}}"),
      STATUS_INVALID_ARGUMENT, "value is -Infinity, expected a finite number" },
    { "a constant array of another shape",
      DENSE("\"units\": 3, \"bias_initializer\": {\"class_name\": \"Constant\", \"config\": "
            "{\"value\": [1, 2]}}"),
      STATUS_INVALID_ARGUMENT, "an initial value of shape [2] for a variable of shape [3]" },
    { "a rate that is not finite",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Dropout", "\"rate\": NaN")),
      STATUS_INVALID_ARGUMENT, "argument 'rate': got NaN, expected a finite number" },
    { "an unknown regularizer", DENSE("\"units\": 3, \"kernel_regularizer\": \"L3\""),
      STATUS_INVALID_ARGUMENT,
      "'L3' is not a regularizer; known: L1, L2, L1L2, "
      "OrthogonalRegularizer, null" },
    { "an argument that must be false",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("BatchNormalization", "\"renorm\": true")),
      STATUS_UNIMPLEMENTED, "argument 'renorm': got true; only false is implemented" },
    { "an argument that must be null", DENSE("\"units\": 3, \"quantization_config\": 2"),
      STATUS_UNIMPLEMENTED, "argument 'quantization_config': got 2; only null is implemented" },
    { "no rank", DENSE("\"units\": 3, \"lora_rank\": 0"), STATUS_INVALID_ARGUMENT,
      "argument 'lora_rank': got 0, expected 1 or more" },
    { "a missing argument", DENSE("\"name\": \"d\""), STATUS_INVALID_ARGUMENT,
      "layer 'd' (Dense): argument 'units' is missing" },
    { "no units", DENSE("\"units\": 0"), STATUS_INVALID_ARGUMENT,
      "argument 'units': got 0, expected a positive integer" },
    { "too many units", DENSE("\"units\": 2147483648"), STATUS_INVALID_ARGUMENT,
      "argument 'units': got 2147483648, expected an integer up to 2147483647" },
    { "units of another kind", DENSE("\"units\": \"many\""), STATUS_INVALID_ARGUMENT,
      "argument 'units': got 'many', expected a positive integer" },
    { "another word",
      IMAGE(LAYER("Conv2D", "\"filters\": 1, \"kernel_size\": 3, \"padding\": \"al\"")),
      STATUS_INVALID_ARGUMENT, "argument 'padding': got 'al', expected one of: valid same" },
    { "a constraint", DENSE("\"units\": 3, \"kernel_constraint\": {\"class_name\": \"Odd\"}"),
      STATUS_UNIMPLEMENTED,
      "argument 'kernel_constraint': an object 'Odd' is not implemented; known: MaxNorm" },
    { "a policy of a layer around another one",
      SEQUENTIAL(INPUT("[null, 4, 2]") ", " LAYER(
          "TimeDistributed", "\"dtype\": {\"class_name\": \"DTypePolicy\", \"config\": {\"name\": "
                             "\"bfloat16\"}}, \"layer\": " LAYER("Flatten", "\"name\": \"f\""))),
      STATUS_UNIMPLEMENTED,
      "dtype 'bfloat16'; only 'float32', 'string', 'bool' and integers are implemented" },
    { "another dtype", DENSE("\"units\": 3, \"dtype\": \"float16\""), STATUS_UNIMPLEMENTED,
      "dtype 'float16'; only 'float32', 'mixed_float16' and 'mixed_bfloat16' are implemented" },
    { "a policy of 16 bits that a layer does not take",
      SEQUENTIAL(INPUT("[null, 3]") ", " LAYER(
          "ReversibleEmbedding",
          "\"dtype\": \"mixed_float16\", \"input_dim\": 3, \"output_dim\": 2")),
      STATUS_UNIMPLEMENTED, "dtype 'mixed_float16'; only 'float32' is implemented" },
    { "a policy of 16 bits in a model of Keras 2",
      "{\"keras_version\": \"2.15.0\", \"class_name\": \"Sequential\", \"config\": "
      "{\"layers\": [" INPUT("[null, 4]") ", " LAYER(
          "Dense", "\"units\": 3, \"dtype\": \"mixed_float16\"") "]}}",
      STATUS_UNIMPLEMENTED, "a policy of 16 bits in a model of Keras 2" },
    { "the name of a path", DENSE("\"units\": 3, \"name\": \"a b\""), STATUS_INVALID_ARGUMENT,
      "name 'a b' may only have letters" },
    { "a name twice",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Dense", "\"name\": \"d\", \"units\": 3") ", " LAYER(
          "Dense", "\"name\": \"d\", \"units\": 3")),
      STATUS_INVALID_ARGUMENT, "two layers have the name 'd'" },
    { "no shape", SEQUENTIAL(LAYER("Dense", "\"units\": 3")), STATUS_INVALID_ARGUMENT,
      "the input's shape is not given" },
    { "a sequence of any length that is flattened",
      SEQUENTIAL(
          INPUT("[null, null, 2]") ", " LAYER("Flatten", "") ", " LAYER("Dense", "\"units\": 1")),
      STATUS_INVALID_ARGUMENT,
      "layer 'dense' (Dense): the input has shape [?,?], and dimension 1 must be known here: give "
      "the InputLayer a size instead of null, or pool instead of flattening" },
    { "a sequence of any length that is reshaped to one",
      SEQUENTIAL(INPUT("[null, null, 2]") ", " LAYER("Reshape", "\"target_shape\": [3, 4]")),
      STATUS_INVALID_ARGUMENT,
      "layer 'reshape' (Reshape): the input has shape [?,?,2], whose rows differ in size; expected "
      "-1 for one dimension of target_shape" },
    { "a sequence of any length that is unrolled",
      SEQUENTIAL(INPUT("[null, null, 2]") ", " LAYER("LSTM", "\"units\": 1, \"unroll\": true")),
      STATUS_UNIMPLEMENTED, "layer 'lstm' (LSTM): unroll of an open number of steps" },
    { "features of any number",
      SEQUENTIAL(INPUT("[null, 3, null]") ", " LAYER("LSTM", "\"units\": 1")),
      STATUS_INVALID_ARGUMENT,
      "layer 'lstm' (LSTM): the input has shape [?,3,?], and dimension 2 must be known here" },
    { "a variable of any size", SEQUENTIAL(INPUT("[null, null, 2]") ", " LAYER("PReLU", "")),
      STATUS_INVALID_ARGUMENT, "would have the shape [?,2], because the input's is open" },
    { "a size beyond all bounds", SEQUENTIAL(INPUT("[null, 65536, 65536]")),
      STATUS_INVALID_ARGUMENT, "less than 2^31" },
    { "a rank that does not fit", SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("MaxPooling2D", "")),
      STATUS_INVALID_ARGUMENT,
      "layer 'max_pooling2d' (MaxPooling2D): the input has shape [?,4], expected rank 4" },
    { "a window larger than the image",
      IMAGE(LAYER("Conv2D", "\"filters\": 1, \"kernel_size\": 5")), STATUS_INVALID_ARGUMENT,
      "conv2d" },
    { "a shape of another size",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Reshape", "\"target_shape\": [3]")),
      STATUS_INVALID_ARGUMENT, "target_shape has 3 elements where the input [?,4] has 4" },
    { "two open dimensions",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Reshape", "\"target_shape\": [-1, -1]")),
      STATUS_INVALID_ARGUMENT, "target_shape" },
    { "a rate of 1", SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Dropout", "\"rate\": 1")),
      STATUS_INVALID_ARGUMENT, "argument 'rate': got 1, expected 0 <= rate < 1" },
    { "a layer that does not exist", FUNCTIONAL(X ", " FLAT(FROM("z")), ""),
      STATUS_INVALID_ARGUMENT, "layer 'flat' (Flatten): layer 'z' does not exist" },
    { "a call that does not exist", FUNCTIONAL(X ", " FLAT("[[\"x\", 1, 0, {}]]"), ""),
      STATUS_INVALID_ARGUMENT, "call 1 of layer 'x', which has 1" },
    { "an output that does not exist", FUNCTIONAL(X ", " FLAT("[[\"x\", 0, 1, {}]]"), ""),
      STATUS_INVALID_ARGUMENT, "output 1 of layer 'x', which has 1" },
    { "a circle", FUNCTIONAL(X ", " FLAT(FROM("flat")), ""), STATUS_INVALID_ARGUMENT,
      "layer 'flat' needs its own output" },
    { "a layer that is never called", FUNCTIONAL(X ", " FLAT(""), ""), STATUS_INVALID_ARGUMENT,
      "layer 'flat' has no inbound_nodes" },
    { "an argument of a call",
      FUNCTIONAL(X ", " FLAT("[[\"x\", 0, 0, {\"training\": false}]]"), ""), STATUS_UNIMPLEMENTED,
      "argument 'training' of a call is false, which is not implemented" },
    { "a number among the inputs", FUNCTIONAL(X ", " FLAT("{\"args\": [1.5], \"kwargs\": {}}"), ""),
      STATUS_UNIMPLEMENTED, "an argument of a call is 1.5; only tensors are implemented" },
    { "a mask of a layer that drops masks",
      FUNCTIONAL(X ", " FLAT("[[\"x\", 0, 0, {\"mask\": [\"x\", 0, 0]}]]"), ""),
      STATUS_UNIMPLEMENTED, "argument 'mask' of a call is a tensor, which is not implemented" },
    { "a cell that is not inside a layer",
      SEQUENCE("[null, 5, 2]", LAYER("LSTMCell", "\"units\": 3")), STATUS_INVALID_ARGUMENT,
      "a LSTMCell can only be inside another layer, such as RNN" },
    { "a stateful layer",
      SEQUENCE("[null, 5, 2]", LAYER("LSTM", "\"units\": 3, \"stateful\": true")),
      STATUS_UNIMPLEMENTED, "argument 'stateful': got true" },
    { "a recurrent layer without steps", SEQUENCE("[null, 5]", LAYER("GRU", "\"units\": 3")),
      STATUS_INVALID_ARGUMENT, "layer 'gru' (GRU): the input has shape [?,5], expected rank 3" },
    { "too many steps to unroll",
      SEQUENCE("[null, 20000, 1]", LAYER("SimpleRNN", "\"units\": 1, \"unroll\": true")),
      STATUS_UNIMPLEMENTED, "unroll with 20000 steps; at most 10000" },
    { "gates beyond all bounds",
      SEQUENCE("[null, 1000000, 1]", LAYER("LSTM", "\"units\": 1000000")), STATUS_INVALID_ARGUMENT,
      "the gates of all steps: a row has 2^31 numbers or more" },
    { "no cell",
      SEQUENCE("[null, 5, 2]", LAYER("RNN", "\"cell\": " LAYER("Dense", "\"units\": 3, "
                                                                        "\"name\": \"dense\""))),
      STATUS_INVALID_ARGUMENT, "it is not a cell; known: SimpleRNNCell" },
    { "an output that a recurrent layer does not have",
      FUNCTIONAL(STEPS ", " NODE("gru", "GRU", "\"name\": \"gru\", \"units\": 2", FROM("x")),
                 ", \"output_layers\": [[\"gru\", 0, 1]]"),
      STATUS_INVALID_ARGUMENT, "the model's output 'gru' is its output 1, it has 1" },
    { "a causal mask beyond all bounds", FUNCTIONAL(ATTENTION(", \"use_causal_mask\": true"), ""),
      STATUS_UNIMPLEMENTED, "a causal mask or window of 10000 queries and 10000 keys" },
    { "an argument of attention that it does not have", FUNCTIONAL(ATTENTION(", \"speed\": 1"), ""),
      STATUS_UNIMPLEMENTED, "argument 'speed' of a call is 1, which is not implemented" },
    { "a flag of attention that is a number", FUNCTIONAL(ATTENTION(", \"use_causal_mask\": 3"), ""),
      STATUS_INVALID_ARGUMENT,
      "argument 'use_causal_mask' of a call is 3, expected true or false" },
    { "two inputs of a layer with one",
      FUNCTIONAL(X ", " FLAT("[[\"x\", 0, 0, {}], [\"x\", 0, 0, {}]]"), ""),
      STATUS_INVALID_ARGUMENT, "layer 'flat' (Flatten) has 2 inputs, expected 1" },
    { "an output that is no layer", FUNCTIONAL(TWO_LAYERS, ", \"output_layers\": [[\"y\", 0, 0]]"),
      STATUS_INVALID_ARGUMENT, "output_layers: layer 'y' does not exist" },
    { "an output without a place", FUNCTIONAL(TWO_LAYERS, ", \"output_layers\": [[\"flat\"]]"),
      STATUS_INVALID_ARGUMENT, "output_layers: got a list of 1, expected [layer, call, output]" },
    { "an output whose key is no name",
      FUNCTIONAL(TWO_LAYERS, ", \"output_layers\": {\"a b\": [\"flat\", 0, 0]}"),
      STATUS_INVALID_ARGUMENT, "output_layers: name 'a b' may only have letters" },
    { "an input that is another layer",
      FUNCTIONAL(TWO_LAYERS, ", \"input_layers\": [[\"flat\", 0, 0]]"), STATUS_INVALID_ARGUMENT,
      "input_layers: 'flat' is not an InputLayer" },
    { "an input that is forgotten",
      FUNCTIONAL(TWO_LAYERS
                 ", " NODE("z", "InputLayer", "\"name\": \"z\", \"batch_shape\": [null, 4]", ""),
                 ", \"input_layers\": [[\"x\", 0, 0]]"),
      STATUS_INVALID_ARGUMENT, "InputLayer 'z' is not among the input_layers" },
    { "a shared layer with inputs of two shapes",
      FUNCTIONAL(X ", " NODE("z", "InputLayer", "\"name\": \"z\", \"batch_shape\": [null, 3]",
                             "") ", " NODE("d", "Dense", "\"name\": \"d\", \"units\": 2",
                                           FROM("x") ", " FROM("z")),
                 ""),
      STATUS_INVALID_ARGUMENT,
      "layer 'd' (Dense): its variable 'd/kernel' has shape [3,2]; another call of the layer wants "
      "[4,2]" },
    { "shapes that do not fit",
      FUNCTIONAL(X ", " NODE("z", "InputLayer", "\"name\": \"z\", \"batch_shape\": [null, 3]",
                             "") ", " NODE("s", "Add", "\"name\": \"s\"",
                                           "[[\"x\", 0, 0, {}], [\"z\", 0, 0, {}]]"),
                 ""),
      STATUS_INVALID_ARGUMENT, "layer 's' (Add): inputs of shapes [?,4] and [?,3] do not fit" },
    { "a difference of one",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Subtract", "\"name\": \"s\"")),
      STATUS_INVALID_ARGUMENT, "layer 's' (Subtract): it has 1 inputs, expected 2" },
    { "an axis beyond the rank",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("Concatenate", "\"axis\": 2")),
      STATUS_INVALID_ARGUMENT, "axis 2 of an input of rank 2; expected 1 to 1, or -1 to -1" },
    { "an equation that is no product",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("EinsumDense",
                                               "\"equation\": \"ab,ab->ab\", \"output_shape\": 4")),
      STATUS_INVALID_ARGUMENT,
      "argument 'equation': 'ab,ab->ab' of an input of shape [?,4] is not" },
    { "an equation of another rank",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER(
          "EinsumDense", "\"equation\": \"abc,cd->abd\", \"output_shape\": [4, 4]")),
      STATUS_INVALID_ARGUMENT, "'abc,cd->abd' of an input of shape [?,4] is not a product" },
    { "an output of another size",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER(
          "EinsumDense", "\"equation\": \"ab,bc->ac\", \"output_shape\": [4, 4]")),
      STATUS_INVALID_ARGUMENT, "argument 'output_shape' does not fit 'ab,bc->ac'" },
    { "axes of a bias that are no text",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("EinsumDense",
                                               "\"equation\": \"ab,bc->ac\", \"output_shape\": "
                                               "4, \"bias_axes\": [\"c\"]")),
      STATUS_INVALID_ARGUMENT, "argument 'bias_axes' is no text of axes, such as 'd'" },
    { "a layer that cannot be inside another",
      SEQUENTIAL(INPUT("[null, 4, 4]") ", " LAYER(
          "TimeDistributed", "\"name\": \"t\", \"layer\": " LAYER("Add", "\"name\": \"s\""))),
      STATUS_INVALID_ARGUMENT, "layer 't/s' (Add): it cannot be inside another layer" },
    { "an initial state for one of two directions",
      FUNCTIONAL(
          STEPS ", " NODE("s", "GRU", "\"name\": \"s\", \"units\": 1", FROM("x")) ", " NODE(
              "both", "Bidirectional",
              "\"name\": \"both\", \"layer\": " LAYER(
                  "GRU",
                  "\"name\": \"f\", \"units\": 1") ", \"backward_layer\": " LAYER("GRU",
                                                                                  "\"name\": "
                                                                                  "\"b\", "
                                                                                  "\"units\": 1, "
                                                                                  "\"go_"
                                                                                  "backwards\": "
                                                                                  "true"),
              "[[\"x\", 0, 0, {}], [\"s\", 0, 0, {}]]"),
          ""),
      STATUS_INVALID_ARGUMENT,
      "initial_state has 1 tensors, expected the same number for each direction" },
    { "a direction that is not recurrent",
      SEQUENCE(
          "[null, 4, 2]",
          LAYER("Bidirectional",
                "\"layer\": " LAYER(
                    "Dense", "\"name\": \"d\", \"units\": 1") ", "
                                                              "\"backward_layer\":"
                                                              " " LAYER("GRU", "\"name\": \"b\", "
                                                                               "\"units\": 1, "
                                                                               "\"go_backwards\": "
                                                                               "true"))),
      STATUS_INVALID_ARGUMENT, "(Dense): it is not a recurrent layer" },
    { "an axis twice",
      SEQUENTIAL(INPUT("[null, 4, 4]") ", " LAYER("LayerNormalization", "\"axis\": [1, -2]")),
      STATUS_INVALID_ARGUMENT, "argument 'axis' has axis 1 twice" },
    { "groups of a convolution that do not divide",
      SEQUENTIAL(INPUT("[null, 5, 4]") ", " LAYER(
          "Conv1D", "\"filters\": 6, \"kernel_size\": 2, \"groups\": 3")),
      STATUS_INVALID_ARGUMENT, "argument 'groups': 3 do not divide both 4 channels and 6 filters" },
    { "a window of two sides over a volume",
      SEQUENTIAL(INPUT("[null, 5, 5, 5, 4]") ", " LAYER("MaxPooling3D", "\"pool_size\": [2, 2]")),
      STATUS_INVALID_ARGUMENT, "expected three positive integers, [depth, height, width]" },
    { "an unknown mode of a regularizer",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER(
          "Dense", "\"units\": 2, \"kernel_regularizer\": {\"class_name\": "
                   "\"OrthogonalRegularizer\", \"config\": {\"mode\": \"all\"}}")),
      STATUS_INVALID_ARGUMENT, "mode is 'all', expected \"rows\" or \"columns\"" },
    { "groups that do not divide",
      SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("GroupNormalization", "\"groups\": 3")),
      STATUS_INVALID_ARGUMENT, "4 channels cannot be cut into 3 groups" },
    { "a permutation that is none",
      SEQUENTIAL(INPUT("[null, 4, 4]") ", " LAYER("Permute", "\"dims\": [1, 1]")),
      STATUS_INVALID_ARGUMENT, "argument 'dims': expected each of 1 to 2 once" },
    { "all cropped away", IMAGE(LAYER("Cropping2D", "\"cropping\": 2")), STATUS_INVALID_ARGUMENT,
      "nothing of the input's shape [?,4,4,1] is left" },
    { "all cropped away beside an open dimension",
      SEQUENTIAL(INPUT("[null, null, 4, 1]") ", " LAYER("Cropping2D", "\"cropping\": 2")),
      STATUS_INVALID_ARGUMENT, "nothing of the input's shape [?,?,4,1] is left" },
    { "an output padding beyond the stride",
      IMAGE(LAYER("Conv2DTranspose",
                  "\"filters\": 1, \"kernel_size\": 2, \"strides\": 2, \"output_padding\": 2")),
      STATUS_INVALID_ARGUMENT, "no output of this kernel, stride and padding" },
    { "a variable beyond all bounds",
      IMAGE(LAYER("Conv2D",
                  "\"name\": \"c\", \"filters\": 2147483647, \"kernel_size\": 2147483647, "
                  "\"padding\": \"same\"")),
      STATUS_INVALID_ARGUMENT,
      "a variable 'c/kernel' of shape [2147483647,2147483647,1,2147483647] is too large" },
    { "a row beyond all bounds",
      SEQUENTIAL(INPUT("[null, 65536, 1]") ", " LAYER("Dense", "\"units\": 65536")),
      STATUS_INVALID_ARGUMENT, "a row of 2^31 numbers or more" },
    { "cross-entropy without softmax",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT("[null, 4]") ", " LAYER(
          "Dense",
          "\"units\": 3") "]}, \"compile_config\": {\"loss\": \"categorical_crossentropy\"}}",
      STATUS_INVALID_ARGUMENT, "cross-entropy needs an output that ends in softmax" },
    { "an unknown loss",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"loss\": \"hubris\"}}",
      STATUS_INVALID_ARGUMENT, "'hubris' is not a loss; known: sparse_categorical_crossentropy, " },
    { "binary cross-entropy without sigmoid", LOSS("\"bce\""), STATUS_INVALID_ARGUMENT,
      "binary cross-entropy needs an output that ends in sigmoid, or from_logits" },
    { "an unknown option of a loss",
      LOSS("{\"class_name\": \"MeanSquaredError\", \"config\": {\"from_logits\": true}}"),
      STATUS_INVALID_ARGUMENT, "loss 'MeanSquaredError': unknown argument 'from_logits'" },
    { "a loss of 16 bits",
      LOSS("{\"class_name\": \"MeanSquaredError\", \"config\": {\"dtype\": "
           "\"bfloat16\"}}"),
      STATUS_UNIMPLEMENTED, "dtype 'bfloat16'; only 'float32' is implemented" },
    { "a metric of 64 bits",
      LOSS("\"mse\", \"metrics\": [{\"class_name\": \"MeanAbsoluteError\", \"config\": {\"name\": "
           "\"mae\", \"dtype\": \"float64\"}}]"),
      STATUS_UNIMPLEMENTED, "dtype 'float64'; only 'float32' is implemented" },
    { "a metric of 16 bits",
      LOSS("\"mse\", \"metrics\": [{\"class_name\": \"R2Score\", \"config\": {\"dtype\": "
           "\"float16\"}}]"),
      STATUS_UNIMPLEMENTED, "dtype 'float16'; only 'float32' is implemented" },
    { "more smoothing than there is",
      LOSS("{\"class_name\": \"BinaryCrossentropy\", \"config\": {\"label_smoothing\": 1.5}}"),
      STATUS_INVALID_ARGUMENT, "got 1.5, expected 0 <= label_smoothing <= 1" },
    { "another axis", LOSS("{\"class_name\": \"BinaryCrossentropy\", \"config\": {\"axis\": 1}}"),
      STATUS_UNIMPLEMENTED, "'axis' is 1; only -1 is implemented" },
    { "a loss in Python",
      LOSS("{\"module\": \"builtins\", \"class_name\": \"function\", \"config\": \"my_loss\"}"),
      STATUS_INVALID_ARGUMENT, "the Python function 'my_loss' is not a loss" },
    { "a loss of a module", LOSS("\"ctcs\""), STATUS_INVALID_ARGUMENT,
      "'ctcs' is not a loss; known: " },
    { "classes for a CTC", LOSS("\"ctc\""), STATUS_INVALID_ARGUMENT,
      "ctc needs an output [batch, steps, classes]; it has shape " },
    { "a reduction that is a number",
      LOSS("{\"class_name\": \"MeanSquaredError\", \"config\": {\"reduction\": 5}}"),
      STATUS_INVALID_ARGUMENT, "'reduction' is 5, expected a word" },
    { "a reduction that is a list",
      LOSS("{\"class_name\": \"MeanSquaredError\", \"config\": {\"reduction\": []}}"),
      STATUS_INVALID_ARGUMENT, "'reduction' is a list of 0, expected a word" },
    { "no reduction",
      LOSS("{\"class_name\": \"MeanSquaredError\", \"config\": {\"reduction\": \"none\"}}"),
      STATUS_UNIMPLEMENTED,
      "'reduction' is 'none'; known: sum_over_batch_size, mean, sum, "
      "mean_with_sample_weight" },
    { "a loss for each class", LOSS("{\"class_name\": \"Dice\", \"config\": {\"axis\": [0]}}"),
      STATUS_UNIMPLEMENTED,
      "dice: an 'axis' of an output [?,3] other than null, or all but the batch" },
    { "a loss for each row",
      LOSS("{\"class_name\": \"MeanSquaredError\", \"config\": {\"reduction\": null}}"),
      STATUS_UNIMPLEMENTED, "'reduction' is null, which leaves a loss for each row" },
    { "a schedule",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"optimizer\": {\"class_name\": \"SGD\", "
                       "\"config\": "
                       "{\"learning_rate\": {\"class_name\": \"CosineDecay\", \"config\": "
                       "{\"decay_steps\": \"many\"}}}}}}",
      STATUS_INVALID_ARGUMENT,
      "optimizer 'sgd': CosineDecay: decay_steps is 'many', expected numbers" },
    { "a loss scale around nothing",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"optimizer\": {\"class_name\": "
                       "\"LossScaleOptimizer\", \"config\": "
                       "{\"initial_scale\": 32768.0}}}}",
      STATUS_INVALID_ARGUMENT, "optimizer 'lossscaleoptimizer': 'inner_optimizer' is nothing" },
    { "a loss scale around another one", SCALED("LossScaleOptimizer", "\"initial_scale\": 8"),
      STATUS_INVALID_ARGUMENT, "'inner_optimizer' is an object 'LossScaleOptimizer'" },
    { "a loss scale of 0", SCALED("SGD", "\"initial_scale\": 0"), STATUS_INVALID_ARGUMENT,
      "optimizer 'lossscaleoptimizer': 'initial_scale' is 0, expected a number above 0" },
    { "a loss scale that is infinite", SCALED("SGD", "\"initial_scale\": 1e39"),
      STATUS_INVALID_ARGUMENT, "'initial_scale' is 1e+39, expected a number above 0" },
    { "a loss scale that grows in half a step", SCALED("SGD", "\"dynamic_growth_steps\": 1.5"),
      STATUS_INVALID_ARGUMENT, "'dynamic_growth_steps' is 1.5, expected an integer above 0" },
    { "a loss scale that does not change", SCALED("SGD", "\"dynamic\": false"),
      STATUS_INVALID_ARGUMENT, "'dynamic' is false, and belongs to the optimizer inside it" },
    { "a setting of the wrong optimizer", SCALED("SGD", "\"clipnorm\": 1.0, \"use_ema\": false"),
      STATUS_INVALID_ARGUMENT, "'clipnorm' is 1, and belongs to the optimizer inside it" },
    { "no map of optimizers",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"optimizer\": {\"class_name\": "
                       "\"MultiOptimizer\", \"config\": {\"optimizer_map\": \"choose\"}}}}",
      STATUS_UNIMPLEMENTED, "'optimizer_map' is 'choose'; only an OptimizerMap is implemented" },
    { "a map of optimizers inside another one",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"optimizer\": {\"class_name\": "
                       "\"MultiOptimizer\", \"config\": {\"optimizer_map\": {\"class_name\": "
                       "\"OptimizerMap\", \"config\": {\"default_optimizer\": "
                       "{\"class_name\": \"MultiOptimizer\", \"config\": {}}}}}}}}",
      STATUS_INVALID_ARGUMENT, "MultiOptimizer: an object 'MultiOptimizer' inside it" },
    { "an optimizer of Keras 2, which is not done",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"optimizer\": {\"class_name\": \"SGD\", "
                       "\"config\": "
                       "{\"is_legacy_optimizer\": true}}}}",
      STATUS_UNIMPLEMENTED, "'is_legacy_optimizer' is true, which is not implemented" },
    { "no argument of compile",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"losses\": \"mse\"}}",
      STATUS_INVALID_ARGUMENT,
      "compile_config: unknown argument 'losses'; known: those of Keras' compile, such as loss" },
    { "too many weights of the loss",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"loss_weights\": [0.5, 1]}}",
      STATUS_INVALID_ARGUMENT, "compile_config: loss_weights: 2 entries for 1 outputs" },
    { "a metric that is not printed",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"metrics\": {\"y\": [[\"accuracy\", "
                       "\"fame\"]]}}}",
      STATUS_UNIMPLEMENTED,
      "compile_config: metrics: 'fame': 'fame' is not implemented; known: accuracy, " },
    { "a weighted metric as an object",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"compile_config\": {\"weighted_metrics\": [{\"class_name\": "
                       "\"Fame\", \"config\": {}}]}}",
      STATUS_UNIMPLEMENTED, "weighted_metrics: 'Fame': an object 'Fame' is not implemented" },
    { "an unknown setting of ours",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"training_config\": {\"epoch\": 1}}",
      STATUS_INVALID_ARGUMENT, "training_config: unknown argument 'epoch'; known: batch_size, " },
    { "any width of an image",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4, 4]") "]}, \"training_config\": {\"any_width\": true}}",
      STATUS_INVALID_ARGUMENT, "training_config: any_width, but the input '" },
    { "any width that is no truth value",
      "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [" INPUT(
          "[null, 4]") "]}, \"training_config\": {\"any_width\": 1}}",
      STATUS_INVALID_ARGUMENT, "training_config: any_width is 1, expected true or false" },
};

/* A model that calls the model inside it twice, and so on: 2^depth calls of the innermost. */
static void print_doubled(int depth, struct buffer *out)
{
    buffer_printf(out,
                  "{\"name\": \"m%d\", \"class_name\": \"Functional\", \"config\": {\"layers\": [" X
                  ", ",
                  depth);
    if (depth > 0)
        print_doubled(depth - 1, out);
    else
        buffer_printf(out, "%s", FLAT(FROM("x")));
    buffer_printf(out, "]}, \"inbound_nodes\": [" FROM("x") ", [[\"m%d\", 1, 0, {}]]]}", depth);
}

static void check_doubled(int depth, const char *message)
{
    struct arena *arena = arena_create(0);
    struct buffer json = { 0 };
    struct layers_model *model;

    print_doubled(depth, &json);
    struct status status = layers_parse((struct bytes){ json.data, json.size }, arena, &model);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(status.message, message));
    buffer_finish(&json);
    arena_destroy(arena);
}

static void limits_models_inside_models(void **state)
{
    (void)state;
    check_doubled(14, "more than 4000 calls of layers, with those of models inside the model");
    check_doubled(40, "more than 16 models inside each other");
}

static void is_refused_with_its_name(void **state)
{
    const struct row *row = *state;
    struct arena *arena = arena_create(0);
    struct layers_model *model;
    struct status status = layers_parse(bytes_of(row->json), arena, &model);

    if (strstr(status.message, row->message) == NULL)
        fail_msg("'%s' does not say '%s'", status.message, row->message);
    assert_int_equal(status.code, row->code);
    arena_destroy(arena);
}

static struct layers_model *parse(struct arena *arena, const char *json)
{
    struct layers_model *model;
    struct status status = layers_parse(bytes_of(json), arena, &model);

    if (!status_is_ok(status))
        fail_msg("%s", status.message);
    return model;
}

static void layers_without_names_get_those_of_keras(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct layers_model *model = parse(
        arena,
        IMAGE(LAYER("Conv2D", "\"filters\": 1, \"kernel_size\": [2, 2]") ", " LAYER(
            "LeakyReLU",
            "") ", " LAYER("MaxPooling2D",
                           "") ", " LAYER("Flatten",
                                          "") ", " LAYER("Dense",
                                                         "\"units\": 2") ", " LAYER("Dense",
                                                                                    "\"units\": "
                                                                                    "2")));
    const struct layers_options options = { .mode = LAYERS_SERVE };
    struct layers_graph built;

    assert_true(status_is_ok(layers_build(model, &options, arena, &built)));
    assert_int_equal(built.variables_count, 6);
    assert_string_equal(built.variables[0].name, "conv2d/kernel");
    assert_string_equal(built.variables[2].name, "dense/kernel");
    assert_string_equal(built.variables[4].name, "dense_1/kernel");
    graph_finish(built.graph);
    arena_destroy(arena);
}

/* In Keras up to 2.2, the config is the list of layers itself. */
static void a_config_that_is_a_list_is_a_sequence(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct layers_model *model =
        parse(arena, "{\"class_name\": \"Sequential\", \"config\": [" LAYER(
                         "Dense", "\"units\": 3, \"batch_input_shape\": [null, 4]") "]}");

    assert_string_equal(shape_text(&model->inputs[0].shape), "[?,4]");
    assert_string_equal(shape_text(&model->outputs[0].shape), "[?,3]");
    arena_destroy(arena);
}

static void moving_averages_are_updated_by_values(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct layers_model *model = parse(
        arena, SEQUENTIAL(INPUT("[null, 4]") ", " LAYER("BatchNormalization", "\"name\": \"n\"")));
    const struct layers_options options = { .mode = LAYERS_TRAIN };
    struct layers_graph built;

    assert_true(status_is_ok(layers_build(model, &options, arena, &built)));
    assert_int_equal(built.variables_count, 4);
    for (int v = 0; v < 4; v++) {
        bool moving = strstr(built.variables[v].name, "moving") != NULL;
        assert_int_equal(built.variables[v].average.node != NULL, moving);
        assert_int_equal(built.variables[v].gradient.node == NULL, moving);
    }
    graph_finish(built.graph);
    arena_destroy(arena);
}

static void a_constraint_wants_an_axis_of_its_variable(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct layers_model *model;
    struct status status = layers_parse(
        bytes_of(SEQUENTIAL(INPUT("[null, 4]") ", " LAYER(
            "Dense", "\"name\": \"n\", \"units\": 3, \"bias_constraint\": {\"class_name\": "
                     "\"MaxNorm\", \"config\": {\"max_value\": 2, \"axis\": 1}}"))),
        arena, &model);

    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "layer 'n' (Dense): argument 'bias_constraint': axis 1 "
                                           "of a variable of rank 1"));
    arena_destroy(arena);
}

static void a_model_may_branch(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct layers_model *model =
        parse(arena, FUNCTIONAL(TWO_LAYERS, ", \"output_layers\": {\"y\": [\"flat\", 0, 0], "
                                            "\"same\": [\"x\", 0, 0]}"));

    assert_int_equal(model->outputs_count, 2);
    assert_string_equal(model->outputs[0].name, "y");
    assert_string_equal(model->outputs[1].name, "same");
    assert_string_equal(shape_text(&model->outputs[1].shape), "[?,4]");
    const struct layers_options options = { .mode = LAYERS_TRAIN };
    struct layers_graph built;
    assert_string_equal(layers_build(model, &options, arena, &built).message,
                        "model 'model' has 2 outputs and no loss: compile it with a loss for each "
                        "that is trained");
    arena_destroy(arena);
}

/* Without output_layers, the layers that no other layer uses are the outputs. */
static void a_layer_without_followers_is_an_output(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct layers_model *model =
        parse(arena, FUNCTIONAL(X ", " NODE("d", "Dense", "\"name\": \"d\", \"units\": 2",
                                            FROM("x") ", " FROM("flat")) ", " FLAT(FROM("x")),
                                ""));

    assert_int_equal(model->outputs_count, 2);
    assert_string_equal(model->outputs[0].name, "d");
    assert_string_equal(model->outputs[1].name, "d_1");
    arena_destroy(arena);
}

static void an_unknown_argument_that_is_null_is_that_of_a_newer_keras(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);

    parse(arena, DENSE("\"units\": 3, \"thing_of_2030\": null"));
    arena_destroy(arena);
}

static void every_beginning_of_a_description_is_an_error(void **state)
{
    (void)state;
    struct bytes json = layers_builtin("convnet");

    for (size_t size = 0; size + 2 < json.size; size += 7) {
        struct arena *arena = arena_create(0);
        struct layers_model *model;
        assert_int_equal(layers_parse((struct bytes){ json.data, size }, arena, &model).code,
                         STATUS_INVALID_ARGUMENT);
        arena_destroy(arena);
    }
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(layers_without_names_get_those_of_keras),
        cmocka_unit_test(a_config_that_is_a_list_is_a_sequence),
        cmocka_unit_test(an_unknown_argument_that_is_null_is_that_of_a_newer_keras),
        cmocka_unit_test(every_beginning_of_a_description_is_an_error),
        cmocka_unit_test(moving_averages_are_updated_by_values),
        cmocka_unit_test(a_constraint_wants_an_axis_of_its_variable),
        cmocka_unit_test(limits_models_inside_models),
        cmocka_unit_test(a_model_may_branch),
        cmocka_unit_test(a_layer_without_followers_is_an_output),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, is_refused_with_its_name);
    return test_group_run(&group, "parse", NULL, NULL);
}

#include "record_rows.h"

#include "trainer/records/vw.h"
#include "support/test_group.h"

#define L                     \
    {                         \
        "label", COLUMN_FLOAT \
    }
#define I                     \
    {                         \
        "index", COLUMN_INT64 \
    }
#define V                     \
    {                         \
        "value", COLUMN_FLOAT \
    }
#define W                      \
    {                          \
        "weight", COLUMN_FLOAT \
    }

static const struct record_row rows[] = {
    { "labels and values",
      "1 |f price:.23 new\n-1 |f sqft:2.5e1\n0 | a b:-1\n",
      { L, V },
      "[1|0.23,1] [-1|25] [0|1,-1] " },
    { "hashes, as of tf.strings.to_hash_bucket_fast",
      "1 |f price new |price f:2\n",
      { I },
      "[143492,14851,73862] " },
    { "features without names are hashed by their index in the namespace",
      "1 | :2 b :3 |f:2 :1 :1 | :4\n1 | 0:2 b 1:3 |f:2 0 1 | 0:4\n",
      { I },
      "[98879,61718,68577,146524,157038,98879] [98879,61718,68577,146524,157038,98879] " },
    { "values that are words, hashed as their text in Vowpal Wabbit's audit",
      "1 |f:2 color:red price:3 :red color:3x\n1 |f:2 color:red price:3 :red\n1 |f color^red price "
      "^red\n1 | color:red\n1 | color^red\n",
      { I, V },
      "(line 1: 'color': '3x' is not a number) [88176,143492,239798|1,6,1] "
      "[88176,143492,239798|1,1,1] [209900|1] [209900|1] " },
    { "importances, bases and tags",
      "1 0.5 'tag|f a\n-1 2 0.1 |f a\n1 third|f a\n0 'x |f a\n",
      { L, W },
      "[1|0.5] [-1|2] [1|1] [0|1] " },
    { "factors of namespaces", "1 |f:2 a:3 b |g c |h:0.5 d\n", { V }, "[6,2,1,0.5] " },
    { "no label", "|f a:2\n'tag|f a:3\n", { L, V }, "[|2] [|3] " },
    { "no features", "1 |\n0 |f\n", { L, V }, "[1|] [0|] " },
    { "empty lines, tabs, CR LF, and no line end at the end",
      "\n1\t|f a:1\r\n \n0 |f a:2",
      { L, V },
      "[1|1] [0|2] " },
    { "bad: numbers",
      "x |f a\n1 y |f a\n1 1 z |f a\n1 1 1 1 |f a\n1 |f a:-b\n1 |f a:\n1 |f:c a\n1 |f a:1:2\n"
      "1 |f a:b:c\n2 |f a\n",
      { L },
      "(line 1: the label: 'x' is not a number) (line 2: the importance: 'y' is not a number) "
      "(line 3: the base: 'z' is not a number) "
      "(line 4: more than 3 numbers before the first '|') (line 5: 'a': '-b' is not a number) "
      "(line 6: 'a': '' is not a number) (line 7: 'f': 'c' is not a number) "
      "(line 8: 'a': '1:2' is not a number) (line 9: 'a': 'b:c' is not a number) [2] " },
    { "bad: no features at all",
      "1\n2 |f a\n",
      { L },
      "(line 1: no '|' before the features) [2] " },
    { "another column",
      "1 |f a\n",
      { { "qid", COLUMN_INT64 } },
      "!no column 'qid' of this type: there are label, value, weight (floats) and index (int64)" },
};

static void reads_vw(void **state)
{
    assert_record_row(&vw_format, *state, NULL, 0);
}

int main(void)
{
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, reads_vw);
    return test_group_run(&group, "vw", NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "support/status.h"
#include "trainer/options/learning_rate.h"
#include "support/test_group.h"

static const struct call {
    const char *text, *json; /* NULL: it is refused */
} calls[] = {
    { "A(b=1)", "{\"class_name\":\"A\",\"config\":{\"b\":1}}" },
    { " A ( b = 1e-3 , c = -.5 ) ", "{\"class_name\":\"A\",\"config\":{\"b\":0.001,\"c\":-0.5}}" },
    { "A()", "{\"class_name\":\"A\",\"config\":{}}" },
    { "A(b=[1, 2.], c=True, d=False, e=None)",
      "{\"class_name\":\"A\",\"config\":{\"b\":[1,2],\"c\":true,\"d\":false,\"e\":null}}" },
    { "", NULL },
    { "A", NULL },
    { "A(", NULL },
    { "A(b=1", NULL },
    { "A(b=1))", NULL },
    { "A(b=1) c", NULL },
    { "(b=1)", NULL },
    { "A(b=c)", NULL },
    { "A(b=\"c\")", NULL },
    { "A(b={})", NULL },
    { "A(b=inf)", NULL },
    { "A(b=1e999)", NULL },
    { "A(\xff=1)", NULL },
};

static void a_call_becomes_json(void **state)
{
    const struct call *call = *state;
    struct buffer json = { 0 };
    /* on the heap: reading behind its end is found */
    char *text = xstrdup(call->text);

    struct status status = learning_rate_call_to_json(text, &json);
    if (call->json == NULL) {
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(status.message, "is not a call such as CosineDecay("));
    } else {
        assert_ok(status);
        buffer_append_char(&json, '\0');
        assert_string_equal(json.data, call->json);
    }
    buffer_finish(&json);
    free(text);
}

static const double ten[] = { 10 }, tenth[] = { .1 };
static const struct layers_parameter described_parameters[] = {
    { "decay_steps", ten, 1 }, { "initial_learning_rate", tenth, 1 }
};
static const struct layers_training constant = { .learning_rate = .02 },
                                    decaying = { .schedule = { "CosineDecay", described_parameters,
                                                               2 } };

static const struct rate_choice {
    const char *label;
    struct learning_rate_sources sources;
    const char *kind, *error; /* NULL: none */
    double rate;
} rate_choices[] = {
    { "the default", { 0, "", NULL, .5f }, NULL, NULL, .5 },
    { "the model's rate", { 0, "", &constant, .5f }, NULL, NULL, .02 },
    { "the model's schedule", { 0, "", &decaying, .5f }, "CosineDecay", NULL, .1 },
    { "a flag replaces the model's rate", { .3, "", &constant, .5f }, NULL, NULL, .3 },
    { "a flag replaces the model's schedule", { .3, "", &decaying, .5f }, NULL, NULL, .3 },
    { "a schedule begins with the flag's rate",
      { .3, "ExponentialDecay(decay_steps=9, decay_rate=.5)", &decaying, .5f },
      "ExponentialDecay",
      NULL,
      .3 },
    { "a schedule begins with the model's rate",
      { 0, "ExponentialDecay(decay_steps=9, decay_rate=.5)", &constant, .5f },
      "ExponentialDecay",
      NULL,
      .02 },
    { "a schedule has its own first rate",
      { 0, "CosineDecay(.7)", &constant, .5f },
      NULL,
      "--learning_rate_schedule: ",
      0 },
    { "a schedule has its own first rate, by name",
      { 0, "CosineDecay(initial_learning_rate=.7, decay_steps=9)", &constant, .5f },
      "CosineDecay",
      NULL,
      .7 },
    { "a list begins with its first value",
      { 0, "PiecewiseConstantDecay(boundaries=[9], values=[.7, .1])", &constant, .5f },
      "PiecewiseConstantDecay",
      NULL,
      .7 },
    { "two first rates",
      { .3, "CosineDecay(initial_learning_rate=.7, decay_steps=9)", &constant, .5f },
      NULL,
      "--learning_rate=0.3 and the first rate of --learning_rate_schedule=CosineDecay(",
      0 },
    { "a parameter twice",
      { 0, "CosineDecay(decay_steps=9, decay_steps=8)", &constant, .5f },
      NULL,
      "decay_steps",
      0 },
    { "a parameter that is no number",
      { 0, "CosineDecay(decay_steps=[[9]])", &constant, .5f },
      NULL,
      "decay_steps is a list of 1, expected numbers",
      0 },
    { "a negative first rate",
      { 0, "CosineDecay(initial_learning_rate=-1, decay_steps=9)", &constant, .5f },
      NULL,
      "it begins with a learning rate of -1",
      0 },
    { "an unknown class", { 0, "Cosine(decay_steps=9)", &constant, .5f }, NULL, "none of: ", 0 },
};

static void the_rate_is_chosen(void **state)
{
    const struct rate_choice *choice = *state;
    struct arena *arena = arena_create(0);
    struct schedule schedule;
    float rate;

    struct status status = learning_rate_choose(&choice->sources, arena, &rate, &schedule);
    if (choice->error != NULL) {
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        if (strstr(status.message, choice->error) == NULL)
            fail_msg("'%s' is not in '%s'", choice->error, status.message);
    } else {
        assert_ok(status);
        assert_true(fabs((double)rate - choice->rate) < 1e-7);
        if (choice->kind != NULL)
            assert_string_equal(schedule.kind->name, choice->kind);
        else
            assert_null(schedule.kind);
    }
    arena_destroy(arena);
}

int main(void)
{
    struct test_group group = { 0 };

    ADD_ROWS(&group, calls, text, a_call_becomes_json);
    ADD_ROWS(&group, rate_choices, label, the_rate_is_chosen);
    return test_group_run(&group, "learning_rate", NULL, NULL);
}

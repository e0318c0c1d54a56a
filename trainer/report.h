/*
 * report: what a person reads while a job runs and at its end, on stdout.
 *
 * On a terminal one line that is drawn again and again, with a bar; elsewhere a plain line every
 * tenth of the job, and every half minute. Any thread may call.
 */
#ifndef TRAINER_REPORT_H
#define TRAINER_REPORT_H

#include "trainer/model.h"

struct report {
    struct clock *clock;
    bool quiet, terminal;
    uint64_t steps; /* of the whole job */
    uint32_t rows_per_step;
    uint64_t next_line_step; /* of the plain form */
    uint64_t line_step;      /* of the last line, and when it was printed */
    int64_t line_ns;
    bool line_open; /* the terminal's line is to be ended */
};

void report_init(struct report *report, struct clock *clock, bool quiet, uint64_t steps,
                 uint32_t rows_per_step);

/* Ends the bar's line, if one is open: something else is to be printed. */
void report_break(struct report *report);

/* A line of its own. */
void report_line(struct report *report, const char *line);

/* Draws where the job is, while it runs. */
void report_progress(struct report *report, const struct progress *progress);

/* At its end: "Trained 1000 steps in 0.21 s: 476.2 k samples/s". */
void report_training(struct report *report, const struct progress *progress);
void report_evaluation(const char *what, const struct layers_model *model,
                       const struct evaluation *evaluation);

/* The commands that serve and ask the model that was exported to `directory`. `program`: argv[0].
 */
void report_commands(const char *program, const struct layers_model *model, const char *directory);

#endif

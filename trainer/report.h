/*
 * report: what a person reads while a job runs and at its end, on stdout.
 *
 * On a terminal one line that is drawn again and again, with a bar; elsewhere a plain line every
 * tenth of the job, and every half minute. Elsewhere, and where the job has other tasks, each line
 * begins with the time and the task's name. Any thread may call.
 */
#ifndef TRAINER_REPORT_H
#define TRAINER_REPORT_H

#include "base/log.h"
#include "trainer/model.h"

struct report {
    struct clock *clock;
    bool quiet;     /* only results are printed */
    bool silent;    /* nothing is */
    bool terminal;  /* stdout is one */
    bool headed;    /* lines begin with the time and the task, as those of the log */
    uint64_t steps; /* of the whole job */
    uint32_t rows_per_step;
    uint64_t next_line_step; /* of the plain form */
    uint64_t line_step;      /* of the last line, and when it was printed */
    int64_t line_ns;
    bool line_open; /* the terminal's line is to be ended */
};

/* Above LOG_INFO only results are printed, at LOG_NONE nothing. task: this process is one of
 * several. */
void report_init(struct report *report, struct clock *clock, enum log_level level, bool task,
                 uint64_t steps, uint32_t rows_per_step);

/* "2.3026", "0.01234", "1.234e-05": four digits that matter, at least. Gives `out`. */
#define LOSS_TEXT_MAX 32
const char *report_loss(double loss, char out[LOSS_TEXT_MAX]);

/* Ends the bar's line, if one is open: something else is to be printed. */
void report_break(struct report *report);

/* A line of its own about what happens. */
void report_line(struct report *report, const char *format, ...) PRINTF_LIKE(2, 3);

/* A line about what came of the job, also where progress is not wanted. */
void report_result(struct report *report, const char *format, ...) PRINTF_LIKE(2, 3);

/* Draws where the job is, while it runs. */
void report_progress(struct report *report, const struct progress *progress);

/* At its end: "Trained 1000 steps in 0.21 s: 476.2 k samples/s". */
void report_training(struct report *report, const struct progress *progress);
void report_evaluation(struct report *report, const char *what, const struct layers_model *model,
                       const struct evaluation *evaluation);

/* The commands that serve and ask the model that was exported to `directory`. `program`: argv[0].
 */
void report_commands(const struct report *report, const char *program,
                     const struct layers_model *model, const char *directory);

#endif

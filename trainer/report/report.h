/*
 * report: prints a job's progress and results on stdout, for people.
 *
 * On a terminal, progress is one line with a bar that is redrawn. Elsewhere it is a plain line
 * every tenth of the job, and at least every 30 s. Each line begins with the time and the task's
 * name if stdout is not a terminal, or if the job has other tasks. Any thread may call.
 */
#ifndef TRAINER_REPORT_REPORT_H
#define TRAINER_REPORT_REPORT_H

#include "base/log.h"
#include "layers/layers.h"
#include "trainer/model/model.h"
#include "trainer/report/loss_plot.h"

struct report {
    struct clock *clock;
    bool quiet;     /* prints only results */
    bool silent;    /* nothing is printed */
    bool terminal;  /* stdout is a terminal */
    bool headed;    /* lines begin with the time and the task, as in the log */
    uint64_t steps; /* of the whole job */
    uint32_t rows_per_step;
    uint64_t next_line_step; /* of the plain form */
    uint64_t line_step;      /* of the last line; line_ns: when it was printed */
    int64_t line_ns;
    bool line_open; /* the terminal's line needs its newline */
};

/* Above LOG_INFO prints only results; at LOG_NONE, nothing. task: this process is one of
 * several. */
void report_init(struct report *report, struct clock *clock, enum log_level level, bool task,
                 uint64_t steps, uint32_t rows_per_step);

/* "2.3026", "0.01234", "1.234e-05": at least four significant digits; "unknown" for NaN. */
#define LOSS_TEXT_MAX 32
const char *report_loss(double loss, char out[LOSS_TEXT_MAX]);

/* Ends the bar's line, if one is open, before other output. */
void report_break(struct report *report);

/* Prints a line about an event. */
void report_line(struct report *report, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prints a line about a result, even if progress is not printed. */
void report_result(struct report *report, const char *format, ...) PRINTF_LIKE(2, 3);

/* Draws the progress of a running job. */
void report_progress(struct report *report, const struct progress *progress);

/* At the end, prints "Trained 1000 steps in 0.21 s: 476.2 k rows/s". */
void report_training(struct report *report, const struct progress *progress);
/* Draws the loss by step, if stdout is a terminal that is wide enough. */
void report_plot(struct report *report, const struct loss_plot *plot);
void report_evaluation(struct report *report, const char *what, const struct training_graph *graph,
                       const struct evaluation *evaluation);

#endif

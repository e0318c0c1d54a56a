#include "trainer/report/report.h"

#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/plural.h"

#define BAR_WIDTH     30
#define BAR_WIDTH_MIN 8
#define LINES         10u
#define LINE_NS       (30 * (int64_t)NS_PER_S)

/* The chief's thread prints events while the main thread draws progress. */
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

void report_init(struct report *report, struct clock *clock, enum log_level level, bool task,
                 uint64_t steps, uint32_t rows_per_step)
{
    bool terminal = isatty(STDOUT_FILENO) == 1;

    *report = (struct report){ .clock = clock,
                               .quiet = level > LOG_INFO,
                               .silent = level >= LOG_NONE,
                               .terminal = terminal,
                               .headed = task || !terminal,
                               .steps = steps,
                               .rows_per_step = rows_per_step,
                               .next_line_step = 1 };
}

const char *report_loss(double loss, char out[LOSS_TEXT_MAX])
{
    if (isnan(loss))
        return "unknown";
    double size = fabs(loss);
    snprintf(out, LOSS_TEXT_MAX,
             size >= 1e7               ? "%.7g"
             : size >= .1 || size == 0 ? "%.4f"
                                       : "%#.4g",
             loss);
    return out;
}

/* "476.2 k": at least three digits. */
static void print_rate(char *out, size_t size, double rate)
{
    const char *unit = rate >= 1e6 ? " M" : rate >= 1e3 ? " k" : "";
    snprintf(out, size, "%.*f%s", rate >= 1e6 ? 2 : 1,
             rate / (rate >= 1e6   ? 1e6
                     : rate >= 1e3 ? 1e3
                                   : 1),
             unit);
}

static double seconds_so_far(const struct report *report, const struct progress *progress)
{
    int64_t began = atomic_load(&progress->began_ns), ended = atomic_load(&progress->ended_ns);

    if (began == 0)
        return 0;
    return (double)((ended != 0 ? ended : clock_now_ns(report->clock)) - began) / 1e9;
}

static double rows_per_second(const struct report *report, const struct progress *progress)
{
    double seconds = seconds_so_far(report, progress);
    uint64_t steps = atomic_load(&progress->global_step) - atomic_load(&progress->first_step);

    return seconds > 0 ? (double)steps * report->rows_per_step / seconds : 0;
}

/* "93 s", "12 min", "2 h 37 min". */
static void print_duration(char *out, size_t size, double seconds)
{
    double minutes = ceil(seconds / 60);

    if (seconds < 120)
        snprintf(out, size, "%.0f s", ceil(seconds));
    else if (minutes < 120)
        snprintf(out, size, "%.0f min", minutes);
    else
        snprintf(out, size, "%.0f h %.0f min", floor(minutes / 60), fmod(minutes, 60));
}

/* "0.41", or "0.41 (step 905)" if the loss was known when the line before was printed: other
 * workers have made all steps since then. */
static void print_loss(char *out, size_t size, const struct report *report,
                       const struct progress *progress, uint64_t shown)
{
    uint64_t step = atomic_load(&progress->loss_step);
    bool is_old = step > 0 && step < shown && step <= report->line_step;
    char loss[LOSS_TEXT_MAX];

    snprintf(out, size, "%s", report_loss(atomic_load(&progress->loss), loss));
    if (is_old)
        snprintf(out + strlen(out), size - strlen(out), " (step %llu)", (unsigned long long)step);
}

/* "step 10/100  loss 0.5  1.2 k rows/s  ETA 9 s" */
static void print_step(char *out, size_t size, const struct report *report,
                       const struct progress *progress, uint64_t shown, bool last)
{
    double rate = rows_per_second(report, progress);
    char speed[32], left[48];
    bool eta = !last && rate > 0;
    char loss[64];

    print_rate(speed, sizeof speed, rate);
    print_loss(loss, sizeof loss, report, progress, shown);
    if (eta)
        print_duration(left, sizeof left,
                       (double)(report->steps - shown) * report->rows_per_step / rate);
    snprintf(out, size, "step %llu/%llu  loss %s  %s rows/s%s%s", (unsigned long long)shown,
             (unsigned long long)report->steps, loss, speed, eta ? "  ETA " : "", eta ? left : "");
}

static int terminal_columns(void)
{
    struct winsize window;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
}

/* The bar gets the columns that the text leaves: redrawing a line longer than the terminal would
 * leave its beginning behind. */
static void draw_line(const struct report *report, uint64_t shown, const char *text)
{
    int columns = terminal_columns() - 1, width = columns - (int)strlen(text) - 3;
    char bar[BAR_WIDTH + 1];

    width = width < BAR_WIDTH ? width : BAR_WIDTH;
    if (width < BAR_WIDTH_MIN) {
        printf("\r%.*s\033[K", columns, text);
        return;
    }
    memset(bar, '.', sizeof bar);
    memset(bar, '#', report->steps > 0 ? shown * (uint64_t)width / report->steps : (uint64_t)width);
    printf("\r[%.*s] %s\033[K", width, bar, text);
}

/* Is a plain line due: each tenth of the job, or every 30 s? */
static bool is_line_due(const struct report *report, uint64_t shown, int64_t now_ns, bool last)
{
    if (last)
        return report->next_line_step <= report->steps; /* otherwise it is already printed */
    return shown >= report->next_line_step ||
           (now_ns - report->line_ns >= LINE_NS && shown > report->line_step);
}

/* With the lock. */
static void print_line(const struct report *report, const char *text)
{
    char head[LOG_HEAD_MAX] = "";

    if (report->headed)
        log_head(LOG_INFO, head);
    printf("%s%s\n", head, text);
    fflush(stdout);
}

/* With the lock. */
static void draw(struct report *report, const struct progress *progress, bool last)
{
    uint64_t step = atomic_load(&progress->global_step);
    uint64_t shown = step < report->steps ? step : report->steps;
    int64_t now_ns = clock_now_ns(report->clock);
    char text[192];

    if (!report->terminal && !is_line_due(report, shown, now_ns, last))
        return;
    print_step(text, sizeof text, report, progress, shown, last);
    if (report->terminal)
        draw_line(report, shown, text);
    report->line_open = report->terminal && !last;
    if (!report->terminal)
        print_line(report, text);
    else if (!report->line_open)
        printf("\n");
    fflush(stdout);
    report->line_ns = now_ns;
    report->line_step = shown;
    report->next_line_step = (shown * LINES / report->steps + 1) * report->steps / LINES;
    if (shown == report->steps)
        report->next_line_step = report->steps + 1;
}

void report_progress(struct report *report, const struct progress *progress)
{
    if (report->quiet || atomic_load(&progress->began_ns) == 0)
        return;
    pthread_mutex_lock(&printing);
    if (atomic_load(&progress->ended_ns) == 0)
        draw(report, progress, false);
    pthread_mutex_unlock(&printing);
}

/* With the lock. */
static void end_line(struct report *report)
{
    if (report->line_open)
        printf("\n");
    report->line_open = false;
}

void report_break(struct report *report)
{
    pthread_mutex_lock(&printing);
    end_line(report);
    fflush(stdout);
    pthread_mutex_unlock(&printing);
}

static void print_result(struct report *report, const char *format, va_list arguments)
{
    char line[PATH_MAX + 256];

    vsnprintf(line, sizeof line, format, arguments);
    pthread_mutex_lock(&printing);
    end_line(report);
    print_line(report, line);
    pthread_mutex_unlock(&printing);
}

void report_line(struct report *report, const char *format, ...)
{
    va_list arguments;

    if (report->quiet)
        return;
    va_start(arguments, format);
    print_result(report, format, arguments);
    va_end(arguments);
}

void report_result(struct report *report, const char *format, ...)
{
    va_list arguments;

    if (report->silent)
        return;
    va_start(arguments, format);
    print_result(report, format, arguments);
    va_end(arguments);
}

void report_training(struct report *report, const struct progress *progress)
{
    char speed[32];
    uint64_t steps = atomic_load(&progress->global_step) - atomic_load(&progress->first_step);

    pthread_mutex_lock(&printing);
    if (!report->quiet && atomic_load(&progress->began_ns) != 0)
        draw(report, progress, true);
    pthread_mutex_unlock(&printing);
    print_rate(speed, sizeof speed, rows_per_second(report, progress));
    report_result(report, "Trained %llu step%s in %.2f s: %s rows/s", (unsigned long long)steps,
                  plural((int64_t)steps), seconds_so_far(report, progress), speed);
}

/* Can the terminal show more than ASCII? Queries the locale without changing the program's. */
static bool is_utf8(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);

    if (locale == (locale_t)0)
        return false;
    bool utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return utf8;
}

void report_plot(struct report *report, const struct loss_plot *plot)
{
    struct buffer text = { 0 };

    if (report->quiet || !report->terminal)
        return;
    loss_plot_draw(plot, terminal_columns(), is_utf8(), &text);
    pthread_mutex_lock(&printing);
    end_line(report);
    printf("%.*s", (int)text.size, text.data != NULL ? text.data : "");
    fflush(stdout);
    pthread_mutex_unlock(&printing);
    buffer_finish(&text);
}

void report_evaluation(struct report *report, const char *what, const struct training_graph *graph,
                       const struct evaluation *evaluation)
{
    struct buffer text = { 0 };
    char loss[LOSS_TEXT_MAX];

    buffer_printf(&text, "%s %s", graph->loss_name, report_loss(evaluation->loss, loss));
    for (int m = 0; m < graph->metrics_count; m++)
        buffer_printf(&text, ", %s %.4f", graph->metrics[m].name, evaluation->metrics[m]);
    report_result(report, "%s: %.*s", what, (int)text.size, text.data);
    buffer_finish(&text);
}

#include "clients/replay.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/container.h"
#include "base/plural.h"
#include "base/text_print.h"
#include "clients/client_type.h"
#include "clients/connections.h"
#include "clients/interrupt.h"
#include "clients/log_request.h"
#include "rpc/remote.h"

#define DRAW_NS (100 * (int64_t)NS_PER_MS) /* between two drawings of the bar */
#define BAR     40

struct replay_slot;

/* Everything runs in the loop's thread. */
struct replay {
    const struct replay_options *options;
    struct replay_result *result;
    struct buffer *out;
    struct tfrecord_reader *reader;
    uint64_t file_bytes;
    struct server_connections connections;
    struct replay_slot *slots, *idle;
    struct loop_task pump; /* sends what is due */
    struct loop_timer due;
    bool pumps, ended; /* ended: no request follows */
    int in_flight;
    int64_t records, sent, shown, begin_ns, drawn_ns;
    int64_t times_max;
    struct arena *arena;    /* of one comparison */
    struct arena *failures; /* the text of `status` */
    struct status status;   /* why the replay cannot continue */
};

/* One request in flight. */
struct replay_slot {
    struct replay *replay;
    struct channel *channel;
    struct buffer request, expected; /* kept for the next one */
    bool has_expected;
    enum prediction_kind kind;
    int64_t record, due_ns;
    struct replay_slot *next;
};

static int64_t now_ns(void)
{
    return clock_now_ns(clock_monotonic());
}

static void stop(struct replay *replay, struct status status)
{
    replay->ended = true;
    if (status_is_ok(replay->status))
        replay->status = status_keep(replay->failures, status);
}

/* ---- progress ---- */

static void draw(struct replay *replay, bool last)
{
    const struct replay_result *result = replay->result;
    int64_t now = now_ns();
    if (!replay->options->draws || (!last && now - replay->drawn_ns < DRAW_NS))
        return;
    replay->drawn_ns = now;
    if (last) {
        fprintf(stderr, "\r%*s\r", BAR + 60, "");
        return;
    }
    uint64_t at = tfrecord_reader_offset(replay->reader); /* beyond the end if it is compressed */
    double part = at < replay->file_bytes ? (double)at / (double)replay->file_bytes : 1;
    int full = (int)(part * BAR);
    fprintf(stderr, "\r[%.*s%*s] %3.0f %%  %lld answers, %lld different, %lld refused", full,
            "########################################", BAR - full, "", part * 100,
            (long long)result->load.count, (long long)result->different,
            (long long)result->refused);
    fflush(stderr);
}

/* ---- answers ---- */

static void show(struct replay *replay, const struct replay_slot *slot, struct bytes text)
{
    if (replay->shown++ < replay->options->shown_max)
        buffer_printf(replay->out, "record %lld: %.*s\n", (long long)slot->record, (int)text.size,
                      text.data);
}

static void compare(struct replay *replay, const struct replay_slot *slot, struct bytes got)
{
    struct bytes expected = { slot->expected.data, slot->expected.size };
    struct buffer text = { 0 };
    bool different;
    arena_reset(replay->arena);
    struct status status = compare_answers(slot->kind, expected, got, &replay->options->tolerance,
                                           replay->arena, &different, &text);
    if (!status_is_ok(status)) {
        different = true;
        buffer_append_text(&text, status.message);
    }
    if (different) {
        replay->result->different++;
        show(replay, slot, (struct bytes){ text.data, text.size });
    } else {
        replay->result->equal++;
    }
    buffer_finish(&text);
}

static void note_time(struct replay *replay, const struct replay_slot *slot)
{
    struct load_result *load = &replay->result->load;
    if (load->count == replay->times_max) {
        replay->times_max = replay->times_max > 0 ? 2 * replay->times_max : 1024;
        load->times_ns =
            xrealloc(load->times_ns, (size_t)replay->times_max * sizeof *load->times_ns);
    }
    load->times_ns[load->count++] = now_ns() - slot->due_ns;
}

static void note_refusal(struct replay *replay, const struct replay_slot *slot,
                         struct status status)
{
    struct remote_state state;
    struct buffer text = { 0 };
    remote_state(slot->channel, &state);
    if (!state.connected) { /* the other requests would fail as well */
        stop(replay, status);
        return;
    }
    replay->result->refused++;
    buffer_printf(&text, "%s: ", status_code_name(status.code));
    text_print_visible(&text, bytes_of(status.message));
    show(replay, slot, (struct bytes){ text.data, text.size });
    buffer_finish(&text);
}

/* The next requests are sent from the loop rather than from here, because a call may fail while
 * it begins. */
static void wake_pump(struct replay *replay)
{
    if (replay->pumps)
        return;
    replay->pumps = true;
    loop_post(shared_loop_of(replay->connections.loop), &replay->pump);
}

static void on_reply(void *context, struct status status, struct message *reply)
{
    struct replay_slot *slot = context;
    struct replay *replay = slot->replay;
    replay->in_flight--;
    if (!status_is_ok(status)) {
        note_refusal(replay, slot, status);
    } else {
        note_time(replay, slot);
        if (slot->has_expected)
            compare(replay, slot, reply->header);
        else
            replay->result->unanswered++;
    }
    slot->next = replay->idle;
    replay->idle = slot;
    draw(replay, false);
    wake_pump(replay);
}

/* ---- requests ---- */

/* Reads the next record that has a request. */
static struct status read_request(struct replay *replay, struct replay_slot *slot, bool *found)
{
    struct bytes bytes;
    struct prediction_log record;
    for (;;) {
        TRY(tfrecord_reader_next(replay->reader, &bytes, found));
        if (!*found)
            return status_ok();
        slot->record = ++replay->records;
        if (!prediction_log_read(bytes, &record))
            return status_error(STATUS_DATA_LOSS, "record %lld is no PredictionLog",
                                (long long)slot->record);
        if (log_request_path(record.kind) != NULL)
            break;
        replay->result->skipped++;
    }
    slot->kind = record.kind;
    slot->has_expected = record.has_response;
    slot->request.size = slot->expected.size = 0;
    log_request_put(&record, replay->options->target, &slot->request);
    buffer_append(&slot->expected, record.response.data, record.response.size);
    return status_ok();
}

/* The time at which the next request is due. */
static int64_t due_ns(const struct replay *replay)
{
    double rate = replay->options->rate;
    return rate > 0 ? replay->begin_ns + (int64_t)((double)replay->sent * 1e9 / rate) : 0;
}

static void send_request(struct replay *replay, struct replay_slot *slot)
{
    const struct load_options *load = replay->options->load;
    struct message request = { .header = { slot->request.data, slot->request.size } };
    int64_t due = due_ns(replay), now = now_ns();
    slot->due_ns = due > 0 ? due : now;
    replay->in_flight++;
    replay->sent++;
    client_call_release(channel_start(slot->channel, log_request_path(slot->kind), &request,
                                      now + load->timeout_ms * (int64_t)NS_PER_MS, on_reply, slot));
}

static bool is_enough(const struct replay *replay)
{
    int64_t count = replay->options->load->count;
    return replay->ended || interrupt_came() || (count > 0 && replay->sent >= count);
}

static void send_due(struct replay *replay)
{
    bool found = true;
    while (replay->idle != NULL && !is_enough(replay)) {
        int64_t due = due_ns(replay);
        if (due > now_ns()) {
            loop_set_timer(shared_loop_of(replay->connections.loop), &replay->due, due);
            return;
        }
        struct replay_slot *slot = replay->idle;
        struct status status = read_request(replay, slot, &found);
        if (!status_is_ok(status) || !found) {
            stop(replay, status);
            return;
        }
        replay->idle = slot->next;
        send_request(replay, slot);
    }
}

static void pump(struct loop_task *task)
{
    struct replay *replay = CONTAINER_OF(task, struct replay, pump);
    replay->pumps = false;
    send_due(replay);
}

static void on_due(void *context)
{
    send_due(context);
}

static bool is_over(void *context)
{
    const struct replay *replay = context;
    return replay->in_flight == 0 && !replay->pumps && is_enough(replay);
}

static void run_slots(struct replay *replay)
{
    const struct load_options *load = replay->options->load;
    replay->slots = zalloc((size_t)load->concurrency * sizeof *replay->slots);
    for (int i = 0; i < load->concurrency; i++) {
        struct replay_slot *slot = &replay->slots[i];
        slot->replay = replay;
        slot->channel = replay->connections.channels[i % load->connections];
        slot->next = replay->idle;
        replay->idle = slot;
    }
    replay->pump.work = pump;
    replay->due = (struct loop_timer){ .expired = on_due, .context = replay };
    replay->begin_ns = now_ns();
    wake_pump(replay);
    shared_loop_run(replay->connections.loop, is_over, replay);
    replay->result->load.took_ns = now_ns() - replay->begin_ns;
    for (int i = 0; i < load->concurrency; i++) {
        buffer_finish(&replay->slots[i].request);
        buffer_finish(&replay->slots[i].expected);
    }
    free(replay->slots);
}

/* ---- the whole ---- */

static struct status connect_and_run(struct replay *replay, const char *server)
{
    const struct load_options *load = replay->options->load;
    struct status status = connections_open(server, load, &replay->connections);
    if (status_is_ok(status)) {
        run_slots(replay);
        draw(replay, true);
        status = replay->status;
    }
    connections_close(&replay->connections);
    return status;
}

struct status replay_run(struct tfrecord_reader *reader, const char *server,
                         const struct replay_options *options, struct buffer *out,
                         struct replay_result *result)
{
    struct replay replay = {
        .options = options,
        .result = result,
        .out = out,
        .reader = reader,
        .file_bytes = tfrecord_reader_file_bytes(reader),
    };
    *result = (struct replay_result){ 0 };
    interrupt_watch();
    replay.arena = arena_create(0);
    replay.failures = arena_create(0);
    struct status status = connect_and_run(&replay, server);
    if (!status_is_ok(status)) { /* copies the text, which lies in an arena */
        status = status_error(status.code, "%s", status.message);
        free(result->load.times_ns);
        result->load = (struct load_result){ 0 };
    }
    load_sort(&result->load);
    arena_destroy(replay.arena);
    arena_destroy(replay.failures);
    return status;
}

void replay_print(const struct replay_result *result, int concurrency, struct buffer *out)
{
    int64_t requests = result->load.count + result->refused;
    buffer_printf(out, "%lld request%s: %lld equal, %lld different, %lld refused",
                  (long long)requests, plural(requests), (long long)result->equal,
                  (long long)result->different, (long long)result->refused);
    if (result->unanswered > 0)
        buffer_printf(out, ", %lld without an answer in the log", (long long)result->unanswered);
    if (result->skipped > 0)
        buffer_printf(out, "; %lld record%s without a request that can be sent",
                      (long long)result->skipped, plural(result->skipped));
    buffer_append_char(out, '\n');
    load_print(&result->load, concurrency, out);
}

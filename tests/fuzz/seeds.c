/*
 * Runs a fuzz target on the seeds FIRST … FIRST + COUNT - 1 in a child process. If a seed kills the
 * child, the parent prints the seed and its graph, and a new child goes on with the next seed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

#define FAILURES_MAX 20

static void bytes_of_seed(uint64_t seed, uint8_t *bytes)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(seed >> 8 * i);
}

struct seeds {
    volatile uint64_t at; /* shared with the child */
    uint64_t end;
};

static void run_seeds(struct seeds *seeds)
{
    uint8_t bytes[8];
    for (; seeds->at < seeds->end; seeds->at++) {
        bytes_of_seed(seeds->at, bytes);
        LLVMFuzzerTestOneInput(bytes, sizeof bytes);
    }
    fuzz_report();
}

static void print_seed(struct seeds *seeds)
{
    uint8_t bytes[8];
    bytes_of_seed(seeds->at, bytes);
    fuzz_print(bytes, sizeof bytes);
}

/* Returns the child's wait status, as waitpid does. */
static int in_child(void (*work)(struct seeds *seeds), struct seeds *seeds)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        work(seeds);
        fflush(stdout);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    return status;
}

/* Runs seeds until one fails, and prints that one. Returns 1 if none failed. */
static int run_more(struct seeds *seeds)
{
    int status = in_child(run_seeds, seeds);
    if (status == 0)
        return 1;
    printf("seed %llu ends with %s %d:\n", (unsigned long long)seeds->at,
           WIFSIGNALED(status) ? "signal" : "status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    in_child(print_seed, seeds);
    seeds->at++;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s FIRST COUNT\n", argv[0]);
        return 2;
    }
    struct seeds *seeds =
        mmap(NULL, sizeof *seeds, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seeds == MAP_FAILED)
        abort();
    seeds->at = strtoull(argv[1], NULL, 10);
    seeds->end = seeds->at + strtoull(argv[2], NULL, 10);
    int failures = 0;
    while (failures < FAILURES_MAX && !run_more(seeds))
        failures++;
    printf("%d seeds failed\n", failures);
    return failures > 0;
}

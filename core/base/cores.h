/*
 * cores: the number of processors that this process may use.
 */
#ifndef BASE_CORES_H
#define BASE_CORES_H

/* The processors that the scheduler lets the process use (taskset, cpusets), or fewer if the quota
 * of its control group is smaller; a quota of 1.5 processors counts as 2. At least 1. Read once.
 * Threads: safe. */
int cores_available(void);

/* The quota of a control group, whose files are in `directory` (cpu.max of version 2,
 * cpu.cfs_quota_us of version 1), rounded up; 0: no quota. */
int cores_of_group(const char *directory);

#endif

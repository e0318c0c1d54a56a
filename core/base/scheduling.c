#include "base/scheduling.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RESET_ON_FORK 1

/* The kernel's struct sched_attr, which only some C libraries declare. */
struct thread_attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period; /* runtime: the slice, if the policy is SCHED_OTHER */
};

void scheduling_ask_for_slice(int64_t slice_ns)
{
    struct thread_attributes attributes = { 0 };
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
        attributes.policy != SCHED_OTHER)
        return;
    attributes.size = sizeof attributes;
    attributes.flags |= RESET_ON_FORK;
    attributes.runtime = (uint64_t)slice_ns;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void scheduling_lower_priority(int nice)
{
    id_t thread = (id_t)syscall(SYS_gettid);
    if (getpriority(PRIO_PROCESS, thread) < nice)
        setpriority(PRIO_PROCESS, thread, nice);
}

/*
 * recent_peak: the largest recent value of a number that changes often, such as the calls in
 * flight. It rises at once. Each round takes off a sixteenth of what is above the current value.
 */
#ifndef SERVER_INFERENCE_RECENT_PEAK_H
#define SERVER_INFERENCE_RECENT_PEAK_H

struct recent_peak {
    int most;
};

#define RECENT_PEAK_DECAY 16

static inline void recent_peak_see(struct recent_peak *peak, int now)
{
    if (now > peak->most)
        peak->most = now;
}

/* Once a round: lets the peak decay towards the current value and reaches it. Rounding down would
 * keep it up to 15 above for ever. */
static inline void recent_peak_decay(struct recent_peak *peak, int now)
{
    if (peak->most > now)
        peak->most -= (peak->most - now + RECENT_PEAK_DECAY - 1) / RECENT_PEAK_DECAY;
}

#endif

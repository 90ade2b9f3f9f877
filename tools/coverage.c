/* Which edges of the extensions' machine code an input went through, told to libFuzzer.
 *
 * gcc's -fsanitize-coverage=trace-pc calls the first function at every edge. libFuzzer (inside of
 * atheris) takes counters of a byte each; where an edge has its own is found by its address. The
 * table of addresses that libFuzzer wants beside them is of no use here and holds their numbers.
 */
#include <stdint.h>

#define COUNTERS (1u << 16)

static uint8_t counters[COUNTERS];
static uintptr_t addresses[2 * COUNTERS];

void __sanitizer_cov_trace_pc(void) {
    uint64_t at = (uint64_t) (uintptr_t) __builtin_return_address(0);
    uint8_t *counter = &counters[(at * 0x9E3779B97F4A7C15u) >> 48];
    *counter += *counter < 255;
}

/* What is compared is taken by libFuzzer itself, but for two kinds that only gcc knows. */
void __sanitizer_cov_trace_cmpd(double one, double other) {
    (void) one, (void) other;
}

void __sanitizer_cov_trace_cmpf(float one, float other) {
    (void) one, (void) other;
}

void kcore_tell(void (*take_counters)(uint8_t *, uint8_t *),
                void (*take_addresses)(const uintptr_t *, const uintptr_t *)) {
    for (uintptr_t at = 0; at < COUNTERS; at++) {
        addresses[2 * at] = at + 1;
    }
    take_counters(counters, counters + COUNTERS);
    take_addresses(addresses, addresses + 2 * COUNTERS);
}

// Decodes one metasim.event_t from stdin with what lcm-gen made of event_t.lcm, and prints it.
#include "metasim_event_t.h"
#include <inttypes.h>
#include <stdio.h>

int main(void) {
    static uint8_t buf[1 << 16];
    int n = fread(buf, 1, sizeof buf, stdin);
    metasim_event_t e;
    if (metasim_event_t_decode(buf, 0, n, &e) != n)
        return 1;
    printf("%d %s %s %s %" PRId64 " %" PRId64 "+%" PRId64 " %" PRId64 "+%" PRId64 " %d %016" PRIx64 "\n", e.kind, e.sender, e.recipient,
           e.channel, e.sequence, e.sent_time, e.sent_step, e.due_time, e.due_step, e.payload_size, (uint64_t)e.payload_hash);
    metasim_event_t_decode_cleanup(&e);
    return 0;
}

// Prints what it hears: a line for each message with the channel, the size and a sum over the payload. Ends after COUNT.
// listen URL PATTERN COUNT
#include <inttypes.h>
#include <lcm/lcm.h>
#include <stdio.h>
#include <stdlib.h>

static int left;

static void heard(const lcm_recv_buf_t *buf, const char *channel, void *user) {
    uint64_t sum = 14695981039346656037u;  // FNV-1a
    for (uint32_t i = 0; i < buf->data_size; i++)
        sum = (sum ^ ((const uint8_t *)buf->data)[i]) * 1099511628211u;
    printf("%s %u %016" PRIx64 "\n", channel, buf->data_size, sum);
    fflush(stdout);
    left--;
}

int main(int argc, char **argv) {
    lcm_t *lcm = argc == 4 ? lcm_create(argv[1]) : NULL;
    if (!lcm)
        return 2;
    left = atoi(argv[3]);
    lcm_subscription_t *sub = lcm_subscribe(lcm, argv[2], heard, NULL);
    lcm_subscription_set_queue_capacity(sub, 0);
    printf("ready\n");
    fflush(stdout);
    while (left > 0 && lcm_handle(lcm) == 0)
        ;
    lcm_destroy(lcm);
    return left > 0;
}

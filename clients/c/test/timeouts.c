/* timeouts FIFO: a follower whose await returns again and again while the run stands still; after three times it opens the gate. */
#include <metasim_follower.h>

#include "../examples/sha256.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    metasim_client *c = metasim_new(NULL);
    rs_node *n = argc == 2 && c != NULL ? rs_declare(c, NULL) : NULL;
    unsigned long frames = 0, timeouts = 0;
    uint8_t sum[32];
    char text[160];
    sha256 every;
    int i, size;
    if (n == NULL || metasim_join(c) != METASIM_OK || rs_initialise(n) != RS_ERROR_SUCCESS)
        return 1;
    sha256_begin(&every);
    for (;;) {
        rs_frame_data f;
        const void *state;
        uint8_t number[8];
        RS_ERROR e = rs_awaitFrameData(n, 1, &f);
        if (e == RS_ERROR_QUIT)
            break;
        if (e == RS_ERROR_TIMEOUT) {
            if (++timeouts == 3) {
                FILE *gate = fopen(argv[1], "w");
                if (gate == NULL || fclose(gate) != 0 || metasim_step(c, 1) != METASIM_MISTAKE)
                    return 1;
            }
            continue;
        }
        if (e != RS_ERROR_SUCCESS || rs_receiveFollowerData(n, &state, &size) != RS_ERROR_SUCCESS)
            return fprintf(stderr, "timeouts: %s\n", rs_lastError(n)), 1;
        frames++;
        for (i = 0; i < 8; i++)
            number[i] = (uint8_t)(f.frame >> (8 * i));
        sha256_add(&every, number, sizeof number);
        sha256_add(&every, state, (size_t)size);
    }
    sha256_end(&every, sum);
    i = snprintf(text, sizeof text, "{\"frames\":%lu,\"data_hash\":\"", frames);
    for (size = 0; size < 32; size++)
        i += snprintf(text + i, sizeof text - (size_t)i, "%02x", sum[size]);
    snprintf(text + i, sizeof text - (size_t)i, "\",\"timed_out\":%s}", timeouts >= 3 ? "true" : "false");
    i = metasim_result(c, text) != METASIM_OK || metasim_leave(c) != METASIM_OK;
    rs_shutdown(n);
    metasim_free(c);
    return i;
}

/*
 * source OUT PERIOD: publishes a count on OUT each PERIOD nanoseconds, as the built-in model "source". It shows steps: the program
 * decides at which times it acts.
 */
#include <metasim.h>

#include <stdio.h>
#include <stdlib.h>

static metasim_code publish_count(metasim_client *client, const char *channel, uint64_t count)
{
    unsigned char payload[8];
    int i;
    for (i = 0; i < 8; i++)
        payload[i] = (unsigned char)(count >> 8 * i);
    return metasim_publish(client, channel, payload, sizeof payload);
}

int main(int argc, char **argv)
{
    metasim_client *client;
    metasim_code code;
    uint64_t sent = 0;
    int64_t period = argc == 3 ? strtoll(argv[2], NULL, 10) : 0;
    char result[64];
    if (period <= 0)
        return fprintf(stderr, "usage: source OUT PERIOD\n"), 2;
    client = metasim_new(NULL); /* metasim says in the environment where the server is */
    if (client == NULL)
        return fprintf(stderr, "source: no memory\n"), 1;
    code = metasim_publication(client, argv[1]);
    if (code == METASIM_OK)
        code = metasim_join(client);
    while (code == METASIM_OK && metasim_steps(client, period)) /* 0: the run ends */
        code = publish_count(client, argv[1], sent++);
    if (code == METASIM_OK) {
        snprintf(result, sizeof result, "{\"sent\":%llu}", (unsigned long long)sent);
        code = metasim_result(client, result);
        if (code == METASIM_OK)
            code = metasim_leave(client);
    }
    if (code != METASIM_OK)
        fprintf(stderr, "source: %s\n", metasim_error(client));
    metasim_free(client);
    return code != METASIM_OK;
}

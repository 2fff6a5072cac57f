/* leaving HOW: leaves in one of the ways that there are, and has its result asked for then. */
#include <metasim.h>

#include <stdio.h>
#include <string.h>

static int seen;

static metasim_code result(metasim_client *client, const metasim_message *message, void *user)
{
    char text[64];
    const char *how = user;
    if (message != NULL || strcmp(how, "raises") == 0)
        return METASIM_MISTAKE;
    snprintf(text, sizeof text, strcmp(how, "no-json") == 0 ? "{1, 2}" : "{\"seen\":%d}", seen);
    return metasim_result(client, text);
}

int main(int argc, char **argv)
{
    metasim_client *client = metasim_new(NULL);
    int failed;
    if (argc != 2 || client == NULL || metasim_publication(client, "X") != METASIM_OK || metasim_join(client) != METASIM_OK ||
        metasim_result(client, "\"not this\"") != METASIM_OK)
        return 2;
    metasim_on_leave(client, result, argv[1]);
    while (metasim_steps(client, strcmp(argv[1], "period") == 0 ? 0 : 10000000)) {
        if (metasim_now(client).time != seen++ * 10000000LL || metasim_publish(client, "X", "x", 1) != METASIM_OK)
            return 3;
        if (strcmp(argv[1], "inside") == 0 && seen == 3 && metasim_leave(client) != METASIM_OK)
            return 4;
    }
    failed = strcmp(argv[1], "run") == 0 && metasim_run(client) != METASIM_OK;
    failed = metasim_leave(client) != METASIM_OK || failed;
    if (failed)
        fprintf(stderr, "leaving: %s\n", metasim_error(client));
    metasim_free(client);
    return failed;
}

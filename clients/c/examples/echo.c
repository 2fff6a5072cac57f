/*
 * echo IN OUT: publishes on OUT each message that it hears on IN, at the instant at which it hears it, as the built-in model "echo".
 * It shows handlers: metasim_run calls them until the run ends, and asks for the result when it leaves.
 */
#include <metasim.h>

#include <stdio.h>

struct echo {
    const char *out;
    unsigned long echoed;
};

static metasim_code hear(metasim_client *client, const metasim_message *message, void *user)
{
    struct echo *echo = user;
    echo->echoed++;
    return metasim_publish(client, echo->out, message->payload, message->size);
}

static metasim_code leave(metasim_client *client, const metasim_message *message, void *user)
{
    const struct echo *echo = user;
    char result[64];
    (void)message; /* there is none */
    snprintf(result, sizeof result, "{\"echoed\":%lu}", echo->echoed);
    return metasim_result(client, result);
}

int main(int argc, char **argv)
{
    struct echo echo = {NULL, 0};
    metasim_client *client;
    int failed;
    if (argc != 3)
        return fprintf(stderr, "usage: echo IN OUT\n"), 2;
    echo.out = argv[2];
    client = metasim_new(NULL); /* metasim says in the environment where the server is */
    if (client == NULL)
        return fprintf(stderr, "echo: no memory\n"), 1;
    metasim_on_leave(client, leave, &echo);
    failed = metasim_subscription(client, argv[1]) != METASIM_OK || metasim_publication(client, argv[2]) != METASIM_OK || metasim_join(client) != METASIM_OK ||
             metasim_on(client, argv[1], hear, &echo) != METASIM_OK || metasim_run(client) != METASIM_OK;
    if (failed)
        fprintf(stderr, "echo: %s\n", metasim_error(client));
    metasim_free(client);
    return failed;
}

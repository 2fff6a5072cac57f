/*
 * survivor run|step|next DIRECTORY: a simulator whose messages depend on all that it has seen, and on what it has drawn: that of
 * cmd/metasim/testdata/survivor.go.txt. The one that runs holds at 50 and at 100 ms, until the file 50 or 100 is in the directory.
 */
#define _GNU_SOURCE 1
#include <metasim.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char *channel, *directory;
static uint64_t sum, n;

static metasim_code speak(metasim_client *c, const metasim_message *m, void *user)
{
    uint8_t payload[8];
    uint64_t word = sum + metasim_rand_bits(metasim_rand(c, "noise"));
    int i;
    (void)m;
    (void)user;
    for (i = 0; i < 8; i++)
        payload[i] = (uint8_t)(word >> 8 * i);
    return metasim_publish(c, channel, payload, sizeof payload);
}

/* Answers one message of three. */
static metasim_code take(metasim_client *c, const metasim_message *m, void *user)
{
    const uint8_t *payload = m->payload;
    size_t i;
    (void)user;
    sum = sum * 31 + (uint64_t)m->due.time;
    for (i = 0; i < m->size; i++)
        sum = sum * 31 + payload[i];
    return ++n % 3 == 0 ? speak(c, NULL, NULL) : METASIM_OK;
}

static void take_all(metasim_client *c)
{
    const metasim_message *m;
    while ((m = metasim_receive(c)) != NULL)
        take(c, m, NULL);
}

static metasim_code hold(metasim_client *c, const metasim_message *m, void *user)
{
    char file[4096];
    struct stat status;
    struct timespec millisecond = {0, 1000000};
    (void)c;
    (void)m;
    puts("holds");
    fflush(stdout);
    snprintf(file, sizeof file, "%s/%s", directory, (const char *)user);
    while (stat(file, &status) != 0)
        nanosleep(&millisecond, NULL);
    return METASIM_OK;
}

static metasim_code result(metasim_client *c, const metasim_message *m, void *user)
{
    char text[80];
    (void)m;
    (void)user;
    snprintf(text, sizeof text, "{\"n\":%llu,\"sum\":%llu}", (unsigned long long)n, (unsigned long long)sum);
    return metasim_result(c, text);
}

static metasim_code lost(metasim_client *c, const metasim_message *m, void *user)
{
    (void)m;
    (void)user;
    fprintf(stderr, "%s\n", metasim_error(c));
    return METASIM_OK;
}

int main(int argc, char **argv)
{
    static char fifty[] = "50", hundred[] = "100";
    metasim_client *c = metasim_new(NULL);
    char own[64];
    int failed;
    if (argc != 3 || c == NULL)
        return 2;
    snprintf(own, sizeof own, "OUT-%s", metasim_name(c));
    channel = own;
    directory = argv[2];
    metasim_on_leave(c, result, NULL);
    metasim_on_lost(c, lost, NULL);
    if (metasim_publication(c, own) != METASIM_OK || metasim_subscription(c, "OUT-.*|TICK") != METASIM_OK || metasim_join(c) != METASIM_OK)
        return fprintf(stderr, "survivor: %s\n", metasim_error(c)), 1;
    speak(c, NULL, NULL);
    if (strcmp(argv[1], "run") == 0) {
        metasim_on(c, NULL, take, NULL);
        metasim_every(c, 1000000, speak, NULL);
        metasim_after(c, 50000000, hold, fifty);
        metasim_after(c, 100000000, hold, hundred);
        metasim_run(c);
    } else if (strcmp(argv[1], "step") == 0) {
        while (metasim_steps(c, 1000000)) {
            take_all(c);
            speak(c, NULL, NULL);
        }
    } else {
        while (metasim_next(c, metasim_now(c).time + 3000000) == METASIM_OK)
            take_all(c);
    }
    failed = metasim_leave(c) != METASIM_OK;
    if (failed)
        fprintf(stderr, "survivor: %s\n", metasim_error(c));
    metasim_free(c);
    return failed;
}

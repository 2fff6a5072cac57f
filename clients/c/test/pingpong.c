/*
 * pingpong OUT IN ROUNDS: publishes on OUT, and again at each answer on IN, and says how long a round trip takes.
 * pingpong ROUNDS: the same between two processes over a unix socket, with nothing of metasim: what the machine can do.
 * pingpong PATH ROUNDS: the same with this client and, at the socket of that path, a server that does nothing but answer: what the client costs.
 * pingpong PATH ROUNDS PROGRAM ARGUMENT...: the same with another program as the client.
 */
#define _GNU_SOURCE 1

#include <metasim.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void say(long rounds, double wall, double cpu)
{
    printf("%.3f us wall %.3f us cpu\n", (seconds(CLOCK_MONOTONIC) - wall) / (double)rounds * 1e6, (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)rounds * 1e6);
}

static int raw(long rounds)
{
    char message[64] = {0};
    int pair[2];
    pid_t other;
    double wall, cpu;
    long i;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || (other = fork()) < 0)
        return 1;
    if (other == 0) {
        close(pair[0]);
        while (recv(pair[1], message, sizeof message, 0) > 0 && send(pair[1], message, sizeof message, MSG_NOSIGNAL) > 0)
            ;
        _exit(0);
    }
    close(pair[1]);
    wall = seconds(CLOCK_MONOTONIC);
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (i = 0; i < rounds; i++)
        if (send(pair[0], message, sizeof message, MSG_NOSIGNAL) < 0 || recv(pair[0], message, sizeof message, 0) <= 0)
            return 1;
    say(rounds, wall, cpu);
    close(pair[0]);
    waitpid(other, NULL, 0);
    return 0;
}

/* Puts a time into five bytes. */
static void put_time(unsigned char *to, unsigned long time)
{
    int i;
    for (i = 0; i < 5; i++, time >>= 7)
        to[i] = (unsigned char)((time & 127) | (i < 4 ? 128 : 0));
}

/* Joins whoever connects, and answers each frame with a message and the authorization to act on it: docs/protocol.md has the numbers. */
static void answer(int listener)
{
    static const unsigned char joined[] = {19, 0, 0, 0, 10, 2, 26, 0, 10, 6, 34, 4, 10, 2, 24, 1, 10, 5, 114, 3, 18, 1, 's'};
    unsigned char got[4096], reply[4 + 81 + 12] = {93, 0, 0, 0, 10, 79, 98, 77, 34, 1, 'Y', 50, 6, 8, 0, 0, 0, 0, 0, 58, 64};
    static const unsigned char authorize[] = {10, 10, 106, 8, 10, 6, 8};
    unsigned long time = 1UL << 30;
    int socket = accept(listener, NULL, NULL);
    memcpy(reply + 85, authorize, sizeof authorize);
    if (recv(socket, got, sizeof got, 0) <= 0 || send(socket, joined, sizeof joined, MSG_NOSIGNAL) < 0)
        return;
    while (recv(socket, got, sizeof got, 0) > 0) {
        put_time(reply + 14, ++time);
        put_time(reply + 92, time + 1);
        if (send(socket, reply, sizeof reply, MSG_NOSIGNAL) < 0)
            return;
    }
}

static int client(const char *out, const char *in, long rounds, const metasim_options *options)
{
    char message[64] = {0};
    metasim_client *c = metasim_new(options);
    double wall, cpu;
    long answers = 0;
    if (c == NULL || metasim_publication(c, out) || metasim_subscription(c, in) || metasim_join(c))
        return fprintf(stderr, "pingpong: %s\n", c == NULL ? "no memory" : metasim_error(c)), 1;
    wall = seconds(CLOCK_MONOTONIC);
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    while (answers < rounds) {
        if (metasim_publish(c, out, message, sizeof message) || metasim_next(c, METASIM_FOREVER))
            return fprintf(stderr, "pingpong: %s\n", metasim_error(c)), 1;
        while (metasim_receive(c) != NULL)
            answers++;
    }
    say(rounds, wall, cpu);
    if (options == NULL && metasim_leave(c)) /* the server that does nothing does not know how to let somebody leave */
        return 1;
    metasim_free(c);
    return 0;
}

static int become(char **program, const char *url)
{
    if (setenv("METASIM_SERVER", url, 1) == 0 && setenv("METASIM_CLIENT", "a", 1) == 0 && setenv("METASIM_TOKEN", "", 1) == 0)
        execvp(program[0], program);
    perror(program[0]);
    return 1;
}

static int against_nothing(const char *path, long rounds, char **program)
{
    struct sockaddr_un address;
    char url[128];
    metasim_options options = {sizeof options, url, "a", ""};
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), failed;
    pid_t other;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    snprintf(url, sizeof url, "unix://%.100s", path);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(listener, 1) < 0 || (other = fork()) < 0)
        return 1;
    if (other == 0) {
        answer(listener);
        _exit(0);
    }
    if (*program != NULL)
        return become(program, url);
    failed = client("X", "Y", rounds, &options);
    waitpid(other, NULL, 0);
    return failed;
}

int main(int argc, char **argv)
{
    if (argc == 3 || argc > 4)
        return against_nothing(argv[1], atol(argv[2]), argv + 3);
    if (argc == 2)
        return raw(atol(argv[1]));
    return argc == 4 ? client(argv[1], argv[2], atol(argv[3]), NULL) : 2;
}

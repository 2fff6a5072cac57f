/*
 * follower controller|understudy|follower [DIRECTOR]: a node of a cluster, beside the built-in model "render-node" and engines in other languages. It
 * leaves with how many frames it has shown, how many of them it has computed, and the SHA-256 over all of them, which is the same at all nodes.
 */
#include <metasim_follower.h>

#include "sha256.h"

#include <stdio.h>

/* What an engine shows: here, a number. */
static uint8_t world[8];

static void begin_again(void) { memset(world, 0, sizeof world); }

/* Lets time pass in the world. */
static void step(int64_t nanoseconds)
{
    uint64_t age = 0;
    int i;
    for (i = 7; i >= 0; i--)
        age = age << 8 | world[i];
    age += (uint64_t)nanoseconds;
    for (i = 0; i < 8; i++)
        world[i] = (uint8_t)(age >> (8 * i));
}

/* Shows one frame, and adds it to the sum of all. */
static RS_ERROR show(rs_node *n, const rs_frame_data *f, sha256 *all, unsigned long *computed)
{
    const void *state = world;
    int size = sizeof world, controls, sync, i;
    uint8_t number[8], hash[32];
    sha256 one;
    RS_ERROR e = rs_isController(n, &controls);
    if (e == RS_ERROR_SUCCESS)
        e = rs_engineSyncEnabled(n, &sync);
    if (e != RS_ERROR_SUCCESS)
        return e;
    if (f->flags & FRAMEDATA_RESET)
        begin_again();
    if (sync && !controls) {
        e = rs_receiveFollowerData(n, &state, &size);
        if (e == RS_ERROR_SUCCESS && size >= (int)sizeof world) /* another engine's state is longer */
            memcpy(world, state, sizeof world);
    } else {
        step(f->delta_ns);
        *computed += controls != 0;
        if (sync)
            e = rs_sendFollowerData(n, world, sizeof world);
    }
    if (e != RS_ERROR_SUCCESS)
        return e;
    for (i = 0; i < 8; i++)
        number[i] = (uint8_t)(f->frame >> (8 * i));
    sha256_add(all, number, sizeof number);
    sha256_add(all, state, (size_t)size);
    sha256_begin(&one);
    sha256_add(&one, state, (size_t)size);
    sha256_end(&one, hash);
    return rs_sendFrame(n, hash, NULL, 0);
}

/* Shows frames until the director ends it. */
static int run(metasim_client *client, rs_node *n)
{
    unsigned long frames = 0, computed = 0;
    uint8_t sum[32];
    char result[160];
    sha256 all;
    int i;
    sha256_begin(&all);
    for (;;) {
        rs_frame_data f;
        RS_ERROR e = rs_awaitFrameData(n, 5000, &f);
        if (e == RS_ERROR_QUIT)
            break;
        if (e == RS_ERROR_TIMEOUT || e == RS_ERROR_STREAMS_CHANGED)
            continue;
        if (rs_frameIsOver(n)) { /* nobody has sent in it */
            if (e == RS_ERROR_UNSPECIFIED && (f.flags & FRAMEDATA_RESET))
                begin_again();
            continue;
        }
        if (e == RS_ERROR_SUCCESS)
            e = show(n, &f, &all, &computed);
        if (e != RS_ERROR_SUCCESS) {
            fprintf(stderr, "follower: %s: %s\n", rs_errorName(e), rs_lastError(n));
            metasim_fail(client, rs_lastError(n));
            return 1;
        }
        frames++;
    }
    sha256_end(&all, sum);
    i = snprintf(result, sizeof result, "{\"frames\":%lu,\"as_controller\":%lu,\"data_hash\":\"", frames, computed);
    for (size_t byte = 0; byte < sizeof sum; byte++)
        i += snprintf(result + i, sizeof result - (size_t)i, "%02x", sum[byte]);
    snprintf(result + i, sizeof result - (size_t)i, "\"}");
    return metasim_result(client, result) != METASIM_OK || metasim_leave(client) != METASIM_OK;
}

int main(int argc, char **argv)
{
    static const char *const roles[] = {"follower", "understudy", "controller"};
    rs_options o;
    metasim_client *client;
    rs_node *n;
    int role = 0, failed = 1;
    while (argc > 1 && role < 3 && strcmp(argv[1], roles[role]) != 0)
        role++;
    if (argc < 2 || argc > 3 || role == 3)
        return fprintf(stderr, "usage: follower controller|understudy|follower [DIRECTOR]\n"), 2;
    memset(&o, 0, sizeof o);
    o.size = sizeof o;
    o.role = (rs_role)role;
    o.director = argc > 2 ? argv[2] : NULL;
    client = metasim_new(NULL); /* metasim says in the environment where the server is */
    if (client == NULL)
        return fprintf(stderr, "follower: no memory\n"), 1;
    n = rs_declare(client, &o);
    if (n != NULL && metasim_join(client) == METASIM_OK && rs_initialise(n) == RS_ERROR_SUCCESS)
        failed = run(client, n);
    if (failed && metasim_error(client)[0] != '\0')
        fprintf(stderr, "follower: %s\n", metasim_error(client));
    rs_shutdown(n);
    metasim_free(client);
    return failed;
}

/*
 * models MODEL ARGUMENTS: some built-in models again, to take their places in the scenarios that come with metasim:
 *
 *     echo IN OUT    ring IN OUT    sink IN...    controller    phold LPS POPULATION REMOTE MEAN LOOKAHEAD CLIENTS
 */
#include <metasim.h>

#include "phold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Passes on what it hears, and counts it under a name. */
static metasim_code pass_on(metasim_client *c, char **argv, const char *counts)
{
    char text[64];
    unsigned long passed = 0;
    const metasim_message *m;
    if (metasim_subscription(c, argv[2]) || metasim_publication(c, argv[3]) || metasim_join(c))
        return metasim_code_of(c);
    while (metasim_next(c, METASIM_FOREVER) == METASIM_OK)
        while ((m = metasim_receive(c)) != NULL) {
            passed++;
            if (metasim_publish(c, argv[3], m->payload, m->size))
                return metasim_code_of(c);
        }
    snprintf(text, sizeof text, "{\"%s\":%lu}", counts, passed);
    return metasim_code_of(c) != METASIM_END || metasim_result(c, text) ? metasim_code_of(c) : metasim_leave(c);
}

static metasim_code sink(metasim_client *c, char **argv)
{
    char text[64];
    unsigned long received = 0, size = 0;
    const metasim_message *m;
    for (argv += 2; *argv != NULL; argv++)
        if (metasim_subscription(c, *argv))
            return metasim_code_of(c);
    if (metasim_join(c))
        return metasim_code_of(c);
    while (metasim_next(c, METASIM_FOREVER) == METASIM_OK)
        while ((m = metasim_receive(c)) != NULL) {
            received++;
            size += (unsigned long)m->size;
        }
    snprintf(text, sizeof text, "{\"received\":%lu,\"bytes\":%lu}", received, size);
    return metasim_code_of(c) != METASIM_END || metasim_result(c, text) ? metasim_code_of(c) : metasim_leave(c);
}

/* The controller of the cart-pole: the state is a time and four numbers, little-endian as is every processor that this runs on. */
static metasim_code controller(metasim_client *c)
{
    static const double feedback[4] = {4.13551399, 7.75462354, 61.829526, 15.3610756};
    char text[64];
    unsigned long commands = 0;
    int64_t latest = -1;
    double state[4] = {0, 0, 0, 0};
    if (metasim_subscription(c, "CARTPOLE_STATE") || metasim_publication(c, "CARTPOLE_FORCE") || metasim_join(c))
        return metasim_code_of(c);
    while (metasim_steps(c, 10000000)) {
        const metasim_message *m;
        struct {
            int64_t time;
            double force;
        } command;
        while ((m = metasim_receive(c)) != NULL) {
            int64_t time;
            memcpy(&time, m->payload, sizeof time);
            if (time > latest) {
                latest = time;
                memcpy(state, (const char *)m->payload + sizeof time, sizeof state);
            }
        }
        if (latest < 0)
            continue;
        commands++;
        command.time = metasim_now(c).time;
        command.force = feedback[0] * state[0] + feedback[1] * state[1] + feedback[2] * state[2] + feedback[3] * state[3];
        command.force = command.force < -20 ? -20 : command.force > 20 ? 20 : command.force;
        if (metasim_publish(c, "CARTPOLE_FORCE", &command, sizeof command))
            return metasim_code_of(c);
    }
    snprintf(text, sizeof text, "{\"commands\":%lu}", commands);
    return metasim_result(c, text) ? metasim_code_of(c) : metasim_leave(c);
}

/* Executes what is due now. The channel of a client is its name. */
static metasim_code execute(metasim_client *c, phold *p)
{
    char channel[32];
    uint8_t payload[PHOLD_EVENT];
    int64_t now = metasim_now(c).time;
    while (phold_next(p) == now) {
        int owner = phold_execute(p, payload);
        snprintf(channel, sizeof channel, "%.16s-%d", metasim_entry(c), owner);
        if (owner >= 0 && metasim_publish(c, channel, payload, sizeof payload))
            return metasim_code_of(c);
    }
    return METASIM_OK;
}

static metasim_code run_phold(metasim_client *c, char **argv)
{
    char text[96];
    phold *p;
    const metasim_message *m;
    int i, count = atoi(argv[7]);
    for (i = 0; i < count; i++) { /* count is not known before the client has joined, but what it declares is to be */
        snprintf(text, sizeof text, "phold-%d", i);
        if (strcmp(text, metasim_name(c)) == 0 ? metasim_subscription(c, text) : metasim_publication(c, text))
            return metasim_code_of(c);
    }
    if (metasim_join(c))
        return metasim_code_of(c);
    p = phold_new(metasim_seed(c), metasim_index(c), metasim_count(c), (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]), atof(argv[4]), atoll(argv[5]), atoll(argv[6]));
    while (metasim_next(c, phold_next(p)) == METASIM_OK) {
        while ((m = metasim_receive(c)) != NULL)
            if (!phold_schedule(p, m->payload, m->size))
                return METASIM_MISTAKE;
        if (execute(c, p) != METASIM_OK)
            return metasim_code_of(c);
    }
    snprintf(text, sizeof text, "{\"events\":%llu,\"hash\":\"%016llx\"}", (unsigned long long)phold_events(p), (unsigned long long)phold_hash(p));
    phold_free(p);
    return metasim_code_of(c) != METASIM_END || metasim_result(c, text) ? metasim_code_of(c) : metasim_leave(c);
}

int main(int argc, char **argv)
{
    metasim_client *c = metasim_new(NULL);
    const char *model = argc > 1 ? argv[1] : "";
    metasim_code code = METASIM_MISTAKE;
    if (c == NULL)
        return 1;
    if (strcmp(model, "echo") == 0 && argc == 4)
        code = pass_on(c, argv, "echoed");
    else if (strcmp(model, "ring") == 0 && argc == 4)
        code = pass_on(c, argv, "hops");
    else if (strcmp(model, "sink") == 0)
        code = sink(c, argv);
    else if (strcmp(model, "controller") == 0)
        code = controller(c);
    else if (strcmp(model, "phold") == 0 && argc == 8)
        code = run_phold(c, argv);
    if (code != METASIM_OK)
        fprintf(stderr, "models %s: %s\n", model, metasim_error(c));
    metasim_free(c);
    return code != METASIM_OK;
}

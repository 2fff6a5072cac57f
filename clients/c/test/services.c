/*
 * services planner | asker | goer: a client that answers the service PLAN, and two that ask it. clients/services_test.go has the same in Go.
 * services alone: a client that asks itself, makes each mistake, and prints what it is told.
 */
#include <metasim.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MS = 1000000;

/* The result of a client that asks: {"lines": [...]. */
static char lines[8192] = "{\"lines\":[";

static void add(const char *text)
{
    char *to = lines + strlen(lines);
    if (to[-1] != '[')
        *to++ = ',';
    *to++ = '"';
    for (; *text != '\0'; text++) {
        if (*text == '"')
            *to++ = '\\';
        *to++ = *text;
    }
    strcpy(to, "\"");
}

/* Adds what came of a request. */
static void add_answer(metasim_client *c, metasim_code code, const metasim_message *answer)
{
    char text[512];
    long long us = (long long)(metasim_now(c).time / 1000);
    if (answer != NULL)
        snprintf(text, sizeof text, "%lld us: %.*s", us, (int)answer->size, (const char *)answer->payload);
    else
        snprintf(text, sizeof text, "%lld us: %s", us, code == METASIM_LIMIT ? "limit" : metasim_error(c));
    add(text);
}

/* An answer that is given later. */
typedef struct plan {
    metasim_request request;
    char text[128];
} plan;

static metasim_code reply_later(metasim_client *c, const metasim_message *m, void *user)
{
    plan *p = user;
    metasim_code code = metasim_reply(c, p->request, p->text, strlen(p->text));
    (void)m;
    free(p);
    return code;
}

static metasim_code handle(metasim_client *c, metasim_request request, const metasim_message *m, void *user)
{
    char text[128];
    int n = *(const char *)m->payload - '0';
    plan *p;
    (void)user;
    snprintf(text, sizeof text, "%s asked %d at %lld", m->from, n, (long long)(m->sent.time / 1000));
    if (n == 0)
        return metasim_refuse(c, request, "no way");
    if (n == 2)
        return metasim_reply(c, request, text, strlen(text));
    if (n > 2) {
        p = malloc(sizeof *p);
        if (p == NULL)
            return METASIM_NO_MEMORY;
        p->request = request;
        strcpy(p->text, text);
        metasim_after(c, n * MS, reply_later, p);
    }
    return METASIM_OK;
}

static metasim_code planner(metasim_client *c)
{
    if (metasim_answer(c, "PLAN", handle, NULL) || metasim_join(c))
        return metasim_code_of(c);
    return metasim_run(c);
}

static int received(metasim_client *c)
{
    int n = 0;
    while (metasim_receive(c) != NULL)
        n++;
    return n;
}

/* Asks, and waits for each answer; then asks several at once, and looks for their answers after each step. */
static metasim_code asker(metasim_client *c)
{
    static const struct {
        const char *n;
        int64_t limit;
    } asks[] = {{"2", 1000}, {"0", 1000}, {"1", 3}, {"2", 4}, {"5", 4}, {"3", 1000}};
    static const char *const several[] = {"5", "3", "1", "2"};
    metasim_pending open[4];
    const metasim_message *answer;
    metasim_code code;
    char end[32];
    int64_t t;
    int i, left = 4, angles;
    if (metasim_caller(c, "PLAN") || metasim_subscription(c, "ANGLE") || metasim_join(c))
        return metasim_code_of(c);
    for (i = 0; i < 6; i++) {
        code = metasim_call(c, "PLAN", asks[i].n, 1, asks[i].limit * MS, &answer);
        add_answer(c, code, answer);
    }
    for (i = 0; i < 4; i++)
        if (metasim_start(c, "PLAN", several[i], 1, 12 * MS, &open[i]))
            return metasim_code_of(c);
    if (metasim_next(c, METASIM_FOREVER))
        return metasim_code_of(c);
    angles = received(c);
    for (t = metasim_now(c).time + 1; left > 0; t += MS) {
        if (metasim_step(c, t))
            return metasim_code_of(c);
        angles += received(c);
        for (i = 0; i < 4; i++) {
            if (open[i] == 0 || !metasim_done(c, open[i]))
                continue;
            code = metasim_wait(c, open[i], &answer);
            add_answer(c, code, answer);
            open[i] = 0;
            left--;
        }
    }
    snprintf(end, sizeof end, "],\"angles\":%d}", angles);
    if (metasim_result(c, strcat(lines, end)))
        return metasim_code_of(c);
    return metasim_leave(c);
}

static metasim_code answered(metasim_client *c, const metasim_message *answer, void *user)
{
    (void)user;
    add_answer(c, metasim_code_of(c), answer);
    return METASIM_OK;
}

static metasim_code ask(metasim_client *c, const metasim_message *m, void *user)
{
    (void)m;
    (void)user;
    if (metasim_go(c, "PLAN", "2", 1, 1000 * MS, answered, NULL) || metasim_go(c, "PLAN", "1", 1, 5 * MS, answered, NULL) ||
        metasim_go(c, "PLAN", "3", 1, 1000 * MS, answered, NULL) || metasim_go(c, "PLAN", "0", 1, 1000 * MS, answered, NULL))
        return metasim_code_of(c);
    return metasim_go(c, "PLAN", "3", 1, 6 * MS, answered, NULL);
}

static metasim_code tell(metasim_client *c, const metasim_message *m, void *user)
{
    (void)m;
    (void)user;
    return metasim_result(c, strcat(lines, "]}"));
}

static metasim_code goer(metasim_client *c)
{
    if (metasim_caller(c, "PLAN") || metasim_join(c))
        return metasim_code_of(c);
    if (metasim_go(c, "PLAN", "2", 1, 1000 * MS, answered, NULL) == METASIM_MISTAKE)
        add("refused");
    metasim_after(c, 0, ask, NULL);
    metasim_on_leave(c, tell, NULL);
    return metasim_run(c);
}

static metasim_code say(metasim_client *c, metasim_code code)
{
    printf("%d %s\n", (int)code, code == METASIM_OK ? "" : metasim_error(c));
    return code;
}

/* Declares what cannot be, with a client that does not join. */
static void declare_wrongly(void)
{
    metasim_client *c = metasim_new(NULL);
    if (c == NULL)
        exit(2);
    say(c, metasim_caller(c, "a.b"));
    metasim_caller(c, "S");
    say(c, metasim_caller(c, "S"));
    metasim_answer(c, "S", handle, NULL);
    say(c, metasim_answer(c, "S", handle, NULL));
    metasim_free(c);
}

/* Handles requests wrongly: a service does not step, answers once, and says why it fails. */
static metasim_code handle_wrongly(metasim_client *c, metasim_request request, const metasim_message *m, void *user)
{
    metasim_pending mine;
    const metasim_message *answer;
    (void)user;
    if (*(const char *)m->payload == 'f')
        return METASIM_MISTAKE;
    if (*(const char *)m->payload == 's')
        return METASIM_OK;
    say(c, metasim_step(c, METASIM_FOREVER));
    say(c, metasim_start(c, "S", "s", 1, METASIM_FOREVER, &mine));
    say(c, metasim_wait(c, mine, &answer));
    metasim_drop(c, mine);
    say(c, metasim_reply(c, request, m->payload, m->size));
    return say(c, metasim_reply(c, request, "", 0)) == METASIM_MISTAKE ? METASIM_OK : METASIM_PROTOCOL_ERROR;
}

static metasim_code alone(metasim_client *c)
{
    const metasim_message *m, *answer;
    metasim_pending pending;
    declare_wrongly();
    if (metasim_publication(c, "X") || metasim_subscription(c, "X") || metasim_publication(c, "call:S") || metasim_caller(c, "S") || metasim_answer(c, "S", handle_wrongly, NULL) ||
        metasim_join(c))
        return metasim_code_of(c);
    say(c, metasim_caller(c, "T"));
    say(c, metasim_start(c, "T", "", 0, MS, &pending));
    say(c, metasim_start(c, "S", "", 0, 0, &pending));
    say(c, metasim_wait(c, pending, &answer));
    say(c, metasim_reply(c, 1, "", 0));
    if (metasim_publish(c, "X", "first", 5) || metasim_publish(c, "X", "second", 6) || metasim_step(c, 2 * MS) || (m = metasim_receive(c)) == NULL)
        return metasim_code_of(c);
    if (metasim_publish(c, "X", "third", 5) || say(c, metasim_call(c, "S", "1", 1, METASIM_FOREVER, &answer)))
        return metasim_code_of(c);
    printf("%.*s %.*s\n", (int)m->size, (const char *)m->payload, (int)answer->size, (const char *)answer->payload); /* the message is still there, and so is the next one */
    printf("%d ready, ", received(c));
    say(c, metasim_next(c, METASIM_FOREVER)); /* what came meanwhile */
    printf("%d unread\n", received(c));
    say(c, metasim_call(c, "S", "silent", 6, MS, &answer));
    say(c, metasim_call(c, "S", "fails", 5, MS, &answer));
    if (metasim_publish(c, "call:S", "short", 5))
        return metasim_code_of(c);
    say(c, metasim_step(c, metasim_now(c).time + MS));
    say(c, metasim_call(c, "S", "silent", 6, METASIM_FOREVER, &answer));
    return metasim_leave(c);
}

int main(int argc, char **argv)
{
    metasim_client *c = metasim_new(NULL);
    metasim_code code = METASIM_MISTAKE;
    if (c == NULL || argc != 2)
        return 2;
    if (strcmp(argv[1], "planner") == 0)
        code = planner(c);
    else if (strcmp(argv[1], "asker") == 0)
        code = asker(c);
    else if (strcmp(argv[1], "goer") == 0)
        code = goer(c);
    else if (strcmp(argv[1], "alone") == 0)
        code = alone(c);
    if (code != METASIM_OK)
        fprintf(stderr, "services: %s\n", metasim_error(c));
    metasim_free(c);
    return code != METASIM_OK;
}

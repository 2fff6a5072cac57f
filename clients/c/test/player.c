/*
 * player: plays sessions for conformance/drive.py. It reads calls from standard input, a line each, and writes what happens to standard
 * output; "done" after each call. Strings are hexadecimal, "-" is the empty one.
 *
 * It includes the library, because a story may set what a program cannot: the name after the declarations, a timer at a step.
 */
#include "../metasim.c"

#include <regex.h>

enum { MOST = 64, LINE = 1 << 16 };

static metasim_client *client;
static char *subscriptions[MOST];
static size_t subscription_count;

/* What handlers do: the call that belongs to a timer or a subscription. */
static struct {
    char key[256];
    char call[1024];
} reactions[MOST];
static size_t reaction_count;

static struct {
    char name[256];
    metasim_timer timer;
} timers[MOST];
static size_t timer_count;

static bool left; /* metasim_leave was called */

static const char *const codes[] = {"ok",  "mistake", "complete", "protocol", "send-before-promise", "promise-regress", "time-regress",
                                    "end", "left",    "refused",  "lost",     "no-memory"};

static void perform(char *line);

static void fails(metasim_code code)
{
    if (code != METASIM_OK)
        printf("error %s\n", codes[code]);
}

/* Makes text of hexadecimal. The caller frees it. */
static char *text_of(const char *hex, size_t *size)
{
    char *text = calloc(1, strlen(hex) + 1);
    size_t i, n = hex[0] == '-' ? 0 : strlen(hex) / 2;
    for (i = 0; i < n; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        text[i] = (char)byte;
    }
    *size = n;
    return text;
}

static void print_hex(const void *data, size_t size)
{
    const uint8_t *b = data;
    size_t i;
    printf(size == 0 ? " -" : " ");
    for (i = 0; i < size; i++)
        printf("%02x", b[i]);
}

static void print_message(const metasim_message *m)
{
    printf("message");
    print_hex(m->channel, strlen(m->channel));
    print_hex(m->from, strlen(m->from));
    printf(" %llu %lld %lu %lld %lu", (unsigned long long)m->seq, (long long)m->sent.time, (unsigned long)m->sent.step, (long long)m->due.time, (unsigned long)m->due.step);
    print_hex(m->payload, m->size);
    printf("\n");
}

static void react(const char *key)
{
    size_t i;
    for (i = 0; i < reaction_count; i++) {
        char call[1024];
        if (strcmp(reactions[i].key, key) != 0)
            continue;
        strcpy(call, reactions[i].call);
        perform(call);
    }
}

static bool matches(const char *pattern, const char *channel)
{
    char whole[2 * MAX_NAME];
    regex_t compiled;
    bool matched;
    if (strcmp(pattern, channel) == 0)
        return true;
    snprintf(whole, sizeof whole, "^(%s)$", pattern);
    if (regcomp(&compiled, whole, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    matched = regexec(&compiled, channel, 0, NULL, 0) == 0;
    regfree(&compiled);
    return matched;
}

static metasim_code on_message(metasim_client *c, const metasim_message *m, void *user)
{
    size_t i;
    (void)c;
    (void)user;
    print_message(m);
    for (i = 0; i < subscription_count; i++)
        if (matches(subscriptions[i], m->channel)) {
            char key[256] = "c";
            strncat(key, subscriptions[i], 200);
            react(key);
        }
    return METASIM_OK;
}

static metasim_code on_timer(metasim_client *c, const metasim_message *m, void *user)
{
    char key[256] = "t";
    metasim_instant now = metasim_now(c);
    (void)m;
    printf("timer");
    print_hex(user, strlen(user));
    printf(" %lld %lu\n", (long long)now.time, (unsigned long)now.step);
    strncat(key, user, 200);
    react(key);
    return METASIM_OK;
}

static void arrive(metasim_code code)
{
    metasim_instant now = metasim_now(client);
    const metasim_message *m;
    fails(code);
    if (code == METASIM_OK)
        printf("arrived %lld %lu\n", (long long)now.time, (unsigned long)now.step);
    while ((m = metasim_receive(client)) != NULL)
        print_message(m);
}

static void declare_call(const char *call, char *text)
{
    if (strcmp(call, "publication") == 0) {
        fails(metasim_publication(client, text));
    } else if (metasim_subscription(client, text) == METASIM_OK) {
        subscriptions[subscription_count++] = copy_text(text, strlen(text));
    } else {
        fails(metasim_code_of(client));
    }
}

static void join(const char *name, size_t pad, const char *token)
{
    size_t size = strlen(name);
    char *whole = malloc(size + pad + 1);
    metasim_code code;
    memcpy(whole, name, size);
    memset(whole + size, 'x', pad);
    whole[size + pad] = '\0';
    if (!client->joined) { /* a second join is refused, and changes nothing */
        free(client->name);
        client->name = whole;
        free(client->token);
        client->token = copy_text(token, strlen(token));
    } else {
        free(whole);
    }
    code = metasim_join(client);
    fails(code);
    if (code == METASIM_OK)
        printf("joined %lld %lu %d\n", (long long)client->until.time, (unsigned long)client->until.step, client->timed > 0);
}

static void set_named(const char *call, const char *name, int64_t value, uint32_t step)
{
    metasim_timer t = 0;
    char *user = copy_text(name, strlen(name));
    metasim_instant when = at(value);
    when.step = step;
    if (strcmp(call, "at") == 0 && step > 0)
        t = set_timer(client, when, 0, on_timer, user);
    else if (strcmp(call, "at") == 0)
        t = metasim_at(client, value, on_timer, user);
    else if (strcmp(call, "after") == 0)
        t = metasim_after(client, value, on_timer, user);
    else
        t = metasim_every(client, value, on_timer, user);
    strncpy(timers[timer_count].name, name, sizeof timers[0].name - 1);
    timers[timer_count++].timer = t;
}

/* Draws so many numbers, and one below 1, which it shows times 2^53. */
static void draw(const char *name, size_t count)
{
    metasim_random *r = metasim_rand(client, name);
    uint8_t *drawn = malloc(8 * (count + 1)), *to = drawn;
    size_t i;
    if (r == NULL || drawn == NULL) {
        fails(metasim_code_of(client));
        free(drawn);
        return;
    }
    for (i = 0; i < count; i++)
        to = add_number(to, metasim_rand_bits(r));
    add_number(to, (uint64_t)(metasim_rand_unit(r) * 9007199254740992.0));
    printf("drawn");
    print_hex(name, strlen(name));
    print_hex(drawn, 8 * (count + 1));
    printf("\n");
    free(drawn);
}

static void stop_named(const char *name)
{
    size_t i = timer_count;
    while (i-- > 0)
        if (strcmp(timers[i].name, name) == 0) {
            metasim_stop(client, timers[i].timer);
            return;
        }
}

/* Does the call of a line: its name, a text, another, and three numbers. */
static void perform(char *line)
{
    char call[32] = "", first[LINE] = "-", second[LINE] = "-";
    long long value = 0, pad = 0, step = 0;
    size_t size, size2;
    char *text, *more;
    sscanf(line, "%31s %65535s %65535s %lld %lld %lld", call, first, second, &value, &pad, &step);
    text = text_of(first, &size);
    more = text_of(second, &size2);
    if (strcmp(call, "publication") == 0 || strcmp(call, "subscription") == 0) {
        declare_call(call, text);
    } else if (strcmp(call, "reaction") == 0) {
        fails(metasim_reaction(client, value));
    } else if (strcmp(call, "join") == 0) {
        join(text, (size_t)pad, more);
    } else if (strcmp(call, "step") == 0) {
        arrive(metasim_step(client, value));
    } else if (strcmp(call, "next") == 0) {
        arrive(metasim_next(client, value));
    } else if (strcmp(call, "publish") == 0) {
        char *payload = calloc(1, size2 + (size_t)pad + 1);
        memcpy(payload, more, size2);
        fails(metasim_publish(client, text, payload, size2 + (size_t)pad));
        free(payload);
    } else if (strcmp(call, "promise") == 0) {
        fails(metasim_promise(client, value));
    } else if (strcmp(call, "result") == 0) {
        char *json = malloc(size + (size_t)pad + 3);
        json[0] = '"';
        memcpy(json + 1, text, size);
        memset(json + 1 + size, 'x', (size_t)pad);
        strcpy(json + 1 + size + pad, "\"");
        fails(metasim_result(client, json));
        free(json);
    } else if (strcmp(call, "at") == 0 || strcmp(call, "after") == 0 || strcmp(call, "every") == 0) {
        set_named(call, text, value, (uint32_t)step);
    } else if (strcmp(call, "about") == 0) {
        printf("about");
        print_hex(metasim_entry(client), strlen(metasim_entry(client)));
        printf(" %lu %lu", (unsigned long)metasim_index(client), (unsigned long)metasim_count(client));
        print_hex(metasim_with(client), strlen(metasim_with(client)));
        print_hex(metasim_directory(client), strlen(metasim_directory(client)));
        printf("\n");
    } else if (strcmp(call, "random") == 0) {
        draw(text, (size_t)pad);
    } else if (strcmp(call, "stop") == 0) {
        stop_named(text);
    } else if (strcmp(call, "run") == 0) {
        metasim_code code;
        metasim_on(client, NULL, on_message, NULL);
        code = metasim_run(client);
        fails(code);
        if (code == METASIM_OK)
            printf(left ? "ended\n" : "left\nended\n");
    } else if (strcmp(call, "leave") == 0) {
        metasim_code code = metasim_leave(client);
        fails(code);
        left = code == METASIM_OK;
        if (left)
            printf("left\n");
    } else if (strcmp(call, "survives") == 0) {
        client->returns = true;
    } else if (strcmp(call, "fail") == 0) {
        metasim_fail(client, text);
    } else {
        printf("unknown %s\n", call);
    }
    free(text);
    free(more);
}

int main(void)
{
    static char line[2 * LINE];
    setvbuf(stdout, NULL, _IOLBF, 0); /* what happens in metasim_run is seen at once */
    client = metasim_new(NULL);
    if (client == NULL)
        return 1;
    client->returns = false; /* the stories in which it does say so */
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "on ", 3) == 0) {
            char key[256], *text;
            size_t size;
            int end;
            sscanf(line + 4, "%255s %n", key, &end);
            text = text_of(key, &size);
            reactions[reaction_count].key[0] = line[3];
            strncat(reactions[reaction_count].key, text, 200);
            strncpy(reactions[reaction_count++].call, line + 4 + end, sizeof reactions[0].call - 1);
            free(text);
        } else {
            perform(line);
        }
        printf("done\n");
        fflush(stdout);
    }
    _exit(0); /* as a program that is killed: it says nothing more */
}

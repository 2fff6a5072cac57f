/* inside: says at each TICK on SAID what it is called, and leaves with the names that it knows and hears, and with what the service PLAN calls it. */
#include <metasim.h>

#include <stdio.h>
#include <string.h>

static char names[1 << 16]; /* a list in JSON, without its end */

static void add(const char *text, size_t size)
{
    size_t at = strlen(names);
    snprintf(names + at, sizeof names - at, "%s\"%.*s\"", at == 0 ? "[" : ",", (int)size, text);
}

static metasim_code hear(metasim_client *c, const metasim_message *m)
{
    char line[256];
    snprintf(line, sizeof line, "%s %s %s", m->from, m->channel, strcmp(m->from, metasim_name(c)) == 0 ? "True" : "False");
    add(line, strlen(line));
    return strcmp(m->channel, "TICK") == 0 ? metasim_publish(c, "SAID", metasim_name(c), strlen(metasim_name(c))) : METASIM_OK;
}

static metasim_code play(metasim_client *c)
{
    const metasim_message *m;
    metasim_code code = METASIM_OK;
    if (metasim_publication(c, "SAID") || metasim_caller(c, "PLAN") || metasim_subscription(c, "SAID|TICK|HORN") || metasim_join(c) ||
        metasim_call(c, "PLAN", "2", 1, METASIM_FOREVER, &m))
        return metasim_code_of(c);
    add(metasim_name(c), strlen(metasim_name(c)));
    add(metasim_entry(c), strlen(metasim_entry(c)));
    add(m->payload, (size_t)((const char *)memchr(m->payload, ' ', m->size) - (const char *)m->payload));
    while (code == METASIM_OK && metasim_next(c, METASIM_FOREVER) == METASIM_OK)
        while (code == METASIM_OK && (m = metasim_receive(c)) != NULL)
            code = hear(c, m);
    strcat(names, "]");
    return code != METASIM_OK || (code = metasim_result(c, names)) != METASIM_OK ? code : metasim_leave(c);
}

int main(void)
{
    metasim_client *c = metasim_new(NULL);
    int failed = c == NULL || play(c) != METASIM_OK;
    if (failed)
        fprintf(stderr, "inside: %s\n", c == NULL ? "no memory" : metasim_error(c));
    metasim_free(c);
    return failed;
}

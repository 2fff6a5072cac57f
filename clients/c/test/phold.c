/*
 * phold.c: see phold.h. It includes the library for its SHA-256 and its generator, which no program sees otherwise.
 */
#include "../metasim.c"

#include "phold.h"

#include <math.h>

typedef struct event {
    uint32_t to;
    int64_t time;
    uint32_t from;
    uint64_t count;
} event;

/* A logical process: its draws, how much it has sent, and what it has executed. */
typedef struct process {
    metasim_random draws;
    uint64_t sent;
    bytes past;
} process;

struct phold {
    uint32_t index, count, lps, first;
    double remote;
    int64_t mean, lookahead;
    process *processes;
    event *events; /* in no order: there are few */
    size_t event_count, room;
    uint64_t executed;
};

static uint32_t first_of(uint64_t index, uint64_t count, uint64_t lps) { return (uint32_t)(index * lps / count); }

/* From 0, which it leaves out, to 1. */
static double uniform(process *p) { return (double)((metasim_rand_bits(&p->draws) >> 11) + 1) / 9007199254740992.0; }

/* The natural logarithm, in the operations and in the order of federates/phold/log.go: another one may differ in the last bit. */
static double logarithm(double x)
{
    static const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10, l1 = 6.666666666666735130e-01,
                        l2 = 3.999999999940941908e-01, l3 = 2.857142874366239149e-01, l4 = 2.222219843214978396e-01, l5 = 1.818357216161805012e-01,
                        l6 = 1.531383769920937332e-01, l7 = 1.479819860511658591e-01;
    int exponent;
    double fraction = frexp(x, &exponent), f, k, s, s2, s4, odd, even, half, rest;
    if (fraction < 0.70710678118654752440) {
        fraction *= 2;
        exponent--;
    }
    f = fraction - 1;
    k = exponent;
    s = f / (2 + f);
    s2 = s * s;
    s4 = s2 * s2;
    odd = s2 * (l1 + s4 * (l3 + s4 * (l5 + s4 * l7)));
    even = s4 * (l2 + s4 * (l4 + s4 * l6));
    half = 0.5 * (f * f);
    rest = s * (half + odd + even) + k * ln2_low;
    return k * ln2_high - ((half - rest) - f);
}

static void push_event(phold *p, event e)
{
    if (p->event_count == p->room) {
        p->room = 2 * p->room + 16;
        p->events = realloc(p->events, p->room * sizeof *p->events);
        if (p->events == NULL)
            abort();
    }
    p->events[p->event_count++] = e;
}

static event sends(phold *p, uint32_t number, uint32_t to, int64_t now)
{
    process *of = &p->processes[number - p->first];
    event e;
    e.to = to;
    e.time = now + p->lookahead + (int64_t)round(-(double)(p->mean - p->lookahead) * logarithm(uniform(of)));
    e.from = number;
    e.count = of->sent++;
    return e;
}

phold *phold_new(uint64_t seed, uint32_t index, uint32_t count, uint32_t lps, uint32_t population, double remote, int64_t mean, int64_t lookahead)
{
    phold *p = calloc(1, sizeof *p);
    uint32_t end = first_of(index + 1, count, lps), i, n;
    if (p == NULL)
        abort();
    p->index = index;
    p->count = count;
    p->lps = lps;
    p->first = first_of(index, count, lps);
    p->remote = remote;
    p->mean = mean;
    p->lookahead = lookahead;
    p->processes = calloc(end - p->first, sizeof *p->processes);
    if (p->processes == NULL)
        abort();
    for (i = p->first; i < end; i++) {
        uint8_t key[17] = {'p', 'h', 'o', 'l', 'd'};
        uint32_t h[8];
        metasim_random *draws = &p->processes[i - p->first].draws;
        add_number(key + 5, seed);
        for (n = 0; n < 4; n++)
            key[13 + n] = (uint8_t)(i >> 8 * n);
        sha256(h, key, sizeof key);
        draws->hi = (uint64_t)swapped(h[1]) << 32 | swapped(h[0]);
        draws->lo = (uint64_t)swapped(h[3]) << 32 | swapped(h[2]);
        for (n = 0; n < population; n++)
            push_event(p, sends(p, i, i, 0));
    }
    return p;
}

/* The place of the event that comes first. */
static size_t first_event(const phold *p)
{
    size_t first = 0, i;
    for (i = 1; i < p->event_count; i++) {
        const event *a = &p->events[i], *b = &p->events[first];
        if (a->time != b->time ? a->time < b->time : a->to != b->to ? a->to < b->to : a->from != b->from ? a->from < b->from : a->count < b->count)
            first = i;
    }
    return first;
}

int64_t phold_next(const phold *p) { return p->event_count == 0 ? METASIM_FOREVER : p->events[first_event(p)].time; }

static uint64_t number_at(const uint8_t *b, int size)
{
    uint64_t n = 0;
    while (size-- > 0)
        n = n << 8 | b[size];
    return n;
}

int phold_schedule(phold *p, const void *payload, size_t size)
{
    const uint8_t *b = payload;
    event e;
    if (size != PHOLD_EVENT)
        return 0;
    e.to = (uint32_t)number_at(b, 4);
    e.time = (int64_t)number_at(b + 4, 8);
    e.from = (uint32_t)number_at(b + 12, 4);
    e.count = number_at(b + 16, 8);
    push_event(p, e);
    return 1;
}

static uint8_t *put(uint8_t *to, uint64_t n, int size)
{
    for (; size > 0; size--, n >>= 8)
        *to++ = (uint8_t)n;
    return to;
}

int phold_execute(phold *p, uint8_t payload[PHOLD_EVENT])
{
    size_t at_place = first_event(p);
    event e = p->events[at_place], next;
    process *of = &p->processes[e.to - p->first];
    uint8_t past[12];
    uint32_t to = e.to, owner;
    p->events[at_place] = p->events[--p->event_count];
    put(put(past, (uint64_t)e.time, 8), e.from, 4);
    append(&of->past, past, sizeof past);
    p->executed++;
    if (uniform(of) <= p->remote)
        to = (uint32_t)upper(metasim_rand_bits(&of->draws), p->lps);
    next = sends(p, e.to, to, e.time);
    owner = (uint32_t)((((uint64_t)to + 1) * p->count - 1) / p->lps);
    if (owner == p->index) {
        push_event(p, next);
        return -1;
    }
    put(put(put(put(payload, next.to, 4), (uint64_t)next.time, 8), next.from, 4), next.count, 8);
    return (int)owner;
}

uint64_t phold_events(const phold *p) { return p->executed; }

uint64_t phold_hash(const phold *p)
{
    uint32_t end = first_of(p->index + 1, p->count, p->lps), i, h[8];
    uint64_t hash = 0;
    for (i = 0; i < end - p->first; i++) {
        sha256(h, p->processes[i].past.data, p->processes[i].past.size);
        hash += (uint64_t)swapped(h[1]) << 32 | swapped(h[0]);
    }
    return hash;
}

void phold_free(phold *p)
{
    uint32_t end = first_of(p->index + 1, p->count, p->lps), i;
    for (i = 0; i < end - p->first; i++)
        free(p->processes[i].past.data);
    free(p->processes);
    free(p->events);
    free(p);
}

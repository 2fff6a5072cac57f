/*
 * metasim.c: see metasim.h. The file has these parts, each of which uses those before it:
 *
 *   memory      bytes that grow, names that are kept once
 *   instants    their order
 *   errors      a code and a sentence
 *   encoding    packets into the frames that wait to be written
 *   connection  unix, TCP, shared memory: frames out, bytes in
 *   session     what the server has said; what the client may do: docs/protocol.md, section 6
 *   decoding    bytes into what the session takes in
 *   ending      without leaving
 *   coming back to a server that was resumed
 *   calls       metasim.h
 *   timers      those of metasim_run
 *   services    requests and answers
 */
#define _GNU_SOURCE 1

#include "metasim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#endif

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SO_NOSIGPIPE does it there */
#endif

/* The limits of docs/protocol.md, section 7. */
enum {
    MAX_FRAME = 64 << 20,
    MAX_PACKETS = 1 << 16,
    MAX_PAYLOAD = MAX_FRAME - (64 << 10),
    MAX_CONTROL = 4 << 20,
    MINOR = 4, /* the minor version of the protocol that the library knows */
    MAX_NAME = 1024,
    MAX_LIST = 1 << 20,
    LIST_COST = 8, /* what a name in a list counts beside its bytes */
    MAX_NAMES = 64 << 20,
    NAME_COST = 64, /* what an introduction counts beside its bytes */
    MAX_RESULT = MAX_CONTROL - MAX_NAME,
    MAX_TEXT = 64 << 10
};

/* How much a client remembers, in case its server is lost. */
enum {
    KEPT_SENDS = 1 << 16,
    KEPT_BYTES = 64 << 20, /* of the payloads of sends */
    KEPT_DELIVERIES = 1 << 16
};

/* How much is published before it is written: a handler that publishes without end never reports. */
enum { FULL = 1 << 20 };

/* After so many writes without a read the client looks whether something has come: a server drops who writes and does not read. */
enum { WRITES_UNREAD = 64 };

/* The bodies of a packet. */
enum {
    MEMBER = 1,
    HELLO = 2,
    WELCOME = 3,
    START = 4,
    GOODBYE = 5,
    REFUSE = 6,
    SEND = 7,
    PROMISE = 8,
    ADVANCE = 9,
    POLL_WAIT = 10,
    LEAVE = 11,
    DELIVERED = 12,
    AUTHORIZE = 13,
    INTRODUCE = 14,
    FAILED = 15
};

/* ---- memory ---- */

/* Bytes that grow. After lack of memory they stay as they are, and failed is set. */
typedef struct bytes {
    uint8_t *data;
    size_t size, room;
    bool failed;
} bytes;

static uint8_t *extend(bytes *b, size_t more)
{
    if (b->failed || more > SIZE_MAX / 4 || b->size > SIZE_MAX / 4) {
        b->failed = true;
        return NULL;
    }
    if (b->room - b->size < more) {
        size_t room = b->room < 256 ? 256 : b->room;
        uint8_t *data;
        while (room - b->size < more)
            room *= 2;
        data = realloc(b->data, room);
        if (data == NULL) {
            b->failed = true;
            return NULL;
        }
        b->data = data;
        b->room = room;
    }
    b->size += more;
    return b->data + b->size - more;
}

static void append(bytes *b, const void *data, size_t size)
{
    uint8_t *to = size > 0 ? extend(b, size) : NULL;
    if (to != NULL)
        memcpy(to, data, size);
}

static char *copy_text(const void *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy != NULL) {
        if (size > 0)
            memcpy(copy, text, size);
        copy[size] = '\0';
    }
    return copy;
}

/* A name by its key: of a channel by itself, of a client by its number. */
typedef struct name {
    uint64_t hash;
    size_t size; /* of key */
    void *key;
    char *text;
} name;

/* Names, in a hash table with open addressing. Nothing iterates over it, so its order reaches nothing. */
typedef struct names {
    name *all;
    size_t room, used;
} names;

static uint64_t hash_of(const void *key, size_t size)
{
    const uint8_t *k = key;
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    size_t i;
    for (i = 0; i < size; i++)
        hash = (hash ^ k[i]) * 1099511628211u;
    return hash ^ hash >> 32;
}

static name *place_of(name *all, size_t room, uint64_t hash, const void *key, size_t size)
{
    size_t i = (size_t)hash & (room - 1);
    while (all[i].key != NULL && (all[i].hash != hash || all[i].size != size || memcmp(all[i].key, key, size) != 0))
        i = (i + 1) & (room - 1);
    return &all[i];
}

static const char *find_name(const names *n, const void *key, size_t size)
{
    return n->room == 0 ? NULL : place_of(n->all, n->room, hash_of(key, size), key, size)->text;
}

/* Adds a name that is not there. Returns NULL if there is no memory. */
static const char *add_name(names *n, const void *key, size_t size, const void *text, size_t length)
{
    uint64_t hash = hash_of(key, size);
    name *at;
    if (n->used * 2 >= n->room) {
        size_t room = n->room == 0 ? 16 : n->room * 2, i;
        name *all = calloc(room, sizeof *all);
        if (all == NULL)
            return NULL;
        for (i = 0; i < n->room; i++)
            if (n->all[i].key != NULL)
                *place_of(all, room, n->all[i].hash, n->all[i].key, n->all[i].size) = n->all[i];
        free(n->all);
        n->all = all;
        n->room = room;
    }
    at = place_of(n->all, n->room, hash, key, size);
    at->key = copy_text(key, size);
    at->text = copy_text(text, length);
    if (at->key == NULL || at->text == NULL) {
        free(at->key);
        free(at->text);
        memset(at, 0, sizeof *at);
        return NULL;
    }
    at->hash = hash;
    at->size = size;
    n->used++;
    return at->text;
}

static void free_names(names *n)
{
    size_t i;
    for (i = 0; i < n->room; i++) {
        free(n->all[i].key);
        free(n->all[i].text);
    }
    free(n->all);
}

/* ---- instants ---- */

static const metasim_instant ORIGIN = {0, 0};
static const metasim_instant INFINITE = {METASIM_FOREVER, UINT32_MAX};

static int compare(metasim_instant a, metasim_instant b)
{
    if (a.time != b.time)
        return a.time < b.time ? -1 : 1;
    return a.step == b.step ? 0 : a.step < b.step ? -1 : 1;
}

static bool before(metasim_instant a, metasim_instant b) { return compare(a, b) < 0; }
static metasim_instant earlier(metasim_instant a, metasim_instant b) { return before(b, a) ? b : a; }
static metasim_instant later(metasim_instant a, metasim_instant b) { return before(a, b) ? b : a; }

static metasim_instant at(int64_t time)
{
    metasim_instant i = {0, 0};
    i.time = time;
    return time == METASIM_FOREVER ? INFINITE : i;
}

static int64_t add(int64_t time, int64_t more) { return time > METASIM_FOREVER - more ? METASIM_FOREVER : time + more; }

/* ---- errors and the client ---- */

/* A message that is delivered. Its payload follows it in memory. */
typedef struct delivery {
    struct delivery *next;
    metasim_message message;
} delivery;

typedef struct deliveries {
    delivery *first, *last;
} deliveries;

/* A message that the client has sent. Its payload follows it in memory. */
typedef struct kept {
    struct kept *next;
    const char *channel;
    metasim_instant sent;
    size_t size;
    bool early; /* sent before the client waited first: that needs no authorization */
} kept;

/* What a resumed server has of a client. */
typedef struct known {
    uint64_t sent, delivered;
    metasim_instant now, floor; /* floor: it has promised to send nothing before */
} known;

/* What a client remembers in case its server is lost, and how far it has come back. */
typedef struct memory {
    int64_t patience; /* for how many nanoseconds of real time it waits for its server; 0: it does not, and remembers nothing */
    kept *first, *last;
    size_t count, bytes;  /* of these sends, and of their payloads */
    uint64_t sent;        /* how many messages it has sent */
    uint64_t *handled;    /* hashes of the last deliveries: that of number n is at (n - 1) % KEPT_DELIVERIES */
    size_t room;          /* of handled */
    metasim_instant due;  /* of the last delivery that it has handled */
    metasim_instant said; /* how far it has reported to a server that was lost, at least */
    int lives;            /* how many servers it has lost */
    bool waited;          /* the client has waited once */

    /* While it comes back. */
    bool coming, asked; /* asked: for want */
    known known;
    kept *again; /* the next that is to be sent again */
    uint64_t skip; /* how many deliveries that it has handled are to come again */
    metasim_instant clock, want; /* clock: of the last that was sent again */
} memory;

/* What is done with the messages on a channel. */
typedef struct action {
    const char *channel; /* of names; NULL: all others */
    metasim_handler handler;
    void *user;
} action;

/* A timer. One that is not in the heap has place NOWHERE; one that is free has no handler. */
typedef struct slot {
    metasim_instant at;
    uint64_t number; /* the order of setting decides among those at one instant */
    int64_t period;
    metasim_handler handler;
    void *user;
    size_t place; /* in the heap */
    uint32_t use; /* how often the slot was used: part of a metasim_timer */
} slot;

static const size_t NOWHERE = SIZE_MAX;

/* A service that the client answers or asks. hears and says are its channels, of names. */
typedef struct service {
    struct service *next;
    char *name;
    const char *hears, *says;
    bool asks;
    metasim_service handler; /* of one that it answers */
    void *user;
    uint64_t number;         /* of the next request */
    struct exchange *open, *last; /* requests that have no answer yet, by their number */
} service;

/* A request: one that the client is to answer, or one that it has sent. It stays where it is, and is used again when it is over. */
typedef struct exchange {
    struct exchange *next; /* of the same service, or of those that are free */
    service *of;           /* NULL: it is free */
    size_t place;          /* in exchanges */
    uint32_t use;          /* how often it was used: part of its number in metasim.h */
    uint64_t number;       /* in messages */

    const char *from; /* of one that the client is to answer: who asked */

    /* Of one that it has sent. */
    metasim_instant asked, deadline;
    bool done;
    metasim_code code; /* how it ended; text has the sentence */
    char *text;
    delivery *answer;
    metasim_handler then;
    void *user;
    metasim_timer timer; /* for deadline, in metasim_run */
} exchange;

/* The ends of a connection. map is the shared memory of shm, NULL for a socket alone. */
typedef struct wire {
    int socket; /* -1: closed */
    uint8_t *map;
    uint32_t ring;          /* bytes of each ring of map */
    uint32_t written, read; /* this side's index of the ring to the server, and of that from it */
    int vain, sleeps;       /* the count of polls in vain, less those that paid; reads from now on that do not poll */
} wire;

struct metasim_client {
    /* What it was made with, and declared. */
    char *server, *name, *token, *scenario;
    bool alone; /* no other client is in the process, as far as the environment tells */
    char **publications, **subscriptions;
    size_t publishes, subscribes, names_size[2];
    int64_t reaction;
    metasim_code mistake; /* the first one; metasim_join returns it */
    char *mistake_text;

    /* The last call that failed, and why the session is over. */
    metasim_code code, over;
    char *text, *over_text;

    /* The session. */
    bool joined, started, running;
    metasim_code refused; /* the first timer or, in metasim_run, publish that was refused */
    char *refused_text;
    uint64_t timed, seed;
    metasim_instant until, now, promise, granted;
    metasim_instant next, cause; /* the conditional promise, and due of the first message handled since */
    uint64_t handled;
    deliveries given, ready; /* not handled; handled, and not received */
    bool stepping;           /* metasim_steps was called, and went to stepped */
    int64_t stepped;
    delivery *current;       /* received last */
    names channels, clients;
    size_t clients_size;
    char *result;
    metasim_handler on_leave, on_lost;
    void *on_leave_user, *on_lost_user;
    bool returns; /* it can come back to a server that was resumed */
    memory memory;
    names *past; /* clients, as servers have introduced them that were lost: messages point there */
    size_t past_count;
    metasim_random *streams;
    char *entry, *with, *directory;
    size_t own; /* where in name begins what the client is called in its scenario, which may be inside of another one */
    uint32_t index, count;

    /* The connection. */
    wire wire;
    bytes out, in;
    size_t frame, packets; /* where the last frame of out begins, and how many packets it has */
    size_t parsed;         /* bytes of in that were decoded */
    int unread;            /* writes since the last read */
    unsigned fruitless;    /* looks in vain since the last one that was not, and those left out */

    /* A wait that a timeout has left: what the client is after. */
    bool waiting;
    int asked; /* in which of its lives */
    int64_t waits_until;
    int64_t deadline; /* of this call, by the clock of the machine; 0: none */
    bool late;

    /* metasim_run. */
    action *actions;
    size_t action_count;
    slot *slots;
    size_t slot_count, *heap, heap_size;
    size_t free_slots; /* the first one that is free, and 1; its place is the next of these. 0: none */
    uint64_t timers_set;

    /* Services. */
    service *services;
    exchange **exchanges, *free_exchanges;
    size_t exchange_count;
    deliveries meanwhile; /* handled while a call waited, and not ready */
    delivery *answer;  /* that metasim_wait returned last */
    bool serving;      /* a message is given to a service, in a step */
    metasim_instant serves; /* when it arrived */

    /* How long it computes: for reports on the run, never for results. */
    int64_t went_on, cpu;
};

static const char NO_MEMORY[] = "there is no memory left; the client cannot go on";

static char *say(const char *format, va_list words)
{
    va_list again;
    char *text;
    int size;
    va_copy(again, words);
    size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    text = size < 0 ? NULL : malloc((size_t)size + 1);
    if (text != NULL)
        vsnprintf(text, (size_t)size + 1, format, words);
    return text;
}

#if defined(__GNUC__)
#define SENTENCE __attribute__((format(printf, 3, 4)))
#else
#define SENTENCE
#endif

/* Notes that a call fails, and returns its code. The client may go on. */
static metasim_code failed(metasim_client *c, metasim_code code, const char *format, ...) SENTENCE;

static metasim_code failed(metasim_client *c, metasim_code code, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    free(c->text);
    c->text = say(format, words);
    va_end(words);
    return c->code = code;
}

/* Ends the session, unless it is over, and returns why it is over. */
static metasim_code finish(metasim_client *c, metasim_code code, const char *format, ...) SENTENCE;

static metasim_code finish(metasim_client *c, metasim_code code, const char *format, ...)
{
    if (c->over == METASIM_OK) {
        va_list words;
        va_start(words, format);
        c->over = code;
        c->over_text = say(format, words);
        va_end(words);
    }
    return failed(c, c->over, "%s", c->over_text == NULL ? NO_MEMORY : c->over_text);
}

static metasim_code is_over(metasim_client *c) { return finish(c, c->over, "%s", ""); }

/* An instant in words, as other parts of metasim write it. */
static const char *words_of(metasim_instant i, char text[64])
{
    if (i.time == METASIM_FOREVER)
        return "infinity";
    if (i.step == 0)
        snprintf(text, 64, "%lld.%09lld s", (long long)(i.time / 1000000000), (long long)(i.time % 1000000000));
    else
        snprintf(text, 64, "%lld.%09lld s, step %lu", (long long)(i.time / 1000000000), (long long)(i.time % 1000000000), (unsigned long)i.step);
    return text;
}

/* ---- encoding ---- */

/* A body of at most a few names and numbers. */
typedef struct small {
    uint8_t data[192];
    size_t size;
} small;

static void put_varint(small *s, uint64_t n)
{
    for (; n > 0x7f; n >>= 7)
        s->data[s->size++] = (uint8_t)(n | 0x80);
    s->data[s->size++] = (uint8_t)n;
}

static void put_number(small *s, unsigned field, uint64_t n)
{
    if (n > 0) {
        put_varint(s, field << 3);
        put_varint(s, n);
    }
}

static void put_head(small *s, unsigned field, size_t size)
{
    put_varint(s, field << 3 | 2);
    put_varint(s, size);
}

static void put_small(small *s, unsigned field, const small *value)
{
    put_head(s, field, value->size);
    memcpy(s->data + s->size, value->data, value->size);
    s->size += value->size;
}

static void put_instant(small *s, unsigned field, metasim_instant i)
{
    small value = {{0}, 0};
    if (i.time == METASIM_FOREVER) {
        put_number(&value, 3, 1);
    } else {
        put_number(&value, 1, (uint64_t)i.time);
        put_number(&value, 2, i.step);
    }
    if (value.size > 0)
        put_small(s, field, &value);
}

static void put_text(bytes *b, unsigned field, const char *text)
{
    small head = {{0}, 0};
    size_t size = strlen(text);
    if (size > 0) {
        put_head(&head, field, size);
        append(b, head.data, head.size);
        append(b, text, size);
    }
}

/* Ends the last frame: its length goes before it. */
static void end_frame(metasim_client *c)
{
    size_t size = c->out.size - c->frame, i;
    if (c->out.failed || size < 4)
        return;
    for (i = 0; i < 4; i++)
        c->out.data[c->frame + i] = (uint8_t)((size - 4) >> 8 * i);
    c->frame = c->out.size;
}

/* Puts a packet into out: its body is first, second and third one after the other. */
static void put_packet(metasim_client *c, unsigned kind, const void *first, size_t first_size, const void *second, size_t second_size,
                       const void *third, size_t third_size)
{
    size_t size = first_size + second_size + third_size;
    small head = {{0}, 0}, body = {{0}, 0};
    put_head(&body, kind, size);
    put_head(&head, 1, body.size + size);
    if (c->out.size > c->frame && (c->packets >= MAX_PACKETS || c->out.size - c->frame - 4 + head.size + body.size + size > MAX_FRAME))
        end_frame(c);
    if (c->out.size == c->frame) {
        append(&c->out, "\0\0\0", 4);
        c->packets = 0;
    }
    c->packets++;
    append(&c->out, head.data, head.size);
    append(&c->out, body.data, body.size);
    append(&c->out, first, first_size);
    append(&c->out, second, second_size);
    append(&c->out, third, third_size);
}

static void put_body(metasim_client *c, unsigned kind, const small *body) { put_packet(c, kind, body->data, body->size, NULL, 0, NULL, 0); }

static void put_send(metasim_client *c, const char *channel, metasim_instant sent, const void *payload, size_t size)
{
    small instant = {{0}, 0};
    bytes front = {NULL, 0, 0, false};
    put_text(&front, 1, channel);
    put_instant(&instant, 2, sent);
    if (size > 0)
        put_head(&instant, 3, size);
    append(&front, instant.data, instant.size);
    put_packet(c, SEND, front.data, front.size, payload, size, NULL, 0);
    c->out.failed = c->out.failed || front.failed;
    free(front.data);
}

/* ---- connection ---- */

static metasim_code lost(metasim_client *c, const char *how)
{
    char now[64];
    return finish(c, METASIM_LOST, "client \"%s\": lost the server at %s: %s", c->name, words_of(c->now, now), how);
}


static metasim_code lost_to(metasim_client *c, int error)
{
    return lost(c, error == 0 ? "the connection was closed" : strerror(error));
}

#if defined(__linux__)

/*
 * Shared memory: wire/transport/shm/shm.go of metasim describes it. The client makes the memory, and sends it over a unix socket. That
 * socket carries nothing more: its end says that the peer has closed, or died.
 *
 * The peer may store anything at any time. So each side keeps its own index to itself, and uses the peer's for a distance alone.
 */
enum { RING = 256 << 10, HEADER = 4096, STRIDE = 512, TAIL = 0, HEAD = 128, READER = 256, WRITER = 384, GREETING = 16 };

/* A sleep ends after so many nanoseconds: then the client looks whether the peer is there. */
enum { MAX_SLEEP = 20000000 };

static uint32_t *word_of(const wire *w, int ring, int offset)
{
    return (uint32_t *)(void *)(w->map + (size_t)(ring * STRIDE + offset));
}

static void rouse(uint32_t *word)
{
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != 0 && __atomic_exchange_n(word, 0, __ATOMIC_SEQ_CST) != 0)
        syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void sleep_on(uint32_t *word)
{
    struct timespec most = {0, MAX_SLEEP};
    syscall(SYS_futex, word, FUTEX_WAIT, 1, &most, NULL, 0);
}

/* Whether the peer has closed, or died. */
static bool is_gone(const wire *w)
{
    char byte;
    ssize_t n = recv(w->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

static uint8_t *ring_of(const wire *w, int ring) { return w->map + HEADER + (size_t)ring * w->ring; }

/* Reads what is there. Returns how much, or -1 if the peer's index cannot be. */
static long take_shared(wire *w, uint8_t *to, size_t room)
{
    uint32_t used = __atomic_load_n(word_of(w, 1, TAIL), __ATOMIC_SEQ_CST) - w->read, from = w->read & (w->ring - 1), n, first;
    if (used > w->ring)
        return -1;
    n = used < room ? used : (uint32_t)room;
    first = n < w->ring - from ? n : w->ring - from;
    memcpy(to, ring_of(w, 1) + from, first);
    memcpy(to + first, ring_of(w, 1), n - first);
    w->read += n;
    if (n > 0) {
        __atomic_store_n(word_of(w, 1, HEAD), w->read, __ATOMIC_SEQ_CST);
        if (used - n <= w->ring / 2) /* a writer that waits is woken when half the ring is free */
            rouse(word_of(w, 1, WRITER));
    }
    return (long)n;
}

/* Writes as much as there is room for. Returns how much, or -1 if the peer's index cannot be. */
static long give_shared(wire *w, const uint8_t *data, size_t size)
{
    uint32_t used = w->written - __atomic_load_n(word_of(w, 0, HEAD), __ATOMIC_SEQ_CST), to = w->written & (w->ring - 1), n, first;
    if (used > w->ring)
        return -1;
    n = w->ring - used < size ? w->ring - used : (uint32_t)size;
    first = n < w->ring - to ? n : w->ring - to;
    memcpy(ring_of(w, 0) + to, data, first);
    memcpy(ring_of(w, 0), data + first, n - first);
    w->written += n;
    if (n > 0) {
        __atomic_store_n(word_of(w, 0, TAIL), w->written, __ATOMIC_SEQ_CST);
        rouse(word_of(w, 0, READER));
    }
    return (long)n;
}

/* Makes the memory, and returns its file; -1 and errno if it cannot. */
static int make_memory(void)
{
    int file = memfd_create("metasim", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file >= 0 && (ftruncate(file, HEADER + 2 * RING) < 0 || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)) {
        int why = errno;
        close(file);
        errno = why;
        return -1;
    }
    return file;
}

/* Sends the greeting with the file of the memory, and waits for the same greeting. Returns how it failed, or NULL. */
static const char *greet(int socket, int file)
{
    static const uint8_t greeting[GREETING] = {'m', 'e', 't', 'a', 's', 'i', 'm', 0, 1, 0, 0, 0, 0, 0, RING >> 16, 0};
    uint8_t answer[GREETING];
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } rights;
    struct iovec part;
    struct msghdr message;
    struct cmsghdr *head;
    ssize_t n;
    memset(&message, 0, sizeof message);
    memset(&rights, 0, sizeof rights);
    part.iov_base = (void *)(uintptr_t)greeting;
    part.iov_len = GREETING;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = rights.room;
    message.msg_controllen = sizeof rights.room;
    head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &file, sizeof file);
    if (sendmsg(socket, &message, MSG_NOSIGNAL) != GREETING)
        return strerror(errno);
    do
        n = recv(socket, answer, GREETING, MSG_WAITALL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return strerror(errno);
    return n == GREETING && memcmp(answer, greeting, GREETING) == 0 ? NULL : "the server does not use shared memory of this layout; use the URL that it printed";
}

static metasim_code share_memory(metasim_client *c)
{
    int file = make_memory();
    void *map;
    const char *wrong;
    if (file < 0)
        return finish(c, METASIM_LOST, "client \"%s\": %s: this system has no memory that can be shared and sealed: %s; use unix://", c->name, c->server, strerror(errno));
    map = mmap(NULL, HEADER + 2 * RING, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    wrong = map == MAP_FAILED ? strerror(errno) : greet(c->wire.socket, file);
    close(file);
    if (map != MAP_FAILED && wrong != NULL)
        munmap(map, HEADER + 2 * RING);
    if (wrong != NULL)
        return finish(c, METASIM_LOST, "client \"%s\": %s: %s", c->name, c->server, wrong);
    c->wire.map = map;
    c->wire.ring = RING;
    return METASIM_OK;
}

static void unmap(wire *w)
{
    if (w->map != NULL)
        munmap(w->map, HEADER + 2 * (size_t)w->ring);
    w->map = NULL;
}

#else /* no shared memory */

static long take_shared(wire *w, uint8_t *to, size_t room) { return (void)w, (void)to, (void)room, -1; }
static long give_shared(wire *w, const uint8_t *data, size_t size) { return (void)w, (void)data, (void)size, -1; }
static bool is_gone(const wire *w) { return (void)w, true; }
static void sleep_on(uint32_t *word) { (void)word; }
static uint32_t *word_of(const wire *w, int ring, int offset) { return (void)w, (void)ring, (void)offset, NULL; }
static void unmap(wire *w) { (void)w; }
enum { READER, WRITER };

static metasim_code share_memory(metasim_client *c)
{
    return finish(c, METASIM_LOST, "client \"%s\": %s: this system has no shared memory of Linux; use unix://", c->name, c->server);
}

#endif

static void disconnect(metasim_client *c)
{
    unmap(&c->wire);
    c->wire.written = c->wire.read = 0;
    if (c->wire.socket >= 0)
        close(c->wire.socket); /* what was written is with the kernel; nobody can do anything about an error here */
    c->wire.socket = -1;
}

/* Has room for so many bytes more in c->in; the bytes that were decoded make room first. */
static uint8_t *make_room(metasim_client *c, size_t more)
{
    uint8_t *to;
    if (c->parsed > 0) {
        memmove(c->in.data, c->in.data + c->parsed, c->in.size - c->parsed);
        c->in.size -= c->parsed;
        c->parsed = 0;
    }
    to = extend(&c->in, more);
    if (to != NULL)
        c->in.size -= more;
    return to;
}

enum { READ = 64 << 10 }; /* bytes of one read, at most */

static int64_t clock_now(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

/* How many milliseconds are left of the time that the caller wants to wait: -1 for no end. When none is left the call is late. */
static int time_left(metasim_client *c)
{
    int64_t more;
    if (c->deadline == 0)
        return -1;
    more = c->deadline - clock_now(CLOCK_MONOTONIC);
    c->late = more <= 0;
    return more <= 0 ? 0 : more >= (int64_t)INT_MAX * 1000000 ? INT_MAX : (int)((more + 999999) / 1000000);
}

/* Waits until something can be read, or the caller wants to wait no longer. */
static bool readable(metasim_client *c)
{
    struct pollfd in;
    in.fd = c->wire.socket;
    in.events = POLLIN;
    for (;;) {
        int more = time_left(c), n;
        in.revents = 0;
        n = poll(&in, 1, more);
        if (n > 0 || (n < 0 && errno != EINTR))
            return true;
        if (n == 0 && more == 0)
            return false;
    }
}

static bool nothing_came(ssize_t n) { return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK); }

/* Reads what has come, without waiting. Returns how much; 0 at the end of a socket; -1 and errno otherwise, which is EAGAIN if nothing has come, and EPROTO if the ring of the
 * server cannot be. */
static ssize_t read_now(metasim_client *c, uint8_t *to)
{
    ssize_t n;
    if (c->wire.map != NULL) {
        n = take_shared(&c->wire, to, READ);
        errno = n < 0 ? EPROTO : EAGAIN;
        return n == 0 ? -1 : n;
    }
    do
        n = recv(c->wire.socket, to, READ, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n;
}

enum {
    POLL_LIMIT = 200000, /* nanoseconds: what a sleep costs where processors go idle, on a virtual machine */
    STOLEN = 5 * POLL_LIMIT, /* what a poll takes where a yield gave the processor to somebody who computes */
    LATE_VAIN = 2,            /* a poll in vain counts for so many of those that pay, as it costs more than they save */
    STOLEN_VAIN = 4,
    MOST_VAIN = 10 /* the count from which on one read in 2^MOST_VAIN polls */
};

/* Polls before a read sleeps, for as long as a sleep and its wake-up cost: the server of a lock step answers sooner. One that takes longer is soon polled only now and then.
 * Each look is followed by a yield: the server may need this very processor. Where others had it for long, a sleeper would have had it back sooner. Returns what read_now does. */
static ssize_t poll_soon(metasim_client *c, uint8_t *to)
{
    wire *w = &c->wire;
    int64_t begun;
    if (w->sleeps > 0) {
        w->sleeps--;
        errno = EAGAIN;
        return -1;
    }
    begun = clock_now(CLOCK_MONOTONIC);
    for (;;) {
        ssize_t n = read_now(c, to);
        int64_t took = clock_now(CLOCK_MONOTONIC) - begun;
        if (!nothing_came(n) || took > POLL_LIMIT) {
            if (took <= POLL_LIMIT)
                w->vain -= w->vain > 0;
            else
                w->vain += took >= STOLEN ? STOLEN_VAIN : LATE_VAIN;
            if (w->vain > MOST_VAIN)
                w->vain = MOST_VAIN;
            w->sleeps = w->vain > 0 ? (1 << w->vain) - 2 : 0;
            return n;
        }
        sched_yield(); /* which cannot fail */
    }
}

/* Takes what a read has returned: see read_now. Returns how many bytes came. */
static size_t taken(metasim_client *c, ssize_t n)
{
    if (n > 0) {
        c->in.size += (size_t)n;
        return (size_t)n;
    }
    if (nothing_came(n))
        return 0;
    if (c->wire.map != NULL && n < 0)
        finish(c, METASIM_PROTOCOL_ERROR, "client \"%s\": the server's ring of shared memory cannot be; let nobody else write to the memory", c->name);
    else
        lost_to(c, n == 0 ? 0 : errno);
    return 0;
}

/* Waits for shared memory, and reads it: see read_now. What was written before the end of the peer is read first. */
static ssize_t await_shared(metasim_client *c, uint8_t *to)
{
    uint32_t *reader = word_of(&c->wire, 1, READER);
    ssize_t n = read_now(c, to);
    while (nothing_came(n) && time_left(c) != 0) {
        bool gone = is_gone(&c->wire);
        n = read_now(c, to);
        if (nothing_came(n) && gone)
            return 0;
        if (nothing_came(n)) { /* say that this side sleeps, look once more, and sleep */
            __atomic_store_n(reader, 1, __ATOMIC_SEQ_CST);
            n = read_now(c, to);
            if (nothing_came(n)) {
                sleep_on(reader);
                errno = EAGAIN;
            }
            __atomic_store_n(reader, 0, __ATOMIC_SEQ_CST);
        }
    }
    return n;
}

/* Reads what has come, and waits for something if wait says so. Returns how many bytes came. After the end of the connection, and
 * after an error, the session is over. */
static size_t read_some(metasim_client *c, bool wait)
{
    uint8_t *to = make_room(c, READ);
    ssize_t n;
    if (to == NULL) {
        finish(c, METASIM_NO_MEMORY, "%s", NO_MEMORY);
        return 0;
    }
    c->unread = 0;
    n = wait ? poll_soon(c, to) : read_now(c, to);
    if (!wait || !nothing_came(n))
        return taken(c, n);
    if (c->wire.map != NULL)
        return taken(c, await_shared(c, to));
    if (c->deadline != 0 && !readable(c))
        return 0;
    do
        n = recv(c->wire.socket, to, READ, 0);
    while (n < 0 && errno == EINTR);
    return taken(c, n);
}

static metasim_code hear(metasim_client *c, bool wait); /* reads what has come, and takes it in */
static metasim_code come_back(metasim_client *c);       /* after the connection was lost, if the client can */

/* Waits until more may be written; the server may wait until this side reads. */
static void wait_to_write(metasim_client *c)
{
    if (c->wire.map != NULL) {
        uint32_t *writer = word_of(&c->wire, 0, WRITER);
        __atomic_store_n(writer, 1, __ATOMIC_SEQ_CST);
        if (c->wire.written - __atomic_load_n(word_of(&c->wire, 0, HEAD), __ATOMIC_SEQ_CST) == c->wire.ring)
            sleep_on(writer);
        __atomic_store_n(writer, 0, __ATOMIC_SEQ_CST);
        if (is_gone(&c->wire))
            lost_to(c, 0);
        else
            hear(c, false);
    } else {
        struct pollfd both;
        both.fd = c->wire.socket;
        both.events = POLLIN | POLLOUT;
        both.revents = 0;
        if (poll(&both, 1, -1) > 0 && (both.revents & POLLIN) != 0)
            hear(c, false);
    }
}

/* Writes all that waits, in one write if the connection takes it. Where the client has come back meanwhile, it has said all there. */
static metasim_code flush(metasim_client *c)
{
    size_t done = 0;
    int life = c->memory.lives;
    end_frame(c);
    if (c->out.failed)
        return finish(c, METASIM_NO_MEMORY, "%s", NO_MEMORY);
    while (done < c->out.size && c->over == METASIM_OK && life == c->memory.lives) {
        long n;
        if (c->wire.map != NULL) {
            n = give_shared(&c->wire, c->out.data + done, c->out.size - done);
            if (n < 0)
                finish(c, METASIM_PROTOCOL_ERROR, "client \"%s\": the server's ring of shared memory cannot be; let nobody else write to the memory", c->name);
        } else {
            n = (long)send(c->wire.socket, c->out.data + done, c->out.size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
                n = 0;
            if (n < 0) /* a server that ends the run says why, then closes */
                while (c->over == METASIM_OK && life == c->memory.lives)
                    hear(c, true);
        }
        if (life != c->memory.lives)
            break;
        done += n > 0 ? (size_t)n : 0;
        if (n == 0)
            wait_to_write(c);
    }
    if (life == c->memory.lives)
        c->out.size = c->frame = 0;
    if (c->over == METASIM_LOST)
        return come_back(c);
    if (c->over != METASIM_OK)
        return is_over(c);
    return ++c->unread > WRITES_UNREAD ? hear(c, false) : METASIM_OK;
}

/* The path of "scheme:///path", without its percent signs. Returns NULL if it has none. */
static char *path_of(const char *url)
{
    const char *from = strstr(url, "://");
    char *path, *to;
    if (from == NULL || from[3] != '/' || (path = copy_text(from + 3, strlen(from + 3))) == NULL)
        return NULL;
    for (from = to = path; *from != '\0'; from++) {
        unsigned byte;
        if (from[0] == '%' && sscanf(from + 1, "%2x", &byte) == 1 && byte != 0) {
            *to++ = (char)byte;
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return path;
}

static metasim_code connect_path(metasim_client *c)
{
    struct sockaddr_un address;
    char *path = path_of(c->server);
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    if (path == NULL || strlen(path) >= sizeof address.sun_path) {
        free(path);
        return finish(c, METASIM_MISTAKE, "client \"%s\": %s names no socket; write unix:///path, at most %u bytes long", c->name, c->server,
                      (unsigned)sizeof address.sun_path - 1);
    }
    memcpy(address.sun_path, path, strlen(path));
    free(path);
    c->wire.socket = socket(AF_UNIX, SOCK_STREAM, 0);
    if (c->wire.socket < 0 || connect(c->wire.socket, (struct sockaddr *)(void *)&address, sizeof address) < 0)
        return finish(c, METASIM_LOST, "client \"%s\": nobody answers at %s: %s; start the server first", c->name, c->server, strerror(errno));
    return METASIM_OK;
}

static metasim_code connect_tcp(metasim_client *c)
{
    const char *from = c->server + strlen("tcp://"), *colon = strrchr(from, ':');
    struct addrinfo hints, *found = NULL, *a;
    char *host;
    int wrong, on = 1;
    if (strchr(from, '?') != NULL)
        return finish(c, METASIM_MISTAKE, "client \"%s\": %s wants TLS, which this library has not; use unix:// or shm:// on the server's host", c->name, c->server);
    if (colon == NULL || colon == from)
        return finish(c, METASIM_MISTAKE, "client \"%s\": %s names no host and port; write tcp://host:port", c->name, c->server);
    host = from[0] == '[' && colon[-1] == ']' ? copy_text(from + 1, (size_t)(colon - from) - 2) : copy_text(from, (size_t)(colon - from));
    if (host == NULL)
        return finish(c, METASIM_NO_MEMORY, "%s", NO_MEMORY);
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    wrong = getaddrinfo(host, colon + 1, &hints, &found);
    free(host);
    if (wrong != 0)
        return finish(c, METASIM_LOST, "client \"%s\": %s: %s", c->name, c->server, gai_strerror(wrong));
    errno = ECONNREFUSED;
    for (a = found; a != NULL; a = a->ai_next) {
        c->wire.socket = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
        if (c->wire.socket >= 0 && connect(c->wire.socket, a->ai_addr, a->ai_addrlen) == 0)
            break;
        if (c->wire.socket >= 0) {
            int why = errno;
            close(c->wire.socket);
            errno = why;
        }
        c->wire.socket = -1;
    }
    freeaddrinfo(found);
    if (c->wire.socket < 0)
        return finish(c, METASIM_LOST, "client \"%s\": nobody answers at %s: %s; start the server first", c->name, c->server, strerror(errno));
    setsockopt(c->wire.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* without it all is the same, and slower */
    return METASIM_OK;
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static metasim_code connect_to(metasim_client *c)
{
    metasim_code code;
    if (begins(c->server, "tcp://"))
        code = connect_tcp(c);
    else if (begins(c->server, "unix://") || begins(c->server, "shm://"))
        code = connect_path(c);
    else
        return finish(c, METASIM_MISTAKE, "client \"%s\": \"%s\" is no server that this library reaches; use unix:///path, tcp://host:port or shm:///path, or set METASIM_SERVER; "
                      "for tls and quic start metasim relay, and use its address",
                      c->name, c->server);
    if (code != METASIM_OK)
        return code;
    fcntl(c->wire.socket, F_SETFD, FD_CLOEXEC);
#ifdef SO_NOSIGPIPE
    {
        int on = 1;
        setsockopt(c->wire.socket, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    }
#endif
    return begins(c->server, "shm://") ? share_memory(c) : METASIM_OK;
}

/* ---- session ---- */

/* The first instant at which the client may send. */
static metasim_instant may_send_from(const metasim_client *c)
{
    metasim_instant answer = c->cause;
    if (c->reaction > 0 && answer.time != METASIM_FOREVER)
        answer = at(add(answer.time, c->reaction));
    return later(c->promise, earlier(c->next, answer));
}

static void put_numbers(small *s, metasim_instant now, metasim_instant floor, metasim_instant next, uint64_t acked)
{
    small report = {{0}, 0};
    put_instant(&report, 1, now);
    put_instant(&report, 2, floor);
    put_instant(&report, 3, next);
    put_number(&report, 4, acked);
    if (report.size > 0)
        put_small(s, 1, &report);
}

/* Makes the client's report. What was promised binds whatever is said now. */
static void put_report(metasim_client *c, small *s, metasim_instant now, metasim_instant next)
{
    metasim_instant floor;
    now = later(now, c->memory.said);
    floor = later(now, c->promise);
    c->next = later(may_send_from(c), later(floor, next));
    c->cause = INFINITE;
    put_numbers(s, now, floor, c->next, c->handled);
}

/* How long the client has computed since its last report, in nanoseconds: less than a microsecond is carried over. */
static int64_t computed(metasim_client *c)
{
    int64_t now, since = c->went_on;
    if (c->timed == 0 || since == 0)
        return 0;
    now = clock_now(CLOCK_MONOTONIC);
    if (now - since < 1000)
        return 0;
    c->went_on = now;
    return now - since;
}

/* A stretch from so many nanoseconds on is worth a look at the processor time, which costs a system call. */
enum { LONG_STRETCH = 20000 };

/* The processor time that the process took since the last look. */
static int64_t processor_time(metasim_client *c, int64_t stretch)
{
    int64_t now, since = c->cpu;
    if (!c->alone || c->timed == 0 || stretch < LONG_STRETCH)
        return 0;
    now = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    c->cpu = now;
    return since == 0 || now - since > stretch * 64 ? 0 : now - since;
}

/* Reports that the client goes on. */
static metasim_code go_on(metasim_client *c, metasim_instant now, metasim_instant next)
{
    small s = {{0}, 0};
    put_report(c, &s, now, next);
    put_number(&s, 2, (uint64_t)computed(c));
    put_body(c, ADVANCE, &s);
    return flush(c);
}

/* When the next message that the client has is due. */
static metasim_instant due(const metasim_client *c) { return c->given.first == NULL ? INFINITE : c->given.first->message.due; }

/* The instant that the client is after. */
static metasim_instant goal(const metasim_client *c, metasim_instant want, bool messages) { return messages ? earlier(want, due(c)) : want; }

/* Reports that the client waits, and returns when it may act at what it is after, or the run ends before, or the call is late. */
static metasim_code wait_until(metasim_client *c, metasim_instant want, bool messages)
{
    int asked = c->waiting ? c->asked : -1; /* in which of its lives: a server that was resumed is asked again */
    c->late = false;
    while (asked != c->memory.lives || (!before(goal(c, want, messages), c->granted) && compare(c->granted, c->until) != 0 && !c->late)) {
        if (asked != c->memory.lives) {
            small s = {{0}, 0};
            int64_t stretch = asked < 0 ? computed(c) : 0;
            asked = c->memory.lives;
            c->memory.waited = true;
            put_report(c, &s, c->now, want);
            put_instant(&s, 2, want);
            put_number(&s, 3, messages);
            put_number(&s, 4, (uint64_t)stretch);
            put_number(&s, 5, (uint64_t)processor_time(c, stretch));
            put_body(c, POLL_WAIT, &s);
            flush(c);
        } else {
            hear(c, true);
        }
        if (c->over != METASIM_OK)
            return c->over;
    }
    c->asked = asked;
    c->waiting = !before(goal(c, want, messages), c->granted) && compare(c->granted, c->until) != 0;
    if (c->timed > 0)
        c->went_on = clock_now(CLOCK_MONOTONIC);
    return METASIM_OK;
}

static void free_all(deliveries *d)
{
    while (d->first != NULL) {
        delivery *next = d->first->next;
        free(d->first);
        d->first = next;
    }
    d->last = NULL;
}

static void push(deliveries *d, delivery *new)
{
    new->next = NULL;
    if (d->last == NULL)
        d->first = new;
    else
        d->last->next = new;
    d->last = new;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *from = data;
    uint64_t word;
    hash = mix(hash, size);
    for (; size >= sizeof word; from += sizeof word, size -= sizeof word) {
        memcpy(&word, from, sizeof word);
        hash = mix(hash, word);
    }
    word = 0;
    memcpy(&word, from, size);
    return mix(hash, word);
}

static uint64_t hash_message(const metasim_message *m)
{
    uint64_t hash = mix_bytes(mix_bytes(0, m->from, strlen(m->from)), m->channel, strlen(m->channel));
    hash = mix(mix(mix(hash, m->seq), (uint64_t)m->sent.time), m->sent.step);
    return mix_bytes(mix(mix(hash, (uint64_t)m->due.time), m->due.step), m->payload, m->size);
}

/* Remembers a delivery that the client handles, by its number. */
static void remember_handled(metasim_client *c, const metasim_message *d)
{
    memory *m = &c->memory;
    size_t place = (size_t)((c->handled - 1) % KEPT_DELIVERIES), room = m->room == 0 ? 64 : 2 * m->room;
    if (place >= m->room) {
        uint64_t *more = realloc(m->handled, room * sizeof *more);
        if (more == NULL) {
            finish(c, METASIM_NO_MEMORY, "%s", NO_MEMORY);
            return;
        }
        m->handled = more;
        m->room = room;
    }
    m->handled[place] = hash_message(d);
    m->due = later(m->due, d->due);
}

static void forget_first(memory *m)
{
    kept *first = m->first;
    m->first = first->next;
    m->count--;
    m->bytes -= first->size;
    free(first);
}

/* Remembers a send. channel is that of the declaration, which stays. */
static void remember_send(metasim_client *c, const char *channel, const void *payload, size_t size)
{
    memory *m = &c->memory;
    kept *k = malloc(sizeof *k + size);
    if (k == NULL) {
        finish(c, METASIM_NO_MEMORY, "%s", NO_MEMORY);
        return;
    }
    k->next = NULL;
    k->channel = channel;
    k->sent = c->now;
    k->size = size;
    k->early = !m->waited;
    if (size > 0)
        memcpy(k + 1, payload, size);
    if (m->first == NULL)
        m->first = k;
    else
        m->last->next = k;
    m->last = k;
    m->sent++;
    m->bytes += size;
    for (m->count++; m->count > KEPT_SENDS || (m->bytes > KEPT_BYTES && m->count > 1);)
        forget_first(m);
}

/* Takes the next message: it counts as handled. */
static delivery *pop(metasim_client *c)
{
    delivery *d = c->given.first;
    c->given.first = d->next;
    if (d->next == NULL)
        c->given.last = NULL;
    c->handled++;
    if (c->memory.patience > 0)
        remember_handled(c, &d->message);
    c->cause = earlier(c->cause, d->message.due);
    return d;
}

static service *service_on(const metasim_client *c, const char *channel);                  /* that hears this channel, NULL for none */
static metasim_code serve(metasim_client *c, service *s, delivery *d); /* gives a message to its service, and returns what that says */

/* Handles all messages due at an instant or before it: services take theirs, and the others go to shown. Returns the first failure of a service. */
static metasim_code handle(metasim_client *c, metasim_instant until, deliveries *shown)
{
    metasim_code code = METASIM_OK, said;
    deliveries all = {NULL, NULL};
    while (c->given.first != NULL && !before(until, c->given.first->message.due))
        push(&all, pop(c));
    while (all.first != NULL) {
        delivery *d = all.first;
        service *s = service_on(c, d->message.channel);
        all.first = d->next;
        if (s == NULL) {
            push(shown, d);
        } else if (c->over != METASIM_OK) {
            free(d);
        } else {
            c->serving = true;
            c->serves = d->message.due;
            said = serve(c, s, d);
            code = code == METASIM_OK ? said : code;
            c->serving = false;
        }
    }
    return code;
}

static void forget_ready(metasim_client *c)
{
    free_all(&c->ready);
    free(c->current);
    c->current = NULL;
}

static metasim_code not_joined(metasim_client *c)
{
    return c->over != METASIM_OK ? is_over(c) : failed(c, METASIM_MISTAKE, "client \"%s\" has not joined; call metasim_join first", c->name);
}

/* Notes that a publish, a timer or a step was refused: metasim_run returns the first. */
static metasim_code refused(metasim_client *c)
{
    if (c->refused == METASIM_OK) {
        c->refused = c->code;
        c->refused_text = copy_text(metasim_error(c), strlen(metasim_error(c)));
    }
    return c->code;
}

/* A client that has looked so often in vain looks once in so many times. */
enum { LOOKS = 16 };

/* Looks whether the server has authorized more, before the client says that it waits. Where it never has, a look is a system call for nothing. */
static metasim_code look(metasim_client *c)
{
    metasim_instant had = c->granted;
    metasim_code code;
    if (c->fruitless >= LOOKS && c->fruitless % LOOKS != 0) {
        c->fruitless++;
        return METASIM_OK;
    }
    code = hear(c, false);
    c->fruitless = before(had, c->granted) ? 0 : c->fruitless + 1;
    return code;
}

static metasim_code may_advance(metasim_client *c, int64_t time, bool messages)
{
    char text[64];
    if (c->over != METASIM_OK || !c->started)
        return not_joined(c);
    if (c->running) {
        failed(c, METASIM_MISTAKE, "client \"%s\" cannot step in a handler of metasim_run; set a timer instead", c->name);
        return refused(c);
    }
    if (c->serving)
        return failed(c, METASIM_MISTAKE, "client \"%s\" cannot step in the handler of a service; return, and reply after a later step", c->name);
    if (c->waiting && (!messages || time != c->waits_until))
        return failed(c, METASIM_MISTAKE, "client \"%s\" still waits for the next message until %lld ns, since a timeout; call metasim_next or metasim_next_within again for this time", c->name,
                      (long long)c->waits_until);
    if (time < c->now.time)
        return failed(c, METASIM_TIME_REGRESS, "client \"%s\" cannot go back to %lld ns: it is at %s; advance to a later time", c->name, (long long)time, words_of(c->now, text));
    return METASIM_OK;
}

/* Advances to a time, or to the next message, and handles what is due: see handle. */
static metasim_code go_to(metasim_client *c, int64_t time, bool messages, deliveries *shown)
{
    metasim_instant want = later(at(time), c->now), next;
    metasim_code code = METASIM_OK;
    char text[64];
    bool waited;
    if (!messages)
        c->promise = later(c->promise, want);
    if (!before(goal(c, want, messages), c->granted) && look(c) != METASIM_OK)
        return c->over;
    waited = c->waiting; /* the server knows what the client is after */
    if (!waited && before(goal(c, want, messages), c->granted) && go_on(c, messages ? c->now : want, want) != METASIM_OK)
        return c->over;
    if ((waited || !before(goal(c, want, messages), c->granted)) && wait_until(c, want, messages) != METASIM_OK) /* also where it came back meanwhile */
        return c->over;
    c->waits_until = time;
    if (c->waiting)
        return failed(c, METASIM_TIMEOUT, "client \"%s\" has waited for as long as it wanted, at %s; call metasim_next_within again", c->name, words_of(c->now, text));
    next = goal(c, want, messages);
    if (before(next, c->granted)) {
        c->now = next;
        code = handle(c, next, shown);
        return c->over != METASIM_OK ? is_over(c) : code;
    }
    if (!messages)
        code = handle(c, c->granted, shown);
    if (c->over != METASIM_OK || code != METASIM_OK)
        return c->over != METASIM_OK ? is_over(c) : code; /* the next call says that the run ends */
    return failed(c, METASIM_END, "client \"%s\": the run ends at %s, before %lld ns; leave now", c->name, words_of(c->until, text), (long long)time);
}

static metasim_code advance(metasim_client *c, int64_t time, bool messages)
{
    metasim_code code = may_advance(c, time, messages);
    if (code != METASIM_OK)
        return code;
    forget_ready(c);
    c->ready = c->meanwhile;
    c->meanwhile.first = c->meanwhile.last = NULL;
    return messages && c->ready.first != NULL ? METASIM_OK : go_to(c, time, messages, &c->ready);
}

static void put_hello(metasim_client *c)
{
    bytes b = {NULL, 0, 0, false};
    small version = {{0}, 0}, last = {{0}, 0}, back = {{0}, 0};
    size_t i;
    put_number(&version, 1, METASIM_PROTOCOL);
    append(&b, version.data, version.size);
    put_text(&b, 2, c->name);
    put_text(&b, 3, c->token);
    for (i = 0; i < c->publishes; i++)
        put_text(&b, 4, c->publications[i]);
    for (i = 0; i < c->subscribes; i++)
        put_text(&b, 5, c->subscriptions[i]);
    put_number(&last, 6, (uint64_t)c->reaction);
    put_number(&last, 7, MINOR);
    put_number(&last, 10, c->returns);
    if (c->memory.coming) {
        put_number(&back, 1, c->memory.sent);
        put_number(&back, 2, c->handled);
        put_small(&last, 11, &back);
    }
    put_packet(c, HELLO, b.data, b.size, last.data, last.size, NULL, 0);
    c->out.failed = c->out.failed || b.failed;
    free(b.data);
}

/* ---- decoding ---- */

typedef struct cursor {
    const uint8_t *at, *end;
    bool wrong;
} cursor;

/* A field: a number, or the bytes from data on. */
typedef struct field {
    uint64_t number; /* of the field */
    bool is_bytes;
    uint64_t value; /* or how many bytes */
    const uint8_t *data;
} field;

static uint64_t varint(cursor *r)
{
    uint64_t n = 0;
    unsigned shift;
    for (shift = 0; shift < 70 && r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;
        if (shift == 63 && byte > 1)
            break; /* more than 64 bits */
        n |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return n;
    }
    r->wrong = true;
    return 0;
}

/* Reads the next field. Returns false at the end, and where the bytes are wrong. */
static bool next_field(cursor *r, field *f)
{
    uint64_t tag;
    if (r->wrong || r->at == r->end)
        return false;
    tag = varint(r);
    f->number = tag >> 3;
    f->is_bytes = (tag & 7) == 2;
    f->value = varint(r);
    f->data = r->at;
    if (f->number == 0 || f->number > (1u << 29) - 1 || ((tag & 7) != 0 && !f->is_bytes) || (f->is_bytes && f->value > (uint64_t)(r->end - r->at)))
        r->wrong = true;
    if (r->wrong)
        return false;
    if (f->is_bytes)
        r->at += f->value;
    return true;
}

/* What is in a field: of a number, nothing. */
static cursor inside(const field *f)
{
    cursor r = {NULL, NULL, false};
    r.at = f->data;
    r.end = f->data + (f->is_bytes ? f->value : 0);
    return r;
}

/* Whether a field is that number, and of that kind. */
static bool is(const field *f, unsigned number, bool is_bytes) { return f->number == number && f->is_bytes == is_bytes; }

static bool small_number(const field *f, uint32_t *to)
{
    *to = (uint32_t)f->value;
    return f->value <= UINT32_MAX;
}

/* Reads an instant into one that may have been read before: a message that comes twice is merged. */
static bool read_instant(const field *f, metasim_instant *to)
{
    cursor r = inside(f);
    field in;
    bool infinite = to->time == METASIM_FOREVER;
    metasim_instant i = infinite ? ORIGIN : *to;
    while (next_field(&r, &in)) {
        if (is(&in, 1, false) && in.value < METASIM_FOREVER)
            i.time = (int64_t)in.value;
        else if (is(&in, 2, false) && small_number(&in, &i.step))
            continue;
        else if (is(&in, 3, false) && in.value <= 1)
            infinite = in.value == 1;
        else
            return false;
    }
    if (infinite && compare(i, ORIGIN) != 0)
        return false;
    *to = infinite ? INFINITE : i;
    return !r.wrong;
}

static bool is_utf8(const uint8_t *s, uint64_t size)
{
    uint64_t i = 0;
    while (i < size) {
        uint8_t b = s[i];
        unsigned more = b < 0x80 ? 0 : b >= 0xc2 && b < 0xe0 ? 1 : b >= 0xe0 && b < 0xf0 ? 2 : b >= 0xf0 && b < 0xf5 ? 3 : 4, k;
        if (more == 4 || size - i <= more)
            return false;
        for (k = 1; k <= more; k++)
            if ((s[i + k] & 0xc0) != 0x80)
                return false;
        if ((b == 0xe0 && s[i + 1] < 0xa0) || (b == 0xed && s[i + 1] > 0x9f) || (b == 0xf0 && s[i + 1] < 0x90) || (b == 0xf4 && s[i + 1] > 0x8f))
            return false;
        i += more + 1;
    }
    return true;
}

/* Whether a field is a name: of so many bytes at most, and none of them zero, as C could not say it. */
static bool is_name(const field *f, uint64_t most) { return f->value <= most && is_utf8(f->data, f->value) && (f->value == 0 || memchr(f->data, 0, (size_t)f->value) == NULL); }

static metasim_code malformed(metasim_client *c, const char *what)
{
    return finish(c, METASIM_PROTOCOL_ERROR, "client \"%s\": the server sent %s; use a server and a client of the same version", c->name, what);
}

static metasim_code no_memory(metasim_client *c) { return finish(c, METASIM_NO_MEMORY, "%s", NO_MEMORY); }

/* Keeps a text that the server tells, of so many bytes at most. */
static bool keep_text(const field *f, uint64_t most, char **to)
{
    if (!is_name(f, most))
        return false;
    free(*to);
    *to = copy_text(f->data, (size_t)f->value);
    return true;
}

/* In a scenario inside of another one the client joins as "cell/arm" or "cell/arm-1", and is "arm" or "arm-1" there. */
static void find_own_name(metasim_client *c)
{
    size_t all = strlen(c->name), entry = strlen(c->entry), tail;
    char number[16];
    int own;
    for (own = 0; own < 2; own++) {
        number[0] = '\0';
        if (own == 1)
            snprintf(number, sizeof number, "-%lu", (unsigned long)c->index);
        tail = entry + strlen(number);
        if (all > tail && c->name[all - tail - 1] == '/' && memcmp(c->name + all - tail, c->entry, entry) == 0 && strcmp(c->name + all - tail + entry, number) == 0)
            c->own = all - tail;
    }
}

/* Whether others may call the client so: by its own name, or from a scenario around its own by a longer one. */
static bool is_called(const metasim_client *c, const void *name, size_t size)
{
    size_t all = strlen(c->name);
    return size >= all - c->own && size <= all && memcmp(c->name + all - size, name, size) == 0 && (size == all || c->name[all - size - 1] == '/');
}

static bool take_about(metasim_client *c, cursor r)
{
    field f;
    while (next_field(&r, &f))
        if (!(is(&f, 1, true) && keep_text(&f, MAX_NAME, &c->entry)) && !(is(&f, 2, false) && small_number(&f, &c->index)) &&
            !(is(&f, 3, false) && small_number(&f, &c->count)) && !(is(&f, 4, true) && keep_text(&f, MAX_CONTROL, &c->with)) &&
            !(is(&f, 5, true) && keep_text(&f, MAX_CONTROL, &c->directory)))
            return false;
    if (c->entry != NULL && c->entry[0] != '\0')
        find_own_name(c);
    return !r.wrong;
}

static bool take_known(cursor r, known *to)
{
    field f;
    while (next_field(&r, &f)) {
        if (is(&f, 1, false))
            to->sent = f.value;
        else if (is(&f, 2, false))
            to->delivered = f.value;
        else if (!(is(&f, 3, true) && read_instant(&f, &to->now)) && !(is(&f, 4, true) && read_instant(&f, &to->floor)))
            return false;
    }
    return !r.wrong;
}

/* Takes what a resumed server has of the client, which ends if it cannot catch up from there. */
static metasim_code compare_known(metasim_client *c, bool same, bool told)
{
    memory *m = &c->memory;
    uint64_t forgotten = m->sent - m->count, i;
    m->skip = c->handled - (c->handled < m->known.delivered ? c->handled : m->known.delivered);
    if (!told)
        failed(c, METASIM_MISTAKE, "client \"%s\": the server that it came back to does not know that a client can: resume the run with the metasim that began it", c->name);
    else if (!same)
        failed(c, METASIM_MISTAKE, "client \"%s\" came back to another run than that of \"%s\" with seed %llu; resume the run that it takes part in", c->name, c->scenario,
               (unsigned long long)c->seed);
    else if (m->known.sent > m->sent)
        failed(c, METASIM_MISTAKE, "client \"%s\": the resumed server has %llu messages of it, and it has sent %llu: another process took part under its name; start it again", c->name,
               (unsigned long long)m->known.sent, (unsigned long long)m->sent);
    else if (m->known.sent < forgotten)
        failed(c, METASIM_MISTAKE, "client \"%s\" is ahead of the resumed server by %llu messages that it has sent, and remembers the last %lu; start it again, or run with --durable",
               c->name, (unsigned long long)(m->sent - m->known.sent), (unsigned long)m->count);
    else if (m->skip > KEPT_DELIVERIES)
        failed(c, METASIM_MISTAKE, "client \"%s\" is ahead of the resumed server by %llu messages that it was given, and remembers the last %d; start it again, or run with --durable",
               c->name, (unsigned long long)m->skip, KEPT_DELIVERIES);
    else {
        for (m->again = m->first, i = forgotten; i < m->known.sent; i++)
            m->again = m->again->next;
        return METASIM_OK;
    }
    return finish(c, METASIM_MISTAKE, "%s", metasim_error(c));
}

static metasim_code take_welcome(metasim_client *c, cursor r)
{
    field f, scenario = {0, true, 0, (const uint8_t *)""};
    uint64_t seed = 0;
    int64_t patience = 0;
    known has = {0, 0, {0, 0}, {0, 0}};
    bool told = false, coming = c->memory.coming;
    while (next_field(&r, &f)) {
        if (is(&f, 1, true) && is_name(&f, MAX_NAME)) {
            scenario = f;
        } else if (is(&f, 4, true) && (coming || take_about(c, inside(&f)))) { /* it knows it, and its program may have it */
            continue;
        } else if (is(&f, 2, false)) {
            seed = f.value;
        } else if (is(&f, 3, false) && f.value <= UINT32_MAX) {
            c->timed = f.value;
        } else if (is(&f, 5, false) && f.value <= INT64_MAX) {
            patience = (int64_t)f.value;
        } else if (is(&f, 6, true) && take_known(inside(&f), &has)) {
            told = true;
        } else {
            r.wrong = true;
        }
    }
    if (r.wrong)
        return malformed(c, "a Welcome that cannot be read");
    if (coming) {
        c->memory.known = has;
        return compare_known(c, seed == c->seed && strlen(c->scenario) == scenario.value && memcmp(c->scenario, scenario.data, (size_t)scenario.value) == 0, told);
    }
    c->seed = seed;
    if (c->returns)
        c->memory.patience = patience;
    return keep_text(&scenario, MAX_NAME, &c->scenario) && c->scenario != NULL ? METASIM_OK : no_memory(c);
}

/* Reads a body of instants: the first into a, the second, where there may be one, into b. */
static bool read_instants(cursor r, metasim_instant *a, metasim_instant *b)
{
    field f;
    while (next_field(&r, &f))
        if (!(is(&f, 1, true) && read_instant(&f, a)) && !(b != NULL && is(&f, 2, true) && read_instant(&f, b)))
            return false;
    return !r.wrong;
}

static metasim_code take_start(metasim_client *c, cursor r)
{
    metasim_instant until = {0, 0};
    if (!read_instants(r, &until, NULL))
        return malformed(c, "a Start that cannot be read");
    c->started = true;
    c->until = until;
    return METASIM_OK;
}

static metasim_code take_authorize(metasim_client *c, cursor r)
{
    metasim_instant until = {0, 0}, quiet = {0, 0};
    if (!read_instants(r, &until, &quiet))
        return malformed(c, "an AuthorizeAdvance that cannot be read");
    c->granted = later(c->granted, until);
    return METASIM_OK;
}

static metasim_code take_refuse(metasim_client *c, cursor r)
{
    field f, text = {0, true, 0, NULL};
    while (next_field(&r, &f)) /* a server of another version may say more */
        if (is(&f, 2, true))
            text = f;
    if (r.wrong || text.value > MAX_TEXT || !is_utf8(text.data, text.value))
        return malformed(c, "a Refuse that cannot be read");
    return finish(c, METASIM_REFUSED, "%.*s", (int)text.value, text.value == 0 ? "" : (const char *)text.data);
}

static metasim_code take_introduce(metasim_client *c, cursor r)
{
    field f, name = {0, true, 0, NULL};
    uint32_t number = 0;
    while (next_field(&r, &f)) {
        if (is(&f, 1, false) && small_number(&f, &number))
            continue;
        if (is(&f, 2, true) && is_name(&f, MAX_NAME))
            name = f;
        else
            r.wrong = true;
    }
    if (r.wrong)
        return malformed(c, "an Introduce that cannot be read");
    if (find_name(&c->clients, &number, sizeof number) != NULL)
        return malformed(c, "the name of a client twice");
    c->clients_size += (size_t)name.value + NAME_COST;
    if (c->clients_size > MAX_NAMES)
        return malformed(c, "more names than fit into 64 MiB");
    return add_name(&c->clients, &number, sizeof number, name.data, (size_t)name.value) == NULL ? no_memory(c) : METASIM_OK;
}

/* The name of a channel, which is kept once. Returns NULL if there is no memory. */
static const char *keep_channel(metasim_client *c, const void *text, size_t size)
{
    const char *known = find_name(&c->channels, text, size);
    return known != NULL ? known : add_name(&c->channels, text, size, text, size);
}

/* Takes a delivery that the client has handled before, while it comes back. */
static metasim_code take_again(metasim_client *c, delivery *d)
{
    uint64_t number = c->handled - c->memory.skip-- + 1;
    bool same = c->memory.handled[(number - 1) % KEPT_DELIVERIES] == hash_message(&d->message);
    char due[64];
    if (!same)
        finish(c, METASIM_MISTAKE,
               "client \"%s\": delivery %llu, of \"%s\" on \"%s\" at %s, is not what it was given before its server was lost: \"%s\" did not repeat what it did; make it deterministic, or "
               "run with --durable",
               c->name, (unsigned long long)number, d->message.from, d->message.channel, words_of(d->message.due, due), d->message.from);
    free(d);
    return c->over;
}

static metasim_code take_delivered(metasim_client *c, cursor r)
{
    field f, channel = {0, true, 0, (const uint8_t *)""}, payload = {0, true, 0, NULL};
    metasim_message m = {NULL, NULL, 0, {0, 0}, {0, 0}, NULL, 0};
    uint32_t from = 0;
    delivery *d;
    while (next_field(&r, &f)) {
        if (is(&f, 1, false) || (is(&f, 2, false) && small_number(&f, &from)) || (is(&f, 5, true) && read_instant(&f, &m.sent)) || (is(&f, 6, true) && read_instant(&f, &m.due)))
            continue;
        if (is(&f, 3, false))
            m.seq = f.value;
        else if (is(&f, 4, true) && is_name(&f, MAX_NAME))
            channel = f;
        else if (is(&f, 7, true) && f.value <= MAX_PAYLOAD)
            payload = f;
        else
            r.wrong = true;
    }
    if (r.wrong)
        return malformed(c, "a DeliveredMessage that cannot be read");
    m.from = find_name(&c->clients, &from, sizeof from);
    if (m.from == NULL)
        return malformed(c, "a message from a client that it has not introduced");
    m.channel = keep_channel(c, channel.data, (size_t)channel.value);
    d = m.channel == NULL ? NULL : malloc(sizeof *d + (size_t)payload.value);
    if (d == NULL)
        return no_memory(c);
    if (payload.value > 0)
        memcpy(d + 1, payload.data, (size_t)payload.value);
    m.payload = d + 1;
    m.size = (size_t)payload.value;
    d->message = m;
    if (c->memory.coming && c->memory.skip > 0)
        return take_again(c, d);
    push(&c->given, d);
    return METASIM_OK;
}

static metasim_code take_body(metasim_client *c, const field *f)
{
    cursor r = inside(f);
    switch (f->number) {
    case WELCOME: return take_welcome(c, r);
    case START: return take_start(c, r);
    case GOODBYE: return finish(c, METASIM_LEFT, "client \"%s\" has left the run; leave last", c->name);
    case REFUSE: return take_refuse(c, r);
    case DELIVERED: return take_delivered(c, r);
    case AUTHORIZE: return take_authorize(c, r);
    case INTRODUCE: return take_introduce(c, r);
    default: return malformed(c, "a message that a server does not send");
    }
}

static metasim_code take_frame(metasim_client *c, const uint8_t *data, size_t size)
{
    cursor r = {NULL, NULL, false};
    field packet, body;
    r.at = data;
    r.end = data + size;
    while (c->over == METASIM_OK && next_field(&r, &packet)) {
        cursor in = inside(&packet);
        if (!is(&packet, 1, true) || !next_field(&in, &body) || (is(&body, MEMBER, false) && (body.value != 0 || !next_field(&in, &body))) || !body.is_bytes || in.at != in.end)
            return malformed(c, "a packet that cannot be read");
        take_body(c, &body);
    }
    return r.wrong ? malformed(c, "a frame that cannot be read") : c->over;
}

static metasim_code hear(metasim_client *c, bool wait)
{
    if (c->over != METASIM_OK || (read_some(c, wait) == 0 && c->over == METASIM_OK))
        return c->over;
    if (c->over == METASIM_LOST)
        return come_back(c);
    while (c->over == METASIM_OK && c->in.size - c->parsed >= 4) {
        const uint8_t *b = c->in.data + c->parsed;
        size_t size = (size_t)b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
        if (size == 0 || size > MAX_FRAME)
            return malformed(c, "a frame of 0 bytes, or of more than 64 MiB");
        if (c->in.size - c->parsed - 4 < size)
            break;
        c->parsed += 4 + size;
        take_frame(c, b + 4, size);
    }
    return c->over == METASIM_OK ? METASIM_OK : is_over(c);
}

/* ---- ending ---- */

/* Tells the server why the client ends, and where it is. It waits for no answer. */
static void tell_failure(metasim_client *c, const char *reason)
{
    bytes text = {NULL, 0, 0, false};
    small s = {{0}, 0};
    char *cut = copy_text(reason, strlen(reason) < MAX_TEXT ? strlen(reason) : MAX_TEXT);
    c->memory.patience = 0; /* it ends, and need not come back to say so */
    if (cut == NULL)
        return;
    while (!is_utf8((const uint8_t *)cut, strlen(cut)))
        cut[strlen(cut) - 1] = '\0';
    if (c->started) {
        put_report(c, &s, c->now, c->now);
        put_body(c, ADVANCE, &s);
    }
    put_text(&text, 1, cut);
    put_packet(c, FAILED, text.data, text.size, NULL, 0, NULL, 0);
    free(text.data);
    free(cut);
    flush(c);
}

/* Ends the client by the failure of the last call: the server is told, and later calls return it too. */
static metasim_code give_up(metasim_client *c)
{
    metasim_code code = c->code;
    char *why = copy_text(metasim_error(c), strlen(metasim_error(c)));
    if (c->wire.socket >= 0)
        tell_failure(c, why == NULL ? NO_MEMORY : why);
    disconnect(c);
    finish(c, code, "%s", why == NULL ? NO_MEMORY : why);
    free(why);
    return is_over(c);
}

/* ---- coming back to a server that was resumed ---- */

/*
 * The client says how much it has sent and handled, and the server how much of that its journal has. What the journal lacks the client sends again, as one that steps from one of
 * its sends to the next and then to where it is: the resumed server may be behind, and authorizes each of these sends again. What it is given again it has handled: it compares
 * hashes, and drops it. What it was given and had not handled it forgets, and is given again.
 */

/* Waits for an instant, before which the client sends nothing more. */
static void ask(metasim_client *c, metasim_instant want)
{
    memory *m = &c->memory;
    metasim_instant floor = later(m->known.floor, want);
    small s = {{0}, 0};
    if (m->asked && compare(m->want, want) == 0)
        return;
    m->asked = true;
    m->want = want;
    put_numbers(&s, later(m->known.now, m->clock), floor, floor, c->handled - m->skip);
    put_instant(&s, 2, want);
    put_body(c, POLL_WAIT, &s);
}

/* Puts what the client may tell its new server by now. Returns true when the client is where it was. */
static bool caught_up(metasim_client *c)
{
    memory *m = &c->memory;
    metasim_instant last = later(c->now, m->due);
    if (!c->started)
        return false;
    for (; m->again != NULL; m->again = m->again->next) {
        if (!m->again->early && !before(m->again->sent, c->granted)) {
            ask(c, m->again->sent);
            return false;
        }
        put_send(c, m->again->channel, m->again->sent, m->again + 1, m->again->size);
        m->clock = m->again->sent;
    }
    if (compare(last, ORIGIN) != 0 && (m->skip > 0 || !before(last, c->granted))) {
        ask(c, last);
        return false;
    }
    m->said = later(m->said, m->known.now);
    return true;
}

/* Forgets what belongs to the connection that was lost. */
static bool begin_anew(metasim_client *c)
{
    memory *m = &c->memory;
    if (c->clients.used > 0) {
        names *past = realloc(c->past, (c->past_count + 1) * sizeof *past);
        if (past == NULL)
            return false;
        c->past = past;
        past[c->past_count++] = c->clients;
    }
    memset(&c->clients, 0, sizeof c->clients);
    c->clients_size = 0;
    disconnect(c);
    c->out.size = c->frame = c->in.size = c->parsed = 0;
    free_all(&c->given);
    c->started = m->asked = false;
    c->granted = m->clock = ORIGIN;
    m->again = NULL;
    return true;
}

/* Connects, and returns METASIM_OK when the client is where it was. */
static metasim_code try_again(metasim_client *c)
{
    metasim_code code;
    bool there = false;
    if (!begin_anew(c))
        return no_memory(c);
    if (connect_to(c) != METASIM_OK)
        return c->over;
    put_hello(c);
    while ((code = flush(c)) == METASIM_OK && !there && (code = hear(c, true)) == METASIM_OK)
        there = caught_up(c);
    if (code != METASIM_MISTAKE)
        return code;
    c->over = METASIM_OK; /* the server is told why the client ends, and not how far it is by now */
    free(c->over_text);
    c->over_text = NULL;
    c->started = false;
    return give_up(c);
}

/* A lost connection is no end while the server may be resumed. */
static void go_on_living(metasim_client *c)
{
    c->over = c->code = METASIM_OK;
    free(c->over_text);
    c->over_text = NULL;
}

static metasim_code tell_lost(metasim_client *c)
{
    metasim_code code;
    if (c->on_lost == NULL)
        return METASIM_OK;
    code = c->on_lost(c, NULL, c->on_lost_user);
    return c->over != METASIM_OK ? c->over : code;
}

/* Waits for the server that was lost to be resumed, and catches up there. Returns METASIM_OK when the client is where it was; then it says again what it waited for. */
static metasim_code come_back(metasim_client *c)
{
    memory *m = &c->memory;
    int64_t end = add(clock_now(CLOCK_MONOTONIC), m->patience), pause = 10000000;
    char *why;
    if (m->patience == 0 || m->coming)
        return is_over(c);
    why = copy_text(metasim_error(c), strlen(metasim_error(c)));
    if (why == NULL)
        return is_over(c);
    go_on_living(c);
    failed(c, METASIM_LOST, "%s; it waits %.3f s for metasim resume, or for its relay", why, (double)m->patience / 1e9);
    m->coming = true;
    if (tell_lost(c) != METASIM_OK) {
        finish(c, METASIM_LOST, "%s", why);
        end = 0;
    }
    while (c->over == METASIM_OK) {
        int64_t left = end - clock_now(CLOCK_MONOTONIC);
        struct timespec time = {0, 0};
        if (left <= 0) {
            finish(c, METASIM_LOST,
                   "%s; nobody was at its address again within %.3f s: use metasim resume, or start its relay there again, as the client knows no other address; raise "
                   "start_timeout if that takes longer",
                   why, (double)m->patience / 1e9);
            break;
        }
        time.tv_nsec = (long)(pause < left ? pause : left);
        nanosleep(&time, NULL); /* a signal that ends it early does no harm */
        pause = 2 * pause < 500000000 ? 2 * pause : 500000000;
        m->lives++;
        if (try_again(c) == METASIM_OK)
            break;
        if (c->over == METASIM_LOST)
            go_on_living(c); /* it is not there yet */
    }
    free(why);
    m->coming = false;
    if (c->over == METASIM_OK)
        go_on_living(c);
    return c->over == METASIM_OK ? METASIM_OK : is_over(c);
}

/* ---- calls ---- */

metasim_client *metasim_new(const metasim_options *options)
{
    metasim_client *c = calloc(1, sizeof *c);
    metasim_options o = {sizeof o, NULL, NULL, NULL};
    const char *own = getenv("METASIM_CLIENT"), *server, *token;
    if (c == NULL)
        return NULL;
    if (options != NULL)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    server = o.server != NULL ? o.server : getenv("METASIM_SERVER");
    token = o.token != NULL ? o.token : getenv("METASIM_TOKEN");
    if (o.name == NULL)
        o.name = own == NULL ? "" : own;
    c->alone = own != NULL && strcmp(o.name, own) == 0;
    c->server = copy_text(server == NULL ? "" : server, server == NULL ? 0 : strlen(server));
    c->token = copy_text(token == NULL ? "" : token, token == NULL ? 0 : strlen(token));
    c->name = copy_text(o.name, strlen(o.name));
    c->wire.socket = -1;
    c->returns = true;
    c->until = c->cause = INFINITE;
    if (c->server == NULL || c->token == NULL || c->name == NULL) {
        metasim_free(c);
        return NULL;
    }
    return c;
}

/* A random stream: docs/protocol.md, section 6. */
struct metasim_random {
    metasim_random *next; /* of the same client */
    char *name;
    uint64_t hi, lo;
};

static void free_streams(metasim_random *r)
{
    while (r != NULL) {
        metasim_random *next = r->next;
        free(r->name);
        free(r);
        r = next;
    }
}

static void free_services(metasim_client *c)
{
    size_t i;
    for (i = 0; i < c->exchange_count; i++) {
        free(c->exchanges[i]->text);
        free(c->exchanges[i]->answer);
        free(c->exchanges[i]);
    }
    free(c->exchanges);
    while (c->services != NULL) {
        service *next = c->services->next;
        free(c->services->name);
        free(c->services);
        c->services = next;
    }
    free_all(&c->meanwhile);
    free(c->answer);
}

void metasim_free(metasim_client *c)
{
    size_t i;
    if (c == NULL)
        return;
    if (c->started && c->over == METASIM_OK)
        metasim_fail(c, "it was freed before it left");
    disconnect(c);
    for (i = 0; i < c->publishes; i++)
        free(c->publications[i]);
    for (i = 0; i < c->subscribes; i++)
        free(c->subscriptions[i]);
    forget_ready(c);
    free_all(&c->given);
    free_services(c);
    free_names(&c->channels);
    free_names(&c->clients);
    for (i = 0; i < c->past_count; i++)
        free_names(&c->past[i]);
    free(c->past);
    while (c->memory.first != NULL)
        forget_first(&c->memory);
    free(c->memory.handled);
    free(c->publications);
    free(c->subscriptions);
    free(c->server);
    free(c->name);
    free(c->token);
    free(c->scenario);
    free(c->entry);
    free(c->with);
    free(c->directory);
    free(c->mistake_text);
    free(c->text);
    free(c->over_text);
    free(c->refused_text);
    free(c->result);
    free_streams(c->streams);
    free(c->out.data);
    free(c->in.data);
    free(c->actions);
    free(c->slots);
    free(c->heap);
    free(c);
}

/* Keeps the first mistake in what is declared: metasim_join returns it. */
static metasim_code mistaken(metasim_client *c)
{
    if (c->mistake == METASIM_OK && c->code != METASIM_COMPLETE) {
        c->mistake = c->code;
        c->mistake_text = copy_text(metasim_error(c), strlen(metasim_error(c)));
    }
    return c->code;
}

metasim_code metasim_mistake(metasim_client *c, const char *sentence)
{
    failed(c, METASIM_MISTAKE, "client \"%s\": %s", c->name, sentence);
    return c->joined ? METASIM_MISTAKE : mistaken(c);
}

/* Adds a name to a list of declared names. size is what the list takes so far. */
static metasim_code declare(metasim_client *c, const char *what, char ***list, size_t *count, size_t *size, const char *name)
{
    char **more;
    if (c->joined)
        return failed(c, METASIM_COMPLETE, "client \"%s\": channels are fixed once the client has joined; declare \"%.40s\" before metasim_join", c->name, name);
    if (strlen(name) > MAX_NAME || !is_utf8((const uint8_t *)name, strlen(name)))
        return failed(c, METASIM_PROTOCOL_ERROR, "client \"%s\": %s of %lu bytes (\"%.40s\"...): a name is UTF-8 of at most %d; use a shorter name", c->name, what,
                      (unsigned long)strlen(name), name, MAX_NAME);
    if (*size + strlen(name) + LIST_COST > MAX_LIST)
        return failed(c, METASIM_PROTOCOL_ERROR, "client \"%s\": %lu names, each %s, take more than 1 MiB; use fewer or shorter names", c->name, (unsigned long)*count + 1, what);
    more = realloc(*list, (*count + 1) * sizeof *more);
    if (more == NULL)
        return no_memory(c);
    *list = more;
    more[*count] = copy_text(name, strlen(name));
    if (more[*count] == NULL)
        return no_memory(c);
    ++*count;
    *size += strlen(name) + LIST_COST;
    return METASIM_OK;
}

/* The name of a publication, as it was declared; NULL for none. */
static const char *publication_of(const metasim_client *c, const char *channel)
{
    size_t i;
    for (i = 0; i < c->publishes; i++)
        if (strcmp(c->publications[i], channel) == 0)
            return c->publications[i];
    return NULL;
}

metasim_code metasim_publication(metasim_client *c, const char *channel)
{
    if (publication_of(c, channel) != NULL)
        return METASIM_OK;
    if (channel[0] == '\0' && !c->joined)
        failed(c, METASIM_MISTAKE, "client \"%s\": a publication needs the name of a channel", c->name);
    else if (declare(c, "a publication", &c->publications, &c->publishes, &c->names_size[0], channel) == METASIM_OK)
        return METASIM_OK;
    return mistaken(c);
}

/* What is wrong with a regular expression, as far as that is seen without compiling it: the server says the rest. */
static const char *wrong_expression(const char *e)
{
    int open = 0;
    bool atom = false; /* something that can be repeated comes before */
    if (*e == '\0')
        return "it is empty; write the name of a channel, or .* for all";
    for (; *e != '\0'; e++) {
        switch (*e) {
        case '\\':
            if (*++e == '\0')
                return "it ends with \\";
            atom = true;
            break;
        case '[':
            e += e[1] == '^' ? 2 : 1;
            if (*e == ']')
                e++;
            while (*e != '\0' && *e != ']')
                e += *e == '\\' && e[1] != '\0' ? 2 : 1;
            if (*e == '\0')
                return "a [ is not closed";
            atom = true;
            break;
        case '(':
            if (e[1] == '?')
                return NULL; /* flags and names of groups: the server knows them */
            open++;
            atom = false;
            break;
        case ')':
            if (open-- == 0)
                return "a ) is not opened";
            atom = true;
            break;
        case '*':
        case '+':
        case '?':
            if (!atom)
                return "nothing comes before a * + or ?";
            break;
        case '|': atom = false; break;
        default: atom = true;
        }
    }
    return open > 0 ? "a ( is not closed" : NULL;
}

metasim_code metasim_subscription(metasim_client *c, const char *pattern)
{
    const char *wrong = c->joined ? NULL : wrong_expression(pattern);
    if (wrong != NULL)
        failed(c, METASIM_MISTAKE, "client \"%s\": subscription \"%s\" is neither the name of a channel nor a regular expression: %s", c->name, pattern, wrong);
    else if (declare(c, "a subscription", &c->subscriptions, &c->subscribes, &c->names_size[1], pattern) == METASIM_OK)
        return METASIM_OK;
    return mistaken(c);
}

metasim_code metasim_reaction(metasim_client *c, int64_t nanoseconds)
{
    if (c->joined)
        return failed(c, METASIM_COMPLETE, "client \"%s\": the reaction time is fixed once the client has joined; declare it before metasim_join", c->name);
    if (nanoseconds < 0) {
        failed(c, METASIM_MISTAKE, "client \"%s\": the reaction time is %lld ns; use a positive duration, or 0", c->name, (long long)nanoseconds);
        return mistaken(c);
    }
    c->reaction = nanoseconds;
    return METASIM_OK;
}

static metasim_code check_names(metasim_client *c)
{
    if (c->mistake != METASIM_OK)
        return failed(c, c->mistake, "%s", c->mistake_text == NULL ? NO_MEMORY : c->mistake_text);
    if (c->name[0] == '\0')
        return failed(c, METASIM_MISTAKE, "the client has no name; give metasim_new one, or set METASIM_CLIENT");
    if (strlen(c->name) > MAX_NAME || !is_utf8((const uint8_t *)c->name, strlen(c->name)))
        return failed(c, METASIM_PROTOCOL_ERROR, "a client with a name of %lu bytes (\"%.40s\"...): a name is UTF-8 of at most %d; use a shorter name", (unsigned long)strlen(c->name), c->name, MAX_NAME);
    if (strlen(c->token) > MAX_NAME || !is_utf8((const uint8_t *)c->token, strlen(c->token)))
        return failed(c, METASIM_PROTOCOL_ERROR, "client \"%s\": a token of %lu bytes: it is UTF-8 of at most %d; take METASIM_TOKEN as it is", c->name, (unsigned long)strlen(c->token), MAX_NAME);
    return METASIM_OK;
}

metasim_code metasim_join(metasim_client *c)
{
    metasim_code code;
    if (c->over != METASIM_OK)
        return is_over(c);
    if (c->joined)
        return failed(c, METASIM_COMPLETE, "client \"%s\" has joined already; make another client to join again", c->name);
    if ((code = check_names(c)) != METASIM_OK)
        return code;
    c->joined = true;
    if (c->wire.socket < 0 && (code = connect_to(c)) != METASIM_OK)
        return code;
    put_hello(c);
    code = flush(c);
    while (code == METASIM_OK && !c->started)
        code = hear(c, true);
    if (code == METASIM_OK && c->timed > 0) {
        c->went_on = clock_now(CLOCK_MONOTONIC);
        processor_time(c, LONG_STRETCH);
    }
    return code;
}

metasim_code metasim_step(metasim_client *c, int64_t time) { return advance(c, time, false); }
metasim_code metasim_next(metasim_client *c, int64_t limit) { return advance(c, limit, true); }

metasim_code metasim_next_within(metasim_client *c, int64_t limit, int milliseconds)
{
    metasim_code code;
    int64_t now = clock_now(CLOCK_MONOTONIC);
    c->deadline = now + (int64_t)(milliseconds < 0 ? 0 : milliseconds) * 1000000;
    code = advance(c, limit, true);
    c->deadline = 0;
    return code;
}

const metasim_message *metasim_receive(metasim_client *c)
{
    delivery *d = c->ready.first;
    free(c->current);
    c->current = d;
    if (d == NULL)
        return NULL;
    c->ready.first = d->next;
    if (d->next == NULL)
        c->ready.last = NULL;
    return &d->message;
}

static metasim_code check_publish(metasim_client *c, const char *channel, size_t size)
{
    char now[64], bound[64];
    if (publication_of(c, channel) == NULL)
        return failed(c, METASIM_MISTAKE, "client \"%s\" publishes on \"%.40s\", which it did not declare; call metasim_publication before metasim_join", c->name, channel);
    if (before(c->now, may_send_from(c)))
        return failed(c, METASIM_SEND_BEFORE_PROMISE, "client \"%s\" publishes on \"%.40s\" at %s, and promised to send nothing before %s; publish later, or promise less", c->name,
                      channel, words_of(c->now, now), words_of(may_send_from(c), bound));
    if (size > MAX_PAYLOAD)
        return failed(c, METASIM_PROTOCOL_ERROR, "client \"%s\" publishes %lu bytes on \"%.40s\" at %s: a payload has at most %d; split it", c->name, (unsigned long)size, channel,
                      words_of(c->now, now), MAX_PAYLOAD);
    if (c->now.step == UINT32_MAX)
        return failed(c, METASIM_PROTOCOL_ERROR, "client \"%s\" publishes on \"%.40s\" at %s, the last step of its time; publish at a later time", c->name, channel, words_of(c->now, now));
    return METASIM_OK;
}

metasim_code metasim_publish(metasim_client *c, const char *channel, const void *payload, size_t size)
{
    if (c->over != METASIM_OK || !c->started)
        return not_joined(c);
    if (check_publish(c, channel, size) != METASIM_OK)
        return c->running ? refused(c) : c->code;
    put_send(c, channel, c->now, payload, size);
    if (c->memory.patience > 0)
        remember_send(c, publication_of(c, channel), payload, size);
    if (c->over != METASIM_OK)
        return is_over(c);
    return c->out.size >= FULL || c->out.failed ? flush(c) : METASIM_OK;
}

metasim_code metasim_promise(metasim_client *c, int64_t time)
{
    metasim_instant to = at(time), bound;
    small s = {{0}, 0};
    char text[64], other[64];
    if (c->over != METASIM_OK || !c->started)
        return not_joined(c);
    if (time == c->now.time)
        to = later(to, c->now);
    bound = later(c->promise, c->now);
    if (before(to, bound))
        return failed(c, METASIM_PROMISE_REGRESS, "client \"%s\" promises to send nothing before %s, and is at %s or promised that already; promise a later time", c->name,
                      words_of(to, text), words_of(bound, other));
    c->promise = to;
    put_instant(&s, 1, to);
    put_body(c, PROMISE, &s);
    return flush(c);
}

static const char *skip_spaces(const char *s) { return s + strspn(s, " \t\r\n"); }

/* The end of a JSON string that begins at s, NULL if it is none. */
static const char *after_string(const char *s)
{
    for (s++; *s != '"'; s++) {
        if ((uint8_t)*s < 0x20)
            return NULL; /* also the end of the text */
        if (*s != '\\')
            continue;
        s++;
        if (*s == 'u' && strspn(s + 1, "0123456789abcdefABCDEF") >= 4)
            s += 4;
        else if (*s == '\0' || strchr("\"\\/bfnrt", *s) == NULL)
            return NULL;
    }
    return s + 1;
}

/* The end of a JSON number that begins at s, NULL if it is none. */
static const char *after_number(const char *s)
{
    static const char digits[] = "0123456789";
    size_t n;
    s += *s == '-';
    n = strspn(s, digits);
    if (n == 0 || (n > 1 && *s == '0'))
        return NULL;
    s += n;
    if (*s == '.') {
        n = strspn(s + 1, digits);
        if (n == 0)
            return NULL;
        s += n + 1;
    }
    if (*s == 'e' || *s == 'E') {
        s += s[1] == '+' || s[1] == '-' ? 2 : 1;
        n = strspn(s, digits);
        if (n == 0)
            return NULL;
        s += n;
    }
    return s;
}

enum { MOST_NESTED = 200 };

/* The end of a JSON value that begins at s or after spaces, NULL if it is none. */
static const char *after_value(const char *s, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    char close;
    size_t i;
    s = skip_spaces(s);
    for (i = 0; i < 3; i++)
        if (begins(s, words[i]))
            return s + strlen(words[i]);
    if (*s == '"')
        return after_string(s);
    if (*s != '{' && *s != '[')
        return after_number(s);
    if (depth == MOST_NESTED)
        return NULL;
    close = *s == '{' ? '}' : ']';
    s = skip_spaces(s + 1);
    if (*s == close)
        return s + 1;
    for (;; s = skip_spaces(s + 1)) {
        if (close == '}') {
            s = *s == '"' ? after_string(s) : NULL;
            if (s == NULL || *(s = skip_spaces(s)) != ':')
                return NULL;
            s++;
        }
        s = after_value(s, depth + 1);
        if (s == NULL)
            return NULL;
        s = skip_spaces(s);
        if (*s == close)
            return s + 1;
        if (*s != ',')
            return NULL;
    }
}

static bool is_json(const char *text)
{
    const char *end = after_value(text, 0);
    return end != NULL && *skip_spaces(end) == '\0' && is_utf8((const uint8_t *)text, strlen(text));
}

metasim_code metasim_result(metasim_client *c, const char *json)
{
    char *copy;
    if (c->over != METASIM_OK)
        return is_over(c);
    if (strlen(json) > MAX_RESULT)
        return failed(c, METASIM_PROTOCOL_ERROR, "client \"%s\": a result of %lu bytes; it has at most %d: say less at the end, or publish it", c->name, (unsigned long)strlen(json), MAX_RESULT);
    if (!is_json(json))
        return failed(c, METASIM_MISTAKE, "client \"%s\": a result is one JSON value in UTF-8, and this is not: %.60s", c->name, json);
    copy = copy_text(json, strlen(json));
    if (copy == NULL)
        return no_memory(c);
    free(c->result);
    c->result = copy;
    return METASIM_OK;
}

/* Calls the handler of metasim_on_leave. */
static metasim_code ask_result(metasim_client *c)
{
    metasim_handler handler = c->on_leave;
    metasim_code code;
    c->on_leave = NULL; /* it may leave itself */
    code = handler == NULL ? METASIM_OK : handler(c, NULL, c->on_leave_user);
    if (c->over != METASIM_OK || code == METASIM_OK)
        return c->over;
    if (c->code != code)
        failed(c, code, "client \"%s\": the handler of metasim_on_leave returned %d", c->name, (int)code);
    return give_up(c);
}

void metasim_on_leave(metasim_client *c, metasim_handler handler, void *user)
{
    c->on_leave = handler;
    c->on_leave_user = user;
}

void metasim_on_lost(metasim_client *c, metasim_handler handler, void *user)
{
    c->on_lost = handler;
    c->on_lost_user = user;
}

static void put_leave(metasim_client *c)
{
    small s = {{0}, 0};
    bytes result = {NULL, 0, 0, false};
    put_instant(&s, 1, later(c->now, c->memory.said));
    put_number(&s, 2, c->handled);
    if (c->result != NULL)
        put_text(&result, 3, c->result);
    put_packet(c, LEAVE, s.data, s.size, result.data, result.size, NULL, 0);
    c->out.failed = c->out.failed || result.failed;
    free(result.data);
}

metasim_code metasim_leave(metasim_client *c)
{
    int life = -1;
    if (c->over == METASIM_LEFT)
        return METASIM_OK;
    if (c->over != METASIM_OK || !c->started)
        return not_joined(c);
    if (ask_result(c) != METASIM_OK)
        return c->over == METASIM_LEFT ? METASIM_OK : is_over(c);
    while (c->over == METASIM_OK) {
        if (life != c->memory.lives) { /* a server that was resumed is told again */
            life = c->memory.lives;
            put_leave(c);
            flush(c);
        } else {
            hear(c, true);
        }
    }
    disconnect(c);
    return c->over == METASIM_LEFT ? METASIM_OK : is_over(c);
}

metasim_code metasim_fail(metasim_client *c, const char *reason)
{
    if (c->over != METASIM_OK)
        return is_over(c);
    if (c->wire.socket >= 0)
        tell_failure(c, reason);
    disconnect(c);
    finish(c, METASIM_MISTAKE, "client \"%s\" has failed: %s", c->name, reason);
    return METASIM_OK;
}

int metasim_steps(metasim_client *c, int64_t period)
{
    int64_t to, behind;
    if (c->over == METASIM_OK && period <= 0) {
        failed(c, METASIM_MISTAKE, "client \"%s\" steps by %lld ns; use a positive period", c->name, (long long)period);
        give_up(c); /* metasim_leave returns it */
        return 0;
    }
    to = c->stepping ? add(c->stepped, period) : c->now.time;
    if (to < c->now.time) { /* the body of the loop has stepped itself */
        behind = (c->now.time - to) % period;
        to = add(c->now.time, behind == 0 ? 0 : period - behind);
    }
    if (metasim_step(c, to) != METASIM_OK) {
        if (c->over == METASIM_OK && c->code != METASIM_END && !c->running)
            give_up(c); /* the failure of a service, for one: metasim_leave returns it */
        return 0;
    }
    c->stepping = true;
    c->stepped = to;
    return 1;
}

/*
 * Random streams. SHA-256 keys a stream, PCG-DXSM draws from it: docs/protocol.md, section 6.
 */

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes, and of the square roots of the first 8 (FIPS 180-4). */
static const uint32_t SHA_ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
static const uint32_t SHA_BEGIN[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha_block(uint32_t h[8], const uint8_t block[64])
{
    uint32_t w[64], v[8];
    int i;
    for (i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (; i < 64; i++)
        w[i] = w[i - 16] + (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, h, sizeof v);
    for (i = 0; i < 64; i++) {
        uint32_t a = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + SHA_ROUNDS[i] + w[i];
        uint32_t b = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += a;
        v[0] = a + b;
    }
    for (i = 0; i < 8; i++)
        h[i] += v[i];
}

/* Hashes text of any length: the whole blocks, then the rest with the padding. */
static void sha256(uint32_t h[8], const uint8_t *text, size_t size)
{
    uint8_t rest[128] = {0};
    size_t left = size % 64, end = left < 56 ? 64 : 128, i;
    memcpy(h, SHA_BEGIN, sizeof SHA_BEGIN);
    for (i = 0; i + 64 <= size; i += 64)
        sha_block(h, text + i);
    memcpy(rest, text + i, left);
    rest[left] = 0x80;
    for (i = 0; i < 8; i++)
        rest[end - 1 - i] = (uint8_t)((uint64_t)size * 8 >> 8 * i);
    for (i = 0; i < end; i += 64)
        sha_block(h, rest + i);
}

static uint8_t *add_number(uint8_t *to, uint64_t value)
{
    int i;
    for (i = 0; i < 8; i++)
        *to++ = (uint8_t)(value >> 8 * i);
    return to;
}

static uint32_t swapped(uint32_t x) { return x >> 24 | (x >> 8 & 0xff00) | (x & 0xff00) << 8 | x << 24; }

/* Puts a stream where it begins. */
static bool key_stream(metasim_random *r, const metasim_client *c)
{
    static const char prefix[] = "metasim/random";
    size_t client = strlen(c->name), stream = strlen(r->name), size = sizeof prefix - 1 + 24 + client + stream;
    uint8_t *id = malloc(size), *to = id;
    uint32_t h[8];
    if (id == NULL)
        return false;
    memcpy(to, prefix, sizeof prefix - 1);
    to = add_number(to + sizeof prefix - 1, c->seed);
    to = add_number(to, client);
    memcpy(to, c->name, client);
    to = add_number(to + client, stream);
    memcpy(to, r->name, stream);
    sha256(h, id, size);
    free(id);
    r->hi = (uint64_t)swapped(h[1]) << 32 | swapped(h[0]);
    r->lo = (uint64_t)swapped(h[3]) << 32 | swapped(h[2]);
    return true;
}

metasim_random *metasim_rand(metasim_client *c, const char *stream)
{
    metasim_random *r;
    if (!c->started) {
        not_joined(c);
        return NULL;
    }
    for (r = c->streams; r != NULL; r = r->next)
        if (strcmp(r->name, stream) == 0)
            return r;
    r = calloc(1, sizeof *r);
    if (r != NULL)
        r->name = copy_text(stream, strlen(stream));
    if (r == NULL || r->name == NULL || !key_stream(r, c)) {
        if (r != NULL)
            free(r->name);
        free(r);
        no_memory(c);
        return NULL;
    }
    r->next = c->streams;
    c->streams = r;
    return r;
}

/* The upper half of a product of 128 bits. */
static uint64_t upper(uint64_t a, uint64_t b)
{
    uint64_t al = a & UINT32_MAX, ah = a >> 32, bl = b & UINT32_MAX, bh = b >> 32;
    uint64_t middle = ah * bl + (al * bl >> 32), other = al * bh + (middle & UINT32_MAX);
    return ah * bh + (middle >> 32) + (other >> 32);
}

uint64_t metasim_rand_bits(metasim_random *r)
{
    const uint64_t times_hi = 0x2360ed051fc65da4, times_lo = 0x4385df649fccf645, plus_hi = 0x5851f42d4c957f2d, plus_lo = 0x14057b7ef767814f;
    uint64_t lo = r->lo * times_lo + plus_lo, hi = upper(r->lo, times_lo) + r->hi * times_lo + r->lo * times_hi + plus_hi + (lo < plus_lo);
    r->hi = hi;
    r->lo = lo;
    hi ^= hi >> 32;
    hi *= 0xda942042e4dd58b5;
    hi ^= hi >> 48;
    return hi * (lo | 1);
}

double metasim_rand_unit(metasim_random *r) { return (double)(metasim_rand_bits(r) & ((1ULL << 53) - 1)) / 9007199254740992.0; }

metasim_instant metasim_now(const metasim_client *c) { return c->now; }
metasim_instant metasim_until(const metasim_client *c) { return c->until; }
uint64_t metasim_seed(const metasim_client *c) { return c->seed; }
const char *metasim_entry(const metasim_client *c) { return c->entry == NULL ? "" : c->entry; }
uint32_t metasim_index(const metasim_client *c) { return c->index; }
uint32_t metasim_count(const metasim_client *c) { return c->count; }
const char *metasim_with(const metasim_client *c) { return c->with == NULL ? "" : c->with; }
const char *metasim_directory(const metasim_client *c) { return c->directory == NULL ? "" : c->directory; }
const char *metasim_name(const metasim_client *c) { return c->name + c->own; }
const char *metasim_scenario(const metasim_client *c) { return c->scenario == NULL ? "" : c->scenario; }
metasim_code metasim_code_of(const metasim_client *c) { return c->code; }
const char *metasim_error(const metasim_client *c) { return c->code == METASIM_OK ? "" : c->text == NULL ? NO_MEMORY : c->text; }

/* ---- timers and handlers ---- */

static bool comes_first(const metasim_client *c, size_t a, size_t b)
{
    int order = compare(c->slots[a].at, c->slots[b].at);
    return order != 0 ? order < 0 : c->slots[a].number < c->slots[b].number;
}

static void put_in_heap(metasim_client *c, size_t place, size_t slot)
{
    c->heap[place] = slot;
    c->slots[slot].place = place;
}

/* Moves a timer of the heap to where it belongs. */
static void settle(metasim_client *c, size_t place)
{
    size_t slot = c->heap[place];
    while (place > 0 && comes_first(c, slot, c->heap[(place - 1) / 2])) {
        put_in_heap(c, place, c->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * place + 1;
        if (child + 1 < c->heap_size && comes_first(c, c->heap[child + 1], c->heap[child]))
            child++;
        if (child >= c->heap_size || !comes_first(c, c->heap[child], slot))
            break;
        put_in_heap(c, place, c->heap[child]);
        place = child;
    }
    put_in_heap(c, place, slot);
}

static void set(metasim_client *c, size_t slot)
{
    c->slots[slot].number = c->timers_set++;
    put_in_heap(c, c->heap_size++, slot);
    settle(c, c->heap_size - 1);
}

static void unset(metasim_client *c, size_t slot)
{
    size_t place = c->slots[slot].place, last = c->heap[--c->heap_size];
    c->slots[slot].place = NOWHERE;
    if (last != slot) {
        put_in_heap(c, place, last);
        settle(c, place);
    }
}

static void give_slot(metasim_client *c, size_t i)
{
    c->slots[i].handler = NULL;
    c->slots[i].place = c->free_slots;
    c->free_slots = i + 1;
}

/* Takes a free slot. Returns NOWHERE if there is no memory. */
static size_t take_slot(metasim_client *c)
{
    size_t i, more = c->slot_count == 0 ? 8 : 2 * c->slot_count, *heap;
    slot *slots;
    if (c->free_slots == 0) {
        slots = realloc(c->slots, more * sizeof *slots);
        if (slots == NULL)
            return NOWHERE;
        c->slots = slots;
        heap = realloc(c->heap, more * sizeof *heap);
        if (heap == NULL)
            return NOWHERE;
        c->heap = heap;
        memset(slots + c->slot_count, 0, (more - c->slot_count) * sizeof *slots);
        for (i = more; i-- > c->slot_count;)
            give_slot(c, i);
        c->slot_count = more;
    }
    i = c->free_slots - 1;
    c->free_slots = c->slots[i].place;
    c->slots[i].place = NOWHERE;
    c->slots[i].use++;
    return i;
}

static metasim_timer set_timer(metasim_client *c, metasim_instant when, int64_t period, metasim_handler handler, void *user)
{
    size_t i;
    if (c->over != METASIM_OK || !c->started) {
        not_joined(c);
        return 0;
    }
    i = take_slot(c);
    if (i == NOWHERE) {
        no_memory(c);
        return 0;
    }
    c->slots[i].at = when;
    c->slots[i].period = period;
    c->slots[i].handler = handler;
    c->slots[i].user = user;
    set(c, i);
    return (uint64_t)c->slots[i].use << 32 | (i + 1);
}

metasim_timer metasim_at(metasim_client *c, int64_t time, metasim_handler handler, void *user)
{
    metasim_instant when = at(time);
    char text[64];
    if (c->started && time < c->now.time) {
        failed(c, METASIM_TIME_REGRESS, "client \"%s\" sets a timer for %lld ns, and is at %s; use a later time", c->name, (long long)time, words_of(c->now, text));
        refused(c);
        return 0;
    }
    return set_timer(c, time == c->now.time ? later(when, c->now) : when, 0, handler, user);
}

metasim_timer metasim_after(metasim_client *c, int64_t nanoseconds, metasim_handler handler, void *user)
{
    char text[64];
    if (nanoseconds < 0) {
        failed(c, METASIM_MISTAKE, "client \"%s\" sets a timer for after %lld ns, at %s; use a positive duration, or 0", c->name, (long long)nanoseconds, words_of(c->now, text));
        refused(c);
        return 0;
    }
    return set_timer(c, nanoseconds == 0 ? c->now : at(add(c->now.time, nanoseconds)), 0, handler, user);
}

metasim_timer metasim_every(metasim_client *c, int64_t period, metasim_handler handler, void *user)
{
    if (period <= 0) {
        failed(c, METASIM_MISTAKE, "client \"%s\" sets a timer for every %lld ns; use a positive period", c->name, (long long)period);
        refused(c);
        return 0;
    }
    return set_timer(c, at(add(c->now.time, period)), period, handler, user);
}

void *metasim_stop(metasim_client *c, metasim_timer timer)
{
    size_t i = (size_t)(timer & UINT32_MAX) - 1;
    if (timer == 0 || i >= c->slot_count || c->slots[i].use != timer >> 32 || c->slots[i].handler == NULL)
        return NULL;
    if (c->slots[i].place != NOWHERE) {
        unset(c, i);
        give_slot(c, i);
    } else {
        c->slots[i].period = 0; /* its handler runs, and it ends after it */
    }
    return c->slots[i].user;
}

static metasim_instant next_timer(const metasim_client *c) { return c->heap_size == 0 ? INFINITE : c->slots[c->heap[0]].at; }

metasim_code metasim_on(metasim_client *c, const char *channel, metasim_handler handler, void *user)
{
    action *more;
    size_t i;
    if (channel != NULL) {
        channel = keep_channel(c, channel, strlen(channel));
        if (channel == NULL)
            return no_memory(c);
    }
    for (i = 0; i < c->action_count && c->actions[i].channel != channel; i++)
        ;
    if (i == c->action_count) {
        more = realloc(c->actions, (i + 1) * sizeof *more);
        if (more == NULL)
            return no_memory(c);
        c->actions = more;
        c->action_count++;
        more[i].channel = channel;
    }
    c->actions[i].handler = handler;
    c->actions[i].user = user;
    return METASIM_OK;
}

/* What is done with the messages on a channel: NULL for nothing. Channels are kept once, so their pointers are compared. */
static const action *action_of(const metasim_client *c, const char *channel)
{
    const action *others = NULL;
    size_t i;
    for (i = 0; i < c->action_count; i++) {
        if (c->actions[i].channel == channel)
            return &c->actions[i];
        if (c->actions[i].channel == NULL)
            others = &c->actions[i];
    }
    return others;
}

static bool goes_on(const metasim_client *c) { return c->over == METASIM_OK && c->refused == METASIM_OK; }

/* Notes what a handler returned. */
static void returned(metasim_client *c, metasim_code code)
{
    if (code == METASIM_OK || !goes_on(c))
        return;
    if (c->code != code)
        failed(c, code, "client \"%s\": a handler returned %d", c->name, (int)code);
    refused(c);
}

static void call_handler(metasim_client *c, delivery *d)
{
    const action *a = action_of(c, d->message.channel);
    if (a != NULL && a->handler != NULL)
        returned(c, a->handler(c, &d->message, a->user));
    free(d);
}

static void call_messages(metasim_client *c)
{
    while (goes_on(c) && compare(due(c), c->now) == 0) {
        delivery *d = pop(c);
        service *s = service_on(c, d->message.channel);
        if (s != NULL)
            returned(c, serve(c, s, d));
        else
            call_handler(c, d);
    }
}

/* Calls the handlers of what came while a call waited, before metasim_run. */
static void call_unread(metasim_client *c)
{
    while (goes_on(c) && c->meanwhile.first != NULL) {
        delivery *d = c->meanwhile.first;
        c->meanwhile.first = d->next;
        call_handler(c, d);
    }
}

static void call_timers(metasim_client *c)
{
    while (goes_on(c) && !before(c->now, next_timer(c))) {
        size_t i = c->heap[0];
        slot *s = &c->slots[i];
        unset(c, i);
        returned(c, s->handler(c, NULL, s->user));
        s = &c->slots[i]; /* the handler may have set timers, which moves them */
        if (s->period > 0) {
            s->at = at(add(s->at.time, s->period));
            set(c, i);
        } else {
            give_slot(c, i);
        }
    }
}

/* Acts at the instants at which there is something to do, until the client leaves or fails. */
static void act(metasim_client *c)
{
    metasim_instant want;
    call_unread(c);
    want = later(next_timer(c), c->now);
    if (goes_on(c) && before(goal(c, want, true), c->granted))
        go_on(c, c->now, want); /* a step has led here */
    while (goes_on(c)) {
        want = later(next_timer(c), c->now);
        if (before(goal(c, want, true), c->granted)) {
            c->now = goal(c, want, true);
            call_messages(c);
            call_timers(c);
            if (!goes_on(c))
                return;
            want = later(next_timer(c), c->now);
            if (!before(goal(c, want, true), c->granted))
                look(c);
            if (c->over == METASIM_OK && before(goal(c, want, true), c->granted))
                go_on(c, c->now, want);
        } else if (compare(c->granted, c->until) == 0) {
            metasim_leave(c);
        } else {
            wait_until(c, want, true);
        }
    }
}

metasim_code metasim_run(metasim_client *c)
{
    if (c->over != METASIM_OK || !c->started)
        return not_joined(c);
    if (c->running) {
        failed(c, METASIM_MISTAKE, "client \"%s\" runs already; return from the handler", c->name);
        return refused(c);
    }
    forget_ready(c);
    c->running = true;
    act(c);
    c->running = false;
    if (c->over != METASIM_OK && c->refused == METASIM_OK)
        return c->over == METASIM_LEFT ? METASIM_OK : is_over(c);
    if (c->over == METASIM_OK)
        metasim_fail(c, c->refused_text == NULL ? NO_MEMORY : c->refused_text);
    return failed(c, c->refused, "%s", c->refused_text == NULL ? NO_MEMORY : c->refused_text);
}

/* ---- services ---- */

/* The service PLAN is asked on the channel call:PLAN, and answers on reply:PLAN, which all callers hear; each takes what is for it.
 *
 *     call:PLAN    number of the request (u64, little-endian), then the request
 *     reply:PLAN   number of the request (u64), 0 for an answer or 1 for a refusal (u8), length of the caller's name (u16), the name, then
 *                  the answer, or the text of the refusal
 */
enum { NUMBER = 8, REPLY = NUMBER + 1 + 2 };
enum { ANSWERS, REFUSES };

static void put_little(bytes *b, uint64_t value, size_t size)
{
    uint8_t *to = extend(b, size);
    for (; to != NULL && size > 0; size--, value >>= 8)
        *to++ = (uint8_t)value;
}

static uint64_t little(const uint8_t *from, size_t size)
{
    uint64_t value = 0;
    while (size-- > 0)
        value = value << 8 | from[size];
    return value;
}

static service *service_on(const metasim_client *c, const char *channel)
{
    service *s = c->services;
    while (s != NULL && s->hears != channel)
        s = s->next;
    return s;
}

static service *service_named(const metasim_client *c, const char *name, bool asks)
{
    service *s = c->services;
    while (s != NULL && (s->asks != asks || strcmp(s->name, name) != 0))
        s = s->next;
    return s;
}

/* Adds a service that has no channels yet. */
static service *add_service(metasim_client *c, const char *name, bool asks)
{
    service *s = calloc(1, sizeof *s);
    if (s == NULL || (s->name = copy_text(name, strlen(name))) == NULL) {
        free(s);
        no_memory(c);
        return NULL;
    }
    s->asks = asks;
    s->next = c->services;
    return c->services = s;
}

/* Declares a channel of a service. Returns its name, and NULL where it cannot be. */
static const char *declare_channel(metasim_client *c, const char *prefix, const char *name, metasim_code (*declares)(metasim_client *, const char *))
{
    const char *channel = NULL;
    bytes b = {NULL, 0, 0, false};
    append(&b, prefix, strlen(prefix));
    append(&b, name, strlen(name) + 1);
    if (b.failed || (channel = keep_channel(c, b.data, b.size - 1)) == NULL)
        no_memory(c);
    else if (declares(c, channel) != METASIM_OK)
        channel = NULL;
    free(b.data);
    return channel;
}

static metasim_code declare_service(metasim_client *c, const char *name, bool asks, metasim_service handler, void *user)
{
    service *s = NULL;
    if (c->joined)
        failed(c, METASIM_COMPLETE, "client \"%s\": services are fixed once the client has joined; declare \"%.40s\" before metasim_join", c->name, name);
    else if (*name == '\0' || name[strcspn(name, "\\.+*?()|[]{}^$")] != '\0')
        failed(c, METASIM_MISTAKE, "client \"%s\": a service cannot be called \"%.40s\"; use a name without the characters of regular expressions, \\.+*?()|[]{}^$", c->name, name);
    else if (service_named(c, name, asks) != NULL)
        failed(c, METASIM_MISTAKE, "client \"%s\" %s service \"%.40s\" already; declare it once", c->name, asks ? "asks" : "answers", name);
    else
        s = add_service(c, name, asks);
    if (s == NULL)
        return c->over != METASIM_OK ? c->over : mistaken(c);
    s->handler = handler;
    s->user = user;
    s->says = declare_channel(c, asks ? "call:" : "reply:", name, metasim_publication);
    s->hears = s->says == NULL ? NULL : declare_channel(c, asks ? "reply:" : "call:", name, metasim_subscription);
    return s->hears == NULL ? c->code : METASIM_OK;
}

metasim_code metasim_answer(metasim_client *c, const char *service, metasim_service handler, void *user) { return declare_service(c, service, false, handler, user); }
metasim_code metasim_caller(metasim_client *c, const char *service) { return declare_service(c, service, true, NULL, NULL); }

static uint64_t id_of(const exchange *e) { return (uint64_t)e->use << 32 | (e->place + 1); }

/* The request of a number in metasim.h; NULL if it is over, or none. */
static exchange *exchange_of(const metasim_client *c, uint64_t id, bool asks)
{
    size_t place = (size_t)(id & UINT32_MAX) - 1;
    exchange *e = (id & UINT32_MAX) == 0 || place >= c->exchange_count ? NULL : c->exchanges[place];
    return e == NULL || e->of == NULL || e->use != id >> 32 || e->of->asks != asks ? NULL : e;
}

/* Takes a request that is free. Returns NULL if there is no memory. */
static exchange *take_exchange(metasim_client *c, service *s)
{
    exchange *e = c->free_exchanges, **more;
    if (e == NULL) {
        if ((c->exchange_count & (c->exchange_count - 1)) == 0) { /* there is room for a power of two */
            more = realloc(c->exchanges, (c->exchange_count == 0 ? 1 : 2 * c->exchange_count) * sizeof(exchange *));
            if (more == NULL)
                return no_memory(c), NULL;
            c->exchanges = more;
        }
        e = calloc(1, sizeof *e);
        if (e == NULL)
            return no_memory(c), NULL;
        e->place = c->exchange_count;
        c->exchanges[c->exchange_count++] = e;
    } else {
        c->free_exchanges = e->next;
    }
    e->next = NULL;
    e->of = s;
    e->use++;
    return e;
}

static void give_exchange(metasim_client *c, exchange *e)
{
    exchange blank = {NULL, NULL, 0, 0, 0, NULL, {0, 0}, {0, 0}, false, METASIM_OK, NULL, NULL, NULL, NULL, 0};
    free(e->text);
    free(e->answer);
    blank.place = e->place;
    blank.use = e->use;
    blank.next = c->free_exchanges;
    *e = blank;
    c->free_exchanges = e;
}

/* A request has an answer, or is given up. */
static void close_request(exchange *e)
{
    exchange **at = &e->of->open, *previous = NULL;
    for (; *at != NULL && *at != e; at = &previous->next)
        previous = *at;
    if (*at != e)
        return;
    *at = e->next;
    if (e->of->last == e)
        e->of->last = previous;
}

static char *sentence(const char *format, ...)
{
    char *text;
    va_list words;
    va_start(words, format);
    text = say(format, words);
    va_end(words);
    return text;
}

/* Calls what was given with metasim_go, and ends the request. */
static metasim_code call_then(metasim_client *c, exchange *e)
{
    metasim_handler then = e->then;
    metasim_code code = e->code;
    delivery *answer = e->answer;
    void *user = e->user;
    if (code != METASIM_OK)
        failed(c, code, "%s", e->text == NULL ? NO_MEMORY : e->text);
    e->answer = NULL;
    give_exchange(c, e);
    code = then(c, answer == NULL ? NULL : &answer->message, user);
    free(answer);
    return code;
}

/* Ends a request whose time is over. */
static void expire(exchange *e)
{
    char asked[64], limit[64];
    close_request(e);
    e->done = true;
    e->code = METASIM_LIMIT;
    e->text = sentence("service \"%s\" has not answered the request of %s until %s; see that a client answers it, or allow more simulated time", e->of->name, words_of(e->asked, asked),
                       words_of(e->deadline, limit));
}

static metasim_code expires(metasim_client *c, const metasim_message *m, void *user)
{
    (void)m;
    expire(user);
    return call_then(c, user);
}

/* Takes an answer, which is for this client or not. */
static metasim_code take_answer(metasim_client *c, service *s, delivery *d)
{
    metasim_message *m = &d->message;
    const uint8_t *b = m->payload;
    size_t size = (size_t)little(b + NUMBER + 1, 2);
    exchange *e = s->open;
    while (e != NULL && e->number != little(b, NUMBER))
        e = e->next;
    if (e == NULL || !is_called(c, b + REPLY, size) || before(e->deadline, m->due)) {
        free(d); /* for another client, the second one, or too late */
        return METASIM_OK;
    }
    m->payload = b + REPLY + size;
    m->size -= REPLY + size;
    close_request(e);
    e->done = true;
    if (b[NUMBER] == REFUSES) {
        e->code = METASIM_CALL_REFUSED;
        e->text = sentence("service \"%s\": client \"%s\" refused: %.*s", s->name, m->from, m->size < MAX_TEXT ? (int)m->size : MAX_TEXT, (const char *)m->payload);
        free(d);
    } else {
        e->answer = d;
    }
    if (e->then == NULL)
        return METASIM_OK;
    metasim_stop(c, e->timer);
    return call_then(c, e);
}

static metasim_code take_request(metasim_client *c, service *s, delivery *d)
{
    const uint8_t *b = d->message.payload;
    exchange *e = take_exchange(c, s);
    metasim_code code;
    if (e == NULL) {
        free(d);
        return c->over;
    }
    e->number = little(b, NUMBER);
    e->from = d->message.from;
    d->message.payload = b + NUMBER;
    d->message.size -= NUMBER;
    code = s->handler(c, id_of(e), &d->message, s->user);
    free(d);
    if (code != METASIM_OK && c->code != code)
        failed(c, code, "client \"%s\": the handler of service \"%s\" returned %d", c->name, s->name, (int)code);
    return code;
}

static metasim_code serve(metasim_client *c, service *s, delivery *d)
{
    const metasim_message *m = &d->message;
    const uint8_t *b = m->payload;
    size_t head = s->asks ? REPLY : NUMBER;
    char due[64];
    if (m->size >= head && (!s->asks || (b[NUMBER] <= REFUSES && little(b + NUMBER + 1, 2) <= m->size - REPLY)))
        return s->asks ? take_answer(c, s, d) : take_request(c, s, d);
    failed(c, METASIM_PROTOCOL_ERROR, "the message of \"%s\" on \"%s\" at %s (%lu bytes) is no %s; channels that begin with call: or reply: are those of services", m->from, m->channel,
           words_of(m->due, due), (unsigned long)m->size, s->asks ? "answer of a service" : "request to a service");
    free(d);
    return METASIM_PROTOCOL_ERROR;
}

/* Notes that a call of a service is refused: in metasim_run it ends the run, as a publish does. */
static metasim_code refused_call(metasim_client *c) { return c->running ? refused(c) : c->code; }

static metasim_code reply(metasim_client *c, metasim_request request, uint8_t kind, const void *body, size_t size)
{
    exchange *e = exchange_of(c, request, false);
    bytes b = {NULL, 0, 0, false};
    metasim_code code;
    if (e == NULL) {
        failed(c, METASIM_MISTAKE, "client \"%s\" answers a request that was answered already, or is none; answer each once", c->name);
        return refused_call(c);
    }
    put_little(&b, e->number, NUMBER);
    put_little(&b, kind, 1);
    put_little(&b, strlen(e->from), 2);
    append(&b, e->from, strlen(e->from));
    append(&b, body, size);
    code = b.failed ? no_memory(c) : metasim_publish(c, e->of->says, b.data, b.size);
    free(b.data);
    if (code == METASIM_OK)
        give_exchange(c, e);
    return code;
}

metasim_code metasim_reply(metasim_client *c, metasim_request request, const void *payload, size_t size) { return reply(c, request, ANSWERS, payload, size); }
metasim_code metasim_refuse(metasim_client *c, metasim_request request, const char *text) { return reply(c, request, REFUSES, text, strlen(text)); }

/* Sends a request. Returns NULL where that fails. */
static exchange *send_request(metasim_client *c, const char *name, const void *request, size_t size, int64_t limit)
{
    service *s = service_named(c, name, true);
    exchange *e;
    bytes b = {NULL, 0, 0, false};
    metasim_code code;
    if (s == NULL || limit <= 0) {
        if (s == NULL)
            failed(c, METASIM_MISTAKE, "client \"%s\" asks service \"%.40s\", which it did not declare; call metasim_caller before metasim_join", c->name, name);
        else
            failed(c, METASIM_MISTAKE, "client \"%s\": a request to service \"%s\" with the time limit %lld ns; use a positive duration, or METASIM_FOREVER", c->name, name, (long long)limit);
        refused_call(c);
        return NULL;
    }
    put_little(&b, s->number, NUMBER);
    append(&b, request, size);
    code = b.failed ? no_memory(c) : metasim_publish(c, s->says, b.data, b.size);
    free(b.data);
    if (code != METASIM_OK || (e = take_exchange(c, s)) == NULL)
        return NULL;
    e->number = s->number++;
    e->asked = c->now;
    e->deadline = at(add(c->now.time, limit));
    if (s->open == NULL)
        s->open = e;
    else
        s->last->next = e;
    s->last = e;
    return e;
}

metasim_code metasim_start(metasim_client *c, const char *service, const void *request, size_t size, int64_t limit, metasim_pending *pending)
{
    exchange *e = send_request(c, service, request, size, limit);
    *pending = e == NULL ? 0 : id_of(e);
    return e == NULL ? c->code : METASIM_OK;
}

/* Whether a request that was sent is over: all that arrived at its limit or before was given to the client. */
static bool is_done(const metasim_client *c, exchange *e)
{
    bool late = c->serving ? before(e->deadline, c->serves) : c->running ? before(e->deadline, c->now) : !before(c->now, e->deadline);
    if (!e->done && late)
        expire(e);
    return e->done;
}

int metasim_done(metasim_client *c, metasim_pending pending)
{
    exchange *e = exchange_of(c, pending, true);
    return e == NULL || is_done(c, e);
}

metasim_code metasim_wait(metasim_client *c, metasim_pending pending, const metasim_message **answer)
{
    exchange *e;
    metasim_code code = METASIM_OK;
    *answer = NULL;
    while ((e = exchange_of(c, pending, true)) != NULL && !is_done(c, e)) {
        if (c->running) {
            failed(c, METASIM_MISTAKE, "client \"%s\" cannot wait for service \"%s\" in a handler of metasim_run; use metasim_go, which calls a function", c->name, e->of->name);
            return refused(c);
        }
        code = may_advance(c, e->deadline.time, true);
        if (code == METASIM_OK)
            code = go_to(c, e->deadline.time, true, &c->meanwhile);
        if (code != METASIM_OK)
            return code;
    }
    if (e == NULL) {
        failed(c, METASIM_MISTAKE, "client \"%s\" waits for a request that it has not sent, or that is over; wait for each once", c->name);
        return refused_call(c);
    }
    free(c->answer);
    c->answer = e->answer;
    e->answer = NULL;
    code = e->code == METASIM_OK ? METASIM_OK : failed(c, e->code, "%s", e->text == NULL ? NO_MEMORY : e->text);
    if (code == METASIM_OK)
        *answer = &c->answer->message;
    give_exchange(c, e);
    return code;
}

void metasim_drop(metasim_client *c, metasim_pending pending)
{
    exchange *e = exchange_of(c, pending, true);
    if (e == NULL)
        return;
    close_request(e);
    give_exchange(c, e);
}

metasim_code metasim_call(metasim_client *c, const char *service, const void *request, size_t size, int64_t limit, const metasim_message **answer)
{
    metasim_pending pending;
    metasim_code code = metasim_start(c, service, request, size, limit, &pending);
    *answer = NULL;
    if (code == METASIM_OK)
        code = metasim_wait(c, pending, answer);
    metasim_drop(c, pending); /* where it is not over */
    return code;
}

metasim_code metasim_go(metasim_client *c, const char *service, const void *request, size_t size, int64_t limit, metasim_handler then, void *user)
{
    exchange *e;
    if (!c->running)
        return failed(c, METASIM_MISTAKE, "client \"%s\", service \"%.40s\": metasim_go is called by handlers and timers of metasim_run; in a loop use metasim_start or metasim_call", c->name, service);
    e = send_request(c, service, request, size, limit);
    if (e == NULL)
        return c->code;
    e->then = then;
    e->user = user;
    if (e->deadline.time != METASIM_FOREVER)
        e->timer = set_timer(c, e->deadline, 0, expires, e);
    return c->over;
}

/*
 * The node of metasim_follower.h. Its core is a machine that turns messages into messages, as federates/follower/frames of metasim is in Go, and knows
 * no client; conformance/followers.txt holds it to the same. The calls are below it.
 */
#define _POSIX_C_SOURCE 200809L

#include <metasim_follower.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- messages ---- */

/* That of most messages, that of requests with streams and of frames with several pictures, and that of requests for packed data. */
enum { VERSION = 1, STREAMS_VERSION = 2, PACKED_VERSION = 3 };

/* The kind of packing that is read here: what has changed since the last state. The others take zstd, which is a library of its own. */
enum { CHANGES = 3 };

/* How many bytes are compared at once where changes are looked for, and what stands before changes: the frame of the last state and 1, and the size of this one. */
enum { BLOCK = 64, CHANGES_HEAD = 16 };

enum { REQUEST = 1, RELEASE = 2, END = 3, HELLO = 4, SENT = 5, BACK = 6, INPUT = 7, BYE = 8, DATA = 9, CHARGE = 11, CALL = 12, LACK = 13 };

/* How much of the data of a frame travels in one message: room for what else waits in a connection. */
enum { MAX_PIECE = 24 << 20 };

/* How many frames that are not asked for yet may have data: on links with random delays it overtakes a request. */
enum { MAX_AHEAD = 1024 };

/* A message that is made. Without memory it is empty, and failed. */
typedef struct message {
    uint8_t *data;
    size_t size;
    bool failed;
} message;

/* How many messages the end of a frame replies at most. */
enum { REPLIES = 2 };

/* No message. */
static message begin_none(void)
{
    message none = {NULL, 0, false};
    return none;
}

/* Begins a message, with room for so many bytes after its kind. */
static message begin(unsigned kind, size_t room)
{
    message m = {NULL, 2, false};
    m.data = malloc(room + 2);
    if (m.data == NULL)
        m.failed = true;
    else {
        m.data[0] = (uint8_t)kind;
        m.data[1] = VERSION;
    }
    return m;
}

static void put(message *m, const void *from, size_t size)
{
    if (!m->failed && size > 0)
        memcpy(m->data + m->size, from, size);
    m->size += size;
}

static void put_number(message *m, uint64_t value, int bytes)
{
    uint8_t little[8];
    int i;
    for (i = 0; i < bytes; i++)
        little[i] = (uint8_t)(value >> (8 * i));
    put(m, little, (size_t)bytes);
}

static void put_block(message *m, const void *from, size_t size)
{
    put_number(m, size, 4);
    put(m, from, size);
}

/* A message that is read. After an error it reads zeros. */
typedef struct reader {
    const uint8_t *at;
    size_t left;
    bool wrong;
    unsigned version;
} reader;

static const uint8_t *take(reader *r, size_t size)
{
    const uint8_t *b = r->at;
    if (r->wrong || size > r->left) {
        r->wrong = true;
        return NULL;
    }
    r->at += size;
    r->left -= size;
    return b;
}

static uint64_t number(reader *r, int bytes)
{
    const uint8_t *b = take(r, (size_t)bytes);
    uint64_t value = 0;
    int i;
    for (i = 0; b != NULL && i < bytes; i++)
        value |= (uint64_t)b[i] << (8 * i);
    return value;
}

static bool flag(reader *r)
{
    uint64_t v = number(r, 1);
    r->wrong = r->wrong || v > 1;
    return v == 1;
}

/* A number that is finite. */
static double real(reader *r)
{
    uint64_t bits = number(r, 8);
    double x;
    memcpy(&x, &bits, sizeof x);
    r->wrong = r->wrong || !isfinite(x);
    return r->wrong ? 0 : x;
}

static int64_t moment(reader *r)
{
    int64_t t = (int64_t)number(r, 8);
    r->wrong = r->wrong || t < 0;
    return r->wrong ? 0 : t;
}

/* Some bytes of a message. */
typedef struct block {
    const uint8_t *at;
    size_t size;
} block;

static block get_block(reader *r)
{
    block b = {NULL, 0};
    size_t size = (size_t)number(r, 4);
    b.at = take(r, size);
    b.size = b.at == NULL ? 0 : size;
    return b;
}

/* ---- what a node knows ---- */

/* A request for a frame. The names and the inputs lie in bytes. */
typedef struct request {
    uint8_t *bytes;
    uint32_t epoch, streams;
    int64_t previous; /* the frame that was asked for before; -1: none */
    rs_frame_data data;
    bool sync;
    block controller, *inputs;
    size_t input_count;
    rs_stream *views; /* the node's own */
    size_t view_count;
    unsigned packing;
} request;

typedef struct piece {
    struct piece *next;
    uint32_t part, parts;
    uint64_t total; /* bytes of all parts */
    size_t size;    /* its bytes follow it in memory */
} piece;

/* Data that came for a frame: pieces in order of part. */
typedef struct set {
    struct set *next;
    char *from;
    uint32_t epoch;
    piece *pieces;
    uint64_t came;
    uint32_t count;
} set;

/* A frame that was not handed out. */
typedef struct slot {
    struct slot *next;
    uint64_t frame;
    request *request;
    bool released, missing;
    uint32_t epoch; /* that was released */
    uint32_t called, lost; /* the epoch of whose data the director has asked whether it has come, and the one that has said to lack; 0: none */
    set *sets;
} slot;

/* A client whose data counts for nothing. */
typedef struct charged {
    struct charged *next;
    char *name;
} charged;

/* A notice that is to be sent before anything else. */
typedef struct owing {
    struct owing *next;
    message notice;
} owing;

/* A call returns it inside this file: the next frame has to be waited for. */
enum { NOT_YET = -1 };

typedef struct core {
    char *name;
    uint64_t max;
    size_t piece;
    int64_t last;
    int64_t led; /* the first frame that it controlled; -1: none */
    uint32_t epoch; /* of the data that was shown last */
    uint32_t streams;
    bool plain; /* a frame was asked for whose data is not packed */
    slot *slots; /* in order */
    size_t slot_count;
    bool ended, failed, follows;
    char *reason;
    charged *charged;
    owing *owing;
    message owed; /* a charge or a lack that is to be sent */

    /* The current frame, and what is left of the one before: the inputs of a frame that has no data. */
    request *current, *over;
    bool in_frame, controls, sent, received, back;
    size_t inputs_read;
    uint8_t *state;
    size_t state_size;

    /* The last state that travelled as changes, and its frame and 1; 0: there is none. */
    uint8_t *kept;
    size_t kept_size;
    uint64_t kept_frame;
    uint32_t packed_epoch; /* of the last data that was packed */

    uint64_t refused;
    RS_ERROR code;
    bool frame_over; /* the last call failed because nobody sent */
    char *text;
} core;

#if defined(__GNUC__)
#define SENTENCE __attribute__((format(printf, 3, 4)))
#else
#define SENTENCE
#endif

/* Notes why a call fails, and returns its code. */
static RS_ERROR fail(core *n, RS_ERROR code, const char *format, ...) SENTENCE;

static RS_ERROR fail(core *n, RS_ERROR code, const char *format, ...)
{
    va_list words, again;
    int size;
    va_start(words, format);
    va_copy(again, words);
    size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    free(n->text);
    n->text = size < 0 ? NULL : malloc((size_t)size + 1);
    if (n->text != NULL)
        vsnprintf(n->text, (size_t)size + 1, format, words);
    va_end(words);
    return n->code = code;
}

static RS_ERROR no_memory(core *n) { return fail(n, RS_ERROR_INVALIDHANDLE, "node %s: there is no memory left; the node cannot go on", n->name); }

/* A call that may not be made. It changes nothing. */
static RS_ERROR refuse_call(core *n, const char *why)
{
    unsigned long long frame = n->in_frame ? n->current->data.frame : 0;
    return fail(n, RS_ERROR_INVALID_PARAMETERS, "node %s, frame %llu: %s", n->name, frame, why);
}

static const char NO_FRAME[] = "no frame has begun; await one first";

static RS_ERROR malformed(core *n, const char *from)
{
    return fail(n, RS_ERROR_INVALID_PARAMETERS, "client \"%s\" sent what is no message of followers; check what is published on its channel", from);
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

static void free_request(request *q)
{
    if (q == NULL)
        return;
    while (q->view_count > 0) {
        rs_stream *v = &q->views[--q->view_count];
        free((void *)v->name);
        free((void *)v->camera.of);
    }
    free(q->views);
    free(q->inputs);
    free(q->bytes);
    free(q);
}

static void free_set(set *o)
{
    while (o->pieces != NULL) {
        piece *p = o->pieces;
        o->pieces = p->next;
        free(p);
    }
    free(o->from);
    free(o);
}

static void free_slot(slot *s)
{
    while (s->sets != NULL) {
        set *o = s->sets;
        s->sets = o->next;
        free_set(o);
    }
    free_request(s->request);
    free(s);
}

static core *new_core(const char *name, uint64_t max, size_t piece_size)
{
    core *n = calloc(1, sizeof *n);
    if (n == NULL || (n->name = copy_text(name, strlen(name))) == NULL) {
        free(n);
        return NULL;
    }
    n->max = max;
    n->piece = piece_size;
    n->last = n->led = -1;
    return n;
}

static void free_core(core *n)
{
    while (n->slots != NULL) {
        slot *s = n->slots;
        n->slots = s->next;
        free_slot(s);
    }
    while (n->charged != NULL) {
        charged *c = n->charged;
        n->charged = c->next;
        free(c->name);
        free(c);
    }
    while (n->owing != NULL) {
        owing *o = n->owing;
        n->owing = o->next;
        free(o->notice.data);
        free(o);
    }
    free_request(n->current);
    free_request(n->over);
    free(n->owed.data);
    free(n->state);
    free(n->kept);
    free(n->reason);
    free(n->text);
    free(n->name);
    free(n);
}

/* ---- what a node hears ---- */

/* Reads the kind of a message: 0, and the error, for one of another version. */
static unsigned read_kind(core *n, const char *from, reader *r)
{
    unsigned kind = (unsigned)number(r, 1), version = (unsigned)number(r, 1);
    if (r->wrong) {
        malformed(n, from);
        return 0;
    }
    r->version = version;
    if (version == VERSION || ((version == STREAMS_VERSION || version == PACKED_VERSION) && kind == REQUEST))
        return kind == 0 ? 255 : kind;
    fail(n, RS_ERROR_INCOMPATIBLE_VERSION, "client \"%s\" speaks version %u of followers, this one %d; run the same metasim on both", from, version, PACKED_VERSION);
    return 0;
}

/* Finds the slot of a frame that is to come, or makes it. *over says that the frame is over. NULL: that, or no memory. */
static slot *slot_of(core *n, uint64_t frame, bool *over)
{
    slot **at = &n->slots, *s;
    *over = n->last >= 0 && frame <= (uint64_t)n->last;
    if (*over)
        return NULL;
    while (*at != NULL && (*at)->frame < frame)
        at = &(*at)->next;
    if (*at != NULL && (*at)->frame == frame)
        return *at;
    s = calloc(1, sizeof *s);
    if (s == NULL)
        return no_memory(n), NULL;
    s->frame = frame;
    s->next = *at;
    *at = s;
    n->slot_count++;
    return s;
}

/* The most pixels of a side of a picture. */
enum { MOST_PIXELS = 1 << 15 };

/* Whether a stream makes no picture. */
static bool shows_nothing(const rs_stream *s)
{
    const rs_camera *c = &s->camera;
    bool turned = false;
    int i;
    if (s->left >= s->right || s->top >= s->bottom || s->right > MOST_PIXELS || s->bottom > MOST_PIXELS)
        return true;
    if (c->of[0] != '\0')
        return false;
    for (i = 0; i < 4; i++)
        turned = turned || c->rotation[i] < 0 || c->rotation[i] > 0;
    return !turned || c->width < s->right || c->height < s->bottom || c->width > MOST_PIXELS || c->height > MOST_PIXELS || !(c->fov > 0 && c->fov < 3.14159265358979323846) ||
           !(c->nearZ > 0 && c->nearZ < c->farZ);
}

/* Reads a stream, and the node that is to show it. false: no memory. */
static bool read_stream(reader *r, block *node, rs_stream *s)
{
    block name, of;
    int i;
    *node = get_block(r);
    name = get_block(r);
    of = get_block(r);
    for (i = 0; i < 3; i++)
        s->camera.position[i] = real(r);
    for (i = 0; i < 4; i++)
        s->camera.rotation[i] = real(r);
    s->camera.fov = real(r);
    s->camera.nearZ = real(r);
    s->camera.farZ = real(r);
    s->camera.width = (uint32_t)number(r, 4);
    s->camera.height = (uint32_t)number(r, 4);
    s->left = (uint32_t)number(r, 4);
    s->top = (uint32_t)number(r, 4);
    s->right = (uint32_t)number(r, 4);
    s->bottom = (uint32_t)number(r, 4);
    s->name = copy_text(name.at, name.size);
    s->camera.of = copy_text(of.at, of.size);
    r->wrong = r->wrong || (s->camera.of != NULL && shows_nothing(s));
    return s->name != NULL && s->camera.of != NULL;
}

/* The size of a stream without names. */
enum { LEAST_STREAM = 3 * 4 + 10 * 8 + 6 * 4 };

/* Reads the streams of a request, and keeps those of the node. false: no memory. */
static bool read_streams(reader *r, const char *me, request *q)
{
    size_t i, count = (size_t)number(r, 4);
    if (count > r->left / LEAST_STREAM)
        r->wrong = true;
    if (r->wrong || count == 0)
        return true;
    if ((q->views = calloc(count, sizeof *q->views)) == NULL)
        return false;
    for (i = 0; !r->wrong && i < count; i++) {
        rs_stream s;
        block node;
        bool done = read_stream(r, &node, &s);
        if (done && node.size == strlen(me) && memcmp(node.at, me, node.size) == 0) {
            q->views[q->view_count++] = s;
            continue;
        }
        free((void *)s.name);
        free((void *)s.camera.of);
        if (!done)
            return false;
    }
    return true;
}

/* Reads a request to a node, from a copy of its bytes. NULL: no memory. */
static request *read_request(reader *r, const char *me)
{
    request *q = calloc(1, sizeof *q);
    size_t i, count;
    if (q == NULL || (q->bytes = malloc(r->left + 1)) == NULL) {
        free(q);
        return NULL;
    }
    memcpy(q->bytes, r->at, r->left);
    r->at = q->bytes;
    q->epoch = (uint32_t)number(r, 4);
    q->previous = (int64_t)number(r, 8);
    q->data.frame = number(r, 8);
    q->data.tracked_ns = moment(r);
    q->data.local_ns = moment(r);
    q->data.delta_ns = moment(r);
    q->data.frameRateNumerator = (uint32_t)number(r, 4);
    q->data.frameRateDenominator = (uint32_t)number(r, 4);
    q->data.flags = flag(r) ? FRAMEDATA_RESET : FRAMEDATA_NO_FLAGS;
    q->data.scene = (uint32_t)number(r, 4);
    q->data.tTracked = (double)q->data.tracked_ns / 1e9;
    q->data.localTime = (double)q->data.local_ns / 1e9;
    q->data.localTimeDelta = (double)q->data.delta_ns / 1e9;
    q->sync = flag(r);
    q->streams = (uint32_t)number(r, 4);
    q->controller = get_block(r);
    count = (size_t)number(r, 4);
    if (count > r->left / 4)
        r->wrong = true;
    if (!r->wrong && count > 0 && (q->inputs = calloc(count, sizeof *q->inputs)) == NULL) {
        free_request(q);
        return NULL;
    }
    for (i = 0; !r->wrong && i < count; i++)
        q->inputs[i] = get_block(r);
    q->input_count = count;
    if (r->version >= STREAMS_VERSION && !r->wrong && !read_streams(r, me, q)) {
        free_request(q);
        return NULL;
    }
    if (r->version == PACKED_VERSION)
        q->packing = (unsigned)number(r, 1);
    if (q->data.frameRateNumerator == 0 || q->data.frameRateDenominator == 0 || (q->previous >= 0 && (uint64_t)q->previous >= q->data.frame))
        r->wrong = true;
    return q;
}

static bool is_name(block b, const char *name) { return b.size == strlen(name) && memcmp(b.at, name, b.size) == 0; }

static bool leads(const core *n, const request *q) { return is_name(q->controller, n->name); }

/* The notice that all data of a frame was sent, or that none will be. */
static message notice(const request *q, uint64_t size, bool missing)
{
    message m = begin(SENT, 21);
    put_number(&m, q->data.frame, 8);
    put_number(&m, q->epoch, 4);
    put_number(&m, missing, 1);
    put_number(&m, size, 8);
    return m;
}

/* Keeps a notice until it is sent. false: no memory. */
static bool owe(core *n, message notice)
{
    owing **at = &n->owing;
    while (*at != NULL)
        at = &(*at)->next;
    if ((*at = calloc(1, sizeof **at)) == NULL) {
        free(notice.data);
        return false;
    }
    (*at)->notice = notice;
    return true;
}

/* Hands out the notice that is to be sent next, which is the caller's then. */
static bool next_owed(core *n, message *notice)
{
    owing *o = n->owing;
    if (o == NULL)
        return false;
    *notice = o->notice;
    n->owing = o->next;
    free(o);
    return true;
}

static RS_ERROR hear_request(core *n, const char *from, reader *r)
{
    bool over;
    slot *s;
    request *q = read_request(r, n->name);
    if (q == NULL)
        return no_memory(n);
    if (r->wrong || r->left > 0) {
        free_request(q);
        return malformed(n, from);
    }
    if (q->packing != 0 && q->packing != CHANGES) {
        free_request(q);
        return fail(n, RS_ERROR_INCOMPATIBLE_VERSION,
                    "client \"%s\" asks for data that is packed with zstd, which nodes in C do not read; set its packing to changes, or to none", from);
    }
    n->plain = n->plain || q->packing == 0;
    s = slot_of(n, q->data.frame, &over);
    if (over && leads(n, q) && (n->led < 0 || q->data.frame < (uint64_t)n->led)) { /* it has shown the data of a controller that was charged */
        bool kept = owe(n, notice(q, 0, true));
        free_request(q);
        return kept ? RS_ERROR_SUCCESS : no_memory(n);
    }
    if (s == NULL || (s->request != NULL && s->request->epoch >= q->epoch))
        free_request(q);
    else {
        free_request(s->request);
        s->request = q;
    }
    return s == NULL && !over ? n->code : RS_ERROR_SUCCESS;
}

static RS_ERROR hear_release(core *n, const char *from, reader *r)
{
    uint64_t frame = number(r, 8);
    uint32_t epoch = (uint32_t)number(r, 4);
    bool missing = flag(r), over;
    slot *s;
    if (r->wrong || r->left > 0)
        return malformed(n, from);
    s = slot_of(n, frame, &over);
    if (s == NULL)
        return over ? RS_ERROR_SUCCESS : n->code;
    if (s->released && s->epoch >= epoch) /* links may turn two around */
        return RS_ERROR_SUCCESS;
    s->released = true;
    s->epoch = epoch;
    s->missing = missing;
    return RS_ERROR_SUCCESS;
}

static RS_ERROR hear_call(core *n, const char *from, reader *r)
{
    uint64_t frame = number(r, 8);
    uint32_t epoch = (uint32_t)number(r, 4);
    bool over;
    slot *s;
    if (r->wrong || r->left > 0)
        return malformed(n, from);
    s = slot_of(n, frame, &over);
    if (s == NULL)
        return over ? RS_ERROR_SUCCESS : n->code;
    if (s->called < epoch)
        s->called = epoch;
    return RS_ERROR_SUCCESS;
}

static RS_ERROR hear_end(core *n, const char *from, reader *r)
{
    uint64_t i, count = number(r, 4);
    size_t size = strlen(n->name);
    bool mine = false, has_failed;
    block reason;
    if (count > r->left / 4)
        r->wrong = true;
    for (i = 0; !r->wrong && i < count; i++) {
        block name = get_block(r);
        mine = mine || (!r->wrong && name.size == size && memcmp(name.at, n->name, size) == 0);
    }
    reason = get_block(r);
    has_failed = flag(r);
    if (r->wrong || r->left > 0)
        return malformed(n, from);
    if (mine && !n->ended) {
        n->ended = true;
        n->failed = has_failed;
        n->reason = copy_text(reason.at, reason.size);
    }
    return RS_ERROR_SUCCESS;
}

/* Takes a message of the director. */
static RS_ERROR core_order(core *n, const char *from, const void *data, size_t size)
{
    reader r = {NULL, 0, false, 0};
    r.at = data;
    r.left = size;
    switch (read_kind(n, from, &r)) {
    case 0:
        return n->code;
    case REQUEST:
        return hear_request(n, from, &r);
    case RELEASE:
        return hear_release(n, from, &r);
    case CALL:
        return hear_call(n, from, &r);
    case END:
        return hear_end(n, from, &r);
    default:
        return malformed(n, from);
    }
}

static RS_ERROR sent_twice(core *n, const slot *s, const char *from)
{
    return fail(n, RS_ERROR_INVALID_PARAMETERS, "client \"%s\" sent the data of frame %llu twice; send once in a frame", from, (unsigned long long)s->frame);
}

/* Puts a piece to the set that it is of. */
static RS_ERROR add(core *n, slot *s, const char *from, uint32_t epoch, piece *p)
{
    set **at = &s->sets, *o;
    piece **place;
    while (*at != NULL && strcmp((*at)->from, from) != 0)
        at = &(*at)->next;
    if (*at != NULL && (*at)->epoch != epoch) { /* a client is the controller in one epoch, so a node keeps one set of it, and no more than that */
        free(p);
        return sent_twice(n, s, from);
    }
    if (*at == NULL) {
        *at = calloc(1, sizeof **at);
        if (*at == NULL || ((*at)->from = copy_text(from, strlen(from))) == NULL) {
            free(*at);
            *at = NULL;
            free(p);
            return no_memory(n);
        }
        (*at)->epoch = epoch;
    }
    o = *at;
    for (place = &o->pieces; *place != NULL && (*place)->part < p->part;)
        place = &(*place)->next;
    if (*place != NULL && (*place)->part == p->part) {
        const piece *came = *place;
        bool same = p->parts == came->parts && p->total == came->total && p->size == came->size && memcmp(p + 1, came + 1, p->size) == 0;
        free(p);
        if (same) /* a link may deliver a message twice */
            return RS_ERROR_SUCCESS;
        return sent_twice(n, s, from);
    }
    p->next = *place;
    *place = p;
    o->count++;
    o->came += p->size;
    if (p->total != o->pieces->total || p->parts != o->pieces->parts || o->came > p->total || (o->count == p->parts && o->came < p->total))
        return fail(n, RS_ERROR_INVALID_PARAMETERS, "client \"%s\" announced %llu bytes for frame %llu, and sent others; it may be another program", from,
                    (unsigned long long)o->pieces->total, (unsigned long long)s->frame);
    return RS_ERROR_SUCCESS;
}

static bool is_charged(const core *n, const char *name)
{
    const charged *c = n->charged;
    while (c != NULL && strcmp(c->name, name) != 0)
        c = c->next;
    return c != NULL;
}

/* Forgets the data of a client that is not shown. */
static void forget(core *n, const char *from)
{
    slot **at = &n->slots;
    while (*at != NULL) {
        slot *s = *at;
        set **place = &s->sets;
        while (*place != NULL) {
            set *o = *place;
            if (strcmp(o->from, from) != 0) {
                place = &o->next;
                continue;
            }
            *place = o->next;
            free_set(o);
        }
        if (s->request != NULL || s->released || s->sets != NULL) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        n->slot_count--;
        free_slot(s);
    }
}

/* Makes the message that says what another client has done, for the director, which fails it: empty if it was charged before. Its data counts for nothing from now
 * on: also that which has come, and was not shown. */
static message charge_of(core *n, const char *peer, const char *why)
{
    message m = {NULL, 0, false};
    charged *c;
    if (is_charged(n, peer))
        return m;
    c = calloc(1, sizeof *c);
    if (c == NULL || (c->name = copy_text(peer, strlen(peer))) == NULL) {
        free(c);
        m.failed = true;
        return m;
    }
    c->next = n->charged;
    n->charged = c;
    forget(n, peer);
    m = begin(CHARGE, 8 + strlen(peer) + strlen(why));
    put_block(&m, peer, strlen(peer));
    put_block(&m, why, strlen(why));
    return m;
}

/* Takes a message with data of another node. */
static RS_ERROR core_data(core *n, const char *from, const void *data, size_t size)
{
    reader r = {NULL, 0, false, 0};
    piece head, *p;
    uint64_t frame;
    uint32_t epoch;
    bool over;
    slot *s;
    unsigned kind;
    r.at = data;
    r.left = size;
    kind = read_kind(n, from, &r);
    if (kind == 0)
        return n->code;
    frame = number(&r, 8);
    epoch = (uint32_t)number(&r, 4);
    head.part = (uint32_t)number(&r, 4);
    head.parts = (uint32_t)number(&r, 4);
    head.total = number(&r, 8);
    if (kind != DATA || r.wrong || head.part >= head.parts || r.left > head.total || (head.parts > 1 && head.parts > head.total))
        return malformed(n, from);
    /* A packed state that cannot be made smaller becomes a little larger. */
    if (head.total > n->max && (n->plain || head.total > n->max + n->max / 1024 + 64))
        return fail(n, RS_ERROR_BUFFER_OVERFLOW, "client \"%s\" sent %llu bytes for frame %llu; the bound here is %llu: raise max_bytes, or send less", from,
                    (unsigned long long)head.total, (unsigned long long)frame, (unsigned long long)n->max);
    if (is_charged(n, from)) {
        n->refused += head.part == 0;
        return RS_ERROR_SUCCESS;
    }
    s = slot_of(n, frame, &over);
    if (s == NULL) { /* the frame is over, with other data */
        n->refused += over && head.part == 0;
        return over ? RS_ERROR_SUCCESS : n->code;
    }
    if (n->slot_count > MAX_AHEAD)
        return fail(n, RS_ERROR_INVALID_PARAMETERS, "client \"%s\" sent data for frame %llu, and %d frames before it were not asked for; is it a client of another run?", from,
                    (unsigned long long)frame, MAX_AHEAD);
    if (s->request != NULL && s->request->epoch == epoch && !is_name(s->request->controller, from))
        return fail(n, RS_ERROR_INVALID_PARAMETERS, "client \"%s\" sent the data of frame %llu, of which %.*s is the controller; send only where IsController says so", from,
                    (unsigned long long)frame, (int)s->request->controller.size, (const char *)s->request->controller.at);
    p = malloc(sizeof *p + r.left);
    if (p == NULL)
        return no_memory(n);
    *p = head;
    p->next = NULL;
    p->size = r.left;
    if (r.left > 0)
        memcpy(p + 1, r.at, r.left);
    return add(n, s, from, epoch, p);
}

/* ---- what has changed since the last state ---- */

static uint64_t little(const uint8_t *b, int bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | b[bytes];
    return value;
}

/* Keeps a state: that of the next frame is packed as what has changed since. false: no memory. */
static bool keep(core *n, uint64_t frame, const uint8_t *state, size_t size)
{
    uint8_t *kept = realloc(n->kept, size + 1);
    if (kept == NULL)
        return false;
    if (size > 0)
        memcpy(kept, state, size);
    n->kept = kept;
    n->kept_size = size;
    n->kept_frame = frame + 1;
    return true;
}

/* Has the next state travel whole, as all of it has changed since there was none: whoever has another last state can unpack it. */
static void pack_whole(core *n)
{
    n->kept_size = 0;
    n->kept_frame = 0;
}

/* Whether a block of a state is that of the last one. What lies behind the end of the last one has changed. */
static bool stays(const core *n, const uint8_t *state, size_t from, size_t to) { return to <= n->kept_size && memcmp(n->kept + from, state + from, to - from) == 0; }

static size_t block_end(size_t at, size_t size) { return size - at < BLOCK ? size : at + BLOCK; }

/* Packs a state: for each run of changed blocks how many bytes before it stay, how many it has, and these. It keeps nothing. */
static message packed_of(const core *n, const uint8_t *state, size_t size)
{
    size_t at = 0, from, done = 0;
    message m = {NULL, 0, false};
    /* Each run begins behind a block that stays, so there is at most one head for two blocks. */
    m.data = malloc(CHANGES_HEAD + size + 8 * (size / (2 * BLOCK) + 1));
    m.failed = m.data == NULL;
    put_number(&m, n->kept_frame, 8);
    put_number(&m, size, 8);
    while (at < size) {
        if (stays(n, state, at, block_end(at, size))) {
            at = block_end(at, size);
            continue;
        }
        for (from = at; at < size && !stays(n, state, at, block_end(at, size));)
            at = block_end(at, size);
        put_number(&m, from - done, 4);
        put_number(&m, at - from, 4);
        put(&m, state + from, at - from);
        done = at;
    }
    return m;
}

/* Room for a sentence that says what is wrong with packed data. */
enum { WHY = 160 };

/* Unpacks the state of a frame in its place, and keeps it. It says what is wrong with it in why, which is empty where there is no memory. */
static bool unpack(core *n, uint64_t frame, char why[WHY])
{
    const uint8_t *b = n->state;
    size_t left = n->state_size, at = 0, size;
    uint8_t *state;
    why[0] = '\0';
    if (left < CHANGES_HEAD)
        return snprintf(why, WHY, "it has no header"), false;
    if (little(b + 8, 8) > n->max)
        return snprintf(why, WHY, "it has %llu bytes, and the bound here is %llu: raise max_bytes, or send less", (unsigned long long)little(b + 8, 8), (unsigned long long)n->max), false;
    if (little(b, 8) == 0)
        pack_whole(n);
    if (little(b, 8) != n->kept_frame)
        return snprintf(why, WHY, "it is what has changed since frame %lld, and the last state here is of frame %lld", (long long)little(b, 8) - 1, (long long)n->kept_frame - 1), false;
    size = (size_t)little(b + 8, 8);
    if ((state = calloc(size + 1, 1)) == NULL)
        return false;
    if (n->kept != NULL)
        memcpy(state, n->kept, size < n->kept_size ? size : n->kept_size);
    for (b += CHANGES_HEAD, left -= CHANGES_HEAD; left > 0;) {
        uint64_t stay = left < 8 ? UINT32_MAX : little(b, 4), count = left < 8 ? UINT32_MAX : little(b + 4, 4);
        if (left < 8 || stay + count > size - at || count > left - 8) {
            free(state);
            return snprintf(why, WHY, "its changes lie outside of it"), false;
        }
        memcpy(state + at + stay, b + 8, (size_t)count);
        at += (size_t)(stay + count);
        b += 8 + count;
        left -= 8 + (size_t)count;
    }
    free(n->state);
    n->state = state;
    n->state_size = size;
    return keep(n, frame, state, size);
}

/* ---- frames ---- */

/* Takes the first frame off the list: the data that it did not use is refused. */
static void close_first(core *n, const set *used)
{
    slot *s = n->slots;
    const set *o;
    for (o = s->sets; o != NULL; o = o->next)
        n->refused += o != used && o->pieces->part == 0;
    n->slots = s->next;
    n->slot_count--;
    free_slot(s);
}

/* Ends the current frame: what the node has not said of it is said in reply. */
static RS_ERROR finish(core *n, message *reply)
{
    request *q = n->current;
    RS_ERROR code = RS_ERROR_SUCCESS;
    if (!n->in_frame)
        return code;
    if (n->controls && q->sync && !n->sent) {
        *reply = notice(q, 0, true);
        code = refuse_call(n, "the controller has sent nothing in this frame; send once in each frame while synchronisation is on");
        n->frame_over = true;
    } else if (!n->back) {
        static const uint8_t none[36];
        *reply = begin(BACK, 52);
        put_number(reply, q->data.frame, 8);
        put_number(reply, (uint64_t)q->data.tracked_ns, 8);
        put(reply, none, sizeof none);
    }
    n->in_frame = false;
    return reply->failed ? no_memory(n) : code;
}

/* Makes the request of the first slot that of the current frame, or of one that is over without data. */
static void take_request(core *n, request **to)
{
    free_request(*to);
    *to = n->slots->request;
    n->slots->request = NULL;
    n->last = (int64_t)n->slots->frame;
    n->inputs_read = 0;
}

static void enter(core *n, bool controls)
{
    take_request(n, &n->current);
    if (n->current->sync)
        n->epoch = n->current->epoch;
    free_request(n->over);
    n->over = NULL;
    n->in_frame = true;
    n->controls = controls;
    if (controls && n->led < 0)
        n->led = n->last;
    n->sent = n->received = n->back = false;
}

/* Puts the pieces of a set together. */
static bool join(core *n, const set *o)
{
    const piece *p;
    size_t done = 0;
    uint8_t *state = malloc((size_t)o->came + 1);
    if (state == NULL)
        return false;
    for (p = o->pieces; p != NULL; p = p->next) {
        memcpy(state + done, p + 1, p->size);
        done += p->size;
    }
    free(n->state);
    n->state = state;
    n->state_size = done;
    return true;
}

/* Whether the frame is the one that the caller begins. tracked is negative for a node that awaits. */
static RS_ERROR expected(core *n, const request *q, double tracked, bool controls)
{
    if (tracked < 0)
        return RS_ERROR_SUCCESS;
    if (controls)
        return fail(n, RS_ERROR_INVALID_PARAMETERS, "node %s, frame %llu: the node is the controller of this frame; call rs_setFollower with 0, and await it", n->name,
                    (unsigned long long)q->data.frame);
    if (q->data.tTracked < tracked || q->data.tTracked > tracked)
        return fail(n, RS_ERROR_INVALID_PARAMETERS, "node %s, frame %llu: the next frame has another tTracked; begin each frame, in order, with the tTracked that its controller had", n->name,
                    (unsigned long long)q->data.frame);
    return RS_ERROR_SUCCESS;
}

/* The frame that is next. NULL: it was not asked for yet. */
static slot *coming(core *n)
{
    slot *s = n->slots;
    while (s != NULL && (s->request == NULL || s->request->previous != n->last))
        s = s->next;
    while (s != NULL && n->slots != s) /* nobody asks for these frames any more, although somebody has sent data */
        close_first(n, NULL);
    return s;
}

/* Unpacks the data of a frame. NOT_YET: its controller was charged, as that is not possible. */
static int unpacked(core *n, const request *q)
{
    char why[WHY], *peer;
    if (unpack(n, q->data.frame, why))
        return RS_ERROR_SUCCESS;
    peer = why[0] == '\0' ? NULL : copy_text(q->controller.at, q->controller.size);
    if (peer == NULL)
        return (int)no_memory(n);
    fail(n, RS_ERROR_INVALID_PARAMETERS, "client \"%s\" sent the data of frame %llu in a way in which it cannot be unpacked: %s", peer, (unsigned long long)q->data.frame, why);
    free(n->owed.data);
    n->owed = charge_of(n, peer, n->text == NULL ? "" : n->text);
    free(peer);
    return NOT_YET;
}

/* Whether the frame that was asked for is released, and its data counts. */
static bool released(const slot *s) { return s->released && s->epoch == s->request->epoch && s->lost != s->epoch; }

/* Whether a frame that was asked for has no data. When the work is done, a node has shown all frames that have: a release without data may come after the end. */
static bool is_missing(const core *n, const slot *s)
{
    return (released(s) && s->missing) || (n->ended && !n->failed && (n->reason == NULL || n->reason[0] == '\0'));
}

/* The data of a released frame. NULL: it is not all there. If the director has asked for it, that is said, and what comes later does not count. */
static set *data_of(core *n, slot *s)
{
    const request *q = s->request;
    set *o = s->sets;
    while (o != NULL && (o->epoch != q->epoch || !is_name(q->controller, o->from)))
        o = o->next;
    if (o != NULL && o->count == o->pieces->parts && q->epoch >= n->epoch) /* else the frame before it is one of a later epoch */
        return o;
    if (s->called == q->epoch) {
        s->lost = q->epoch;
        free(n->owed.data);
        n->owed = begin(LACK, 12);
        put_number(&n->owed, s->frame, 8);
        put_number(&n->owed, s->lost, 4);
    }
    return NULL;
}

/* Begins the next frame. NOT_YET: it is not there. */
static int take_frame(core *n, double tracked)
{
    slot *s = coming(n);
    request *q;
    set *o;
    bool controls;
    int code;
    if (s == NULL)
        return NOT_YET;
    q = s->request;
    if (q->streams != n->streams) {
        n->streams = q->streams;
        return fail(n, RS_ERROR_STREAMS_CHANGED, "the streams have changed; fetch them, and await again");
    }
    controls = leads(n, q);
    if (controls || !q->sync) {
        if (expected(n, q, tracked, controls) != RS_ERROR_SUCCESS)
            return (int)n->code;
        enter(n, controls);
        close_first(n, NULL);
        return RS_ERROR_SUCCESS;
    }
    if (!is_missing(n, s) && !released(s))
        return NOT_YET;
    if (is_missing(n, s)) { /* for good: also where the frame before it was asked for again, and is one of a later epoch */
        take_request(n, &n->over);
        n->epoch = q->epoch > n->epoch ? q->epoch : n->epoch;
        close_first(n, NULL);
        n->frame_over = true;
        q = n->over;
        fail(n, RS_ERROR_UNSPECIFIED, "controller %.*s did not send for tTracked %.9f s (frame %llu)", (int)q->controller.size, (const char *)q->controller.at,
             (double)q->data.tracked_ns / 1e9, (unsigned long long)q->data.frame);
        return (int)n->code;
    }
    o = data_of(n, s);
    if (o == NULL)
        return NOT_YET; /* on a link with a delay, or it was never sent */
    if (expected(n, q, tracked, false) != RS_ERROR_SUCCESS)
        return (int)n->code;
    if (!join(n, o))
        return (int)no_memory(n);
    if (q->packing != 0 && (code = unpacked(n, q)) != RS_ERROR_SUCCESS)
        return code;
    enter(n, false);
    close_first(n, o);
    return RS_ERROR_SUCCESS;
}

static const char NOT_SET[] = "the node was not set to be a follower; call rs_setFollower with 1 first, or await its frames";

/* Whether the next frame is known to have no data. That is said before a node that has not failed is to leave: it may have been the last frame. */
static bool misses(core *n)
{
    const slot *s = coming(n);
    return s != NULL && s->request->sync && !leads(n, s->request) && is_missing(n, s) && !(n->ended && n->failed);
}

/* Ends the current frame. It fails for a node that is to leave, unless something is to be said before. What it replies is to be published in any case. */
static RS_ERROR end_frame(core *n, bool before, message reply[REPLIES])
{
    if (finish(n, reply) != RS_ERROR_SUCCESS)
        return n->code;
    if (!n->ended || before)
        return RS_ERROR_SUCCESS;
    reply[1] = begin(BYE, 0);
    return fail(n, RS_ERROR_QUIT, "%s", n->reason == NULL || n->reason[0] == '\0' ? "the director has ended the cluster; leave" : n->reason);
}

/* Ends the current frame and begins the next one: of this tTracked where it is not negative. */
static int core_next(core *n, double tracked, message reply[REPLIES])
{
    int code;
    n->frame_over = false;
    if (n->follows != (tracked >= 0))
        return (int)refuse_call(n, n->follows ? "the node was set to be a follower; begin its frames with rs_beginFollowerFrame, or call rs_setFollower with 0" : NOT_SET);
    if (end_frame(n, misses(n), reply) != RS_ERROR_SUCCESS)
        return (int)n->code;
    code = take_frame(n, tracked);
    reply[1] = n->owed; /* a charge, or that data lacks, is told at once */
    n->owed = begin_none();
    return code;
}

/* Ends the current frame of a node whose state comes from its engine. It fails where there is another thing to do than to wait for that. */
static RS_ERROR core_hear(core *n, message reply[REPLIES])
{
    slot *s;
    if (!n->follows)
        return refuse_call(n, NOT_SET);
    if (end_frame(n, false, reply) != RS_ERROR_SUCCESS)
        return n->code;
    s = coming(n);
    if (s != NULL && leads(n, s->request))
        return expected(n, s->request, 0, true);
    if (s != NULL && released(s) && !s->missing && data_of(n, s) == NULL) {
        reply[1] = n->owed;
        n->owed = begin_none();
    }
    return RS_ERROR_SUCCESS;
}

/* Whether the current frame's data may be sent, or received. */
static RS_ERROR may_send(core *n, size_t size)
{
    if (!n->in_frame)
        return refuse_call(n, NO_FRAME);
    if (!n->current->sync)
        return refuse_call(n, "engine synchronisation is off: no data is sent or received; ask rs_engineSyncEnabled in each frame");
    if (!n->controls)
        return refuse_call(n, "only the controller sends; ask rs_isController in each frame");
    if (n->sent)
        return refuse_call(n, "the data of this frame is sent; send once in a frame");
    if (size > n->max)
        return fail(n, RS_ERROR_BUFFER_OVERFLOW, "node %s, frame %llu: the data is larger than the bound: %llu bytes of at most %llu; raise max_bytes, or send less", n->name,
                    (unsigned long long)n->current->data.frame, (unsigned long long)size, (unsigned long long)n->max);
    return RS_ERROR_SUCCESS;
}

/* Packs what may be sent, and keeps it. */
static RS_ERROR pack(core *n, const uint8_t *state, size_t size, message *m)
{
    if (n->packed_epoch != n->current->epoch) { /* other nodes may have missed the frame before */
        n->packed_epoch = n->current->epoch;
        pack_whole(n);
    }
    *m = packed_of(n, state, size);
    if (m->failed)
        return no_memory(n);
    return keep(n, n->current->data.frame, state, size) ? RS_ERROR_SUCCESS : no_memory(n);
}

static RS_ERROR may_receive(core *n)
{
    if (!n->in_frame)
        return refuse_call(n, NO_FRAME);
    if (!n->current->sync)
        return refuse_call(n, "engine synchronisation is off: no data is sent or received; ask rs_engineSyncEnabled in each frame");
    if (n->controls)
        return refuse_call(n, "the controller does not receive, it sends; ask rs_isController in each frame");
    if (n->received)
        return refuse_call(n, "the data of this frame is received; receive once in a frame");
    n->received = true;
    return RS_ERROR_SUCCESS;
}

/* How many messages carry so many bytes, and the one that carries a part of them. */
static uint32_t parts_of(const core *n, size_t size) { return size == 0 ? 1 : (uint32_t)((size + n->piece - 1) / n->piece); }

static message part_of(const core *n, const uint8_t *data, size_t size, uint32_t part)
{
    size_t from = part * n->piece, more = size - from < n->piece ? size - from : n->piece;
    message m = begin(DATA, 28 + more);
    put_number(&m, n->current->data.frame, 8);
    put_number(&m, n->current->epoch, 4);
    put_number(&m, part, 4);
    put_number(&m, parts_of(n, size), 4);
    put_number(&m, size, 8);
    put(&m, data + from, more);
    return m;
}

/* The notice for the director, which is published after all parts. */
static message notice_of(core *n, size_t size)
{
    n->sent = true;
    return notice(n->current, size, false);
}

static message hello_of(rs_role role, int64_t order)
{
    message m = begin(HELLO, 9);
    put_number(&m, (uint64_t)role, 1);
    put_number(&m, (uint64_t)order, 8);
    return m;
}

static message input_of(const void *data, size_t size)
{
    message m = begin(INPUT, 4 + size);
    put_block(&m, data, size);
    return m;
}

/* The message that says that the current frame is finished. */
static RS_ERROR core_back(core *n, const uint8_t state[32], const rs_picture *pictures, size_t count, message *m)
{
    static const uint8_t none[32];
    size_t i, size = 0;
    if (!n->in_frame)
        return refuse_call(n, NO_FRAME);
    if (n->back)
        return refuse_call(n, "the frame was sent back; send it once");
    if ((count > 1 && count > n->current->view_count) || (count > 0 && count < n->current->view_count))
        return refuse_call(n, "a frame goes back with a picture for each stream of the node, in their order, or with none");
    for (i = 0; i < count; i++)
        size += 4 + (size_t)pictures[i].size;
    n->back = true;
    *m = begin(BACK, 52 + size);
    put_number(m, n->current->data.frame, 8);
    put_number(m, (uint64_t)n->current->data.tracked_ns, 8);
    put(m, state == NULL ? none : state, 32);
    if (count == 0)
        put_block(m, NULL, 0);
    if (count > 1) {
        if (!m->failed)
            m->data[1] = STREAMS_VERSION;
        put_number(m, count, 4);
    }
    for (i = 0; i < count; i++)
        put_block(m, pictures[i].data, (size_t)pictures[i].size);
    return RS_ERROR_SUCCESS;
}

/* The next input of the current frame, or of one that is over without data. */
static RS_ERROR core_input(core *n, block *input)
{
    const request *q = n->in_frame ? n->current : n->over;
    if (q == NULL)
        return refuse_call(n, NO_FRAME);
    if (n->inputs_read == q->input_count)
        return fail(n, RS_ERROR_NOTFOUND, "node %s, frame %llu: there is no other interaction data in this frame", n->name, (unsigned long long)q->data.frame);
    *input = q->inputs[n->inputs_read++];
    return RS_ERROR_SUCCESS;
}

/* ---- calls ---- */

struct rs_node {
    core *core;
    metasim_client *client;
    char *director, *orders, *replies, *data;
    rs_role role;
    int64_t order;
    metasim_handler other;
    void *user;
    bool heard; /* other was called */
    bool initialised;
    const void *thread; /* that has awaited the current frame; NULL: none has */
};

/* What no two threads have in common: each has an errno of its own. */
static const void *this_thread(void) { return &errno; }

static char *channel(const char *director, const char *name)
{
    size_t size = strlen(director) + strlen(name) + 1;
    char *text = malloc(size);
    if (text != NULL)
        snprintf(text, size, "%s%s", director, name);
    return text;
}

/* Subscribes to a channel whose name may have characters of patterns. */
static bool subscribes(metasim_client *c, const char *name)
{
    char *pattern = malloc(2 * strlen(name) + 1), *to = pattern;
    bool done;
    if (pattern == NULL)
        return false;
    for (; *name != '\0'; name++) {
        if (strchr("\\.+*?()|[]{}^$", *name) != NULL)
            *to++ = '\\';
        *to++ = *name;
    }
    *to = '\0';
    done = metasim_subscription(c, pattern) == METASIM_OK;
    free(pattern);
    return done;
}

rs_node *rs_declare(metasim_client *client, const rs_options *options)
{
    rs_options o;
    rs_node *n;
    memset(&o, 0, sizeof o);
    if (options != NULL)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    if (o.role != RS_FOLLOWER && o.role != RS_UNDERSTUDY && o.role != RS_CONTROLLER) {
        char said[120];
        snprintf(said, sizeof said, "the role of a node is %d; use RS_FOLLOWER, RS_UNDERSTUDY or RS_CONTROLLER", (int)o.role);
        metasim_mistake(client, said);
        return NULL;
    }
    n = calloc(1, sizeof *n);
    if (n == NULL)
        return NULL;
    n->client = client;
    n->role = o.role;
    n->order = o.order;
    n->other = o.other;
    n->user = o.user;
    n->core = new_core(metasim_name(client), o.max_bytes == 0 ? (uint64_t)256 << 20 : o.max_bytes, MAX_PIECE);
    n->director = channel(o.director == NULL ? "director" : o.director, "");
    n->orders = channel(o.director == NULL ? "director" : o.director, "/orders");
    n->replies = channel(o.director == NULL ? "director" : o.director, "/replies");
    n->data = channel(o.director == NULL ? "director" : o.director, "/data");
    if (n->core == NULL || n->director == NULL || n->orders == NULL || n->replies == NULL || n->data == NULL || metasim_publication(client, n->replies) != METASIM_OK ||
        !subscribes(client, n->orders) || (n->role != RS_FOLLOWER && metasim_publication(client, n->data) != METASIM_OK) ||
        (n->role != RS_CONTROLLER && !subscribes(client, n->data))) {
        rs_shutdown(n);
        return NULL;
    }
    return n;
}

void rs_shutdown(rs_node *n)
{
    if (n == NULL)
        return;
    if (n->core != NULL)
        free_core(n->core);
    free(n->director);
    free(n->orders);
    free(n->replies);
    free(n->data);
    free(n);
}

static RS_ERROR client_failed(rs_node *n) { return fail(n->core, RS_ERROR_INVALIDHANDLE, "%s", metasim_error(n->client)); }

/* Publishes a message, and frees it. */
static RS_ERROR publish(rs_node *n, const char *on, message m)
{
    metasim_code code = METASIM_OK;
    if (m.failed)
        return no_memory(n->core);
    if (m.size > 0)
        code = metasim_publish(n->client, on, m.data, m.size);
    free(m.data);
    return code == METASIM_OK ? RS_ERROR_SUCCESS : client_failed(n);
}

static RS_ERROR not_initialised(rs_node *n) { return fail(n->core, RS_ERROR_NOT_INITIALISED, "the node has not joined; call rs_initialise first, right after metasim_join"); }

/* Whether a call can be made at all. The sentence of a node that there is not is that of rs_lastError. */
static RS_ERROR usable(rs_node *n)
{
    if (n == NULL)
        return RS_ERROR_INVALIDHANDLE;
    return n->initialised ? RS_ERROR_SUCCESS : not_initialised(n);
}

/* Whether what a call is to read, or where it is to put what it returns, is there. */
static RS_ERROR check_given(rs_node *n, bool given)
{
    return given ? RS_ERROR_SUCCESS : fail(n->core, RS_ERROR_INVALID_PARAMETERS, "node %s: a pointer is NULL; give the address of what is read, or of where the result goes", n->core->name);
}

RS_ERROR rs_initialise(rs_node *n)
{
    RS_ERROR code;
    if (n == NULL)
        return RS_ERROR_INVALIDHANDLE;
    if (n->initialised)
        return fail(n->core, RS_ERROR_ALREADYINITIALISED, "node %s is initialised; call rs_initialise once", n->core->name);
    code = publish(n, n->replies, hello_of(n->role, n->order));
    n->initialised = code == RS_ERROR_SUCCESS;
    return code;
}

/* Tells the director of a client that breaks the rules, with the sentence of the last error. The client is failed, and this node goes on. */
static RS_ERROR charge(rs_node *n, const char *peer)
{
    return publish(n, n->replies, charge_of(n->core, peer, n->core->text == NULL ? "" : n->core->text));
}

/* Takes in one message. */
static RS_ERROR hear(rs_node *n, const metasim_message *m)
{
    bool order = strcmp(m->channel, n->orders) == 0;
    if (!order && strcmp(m->channel, n->data) != 0) {
        if (n->other == NULL)
            return fail(n->core, RS_ERROR_INVALID_PARAMETERS,
                        "client \"%s\" has sent a message on %s, to which the engine of node %s has subscribed itself; take such messages with rs_options.other", m->from, m->channel,
                        n->core->name);
        n->heard = true;
        return n->other(n->client, m, n->user) == METASIM_OK ? RS_ERROR_SUCCESS : fail(n->core, RS_ERROR_INVALIDHANDLE, "the engine's own handler of messages has failed");
    }
    if (strcmp(m->from, n->core->name) == 0) /* an understudy that is the controller now */
        return RS_ERROR_SUCCESS;
    if (!order) {
        RS_ERROR code = core_data(n->core, m->from, m->payload, m->size);
        /* More data than it takes is an error of its own bound. */
        if (code == RS_ERROR_INVALID_PARAMETERS || code == RS_ERROR_INCOMPATIBLE_VERSION)
            code = charge(n, m->from);
        return code;
    }
    if (strcmp(m->from, n->director) == 0)
        return core_order(n->core, m->from, m->payload, m->size);
    fail(n->core, RS_ERROR_INVALID_PARAMETERS, "client \"%s\" publishes on %s, which is the director's; use another channel", m->from, n->orders);
    return charge(n, m->from);
}

/* Advances to the next message or to a time, and takes in what came. The milliseconds are real time; negative: for ever. */
static RS_ERROR advance(rs_node *n, int64_t until, int milliseconds)
{
    const metasim_message *m;
    metasim_code code = milliseconds < 0 ? metasim_next(n->client, until) : metasim_next_within(n->client, until, milliseconds);
    RS_ERROR wrong = RS_ERROR_SUCCESS;
    if (code == METASIM_TIMEOUT)
        return fail(n->core, RS_ERROR_TIMEOUT, "no frame was asked for within the timeout; await again");
    if (code == METASIM_END)
        return fail(n->core, RS_ERROR_QUIT, "the run has ended");
    if (code != METASIM_OK)
        return client_failed(n);
    while (wrong == RS_ERROR_SUCCESS && (m = metasim_receive(n->client)) != NULL)
        wrong = hear(n, m);
    return wrong;
}

/* Publishes what is owed. It is sent before what the next call of the node replies. */
static RS_ERROR publish_owed(rs_node *n)
{
    RS_ERROR code = RS_ERROR_SUCCESS;
    message notice;
    while (code == RS_ERROR_SUCCESS && next_owed(n->core, &notice))
        code = publish(n, n->replies, notice);
    return code;
}

static RS_ERROR publish_all(rs_node *n, message reply[REPLIES])
{
    RS_ERROR code = RS_ERROR_SUCCESS;
    int i;
    for (i = 0; i < REPLIES; i++) {
        RS_ERROR failed = publish(n, n->replies, reply[i]);
        code = code == RS_ERROR_SUCCESS ? failed : code;
    }
    return code;
}

static int64_t milliseconds_now(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 : 0;
}

static RS_ERROR next_frame(rs_node *n, double tracked, int timeoutMs, rs_frame_data *data)
{
    int64_t late = timeoutMs < 0 ? 0 : milliseconds_now() + timeoutMs;
    const request *q;
    int code = usable(n);
    if (code != RS_ERROR_SUCCESS)
        return (RS_ERROR)code;
    n->thread = this_thread();
    for (;;) {
        message reply[REPLIES] = {{NULL, 0, false}, {NULL, 0, false}};
        RS_ERROR failed;
        int64_t left = timeoutMs < 0 ? -1 : late - milliseconds_now();
        failed = publish_owed(n);
        if (failed != RS_ERROR_SUCCESS)
            return failed;
        code = core_next(n->core, tracked, reply);
        failed = publish_all(n, reply);
        if (failed != RS_ERROR_SUCCESS)
            return failed;
        if (code != NOT_YET)
            break;
        failed = advance(n, METASIM_FOREVER, timeoutMs < 0 ? -1 : left < 0 ? 0 : (int)left);
        if (failed != RS_ERROR_SUCCESS)
            return failed;
    }
    q = n->core->in_frame ? n->core->current : n->core->over;
    if (q != NULL && data != NULL)
        *data = q->data;
    return (RS_ERROR)code;
}

RS_ERROR rs_awaitFrameData(rs_node *n, int timeoutMs, rs_frame_data *data) { return next_frame(n, -1, timeoutMs, data); }

RS_ERROR rs_beginFollowerFrame(rs_node *n, double tTracked, rs_frame_data *data)
{
    if (n != NULL && !(tTracked >= 0))
        return fail(n->core, RS_ERROR_INVALID_PARAMETERS, "node %s: tTracked is negative, or no number; give it the tTracked that the frame's controller had", n->core->name);
    return next_frame(n, tTracked, -1, data);
}

RS_ERROR rs_hear(rs_node *n)
{
    RS_ERROR code = usable(n);
    if (code == RS_ERROR_SUCCESS)
        n->heard = false;
    while (code == RS_ERROR_SUCCESS && !n->heard) {
        message reply[REPLIES] = {{NULL, 0, false}, {NULL, 0, false}};
        RS_ERROR failed;
        code = publish_owed(n);
        if (code != RS_ERROR_SUCCESS)
            return code;
        code = core_hear(n->core, reply);
        failed = publish_all(n, reply);
        code = failed == RS_ERROR_SUCCESS ? code : failed;
        if (code == RS_ERROR_SUCCESS)
            code = advance(n, METASIM_FOREVER, -1);
    }
    return code;
}

RS_ERROR rs_setFollower(rs_node *n, int isFollower)
{
    RS_ERROR code = usable(n);
    if (code == RS_ERROR_SUCCESS)
        n->core->follows = isFollower != 0;
    return code;
}

int rs_frameIsOver(const rs_node *n) { return n != NULL && n->core->frame_over; }

/* Whether a call in a frame may be made, which has been given all that it needs. */
static RS_ERROR in_frame(rs_node *n, bool given)
{
    RS_ERROR code = usable(n);
    if (code == RS_ERROR_SUCCESS)
        code = check_given(n, given);
    return code != RS_ERROR_SUCCESS || n->core->in_frame ? code : refuse_call(n->core, NO_FRAME);
}

/* Whether this thread may send or receive the data of the frame: it is the one that has awaited it. Another one may come too late, in the next frame. */
static RS_ERROR awaited(rs_node *n)
{
    if (n->thread == NULL || n->thread == this_thread())
        return RS_ERROR_SUCCESS;
    return refuse_call(n->core, "another thread awaits the frames of this node; use a node on one thread");
}

RS_ERROR rs_isController(rs_node *n, int *isController)
{
    RS_ERROR code = in_frame(n, isController != NULL);
    if (isController != NULL)
        *isController = code == RS_ERROR_SUCCESS && n->core->controls;
    return code;
}

RS_ERROR rs_engineSyncEnabled(rs_node *n, int *enabled)
{
    RS_ERROR code = in_frame(n, enabled != NULL);
    if (enabled != NULL)
        *enabled = code == RS_ERROR_SUCCESS && n->core->current->sync;
    return code;
}

/* Whether there are so many bytes. */
static RS_ERROR check_size(rs_node *n, const void *data, int size)
{
    if (size < 0)
        return fail(n->core, RS_ERROR_INVALID_PARAMETERS, "node %s: a size of %d bytes; use 0 or more", n->core->name, size);
    return check_given(n, data != NULL || size == 0);
}

RS_ERROR rs_sendFollowerData(rs_node *n, const void *data, int size)
{
    RS_ERROR code = usable(n);
    message packed = begin_none();
    size_t bytes = (size_t)size;
    uint32_t part;
    if (code == RS_ERROR_SUCCESS)
        code = check_size(n, data, size);
    if (code == RS_ERROR_SUCCESS)
        code = awaited(n);
    if (code == RS_ERROR_SUCCESS)
        code = may_send(n->core, bytes);
    if (code == RS_ERROR_SUCCESS && n->core->current->packing != 0) {
        code = pack(n->core, data, bytes, &packed);
        data = packed.data;
        bytes = packed.size;
    }
    for (part = 0; code == RS_ERROR_SUCCESS && part < parts_of(n->core, bytes); part++)
        code = publish(n, n->data, part_of(n->core, data, bytes, part));
    free(packed.data);
    return code == RS_ERROR_SUCCESS ? publish(n, n->replies, notice_of(n->core, bytes)) : code;
}

RS_ERROR rs_receiveFollowerData(rs_node *n, const void **data, int *size)
{
    RS_ERROR code = usable(n);
    bool given = data != NULL && size != NULL;
    if (code == RS_ERROR_SUCCESS)
        code = check_given(n, given);
    if (code == RS_ERROR_SUCCESS)
        code = awaited(n);
    if (code == RS_ERROR_SUCCESS)
        code = may_receive(n->core);
    if (code == RS_ERROR_SUCCESS && n->core->state_size > INT_MAX)
        code = fail(n->core, RS_ERROR_BUFFER_OVERFLOW, "node %s: the data of this frame is larger than an int says; send less", n->core->name);
    if (given) {
        *data = code == RS_ERROR_SUCCESS ? n->core->state : NULL;
        *size = code == RS_ERROR_SUCCESS ? (int)n->core->state_size : 0;
    }
    return code;
}

RS_ERROR rs_sendInteractionData(rs_node *n, const void *data, int size)
{
    RS_ERROR code = in_frame(n, true);
    if (code == RS_ERROR_SUCCESS)
        code = check_size(n, data, size);
    return code == RS_ERROR_SUCCESS ? publish(n, n->replies, input_of(data, (size_t)size)) : code;
}

RS_ERROR rs_receiveInteractionData(rs_node *n, const void **data, int *size)
{
    block input = {NULL, 0};
    bool given = data != NULL && size != NULL;
    RS_ERROR code = usable(n);
    if (code == RS_ERROR_SUCCESS)
        code = check_given(n, given);
    if (code == RS_ERROR_SUCCESS)
        code = core_input(n->core, &input);
    if (given) {
        *data = input.at;
        *size = (int)input.size;
    }
    return code;
}

RS_ERROR rs_compute(rs_node *n, int64_t nanoseconds)
{
    RS_ERROR code = in_frame(n, true);
    int64_t now = code == RS_ERROR_SUCCESS ? metasim_now(n->client).time : 0;
    int64_t until = nanoseconds < METASIM_FOREVER - now ? now + nanoseconds : METASIM_FOREVER;
    while (code == RS_ERROR_SUCCESS && metasim_now(n->client).time < until)
        code = advance(n, until, -1);
    return code;
}

RS_ERROR rs_sendFrame(rs_node *n, const uint8_t state[32], const void *picture, int size)
{
    rs_picture one;
    one.data = picture;
    one.size = size;
    return rs_sendPictures(n, state, &one, size != 0);
}

RS_ERROR rs_sendPictures(rs_node *n, const uint8_t state[32], const rs_picture *pictures, int count)
{
    message m = {NULL, 0, false};
    RS_ERROR code = usable(n);
    int i;
    if (code == RS_ERROR_SUCCESS)
        code = check_size(n, pictures, count);
    for (i = 0; code == RS_ERROR_SUCCESS && i < count; i++)
        code = check_size(n, pictures[i].data, pictures[i].size);
    if (code == RS_ERROR_SUCCESS)
        code = core_back(n->core, state, pictures, (size_t)count, &m);
    return code == RS_ERROR_SUCCESS ? publish(n, n->replies, m) : code;
}

RS_ERROR rs_getStreams(rs_node *n, const rs_stream **streams, int *count)
{
    bool given = streams != NULL && count != NULL;
    RS_ERROR code = in_frame(n, given);
    if (given) {
        *streams = code == RS_ERROR_SUCCESS ? n->core->current->views : NULL;
        *count = code == RS_ERROR_SUCCESS ? (int)n->core->current->view_count : 0;
    }
    return code;
}

uint64_t rs_refused(const rs_node *n) { return n == NULL ? 0 : n->core->refused; }

const char *rs_lastError(const rs_node *n)
{
    if (n == NULL)
        return "there is no node; look at what rs_declare has returned: where that is NULL, metasim_error says why";
    return n->core->text == NULL ? "" : n->core->text;
}

const char *rs_errorName(RS_ERROR error)
{
    static const char *const names[] = {"RS_ERROR_SUCCESS", "RS_ERROR_NOT_INITIALISED", "RS_ERROR_ALREADYINITIALISED", "RS_ERROR_INVALIDHANDLE", "RS_ERROR_MAXSENDERSREACHED",
                                        "RS_ERROR_BADSTREAMTYPE", "RS_ERROR_NOTFOUND", "RS_ERROR_INCORRECTSCHEMA", "RS_ERROR_INVALID_PARAMETERS", "RS_ERROR_BUFFER_OVERFLOW",
                                        "RS_ERROR_TIMEOUT", "RS_ERROR_STREAMS_CHANGED", "RS_ERROR_INCOMPATIBLE_VERSION", "RS_ERROR_FAILED_TO_GET_DXDEVICE_FROM_RESOURCE",
                                        "RS_ERROR_FAILED_TO_INITIALISE_GPGPU", "RS_ERROR_QUIT", "RS_ERROR_ENGINE_DATA_AVAILABLE", "RS_ERROR_UNSPECIFIED"};
    return (size_t)error < sizeof names / sizeof *names ? names[error] : "RS_ERROR_UNSPECIFIED";
}

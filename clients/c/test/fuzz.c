/*
 * fuzz: gives bytes of a server to a client that has joined. With -DLIBFUZZER it is a target of libFuzzer; otherwise it reads
 * inputs from standard input, each a length (u32, little-endian) and so many bytes, and ends with 0 if none of them harms it.
 */
#include "../metasim.c"

/* Decodes bytes as a frame, from memory that ends where they do: so a look beyond them is seen. */
static void decode(const uint8_t *data, size_t size)
{
    metasim_client *c = metasim_new(NULL);
    uint8_t *frame = malloc(size == 0 ? 1 : size);
    if (c == NULL || frame == NULL)
        abort();
    memcpy(frame, data, size);
    if (size % 2 == 1) { /* it comes back */
        c->memory.coming = true;
        c->scenario = copy_text("demo", 4);
    }
    take_frame(c, frame, size);
    c->memory.coming = false;
    c->started = false; /* nobody is to be told how it ends */
    metasim_free(c);
    free(frame);
}

static metasim_code gives_up(metasim_client *c, const metasim_message *m, void *user)
{
    (void)c;
    (void)m;
    (void)user;
    return METASIM_LOST; /* no other server comes */
}

/* What a server may answer to this client: it has one subscription, and has sent a poll. */
static void feed(const uint8_t *data, size_t size)
{
    metasim_options o = {sizeof o, "unix:///nowhere", "fuzzed", ""};
    metasim_client *c = metasim_new(&o);
    int pair[2];
    size_t done = 0;
    if (c == NULL || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        abort();
    while (done < size) { /* more than a socket takes is cut */
        ssize_t n = send(pair[1], data + done, size - done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    shutdown(pair[1], SHUT_WR);
    c->wire.socket = pair[0];
    metasim_subscription(c, ".*");
    metasim_publication(c, "X");
    metasim_on_lost(c, gives_up, NULL);
    if (metasim_join(c) == METASIM_OK) {
        metasim_code code;
        int64_t t;
        for (t = 0; (code = metasim_step(c, t)) == METASIM_OK && t < 1000; t++) {
            const metasim_message *m;
            while ((m = metasim_receive(c)) != NULL)
                metasim_publish(c, "X", m->payload, m->size);
        }
        if (code == METASIM_OK)
            metasim_run(c);
    }
    metasim_free(c);
    close(pair[1]);
}

static metasim_code answers(metasim_client *c, metasim_request request, const metasim_message *m, void *user)
{
    (void)user;
    return metasim_reply(c, request, m->payload, m->size);
}

/* Gives bytes to a client as the message of each of its services: one that it answers, and one that it asks. */
static void serve_all(const uint8_t *data, size_t size)
{
    static const char *const channels[] = {"call:S", "reply:S"};
    metasim_options o = {sizeof o, "unix:///nowhere", "fuzzed", ""};
    metasim_client *c = metasim_new(&o);
    const metasim_message *answer;
    metasim_pending pending;
    size_t i;
    if (c == NULL || metasim_answer(c, "S", answers, NULL) || metasim_caller(c, "S"))
        abort();
    c->started = true;
    if (metasim_start(c, "S", data, size, 10, &pending) != METASIM_OK)
        abort();
    for (i = 0; i < 2; i++) {
        delivery *d = malloc(sizeof *d + size);
        metasim_message m = {"other", NULL, 0, {0, 0}, {5, 0}, NULL, 0};
        if (d == NULL)
            abort();
        memcpy(d + 1, data, size);
        m.channel = keep_channel(c, channels[i], strlen(channels[i]));
        m.payload = d + 1;
        m.size = size;
        d->message = m;
        push(&c->given, d);
    }
    c->now = at(5);
    handle(c, c->now, &c->ready);
    if (metasim_done(c, pending))
        metasim_wait(c, pending, &answer);
    c->started = false;
    metasim_free(c);
}

static void try_all(const uint8_t *data, size_t size)
{
    size_t length = size < 4 ? 0 : (size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16 | (size_t)data[3] << 24;
    feed(data, size);
    decode(data, size);
    serve_all(data, size);
    if (size > 4 && length <= size - 4)
        decode(data + 4, length);
}

#ifdef LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_all(data, size);
    return 0;
}

#else

int main(void)
{
    static uint8_t data[1 << 20];
    uint8_t head[4];
    while (fread(head, 1, 4, stdin) == 4) {
        size_t size = (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
        if (size > sizeof data || fread(data, 1, size, stdin) != size)
            return 2;
        try_all(data, size);
    }
    return 0;
}

#endif

/*
 * stories: plays conformance/followers.txt, whose calls it reads from standard input, and says what comes of each: the file again, if all is right.
 */
#include "../metasim_follower.c"

/* How many words follow a call at most. */
enum { WORDS = 4 };

static uint8_t bytes[1 << 16];

/* Reads hexadecimal; "-" is nothing. */
static size_t unhex(const char *word)
{
    size_t size = 0;
    unsigned value;
    for (; word[0] != '\0' && word[0] != '-' && sscanf(word, "%2x", &value) == 1; word += 2)
        bytes[size++] = (uint8_t)value;
    return size;
}

static void show(const void *data, size_t size)
{
    const uint8_t *b = data;
    size_t i;
    for (i = 0; i < size; i++)
        printf("%02x", b[i]);
    if (size == 0)
        putchar('-');
}

static void say(const char *kind, message m)
{
    if (m.size == 0)
        return;
    printf(" %s ", kind);
    show(m.data, m.size);
    putchar('\n');
    free(m.data);
}

/* What other clients have done, or the director has said, is told with its sentence. */
static void problem(const core *n, RS_ERROR code, bool of_others)
{
    printf(" error %d", (int)code);
    if (of_others) {
        putchar(' ');
        show(n->text, strlen(n->text));
    }
    putchar('\n');
}

static void inputs(core *n)
{
    block input;
    while (core_input(n, &input) == RS_ERROR_SUCCESS) {
        putchar(' ');
        show(input.at, input.size);
    }
    putchar('\n');
}

static void say_owed(core *n)
{
    message notice;
    while (next_owed(n, &notice))
        say("reply", notice);
}

static void next(core *n, double tracked)
{
    message reply[REPLIES] = {{NULL, 0, false}, {NULL, 0, false}};
    int i, code;
    say_owed(n);
    code = core_next(n, tracked, reply);
    for (i = 0; i < REPLIES; i++)
        say("reply", reply[i]);
    if (code == NOT_YET)
        puts(" wait");
    else if (code == RS_ERROR_UNSPECIFIED) {
        printf(" missing %llu %u", (unsigned long long)n->over->data.frame, (unsigned)n->over->data.flags);
        inputs(n);
    } else if (code != RS_ERROR_SUCCESS)
        problem(n, (RS_ERROR)code, code == RS_ERROR_QUIT && n->reason[0] != '\0');
    else {
        const rs_frame_data *f = &n->current->data;
        printf(" frame %llu %lld %lld %lld %u %u %u %u\n", (unsigned long long)f->frame, (long long)f->tracked_ns, (long long)f->local_ns, (long long)f->delta_ns,
               (unsigned)f->frameRateNumerator, (unsigned)f->frameRateDenominator, (unsigned)f->flags, (unsigned)f->scene);
    }
}

static void done(const core *n, RS_ERROR code)
{
    if (code == RS_ERROR_SUCCESS)
        puts(" ok");
    else
        problem(n, code, false);
}

/* Asks for a value of the current frame: 1 the controller, 2 synchronisation. */
static void ask(core *n, int what)
{
    if (!n->in_frame)
        done(n, refuse_call(n, NO_FRAME));
    else
        printf(" ok %d\n", what == 1 ? n->controls : n->current->sync);
}

static void send_state(core *n, const char *word)
{
    size_t size = unhex(word);
    RS_ERROR code = may_send(n, size);
    message packed = begin_none();
    const uint8_t *data = bytes;
    uint32_t part;
    if (code == RS_ERROR_SUCCESS && n->current->packing != 0) {
        code = pack(n, bytes, size, &packed);
        data = packed.data;
        size = packed.size;
    }
    for (part = 0; code == RS_ERROR_SUCCESS && part < parts_of(n, size); part++)
        say("data", part_of(n, data, size, part));
    free(packed.data);
    if (code == RS_ERROR_SUCCESS)
        say("reply", notice_of(n, size));
    done(n, code);
}

static void receive(core *n)
{
    RS_ERROR code = may_receive(n);
    if (code != RS_ERROR_SUCCESS) {
        done(n, code);
        return;
    }
    fputs(" ok ", stdout);
    show(n->state, n->state_size);
    putchar('\n');
}

/* Sends a frame back with the pictures of the other words. */
static void back(core *n, char words[WORDS][1 << 16])
{
    static uint8_t copies[WORDS][1 << 10];
    rs_picture pictures[WORDS];
    uint8_t hash[32];
    message m = {NULL, 0, false};
    RS_ERROR code;
    size_t count = 0;
    unhex(words[0]);
    memcpy(hash, bytes, sizeof hash);
    for (; count + 1 < WORDS && words[count + 1][0] != '\0'; count++) {
        pictures[count].size = (int)unhex(words[count + 1]);
        memcpy(copies[count], bytes, sizeof copies[count]);
        pictures[count].data = copies[count];
    }
    code = core_back(n, hash, pictures, count, &m);
    say("reply", m);
    done(n, code);
}

static void show_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    printf(" %016llx", (unsigned long long)bits);
}

static void streams(core *n)
{
    size_t i;
    int k;
    if (!n->in_frame) {
        done(n, refuse_call(n, NO_FRAME));
        return;
    }
    for (i = 0; i < n->current->view_count; i++) {
        const rs_stream *s = &n->current->views[i];
        fputs(" stream ", stdout);
        show(s->name, strlen(s->name));
        putchar(' ');
        show(s->camera.of, strlen(s->camera.of));
        for (k = 0; k < 3; k++)
            show_bits(s->camera.position[k]);
        for (k = 0; k < 4; k++)
            show_bits(s->camera.rotation[k]);
        show_bits(s->camera.fov);
        show_bits(s->camera.nearZ);
        show_bits(s->camera.farZ);
        printf(" %u %u %u %u %u %u\n", (unsigned)s->camera.width, (unsigned)s->camera.height, (unsigned)s->left, (unsigned)s->top, (unsigned)s->right, (unsigned)s->bottom);
    }
    puts(" ok");
}

/* Charges a client with what it has done. */
static void bring_charge(core *n, const char *peer, const char *why)
{
    bytes[unhex(why)] = '\0';
    say("reply", charge_of(n, peer, (const char *)bytes));
    puts(" ok");
}

static void hear_state(core *n)
{
    message reply[REPLIES] = {{NULL, 0, false}, {NULL, 0, false}};
    RS_ERROR code;
    int i;
    say_owed(n);
    code = core_hear(n, reply);
    for (i = 0; i < REPLIES; i++)
        say("reply", reply[i]);
    if (code == RS_ERROR_QUIT)
        problem(n, code, n->reason[0] != '\0');
    else
        done(n, code);
}

static void play(core *n, const char *call, char words[WORDS][1 << 16])
{
    RS_ERROR code;
    if (strcmp(call, "hello") == 0)
        say("reply", hello_of((rs_role)atoi(words[0]), atoll(words[1])));
    else if (strcmp(call, "order") == 0 || strcmp(call, "data") == 0) {
        size_t size = unhex(words[1]);
        code = call[0] == 'o' ? core_order(n, words[0], bytes, size) : core_data(n, words[0], bytes, size);
        if (code == RS_ERROR_SUCCESS)
            puts(" ok");
        else
            problem(n, code, code != RS_ERROR_INCOMPATIBLE_VERSION); /* each library says which version it speaks */
    } else if (strcmp(call, "next") == 0)
        next(n, -1);
    else if (strcmp(call, "begin") == 0)
        next(n, (double)atoll(words[0]) / 1e9);
    else if (strcmp(call, "hear") == 0)
        hear_state(n);
    else if (strcmp(call, "follow") == 0) {
        n->follows = words[0][0] == '1';
        puts(" ok");
    } else if (strcmp(call, "is") == 0 || strcmp(call, "sync") == 0)
        ask(n, call[0] == 'i' ? 1 : 2);
    else if (strcmp(call, "send") == 0)
        send_state(n, words[0]);
    else if (strcmp(call, "receive") == 0)
        receive(n);
    else if (strcmp(call, "inputs") == 0) {
        if (n->in_frame) {
            fputs(" ok", stdout);
            inputs(n);
        } else
            done(n, refuse_call(n, NO_FRAME));
    } else if (strcmp(call, "input") == 0)
        say("reply", input_of(bytes, unhex(words[0])));
    else if (strcmp(call, "back") == 0)
        back(n, words);
    else if (strcmp(call, "streams") == 0)
        streams(n);
    else if (strcmp(call, "charge") == 0)
        bring_charge(n, words[0], words[1]);
    else if (strcmp(call, "refused") == 0)
        printf(" ok %llu\n", (unsigned long long)n->refused);
}

static char line[1 << 17], words[WORDS][1 << 16];

int main(void)
{
    core *n = NULL;
    while (fgets(line, sizeof line, stdin) != NULL) {
        char call[16] = "";
        memset(words, 0, sizeof words);
        if (line[0] == ' ') /* what is to come */
            continue;
        fputs(line, stdout);
        sscanf(line, "%15s %65535s %65535s %65535s %65535s", call, words[0], words[1], words[2], words[3]);
        if (strcmp(call, "node") == 0) {
            if (n != NULL)
                free_core(n);
            n = new_core(words[0], strtoull(words[1], NULL, 10), strtoul(words[2], NULL, 10));
        } else if (n != NULL && strcmp(call, "story") != 0)
            play(n, call, words);
    }
    if (n != NULL)
        free_core(n);
    return 0;
}

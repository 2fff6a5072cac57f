/*
 * mistakes controller|follower: a node that calls in each frame what it may not, and then what it is to. It leaves with the frames that it has shown, and with the codes and
 * sentences of its mistakes in the first frame on its standard error.
 */
#include <metasim_follower.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static rs_node *n;
static int loud = 1;

/* Says what came of a call. */
static void say(const char *what, RS_ERROR e)
{
    if (loud)
        fprintf(stderr, "%s: %s%s%s\n", what, rs_errorName(e), e == RS_ERROR_SUCCESS ? "" : " ", e == RS_ERROR_SUCCESS ? "" : rs_lastError(n));
}

static void *send_elsewhere(void *unused)
{
    (void)unused;
    say("send on another thread", rs_sendFollowerData(n, "late", 4));
    return NULL;
}

static void *receive_elsewhere(void *unused)
{
    const void *data;
    int size;
    (void)unused;
    say("receive on another thread", rs_receiveFollowerData(n, &data, &size));
    return NULL;
}

static void elsewhere(void *(*call)(void *))
{
    pthread_t other;
    if (pthread_create(&other, NULL, call, NULL) == 0)
        pthread_join(other, NULL);
}

/* Calls without a node, which is what rs_declare may return. */
static void no_node(void)
{
    rs_node *none = NULL;
    int all = RS_ERROR_INVALIDHANDLE;
    RS_ERROR each[13];
    size_t i;
    each[0] = rs_initialise(none), each[1] = rs_awaitFrameData(none, 1, NULL), each[2] = rs_setFollower(none, 1), each[3] = rs_beginFollowerFrame(none, -1, NULL);
    each[4] = rs_hear(none), each[5] = rs_isController(none, NULL), each[6] = rs_engineSyncEnabled(none, NULL), each[7] = rs_sendFollowerData(none, "a", 1);
    each[8] = rs_receiveFollowerData(none, NULL, NULL), each[9] = rs_sendInteractionData(none, NULL, 0), each[10] = rs_receiveInteractionData(none, NULL, NULL);
    each[11] = rs_compute(none, 1), each[12] = rs_sendFrame(none, NULL, NULL, 0);
    for (i = 0; i < sizeof each / sizeof *each; i++)
        all = each[i] == RS_ERROR_INVALIDHANDLE ? all : (int)each[i];
    if (rs_getStreams(none, NULL, NULL) != RS_ERROR_INVALIDHANDLE || rs_frameIsOver(none) || rs_refused(none) != 0)
        all = -1;
    fprintf(stderr, "no node: %s %s\n", rs_errorName((RS_ERROR)all), rs_lastError(none));
}

/* Shows a frame, after mistakes that change nothing. */
static RS_ERROR show(int controls)
{
    rs_picture none = {NULL, 3};
    const void *data;
    int size;
    RS_ERROR e;
    say("isController to nowhere", rs_isController(n, NULL));
    say("engineSyncEnabled to nowhere", rs_engineSyncEnabled(n, NULL));
    say("getStreams to nowhere", rs_getStreams(n, NULL, NULL));
    say("receiveInteractionData to nowhere", rs_receiveInteractionData(n, NULL, NULL));
    say("sendInteractionData of nothing", rs_sendInteractionData(n, NULL, 5));
    say("sendPictures of nothing", rs_sendPictures(n, NULL, &none, 1));
    if (controls) {
        say("send of nothing", rs_sendFollowerData(n, NULL, 5));
        elsewhere(send_elsewhere);
        e = rs_sendFollowerData(n, "state", 5);
    } else {
        say("receive to nowhere", rs_receiveFollowerData(n, NULL, NULL));
        elsewhere(receive_elsewhere);
        e = rs_receiveFollowerData(n, &data, &size);
        if (e == RS_ERROR_SUCCESS && (size != 5 || memcmp(data, "state", 5) != 0))
            return RS_ERROR_INCORRECTSCHEMA;
    }
    return e == RS_ERROR_SUCCESS ? rs_sendFrame(n, NULL, NULL, 0) : e;
}

int main(int argc, char **argv)
{
    int frames = 0, controls = argc > 1 && strcmp(argv[1], "controller") == 0;
    metasim_client *client = metasim_new(NULL);
    rs_options o = {sizeof o, NULL, RS_FOLLOWER, 0, 0, NULL, NULL};
    char result[40];
    RS_ERROR e = RS_ERROR_SUCCESS;
    o.role = controls ? RS_CONTROLLER : RS_FOLLOWER;
    no_node();
    n = rs_declare(client, &o);
    if (n == NULL || metasim_join(client) != METASIM_OK || rs_initialise(n) != RS_ERROR_SUCCESS)
        return 1;
    say("initialise twice", rs_initialise(n));
    for (; e == RS_ERROR_SUCCESS; frames++) {
        rs_frame_data f;
        e = rs_awaitFrameData(n, -1, &f);
        if (e == RS_ERROR_QUIT)
            break;
        e = e == RS_ERROR_SUCCESS ? show(controls) : e;
        loud = 0;
    }
    snprintf(result, sizeof result, "{\"frames\":%d}", frames);
    if (e != RS_ERROR_QUIT)
        fprintf(stderr, "mistakes: %s\n", rs_lastError(n));
    controls = e != RS_ERROR_QUIT || metasim_result(client, result) != METASIM_OK || metasim_leave(client) != METASIM_OK;
    rs_shutdown(n);
    metasim_free(client);
    return controls;
}

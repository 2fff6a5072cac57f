/*
 * metasim_follower.h: a node of a cluster in which one computes and all others show exactly that frame, in the shape of RenderStream's
 * engine synchronisation. The functions, results and fields have RenderStream's names; each function takes the node first, as the library has
 * no global variable. docs/followers.md of metasim says what a frame is; examples/follower.c is a whole node.
 *
 *     rs_node *n = rs_declare(client, NULL);                    (before metasim_join)
 *     if (n == NULL || metasim_join(client) || rs_initialise(n))
 *         ...
 *     for (;;) {
 *         rs_frame_data f;
 *         RS_ERROR e = rs_awaitFrameData(n, 5000, &f);
 *         if (e == RS_ERROR_QUIT)
 *             break;                                            (then metasim_leave)
 *         if (e == RS_ERROR_TIMEOUT || e == RS_ERROR_STREAMS_CHANGED || rs_frameIsOver(n))
 *             continue;
 *         if (e != RS_ERROR_SUCCESS)
 *             return fprintf(stderr, "%s\n", rs_lastError(n)), 1;
 *         ...                                                   (send or receive the state, draw, rs_sendFrame)
 *     }
 *
 * A node is used by one thread at a time, and so is its client; the data of a frame is sent and received by the thread that has awaited the frame. Between
 * rs_initialise and the end, metasim_publish, metasim_result, metasim_leave and metasim_fail alone are called on that client besides.
 */
#ifndef METASIM_FOLLOWER_H
#define METASIM_FOLLOWER_H

#include <metasim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a function returns: RenderStream's results, with their numbers. rs_lastError has the sentence. */
typedef enum RS_ERROR {
    RS_ERROR_SUCCESS = 0,
    RS_ERROR_NOT_INITIALISED = 1, /* call rs_initialise first */
    RS_ERROR_ALREADYINITIALISED = 2,
    RS_ERROR_INVALIDHANDLE = 3, /* the client has failed: metasim_error has the sentence; or there is no node */
    RS_ERROR_MAXSENDERSREACHED = 4,
    RS_ERROR_BADSTREAMTYPE = 5,
    RS_ERROR_NOTFOUND = 6, /* there is no other interaction data in this frame */
    RS_ERROR_INCORRECTSCHEMA = 7,
    RS_ERROR_INVALID_PARAMETERS = 8, /* a call that may not be made now. It changes nothing. */
    RS_ERROR_BUFFER_OVERFLOW = 9,    /* more data than max_bytes */
    RS_ERROR_TIMEOUT = 10,
    RS_ERROR_STREAMS_CHANGED = 11,
    RS_ERROR_INCOMPATIBLE_VERSION = 12,
    RS_ERROR_FAILED_TO_GET_DXDEVICE_FROM_RESOURCE = 13,
    RS_ERROR_FAILED_TO_INITIALISE_GPGPU = 14,
    RS_ERROR_QUIT = 15,
    RS_ERROR_ENGINE_DATA_AVAILABLE = 16,
    RS_ERROR_UNSPECIFIED = 17 /* the controller did not send in this frame, which is over */
} RS_ERROR;

/* The flags of a frame. */
enum { FRAMEDATA_NO_FLAGS = 0, FRAMEDATA_RESET = 1 };

/* What a frame is: the same at all nodes. Times are seconds, as in RenderStream, and whole nanoseconds, which do not round. */
typedef struct rs_frame_data {
    double tTracked, localTime, localTimeDelta;
    uint32_t frameRateNumerator, frameRateDenominator;
    uint32_t flags, scene;
    uint64_t frame; /* its number, from 0; discarded frames leave gaps */
    int64_t tracked_ns, local_ns, delta_ns;
} rs_frame_data;

/* What a node is at the start. An understudy follows, and is the controller when it is its turn. */
typedef enum rs_role { RS_FOLLOWER = 0, RS_UNDERSTUDY = 1, RS_CONTROLLER = 2 } rs_role;

/* Set size to sizeof(rs_options), and what is not needed to 0 or NULL. */
typedef struct rs_options {
    size_t size;
    const char *director; /* the client that is the clock; NULL: director */
    rs_role role;
    int64_t order;      /* among understudies, the least is next */
    uint64_t max_bytes; /* of the data of a frame; 0: 256 MiB */
    /* Takes the messages of channels to which the engine has subscribed itself, within rs_awaitFrameData and rs_compute. It calls no function of
     * the node. What it returns, if it is not METASIM_OK, ends that call with RS_ERROR_INVALIDHANDLE. NULL: such a message is an error. */
    metasim_handler other;
    void *user;
} rs_options;

typedef struct rs_node rs_node;

/* rs_declare declares the channels of a node to a client that has not joined. It returns NULL where metasim_error says why, or if there is no memory. */
rs_node *rs_declare(metasim_client *client, const rs_options *options);

/* rs_initialise makes the node known to its director: call it once, right after metasim_join. */
RS_ERROR rs_initialise(rs_node *node);

/* rs_shutdown frees a node, and not its client. NULL is no error. */
void rs_shutdown(rs_node *node);

/*
 * rs_awaitFrameData ends the current frame, and returns the next one when it is there with its data. A frame that was not sent back goes back
 * empty. A negative timeout waits for ever. RS_ERROR_TIMEOUT says that so much real time has passed: simulated time has not moved by that, and
 * no frame is lost. RS_ERROR_STREAMS_CHANGED: call again. RS_ERROR_QUIT: leave. RS_ERROR_UNSPECIFIED: the controller did not send in the frame of data, whose
 * flags and interaction data are there, and which is over. RS_ERROR_INVALID_PARAMETERS at a controller that has not sent itself: the frame is over.
 */
RS_ERROR rs_awaitFrameData(rs_node *node, int timeoutMs, rs_frame_data *data);

/* rs_frameIsOver returns 1 after a call that failed because nobody sent in a frame: the frame is over, and the node awaits the next one. */
int rs_frameIsOver(const rs_node *node);

/*
 * The older pair, for an engine that ships its state itself, and with it the tTracked of the frame: a node that was set to be a follower begins its frames
 * with rs_beginFollowerFrame, in the order in which they were asked for, and not with rs_awaitFrameData. It returns what that returns, without a timeout. A
 * frame of another tTracked stays where it is, and the call returns RS_ERROR_INVALID_PARAMETERS. data may be NULL.
 */
RS_ERROR rs_setFollower(rs_node *node, int isFollower);
RS_ERROR rs_beginFollowerFrame(rs_node *node, double tTracked, rs_frame_data *data);

/*
 * rs_hear waits for the engine's own state: it ends the current frame, and returns when rs_options.other was called. It is for a node that was set to be a
 * follower: wait with it, and not outside of the run, which would stand still meanwhile. RS_ERROR_QUIT: leave. RS_ERROR_INVALID_PARAMETERS: the controller has
 * failed, and the next frame is this node's; call rs_setFollower with 0, and await it.
 */
RS_ERROR rs_hear(rs_node *node);

/* Whether this node computes the current frame, and whether data is sent and received in it. Both may change between frames. */
RS_ERROR rs_isController(rs_node *node, int *isController);
RS_ERROR rs_engineSyncEnabled(rs_node *node, int *enabled);

/* rs_sendFollowerData sends the state of the current frame to the other nodes: the controller does so once in a frame. */
RS_ERROR rs_sendFollowerData(rs_node *node, const void *data, int size);

/* rs_receiveFollowerData returns the state that the controller has sent. It is valid until the next frame. */
RS_ERROR rs_receiveFollowerData(rs_node *node, const void **data, int *size);

/* rs_sendInteractionData sends an input from outside to all nodes, which receive it in one and the same frame, after the present one. */
RS_ERROR rs_sendInteractionData(rs_node *node, const void *data, int size);

/* rs_receiveInteractionData returns the next input of the current frame, and RS_ERROR_NOTFOUND when there is none left. They are the same, in the same
 * order, at all nodes. */
RS_ERROR rs_receiveInteractionData(rs_node *node, const void **data, int *size);

/* rs_compute lets simulated time pass, as drawing takes it. */
RS_ERROR rs_compute(rs_node *node, int64_t nanoseconds);

/* From where a picture is made, and through which lens. */
typedef struct rs_camera {
    const char *of;       /* a camera of the scene, whose pose and lens are those of the state, and the rest is 0; "": this camera */
    double position[3];   /* X, Y, Z in the scene, m */
    double rotation[4];   /* W, X, Y, Z */
    double fov;           /* horizontal angle of view, rad */
    double nearZ, farZ;   /* between these distances something is seen, m */
    uint32_t width, height; /* of the whole picture, in pixels */
} rs_camera;

/* What a node is asked to show in a frame: a rectangle of what a camera sees, in pixels. */
typedef struct rs_stream {
    const char *name;
    rs_camera camera;
    uint32_t left, top, right, bottom;
} rs_stream;

/* rs_getStreams returns what this node is asked to show in the current frame: none where the director asks for no pictures. It is valid until the next frame. */
RS_ERROR rs_getStreams(rs_node *node, const rs_stream **streams, int *count);

/* rs_sendFrame sends the finished frame back: the hash of the state that it shows, by which torn frames are found (NULL: it is not said), and the
 * node's part of the picture, which may be empty. */
RS_ERROR rs_sendFrame(rs_node *node, const uint8_t state[32], const void *picture, int size);

/* rs_sendPictures is rs_sendFrame with a picture for each stream of the node, in their order, or with none. */
typedef struct rs_picture {
    const void *data;
    int size;
} rs_picture;
RS_ERROR rs_sendPictures(rs_node *node, const uint8_t state[32], const rs_picture *pictures, int count);

/* rs_refused returns how many sets of data were not used: those of a controller that was replaced meanwhile. */
uint64_t rs_refused(const rs_node *node);

/* rs_errorName returns the name of a result. rs_lastError returns the sentence of the last call that failed, "" if none did. */
const char *rs_errorName(RS_ERROR error);
const char *rs_lastError(const rs_node *node);

#ifdef __cplusplus
}
#endif

#endif /* METASIM_FOLLOWER_H */

/*
 * metasim.h: take part in a run of metasim, from C99 or anything that calls C.
 *
 * One client is one simulator of a run. It declares what it sends and hears, joins, and then advances through simulated
 * time: in steps of its own (metasim_step), from message to message (metasim_next), or by handlers and timers
 * (metasim_run). How far others have come is not to be seen: the library asks the server, and returns when everything
 * that can arrive until then has arrived.
 *
 *     metasim_client *c = metasim_new(NULL);                  (the environment says where the server is)
 *     if (metasim_publication(c, "ANGLE") || metasim_subscription(c, "FORCE") || metasim_join(c))
 *         return fprintf(stderr, "%s\n", metasim_error(c)), 1;
 *     while (metasim_steps(c, 1000000)) {                      (a step each millisecond, as long as the run lasts)
 *         const metasim_message *m;
 *         while ((m = metasim_receive(c)) != NULL)
 *             act(m->payload, m->size);
 *         metasim_publish(c, "ANGLE", &angle, sizeof angle);
 *     }
 *     int failed = metasim_leave(c) != METASIM_OK;
 *     metasim_free(c);
 *
 * Times are nanoseconds of simulated time since the start of the run. Strings are UTF-8 and end with a zero byte.
 *
 * The library has no thread, no global variable, no signal handler, and writes to no terminal. Different clients may be used by
 * different threads; one client is used by one thread at a time. After a fork only one of the two processes uses a client.
 *
 * docs/protocol.md of metasim has the rules that the library keeps, conformance/vectors the sessions that it is tested with.
 */
#ifndef METASIM_H
#define METASIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The protocol that the library speaks, as Hello says it. */
#define METASIM_PROTOCOL 2

/* A time after all that a run reaches: metasim_next(c, METASIM_FOREVER) waits for the next message alone. */
#define METASIM_FOREVER INT64_MAX

/* What a call returns. metasim_error has the sentence. Values are never renumbered. */
typedef enum metasim_code {
    METASIM_OK = 0,
    METASIM_MISTAKE = 1,             /* a declaration, a timer, a result or an option that cannot be */
    METASIM_COMPLETE = 2,            /* declared after the client has joined */
    METASIM_PROTOCOL_ERROR = 3,      /* something that does not travel: too large, or not of the protocol */
    METASIM_SEND_BEFORE_PROMISE = 4, /* the client promised not to send yet; nothing was sent */
    METASIM_PROMISE_REGRESS = 5,     /* the client would take a promise back; nothing was promised */
    METASIM_TIME_REGRESS = 6,        /* the client would go back in time; it stays where it is */
    METASIM_END = 7,                 /* the run ends before this instant; leave now */
    METASIM_LEFT = 8,                /* called after metasim_leave */
    METASIM_REFUSED = 9,             /* the server ended the client's part; the sentence is the server's */
    METASIM_LOST = 10,               /* the connection ended, or could not be made */
    METASIM_NO_MEMORY = 11,          /* the client cannot go on */
    METASIM_TIMEOUT = 12,            /* nothing came for as long as metasim_next_within was to wait; call it again */
    METASIM_LIMIT = 13,              /* a request was not answered within its time limit */
    METASIM_CALL_REFUSED = 14        /* who answers a service refused the request; the sentence has their text */
} metasim_code;

/* A client of a run. */
typedef struct metasim_client metasim_client;

/* An instant: a time, and a step at that time. Instants compare by time, then by step. */
typedef struct metasim_instant {
    int64_t time; /* nanoseconds since the start of the run; METASIM_FOREVER for infinity */
    uint32_t step;
} metasim_instant;

/*
 * A message that the client was given. It is valid until the next metasim_receive, or the end of the handler that got it.
 * Later versions may append fields; the library makes these structures, so a program that knows fewer fields is not disturbed.
 */
typedef struct metasim_message {
    const char *from;     /* the name of the sender */
    const char *channel;  /* what it was sent on */
    uint64_t seq;         /* counts the sender's sends, from 0 */
    metasim_instant sent; /* when it was sent */
    metasim_instant due;  /* when it arrived: the instant at which the client sees it */
    const void *payload;
    size_t size; /* bytes of the payload */
} metasim_message;

/*
 * How a client reaches its server. Set size to sizeof(metasim_options), and what is not needed to 0 or NULL: then the
 * environment counts, which metasim sets for the programs that it starts.
 */
typedef struct metasim_options {
    size_t size;
    const char *server; /* unix:///path, tcp://host:port or, on Linux, shm:///path; NULL: METASIM_SERVER */
    const char *name;   /* of the client in the scenario; NULL: METASIM_CLIENT */
    const char *token;  /* of the run; NULL: METASIM_TOKEN */
} metasim_options;

/*
 * metasim_new makes a client that has not joined. It returns NULL only if there is no memory. What is wrong with the options is
 * said by metasim_join.
 */
metasim_client *metasim_new(const metasim_options *options);

/* metasim_free closes the connection and frees all memory. A client that has joined and not left counts as crashed. NULL is no error. */
void metasim_free(metasim_client *client);

/* metasim_publication declares a channel that the client sends on. Declaring it twice is no mistake. */
metasim_code metasim_publication(metasim_client *client, const char *channel);

/* metasim_subscription declares what the client hears: the name of a channel, or a regular expression (RE2) that matches whole names. */
metasim_code metasim_subscription(metasim_client *client, const char *pattern);

/* metasim_reaction declares the least time, in nanoseconds, from a delivery to a send that it causes. 0 is the default. */
metasim_code metasim_reaction(metasim_client *client, int64_t nanoseconds);

/*
 * metasim_join connects, joins, and returns when all clients of the run have joined. The client is at time 0 then, and may publish
 * there. It fails with METASIM_LOST if nobody listens, with METASIM_REFUSED if the server does not want this client.
 */
metasim_code metasim_join(metasim_client *client);

/*
 * metasim_step advances to a time. metasim_receive then returns, in order, all messages due at or before it. It is the whole set:
 * nothing due at this time or earlier comes later. The client promises to send nothing before. (HLA: time advance request.)
 * METASIM_END: the run ends at this time or before it; metasim_receive returns what was due before the end. Leave then.
 */
metasim_code metasim_step(metasim_client *client, int64_t time);

/*
 * metasim_steps is a loop of steps: at the present time, and each period of nanoseconds later.
 *
 *     while (metasim_steps(c, period))
 *         ...
 *     if (metasim_leave(c) != METASIM_OK)
 *         ...
 *
 * It returns 1 when the client has stepped, and 0 where the run ends, where the client has left, and where a step fails. metasim_leave then returns why
 * it failed, and METASIM_OK otherwise. What is due after the last step and before the end of the run is ready to be received.
 */
int metasim_steps(metasim_client *client, int64_t period);

/*
 * metasim_next advances to the next message, or to limit if that is earlier. metasim_receive then returns the messages due at that
 * instant: none if it is the limit. (HLA: next message request.) METASIM_END: the run ends before both.
 */
metasim_code metasim_next(metasim_client *client, int64_t limit);

/*
 * metasim_next_within is metasim_next that waits no longer than so many milliseconds of real time: then it returns METASIM_TIMEOUT. Simulated time does not
 * move by that, and nothing is lost: call it, or metasim_next, again with the same limit. Until one of them has returned something else the client still
 * waits, so it publishes nothing, and steps to nothing else; it may leave.
 */
metasim_code metasim_next_within(metasim_client *client, int64_t limit, int milliseconds);

/* metasim_receive returns the next message of the last step or next; NULL if there is none left. What is not received before the
 * next step or next is dropped. */
const metasim_message *metasim_receive(metasim_client *client);

/*
 * metasim_publish sends a copy of size bytes on a channel, at the client's present instant. It is written with the next advance.
 * What the client has promised not to send is refused with METASIM_SEND_BEFORE_PROMISE; the client may go on.
 */
metasim_code metasim_publish(metasim_client *client, const char *channel, const void *payload, size_t size);

/* metasim_promise promises that the client sends nothing before a time, whatever it hears, so that other clients need not wait for it. */
metasim_code metasim_promise(metasim_client *client, int64_t time);

/* metasim_result says what the outcome of the run shows for this client: a JSON value, sent when it leaves. */
metasim_code metasim_result(metasim_client *client, const char *json);

/* metasim_leave ends the client's part, and returns when the server has everything that it sent. Leaving twice is no error. */
metasim_code metasim_leave(metasim_client *client);

/* metasim_fail ends the client's part without leaving, and tells the server why: the run fails with this sentence, unless its scenario
 * says otherwise. Later calls fail with METASIM_MISTAKE. */
metasim_code metasim_fail(metasim_client *client, const char *reason);

/* metasim_mistake is for libraries over a client, such as metasim_follower: one of their functions was called wrongly. It returns METASIM_MISTAKE, and metasim_error has
 * the name of the client and this sentence. Before metasim_join that fails with it too, if it is the first mistake. */
metasim_code metasim_mistake(metasim_client *client, const char *sentence);

/* A handler is called with the pointer that was given with it. A message is NULL for a timer. What it returns, if it is not METASIM_OK,
 * ends metasim_run. */
typedef metasim_code (*metasim_handler)(metasim_client *client, const metasim_message *message, void *user);

/*
 * metasim_on_leave sets a handler that is called once, when the client leaves, and not when it fails: by metasim_leave, or by metasim_run at its end. There
 * the client calls metasim_result, so the result need not be made before. The message of the handler is NULL. If it does not return
 * METASIM_OK the client fails instead of leaving, and the call that was to leave returns that code. NULL takes the handler away.
 */
void metasim_on_leave(metasim_client *client, metasim_handler handler, void *user);

/*
 * A client outlives its server where the run was begun by metasim serve or has external clients, and can be resumed: a call that loses the connection waits until metasim
 * resume has brought the server back at the same address, catches up there, and goes on as if nothing had been; for start_timeout of the scenario at most, 30 seconds by
 * default, then it fails with METASIM_LOST. For that the client keeps its last messages: 65,536 at most, of 64 MiB at most.
 *
 * metasim_on_lost sets a handler that is called each time the client has lost its server and begins to wait; metasim_error has the sentence. The message of the handler is NULL. If it
 * does not return METASIM_OK the client does not wait, and the call fails. NULL takes the handler away: the client waits without a word.
 */
void metasim_on_lost(metasim_client *client, metasim_handler handler, void *user);

/*
 * metasim_on sets the handler for the messages on a channel, by its name; NULL: for all messages whose channel has no handler. A handler that was set
 * before for the same channel is replaced. It is used by metasim_run alone.
 */
metasim_code metasim_on(metasim_client *client, const char *channel, metasim_handler handler, void *user);

/* A timer of metasim_run. It is never 0. */
typedef uint64_t metasim_timer;

/*
 * metasim_at, metasim_after and metasim_every set a timer: for a time, for when nanoseconds have passed (0: at the present instant, after those that
 * were set before), and for each period, the first time after one period. They return 0 for a time that has passed, a negative
 * duration, or a period that is not positive; then metasim_run fails with METASIM_TIME_REGRESS or METASIM_MISTAKE. Before metasim_join
 * they return 0 and set no timer.
 */
metasim_timer metasim_at(metasim_client *client, int64_t time, metasim_handler handler, void *user);
metasim_timer metasim_after(metasim_client *client, int64_t nanoseconds, metasim_handler handler, void *user);
metasim_timer metasim_every(metasim_client *client, int64_t period, metasim_handler handler, void *user);

/* metasim_stop makes a timer fire no more; its own handler may call it. It returns the pointer that was given with the timer, so that
 * it can be freed, and NULL if the timer has fired or was stopped before. */
void *metasim_stop(metasim_client *client, metasim_timer timer);

/*
 * metasim_run calls handlers for messages and timers at their instants, in order, until nothing can happen any more or the run ends,
 * and then leaves. At one instant the messages come first, in their order, then the timers, in the order in which they were set. A
 * handler that leaves makes it return METASIM_OK.
 */
metasim_code metasim_run(metasim_client *client);

/*
 * Services: requests and answers in simulated time, with clients in any language. Both are messages, which travel over links with delays. A request is
 * answered, or refused, once: by the handler of the service, or later.
 *
 *     metasim_answer(c, "GAIN", handle, user);                        (one client, before metasim_join)
 *     metasim_caller(c, "GAIN");                                      (another one)
 *     code = metasim_call(c, "GAIN", "pole", 4, 100000000, &answer);  (in a loop: at most 100 ms of simulated time)
 *
 * The messages of a service are for the service alone: metasim_receive and the handlers of metasim_on do not get them.
 */

/* A request that the client is to answer. It is never 0. */
typedef uint64_t metasim_request;

/* Handles a request. The payload of the message is the request itself, and the message is valid until the handler returns. The handler does not step. */
typedef metasim_code (*metasim_service)(metasim_client *client, metasim_request request, const metasim_message *message, void *user);

/*
 * metasim_answer declares that the client answers a service. The handler is called for each request, by metasim_step, metasim_next, metasim_wait or metasim_run,
 * at the instant at which the client is given it. What it returns, if it is not METASIM_OK, that call returns, and metasim_run fails.
 */
metasim_code metasim_answer(metasim_client *client, const char *service, metasim_service handler, void *user);

/* metasim_reply answers a request, at the client's present instant. metasim_refuse refuses it: its caller gets METASIM_CALL_REFUSED with the text. A request that
 * gets neither keeps a little memory until metasim_free. */
metasim_code metasim_reply(metasim_client *client, metasim_request request, const void *payload, size_t size);
metasim_code metasim_refuse(metasim_client *client, metasim_request request, const char *text);

/* metasim_caller declares that the client asks a service. */
metasim_code metasim_caller(metasim_client *client, const char *service);

/* A request that the client has sent. It is never 0. */
typedef uint64_t metasim_pending;

/*
 * metasim_start sends a request, at the client's present instant. limit is simulated time in nanoseconds from now on, METASIM_FOREVER for no limit; an answer that
 * arrives at its end counts. Several requests may be on their way, and their answers may come in another order.
 */
metasim_code metasim_start(metasim_client *client, const char *service, const void *request, size_t size, int64_t limit, metasim_pending *pending);

/* metasim_done returns 1 if the answer is there, or refused, or its time is over: then metasim_wait does not advance. */
int metasim_done(metasim_client *client, metasim_pending pending);

/*
 * metasim_wait advances to the instant at which the answer arrives, or to the end of the time limit, and returns the answer: a message whose payload is the answer
 * itself. It is valid until the next metasim_wait or metasim_call. METASIM_CALL_REFUSED and METASIM_LIMIT say that there is none, and answer is NULL. Then the
 * request is over, and its number is not valid any more. Where the run ends before, and after any other failure, it is not over.
 *
 * What else arrives meanwhile is not lost: the next metasim_step, metasim_next or metasim_run gives it. What was ready to be received before stays so.
 */
metasim_code metasim_wait(metasim_client *client, metasim_pending pending, const metasim_message **answer);

/* metasim_drop gives a request up: its answer is for nobody. */
void metasim_drop(metasim_client *client, metasim_pending pending);

/* metasim_call is metasim_start and metasim_wait: it is for loops. */
metasim_code metasim_call(metasim_client *client, const char *service, const void *request, size_t size, int64_t limit, const metasim_message **answer);

/*
 * metasim_go sends a request, in a handler or timer of metasim_run. then is called with the answer at the instant at which it arrives. It is called with NULL at the
 * instant of a refusal, and at the end of the limit: metasim_code_of says which it is, and metasim_error has the sentence.
 */
metasim_code metasim_go(metasim_client *client, const char *service, const void *request, size_t size, int64_t limit, metasim_handler then, void *user);

/* metasim_now returns the instant of what the client did last: what it publishes carries it. */
metasim_instant metasim_now(const metasim_client *client);

/* metasim_until returns the end of the run: nothing happens at it or later. Its time is METASIM_FOREVER where the run has no end. */
metasim_instant metasim_until(const metasim_client *client);

/* metasim_seed returns the seed of the run, which metasim_rand uses. It is known after metasim_join. */
uint64_t metasim_seed(const metasim_client *client);

/* A random stream of a client: see metasim_rand. The client frees it. */
typedef struct metasim_random metasim_random;

/*
 * metasim_rand returns the random stream of this name: a generator that only this client has, and that is the same in each run with the same
 * seed, and in every language. It is keyed by the seed of the run, the name of the client and the name of the stream. The first call begins it;
 * later calls return the same one, which goes on. It returns NULL before metasim_join has returned, and if there is no memory.
 */
metasim_random *metasim_rand(metasim_client *client, const char *stream);

/* metasim_rand_bits draws 64 bits from a stream, metasim_rand_unit a number from 0 to below 1. */
uint64_t metasim_rand_bits(metasim_random *stream);
double metasim_rand_unit(metasim_random *stream);

/*
 * metasim_name returns the name of the client, metasim_scenario that of the scenario: "" before metasim_join. In a scenario inside of another one the
 * client joins as "cell/arm", and once it has joined its name is "arm", as its scenario has it and as messages have it in from.
 */
const char *metasim_name(const metasim_client *client);
const char *metasim_scenario(const metasim_client *client);

/*
 * What the client is told of its part in the scenario, known after metasim_join: the name of the scenario's entry ("robot" of a client "robot-2"),
 * which of the clients of that entry it is, from 0, and how many there are; what the entry says in with, as JSON; and the run directory, on the
 * server's host, where it may put files of its own. A text is "" where there is none: without a directory write no files.
 */
const char *metasim_entry(const metasim_client *client);
uint32_t metasim_index(const metasim_client *client);
uint32_t metasim_count(const metasim_client *client);
const char *metasim_with(const metasim_client *client);
const char *metasim_directory(const metasim_client *client);

/* metasim_error returns the sentence of the last call that failed, "" if none did. It says who, when, what and what to do. It is valid until the next call: so not an
 * argument beside that call, as C evaluates arguments in any order. */
const char *metasim_error(const metasim_client *client);

/* metasim_code_of returns what the last call returned that failed: METASIM_OK if none did. */
metasim_code metasim_code_of(const metasim_client *client);

#ifdef __cplusplus
}
#endif

#endif /* METASIM_H */

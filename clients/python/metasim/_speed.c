/*
 * _speed: what wire.py does most, and polling, in C. Each function gives what the function of its name in wire.py or connection.py gives, byte for byte; where
 * bytes are wrong in several ways it may name another one of them. wire.py takes these where they were built (backend.py), and needs them nowhere.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { MAX_NAME = 1024, MAX_FRAME = 64 << 20, SEND = 7, ADVANCE = 9, POLL_WAIT = 10, DELIVERED = 12, AUTHORIZE = 13 };

static PyObject *malformed_error, *instant_type, *message_type, *origin, *infinity; /* of wire.py; prepare sets them */

/* Reading. What a function reads is right where it returns 1. */

typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

typedef struct field {
    uint64_t number, value; /* value: the number, or how many bytes */
    int is_bytes;
    const uint8_t *data;
} field;

static int varint(cursor *r, uint64_t *n)
{
    unsigned shift;
    *n = 0;
    for (shift = 0; shift < 70 && r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;
        if (shift == 63 && byte > 1)
            break;
        *n |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return 1;
    }
    return 0;
}

static int next_field(cursor *r, field *f)
{
    uint64_t tag;
    if (!varint(r, &tag) || !varint(r, &f->value))
        return 0;
    f->number = tag >> 3;
    f->is_bytes = (tag & 7) == 2;
    f->data = r->at;
    if (!f->is_bytes)
        return (tag & 7) == 0;
    if (f->value > (uint64_t)(r->end - r->at))
        return 0;
    r->at += f->value;
    return 1;
}

typedef struct moment {
    uint64_t time, step;
    int infinite;
} moment;

static int read_moment(const field *f, moment *to)
{
    cursor r = {f->data, f->data + f->value};
    field in;
    if (!f->is_bytes)
        return 0;
    while (r.at < r.end) {
        if (!next_field(&r, &in) || in.is_bytes)
            return 0;
        if (in.number == 1 && in.value < INT64_MAX)
            to->time = in.value;
        else if (in.number == 2 && in.value <= UINT32_MAX)
            to->step = in.value;
        else if (in.number == 3 && in.value < 2)
            to->infinite = in.value == 1;
        else
            return 0;
    }
    return !to->infinite || (to->time == 0 && to->step == 0);
}

/* A tuple of a type that wire.py has made of values, which it takes over. */
static PyObject *to_tuple(PyObject *type, Py_ssize_t n, PyObject **values)
{
    Py_ssize_t i;
    int failed = 0;
    PyObject *tuple;
    for (i = 0; i < n; i++)
        failed |= values[i] == NULL;
    tuple = failed ? NULL : ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, n);
#if PY_VERSION_HEX >= 0x030E0000
    if (tuple != NULL)
        ((PyTupleObject *)tuple)->ob_hash = -1; /* nobody has computed it */
#endif
    for (i = 0; i < n; i++) {
        if (tuple != NULL)
            PyTuple_SET_ITEM(tuple, i, values[i]);
        else
            Py_XDECREF(values[i]);
    }
    return tuple;
}

static PyObject *to_instant(const moment *m)
{
    PyObject *values[2];
    if (m->infinite || (m->time == 0 && m->step == 0)) {
        PyObject *known = m->infinite ? infinity : origin;
        Py_INCREF(known);
        return known;
    }
    values[0] = PyLong_FromUnsignedLongLong(m->time);
    values[1] = PyLong_FromUnsignedLongLong(m->step);
    return to_tuple(instant_type, 2, values);
}

typedef struct reading {
    PyObject *came, *view, *names, *packets; /* what came, as bytes and, where somebody needs it, as a view */
} reading;

static PyObject *part(reading *r, const uint8_t *at, uint64_t size)
{
    const uint8_t *begin = (const uint8_t *)PyBytes_AS_STRING(r->came);
    if (r->view == NULL && (r->view = PyMemoryView_FromObject(r->came)) == NULL)
        return NULL;
    return PySequence_GetSlice(r->view, at - begin, at - begin + (Py_ssize_t)size);
}

typedef struct message {
    uint64_t client, seq;
    field channel, payload;
    moment sent, due;
} message;

static int read_message(const field *body, message *m)
{
    cursor r = {body->data, body->data + body->value};
    field f;
    while (r.at < r.end) {
        int good;
        if (!next_field(&r, &f))
            return 0;
        switch (f.number) {
        case 1: good = !f.is_bytes; break;
        case 2: good = !f.is_bytes && f.value <= UINT32_MAX; m->client = f.value; break;
        case 3: good = !f.is_bytes; m->seq = f.value; break;
        case 4: good = f.is_bytes && f.value <= MAX_NAME && m->channel.number == 0; m->channel = f; break; /* twice: wire.py looks at both */
        case 5: good = read_moment(&f, &m->sent); break;
        case 6: good = read_moment(&f, &m->due); break;
        case 7: good = f.is_bytes; m->payload = f; break;
        default: good = 0;
        }
        if (!good)
            return 0;
    }
    return 1;
}

/* The Message of a body: NULL without an error of Python where it is none, or its sender has no name. */
static PyObject *to_message(reading *r, const field *body)
{
    message m;
    PyObject *values[6], *name, *number;
    memset(&m, 0, sizeof m);
    m.channel.data = m.payload.data = body->data + body->value;
    if (!read_message(body, &m) || (number = PyLong_FromUnsignedLongLong(m.client)) == NULL)
        return NULL;
    name = PyDict_GetItemWithError(r->names, number);
    Py_DECREF(number);
    if (name == NULL)
        return NULL;
    values[1] = PyUnicode_DecodeUTF8((const char *)m.channel.data, (Py_ssize_t)m.channel.value, NULL);
    if (values[1] == NULL) {
        if (PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
            PyErr_Clear();
        return NULL;
    }
    Py_INCREF(name);
    values[0] = name;
    values[2] = PyLong_FromUnsignedLongLong(m.seq);
    values[3] = to_instant(&m.sent);
    values[4] = to_instant(&m.due);
    values[5] = part(r, m.payload.data, m.payload.value);
    return to_tuple(message_type, 6, values);
}

/* The instant that an AuthorizeAdvance authorizes, likewise. */
static PyObject *to_authorized(const field *body)
{
    cursor r = {body->data, body->data + body->value};
    field f;
    moment until = {0, 0, 0}, quiet = {0, 0, 0};
    while (r.at < r.end)
        if (!next_field(&r, &f) || !(f.number == 1 ? read_moment(&f, &until) : f.number == 2 && read_moment(&f, &quiet)))
            return NULL;
    return to_instant(&until);
}

static int append_packet(reading *r, const field *body)
{
    PyObject *value = body->number == DELIVERED ? to_message(r, body) : body->number == AUTHORIZE ? to_authorized(body) : NULL;
    PyObject *pair, *values[2];
    int failed;
    if (value == NULL && (PyErr_Occurred() || (value = part(r, body->data, body->value)) == NULL))
        return 0;
    values[0] = PyLong_FromUnsignedLongLong(body->number);
    values[1] = value;
    pair = to_tuple((PyObject *)&PyTuple_Type, 2, values);
    failed = pair == NULL || PyList_Append(r->packets, pair) < 0;
    Py_XDECREF(pair);
    return !failed;
}

/* Reads a packet. One with a member has it first, and it is 0. */
static int read_packet(const field *packet, field *body)
{
    cursor in = {packet->data, packet->data + packet->value};
    if (packet->number != 1 || !packet->is_bytes || !next_field(&in, body))
        return 0;
    if (body->number == 1 && !body->is_bytes && body->value == 0 && !next_field(&in, body))
        return 0;
    return body->is_bytes && in.at == in.end;
}

static int read_frame(reading *r, cursor frame)
{
    Py_ssize_t before = PyList_GET_SIZE(r->packets);
    field packet, body;
    while (frame.at < frame.end) {
        if (!next_field(&frame, &packet) || !read_packet(&packet, &body)) {
            if (PyList_SetSlice(r->packets, before, PyList_GET_SIZE(r->packets), NULL) == 0)
                PyErr_SetString(malformed_error, "a frame that cannot be read");
            return 0;
        }
        if (!append_packet(r, &body))
            return 0;
    }
    return 1;
}

static PyObject *speed_read(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    reading r;
    const uint8_t *begin, *at, *end;
    int good = 1;
    (void)self;
    if (n != 3 || !PyBytes_Check(args[0]) || !PyDict_Check(args[1]) || !PyList_Check(args[2]))
        return PyErr_SetString(PyExc_TypeError, "read takes bytes, a dict and a list"), NULL;
    r.came = args[0];
    r.view = NULL;
    r.names = args[1];
    r.packets = args[2];
    begin = at = (const uint8_t *)PyBytes_AS_STRING(r.came);
    end = begin + PyBytes_GET_SIZE(r.came);
    while (good && end - at >= 4) {
        uint32_t size = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        cursor frame = {at + 4, at + 4};
        if (size == 0 || size > MAX_FRAME) {
            PyErr_SetString(malformed_error, "a frame of 0 bytes, or of more than 64 MiB");
            good = 0;
        } else if ((Py_ssize_t)size > end - at - 4) {
            break;
        } else {
            frame.end += size;
            good = read_frame(&r, frame);
            at = frame.end;
        }
    }
    Py_XDECREF(r.view);
    return good ? PyLong_FromSsize_t(at - begin) : NULL;
}

/* Writing. */

typedef struct small {
    uint8_t data[160];
    size_t size;
} small;

static void put_varint(small *s, uint64_t n)
{
    for (; n > 127; n >>= 7)
        s->data[s->size++] = (uint8_t)(n | 128);
    s->data[s->size++] = (uint8_t)n;
}

static void put_number(small *s, unsigned number, uint64_t n)
{
    if (n > 0) {
        s->data[s->size++] = (uint8_t)(number << 3);
        put_varint(s, n);
    }
}

static void put_small(small *s, unsigned number, const small *value)
{
    s->data[s->size++] = (uint8_t)(number << 3 | 2);
    put_varint(s, value->size);
    memcpy(s->data + s->size, value->data, value->size);
    s->size += value->size;
}

/* Puts an instant of Python. Returns 0 where it is none. */
static int put_instant(small *s, unsigned number, PyObject *i)
{
    small value;
    unsigned long long time, step;
    if (!PyTuple_Check(i) || PyTuple_GET_SIZE(i) != 2)
        return PyErr_SetString(PyExc_TypeError, "an instant is a time and a step"), 0;
    time = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(i, 0));
    step = PyErr_Occurred() ? 0 : PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(i, 1));
    if (PyErr_Occurred())
        return 0;
    value.size = 0;
    if (time == INT64_MAX) {
        put_number(&value, 3, 1);
    } else {
        put_number(&value, 1, time);
        put_number(&value, 2, step);
    }
    if (value.size > 0)
        put_small(s, number, &value);
    return 1;
}

static int put_int(small *s, unsigned number, PyObject *value)
{
    unsigned long long n = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred())
        return 0;
    put_number(s, number, n);
    return 1;
}

/* A packet of a body of so many bytes, of which those of head are in place; *rest is where the others go. */
static PyObject *to_packet(unsigned kind, const char *head, size_t head_size, size_t size, char **rest)
{
    small front, inner;
    size_t before;
    PyObject *made;
    inner.size = front.size = 0;
    inner.data[inner.size++] = (uint8_t)(kind << 3 | 2);
    put_varint(&inner, size);
    front.data[front.size++] = 1 << 3 | 2;
    put_varint(&front, size + inner.size);
    memcpy(front.data + front.size, inner.data, inner.size);
    before = front.size + inner.size;
    made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(before + size));
    if (made != NULL) {
        memcpy(PyBytes_AS_STRING(made), front.data, before);
        memcpy(PyBytes_AS_STRING(made) + before, head, head_size);
        *rest = PyBytes_AS_STRING(made) + before + head_size;
    }
    return made;
}

static PyObject *speed_send(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    small s;
    PyObject *made;
    char *rest;
    size_t head, payload;
    (void)self;
    if (n != 3 || !PyBytes_Check(args[0]) || !PyBytes_Check(args[2]))
        return PyErr_SetString(PyExc_TypeError, "send takes bytes, an instant and bytes"), NULL;
    s.size = 0;
    if (!put_instant(&s, 2, args[1]))
        return NULL;
    head = (size_t)PyBytes_GET_SIZE(args[0]);
    payload = (size_t)PyBytes_GET_SIZE(args[2]);
    if (payload > 0) {
        s.data[s.size++] = 3 << 3 | 2;
        put_varint(&s, payload);
    }
    made = to_packet(SEND, PyBytes_AS_STRING(args[0]), head, head + s.size + payload, &rest);
    if (made != NULL) {
        memcpy(rest, s.data, s.size);
        memcpy(rest + s.size, PyBytes_AS_STRING(args[2]), payload);
    }
    return made;
}

/* Puts a report: now, floor, next event and how many messages were handled. */
static int put_report(small *s, PyObject *const *args)
{
    small report;
    report.size = 0;
    if (!put_instant(&report, 1, args[0]) || !put_instant(&report, 2, args[1]) || !put_instant(&report, 3, args[2]) || !put_int(&report, 4, args[3]))
        return 0;
    if (report.size > 0)
        put_small(s, 1, &report);
    return 1;
}

static PyObject *speed_advance(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    small s;
    char *rest;
    (void)self;
    s.size = 0;
    if (n != 5)
        return PyErr_SetString(PyExc_TypeError, "advance takes five values"), NULL;
    return put_report(&s, args) && put_int(&s, 2, args[4]) ? to_packet(ADVANCE, (const char *)s.data, s.size, s.size, &rest) : NULL;
}

static PyObject *speed_poll(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    small s;
    char *rest;
    int messages;
    (void)self;
    s.size = 0;
    if (n != 8)
        return PyErr_SetString(PyExc_TypeError, "poll takes eight values"), NULL;
    if ((messages = PyObject_IsTrue(args[5])) < 0 || !put_report(&s, args) || !put_instant(&s, 2, args[4]))
        return NULL;
    put_number(&s, 3, (uint64_t)messages);
    if (!put_int(&s, 4, args[6]) || !put_int(&s, 5, args[7]))
        return NULL;
    return to_packet(POLL_WAIT, (const char *)s.data, s.size, s.size, &rest);
}

/* Polling. */

static long long nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* What recv_soon of connection.py does, with a socket by its number: the server answers a few looks later, and each is two calls of the interpreter there. */
static PyObject *speed_recv_soon(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    char room[1 << 16];
    ssize_t got = 0;
    long socket, most;
    long long limit;
    int failed = 0;
    (void)self;
    if (n != 3)
        return PyErr_SetString(PyExc_TypeError, "recv_soon takes three values"), NULL;
    socket = PyLong_AsLong(args[0]);
    most = PyLong_AsLong(args[1]);
    limit = PyLong_AsLongLong(args[2]);
    if (PyErr_Occurred())
        return NULL;
    if (most < 0 || most > (long)sizeof room)
        most = sizeof room;
    Py_BEGIN_ALLOW_THREADS
    limit += nanoseconds();
    while ((got = recv((int)socket, room, (size_t)most, MSG_DONTWAIT)) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) && nanoseconds() <= limit)
        sched_yield(); /* the server may need this very processor */
    failed = got < 0 ? errno : 0;
    Py_END_ALLOW_THREADS
    if (failed == EAGAIN || failed == EWOULDBLOCK || failed == EINTR)
        Py_RETURN_NONE; /* a read that waits tries again, and looks for signals */
    if (failed) {
        errno = failed;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return PyBytes_FromStringAndSize(room, got);
}

static PyObject *speed_prepare(PyObject *self, PyObject *args)
{
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOO", &malformed_error, &instant_type, &message_type, &origin, &infinity))
        return NULL;
    Py_INCREF(malformed_error);
    Py_INCREF(instant_type);
    Py_INCREF(message_type);
    Py_INCREF(origin);
    Py_INCREF(infinity);
    Py_RETURN_NONE;
}

#define FAST(function) (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL

static PyMethodDef methods[] = {
    {"prepare", speed_prepare, METH_VARARGS, NULL}, {"read", FAST(speed_read)}, {"send", FAST(speed_send)},
    {"advance", FAST(speed_advance)},               {"poll", FAST(speed_poll)}, {"recv_soon", FAST(speed_recv_soon)},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_speed", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__speed(void) { return PyModule_Create(&module); }

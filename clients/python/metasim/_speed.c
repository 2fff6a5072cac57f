/*
 * _speed: what wire.py does most, in C. Each function gives what the function of its name in wire.py gives, for the same arguments, byte for byte; where
 * bytes are wrong in several ways it may name another one of them. wire.py takes these where they were built (backend.py), and needs them nowhere.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

enum { MAX_NAME = 1024 };

static PyObject *malformed_error, *instant_type, *origin, *infinity; /* of wire.py; prepare sets them */

static PyObject *malformed(const char *what)
{
    PyErr_SetString(malformed_error, what);
    return NULL;
}

/* Reading. */

typedef struct cursor {
    const uint8_t *begin, *at, *end;
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
    malformed("a number of more than 64 bits");
    return 0;
}

/* Reads the next field: 1; 0 at the end, and where the bytes are wrong, which is an error of Python then. */
static int next_field(cursor *r, field *f)
{
    uint64_t tag;
    if (r->at == r->end || !varint(r, &tag))
        return 0;
    if (r->at == r->end) {
        malformed("a message that is cut off");
        return 0;
    }
    if (!varint(r, &f->value))
        return 0;
    f->number = tag >> 3;
    f->is_bytes = (tag & 7) == 2;
    f->data = r->at;
    if (f->is_bytes && f->value > (uint64_t)(r->end - r->at)) {
        malformed("a field that is longer than its message");
        return 0;
    }
    if (!f->is_bytes && (tag & 7) != 0) {
        malformed("a field that is neither a number nor bytes");
        return 0;
    }
    if (f->is_bytes)
        r->at += f->value;
    return 1;
}

static int is_bytes(const field *f)
{
    if (!f->is_bytes)
        malformed("a number in the place of bytes");
    return f->is_bytes;
}

static int is_number(const field *f, uint64_t most)
{
    if (f->is_bytes || f->value > most) {
        malformed("a number that is too large, or bytes in its place");
        return 0;
    }
    return 1;
}

/* A part of the view that a cursor reads. */
static PyObject *part(PyObject *view, const cursor *whole, const field *f)
{
    return PySequence_GetSlice(view, f->data - whole->begin, f->data - whole->begin + (Py_ssize_t)f->value);
}

typedef struct moment {
    uint64_t time, step;
    int infinite;
} moment;

static int read_moment(const field *f, moment *to)
{
    cursor r = {f->data, f->data, f->data + f->value};
    field in;
    if (!is_bytes(f))
        return 0;
    while (next_field(&r, &in)) {
        if (in.is_bytes)
            return malformed("an instant that cannot be read") != NULL;
        if (in.number == 1 && in.value < INT64_MAX)
            to->time = in.value;
        else if (in.number == 2 && in.value <= UINT32_MAX)
            to->step = in.value;
        else if (in.number == 3 && in.value < 2)
            to->infinite = in.value == 1;
        else
            return malformed("an instant that cannot be read") != NULL;
    }
    if (PyErr_Occurred())
        return 0;
    if (to->infinite && (to->time != 0 || to->step != 0))
        return malformed("an instant that is infinite and has a time") != NULL;
    return 1;
}

static PyObject *to_instant(const moment *m)
{
    PyObject *arguments, *made;
    if (m->infinite || (m->time == 0 && m->step == 0)) {
        made = m->infinite ? infinity : origin;
        Py_INCREF(made);
        return made;
    }
    arguments = Py_BuildValue("((KK))", (unsigned long long)m->time, (unsigned long long)m->step);
    if (arguments == NULL)
        return NULL;
    made = PyTuple_Type.tp_new((PyTypeObject *)instant_type, arguments, NULL);
    Py_DECREF(arguments);
    return made;
}

static int open_view(PyObject *view, Py_buffer *buffer, cursor *r)
{
    if (PyObject_GetBuffer(view, buffer, PyBUF_SIMPLE) < 0)
        return 0;
    r->begin = r->at = buffer->buf;
    r->end = r->begin + buffer->len;
    return 1;
}

static int append_new(PyObject *list, PyObject *made)
{
    int failed = made == NULL || PyList_Append(list, made) < 0;
    Py_XDECREF(made);
    return !failed;
}

static PyObject *speed_fields(PyObject *self, PyObject *view)
{
    Py_buffer buffer;
    cursor r;
    field f;
    PyObject *list;
    (void)self;
    if (!open_view(view, &buffer, &r))
        return NULL;
    list = PyList_New(0);
    while (list != NULL && next_field(&r, &f)) {
        PyObject *value = f.is_bytes ? part(view, &r, &f) : PyLong_FromUnsignedLongLong(f.value);
        PyObject *pair = value == NULL ? NULL : Py_BuildValue("KN", (unsigned long long)f.number, value);
        if (!append_new(list, pair))
            break;
    }
    PyBuffer_Release(&buffer);
    if (PyErr_Occurred())
        Py_CLEAR(list);
    return list;
}

static PyObject *speed_frame(PyObject *self, PyObject *view)
{
    Py_buffer buffer;
    cursor r;
    field packet, body;
    PyObject *list;
    (void)self;
    if (!open_view(view, &buffer, &r))
        return NULL;
    list = PyList_New(0);
    while (list != NULL && next_field(&r, &packet)) {
        cursor in = {r.begin, packet.data, packet.data + packet.value};
        PyObject *made;
        if (packet.number != 1 || !packet.is_bytes) {
            malformed("a frame that cannot be read");
            break;
        }
        if (!next_field(&in, &body) || (body.number == 1 && !body.is_bytes && body.value == 0 && !next_field(&in, &body)) || !body.is_bytes || in.at != in.end) {
            if (!PyErr_Occurred())
                malformed("a packet that cannot be read");
            break;
        }
        made = part(view, &r, &body);
        if (!append_new(list, made == NULL ? NULL : Py_BuildValue("KN", (unsigned long long)body.number, made)))
            break;
    }
    PyBuffer_Release(&buffer);
    if (PyErr_Occurred())
        Py_CLEAR(list);
    return list;
}

static PyObject *speed_authorized(PyObject *self, PyObject *view)
{
    Py_buffer buffer;
    cursor r;
    field f;
    moment until = {0, 0, 0}, quiet = {0, 0, 0};
    (void)self;
    if (!open_view(view, &buffer, &r))
        return NULL;
    while (next_field(&r, &f)) {
        if (f.number != 1 && f.number != 2)
            malformed("an AuthorizeAdvance with an unknown field");
        else
            read_moment(&f, f.number == 1 ? &until : &quiet);
        if (PyErr_Occurred())
            break;
    }
    PyBuffer_Release(&buffer);
    return PyErr_Occurred() ? NULL : to_instant(&until);
}

static PyObject *to_text(const field *f)
{
    PyObject *text;
    if (f->value > MAX_NAME)
        return malformed("a text that is too long");
    text = PyUnicode_DecodeUTF8((const char *)f->data, (Py_ssize_t)f->value, NULL);
    if (text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        malformed("a text that is not UTF-8");
    return text;
}

static PyObject *speed_delivered(PyObject *self, PyObject *view)
{
    Py_buffer buffer;
    cursor r;
    field f, payload;
    moment sent = {0, 0, 0}, due = {0, 0, 0};
    unsigned long long client = 0, seq = 0;
    PyObject *text = PyUnicode_New(0, 0), *bytes = NULL, *from = NULL, *to = NULL, *made = NULL;
    (void)self;
    if (!open_view(view, &buffer, &r))
        return NULL;
    payload.data = r.begin;
    payload.value = 0;
    while (text != NULL && next_field(&r, &f)) {
        if (f.number == 1 ? !is_number(&f, UINT64_MAX) : f.number == 2 ? !is_number(&f, UINT32_MAX) : f.number == 3 ? !is_number(&f, UINT64_MAX) :
            f.number == 4 || f.number == 7 ? !is_bytes(&f) : f.number == 5 ? !read_moment(&f, &sent) : f.number == 6 ? !read_moment(&f, &due) : 1) {
            if (!PyErr_Occurred())
                malformed("a DeliveredMessage with an unknown field");
            break;
        }
        if (f.number == 2)
            client = f.value;
        else if (f.number == 3)
            seq = f.value;
        else if (f.number == 4)
            Py_XSETREF(text, to_text(&f));
        else if (f.number == 7)
            payload = f;
    }
    bytes = PyErr_Occurred() ? NULL : part(view, &r, &payload);
    from = bytes == NULL ? NULL : to_instant(&sent);
    to = from == NULL ? NULL : to_instant(&due);
    if (to != NULL)
        made = Py_BuildValue("KOKOOO", client, text, seq, from, to, bytes);
    Py_XDECREF(text);
    Py_XDECREF(bytes);
    Py_XDECREF(from);
    Py_XDECREF(to);
    PyBuffer_Release(&buffer);
    return made;
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
    small value = {{0}, 0};
    unsigned long long time, step;
    if (!PyTuple_Check(i) || PyTuple_GET_SIZE(i) != 2)
        return PyErr_SetString(PyExc_TypeError, "an instant is a time and a step"), 0;
    time = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(i, 0));
    step = PyErr_Occurred() ? 0 : PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(i, 1));
    if (PyErr_Occurred())
        return 0;
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

static PyObject *to_bytes(const small *s) { return PyBytes_FromStringAndSize((const char *)s->data, (Py_ssize_t)s->size); }

static PyObject *speed_instant(PyObject *self, PyObject *args)
{
    small s = {{0}, 0};
    unsigned number;
    PyObject *i;
    (void)self;
    return PyArg_ParseTuple(args, "IO", &number, &i) && put_instant(&s, number, i) ? to_bytes(&s) : NULL;
}

static PyObject *speed_number(PyObject *self, PyObject *args)
{
    small s = {{0}, 0};
    unsigned number;
    PyObject *value;
    unsigned long long n;
    (void)self;
    if (!PyArg_ParseTuple(args, "IO", &number, &value))
        return NULL;
    n = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred())
        return NULL;
    put_number(&s, number, n);
    return to_bytes(&s);
}

static PyObject *speed_report(PyObject *self, PyObject *args)
{
    small inner = {{0}, 0}, s = {{0}, 0};
    PyObject *now, *floor, *next, *handled;
    unsigned long long n;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOO", &now, &floor, &next, &handled) || !put_instant(&inner, 1, now) || !put_instant(&inner, 2, floor) || !put_instant(&inner, 3, next))
        return NULL;
    n = PyLong_AsUnsignedLongLong(handled);
    if (PyErr_Occurred())
        return NULL;
    put_number(&inner, 4, n);
    if (inner.size > 0)
        put_small(&s, 1, &inner);
    return to_bytes(&s);
}

static PyObject *speed_packet(PyObject *self, PyObject *args)
{
    small head = {{0}, 0}, size = {{0}, 0};
    unsigned kind;
    Py_buffer body;
    PyObject *made;
    (void)self;
    if (!PyArg_ParseTuple(args, "Iy*", &kind, &body))
        return NULL;
    size.data[size.size++] = (uint8_t)(kind << 3 | 2);
    put_varint(&size, (uint64_t)body.len);
    head.data[head.size++] = 1 << 3 | 2;
    put_varint(&head, (uint64_t)body.len + size.size);
    made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(head.size + size.size) + body.len);
    if (made != NULL) {
        char *to = PyBytes_AS_STRING(made);
        memcpy(to, head.data, head.size);
        memcpy(to + head.size, size.data, size.size);
        memcpy(to + head.size + size.size, body.buf, (size_t)body.len);
    }
    PyBuffer_Release(&body);
    return made;
}

static PyObject *speed_prepare(PyObject *self, PyObject *args)
{
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOO", &malformed_error, &instant_type, &origin, &infinity))
        return NULL;
    Py_INCREF(malformed_error);
    Py_INCREF(instant_type);
    Py_INCREF(origin);
    Py_INCREF(infinity);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"prepare", speed_prepare, METH_VARARGS, NULL},     {"fields", speed_fields, METH_O, NULL},     {"frame", speed_frame, METH_O, NULL},
    {"authorized", speed_authorized, METH_O, NULL},     {"delivered", speed_delivered, METH_O, NULL}, {"instant", speed_instant, METH_VARARGS, NULL},
    {"number", speed_number, METH_VARARGS, NULL},       {"report", speed_report, METH_VARARGS, NULL}, {"packet", speed_packet, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_speed", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__speed(void) { return PyModule_Create(&module); }

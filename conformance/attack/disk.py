#!/usr/bin/env python3
"""A disk that hangs when it is told to: disk.py DIRECTORY

It mounts a file system in memory at a directory, by Linux's FUSE protocol, and serves it until its standard input ends. A
line "hang" on the standard input lets every access wait, as a network file system whose server is gone does; "go" lets them
go on. It needs /dev/fuse and the right to mount; attack.py runs it in a mount namespace of its own.
"""

import ctypes
import errno
import os
import select
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, UNLINK, RMDIR, RENAME = 1, 2, 3, 4, 9, 10, 11, 12
OPEN, READ, WRITE, RELEASE, FSYNC, INIT, OPENDIR, READDIR, RELEASEDIR = 14, 15, 16, 18, 20, 26, 27, 28, 29
CREATE, INTERRUPT, BATCH_FORGET, RENAME2 = 35, 36, 42, 45
HEADER = struct.Struct("<IIQQIIII")  # length, operation, number of the request, node, uid, gid, pid


class Node:
    def __init__(self, mode):
        self.mode, self.data, self.names = mode, bytearray(), {}


nodes = {1: Node(stat.S_IFDIR | 0o700)}


def attributes(number):
    node = nodes[number]
    return struct.pack("<QQQQQQIIIIIIIIII", number, len(node.data), len(node.data) // 512 + 1, 0, 0, 0, 0, 0, 0, node.mode, 1, 0, 0, 0,
                       4096, 0)


def entry(number):
    return struct.pack("<QQQQII", number, 0, 1, 1, 0, 0) + attributes(number)


def add(parent, name, mode):
    number = len(nodes) + 1  # a number is never used again
    nodes[number], nodes[parent].names[name] = Node(mode), number
    return entry(number)


def find(parent, name):
    if name not in nodes[parent].names:
        raise OSError(errno.ENOENT, "")
    return nodes[parent].names[name]


def text(b):
    return b.split(b"\0")[0]


def listing(number, offset, size):
    out = b""
    for i, (name, child) in enumerate(list(nodes[number].names.items())[offset:], offset + 1):
        e = struct.pack("<QQII", child, i, len(name), nodes[child].mode >> 12) + name
        e += bytes(-len(e) % 8)
        if len(out) + len(e) > size:
            break
        out += e
    return out


def answer(op, number, b):
    """The answer to one request; None for those that have none."""
    node = nodes.get(number)
    if op == INIT:
        return struct.pack("<IIIIHHIIHH32x", 7, 31, 0, 0, 16, 16, 1 << 17, 1, 0, 0)
    if op in (FORGET, BATCH_FORGET, INTERRUPT):
        return None
    if op == LOOKUP:
        return entry(find(number, text(b)))
    if op == SETATTR and struct.unpack_from("<I", b)[0] & 8:  # the size
        size = struct.unpack_from("<Q", b, 16)[0]
        node.data = node.data[:size].ljust(size, b"\0")
    if op in (GETATTR, SETATTR):
        return struct.pack("<QII", 1, 0, 0) + attributes(number)
    if op == MKDIR:
        return add(number, text(b[8:]), stat.S_IFDIR | struct.unpack_from("<I", b)[0])
    if op == CREATE:
        return add(number, text(b[16:]), struct.unpack_from("<I", b, 4)[0]) + bytes(16)
    if op in (OPEN, OPENDIR):
        return bytes(16)
    if op in (UNLINK, RMDIR):
        find(number, text(b))
        del nodes[number].names[text(b)]
        return b""
    if op in (RENAME, RENAME2):
        old, new = b[8 if op == RENAME else 16:].split(b"\0")[:2]
        moved = find(number, old)
        del nodes[number].names[old]
        nodes[struct.unpack_from("<Q", b)[0]].names[new] = moved
        return b""
    if op == WRITE:
        _, offset, size = struct.unpack_from("<QQI", b)
        node.data[offset:offset + size] = b[40:40 + size]
        return struct.pack("<II", size, 0)
    if op in (READ, READDIR):
        _, offset, size = struct.unpack_from("<QQI", b)
        return bytes(node.data[offset:offset + size]) if op == READ else listing(number, offset, size)
    if op in (RELEASE, RELEASEDIR, FSYNC):
        return b""
    raise OSError(errno.ENOSYS, "")


def serve(device):
    while True:
        ready = select.select([device, 0], [], [])[0]
        while 0 in ready:  # what hangs is not even read, so that who waits for it can be killed
            command = sys.stdin.readline()
            if not command:
                return
            if command == "go\n":
                break
            print("hangs", flush=True)
        if device not in ready:
            continue
        try:
            request = os.read(device, 1 << 18)
        except OSError as e:
            if e.errno == errno.ENODEV:
                return  # it was unmounted
            continue  # the request was withdrawn
        _, op, unique, number, *_ = HEADER.unpack_from(request)
        try:
            body, error = answer(op, number, request[HEADER.size:]), 0
        except OSError as e:
            body, error = b"", -e.errno
        if body is not None:
            try:
                os.write(device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
            except FileNotFoundError:
                pass  # who asked does not wait any more


def main():
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    if libc.mount(b"disk", sys.argv[1].encode(), b"fuse", 6, options.encode()) != 0:  # no set-user-id, no devices
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    print("mounted", flush=True)
    serve(device)


if __name__ == "__main__":
    main()

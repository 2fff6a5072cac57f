#!/usr/bin/env python3
"""Attacks on a run, from outside: attack.py METASIM [NAME...]

Each attack serves a small scenario, does what a visitor or a careless client could do, and lets the innocent clients of
the scenario take part meanwhile. The run must end with exit status 0 and with the digest of a run that nobody attacked. It
is written from docs/protocol.md, with the standard library alone, for Linux. `make attack` runs it.
"""

import concurrent.futures
import contextlib
import ctypes
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

libc = ctypes.CDLL(None)
METASIM = os.path.abspath(sys.argv[1])
TOKEN = "a-token-that-no-visitor-has"
SCENARIO = """
name: attacked
seed: 7
until: UNTIL
links: [{delay: 5ms}]
clients:
  - {name: source, model: source, with: {channel: PING, period: 1ms, size: 64}}
  - {name: echo, model: echo, with: {in: PING, out: PONG}}
  - {name: sink, model: sink, with: {channels: [PONG]}}
"""
GUEST = "  - {name: guest, external: true}\n"
INNOCENT = {
    "source": ["source", "--with", "channel=PING", "--with", "period=1ms", "--with", "size=64"],
    "echo": ["echo", "--with", "in=PING", "--with", "out=PONG"],
    "sink": ["sink", "--with", "channels=[PONG]"],
}
PATIENCE = 60  # seconds that a run may take; the runs below take one or two


class Failed(Exception):
    pass


class Skipped(Exception):
    """What an attack needs and this machine has not."""


def expect(holds, what):
    if not holds:
        raise Failed(what)


# The wire.

def varint(n):
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out + bytes([n]))


def data(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def frame(*bodies):
    """One frame with a packet of member 0 for each body."""
    packets = b"".join(data(1, b) for b in bodies)
    return struct.pack("<I", len(packets)) + packets


def hello(name, token, subscriptions=()):
    fields = b"\x08\x02" + data(2, name.encode()) + data(3, token.encode())
    return data(2, fields + b"".join(data(5, s.encode()) for s in subscriptions))


FOREVER = data(3, b"\x18\x01")
POLL = data(10, data(1, FOREVER) + b"\x12\x02\x18\x01" + b"\x18\x01")  # next_event and want infinity, messages
START, REFUSE, AUTHORIZE, INTRODUCE = 4, 6, 13, 14


def kinds(stream):
    """The kind and the body of each packet that comes; it ends with the connection."""
    while True:
        length = stream.read(4)
        if len(length) < 4:
            return
        rest = stream.read(struct.unpack("<I", length)[0])
        while rest:
            rest = rest[1:]  # the tag of a packet
            size, rest = unvarint(rest)
            packet, rest = rest[:size], rest[size:]
            while packet:
                tag, packet = unvarint(packet)
                value, packet = unvarint(packet)
                if tag & 7 == 2:
                    yield tag >> 3, packet[:value]
                    packet = packet[value:]


def unvarint(b):
    n = shift = i = 0
    while True:
        n |= (b[i] & 0x7F) << shift
        shift, i = shift + 7, i + 1
        if b[i - 1] < 0x80:
            return n, b[i:]


# Runs.

class Run:
    """A served run, and what the attack opened, which is closed with it."""

    def __init__(self, extra="", until="2s", files=None, stderr=subprocess.DEVNULL, stdout=None, flags=(), out=None):
        self.dir = tempfile.TemporaryDirectory(prefix="attack-")
        self.opened = []
        self.innocents = []
        scenario, ready = os.path.join(self.dir.name, "s.yaml"), os.path.join(self.dir.name, "ready")
        with open(scenario, "w") as f:
            f.write(SCENARIO.replace("UNTIL", until) + extra)
        self.output = open(os.path.join(self.dir.name, "out"), "w+")
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None
        self.server = subprocess.Popen(
            [METASIM, "serve", scenario, "--transport", "tcp", "--json", "--stall", "0", "--ready-file", ready,
             "--out", out or os.path.join(self.dir.name, "run"), *flags],
            stdin=subprocess.DEVNULL, stdout=stdout or self.output, stderr=stderr, preexec_fn=limit,
            env=dict(os.environ, METASIM_TOKEN=TOKEN))
        wait(lambda: os.path.exists(ready) and os.path.getsize(ready) > 0, "the server is ready")
        with open(ready) as f:
            self.url = f.read().strip()
        host, port = self.url.removeprefix("tcp://").rsplit(":", 1)
        self.address = (host, int(port))

    def connect(self):
        s = socket.create_connection(self.address, timeout=PATIENCE)
        self.opened.append(s)
        return s

    def try_connect(self):
        """None if nobody listens any more, or the queue of the listener is full."""
        s = socket.socket()
        s.settimeout(0.2)
        try:
            s.connect(self.address)
        except OSError:
            s.close()
            return None
        self.opened.append(s)
        return s

    def start(self, *names):
        env = dict(os.environ, METASIM_SERVER=self.url, METASIM_TOKEN=TOKEN)
        for name in names or INNOCENT:
            self.innocents.append(subprocess.Popen([METASIM, "client", *INNOCENT[name], "--name", name], env=env,
                                                   stdin=subprocess.DEVNULL))

    def outcome(self):
        """Waits for the end of the run. The innocent must all have ended well."""
        try:
            status = self.server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed("the run has not ended") from None
        self.output.seek(0)
        text = self.output.read()
        expect(status == 0, f"the run failed with status {status}: {text[:400]}")
        for p in self.innocents:
            expect(p.wait(PATIENCE) == 0, f"an innocent client failed with status {p.returncode}")
        return json.loads(text)

    def memory(self):
        """The most memory that the server has had, in MB."""
        with open(f"/proc/{self.server.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for s in self.opened:
            s.close()
        for p in [self.server, *self.innocents]:
            if p.poll() is None:
                p.kill()
            p.wait()
        self.output.close()
        self.dir.cleanup()


def wait(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        expect(time.monotonic() < end, f"never: {what}")
        time.sleep(0.01)


references = {}


def reference(**how):
    """The outcome of the same run when nobody attacks it."""
    key = tuple(sorted(how.items()))
    if key not in references:
        with Run(**how) as run:
            run.start()
            if "extra" in how:
                guest(run).leave()
            references[key] = run.outcome()
    return references[key]


def same(run, **how):
    expect(run.outcome()["digest"] == reference(**how)["digest"], "the digest is another one")


class guest:
    """A client with a token and a name, as long as it behaves."""

    def __init__(self, run):
        self.socket = run.connect()
        self.socket.sendall(frame(hello("guest", TOKEN, ["PING"])))
        self.stream = self.socket.makefile("rb")
        for kind, body in kinds(self.stream):
            expect(kind != REFUSE, f"the guest was refused: {body}")
            if kind == START:
                break

    def leave(self):
        self.socket.sendall(frame(data(11, b"")))
        for _ in kinds(self.stream):
            pass


def fill(write):
    """Fills a pipe."""
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write, True)


def flood(run, times, frames):
    """Connects, writes and hangs up, again and again."""
    for _ in range(times):
        s = run.try_connect()
        if s:
            try:
                s.sendall(frames)
            except OSError:
                pass  # the server has closed it
            run.opened.remove(s)
            s.close()


# The attacks.

def unread_log():
    """1,000 wrong tokens, and nobody reads the standard error."""
    read, write = os.pipe()
    with Run(stderr=write) as run:
        fill(write)
        flood(run, 1000, frame(hello("source", "wrong")))
        run.start()
        same(run)
    os.close(read)
    os.close(write)


def interrupt_unread():
    """As before, with a full standard output too: Ctrl-C ends the run."""
    for signalled in (signal.SIGINT, signal.SIGTERM):
        read, write = os.pipe()
        with Run(stderr=write, stdout=write, flags=["--verbose"]) as run:
            fill(write)
            flood(run, 200, frame(hello("source", "wrong")))
            run.server.send_signal(signalled)
            try:
                expect(run.server.wait(8) == 1, "an interrupted run has exit status 1")
            except subprocess.TimeoutExpired:
                raise Failed("Ctrl-C does not end the run") from None
        os.close(read)
        os.close(write)


def few_descriptors():
    """300 silent connections where the server may have 64 files open."""
    with Run(files=64) as run:
        for _ in range(300):
            run.try_connect()
        run.start()
        same(run)


def late_descriptors():
    """The same, once all have joined."""
    with Run(files=64, until="3s", extra="rate: 1\n") as run:
        run.start()
        time.sleep(1)
        for _ in range(300):
            run.try_connect()
        expect(run.outcome()["ok"], "the run failed")


def silent():
    """1,000 silent connections, which a visitor opens again when they are closed."""
    over = threading.Event()
    with Run() as run:
        def keep_open():
            while not over.is_set():
                run.try_connect()
                if len(run.opened) > 1000:
                    run.opened.pop(0).close()
        threading.Thread(target=keep_open, daemon=True).start()
        time.sleep(1)
        run.start()
        same(run)
        over.set()


def deadline():
    """Who says nothing is turned away after two seconds."""
    with Run() as run:
        s = run.connect()
        began = time.monotonic()
        while s.recv(4096):
            pass
        took = time.monotonic() - began
        expect(1.5 < took < 4, f"a silent visitor was turned away after {took:.1f} s")
        run.start()
        same(run)
    return f"turned away after {took:.1f} s"


def large_frames():
    """Twenty frames of 64 MiB before any Hello, and a Hello of 4 MiB with a wrong token."""
    with Run() as run:
        before = run.memory()
        for i in range(20):
            s = run.connect()
            try:
                if i % 2:
                    s.sendall(frame(hello("source", "wrong", ["a" * 1000] * 4000)))
                else:
                    s.sendall(struct.pack("<I", 64 << 20) + bytes(60 << 20))
            except OSError:
                pass  # the server has closed it
        grown = run.memory() - before
        expect(grown < 32, f"the server took {grown:.0f} MB for visitors")
        run.start()
        same(run)
    return f"the server took {grown:.1f} MB"


def nonsense():
    """Bytes that are no frames, and frames that are no packets."""
    with Run() as run:
        for b in (b"GET / HTTP/1.1\r\n\r\n", bytes(64), b"\xff" * 64, frame(b"\x0a\xff\xff"), frame(POLL), frame(data(9, b"")),
                  struct.pack("<I", 3) + b"\x0a\x05\x12", struct.pack("<I", 0)):
            flood(run, 20, b)
        run.start()
        same(run)


def expressions():
    """A client with 30,000 costly regular expressions, which says the like again and again."""
    costly = [f"(\\pL{{31}}){{31}}{i}" for i in range(30000)]
    with Run(extra=GUEST) as run:
        for _ in range(4):
            s = run.connect()
            s.sendall(frame(hello("guest", TOKEN, costly)))
        began = time.monotonic()
        run.start()
        guest(run).leave()
        same(run, extra=GUEST)
        took = time.monotonic() - began
        expect(took < 10, f"the innocent waited {took:.0f} s")


def flooded(flood):
    """How long the innocent take while a guest waits, or polls without end; and the outcome."""
    with Run(extra=GUEST, until="120s") as run:
        run.start()
        g = guest(run)
        shouts = frame(*[POLL] * 500)
        began = time.monotonic()
        threading.Thread(target=lambda: [None for _ in iter(lambda: g.socket.recv(1 << 20), b"")], daemon=True).start()

        def shout():
            try:
                while any(p.poll() is None for p in run.innocents):
                    g.socket.sendall(shouts)
            except OSError:
                pass
        if flood:
            threading.Thread(target=shout, daemon=True).start()
        else:
            g.socket.sendall(frame(POLL))
        for p in run.innocents:
            p.wait(PATIENCE)  # the guest is the last that the run waits for
        took = time.monotonic() - began
        g.socket.sendall(frame(data(11, b"")))  # behind what waits in its socket, which takes some seconds
        return took, run.outcome()["digest"]


def polls():
    """A client that polls without end: the innocent are hardly slower."""
    ratios = []
    for _ in range(4):
        quiet, expected = flooded(False)
        loud, found = flooded(True)
        expect(found == expected, "the digest is another one")
        ratios.append(loud / quiet)
        if min(ratios) < 1.8:
            break  # on a busy machine one pair may tell nothing
    expect(min(ratios) < 1.8, f"the innocent took {min(ratios):.1f} times as long at least")
    return f"the innocent took {min(ratios):.2f} times as long"


class Disk:
    """A disk that can hang: see disk.py. It is mounted where no other process sees it."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="attack-")
        separate, private = 0x20000, 0x44000  # CLONE_NEWNS; MS_REC | MS_PRIVATE
        if libc.unshare(separate) != 0 or libc.mount(b"none", b"/", None, private, None) != 0:
            raise Skipped("a mount namespace (be root)")
        self.process = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "disk.py"),
                                         self.directory.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "mounted\n":
            raise Skipped("a FUSE file system")

    def hang(self):
        self.say("hang")
        expect(self.process.stdout.readline() == "hangs\n", "the disk does not hang")

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()  # it ends, and what waits for it fails
        self.process.wait()
        libc.umount2(self.directory.name.encode(), 2)  # MNT_DETACH
        self.directory.cleanup()


def hang(disk, run, out):
    """Lets the disk of a run hang once the run goes on, until it says so."""
    journal = os.path.join(out, "journal")
    wait(lambda: os.path.exists(journal) and os.path.getsize(journal) > 1 << 20, "the run goes on")
    disk.hang()

    def why():
        said = subprocess.run([METASIM, "why", "--http", run.page], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return "waits for the disk of its journal" in said.stdout
    wait(why, "the run says that its disk hangs")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


@contextlib.contextmanager
def on_hung_disk(until):
    """A run that goes on, and the disk of its journal, which hangs."""
    with Disk() as disk:
        page, out = free_port(), os.path.join(disk.directory.name, "run")
        with Run(until=until, out=out, flags=["--http", page]) as run:
            run.page = page
            run.start()
            hang(disk, run, out)
            yield disk, run, out


def hung_disk():
    """The disk of the journal hangs for a while: the run says so, waits, and loses nothing."""
    with on_hung_disk("120s") as (disk, run, out):
        disk.say("go")
        same(run, until="120s")
        verified = subprocess.run([METASIM, "replay", out], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        expect(verified.returncode == 0, f"the journal is not whole: {verified.stdout[:200]}{verified.stderr[:200]}")


def interrupt_hung_disk():
    """The disk hangs for good: Ctrl-C ends the run."""
    with on_hung_disk("1000000s") as (_, run, _):
        run.server.send_signal(signal.SIGINT)
        try:
            expect(run.server.wait(15) == 1, "an interrupted run has exit status 1")
        except subprocess.TimeoutExpired:
            raise Failed("Ctrl-C does not end the run") from None


def callers():
    """10,000 half-open connections at the page, where the server may have 64 files open."""
    page = free_port()
    host, port = page.split(":")
    with Run(files=64, until="3s", extra="rate: 1\n", flags=["--http", page]) as run:
        run.start()
        for i in range(10_000):
            try:
                s = socket.create_connection((host, int(port)), timeout=0.5)
            except OSError:
                expect(run.server.poll() is None or i > 0, "the run ended")
                break  # the run is over
            run.opened.append(s)
            if i % 2:
                s.sendall(b"GET / HTTP/1.1\r\nX-")
            if len(run.opened) > 500:
                run.opened.pop(0).close()
            if i == 1000:
                said = subprocess.run([METASIM, "why", "--http", page], stdin=subprocess.DEVNULL, capture_output=True, text=True)
                expect(said.returncode == 0, f"nobody can ask the run: {said.stderr[:200]}")
        same(run, until="3s")


def below(pid):
    """The processes that a process has started, and those that they have started."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as f:
                for child in map(int, f.read().split()):
                    found += [child, *below(child)]
    except (FileNotFoundError, ProcessLookupError):
        pass  # it, or a thread of it, has just ended
    return found


def arguments(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().split(b"\0")
    except FileNotFoundError:
        return []  # it has just ended


def stopped(transport, who):
    """A client or the server stands still for six seconds, as in a debugger."""
    with tempfile.TemporaryDirectory(prefix="attack-") as dir:
        scenario = os.path.join(dir, "s.yaml")
        with open(scenario, "w") as f:
            f.write(SCENARIO.replace("UNTIL", "3s") + "rate: 1\n")
        p = subprocess.Popen([METASIM, "run", scenario, "--transport", transport, "--json", "--out", os.path.join(dir, "run")],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            clients = lambda: [c for c in below(p.pid) if b"--instance" in arguments(c)]
            wait(lambda: len(clients()) == 3, "three clients to be started")
            time.sleep(0.5)  # by then it is under way as a rule; the digest must be the same wherever it is stopped
            pid = clients()[0] if who == "client" else p.pid
            os.kill(pid, signal.SIGSTOP)
            time.sleep(6)
            os.kill(pid, signal.SIGCONT)
            out, _ = p.communicate(timeout=PATIENCE)
            expect(p.returncode == 0, f"the run failed: {out[:400]}")
            expect(json.loads(out)["digest"] == reference(until="3s")["digest"], "the digest is another one")
        finally:
            if p.poll() is None:
                p.kill()
            p.wait()


def killed_supervisor():
    """The supervisor of the programs is killed: the run fails, and nothing that they have started goes on."""
    with tempfile.TemporaryDirectory(prefix="attack-") as dir:
        scenario, mark = os.path.join(dir, "s.yaml"), os.path.join(dir, "begun")
        program = f"setsid sleep 1000 & echo $! > {mark}; exec sleep 1000"
        with open(scenario, "w") as f:
            f.write(SCENARIO.replace("UNTIL", "1000s") + f"  - {{name: program, run: [/bin/sh, -c, {json.dumps(program)}]}}\n")
        p = subprocess.Popen([METASIM, "run", scenario, "--json", "--out", os.path.join(dir, "run")],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait(lambda: os.path.exists(mark) and os.path.getsize(mark) > 0, "the program has begun")
            started = below(p.pid)
            os.kill(next(c for c in started if b"supervise" in arguments(c)), signal.SIGKILL)
            expect(p.wait(PATIENCE) == 1, f"the run ended with {p.returncode}")
            left = [c for c in started if os.path.exists(f"/proc/{c}")]
            expect(not left, f"{len(left)} of {len(started)} processes go on")
        finally:
            if p.poll() is None:
                p.kill()
            p.wait()


ATTACKS = [unread_log, interrupt_unread, few_descriptors, late_descriptors, silent, deadline, large_frames, nonsense,
           expressions, polls, hung_disk, interrupt_hung_disk, callers,
           killed_supervisor]


def main():
    attacks = {a.__name__: a for a in ATTACKS}
    for transport in ("unix", "tcp", "shm", "quic"):
        for who in ("client", "server"):
            attacks[f"stopped_{who}_{transport}"] = lambda t=transport, w=who: stopped(t, w)
    names = sys.argv[2:] or list(attacks)
    waiting = [name for name in names if name.startswith("stopped_")]  # they mostly wait, so four at a time
    verdicts = [attempt(name, attacks[name]) for name in names if name not in waiting]
    if waiting:
        reference(until="3s")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        verdicts += pool.map(lambda name: attempt(name, attacks[name]), waiting)
    if not all(verdicts):
        sys.exit(f"{verdicts.count(False)} attacks succeeded")


def attempt(name, attack):
    """Whether a run holds against an attack, which may return a figure."""
    began, holds, verdict = time.monotonic(), True, "holds"
    try:
        figure = attack()
        if figure:
            verdict = f"{figure}: holds"
    except Skipped as e:
        verdict = f"SKIPPED LOUDLY: it needs {e}"
    except Failed as e:
        holds, verdict = False, f"FAILED: {e}"
    print(f"{name:24} {time.monotonic() - began:5.1f} s  {verdict}", flush=True)
    return holds


if __name__ == "__main__":
    main()

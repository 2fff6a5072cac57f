"""The core of followers: a machine that turns messages into messages, and knows no client. follower.py has the calls.

It is federates/follower/frames of metasim again, and conformance/followers.txt holds it to the same.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left, insort
from typing import ClassVar, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from .errors import Error

Buffer = Union[bytes, bytearray, memoryview]

VERSION = 1
STREAMS_VERSION = 2
"""That of requests with streams, and of frames with several pictures. All other messages have VERSION."""
PACKED_VERSION = 3
"""That of requests for packed data."""

CHANGES = 3
"""The kind of packing that is read here: what has changed since the last state. The others take zstd, which Python has not."""

BLOCK = 64
"""How many bytes are compared at once where changes are looked for."""

REQUEST, RELEASE, END, HELLO, SENT, BACK, INPUT, BYE, DATA = range(1, 10)
CHARGE, CALL, LACK = 11, 12, 13

MAX_PIECE = 24 << 20
"""How much of the data of a frame travels in one message: room for what else waits in a connection."""

MAX_AHEAD = 1024
"""How many frames that are not asked for yet may have data: on links with random delays it overtakes a request."""


class FollowerError(Error):
    """A call of a node failed. rs_code and rs_name are the result that RenderStream has for it."""

    code = "follower"
    rs_code: int = 8
    rs_name: str = "RS_ERROR_INVALID_PARAMETERS"


class NodeError(FollowerError):
    """A call that may not be made. It changes nothing, but for NotSentError."""

    why: ClassVar[str] = ""

    def __init__(self, node: str, frame: int, more: str = "") -> None:
        super().__init__(f"node {node}, frame {frame}: {self.why}{more}")


class NotJoinedError(FollowerError):
    """The node has not joined; call join first, right after the client has joined."""

    rs_code, rs_name = 1, "RS_ERROR_NOT_INITIALISED"


class JoinedTwiceError(NodeError):
    rs_code, rs_name = 2, "RS_ERROR_ALREADYINITIALISED"
    why = "the node has joined; call join once"


class TwoThreadsError(NodeError):
    why = "another thread awaits the frames of this node; use a node on one thread"


class NoFrameError(NodeError):
    why = "no frame has begun; await one first"


class SyncOffError(NodeError):
    why = "engine synchronisation is off: no data is sent or received; ask sync_enabled in each frame"


class NotControllerError(NodeError):
    why = "only the controller sends; ask is_controller in each frame"


class NotFollowerError(NodeError):
    why = "the controller does not receive, it sends; ask is_controller in each frame"


class SentTwiceError(NodeError):
    why = "the data of this frame is sent; send once in a frame"


class ReceivedTwiceError(NodeError):
    why = "the data of this frame is received; receive once in a frame"


class BackTwiceError(NodeError):
    why = "the frame was sent back; send it once"


class TooLargeError(NodeError):
    rs_code, rs_name = 9, "RS_ERROR_BUFFER_OVERFLOW"
    why = "the data is larger than the bound"


class SetFollowerError(NodeError):
    why = "the node was set to be a follower; begin its frames with begin_follower_frame, or call set_follower(False)"


class NotSetError(NodeError):
    why = "the node was not set to be a follower; call set_follower(True) first, or await its frames"


class OtherFrameError(NodeError):
    why = "the next frame has another tTracked; begin each frame, in order, with the tTracked that its controller had"


class LeadsError(NodeError):
    why = "the node is the controller of this frame; call set_follower(False), and await it"


class PicturesError(NodeError):
    why = "a frame goes back with a picture for each stream of the node, in their order, or with none"


class NotSentError(NodeError):
    """The controller awaited the next frame without sending. The frame is lost for all nodes."""

    why = "the controller has sent nothing in this frame; send once in each frame while synchronisation is on"


class FrameTimeoutError(FollowerError):
    """No frame was asked for within the timeout: nothing is lost, await again."""

    rs_code, rs_name = 10, "RS_ERROR_TIMEOUT"


class StreamsChangedError(FollowerError):
    """The streams have changed: fetch them, and await again."""

    rs_code, rs_name = 11, "RS_ERROR_STREAMS_CHANGED"


class QuitError(FollowerError):
    """The node is to leave. reason is empty where the work is done; failed says that the others go on without it."""

    rs_code, rs_name = 15, "RS_ERROR_QUIT"

    def __init__(self, reason: str, failed: bool = False) -> None:
        super().__init__(reason or "the director has ended the cluster; leave")
        self.reason, self.failed = reason, failed


class PeerError(FollowerError):
    """Another client breaks the rules."""

    def __init__(self, peer: str, why: str, code: int = 8, name: str = "RS_ERROR_INVALID_PARAMETERS") -> None:
        super().__init__(f'client "{peer}" {why}')
        self.rs_code, self.rs_name = code, name


class FrameData(NamedTuple):
    """What a frame is: the same at all nodes. Times are whole nanoseconds."""

    frame: int  # its number, from 0; discarded frames leave gaps
    tracked: int  # tTracked in RenderStream
    local: int  # since the first frame, or the last one with reset
    delta: int  # since the frame before
    rate: Tuple[int, int]  # frames in a second, as a fraction
    reset: bool  # the scene is to begin again
    scene: int


class Camera(NamedTuple):
    """From where a picture is made, and through which lens. of names a camera of the scene, whose pose and lens are those of the state: then the rest is 0."""

    of: str
    position: Tuple[float, float, float]  # X, Y, Z in the scene, m
    rotation: Tuple[float, float, float, float]  # W, X, Y, Z
    fov: float  # horizontal angle of view, rad
    near: float  # between near and far something is seen, m
    far: float
    width: int  # of the whole picture, in pixels
    height: int


class Stream(NamedTuple):
    """What a node is asked to show in a frame: a part of what a camera sees."""

    node: str
    name: str  # for people
    camera: Camera
    clip: Tuple[int, int, int, int]  # left, top, right, bottom, in pixels


class MissingError(FollowerError):
    """The controller sent nothing in a frame, which is over. data and inputs say what was to happen in it."""

    rs_code, rs_name = 17, "RS_ERROR_UNSPECIFIED"

    def __init__(self, controller: str, data: FrameData, inputs: List[bytes]) -> None:
        super().__init__(f"controller {controller} did not send for tTracked {data.tracked / 1e9:.9f} s (frame {data.frame})")
        self.controller, self.data, self.inputs = controller, data, inputs


class _Malformed(Exception):
    pass


class _Reader:
    def __init__(self, rest: Buffer) -> None:
        self.rest = memoryview(rest)
        self.version = VERSION

    def take(self, size: int) -> memoryview:
        if size > len(self.rest):
            raise _Malformed
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def flag(self) -> bool:
        v = self.number(1)
        if v > 1:
            raise _Malformed
        return v == 1

    def time(self) -> int:
        v = self.number(8)
        if v >= 1 << 63:
            raise _Malformed
        return v

    def block(self) -> bytes:
        return bytes(self.take(self.number(4)))

    def blocks(self) -> List[bytes]:
        n = self.number(4)
        if 4 * n > len(self.rest):
            raise _Malformed
        return [self.block() for _ in range(n)]

    def end(self) -> None:
        if self.rest:
            raise _Malformed


class Request(NamedTuple):
    epoch: int
    previous: int
    data: FrameData
    sync: bool
    streams: int
    controller: str
    inputs: List[bytes]
    views: List[Stream]  # of all nodes
    packing: int

    def of(self, node: str) -> List[Stream]:
        """The streams of a node."""
        return [v for v in self.views if v.node == node]


MOST_PIXELS = 1 << 15
LEAST_STREAM = 3 * 4 + 10 * 8 + 6 * 4
"""The size of a stream without names."""


def _stream(r: _Reader) -> Stream:
    node, name, of = (r.block().decode(errors="surrogateescape") for _ in range(3))
    x = struct.unpack("<10d", r.take(80))
    width, height, *clip = struct.unpack("<6I", r.take(24))
    c = Camera(of, (x[0], x[1], x[2]), (x[3], x[4], x[5], x[6]), x[7], x[8], x[9], width, height)
    left, top, right, bottom = clip
    lens = bool(of) or (right <= width <= MOST_PIXELS and bottom <= height <= MOST_PIXELS and 0 < c.fov < math.pi and 0 < c.near < c.far and any(c.rotation))
    if not (all(map(math.isfinite, x)) and left < right <= MOST_PIXELS and top < bottom <= MOST_PIXELS and lens):
        raise _Malformed
    return Stream(node, name, c, (left, top, right, bottom))


def _streams(r: _Reader) -> List[Stream]:
    n = r.number(4)
    if LEAST_STREAM * n > len(r.rest):
        raise _Malformed
    return [_stream(r) for _ in range(n)]


def _request(r: _Reader) -> Request:
    epoch, previous = r.number(4), int.from_bytes(r.take(8), "little", signed=True)
    data = FrameData(r.number(8), r.time(), r.time(), r.time(), (r.number(4), r.number(4)), r.flag(), r.number(4))
    q = Request(epoch, previous, data, r.flag(), r.number(4), r.block().decode(errors="surrogateescape"), r.blocks(),
                _streams(r) if r.version >= STREAMS_VERSION else [], r.number(1) if r.version == PACKED_VERSION else 0)
    if 0 in data.rate or 0 <= previous >= data.frame:
        raise _Malformed
    r.end()
    return q


class _Set:
    """Data that came for a frame: (part, parts, size of all, bytes), in order of part."""

    def __init__(self) -> None:
        self.pieces: List[Tuple[int, int, int, bytes]] = []
        self.came = 0

    def whole(self) -> bool:
        return len(self.pieces) == self.pieces[0][1]


class _Slot:
    def __init__(self) -> None:
        self.request: Optional[Request] = None
        self.release: Optional[Tuple[int, bool]] = None  # epoch, missing
        self.called = self.lost = 0  # the epoch of whose data the director has asked whether it has come, and the one that the node has said to lack; 0: none
        self.sets: Dict[Tuple[str, int], _Set] = {}

    def released(self) -> bool:
        """Whether the frame that was asked for is released, and its data counts."""
        return self.release is not None and self.request is not None and self.release[0] == self.request.epoch != self.lost

    def missing(self) -> bool:
        return self.release is not None and self.release[1]


def changes(last: bytes, state: bytes) -> bytes:
    """What a state has that the last one has not: for each run of changed blocks how many bytes before it stay, how many it has, and these. What lies behind the end of
    the last state has changed."""
    out, done, start = bytearray(), 0, None
    for at in range(0, len(state) + BLOCK, BLOCK):
        end = min(at + BLOCK, len(state))
        if at < end and state[at:end] != last[at:end]:
            start = at if start is None else start
        elif start is not None:
            out += struct.pack("<II", start - done, min(at, len(state)) - start) + state[start:at]
            done, start = min(at, len(state)), None
    return bytes(out)


def changed(last: bytes, runs: memoryview, size: int) -> bytes:
    """The last state with its changes, of so many bytes."""
    state, at = bytearray(last[:size].ljust(size, b"\0")), 0
    while runs:
        if len(runs) < 8:
            raise ValueError
        stay, n = struct.unpack("<II", runs[:8])
        at, runs = at + stay, runs[8:]
        if at + n > size or n > len(runs):
            raise ValueError
        state[at:at + n] = runs[:n]
        at, runs = at + n, runs[n:]
    return bytes(state)


def _block(b: Buffer) -> bytes:
    return len(b).to_bytes(4, "little") + bytes(b)


class Core:
    """One member of a cluster: it hands out the frames in their order, each when its data is there."""

    def __init__(self, name: str, most: int, piece: int = MAX_PIECE) -> None:
        self.name, self.most, self.piece = name, most, piece
        self.plain = False
        """Whether a frame was asked for whose data is not packed."""
        self.last, self.streams, self.refused = -1, 0, 0
        self.epoch = 0  # of the data that was shown last
        self.led: Optional[int] = None  # the first frame that it controlled
        self.slots: Dict[int, _Slot] = {}
        self.order_of: List[int] = []  # the frames of slots, in order
        self.ended: Optional[QuitError] = None
        self.follows = False
        self.current: Optional[Request] = None
        self.controls = self.sent = self.received = self.back_sent = False
        self.data: Buffer = b""
        self.packed_epoch = 0  # of the last data that was packed
        self.kept, self.kept_frame = b"", 0  # the last state that travelled as changes, and its frame and 1; 0: there is none
        self.charged: Set[str] = set()  # clients whose data counts for nothing
        self.owed: List[bytes] = []  # notices to be sent

    # Hearing.

    def _begin(self, sender: str, b: Buffer) -> Tuple[int, _Reader]:
        r = _Reader(b)
        kind, version = r.number(1), r.number(1)
        if version != VERSION and (kind != REQUEST or version not in (STREAMS_VERSION, PACKED_VERSION)):
            raise PeerError(sender, f"speaks version {version} of followers, this one {PACKED_VERSION}; run the same metasim on both", 12, "RS_ERROR_INCOMPATIBLE_VERSION")
        r.version = version
        return kind, r

    def _slot(self, frame: int) -> Optional[_Slot]:
        if frame <= self.last:
            return None
        if frame not in self.slots:
            self.slots[frame] = _Slot()
            insort(self.order_of, frame)
        return self.slots[frame]

    def order(self, sender: str, b: Buffer) -> None:
        """Takes a message of the director."""
        try:
            self._order(sender, b)
        except _Malformed:
            raise self._no_message(sender) from None

    def _no_message(self, sender: str) -> PeerError:
        return PeerError(sender, "sent what is no message of followers; check what is published on its channel")

    def _order(self, sender: str, b: Buffer) -> None:
        kind, r = self._begin(sender, b)
        if kind == REQUEST:
            q = _request(r)
            if q.packing not in (0, CHANGES):
                raise PeerError(sender, "asks for data that is packed with zstd, which nodes in Python do not read; set its packing to changes, or to none", 12, "RS_ERROR_INCOMPATIBLE_VERSION")
            self.plain = self.plain or not q.packing
            s = self._slot(q.data.frame)
            if s is None and q.controller == self.name and (self.led is None or q.data.frame < self.led):  # it has shown the data of a controller that was charged
                self.owed.append(struct.pack("<BBQIBQ", SENT, VERSION, q.data.frame, q.epoch, 1, 0))
            elif s is not None and (s.request is None or s.request.epoch < q.epoch):
                s.request = q
        elif kind == RELEASE:
            frame, epoch, missing = r.number(8), r.number(4), r.flag()
            r.end()
            s = self._slot(frame)
            if s is not None and (s.release is None or s.release[0] < epoch):  # links may turn two around
                s.release = epoch, missing
        elif kind == CALL:
            frame, epoch = r.number(8), r.number(4)
            r.end()
            s = self._slot(frame)
            if s is not None:
                s.called = max(s.called, epoch)
        elif kind == END:
            nodes, reason, failed = r.blocks(), r.block().decode(errors="surrogateescape"), r.flag()
            r.end()
            if self.name.encode() in nodes and self.ended is None:
                self.ended = QuitError(reason, failed)
        else:
            raise _Malformed

    def take_data(self, sender: str, b: Buffer) -> None:
        """Takes a message with data of another node."""
        try:
            kind, r = self._begin(sender, b)
            frame, epoch, part, parts, size = struct.unpack("<QIIIQ", r.take(28))
            if kind != DATA or part >= parts or len(r.rest) > size or 1 < parts > size:
                raise _Malformed
        except _Malformed:
            raise self._no_message(sender) from None
        if size > self.most and (self.plain or size > self.most + self.most // 1024 + 64):  # a packed state that cannot be made smaller becomes a little larger
            raise PeerError(sender, f"sent {size} bytes for frame {frame}; the bound here is {self.most}: raise max_bytes, or send less", 9, "RS_ERROR_BUFFER_OVERFLOW")
        s = None if sender in self.charged else self._slot(frame)
        if s is None:  # the frame is over, with other data
            self.refused += part == 0
            return
        if len(self.slots) > MAX_AHEAD:
            raise PeerError(sender, f"sent data for frame {frame}, and {MAX_AHEAD} frames before it were not asked for; is it a client of another run?")
        if s.request is not None and s.request.epoch == epoch and s.request.controller != sender:
            raise PeerError(sender, f"sent the data of frame {frame}, of which {s.request.controller} is the controller; send only where IsController says so")
        if any(of == sender and at != epoch for of, at in s.sets):  # a client is the controller in one epoch, so a node keeps one set of it, and no more than that
            raise PeerError(sender, f"sent the data of frame {frame} twice; send once in a frame")
        o = s.sets.setdefault((sender, epoch), _Set())
        at = bisect_left([p[0] for p in o.pieces], part)
        if at < len(o.pieces) and o.pieces[at] == (part, parts, size, r.rest):
            return  # a link may deliver a message twice
        if at < len(o.pieces) and o.pieces[at][0] == part:
            raise PeerError(sender, f"sent the data of frame {frame} twice; send once in a frame")
        o.pieces.insert(at, (part, parts, size, bytes(r.rest)))
        o.came += len(r.rest)
        if (parts, size) != o.pieces[0][1:3] or o.came > size or o.whole() and o.came < size:
            raise PeerError(sender, f"announced {o.pieces[0][2]} bytes for frame {frame}, and sent others; it may be another program")

    def charge(self, peer: str, why: str) -> Optional[bytes]:
        """The message that says what another client has done, for the director, which fails it; None if it was charged before. Its data counts for nothing from now on: also
        that which has come, and was not shown."""
        if peer in self.charged:
            return None
        self.charged.add(peer)
        for frame, s in list(self.slots.items()):
            s.sets = {of: o for of, o in s.sets.items() if of[0] != peer}
            if s.request is None and s.release is None and not s.sets:
                del self.slots[frame]
                self.order_of.remove(frame)
        return bytes([CHARGE, VERSION]) + _block(peer.encode(errors="surrogateescape")) + _block(why.encode(errors="surrogateescape"))

    # Frames.

    def next(self, replies: List[bytes], tracked: Optional[int] = None) -> Optional[FrameData]:
        """Ends the current frame, and hands out the next one, if it is there: with tracked, if it is of that time. replies are to be published in any case."""
        if self.follows != (tracked is not None):
            raise self.wrong(SetFollowerError if self.follows else NotSetError)
        self._end(replies, self._misses())
        f = self._take(tracked)
        replies += self.owed
        self.owed = []
        return f

    def hear(self, replies: List[bytes]) -> None:
        """Ends the current frame of a node whose state comes from its engine. It raises where there is another thing to do than to wait for that."""
        if not self.follows:
            raise self.wrong(NotSetError)
        self._end(replies, False)
        s = self._coming()
        if s is not None and s.request is not None and s.request.controller == self.name:
            raise LeadsError(self.name, s.request.data.frame)
        if s is not None and s.released() and not s.missing():
            self._data(s)
            replies += self.owed
            self.owed = []

    def _missing(self, s: _Slot) -> bool:
        """Whether a frame that was asked for has no data. When the work is done, a node has shown all frames that have: a release without data may come after the end."""
        return s.released() and s.missing() or self.ended is not None and not self.ended.reason and not self.ended.failed

    def _misses(self) -> bool:
        """Whether the next frame is known to have no data. That is said before a node that has not failed is to leave: it may have been the last frame."""
        s = self._coming()
        return (s is not None and s.request is not None and s.request.sync and s.request.controller != self.name and self._missing(s)
                and not (self.ended is not None and self.ended.failed))

    def _end(self, replies: List[bytes], before: bool) -> None:
        replies += self.owed
        self.owed = []
        q, self.current = self.current, None
        if q is not None and self.controls and q.sync and not self.sent:
            replies.append(struct.pack("<BBQIBQ", SENT, VERSION, q.data.frame, q.epoch, 1, 0))
            raise NotSentError(self.name, q.data.frame)
        if q is not None and not self.back_sent:
            replies.append(self._back(q, bytes(32), ()))
        if self.ended is not None and not before:
            replies.append(bytes([BYE, VERSION]))
            raise self.ended

    def _refuse(self, s: _Slot, used: Optional[_Set]) -> None:
        self.refused += sum(o is not used and o.pieces[0][0] == 0 for o in s.sets.values())

    def _close(self, used: Optional[_Set]) -> None:
        self.last = self.order_of.pop(0)
        self._refuse(self.slots.pop(self.last), used)

    def _coming(self) -> Optional[_Slot]:
        for i, frame in enumerate(self.order_of):
            q = self.slots[frame].request
            if q is not None and q.previous == self.last:
                for other in self.order_of[:i]:  # nobody asks for these frames any more, although somebody has sent data
                    self._refuse(self.slots.pop(other), None)
                del self.order_of[:i]
                return self.slots[frame]
        return None

    def _data(self, s: _Slot) -> Optional[_Set]:
        """The data of a released frame; None: it is not all there. If the director has asked for it, that is said, and what comes later does not count."""
        q = s.request
        used = None if q is None else s.sets.get((q.controller, q.epoch))
        if q is not None and used is not None and used.whole() and q.epoch >= self.epoch:  # else the frame before it is one of a later epoch
            return used
        if q is not None and s.called == q.epoch:
            s.lost = q.epoch
            self.owed.append(struct.pack("<BBQI", LACK, VERSION, q.data.frame, q.epoch))
        return None

    def _expected(self, q: Request, controls: bool, tracked: Optional[int]) -> None:
        if tracked is not None and controls:
            raise LeadsError(self.name, q.data.frame)
        if tracked is not None and tracked != q.data.tracked:
            raise OtherFrameError(self.name, q.data.frame)

    def _take(self, tracked: Optional[int]) -> Optional[FrameData]:
        s = self._coming()
        if s is None or s.request is None:
            return None
        q, used = s.request, None
        if q.streams != self.streams:
            self.streams = q.streams
            raise StreamsChangedError("the streams have changed; fetch them, and await again")
        controls = q.controller == self.name
        if not controls and q.sync:
            if not self._missing(s) and not s.released():
                return None
            if self._missing(s):  # for good: also where the frame before it was asked for again, and is one of a later epoch
                self.epoch = max(self.epoch, q.epoch)
                self._close(None)
                raise MissingError(q.controller, q.data, q.inputs)
            used = self._data(s)
            if used is None:
                return None  # on a link with a delay, or it was never sent
        self._expected(q, controls, tracked)
        data: Buffer = b""
        if used is not None:
            data = used.pieces[0][3] if len(used.pieces) == 1 else b"".join(p[3] for p in used.pieces)
            if q.packing and not self._unpacks(q, bytes(data)):
                return None
            data = self.kept if q.packing else data
        self._close(used)
        self.current, self.controls = q, controls
        self.epoch = q.epoch if q.sync else self.epoch
        self.sent = self.received = self.back_sent = False
        if controls and self.led is None:
            self.led = self.last
        if used is not None:
            self.data = data
        return q.data

    def _unpacks(self, q: Request, packed: bytes) -> bool:
        """Unpacks the data of a frame. It charges the controller where that is not possible."""
        why = ""
        since, size = struct.unpack("<QQ", packed[:16]) if len(packed) >= 16 else (0, 0)
        if len(packed) < 16:
            why = "it has no header"
        elif size > self.most:
            why = f"it has {size} bytes, and the bound here is {self.most}: raise max_bytes, or send less"
        elif since not in (0, self.kept_frame):
            why = f"it is what has changed since frame {since - 1}, and the last state here is of frame {self.kept_frame - 1}"
        else:
            try:
                self.kept, self.kept_frame = changed(self.kept if since else b"", memoryview(packed)[16:], size), q.data.frame + 1
            except ValueError:
                why = "its changes lie outside of it"
        if why:
            charge = self.charge(q.controller, f'client "{q.controller}" sent the data of frame {q.data.frame} in a way in which it cannot be unpacked: {why}')
            self.owed += [charge] if charge is not None else []
        return not why

    # Calls within a frame.

    def wrong(self, kind: type[NodeError], more: str = "") -> NodeError:
        return kind(self.name, 0 if self.current is None else self.current.data.frame, more)

    def now(self) -> Request:
        """The current frame."""
        if self.current is None:
            raise self.wrong(NoFrameError)
        return self.current

    def _synchronised(self) -> Request:
        q = self.now()
        if not q.sync:
            raise self.wrong(SyncOffError)
        return q

    def send(self, data: Buffer) -> Tuple[List[bytes], bytes]:
        """The messages that carry the data of the current frame, and the notice for the director, which is published after them."""
        q = self._synchronised()
        if not self.controls:
            raise self.wrong(NotControllerError)
        if self.sent:
            raise self.wrong(SentTwiceError)
        if len(data) > self.most:
            raise self.wrong(TooLargeError, f": {len(data)} bytes of at most {self.most}; raise max_bytes, or send less")
        if q.packing:
            if self.packed_epoch != q.epoch:  # other nodes may have missed the frame before: the state travels whole
                self.packed_epoch, self.kept, self.kept_frame = q.epoch, b"", 0
            packed = struct.pack("<QQ", self.kept_frame, len(data)) + changes(self.kept, bytes(data))
            self.kept, self.kept_frame, data = bytes(data), q.data.frame + 1, packed
        self.sent = True
        view, size = memoryview(data), len(data)
        parts = max(1, -(-size // self.piece))
        pieces = [struct.pack("<BBQIIIQ", DATA, VERSION, q.data.frame, q.epoch, i, parts, size) + bytes(view[i * self.piece:(i + 1) * self.piece]) for i in range(parts)]
        return pieces, struct.pack("<BBQIBQ", SENT, VERSION, q.data.frame, q.epoch, 0, size)

    def receive(self) -> Buffer:
        self._synchronised()
        if self.controls:
            raise self.wrong(NotFollowerError)
        if self.received:
            raise self.wrong(ReceivedTwiceError)
        self.received = True
        return self.data

    def streams_now(self) -> List[Stream]:
        """What the node is asked to show in the current frame."""
        return self.now().of(self.name)

    def back(self, state: bytes, pictures: Sequence[Buffer]) -> bytes:
        """The message that says that the current frame is finished."""
        q = self.now()
        if self.back_sent:
            raise self.wrong(BackTwiceError)
        asked = len(q.of(self.name))
        if len(pictures) > max(asked, 1) or 0 < len(pictures) < asked:
            raise self.wrong(PicturesError, f": {len(pictures)} pictures, and {asked} streams")
        self.back_sent = True
        return self._back(q, state, pictures)

    def _back(self, q: Request, state: bytes, pictures: Sequence[Buffer]) -> bytes:
        several = len(pictures) > 1
        head = struct.pack("<BBQQ32s", BACK, STREAMS_VERSION if several else VERSION, q.data.frame, q.data.tracked, state)
        if several:
            head += len(pictures).to_bytes(4, "little")
        return head + (b"".join(map(_block, pictures)) if pictures else _block(b""))

    def hello(self, role: int, order: int) -> bytes:
        return struct.pack("<BBBq", HELLO, VERSION, role, order)

    def input(self, data: Buffer) -> bytes:
        return bytes([INPUT, VERSION]) + _block(data)

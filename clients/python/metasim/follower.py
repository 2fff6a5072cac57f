"""A node of a cluster in which one computes, and all others show exactly that frame: RenderStream's engine synchronisation.

    import metasim
    from metasim import follower

    with metasim.Client() as c:
        n = follower.Node(c, role="understudy")
        c.join()
        n.join()
        for f in n.frames():                     # until the director ends it
            if f.reset:
                world.begin()
            if n.is_controller():
                n.send_follower_data(world.step(f.delta))
            else:
                world.set(n.receive_follower_data())
            n.send_frame(world.hash(), world.render())

docs/followers.md of metasim says what a frame is. One thread uses a node, and its client between join and the end is the node's.
"""

from __future__ import annotations

import re
import threading
import time
from typing import Callable, Iterator, List, Optional

from .client import Client
from .errors import EndError, MistakeError, TimedOutError
from .frames import (BackTwiceError, Buffer, Camera, Core, FollowerError, FrameData, FrameTimeoutError, JoinedTwiceError, LeadsError, MissingError, NodeError, NoFrameError, NotControllerError,
                     NotFollowerError, NotJoinedError, NotSentError, NotSetError, OtherFrameError, PeerError, PicturesError, QuitError, ReceivedTwiceError, SentTwiceError,
                     SetFollowerError, Stream, StreamsChangedError, SyncOffError, TooLargeError, TwoThreadsError)
from .wire import Message
from .wire import FOREVER

__all__ = ["BackTwiceError", "Camera", "FollowerError", "FrameData", "FrameTimeoutError", "JoinedTwiceError", "LeadsError", "MissingError", "Node", "NodeError", "NoFrameError", "NotControllerError",
           "NotFollowerError", "NotJoinedError", "NotSentError", "NotSetError", "OtherFrameError", "PeerError", "PicturesError", "QuitError", "ReceivedTwiceError",
           "SentTwiceError", "SetFollowerError", "Stream", "StreamsChangedError", "SyncOffError", "TooLargeError", "TwoThreadsError"]

ROLES = ("follower", "understudy", "controller")


class Node:
    """A member of a cluster. Make it before its client joins, which declares its channels.

    order is among understudies: the least is next. other takes the messages of channels to which the engine has subscribed itself; without it such a message
    is an error."""

    def __init__(self, client: Client, director: str = "director", role: str = "follower", order: int = 0, max_bytes: int = 256 << 20,
                 other: Optional[Callable[[Message], object]] = None) -> None:
        if role not in ROLES:
            raise MistakeError(f'client "{client.name}": the role of a node is {role!r}; use "{ROLES[0]}", "{ROLES[1]}" or "{ROLES[2]}"')
        self._core = Core(client.name, max_bytes)
        self._client, self._director, self._role, self._order, self._other = client, director, ROLES.index(role), order, other
        self._orders, self._states = director + "/orders", director + "/data"
        self._replies = client.publication(director + "/replies")
        self._joined, self._heard = False, 0
        self._thread: Optional[int] = None  # that has awaited the current frame
        if role != "follower":
            self._data = client.publication(self._states)
        client.subscribe(_literal(self._orders))
        if role != "controller":
            client.subscribe(_literal(self._states))

    def join(self) -> None:
        """Makes the node known to its director: call it once, right after the client has joined."""
        if self._joined:
            raise self._core.wrong(JoinedTwiceError)
        self._replies.publish(self._core.hello(self._role, self._order))
        self._joined = True

    def await_frame(self, timeout: Optional[float] = None) -> FrameData:
        """Ends the current frame, and returns the next one when it is there with its data. A frame that was not sent back goes back empty.

        With a timeout it raises FrameTimeoutError when so many seconds of real time have passed: simulated time has not moved by that, and no frame is lost.
        The others: StreamsChangedError, after which to await again; QuitError, after which to leave; MissingError and NotSentError for a frame in
        which nobody sent, which is over."""
        return self._frame(None, timeout)

    def frames(self) -> Iterator[FrameData]:
        """Yields frame after frame until the node is to leave. Changes of the streams, and frames in which nobody sent, are passed over: await_frame has them."""
        while True:
            try:
                yield self.await_frame()
            except QuitError:
                return
            except (StreamsChangedError, MissingError, NotSentError):
                continue

    def set_follower(self, follows: bool) -> None:
        """Says whether the node begins its frames with begin_follower_frame, and not with await_frame: for an engine that ships its state itself, and with it the
        tracked of the frame. It is the older pair of RenderStream's calls."""
        self._check()
        self._core.follows = follows

    def begin_follower_frame(self, tracked: int) -> FrameData:
        """Ends the current frame, and returns the next one, of which tracked is the time. A next frame of another time stays where it is: OtherFrameError. One that
        this node controls, since another one has failed, is a LeadsError."""
        return self._frame(tracked, None)

    def hear(self) -> None:
        """Ends the current frame of a node that was set to be a follower, and returns when other has taken a message: wait for the engine's own state with it, and not
        outside of the run, which would stand still meanwhile. LeadsError: the next frame is this node's; call set_follower(False), and await it."""
        self._check()
        heard = self._heard
        while heard == self._heard:
            replies: List[bytes] = []
            try:
                self._core.hear(replies)
            finally:
                self._reply(replies)
            self._advance(FOREVER, None)

    def is_controller(self) -> bool:
        """Whether this node computes the current frame."""
        self._check()
        self._core.now()
        return self._core.controls

    def sync_enabled(self) -> bool:
        """Whether data is sent and received in the current frame."""
        self._check()
        return self._core.now().sync

    def send_follower_data(self, state: Buffer) -> None:
        """Sends the state of the current frame to the other nodes."""
        self._check()
        self._awaited()
        pieces, notice = self._core.send(self._octets(state))
        for p in pieces:
            self._data.publish(p)
        self._replies.publish(notice)

    def receive_follower_data(self) -> Buffer:
        """Returns the state of the current frame, which the controller has sent."""
        self._check()
        self._awaited()
        return self._core.receive()

    def send_interaction_data(self, data: Buffer) -> None:
        """Sends an input from outside to all nodes, which receive it in one and the same frame, after the present one."""
        self._check()
        self._core.now()
        self._replies.publish(self._core.input(self._octets(data)))

    def receive_interaction_data(self) -> List[bytes]:
        """Returns what came from outside for the current frame, in the same order at all nodes."""
        self._check()
        return self._core.now().inputs

    def compute(self, nanoseconds: int) -> None:
        """Lets simulated time pass, as drawing takes it."""
        self._check()
        self._core.now()
        until = self._client.now.time + nanoseconds
        while self._client.now.time < until:
            self._advance(until, None)

    def streams(self) -> List[Stream]:
        """What this node is asked to show in the current frame: none where the director asks for no pictures."""
        self._check()
        return self._core.streams_now()

    def send_frame(self, state: bytes = bytes(32), picture: Buffer = b"", *more: Buffer) -> None:
        """Sends the finished frame back: the hash of the state that it shows, 32 bytes, by which torn frames are found (zeros: it is not said), and a picture for each
        of the node's streams, in their order, or none. A node without streams may send one picture."""
        self._check()
        state = bytes(self._octets(state))
        if len(state) != 32:
            raise FollowerError(f"node {self._core.name}: a hash of {len(state)} bytes; use one of 32, such as SHA-256")
        pictures = tuple(map(self._octets, (picture, *more)))
        self._replies.publish(self._core.back(state, pictures if pictures[0] or more else ()))

    @property
    def refused(self) -> int:
        """How many sets of data were not used: those of a controller that was replaced meanwhile."""
        return self._core.refused

    def _check(self) -> None:
        if not self._joined:
            raise NotJoinedError("the node has not joined; call join first, right after the client has joined")

    def _octets(self, data: Buffer) -> Buffer:
        """What a call is given, as bytes of which len says how many: what is like bytes may have larger elements. Anything else is refused before the call changes the
        frame."""
        if isinstance(data, bytes):
            return data
        try:
            view = memoryview(data)
        except TypeError:
            raise FollowerError(f"node {self._core.name}: {repr(data):.40} is neither bytes nor like bytes; encode it, as with struct.pack or json.dumps") from None
        return view.cast("B") if view.c_contiguous and view.ndim > 0 and view.nbytes > 0 else view.tobytes()

    def _awaited(self) -> None:
        """Only the thread that has awaited a frame sends or receives its data: another one may come too late, in the next frame."""
        if self._thread not in (None, threading.get_ident()):
            raise self._core.wrong(TwoThreadsError)

    def _reply(self, replies: List[bytes]) -> None:
        for r in replies:
            self._replies.publish(r)

    def _frame(self, tracked: Optional[int], timeout: Optional[float]) -> FrameData:
        self._check()
        self._thread = threading.get_ident()
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            replies: List[bytes] = []
            try:
                f = self._core.next(replies, tracked)
            finally:
                self._reply(replies)
            if f is not None:
                return f
            self._advance(FOREVER, deadline)

    def _advance(self, until: int, deadline: Optional[float]) -> None:
        try:
            messages = self._client.next(until, None if deadline is None else max(0.0, deadline - time.monotonic()))
        except TimedOutError:
            raise FrameTimeoutError("no frame was asked for within the timeout; await again") from None
        except EndError:
            raise QuitError("the run has ended") from None
        for m in messages:
            self._take(m)

    def _take(self, m: Message) -> None:
        if m.channel not in (self._orders, self._states):
            if self._other is None:
                raise FollowerError(f'client "{m.sender}" has sent a message on {m.channel}, to which the engine of node {self._core.name} has subscribed itself; take such '
                                    "messages with other")
            self._other(m)
            self._heard += 1
        elif m.sender == self._core.name:  # an understudy that is the controller now
            return
        elif m.channel == self._orders and m.sender == self._director:
            self._core.order(m.sender, m.payload)
        else:
            self._take_data(m)

    def _take_data(self, m: Message) -> None:
        """Takes data, or what is on the director's channel and not the director's. The director fails who breaks the rules, and this node goes on. More data than it takes is
        an error of its own bound."""
        try:
            if m.channel == self._orders:
                raise PeerError(m.sender, f"publishes on {self._orders}, which is the director's; use another channel")
            self._core.take_data(m.sender, m.payload)
        except PeerError as e:
            if e.rs_code == 9:
                raise
            charge = self._core.charge(m.sender, str(e))
            if charge is not None:
                self._replies.publish(charge)


def _literal(name: str) -> str:
    """A regular expression that matches this name alone: a server's expressions know no other escapes than these."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", name)

"""What a call can fail with: a class for each code, as the vectors of metasim name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Sequence

if TYPE_CHECKING:
    from .wire import Message


class Error(Exception):
    """A call failed. code names the kind, the text is one sentence: who, when, what, and what to do."""

    code: ClassVar[str] = ""


class MistakeError(Error):
    """A declaration, a timer, a result or an option that cannot be; or the client has failed."""

    code = "mistake"


class CompleteError(Error):
    """Something was declared after the client has joined."""

    code = "complete"


class ProtocolError(Error):
    """Something that does not travel: too large, or not of the protocol, on either side."""

    code = "protocol"


class SendBeforePromiseError(Error):
    """The client promised not to send yet. Nothing was sent, and it may go on."""

    code = "send-before-promise"


class PromiseRegressError(Error):
    """The client would take a promise back. Nothing was promised."""

    code = "promise-regress"


class TimeRegressError(Error):
    """The client would go back in time. It stays where it is."""

    code = "time-regress"


class EndError(Error):
    """The run ends before this instant: leave now. messages are those that were due before the end, for a step."""

    code = "end"

    def __init__(self, text: str, messages: Sequence[Message] = ()) -> None:
        super().__init__(text)
        self.messages = messages


class TimedOutError(Error):
    """Nothing came for as long as next was to wait. Simulated time has not moved by that, and nothing is lost: call next again."""

    code = "timeout"


class LeftError(Error):
    """A call after the client has left."""

    code = "left"


class RefusedError(Error):
    """The server ended the client's part; the text is the server's."""

    code = "refused"


class LimitError(Error):
    """A request was not answered within its time limit."""

    code = "limit"


class CallRefusedError(Error):
    """Who answers a service refused the request; the text is theirs."""

    code = "call-refused"


class LostError(Error):
    """The connection ended, or could not be made."""

    code = "lost"

"""follower.py controller|understudy|follower [DIRECTOR]: a node of a cluster, beside the built-in model "render-node" and engines in other languages.

It leaves with how many frames it has shown, how many of them it has computed, and the SHA-256 over all of them, which is the same at all nodes.
"""

import hashlib
import sys

import metasim
from metasim import follower


class World:
    """What an engine shows: here, how much time has passed in it."""

    def __init__(self) -> None:
        self.age = 0

    def step(self, nanoseconds: int) -> bytes:
        self.age += nanoseconds
        return self.age.to_bytes(8, "little")

    def set(self, state: bytes) -> None:
        self.age = int.from_bytes(state[:8], "little")


def main(role: str, director: str = "director") -> None:
    world, every, frames, computed = World(), hashlib.sha256(), 0, 0
    with metasim.Client() as c:  # metasim says in the environment where the server is
        n = follower.Node(c, director=director, role=role)
        c.join()
        n.join()
        while True:
            try:
                f = n.await_frame(timeout=5)
            except follower.QuitError:
                break
            except (follower.FrameTimeoutError, follower.StreamsChangedError, follower.NotSentError):
                continue
            except follower.MissingError as e:  # the frame is over, and the next one comes
                world = World() if e.data.reset else world
                continue
            if f.reset:
                world = World()
            if n.sync_enabled() and not n.is_controller():
                state = bytes(n.receive_follower_data())
                world.set(state)
            else:
                state = world.step(f.delta)
                computed += n.is_controller()
                if n.sync_enabled():
                    n.send_follower_data(state)
            frames += 1
            every.update(f.frame.to_bytes(8, "little") + state)
            n.send_frame(hashlib.sha256(state).digest())
        c.set_result({"frames": frames, "as_controller": computed, "data_hash": every.hexdigest()})


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in follower.ROLES:
        sys.exit(f"usage: {sys.argv[0]} controller|understudy|follower [DIRECTOR]")
    try:
        main(*sys.argv[1:])
    except metasim.Error as e:
        sys.exit(f"follower.py: {e}")

"""The system metasim::systems::Wind of a world, in a process of its own: docs/lockstep.md has the bytes of calls and replies.

    wind.py WORLD SYSTEM

WORLD is the client that runs the world, SYSTEM the name of this system there.
"""

import json
import struct
import sys
from typing import Any, Dict, List, Tuple

import metasim

CONFIGURE, PRE_UPDATE, RESET = 0, 1, 4
CALL = struct.Struct("<BB?xIQQqqqI")
REPLY = struct.Struct("<BBB?")
VERSION, PERIODIC = 1, 1


class Reader:
    """Reads encoded changes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def bytes(self) -> bytes:
        size = self.number()
        self.at += size
        return self.data[self.at - size : self.at]


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def apply(state: Dict[int, Dict[str, bytes]], data: bytes) -> None:
    """Makes the changes of a call to our copy of the state: components by entity."""
    r = Reader(data)
    if r.number() != VERSION:
        raise ValueError("the world encodes changes in another version")
    types = [r.bytes().decode() for _ in range(r.number())]
    for _ in range(r.number()):  # counters: how many entities each system has created
        r.number(), r.number()
    entity = 0
    for _ in range(r.number()):  # removed entities
        entity += r.number()
        del state[entity]
    entity = 0
    for _ in range(r.number()):
        entity += r.number()
        if r.number() == 1:  # created, and below which entity
            state[entity] = {}
            r.number()
        for _ in range(r.number()):
            name, _kind = types[r.number()], r.number()
            state[entity][name] = r.bytes()
        for _ in range(r.number()):
            del state[entity][types[r.number()]]


def changes(forces: List[Tuple[int, bytes]]) -> bytes:
    """Encodes the forces that we set."""
    out = bytearray([VERSION])
    out += b"\x01\x05force" if forces else b"\x00"
    out += bytes([0, 0]) + uvarint(len(forces))  # no counters, nothing is removed
    last = 0
    for entity, value in forces:
        out += uvarint(entity - last) + bytes([0, 1, 0, PERIODIC]) + uvarint(len(value)) + value + b"\x00"
        last = entity
    return bytes(out)


class Wind:
    def __init__(self, plugin: Dict[str, Any]) -> None:
        said = {e["Name"]: [float(x) for x in e["Text"].split()] for e in plugin["Content"] or []}
        self.velocity, self.drag = said.get("velocity", [0.0, 0.0, 0.0]), said.get("drag", [0.1])[0]

    def forces(self, state: Dict[int, Dict[str, bytes]]) -> List[Tuple[int, bytes]]:
        out = []
        for entity, components in sorted(state.items()):
            if "velocity" not in components:
                continue
            speed = struct.unpack("<6d", components["velocity"])
            force = [self.drag * (air - own) for air, own in zip(self.velocity, speed)] + [0.0, 0.0, 0.0]
            if "force" in components:
                before = struct.unpack("<6d", components["force"])
                force = [a + b for a, b in zip(force[:3], before[:3])] + list(before[3:])
            value = struct.pack("<6d", *force)
            if value != components.get("force"):
                out.append((entity, value))
        return out


def main(world: str, system: str) -> None:
    state: Dict[int, Dict[str, bytes]] = {}
    client = metasim.Client(system)
    replies = client.publication(f"{world}/{system}/reply")
    client.subscribe(f"{world}/{system}/call")
    with client:
        client.join()
        for message in client.messages():
            version, phase, _fresh, _number, _iteration, _seed, time, _step, following, size = CALL.unpack_from(message.payload)
            if version != VERSION:
                raise ValueError(f"the world speaks version {version} of lock step, and this client {VERSION}")
            rest = bytes(message.payload[CALL.size :])
            if phase == RESET:  # the world goes back to its start, and tells the whole state
                state.clear()
            apply(state, rest[size:])
            forces: List[Tuple[int, bytes]] = []
            if phase == CONFIGURE:
                wind = Wind(json.loads(rest[:size]))
            elif phase == PRE_UPDATE:
                forces = wind.forces(state)
            replies.publish(REPLY.pack(VERSION, phase, 1 << CONFIGURE | 1 << PRE_UPDATE, False) + changes(forces))
            if following > time:
                client.promise(following)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} WORLD SYSTEM")
    try:
        main(*sys.argv[1:])
    except metasim.Error as e:
        sys.exit(f"wind.py: {e}")

"""Takes part in the run of tank.metasim.yaml, which starts it. Replace model.py by your own simulator."""

import sys

import metasim
from model import Tank


def main() -> None:
    model = Tank()
    with metasim.Client() as c:  # metasim says in the environment where the server is
        level = c.publication("LEVEL")
        c.subscribe("PUMP")
        c.join()
        for _, commands in c.steps(10_000_000):  # all that is due at this time or before, in order, until the run ends
            model.step(len(commands))
            level.publish(str(model.level))
        c.set_result({"level": model.level})


if __name__ == "__main__":
    try:
        main()
    except metasim.Error as e:
        sys.exit(f"tank.py: {e}")

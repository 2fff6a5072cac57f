"""traffic.py: SUMO as a simulator of a run. SUMO moves the cars; this program steps it with the run, and carries what is said in and out through TraCI.

It publishes on QUEUES, each second, how many cars stand before the crossing on each of its two roads, as JSON; and it hears on SIGNAL which road is to have
green. A switch takes three seconds of yellow. Until somebody says something on SIGNAL, SUMO switches by its own timetable.

Its result says how many cars came, how many have arrived, and for how many seconds cars stood, all together.
"""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import metasim

HERE = Path(__file__).parent
STEP = 1_000_000_000  # nanoseconds
ROADS = {"north-south": ("from-north", "from-south"), "east-west": ("from-east", "from-west")}
SIGNALS = "crossing"
GREEN = {"north-south": 0, "east-west": 2}  # in which phase of the signals a road has green; netconvert puts a yellow one after each

UNCHECKED = ("--xml-validation", "never")  # the schemas are on a server


def need_sumo():
    """Returns TraCI, or says what to install."""
    sys.path.append("/usr/lib/python3/dist-packages")  # Debian has it there, where other interpreters do not look
    try:
        import traci
    except ImportError:
        traci = None
    if traci is None or not shutil.which("sumo") or not shutil.which("netconvert"):
        sys.exit("traffic.py: there is no SUMO; install it: apt-get install --no-install-recommends sumo")
    return traci


class Traffic:
    """SUMO with the crossing."""

    def __init__(self, traci, directory, seed):
        net = os.path.join(directory, "crossing.net.xml")
        parts = [f"--{kind}-files={HERE}/crossing.{ending}.xml" for kind, ending in (("node", "nod"), ("edge", "edg"), ("connection", "con"))]
        subprocess.run(["netconvert", *parts, "--output-file", net, "--no-turnarounds", "--tls.yellow.time", "3", *UNCHECKED], check=True,
                       stdout=subprocess.DEVNULL)
        with contextlib.redirect_stdout(io.StringIO()):  # TraCI says there that SUMO is not there at once
            traci.start(["sumo", "--net-file", net, "--route-files", f"{HERE}/crossing.rou.xml", "--step-length", str(STEP / 1e9), "--seed", str(seed % 2**31),
                         "--no-step-log", "--no-warnings", *UNCHECKED, "--xml-validation.net", "never", "--xml-validation.routes", "never"], numRetries=600, stdout=subprocess.DEVNULL)
        self.traci = traci
        self.came = self.arrived = self.stood = 0

    def step(self):
        self.traci.simulationStep()
        self.came += self.traci.simulation.getDepartedNumber()
        self.arrived += self.traci.simulation.getArrivedNumber()
        waiting = {road: sum(map(self.traci.edge.getLastStepHaltingNumber, sides)) for road, sides in ROADS.items()}
        self.stood += sum(waiting.values()) * STEP // 10**9
        return waiting

    def give_green(self, road):
        """Holds the green of a road, or ends that of the other one: after a green SUMO goes through its yellow to the next."""
        phase = self.traci.trafficlight.getPhase(SIGNALS)
        if phase == GREEN[road]:
            self.traci.trafficlight.setPhaseDuration(SIGNALS, 10**6)
        elif phase in GREEN.values():
            self.traci.trafficlight.setPhase(SIGNALS, phase + 1)


def main():
    traci = need_sumo()
    os.environ.setdefault("SUMO_HOME", "/usr/share/sumo")  # so that SUMO does not look for it
    with metasim.Client() as c, tempfile.TemporaryDirectory() as directory:
        out = c.publication("QUEUES")
        c.subscribe("SIGNAL")
        c.join()
        traffic = Traffic(traci, directory, c.seed)
        c.on_leave(lambda: {"came": traffic.came, "arrived": traffic.arrived, "stood_s": traffic.stood})
        road = None
        for _, messages in c.steps(STEP):
            for m in messages:
                road = bytes(m.payload).decode()
            if road is not None:
                traffic.give_green(road)
            out.publish(json.dumps(traffic.step()))
        traci.close()


if __name__ == "__main__":
    main()

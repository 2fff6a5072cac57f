import os
import subprocess
import unittest

from model import Tank


class TestTank(unittest.TestCase):
    def test_model(self) -> None:
        s = Tank()
        s.step(1)
        self.assertEqual((s.pumping, s.level), (True, 19900))
        s.step(1)
        self.assertEqual((s.pumping, s.level), (False, 19801))

    def test_run(self) -> None:
        """The run is the same over each transport that this program has. METASIM is the path of metasim, if it is not in PATH."""
        metasim = os.environ.get("METASIM", "metasim")
        subprocess.run([metasim, "verify", "tank.metasim.yaml", "--transport", "unix,tcp"], check=True)


if __name__ == "__main__":
    unittest.main()

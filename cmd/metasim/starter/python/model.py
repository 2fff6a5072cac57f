class Tank:
    """A tank is filled by a pump and leaks. Levels are whole microlitres: whole numbers are the same on every machine."""

    def __init__(self) -> None:
        self.level = 0
        self.pumping = False

    def step(self, commands: int) -> None:
        """Simulates 10 ms, at the beginning of which the pump got so many commands: each switches it on or off."""
        if commands % 2:
            self.pumping = not self.pumping
        if self.pumping:
            self.level += 20000
        self.level -= self.level // 200

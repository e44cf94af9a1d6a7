"""The names of what a server offers: told apart within it, and by its name from others'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from holodeck_backend_claude.calls.names import folder_name, legal_name


@dataclass
class Names:
    """Gives out the names of one server.

    Attributes:
        server: The server's name in agent.yaml.
    """

    server: str
    _taken: set[str] = field(default_factory=set)

    def take(self, names: Sequence[str]) -> list[str | None]:
        """The legal names within the server for what it calls these, in order.

        None stands for one that it lists twice. Two names that differ only in characters that no
        name may have stay apart; one that is legal stays as it is.
        """
        given: dict[int, str | None] = {}
        for index in sorted(range(len(names)), key=lambda i: legal_name(names[i]) != names[i]):
            given[index] = self._take(names[index])
        return [given[index] for index in range(len(names))]

    def _take(self, name: str) -> str | None:
        legal = legal_name(name)
        if legal in self._taken and legal != name:
            legal = folder_name(name)  # with a hash of what it was
        if legal in self._taken:
            return None
        self._taken.add(legal)
        return legal

    def free(self, name: str) -> str:
        """A name of ours, with further underscores where the server has it too."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def own(self, name_in_server: str) -> str:
        """What results and reports call it, on every backend."""
        return f"{self.server}_{name_in_server}"

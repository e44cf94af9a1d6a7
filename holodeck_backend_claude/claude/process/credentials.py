"""How a Claude Code process proves who it is: the variables of the chosen auth_provider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from holodeck_backend_claude.claude.process.providers import PATHS, PROVIDERS, Need, Provider, Way
from holodeck_backend_claude.connections import NOT_SENDABLE, is_sendable
from holodeck_backend_claude.contract import BackendInitError
from holodeck_backend_claude.redaction import passwords_in, remember_secrets

if TYPE_CHECKING:
    from holodeck_backend_claude.config import Agent

DEFAULT_PROVIDER = "api_key"


@dataclass(frozen=True)
class Credentials:
    """What one process is given to reach its model.

    Attributes:
        variables: The variables, complete; of no other provider.
        reserved: Further names that this provider reads, and that nothing else may set.
    """

    variables: Mapping[str, str] = field(repr=False)
    reserved: frozenset[str]


def find_credentials(agent: Agent, host: Mapping[str, str]) -> Credentials:
    """What ``model.auth_provider`` needs, from agent.yaml first and the environment second.

    Its secrets are masked in every text from now on.

    Args:
        agent: Its ``model.api_key`` and ``model.endpoint`` win over variables of the host.
        host: The variables of the agent, see ``Agent.environment()``.

    Raises:
        BackendInitError: Something is missing or cannot be sent; no value is shown.
    """
    provider = PROVIDERS[agent.model.auth_provider or DEFAULT_PROVIDER]
    asked = _Asked(provider, _given(agent, provider, host), str(host.get("HOME") or Path.home()))
    found = dict(provider.fixed)
    for need in provider.needs:
        found |= asked.variables_for(need)
    if address := asked.given.get(provider.address):
        found[provider.address] = address
        remember_secrets(passwords_in(address))
    reserved = frozenset(name for need in provider.needs for name in need.names)
    return Credentials(found, reserved | {provider.address})


def _given(agent: Agent, provider: Provider, host: Mapping[str, str]) -> dict[str, str]:
    """The host's variables with what agent.yaml says in their place."""
    given = {name: value.strip() for name, value in host.items()}
    own = agent.model.api_key
    if own is not None:
        if provider.key is None:
            raise BackendInitError(
                f"model.api_key has no effect with auth_provider '{provider.name}': "
                f"{provider.title} takes no key. Remove it from agent.yaml."
            )
        given[provider.key] = own.get_secret_value().strip()
        _check_sendable(given[provider.key], "model.api_key", provider)
    if agent.model.endpoint:
        given[provider.address] = agent.model.endpoint
    address = given.get(provider.address, "")
    if address and not address.lower().startswith(("http://", "https://")):
        place = "model.endpoint" if agent.model.endpoint else provider.address
        raise BackendInitError(
            f"the address of {provider.title} in {place} has no scheme. Begin it with https://, "
            "or with http:// where the credential may travel unencrypted."
        )
    return given


@dataclass(frozen=True)
class _Asked:
    """What a provider is asked for, and what there is to take it from."""

    provider: Provider
    given: Mapping[str, str] = field(repr=False)
    home: str

    def variables_for(self, need: Need) -> dict[str, str]:
        """Those of the first way that is complete."""
        for way in need.ways:
            found = self._along(way)
            if found is not None:
                if way.is_secret:
                    remember_secrets(found.values())
                return found
        raise BackendInitError(self._missing(need))

    def _along(self, way: Way) -> dict[str, str] | None:
        if not all(self.given.get(name) for name in way.names):
            return None
        if any(self.given[name] != value for name, value in way.exactly.items()):
            return None
        names = (*way.names, *(name for name in way.also if self.given.get(name)))
        found = {name: self.given[name] for name in names}
        for name, value in found.items():
            _check_sendable(value, name, self.provider)
            if name in PATHS:
                found[name] = str(_existing(value, name, self.provider))
        files = dict(self._files(way))
        if way.files and not files:
            return None
        found |= files
        return {way.passed_as: found[way.names[0]]} if way.passed_as else found

    def _files(self, way: Way) -> Iterator[tuple[str, str]]:
        """Of the user's home, as its place is another one for the process."""
        for name, usual in way.files.items():
            if own := self.given.get(name):
                yield name, str(_existing(own, name, self.provider))
            elif (path := Path(self.home, usual)).is_file():
                yield name, str(path)

    def _missing(self, need: Need) -> str:
        ways = " or ".join(way.described for way in need.ways if way.described)
        own = ""
        if self.provider.key in need.names:
            own = ", or model.api_key in agent.yaml"
        elif self.provider.address in need.names:
            own = ", or model.endpoint in agent.yaml"
        return (
            f"no {need.what} for {self.provider.title}: set {ways} in the environment (or in .env "
            f"beside agent.yaml){own}.{need.advice} To try the agent without one, add --offline."
        )


def _check_sendable(value: str, place: str, provider: Provider) -> None:
    if not is_sendable(value):
        raise BackendInitError(f"the credential for {provider.title} in {place} {NOT_SENDABLE}")


def _existing(value: str, name: str, provider: Provider) -> Path:
    """The file, whole: the process runs in another folder."""
    path = Path(value).expanduser().absolute()
    if not path.is_file():
        raise BackendInitError(
            f"the file that {name} names for {provider.title} does not exist: {value}"
        )
    return path

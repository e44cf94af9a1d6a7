"""JSON over HTTP, as most vector stores speak it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holodeck_backend_claude.retrieval.stores.calls import CALL_SECONDS, StoreCalls

if TYPE_CHECKING:
    import httpx

_MOST_TOLD = 300
_RETRIED = frozenset({429, 502, 503, 504})
_PAUSES = (0.5, 2.0)  # seconds before a call is made again


class RestApi:
    """The API of one server; redirects are not followed, so that no key goes elsewhere.

    Args:
        url: What stands before every path.
        address: The store as errors name it.
        headers: Sent with every call.
    """

    def __init__(self, url: str, *, address: str, headers: Mapping[str, str]) -> None:
        self._url = url.rstrip("/")
        self._headers = dict(headers)
        self._calls = StoreCalls(address)
        self._client: httpx.AsyncClient | None = None

    async def call(
        self, method: str, path: str, body: object = None, *, absent: tuple[int, ...] = ()
    ) -> Any:
        """The JSON of an answer.

        Args:
            method: GET, POST, ...
            path: Below the URL.
            body: Sent as JSON; None sends none.
            absent: Statuses that mean that there is no such thing.

        Returns:
            What came; None where it came with one of ``absent``, or was empty.

        Raises:
            StoreError: The server is not there, refuses, or does not answer in time.
        """
        return await self._calls.run(lambda: self._call(method, path, body, absent))

    async def close(self) -> None:
        """Close the connections; may be called twice."""
        client, self._client = self._client, None
        if client is not None:
            await self._calls.run(client.aclose)

    async def _call(self, method: str, path: str, body: object, absent: tuple[int, ...]) -> Any:
        response = await self._answer(method, path, body)
        if response.status_code in absent:
            return None
        if not response.is_success:
            raise self._calls.failure(_told(response))
        return response.json() if response.content else None

    async def _answer(self, method: str, path: str, body: object) -> httpx.Response:
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(headers=self._headers, timeout=CALL_SECONDS)
        for pause in _PAUSES:
            response = await self._client.request(method, f"{self._url}{path}", json=body)
            if response.status_code not in _RETRIED:
                return response
            await asyncio.sleep(pause)
        return await self._client.request(method, f"{self._url}{path}", json=body)


def _told(response: httpx.Response) -> str:
    """What an answer says went wrong."""
    hint = {
        401: "; check the key",
        403: "; check the key",
        404: "; check the address",
    }
    text = " ".join(response.text.split())[:_MOST_TOLD]
    return f"{response.status_code} {text}{hint.get(response.status_code, '')}"

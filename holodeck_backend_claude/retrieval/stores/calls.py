"""How a store is called: one way to fail, a time limit, and always in the same event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from holodeck_backend_claude.redaction import mask_secrets
from holodeck_backend_claude.retrieval.stores.contract import StoreError

T = TypeVar("T")

CALL_SECONDS = 60.0


class StoreCalls:
    """Makes the calls of one store.

    Args:
        address: Where the store is, without secrets.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """What a call returns.

        Raises:
            StoreError: Whatever the client raised, or that there was no answer in time.
        """
        loop = asyncio.get_running_loop()
        if self._loop is None or self._loop.is_closed():
            self._loop = loop
        if loop is self._loop:
            return await self._bounded(call)
        there = asyncio.run_coroutine_threadsafe(self._bounded(call), self._loop)
        return await asyncio.wrap_future(there)

    async def _bounded(self, call: Callable[[], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(CALL_SECONDS):
                return await call()
        except StoreError:
            raise
        except TimeoutError as cause:
            raise self.failure(f"no answer within {CALL_SECONDS:g} s") from cause
        except Exception as cause:  # clients raise whatever their transport does
            raise self.failure(cause) from cause

    def failure(self, why: object) -> StoreError:
        """That the store cannot be used, and why."""
        text = " ".join(mask_secrets(str(why) or type(why).__name__).split())
        return StoreError(f"the vector store {self.address} cannot be used: {text[:500]}")

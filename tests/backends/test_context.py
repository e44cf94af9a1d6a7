"""What every backend makes of earlier turns that are none."""

from __future__ import annotations

import pytest

from .stage import Stage


async def test_a_wrong_context_is_refused_alike_and_leaves_no_session(stage: Stage) -> None:
    backend = stage.backend()
    await backend.initialize()
    with pytest.raises(ValueError, match=r"context\[0\] must be .*'system'") as caught:
        await backend.invoke_once("Hi", context=[{"role": "system", "content": "4111"}])
    assert "4111" not in str(caught.value)
    assert not backend._sessions
    await backend.teardown()

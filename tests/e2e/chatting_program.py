"""A program of its own with one conversation: says one thing, reports, and waits to be killed.

Arguments, as JSON: ``agent`` (a file), ``resume`` (an id or null), ``fork``, ``message``.
"""

from __future__ import annotations

import asyncio
import json
import sys

from holodeck_backend_claude import open_agent


async def main(agent: str, resume: str | None, message: str, *, fork: bool) -> None:
    async with open_agent(agent) as backend:
        session = await backend.create_session(resume=resume, fork=fork)
        result = await session.send(message)
        sys.stdout.write(json.dumps({"id": result.session_id, "response": result.response}) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(**json.loads(sys.argv[1])))

"""Threads that delay no exit and tasks that cannot hang; imports nothing of this package."""

from __future__ import annotations

from holodeck_backend_claude.concurrency.tasks import end_task, let_go, wait_out
from holodeck_backend_claude.concurrency.threads import blocked_threads, in_thread

__all__ = ["blocked_threads", "end_task", "in_thread", "let_go", "wait_out"]

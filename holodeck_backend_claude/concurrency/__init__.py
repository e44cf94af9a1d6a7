"""Threads, tasks and other loops that hang nothing; imports nothing of this package."""

from __future__ import annotations

from holodeck_backend_claude.concurrency.loops import in_loop
from holodeck_backend_claude.concurrency.tasks import end_task, keep, let_go, wait_out
from holodeck_backend_claude.concurrency.threads import blocked_threads, in_thread

__all__ = ["blocked_threads", "end_task", "in_loop", "in_thread", "keep", "let_go", "wait_out"]

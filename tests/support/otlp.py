"""A receiver of OpenTelemetry data on loopback, over HTTP and gRPC, that keeps what it got."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import grpc  # type: ignore[import-untyped]
from aiohttp import web
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2, logs_service_pb2_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2, metrics_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue


@dataclass(frozen=True)
class ReceivedSpan:
    """A span as it arrived."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str | None
    kind: int
    status: int
    status_text: str
    start: int
    end: int
    attributes: dict[str, Any]
    resource: dict[str, Any]
    scope: str


@dataclass(frozen=True)
class ReceivedMetric:
    """One metric with its data points, each ``(attributes, value, count)``."""

    name: str
    unit: str
    points: tuple[tuple[dict[str, Any], float, int], ...]
    resource: dict[str, Any]
    scope: str


@dataclass(frozen=True)
class ReceivedLog:
    """A log record as it arrived."""

    body: Any
    severity: str
    trace_id: str
    span_id: str
    attributes: dict[str, Any]
    resource: dict[str, Any]
    scope: str


@dataclass(frozen=True)
class ReceivedRequest:
    """How a request came: the protocol, the signal, its headers in small letters, its time."""

    protocol: str
    signal: str
    headers: dict[str, str]
    seconds_left: float | None = None


@dataclass
class OTLPReceiver:
    """``async with OTLPReceiver() as receiver``: what arrived is in its lists."""

    spans: list[ReceivedSpan] = field(default_factory=list)
    metrics: list[ReceivedMetric] = field(default_factory=list)
    logs: list[ReceivedLog] = field(default_factory=list)
    requests: list[ReceivedRequest] = field(default_factory=list)
    url: str = ""
    grpc_url: str = ""

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Condition()
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/{signal}", self._http)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self._grpc = grpc.server(ThreadPoolExecutor(4))
        for signal, (service, add) in _GRPC.items():
            add(_servicer(service, signal, self._from_grpc), self._grpc)
        self.grpc_url = f"http://127.0.0.1:{self._grpc.add_insecure_port('127.0.0.1:0')}"
        self._grpc.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._grpc.stop(None).wait)
        await self._runner.cleanup()

    async def until(self, true: Callable[[OTLPReceiver], object], seconds: float = 20) -> None:
        """Wait until ``true(self)``, which is asked after each arrival."""
        async with self._arrived:
            await asyncio.wait_for(self._arrived.wait_for(lambda: true(self)), seconds)

    def named(self, *names: str) -> list[ReceivedSpan]:
        """The spans with one of these names, in the order of their start."""
        return sorted((s for s in self.spans if s.name in names), key=lambda span: span.start)

    def one(self, name: str) -> ReceivedSpan:
        """The only span of this name."""
        (span,) = self.named(name)
        return span

    def parent(self, span: ReceivedSpan) -> ReceivedSpan | None:
        """The span above this one, where it arrived."""
        return next((other for other in self.spans if other.span_id == span.parent_id), None)

    def tree(self, scope: str | None = None) -> list[str]:
        """Every span as ``root > child > grandchild``, in the order of their start."""
        spans = sorted(self.spans, key=lambda span: (span.start, span.end))
        return [self._path(span) for span in spans if scope in (None, span.scope)]

    def _path(self, span: ReceivedSpan) -> str:
        parent = self.parent(span)
        return span.name if parent is None else f"{self._path(parent)} > {span.name}"

    # ------------------------------------------------------------------------------ arriving

    async def _http(self, request: web.Request) -> web.Response:
        signal = request.match_info["signal"]
        message = _MESSAGES[signal]()
        message.ParseFromString(await request.read())
        headers = {name.lower(): value for name, value in request.headers.items()}
        await self._take("http", signal, headers, message)
        return web.Response(body=b"", content_type="application/x-protobuf")

    def _from_grpc(self, signal: str, message: Any, context: Any) -> None:
        headers = {key: str(value) for key, value in context.invocation_metadata()}
        taking = self._take("grpc", signal, headers, message, context.time_remaining())
        asyncio.run_coroutine_threadsafe(taking, self._loop).result(10)

    async def _take(
        self, protocol: str, signal: str, headers: dict[str, str], message: Any, *left: float
    ) -> None:
        async with self._arrived:
            self.requests.append(ReceivedRequest(protocol, signal, headers, *left))
            match signal:
                case "traces":
                    self.spans += _spans(message)
                case "metrics":
                    self.metrics += _metrics(message)
                case "logs":
                    self.logs += _logs(message)
            self._arrived.notify_all()


_MESSAGES: dict[str, Any] = {
    "traces": trace_service_pb2.ExportTraceServiceRequest,
    "metrics": metrics_service_pb2.ExportMetricsServiceRequest,
    "logs": logs_service_pb2.ExportLogsServiceRequest,
}
_ANSWERS: dict[str, Any] = {
    "traces": trace_service_pb2.ExportTraceServiceResponse,
    "metrics": metrics_service_pb2.ExportMetricsServiceResponse,
    "logs": logs_service_pb2.ExportLogsServiceResponse,
}
_GRPC: dict[str, Any] = {
    "traces": (
        trace_service_pb2_grpc.TraceServiceServicer,
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server,
    ),
    "metrics": (
        metrics_service_pb2_grpc.MetricsServiceServicer,
        metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server,
    ),
    "logs": (
        logs_service_pb2_grpc.LogsServiceServicer,
        logs_service_pb2_grpc.add_LogsServiceServicer_to_server,
    ),
}


def _servicer(service: Any, signal: str, take: Callable[[str, Any, Any], None]) -> Any:
    def export(_self: Any, message: Any, context: Any) -> Any:
        take(signal, message, context)
        return _ANSWERS[signal]()

    return type(service.__name__, (service,), {"Export": export})()


def _spans(message: Any) -> Iterable[ReceivedSpan]:
    for part in message.resource_spans:
        for scope in part.scope_spans:
            for span in scope.spans:
                yield ReceivedSpan(
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex() or None,
                    span.kind,
                    span.status.code,
                    span.status.message,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    _plain(span.attributes),
                    _plain(part.resource.attributes),
                    scope.scope.name,
                )


def _metrics(message: Any) -> Iterable[ReceivedMetric]:
    for part in message.resource_metrics:
        for scope in part.scope_metrics:
            for metric in scope.metrics:
                data = getattr(metric, metric.WhichOneof("data"))
                points = tuple(
                    (_plain(point.attributes), *_counted(point)) for point in data.data_points
                )
                resource = _plain(part.resource.attributes)
                yield ReceivedMetric(metric.name, metric.unit, points, resource, scope.scope.name)


def _counted(point: Any) -> tuple[float, int]:
    if hasattr(point, "sum"):
        return point.sum, point.count
    return getattr(point, point.WhichOneof("value")), 1


def _logs(message: Any) -> Iterable[ReceivedLog]:
    for part in message.resource_logs:
        for scope in part.scope_logs:
            for record in scope.log_records:
                yield ReceivedLog(
                    _value(record.body),
                    record.severity_text,
                    record.trace_id.hex(),
                    record.span_id.hex(),
                    _plain(record.attributes),
                    _plain(part.resource.attributes),
                    scope.scope.name,
                )


def _plain(attributes: Iterable[KeyValue]) -> dict[str, Any]:
    return {item.key: _value(item.value) for item in attributes}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _plain(value.kvlist_value.values)
    return getattr(value, kind)

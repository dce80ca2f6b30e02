"""OpenTelemetry's own SDK and exporter, pointed at the studio by the usual variables."""

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def provider(service: str) -> TracerProvider:
    """A provider whose spans go to OTEL_EXPORTER_OTLP_ENDPOINT."""
    made = TracerProvider(resource=Resource.create({"service.name": service}))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(made)
    return made

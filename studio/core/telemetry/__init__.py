"""Spans on their way out: built from the journal, sent to a collector, from a durable place."""

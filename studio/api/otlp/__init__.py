"""OTLP over HTTP, as it is sent to us.

`unpacking` bounds the bytes, `protobuf` and `json_text` read spans one by one, `taking` is the
endpoint, `answering` how it answers, `writing` gives a trace back.
"""

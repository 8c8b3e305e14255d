"""Calls a function in a fresh interpreter, as a spawned worker would."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from importlib import import_module
from typing import Any

_SECONDS = 180
_SCRIPT = """
import pickle, sys
sys.path[:], call = pickle.load(sys.stdin.buffer)
from agents_core.testing.conformance.spawned import _answer
_answer(call)
"""


def call_in_fresh_process(target: str, *arguments: object) -> Any:
    """What the function `module:name` returns there, which JSON must be able to write.

    Raises:
        pickle.PicklingError, AttributeError, TypeError: The arguments cannot be sent.
        RuntimeError: It raised there.
    """
    message = pickle.dumps((sys.path, pickle.dumps((target, arguments))))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _SCRIPT]
    done = subprocess.run(command, input=message, capture_output=True, timeout=_SECONDS, check=False, env=environment)
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(f"in a fresh process it fails: {lines[-1] if lines else 'without a message'}")
    return json.loads(done.stdout.decode().splitlines()[-1])


def call(target: str, *arguments: object) -> Any:
    """What the function `module:name` returns here."""
    module, _, name = target.partition(":")
    return json.loads(json.dumps(getattr(import_module(module), name)(*arguments)))


def _answer(message: bytes) -> None:
    target, arguments = pickle.loads(message)  # our parent wrote it
    print("\n" + json.dumps(call(target, *arguments)))

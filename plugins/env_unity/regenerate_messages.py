"""Write the Python modules of the messages anew after a change of a `.proto` file.

    python -m venv /tmp/protoc && /tmp/protoc/bin/pip install grpcio-tools==1.62.3 "setuptools<80"
    /tmp/protoc/bin/python plugins/env_unity/regenerate_messages.py

This release of the compiler is the newest whose output asks for no particular version of the protobuf runtime.
"""

from __future__ import annotations

import sys
from pathlib import Path

from grpc_tools import protoc

SOURCE = Path(__file__).resolve().parent / "src"

if __name__ == "__main__":
    files = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.glob("agents_env_unity/messages/*.proto"))
    sys.exit(protoc.main(["protoc", f"-I{SOURCE}", f"--python_out={SOURCE}", f"--pyi_out={SOURCE}", *files]))

"""Builds a wheel with scikit-build-core, then puts the libraries that it needs inside (auditwheel, which
also checks the symbols and names the C library that it runs with)."""

import subprocess
import sys
import tempfile
from pathlib import Path

from scikit_build_core import build
from scikit_build_core.build import (  # noqa: F401
    build_editable, get_requires_for_build_editable, get_requires_for_build_wheel,
    prepare_metadata_for_build_editable, prepare_metadata_for_build_wheel)


def build_wheel(folder, settings=None, metadata=None):
    with tempfile.TemporaryDirectory() as bare:
        name = build.build_wheel(bare, settings, metadata)
        subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", bare + "/whole",
                        Path(bare) / name], check=True)
        [wheel] = Path(bare, "whole").iterdir()
        Path(folder, wheel.name).write_bytes(wheel.read_bytes())
    return wheel.name

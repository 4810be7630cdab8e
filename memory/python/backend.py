"""Builds a wheel with scikit-build-core, then puts the libraries that it needs inside (auditwheel, which
also checks the symbols and names the C library that it runs with). The source distribution holds the
room memory and what its build reads, with pyproject.toml at the top."""

import io
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from scikit_build_core import build
from scikit_build_core.build import (  # noqa: F401
    build_editable, get_requires_for_build_editable, get_requires_for_build_wheel,
    prepare_metadata_for_build_editable, prepare_metadata_for_build_wheel)


HERE = Path(__file__).resolve().parent
SOURCES = ("CMakeLists.txt", "memory", "tests/build_speed.cmake", "framework/cuda/find_cuda.cmake")
AT_THE_TOP = (('source-dir = "../.."', 'source-dir = "."'), ('"README.md"', '"memory/python/README.md"'),
              ('path = ["."]', 'path = ["memory/python"]'), ('["skyline"]', '["memory/python/skyline"]'))


def build_sdist(folder, settings=None):
    project = (HERE / "pyproject.toml").read_text()
    version = re.search('version = "(.*)"', project)[1]
    for here, there in AT_THE_TOP:
        assert here in project, here
        project = project.replace(here, there)
    texts = {"pyproject.toml": project,
             "PKG-INFO": f"Metadata-Version: 2.1\nName: skyline-memory\nVersion: {version}\n"}
    name = f"skyline_memory-{version}"
    with tarfile.open(Path(folder, name + ".tar.gz"), "w:gz") as archive:
        for path in SOURCES:
            archive.add(HERE.parents[1] / path, f"{name}/{path}",
                        filter=lambda entry: None if "__pycache__" in entry.name else entry)
        for path, text in texts.items():
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return name + ".tar.gz"


def build_wheel(folder, settings=None, metadata=None):
    with tempfile.TemporaryDirectory() as bare:
        name = build.build_wheel(bare, settings, metadata)
        subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", bare + "/whole",
                        Path(bare) / name], check=True)
        [wheel] = Path(bare, "whole").iterdir()
        Path(folder, wheel.name).write_bytes(wheel.read_bytes())
    return wheel.name

"""Builds the package: what pip asks of a build backend (PEP 517), for a package in pure Python without dependencies."""

import base64
import hashlib
import re
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent


def _project(key):
    text = (HERE / "pyproject.toml").read_text()
    return re.search(rf'^{key} = "(.*)"$', text, re.M).group(1)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Makes metasim-VERSION-py3-none-any.whl, and returns its name."""
    version = _project("version")
    info = f"metasim-{version}.dist-info"
    files = {f"metasim/{f.name}": f.read_bytes() for f in sorted((HERE / "metasim").iterdir()) if f.suffix == ".py" or f.name == "py.typed"}
    files[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: metasim\nVersion: {version}\nSummary: {_project('description')}\n"
                                 f"Requires-Python: {_project('requires-python')}\n").encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: metasim\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    name = f"metasim-{version}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Makes metasim-VERSION.tar.gz, and returns its name."""
    root = f"metasim-{_project('version')}"
    with tarfile.open(Path(sdist_directory) / f"{root}.tar.gz", "w:gz") as archive:
        for path in ["pyproject.toml", "backend.py", *(f"metasim/{f.name}" for f in sorted((HERE / "metasim").iterdir()) if f.suffix == ".py" or f.name == "py.typed")]:
            archive.add(HERE / path, f"{root}/{path}")
    return f"{root}.tar.gz"

"""Builds the package: what pip asks of a build backend (PEP 517), for a package without dependencies.

Where there is a C compiler, and Python's own header files, metasim/_speed.c is built too; the package does the same without it, slower.
python3 backend.py builds it in place.
"""

import base64
import hashlib
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent


def _project(key):
    text = (HERE / "pyproject.toml").read_text()
    return re.search(rf'^{key} = "(.*)"$', text, re.M).group(1)


def _sources():
    return [f for f in sorted((HERE / "metasim").iterdir()) if f.suffix in (".py", ".c") or f.name == "py.typed"]


def build_extension(directory):
    """Builds _speed into a directory, and returns its path; None, and a sentence on stderr, where that cannot be."""
    target = Path(directory) / ("_speed" + (sysconfig.get_config_var("EXT_SUFFIX") or ".so"))
    linker = shlex.split(sysconfig.get_config_var("LDSHARED") or "cc -shared")
    try:
        subprocess.run([*linker, "-O2", "-fPIC", f"-I{sysconfig.get_path('include')}", "-o", str(target), str(HERE / "metasim" / "_speed.c")],
                       check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"metasim: without its C extension, in pure Python: {getattr(e, 'stderr', None) or e}", file=sys.stderr)
        return None
    return target


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Makes metasim-VERSION-....whl, with the extension where it can be built, and returns its name."""
    version = _project("version")
    info = f"metasim-{version}.dist-info"
    files = {f"metasim/{f.name}": f.read_bytes() for f in _sources() if f.suffix != ".c"}
    tag = "py3-none-any"
    with tempfile.TemporaryDirectory() as directory:
        extension = build_extension(directory)
        if extension is not None:
            files[f"metasim/{extension.name}"] = extension.read_bytes()
            python = f"cp{sys.version_info.major}{sys.version_info.minor}"
            tag = f"{python}-{python}-{re.sub('[-.]', '_', sysconfig.get_platform())}"
    files[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: metasim\nVersion: {version}\nSummary: {_project('description')}\n"
                                 f"Requires-Python: {_project('requires-python')}\n").encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: metasim\nRoot-Is-Purelib: {'false' if extension else 'true'}\nTag: {tag}\n").encode()
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    name = f"metasim-{version}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Makes metasim-VERSION.tar.gz, and returns its name."""
    root = f"metasim-{_project('version')}"
    with tarfile.open(Path(sdist_directory) / f"{root}.tar.gz", "w:gz") as archive:
        for path in ["pyproject.toml", "backend.py", *(f"metasim/{f.name}" for f in _sources())]:
            archive.add(HERE / path, f"{root}/{path}")
    return f"{root}.tar.gz"


if __name__ == "__main__":
    sys.exit(build_extension(HERE / "metasim") is None)

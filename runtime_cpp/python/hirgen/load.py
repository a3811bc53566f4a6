"""hirgen.load: imports the package of a spec, and builds it first if it is not in the cache."""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from .build import Builder, BuildError


def load(
    spec: str | Path,
    params: Mapping[str, int] | None = None,
    *,
    schedule: Sequence[str] = (),
    gradient: bool = False,
    device: str | None = None,
    hirgen: str | Path | None = None,
    cache: str | Path | None = None,
) -> ModuleType:
    """Returns the package that `hirgen emit SPEC --python` and pip would install, as a module. Raises BuildError.

    params are the values of -p, schedule those of --schedule. With gradient=True the operator has the backward pass of
    `hirgen grad`. device is "cuda" or "cpu"; the default is "cuda" if there is a GPU, else "cpu". hirgen is the path of the
    program; the default is $HIRGEN, or else the program of this Python's wheel, or else the one in PATH. The built package
    stays in the first of `cache`, $HIRGEN_CACHE, $XDG_CACHE_HOME/hirgen and ~/.cache/hirgen that is set, under a digest of
    the program hirgen, the spec and the arguments. If several processes need the package, one builds it and the others
    wait. If the cache is "off" or cannot be written, the package is built for this process only.
    """
    spec, program = Path(spec), _program(hirgen)
    import torch  # here, so that `import hirgen` works without PyTorch

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    flags = [word for name, value in sorted((params or {}).items()) for word in ("-p", f"{name}={value}")]
    choices = [word for setting in schedule for word in ("--schedule", setting)]
    digest = _digest(program, spec, [*flags, "/", *choices, str(gradient), device])
    root, shared = _root(cache)
    packages = root / "python"
    place = packages / digest
    with open(packages / f"{digest}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            unfinished = packages / f"{digest}.part"
            shutil.rmtree(unfinished, ignore_errors=True)
            Builder(program, device, unfinished, str(root) if shared else "off").build(spec, flags, choices, gradient)
            unfinished.rename(place)
    return _module(place, digest)


_own = None  # the TemporaryDirectory of this process, once a package was needed without a cache


def _root(cache: str | Path | None) -> tuple[Path, bool]:
    """Returns the cache's folder, which has python/ (packages) and runtime/, and whether other processes share it."""
    global _own
    xdg = os.environ.get("XDG_CACHE_HOME", "")  # the XDG standard ignores relative paths
    usual = Path(xdg) / "hirgen" if os.path.isabs(xdg) else Path.home() / ".cache" / "hirgen"
    given = str(cache or os.environ.get("HIRGEN_CACHE") or usual)
    why = f"the cache is {given}"
    if given.lower() != "off":
        root = Path(given).absolute()
        try:
            (root / "python").mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=root / "python"):
                return root, True
        except OSError as error:
            why = str(error)
    if _own is None:
        _own = tempfile.TemporaryDirectory(prefix="hirgen-")
        print(f"hirgen: packages are built for this process alone: {why}", file=sys.stderr)
        (Path(_own.name) / "python").mkdir()
    return Path(_own.name), False


def _program(given: str | Path | None) -> str:
    named = given or os.environ.get("HIRGEN")
    name = str(named or "hirgen")
    found = shutil.which(name, path=None if named else sysconfig.get_path("scripts")) or shutil.which(name)
    if found is None:
        raise BuildError(f"the program {name} was not found: put it into PATH, or say where it is by hirgen= or $HIRGEN")
    return found


def _digest(program: str, spec: Path, words: list[str]) -> str:
    digest = hashlib.sha256()
    for part in (Path(program).read_bytes(), spec.read_bytes(), "\0".join([spec.name, *words]).encode()):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


_importing = threading.RLock()  # a module is in sys.modules before it is complete, and may load another one


def _module(place: Path, digest: str) -> ModuleType:
    """Imports the package under a name with its digest, so that packages of one spec with different sizes can coexist."""
    init = next(place.glob("package/*/__init__.py"))
    name = f"hirgen_{init.parent.name}_{digest}"
    with _importing:
        if name not in sys.modules:
            found = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(init.parent)])
            module = importlib.util.module_from_spec(found)
            sys.modules[name] = module
            try:
                found.loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
        return sys.modules[name]

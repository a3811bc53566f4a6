"""hirgen.load: a spec as a package, from the cache or built now."""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import sys
import sysconfig
import tempfile
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
    """The package that `hirgen emit SPEC --python` and pip would install, as a module.

    params are those of -p, schedule those of --schedule. With gradient=True the operator has the backward pass of
    `hirgen grad`. device is "cuda" or "cpu"; the default is cuda where there is a GPU. hirgen is the program: without it
    the variable HIRGEN says where it is, then that of this Python's wheel is taken, then that of PATH. What is built stays in `cache`, $HIRGEN_CACHE, hirgen in
    $XDG_CACHE_HOME or ~/.cache/hirgen, under a digest of all that it is made of; of several processes one builds, and the
    others wait. With "off", or where nothing can be written, it is built for this process alone. Raises BuildError.
    """
    spec, program = Path(spec), _program(hirgen)
    import torch  # here, so that the package can be imported without it

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


_own = None  # the folder of this process, where nothing is shared


def _root(cache: str | Path | None) -> tuple[Path, bool]:
    """The folder that has python/ and runtime/, and whether it is shared with other processes."""
    global _own
    xdg = os.environ.get("XDG_CACHE_HOME", "")  # programs ignore relative paths
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


def _module(place: Path, digest: str) -> ModuleType:
    """Imports the package under a name of its own: those of one spec with other sizes are beside it."""
    init = next(place.glob("package/*/__init__.py"))
    name = f"hirgen_{init.parent.name}_{digest}"
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

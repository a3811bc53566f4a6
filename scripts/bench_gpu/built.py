"""hirgen for tests, built from this checkout."""
import functools
import pathlib
import subprocess

import programs

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@functools.cache
def hirgen():
    """The path of the command; the first call builds it."""
    binary = ROOT / "build" / "python-tests" / "hirgen"
    subprocess.run(["go", "build", "-o", str(binary), "./cmd/hirgen"], cwd=ROOT, check=True)
    return binary


@functools.cache
def params(spec):
    """The parameters of the spec with this name."""
    return programs.checked(hirgen(), programs.spec_file(spec))["params"]

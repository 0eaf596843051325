"""Install the host programs that `make test-hosts` drives, at pinned versions, into a cache of their own.

    python tools/install_hosts.py [--into DIR] [--check] [HOST[@VERSION] ...]

The cache is DIR, else `$APM_TEST_HOSTS`, else `apm-hooks-test-hosts` under `$XDG_CACHE_HOME` or `~/.cache`.
What is there is left alone. With `--check` nothing is installed: the programs' paths are printed, and a
missing one is an error.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

STAMP = "installed.json"
_LEFTOVER = ".partial-"


class InstallError(Exception):
    """Something that the person at the keyboard can mend; the text says how."""


@dataclass(frozen=True, slots=True)
class Host:
    """One host program from npm. `program` is its script, relative to the folder of the npm package."""

    name: str
    package: str
    version: str
    program: str

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.version}"

    def package_in(self, place: Path) -> Path:
        return place / "node_modules" / self.package

    def program_in(self, place: Path) -> Path:
        return self.package_in(place) / self.program


# The package `node` fetches one of these by a script of its own, and no package's scripts are run here.
_MACHINE = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x64")

HOSTS = (
    Host("claude-code", "@anthropic-ai/claude-code", "2.1.100", "cli.js"),
    Host("openclaw", "openclaw", "2026.9.6", "openclaw.mjs"),
    Host("node", f"node-linux-{_MACHINE}", "24.21.0", "bin/node"),
)


def default_cache(environ: Mapping[str, str]) -> Path:
    """Where the programs are kept when nobody says otherwise."""
    if chosen := environ.get("APM_TEST_HOSTS"):
        return Path(chosen)
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "apm-hooks-test-hosts"


def installed(host: Host, cache: Path) -> bool:
    """Whether a finished installation of exactly this version is there."""
    place = cache / host.folder
    return (place / STAMP).is_file() and host.program_in(place).is_file()


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Only one installer at a time: whoever holds the lock may clear away what a killed one left."""
    descriptor = os.open(cache / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def install(host: Host, cache: Path) -> bool:
    """Install one host unless it is there; true if it was not.

    npm works in a folder beside the final one, which is renamed into place when it is complete: a killed
    install leaves nothing that looks finished. Raises `InstallError`.
    """
    npm = _tool("npm")
    _tool("node")
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / host.folder
    with _alone(cache):
        if installed(host, cache):
            return False
        for leftover in cache.glob(f"{_LEFTOVER}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix=_LEFTOVER, dir=cache))
        try:
            _npm_install(npm, host, draft)
            if place.exists():
                shutil.rmtree(place)
            draft.chmod(0o755)
            draft.rename(place)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    return True


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise InstallError(
            f"{name} is not on PATH. Install Node.js 20 or newer, which brings npm, then run this again."
        )
    return found


def _npm_install(npm: str, host: Host, draft: Path) -> None:
    wanted = f"{host.package}@{host.version}"
    command = [npm, "install", "--prefix", str(draft), "--ignore-scripts", "--no-audit", "--no-fund", wanted]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-15:])
        raise InstallError(f"npm could not install {wanted} (exit {done.returncode}). It said:\n{said}")
    manifest = json.loads((host.package_in(draft) / "package.json").read_text("utf-8"))
    if manifest["version"] != host.version or not host.program_in(draft).is_file():
        raise InstallError(f"npm installed {manifest['version']} of {host.package} without {host.program}.")
    (draft / STAMP).write_text(json.dumps({"package": host.package, "version": host.version}) + "\n", "utf-8")


def _check(hosts: tuple[Host, ...], cache: Path) -> None:
    _tool("node")
    for host in hosts:
        if not installed(host, cache):
            raise InstallError(
                f"{host.name} {host.version} is not in {cache}. "
                f"Run: python tools/install_hosts.py --into {cache} {host.name}@{host.version}"
            )
        print(host.program_in(cache / host.folder))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Install the programs of the host tests at pinned versions.")
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="which ones, NAME or NAME@VERSION (default: all)")
    parser.add_argument("--into", type=Path, metavar="DIR", help="the cache folder")
    parser.add_argument("--check", action="store_true", help="install nothing, print where the programs are")
    options = parser.parse_args(arguments)
    known = {host.name: host for host in HOSTS}
    wanted = [word.partition("@") for word in options.hosts]
    if unknown := [name for name, _, _ in wanted if name not in known]:
        parser.error(f"no such host: {', '.join(unknown)} (there are: {', '.join(known)})")
    hosts = tuple(replace(known[name], version=version or known[name].version) for name, _, version in wanted) or HOSTS
    cache = (options.into or default_cache(os.environ)).absolute()
    try:
        if options.check:
            _check(hosts, cache)
            return 0
        for host in hosts:
            begun = time.monotonic()
            verb = "installed" if install(host, cache) else "found"
            seconds = time.monotonic() - begun
            program = host.program_in(cache / host.folder)
            print(f"{host.name} {host.version}: {verb} in {seconds:.1f} s: {program}")
    except (InstallError, OSError) as error:
        print(f"install_hosts: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

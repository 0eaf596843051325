"""Install the system programs that the kernel tests drive, through apt, where they are missing.

    python tools/install_tools.py [--check | --lenient]

What is there is left alone, at no cost. With `--check` nothing is installed: a missing program is an error. With
`--lenient` it is none, unless CI is set: the tests that want it are skipped then, and say so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time

PACKAGES = {
    "strace": "strace",
    "faketime": "faketime",
    "mkfs.xfs": "xfsprogs",
    "mkfs.ext4": "e2fsprogs",
    "chattr": "e2fsprogs",
    "mount": "mount",
    "umount": "mount",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}
"""Program → the Debian package that brings it."""


class InstallError(Exception):
    """Something that the person at the keyboard can mend; the text says how."""


def missing() -> list[str]:
    """The programs that are not on PATH."""
    return [program for program in PACKAGES if shutil.which(program) is None]


def packages_of(programs: list[str]) -> list[str]:
    """The packages that bring these programs, each once, sorted."""
    return sorted({PACKAGES[program] for program in programs})


def install(packages: list[str]) -> None:
    """Install these packages; the lists of packages are fetched anew only where apt does not know one.

    Raises `InstallError`.
    """
    wanted = " ".join(packages)
    apt = shutil.which("apt-get")
    if apt is None:
        raise InstallError(f"apt-get is not on PATH. Install these by the means of this system: {wanted}")
    if os.geteuid() != 0:
        raise InstallError(f"only root may install packages. Run: sudo apt-get install {wanted}")
    if _apt(apt, "install", *packages) is None:
        return
    problem = _apt(apt, "update") or _apt(apt, "install", *packages)
    if problem is not None:
        raise InstallError(f"{problem}\nInstall these by hand, then run this again: {wanted}")


def _apt(apt: str, action: str, *packages: str) -> str | None:
    """Run apt-get without questions; None, or what went wrong."""
    options = ["--yes", "--quiet", "--no-install-recommends"] if packages else ["--quiet"]
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    # Another apt-get may be at work, as on a machine that has just been started.
    command = [apt, "-o", "DPkg::Lock::Timeout=120", action, *options, *packages]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=env)
    if done.returncode == 0:
        return None
    said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-15:])
    return f"apt-get {action} ended with {done.returncode}. It said:\n{said}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Install the system programs of the kernel tests.")
    parser.add_argument("--check", action="store_true", help="install nothing, fail where one is missing")
    parser.add_argument("--lenient", action="store_true", help="what cannot be installed is no error, unless CI is set")
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    try:
        absent = missing()
        if not absent:
            print(f"all {len(PACKAGES)} programs found")
            return 0
        packages = packages_of(absent)
        if options.check:
            raise InstallError(f"{', '.join(absent)} not found on PATH. Run: python tools/install_tools.py")
        print(f"{', '.join(absent)} not found on PATH: installing {', '.join(packages)}", flush=True)
        install(packages)
        if still := missing():
            raise InstallError(f"{', '.join(still)} not found, though the packages are there. Put /usr/sbin on PATH.")
        print(f"installed {', '.join(packages)} in {time.monotonic() - begun:.1f} s")
    except (InstallError, OSError) as error:
        print(f"install_tools: {error}", file=sys.stderr)
        return 0 if options.lenient and not os.environ.get("CI") else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

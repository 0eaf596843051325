"""`python -m apm_hooks` is `apm-hooks`."""

import sys

from apm_hooks.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""The log of a workspace: `.apm/log/apm.log`, one JSON object a line, bounded, without memory content."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from apm_hooks.errors import ApmError
from apm_hooks.files import append_line, stamp, state_directory
from apm_hooks.records import LIMITS

LOG = "apm.log"


def write_log(root: str, entry: Mapping[str, str]) -> None:
    """Add a line. A log that cannot be written is no reason to fail a host's turn: then there is no line.

    A log past its bound becomes `apm.log.1`, replacing the one before.
    """
    import json

    line = json.dumps(dict(entry), ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
    with suppress(ApmError, OSError):
        path = f"{state_directory(root, 'log')}/{LOG}"
        size = stamp(root, path)
        if size is not None and size.size > LIMITS.log_bytes:
            full = os.path.join(root, path)
            os.replace(full, full + ".1")
        append_line(root, path, line)

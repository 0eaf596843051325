"use strict";
// Ways in which what the installed command names can be broken, as shell scripts: they start faster than Python or node.

const sh = (script) => ["/bin/sh", "-c", script];

module.exports = {
  missing: ["/nonexistent/python"],
  directory: ["/"],
  killed: sh("kill -9 $$"),
  garbage: sh("cat >/dev/null; echo 'Traceback (most recent call last): {'"),
  binary: sh("head -c 3000 /dev/urandom"),
  flood: sh("exec head -c 52428800 /dev/zero"),
  cut: sh(`printf '{"files": [{"name": "APM.md", "content": "mem'`),
  deaf: sh("exec <&-; exit 1"),
  exits: sh("cat >/dev/null; echo '{}'; exit 3"),
  loud: sh("head -c 5000000 /dev/zero >&2; exit 1"),
  list: sh("echo '[]'"),
  null: sh("echo null"),
  twice: sh("echo '{}'; echo '{}'"),
  hangs: sh("exec sleep 60"),
  stubborn: sh("trap '' TERM INT; sleep 60 & sleep 60"),
};

"""Programs that send files to other places and fetch them from there."""

from __future__ import annotations

import re

from apm_hooks.shell.call import Call, Handler, value_or
from apm_hooks.shell.generic import HERE, read_line
from apm_hooks.shell.options import description
from apm_hooks.shell.records import Reason, UseKind
from apm_hooks.shell.state import Outcome, same
from apm_hooks.shell.values import TEXT, UNKNOWN_OUTPUT, Output, Value, text_value

_CURL = description(
    "u | 01246aBfgGIijklLMnNOpqRsSvVZ# A:- b:k c:w C:- d:@ D:w e:- E:r F:@ h:? H:@ K:i m:- o:w P:- Q:- r:- t:- T:r"
    " u:- U:- w:@ x:- X:- y:- Y:- z:- | data:@ data-binary:@ data-raw:- data-ascii:@ data-urlencode:@ json:@ form:@"
    " form-string:- header:@ proxy-header:@ upload-file:r output:w output-dir:W create-dirs remote-name"
    " remote-name-all remote-header-name url:u request:- user:- user-agent:- referer:- cookie:k cookie-jar:w location"
    " location-trusted head include silent show-error fail fail-with-body insecure compressed get config:i netrc"
    " netrc-file:r netrc-optional cacert:r capath:r cert:r key:r crlfile:r dump-header:w trace:w trace-ascii:w"
    " stderr:w write-out:@ max-time:- connect-timeout:- retry:- retry-delay:- retry-all-errors retry-connrefused"
    " proxy:- noproxy:- resolve:- range:- continue-at:- verbose progress-bar no-progress-meter parallel http1.1 http2"
    " http3 tlsv1.2 tlsv1.3 ipv4 ipv6 limit-rate:- max-redirs:- max-filesize:- no-buffer globoff path-as-is"
    " unix-socket:w abstract-unix-socket:- etag-save:w etag-compare:r hsts:b alt-svc:b oauth2-bearer:- aws-sigv4:-"
    " time-cond:- proto:- interface:- url-query:@ variable:i"
)


def _curl(call: Call) -> Output:
    line = read_line(call, _CURL)
    for value in (*line.operands, *line.values("u")):
        _url(call, value)
    for value in line.values("@"):
        _at_file(call, value)
    for value in line.values("k"):
        if value.gap is not None or "=" not in value.head:
            call.use(UseKind.READ, value)
    if line.has("O", "J", "remote-name", "remote-name-all", "remote-header-name"):
        call.use(UseKind.WRITE, HERE, recursive=True)
    return Output()


def _url(call: Call, value: Value) -> None:
    head = value.head
    if head[:5].lower() == "file:":
        from urllib.parse import unquote

        path = value.after(5)
        text = re.sub(r"^//(?:localhost|127\.0\.0\.1)?(?=/)", "", path.head, count=1)
        rest = Value(((TEXT, unquote(text)), *path.pieces[1:]), value.raw)
        if any(mark in text for mark in "{[") or rest.gap is not None:
            call.unknown(rest, Reason.NAMES)
        call.use(UseKind.READ, rest)
    elif value.gap is not None and not re.match(r"[a-z][a-z0-9+]*://|[\w.-]+(?::\d+)?/", head):
        call.unknown(value)
    elif "{" in head.partition(":")[0]:
        call.unknown(value, Reason.NAMES)


def _at_file(call: Call, value: Value) -> None:
    if value.gap is not None and not value.head:
        call.unknown(value)
        return
    head = value.head
    for match in re.finditer(r"(?:^|=)([@<])|^[\w.-]+(@)(?=.)|;(?:headers|type)=[@<]", head):
        start = match.end()
        path = Value(value.after(start).pieces, value.raw)
        text = path.literal
        if text is not None:
            path = text_value(text.partition(";")[0].strip('"'), value.raw)
        call.use(UseKind.READ, path)
        return


_WGET = description(
    "- | 46bcdFhHkKLmNpqrSvVxE O:w o:w a:w P:W i:i B:- t:- T:- w:- U:- e:q D:- A:- R:- I:- X:- l:- Q:- |"
    " output-document:w output-file:w append-output:w directory-prefix:W input-file:i post-file:r body-file:r"
    " post-data:- body-data:- header:- method:- quiet no-verbose verbose continue timestamping recursive level:-"
    " no-parent mirror page-requisites tries:- timeout:- user-agent:- no-check-certificate ca-certificate:r"
    " certificate:r private-key:r load-cookies:r save-cookies:w config:i content-disposition spider show-progress"
    " user:- password:- execute:q use-askpass:q"
)


def _wget(call: Call) -> Output:
    line = read_line(call, _WGET)
    if not line.has("O", "output-document", "P", "directory-prefix", "spider"):
        call.use(UseKind.WRITE, HERE, recursive=True)
    return Output()


_SSH = description(
    "- | 46AaCfGgKkMNnqsTtVvXxYy b:- c:- D:- e:- F:r I:q i:r J:- L:- l:- m:- O:- o:o p:- Q:- R:- S:w W:- w:- E:w B:-"
    " | | posix"
)
_SSH_SETTING = re.compile(
    r"(?:StrictHostKeyChecking|ConnectTimeout|BatchMode|ServerAlive\w+|LogLevel|Port|User|Compression)\s*[= ].*",
    re.IGNORECASE,
)


def _ssh(call: Call) -> Outcome:
    """What runs there is not followed; that it may be this very machine is a doubt."""
    line = read_line(call, _SSH)
    for value in line.values("o"):
        if _SSH_SETTING.fullmatch(value_or(value, "")) is None:
            call.doubt(Reason.INLINE_CODE, value.raw)
    call.doubt(Reason.PROGRAM)
    for value in line.operands[1:]:
        call.possible(value)
    return same(call.state, UNKNOWN_OUTPUT)


NETWORK: dict[str, Handler] = {"curl": _curl, "wget": _wget, "ssh": _ssh, "mosh": _ssh}

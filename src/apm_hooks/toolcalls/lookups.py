"""Tools that look and change nothing: reads, listings, searches, stored conversations, things fetched by address."""

from __future__ import annotations

import re

from apm_hooks.access import Access, AccessKind
from apm_hooks.toolcalls.arguments import FILE, Arguments, path_words, records, texts
from apm_hooks.toolcalls.gathering import Gathering
from apm_hooks.toolcalls.paths import Why, begins_like_path
from apm_hooks.toolcalls.patterns import has_wildcard, wanted

PAIRS = 4_000

FOLDER = FILE + (
    " dir_path directory directory_path directories dir folder folder_path folders target_directory"
    " target_directories root root_path"
)
GLOB = "pattern patterns glob_pattern glob file_pattern file_mask query name"
ONLY = (
    "glob globs include includes include_pattern include_patterns file_pattern glob_pattern file_glob file_mask"
    " paths_include_glob"
)
KIND = "type types file_type"
WANTED = "pattern regex query queries search substring_pattern text symbol_name name_path_pattern"
UNWANTED = "exclude excludes exclude_pattern exclude_patterns ignore ignore_patterns paths_exclude_glob"
ADDRESS = "url urls href link image images image_url image_path image_paths pdf pdfs audio video media"
SENT = f"{ADDRESS} {FILE} attachments attachment media_url media_urls media_path"
ASKED = "query queries pattern text q search keyword keywords session_key session_id id key name thread_id"

_FILE_URI = re.compile(r"file:/[^\s\"'<>`)\]]*", re.IGNORECASE)
_REMOTE = re.compile(r"\s*(?:https?|data):", re.IGNORECASE)


def read(arguments: Arguments, found: Gathering) -> None:
    """The text of one file or of several."""
    if arguments.has("operations"):
        view(arguments, found)
        return
    for word in path_words(arguments, FILE, found):
        found.touch(AccessKind.READ, word)


def view(arguments: Arguments, found: Gathering) -> None:
    """The text of a file, or what a folder holds."""
    for word in path_words(arguments, f"{FILE} operations image_paths dir_path", found):
        found.touch(AccessKind.READ, word)
        found.touch(AccessKind.LIST, word, recursive=True)


def read_many(arguments: Arguments, found: Gathering) -> None:
    """All files that paths and patterns name, and those in folders among them."""
    arguments.take(UNWANTED)
    for word in path_words(arguments, f"{FILE} include patterns", found):
        found.touch(AccessKind.READ, word)
        found.touch(AccessKind.SEARCH, word, recursive=True)
        if has_wildcard(word) or "{" in word:
            found.match(AccessKind.READ, word)


def listing(arguments: Arguments, found: Gathering) -> None:
    """The names in a folder; all below it where the call asks for that."""
    arguments.take(UNWANTED)
    deep = arguments.flag("recursive") or arguments.flag("depth max_depth")
    _folders(arguments, found, AccessKind.LIST, recursive=deep)


def tree(arguments: Arguments, found: Gathering) -> None:
    """The names of all that lies below a folder."""
    arguments.take(UNWANTED)
    _folders(arguments, found, AccessKind.LIST, recursive=True)


def glob(arguments: Arguments, found: Gathering) -> None:
    """The names that a pattern matches."""
    _glob(arguments, found, floating=False)


def floating_glob(arguments: Arguments, found: Gathering) -> None:
    """The names that a pattern matches at any depth."""
    _glob(arguments, found, floating=True)


def search(arguments: Arguments, found: Gathering) -> None:
    """Lines, or counts, or names of files by what stands in them."""
    arguments.take(f"{WANTED} {UNWANTED} {KIND} target output_mode")
    globs, types = (
        [text for text in records(arguments.exact(names)) if isinstance(text, str)]
        for names in (found.taken.only, found.taken.kind)
    )
    _folders(arguments, found, AccessKind.SEARCH, recursive=True, only=wanted(globs, types))
    for pattern in texts(arguments, ONLY):
        if begins_like_path(pattern) or ".." in pattern.split("/"):
            found.match(AccessKind.SEARCH, pattern)


def search_everywhere(arguments: Arguments, found: Gathering) -> None:
    """A search without a path: it looks through whatever its index holds."""
    found.add(Access(AccessKind.SEARCH, "", recursive=True, word="\n".join(texts(arguments, ASKED))))


def sessions(arguments: Arguments, found: Gathering) -> None:
    """Stored conversations, or another one that answers."""
    arguments.take("message content")
    found.add(Access(AccessKind.SESSION_SEARCH, "", recursive=True, word="\n".join(texts(arguments, ASKED))))


def fetch(arguments: Arguments, found: Gathering) -> None:
    """What lies at an address: a file only where the address says so."""
    for word in path_words(arguments, f"{ADDRESS} uri uris requests", found, needed=False):
        if begins_like_path(word):
            found.touch(AccessKind.READ, word)
    for text in texts(arguments, "prompt query objective"):
        for uri in _FILE_URI.findall(text):
            for form in dict.fromkeys((uri.rstrip(".,;:!?"), uri)):
                found.touch(AccessKind.READ, form)


def media(arguments: Arguments, found: Gathering) -> None:
    """A picture, a document or a recording, by path or by address; also what is sent along with a message."""
    for word in path_words(arguments, SENT, found, needed=False):
        if not _REMOTE.match(word):
            found.touch(AccessKind.READ, word)


def output(arguments: Arguments, found: Gathering) -> None:
    """What is made is written to a place that the call may name."""
    for word in path_words(arguments, f"{FILE} output_path output output_file", found, needed=False):
        found.touch(AccessKind.WRITE, word)


def _folders(
    arguments: Arguments, found: Gathering, kind: AccessKind, *, recursive: bool, only: tuple[str, ...] = ()
) -> None:
    for word in path_words(arguments, FOLDER, found, needed=False):
        found.touch(kind, word, recursive=recursive, only=only)
        if only:
            # A file that is named itself is searched whatever the pattern says.
            found.touch(kind, word)
    if not arguments.exact(found.taken.folder):
        found.touch(kind, ".", recursive=recursive, only=only, shown="")


def _glob(arguments: Arguments, found: Gathering, *, floating: bool) -> None:
    arguments.take(UNWANTED)
    patterns = texts(arguments, GLOB) or ["**"]
    folders = path_words(arguments, FOLDER, found, needed=False)
    if not arguments.exact(found.taken.folder):
        folders = [".", *folders]
    if len(folders) * len(patterns) > PAIRS:
        found.doubt(Why.TOO_MUCH, "")
        patterns = ["**"]
    for folder in folders:
        for pattern in patterns:
            found.match(AccessKind.LIST, pattern, folder, floating=floating)

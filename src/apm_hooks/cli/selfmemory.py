"""`apm-hooks self`: the agent's own notes, for local models in the owner's sessions."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from apm_hooks.cli import backfill, dedup, forget, recall, remember, store_export, store_import, update
from apm_hooks.cli.common import print_json, say, warn
from apm_hooks.cli.write import common_behind, text_of

if TYPE_CHECKING:
    from apm_hooks.store.selfstore import SelfStore

NO_ARTICLE = "there is no article of this name"

_DESCRIPTION = """\
Notes of the agent about itself and its work, in a store of their own, which no command for the
user's memories reaches. They work only where the settings say that the model is local
(model_locality = "local" in [store] of your own config.toml, or APM_MODEL_LOCALITY=local), and in
the owner's sessions. The options are those of the commands of the same name.

  apm-hooks self remember "Short answers went down better in the evening"
  apm-hooks self recall evening answers
  apm-hooks self wiki-write how-to-answer - --title "How to answer" --source ID,ID < article.md
  apm-hooks self wiki-get how-to-answer        with whether a source has changed since
"""

_VERBS = {
    "recall": (recall, "find own notes, or list the most important ones"),
    "remember": (remember, "save one note"),
    "update": (update, "change one note"),
    "forget": (forget, "erase one note"),
    "dedup": (dedup, "find notes that are one, and merge them"),
    "backfill": (backfill, "give notes the vectors that they lack"),
    "export": (store_export, "write the notes and articles as JSON Lines"),
    "import": (store_import, "take in what self export wrote"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, (module, summary) in _VERBS.items():
        module.arguments(verbs.add_parser(name, help=summary, allow_abbrev=False))
    write = verbs.add_parser(
        "wiki-write", help="write an article, or a new revision of it", allow_abbrev=False
    )  # fmt: skip
    write.add_argument("slug", metavar="SLUG", help="its name: a-z, 0-9 and hyphens")
    write.add_argument("body", metavar="TEXT", help="its text, Markdown; - reads it from standard input")
    write.add_argument("--title", metavar="TITLE", required=True, help="its title")
    write.add_argument("--source", metavar="ID,ID", required=True, help="the notes that it is made of; all must exist")
    get = verbs.add_parser("wiki-get", help="show an article, and whether it is stale", allow_abbrev=False)
    get.add_argument("slug", metavar="SLUG", help="its name")
    common_behind(verbs)


def act(options: argparse.Namespace) -> int:
    from apm_hooks.cli.store import opened_self

    with opened_self(options) as store:
        if options.verb == "wiki-write":
            return _write(options, store)
        if options.verb == "wiki-get":
            return _get(options, store)
        if options.verb in ("export", "import"):
            moved = store_export.run if options.verb == "export" else store_import.run
            return moved(options, store.records, all_scopes=False)
        code: int = _VERBS[options.verb][0].run(options, store.records)
        return code


def _write(options: argparse.Namespace, store: SelfStore) -> int:
    from apm_hooks.cli.store import tags_in
    from apm_hooks.cli.store_show import article_document

    view = store.self_wiki_write(options.slug, options.title, text_of(options.body), tags_in(options.source))
    if options.json:
        print_json(article_document(view))
    else:
        say(f"written  {view.article.slug}, revision {view.article.revision}")
    return 0


def _get(options: argparse.Namespace, store: SelfStore) -> int:
    from apm_hooks.cli.store_show import article_document, article_text

    view = store.self_wiki_get(options.slug)
    if view is None:
        if options.json:
            print_json({"slug": options.slug, "found": False})
        else:
            warn(NO_ARTICLE)
        return 1
    if options.json:
        print_json(article_document(view))
    else:
        say(article_text(view))
    return 0

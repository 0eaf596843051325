"""Every sentence with which the gate denies a tool call, or refuses a prompt (protocol, section 8).

Each says what is not allowed and what to do instead. They go into a model's context, in whatever conversation: none
names more of another conversation than the path that the agent itself gave.
"""

from __future__ import annotations

OWN = "`{index}` and `{folder}/`"
"""Where a conversation's own memory lies."""

NOT_READ = "{path} is not part of this conversation's memory, which is {own}."
NOT_CHANGED = (
    "{path} may not be changed from this conversation. Its own memory is {own}; `apm-hooks write` puts text there."
)
NO_SCOPE = "{path} is stored memory, and none belongs to this conversation. Go on without it."
HOOKS_ONLY = (
    "{path} is kept by the hooks and the operator, not by tools. Leave it; `apm-hooks status` tells what it is for."
)
GROUPS_OWN = "{path} belongs to a group: it may be read here, but is changed only in that group's conversation."
OTHER_WORKSPACE = "{path} is memory of another workspace. Change it in a session of that workspace."
TOO_MANY = "That is more paths than can be judged in one call. Do it in smaller steps, or name one folder."
UNTOLD = "It cannot be told which file {path} is. Name the file itself, by a plain path."

STORED = "{path} holds what a host or the hooks keep of conversations and settings. Go on without it."
TRUST_LIST = "{path} decides what is trusted, and is the operator's to change: `apm-hooks trust`, or an editor."
SWITCHES = "{path} decides what the host runs or loads in every conversation. Ask the operator to change it."
OTHER_REPOSITORY = "{path} would make git read another repository than the folder's own. That is not done here."

INDEX_FIRST = "Read `{index}` first: it says which file to load. Then ask for {path} again."
NO_INDEX = (
    "There is no index yet. Create `{index}` first: purpose, hard rules, and a table of scenario, file and priority."
)
CEILING = (
    "{path} is more than may be loaded until the context is renewed. Loaded: {loaded}. Work with that; to write back "
    "without reading: `apm-hooks write decision|status|note|person TEXT`."
)
ADVICE = (
    "[apm-hooks] More of the memory is loaded now than a session needs as a rule ({loaded}, and this). Go on with what "
    "is there; the index says what each file is for."
)
LOADED_NOTHING = "nothing"

COVERS = "{path} covers memory that is not this conversation's. Name a narrower folder; of memory, only {own}."
COVERS_NO_SCOPE = "{path} covers stored memory, and none belongs to this conversation. Name a narrower folder."
COVERS_MORE = "{path} covers files that may not be touched here. Name the ones that are meant, one by one."
NO_PATH = "A search without a path covers memory that is not this conversation's. Name a folder; of memory, only {own}."
NO_PATH_NO_SCOPE = "A search without a path covers stored memory, and none belongs to this conversation. Name a folder."
SESSIONS = "Stored conversations may not be searched from this one. What it left to keep is in {own}."
SESSIONS_NO_SCOPE = "Stored conversations may not be searched from this one. Go on without them."

INDEX_PARTS = (
    "Hard rules and table rows of {path} stay as they are; {losses}. Mark them [DEPRECATED] "
    "(`apm-hooks route deprecate`) and add new ones; all else may change."
)
INDEX_UNTOLD = (
    "{path} holds hard rules or table rows, and it cannot be told that this keeps them. Change single lines with the "
    "edit tool, or use `apm-hooks route`."
)
MORE_LOSSES = "and {count} more"
RULE_LOST = "this would remove or change the hard rule {rule}"
ROW_LOST = "this would remove or change the row {row}"
ROW_UNMARKED = "this would take [DEPRECATED] off the row {row}"
MEMORY_IN_FLUSH = "MEMORY.md is not written in a flush. Put it into a file of {folder}/ (`apm-hooks write`)."

DOUBT = (
    "It cannot be judged which files {word} reaches ({reason}). Use the file tools, or plain commands with plain paths."
)
OWN_SETTING = "apm-hooks runs here for this conversation alone. Call it without variables, --session or --workspace."
OWN_UNBOUND = "apm-hooks cannot be told here which conversation it serves. Change memory with the file tools instead."
OWN_PLAIN = "Call it as `apm-hooks`, in a plain command with plain words; `apm-hooks hook` is the host's alone."

NO_RECORD = "What this conversation has read cannot be noted now, so that nothing more of its memory may be read."
MENTION = "The message pulls in {path}, which is not this conversation's to read. Send it again without that @."
MENTIONS = "The message pulls in more files than can be checked. Send it again with fewer @."

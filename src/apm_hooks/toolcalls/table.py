"""The tools of the hosts that are known: under which names, whose they are, and how their arguments are read.

Which arguments hold what is said by the reader of each kind (`arguments.FILE`, `lookups.FOLDER`, `changes.OLD` and so
on): hosts spell them in a few ways each, and a name that a host does not use does no harm. Names and arguments are
compared without case and separators. One name stands once; where hosts mean different things by it, its reader tells
them apart, or takes the wider one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Does(StrEnum):
    """What a kind of tool does. The values are names of readers."""

    READ = "read"
    VIEW = "view"
    READ_MANY = "read-many"
    LIST = "list"
    TREE = "tree"
    GLOB = "glob"
    FLOATING_GLOB = "floating-glob"
    SEARCH = "search"
    SEARCH_EVERYWHERE = "search-everywhere"
    SESSIONS = "sessions"
    FETCH = "fetch"
    MEDIA = "media"
    OUTPUT = "output"
    WRITE = "write"
    EDIT = "edit"
    EDITOR = "editor"
    CHANGE = "change"
    DELETE = "delete"
    MOVE = "move"
    COPY = "copy"
    FOLDER = "folder"
    PATCH = "patch"
    SHELL = "shell"
    STDIN = "stdin"
    OTHER_SHELL = "other-shell"
    CODE = "code"
    HOST_MEMORY = "host-memory"
    WRAPPER = "wrapper"
    NOTHING = "nothing"


LOOKING = frozenset(
    (Does.READ, Does.VIEW, Does.READ_MANY, Does.LIST, Does.TREE, Does.GLOB, Does.FLOATING_GLOB, Does.SEARCH,
     Does.SEARCH_EVERYWHERE, Does.SESSIONS, Does.FETCH, Does.MEDIA)
)  # fmt: skip
"""Kinds that change nothing."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A row: a kind, the hosts, the names, one text each, apart by blanks."""

    does: Does
    hosts: str
    names: str


@dataclass(frozen=True, slots=True)
class Taken:
    """Arguments that narrow what a host's tool does, by their very spelling: the folder where it starts, the patterns
    and the file types that limit a search, and a command's directory and variables.

    A host passes over an argument that it does not know; so one of another name narrows nothing, and counts besides.
    """

    folder: str = ""
    only: str = ""
    kind: str = ""
    workdir: str = ""
    variables: str = ""


TOOLS: tuple[Tool, ...] = (
    Tool(Does.READ, "claude-code droid copilot-cli cursor amp", "Read NotebookRead"),
    Tool(Does.READ, "gemini-cli qwen-code hermes-agent vscode cline cursor deepagents langchain codex", "read_file"),
    Tool(Does.READ, "cline roo", "read_files list_code_definition_names"),
    Tool(Does.READ, "openclaw", "memory_get"),
    Tool(Does.READ, "codex vscode goose", "view_image read_image image_processor"),
    Tool(Does.READ, "vscode", "get_errors copilot_get_notebook_summary read_notebook_cell_output"),
    Tool(Does.READ, "cursor", "read_lints"),
    Tool(Does.READ, "agno crewai", "read_file_chunk read_a_files_content"),
    Tool(Does.READ, "amp copilot-cli", "look_at show_file"),
    Tool(Does.VIEW, "copilot-cli kiro", "view fs_read"),
    Tool(Does.READ_MANY, "gemini-cli qwen-code", "read_many_files"),
    Tool(Does.LIST, "claude-code droid openclaw deepagents cursor continue", "LS"),
    Tool(Does.LIST, "gemini-cli qwen-code amp langchain", "list_directory"),
    Tool(Does.LIST, "codex vscode cursor nanobot roo cline agno crewai",
         "list_dir list_files list_files_in_directory view_subdirectory"),
    Tool(Does.TREE, "opencode goose codex", "list tree list_tree"),
    Tool(Does.GLOB, "claude-code droid opencode gemini-cli qwen-code copilot-cli deepagents", "Glob"),
    Tool(Does.GLOB, "langchain continue", "glob_search file_glob_search"),
    Tool(Does.FLOATING_GLOB, "cursor vscode openclaw", "glob_file_search file_search find"),
    Tool(Does.SEARCH, "claude-code droid opencode qwen-code copilot-cli cursor openclaw deepagents goose", "Grep rg"),
    Tool(Does.SEARCH, "gemini-cli qwen-code vscode cursor continue", "grep_search search_file_content"),
    Tool(Does.SEARCH, "codex", "grep_files"),
    Tool(Does.SEARCH, "cline roo hermes-agent agno", "search_files search_codebase search_content"),
    Tool(Does.SEARCH, "vscode cursor continue",
         "semantic_search codebase_search codebase list_code_usages test_search get_changed_files view_repo_map"),
    Tool(Does.SEARCH, "claude-code opencode qwen-code goose", "LSP analyze"),
    Tool(Does.SEARCH_EVERYWHERE, "openclaw letta google-adk",
         "memory_search load_memory archival_memory_search wiki_search"),
    Tool(Does.SESSIONS, "openclaw", "sessions_history sessions_list sessions_search sessions_send"),
    Tool(Does.SESSIONS, "hermes-agent letta goose", "session_search conversation_search chatrecall"),
    Tool(Does.SESSIONS, "amp vscode", "read_thread find_thread session_store_sql copilot_session_store_sql"),
    Tool(Does.FETCH, "claude-code opencode gemini-cli qwen-code droid copilot-cli openclaw cursor",
         "WebFetch FetchUrl"),
    Tool(Does.FETCH, "cline vscode amp continue",
         "fetch_web_content fetch_webpage read_web_page fetch_url_content browser_action"),
    Tool(Does.FETCH, "claude-code cline codex",
         "ReadMcpResourceTool read_mcp_resource access_mcp_resource"),
    Tool(Does.MEDIA, "openclaw hermes-agent", "image pdf vision_analyze image_generate video_generate music_generate"),
    Tool(Does.MEDIA, "openclaw nanobot claude-code", "message SendUserFile SendUserMessage"),
    Tool(Does.OUTPUT, "hermes-agent openclaw", "text_to_speech tts"),
    Tool(Does.WRITE, "claude-code opencode openclaw cursor goose continue kiro", "Write"),
    Tool(Does.WRITE, "gemini-cli qwen-code hermes-agent deepagents langchain nanobot vibe", "write_file"),
    Tool(Does.WRITE, "droid copilot-cli", "Create"),
    Tool(Does.WRITE, "vscode amp continue", "create_file create_new_file"),
    Tool(Does.WRITE, "cline roo agno crewai", "write_to_file save_file file_writer_tool"),
    Tool(Does.EDIT, "claude-code opencode openclaw qwen-code droid copilot-cli goose continue",
         "Edit MultiEdit"),
    Tool(Does.EDIT, "deepagents amp nanobot cursor kilo agno", "edit_file"),
    Tool(Does.EDIT, "gemini-cli", "replace"),
    Tool(Does.EDIT, "cursor vibe", "search_replace StrReplace"),
    Tool(Does.EDIT, "cline roo", "replace_in_file search_and_replace"),
    Tool(Does.EDIT, "vscode", "replace_string_in_file multi_replace_string_in_file"),
    Tool(Does.EDIT, "continue", "single_find_and_replace"),
    Tool(Does.EDITOR, "anthropic openhands",
         "str_replace_based_edit_tool str_replace_editor text_editor file_editor editor"),
    Tool(Does.EDITOR, "kiro", "fs_write"),
    Tool(Does.CHANGE, "claude-code cursor vscode",
         "NotebookEdit EditNotebook edit_notebook_file"),
    Tool(Does.CHANGE, "vscode roo continue amp cursor agno",
         "insert_edit_into_file insert_content edit_existing_file undo_edit reapply replace_file_chunk"),
    Tool(Does.DELETE, "cursor langchain agno", "Delete delete_file file_delete"),
    Tool(Does.MOVE, "langchain", "move_file rename_file"),
    Tool(Does.COPY, "langchain", "copy_file"),
    Tool(Does.FOLDER, "vscode", "create_directory"),
    Tool(Does.PATCH, "codex openclaw vscode copilot-cli cline opencode droid openai-agents", "apply_patch"),
    Tool(Does.PATCH, "opencode hermes-agent roo", "patch apply_diff"),
    Tool(Does.SHELL, "claude-code codex opencode copilot-cli openclaw amp vibe anthropic", "Bash"),
    Tool(Does.SHELL, "openclaw nanobot", "exec"),
    Tool(Does.SHELL, "codex goose openai-agents langchain kiro", "shell shell_command local_shell exec_command"),
    Tool(Does.SHELL, "gemini-cli qwen-code agno", "run_shell_command run_shell"),
    Tool(Does.SHELL, "droid deepagents cursor", "Execute run_terminal_cmd run_terminal_command"),
    Tool(Does.SHELL, "cline roo", "execute_command run_commands attempt_completion"),
    Tool(Does.SHELL, "vscode", "run_in_terminal"),
    Tool(Does.SHELL, "hermes-agent openhands kiro", "terminal execute_bash"),
    Tool(Does.SHELL, "claude-code qwen-code", "Monitor"),
    Tool(Does.STDIN, "openclaw hermes-agent codex copilot-cli vscode",
         "process write_stdin write_bash send_to_terminal"),
    Tool(Does.OTHER_SHELL, "claude-code codex copilot-cli", "PowerShell pwsh cmd execute_cmd"),
    Tool(Does.CODE, "hermes-agent codex openclaw agno smolagents strands openhands",
         "execute_code code_interpreter js_repl tool_search_code run_python_code python_interpreter python_repl"
         " execute_ipython_cell REPL"),
    Tool(Does.HOST_MEMORY, "hermes-agent gemini-cli qwen-code anthropic vscode", "memory save_memory"),
    Tool(Does.WRAPPER, "openclaw cline cursor", "tool_call use_mcp_tool call_mcp_tool"),
    Tool(Does.WRAPPER, "opencode codex", "batch multi_tool_use_parallel parallel"),
    Tool(Does.NOTHING, "claude-code",
         "WebSearch TodoWrite TodoRead AskUserQuestion ExitPlanMode EnterPlanMode Task Agent Skill BashOutput"
         " KillShell KillBash TaskOutput TaskStop TaskCreate TaskGet TaskList TaskUpdate ToolSearch"
         " ListMcpResourcesTool SlashCommand StructuredOutput PushNotification"),
    Tool(Does.NOTHING, "gemini-cli qwen-code",
         "google_web_search write_todos ask_user activate_skill update_topic"),
    Tool(Does.NOTHING, "opencode openclaw hermes-agent",
         "question codesearch plan_enter plan_exit session_status agents_list tool_describe todo clarify"
         " skills_list delegate_task sessions_spawn subagents"),
    Tool(Does.NOTHING, "codex copilot-cli droid vscode",
         "update_plan request_user_input report_intent update_todo read_bash stop_bash list_bash ExitSpecMode"
         " manage_todo_list runSubagent get_terminal_output"),
    Tool(Does.NOTHING, "cline roo",
         "ask_followup_question ask_question plan_mode_respond switch_mode new_task update_todo_list submit_and_exit"),
    Tool(Does.NOTHING, "smolagents openhands kiro", "final_answer finish think thinking"),
)  # fmt: skip

MCP_TOOLS: tuple[Tool, ...] = (
    Tool(
        Does.READ, "filesystem desktop-commander serena", "read_file read_text_file read_media_file read_multiple_files"
    ),
    Tool(Does.WRITE, "filesystem desktop-commander serena", "write_file create_text_file"),
    Tool(Does.EDIT, "filesystem desktop-commander", "edit_file edit_block"),
    Tool(Does.MOVE, "filesystem desktop-commander", "move_file"),
    Tool(Does.FOLDER, "filesystem desktop-commander", "create_directory"),
    Tool(Does.LIST, "filesystem desktop-commander", "list_directory list_directory_with_sizes get_file_info"),
    Tool(Does.LIST, "serena", "list_dir"),
    Tool(Does.TREE, "filesystem", "directory_tree"),
    Tool(Does.SEARCH, "filesystem desktop-commander serena", "search_files start_search search_for_pattern"),
    Tool(Does.NOTHING, "filesystem", "list_allowed_directories"),
    Tool(Does.SHELL, "desktop-commander serena", "start_process execute_shell_command"),
    Tool(Does.STDIN, "desktop-commander", "interact_with_process"),
    Tool(Does.EDITOR, "anthropic", "str_replace_based_edit_tool str_replace_editor text_editor"),
)
"""Tools of common MCP servers, by the tool's own name, whatever the server is called."""

SERVED = "mcp"
"""Stands for the host where a tool is served by MCP."""

TAKEN: dict[tuple[str, Does], Taken] = {
    ("claude-code", Does.SEARCH): Taken("path", "glob", "type"),
    ("claude-code", Does.GLOB): Taken("path"),
    ("claude-code", Does.LIST): Taken("path"),
    ("codex", Does.SEARCH): Taken("path", "include"),
    ("codex", Does.LIST): Taken("dir_path"),
    ("codex", Does.SHELL): Taken(workdir="workdir"),
    ("copilot-cli", Does.SEARCH): Taken("path", "glob", "type"),
    ("copilot-cli", Does.GLOB): Taken("path"),
    ("cursor", Does.SEARCH): Taken("path target_directories", "glob", "type"),
    ("cursor", Does.FLOATING_GLOB): Taken("target_directory"),
    ("cursor", Does.LIST): Taken("target_directory"),
    ("cursor", Does.SHELL): Taken(workdir="working_directory"),
    ("deepagents", Does.SEARCH): Taken("path", "glob"),
    ("deepagents", Does.GLOB): Taken("path"),
    ("deepagents", Does.LIST): Taken("path"),
    ("droid", Does.SEARCH): Taken("path", "glob_pattern", "type"),
    ("droid", Does.GLOB): Taken("folder"),
    ("droid", Does.LIST): Taken("directory_path"),
    ("gemini-cli", Does.SEARCH): Taken("dir_path", "include_pattern"),
    ("gemini-cli", Does.GLOB): Taken("dir_path"),
    ("gemini-cli", Does.LIST): Taken("dir_path"),
    ("gemini-cli", Does.SHELL): Taken(workdir="dir_path"),
    ("cline", Does.SEARCH): Taken("path", "file_pattern"),
    ("cline", Does.LIST): Taken("path"),
    ("hermes-agent", Does.SEARCH): Taken("path", "file_glob"),
    ("hermes-agent", Does.SHELL): Taken(workdir="workdir"),
    ("openclaw", Does.SEARCH): Taken("path", "glob"),
    ("openclaw", Does.FLOATING_GLOB): Taken("path"),
    ("openclaw", Does.LIST): Taken("path"),
    ("openclaw", Does.SHELL): Taken(workdir="workdir", variables="env"),
    ("opencode", Does.SEARCH): Taken("path", "include"),
    ("opencode", Does.GLOB): Taken("path"),
    ("opencode", Does.TREE): Taken("path"),
    ("opencode", Does.SHELL): Taken(workdir="workdir"),
    ("qwen-code", Does.SEARCH): Taken("path", "glob"),
    ("qwen-code", Does.GLOB): Taken("path"),
    ("qwen-code", Does.LIST): Taken("path"),
    ("qwen-code", Does.SHELL): Taken(workdir="directory"),
    ("vscode", Does.SEARCH): Taken(only="includePattern"),
    ("vscode", Does.LIST): Taken("path"),
    (SERVED, Does.SEARCH): Taken("path relative_path"),
    (SERVED, Does.LIST): Taken("path relative_path"),
    (SERVED, Does.TREE): Taken("path"),
}

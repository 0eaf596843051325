"""The first schema: memories with their vectors, words, hashes and closed versions, and what direct SQL needs.

Columns of `memories` are those of the memory protocol, and two of ours: `scope`, and `space` (the embedder whose vector
stands in `embedding`). Statements that an operator types run too: defaults fill what they leave out, and triggers do
what the engine does itself, on every connection that is not the engine's.
"""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = """
CREATE TABLE memories (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    scope text COLLATE "C" NOT NULL DEFAULT 'DM',
    type text NOT NULL CHECK (type IN
        ('fact', 'decision', 'preference', 'solution', 'project', 'source', 'person')),
    title text NOT NULL,
    content text NOT NULL,
    tags text[] NOT NULL DEFAULT '{}',
    importance integer NOT NULL DEFAULT 3 CHECK (importance BETWEEN 1 AND 5),
    embedding vector(1024),
    source text NOT NULL DEFAULT 'agent',
    expires_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    space text COLLATE "C" NOT NULL DEFAULT '',
    -- What Postgres can keep and a program cannot read would make every listing fail.
    CHECK (array_position(tags, NULL) IS NULL),
    CHECK (created_at >= '0001-01-01Z' AND created_at < '10000-01-01Z'),
    CHECK (updated_at >= '0001-01-01Z' AND updated_at < '10000-01-01Z'),
    CHECK (expires_at >= '0001-01-01Z' AND expires_at < '10000-01-01Z')
) WITH (toast_tuple_target = 8160);

-- Out of line, a vector costs the planner nothing and the reader much: it would rather read the whole table than the
-- index. Inline it pushes the texts out, were the threshold not as high as a page.
ALTER TABLE memories ALTER COLUMN embedding SET STORAGE PLAIN;

-- What a text search and a count read: ten rows to a page, where a memory with its vector fills one.
CREATE TABLE memory_words (
    memory uuid PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
    scope text COLLATE "C" NOT NULL,
    type text NOT NULL,
    tags text[] NOT NULL,
    importance integer NOT NULL,
    expires_at timestamptz,
    updated_at timestamptz NOT NULL,
    words tsvector NOT NULL
) WITH (toast_tuple_target = 8160);

-- Memories that direct SQL inserted or changed: the engine gives them words and hashes before it reads or writes.
CREATE TABLE unprepared (
    memory uuid PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE
);

CREATE TABLE memory_versions (
    id uuid NOT NULL,
    scope text COLLATE "C" NOT NULL,
    type text NOT NULL,
    title text NOT NULL,
    content text NOT NULL,
    tags text[] NOT NULL,
    importance integer NOT NULL,
    source text NOT NULL,
    expires_at timestamptz,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    valid_to timestamptz NOT NULL,
    owner uuid NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (id, updated_at)
);

CREATE TABLE memory_hashes (
    hash bigint NOT NULL,
    created_at timestamptz NOT NULL,
    memory uuid NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    PRIMARY KEY (hash, created_at, memory)
);

CREATE TABLE store_meta (
    key text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);
INSERT INTO store_meta (key, value) VALUES ('', 'the row that every writer locks first');

CREATE TABLE spaces (
    signature text COLLATE "C" PRIMARY KEY,
    dimension integer NOT NULL,
    place text COLLATE "C" NOT NULL
);
"""

# GIN without its pending list: a search never reads a heap of unsorted entries, and no write has to sort one.
_INDEXES = """
CREATE INDEX memories_by_importance ON memories (scope, importance DESC, updated_at DESC, id);
CREATE INDEX memories_by_change ON memories (scope, updated_at DESC, id);
CREATE INDEX memories_by_birth ON memories (scope, created_at, id);
CREATE INDEX memories_by_age ON memories (created_at, id);
CREATE INDEX memories_by_space ON memories (space, scope);
CREATE INDEX memories_by_expiry ON memories (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memories_by_embedding ON memories USING hnsw (embedding vector_cosine_ops);
CREATE INDEX memory_words_by_scope ON memory_words (scope, type);
CREATE INDEX memory_words_by_tag ON memory_words USING gin (tags) WITH (fastupdate = off);
CREATE INDEX memory_words_by_word ON memory_words USING gin (words) WITH (fastupdate = off);
CREATE INDEX memory_versions_by_owner ON memory_versions (owner);
CREATE INDEX memory_versions_by_time ON memory_versions (scope, valid_to);
CREATE INDEX memory_versions_by_word ON memory_versions USING gin (words) WITH (fastupdate = off);
CREATE INDEX memory_hashes_by_memory ON memory_hashes (memory);

CREATE VIEW memories_without_embeddings AS
    SELECT id, scope, type, title, content, tags, importance, source, expires_at, created_at, updated_at
    FROM memories WHERE embedding IS NULL;
"""

# The engine says who it is by a setting of its connection: what it writes is complete already.
_TRIGGERS = """
CREATE FUNCTION memories_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF (NEW.title, NEW.content) IS DISTINCT FROM (OLD.title, OLD.content) OR NEW.scope <> OLD.scope THEN
        NEW.space := '';
        NEW.embedding := NULL;
    END IF;
    IF NEW.updated_at = OLD.updated_at THEN
        NEW.updated_at := greatest(clock_timestamp(), OLD.updated_at + interval '1 microsecond');
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER memories_changed BEFORE UPDATE ON memories FOR EACH ROW
    WHEN (current_setting('apm_hooks.engine', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION memories_changed();

CREATE FUNCTION memories_touched() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO unprepared (memory) VALUES (NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE TRIGGER memories_touched AFTER INSERT OR UPDATE ON memories FOR EACH ROW
    WHEN (current_setting('apm_hooks.engine', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION memories_touched();

CREATE FUNCTION memories_deleted() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM memory_versions WHERE owner = OLD.id;
    RETURN NULL;
END $$;

CREATE TRIGGER memories_deleted AFTER DELETE ON memories FOR EACH ROW
    WHEN (current_setting('apm_hooks.engine', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION memories_deleted();
"""


def upgrade() -> None:
    """Make the schema in the first one of the search path, which is the workspace's."""
    for statements in (_TABLES, _INDEXES, _TRIGGERS):
        op.get_bind().exec_driver_sql(statements)


def downgrade() -> None:
    """There is nothing before the first schema: an export, and a schema dropped by hand."""
    raise NotImplementedError("export the memories, then drop the schema")

-- A branch has one preview.
CREATE UNIQUE INDEX "workspace_preview_of_preview_branch_key" ON "workspace"("preview_of", "preview_branch");

-- What somebody sees who is narrowed to workspaces of these names: they and their previews.
CREATE FUNCTION with_previews(tenant text, names text[]) RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN cardinality(names) = 0 THEN names ELSE names || ARRAY(
    SELECT p.name FROM workspace p JOIN workspace o ON o.id = p.preview_of
    WHERE o.tenant_id = tenant AND o.name = ANY(names) AND p.name <> ALL (names) ORDER BY p.name) END
$$;

-- A preview's run tells of its gates when somebody started it by hand, and of nothing else: what a hook, a mail or an
-- eval sets going there is a trial that nobody waits for. `notify` is of what is live; `expand` leaves it out there.
CREATE OR REPLACE FUNCTION note_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notice (tenant_id, workspace_id, run_id, event, data)
  SELECT r.tenant_id, r.workspace_id, r.id, NEW.type, NEW.data FROM run r JOIN workspace w ON w.id = r.workspace_id
    WHERE r.id = NEW.run_id AND r.mode <> 'eval'
      AND (w.preview_of IS NULL OR (r.started_by->>'kind' IN ('person', 'key')
        AND NEW.type IN ('approval.requested', 'approval.escalated', 'approval.reminder')))
      AND (r.parent_id IS NULL OR NEW.type NOT IN ('run.completed', 'run.failed'));
  RETURN NULL;
END $$;

-- The end of a run wakes the workflow that applies the push which waits for it, in the transaction of that end.
CREATE FUNCTION wake_push() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO outbox (run_id, kind) SELECT p.workspace_id, 'apply-push' FROM pending_push p WHERE p.workspace_id = NEW.workspace_id;
  RETURN NULL;
END $$;

CREATE TRIGGER wake_push AFTER UPDATE OF finished_at ON run FOR EACH ROW
  WHEN (OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL) EXECUTE FUNCTION wake_push();

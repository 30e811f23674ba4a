-- Who stores a blob holds it until a row names it, or until it is given up: nobody frees a blob that is held.
CREATE TABLE blob_hold (
  id text PRIMARY KEY,
  sha text NOT NULL,
  at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX blob_hold_sha_idx ON blob_hold (sha);
CREATE INDEX blob_hold_at_idx ON blob_hold (at);

-- Blobs that may be named by no row any more, and since when.
CREATE TABLE loose_blob (
  sha text PRIMARY KEY,
  at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX loose_blob_at_idx ON loose_blob (at);

-- Whether a row names a blob is asked for each that is freed.
CREATE INDEX storage_entry_sha_idx ON storage_entry (sha);
CREATE INDEX run_file_sha_idx ON run_file (sha);

-- A row that goes, or that names another blob from now on, leaves word, in its own transaction.
CREATE FUNCTION loosen_blobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO loose_blob (sha) SELECT DISTINCT sha FROM gone ORDER BY sha ON CONFLICT (sha) DO UPDATE SET at = now();
  ELSE
    INSERT INTO loose_blob (sha) SELECT sha FROM gone EXCEPT SELECT sha FROM kept ORDER BY sha
      ON CONFLICT (sha) DO UPDATE SET at = now();
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER loosen_deleted AFTER DELETE ON storage_entry REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION loosen_blobs();
CREATE TRIGGER loosen_deleted AFTER DELETE ON run_file REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION loosen_blobs();
CREATE TRIGGER loosen_deleted AFTER DELETE ON git_pack REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION loosen_blobs();
CREATE TRIGGER loosen_changed AFTER UPDATE ON storage_entry REFERENCING OLD TABLE AS gone NEW TABLE AS kept
  FOR EACH STATEMENT EXECUTE FUNCTION loosen_blobs();
CREATE TRIGGER loosen_changed AFTER UPDATE ON run_file REFERENCING OLD TABLE AS gone NEW TABLE AS kept
  FOR EACH STATEMENT EXECUTE FUNCTION loosen_blobs();

-- A new row wakes the workers' queue of that name (src/db/queues.ts) when it is committed. NOTIFY takes a lock of the whole
-- cluster at commit, so the frequent writes of a run's end notify after their commit instead (notifyStreams), and a row of
-- the outbox is sent by its caller.
CREATE FUNCTION wake_queue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('queue', TG_ARGV[0]);
  RETURN NULL;
END $$;

CREATE TRIGGER wake_queue AFTER INSERT ON notice FOR EACH ROW
  WHEN (NEW.run_id IS NULL) EXECUTE FUNCTION wake_queue('notice');
CREATE TRIGGER wake_queue AFTER INSERT ON raised_event FOR EACH ROW
  WHEN (NEW.kind NOT IN ('run.completed', 'run.failed')) EXECUTE FUNCTION wake_queue('event');
CREATE TRIGGER wake_queue AFTER INSERT ON burst FOR EACH ROW EXECUTE FUNCTION wake_queue('burst');
CREATE TRIGGER wake_queue AFTER INSERT ON code_push FOR EACH ROW
  WHEN (NEW.state = 'pending') EXECUTE FUNCTION wake_queue('push');
CREATE TRIGGER wake_queue AFTER INSERT OR UPDATE OF wanted ON mirror FOR EACH ROW EXECUTE FUNCTION wake_queue('mirror');

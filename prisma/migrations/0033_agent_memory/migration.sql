-- Memory of the live revisions that an agent wrote, and that no deploy or push has changed since, stays the agent's.
-- A person's edit had made it a file of the revision.
UPDATE revision r SET manifest = r.manifest || found.files
FROM (
  SELECT w.id, w.live_seq, jsonb_object_agg(f.key, f.value || '{"fromAgent": true}') AS files
  FROM workspace w
    JOIN revision v ON v.workspace_id = w.id AND v.seq = w.live_seq
    CROSS JOIN LATERAL jsonb_each(v.manifest) f
    CROSS JOIN LATERAL (
      SELECT max(c.seq) FILTER (WHERE c.via = 'agent') AS agent, max(c.seq) FILTER (WHERE c.via NOT IN ('agent', 'edit')) AS other
      FROM change c WHERE c.workspace_id = w.id AND f.key = ANY (c.paths)
    ) last
  WHERE starts_with(f.key, 'memory/') AND last.agent > coalesce(last.other, 0)
    AND NOT EXISTS (SELECT 1 FROM memory_file m WHERE m.workspace_id = w.id AND m.path = f.key)
  GROUP BY w.id, w.live_seq
) found
WHERE r.workspace_id = found.id AND r.seq = found.live_seq;

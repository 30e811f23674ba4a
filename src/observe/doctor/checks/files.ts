import { forEachParallel } from '../../../shared/for-each-parallel.js';
import type { Check, Fault } from '../check.js';

const AT_ONCE = 32;

interface FileRow {
  readonly sha: string;
  readonly path: string;
  readonly run: string | null;
}

/** The content of files, outputs and storage is in the blob store. */
export const files: Check = {
  remedy: 'Restore the blob store (the folder blobs, or the bucket) from a backup that has this file.',
  async find({ deps, root }) {
    const rows = await deps.db.query<FileRow>(
      `SELECT DISTINCT ON (sha) sha, path, run FROM (SELECT sha, path, NULL::text AS run FROM storage_entry WHERE $1::text IS NULL
          UNION ALL SELECT sha, format('a git pack of workspace %s', workspace_id), NULL FROM git_pack WHERE $1::text IS NULL AND seq IS NOT NULL
          UNION ALL SELECT f.sha, f.path, f.run_id FROM run_file f JOIN run r ON r.id = f.run_id
            WHERE $1::text IS NULL OR r.root_id = $1) x ORDER BY sha`,
      [root],
    );
    const faults: Fault[] = [];
    await forEachParallel(rows, AT_ONCE, async ({ sha, path, run }) => {
      if (await deps.blobs.has(sha)) return;
      const says =
        run === null
          ? `The bytes of ${path} (${sha}) are not in the blob store.`
          : `has lost its file ${path} (${sha})`;
      faults.push({ run, says });
    });
    return faults;
  },
};

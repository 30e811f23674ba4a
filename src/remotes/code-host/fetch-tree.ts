import type { Deps } from '../../deps.js';
import { type Deadline, startDeadline } from '../../shared/deadline.js';
import { ArchiveFault } from './archive/read-tar.js';
import { type ArchivedTree, treeOfArchive } from './archive/tree-of-archive.js';
import { type CodeHostKind, HOSTS } from './hosts/index.js';

export interface Wanted {
  readonly host: CodeHostKind;
  readonly archiveUrl: string;
  readonly commit: string;
  readonly dir: string;
  /** The token for the repository's host; null for an anonymous request. */
  readonly token: string | null;
}

export type Fetched =
  | ({ readonly kind: 'files' } & ArchivedTree)
  /** `again`: a retry may succeed. */
  | { readonly kind: 'fault'; readonly message: string; readonly again: boolean };

const HEAD_MS = 30_000;
const WHOLE_MS = 180_000;
const MIB = 1_048_576;
const PACKED_BYTES = 256 * MIB;
const LIMITS = { maxBytes: 1_024 * MIB, maxEntries: 200_000, maxFiles: 10_000, maxFileBytes: 32 * MIB };

/**
 * The files of a commit, from the archive of its code host. Only over https, except for hosts that the operator opened.
 * A redirect to another origin, such as a host's archive store, is followed without the token. Rejects with the signal's
 * reason once it is aborted.
 */
export async function fetchTree(deps: Pick<Deps, 'net'>, wanted: Wanted, stop?: AbortSignal): Promise<Fetched> {
  stop?.throwIfAborted();
  const late = startDeadline(WHOLE_MS, stop);
  try {
    const fetched = await fetchWithin(deps, wanted, late);
    stop?.throwIfAborted();
    return fetched;
  } finally {
    late.end();
  }
}

async function fetchWithin({ net }: Pick<Deps, 'net'>, wanted: Wanted, late: Deadline): Promise<Fetched> {
  const { host, archiveUrl, commit, dir, token } = wanted;
  const answer = await net.open({
    url: archiveUrl,
    headers: { accept: '*/*', ...(token !== null && HOSTS[host].tokenHeader(token)) },
    httpsOnly: true,
    redirects: 4,
    timeoutMs: HEAD_MS,
    maxBytes: PACKED_BYTES,
    signal: late.signal,
  });
  if (answer.kind === 'fault') return { kind: 'fault', message: answer.message, again: AGAIN.has(answer.fault) };
  if (answer.status !== 200) {
    await answer.body.cancel();
    return refusedBy(new URL(archiveUrl).host, answer.status, token !== null);
  }
  try {
    return { kind: 'files', ...(await treeOfArchive(answer.body, { dir, commit, limits: LIMITS })) };
  } catch (error) {
    if (error instanceof ArchiveFault) return { kind: 'fault', message: error.message, again: false };
    const what = late.isOver() ? 'did not arrive in time' : 'was cut off';
    return { kind: 'fault', message: `the archive of ${new URL(archiveUrl).host} ${what}`, again: true };
  }
}

const AGAIN: ReadonlySet<string> = new Set(['unresolved', 'unreachable', 'timeout', 'tls', 'broken', 'stopped']);

function refusedBy(host: string, status: number, withToken: boolean): Fetched {
  const hint =
    status === 404 || status === 401 || status === 403
      ? withToken
        ? ': see whether GIT_FETCH_TOKEN may read this repository'
        : ': a private repository needs the secret GIT_FETCH_TOKEN'
      : '';
  // Hosts may answer 404 for a while after a push.
  const again = status === 404 || status === 429 || status >= 500;
  return { kind: 'fault', message: `${host} answered ${status} when asked for the commit’s archive${hint}`, again };
}

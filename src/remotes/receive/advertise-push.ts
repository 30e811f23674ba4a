import type { Deps } from '../../deps.js';
import { FLUSH, MAIN, pktLine } from '../../git/index.js';
import { listStoredRefs, readLiveCommit, readLiveLibrary, readLiveTree } from '../../workspaces/index.js';
import type { Remote } from '../remote.js';

const NONE = '0'.repeat(40);

/** What a push may begin from (gitprotocol-http). Refs of the service's own are nobody's to push, and not named. */
export async function advertisePush(deps: Deps, { id, isLibrary, caller }: Remote): Promise<Buffer> {
  // What a push comes after is asked for next: it is read while the client packs its objects.
  if (!isLibrary) void readLiveTree(deps.db, id).catch(() => undefined);
  const [gitCommit, stored] = await Promise.all([
    isLibrary ? readLiveLibrary(deps.db, caller.tenant).then((live) => live.gitCommit) : readLiveCommit(deps.db, id),
    listStoredRefs(deps.db, id),
  ]);
  const refs = stored
    .filter(({ name }) => !name.startsWith('refs/service/'))
    .map(({ name, oid }) => [name, oid] as const);
  const all = gitCommit === null ? refs : [...refs, [MAIN, gitCommit] as const];
  const lines = all.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, oid]) => `${oid} ${name}`);
  const [first = `${NONE} capabilities^{}`, ...rest] = lines;
  const capabilities = [
    'report-status',
    'report-status-v2',
    'delete-refs',
    'atomic',
    'side-band-64k',
    'quiet',
    'ofs-delta',
    'object-format=sha1',
    `agent=signalbox/${deps.config.version}`,
  ];
  return Buffer.concat([
    pktLine('# service=git-receive-pack\n'),
    FLUSH,
    pktLine(`${first}\0${capabilities.join(' ')}\n`),
    ...rest.map((line) => pktLine(`${line}\n`)),
    FLUSH,
  ]);
}

import { listStoredRefs, readLiveCommit, readLiveLibrary, readLiveTree } from '../../content/index.js';
import type { Deps } from '../../deps.js';
import { FLUSH, MAIN, pktLine } from '../../git/index.js';
import type { Remote } from '../remote.js';

const NONE = '0'.repeat(40);

/** The refs that a push starts from (gitprotocol-http). Refs of the service cannot be pushed, and are left out. */
export async function advertisePush(deps: Deps, { id, isLibrary, caller }: Remote): Promise<Buffer> {
  // Warms the cache while the client packs its objects: the push needs the live tree next.
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
  const [first = `${NONE} capabilities^{}`, ...others] = lines;
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
    ...others.map((line) => pktLine(`${line}\n`)),
    FLUSH,
  ]);
}

import { createDb } from '../../src/platform/db/index.js';
import { createNet } from '../../src/platform/net/index.js';
import { liveToken } from '../../src/secrets/index.js';
import { systemClock } from '../../src/shared/clock.js';
import { armFailpoint } from '../../src/shared/failpoint.js';
import { quietLog } from '../../src/shared/log.js';

/** A process of its own that asks for a secret's live token `count` times at once, and prints what it got. */
const [url = '', key = '', id = '', count = '1', failpoint = ''] = process.argv.slice(2);
const ring = [{ id: 'k1', key: new Uint8Array(Buffer.from(key, 'base64')) }];
const signing = new Uint8Array(Buffer.from(key, 'base64'));

armFailpoint(failpoint || null);
const db = createDb({ url, ca: null, poolSize: 5, log: quietLog });
const net = createNet({ config: { allowHosts: [{ host: '127.0.0.1', port: null }], version: '0.0.0-test' } });
const deps = { db, net, keys: { signing, ring }, clock: systemClock, log: quietLog };
process.stdout.write('ready\n');
process.stdin.once('data', async () => {
  const asked = Array.from({ length: Number(count) }, () =>
    liveToken(deps, { id, name: 'SHOP' }).then(
      ({ token }) => token,
      (error: unknown) => `failed: ${error instanceof Error ? error.message : error}`,
    ),
  );
  process.stdout.write(`${JSON.stringify(await Promise.all(asked))}\n`);
  await db.close();
  process.exit(0);
});

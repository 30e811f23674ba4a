import { setTimeout as sleep } from 'node:timers/promises';
import type { Outside } from './job.js';
import type { Place } from './play.js';

const WITHIN_MS = 120_000;
const TWELVE_HOURS_MS = 43_200_000;
const then = new Date(Date.now() - TWELVE_HOURS_MS);

/** Once a day, at a time that is half a day away: nothing fires it but `makeDue`. */
export const HALF_A_DAY_AWAY = `${then.getUTCMinutes()} ${then.getUTCHours()} * * *`;

/** The world around a job's workspace: who posts to it, its clock, and who is told. */
export function outsideOf(workspace: string, { service, keys, receiver }: Place): Outside {
  const { db } = service;
  const rows = <Row>(text: string) => db.query<Row>(text, [workspace]);
  const of = 'workspace_id = (SELECT id FROM workspace WHERE name = $1)';

  async function deliver(kind: 'hookUrl' | 'inboxUrl', id: string, body: object): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${keys.owner}` };
    const shown = await fetch(`${service.url}/api/workspaces/${workspace}/flows/it`, { headers });
    const { pathname, search } = new URL(((await shown.json()) as Record<string, string>)[kind] ?? '');
    const response = await fetch(`${service.url}${pathname}${search}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'webhook-id': `${workspace}-${id}` },
      body: JSON.stringify(body),
    });
    if (response.status !== 202) throw new Error(`a delivery: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  }

  async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
    for (const end = Date.now() + WITHIN_MS; ; await sleep(100)) {
      const found = await look();
      if (found !== null) return found;
      if (Date.now() > end) throw new Error(`${what} did not come`);
    }
  }

  return {
    hook: (id, body) => deliver('hookUrl', id, body),
    mail: (id, mail) => deliver('inboxUrl', id, { ...mail, messageId: `<${workspace}-${id}@x.test>` }),
    async delivery() {
      const [first] = await rows<{ id: string }>(`SELECT id FROM delivery WHERE ${of} ORDER BY id LIMIT 1`);
      return first?.id ?? 'none';
    },
    runs: (count) =>
      until(`${count} runs`, async () => {
        const found = await rows<{ id: string }>(
          `SELECT id FROM run WHERE ${of} AND parent_id IS NULL ORDER BY created_at, id`,
        );
        return found.length >= count ? found.map(({ id }) => id) : null;
      }),
    async makeDue() {
      await rows(`UPDATE schedule SET settled_until = now() - interval '13 hours', told = false,
        version = nextval('schedule_version_seq') WHERE ${of}`);
    },
    told: () =>
      until('the word to Temporal', async () => {
        const [row] = await rows<{ told: boolean }>(`SELECT told FROM schedule WHERE ${of}`);
        return row?.told ? true : null;
      }).then(() => undefined),
    received: () =>
      until('a notification', async () => {
        const sent = await rows<{ id: string; state: string; tries: number }>(
          `SELECT n.id, n.state, n.tries FROM notification n JOIN run r ON r.id = n.run_id WHERE r.${of}`,
        );
        if (sent.length === 0 || sent.some(({ state }) => state !== 'sent')) return null;
        return { sent, received: receiver.idsAt(`/${workspace}`) };
      }),
    files: async () =>
      (await rows<{ path: string }>(`SELECT path FROM storage_entry WHERE ${of}`)).map((one) => one.path),
  };
}

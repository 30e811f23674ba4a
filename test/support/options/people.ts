import { randomUUID } from 'node:crypto';
import type { RunView } from '../../../src/contract/runs.js';
import type { Db } from '../../../src/platform/db/index.js';
import { newId } from '../../../src/shared/ids.js';
import { createKey, insertMember } from '../create-test-app.js';
import { signedInCookie } from '../signed-in-cookie.js';
import type { Act, NamedCase, Wait } from './row.js';

export interface Door {
  readonly url: string;
  readonly workspace: string;
  readonly run: string;
  readonly view: () => Promise<RunView>;
  /** The credentials of each person: the owner and the editor use a key, the admin is signed in. */
  readonly people: Readonly<Record<'owner' | 'editor' | 'admin', Readonly<Record<string, string>>>>;
}

/** Credentials of further members beside the key of the owner, who starts the runs. */
export async function credentialsOf(db: Db, url: string, owner: string): Promise<Door['people']> {
  const [row] = await db.query<{ id: string; owner: string; email: string }>(
    'SELECT t.id, m.id AS owner, m.email FROM tenant t JOIN member m ON m.id = t.owner_id',
  );
  if (!row) throw new Error('the service made no account');
  const editor = await createKey(
    { db },
    { tenant: row.id, owner: { id: row.owner, email: row.email }, role: 'editor' },
  );
  const admin = { id: newId(), email: 'admin@options.test' };
  await insertMember(db, { ...admin, tenant: row.id, role: 'admin', workspaces: null });
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const cookie = await signedInCookie({ db }, row.id, admin);
  return { owner: bearer(owner), editor: bearer(editor), admin: { cookie, origin: new URL(url).origin } };
}

/** Does what the case's people do about everything that the run waits for and that was not answered yet. */
export async function answerWaits(
  { option }: NamedCase,
  door: Door,
  run: RunView,
  answered: Set<string>,
): Promise<void> {
  for (const open of run.waiting) {
    const step = run.steps[open.step - 1];
    const wait: Wait = { id: open.id, kind: open.kind, round: step?.round ?? 1 };
    const key = `${open.id}@${open.since}`;
    const isReady = open.kind === 'approval' || (open.kind === 'event' && step?.status === 'waiting');
    if (!isReady || answered.has(key)) continue;
    answered.add(key);
    for (const act of (option.people ?? byDefault)(wait)) await perform(act, door, open);
  }
}

const byDefault = ({ kind }: Wait): readonly Act[] =>
  kind === 'event' ? [{ event: { ok: true } }] : [{ decide: { decision: 'approve' } }];

const GIVES_UP_AFTER_MS = 120_000;

async function perform(act: Act, door: Door, open: RunView['waiting'][number]): Promise<void> {
  const until = Date.now() + GIVES_UP_AFTER_MS;
  for (;;) {
    if (Date.now() > until) throw new Error(`${JSON.stringify(act)} could not be done`);
    if (act.once?.(await door.view()) === false) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      continue;
    }
    const response = await (act.event ? send(act.event, door, open) : decide(act, door, open));
    const body = await response.text();
    if (response.status === (act.status ?? 200)) return;
    // A decider who may not yet, and a service that is away, are asked again.
    if (act.status === undefined && (response.status === 403 || response.status === 503)) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      continue;
    }
    throw new Error(`${JSON.stringify(act)} got ${response.status} ${body}`);
  }
}

function decide(
  { as = 'owner', decide: body }: Act,
  { url, workspace, run, people }: Door,
  open: RunView['waiting'][number],
): Promise<Response> {
  return fetch(`${url}/api/workspaces/${workspace}/runs/${run}/approve`, {
    method: 'POST',
    headers: {
      ...people[as],
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    },
    body: JSON.stringify({ ...body, step: open.step, round: open.gate?.round }),
  });
}

function send(event: object, { url }: Door, { releaseUrl }: RunView['waiting'][number]): Promise<Response> {
  const { pathname, search } = new URL(releaseUrl ?? '');
  const headers = { 'content-type': 'application/json' };
  return fetch(`${url}${pathname}${search}`, { method: 'POST', headers, body: JSON.stringify(event) });
}

import { createHash } from 'node:crypto';
import type { Context, Handler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Deps } from '../deps.js';
import {
  claimIdempotencyKey,
  type HeldKey,
  isOutcomeUnknown,
  type KeptAnswer,
  LEASE_SECONDS,
  type RecordAnswer,
  releaseIdempotencyKey,
  renewIdempotencyKey,
  saveAnswer,
  saveAnswerInTransaction,
} from '../people/index.js';
import { toJson } from '../shared/exact-json.js';
import { failpoint } from '../shared/failpoint.js';
import { newId } from '../shared/ids.js';
import { Refusal } from '../shared/refusal.js';
import { type Loops, startLoops } from '../shared/repeat.js';
import { CLIENT_LEFT } from './client-left.js';
import type { AppEnv } from './env.js';
import { onError } from './errors.js';
import { requireThing } from './guard.js';

/** Response headers that belong to the content; other headers belong to the request. */
const KEPT_HEADERS = ['content-type', 'location', 'etag'];

/**
 * Honours `Idempotency-Key`: stores the first response for a day and repeats it for the same request. Temporary
 * failures (429, 499, 5xx) are not stored, since the client should retry; if the outcome is unknown the key stays
 * claimed. `settled` handlers write their response with their effect, so their key is leased: when the process dies or
 * falls silent the same request may take over, and a late commit of the first one is rolled back.
 */
export function withIdempotency(
  handle: (c: Context<AppEnv>) => Promise<Response>,
  { settled, keysByCaller }: { readonly settled: boolean; readonly keysByCaller: boolean },
): Handler<AppEnv> {
  return async (c) => {
    const given = c.req.header('idempotency-key');
    const { tenant, actor } = c.var.caller ?? {};
    if (given === undefined || tenant === undefined) return handle(c);
    // Keys belong to the account, so a stored response must not bypass this caller's access.
    await requireThing(c);
    const key = keysByCaller ? `${checkKey(given)} ${actor?.kind} ${actor?.id}` : checkKey(given);
    const { deps } = c.var;
    const held = { tenant, key, holder: newId() };
    const kept = await claimIdempotencyKey(deps, { ...held, bodyHash: await hashCall(c), leased: settled });
    if (kept) return replay(kept);
    failpoint('key-claimed');
    if (settled) c.set('recordAnswer', (status) => answerRecorder(held, status));
    let unsure = false;
    const lease = settled ? renewLease(deps, held) : undefined;
    const response = await handle(c)
      .catch((error: Error) => {
        unsure = isOutcomeUnknown(error);
        return onError(error, c);
      })
      .finally(() => {
        // Not awaited: a renewal may wait for a connection, and after the answer it changes nothing.
        void lease?.close();
      });
    if (unsure) return response;
    failpoint('answer-unsent');
    const isAnswer = response.status < 500 && response.status !== 429 && response.status !== CLIENT_LEFT;
    if (!isAnswer) await releaseIdempotencyKey(deps, held);
    else await saveAnswer(deps, held, await toKept(response));
    return response;
  };
}

/**
 * For a POST that cannot honour the header, because its response has a secret that is not stored or because it has no
 * account. Callers who rely on the header would do the work twice, so the request is refused first.
 */
export function refuseIdempotencyKey(handle: (c: Context<AppEnv>) => Promise<Response>): Handler<AppEnv> {
  return async (c) => {
    if (c.req.header('idempotency-key') === undefined) return handle(c);
    throw new Refusal(
      'refused',
      'Idempotency-Key: this route does not honour it; leave the header out, and check the current state before you repeat the call',
      { code: 'idempotency-key-unsupported' },
    );
  };
}

/** A failed renewal is made up for by the next one; a late one finds that another request holds the key. */
function renewLease(deps: Deps, held: HeldKey): Loops {
  const work = () => renewIdempotencyKey(deps, held).catch(() => undefined);
  return startLoops(deps.log, [{ name: 'lease of an idempotency key', everyMs: (LEASE_SECONDS * 1_000) / 3, work }]);
}

function answerRecorder(held: HeldKey, status: ContentfulStatusCode): RecordAnswer {
  const headers = { 'content-type': 'application/json' };
  return (sql, body) => saveAnswerInTransaction(sql, held, { status, headers, body: toJson(body) });
}

function checkKey(key: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new Refusal('refused', 'Idempotency-Key: 1 to 255 printable ASCII characters without a space');
}

/** The method, the path and the query are part of the hash: one key cannot serve two different requests. */
async function hashCall(c: Context<AppEnv>): Promise<string> {
  const { pathname, search } = new URL(c.req.url);
  const hash = createHash('sha256').update(`${c.req.method} ${pathname}${search}\n`);
  return hash.update(new Uint8Array(await c.req.arrayBuffer())).digest('hex');
}

async function toKept(response: Response): Promise<KeptAnswer> {
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { status: response.status, headers: Object.fromEntries(headers), body: await response.clone().text() };
}

function replay({ status, headers, body }: KeptAnswer): Response {
  return new Response(body, { status, headers: { ...headers, 'Idempotency-Replayed': 'true' } });
}

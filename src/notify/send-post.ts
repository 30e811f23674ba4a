import type { Deps } from '../deps.js';
import { toJson } from '../shared/exact-json.js';
import type { Json } from '../shared/json.js';
import { signedHeaders } from './sign.js';

export type Sent =
  | { readonly sent: true }
  /** `final`: a retry cannot succeed. */
  | { readonly sent: false; readonly reason: string; readonly final: boolean };

const TIMEOUT_MS = 15_000;
const ANSWER_BYTES = 64 * 1024;

/** Posts one notification to the account's URL, signed with the account's secret. */
export async function sendPost(
  deps: Deps,
  {
    id,
    tenant,
    url,
    body,
  }: { readonly id: string; readonly tenant: string; readonly url: string; readonly body: Json },
): Promise<Sent> {
  const [signer] = await deps.db.query<{ version: number; since: Date | null }>({
    name: 'notify-signer',
    text: 'SELECT notify_key AS version, notify_key_at AS since FROM tenant WHERE id = $1',
    values: [tenant],
  });
  if (!signer) return { sent: false, reason: 'the account is gone', final: true };
  const text = toJson(body);
  const signed = signedHeaders(deps, { tenant, ...signer }, { id, nowMs: deps.clock.now(), body: text });
  const answer = await deps.net.request({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': `Signalbox/${deps.config.version}`, ...signed },
    body: text,
    redirects: 0,
    timeoutMs: TIMEOUT_MS,
    maxBytes: ANSWER_BYTES,
  });
  if (answer.kind === 'fault') return { sent: false, reason: answer.message, final: false };
  if (answer.status >= 200 && answer.status < 300) return { sent: true };
  // 410 Gone means that the receiver wants no more requests; other errors may be temporary.
  return { sent: false, reason: `${new URL(url).host} answered ${answer.status}`, final: answer.status === 410 };
}

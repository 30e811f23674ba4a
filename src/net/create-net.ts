import type { Config } from '../config/index.js';
import { type AllowHosts, checkUrl } from './check-url.js';
import { connect } from './connect.js';
import { type Resolve, systemResolve } from './connector.js';
import type { Net, NetAnswer, NetFault, NetRequest } from './contract.js';
import { checkHeaders } from './headers.js';
import { NetError, toFault } from './net-error.js';
import { locationOf, type Message, nextHop } from './redirect.js';
import { sendHop } from './send-hop.js';
import { requireWithin } from './within.js';

export interface NetOptions {
  readonly config: Pick<Config, 'allowHosts' | 'version'>;
  readonly resolve?: Resolve;
}

interface Guard {
  readonly allow: AllowHosts;
  readonly resolve: Resolve;
  readonly agent: string;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 5 * 1_048_576;
const MAX_REDIRECTS = 5;

export function createNet({ config, resolve = systemResolve }: NetOptions): Net {
  const guard = { allow: config.allowHosts, resolve, agent: `signalbox/${config.version}` };
  return {
    request: (request) => withDeadline(guard, request),
    connect: (target) => connect(guard, target),
    check(url, options = {}) {
      try {
        checkUrl(url, guard.allow, options);
        return null;
      } catch (error) {
        return faultOf(error);
      }
    },
  };
}

/** Everything within one time: what it cuts off is told as that, whatever broke by it. */
async function withDeadline(guard: Guard, request: NetRequest): Promise<NetAnswer | NetFault> {
  const { timeoutMs = TIMEOUT_MS, signal: stop } = request;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  const signal = stop === undefined ? late.signal : AbortSignal.any([late.signal, stop]);
  const track = { sent: false };
  try {
    signal.throwIfAborted();
    return await untilAborted(follow(guard, request, { signal, track }), signal);
  } catch (error) {
    const { sent } = track;
    if (stop?.aborted) return { kind: 'fault', fault: 'stopped', message: 'the request was stopped', sent };
    if (!late.signal.aborted) return { ...faultOf(error), sent };
    const host = URL.canParse(request.url) ? new URL(request.url).host : 'the address';
    const message = `${host} did not answer in full within ${timeoutMs / 1_000} s`;
    return { kind: 'fault', fault: 'timeout', message, sent };
  } finally {
    clearTimeout(timer);
  }
}

/** A resolver hears no signal: it is left to itself. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let leave: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason);
  });
  signal.addEventListener('abort', leave, { once: true });
  return Promise.race([work, aborted]).finally(() => signal.removeEventListener('abort', leave));
}

async function follow(
  guard: Guard,
  request: NetRequest,
  { signal, track }: { signal: AbortSignal; track: { sent: boolean } },
): Promise<NetAnswer> {
  const { redirects = MAX_REDIRECTS, maxBytes = MAX_BYTES, body = null } = request;
  const onConnected = () => {
    track.sent = true;
  };
  const rules = { ...guard, maxBytes, signal, onConnected, readsRedirects: redirects === 0 };
  let url = checkUrl(request.url, guard.allow, request);
  if (request.within !== undefined) requireWithin(url, request.within, 'the address');
  const headers = { 'user-agent': guard.agent, ...checkHeaders(request.headers ?? {}) };
  const method = (request.method ?? 'GET').toUpperCase();
  if (!METHODS.has(method)) throw new NetError('bad-request', `the method "${method.slice(0, 20)}" is not sent`);
  let message: Message = { method, headers, body };
  for (let hop = 0; ; hop += 1) {
    const answer = await sendHop(url, message, rules);
    const location = locationOf(answer.status, answer.headers);
    if (location === null || redirects === 0) return { kind: 'answer', ...answer, url: url.href };
    if (hop === redirects) throw new NetError('redirect', `${url.host} redirects more than ${redirects} times`, true);
    const next = nextHop(url, message, { status: answer.status, location });
    if (request.within !== undefined) requireWithin(next.url, request.within, `the redirect of ${url.host}`);
    message = next.message;
    url = checkUrl(next.url.href, guard.allow, request);
  }
}

function faultOf(error: unknown): NetFault {
  if (error instanceof NetError) return toFault(error);
  throw error;
}

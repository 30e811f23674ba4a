import { Readable } from 'node:stream';
import { startDeadline, untilAborted } from '../../shared/deadline.js';
import type { Config } from '../config/index.js';
import { type AllowHosts, checkUrl } from './check-url.js';
import { checkedAddresses, connect, type Resolve, systemResolve } from './connector.js';
import type { Net, NetAnswer, NetFault, NetRequest, NetStream } from './contract.js';
import { toNetError } from './failure.js';
import { messageOf } from './message.js';
import { NetError, toFault } from './net-error.js';
import { unpack } from './read-body.js';
import { locationOf, type Message, nextHop } from './redirect.js';
import { type HopRules, type OpenHop, openHop, sendHop } from './send-hop.js';
import { requireWithin } from './within.js';

interface NetOptions {
  readonly config: Pick<Config, 'allowHosts' | 'version'>;
  readonly resolve?: Resolve;
}

interface Guard {
  readonly allow: AllowHosts;
  readonly resolve: Resolve;
  readonly agent: string;
}

const TIMEOUT_MS = 30_000;

const MAX_BYTES = 5 * 1_048_576;

const MAX_REDIRECTS = 5;

export function createNet({ config, resolve = systemResolve }: NetOptions): Net {
  const guard = { allow: config.allowHosts, resolve, agent: `signalbox/${config.version}` };
  return {
    request: (request) => withDeadline(guard, request),
    connect: (target) => connect(guard, target),
    open: (request) => openInTime(guard, request),
    resolve: (url, options = {}) => resolveChecked(guard, url, options),
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

async function resolveChecked(guard: Guard, text: string, options: Pick<NetRequest, 'httpsOnly'>) {
  try {
    const url = checkUrl(text, guard.allow, options);
    const addresses = await checkedAddresses(url, guard.allow, guard.resolve);
    return { kind: 'resolved' as const, url, addresses: addresses.map(({ address }) => address) };
  } catch (error) {
    const host = URL.canParse(text) ? new URL(text).host : 'the address';
    return toFault(toNetError(error, { host, connected: false }));
  }
}

/** The time limit covers the whole request. */
function withDeadline(guard: Guard, request: NetRequest): Promise<NetAnswer | NetFault> {
  return inTime(request, 'did not answer in full', (bounds) => follow(guard, request, bounds));
}

/** The time limit covers the headers. The body lives until it is cancelled or the caller's signal aborts. */
function openInTime(guard: Guard, request: NetRequest): Promise<NetStream | NetFault> {
  const { maxBytes = MAX_BYTES } = request;
  return inTime(request, 'did not answer', ({ signal, track }) => {
    const onConnected = () => {
      track.sent = true;
    };
    return openStream(request, { ...guard, maxBytes, signal, onConnected });
  });
}

interface Bounds {
  readonly signal: AbortSignal;
  readonly track: { sent: boolean };
}

/** Runs the work within the request's time limit. An error after the limit is reported as a timeout. */
async function inTime<T>(
  request: NetRequest,
  late: string,
  work: (bounds: Bounds) => Promise<T>,
): Promise<T | NetFault> {
  const { timeoutMs = TIMEOUT_MS, signal: stop } = request;
  const deadline = startDeadline(timeoutMs, stop);
  const { signal } = deadline;
  const track = { sent: false };
  try {
    signal.throwIfAborted();
    return await untilAborted(work({ signal, track }), signal);
  } catch (error) {
    const { sent } = track;
    if (stop?.aborted) return { kind: 'fault', fault: 'stopped', message: 'the request was stopped', sent };
    if (!deadline.isOver()) return { ...faultOf(error), sent };
    const host = URL.canParse(request.url) ? new URL(request.url).host : 'the address';
    const message = `${host} ${late} within ${timeoutMs / 1_000} s`;
    return { kind: 'fault', fault: 'timeout', message, sent };
  } finally {
    deadline.end();
  }
}

async function follow(guard: Guard, request: NetRequest, { signal, track }: Bounds): Promise<NetAnswer> {
  const { redirects = MAX_REDIRECTS, maxBytes = MAX_BYTES } = request;
  const onConnected = () => {
    track.sent = true;
  };
  const rules = { ...guard, maxBytes, signal, onConnected, readsRedirects: redirects === 0 };
  let url = checkUrl(request.url, guard.allow, request);
  if (request.within !== undefined) requireWithin(url, request.within, 'the address');
  let message: Message = messageOf(request, guard.agent);
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

type StreamRules = Omit<HopRules, 'readsRedirects'> & { readonly agent: string };

/**
 * One request whose response is streamed; its connection ends with the body. Follows as many redirects as the request
 * allows and checks each hop. Throws NetError.
 */
async function openStream(request: NetRequest, rules: StreamRules): Promise<NetStream> {
  const { redirects = 0 } = request;
  let url = checkUrl(request.url, rules.allow, request);
  if (request.within !== undefined) requireWithin(url, request.within, 'the address');
  let message: Message = messageOf(request, rules.agent);
  for (let hop = 0; ; hop += 1) {
    const answer = await openHop(url, message, rules);
    const location = redirects === 0 ? null : locationOf(answer.status, answer.headers);
    if (location === null) return streamOf(answer, url.host, rules);
    answer.end();
    if (hop === redirects) throw new NetError('redirect', `${url.host} redirects more than ${redirects} times`, true);
    const next = nextHop(url, message, { status: answer.status, location });
    if (request.within !== undefined) requireWithin(next.url, request.within, `the redirect of ${url.host}`);
    message = next.message;
    url = checkUrl(next.url.href, rules.allow, request);
  }
}

function streamOf(
  { status, headers, hasBody, body: packed, end }: OpenHop,
  host: string,
  rules: StreamRules,
): NetStream {
  try {
    const encoding = headers.get('content-encoding');
    const maxBytes = typeof rules.maxBytes === 'number' ? rules.maxBytes : rules.maxBytes(headers);
    const body = hasBody ? unpack(packed, { encoding, maxBytes, host }) : Readable.from([]);
    body.once('close', end);
    return { kind: 'stream', status, headers, body: webStream(body, host) };
  } catch (error) {
    end();
    throw error;
  }
}

function webStream(body: Readable, host: string): ReadableStream<Uint8Array> {
  let isOpen = true;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        body.pause();
        body.on('data', (chunk: Buffer) => {
          controller.enqueue(new Uint8Array(chunk));
          if ((controller.desiredSize ?? 0) <= 0) body.pause();
        });
        body.once('end', () => {
          if (isOpen) controller.close();
          isOpen = false;
        });
        body.once('error', (error) => {
          if (isOpen) controller.error(toNetError(error, { host, connected: true }));
          isOpen = false;
        });
      },
      pull: () => void body.resume(),
      cancel() {
        isOpen = false;
        body.destroy();
      },
    },
    { highWaterMark: 65_536, size: (chunk) => chunk.byteLength },
  );
}

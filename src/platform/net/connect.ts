import { connect as connectTcp, type Socket } from 'node:net';
import { untilAborted, within } from '../../shared/deadline.js';
import { type AllowHosts, checkUrl } from './check-url.js';
import { CONNECT_MS, checkedAddresses, pinned, type Resolve } from './connector.js';
import type { NetFault, NetTarget } from './contract.js';
import { toNetError } from './failure.js';
import { NetError, toFault } from './net-error.js';

interface Guard {
  readonly allow: AllowHosts;
  readonly resolve: Resolve;
}

/** One TCP connection to a named host: resolved once, every address checked, and connected to those very ones. */
export async function connect(
  { allow, resolve }: Guard,
  { host, port, isOperators = false, signal }: NetTarget,
): Promise<{ readonly kind: 'connected'; readonly socket: Socket } | NetFault> {
  try {
    const text = `http://${host}:${port}`;
    const named = URL.canParse(text) ? new URL(text).hostname : host;
    const rules = isOperators ? [...allow, { host: named, port: null }] : allow;
    const url = checkUrl(text, rules, {});
    const addresses = await untilLate(checkedAddresses(url, rules, resolve), host, signal);
    return { kind: 'connected', socket: await open(url, { port, addresses, signal }) };
  } catch (error) {
    return toFault(toNetError(error, { host: `${host}:${port}`, connected: false }));
  }
}

interface Place {
  readonly port: number;
  readonly addresses: Awaited<ReturnType<Resolve>>;
  readonly signal: AbortSignal | undefined;
}

function open(url: URL, { port, addresses, signal }: Place): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connectTcp({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port,
      lookup: pinned(addresses),
      autoSelectFamily: true,
      allowHalfOpen: true,
      noDelay: true,
    });
    const fail = (error: Error) => {
      leave();
      socket.destroy();
      reject(error);
    };
    const onStop = () => fail(new NetError('stopped', 'the connection was stopped'));
    const onLate = () => fail(new NetError('unreachable', `${url.host} does not answer in time`));
    const leave = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onStop);
    };
    const timer = setTimeout(onLate, CONNECT_MS);
    signal?.addEventListener('abort', onStop, { once: true });
    // Keep this listener: an `error` event without a listener ends the process.
    socket.on('error', fail);
    socket.once('connect', () => {
      leave();
      resolve(socket);
    });
    if (signal?.aborted) onStop();
  });
}

/** A DNS lookup has neither cancellation nor a timeout: a late result is ignored. */
function untilLate<T>(work: Promise<T>, host: string, signal: AbortSignal | undefined): Promise<T> {
  const late = () => Promise.reject(new NetError('unresolved', `the name ${host} was not resolved in time: try later`));
  return untilAborted(within(work, CONNECT_MS, late), signal).catch((error: unknown) => {
    throw signal?.aborted ? new NetError('stopped', 'the connection was stopped') : error;
  });
}

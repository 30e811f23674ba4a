import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import { untilAborted, within } from '../../shared/deadline.js';
import { type AllowHosts, checkUrl, hostOf, isRefused, noPublicAddress, refuseAddress } from './check-url.js';
import type { NetFault, NetTarget } from './contract.js';
import { isUnresolved, toNetError } from './failure.js';
import { NetError, toFault } from './net-error.js';

/** All addresses of a name, as the system resolves it. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

const CONNECT_MS = 10_000;

export const systemResolve: Resolve = (name) => lookup(name, { all: true, verbatim: true });

/**
 * Connects only to the addresses that were checked. A name is resolved once, here, so it cannot be public when it is
 * checked and private when it is connected to. One refused address among several refuses the name.
 */
export function guardedConnector(
  url: URL,
  { allow, resolve, onConnected }: { allow: AllowHosts; resolve: Resolve; onConnected: () => void },
): buildConnector.connector {
  return (options, callback) => {
    checkedAddresses(url, allow, resolve).then(
      (addresses) => {
        const connect = buildConnector({ timeout: CONNECT_MS, maxCachedSessions: 0, lookup: pinned(addresses) });
        connect(options, (...[error, socket]) => {
          if (error) return callback(error, null);
          onConnected();
          callback(null, socket);
        });
      },
      (error: Error) => callback(error, null),
    );
  };
}

export async function checkedAddresses(
  url: URL,
  allow: AllowHosts,
  resolve: Resolve,
): Promise<readonly LookupAddress[]> {
  const host = hostOf(url);
  const family = isIP(host);
  if (family === 0) return namedAddresses(url, allow, resolve);
  refuseAddress(url, host, allow);
  return [{ address: host, family }];
}

/** The same error for an unknown name and a private one, so that it does not reveal which names a network has. */
async function namedAddresses(url: URL, allow: AllowHosts, resolve: Resolve): Promise<readonly LookupAddress[]> {
  const addresses = await resolve(hostOf(url)).catch((error: NodeJS.ErrnoException) => {
    if (isUnresolved(error.code ?? '')) return [];
    throw error;
  });
  const isPrivate = addresses.some(({ address }) => isRefused(url, address, allow));
  if (isPrivate || addresses.length === 0) throw noPublicAddress(url);
  return addresses;
}

type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;

function pinned(addresses: readonly LookupAddress[]) {
  return (_name: string, { all }: LookupOptions, callback: LookupCallback): void => {
    const [first] = addresses;
    if (all) callback(null, [...addresses]);
    else if (first) callback(null, first.address, first.family);
  };
}

interface Guard {
  readonly allow: AllowHosts;
  readonly resolve: Resolve;
}

/** Opens one TCP connection to a host: resolves it once, checks every address, and connects only to those. */
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

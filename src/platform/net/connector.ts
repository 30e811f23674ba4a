import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { buildConnector } from 'undici';
import { type AllowHosts, hostOf, isRefused, noPublicAddress, refuseAddress } from './check-url.js';
import { isUnresolved } from './failure.js';

/** All addresses of a name, as the system finds them. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

export const CONNECT_MS = 10_000;

export const systemResolve: Resolve = (name) => lookup(name, { all: true, verbatim: true });

/**
 * Connects to the very addresses that were checked: a name is resolved once, here, so it cannot be public when it is
 * looked at and private when it is connected to. One bad address among several refuses the name.
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
  const isShut = addresses.some(({ address }) => isRefused(url, address, allow));
  if (isShut || addresses.length === 0) throw noPublicAddress(url);
  return addresses;
}

type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;

export function pinned(addresses: readonly LookupAddress[]) {
  return (_name: string, { all }: LookupOptions, callback: LookupCallback): void => {
    const [first] = addresses;
    if (all) callback(null, [...addresses]);
    else if (first) callback(null, first.address, first.family);
  };
}

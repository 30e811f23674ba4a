import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Config } from '../config/index.js';
import type { NetRequest } from './contract.js';
import { NetError } from './net-error.js';

/** Metadata services of clouds outside the link-local range: Alibaba, Oracle, Azure, and AWS and Google over IPv6. */
const METADATA = new Set(['100.100.100.200', '192.0.0.192', '168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254']);

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

export type AllowHosts = Config['allowHosts'];

const MAX_LENGTH = 8_192;

/** Always this machine (RFC 6761), so it is checked without a DNS lookup. */
const LOCALHOST = /(^|\.)localhost\.?$/;

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** The parsed URL, if the checks that need no connection allow it. Throws NetError. */
export function checkUrl(text: string, allow: AllowHosts, { httpsOnly = false }: Pick<NetRequest, 'httpsOnly'>): URL {
  if (text.length > MAX_LENGTH) throw new NetError('bad-url', `the URL has over ${MAX_LENGTH} characters`);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw new NetError('bad-url', 'invalid URL: write the whole URL, such as https://example.com/path');
  if (DEFAULT_PORTS[url.protocol] === undefined)
    throw new NetError('bad-url', `the protocol "${url.protocol}" is not supported: use https`);
  if (url.username !== '' || url.password !== '')
    throw new NetError('bad-url', 'the URL contains a user or a password: send credentials in a header');
  if (isIP(hostOf(url)) > 0 || LOCALHOST.test(url.hostname)) refuseAddress(url, hostOf(url), allow);
  if (httpsOnly && url.protocol === 'http:' && !isOpened(url, allow))
    throw new NetError('denied', `credentials go over https only: write https://${url.host}`);
  return url;
}

/**
 * Throws when the literal address of this URL is refused. A private one is allowed when the operator opened its host.
 */
export function refuseAddress(url: URL, address: string, allow: AllowHosts): void {
  if (!isRefused(url, address, allow)) return;
  throw new NetError(
    'denied',
    rangeOf(address) === 'metadata'
      ? `${url.hostname} is a link-local or cloud metadata address, which is always refused`
      : `${url.hostname} is a private address, which is refused: ${howToOpen(url)}`,
  );
}

/** True if a connection to this address is refused for that URL. */
export function isRefused(url: URL, address: string, allow: AllowHosts): boolean {
  const range = rangeOf(address);
  return range === 'metadata' || (range === 'private' && !isOpened(url, allow));
}

/** The refusal of a host name. The same whether the name does not resolve or resolves to a refused address. */
export function noPublicAddress(url: URL): NetError {
  return new NetError(
    'unresolved',
    `${url.hostname} has no public address: correct the name, or try later; for a private one, ${howToOpen(url)}`,
  );
}

function howToOpen(url: URL): string {
  return `the operator can open it with SERVICE_ALLOW_HOSTS=${url.hostname}:${portOf(url)}`;
}

/** The host without the brackets of an IPv6 literal, as the system expects it. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

function portOf(url: URL): number {
  return url.port === '' ? (DEFAULT_PORTS[url.protocol] ?? 0) : Number(url.port);
}

function isOpened(url: URL, allow: AllowHosts): boolean {
  return allow.some(({ host, port }) => host === url.hostname && (port === null || port === portOf(url)));
}

/** `metadata` is always refused, since it hands out the machine's own credentials. */
type AddressRange = 'public' | 'private' | 'metadata';

/** The range of a literal address, by the registries of RFC 6890. Anything not clearly public counts as private. */
function rangeOf(address: string): AddressRange {
  // A zone (`fe80::1%eth0`) only names the interface.
  const literal = address.replace(/%.*$/, '');
  return ipaddr.isValid(literal) ? rangeOfParsed(ipaddr.parse(literal)) : 'private';
}

function rangeOfParsed(address: ipaddr.IPv4 | ipaddr.IPv6): AddressRange {
  if (METADATA.has(address.toString()) || address.range() === 'linkLocal') return 'metadata';
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast' ? 'public' : 'private';
  const inner = innerAddress(address);
  if (inner) return rangeOfParsed(inner);
  return address.range() === 'unicast' && address.match(GLOBAL_UNICAST) ? 'public' : 'private';
}

/** The IPv4 address that the system really connects to: mapped (RFC 4291), or behind NAT64 (RFC 6052). */
function innerAddress(address: ipaddr.IPv6): ipaddr.IPv4 | null {
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return address.match(NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : null;
}

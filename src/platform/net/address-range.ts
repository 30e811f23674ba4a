import ipaddr from 'ipaddr.js';

/** `metadata` stays shut whatever the operator opens: it hands out the credentials of the machine itself. */
export type AddressRange = 'public' | 'private' | 'metadata';

/** Where clouds answer machines, beside the link-local range: Alibaba, Oracle, Azure, AWS and Google over IPv6. */
const METADATA = new Set(['100.100.100.200', '192.0.0.192', '168.63.129.16', 'fd00:ec2::254', 'fd20:ce::254']);
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** The range of a literal address, by the registries of RFC 6890. What is not plainly public counts as private. */
export function rangeOf(address: string): AddressRange {
  // A zone (`fe80::1%eth0`) only says by which interface.
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

/** The IPv4 address that the system connects to in truth: mapped (RFC 4291), or by a NAT64 (RFC 6052). */
function innerAddress(address: ipaddr.IPv6): ipaddr.IPv4 | null {
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return address.match(NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : null;
}

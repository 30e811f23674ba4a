/** Ports of a host that is named without one: those of https and http. */
const WEB_PORTS = [443, 80];

export interface Destination {
  /** As a URL spells it: lower case, Punycode, an IPv4 address in four parts. */
  readonly host: string;
  readonly port: number;
}

/** A destination in canonical form for comparison; null for an invalid one. */
export function parseDestination(authority: string, defaultPort: number): Destination | null {
  if (authority.length > 300 || !/^[^\s/?#@\\]+$/.test(authority)) return null;
  const text = `http://${authority}`;
  if (!URL.canParse(text)) return null;
  const { hostname, port } = new URL(text);
  // A URL leaves out the port that is its scheme's.
  const isPort80 = port === '' && /:0*80$/.test(authority);
  return { host: hostname.replace(/\.$/, ''), port: port === '' ? (isPort80 ? 80 : defaultPort) : Number(port) };
}

/** Whether a list such as `api.example.com`, `*.example.com`, `db.example.com:5432` opens it. `*.` is any depth below, and not the name itself. */
export function isAllowed(list: readonly string[], { host, port }: Destination): boolean {
  return list.some((entry) => {
    const [, name = '', digits] = /^(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? [];
    const isPort = digits === undefined ? WEB_PORTS.includes(port) : Number(digits) === port;
    return isPort && (name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === spelled(name));
  });
}

function spelled(name: string): string {
  return URL.canParse(`http://${name}`) ? new URL(`http://${name}`).hostname : name;
}

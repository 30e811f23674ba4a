interface Reached {
  readonly publicUrl: string | null;
  readonly host: string;
  readonly port: number;
}

/** The host in local links when the service listens on all addresses. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** The service's base URL: the public address, or else the listening address, which works on this machine only. */
export function baseUrlOf({ publicUrl, host, port }: Reached): string {
  if (publicUrl !== null) return publicUrl;
  const name = LOOPBACK[host] ?? host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

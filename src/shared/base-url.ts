interface Reached {
  readonly publicUrl: string | null;
  readonly host: string;
  readonly port: number;
}

/** The name of this machine for whoever sits at it, where a service listens on all of its addresses. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Where the service is reached. Without a public address it is the listening one, good for whoever is on this machine. */
export function baseUrlOf({ publicUrl, host, port }: Reached): string {
  if (publicUrl !== null) return publicUrl;
  const name = LOOPBACK[host] ?? host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

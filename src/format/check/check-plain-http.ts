import type { ReadServer } from '../parse/keys/server-keys.js';
import type { ReadFile } from '../parse/read-file.js';
import type { Found } from '../resolve/catalog.js';
import { placeholdersIn, secretTexts, toolSecrets } from '../resolve/secrets-of.js';
import type { Report } from './report.js';

/** Null when they are not known, which silences the check. */
export type OpenHosts = readonly { readonly host: string; readonly port: number | null }[] | null;

/** Every call would be refused: a secret goes over plain http only to hosts that the operator opened. */
export function checkPlainHttp(tool: Found<'tool'>, openHosts: OpenHosts, report: Report): void {
  const { values, at } = tool.model.keys;
  const offset = at(values.url === undefined ? 'base' : 'url');
  const secrets = toolSecrets(tool);
  reportPlain({ file: tool, offset, address: values.url ?? values.base, secrets }, openHosts, report);
}

/** The same of a server in .mcp.json or in an agent's file. */
export function checkPlainServer(
  { file, server }: { readonly file: ReadFile; readonly server: ReadServer },
  openHosts: OpenHosts,
  report: Report,
): void {
  const secrets = placeholdersIn(secretTexts(server));
  reportPlain({ file, offset: server.offset, address: server.url, secrets }, openHosts, report);
}

interface Sent {
  readonly file: ReadFile;
  readonly offset: number;
  readonly address: string | undefined;
  readonly secrets: readonly string[];
}

function reportPlain({ file, offset, address = '', secrets }: Sent, openHosts: OpenHosts, report: Report): void {
  const [secret] = secrets;
  if (openHosts === null || secret === undefined || !/^http:/i.test(address)) return;
  // If a secret is a part of the host, the host is unknown.
  if (/^http:\/\/[^/?#]*\$\{/i.test(address) || !URL.canParse(address)) return;
  const { hostname, host, port } = new URL(address);
  const asked = port === '' ? 80 : Number(port);
  if (openHosts.some((open) => open.host === hostname && (open.port === null || open.port === asked))) return;
  const message = `The secret \`${secret}\` would go over plain http, which every call refuses.`;
  const hint = `Write \`https://${host}\`, or have the operator open the host with SERVICE_ALLOW_HOSTS.`;
  report(file, offset, { code: 'secret/plain-http', message, hint });
}

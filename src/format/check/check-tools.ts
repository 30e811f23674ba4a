import { extname } from 'node:path';
import { findInterpreter, KNOWN_LANGUAGES } from '../../shared/interpreters.js';
import type { ReadServer } from '../parse/keys/server-keys.js';
import type { ReadFile } from '../parse/read-file.js';
import { type Catalog, type Found, LIBRARY } from '../resolve/catalog.js';
import { placeholdersIn, secretTexts, toolSecrets } from '../resolve/secrets-of.js';
import { programPath, resolveBeside } from '../resolve/tool-files.js';
import type { Report } from './report.js';
import { toolDocument } from './tool-operations.js';

const SECRET = /\$\{[A-Za-z_][A-Za-z0-9_]*\}/g;

const HINT = `Write it in ${KNOWN_LANGUAGES}, or name a file that begins with a \`#!\` line in \`run:\`.`;

/** Checks the files that tools name, and secrets in plain text. */
export function checkTools(catalog: Catalog, openHosts: OpenHosts, report: Report): void {
  for (const tool of catalog.tools.values()) {
    checkProgram(catalog, tool, report);
    checkHttp(catalog, tool, report);
    checkPlainHttp(tool, openHosts, report);
    const { values, at } = tool.model.keys;
    reportLiterals(report, { file: tool, offset: at('headers'), texts: values.headers });
    reportLiterals(report, { file: tool, offset: at('env'), texts: values.env });
    reportLiterals(report, {
      file: tool,
      offset: at(values.url === undefined ? 'base' : 'url'),
      texts: { url: values.url ?? values.base ?? '' },
    });
  }
  const check = (file: ReadFile, servers: readonly ReadServer[]) => {
    checkServers(file, servers, report);
    for (const server of servers) checkPlainServer({ file, server }, openHosts, report);
  };
  if (catalog.servers) check(catalog.servers, catalog.servers.model.servers);
  for (const agent of catalog.agents.values()) check(agent, agent.model.keys.values.mcpServers?.inline ?? []);
}

function checkServers(file: ReadFile, servers: readonly ReadServer[], report: Report): void {
  for (const { headers, env, url, offset } of servers) {
    reportLiterals(report, { file, offset, texts: { ...headers, ...env, ...(url === undefined ? {} : { url }) } });
  }
}

function checkProgram(catalog: Catalog, tool: Found<'tool'>, report: Report): void {
  const run = tool.model.keys.values.run;
  if (tool.model.transport !== 'script') return;
  if (run === undefined) {
    checkLanguage(tool, report);
    return;
  }
  const path = programPath(tool);
  const folder = tool.source.path.slice(0, tool.source.path.lastIndexOf('/') + 1);
  const isShared = run.name.startsWith(`${LIBRARY}scripts/`);
  const program = path === undefined || !(isShared || path.startsWith(folder)) ? undefined : catalog.files.get(path);
  if (program) {
    checkStart(tool, { name: run.name, offset: run.offset, content: program.content }, report);
    return;
  }
  const where = isShared ? 'in the account’s library' : 'beside this file';
  const message = `\`run\`: there is no program \`${run.name}\` ${where}.`;
  const hint = 'The path is relative to the tool’s file; `library/scripts/<file>` is the account’s.';
  report(tool, run.offset, { code: 'tool/bad-value', message, hint });
}

/** Names whose values are credentials, and the shapes of well-known ones. */
const CREDENTIAL = /authorization|token|secret|api[-_]?key|password|cookie|credential/i;

const KNOWN_SHAPE =
  /\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,})|-----BEGIN|:\/\/[^\s/:@]+:[^\s/@]+@|[?&](?:token|key|api_?key|secret)=[^&\s$]{8,}/i;

interface Texts {
  readonly file: ReadFile;
  readonly offset: number;
  readonly texts: Readonly<Record<string, string>> | undefined;
}

function reportLiterals(report: Report, { file, offset, texts = {} }: Texts): void {
  for (const [name, value] of Object.entries(texts)) {
    const isCredential = CREDENTIAL.test(name) && value.length >= 8;
    if (value.includes('${') || !(isCredential || KNOWN_SHAPE.test(value))) continue;
    const message = `\`${name}\` looks like a secret in the open.`;
    const hint = 'Store it as a secret and write `${ITS_NAME}` here.';
    report(file, offset, { code: 'secret/literal', severity: 'warning', message, hint });
  }
}

/** The language of a script tool's code block selects the interpreter. With an unknown one, each call would fail. */
function checkLanguage(tool: Found<'tool'>, report: Report): void {
  const { program } = tool.model;
  if (program === undefined || findInterpreter(program.language) !== null) return;
  const what = program.language === '' ? 'A code block without a language' : `A code block of \`${program.language}\``;
  report(tool, 0, { code: 'tool/bad-value', message: `${what} cannot be run.`, hint: HINT });
}

/** The same for a file: by its extension, or its first line. */
function checkStart(
  tool: Found<'tool'>,
  { name, offset, content }: { readonly name: string; readonly offset: number; readonly content: Uint8Array },
  report: Report,
): void {
  if (findInterpreter(extname(name).slice(1)) !== null || (content[0] === 0x23 && content[1] === 0x21)) return;
  report(tool, offset, { code: 'tool/bad-value', message: `\`run\`: \`${name}\` cannot be run.`, hint: HINT });
}

/** Null when unknown, which disables the check. */
type OpenHosts = readonly { readonly host: string; readonly port: number | null }[] | null;

/**
 * Reports a tool whose every call would be refused: it would send a secret over plain http to a host that the operator
 * did not open.
 */
function checkPlainHttp(tool: Found<'tool'>, openHosts: OpenHosts, report: Report): void {
  const { values, at } = tool.model.keys;
  const offset = at(values.url === undefined ? 'base' : 'url');
  const secrets = toolSecrets(tool);
  reportPlain({ file: tool, offset, address: values.url ?? values.base, secrets }, openHosts, report);
}

/** The same for a server in .mcp.json or in an agent's file. */
function checkPlainServer(
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
  // If a secret is part of the host, the host is unknown.
  if (/^http:\/\/[^/?#]*\$\{/i.test(address) || !URL.canParse(address)) return;
  const { hostname, host, port } = new URL(address);
  const asked = port === '' ? 80 : Number(port);
  if (openHosts.some((open) => open.host === hostname && (open.port === null || open.port === asked))) return;
  const message = `The secret \`${secret}\` would go over plain http, which every call refuses.`;
  const hint = `Write \`https://${host}\`, or have the operator open the host with SERVICE_ALLOW_HOSTS.`;
  report(file, offset, { code: 'secret/plain-http', message, hint });
}

/** Checks the address of an http tool, and the document beside it. */
function checkHttp(catalog: Catalog, tool: Found<'tool'>, report: Report): void {
  if (tool.model.transport !== 'http') return;
  checkBase(tool, report);
  checkOpenapi(catalog, tool, report);
}

function checkBase(tool: Found<'tool'>, report: Report): void {
  const { base } = tool.model.keys.values;
  if (base === undefined) return;
  const fault = baseFault(base);
  if (fault === null) return;
  report(tool, tool.model.keys.at('base'), { code: 'tool/bad-value', ...fault });
}

function baseFault(base: string): { readonly message: string; readonly hint: string } | null {
  const plain = base.replace(SECRET, 'x');
  const url = URL.canParse(plain) ? new URL(plain) : null;
  const say = (message: string, hint: string) => ({ message: `\`base\`: ${message}`, hint });
  if (url === null) return say('This is not a valid URL.', 'Write it whole, such as `https://api.example.com/v1`.');
  if (url.username !== '' || url.password !== '')
    return say('It holds a user or a password.', 'Send them in `headers:`, as `${SECRET}`.');
  if (url.hash !== '') return say('It has a `#`, which no server sees.', 'Leave that part out.');
  if (/\.\.|%2e%2e/i.test(plain)) return say('It has a `..`.', 'Write the path as it is.');
  return null;
}

function checkOpenapi(catalog: Catalog, tool: Found<'tool'>, report: Report): void {
  const { openapi } = tool.model.keys.values;
  if (openapi === undefined || /^https?:\/\//.test(openapi.name)) return;
  const fault = openapiFault(catalog, tool, openapi.name);
  if (fault === null) return;
  report(tool, openapi.offset, { code: 'tool/bad-value', ...fault, message: `\`openapi\`: ${fault.message}` });
}

interface Fault {
  readonly message: string;
  readonly hint?: string;
}

function openapiFault(catalog: Catalog, tool: Found<'tool'>, name: string): Fault | null {
  const { methods = ['GET', 'HEAD'] } = tool.model.keys.values;
  const path = resolveBeside(tool.source.path, name);
  if (path === undefined || !catalog.files.has(path)) {
    const hint = 'Give its address, or a path relative to the tool’s file.';
    return { message: `there is no file \`${name}\` beside this file.`, hint };
  }
  const document = toolDocument(catalog, tool);
  if (document === null) return null;
  if (document.kind === 'fault') return { message: `\`${name}\` ${document.message}.` };
  const allowed = new Set<string>(methods);
  if (!document.isOpen && ![...document.operations.values()].some((method) => allowed.has(method))) {
    const hint = 'Allow those that it needs in `methods:`.';
    return { message: `\`${name}\` has no operation of the methods ${methods.join(', ')}.`, hint };
  }
  if (tool.model.keys.may('base') || document.hasServer) return null;
  return { message: 'the document names no server.', hint: 'Give the tool a `base:`.' };
}

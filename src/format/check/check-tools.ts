import type { ReadServer } from '../parse/keys/server-keys.js';
import type { ReadFile } from '../parse/read-file.js';
import { type Catalog, type Found, LIBRARY } from '../resolve/catalog.js';
import { programPath } from '../resolve/tool-files.js';
import { checkHttp } from './check-http.js';
import { checkPlainHttp, checkPlainServer, type OpenHosts } from './check-plain-http.js';
import { checkLanguage, checkStart } from './check-program.js';
import type { Report } from './report.js';

/** The files that tools name, and secrets in plain text. */
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

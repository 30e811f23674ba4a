import type { Catalog, Found } from '../resolve/catalog.js';
import { resolveBeside } from '../resolve/tool-files.js';
import type { Report } from './report.js';
import { toolDocument } from './tool-operations.js';

/** The address of an http tool, and the document beside it. */
export function checkHttp(catalog: Catalog, tool: Found<'tool'>, report: Report): void {
  if (tool.model.transport !== 'http') return;
  checkBase(tool, report);
  checkOpenapi(catalog, tool, report);
}

const SECRET = /\$\{[A-Za-z_][A-Za-z0-9_]*\}/g;

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

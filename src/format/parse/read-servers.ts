import { didYouMean } from '../../shared/closest.js';
import { readYaml } from '../yaml/read-yaml.js';
import { type ReadServer, servers } from './keys/server-keys.js';
import { mayHaveKey } from './nested-keys.js';
import type { Fail } from './reader.js';
import { type Findings, report } from './source.js';

/** .mcp.json: the servers that agents name. */
export interface ReadMcpJson {
  readonly kind: 'servers';
  readonly servers: readonly ReadServer[];
}

/** Reads JSON as YAML, which gives offsets. Only JSON syntax is accepted. */
export function readMcpJson(findings: Findings): ReadMcpJson {
  const fault = jsonFault(findings.source.text);
  if (fault !== undefined) {
    report(findings, 0, { code: 'yaml/syntax', message: `The file is not valid JSON: ${fault}.` });
    return { kind: 'servers', servers: [] };
  }
  const { node, faults } = readYaml(findings.source.text);
  for (const { offset, ...fault } of faults) report(findings, offset, fault);
  const fail: Fail = (offset, message, hint) => {
    report(findings, offset, { code: 'tool/bad-value', message, hint });
    return undefined;
  };
  if (faults.length > 0) return { kind: 'servers', servers: [] };
  const entry = node?.entries?.get('mcpServers');
  if (!entry && !(node && mayHaveKey(node, 'mcpServers'))) fail(0, 'This must be `{ "mcpServers": { … } }`.');
  for (const { key, offset } of node?.entries?.values() ?? []) {
    if (key !== 'mcpServers')
      report(findings, offset, {
        code: 'tool/unknown-key',
        message: `There is no key \`${key}\` here.`,
        hint: didYouMean(key, ['mcpServers']),
      });
  }
  return { kind: 'servers', servers: entry ? (servers.read(entry.node, fail) ?? []) : [] };
}

function jsonFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

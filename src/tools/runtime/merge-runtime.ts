import { isInterpreterVersion, type PackageManager, parsePackage } from '../../format/values/packages.js';
import { isRecord, type JsonObject } from '../../shared/json.js';

/** What a program needs besides the machine's own software. Packages are sorted, so that equal needs compare equal. */
export interface Runtime {
  readonly python: string | null;
  readonly node: string | null;
  readonly pip: readonly string[];
  readonly npm: readonly string[];
}

/**
 * Merges the runtimes of AGENTS.md, the agent and the tool: the most specific version of an interpreter wins, and
 * packages add up. Returns a sentence for an invalid or ambiguous one.
 */
export function mergeRuntime(runtimes: readonly JsonObject[]): Runtime | string {
  const python = lastOf(runtimes, 'python');
  const node = lastOf(runtimes, 'node');
  const bad = [python, node].find((version) => version !== null && !isInterpreterVersion(version));
  if (bad !== undefined) return `runtime: invalid version "${bad}"; an example is "3.12"`;
  const packages: Record<PackageManager, Set<string>> = { pip: new Set(), npm: new Set() };
  for (const name of runtimes.flatMap(({ packages: list }) => (Array.isArray(list) ? list.map(String) : []))) {
    const wish = parsePackage(name);
    if (wish === null) return `runtime: invalid package name "${name}"`;
    const manager = wish.manager ?? only(python, node);
    if (manager === null)
      return `runtime: the package "${name}" may be of pip or npm: write pip:${wish.spec} or npm:${wish.spec}`;
    packages[manager].add(wish.spec);
  }
  return { python, node, pip: [...packages.pip].sort(), npm: [...packages.npm].sort() };
}

function lastOf(runtimes: readonly JsonObject[], key: 'python' | 'node'): string | null {
  const named = runtimes.flatMap((runtime) => (isRecord(runtime) && runtime[key] !== undefined ? [runtime[key]] : []));
  const last = named.at(-1);
  return last === undefined ? null : String(last);
}

function only(python: string | null, node: string | null): PackageManager | null {
  if ((python === null) === (node === null)) return null;
  return python === null ? 'npm' : 'pip';
}

import { stepsOf } from '../parse/flow-model.js';
import type { ReadFile } from '../parse/read-file.js';
import type { Ref } from '../parse/reader.js';
import { type Catalog, type Found, nearestIn } from '../resolve/catalog.js';
import { agentsReachedFrom } from '../resolve/reach.js';
import { placeholdersIn, secretTexts, toolSecrets } from '../resolve/secrets-of.js';
import type { Report } from './report.js';
import { toolOf } from './tool-names.js';

/** A secret that a granted tool needs: `${NAME}` in its file or in a server's entry. */
interface Need {
  readonly secret: string;
  readonly tool: string;
  readonly offset: number;
}

/** One use of an agent: the secrets that the step and the flow add to its own. */
interface Use {
  readonly file: ReadFile;
  readonly offset: number;
  readonly granted: ReadonlySet<string>;
  readonly tools: readonly string[] | undefined;
  /** The granting key is misspelt, so its grants are unknown. */
  readonly isUnclear: boolean;
}

/** `secret/not-granted`: a tool needs a secret that neither its agent, the step nor the flow names. */
export function checkGrants(catalog: Catalog, report: Report): void {
  const uses = usesOf(catalog);
  for (const agent of catalog.agents.values()) {
    const own = new Set((agent.model.keys.values.secrets ?? []).map(({ name }) => name));
    if (agent.model.keys.misspelt('secrets')) continue;
    const missing = needsOf(catalog, agent).filter(({ secret }) => !own.has(secret));
    const used = uses.get(agent.model.name) ?? [];
    for (const need of missing) {
      const bare = used.filter(
        (use) => !use.isUnclear && !use.granted.has(need.secret) && (use.tools?.includes(need.tool) ?? true),
      );
      const message = `The tool \`${need.tool}\` of \`@${agent.model.name}\` needs the secret \`${need.secret}\`, which nothing here grants.`;
      const hint = `Name it in \`secrets:\` of the agent, of the step or of the flow.`;
      const fault = { code: 'secret/not-granted', message, hint };
      // If no use of the agent grants it, report it in the agent's own file.
      if (bare.length === used.length) report(agent, need.offset, fault);
      else for (const use of bare) report(use.file, use.offset, fault);
    }
  }
}

function needsOf(catalog: Catalog, agent: Found<'agent'>): Need[] {
  const { tools = [], mcpServers } = agent.model.keys.values;
  const needs: Need[] = [];
  const add = (secrets: readonly string[], tool: string, offset: number) => {
    for (const secret of secrets) needs.push({ secret, tool, offset });
  };
  for (const server of mcpServers?.inline ?? []) add(placeholdersIn(secretTexts(server)), server.name, server.offset);
  for (const { name: grant, offset } of [...tools, ...(mcpServers?.named ?? [])]) {
    const name = toolOf(grant);
    const tool = nearestIn(catalog.tools, agent.model.name, name);
    const server = catalog.servers?.model.servers.find((entry) => entry.name === name);
    if (tool) add(toolSecrets(tool), name, offset);
    else if (server) add(placeholdersIn(secretTexts(server)), name, offset);
  }
  return needs;
}

function usesOf(catalog: Catalog): Map<string, Use[]> {
  const uses = new Map<string, Use[]>();
  for (const flow of catalog.flows.values()) {
    const flowSecrets = names(flow.model.keys.values.secrets);
    for (const { agent, options } of stepsOf(flow.model.nodes)) {
      if (!agent) continue;
      const granted = new Set([...flowSecrets, ...names(options.values.secrets)]);
      const isUnclear = [flow.model.keys, options].some((keys) => keys.misspelt('secrets') !== undefined);
      for (const name of agentsReachedFrom(catalog, [agent.name])) {
        const tools = name === agent.name ? options.values.tools?.map((tool) => toolOf(tool.name)) : undefined;
        const known = uses.get(name) ?? [];
        known.push({ file: flow, offset: agent.offset, granted, tools, isUnclear });
        uses.set(name, known);
      }
    }
  }
  return uses;
}

function names(refs: readonly Ref[] = []): string[] {
  return refs.map(({ name }) => name);
}

/** `ref/secret`: reports secrets that no vault in reach has. */
export function checkSecretNames(catalog: Catalog, known: readonly string[] | null, report: Report): void {
  if (known === null) return;
  const vault = new Set(known);
  const check = (file: ReadFile, refs: readonly Ref[]) => {
    for (const { name, offset } of refs) {
      if (vault.has(name)) continue;
      const message = `No vault in reach holds the secret \`${name}\`.`;
      report(file, offset, {
        code: 'ref/secret',
        severity: 'warning',
        message,
        hint: 'Store it before the first run.',
      });
    }
  };
  for (const agent of catalog.agents.values()) check(agent, agent.model.keys.values.secrets ?? []);
  for (const flow of catalog.flows.values()) {
    const { secrets = [], signing_secret } = flow.model.keys.values;
    check(flow, [...secrets, ...(signing_secret ? [signing_secret] : [])]);
    for (const { options } of stepsOf(flow.model.nodes)) check(flow, options.values.secrets ?? []);
  }
}

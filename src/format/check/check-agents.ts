import { didYouMean } from '../../shared/closest.js';
import type { Ref } from '../parse/reader.js';
import { type Catalog, type Found, reachableIn } from '../resolve/catalog.js';
import { findPinned } from '../resolve/documents.js';
import { checkOperation } from './check-operation.js';
import type { Report } from './report.js';
import { BUILTIN_NAMES, grantableNames, grantedNames, grantsAreClear, toolOf } from './tool-names.js';

/** Tools of Claude Code that do not exist here. An agent may disallow them. */
const FOREIGN_TOOLS: ReadonlySet<string> = new Set([
  'Agent',
  'AskUserQuestion',
  'LS',
  'MultiEdit',
  'NotebookEdit',
  'NotebookRead',
  'Skill',
  'Task',
  'TodoWrite',
  'WebFetch',
  'WebSearch',
]);

/** Checks the names in an agent's file: tools, servers, skills, documents, other agents. */
export function checkAgents(catalog: Catalog, report: Report): void {
  for (const agent of catalog.agents.values()) {
    checkTools(catalog, agent, report);
    checkSkills(catalog, agent, report);
    checkPins(catalog, agent, report);
    for (const ref of agent.model.keys.values.agents ?? []) checkAgent(catalog, { file: agent, ref }, report);
  }
}

export function checkAgent(
  catalog: Catalog,
  { file, ref }: { readonly file: Found<'agent'> | Found<'flow'> | Found<'eval'>; readonly ref: Ref },
  report: Report,
): void {
  if (catalog.agents.has(ref.name)) return;
  const hint = () => didYouMean(ref.name, catalog.agents.keys()) ?? `Add \`agents/${ref.name}.md\`.`;
  report(file, ref.offset, { code: 'ref/agent', message: `There is no agent \`${ref.name}\`.`, hint });
}

function checkTools(catalog: Catalog, agent: Found<'agent'>, report: Report): void {
  const { values } = agent.model.keys;
  const grantable = grantableNames(catalog, agent.model);
  const granted = grantedNames(agent.model);
  const check = (ref: Ref, known: ReadonlySet<string>, sentence: string) => {
    if (known.has(toolOf(ref.name)))
      return checkOperation({ catalog, agent: agent.model.name }, { file: agent, ref }, report);
    report(agent, ref.offset, { code: 'ref/tool', message: sentence, hint: () => didYouMean(toolOf(ref.name), known) });
  };
  const serversAreClear = agent.model.keys.misspelt('mcpServers') === undefined;
  for (const ref of serversAreClear ? (values.tools ?? []) : []) {
    check(ref, grantable, `There is no tool \`${ref.name}\`: no file of tools/, no MCP server and no built-in.`);
  }
  const servers = new Set((catalog.servers?.model.servers ?? []).map(({ name }) => name));
  for (const ref of values.mcpServers?.named ?? []) check(ref, servers, `.mcp.json has no server \`${ref.name}\`.`);
  const builtins = new Set([...BUILTIN_NAMES, ...FOREIGN_TOOLS]);
  for (const ref of values.disallowedTools ?? []) {
    check(ref, new Set([...builtins, ...grantable]), `There is no tool \`${ref.name}\` to turn off.`);
  }
  for (const ref of grantsAreClear(agent.model) ? (values.approve ?? []) : []) {
    check(ref, granted, `\`approve\`: this agent has no tool \`${ref.name}\`.`);
  }
}

function checkSkills(catalog: Catalog, agent: Found<'agent'>, report: Report): void {
  const wanted = agent.model.keys.values.skills ?? [];
  if (wanted.length === 0) return;
  const known = reachableIn(catalog.skills, agent.model.name);
  for (const { name, offset } of wanted) {
    if (known.has(name)) continue;
    const hint = () => didYouMean(name, known.keys()) ?? `Add \`skills/${name}/SKILL.md\`.`;
    report(agent, offset, { code: 'ref/skill', message: `There is no skill \`${name}\`.`, hint });
  }
}

function checkPins(catalog: Catalog, agent: Found<'agent'>, report: Report): void {
  for (const { name, offset } of agent.model.keys.values.knowledge ?? []) {
    if (findPinned(catalog, agent.model.name, name)) continue;
    const known = () =>
      [...catalog.documents.keys()].flatMap((path) => /(?:^|\/)knowledge\/(.+)\.md$/.exec(path)?.[1] ?? []);
    const hint = () => didYouMean(name, known());
    report(agent, offset, { code: 'ref/document', message: `There is no \`knowledge/${name}.md\` to pin.`, hint });
  }
}

import { printYaml } from '../edit/print-yaml.js';
import { readMemory } from './read-memory.js';

export interface MemoryStamp {
  /** ISO 8601, UTC. */
  readonly updated: string;
  /** The agent's name. */
  readonly by: string;
  /** The run's id. */
  readonly run: string;
}

/**
 * A memory file as the service stores it: the agent's text under frontmatter with the description, the time, the agent
 * and the run. Without a new description the old one stays. No description is invented, since an exact edit of the text
 * would match it too. Null when nothing has changed; `refused` is the sentence for the agent.
 */
export function stampMemory(
  text: string,
  before: string | null,
  stamp: MemoryStamp,
): { readonly text: string } | { readonly refused: string } | null {
  const given = readMemory(text);
  if (typeof given === 'string') return { refused: given };
  const old = before === null ? null : readMemory(before);
  const known = old === null || typeof old === 'string' ? null : old;
  const description = given.description ?? known?.description ?? null;
  if (known !== null && known.body === given.body && known.description === description) return null;
  const lines = [
    ...(description === null ? [] : [`description: ${printYaml(description)}`]),
    `updated: ${printYaml(stamp.updated)}`,
    `by: ${printYaml(stamp.by)}`,
    `run: ${printYaml(stamp.run)}`,
  ];
  return { text: `---\n${lines.join('\n')}\n---\n\n${given.body}` };
}

import type { AgentPlan } from '../../format/model.js';

/**
 * The Agent Skills format limits a description to 1,024 characters. Longer ones are cut, and all are shortened when
 * there are many skills.
 */
const LONGEST = 1_024;
const SHORTEST = 120;
const ALL = 24_000;

/** Names and descriptions only: the model reads a skill's text when a task matches it. */
export function skillIndex(skills: AgentPlan['skills']): string {
  if (skills.length === 0) return '';
  const longest = Math.max(SHORTEST, Math.min(LONGEST, Math.floor(ALL / skills.length)));
  const lines = skills.map(({ name, description }) => `- ${name}: ${cut(description.replace(/\s+/g, ' '), longest)}`);
  return `Skills (call load_skill with the name when a task matches, before you begin):\n${lines.join('\n')}`;
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).trimEnd()}…`;
}

import { BadArgument } from './arguments.js';
import type { ToolContext } from './contract.js';

const PLACEHOLDER = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/**
 * A tool's texts with each `${NAME}` replaced by what the step may use under that name. Throws BadArgument with a
 * sentence for the model when it may not, and a Refusal when a value cannot be had.
 */
export async function fillSecrets(
  tool: string,
  texts: Readonly<Record<string, string>>,
  { secrets }: Pick<ToolContext, 'secrets'>,
  encode: (value: string) => string = (value) => value,
): Promise<Record<string, string>> {
  const values = new Map<string, string>();
  const names = new Set(
    Object.values(texts).flatMap((text) => [...text.matchAll(PLACEHOLDER)].map(([, name]) => name)),
  );
  for (const name of names) {
    if (name === undefined) continue;
    const value = await secrets.value(name);
    if (value === null) throw new BadArgument(notGranted(tool, name));
    values.set(name, encode(value));
  }
  const fill = (text: string) => text.replace(PLACEHOLDER, (whole, name: string) => values.get(name) ?? whole);
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, fill(text)]));
}

export function notGranted(tool: string, secret: string): string {
  return `tool ${tool} needs the secret ${secret}, which this step may not use: name it in secrets: of the agent, the step or the flow`;
}

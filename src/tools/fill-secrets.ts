import { BadArgument } from './arguments.js';
import type { StepSecrets, ToolContext } from './contract.js';

const PLACEHOLDER = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

interface Filling {
  /** The tool's name, for the error. */
  readonly tool: string;
  readonly secrets: StepSecrets;
  /** Encodes a secret for the text. */
  readonly write: (name: string, secret: string) => string;
}

/** A tool's text with each `${NAME}` replaced by the step's secret of that name; see grantedSecret. */
export async function fillText(text: string, { tool, secrets, write }: Filling): Promise<string> {
  const values = new Map<string, string>();
  for (const [, name = ''] of text.matchAll(PLACEHOLDER)) {
    if (!values.has(name)) values.set(name, write(name, await grantedSecret(tool, secrets, name)));
  }
  return text.replace(PLACEHOLDER, (whole, name: string) => values.get(name) ?? whole);
}

/**
 * The secret's value. Throws BadArgument with a sentence for the model when the step may not use it, and a Refusal when
 * it is unavailable.
 */
export async function grantedSecret(tool: string, secrets: StepSecrets, name: string): Promise<string> {
  const value = await secrets.value(name);
  if (value !== null) return value;
  throw new BadArgument(
    `tool ${tool} needs the secret ${name}, which this step may not use: name it in secrets: of the agent, the step or the flow`,
  );
}

/** Fills each of a tool's texts, see fillText. */
export async function fillSecrets(
  tool: string,
  texts: Readonly<Record<string, string>>,
  { secrets }: Pick<ToolContext, 'secrets'>,
  encode: (value: string) => string = (value) => value,
): Promise<Record<string, string>> {
  const filled: Record<string, string> = {};
  for (const [key, text] of Object.entries(texts))
    filled[key] = await fillText(text, { tool, secrets, write: (_name, secret) => encode(secret) });
  return filled;
}

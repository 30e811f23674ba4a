import type { HttpToolPlan } from '../../workspace/model.js';
import { BadArgument } from '../arguments.js';
import type { StepSecrets } from '../contract.js';

const PLACEHOLDER = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
/** What a header's value may hold (RFC 9110, 5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The tool's headers with their secrets put in. One that is not granted, or that no header can carry, is named. */
export async function fillSecrets(
  tool: Pick<HttpToolPlan, 'name' | 'headers'>,
  secrets: StepSecrets,
): Promise<Readonly<Record<string, string>>> {
  const filled = await Promise.all(
    Object.entries(tool.headers).map(async ([header, text]) => {
      const value = await fill(tool, text, secrets, (name, secret) => {
        if (VALUE.test(secret)) return secret;
        throw new BadArgument(
          `the secret ${name} has a line break or another character that the header ${header} cannot carry: store it anew without`,
        );
      });
      return [header, value.trim()] as const;
    }),
  );
  return Object.fromEntries(filled);
}

/** The base with its secrets put in: each stays one part of the address, whatever it holds. */
export function fillBase(tool: Pick<HttpToolPlan, 'name'>, base: string, secrets: StepSecrets): Promise<string> {
  // In one of the forms in which a secret is known again.
  return fill(tool, base, secrets, (_name, secret) =>
    /^[A-Za-z0-9\-._~:!$'()*+,;]*$/.test(secret) ? secret : encodeURIComponent(secret),
  );
}

async function fill(
  { name: tool }: Pick<HttpToolPlan, 'name'>,
  text: string,
  secrets: StepSecrets,
  write: (name: string, secret: string) => string,
): Promise<string> {
  const values = new Map<string, string>();
  for (const [, name = ''] of text.matchAll(PLACEHOLDER)) {
    const secret = await secrets.value(name);
    if (secret === null) {
      throw new BadArgument(
        `tool ${tool} needs the secret ${name}, which this step may not use: name it in secrets: of the agent, the step or the flow`,
      );
    }
    values.set(name, write(name, secret));
  }
  return text.replace(PLACEHOLDER, (_whole, name: string) => values.get(name) ?? '');
}

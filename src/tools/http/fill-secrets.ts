import type { HttpToolPlan } from '../../format/model.js';
import { BadArgument } from '../arguments.js';
import type { StepSecrets } from '../contract.js';
import { fillText } from '../fill-secrets.js';

/** What a header's value may hold (RFC 9110, 5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The tool's headers with their secrets put in. One that is not granted, or that no header can carry, is named. */
export async function fillSecrets(
  tool: Pick<HttpToolPlan, 'name' | 'headers'>,
  secrets: StepSecrets,
): Promise<Readonly<Record<string, string>>> {
  const filled = await Promise.all(
    Object.entries(tool.headers).map(async ([header, text]) => {
      const write = (name: string, secret: string) => {
        if (VALUE.test(secret)) return secret;
        throw new BadArgument(
          `the secret ${name} has a line break or another character that the header ${header} cannot carry: store it again without`,
        );
      };
      const value = await fillText(text, { tool: tool.name, secrets, write });
      return [header, value.trim()] as const;
    }),
  );
  return Object.fromEntries(filled);
}

/** The base with its secrets put in: each stays one part of the address, whatever it holds. */
export function fillBase(tool: Pick<HttpToolPlan, 'name'>, base: string, secrets: StepSecrets): Promise<string> {
  // In one of the forms in which a secret is known again.
  const write = (_name: string, secret: string) =>
    /^[A-Za-z0-9\-._~:!$'()*+,;]*$/.test(secret) ? secret : encodeURIComponent(secret);
  return fillText(base, { tool: tool.name, secrets, write });
}

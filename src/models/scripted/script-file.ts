import { z } from 'zod';
import type { Json } from '../../shared/json.js';
import { suggestion } from '../catalogue/suggestion.js';
import { readYaml } from '../read-yaml.js';

const LONGEST = 256 * 1_024;
const ERRORS = ['overloaded', 'transient', 'refused', 'overflow'] as const;
const Tokens = z.int().min(0);

const When = z.strictObject({
  step: z.union([z.string(), z.number()]).transform(String).optional(),
  round: z.int().min(1).optional(),
  turn: z.int().min(1).optional(),
  attempt: z.int().min(1).optional(),
  contains: z.string().min(1).optional(),
});

/** As `z.json()`, plus large integers. */
const Value: z.ZodType<Json> = z.lazy(() =>
  z.union([z.string(), z.number(), z.bigint(), z.boolean(), z.null(), z.array(Value), z.record(z.string(), Value)]),
);
const Call = z.strictObject({ tool: z.string().min(1), args: z.record(z.string(), Value).default({}) });

const Turn = z.strictObject({
  when: When.optional(),
  text: z.string().optional(),
  calls: z.array(Call).optional(),
  delayMs: z.int().min(0).max(600_000).optional(),
  usage: z.strictObject({ input: Tokens, output: Tokens, cached: Tokens.default(0) }).optional(),
  error: z.enum(ERRORS).optional(),
});

export type ScriptTurn = z.infer<typeof Turn> & {
  /** Where the turn begins in the file. */
  readonly line: number;
};

const KEYS: Readonly<Record<string, readonly string[]>> = {
  when: Object.keys(When.shape),
  calls: Object.keys(Call.shape),
  usage: ['input', 'output', 'cached'],
};

/**
 * Reads an agent's script.yaml, the turns that the scripted provider plays in place of a model:
 *
 * ```yaml
 * - text: I look at the orders first.       # streamed word by word
 *   calls:                                   # tools to call, with their arguments
 *     - { tool: Read, args: { path: files/orders.csv } }
 *   delayMs: 800                             # how long the turn takes, spread over its words
 * - text: "Done: {{last}}"                   # {{last}}: the last tool result; {{input}}: the run's input
 *   usage: { input: 1200, output: 80, cached: 1000 }   # tokens; estimated from lengths when left out
 * - when: { step: review, round: 2 }         # all given fields must match: step (its id), round, turn,
 *   text: Approved.                          #   attempt (each from 1), contains (in the last user or tool message)
 * - when: { contains: refund, attempt: 1 }
 *   error: overloaded                        # or transient, refused, overflow
 * ```
 *
 * The first turn whose `when` matches is played. If none matches, turns without `when` go in order, the n-th at turn n
 * of every step and round. Throws an Error that names every fault with its line.
 */
export function parseScript(text: string, path: string): ScriptTurn[] {
  if (text.length > LONGEST) throw new Error(`${path} is longer than ${LONGEST / 1_024} KiB`);
  const { value, lineOf } = readYaml(text, path);
  const parsed = z.array(Turn, { error: 'is a list of turns' }).safeParse(value ?? []);
  if (parsed.success) return parsed.data.map((turn, index) => ({ ...turn, line: lineOf([index]) }));
  const issues = parsed.error.issues.map((issue) => `line ${lineOf(issue.path)}: ${describe(issue)}`);
  throw new Error(`${path} is not a valid script: ${issues.join('; ')}`);
}

function describe(issue: z.core.$ZodIssue): string {
  const [index, ...keys] = issue.path;
  const where = index === undefined ? 'the file' : [`turn ${Number(index) + 1}`, ...keys.map(String)].join(' ');
  if (issue.code !== 'unrecognized_keys') return `${where}: ${issue.message}`;
  const known = KEYS[String(keys[0])] ?? Object.keys(Turn.shape);
  return issue.keys.map((key) => `${where} has no key \`${key}\`.${suggestion(key, known)}`).join('; ');
}

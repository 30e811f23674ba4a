import { z } from 'zod';

type RawIssue = Parameters<NonNullable<ReturnType<typeof z.config>['customError']>>[0];

/**
 * Messages for values that do not match their schema. They replace the library's own, which name its types and do not
 * say what to send; a schema's own message stays.
 */
export function useValidatorMessages(): void {
  z.config({ customError: (issue) => wordsFor(issue) });
}

function wordsFor(issue: RawIssue): string {
  // The entry for a code takes issues of that code, which the type checker cannot infer.
  const words = MUST_BE[issue.code]?.(issue as never) ?? null;
  if (words === null) return issue.input === undefined ? 'is missing' : 'is not valid';
  return issue.input === undefined ? `is missing: expected ${words.replace(/^be /, '')}` : `must ${words}`;
}

type Of<Code extends RawIssue['code']> = Extract<RawIssue, { readonly code: Code }>;

/** The requirement after "must"; null where the issue has none. */
const MUST_BE: { readonly [Code in RawIssue['code']]?: (issue: Of<Code>) => string | null } = {
  invalid_type: ({ expected }) => `be ${TYPES[expected] ?? expected}`,
  invalid_value: ({ values }) => `be ${choice(values)}`,
  invalid_format: ({ format }) => (FORMATS[format] === undefined ? null : `be ${FORMATS[format]}`),
  invalid_union: (issue) => {
    const options = 'options' in issue && Array.isArray(issue.options) ? (issue.options as unknown[]) : [];
    return options.length > 0 ? `be ${choice(options)}` : typesOf(issue.errors);
  },
  too_big: ({ origin, maximum, inclusive }) =>
    UNITS[origin] === undefined
      ? `be ${inclusive === false ? 'less than' : 'at most'} ${maximum}`
      : `have at most ${counted(maximum, UNITS[origin])}`,
  too_small: ({ origin, minimum, inclusive }) =>
    UNITS[origin] === undefined
      ? `be ${inclusive === false ? 'more than' : 'at least'} ${minimum}`
      : `have at least ${counted(minimum, UNITS[origin])}`,
  not_multiple_of: ({ divisor }) => `be a multiple of ${divisor}`,
  invalid_key: () => 'have only keys that are allowed',
};

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'a time with its zone, such as 2026-01-31T08:30:00Z',
  base64: 'base64',
  email: 'an e-mail address',
  url: 'an address with its scheme',
};

const UNITS: Readonly<Record<string, string>> = { string: 'character', array: 'item', set: 'item', map: 'entry' };

function counted(count: number | bigint, unit: string): string {
  const plural = unit === 'entry' ? 'entries' : `${unit}s`;
  return `${count} ${Number(count) === 1 ? unit : plural}`;
}

function choice(values: readonly unknown[]): string {
  const words = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return words.length === 1 ? (words[0] ?? '') : `one of: ${words.join(', ')}`;
}

/** The types of a union's options, if each option refuses the value for its type. */
function typesOf(errors: readonly (readonly { readonly code: string; readonly path: readonly PropertyKey[] }[])[]) {
  const types = errors.map(([first]) =>
    first?.code === 'invalid_type' && first.path.length === 0 && 'expected' in first
      ? TYPES[String(first.expected)]
      : undefined,
  );
  return types.length > 0 && types.every((type) => type !== undefined)
    ? `be ${[...new Set(types)].join(' or ')}`
    : null;
}

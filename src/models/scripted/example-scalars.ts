import type { JsonObject } from '../../shared/json.js';

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-01',
  time: '00:00:00Z',
  'date-time': '2026-01-01T00:00:00Z',
  email: 'scripted@example.com',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
  hostname: 'example.com',
  duration: 'P1D',
};

/** A text that says that it is an example, where length and format allow. */
export function exampleText(schema: JsonObject): string {
  const format = FORMATS[String(schema.format)];
  if (format !== undefined) return format;
  const least = typeof schema.minLength === 'number' ? schema.minLength : 0;
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : Number.POSITIVE_INFINITY;
  const text = typeof schema.pattern === 'string' ? matchOf(schema.pattern) : '[scripted]';
  return text.padEnd(Math.min(least, 100_000), '.').slice(0, most);
}

// Patterns are not solved, only tried: the whole instance is validated afterwards.
const TRIES = [
  '[scripted]',
  'scripted',
  'Scripted',
  'SCRIPTED',
  'a',
  'A',
  '1',
  '10',
  '2026-01-01',
  'a-1',
  'A-1',
  '+10000000',
  '1.0.0',
  '#000000',
];

function matchOf(pattern: string): string {
  const isMatch = (text: string) => {
    try {
      return new RegExp(pattern, 'u').test(text);
    } catch {
      return false;
    }
  };
  return TRIES.find(isMatch) ?? '[scripted]';
}

/** The number nearest to zero within the bounds. */
export function exampleNumber(schema: JsonObject): number {
  const step = typeof schema.multipleOf === 'number' && schema.multipleOf > 0 ? schema.multipleOf : null;
  const unit = step ?? (schema.type === 'integer' ? 1 : 0.5);
  const low = Math.max(bound(schema.minimum, -Infinity), bound(schema.exclusiveMinimum, -Infinity, unit));
  const high = Math.min(bound(schema.maximum, Infinity), bound(schema.exclusiveMaximum, Infinity, -unit));
  const value = Math.min(Math.max(0, low), high);
  if (value === 0 || (step === null && schema.type !== 'integer')) return value;
  return value > 0 ? Math.ceil(value / unit) * unit : Math.floor(value / unit) * unit;
}

function bound(value: unknown, none: number, shift = 0): number {
  return typeof value === 'number' ? value + shift : none;
}

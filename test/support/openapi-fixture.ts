import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';

export const FIXTURES = [
  'petstore-3.0.yaml',
  'petstore-3.1.yaml',
  'github.json',
  'blockfrost.yaml',
  'figma.yaml',
  'parameters-style.json',
  'schema-circular.json',
] as const;

/** A public document of test/fixtures/openapi, as it was published. */
export function openapiFixture(name: (typeof FIXTURES)[number]): string {
  return gunzipSync(readFileSync(new URL(`../fixtures/openapi/${name}.gz`, import.meta.url))).toString('utf8');
}

// biome-ignore lint/suspicious/noExplicitAny: a document is read here as loosely as its writer wrote it.
export function parsedFixture(name: (typeof FIXTURES)[number]): any {
  const text = openapiFixture(name);
  return name.endsWith('.json') ? JSON.parse(text) : parse(text);
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { errorMessage } from '../../shared/refusal.js';
import { packageRoot } from '../db/index.js';
import { StartError } from './start-error.js';

const Scalar = z.union([z.string(), z.number(), z.boolean()]);

const TemporalSettings = z.strictObject({
  version: z.string().regex(/^\d+\.\d+\.\d+$/),
  namespace: z.string().min(1),
  retention: z.string().regex(/^\d+h$/),
  port: z.number().int().min(0).max(65_535),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']),
  sqlitePragmas: z.record(z.string(), Scalar),
  dynamicConfig: z.record(z.string(), Scalar),
  searchAttributes: z.record(
    z.string(),
    z.enum(['Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList']),
  ),
});
export type TemporalSettings = z.infer<typeof TemporalSettings>;

/** Reads `temporal-dev.yaml`. A mistake in it is a `StartError` that names the field. */
export async function readTemporalSettings(file = join(packageRoot, 'temporal-dev.yaml')): Promise<TemporalSettings> {
  try {
    const parsed = TemporalSettings.safeParse(parse(await readFile(file, 'utf8')));
    if (parsed.success) return parsed.data;
    throw new Error(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
  } catch (error) {
    throw new StartError(`${file} cannot be used: ${errorMessage(error)}. Correct it, or restore the file.`, {
      cause: error,
    });
  }
}

import { z } from 'zod';
import type { JsonObject } from '../shared/json.js';

/** POST …/tools/<tool>/test */
export const TestTool = z
  .strictObject({
    args: (z.record(z.string().max(200), z.unknown()) as unknown as z.ZodType<JsonObject>)
      .optional()
      .describe('The arguments, as a model would give them'),
    path: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .describe('The operation, for a tool that has several; or the tool’s file, where its name alone is not enough'),
  })
  .meta({ id: 'TestTool' });

export const ToolTested = z
  .object({
    ok: z.boolean().describe('Whether the call went well'),
    status: z.number().int().optional().describe('The HTTP status, or the exit status of a program'),
    result: z.string().describe('What a model would read, without secrets'),
    durationMs: z.number(),
    truncated: z.boolean().describe('The middle of the result was left out'),
  })
  .meta({ id: 'ToolTested' });

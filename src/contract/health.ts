import { z } from 'zod';
import { Time, type Wire } from './common.js';

const UpOrDown = z.enum(['ok', 'down']);

/** GET /api/healthz: always 200, with the state of each part at the time of the request. */
export const Health = z
  .object({
    ok: z.boolean().describe('The database and Temporal answer'),
    version: z.string(),
    role: z.enum(['all', 'api', 'worker']),
    workerAlive: z.boolean().describe('A worker was seen in the last 15 seconds'),
    database: UpOrDown,
    redis: z.enum(['ok', 'down', 'off']),
    temporal: UpOrDown,
    circuits: z
      .array(z.object({ provider: z.string(), until: Time }))
      .describe('Model providers that are not asked at present, since they fail'),
    models: z
      .array(
        z.object({
          endpoint: z.string(),
          open: z.boolean().describe('True while it is not asked, after five failures in a row'),
          since: Time.describe('Of the first of its failures in a row'),
          lastError: z.string(),
        }),
      )
      .describe('Endpoints of models whose last call failed, here or on a worker'),
    sandbox: z
      .object({ driver: z.string(), reason: z.string().nullable() })
      .describe('What runs programs, or why nothing does'),
  })
  .meta({ id: 'Health' });
export type Health = Wire<typeof Health>;

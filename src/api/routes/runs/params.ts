import { z } from '@hono/zod-openapi';

/** A name in a path; whether there is such a thing is the verb's answer. */
export function nameParam(description: string) {
  return z.string().min(1).max(255).describe(description);
}

import { z } from 'zod';

/** One file of a tree as callers send it: text, or bytes in base64. */
export const FileBody = z
  .strictObject({
    path: z.string().min(1).max(4_000),
    content: z.string().optional(),
    contentBase64: z.base64().optional(),
  })
  .meta({ id: 'File' });
export type FileBody = z.infer<typeof FileBody>;

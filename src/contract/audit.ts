import { z } from 'zod';
import { AnyJson, Next, Page, Time, type Wire } from './common.js';

/** GET /api/audit */
export const AuditQuery = Page.extend({
  action: z.string().min(1).max(100).optional().describe('Such as key.mint, or all of one kind: key'),
  actor: z.string().min(1).max(254).optional().describe('Who did it: an id, or what people read, such as an address'),
  target: z.string().min(1).max(500).optional(),
  since: z.iso.datetime({ offset: true }).optional().describe('From this time on'),
  until: z.iso.datetime({ offset: true }).optional().describe('Before this time'),
});
export type AuditQuery = z.infer<typeof AuditQuery>;

const AuditEntry = z
  .object({
    id: z.string(),
    at: Time,
    actor: z.object({ kind: z.string(), id: z.string(), label: z.string() }),
    action: z.string(),
    target: z.string(),
    address: z.string().nullable().describe('Where the request came from; null when it is unknown'),
    detail: AnyJson,
  })
  .meta({ id: 'AuditEntry' });

export const AuditList = z.object({ entries: z.array(AuditEntry), next: Next }).meta({ id: 'AuditList' });
export type AuditList = Wire<typeof AuditList>;

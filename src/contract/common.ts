import { z } from 'zod';
import type { Json } from '../shared/json.js';

/** The value of an answer's schema, as services return it: readonly, and without `undefined`, which JSON lacks. */
export type Wire<S extends z.ZodType> = Sent<z.infer<S>>;

/** JSON stays as it is: the type is recursive, and readonly already. */
type Sent<T> = [Json] extends [T]
  ? T
  : T extends object
    ? { readonly [K in keyof T]: Sent<Exclude<T[K], undefined>> }
    : T;

/** Any JSON value. It is required: a bare `unknown` may be left out of an object. */
export const AnyJson = z.unknown().nonoptional() as unknown as z.ZodType<Json>;

/** A name in a path. Its syntax is not checked here, so an invalid name is refused like an unknown one. */
const PathName = z.string().min(1).max(255);

export const WorkspaceParams = z.object({ ws: PathName.describe('The workspace’s name') });
export const RunParams = WorkspaceParams.extend({ id: PathName.describe('The run’s id') });

/** `?limit=&cursor=` of every list. */
export const Page = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().min(1).max(8_000).optional().describe('`next` of the page before'),
});
export type Page = z.infer<typeof Page>;

/** The member of every list besides its items. */
export const Next = z.string().nullable().describe('The cursor of the next page; null on the last');

/** ISO 8601, UTC. */
export const Time = z.iso.datetime();

/** USD as a decimal number. */
export const Usd = z.number();

export const ErrorBody = z
  .looseObject({
    error: z.string().describe('A sentence that says what to do'),
    code: z.string().describe('What is wrong, for programs: the kind of the refusal where nothing says it closer'),
    need: z.string().optional().describe('The role that was needed'),
    retryAfter: z.number().optional().describe('Seconds'),
  })
  .meta({ id: 'Error' });

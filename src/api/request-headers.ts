/** Request headers that operations list in the description. */
const HEADERS = {
  'Idempotency-Key': 'The same key with the same request gives the first answer again, for 24 hours',
  'If-Match': 'Only where the content is still the one that this ETag names; 412 otherwise',
  'If-None-Match':
    'Of a read: 304 where the content is still the one that this ETag names. Of a write: `*`, only where nothing is there',
  Range: 'One range of bytes',
  'If-Range': 'The range only where the content is still the one that this ETag names',
  'Last-Event-ID': 'Resumes the stream after this event',
} as const;

export type RequestHeader = keyof typeof HEADERS;

export function requestHeaders(names: readonly RequestHeader[]) {
  return names.map((name) => ({
    name,
    in: 'header' as const,
    description: HEADERS[name],
    schema: { type: 'string' as const },
  }));
}

import { firstFault, headerFault, lineFault, shortFault } from './faults.js';
import type { ShapeRules } from './shape.js';

export const api: ShapeRules<'api'> = {
  fault: ({ key, header, prefix }) =>
    firstFault(
      lineFault('api.key', key),
      headerFault('api.key', key),
      shortFault('api.key', key),
      header === undefined ? null : nameFault(header),
      prefix === undefined ? null : headerFault('api.prefix', prefix.trimEnd()),
    ),
  hidden: ({ key }) => [key],
};

/** A header's name is a token (RFC 9110, 5.6.2). */
function nameFault(name: string): string | null {
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name)) return null;
  return 'api.header is not a valid header name: use letters, digits and -, like X-Api-Key';
}

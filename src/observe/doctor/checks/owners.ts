import { rowCheck } from '../check.js';

/** An account has exactly one owner: the member that its row names. */
export const owners = rowCheck(
  'This account has no owner who can act: set owner_id of its row in the table tenant to one of its members.',
  `SELECT NULL::text AS run, format('The account %s names an owner who is not one of its members.', t.id) AS says FROM tenant t
    WHERE $1::text IS NULL AND NOT EXISTS (SELECT 1 FROM member m WHERE m.id = t.owner_id AND m.tenant_id = t.id)`,
);

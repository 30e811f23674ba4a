import { Refusal, type RefusalKind } from '../../shared/refusal.js';
import type { GrantFaultKind } from './token-endpoint.js';
import type { Failure } from './token-rows.js';

const REFUSALS = {
  gone: {
    kind: 'conflict',
    code: 'secret/reconnect',
    say: (name, why) => `the connection ${name} must be made again: ${why}`,
  },
  refused: {
    kind: 'refused',
    code: 'secret/no-token',
    say: (name, why) => `the secret ${name} gives no token: ${why}`,
  },
  outage: {
    kind: 'unavailable',
    code: 'secret/provider-down',
    say: (name, why) => `no token is available for the secret ${name} now: ${why}`,
  },
} as const satisfies Record<
  GrantFaultKind,
  { kind: RefusalKind; code: string; say: (name: string, why: string) => string }
>;

/** Why a step gets no token, by a `code` for each kind of failure. Only `secret/provider-down` may be retried. */
export class TokenRefusal extends Refusal {
  constructor(name: string, { kind, message }: Failure) {
    const row = REFUSALS[kind];
    super(row.kind, row.say(name, message), { code: row.code });
  }
}

import type { Context } from 'hono';
import { findWorkspace } from '../../people/index.js';
import { Refusal } from '../../shared/refusal.js';
import { atLeast } from '../../shared/roles.js';
import type { AppEnv, GuardedEnv } from '../env.js';
import { authenticate } from './authenticate.js';

/** Two checks and their duration stay below the promised five seconds. */
const POLL_EVERY_MS = 2_000;

/**
 * While a response is streaming, checks repeatedly that its caller still has access: the credential, the workspace of
 * the path and the same role, which decides what is shown. Calls `lost` once when not. Two consecutive checks without
 * an answer of the database count as lost. Returns a function that ends the watch.
 */
export function watchAccess(c: Context<GuardedEnv>, lost: () => void): () => void {
  let unanswered = 0;
  let timer: NodeJS.Timeout | undefined;
  let ended = false;
  const end = () => {
    ended = true;
    clearTimeout(timer);
  };
  const next = () => {
    timer = setTimeout(() => {
      void checkAccess(c).then((answer) => {
        if (ended) return;
        unanswered = answer === 'unanswered' ? unanswered + 1 : 0;
        if (answer !== 'lost' && unanswered < 2) return next();
        end();
        lost();
      });
    }, POLL_EVERY_MS);
  };
  next();
  return end;
}

async function checkAccess(c: Context<GuardedEnv>): Promise<'held' | 'lost' | 'unanswered'> {
  try {
    const caller = await authenticate(c as Context as Context<AppEnv>);
    if (!caller || caller.tenant !== c.var.caller.tenant || !atLeast(caller.role, c.var.caller.role)) return 'lost';
    const workspace = c.req.param('ws');
    if (workspace !== undefined) await findWorkspace(c.var.deps.db, caller, workspace);
    return 'held';
  } catch (error) {
    return error instanceof Refusal && error.kind !== 'unavailable' ? 'lost' : 'unanswered';
  }
}

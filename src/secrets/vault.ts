import { findWorkspace, requireNoPreview } from '../people/index.js';
import type { Sql } from '../platform/db/contract.js';
import { Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';

interface Vault {
  /** The workspace's id; null for the account's vault. */
  readonly workspace: string | null;
}

/**
 * The vault that a caller writes: a workspace's by its name, or the account's. Every workspace reads the account's
 * vault, so writing it requires access to all workspaces. A preview has no vault of its own. The workspace cannot be
 * deleted before the transaction ends.
 */
export async function vaultToWrite(tx: Sql, caller: Caller, workspace: string | undefined): Promise<Vault> {
  if (workspace !== undefined) {
    const { id } = await findWorkspace(tx, caller, workspace, 'share');
    await requireNoPreview(tx, id, 'secrets');
    return { workspace: id };
  }
  if (caller.workspaces === null) return { workspace: null };
  throw new Refusal(
    'forbidden',
    'your access is limited to some workspaces, and every workspace reads the account’s vault: name a workspace',
    {
      need: 'every workspace',
    },
  );
}

/** The name in `${NAME}`, which is also the variable that programs read. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** Variables that decide how programs of a sandbox run, and those that the service sets itself. */
const RESERVED =
  /^(PATH|HOME|TMPDIR|LANG|TERM|SHELL|USER|PWD|IFS|ENV|BASH.*|LC_.*|LD_.*|NODE_OPTIONS|NODE_PATH|NODE_USE_ENV_PROXY|(HTTPS?|ALL|NO)_PROXY|(https?|all|no)_proxy|PYTHON.*|PERL.*|RUBY(LIB|OPT)|SSH_.*|GIT_SSH.*|GIT_CONFIG.*|ARG_.*)$/;

/** Refuses a name that a placeholder cannot contain, or that would change how programs run. */
export function checkSecretName(name: string): void {
  if (!NAME.test(name)) {
    throw new Refusal(
      'refused',
      'a secret’s name is letters, digits and _, 128 at most, and begins with no digit, like SHOP_TOKEN',
      {
        code: 'secret/bad-name',
      },
    );
  }
  if (RESERVED.test(name)) {
    throw new Refusal(
      'refused',
      `the name ${name} is that of a variable that programs need for themselves: choose another`,
      {
        code: 'secret/bad-name',
      },
    );
  }
}

import type { PutSecretAnswer, PutSecretBody } from '../contract/secrets.js';
import type { Deps } from '../deps.js';
import { audit } from '../people/index.js';
import { notFound, Refusal } from '../shared/refusal.js';
import type { Caller } from '../shared/roles.js';
import { listSecrets } from './list-secrets.js';
import type { SecretValue } from './model.js';
import { checkSecretName } from './names.js';
import { faultOf, SHAPES } from './shapes/index.js';
import { vaultToWrite } from './vault.js';
import { writeSecret } from './write-secret.js';

/** Stores a secret in the account's or a workspace's vault, replacing one of that name. Its value is never returned. */
export async function putSecret(deps: Deps, caller: Caller, input: PutSecretBody): Promise<PutSecretAnswer> {
  const { name, workspace } = input;
  checkSecretName(name);
  const value = givenValue(input);
  const fault = (await faultOf(value)) ?? endpointFault(deps, value);
  if (fault !== null) throw new Refusal('refused', fault, { code: 'secret/bad-value' });
  const created = await deps.db.transaction(async (tx) => {
    const vault = await vaultToWrite(tx, caller, workspace);
    const written = await writeSecret(tx, deps.keys, { tenant: caller.tenant, ...vault, name, value });
    await audit(tx, caller, 'secret.put', name, { workspace: workspace ?? null, shape: value.shape });
    return written.created;
  });
  const { secrets } = await listSecrets(deps, caller, { workspace, limit: Number.MAX_SAFE_INTEGER });
  const stored = secrets.find((one) => one.name === name && one.workspace === (workspace ?? null));
  if (stored === undefined) throw notFound('secret');
  return { ...stored, ok: true, created };
}

function givenValue(input: PutSecretBody): SecretValue {
  const given = SHAPES.filter((shape) => input[shape] !== undefined);
  const [shape] = given;
  if (shape !== undefined && given.length === 1) return { shape, value: input[shape] } as SecretValue;
  const found = given.length === 0 ? 'none is there' : `there are ${given.join(' and ')}`;
  throw new Refusal('refused', `give exactly one of ${SHAPES.join(', ')}: ${found}`, { code: 'secret/bad-shape' });
}

/** Token endpoints are called through the guarded client, which refuses some URLs. */
function endpointFault({ net }: Deps, { shape, value }: SecretValue): string | null {
  if (shape !== 'oauth2' && shape !== 'service_account') return null;
  const [key, url] = shape === 'oauth2' ? ['token_url', value.token_url] : ['token_uri', value.token_uri];
  const fault = net.check(url, { httpsOnly: true });
  return fault && `${shape}.${key}: ${fault.message}`;
}

import { liveToken, type OpenedSecret } from '../../secrets/index.js';
import type { Lane } from '../lane/lane.js';

/** The live access token of a secret that is exchanged for one. It is masked before it is returned. */
export async function tokenFor({ deps, mask }: Pick<Lane, 'deps' | 'mask'>, secret: OpenedSecret): Promise<string> {
  const { token } = await liveToken(deps, secret);
  mask.add(secret.name, [token]);
  return token;
}

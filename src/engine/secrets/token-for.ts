import { liveToken, type OpenedSecret } from '../../secrets/index.js';
import type { Lane } from '../lane/lane.js';

/** The live access token of a secret that is exchanged for one; hidden before anybody has it. */
export async function tokenFor({ deps, hidden }: Pick<Lane, 'deps' | 'hidden'>, secret: OpenedSecret): Promise<string> {
  const { token } = await liveToken(deps, secret);
  hidden.add(secret.name, [token]);
  return token;
}

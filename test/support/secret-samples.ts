import { generateKeyPairSync } from 'node:crypto';
import type { ShapeValues } from '../../src/secrets/index.js';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
const ec = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey.export({ type: 'sec1', format: 'pem' });

/** A sound value of every shape, each with `canary` in what must never be seen again. Keys are made anew. */
export function secretSamples(canary: string): ShapeValues {
  return {
    value: canary,
    file: { filename: 'shop.conf', content: `[shop]\npassword = of-the-file-${canary}\n` },
    oauth2: {
      token_url: 'https://login.shop.example/token',
      client_id: 'shop',
      client_secret: `${canary}-client`,
      refresh_token: `${canary}-refresh`,
    },
    service_account: {
      client_email: 'robot@shop.example',
      private_key: String(rsa),
      token_uri: 'https://login.shop.example/token',
      scopes: ['orders.read'],
    },
    ssh: { private_key: String(ec), known_hosts: 'git.example ssh-ed25519 AAAA\n' },
    api: { key: `${canary}-key`, header: 'X-Api-Key' },
  };
}

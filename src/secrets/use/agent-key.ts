import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { ShapeValues } from '../model.js';
import { readSshKey } from '../ssh-key.js';
import { mpint } from './agent-wire.js';

/** A key that signs and cannot be read. */
export interface AgentKey {
  /** The public key as ssh writes it. */
  readonly blob: Buffer;
  readonly comment: string;
  /** Null when the request asks for what this key does not do. */
  sign(data: Buffer, flags: number): Promise<{ readonly algorithm: string; readonly signature: Buffer } | null>;
}

const signAsync = promisify(sign);
/** draft-miller-ssh-agent, 3.6.1: what a request for a signature with RSA may ask for. SHA-1 is what it gets without. */
const RSA = [
  [4, 'rsa-sha2-512', 'sha512'],
  [2, 'rsa-sha2-256', 'sha256'],
] as const;
const CURVE_HASHES: Readonly<Record<string, string>> = {
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
};

/** Throws an error whose message is a sentence when the key cannot be read: it was stored before, so it has been read once. */
export async function agentKey(name: string, value: ShapeValues['ssh']): Promise<AgentKey> {
  const parsed = await readSshKey(value);
  if (typeof parsed === 'string') throw new Error(`the secret ${name}: ${parsed}`);
  const key = createPrivateKey(parsed.getPrivatePEM());
  return {
    blob: parsed.getPublicSSH(),
    comment: name,
    sign: (data, flags) => signWith(parsed.type, key, { data, flags }),
  };
}

async function signWith(type: string, key: KeyObject, { data, flags }: { data: Buffer; flags: number }) {
  if (type === 'ssh-ed25519') return { algorithm: type, signature: await signAsync(null, data, key) };
  const curve = CURVE_HASHES[type];
  if (curve !== undefined) {
    const pair = await signAsync(curve, data, { key, dsaEncoding: 'ieee-p1363' });
    const half = pair.length / 2;
    return { algorithm: type, signature: Buffer.concat([mpint(pair.subarray(0, half)), mpint(pair.subarray(half))]) };
  }
  const asked = RSA.find(([flag]) => (flags & flag) !== 0);
  if (type !== 'ssh-rsa' || !asked) return null;
  return { algorithm: asked[1], signature: await signAsync(asked[2], data, key) };
}

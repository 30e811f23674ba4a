import type { ParsedKey } from 'ssh2';
import type { ShapeValues } from './model.js';

/** The key of an ssh secret; a sentence when it cannot be read. Any form that OpenSSH writes, and PEM. */
export async function readSshKey({ private_key, passphrase }: ShapeValues['ssh']): Promise<ParsedKey | string> {
  // Load the package only when there is such a secret, since that takes time.
  const { default: ssh2 } = await import('ssh2');
  const parsed =
    passphrase === undefined ? ssh2.utils.parseKey(private_key) : ssh2.utils.parseKey(private_key, passphrase);
  const key: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  if (key instanceof Error || !key) return faultOf(key, passphrase);
  if (!(key as ParsedKey).isPrivateKey()) return 'ssh.private_key is a public key: give the private one, without .pub';
  return key as ParsedKey;
}

/** The package's messages may quote parts of the key. */
function faultOf(error: unknown, passphrase: string | undefined): string {
  const message = error instanceof Error ? error.message : '';
  if (/no passphrase/i.test(message)) return 'ssh.private_key is locked: give its passphrase as ssh.passphrase';
  if (passphrase !== undefined && /passphrase|integrity|bad decrypt|checkints/i.test(message)) {
    return 'ssh.passphrase does not open ssh.private_key: check it';
  }
  return 'ssh.private_key does not parse: give the file whole, with its line breaks, from -----BEGIN to -----END';
}

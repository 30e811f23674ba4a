import { hmacSha256, isSameMac } from '../../shared/hmac.js';
import type { SignatureCheck } from './contract.js';
import { fromHex } from './read-digest.js';

/** `X-Hub-Signature-256: sha256=<hex>` over the body. */
export const codeHost: SignatureCheck = ({ header, body, secret }) => {
  const [, hex = ''] = /^sha256=(.*)$/.exec(header('x-hub-signature-256') ?? '') ?? [];
  return isSameMac(hmacSha256(secret, body), fromHex(hex));
};

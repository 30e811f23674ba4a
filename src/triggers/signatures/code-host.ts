import type { SignatureCheck } from './contract.js';
import { fromHex, isMac, mac } from './digest.js';

/** `X-Hub-Signature-256: sha256=<hex>` over the body. */
export const codeHost: SignatureCheck = ({ header, body, secret }) => {
  const [, hex = ''] = /^sha256=(.*)$/.exec(header('x-hub-signature-256') ?? '') ?? [];
  return isMac(mac(secret, body), fromHex(hex));
};

import { hmacSha256, isSameMac } from '../../shared/hmac.js';
import type { SignatureCheck } from './contract.js';
import { fromHex, isFresh } from './read-digest.js';

/** `X-Slack-Signature: v0=<hex>` over `v0:<seconds>:<body>`, the seconds from `X-Slack-Request-Timestamp`. */
export const chat: SignatureCheck = ({ header, body, secret, nowMs }) => {
  const time = header('x-slack-request-timestamp') ?? '';
  const [, hex = ''] = /^v0=(.*)$/.exec(header('x-slack-signature') ?? '') ?? [];
  return isFresh(time, nowMs) && isSameMac(hmacSha256(secret, `v0:${time}:`, body), fromHex(hex));
};

import { createPrivateKey } from 'node:crypto';
import { firstFault, lineFault, textFault, urlFault } from './faults.js';
import type { ShapeRules } from './shape.js';

export const serviceAccount: ShapeRules<'service_account'> = {
  fault: ({ client_email, private_key, token_uri, scopes, subject }) =>
    firstFault(
      lineFault('service_account.client_email', client_email),
      textFault('service_account.private_key', private_key),
      keyFault(private_key),
      lineFault('service_account.token_uri', token_uri),
      urlFault('service_account.token_uri', token_uri),
      scopes.length === 0 ? 'service_account.scopes is empty: name at least one scope' : null,
      ...scopes.map((scope, index) => lineFault(`service_account.scopes.${index}`, scope)),
      subject === undefined ? null : lineFault('service_account.subject', subject),
    ),
  hidden: ({ private_key }) => [private_key],
};

/** It signs with RS256 (RFC 7523), so it has to be an RSA key. */
function keyFault(pem: string): string | null {
  try {
    const { asymmetricKeyType } = createPrivateKey(pem);
    if (asymmetricKeyType === 'rsa') return null;
    return `service_account.private_key is a key of type ${asymmetricKeyType}, and must be one of type rsa`;
  } catch {
    return 'service_account.private_key does not parse: give the PEM text whole, with its line breaks, from -----BEGIN to -----END';
  }
}

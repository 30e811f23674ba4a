import { isEmail } from '../../shared/email.js';
import type { Config } from './config.js';
import { address, type Parse, type Reader } from './reader.js';

/** `Name <box@example.com>`, or the address alone. */
const sender: Parse<string> = (text) =>
  isEmail(/^[^<>@\r\n]+<(.+)>$/.exec(text)?.[1] ?? text)
    ? { value: text }
    : { fault: `is "${text}" and must be an address such as Signalbox <box@example.com>` };

/** Mails go through an HTTP API, each account under its own key, or through the operator's own server. */
export function readEmail(reader: Reader): Config['email'] {
  return {
    apiUrl: reader.read(
      'SERVICE_EMAIL_API_URL',
      address('https://api.resend.com/emails', 'http', 'https'),
      'https://api.resend.com/emails',
    ),
    smtpUrl: reader.read(
      'SERVICE_SMTP_URL',
      address('smtp://user:password@mail.example.com:587', 'smtp', 'smtps'),
      null,
    ),
    from: reader.read('SERVICE_EMAIL_FROM', sender, null),
  };
}

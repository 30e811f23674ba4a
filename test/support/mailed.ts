import type { Deps } from '../../src/deps.js';
import { createNet } from '../../src/platform/net/index.js';
import { createTestDeps } from './create-test-app.js';
import { type MailServer, startMailServer } from './mail-server.js';

/** Where the links of mails lead. */
export const PUBLIC = 'https://box.example';

/** A mail server of the test's own, and what an app needs to send through it and to receivers on this machine. */
export async function createMailed(): Promise<{ readonly mail: MailServer; readonly deps: Partial<Deps> }> {
  const mail = await startMailServer();
  const { config } = await createTestDeps();
  const ours: Deps['config'] = {
    ...config,
    publicUrl: PUBLIC,
    email: { ...config.email, from: 'Signalbox <box@box.example>', smtpUrl: mail.url },
    allowHosts: [{ host: '127.0.0.1', port: null }],
  };
  return { mail, deps: { config: ours, net: createNet({ config: ours }) } };
}

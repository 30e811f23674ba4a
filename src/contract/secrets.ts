import { z } from 'zod';
import { Next, Page, Time, type Wire } from './common.js';

/** The six shapes of a secret, each under the key by which it is written. */
export const SecretShapes = z.object({
  value: z.string().describe('One line: a token, a password'),
  file: z
    .strictObject({ filename: z.string(), content: z.string() })
    .describe('A file’s text: a certificate, a private key, a configuration'),
  oauth2: z
    .strictObject({
      token_url: z.string(),
      client_id: z.string(),
      client_secret: z.string(),
      refresh_token: z.string(),
      scope: z.string().optional(),
    })
    .describe('A refresh recipe: exchanged for a live access token at each use'),
  service_account: z
    .strictObject({
      client_email: z.string(),
      private_key: z.string(),
      token_uri: z.string(),
      scopes: z.array(z.string()),
      subject: z.string().optional(),
    })
    .describe('A service’s own key: signs for a live access token at each use'),
  ssh: z
    .strictObject({
      private_key: z.string(),
      passphrase: z.string().optional(),
      known_hosts: z.string().optional(),
    })
    .describe('A key that git and ssh use through an agent, without ever seeing it'),
  api: z
    .strictObject({ key: z.string(), header: z.string().optional(), prefix: z.string().optional() })
    .describe('An API’s key, with the header and the word that go with it'),
});
export type SecretShapes = z.infer<typeof SecretShapes>;

const WorkspaceName = z.string().min(1).max(255);

/** PUT /api/secrets */
export const PutSecretBody = z
  .strictObject({
    name: z.string().max(200).describe('Letters, digits and _, as in ${NAME}'),
    workspace: WorkspaceName.optional().describe('The workspace’s vault; the account’s when left out'),
    ...SecretShapes.partial().shape,
  })
  .describe('Exactly one of value, file, oauth2, service_account, ssh and api')
  .meta({ id: 'PutSecret' });
export type PutSecretBody = z.infer<typeof PutSecretBody>;

/** `?workspace=` of the list */
export const SecretsQuery = Page.extend({
  workspace: WorkspaceName.optional().describe('Only this workspace’s vault; every vault in reach when left out'),
});

/** `?name=&workspace=` */
export const SecretQuery = z.object({
  name: z.string().min(1).max(200),
  workspace: WorkspaceName.optional().describe('The workspace’s vault; the account’s when left out'),
});

const Secret = z
  .object({
    name: z.string(),
    shape: SecretShapes.keyof(),
    workspace: z.string().nullable().describe('Null for the account’s vault'),
    status: z.enum(['ok', 'reconnect']).describe('reconnect: the provider no longer takes it; sign in there again'),
    updatedAt: Time,
    usedBy: z
      .array(z.object({ workspace: z.string(), path: z.string() }))
      .describe('Files of live revisions that name it and get this one'),
  })
  .meta({ id: 'Secret' });

/** GET /api/secrets: names, and never a value. */
export const SecretList = z.object({ secrets: z.array(Secret), next: Next }).meta({ id: 'SecretList' });
export type SecretList = Wire<typeof SecretList>;

export const PutSecretAnswer = Secret.extend({
  ok: z.literal(true),
  created: z.boolean().describe('False when it replaced one'),
}).meta({ id: 'PutSecretAnswer' });
export type PutSecretAnswer = Wire<typeof PutSecretAnswer>;

export const DeletedSecret = z.object({ ok: z.literal(true), name: z.string(), workspace: z.string().nullable() });
export type DeletedSecret = Wire<typeof DeletedSecret>;

import { z } from 'zod';
import { Next, Time, type Wire } from './common.js';

const Address = z.string().min(1).max(2_000);
const Word = z.string().min(1).max(500);

/**
 * The endpoints and settings of one provider. Each key overrides the built-in value of `provider`; without a provider
 * the URLs are required.
 */
export const OAuthClientConfig = z
  .strictObject({
    provider: z.string().min(1).max(64).optional().describe('A built-in shape; default: the one named like the client'),
    authorize_url: Address.optional().describe('Where the person agrees'),
    token_url: Address.optional().describe('Where the code becomes tokens'),
    issuer: Address.optional().describe('What the provider calls itself in `iss`'),
    scopes: z.array(Word).max(100).optional(),
    params: z.record(Word, z.string().max(500)).optional().describe('Further parameters of the authorize URL'),
    auth: z
      .enum(['post', 'basic', 'none'])
      .optional()
      .describe('How the token endpoint takes the client’s secret; default: the body, then Basic'),
  })
  .meta({ id: 'OAuthClientConfig' });
export type OAuthClientConfig = z.infer<typeof OAuthClientConfig>;

/** POST /api/oauth/clients */
export const RegisterOAuthClientBody = z
  .strictObject({
    name: z.string().min(1).max(64),
    client: z.string().min(1).max(500).describe('The client id that the provider gave'),
    config: OAuthClientConfig.extend({
      client_secret: z.string().min(1).max(4_000).optional().describe('Stored encrypted and never shown again'),
    })
      .optional()
      .meta({ id: 'RegisterOAuthClientConfig' }),
  })
  .meta({ id: 'RegisterOAuthClient' });
export type RegisterOAuthClientBody = z.infer<typeof RegisterOAuthClientBody>;

export const OAuthClientBody = z
  .object({
    name: z.string(),
    client: z.string().describe('The client id'),
    config: z
      .object({
        provider: z.string().nullable(),
        authorize_url: z.string(),
        token_url: z.string(),
        scopes: z.array(z.string()),
        params: z.record(z.string(), z.string()),
      })
      .describe('With what the built-in shape says'),
    redirectUri: z.string().describe('To be registered at the provider'),
    createdAt: Time,
  })
  .meta({ id: 'OAuthClient' });
export type OAuthClientBody = Wire<typeof OAuthClientBody>;

/** GET /api/oauth/clients */
export const OAuthClientList = z
  .object({
    clients: z.array(OAuthClientBody),
    next: Next,
    providers: z.array(z.object({ provider: z.string(), scopes: z.array(z.string()) })).describe('The built-in shapes'),
    redirectUri: z.string().describe('To be registered at each provider'),
  })
  .meta({ id: 'OAuthClientList' });
export type OAuthClientList = Wire<typeof OAuthClientList>;

export const OAuthClientQuery = z.object({ name: z.string().min(1).max(500) });

export const RemovedOAuthClient = z.object({ ok: z.literal(true), name: z.string() });
export type RemovedOAuthClient = Wire<typeof RemovedOAuthClient>;

/** POST /api/oauth/start */
export const StartConnectionBody = z
  .strictObject({
    client: z.string().min(1).max(500).describe('The registered client’s name, or its client id'),
    secret: z.string().min(1).max(200).describe('The name of the secret that is made, or replaced'),
    workspace: z.string().min(1).max(255).optional().describe('Its vault; without it the account’s'),
  })
  .meta({ id: 'StartConnection' });
export type StartConnectionBody = z.infer<typeof StartConnectionBody>;

export const StartedConnection = z
  .object({ url: z.string().describe('Where the person agrees, in this browser'), expiresAt: Time })
  .meta({ id: 'StartedConnection' });
export type StartedConnection = Wire<typeof StartedConnection>;

const Param = z.string().max(8_192).optional();

/** GET /api/oauth/callback, by the provider's redirect. Loose: providers add parameters of their own. */
export const CallbackQuery = z.looseObject({
  state: Param,
  code: Param,
  iss: Param,
  error: Param,
  error_description: Param,
});
export type CallbackQuery = z.infer<typeof CallbackQuery>;

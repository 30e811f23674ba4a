import type { Route } from '../../define-route.js';
import { finishOAuth } from './callback.js';
import { deleteOAuthClient, listOAuthClients, registerOAuthClient } from './clients.js';
import { startOAuth } from './start.js';

export const oauthRoutes: readonly Route[] = [
  listOAuthClients,
  registerOAuthClient,
  deleteOAuthClient,
  startOAuth,
  finishOAuth,
];

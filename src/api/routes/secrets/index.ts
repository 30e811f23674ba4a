import type { Route } from '../../define-route.js';
import { deleteSecret } from './delete-secret.js';
import { listSecrets } from './list-secrets.js';
import { putSecret } from './put-secret.js';

export const secretRoutes: readonly Route[] = [listSecrets, putSecret, deleteSecret];

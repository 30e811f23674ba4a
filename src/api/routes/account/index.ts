import type { Route } from '../../define-route.js';
import { getAccount, patchAccount } from './account.js';
import { getMe } from './get-me.js';
import { getAudit } from './list-audit.js';

export const accountRoutes: readonly Route[] = [getMe, getAccount, patchAccount, getAudit];

import type { Route } from '../../define-route.js';
import { getCliAuthorize, postCliAuthorize } from './authorize.js';
import { getCliLogin, postCliLogin } from './log-in.js';

export const cliRoutes: readonly Route[] = [postCliLogin, getCliLogin, getCliAuthorize, postCliAuthorize];

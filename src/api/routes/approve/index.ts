import type { Route } from '../../define-route.js';
import { postApprove } from './decide-link.js';
import { getApprove } from './open-link.js';

export const approveRoutes: readonly Route[] = [getApprove, postApprove];

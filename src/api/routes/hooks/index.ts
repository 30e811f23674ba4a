import type { Route } from '../../define-route.js';
import { getDeliveries, postRedelivery } from './deliveries.js';
import { postHook, postMail } from './receive-hook.js';
import { rotate } from './rotate-hook.js';

export const hookRoutes: readonly Route[] = [postHook, postMail, rotate, getDeliveries, postRedelivery];

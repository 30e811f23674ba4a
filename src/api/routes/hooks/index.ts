import type { Route } from '../../define-route.js';
import { getDeliveries, postRedelivery } from './deliveries.js';
import { postHook } from './receive-hook.js';
import { rotate } from './rotate-hook.js';

export const hookRoutes: readonly Route[] = [postHook, rotate, getDeliveries, postRedelivery];

import type { Route } from '../../define-route.js';
import { postEvent } from './release-event.js';

export const eventRoutes: readonly Route[] = [postEvent];

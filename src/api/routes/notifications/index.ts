import type { Route } from '../../define-route.js';
import { getNotifications, postNotificationTest, postSigningSecret } from './notifications.js';

export const notificationRoutes: readonly Route[] = [getNotifications, postNotificationTest, postSigningSecret];

import type { Route } from '../../define-route.js';
import { deleteAvatar, getAvatar, putAvatar } from './avatars.js';

export const avatarRoutes: readonly Route[] = [getAvatar, putAvatar, deleteAvatar];

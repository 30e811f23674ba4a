import type { Route } from '../../define-route.js';
import { deleteKey, getKeys, postKey } from './keys.js';

export const keyRoutes: readonly Route[] = [getKeys, postKey, deleteKey];

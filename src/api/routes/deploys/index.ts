import type { Route } from '../../define-route.js';
import { deploy } from './deploy.js';

export const deployRoutes: readonly Route[] = [deploy];

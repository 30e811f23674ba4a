import type { Route } from '../../define-route.js';
import { getHome } from './get-home.js';
import { getApiOpenApi, getOpenApi } from './get-openapi.js';

export const docsRoutes: readonly Route[] = [getHome, getOpenApi, getApiOpenApi];

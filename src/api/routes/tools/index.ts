import type { Route } from '../../define-route.js';
import { testTool } from './test-tool.js';

export const toolRoutes: readonly Route[] = [testTool];

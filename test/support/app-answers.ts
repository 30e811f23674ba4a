import { createApp } from '../../src/api/app.js';
import type { Route } from '../../src/api/define-route.js';
import { openApiDocument } from '../../src/api/openapi.js';
import { routes as allRoutes } from '../../src/api/routes/index.js';
import type { Deps } from '../../src/deps.js';
import { type AnswerCheck, createAnswerCheck, type Description, pathPattern } from './checked-answers.js';

let check: AnswerCheck | undefined;

/** Holds each answer of an app in this process against the description of the API; a test's own routes have none. */
export function checkAnswersOf(deps: Deps, routes: readonly Route[]): AnswerCheck {
  check ??= createAnswerCheck(
    JSON.parse(JSON.stringify(openApiDocument(createApp(deps, allRoutes), deps.config))) as Description,
  );
  const ofApi = check;
  const own = routes.filter((route) => !allRoutes.includes(route)).map(({ path }) => pathPattern(path));
  return async (request, response) => {
    if (!own.some((pattern) => pattern.test(request.path))) await ofApi(request, response);
  };
}

import type { Route } from '../../define-route.js';
import { postLogin } from './log-in.js';
import { postLogout } from './log-out.js';
import { postPassword } from './password.js';
import { deleteSessions, getSession, getSessions } from './sessions.js';
import { getSignIn, postSignIn } from './sign-in.js';
import { postSignup } from './sign-up.js';
import { postTimezone } from './timezone.js';

export const authRoutes: readonly Route[] = [
  postSignup,
  postLogin,
  postLogout,
  getSession,
  getSessions,
  deleteSessions,
  postPassword,
  postTimezone,
  getSignIn,
  postSignIn,
];

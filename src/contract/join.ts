import { z } from 'zod';
import { NewPassword } from './auth.js';

const Token = z.string().min(1).max(200);
/** Loose, since mail programs add keys to a page's address. */
export const JoinQuery = z.looseObject({ token: Token });
export const JoinForm = z.strictObject({ token: Token, password: NewPassword });

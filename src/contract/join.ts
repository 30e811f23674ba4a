import { z } from 'zod';
import { NewPassword } from './auth.js';

const Token = z.string().min(1).max(200);
/** Loose, as the address of a page: mail programs add to it. */
export const JoinQuery = z.looseObject({ token: Token });
export const JoinForm = z.strictObject({ token: Token, password: NewPassword });

import { z } from 'zod';
import { NewPassword } from './auth.js';

const Token = z.string().min(1).max(200);
export const JoinQuery = z.object({ token: Token });
export const JoinForm = z.strictObject({ token: Token, password: NewPassword });

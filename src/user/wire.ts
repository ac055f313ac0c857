// Schemas of what people sign in with.
import { z } from 'zod';
import { text } from '../http/contract/fields.ts';

/** An address to sign in with: lower-cased, because it names a user over all tenants. */
export const email = z.email().max(255).toLowerCase();

/** A password that someone chooses: 12 to 1,024 characters without NUL. */
export const newPassword = text(1024, 12);

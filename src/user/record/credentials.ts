// Schemas of what people sign in with.
import { z } from 'zod';
import { anyEnv, maxEnvRoles } from '../../shared/env-roles.ts';
import { operatorRoles } from '../../shared/principal.ts';
import { env, text } from '../../shared/schemas.ts';

/** An address to sign in with: lower-cased, because it names a user over all tenants. */
export const email = z.email().max(255).toLowerCase();

/** A password that someone chooses: 12 to 1,024 characters without NUL. */
export const newPassword = text(1024, 12);

export const operatorRole = z.enum(operatorRoles);
/** `*`: every environment. */
export const roleEnvironment = z.enum([...env.options, anyEnv]);

export const envRole = z
  .object({ role: operatorRole, env: roleEnvironment })
  .refine(({ role, env: where }) => role !== 'admin' || where === anyEnv, {
    path: ['env'],
    message: "must be '*' for an admin",
  });

/** Roles by environment: 1 to 8, each once. */
export const envRoles = z
  .array(envRole)
  .min(1)
  .max(maxEnvRoles)
  .refine((roles) => new Set(roles.map(({ role, env: where }) => `${role} ${where}`)).size === roles.length, {
    message: 'must not name a role twice for one environment',
  });

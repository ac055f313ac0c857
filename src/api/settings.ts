// Routes of a tenant's settings: signing key, what tools' arguments hold, retention.
import { argumentKinds, builtInPrefixes, operatorNames } from 'reeve-agent/rules';
import { z } from 'zod';
import { instant, intQuery, line } from './fields.ts';
import { routes } from './route.ts';

/** Arguments of all tools together. */
const maxDeclarations = 2_000;

/**
 * What the arguments of tools hold, by tool (a name or a glob) and argument (`a.b`: the argument `b` in the mapping
 * `a`).
 */
export const toolArguments = z
  .record(line(255), z.record(line(255), z.enum(argumentKinds)))
  .refine(
    (tools) =>
      Object.values(tools).reduce((sum, kinds) => sum + 1 + Object.keys(kinds).length, 0) <= maxDeclarations,
    `must not hold more than ${maxDeclarations} tools and arguments`,
  );

/** Names of one kind that agents add to the rule language. */
const names = (builtIn: Iterable<string>) => {
  const taken = new Set(builtIn);
  return z
    .array(
      z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, 'must be a name of letters, digits, _ and -')
        .refine((name) => !taken.has(name), 'is built in'),
    )
    .max(100);
};

export const toolSettings = z.object({
  tool_arguments: toolArguments,
  custom_selectors: z.array(z.string()),
  custom_operators: z.array(z.string()),
  updated_at: instant.nullable(),
  updated_by: z.string().nullable(),
});

export const settingRoutes = routes({
  rotateSigningKey: {
    method: 'POST',
    path: '/api/v1/settings/rotate-signing-key',
    auth: ['cookie'],
    role: 'admin',
    tag: 'settings',
    summary:
      'Make a new signing key and sign every current deployment with it; agents get the new signatures. With ' +
      'compromised, the old key does not vouch for the new one, and agents that pinned it must be pinned again',
    body: z.object({ compromised: z.boolean().optional() }),
    optionalBody: true,
    status: 201,
    reply: z.object({
      public_key: z.string(),
      rotated_at: instant,
      deployments_re_signed: z.number().int(),
      agents_follow: z.boolean(),
      warning: z.string().nullable(),
    }),
    errors: ['validation_failed', 'overloaded', 'unavailable'],
  },
  toolSettings: {
    method: 'GET',
    path: '/api/v1/settings/tools',
    auth: ['cookie'],
    tag: 'settings',
    summary:
      'What documents cannot say of your agents: what the arguments of tools hold, and which selectors and operators they register',
    status: 200,
    reply: toolSettings,
    errors: [],
  },
  putToolSettings: {
    method: 'PUT',
    path: '/api/v1/settings/tools',
    auth: ['cookie'],
    role: 'admin',
    tag: 'settings',
    summary:
      'Say what the arguments of tools hold (path, url, command, content or cwd), and which prefixes of selectors and which operators ' +
      'agents register, for linter, deploys and playground. Give agents the same as the options toolArguments, selectors and operators ' +
      'of their guard. What is absent stays as it was, null clears',
    body: z
      .object({
        tool_arguments: toolArguments.nullish(),
        custom_selectors: names(builtInPrefixes).nullish(),
        custom_operators: names(operatorNames).nullish(),
      })
      .refine(
        (body) => Object.keys(body).length > 0,
        'must hold tool_arguments, custom_selectors or custom_operators',
      ),
    status: 200,
    reply: toolSettings,
    errors: ['validation_failed'],
  },
  purgeEvents: {
    method: 'DELETE',
    path: '/api/v1/settings/purge-events',
    auth: ['cookie'],
    role: 'admin',
    tag: 'settings',
    summary:
      'Remove events received more than N days ago; complete is false when more are left, which are removed in the background',
    query: z.object({
      older_than_days: intQuery(1, 36_500),
      /** true: nothing is removed, and deleted_count is what would be. */
      dry_run: z.enum(['true', 'false']).default('false'),
    }),
    status: 200,
    reply: z.object({
      deleted_count: z.number().int(),
      cutoff: instant,
      complete: z.boolean(),
      dry_run: z.boolean(),
    }),
    errors: ['validation_failed', 'search_timeout'],
  },
});

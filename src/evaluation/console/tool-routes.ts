// Routes of declarations about a tenant's agents: what tools' arguments hold, custom words, isolation.
import { argumentKinds, builtInPrefixes, operatorNames, profilesProblem } from 'reeve-agent/rules';
import { z } from 'zod';
import { instant, isolationMode, line } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';

/** Arguments of all tools together. */
const maxDeclarations = 2_000;

const declarations = z.record(line(255), z.record(line(255), z.enum(argumentKinds)));
const { $schema: _, ...declarationsShape } = z.toJSONSchema(declarations, { io: 'input' });

/** True if a value of any shape holds no more than may be declared; stops counting there. */
function isWithinCount(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  let count = 0;
  for (const kinds of Object.values(value)) {
    count += 1 + (typeof kinds === 'object' && kinds !== null ? Object.keys(kinds).length : 0);
    if (count > maxDeclarations) return false;
  }
  return true;
}

/**
 * Contents of the arguments of tools, by tool (a name or a glob) and argument (`a.b`: the argument `b` in the mapping
 * `a`). Too many are refused before each is checked.
 */
export const toolArguments = z
  .unknown()
  .refine(isWithinCount, `must not contain more than ${maxDeclarations} tools and arguments`)
  .meta(declarationsShape)
  .pipe(declarations);

/** Profiles of programs for commands in sandboxes, by program: subcommands, options and operands. */
const commandProfiles = z
  .record(z.string().max(200), z.record(z.string(), z.unknown()))
  .superRefine((value, context) => {
    const problem = profilesProblem(value);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  });

/** Names of one kind that agents add to the rule language. */
const names = (builtIn: Iterable<string>) => {
  const taken = new Set(builtIn);
  return z
    .array(
      z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, 'must contain only letters, digits, _ and -')
        .refine((name) => !taken.has(name), 'is built in'),
    )
    .max(100);
};

export const toolSettingsReply = z.object({
  tool_arguments: toolArguments,
  custom_selectors: z.array(z.string()),
  custom_operators: z.array(z.string()),
  command_profiles: commandProfiles,
  isolation: isolationMode,
  updated_at: instant.nullable(),
  updated_by: z.string().nullable(),
});

export const toolSettingRoutes = routes({
  toolSettings: {
    method: 'GET',
    path: '/api/v1/settings/tools',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'settings',
    summary:
      'Declarations about your agents: the kinds of tool arguments, the selectors and operators that agents register, ' +
      'and the least isolation of programs that their tools run',
    status: 200,
    reply: toolSettingsReply,
    errors: [],
  },
  putToolSettings: {
    method: 'PUT',
    path: '/api/v1/settings/tools',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'settings',
    summary:
      'Declare the kinds of tool arguments (path, url, command, content or cwd), profiles of programs, and the selector prefixes ' +
      'and operators that agents register, for the linter, deployments and the playground. Give agents the same toolArguments, ' +
      'commandProfiles, selectors and operators as guard options. Connected agents receive isolation, the least isolation of ' +
      'programs that their tools run with exec. Absent fields keep their value, null clears it',
    ifMatch: 'The updated_at of the settings, or 0 if it is null.',
    body: z
      .object({
        tool_arguments: toolArguments.nullish(),
        custom_selectors: names(builtInPrefixes).nullish(),
        custom_operators: names(operatorNames).nullish(),
        command_profiles: commandProfiles.nullish(),
        isolation: isolationMode.nullish(),
      })
      .refine(
        (body) => Object.keys(body).length > 0,
        'must contain tool_arguments, custom_selectors, custom_operators, command_profiles or isolation',
      ),
    status: 200,
    reply: toolSettingsReply,
    audit: ['setting.changed'],
    errors: ['validation_failed'],
  },
});

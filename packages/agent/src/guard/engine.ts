// Extensions of the rule language beyond every guard's own, and the engine's options for them: the agent's variables,
// files and shell.
import { platform } from 'node:process';
import { processVariables, type Variables } from '../environment.ts';
import type { SessionLimits } from '../rules/bundle/rule.ts';
import type { AcceptedKinds } from '../rules/bundle/vocabulary.ts';
import type { EngineOptions } from '../rules/evaluate/compile.ts';
import type { CustomOperator } from '../rules/evaluate/operator.ts';
import type { CustomSelector } from '../rules/evaluate/selector.ts';
import type { ToolArguments } from '../rules/sandbox/names.ts';
import type { CommandProfiles } from '../rules/sandbox/profiles/profile.ts';
import { agentFiles } from './files.ts';

/** All documents together hold at most this many contracts. */
export const maxContracts = 500;

/** Accepted kinds of documents. A hub with its own wire names has its own kinds. */
export interface Dialect extends AcceptedKinds {
  /** Values of `apiVersion` accepted; default: any `<word>/v1`. */
  readonly apiVersions?: readonly string[];
}

/** Extensions of the rule language beyond every guard's own. */
export interface Language extends Dialect {
  /**
   * Operators beyond the built-in ones, by name: `(field, operand) => truthy`. One that throws makes its contract fire.
   */
  readonly operators?: { readonly [name: string]: CustomOperator };
  /** Selectors beyond the built-in ones, by prefix: `<prefix>.x.y` walks what the function gives for a call. */
  readonly selectors?: { readonly [prefix: string]: CustomSelector };
  /** Variables for `env.NAME` selectors. Default: the environment of the process. */
  readonly variables?: Variables;
  /**
   * Kinds of tools' arguments, for sandboxes: `{search: {where: 'path'}}`. Default: derived from names and values.
   */
  readonly toolArguments?: ToolArguments;
  /**
   * Profiles of programs for commands in sandboxes, beside the built-in ones or in their place:
   * `{deploy: {options: {flag: '--dry-run'}, operands: ['path']}}`.
   */
  readonly commandProfiles?: CommandProfiles;
  /** The folder from which sandboxes take relative paths. Default: this process's. */
  readonly cwd?: string;
  /**
   * Limits of a session that hold beside those of session contracts, the lower of both. Default: only session contracts
   * limit. Keys of `maxCallsPerTool` are names or globs of tools.
   */
  readonly limits?: SessionLimits;
}

export function engineOptions(language: Language): EngineOptions {
  const {
    variables = processVariables,
    operators,
    selectors,
    apiVersions,
    bundleKinds,
    rulesetKinds,
    toolArguments,
    commandProfiles,
    cwd,
    limits,
  } = language;
  return {
    maxContracts,
    // The environment inherits from Object: `env.toString` is no variable.
    env: (name) => (Object.hasOwn(variables, name) ? variables[name] : undefined),
    files: agentFiles(cwd),
    windows: platform === 'win32',
    ...(toolArguments ? { toolArguments } : {}),
    ...(commandProfiles ? { commandProfiles } : {}),
    ...(limits ? { limits } : {}),
    ...(operators ? { operators } : {}),
    ...(selectors ? { selectors } : {}),
    ...(apiVersions ? { apiVersions } : {}),
    ...(bundleKinds ? { bundleKinds } : {}),
    ...(rulesetKinds ? { rulesetKinds } : {}),
  };
}

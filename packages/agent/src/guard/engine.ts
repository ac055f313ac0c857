// The options of the rule engine as an agent runs it: its own variables, files and shell.
import { platform } from 'node:process';
import { processVariables } from '../environment.ts';
import type { EngineOptions } from '../rules/evaluate/compile.ts';
import { agentFiles } from './files.ts';
import type { Language } from './language.ts';

/** All documents together hold at most this many contracts. */
export const maxContracts = 500;

export function engineOptions(language: Language): EngineOptions {
  const {
    variables = processVariables,
    operators,
    selectors,
    apiVersions,
    bundleKinds,
    rulesetKinds,
    toolArguments,
    cwd,
  } = language;
  return {
    maxContracts,
    // The environment inherits from Object: `env.toString` is no variable.
    env: (name) => (Object.hasOwn(variables, name) ? variables[name] : undefined),
    files: agentFiles(cwd),
    windows: platform === 'win32',
    ...(toolArguments ? { toolArguments } : {}),
    ...(operators ? { operators } : {}),
    ...(selectors ? { selectors } : {}),
    ...(apiVersions ? { apiVersions } : {}),
    ...(bundleKinds ? { bundleKinds } : {}),
    ...(rulesetKinds ? { rulesetKinds } : {}),
  };
}

// Checks the options of a guard, with a TypeError that names the option. The content of contracts is checked elsewhere.
import { statSync } from 'node:fs';
import { isPublicKey } from '../bundle/signature.ts';
import { identifierPattern } from '../http.ts';
import { HubClient, hubChecks } from '../hub.ts';
import {
  aCount,
  aFlag,
  aFunction,
  aList,
  anObject,
  anything,
  aPattern,
  aText,
  type Check,
  type Checks,
  checkOptions,
  functionsByName,
  having,
  listOf,
  milliseconds,
  oneOf,
  orNull,
  texts,
} from '../options.ts';
import { isolationModes } from '../rules/isolation.ts';
import type { RedactionPolicy } from '../rules/redact.ts';
import { profilesProblem } from '../rules/sandbox/profiles/check.ts';
import type { RunOptions } from './call.ts';
import type { CodeContract } from './contract.ts';
import type { Language } from './engine.ts';
import type { BeforeHook } from './hook.ts';
import type { ConnectOptions, EvaluateOptions, GuardOptions } from './options.ts';

const principalNames = ['user_id', 'service_id', 'org_id', 'role', 'ticket_ref', 'claims'];

/** Further fields are let through and mean nothing; one that was meant for a known field is a mistake. */
const aPrincipal: Check = orNull((value) => {
  const notAnObject = anObject(value);
  if (notAnObject) return notAnObject;
  const plain = (name: string): string => name.toLowerCase().replaceAll('_', '');
  const names = Object.keys(value as object);
  const meant = (name: string) =>
    principalNames.find((principalName) => principalName !== name && plain(principalName) === plain(name));
  const wrong = names.find((name) => !principalNames.includes(name) && meant(name) !== undefined);
  return wrong === undefined ? null : `an object with ${meant(wrong)} instead of ${wrong}`;
});

function isRegularExpression(pattern: string | RegExp): boolean {
  try {
    new RegExp(pattern);
    return true;
  } catch {
    return false;
  }
}

const redactionChecks: Checks<RedactionPolicy> = {
  sensitiveKeys: texts,
  safeCompoundKeys: texts,
  customPatterns: listOf((item, i) =>
    Array.isArray(item) &&
    item.length === 2 &&
    (typeof item[0] === 'string' || item[0] instanceof RegExp) &&
    typeof item[1] === 'string' &&
    isRegularExpression(item[0])
      ? null
      : `pairs of a regular expression and its replacement (item ${i} is none)`,
  ),
  detectSecretValues: aFlag,
  keyPrefixes: texts,
};

const hookChecks: Checks<BeforeHook> = { tool: aText, name: aText, when: aFunction, run: aFunction };

const contractChecks: Checks<CodeContract> = {
  id: aText,
  tool: aText,
  mode: oneOf('enforce', 'observe'),
  type: oneOf('pre', 'session', 'post'),
  check: aFunction,
};

const limitNames = ['maxToolCalls', 'maxAttempts', 'maxCallsPerTool'];

function sessionLimits(value: unknown): string | null {
  const words = `an object with maxToolCalls, maxAttempts and maxCallsPerTool, whole numbers of at least 1`;
  if (anObject(value) !== null) return words;
  const { maxCallsPerTool = {}, ...counts } = value as { readonly [name: string]: unknown };
  if (anObject(maxCallsPerTool) !== null) return words;
  const all = [...Object.values(counts), ...Object.values(maxCallsPerTool as object)];
  const areNames = Object.keys(counts).every((name) => limitNames.includes(name));
  return areNames && all.every((count) => Number.isInteger(count) && (count as number) >= 1) ? null : words;
}

const languageChecks: Checks<Language> = {
  apiVersions: texts,
  bundleKinds: texts,
  rulesetKinds: texts,
  operators: functionsByName,
  selectors: functionsByName,
  variables: anObject,
  toolArguments: anObject,
  commandProfiles: (value) => (profilesProblem(value) === null ? null : 'sound profiles by program'),
  cwd: aText,
  limits: sessionLimits,
};

/** A file that is written: whatever stands in its place already must be a file. */
const aFile: Check = (value) => {
  const notText = aText(value);
  if (notText) return 'the path of a file';
  return statSync(value as string, { throwIfNoEntry: false })?.isDirectory()
    ? 'the path of a file, not of a folder'
    : null;
};

const guardChecks: Checks<GuardOptions> = {
  ...languageChecks,
  mode: oneOf('enforce', 'observe'),
  environment: aText,
  principal: aPrincipal,
  sessionId: aText,
  hooks: aList,
  contracts: aList,
  sinks: listOf((item, i) =>
    having('emit')(item) === null ? null : `a list of sinks (item ${i} has no emit())`,
  ),
  maxEvents: aCount(1),
  redaction: anObject,
  approvals: having('request'),
  sessions: having('get', 'set', 'delete', 'increment', 'batch'),
  hub: (value) => (value instanceof HubClient ? null : 'a HubClient'),
  spoolFile: aFile,
  closeTimeout: milliseconds,
  strictAudit: aFlag,
  isolation: oneOf(...isolationModes),
  openTelemetry: orNull(anObject),
  clock: having('now', 'after'),
  onFindings: orNull(aFunction),
  onError: aFunction,
};

const { hub: _hub, environment: _environment, ...sharedChecks } = guardChecks;

const connectChecks: Checks<ConnectOptions> = {
  ...sharedChecks,
  ...hubChecks,
  bundleName: aPattern(identifierPattern, 'a name of letters, digits, dots, _ and -'),
  tags: tagsCheck,
  signing: signingCheck,
  cacheFile: aFile,
  hubSessions: aFlag,
  transport: oneOf('sse', 'websocket', 'websocket-msgpack'),
  idleTimeout: milliseconds,
  onToolPins: aFunction,
  onBundle: aFunction,
};

const runChecks: Checks<RunOptions<unknown>> = {
  refusal: orNull(anObject),
  refusalAfterApproval: aFunction,
  principal: aPrincipal,
  environment: aText,
  sessionId: aText,
  parentCallId: orNull(aText),
  metadata: anObject,
  cwd: aText,
  traceparent: aText,
  signal: having('addEventListener'),
  approvals: aFunction,
  success: aFunction,
  outputText: aFunction,
  resultFields: aFunction,
  replaceText: aFunction,
  rounds: anObject,
  onWarning: aFunction,
};

const evaluateChecks: Checks<EvaluateOptions> = {
  principal: aPrincipal,
  environment: aText,
  metadata: anObject,
  cwd: aText,
  output: anything,
};

function tagsCheck(value: unknown): string | null {
  const words =
    'an object of at most 64 strings, with keys of at most 128 and values of at most 256 characters';
  if (anObject(value) !== null) return words;
  const entries = Object.entries(value as object);
  const fits = ([key, tag]: [string, unknown]): boolean =>
    key.length <= 128 && typeof tag === 'string' && tag.length <= 256;
  return entries.length <= 64 && entries.every(fits) ? null : words;
}

function signingCheck(value: unknown): string | null {
  if (value === 'off' || value === 'if-signed' || value === 'first-seen') return null;
  const areKeys =
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((key) => typeof key === 'string' && isPublicKey(key));
  return areKeys ? null : "'if-signed', 'first-seen', 'off', or a list of public keys of 64 hex characters";
}

/** @throws TypeError naming the option */
function checkParts({ redaction, hooks = [], contracts = [] }: GuardOptions): void {
  if (redaction !== undefined) checkOptions(redaction, redactionChecks, { where: 'redaction.' });
  for (const [i, hook] of hooks.entries()) {
    checkOptions<BeforeHook>(hook, hookChecks, { where: `hooks[${i}].`, required: ['run'] });
  }
  for (const [i, contract] of contracts.entries()) {
    const where = `contracts[${i}].`;
    checkOptions<CodeContract>(contract, contractChecks, { where, required: ['id', 'type', 'check'] });
  }
}

/** @throws TypeError naming the option */
export function checkGuardOptions(options: GuardOptions): void {
  checkOptions<GuardOptions>(options, guardChecks);
  checkParts(options);
}

/** @throws TypeError naming the option */
export function checkConnectOptions(options: ConnectOptions): void {
  checkOptions<ConnectOptions>(options, connectChecks, { required: ['url', 'apiKey'] });
  checkParts(options);
}

/** @throws TypeError naming the option */
export const checkRunOptions = (options: object): void => checkOptions(options, runChecks);

/** @throws TypeError naming the option */
export const checkEvaluateOptions = (options: object): void => checkOptions(options, evaluateChecks);

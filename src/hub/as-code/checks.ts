// Checks before the first write: rights, deletions of records that are still used, and documents that no deployment
// would accept.
import {
  absentOperators,
  assembleBundle,
  compileBundle,
  type JsonObject,
  lintBundle,
  maxStoredRules,
  parseYaml,
  RuleError,
  readBundle,
} from 'reeve-agent/rules';
import { maxRules } from '../../agent/rules/assignment.ts';
import { type CompositionContent, type ContractContent, type ItemContent, slotOf } from './content.ts';
import { type Desired, toolsAfter } from './desired.ts';
import { type FilePlace, type FileProblem, problemAt, singles } from './files.ts';
import type { Folder } from './folder.ts';
import type { HubState } from './hub-state.ts';
import { type ApplyStep, keyOf } from './steps.ts';

interface Subject {
  readonly folder: Folder;
  readonly hub: HubState;
  readonly desired: Desired;
  /** Steps that will be made. */
  readonly steps: readonly ApplyStep[];
}

/** A line for each reason why nobody can make all steps. */
export const problemsOf = (subject: Subject): FileProblem[] => [
  ...deletionProblems(subject),
  ...countProblems(subject),
  ...documentProblems(subject),
];

/** A line for each step that the token may not make. */
export function rightsProblemsOf({ folder, hub, steps }: Subject): FileProblem[] {
  if (steps.length === 0) return [];
  const { environments } = hub;
  const isAdmin = environments.some(({ role }) => role === 'admin');
  if (!isAdmin && !environments.some(({ role }) => role === 'operator'))
    return ["The token's service account needs the role operator. Ask an admin for the role."];
  const problems: FileProblem[] = [];
  const changeable = new Set(environments.filter((one) => one.canChange).map(({ env }) => env));
  for (const { key } of steps) {
    if (key === keyOf.tools && !isAdmin)
      problems.push(
        problemAt(
          folder.tools?.place ?? { file: singles.tools, line: 1 },
          'the tool settings differ, and only the token of an admin may change them',
        ),
      );
    if (!key.startsWith('deployment ')) continue;
    const slot = key.slice('deployment '.length);
    const env = slot.slice(0, slot.indexOf('/'));
    const place = folder.deployments?.get(slot)?.place ?? { file: singles.deployments, line: 1 };
    if (![...changeable].some((one) => one === env))
      problems.push(problemAt(place, `the token may not change ${env}`));
  }
  const ruleKeys = new Set(steps.map(({ key }) => key));
  for (const { content, place } of folder.rules ?? [])
    if (ruleKeys.has(keyOf.rule(content.priority)) && !changeable.has(content.env))
      problems.push(problemAt(place, `the token may not change ${content.env}`));
  for (const { content } of hub.rules)
    if (ruleKeys.has(keyOf.rule(content.priority)) && !changeable.has(content.env))
      problems.push(
        `The rule with the priority ${content.priority} is of ${content.env}, which the token may not change.`,
      );
  return problems;
}

function deletionProblems({ hub, desired, steps }: Subject): FileProblem[] {
  const deleted = new Set(steps.filter(({ action }) => action === 'delete').map(({ key }) => key));
  const problems: FileProblem[] = [];
  const remaining = new Map([
    ...[...hub.compositions].map(([name, { content }]) => [name, content] as const),
    ...desired.compositions,
  ]);
  for (const [name, { contracts }] of remaining) {
    if (deleted.has(keyOf.composition(name))) continue;
    for (const { contractId: id } of contracts)
      if (deleted.has(keyOf.contract(id)))
        problems.push(`The contract ${id} is only on the hub, but the composition ${name} contains it.`);
  }
  return problems;
}

function countProblems({ hub, steps }: Subject): FileProblem[] {
  const count = (action: ApplyStep['action']): number =>
    steps.filter((step) => step.action === action && step.key.startsWith('rule ')).length;
  const total = hub.rules.length + count('create') - count('delete');
  if (total <= maxRules) return [];
  return [
    `The hub would have ${total} assignment rules, but at most ${maxRules} fit. Delete some with --prune.`,
  ];
}

/** Documents that a step deploys must compile and have no error of the linter. */
function documentProblems(subject: Subject): FileProblem[] {
  const { folder, hub, desired, steps } = subject;
  const tools = toolsAfter(folder.tools?.content ?? {}, hub);
  const language = {
    operators: tools.customOperators,
    selectors: tools.customSelectors,
    tools: Object.keys(tools.toolArguments),
    commandProfiles: tools.commandProfiles as never,
  };
  const deployed = new Map(
    steps.filter(({ action }) => action === 'deploy').map(({ key, after }) => [key, after]),
  );
  const problems = new Set<FileProblem>();
  for (const [hash, { name, text, place }] of folder.bundles ?? []) {
    const isDeployed = hub.environments.some(
      ({ env }) => deployed.get(keyOf.deployment(slotOf(env, name))) === hash,
    );
    // A document that the hub stores already was deployed before, or is refused there with its findings.
    if (!isDeployed || hub.bundles.get(name)?.versions.has(hash)) continue;
    for (const { line, message } of errorsOf(text, language))
      problems.add(problemAt({ ...place, line }, message));
  }
  for (const [name, composition] of desired.compositions) {
    if (!hub.environments.some(({ env }) => deployed.has(keyOf.deployment(slotOf(env, name))))) continue;
    for (const item of composition.contracts) {
      const content = desired.contentOf(item.contractId, item.revision);
      const place = definitionPlace(folder, item.contractId, item.revision);
      if (!item.enabled || !content || !place) continue;
      for (const { message, path } of errorsOf(documentOf(name, composition, item, content), language))
        problems.add(problemAt(place, `${path === '' ? '' : `${path}: `}${message}`));
    }
  }
  return [...problems];
}

/** A document of one contract of a composition. */
const documentOf = (
  name: string,
  { documentKind: kind, defaultsMode, toolsConfig }: CompositionContent,
  { contractId, modeOverride, position, enabled }: ItemContent,
  { type, definition }: ContractContent,
): string =>
  assembleBundle({
    name,
    defaultsMode,
    ...(kind === 'ruleset' ? { kind: 'Ruleset' } : {}),
    toolsConfig: toolsConfig as JsonObject | null,
    items: [
      {
        contractId,
        version: 1,
        position,
        enabled,
        modeOverride,
        type,
        definition: definition as JsonObject,
      },
    ],
  }).yaml;

/** Null for a contract of the hub alone. */
function definitionPlace({ contracts }: Folder, id: string, revision: string): FilePlace | null {
  const entry = contracts?.get(id);
  if (!entry) return null;
  return entry.hash === revision
    ? entry.definitionPlace
    : { file: `contracts/${id}@${revision}.yaml`, line: 1 };
}

interface Finding {
  readonly line: number;
  readonly path: string;
  readonly message: string;
}

type Language = { readonly operators: readonly string[] } & Parameters<typeof lintBundle>[1];

/** Errors that would stop a deployment of the text. Kinds of documents are the hub's to judge. */
function errorsOf(text: string, language: Language): readonly Finding[] {
  const options = { maxContracts: maxStoredRules, operators: language.operators, ...kindsOf(text) };
  const read = readBundle(text, options);
  const result = read.ok
    ? compileBundle(read.documents, { operators: absentOperators(language.operators) })
    : read;
  if (!result.ok) return result.problems.map(({ line, path, message }) => ({ line, path, message }));
  if (!read.ok) return [];
  return lintBundle(read, language)
    .filter(({ severity }) => severity === 'error')
    .map(({ line, path, message }) => ({ line, path, message }));
}

function kindsOf(text: string) {
  try {
    const [document] = parseYaml(text);
    const { apiVersion, kind, rules } = (document?.value ?? {}) as JsonObject;
    return {
      ...(typeof apiVersion === 'string' ? { apiVersions: [apiVersion] } : {}),
      ...(typeof kind === 'string' ? { [rules === undefined ? 'bundleKinds' : 'rulesetKinds']: [kind] } : {}),
    };
  } catch (error) {
    if (error instanceof RuleError) return {};
    throw error;
  }
}

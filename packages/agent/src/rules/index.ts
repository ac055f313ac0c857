// The rule engine's public face: what the hub, the agent library and a browser may import of it. Pure: no clock, no
// I/O, no promise.

export { assembleBundle } from './bundle/assembly.ts';
export {
  maxConditionDepth,
  maxLeaves,
  maxPatternSteps,
  maxPatterns,
  operatorNames,
} from './bundle/condition.ts';
export { maxMessageLength } from './bundle/contract.ts';
export { decomposeBundle, maxContracts } from './bundle/decomposition.ts';
export { readBundle } from './bundle/document.ts';
export { maxStoredRules, readBundleHeader } from './bundle/header.ts';
export {
  type LintCode,
  type LintFinding,
  type LintOptions,
  lintBundle,
  maxFindings,
} from './bundle/lint.ts';
export { type BundleProblem, maxProblems } from './bundle/reader.ts';
export { ruleTypes } from './bundle/rule.ts';
export { validateBundle } from './bundle/validation.ts';
export type { AcceptedKinds } from './bundle/vocabulary.ts';
export { canonicalJson } from './canonical-json.ts';
export { RuleError } from './error.ts';
export { defaultEnvironment, type ToolCall } from './evaluate/call.ts';
export { type CompiledBundle, compileBundle } from './evaluate/compile.ts';
export { createExplainer, type EvaluatedCondition } from './evaluate/explain.ts';
export { compileGlob, globMatch } from './evaluate/glob.ts';
export type { Counters } from './evaluate/limits.ts';
export { type Decision, evaluateCall, limitDecision } from './evaluate/live.ts';
export { absentOperators } from './evaluate/operator.ts';
export {
  compileForDryRuns,
  type DryRun,
  dryRun,
  evaluateCompiled,
  evaluateYaml,
  maxEvaluateDocuments,
} from './evaluate/playground.ts';
export { builtInPrefixes } from './evaluate/selector.ts';
export {
  type ConditionTrace,
  createTracer,
  leavesOf,
  type TraceOutcome,
  type Tracer,
  traceCondition,
} from './evaluate/trace.ts';
export {
  type Isolation,
  type IsolationMode,
  isolationModes,
  isolations,
  readIsolationMode,
  stricterMode,
} from './isolation.ts';
export { readMessagePack } from './msgpack.ts';
export {
  bundleNamePattern,
  contractIdPattern,
  hasControl,
  isWellFormed,
  reservedBundleNames,
  sessionKeyPattern,
} from './names.ts';
export { createRedaction, looksSecret, type Redaction, type RedactionPolicy } from './redact.ts';
export { patternProblem } from './regex/regex.ts';
export { maxPatternLength } from './regex/syntax.ts';
export type { ToolArguments } from './sandbox/names.ts';
export { type ArgumentKind, argumentKinds } from './sandbox/names.ts';
export { profilesProblem } from './sandbox/profiles/check.ts';
export type { CommandProfile, CommandProfiles } from './sandbox/profiles/profile.ts';
export {
  type Case,
  type CaseFile,
  type CaseResult,
  maxCases,
  readCases,
  runCase,
  type Verdict,
} from './testing/cases.ts';
export { type ContractCoverage, type Coverage, coverageOf } from './testing/coverage.ts';
export {
  fingerprintOf,
  fingerprintPattern,
  instructionsEntry,
  isFingerprint,
  isToolName,
  type ListedTools,
  maxDefinitionBytes,
  maxDefinitionDepth,
  maxServerLabel,
  maxToolName,
  maxTools,
  type PinnedTool,
  problemTexts,
  type RefusedTool,
  readDefinition,
  readToolList,
  type ToolProblem,
  toolProblems,
} from './tools/definition.ts';
export {
  type PinDecision,
  type PinDocument,
  type PinMode,
  pinDecisions,
  pinModes,
  pinText,
  readPinDocument,
  signedPinText,
  type ToolPin,
  type ToolVerdict,
  verdictOf,
} from './tools/pins.ts';
export { type JsonObject, parseYaml, stringifyYaml, type YamlDocument } from './yaml.ts';

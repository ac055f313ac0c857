// The verdict on one call of a coding assistant: the same path as a guard's call up to the tool, which the assistant
// runs itself.
import { join, resolve } from 'node:path';
import { type ApprovalBackend, type ApprovalRequest, HandedOverError } from '../../approvals.ts';
import { systemClock } from '../../clock.ts';
import { judgedArguments } from '../../guard/arguments.ts';
import { DeniedError } from '../../guard/call.ts';
import { Outcomes, RunCounters } from '../../guard/counters.ts';
import { engineOptions } from '../../guard/engine.ts';
import { agentFiles } from '../../guard/files.ts';
import type { BeforeHook } from '../../guard/hook.ts';
import { Policy } from '../../guard/policy.ts';
import { GovernedCall } from '../../guard/run.ts';
import { type AuditRecord, toWire } from '../../record.ts';
import { compileBundle } from '../../rules/evaluate/compile.ts';
import { globMatch } from '../../rules/evaluate/glob.ts';
import { createRedaction } from '../../rules/redact.ts';
import type { ToolArguments } from '../../rules/sandbox/names.ts';
import { noTelemetry } from '../../telemetry.ts';
import type { ConnectionPlan } from '../connection.ts';
import { findAmbiguousName } from '../mcp/names.ts';
import { withAliases } from './aliases.ts';
import type { HookInput, Verdict } from './formats.ts';
import { FileCounters, type GateState, type KeptContracts } from './state.ts';

export interface Judging {
  readonly plan: ConnectionPlan;
  readonly state: GateState;
  readonly contracts: KeptContracts;
  /** Absolute folders of the project: relative boundaries of sandboxes start there. */
  readonly projects: readonly [string, ...string[]];
  /** True if the assistant asks its own user when a verdict requests that. */
  readonly asks: boolean;
  /** Treatment of a call to an unknown tool. */
  readonly unknown: 'judge' | 'deny';
  /** Approvals of the hub, when there is one. */
  readonly hubApprovals: () => Promise<ApprovalBackend | null>;
  /** True if people get a warning about unknown tools. */
  readonly warnsOfUnknown: boolean;
  /** For people. */
  readonly log: (text: string) => void;
}

/** True if every contract that asks leaves it to the person in front of the assistant. */
const mayElicit = ({ contracts = [] }: ApprovalRequest): boolean =>
  contracts.length > 0 && contracts.every(({ metadata }) => metadata?.elicit === true);

/** @throws Error when the call cannot be judged */
export async function judge(input: HookInput, judging: Judging): Promise<Verdict> {
  const { plan, state, log } = judging;
  const { principal = null, environment = plan.hub?.env ?? 'production' } = plan.guard;
  const policy = policyOf(input, judging);
  const keyPrefix = /^[A-Za-z][A-Za-z0-9-]{1,15}_/.exec(plan.hub?.apiKey ?? '')?.[0];
  const session = input.session ?? `gate-${process.ppid}`;
  let question = '';
  const sessions = new FileCounters(join(state.folder, 'sessions'));
  const parts = {
    policy,
    currentPolicy: () => policy,
    modeOf: ({ bundle }: Policy) => bundle.mode,
    hooks: hooksOf(input, policy, judging),
    contracts: [],
    matches: globMatch,
    sessions,
    outcomes: new Outcomes(),
    approvals: approvalsOf(judging, (message) => {
      question = message;
    }),
    within: <T>(_callId: string, task: () => T): T => task(),
    sink: { emit: async (record: AuditRecord) => keep(record, judging) },
    redaction: createRedaction(keyPrefix === undefined ? {} : { keyPrefixes: [keyPrefix] }),
    telemetry: noTelemetry,
    clock: systemClock,
    onError: (failure: unknown, what: string) =>
      log(`${what}: ${failure instanceof Error ? failure.message : String(failure)}`),
    strict: false,
  };
  // Each call has a process of its own, so the index comes from the folder of state.
  const callIndex = (await sessions.increment(`calls ${session}`)) - 1;
  const place = { runId: session, callIndex, parentCallId: null, environment, principal };
  const call = { tool: input.tool, args: input.args, judged: judgedArguments(input.args) };
  try {
    await new GovernedCall(parts, place, call, { cwd: folderOf(input, judging) }).decide();
    return { verdict: 'allow', contract: null, reason: '' };
  } catch (failure) {
    if (failure instanceof HandedOverError) {
      // The user's decision is not reported, so the call counts as executed.
      await new RunCounters(sessions, session, input.tool).execution();
      return { verdict: 'ask', contract: null, reason: question };
    }
    if (!(failure instanceof DeniedError)) throw failure;
    return { verdict: 'deny', contract: failure.contract, reason: failure.message };
  }
}

/** The assistant's folder moves with what the model runs: words start there, a sandbox never does. */
const folderOf = (input: HookInput, { projects }: Judging): string => resolve(projects[0], input.cwd ?? '');

/** @throws Error when the contracts do not compile */
function policyOf(input: HookInput, { plan, contracts, projects }: Judging): Policy {
  const { toolArguments, commandProfiles = {} } = plan.guard;
  const { tool, knownTool } = input;
  const options = engineOptions({
    toolArguments: declarationsOf(input, toolArguments),
    commandProfiles,
  });
  const compiled = compileBundle(contracts.documents, {
    ...options,
    files: { ...agentFiles(projects[0], projects), judgesFolder: input.cwd !== null },
    windows: options.windows === true || knownTool?.foreignShell === true,
  });
  if (!compiled.ok) throw new Error(compiled.problems.map(({ message }) => message).join('\n'));
  const bundle = withAliases(compiled.bundle, tool, knownTool?.also ?? []);
  return new Policy(bundle, contracts.policyVersion, contracts.name);
}

/** @param onQuestion takes the question that the assistant asks its own user */
const approvalsOf = (judging: Judging, onQuestion: (message: string) => void): ApprovalBackend => ({
  async request(request, signal) {
    if (judging.asks && mayElicit(request)) {
      onQuestion(request.message);
      return {
        id: null,
        outcome: async () => {
          throw new HandedOverError();
        },
      };
    }
    const hub = await judging.hubApprovals();
    if (!hub) throw new Error('no hub is configured that could ask a person');
    return hub.request(request, signal);
  },
});

/** Kinds of arguments from the assistant's table; declarations from the caller take precedence. */
function declarationsOf({ tool, knownTool }: HookInput, declared: ToolArguments = {}): ToolArguments {
  const names = [...(knownTool?.also ?? []), tool];
  const own = names.map((name) => (Object.hasOwn(declared, name) ? declared[name] : undefined));
  return { ...declared, [tool]: Object.assign({}, knownTool?.args, ...own) };
}

/** Refusals that come before any contract. */
function hooksOf({ tool, args, knownTool }: HookInput, policy: Policy, judging: Judging): BeforeHook[] {
  const { toolArguments = {} } = judging.plan.guard;
  if (knownTool === null && !Object.keys(toolArguments).some((pattern) => globMatch(pattern, tool))) {
    const advice = 'Declare its arguments with --tools';
    if (judging.unknown === 'judge') {
      if (judging.warnsOfUnknown)
        judging.log(
          `the tool ${tool} is unknown to this format, so it is judged by its own name and arguments. ${advice}.`,
        );
      return [];
    }
    const deny = `The tool ${tool} is unknown to this format, and --unknown deny refuses unknown tools. ${advice}.`;
    return [{ name: 'unknown_tool', run: () => ({ deny }) }];
  }
  const ambiguous = knownTool?.isMcp ? findAmbiguousName(args, policy.argumentPaths(tool), null) : null;
  if (!ambiguous) return [];
  const { name, meant } = ambiguous;
  const deny = `The argument ${JSON.stringify(name)} is refused, because the server may read it as ${JSON.stringify(meant)}.`;
  return [{ name: 'ambiguous_argument', run: () => ({ deny }) }];
}

function keep(record: AuditRecord, { plan, state, contracts, log }: Judging): void {
  if (!plan.hub) return;
  const event = toWire(record, plan.hub.agentId ?? 'default', contracts.name);
  const leftOut = state.appendEvent(JSON.stringify(event));
  if (leftOut > 0)
    log(`too many events wait for the hub. This one is left out, as are ${leftOut - 1} events before it.`);
}

// The verdict on one call of a coding assistant: the same path as a guard's call up to the tool, which the assistant
// runs itself.
import { join } from 'node:path';
import { type ApprovalBackend, type ApprovalRequest, HandedOverError } from '../../approvals.ts';
import { systemClock } from '../../clock.ts';
import { judgedArguments } from '../../guard/arguments.ts';
import { DeniedError } from '../../guard/call.ts';
import { engineOptions } from '../../guard/engine.ts';
import { Policy } from '../../guard/policy.ts';
import { GovernedCall } from '../../guard/run.ts';
import { type AuditRecord, toWire } from '../../record.ts';
import { compileBundle } from '../../rules/evaluate/compile.ts';
import { globMatch } from '../../rules/evaluate/glob.ts';
import { capPayload, createRedaction } from '../../rules/redact.ts';
import { noTelemetry } from '../../telemetry.ts';
import type { ConnectionPlan } from '../connection.ts';
import type { HookInput, Verdict } from './formats.ts';
import { FileCounters, type GateState, type KeptContracts } from './state.ts';

export interface Judging {
  readonly plan: ConnectionPlan;
  readonly state: GateState;
  readonly contracts: KeptContracts;
  /** Whether the assistant asks its own user when it is told to. */
  readonly asks: boolean;
  /** Approvals of the hub, when there is one. */
  readonly hubApprovals: () => Promise<ApprovalBackend | null>;
  /** For people. */
  readonly told: (text: string) => void;
}

/** Whether every contract that asks leaves it to the person in front of the assistant. */
const mayElicit = ({ contracts = [] }: ApprovalRequest): boolean =>
  contracts.length > 0 && contracts.every(({ metadata }) => metadata?.elicit === true);

/** @throws Error when the call cannot be judged */
export async function judge(input: HookInput, judging: Judging): Promise<Verdict> {
  const { plan, state, contracts, told } = judging;
  const { toolArguments, principal = null, environment = plan.hub?.env ?? 'production' } = plan.guard;
  const cwd = input.cwd ?? process.cwd();
  const language = { cwd, ...(toolArguments ? { toolArguments } : {}) };
  const compiled = compileBundle(contracts.documents, engineOptions(language));
  if (!compiled.ok) throw new Error(compiled.problems.map(({ message }) => message).join('\n'));
  const policy = new Policy(compiled.bundle, contracts.policyVersion, contracts.name);
  const keyPrefix = /^[A-Za-z][A-Za-z0-9-]{1,15}_/.exec(plan.hub?.apiKey ?? '')?.[0];
  const session = input.session ?? `gate-${process.ppid}`;
  let question = '';
  const approvals: ApprovalBackend = {
    async request(request, signal) {
      if (judging.asks && mayElicit(request)) {
        question = request.message;
        return {
          id: null,
          outcome: async () => {
            throw new HandedOverError();
          },
        };
      }
      const hub = await judging.hubApprovals();
      if (!hub) throw new Error('there is no hub to ask');
      return hub.request(request, signal);
    },
  };
  const parts = {
    policy,
    currentPolicy: () => policy,
    mode: policy.bundle.mode,
    hooks: [],
    contracts: [],
    matches: globMatch,
    sessions: new FileCounters(join(state.folder, 'sessions')),
    approvals,
    within: <T>(_callId: string, task: () => T): T => task(),
    sink: { emit: async (record: AuditRecord) => keep(record, judging) },
    redaction: createRedaction(keyPrefix === undefined ? {} : { keyPrefixes: [keyPrefix] }),
    telemetry: noTelemetry,
    clock: systemClock,
    onError: (failure: unknown, what: string) =>
      told(`${what}: ${failure instanceof Error ? failure.message : String(failure)}`),
    onNotice: told,
    strict: false,
  };
  const place = { runId: session, callIndex: 0, parentCallId: null, environment, principal };
  const asked = { tool: input.tool, args: input.args, judged: judgedArguments(input.args) };
  try {
    await new GovernedCall(parts, place, asked, { cwd }).decide();
    return { verdict: 'allow', contract: null, reason: '' };
  } catch (failure) {
    if (failure instanceof HandedOverError) return { verdict: 'ask', contract: null, reason: question };
    if (!(failure instanceof DeniedError)) throw failure;
    return { verdict: 'deny', contract: failure.contract, reason: failure.message };
  }
}

function keep(record: AuditRecord, { plan, state, contracts }: Judging): void {
  if (!plan.hub) return;
  const event = toWire(capPayload(record) as AuditRecord, plan.hub.agentId ?? 'default', contracts.name);
  state.appendEvent(JSON.stringify(event));
}

// The parts of a guard that its calls use, and the place of a call. Types only.
import type { ApprovalBackend } from '../approvals.ts';
import type { GuardMode, Principal } from '../record.ts';
import type { SessionStore } from '../sessions.ts';
import type { Judged } from './arguments.ts';
import type { CodeContract } from './contract.ts';
import type { Outcomes } from './counters.ts';
import type { BeforeHook } from './hook.ts';
import type { JournalPorts } from './journal.ts';
import type { Policy } from './policy.ts';

/** The parts of a guard that its calls use. */
export interface RunParts extends JournalPorts {
  readonly policy: Policy;
  /** The policy in force now: another than `policy` when contracts were replaced since then. */
  readonly currentPolicy: () => Policy;
  /** The mode of calls that the policy judges. */
  readonly modeOf: (policy: Policy) => GuardMode;
  readonly hooks: readonly BeforeHook[];
  readonly contracts: readonly CodeContract[];
  readonly matches: (pattern: string, tool: string) => boolean;
  readonly sessions: SessionStore;
  readonly outcomes: Outcomes;
  readonly approvals: ApprovalBackend | null;
  /** Runs the tool so that governed calls inside it know their parent. */
  readonly within: <T>(callId: string, task: () => T) => T;
}

/** The tool that is called, and its arguments. */
export interface CallSubject<A> {
  readonly tool: string;
  readonly args: A;
  /** The judged copy of the arguments, which nobody can change while the call waits. */
  readonly judged: Judged;
}

export interface CallPlace {
  readonly runId: string;
  readonly callIndex: number;
  readonly parentCallId: string | null;
  readonly environment: string;
  readonly principal: Principal | null;
}

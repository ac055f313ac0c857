// Events and their outcomes as documents of MongoDB.
import type { OutcomeJson } from '../../src/event/record/json.ts';
import type { Reporter } from '../../src/run/rules/report.ts';

/** An outcome, with the fields that a new count of its run needs. */
export interface OutcomeRow extends OutcomeJson {
  /** The batch that added it; absent: no export contains it. */
  readonly by?: string;
  /** Absent: as the event's. */
  readonly receivedAt?: number;
  /** The repeat's agent and session, and its facts for that run, as JSON; absent when the repeat names no session. */
  readonly agent?: string;
  readonly session?: string;
  readonly facts?: string;
  readonly reporter?: Reporter;
}

export interface EventRow {
  /** Rises in the order of arrival (uuidv7.ts). */
  readonly _id: string;
  readonly tenantId: string;
  readonly env: string;
  readonly callId: string;
  readonly agentId: string;
  /** Absent when it is the agent's own. */
  readonly sentBy?: string;
  readonly toolName: string;
  /** The stored verdict, then those of the outcomes, each once. */
  readonly verdicts: readonly string[];
  readonly verdict: string;
  readonly mode: string;
  readonly ts: number;
  readonly payload: string | null;
  /** payload.decision_name, when it is a text. */
  readonly decisionName: string | null;
  /** Texts for searches (event/rules/texts); absent without a payload. */
  readonly texts?: readonly string[];
  /** payload.run_id, when it is a text. */
  readonly runId?: string;
  /** payload.policy_version, when it is a text that could be one. */
  readonly policyVersion?: string;
  readonly outcomes: readonly OutcomeRow[];
  /** The call id is made of the content. */
  readonly unnamed?: true;
  /** As in the domain's event. */
  readonly flat?: true;
  readonly givenCallId?: string;
  /** The session that it belongs to; absent when it names none. */
  readonly session?: string;
  readonly parentSession?: string;
  /** Ids of other runs that repeats of it belong to. */
  readonly alsoIn?: readonly string[];
  readonly sample?: true;
  readonly truncated?: readonly string[];
  /** Of what the audit chain records alone. */
  readonly reporter?: Reporter;
  readonly receivedAt: number;
  /** The batch that brought it; absent: no export contains it. */
  readonly batch?: string;
}

// Conditions of a search for events. Pure.
import type { EnvFilter } from '../../shared/ids.ts';
import type { VerdictFilter } from './decision.ts';
import type { Query } from './query/parse.ts';

/** Filters for events. A missing member does not filter. */
export interface EventFilter {
  readonly env: EnvFilter;
  readonly agentId?: string;
  readonly toolName?: string;
  /** Fits the stored verdict or one among the outcomes. */
  readonly verdict?: string;
  /** As `verdict`, for several words. */
  readonly verdicts?: VerdictFilter;
  readonly mode?: string;
  /** The session that the event belongs to (event/rules/decision). */
  readonly sessionId?: string;
  readonly parentSessionId?: string;
  /** Places in the order of arrival, both inclusive. */
  readonly fromSeq?: number;
  readonly toSeq?: number;
  /** Epoch milliseconds, inclusive. */
  readonly since?: number;
  readonly until?: number;
  /** Fits payload.decision_name of the event or of one of its outcomes. */
  readonly decisionName?: string;
  /** Fits payload.run_id. */
  readonly runId?: string;
  readonly callId?: string;
  /** With `callId`: only the event that is stored under it, which an index finds however old it is. Default: false */
  readonly isStoredCallId?: true;
  /**
   * Case-insensitive substring of agent id, tool name, call id, payload.decision_name, or one of the event's texts
   * (event/rules/texts).
   */
  readonly search?: string;
  /** Parsed with the grammar of events (event/rules/query). Counts take only terms that counted parts decide. */
  readonly query?: Query;
}

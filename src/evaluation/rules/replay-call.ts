// The calls that a replay looks at, out of the events that reported them, and the counters of their sessions. Pure.
// Holds what names a call, never its arguments.

import type { JsonObject } from '../../contract/record.ts';
import type { StoredEvent } from '../../event/record.ts';
import { actionOf, callIdOf, callIndexOf, sessionOf, verdictFilter } from '../../event/rules/decision.ts';
import { isMapping } from '../../shared/json/mapping.ts';
import type { ReplayedCall } from '../record.ts';

/** Parts of a stored call that differ from the agent's input. */
export type Missing = 'tool' | 'arguments' | 'principal';

/** A call as the engine is given it. */
export interface ReplayCall {
  readonly tool: string;
  readonly args: JsonObject;
  readonly environment: string;
  readonly principal: JsonObject | null;
  /** Of these nothing, or only a part, is stored. */
  readonly missing: readonly Missing[];
  /**
   * The hub has altered the arguments or the principal: texts that end in an ellipsis were cut, and long texts of
   * digits were whole numbers.
   */
  readonly cut: boolean;
}

/** Counts that an agent reported with a call. */
interface Reported {
  /** The call itself among them. */
  readonly attempts: number;
  /** Clients disagree on whether a call that was allowed is among them. */
  readonly executions: number;
}

export interface SeenCall extends ReplayedCall {
  readonly callIndex: number;
  /** True if the agent marked the call as the first of its run. */
  readonly isFirst: boolean;
  readonly seq: number;
  /** The hosted API's word for what was decided then. */
  readonly recordedAction: string;
  readonly reported: Reported | null;
  /** Null: a person was asked, and what came of it is not known here. */
  readonly ran: boolean | null;
}

/** Counters of a session before a call, as far as they are known. */
export interface KnownCounters {
  readonly attempts: number;
  /** At least so many calls had run, and at most so many as far as the agent counted them. */
  readonly executions: number;
  readonly maxExecutions: number;
  /** Calls of the same tool that had run. */
  readonly toolExecutions: number;
  /** False: there may have been more than were seen. */
  readonly exact: boolean;
  readonly exactOfTool: boolean;
}

const decisions = ['call_allowed', 'call_blocked', 'call_asked', 'call_would_block', 'other'];
/** Events with the decision on a call. A verdict that a hub does not know counts as allowed, and so is a decision. */
export const decidingVerdicts = verdictFilter(decisions) ?? { any: [], others: true };

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** The call of an event, as input for the engine. */
export function replayCallOf(event: StoredEvent): ReplayCall {
  const { payload, truncated = [], env } = event;
  const { principal, environment } = payload ?? {};
  const args = payload?.tool_args;
  const missing: Missing[] = [];
  if (truncated.includes('tool_name')) missing.push('tool');
  if (!isMapping(args)) missing.push('arguments');
  // Null means that the call was made for nobody; without the field the principal is unknown.
  if (principal === undefined) missing.push('principal');
  return {
    tool: event.toolName,
    args: isMapping(args) ? args : {},
    environment: typeof environment === 'string' && environment !== '' ? environment : env,
    principal: isMapping(principal) ? principal : null,
    missing,
    cut: truncated.some((place) => ['payload', 'payload.tool_args', 'payload.principal'].includes(place)),
  };
}

function reportedBy({ payload }: StoredEvent): Reported | null {
  const attempts = payload?.session_attempt_count;
  const executions = payload?.session_execution_count;
  // A call is an attempt itself: 0 is what clients send that do not count.
  return isCount(attempts) && attempts > 0 && isCount(executions) ? { attempts, executions } : null;
}

const ranWords = new Set(['call_executed', 'call_failed', 'call_approval_granted', 'call_allowed']);

function ranBy(words: ReadonlySet<string>): boolean | null {
  if ([...words].some((word) => ranWords.has(word))) return true;
  if (words.has('call_blocked') || words.has('call_approval_blocked')) return false;
  return words.has('call_asked') ? null : true;
}

interface Entry extends SeenCall {
  readonly words: Set<string>;
}

/**
 * Collects calls from events that come newest first. Several events may decide one call: the first of them, in time,
 * stands for it.
 */
export class ReplayCalls {
  readonly #entries: Entry[] = [];
  readonly #places = new Map<string, number>();
  readonly #sessions = new Set<string>();
  readonly #maxCalls: number;
  readonly #maxSessions: number;

  /** @param maxSessions of the newest sessions; calls of no session count too */
  constructor({ maxCalls, maxSessions }: { readonly maxCalls: number; readonly maxSessions: number | null }) {
    this.#maxCalls = maxCalls;
    this.#maxSessions = maxSessions ?? Number.POSITIVE_INFINITY;
  }

  /** Newest first. */
  get calls(): readonly SeenCall[] {
    return this.#entries;
  }

  get isFull(): boolean {
    return this.#entries.length >= this.#maxCalls;
  }

  /** True when there was no room for a call that was found, or none for its session. */
  leftOut = false;

  /** The calls that these events add, in the order of `calls`. Events of the sample run add none. */
  take(events: readonly StoredEvent[]): readonly ReplayCall[] {
    const added: ReplayCall[] = [];
    for (const event of events) {
      if (event.sample) continue;
      const callId = callIdOf(event);
      const key = callId === null ? event.id : JSON.stringify([event.env, event.agentId, callId]);
      const words = [event.verdict, ...event.outcomes.map(({ verdict }) => verdict)].map(actionOf);
      const place = this.#places.get(key);
      if (place !== undefined) {
        this.#join(place, event, words);
        continue;
      }
      if (this.isFull || !this.#admits(event)) {
        this.leftOut = true;
        continue;
      }
      this.#places.set(key, this.#entries.length);
      this.#entries.push(entryOf(event, callId, new Set(words)));
      added.push(replayCallOf(event));
    }
    return added;
  }

  /** Keeps the newest `count` calls. */
  cut(count: number): void {
    this.#entries.length = Math.min(count, this.#entries.length);
  }

  #admits(event: StoredEvent): boolean {
    const sessionId = sessionOf(event);
    if (sessionId === null) return true;
    const key = sessionKey({ agentId: event.agentId, sessionId });
    if (this.#sessions.has(key)) return true;
    if (this.#sessions.size >= this.#maxSessions) return false;
    this.#sessions.add(key);
    return true;
  }

  /** An event that came before those of its call that were seen. */
  #join(place: number, event: StoredEvent, words: readonly string[]): void {
    const entry = this.#entries[place];
    if (!entry) return;
    for (const word of words) entry.words.add(word);
    const first = entryOf(event, entry.callId, entry.words);
    this.#entries[place] = { ...first, reported: entry.reported ?? first.reported };
  }

  /** Counters of the session before each call, in the order of `calls`; null for a call without a session. */
  counters(): readonly (KnownCounters | null)[] {
    const counters: (KnownCounters | null)[] = this.#entries.map(() => null);
    for (const places of this.#bySession().values()) {
      const ordered = places.sort((a, b) => inOrder(this.#entries[a], this.#entries[b]));
      const first = this.#entries[ordered[0] ?? 0];
      // Agents that do not count send 0 each time.
      const fromStart = first?.isFirst === true && !this.#entries[ordered[1] ?? -1]?.isFirst;
      let [attempts, executions, isKnown] = [0, 0, fromStart];
      const ofTool = new Map<string, number>();
      for (const place of ordered) {
        const call = this.#entries[place];
        if (!call) continue;
        attempts++;
        const toolExecutions = ofTool.get(call.tool) ?? 0;
        const { reported } = call;
        const max = reported?.executions ?? executions;
        counters[place] = {
          attempts: Math.max(attempts, reported?.attempts ?? 0),
          executions: reported ? Math.max(0, call.ran ? max - 1 : max) : executions,
          maxExecutions: max,
          toolExecutions,
          exact: reported !== null || isKnown,
          exactOfTool: isKnown,
        };
        if (call.ran === null) isKnown = false;
        if (!call.ran) continue;
        executions++;
        ofTool.set(call.tool, toolExecutions + 1);
      }
    }
    return counters;
  }

  #bySession(): ReadonlyMap<string, number[]> {
    const positions = new Map<string, number[]>();
    for (const [place, { agentId, sessionId }] of this.#entries.entries()) {
      if (sessionId === null) continue;
      const key = sessionKey({ agentId, sessionId });
      const places = positions.get(key);
      if (places) places.push(place);
      else positions.set(key, [place]);
    }
    return positions;
  }
}

const sessionKey = ({
  agentId,
  sessionId,
}: {
  readonly agentId: string;
  readonly sessionId: string;
}): string => JSON.stringify([agentId, sessionId]);

const inOrder = (a: SeenCall | undefined, b: SeenCall | undefined): number =>
  a && b ? a.timestamp - b.timestamp || a.callIndex - b.callIndex || a.seq - b.seq : 0;

const entryOf = (event: StoredEvent, callId: string | null, words: Set<string>): Entry => ({
  eventId: event.id,
  callId,
  agentId: event.agentId,
  sessionId: sessionOf(event),
  tool: event.toolName,
  timestamp: event.timestamp,
  callIndex: callIndexOf(event),
  isFirst: event.payload?.call_index === 0,
  seq: event.seq,
  recordedAction: actionOf(event.verdict),
  reported: reportedBy(event),
  ran: ranBy(words),
  words,
});

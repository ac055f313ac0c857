// Batches of audit events as agents send them, in the forms of both APIs: 50 of one agent over 5 s, about 0.9 KB each,
// random call ids (UUID version 4).
import { randomUUID } from 'node:crypto';

export const batchSize = 50;
/** Agents of each tenant. */
export const agentCount = 1000;

export interface WireEvent {
  readonly call_id: string;
  readonly agent_id: string;
  readonly tool_name: string;
  readonly verdict: string;
  readonly mode: 'enforce';
  /** ISO 8601, milliseconds. */
  readonly timestamp: string;
  readonly payload: { readonly [key: string]: unknown };
}

export const agentName = (n: number, prefix = 'agent'): string =>
  `${prefix}-${String(n % agentCount).padStart(6, '0')}`;

const words =
  'select region total from ledger where quarter equals and status open order by created limit '.split(' ');
const text = (length: number, seed: number): string => {
  let filler = '';
  for (let i = seed; filler.length < length; i = (i * 7 + 3) % 1009) filler += `${words[i % words.length]} `;
  return filler.slice(0, length);
};

/** The events of one batch. @param at the newest event's time, Unix ms */
export function makeBatch(agent: string, at: number, verdict?: string): WireEvent[] {
  return Array.from({ length: batchSize }, (_, i) => ({
    call_id: randomUUID(),
    agent_id: agent,
    tool_name: `tool-${i % 5}`,
    verdict: verdict ?? (i % 17 === 0 ? 'call_denied' : 'call_allowed'),
    mode: 'enforce',
    timestamp: new Date(at - (batchSize - 1 - i) * 100).toISOString(),
    payload: {
      tool_args: { path: `/srv/reports/${agent}/${i}.txt`, query: text(380, i) },
      side_effect: 'read',
      environment: 'production',
      principal: { user_id: `user-${i % 7}`, role: 'analyst', org_id: 'example' },
      decision_source: 'contract',
      decision_name: `contract-${i % 3}`,
      reason: null,
      policy_version: '4f2d8a1c9b7e6d5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f',
      run_id: 'run-2026-11-21-0001',
      duration_ms: 12 + i,
    },
  }));
}

/** Runs of each agent, where batches name one. */
export const runsOfAgent = 20;
export const sessionName = (n: number): string => `session-${String(n % runsOfAgent).padStart(4, '0')}`;

/**
 * Form of the events in a body. `console`: nested, for `/api/v1/events`. `consoleWithoutRun`: the same, but the events
 * belong to no run. `hosted`: flat, for `/v1/events`, with a session that can be set.
 */
export type BatchForm = 'console' | 'consoleWithoutRun' | 'hosted';

function formed(event: WireEvent, form: BatchForm): { readonly [key: string]: unknown } {
  const { payload, verdict, ...rest } = event;
  const { run_id: _run, ...without } = payload;
  if (form === 'console') return { ...event };
  if (form === 'consoleWithoutRun') return { ...rest, verdict, payload: without };
  return { ...rest, action: verdict, ...without, session_id: sessionName(0) };
}

function placesOf(text: string, bytes: Buffer): readonly number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) places.push(at);
  return places;
}

/**
 * A request body whose call ids, times, agent and session can be set in place, so that making load costs little.
 * Every `refresh` gives the same buffer with new ids.
 */
export class ReusableBody {
  readonly bytes: Buffer;
  readonly #ids: readonly number[];
  readonly #times: readonly number[];
  readonly #agents: readonly number[];
  readonly #sessions: readonly number[];
  readonly #makeId: () => string;

  /**
   * @param makeId makes call ids, 36 ASCII characters each. Default: `randomUUID`
   * @param agentPrefix of the agents that `refresh` gets, in ASCII
   */
  constructor(form: BatchForm = 'console', makeId: () => string = randomUUID, agentPrefix = 'agent') {
    this.#makeId = makeId;
    const agent = agentName(0, agentPrefix);
    const events = makeBatch(agent, Date.UTC(2026, 0, 1));
    this.bytes = Buffer.from(JSON.stringify({ events: events.map((event) => formed(event, form)) }));
    this.#ids = events.map((event) => this.bytes.indexOf(event.call_id));
    this.#times = events.map((_, i) => this.bytes.indexOf('"timestamp":"', this.#ids[i]) + 13);
    this.#agents = placesOf(agent, this.bytes);
    this.#sessions = placesOf(sessionName(0), this.bytes);
  }

  /** @param session of its agent, in forms that name one */
  refresh(agent: string, now: number, session = sessionName(0)): Buffer {
    for (const at of this.#ids) this.bytes.write(this.#makeId(), at, 'latin1');
    for (const at of this.#agents) this.bytes.write(agent, at, 'latin1');
    for (const at of this.#sessions) this.bytes.write(session, at, 'latin1');
    for (const [i, at] of this.#times.entries()) {
      this.bytes.write(new Date(now - (batchSize - 1 - i) * 100).toISOString(), at, 'latin1');
    }
    return this.bytes;
  }
}

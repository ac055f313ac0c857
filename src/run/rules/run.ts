// Runs: summaries of an agent's events in one session. Nobody writes a run: it follows from its events
// (promise P29). Pure.
import type { JsonObject } from '../../contract/record.ts';
import type { DecisionClass } from '../../event/record/words.ts';
import { type EventInput, policyVersionOf } from '../../event/record.ts';
import {
  actionOf,
  callIndexOf,
  classOf,
  decisionNameOf,
  parentSessionOf,
  runIdOf,
  sessionOf,
} from '../../event/rules/decision.ts';
import type { Env } from '../../shared/ids.ts';
import { canonicalJson } from '../../shared/json/canonical.ts';
import {
  type CallSteps,
  type Moment,
  type RunEvent,
  type RunFacts,
  type RunStanding,
  type RunStatus,
  readSnapshot,
} from '../record.ts';
import { addStep, callStepOf, isFirstStep, joinSteps } from './call-outcomes.ts';
import { asksForApproval, isOver } from './workflow.ts';

const maxAheadMs = 5 * 60_000;

/** Below 0 when `a` comes before `b`. */
export const compareMoments = (a: Moment, b: Moment): number =>
  a.at - b.at || a.index - b.index || a.seq - b.seq;

/** The order of a call's events that arrive within one millisecond, as they often do. */
const actionOrder = [
  'call_asked',
  'call_would_block',
  'call_allowed',
  'call_approval_granted',
  'call_approval_timeout',
  'call_approval_blocked',
  'call_blocked',
  'call_executed',
  'call_failed',
];

const compareTexts = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/**
 * Below 0 when `a` comes before `b`. At one place: by `actionOrder`, then by texts, so that the order of joins does not
 * decide.
 */
const compareEvents = (a: RunEvent, b: RunEvent): number =>
  compareMoments(a, b) ||
  actionOrder.indexOf(a.action) - actionOrder.indexOf(b.action) ||
  compareTexts(a.action, b.action) ||
  compareTexts(a.decisionName ?? '', b.decisionName ?? '') ||
  compareTexts(a.toolName, b.toolName) ||
  compareTexts(a.mode, b.mode);

type Snapshot = NonNullable<RunFacts['snapshot']>;
type Version = NonNullable<RunFacts['version']>;

/** As `compareEvents`. A later place decides nearly always; texts are made for the same place alone. */
const compareSnapshots = (a: Snapshot, b: Snapshot): number =>
  compareMoments(a, b) || compareTexts(canonicalJson(a.value), canonicalJson(b.value));
const compareVersions = (a: Version, b: Version): number =>
  compareMoments(a, b) || compareTexts(a.policyVersion, b.policyVersion);

const newest = <M>(a: M | null, b: M | null, compare: (a: M, b: M) => number): M | null => {
  if (a === null || b === null) return a ?? b;
  return compare(a, b) >= 0 ? a : b;
};

type FactsPlace = Pick<Moment, 'seq' | 'id'>;

interface Received {
  readonly env: Env;
  readonly receivedAt: number;
}

interface Placed {
  readonly moment: Moment;
  readonly event: EventInput;
}

/** Collects the facts of a run's events. Faster than joining the facts of each, with the same result. */
class FactsOfRun {
  readonly #env: Env;
  readonly #maxAt: number;
  readonly #counts: { [C in DecisionClass]?: number } = {};
  readonly #steps: { -readonly [S in keyof CallSteps]: number } = {};
  #calls = 0;
  #startedAt: number;
  #lastAt = Number.NEGATIVE_INFINITY;
  #appliedSeq = Number.NEGATIVE_INFINITY;
  #last: Placed;
  #lastDecision: Placed | null = null;
  #lastWorkflow: Placed | null = null;
  #snapshot: Placed | null = null;
  #version: Placed | null = null;

  constructor({ env, receivedAt }: Received, event: EventInput, place: FactsPlace) {
    this.#env = env;
    this.#maxAt = receivedAt + maxAheadMs;
    this.#startedAt = event.timestamp;
    this.#last = { moment: momentOf(event, place), event };
    this.add(event, place);
  }

  add(event: EventInput, place: FactsPlace): void {
    const moment = momentOf(event, place);
    const placed = { moment, event };
    const action = actionOf(event.verdict);
    const decisionClass = classOf(action);
    this.#startedAt = Math.min(this.#startedAt, moment.at);
    this.#lastAt = Math.max(this.#lastAt, Math.min(moment.at, this.#maxAt));
    this.#appliedSeq = Math.max(this.#appliedSeq, moment.seq);
    this.#counts[decisionClass] = (this.#counts[decisionClass] ?? 0) + 1;
    const step = callStepOf(action, event);
    if (step !== null) addStep(this.#steps, step);
    if (step !== null && isFirstStep(step)) this.#calls++;
    this.#last = newerPlaced(this.#last, placed, byEvent);
    if (decisionClass === 'workflow') this.#lastWorkflow = newerPlaced(this.#lastWorkflow, placed, byEvent);
    else this.#lastDecision = newerPlaced(this.#lastDecision, placed, byEvent);
    if (readSnapshot(event.payload?.workflow))
      this.#snapshot = newerPlaced(this.#snapshot, placed, bySnapshot);
    if (policyVersionOf(event) !== null) this.#version = newerPlaced(this.#version, placed, byVersion);
  }

  facts(): RunFacts {
    const { event } = this.#last;
    const [snapshot, version] = [this.#snapshot, this.#version];
    return {
      env: this.#env,
      startedAt: this.#startedAt,
      lastAt: this.#lastAt,
      appliedSeq: this.#appliedSeq,
      runId: runIdOf(event),
      parentSessionId: parentSessionOf(event),
      last: runEventOf(this.#last),
      lastDecision: this.#lastDecision && runEventOf(this.#lastDecision),
      lastWorkflow: this.#lastWorkflow && runEventOf(this.#lastWorkflow),
      snapshot: snapshot && snapshotOf(snapshot),
      version: version && versionOf(version),
      counts: this.#counts,
      calls: this.#calls,
      steps: this.#steps,
    };
  }
}

const momentOf = (event: EventInput, { seq, id }: FactsPlace): Moment => {
  const moment = { at: event.timestamp, index: callIndexOf(event), seq };
  return id === undefined ? moment : { ...moment, id };
};

/** @param compare of two at the same place */
function newerPlaced(a: Placed | null, b: Placed, compare: (a: Placed, b: Placed) => number): Placed {
  if (a === null) return b;
  return (compareMoments(a.moment, b.moment) || compare(a, b)) >= 0 ? a : b;
}

const byEvent = (a: Placed, b: Placed): number => compareEvents(runEventOf(a), runEventOf(b));
const bySnapshot = (a: Placed, b: Placed): number => compareSnapshots(snapshotOf(a), snapshotOf(b));
const byVersion = (a: Placed, b: Placed): number => compareVersions(versionOf(a), versionOf(b));

const snapshotOf = ({ moment, event }: Placed): Snapshot => ({
  ...moment,
  value: event.payload?.workflow as JsonObject,
});
const versionOf = ({ moment, event }: Placed): Version => ({
  ...moment,
  policyVersion: policyVersionOf(event) ?? '',
});

const runEventOf = ({ moment, event }: Placed): RunEvent => ({
  ...moment,
  action: actionOf(event.verdict),
  toolName: event.toolName,
  decisionName: decisionNameOf(event),
  mode: event.mode,
});

/** The facts of one event. `seq` is its place in the order of arrival. */
export const factsOf = (event: EventInput, { seq, id, ...batch }: FactsPlace & Received): RunFacts =>
  new FactsOfRun(batch, event, id === undefined ? { seq } : { seq, id }).facts();

type EnvPart = NonNullable<RunFacts['snapshot'] | RunFacts['version']>;

/** The part, with its environment only where that is not `env`. */
function partIn<P extends EnvPart>(part: P | null, ownEnv: Env, env: Env): P | null {
  if (part === null || (part.env === undefined && ownEnv === env)) return part;
  const { env: partEnv = ownEnv, ...rest } = part;
  return (partEnv === env ? rest : { ...rest, env: partEnv }) as P;
}

/** Joins facts. The order of joins does not change the result. No event may be in both. */
export function joinFacts(a: RunFacts, b: RunFacts): RunFacts {
  const last = compareEvents(a.last, b.last) >= 0 ? a : b;
  const counts: { [C in DecisionClass]?: number } = { ...a.counts };
  for (const [name, count] of Object.entries(b.counts)) {
    const one = name as DecisionClass;
    counts[one] = (counts[one] ?? 0) + count;
  }
  return {
    env: last.env,
    startedAt: Math.min(a.startedAt, b.startedAt),
    lastAt: Math.max(a.lastAt, b.lastAt),
    appliedSeq: Math.max(a.appliedSeq, b.appliedSeq),
    runId: last.runId,
    parentSessionId: last.parentSessionId,
    last: last.last,
    lastDecision: newest(a.lastDecision, b.lastDecision, compareEvents),
    lastWorkflow: newest(a.lastWorkflow, b.lastWorkflow, compareEvents),
    snapshot: newest(
      partIn(a.snapshot, a.env, last.env),
      partIn(b.snapshot, b.env, last.env),
      compareSnapshots,
    ),
    version: newest(partIn(a.version, a.env, last.env), partIn(b.version, b.env, last.env), compareVersions),
    counts,
    calls: a.calls + b.calls,
    ...(a.steps && b.steps ? { steps: joinSteps(a.steps, b.steps) } : {}),
  };
}

/** Facts of an agent's events by session. Events without a session are left out. */
export function factsBySession(
  events: readonly (EventInput | null)[],
  batch: Received,
  placeOf: (index: number) => FactsPlace,
): Map<string, RunFacts> {
  const factsByRun = new Map<string, FactsOfRun>();
  for (const [index, event] of events.entries()) {
    const session = event && sessionOf(event);
    if (!event || session === null) continue;
    const before = factsByRun.get(session);
    if (before) before.add(event, placeOf(index));
    else factsByRun.set(session, new FactsOfRun(batch, event, placeOf(index)));
  }
  return new Map([...factsByRun].map(([session, of]) => [session, of.facts()]));
}

/** The same facts, each place in the order of arrival moved by `base`, and of the event with this id. */
export function placedAt(facts: RunFacts, base: number, id?: string): RunFacts {
  const idPart = id === undefined ? {} : { id };
  const move = <M extends Moment>(moment: M): M => ({ ...moment, seq: moment.seq + base, ...idPart });
  const moveOrNull = <M extends Moment>(moment: M | null): M | null => moment && move(moment);
  return {
    ...facts,
    appliedSeq: facts.appliedSeq + base,
    last: move(facts.last),
    lastDecision: moveOrNull(facts.lastDecision),
    lastWorkflow: moveOrNull(facts.lastWorkflow),
    snapshot: moveOrNull(facts.snapshot),
    version: moveOrNull(facts.version),
  };
}

const refusals = new Set(['call_blocked', 'call_approval_blocked', 'call_approval_timeout']);

/**
 * The first that holds: the workflow asks, it is over, the newest decision refuses or the workflow is blocked, open.
 */
export function standingOf({ lastDecision, lastWorkflow, snapshot }: RunFacts): RunStanding {
  const workflow = snapshot && readSnapshot(snapshot.value);
  if (snapshot && workflow) {
    const wentOn = lastDecision !== null && compareMoments(lastDecision, snapshot) > 0;
    if (asksForApproval(workflow) && !wentOn) return 'asking';
  }
  if (lastWorkflow?.action === 'workflow_completed' || (workflow && isOver(workflow))) return 'completed';
  const refused = lastDecision?.mode !== 'observe' && refusals.has(lastDecision?.action ?? '');
  return refused || (workflow && workflow.blockedReason !== null) ? 'blocked' : 'open';
}

export interface StatusTime {
  readonly now: number;
  /** Milliseconds without activity after which an open run is stale. */
  readonly staleAfterMs: number;
}

/**
 * The status as a reader sees it. The first that holds: somebody must decide, completed, blocked, stale, active.
 * @param pendingApprovals approvals of the run that wait for a decision
 */
export function runStatus(
  run: { readonly standing: RunStanding; readonly lastActivityAt: number },
  pendingApprovals: number,
  { now, staleAfterMs }: StatusTime,
): RunStatus {
  if (pendingApprovals > 0 || run.standing === 'asking') return 'approval_pending';
  if (run.standing === 'completed' || run.standing === 'blocked') return run.standing;
  return run.lastActivityAt < now - staleAfterMs ? 'stale' : 'active';
}

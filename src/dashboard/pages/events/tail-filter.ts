// What the page is narrowed to, for the live tail: the stream narrows by some of it, the browser by the rest, as a
// search in the hub would. A time range does not narrow what happens now.
import { actionOf, decisionActions } from '../../../domain/decision-event.ts';
import { searchedTextsOf } from '../../../domain/event-texts.ts';
import type { Search } from '../../lib/search.ts';
import type { TailEvent, TailRow } from '../../live/tail.ts';

/** What the stream itself narrows by. Verdicts that the hub does not know are left to `tailFits`. */
export function tailQuery({ env, agent_id, tool_name, verdict }: Search): string {
  const action = actionOf(verdict ?? '');
  const decision = (decisionActions as readonly string[]).includes(action) ? action : undefined;
  return new URLSearchParams(
    Object.entries({ environment: env, agent_id, tool_name, decision }).flatMap(([name, value]) =>
      value ? [[name, value]] : [],
    ),
  ).toString();
}

/** The part of the filter that is left to the browser; the same text for the same filter. */
export const tailRest = ({ verdict, decision_name, mode, run_id, call_id, search }: Search): string =>
  JSON.stringify([verdict, decision_name, mode, run_id, call_id, search].map((value) => value || null));

type Fits = (event: TailEvent) => boolean;

/** @param rest as `tailRest` gave it */
export function tailFits(rest: string): Fits {
  const [verdict, contract, mode, run, call, search] = JSON.parse(rest) as readonly (string | null)[];
  const needle = search?.toLowerCase() ?? null;
  const is = (wanted: string | null | undefined, value: unknown): boolean => !wanted || wanted === value;
  return (event) => {
    const outcomes = outcomesOf(event);
    const named = [event.decision_name, ...outcomes.map((one) => one.decision_name)];
    return (
      (!verdict || [event, ...outcomes].some(({ action }) => actionOf(verdict) === action)) &&
      (!contract || named.includes(contract)) &&
      is(mode, event.mode) &&
      is(run, event.run_id) &&
      is(call, event.call_id) &&
      (needle === null ||
        [
          event.agent_id,
          event.tool_name,
          event.call_id,
          event.decision_name,
          ...searchedTextsOf({ payload: event }),
        ].some((value) => typeof value === 'string' && value.toLowerCase().includes(needle)))
    );
  };
}

interface TailOutcome {
  readonly action?: unknown;
  readonly decision_name?: unknown;
}

const outcomesOf = ({ outcomes }: TailEvent): readonly TailOutcome[] =>
  Array.isArray(outcomes) ? (outcomes as readonly TailOutcome[]) : [];

/** Gaps stay: what is missing there may have fitted. */
export const narrowed = (rows: readonly TailRow[], fits: Fits): readonly TailRow[] =>
  rows.filter((row) => row.kind === 'gap' || fits(row.event));

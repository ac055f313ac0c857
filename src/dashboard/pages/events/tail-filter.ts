// The page's filter for the live tail. The stream applies a part of it, and the browser the rest, with the same result
// as a search in the hub. A time range does not apply to new events.
import { actionOf, decisionActions } from '../../../event/rules/decision.ts';
import { searchedTextsOf } from '../../../event/rules/texts.ts';
import type { Search } from '../../lib/search.ts';
import type { TailEvent, TailRow } from '../../live/tail.ts';

/** The part of the filter for the stream. `tailFits` checks verdicts that the hub does not know. */
export function tailQuery({ env, agent_id, tool_name, verdict }: Search): string {
  const action = actionOf(verdict ?? '');
  const decision = (decisionActions as readonly string[]).includes(action) ? action : undefined;
  return new URLSearchParams(
    Object.entries({ environment: env, agent_id, tool_name, decision }).flatMap(([name, value]) =>
      value ? [[name, value]] : [],
    ),
  ).toString();
}

/** The part of the filter for the browser: the same text for the same filter. */
export const tailRest = ({ verdict, decision_name, mode, run_id, call_id, search }: Search): string =>
  JSON.stringify([verdict, decision_name, mode, run_id, call_id, search].map((value) => value || null));

type Fits = (event: TailEvent) => boolean;

/** @param rest from `tailRest` */
export function tailFits(rest: string): Fits {
  const [verdict, contract, mode, run, call, search] = JSON.parse(rest) as readonly (string | null)[];
  const needle = search?.toLowerCase() ?? null;
  const is = (wanted: string | null | undefined, value: unknown): boolean => !wanted || wanted === value;
  return (event) => {
    const outcomes = outcomesOf(event);
    const contractNames = [event.decision_name, ...outcomes.map((one) => one.decision_name)];
    return (
      (!verdict || [event, ...outcomes].some(({ action }) => actionOf(verdict) === action)) &&
      (!contract || contractNames.includes(contract)) &&
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

/** Keeps gaps, because missing events may match. */
export const narrowed = (rows: readonly TailRow[], fits: Fits): readonly TailRow[] =>
  rows.filter((row) => row.kind === 'gap' || fits(row.event));

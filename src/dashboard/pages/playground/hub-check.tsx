// The hub's own word on a call, a moment after the last key: the same engine, elsewhere. Where the two differ, each
// difference is listed.
import { type JSX, useEffect, useMemo } from 'react';
import type { DryRun } from '../../../../packages/agent/src/rules/evaluate/playground.ts';
import type { Input, Reply } from '../../lib/api.ts';
import { after } from '../../lib/browser.ts';
import { useAction } from '../../lib/query.ts';
import { Failed } from '../../ui/answer.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Button, Data } from '../../ui/parts.tsx';
import type { ReadCall } from './call.ts';

type Answer = Reply<'evaluateBundle'>;

/** The hub is asked so long after the last key. */
const restMs = 700;

const bodyOf = (text: string, { call, output, session }: ReadCall) => ({
  yaml_content: text,
  tool_name: call.tool,
  tool_args: call.args,
  environment: call.environment,
  principal: call.principal ?? null,
  metadata: call.metadata ?? null,
  ...(call.cwd ? { cwd: call.cwd } : {}),
  ...(output === undefined ? {} : { output }),
  ...(session
    ? {
        session: {
          // The hub counts this call itself.
          attempts: session.attempts - 1,
          calls: session.executions,
          calls_of_tool: session.toolExecutions,
        },
      }
    : {}),
});

/** What this browser and the hub say otherwise, a sentence each. */
export function differences(here: DryRun, there: Answer): readonly string[] {
  const found: string[] = [];
  if (here.verdict !== there.verdict)
    found.push(`The verdict: here ${here.verdict}, there ${there.verdict}.`);
  if (here.deciding_contract !== there.deciding_contract) {
    const named = (one: string | null): string => one ?? 'no contract';
    found.push(
      `Who decides: here ${named(here.deciding_contract)}, there ${named(there.deciding_contract)}.`,
    );
  }
  const keyOf = (one: { readonly id: string; readonly type: string }): string => `${one.type} ${one.id}`;
  const others = new Map(there.contracts_evaluated.map((one) => [keyOf(one), one]));
  for (const one of here.contracts_evaluated) {
    const other = others.get(keyOf(one));
    others.delete(keyOf(one));
    if (other === undefined) found.push(`${one.id}: evaluated here and not there.`);
    else if (one.fired !== other.fired) {
      found.push(`${one.id}: ${one.fired ? 'fired' : 'did not fire'} here, the opposite there.`);
    } else if (
      one.observed !== other.observed ||
      one.effect !== other.effect ||
      one.message !== other.message
    ) {
      found.push(`${one.id}: another mode, effect or message there.`);
    }
  }
  for (const { id } of others.values()) found.push(`${id}: evaluated there and not here.`);
  return found;
}

const shown = 20;

export function HubCheck({
  text,
  read,
  here,
}: {
  readonly text: string;
  readonly read: ReadCall;
  readonly here: DryRun;
}): JSX.Element {
  const { mutate, data, error, variables, isPending } = useAction('evaluateBundle');
  const input = useMemo(() => ({ body: bodyOf(text, read) }) as Input<'evaluateBundle'>, [text, read]);
  useEffect(() => {
    const timer = after(restMs, () => mutate(input));
    return () => timer.cancel();
  }, [mutate, input]);
  // An answer to what was typed before says nothing about what stands there now.
  const isOld = variables !== input;
  return (
    <div className="form" role="status" aria-label="The hub's word">
      {isOld || isPending ? (
        <p className="muted">The hub is asked as well…</p>
      ) : error ? (
        <>
          <Failed error={error} />
          <div>
            <Button onClick={() => mutate(input)}>Ask the hub again</Button>
          </div>
        </>
      ) : (
        data && <Compared here={here} there={data} />
      )}
    </div>
  );
}

function Compared({ here, there }: { readonly here: DryRun; readonly there: Answer }): JSX.Element {
  const found = differences(here, there);
  if (found.length === 0) {
    return (
      <p className="muted">
        <span className="tone-allow">
          <Icon name="check" />
        </span>{' '}
        The hub says {there.verdict} too, contract by contract, in {there.evaluation_time_ms.toFixed(1)} ms.
      </p>
    );
  }
  return (
    <div className="notice notice-deny">
      <Icon name="triangle" />
      <div>
        <p>
          <strong>The hub judges otherwise.</strong> Agents do as the hub does. This page may be older than
          the hub: load it again. If they still differ, give the people who run the hub this document and
          call.
        </p>
        <ul>
          {found.slice(0, shown).map((one) => (
            <li key={one}>
              <Data text={one} mono={false} max={300} />
            </li>
          ))}
        </ul>
        {found.length > shown && <p>and {found.length - shown} more</p>}
      </div>
      <Button onClick={() => location.reload()}>Load again</Button>
    </div>
  );
}

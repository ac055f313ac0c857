// The hub's result for a call, requested shortly after the last key press. The hub runs the same engine; the page lists
// all differences from the browser's result.
import { type JSX, useEffect, useMemo } from 'react';
import type { DryRun } from '../../../../packages/agent/src/rules/evaluate/playground.ts';
import { displayWord } from '../../../../packages/agent/src/rules/state-words.ts';
import type { Input, Reply } from '../../lib/api.ts';
import { after } from '../../lib/browser.ts';
import { useAction } from '../../lib/query.ts';
import { Icon } from '../../ui/icons.tsx';
import { Button, Data, Notice } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { earlierCalls, type ReadCall } from './call.ts';

type Answer = Reply<'evaluateBundle'>;

/** Delay from the last key press to the request, in milliseconds. */
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
  ...(session ? { session: earlierCalls(session) } : {}),
});

/** The differences between the browser's and the hub's result, a sentence each. */
export function differences(here: DryRun, there: Answer): readonly string[] {
  const sentences: string[] = [];
  if (here.verdict !== there.verdict)
    sentences.push(`Verdict: browser ${displayWord(here.verdict)}, hub ${displayWord(there.verdict)}.`);
  if (here.deciding_contract !== there.deciding_contract) {
    const contractName = (one: string | null): string => one ?? 'no contract';
    sentences.push(
      `Deciding contract: browser ${contractName(here.deciding_contract)}, hub ${contractName(there.deciding_contract)}.`,
    );
  }
  const keyOf = (one: { readonly id: string; readonly type: string }): string => `${one.type} ${one.id}`;
  const others = new Map(there.contracts_evaluated.map((one) => [keyOf(one), one]));
  for (const one of here.contracts_evaluated) {
    const other = others.get(keyOf(one));
    others.delete(keyOf(one));
    if (other === undefined) sentences.push(`${one.id}: evaluated only in the browser.`);
    else if (one.fired !== other.fired) {
      sentences.push(`${one.id}: fired only in the ${one.fired ? 'browser' : 'hub'}.`);
    } else if (
      one.observed !== other.observed ||
      one.effect !== other.effect ||
      one.message !== other.message
    ) {
      sentences.push(`${one.id}: different mode, effect or message in the hub.`);
    }
  }
  for (const { id } of others.values()) sentences.push(`${id}: evaluated only in the hub.`);
  return sentences;
}

const maxDifferences = 20;

export function HubCheck({
  text,
  read,
  here,
}: Readonly<{ text: string; read: ReadCall; here: DryRun }>): JSX.Element {
  const { mutate, data, error, variables, isPending } = useAction('evaluateBundle');
  const input = useMemo(() => ({ body: bodyOf(text, read) }) as Input<'evaluateBundle'>, [text, read]);
  useEffect(() => {
    const timer = after(restMs, () => mutate(input));
    return () => timer.cancel();
  }, [mutate, input]);
  // An answer to an earlier text does not apply to the current one.
  const isOld = variables !== input;
  return (
    <div className="form" role="status" aria-label="Hub result">
      {isOld || isPending ? (
        <p className="muted">Comparing with the hub…</p>
      ) : error ? (
        <>
          <Failed error={error} />
          <div>
            <Button onClick={() => mutate(input)}>Retry comparison</Button>
          </div>
        </>
      ) : (
        data && <Compared here={here} there={data} />
      )}
    </div>
  );
}

function Compared({ here, there }: { readonly here: DryRun; readonly there: Answer }): JSX.Element {
  const sentences = differences(here, there);
  if (sentences.length === 0) {
    return (
      <p className="muted">
        <span className="tone-allow">
          <Icon name="check" />
        </span>{' '}
        The hub returns the same result, {displayWord(there.verdict)}, for every contract, in{' '}
        {there.evaluation_time_ms.toFixed(1)} ms.
      </p>
    );
  }
  return (
    <Notice tone="deny" icon="triangle" acts={<Button onClick={() => location.reload()}>Reload page</Button>}>
      <p>
        <strong>The hub returns a different result.</strong> Agents follow the hub. This page may be outdated.
        Reload it. If the results still differ, send this document and call to the hub operators.
      </p>
      <ul>
        {sentences.slice(0, maxDifferences).map((one) => (
          <li key={one}>
            <Data text={one} mono={false} max={300} />
          </li>
        ))}
      </ul>
      {sentences.length > maxDifferences && <p>and {sentences.length - maxDifferences} more</p>}
    </Notice>
  );
}

// The result of a call: the verdict, and all contracts with their conditions and the compared values.
import type { JSX } from 'react';
import type { DryRun } from '../../../../packages/agent/src/rules/evaluate/playground.ts';
import type { ConditionTrace } from '../../../../packages/agent/src/rules/evaluate/trace.ts';
import { displayWord } from '../../../../packages/agent/src/rules/state-words.ts';
import { plainJson } from '../../lib/text.ts';
import { Icon } from '../../ui/icons.tsx';
import { DataParagraph } from '../../ui/names.tsx';
import { Data, Verdict } from '../../ui/parts.tsx';

const words = { allow: 'allow', deny: 'deny', approve: 'approve', warn: 'warned' } as const;

export function Result({ dryRun }: { readonly dryRun: DryRun }): JSX.Element {
  return (
    <>
      <div className="result-head">
        <h2>
          Result: <Verdict word={words[dryRun.verdict]} />
        </h2>
        {dryRun.deciding_contract && (
          <span>
            decided by <Data text={dryRun.deciding_contract} max={120} />
          </span>
        )}
      </div>
      {dryRun.contracts_evaluated.length === 0 ? (
        <p className="muted">No contract applies to this tool.</p>
      ) : (
        <ol className="results">
          {dryRun.contracts_evaluated.map((one) => (
            <li key={`${one.id}${one.type}`}>
              <details open={one.fired}>
                <summary>
                  <span className={one.fired ? 'tone-deny' : 'tone-allow'}>
                    <Icon name={one.fired ? 'slash' : 'check'} />
                  </span>
                  <Data text={one.id} max={120} /> <span className="tag">{one.type.replace('_', ' ')}</span>
                  <span className="muted">
                    {one.fired
                      ? one.observed
                        ? 'matched, observe mode'
                        : `fired: ${displayWord(one.effect)}`
                      : 'did not fire'}
                  </span>
                </summary>
                <DataParagraph text={one.message} mono={false} max={600} />
                {one.trace ? (
                  <Trace trace={one.trace} />
                ) : (
                  <p className="muted">
                    {one.type === 'sandbox'
                      ? 'This contract checks paths, hosts and commands'
                      : 'This contract checks counts'}
                    , so there are no conditions to show.
                  </p>
                )}
              </details>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

const outcomes = { yes: 'true', no: 'false', fault: 'unknown', skipped: 'not needed' } as const;

const joined = { all: 'all of', any: 'any of', not: 'not' } as const;

/** A condition with the compared value, and its inner conditions below it. */
function Trace({ trace }: { readonly trace: ConditionTrace }): JSX.Element {
  const outcome = (
    <span className={trace.outcome === 'yes' ? 'tone-deny' : 'muted'}>{outcomes[trace.outcome]}</span>
  );
  if (trace.kind === 'leaf') {
    return (
      <div className="trace">
        <Data text={`${trace.selector} ${trace.operator} ${plainJson(trace.operand)}`} max={200} /> is{' '}
        {outcome}
        {'value' in trace && <Data before=": it was " text={plainJson(trace.value)} max={200} />}
      </div>
    );
  }
  return (
    <div className="trace">
      <span className="tag">{joined[trace.kind]}</span> is {outcome}
      <ul>
        {trace.conditions.map((child) => (
          <li key={JSON.stringify(child).slice(0, 400)}>
            <Trace trace={child} />
          </li>
        ))}
      </ul>
    </div>
  );
}

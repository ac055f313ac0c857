// The arguments of a call as a person reads them: commands as commands, edits as differences, paths and addresses
// named, the rest as it is.
import type { JSX } from 'react';
import { plainJson } from '../lib/text.ts';
import { Icon } from './icons.tsx';
import { Data } from './parts.tsx';

const commandNames = new Set(['command', 'cmd', 'script', 'shell']);
const beforeNames = ['old_string', 'old_text', 'old_str', 'before'];
const afterNames = ['new_string', 'new_text', 'new_str', 'after'];

type Arguments = { readonly [name: string]: unknown };

const textOf = (args: Arguments, names: readonly string[]): readonly [name: string, text: string] | null => {
  for (const name of names) {
    const value = args[name];
    if (typeof value === 'string') return [name, value];
  }
  return null;
};

export function CallArguments({ of }: { readonly of: unknown }): JSX.Element {
  if (typeof of !== 'object' || of === null) return <p className="muted">No arguments were sent.</p>;
  const args = of as Arguments;
  if (args._truncated === true) {
    return (
      <p className="muted">
        The arguments take {Number(args.bytes).toLocaleString('en')} bytes: open the call to see them.
      </p>
    );
  }
  const before = textOf(args, beforeNames);
  const after = textOf(args, afterNames);
  const edit = before && after ? { before: before[1], after: after[1] } : null;
  const rest = Object.entries(args).filter(
    ([name]) => !edit || (name !== before?.[0] && name !== after?.[0]),
  );
  if (rest.length === 0 && !edit) return <p className="muted">No arguments.</p>;
  return (
    <dl className="arguments">
      {rest.map(([name, value]) => (
        <div key={name} className={commandNames.has(name) ? 'argument argument-command' : 'argument'}>
          <dt>
            {commandNames.has(name) && <Icon name="terminal" />}
            <Data text={name} max={60} />
          </dt>
          <dd>
            <Data text={plainJson(value)} max={600} />
          </dd>
        </div>
      ))}
      {edit && (
        <div className="argument">
          <dt>edit</dt>
          <dd>
            <Edit {...edit} />
          </dd>
        </div>
      )}
    </dl>
  );
}

const maxLines = 60;

const Edit = ({ before, after }: { readonly before: string; readonly after: string }): JSX.Element => (
  <div className="diff">
    {(
      [
        ['−', 'removed', before],
        ['+', 'added', after],
      ] as const
    ).map(([sign, what, text]) =>
      text
        .split('\n')
        .slice(0, maxLines)
        .map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
          <div key={`${what}${index}`} className={`diff-line diff-${what}`}>
            <span aria-hidden="true">{sign}</span>
            <span className="heard">{what}: </span>
            <Data text={line} max={400} />
          </div>
        )),
    )}
  </div>
);

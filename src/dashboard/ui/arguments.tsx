// The arguments of a call, formatted for people: commands in colours, edits as differences, sums with their currency,
// paths and URLs with their important part highlighted. Other values appear unchanged.
import type { JSX, ReactNode } from 'react';
import { commandOf, moneyOf } from '../../approval/rules/argument-line.ts';
import { addressParts, commandParts, editsOf, isPatch, patchLines, pathOf } from '../lib/call-values.ts';
import { count, plainJson, visible } from '../lib/text.ts';
import { Diff, DiffLines } from './diff.tsx';
import { Icon, type IconName } from './icons.tsx';
import { Data } from './parts.tsx';

type Arguments = { readonly [name: string]: unknown };

/** Visible lines of a collapsed edit. */
const maxLines = 60;
const maxEdits = 20;

/** @param beside arguments that appear elsewhere, and that may contain the currency of these */
export function CallArguments({
  args: sentArgs,
  beside,
}: {
  /** The arguments as the hub returns them. */
  readonly args: unknown;
  readonly beside?: Arguments;
}): JSX.Element {
  if (typeof sentArgs !== 'object' || sentArgs === null) return <p className="muted">No arguments sent.</p>;
  const args = sentArgs as Arguments;
  if (args._truncated === true) {
    return (
      <p className="muted" data-folded>
        The arguments have {Number(args.bytes).toLocaleString('en')} bytes. Open the call to view them.
      </p>
    );
  }
  const { names, edits } = editsOf(args);
  const rest = Object.entries(args).filter(([name]) => !names.includes(name));
  if (rest.length === 0 && edits.length === 0) return <p className="muted">No arguments.</p>;
  return (
    <dl className="arguments">
      {rest.map(([name, value]) => (
        <One key={name} name={name} value={value} all={{ ...beside, ...args }} />
      ))}
      {edits.slice(0, maxEdits).map(({ before, after }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: edits are made in their order
        <div key={at} className="argument argument-wide">
          <dt>{edits.length === 1 ? 'edit' : `edit ${at + 1} of ${count(edits.length)}`}</dt>
          <dd>
            <Diff before={before} after={after} max={maxLines} label={`Edit ${at + 1}`} />
          </dd>
        </div>
      ))}
      {edits.length > maxEdits && (
        <div className="argument">
          <dt>more edits</dt>
          <dd>
            <Data text={plainJson(edits.slice(maxEdits))} max={600} />
          </dd>
        </div>
      )}
    </dl>
  );
}

function One({ name, value, all }: Readonly<{ name: string; value: unknown; all: Arguments }>): JSX.Element {
  const command = commandOf(name, value);
  if (command !== null) {
    return (
      <Row name={name} icon="terminal" kind="argument-command">
        <Command text={command} />
      </Row>
    );
  }
  if (isPatch(name, value)) {
    return (
      <Row name={name} kind="argument-wide">
        <DiffLines lines={patchLines(value)} label={visible(name).slice(0, 60)} max={maxLines} />
      </Row>
    );
  }
  const money = moneyOf(name, value, all);
  if (money !== null) {
    return (
      <Row name={name}>
        <strong className="numbers">{money}</strong>{' '}
        <span className="muted">
          sent as <Data text={plainJson(value)} max={60} />
        </span>
      </Row>
    );
  }
  const parts = pathOf(name, value) ?? addressParts(value);
  if (parts) {
    const [before, main, rest = ''] = parts;
    return (
      <Row name={name}>
        <bdi className="data">
          <span className="muted">{visible(before)}</span>
          <strong>{visible(main)}</strong>
          {visible(rest)}
        </bdi>
      </Row>
    );
  }
  return (
    <Row name={name}>
      <Data text={plainJson(value)} max={600} />
    </Row>
  );
}

const Row = ({
  name,
  icon,
  kind = '',
  children,
}: Readonly<{ name: string; icon?: IconName; kind?: string; children: ReactNode }>): JSX.Element => (
  <div className={`argument ${kind}`}>
    <dt>
      {icon && <Icon name={icon} />}
      <Data text={name} />
    </dt>
    <dd>{children}</dd>
  </div>
);

/** Characters. A longer command is cut in the middle and has no colours. */
const maxCommand = 4_000;

const Command = ({ text }: { readonly text: string }): JSX.Element =>
  text.length > maxCommand ? (
    <Data text={text} max={600} />
  ) : (
    <bdi className="data">
      {commandParts(text).map(([kind, part], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other name
        <span key={at} className={kind === 'plain' ? undefined : `command-${kind}`}>
          {visible(part)}
        </span>
      ))}
    </bdi>
  );

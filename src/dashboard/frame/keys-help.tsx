// The list of keys behind `?`, starting with the current page.
import { Fragment, type JSX } from 'react';
import { commandOf, keyWords, offers } from '../lib/commands.ts';
import { changePrefs, usePrefs } from '../lib/prefs.ts';
import { useStore } from '../lib/store.ts';
import { visible } from '../lib/text.ts';
import { pages } from '../pages/registry.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Check } from '../ui/form.tsx';
import type { LateProps } from './late.tsx';

/** The keys of a row, and what they do. */
type KeyRow = readonly [keys: readonly string[], text: string];

const groups: readonly { readonly name: string; readonly keys: readonly (readonly [string, string])[] }[] = [
  {
    name: 'Environment and time',
    keys: [
      ['e', 'choose the environment'],
      ['t', 'choose the time range'],
      ['[ / ]', 'earlier or later time range'],
      ['\\', 'twice the time range'],
      ['.', 'time range up to now'],
    ],
  },
  {
    name: 'Lists',
    keys: [
      ['j / k', 'next or previous row'],
      ['Space', 'peek'],
      ['Enter', 'open the page'],
      ['Esc', 'close the peek'],
      ['Ctrl C', 'copy cell'],
      ['Alt ← / →', 'on a head: change the width of its column'],
      ['← / →', 'on a border: move it'],
    ],
  },
  {
    name: 'Charts',
    keys: [
      ['Shift t', 'switch between chart and table'],
      ['← / →', 'previous or next time'],
      ['Shift ← / →', 'select a range'],
      ['Enter', 'show range'],
    ],
  },
  {
    name: 'Approvals',
    keys: [
      ['r', 'write a reason'],
      ['Esc', 'leave the reason field and keep its text'],
      ['Ctrl Enter', 'approve from the reason field'],
      ['Ctrl Shift Enter', 'deny from the reason field'],
      ['x', 'select for a bulk decision'],
      ['Shift x', 'select all, or none'],
    ],
  },
];

export default function KeysHelp({ open, onClose }: LateProps): JSX.Element {
  return (
    <Dialog title="Keys" open={open} onClose={onClose}>
      {open && <Keys />}
    </Dialog>
  );
}

function Keys(): JSX.Element {
  const { letterKeys } = usePrefs();
  const here = [...useStore(offers)].map(([name, { of, label: own }]): KeyRow => {
    const { key, label } = commandOf(name);
    return [key ? [keyWords(key)] : [], visible(own ?? (of === null ? label : `${label} ${of}`))];
  });
  return (
    <>
      <Check checked={letterKeys} onChange={() => changePrefs({ letterKeys: !letterKeys })}>
        Use single-letter keys
      </Check>
      <div className="keys">
        {here.length > 0 && <Group name="On this page" rows={here} />}
        <Group
          name="Go to"
          rows={[
            ...pages.map(({ key, label }): KeyRow => [['g', key], label]),
            [['Ctrl K'], 'Search pages and actions'],
            [['?'], 'Show this list'],
          ]}
        />
        {groups.map(({ name, keys }) => (
          <Group key={name} name={name} rows={keys.map(([key, text]): KeyRow => [[key], text])} />
        ))}
      </div>
    </>
  );
}

const Group = ({ name, rows }: Readonly<{ name: string; rows: readonly KeyRow[] }>): JSX.Element => (
  <section>
    <h2>{name}</h2>
    <dl>
      {rows.map(([keys, text]) => (
        <div key={text}>
          <dt>
            {keys.map((key) => (
              <Fragment key={key}>
                <kbd>{key}</kbd>{' '}
              </Fragment>
            ))}
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  </section>
);

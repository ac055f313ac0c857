// The list of keys behind `?`, starting with the current page.
import type { JSX } from 'react';
import { commandOf, keyWords, offers } from '../lib/commands.ts';
import { changePrefs, usePrefs } from '../lib/prefs.ts';
import { useStore } from '../lib/store.ts';
import { visible } from '../lib/text.ts';
import { pages } from '../pages/registry.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Check } from '../ui/form.tsx';
import type { LateProps } from './late.tsx';

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
  const here = [...useStore(offers)].map(([name, { of, label }]) => ({ ...commandOf(name), of, own: label }));
  return (
    <>
      <Check checked={letterKeys} onChange={() => changePrefs({ letterKeys: !letterKeys })}>
        Use single-letter keys
      </Check>
      <div className="keys">
        {here.length > 0 && (
          <section>
            <h2>On this page</h2>
            <dl>
              {here.map(({ key, label, own, of }) => (
                <div key={label}>
                  <dt>{key && <kbd>{keyWords(key)}</kbd>}</dt>
                  <dd>{visible(own ?? (of === null ? label : `${label} ${of}`))}</dd>
                </div>
              ))}
            </dl>
          </section>
        )}
        <section>
          <h2>Go to</h2>
          <dl>
            {pages.map(({ key, label }) => (
              <div key={key}>
                <dt>
                  <kbd>g</kbd> <kbd>{key}</kbd>
                </dt>
                <dd>{label}</dd>
              </div>
            ))}
            <div>
              <dt>
                <kbd>Ctrl K</kbd>
              </dt>
              <dd>Search pages and actions</dd>
            </div>
            <div>
              <dt>
                <kbd>?</kbd>
              </dt>
              <dd>Show this list</dd>
            </div>
          </dl>
        </section>
        {groups.map(({ name, keys }) => (
          <section key={name}>
            <h2>{name}</h2>
            <dl>
              {keys.map(([key, does]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </>
  );
}

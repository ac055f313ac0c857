// The list of keys that `?` shows.
import type { JSX } from 'react';
import { pages } from '../pages/registry.ts';
import { Dialog } from '../ui/overlay.tsx';

const groups: readonly { readonly name: string; readonly keys: readonly (readonly [string, string])[] }[] = [
  {
    name: 'Lists',
    keys: [
      ['j / k', 'next / previous'],
      ['Enter', 'open'],
      ['Esc', 'close'],
      ['Ctrl C', 'copy the cell'],
    ],
  },
  {
    name: 'Charts',
    keys: [
      ['t', 'as tables, and back'],
      ['← / →', 'the moment before / after'],
      ['Shift ← / →', 'choose a range'],
      ['Enter', 'show the range'],
    ],
  },
  {
    name: 'Approvals',
    keys: [
      ['a', 'approve'],
      ['d', 'deny'],
      ['r', 'write a reason'],
      ['x', 'select for a bulk decision'],
      ['Shift x', 'select all, or none'],
    ],
  },
];

export const KeysHelp = ({
  open,
  onClose,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
}): JSX.Element => (
  <Dialog title="Keys" open={open} onClose={onClose}>
    <div className="keys">
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
            <dd>Go to or do</dd>
          </div>
          <div>
            <dt>
              <kbd>?</kbd>
            </dt>
            <dd>This list</dd>
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
  </Dialog>
);

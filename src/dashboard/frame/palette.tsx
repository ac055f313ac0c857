// The palette: finds pages, objects and actions by a part of their name. Recent choices are at the top, and a disabled
// entry displays the reason. The frame loads the palette shortly after the page.
import { type JSX, useEffect, useId, useRef, useState } from 'react';
import { keyWords } from '../lib/commands.ts';
import { changePrefs, prefs } from '../lib/prefs.ts';
import { counted, visible } from '../lib/text.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { say } from '../ui/messages.tsx';
import { fitness } from './fuzzy.ts';
import type { LateProps } from './late.tsx';
import { type Entry, useEntries } from './palette-entries.ts';
import './palette.css';

/** Maximum of displayed matches. A longer text finds the others. */
const maxShown = 40;
const maxRecent = 6;

export default function Palette({ open, onClose }: LateProps): JSX.Element {
  return (
    <Dialog title="Search pages and actions" shape="palette" open={open} onClose={onClose}>
      {open && <Choices onClose={onClose} />}
    </Dialog>
  );
}

interface Group {
  readonly name: string | null;
  readonly entries: readonly Entry[];
}

/** A result of the hub that the label does not explain, such as an id, comes last. */
const fitOf = ({ label, kind, isMatch }: Entry, text: string): number =>
  fitness(`${label} ${kind}`, text) || (isMatch ? 0.5 : 0);

function groupsOf(entries: readonly Entry[], text: string, recent: readonly string[]): readonly Group[] {
  const placeOf = (id: string): number => {
    const at = recent.indexOf(id);
    return at < 0 ? recent.length : at;
  };
  if (text.trim() !== '') {
    const matches = entries
      .map((entry, at) => ({ entry, at, fit: fitOf(entry, text) }))
      .filter((one) => one.fit > 0)
      .sort((a, b) => b.fit - a.fit || placeOf(a.entry.id) - placeOf(b.entry.id) || a.at - b.at)
      .slice(0, maxShown);
    return [{ name: null, entries: matches.map(({ entry }) => entry) }];
  }
  const last = recent.flatMap((id) => entries.find((entry) => entry.id === id) ?? []);
  const rest = entries.filter((entry) => !last.includes(entry));
  const groupOf = (name: string, kind: Entry['kind']): Group => ({
    name,
    entries: rest.filter((entry) => entry.kind === kind),
  });
  return [
    { name: 'Recent', entries: last },
    groupOf('On this page', 'here'),
    groupOf('Go to', 'page'),
    groupOf('Do', 'action'),
  ].filter((group) => group.entries.length > 0);
}

function Choices({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const [recent] = useState(() => prefs.get().recent);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const groups = groupsOf(useEntries(text), text, recent);
  const choices = groups.flatMap(({ entries }) => entries);
  const chosen = Math.min(at, choices.length - 1);
  useEffect(() => {
    list.current?.querySelector(`#palette-${chosen}`)?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const run = (entry: Entry | undefined): void => {
    if (!entry) return;
    if (entry.why !== null) {
      say(`${entry.label}: ${entry.why}`, 'deny');
      return;
    }
    changePrefs({ recent: [entry.id, ...recent.filter((one) => one !== entry.id)].slice(0, maxRecent) });
    onClose();
    entry.go();
  };
  return (
    <>
      <input
        className="palette-field"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={choices[chosen] ? `palette-${chosen}` : undefined}
        aria-label="Command: page, name or action"
        placeholder="Page, name or action"
        value={text}
        maxLength={255}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
          if (step !== 0 && choices.length > 0) {
            event.preventDefault();
            setAt((chosen + step + choices.length) % choices.length);
          }
          if (event.key === 'Enter') run(choices[chosen]);
        }}
      />
      <p className="heard" role="status">
        {text.trim() === '' ? '' : `${counted(choices.length, 'choice')}`}
      </p>
      <div ref={list} id="palette-list" role="listbox" aria-label="Results" className="palette-list">
        {groups.map((group, nth) => (
          // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a list of options
          <div
            key={group.name ?? ''}
            role="group"
            aria-label={group.name ?? 'Results'}
            className="palette-group"
          >
            {group.name !== null && (
              <p className="palette-name" aria-hidden="true" id={`${id}-${nth}`}>
                {group.name}
              </p>
            )}
            {group.entries.map((entry) => {
              const index = choices.indexOf(entry);
              return (
                <Choice
                  key={entry.id}
                  entry={entry}
                  index={index}
                  isChosen={index === chosen}
                  onPoint={() => setAt(index)}
                  onPress={() => run(entry)}
                />
              );
            })}
          </div>
        ))}
        {choices.length === 0 && (
          <p className="muted palette-none">No results. Check the spelling, or use fewer letters.</p>
        )}
      </div>
    </>
  );
}

const kinds: { readonly [K in Entry['kind']]?: string } = { here: 'action' };

const Choice = ({
  entry: { label, kind, icon, keys, why },
  index,
  isChosen,
  onPoint,
  onPress,
}: {
  readonly entry: Entry;
  readonly index: number;
  readonly isChosen: boolean;
  readonly onPoint: () => void;
  readonly onPress: () => void;
}): JSX.Element => (
  // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the chosen one
  // biome-ignore lint/a11y/useKeyWithClickEvents: the field hears the keys
  <div
    id={`palette-${index}`}
    role="option"
    aria-selected={isChosen}
    aria-disabled={why !== null}
    className="palette-entry"
    onPointerMove={onPoint}
    onClick={onPress}
  >
    <Icon name={icon} />
    <span className="one-line">{visible(label)}</span>
    <span className="muted one-line">{why ?? kinds[kind] ?? kind}</span>
    <span className="palette-keys">
      {keys.map((key) => (
        <kbd key={key}>{keyWords(key)}</kbd>
      ))}
    </span>
  </div>
);

// The palette: finds pages, objects and actions by a part of their name. Recent choices are at the top, and a disabled
// entry displays the reason. The frame loads the palette shortly after the page.
import { Autocomplete } from '@base-ui/react/autocomplete';
import { type JSX, useState } from 'react';
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
  readonly items: readonly Entry[];
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
    return [{ name: null, items: matches.map(({ entry }) => entry) }];
  }
  const last = recent.flatMap((id) => entries.find((entry) => entry.id === id) ?? []);
  const rest = entries.filter((entry) => !last.includes(entry));
  const groupOf = (name: string, kind: Entry['kind']): Group => ({
    name,
    items: rest.filter((entry) => entry.kind === kind),
  });
  return [
    { name: 'Recent', items: last },
    groupOf('On this page', 'here'),
    groupOf('Go to', 'page'),
    groupOf('Do', 'action'),
  ].filter((group) => group.items.length > 0);
}

function Choices({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [text, setText] = useState('');
  const [recent] = useState(() => prefs.get().recent);
  const groups = groupsOf(useEntries(text), text, recent);
  const count = groups.reduce((sum, { items }) => sum + items.length, 0);
  const run = (entry: Entry): void => {
    if (entry.why !== null) {
      say(`${entry.label}: ${entry.why}`, 'deny');
      return;
    }
    changePrefs(({ recent }) => ({
      recent: [entry.id, ...recent.filter((one) => one !== entry.id)].slice(0, maxRecent),
    }));
    onClose();
    entry.go();
  };
  return (
    <Autocomplete.Root
      inline
      open
      mode="none"
      autoHighlight="always"
      keepHighlight
      items={groups}
      itemToStringValue={({ label }: Entry) => label}
      value={text}
      onValueChange={(next, { reason }) => {
        // A press on an entry runs it, and leaves the text.
        if (reason !== 'item-press') setText(next);
      }}
    >
      <Autocomplete.Input
        className="palette-field"
        aria-label="Command: page, name or action"
        placeholder="Page, name or action"
        maxLength={255}
        spellCheck={false}
      />
      <p className="heard" role="status">
        {text.trim() === '' ? '' : counted(count, 'choice')}
      </p>
      <Autocomplete.List aria-label="Results" className="palette-list">
        {(group: Group) => (
          <Autocomplete.Group key={group.name ?? ''} items={group.items} aria-label={group.name ?? 'Results'}>
            {group.name !== null && <p className="palette-name">{group.name}</p>}
            <Autocomplete.Collection>
              {(entry: Entry) => <Choice key={entry.id} entry={entry} onPress={() => run(entry)} />}
            </Autocomplete.Collection>
          </Autocomplete.Group>
        )}
      </Autocomplete.List>
      {count === 0 && (
        <p className="muted palette-none">No results. Check the spelling, or use fewer letters.</p>
      )}
    </Autocomplete.Root>
  );
}

const kinds: { readonly [K in Entry['kind']]?: string } = { here: 'action' };

const Choice = ({ entry, onPress }: { readonly entry: Entry; readonly onPress: () => void }): JSX.Element => (
  <Autocomplete.Item
    value={entry}
    onClick={onPress}
    aria-disabled={entry.why !== null}
    className="palette-entry"
    // Of a list of commands, the one that Enter runs is the selected one.
    render={(props, { highlighted }) => <div {...props} {...{ 'aria-selected': highlighted }} />}
  >
    <Icon name={entry.icon} />
    <span className="one-line">{visible(entry.label)}</span>
    <span className="muted one-line">{entry.why ?? kinds[entry.kind] ?? entry.kind}</span>
    <span className="palette-keys">
      {entry.keys.map((key) => (
        <kbd key={key}>{keyWords(key)}</kbd>
      ))}
    </span>
  </Autocomplete.Item>
);

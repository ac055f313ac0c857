// The palette: every page, agent, bundle, composition and contract, and what can be done from anywhere, by typing a
// part of its name.

import { useNavigate } from '@tanstack/react-router';
import { type JSX, useEffect, useMemo, useState } from 'react';
import { signOut } from '../lib/me.ts';
import { changePrefs, chooseTheme, usePrefs } from '../lib/prefs.ts';
import { useCall } from '../lib/query.ts';
import { visible } from '../lib/text.ts';
import { pages } from '../pages/registry.ts';
import { Icon, type IconName } from '../ui/icons.tsx';
import { Dialog } from '../ui/overlay.tsx';
import './palette.css';

interface Entry {
  readonly id: string;
  readonly label: string;
  readonly kind: string;
  readonly icon: IconName;
  readonly go: () => void;
}

const maxShown = 30;

/** Opens with Ctrl-K or Cmd-K, wherever the focus is. */
export function usePaletteKey(open: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      open();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [open]);
}

export const Palette = ({
  open,
  onClose,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
}): JSX.Element => (
  <Dialog title="Go to or do" shape="palette" open={open} onClose={onClose}>
    {open && <Choices onClose={onClose} />}
  </Dialog>
);

function Choices({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const entries = useEntries(text);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = entries
    .filter(({ label, kind }) => words.every((word) => `${kind} ${label}`.toLowerCase().includes(word)))
    .slice(0, maxShown);
  const chosen = Math.min(at, found.length - 1);
  const run = (entry: Entry | undefined): void => {
    if (!entry) return;
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
        aria-activedescendant={found[chosen] ? `palette-${chosen}` : undefined}
        aria-label="Search for a page, an agent, a bundle or an action"
        placeholder="Go to a page, an agent, a bundle, or do something"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
          if (step !== 0) {
            event.preventDefault();
            setAt(Math.min(found.length - 1, Math.max(0, chosen + step)));
          }
          if (event.key === 'Enter') run(found[chosen]);
        }}
      />
      <div id="palette-list" role="listbox" aria-label="What fits" className="palette-list">
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the chosen one
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field hears the keys
          <div
            key={entry.id}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            className="palette-entry"
            onPointerMove={() => setAt(index)}
            onClick={() => run(entry)}
          >
            <Icon name={entry.icon} />
            <span className="one-line">{visible(entry.label)}</span>
            <span className="muted">{entry.kind}</span>
          </div>
        ))}
        {found.length === 0 && <p className="muted palette-none">Nothing has this in its name.</p>}
      </div>
    </>
  );
}

function useEntries(text: string): readonly Entry[] {
  const navigate = useNavigate();
  const { utc } = usePrefs();
  const isSearch = text.trim().length > 1;
  const agents = useCall(
    'listAgents',
    { query: { search: text.trim(), limit: 10 } },
    { enabled: isSearch, keep: true },
  );
  const bundles = useCall('listBundles', { query: { limit: 1000 } });
  const compositions = useCall('listCompositions', { query: { limit: 1000 } });
  const contracts = useCall('listContracts', { query: { limit: 1000 } });
  return useMemo(() => {
    const to =
      (path: string, search: object = {}) =>
      (): void =>
        void navigate({ to: path, search: search as never });
    const thing = (kind: string, icon: IconName, path: string, id: string): Entry => ({
      id: `${kind} ${id}`,
      label: id,
      kind,
      icon,
      go: to(path, { id }),
    });
    return [
      ...pages.map(({ path, label, icon }) => ({
        id: `page ${path}`,
        label,
        kind: 'page',
        icon,
        go: to(path),
      })),
      ...(isSearch ? (agents.data ?? []) : []).map(({ agent_id: id }) =>
        thing('agent', 'agents', '/agents', id),
      ),
      ...(bundles.data ?? []).map(({ name }) => thing('bundle', 'bundles', '/bundles', name)),
      ...(compositions.data ?? []).map(({ name }) =>
        thing('composition', 'compositions', '/compositions', name),
      ),
      ...(contracts.data ?? []).map(({ contract_id: id }) =>
        thing('contract', 'contracts', '/contracts', id),
      ),
      { id: 'dark', label: 'Use the dark theme', kind: 'action', icon: 'sun', go: () => chooseTheme('dark') },
      {
        id: 'light',
        label: 'Use the light theme',
        kind: 'action',
        icon: 'sun',
        go: () => chooseTheme('light'),
      },
      {
        id: 'utc',
        label: utc ? 'Show times of this place' : 'Show times in UTC',
        kind: 'action',
        icon: 'events',
        go: () => changePrefs({ utc: !utc }),
      },
      {
        id: 'denied',
        label: 'Show denied calls',
        kind: 'action',
        icon: 'slash',
        go: to('/events', { verdict: 'call_denied' }),
      },
      {
        id: 'drift',
        label: 'Show agents in drift',
        kind: 'action',
        icon: 'triangle',
        go: to('/agents', { status: 'drift' }),
      },
      {
        id: 'out',
        label: 'Sign out',
        kind: 'action',
        icon: 'person',
        go: () => void signOut().catch(() => undefined),
      },
    ] satisfies Entry[];
  }, [navigate, utc, isSearch, agents.data, bundles.data, compositions.data, contracts.data]);
}
